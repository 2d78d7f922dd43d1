//! What can go wrong with a run or a plan, and what to do then.

use crate::{Panicked, TooMuchMemory};
use bufferlab_params::Beyond;
use bufferlab_report::ReportError;
use bufferlab_results::ResultsError;
use bufferlab_scenario::LoadError;
use bufferlab_sim::SimError;

/// Why a run has no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The scenario cannot run, or broke off.
    #[error(transparent)]
    Simulation(#[from] SimError),
    /// The folder cannot be written.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// A loaded scenario names what no registry has.
    #[error("{0}; this is a bug in bufferlab, please report it")]
    Head(String),
    /// The planned runs do not fit into memory.
    #[error(transparent)]
    Memory(Box<TooMuchMemory>),
    /// The program has a defect that this run met.
    #[error("{0}; this is a bug in bufferlab or in a custom scheme")]
    Panicked(Box<Panicked>),
    /// Threads cannot be started.
    #[error("cannot start threads: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
}

impl RunError {
    /// Whether nothing is wrong but that somebody ended the run.
    #[must_use]
    pub fn is_interruption(&self) -> bool {
        matches!(self, Self::Simulation(SimError::Interrupted))
    }

    /// Whether the run might end otherwise on one thread: threads of one run go on beyond the end
    /// of the run before they know of it, and may meet there what one thread never meets.
    #[must_use]
    pub(crate) fn may_depend_on_threads(&self) -> bool {
        match self {
            Self::Panicked(_) => true,
            Self::Simulation(error) => !matches!(error, SimError::Interrupted | SimError::Sink(_)),
            _ => false,
        }
    }

    /// What to do.
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
        SimError::Interrupted => "repeat the command: runs that are complete stay",
        SimError::Sink(_) => "check that the disk has room and the folder can be written",
        SimError::Broken { .. } | SimError::LostTrack { .. } => {
            "run again with --verify to find the event at which it broke, and report both"
        }
    }
}

/// Why an experiment is not begun, or its results cannot be put together.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The scenario does not load.
    #[error(transparent)]
    Scenario(#[from] LoadError),
    /// A folder cannot be read or written.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// Results cannot be compared.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// It would mix, repeat or destroy something.
    #[error("{message}")]
    Refused {
        /// What is wrong.
        message: String,
        /// What to do.
        help: String,
    },
}

impl PlanError {
    /// More runs than one command may plan.
    pub(crate) fn beyond(beyond: Beyond) -> Self {
        Self::refused(
            beyond.to_string(),
            "plan fewer at a time: several commands can fill folders beside each other",
        )
    }

    pub(crate) fn refused(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Refused { message: message.into(), help: help.into() }
    }

    /// What to do; a scenario's problems have their own advice.
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
