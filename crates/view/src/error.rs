//! Errors in showing a run, with advice for the user.

use bufferlab_results::ResultsError;
use bufferlab_scenario::LoadError;
use bufferlab_sim::SimError;
use std::io;
use std::path::PathBuf;

/// An error in showing a run. [`ViewError::hint`] gives advice to the user.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// The folder of the run cannot be read.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// The path of the run is a file instead of a folder.
    #[error("{} is a file, and a view shows the folder of a run", path.display())]
    NotAFolder {
        /// Path of the file that should be the folder of a run.
        path: PathBuf,
    },
    /// The folder contains several runs, but a view shows only one run.
    #[error("{} holds several runs, and a view shows one", path.display())]
    SeveralRuns {
        /// Folder that contains several runs.
        path: PathBuf,
        /// Names of the runs' folders.
        runs: Vec<String>,
    },
    /// The run has no switch with the requested name.
    #[error("the run has no switch \"{name}\"")]
    NoSuchSwitch {
        /// Requested name, which no switch of the run has.
        name: String,
        /// Names of all switches in the run.
        switches: Vec<String>,
    },
    /// The run has neither packets nor samples of the switch.
    #[error("the run recorded neither packets nor samples of {switch}")]
    NothingRecorded {
        /// Name of the switch without recorded data.
        switch: String,
        /// Names of switches with packets or samples.
        recorded: Vec<String>,
    },
    /// The run did not record packets, which a trace needs.
    #[error("the run did not record the packets of {switch}")]
    NoPackets {
        /// Name of the switch without recorded packets.
        switch: String,
    },
    /// The present version of the program cannot read the scenario of the run.
    #[error("the scenario in the run's folder cannot be read: {0}")]
    Scenario(#[from] LoadError),
    /// The run cannot be repeated, which is needed to explain a loss.
    #[error("the run cannot be repeated: {0}")]
    Simulation(#[from] SimError),
    /// The repetition of the run lacks the requested loss.
    #[error("repeated, the run has no such loss")]
    NoSuchLoss,
    /// Reading or writing a file, or serving a page, failed.
    #[error("cannot {action}: {source}")]
    Io {
        /// Description of the failed action, such as "write the trace".
        action: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A choice of the playground that no switch supports.
    #[error("{0}")]
    Choice(String),
    /// A request body that the playground does not understand.
    #[error("the request is not read: {0}")]
    Request(serde_json::Error),
    /// A value cannot be represented in JSON, such as a number that is not finite.
    #[error("cannot write JSON: {0}")]
    Json(#[from] serde_json::Error),
}

impl ViewError {
    /// Converts an I/O error, with a description of the failed action.
    pub(crate) fn io(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        move |source| Self::Io { action, source }
    }

    /// Advice for the user about the error.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Results(error) => error.hint().to_owned(),
            Self::NotAFolder { path } => format!("run it first: bufferlab run {} --packets", path.display()),
            Self::SeveralRuns { path, runs } => {
                let first: Vec<_> =
                    runs.iter().take(3).map(|run| path.join(run).display().to_string()).collect();
                format!("give one of them: {}", first.join(", "))
            }
            Self::NoSuchSwitch { switches, .. } => format!("switches: {}", switches.join(", ")),
            Self::NothingRecorded { recorded, .. } if recorded.is_empty() => {
                "run again with --packets, or with --set output.sample_interval='10 us'".to_owned()
            }
            Self::NothingRecorded { recorded, .. } => {
                format!("recorded: {}; or run again with --packets", recorded.join(", "))
            }
            Self::NoPackets { .. } => "run again with --packets".to_owned(),
            Self::Scenario(_) | Self::Simulation(_) | Self::NoSuchLoss => {
                "the run may be of another version of bufferlab: run the scenario again".to_owned()
            }
            Self::Io { .. } => "check the path, or choose another with --out or --listen".to_owned(),
            Self::Request(_) => {
                "send the choices as a JSON object, as the page of `bufferlab play` does".to_owned()
            }
            Self::Choice(_) => "choose another value".to_owned(),
            Self::Json(_) => "this is a defect of bufferlab: please report it".to_owned(),
        }
    }
}
