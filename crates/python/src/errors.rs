//! Converts errors of the libraries to the exceptions of `bufferlab.exceptions`. Python defines the
//! exception classes, so users can document, subclass and pickle these classes.

use crate::custom::{Raised, interruption};
use crate::words;
use bufferlab_core::PolicyFailure;
use bufferlab_lab::{PlanError, RunError};
use bufferlab_params::suggestion;
use bufferlab_report::ReportError;
use bufferlab_results::ResultsError;
use bufferlab_scenario::{A_VARIANT, COMMAND_LINE, LoadError, Problem};
use bufferlab_sim::{FailedClassifier, FailedControl, FailedMarking, FailedPolicy, SimError};
use bufferlab_theory::forms::DomainError;
use bufferlab_workload::SourceError;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt};
use pyo3::prelude::*;
use pyo3::types::PyBool;
use std::path::Path;

/// Creates an `ArgumentError` about the argument `argument` of a call.
pub(crate) fn argument(py: Python<'_>, argument: &str, message: &str, help: &str) -> PyErr {
    let fields = (message, words::in_python(help), argument);
    raised(py, "ArgumentError", |class| class.call1(fields))
}

/// Creates an `UnknownNameError`: no `kind` (such as a policy) has this name. The help suggests a
/// name from `known`.
pub(crate) fn unknown<'a>(
    py: Python<'_>,
    argument: &str,
    kind: &str,
    name: &str,
    known: impl IntoIterator<Item = &'a str> + Clone,
) -> PyErr {
    let help = match suggestion(name, known.clone()) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!("choose one of: {}", known.into_iter().collect::<Vec<_>>().join(", ")),
    };
    let message = format!("{argument}: there is no {kind} \"{name}\"");
    raised(py, "UnknownNameError", |class| class.call1((message, help, argument)))
}

/// Creates an `ArgumentError` about an unexpected value of an argument.
#[cold]
pub(crate) fn not_expected(argument: &str, value: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    let py = value.py();
    let refused = py.import("bufferlab._arguments").and_then(|module| module.getattr("refuse"));
    let error = refused.and_then(|refuse| refuse.call1((argument, value, expected)));
    error.map_or_else(|error| error, PyErr::from_value)
}

/// Converts a Python object to a whole number from 0 to `most`.
pub(crate) fn whole_number(argument: &str, value: &Bound<'_, PyAny>, most: u64) -> PyResult<u64> {
    let found = if value.is_instance_of::<PyBool>() { None } else { value.extract::<u64>().ok() };
    found.filter(|number| *number <= most).ok_or_else(|| {
        let expected = match most {
            u64::MAX => "a whole number, 0 or more".to_owned(),
            most => format!("a whole number from 0 to {most}"),
        };
        not_expected(argument, value, &expected)
    })
}

/// Creates the error of `pickle` and `copy` for an object that is valid only at one moment of a
/// run.
pub(crate) fn not_pickled(py: Python<'_>, class: &str) -> PyErr {
    let message = format!("{class} cannot be pickled or copied: it shows a moment of a run");
    argument(py, "", &message, "keep the numbers that you need")
}

/// Fields of Python's `Problem`: message, key, file, line, help, unknown kind.
pub(crate) type Plain = (String, String, Option<String>, Option<usize>, Option<String>, Option<&'static str>);

/// Converts a problem of a scenario to values that Python can receive. A problem in a changed key
/// has a key but no file. For a dictionary or a text, the file is `<name>`.
pub(crate) fn plain(problem: &Problem) -> Plain {
    let file = problem.file().filter(|file| ![COMMAND_LINE, A_VARIANT].contains(file));
    let line = problem.line().filter(|_| file.is_some());
    let file = file.map(|file| match Path::new(file) {
        path if path.exists() => file.to_owned(),
        path => format!("<{}>", path.file_stem().unwrap_or_default().to_string_lossy()),
    });
    (
        problem.message().to_owned(),
        problem.key().to_owned(),
        file,
        line,
        problem.help_text().map(words::in_python),
        problem.unknown(),
    )
}

/// Creates a `ScenarioError` with every problem of the scenario. If Ctrl-C or `sys.exit()` ended
/// the constructor of a custom class, returns their exception instead.
pub(crate) fn scenario(py: Python<'_>, error: &LoadError) -> PyErr {
    if let Some(interruption) = interruption() {
        return interruption;
    }
    let problems: Vec<_> = error.problems().iter().map(plain).collect();
    raised(py, "ScenarioError", |class| class.call_method1("_of", (problems,)))
}

/// Converts the error of a run to a `RunError`, or to a `ResultsError` if the result folder is the
/// cause.
pub(crate) fn run(py: Python<'_>, error: &RunError) -> PyErr {
    if let RunError::Results(error) = error {
        return results(py, error);
    }
    if error.is_interruption() {
        return PyKeyboardInterrupt::new_err(());
    }
    if let Some(interruption) = interruption() {
        return interruption;
    }
    if let RunError::Simulation(SimError::PolicyFailed(failed)) = error {
        return policy(py, error.to_string(), &words::in_python(error.hint()), failed);
    }
    if let RunError::Simulation(SimError::MarkingFailed(failed)) = error {
        return marking(py, error.to_string(), &words::in_python(error.hint()), failed);
    }
    if let RunError::Simulation(SimError::ClassifierFailed(failed)) = error {
        return classifier(py, error.to_string(), &words::in_python(error.hint()), failed);
    }
    if let RunError::Simulation(SimError::ControlFailed(failed)) = error {
        return control(py, error.to_string(), &words::in_python(error.hint()), failed);
    }
    if let RunError::Simulation(SimError::Traffic(SourceError::Custom(custom))) = error {
        let raised = Raised::find_in(custom.cause.as_deref());
        let fields = (error.to_string(), words::in_python(error.hint()), &custom.workload, traceback(raised));
        return caused(py, self::raised(py, "WorkloadError", |class| class.call1(fields)), raised);
    }
    with_help(py, "RunError", &error.to_string(), error.hint())
}

/// Creates a `ControlError`, caused by the exception of a congestion control.
fn control(py: Python<'_>, message: String, help: &str, failed: &FailedControl) -> PyErr {
    let FailedControl { control, flow, src, dst, time, failure } = failed;
    let raised = Raised::find_in(failure.cause.as_deref());
    let fields = (message, help, control, flow, src, dst, time.0, failure.hook, traceback(raised));
    caused(py, self::raised(py, "ControlError", |class| class.call1(fields)), raised)
}

/// Creates a `ClassifierError`, caused by the exception of a classifier.
fn classifier(py: Python<'_>, message: String, help: &str, failed: &FailedClassifier) -> PyErr {
    let FailedClassifier { classifier, switch, flow, time, failure } = failed;
    let raised = Raised::find_in(failure.cause.as_deref());
    let number = flow.as_ref().map(|flow| flow.0);
    let (src, dst) = flow.as_ref().map_or(("", ""), |(_, src, dst)| (src.as_str(), dst.as_str()));
    let fields = (message, help, classifier, switch, number, src, dst, time.0, traceback(raised));
    caused(py, self::raised(py, "ClassifierError", |class| class.call1(fields)), raised)
}

/// Creates a `MarkingError`, caused by the exception of a marking rule.
fn marking(py: Python<'_>, message: String, help: &str, failed: &FailedMarking) -> PyErr {
    let FailedMarking { rule, switch, queue: (port, priority), time, failure } = failed;
    let raised = Raised::find_in(failure.cause.as_deref());
    let fields = (message, help, rule, switch, port, priority, time.0, traceback(raised));
    caused(py, self::raised(py, "MarkingError", |class| class.call1(fields)), raised)
}

/// Returns the traceback of an exception as Python prints it; empty if Python raised no exception.
fn traceback(raised: Option<&Raised>) -> &str {
    raised.map_or("", |raised| &raised.traceback)
}

/// Sets the exception that a custom class raised as the cause of `error`. Ctrl-C and `sys.exit()`
/// are not mistakes of the class, so their exceptions are returned instead of `error`.
fn caused(py: Python<'_>, error: PyErr, raised: Option<&Raised>) -> PyErr {
    if let Some(raised) = raised.filter(|raised| !raised.error.is_instance_of::<PyException>(py)) {
        return raised.error.clone_ref(py);
    }
    error.set_cause(py, raised.map(|raised| raised.error.clone_ref(py)));
    error
}

/// Creates a `PolicyError`, caused by the exception of a policy.
fn policy(py: Python<'_>, message: String, help: &str, failed: &FailedPolicy) -> PyErr {
    let FailedPolicy { policy, switch, queue, time, failure } = failed;
    let (port, priority) = queue.unzip();
    let raised = Raised::find_in(failure.cause.as_deref());
    let fields = (message, help, policy, switch, port, priority, time.0, failure.hook, traceback(raised));
    caused(py, self::raised(py, "PolicyError", |class| class.call1(fields)), raised)
}

/// Creates a `PolicyError` for a policy in a trial. The value `queue` is a port and a priority.
pub(crate) fn policy_alone(
    py: Python<'_>,
    name: &str,
    queue: Option<(u16, u8)>,
    failure: PolicyFailure,
) -> PyErr {
    let (name, switch) = (name.to_owned(), "of the trial".to_owned());
    let failed = FailedPolicy { policy: name, switch, queue, time: failure.now, failure };
    policy(py, failed.to_string(), "mend the policy", &failed)
}

/// Converts an error about a result folder to a `ResultsError`.
pub(crate) fn results(py: Python<'_>, error: &ResultsError) -> PyErr {
    with_help(py, "ResultsError", &error.to_string(), error.hint())
}

/// Converts an error of a report to a `ResultsError`, because a report is read from results.
pub(crate) fn report(py: Python<'_>, error: &ReportError) -> PyErr {
    with_help(py, "ResultsError", &error.to_string(), error.hint())
}

/// Converts the error of a comparison's or sweep's plan to a `ScenarioError` or a `ResultsError`.
pub(crate) fn plan(py: Python<'_>, error: &PlanError) -> PyErr {
    match error {
        PlanError::Scenario(error) => scenario(py, error),
        other => with_help(py, "ResultsError", &other.to_string(), other.hint().unwrap_or_default()),
    }
}

/// Creates a `DomainError` with the input, its value and the valid values.
pub(crate) fn domain(py: Python<'_>, error: &DomainError) -> PyErr {
    raised(py, "DomainError", |class| class.call1((error.input, error.value, &error.valid)))
}

/// Creates an exception of `class` with a message and a help text.
pub(crate) fn with_help(py: Python<'_>, class: &str, message: &str, help: &str) -> PyErr {
    raised(py, class, |class| class.call1((message, words::in_python(help))))
}

/// Creates an exception with `make`. If `make` fails, returns the error of `make`.
fn raised<'py>(
    py: Python<'py>,
    class: &str,
    make: impl FnOnce(Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
) -> PyErr {
    let made = py.import("bufferlab.exceptions").and_then(|module| module.getattr(class)).and_then(make);
    made.map_or_else(|error| error, PyErr::from_value)
}
