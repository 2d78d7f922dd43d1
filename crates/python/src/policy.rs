//! Custom policies in Python: registration, runs, conformance checks and trials.

mod adapter;
mod check;
mod trial;
mod verdict;
mod view;

use crate::custom::{InPython, PlainParameter, declared, keep, keywords, refusal};
use crate::errors;
use adapter::PythonPolicy;
use bufferlab_core::{
    BuildError, ParamKind, ParamValue, Params, Policy, PolicyInfo, Profile, SwitchShape, replace_policy,
};
use bufferlab_units::BitRate;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyType};

pub(crate) use check::check_policy;
pub(crate) use trial::run_trial;
pub(crate) use verdict::Verdict;
pub(crate) use view::{Arrival, Buffer, Departure, Weight, header_class, lend, packet_class};

/// Names of the registered policies that are Python classes.
pub(crate) static IN_PYTHON: InPython = InPython::new();

/// Registers the policy `class_` under `name`, and replaces an earlier class of this name. `hooks`
/// are the optional methods that the class defines.
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
        source: "Custom policy in Python.",
        cost: "one call of Python",
        params: declared(parameters)?,
        build: Box::leak(Box::new(build)),
    };
    replace_policy(info).map_err(|error| PyValueError::new_err(error.to_string()))?;
    IN_PYTHON.insert(name);
    Ok(())
}

/// Creates an instance of the policy `class` for a switch.
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
        make()
            .map(|policy| Box::new(policy) as Box<dyn Policy>)
            .map_err(|error| BuildError { param: "name", message: refusal(py, name, error) })
    })
}

/// Creates the description of a switch for Python: an instance of `bufferlab.policy.Switch`.
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

/// Converts and checks the parameters `info` of a policy from Python: ratios, whole numbers (bytes,
/// picoseconds), booleans, words.
pub(crate) fn given(
    py: Python<'_>,
    info: &PolicyInfo,
    values: &Bound<'_, PyDict>,
) -> PyResult<Vec<(String, ParamValue)>> {
    let mut given = Vec::new();
    for (name, value) in values {
        let wrong = || errors::not_expected("parameters", &name, "names of parameters");
        let name: String = name.extract().map_err(|_| wrong())?;
        let param = info.params.iter().find(|param| param.name == name);
        let param = param.ok_or_else(|| {
            let known: Vec<_> = info.params.iter().map(|param| param.name).collect();
            errors::unknown(py, "parameters", &format!("parameter of {}", info.name), &name, known)
        })?;
        let value = plain(param.kind, &value)
            .ok_or_else(|| errors::not_expected(&name, &value, &param.expected().to_string()))?
            .ok_or_else(|| {
                errors::argument(py, &name, &format!("{name} can be set in scenarios only"), "")
            })?;
        param.check(&value).map_err(|why| errors::argument(py, &name, &format!("{name}: {why}"), ""))?;
        given.push((name, value));
    }
    Ok(given)
}

/// Converts a Python value to a parameter of `kind`. Returns `None` if the value is of another
/// kind. Returns `Some(None)` if only scenarios can have values of `kind`.
fn plain(kind: ParamKind, value: &Bound<'_, PyAny>) -> Option<Option<ParamValue>> {
    let whole = || if value.is_instance_of::<PyBool>() { None } else { value.extract::<u64>().ok() };
    let ratio = || if value.is_instance_of::<PyBool>() { None } else { value.extract::<f64>().ok() };
    let word = || value.extract::<String>().ok();
    let value = match kind {
        ParamKind::Ratio { .. } | ParamKind::RatioAbove { .. } | ParamKind::Measure { .. } => {
            ParamValue::Ratio(ratio()?)
        }
        ParamKind::RatioPerPriority { .. } => match ratio() {
            Some(ratio) => ParamValue::RatioPerPriority(vec![ratio].into()),
            None => ParamValue::RatioPerPriority(value.extract::<Vec<f64>>().ok()?.into()),
        },
        ParamKind::Bytes { .. } => ParamValue::Bytes(whole()?),
        ParamKind::Time { .. } => ParamValue::Time(bufferlab_units::Time(whole()?)),
        ParamKind::Count { .. } => ParamValue::Count(whole()?),
        ParamKind::Flag => ParamValue::Flag(value.extract().ok()?),
        ParamKind::Choice(_) => ParamValue::Choice(word()?.into()),
        ParamKind::Rate { .. } => ParamValue::Rate(BitRate(whole()?)),
        ParamKind::Text => ParamValue::Text(word()?.into()),
        ParamKind::BytesPerPort { .. }
        | ParamKind::List(_)
        | ParamKind::Profiles
        | ParamKind::Tables(_)
        | ParamKind::Texts
        | ParamKind::Pairs { .. }
        | ParamKind::File
        | ParamKind::FlowSizes(_)
        | ParamKind::Nodes { .. } => return Some(None),
    };
    Some(Some(value))
}

/// Finds the buffer policy called `name` in the registry.
pub(crate) fn find(py: Python<'_>, name: &str) -> PyResult<&'static PolicyInfo> {
    let known = || bufferlab_core::policies().iter().map(|info| info.name).collect::<Vec<_>>();
    bufferlab_core::find_policy(name).ok_or_else(|| errors::unknown(py, "policy", "policy", name, known()))
}
