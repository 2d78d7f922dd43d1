//! Errors of the libraries as the command line shows them: message and advice.

use bufferlab_lab::{PlanError, RunError};
use bufferlab_report::ReportError;
use bufferlab_reproduce::ReproduceError;
use bufferlab_results::ResultsError;
use bufferlab_sim::SimError;
use miette::{Report, miette};
use std::path::Path;

/// An experiment is not begun; what is wrong with its scenario is drawn with its place.
pub(crate) fn plan(error: PlanError) -> Report {
    match error {
        PlanError::Scenario(error) => error.into(),
        other => {
            let hint = other.hint().unwrap_or_default().to_owned();
            miette!(help = hint, "{other}")
        }
    }
}

/// A plan or a part of it that others still refer to.
pub(crate) fn plan_part(error: &PlanError) -> Report {
    match error {
        PlanError::Scenario(error) => error.clone().into(),
        other => {
            let hint = other.hint().unwrap_or_default().to_owned();
            miette!(help = hint, "{other}")
        }
    }
}

/// A folder of results cannot be written.
pub(crate) fn results(error: ResultsError) -> Report {
    let hint = error.hint();
    miette!(help = hint, "{error}")
}

/// A report cannot be made.
pub(crate) fn report(error: ReportError) -> Report {
    let hint = error.hint();
    miette!(help = hint, "{error}")
}

/// A reproduction failed; what is wrong with an experiment is drawn with its place.
pub(crate) fn reproduce(error: ReproduceError) -> Report {
    match error {
        ReproduceError::Experiment(error) => error.into(),
        other => miette!(help = other.hint(), "{other}"),
    }
}

/// A run failed.
pub(crate) fn run(scenario: &Path, error: &RunError) -> Report {
    match error {
        RunError::Simulation(_) => miette!(help = error.hint(), "{}: {error}", scenario.display()),
        _ => miette!(help = error.hint(), "{error}"),
    }
}

/// The same, of a simulation that writes no results.
pub(crate) fn simulation(scenario: &Path, error: SimError) -> Report {
    run(scenario, &RunError::Simulation(error))
}
