//! Own policies, written in Python: registered, run, checked, timed.

mod adapter;
mod check;
mod trial;
mod verdict;
mod view;

use adapter::PythonPolicy;
use bufferlab_core::{
    BuildError, ParamInfo, ParamKind, ParamValue, Params, Policy, PolicyInfo, Profile, SwitchShape,
    replace_policy,
};
use bufferlab_params::Word;
use bufferlab_scenario::{parse_size, parse_time};
use bufferlab_units::BitRate;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString, PyType};
use std::sync::{PoisonError, RwLock};

pub(crate) use adapter::Raised;
pub(crate) use check::check_policy;
pub(crate) use trial::run_trial;
pub(crate) use verdict::Verdict;
pub(crate) use view::{Arrival, Buffer, Departure, Weight};

/// Names of the policies whose verdicts are Python's: their runs hold the interpreter.
static IN_PYTHON: RwLock<Vec<&'static str>> = RwLock::new(Vec::new());

/// Whether a policy decides in Python.
pub(crate) fn is_in_python(name: &str) -> bool {
    IN_PYTHON.read().unwrap_or_else(PoisonError::into_inner).contains(&name)
}

/// A parameter as Python declares it: name, default, kind, smallest and largest value, words to choose from, meaning.
type PlainParameter<'py> = (String, Bound<'py, PyAny>, String, Option<f64>, Option<f64>, Vec<String>, String);

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
    // Entries of the registry live as long as the process; so does what they refer to.
    let keep = |text: &str| -> &'static str { text.to_owned().leak() };
    let name = keep(name);
    let params = parameters.into_iter().map(parameter).collect::<PyResult<Vec<_>>>()?;
    let class = class_.unbind();
    let build = move |params: &Params, shape: &SwitchShape| build(name, &class, &hooks, params, shape);
    let info = PolicyInfo {
        name,
        aliases: &[],
        title: keep(title),
        summary: keep(summary),
        source: "Own policy, in Python.",
        cost: "one call of Python",
        params: params.leak(),
        build: Box::leak(Box::new(build)),
    };
    replace_policy(info).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let mut names = IN_PYTHON.write().unwrap_or_else(PoisonError::into_inner);
    if !names.contains(&name) {
        names.push(name);
    }
    Ok(())
}

fn parameter((name, default, kind, min, max, words, doc): PlainParameter<'_>) -> PyResult<ParamInfo> {
    let wrong = |why: String| PyValueError::new_err(format!("parameter {name}: {why}"));
    let whole = |bound: Option<f64>| bound.unwrap_or(0.0) as u64;
    let (kind, default) = match kind.as_str() {
        "ratio" => {
            let (min, max) = (min.unwrap_or(0.0), max.unwrap_or(1e9));
            (ParamKind::Ratio { min, max }, ParamValue::Ratio(default.extract()?))
        }
        "count" => (ParamKind::at_least(whole(min)), ParamValue::Count(default.extract()?)),
        "flag" => (ParamKind::Flag, ParamValue::Flag(default.extract()?)),
        "bytes" => {
            let bytes = match default.extract::<u64>() {
                Ok(bytes) => bytes,
                Err(_) => {
                    parse_size(&default.extract::<String>()?).map_err(|error| wrong(error.to_string()))?
                }
            };
            (ParamKind::Bytes { min: whole(min) }, ParamValue::Bytes(bytes))
        }
        "time" => {
            let time = parse_time(&default.extract::<String>()?).map_err(|error| wrong(error.to_string()))?;
            (ParamKind::Time { min: bufferlab_units::Time(whole(min)) }, ParamValue::Time(time))
        }
        "choice" => {
            let word = |name: String| Word { name: name.leak(), meaning: "" };
            let words: Vec<Word> = words.into_iter().map(word).collect();
            (ParamKind::Choice(words.leak()), ParamValue::Choice(default.extract::<String>()?.into()))
        }
        other => return Err(wrong(format!("there is no kind {other:?}"))),
    };
    Ok(ParamInfo { name: name.leak(), kind, default, artifact_default: None, doc: doc.leak() })
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
            let values = PyDict::new(py);
            for (name, value) in params.iter() {
                values.set_item(name, to_python(py, value)?)?;
            }
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
fn switch<'py>(py: Python<'py>, shape: &SwitchShape) -> PyResult<Bound<'py, PyAny>> {
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

fn to_python<'py>(py: Python<'py>, value: &ParamValue) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        ParamValue::Ratio(x) => PyFloat::new(py, *x).into_any(),
        ParamValue::Bytes(n) | ParamValue::Count(n) => PyInt::new(py, *n).into_any(),
        ParamValue::Time(time) => PyInt::new(py, time.0).into_any(),
        ParamValue::Flag(flag) => PyBool::new(py, *flag).to_owned().into_any(),
        ParamValue::Rate(rate) => PyInt::new(py, rate.0).into_any(),
        ParamValue::Choice(word) | ParamValue::Text(word) => PyString::new(py, word).into_any(),
        other => return Err(PyTypeError::new_err(format!("no own policy declares {other}"))),
    })
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
