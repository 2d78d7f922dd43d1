//! Errors of the libraries as the command line shows them: message and advice.

use bufferlab_report::ReportError;
use bufferlab_results::ResultsError;
use bufferlab_sim::SimError;
use miette::{Report, miette};
use std::path::Path;

/// A result folder cannot be written or read.
pub(crate) fn results(error: ResultsError) -> Report {
    let hint = error.hint();
    miette!(help = hint, "{error}")
}

/// A report cannot be made.
pub(crate) fn report(error: ReportError) -> Report {
    let hint = error.hint();
    miette!(help = hint, "{error}")
}

/// A run failed.
pub(crate) fn simulation(scenario: &Path, error: SimError) -> Report {
    let help = match &error {
        SimError::Policy { .. } | SimError::Scheduler { .. } | SimError::Traffic(_) => {
            "change the scenario, or override the key with --set"
        }
        SimError::CongestionControl(_) => "see `congestion_control` in docs/scenarios.md",
        SimError::TooLarge { .. } => "make the scenario smaller",
        SimError::Sink(_) => "check that the disk has room and the folder can be written",
        _ => "run again with --verify to find the event at which it broke, and report both",
    };
    miette!(help = help, "{}: {error}", scenario.display())
}
