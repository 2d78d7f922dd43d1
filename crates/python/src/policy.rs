//! Own policies, written in Python: registered, run, checked, timed.

mod adapter;
mod check;
mod trial;
mod verdict;
mod view;

use crate::own::{InPython, PlainParameter, Raised, declared, keep, keywords};
use adapter::PythonPolicy;
use bufferlab_core::{
    BuildError, ParamKind, ParamValue, Params, Policy, PolicyInfo, Profile, SwitchShape, replace_policy,
};
use bufferlab_units::BitRate;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

pub(crate) use check::check_policy;
pub(crate) use trial::run_trial;
pub(crate) use verdict::Verdict;
pub(crate) use view::{Arrival, Buffer, Departure, Weight, lend};

/// The policies that decide in Python.
pub(crate) static IN_PYTHON: InPython = InPython::new();

/// Registers `class_` under `name`, in place of an earlier one of that name; `hooks` are the optional methods that it defines.
#[pyfunction]
pub(crate) fn register_policy(
    class_: Bound<'_, PyType>,
    name: &str,
    title: &str,
    summary: &str,
    parameters: Vec<PlainParameter<'_>>,
    hooks: Vec<String>,
) -> PyResult<()> {
    let name = keep(name);
    let class = class_.unbind();
    let build = move |params: &Params, shape: &SwitchShape| build(name, &class, &hooks, params, shape);
    let info = PolicyInfo {
        name,
        aliases: &[],
        title: keep(title),
        summary: keep(summary),
        source: "Own policy, in Python.",
        cost: "one call of Python",
        params: declared(parameters)?,
        build: Box::leak(Box::new(build)),
    };
    replace_policy(info).map_err(|error| PyValueError::new_err(error.to_string()))?;
    IN_PYTHON.insert(name);
    Ok(())
}

/// An instance of `class` for a switch.
fn build(
    name: &'static str,
    class: &Py<PyType>,
    hooks: &[String],
    params: &Params,
    shape: &SwitchShape,
) -> Result<Box<dyn Policy>, BuildError> {
    Python::attach(|py| {
        let make = || {
            let values = keywords(py, params)?;
            let object = class.bind(py).call((switch(py, shape)?,), Some(&values))?;
            PythonPolicy::new(name, &object, hooks, shape.queues_per_port)
        };
        make().map(|policy| Box::new(policy) as Box<dyn Policy>).map_err(|error| {
            let raised = Raised::new(py, error);
            BuildError { param: "name", message: format!("{name} {}", raised.in_short()) }
        })
    })
}

/// The `Switch` of `bufferlab.policy`.
pub(crate) fn switch<'py>(py: Python<'py>, shape: &SwitchShape) -> PyResult<Bound<'py, PyAny>> {
    let class = py.import("bufferlab.policy")?.getattr("Switch")?;
    let rates: Vec<u64> = shape.port_rates.iter().map(|rate| rate.0).collect();
    let lossless: Vec<bool> = (0..shape.queues_per_port).map(|p| shape.lossless >> p & 1 != 0).collect();
    let profile = match shape.profile {
        Profile::Paper => "paper",
        Profile::Artifact => "artifact",
    };
    class.call1((
        shape.capacity,
        rates,
        shape.queues_per_port,
        shape.max_packet,
        profile,
        shape.seed,
        lossless,
    ))
}

/// The parameters of `info` as Python gives them, checked: ratios, whole numbers (bytes, picoseconds), flags, words.
fn given(info: &PolicyInfo, values: &Bound<'_, PyDict>) -> PyResult<Vec<(String, ParamValue)>> {
    let mut given = Vec::new();
    for (name, value) in values {
        let name: String = name.extract()?;
        let param = info.params.iter().find(|param| param.name == name);
        let param =
            param.ok_or_else(|| PyValueError::new_err(format!("{} has no parameter {name:?}", info.name)))?;
        let value = match param.kind {
            ParamKind::Ratio { .. } | ParamKind::RatioAbove { .. } | ParamKind::Measure { .. } => {
                ParamValue::Ratio(value.extract()?)
            }
            ParamKind::RatioPerPriority { .. } => match value.extract::<f64>() {
                Ok(ratio) => ParamValue::RatioPerPriority(vec![ratio].into()),
                Err(_) => ParamValue::RatioPerPriority(value.extract::<Vec<f64>>()?.into()),
            },
            ParamKind::Bytes { .. } => ParamValue::Bytes(value.extract()?),
            ParamKind::Time { .. } => ParamValue::Time(bufferlab_units::Time(value.extract()?)),
            ParamKind::Count { .. } => ParamValue::Count(value.extract()?),
            ParamKind::Flag => ParamValue::Flag(value.extract()?),
            ParamKind::Choice(_) => ParamValue::Choice(value.extract::<String>()?.into()),
            ParamKind::Rate { .. } => ParamValue::Rate(BitRate(value.extract()?)),
            ParamKind::Text => ParamValue::Text(value.extract::<String>()?.into()),
            ParamKind::BytesPerPort { .. }
            | ParamKind::List(_)
            | ParamKind::Profiles
            | ParamKind::Tables(_)
            | ParamKind::Texts
            | ParamKind::Pairs { .. }
            | ParamKind::File
            | ParamKind::FlowSizes(_)
            | ParamKind::Nodes { .. } => {
                return Err(PyTypeError::new_err(format!("{name} can be set in scenarios only")));
            }
        };
        param.check(&value).map_err(|why| PyValueError::new_err(format!("{name}: {why}")))?;
        given.push((name, value));
    }
    Ok(given)
}

/// The policy called `name`.
fn find(name: &str) -> PyResult<&'static PolicyInfo> {
    bufferlab_core::find_policy(name)
        .ok_or_else(|| PyValueError::new_err(format!("no policy is called {name:?}; register it first")))
}
