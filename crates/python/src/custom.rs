//! Common parts of custom policies, congestion controls, marking rules, classifiers, workloads and
//! topologies in Python: parameters, and failures of methods.

use bufferlab_core::{ParamInfo, ParamKind, ParamValue, Params};
use bufferlab_params::Word;
use bufferlab_scenario::{parse_rate, parse_size, parse_time};
use bufferlab_units::{BitRate, Time};
use pyo3::exceptions::{PyException, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString, PyTracebackMethods};
use std::cell::RefCell;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

/// A parameter from Python, as a tuple: name, default, kind, minimum, maximum, choices, meaning.
pub(crate) type PlainParameter<'py> =
    (String, Bound<'py, PyAny>, String, Option<f64>, Option<f64>, Vec<String>, String);

/// Leaks the memory of a text, because registry entries exist until the process ends.
pub(crate) fn keep(text: &str) -> &'static str {
    text.to_owned().leak()
}

/// Names of the entries of one registry that are Python classes. A run that uses one of these
/// classes keeps the interpreter lock.
pub(crate) struct InPython(RwLock<Vec<&'static str>>);

impl InPython {
    pub(crate) const fn new() -> Self {
        Self(RwLock::new(Vec::new()))
    }

    /// Whether the registry entry called `name` is a Python class.
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).contains(&name)
    }

    /// Records that the registry entry called `name` is a Python class.
    pub(crate) fn insert(&self, name: &'static str) {
        let mut names = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if !names.contains(&name) {
            names.push(name);
        }
    }
}

/// Converts the parameters that a Python class declares to entries of the registry.
pub(crate) fn declared(parameters: Vec<PlainParameter<'_>>) -> PyResult<&'static [ParamInfo]> {
    let params = parameters.into_iter().map(parameter).collect::<PyResult<Vec<_>>>()?;
    Ok(params.leak())
}

/// Converts the parameters of a custom class to keyword arguments in Python. Sizes are in bytes,
/// times in picoseconds, and rates in bits per second.
pub(crate) fn keywords<'py>(py: Python<'py>, params: &Params) -> PyResult<Bound<'py, PyDict>> {
    let values = PyDict::new(py);
    for (name, value) in params.iter() {
        values.set_item(name, to_python(py, value)?)?;
    }
    Ok(values)
}

fn parameter((name, default, kind, min, max, words, doc): PlainParameter<'_>) -> PyResult<ParamInfo> {
    let wrong = |why: String| PyValueError::new_err(format!("parameter {name}: {why}"));
    let whole = |bound: Option<f64>| bound.unwrap_or(0.0) as u64;
    let no_default = |expected: &str| wrong(format!("its default is {default}, expected {expected}"));
    let number = || default.extract::<u64>().map_err(|_| no_default("a whole number, 0 or more"));
    let text = |expected: &str| default.extract::<String>().map_err(|_| no_default(expected));
    let (kind, default) = match kind.as_str() {
        "ratio" => {
            let (min, max) = (min.unwrap_or(0.0), max.unwrap_or(1e9));
            (ParamKind::Ratio { min, max }, ParamValue::Ratio(default.extract()?))
        }
        "count" => {
            let kind = ParamKind::Count { min: whole(min), max: max.map_or(u64::MAX, |max| max as u64) };
            (kind, ParamValue::Count(number()?))
        }
        "flag" => (ParamKind::Flag, ParamValue::Flag(default.extract()?)),
        "bytes" => {
            let bytes = match default.extract::<String>() {
                Ok(text) => parse_size(&text).map_err(|error| wrong(error.to_string()))?,
                Err(_) => number()?,
            };
            (ParamKind::Bytes { min: whole(min) }, ParamValue::Bytes(bytes))
        }
        "time" => {
            let time = parse_time(&text("a time such as \"80 us\"")?);
            let time = time.map_err(|error| wrong(error.to_string()))?;
            (ParamKind::Time { min: Time(whole(min)) }, ParamValue::Time(time))
        }
        "rate" => {
            let rate = parse_rate(&text("a rate such as \"10 Gb/s\"")?);
            let rate = rate.map_err(|error| wrong(error.to_string()))?;
            (ParamKind::Rate { min: BitRate(whole(min).max(1)) }, ParamValue::Rate(rate))
        }
        "choice" => {
            let word = |name: String| Word { name: name.leak(), meaning: "" };
            let words: Vec<Word> = words.into_iter().map(word).collect();
            (ParamKind::Choice(words.leak()), ParamValue::Choice(text("a word")?.into()))
        }
        other => return Err(wrong(format!("there is no kind {other:?}"))),
    };
    Ok(ParamInfo { name: name.leak(), kind, default, artifact_default: None, doc: doc.leak() })
}

fn to_python<'py>(py: Python<'py>, value: &ParamValue) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        ParamValue::Ratio(x) => PyFloat::new(py, *x).into_any(),
        ParamValue::Bytes(n) | ParamValue::Count(n) => PyInt::new(py, *n).into_any(),
        ParamValue::Time(time) => PyInt::new(py, time.0).into_any(),
        ParamValue::Flag(flag) => PyBool::new(py, *flag).to_owned().into_any(),
        ParamValue::Rate(rate) => PyInt::new(py, rate.0).into_any(),
        ParamValue::Choice(word) | ParamValue::Text(word) => PyString::new(py, word).into_any(),
        other => return Err(PyTypeError::new_err(format!("no custom class declares {other}"))),
    })
}

/// Failure in the call of a method of a Python class.
pub(crate) enum Trouble {
    /// The Python method raised an exception.
    Raised(PyErr),
    /// The Python method returned an invalid value.
    Nonsense(String),
}

impl From<PyErr> for Trouble {
    fn from(error: PyErr) -> Self {
        Self::Raised(error)
    }
}

impl Trouble {
    /// Returns the failure in one sentence, and the Python exception that caused the failure.
    pub(crate) fn in_short(self, py: Python<'_>) -> (String, Option<Cause>) {
        match self {
            Self::Nonsense(what) => (what, None),
            Self::Raised(error) => {
                let raised = Raised::new(py, error);
                (raised.in_short.clone(), Some(Arc::new(raised) as Cause))
            }
        }
    }
}

thread_local! {
    /// Ctrl-C or `sys.exit()` in the constructor of a custom class on the current thread.
    static INTERRUPTION: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Describes the exception that a custom class raised before its run, in one sentence that begins
/// with `name`. Ctrl-C and `sys.exit()` are kept for [`interruption`].
#[cold]
pub(crate) fn refusal(py: Python<'_>, name: &str, error: PyErr) -> String {
    if !error.is_instance_of::<PyException>(py) {
        INTERRUPTION.set(Some(error.clone_ref(py)));
    }
    format!("{name} {}", Raised::new(py, error).in_short())
}

/// Returns once the exception of Ctrl-C or `sys.exit()` that ended the constructor of a custom
/// class on the current thread.
pub(crate) fn interruption() -> Option<PyErr> {
    INTERRUPTION.take()
}

/// An error that caused the failure of a custom class.
pub(crate) type Cause = Arc<dyn std::error::Error + Send + Sync>;

/// Formats the error for an invalid value from Python, such as "answered 3 (int); expected ...".
#[cold]
pub(crate) fn nonsense(answer: &Bound<'_, PyAny>, expected: &str) -> Trouble {
    let shown = answer.repr().map_or_else(|_| "something".to_owned(), |text| text.to_string());
    let shown: String = shown.chars().take(200).collect();
    let kind = answer.get_type().name().map_or_else(|_| String::new(), |name| format!(" ({name})"));
    Trouble::Nonsense(format!("answered {shown}{kind}; expected {expected}"))
}

/// An exception that a custom class raised, with its traceback as text.
#[derive(Debug)]
pub(crate) struct Raised {
    /// Python exception that the custom class raised.
    pub(crate) error: PyErr,
    in_short: String,
    /// Traceback of the exception, as Python prints tracebacks.
    pub(crate) traceback: String,
}

impl Raised {
    /// Finds the Python exception that caused a failure, if any.
    pub(crate) fn find_in<'a>(
        cause: Option<&'a (dyn std::error::Error + Send + Sync + 'static)>,
    ) -> Option<&'a Self> {
        cause.and_then(|cause| cause.downcast_ref())
    }

    /// Summary of the Python exception on one line, such as "raised ZeroDivisionError: division by
    /// zero (own.py, line 12)".
    pub(crate) fn in_short(&self) -> &str {
        &self.in_short
    }

    pub(crate) fn new(py: Python<'_>, error: PyErr) -> Self {
        let traceback = error.traceback(py);
        let frames = traceback.as_ref().and_then(|traceback| traceback.format().ok()).unwrap_or_default();
        let place = traceback.and_then(|traceback| innermost(traceback.into_any()).ok());
        let place = place.map_or_else(String::new, |(file, line)| format!(" ({file}, line {line})"));
        let in_short = format!("raised {error}{place}");
        let traceback = format!("{}{error}", if frames.is_empty() { String::new() } else { frames });
        Self { error, in_short, traceback }
    }
}

/// File and line of the innermost frame of a traceback.
fn innermost(mut traceback: Bound<'_, PyAny>) -> PyResult<(String, usize)> {
    loop {
        let next = traceback.getattr("tb_next")?;
        if next.is_none() {
            break;
        }
        traceback = next;
    }
    let file: String = traceback.getattr("tb_frame")?.getattr("f_code")?.getattr("co_filename")?.extract()?;
    let name = file.rsplit(['/', '\\']).next().unwrap_or(&file).to_owned();
    Ok((name, traceback.getattr("tb_lineno")?.extract()?))
}

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.traceback)
    }
}

impl std::error::Error for Raised {}
