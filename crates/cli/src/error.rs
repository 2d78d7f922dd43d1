//! Converts errors of the libraries to messages of the command line, each with a hint.

use bufferlab_lab::{PlanError, RunError};
use bufferlab_report::ReportError;
use bufferlab_reproduce::ReproduceError;
use bufferlab_results::ResultsError;
use bufferlab_sim::SimError;
use miette::{Report, miette};
use std::path::Path;

/// Converts an error of planning runs to a message. For a mistake in a scenario, the message shows
/// the place in the file.
pub(crate) fn plan(error: PlanError) -> Report {
    match error {
        PlanError::Scenario(error) => error.into(),
        other => {
            let hint = other.hint().unwrap_or_default().to_owned();
            miette!(help = hint, "{other}")
        }
    }
}

/// Converts an error of planning runs to a message. The function takes a reference, because the
/// caller keeps the error.
pub(crate) fn plan_part(error: &PlanError) -> Report {
    match error {
        PlanError::Scenario(error) => error.clone().into(),
        other => {
            let hint = other.hint().unwrap_or_default().to_owned();
            miette!(help = hint, "{other}")
        }
    }
}

/// Converts an error about a folder of results to a message with a hint.
pub(crate) fn results(error: ResultsError) -> Report {
    let hint = error.hint();
    miette!(help = hint, "{error}")
}

/// Converts an error of a report to a message with a hint.
pub(crate) fn report(error: ReportError) -> Report {
    let hint = error.hint();
    miette!(help = hint, "{error}")
}

/// Converts an error of a reproduction to a message. For a mistake in an experiment, the message
/// shows the place in the file.
pub(crate) fn reproduce(error: ReproduceError) -> Report {
    match error {
        ReproduceError::Experiment(error) => error.into(),
        other => miette!(help = other.hint(), "{other}"),
    }
}

/// Converts an error of a run to a message with a hint.
pub(crate) fn run(scenario: &Path, error: &RunError) -> Report {
    match error {
        RunError::Simulation(_) => miette!(help = error.hint(), "{}: {error}", scenario.display()),
        _ => miette!(help = error.hint(), "{error}"),
    }
}

/// Converts an error of a simulation that writes no results to a message.
pub(crate) fn simulation(scenario: &Path, error: SimError) -> Report {
    run(scenario, &RunError::Simulation(error))
}
