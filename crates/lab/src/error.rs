//! Errors of runs and plans, with hints.

use crate::{Panicked, TooMuchMemory};
use bufferlab_params::Beyond;
use bufferlab_report::ReportError;
use bufferlab_results::ResultsError;
use bufferlab_scenario::LoadError;
use bufferlab_sim::SimError;

/// Reason why a run produced no results.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The scenario cannot run, or its run failed or was interrupted.
    #[error(transparent)]
    Simulation(#[from] SimError),
    /// The folder of results cannot be written.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// A loaded scenario has a name that no registry contains.
    #[error("{0}; this is a bug in bufferlab, please report it")]
    Head(String),
    /// The planned runs do not fit in memory.
    #[error(transparent)]
    Memory(Box<TooMuchMemory>),
    /// A defect of the program caused a panic during the run.
    #[error("{0}; this is a bug in bufferlab or in a custom scheme")]
    Panicked(Box<Panicked>),
    /// The system cannot start the threads for runs.
    #[error("cannot start threads: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
}

impl RunError {
    /// Whether the user interrupted the run, so that the program has no failure to report.
    #[must_use]
    pub fn is_interruption(&self) -> bool {
        matches!(self, Self::Simulation(SimError::Interrupted))
    }

    /// Whether the failed run might end differently on one thread. Several threads of a run
    /// simulate past the end of the run before they notice the end. After the end, the threads may
    /// reach an error that a single thread never reaches.
    #[must_use]
    pub(crate) fn may_depend_on_threads(&self) -> bool {
        match self {
            Self::Panicked(_) => true,
            Self::Simulation(error) => !matches!(error, SimError::Interrupted | SimError::Sink(_)),
            _ => false,
        }
    }

    /// Advice to the user about the error.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Simulation(error) => simulation_hint(error),
            Self::Results(error) => error.hint(),
            Self::Head(_) => "report it with the scenario",
            Self::Memory(_) => {
                "make the scenario smaller; where the system has more, say so with --memory-limit 64GB, which comes before \
                 the command"
            }
            Self::Panicked(_) => {
                "other runs are not affected; repeat this one alone with its seed (`--set seed=N --threads 1`), and report it \
                 with the scenario"
            }
            Self::Threads(_) => "run fewer at a time",
        }
    }
}

fn simulation_hint(error: &SimError) -> &'static str {
    match error {
        SimError::Policy { .. }
        | SimError::Classifier { .. }
        | SimError::Marker { .. }
        | SimError::Scheduler { .. }
        | SimError::RoutingLoop { .. }
        | SimError::Traffic(_) => "change the scenario, or override the key with --set",
        SimError::PolicyFailed(_) => {
            "mend the policy: its run has no result; the conformance suite shows the shortest script that breaks it"
        }
        SimError::ClassifierFailed(_) => "mend the classifier: its run has no result",
        SimError::MarkingFailed(_) => "mend the marking rule: its run has no result",
        SimError::ControlFailed(_) => "mend the congestion control: its run has no result",
        SimError::CongestionControl(_) | SimError::ControlParameter { .. } => {
            "see `congestion_control` in docs/reference/scenarios.md"
        }
        SimError::CardFull(_) => {
            "set nic = \"fair\" in [host], with which packets are made when they are sent, or bound the windows \
             (`initial_window`, `window_limit`) or the sizes of flows"
        }
        SimError::TooLarge { .. } => "make the scenario smaller",
        SimError::CannotFork { hint, .. } => hint,
        SimError::Refused(_) => "correct the argument of the call: the run is unchanged",
        SimError::Interrupted => "repeat the command: runs that are complete stay",
        SimError::Sink(_) => "check that the disk has room and the folder can be written",
        SimError::Broken { .. } | SimError::LostTrack { .. } => {
            "run again with --verify to find the event at which it broke, and report both"
        }
    }
}

/// Reason why an experiment cannot begin, or its results cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The scenario of the experiment cannot be loaded.
    #[error(transparent)]
    Scenario(#[from] LoadError),
    /// A folder of results cannot be read or written.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// The results of the runs cannot be compared.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// The plan would mix, repeat or remove results.
    #[error("{message}")]
    Refused {
        /// Description of the problem with the plan of runs.
        message: String,
        /// Advice to the user about the problem with the plan.
        help: String,
    },
}

impl PlanError {
    /// Creates the error for more runs than one command may plan.
    pub(crate) fn beyond(beyond: Beyond) -> Self {
        Self::refused(
            beyond.to_string(),
            "plan fewer at a time: several commands can fill folders beside each other",
        )
    }

    pub(crate) fn refused(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Refused { message: message.into(), help: help.into() }
    }

    /// Advice to the user; `None` for problems of a scenario, which have separate advice.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Scenario(_) => None,
            Self::Results(error) => Some(error.hint()),
            Self::Report(error) => Some(error.hint()),
            Self::Refused { help, .. } => Some(help),
        }
    }
}
