//! Errors in the reproduction of papers' results, with hints to the user.

use crate::TableError;
use bufferlab_document::{LoadError, Problem};
use bufferlab_lab::{Panicked, RunError};
use bufferlab_params::Beyond;
use bufferlab_report::ReportError;
use bufferlab_results::ResultsError;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Error that stops the reproduction of a paper's results.
#[derive(Debug, thiserror::Error)]
pub enum ReproduceError {
    /// A file or folder cannot be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// Verb of the failed action on a file: read, write, …
        action: &'static str,
        /// Path of the inaccessible file or folder.
        path: PathBuf,
        /// Error that the operating system reported for the file.
        source: io::Error,
    },
    /// Experiment files are invalid. The error has all mistakes, each with file, line, key and
    /// advice.
    #[error("{}", .0.in_lines())]
    Experiment(#[from] LoadError),
    /// A table of the papers' claims is invalid.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A table of the papers' claims cannot be written as CSV.
    #[error("{name}: {source}")]
    Unwritable {
        /// Name of the claims table that cannot be written.
        name: &'static str,
        /// Error that the CSV writer reported for the table.
        source: csv::Error,
    },
    /// No experiment, paper or statement has the given name.
    #[error("there is no experiment, paper or statement \"{name}\"{}", near.as_ref().map_or_else(String::new, |near| format!("; did you mean \"{near}\"?")))]
    Unknown {
        /// Name of an experiment or paper that the user gave.
        name: String,
        /// The known name of an experiment or paper that is most similar, if any.
        near: Option<String>,
    },
    /// An analytical figure has no runs, and therefore no table of values.
    #[error("{0} has no runs whose values could be drawn")]
    NoRuns(String),
    /// The selected experiments have no table `[artifact]` with the settings of a paper's public
    /// code.
    #[error("none of these experiments has the reading of an artifact")]
    NoReading,
    /// The selected experiments do not define the scale with this name.
    #[error("none of these experiments has the scale \"{0}\"")]
    NoScale(&'static str),
    /// The plan of an experiment has more runs than the limit of one command.
    #[error("{experiment}: {beyond}")]
    TooMany {
        /// Name of the experiment that exceeds the limit. If several experiments exceed the limit
        /// together, the last of these experiments.
        experiment: String,
        /// The exceeded limit, and the number of runs or seeds that the user requested.
        beyond: Beyond,
    },
    /// An analytical figure cannot be computed. This is a defect, because the figure's
    /// parameters are built in.
    #[error("this is a bug in bufferlab: {0}")]
    Figure(bufferlab_theory::fluid::FluidError),
    /// A chart of an experiment cannot be drawn.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// A folder of results with checksums cannot be written.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// The threads that compute the results cannot be started.
    #[error(transparent)]
    Threads(#[from] RunError),
}

impl ReproduceError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { action, path, source }
    }

    /// Returns advice to the user on how to correct the error.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => "check the path",
            Self::Io { .. } => "check the path, its rights, and the room on the disk",
            Self::Experiment(_) => "docs/reference/experiments.md explains the keys of an experiment",
            Self::Table(_) => "mend the table; its columns are named in claims/README.md",
            Self::Unwritable { .. } | Self::Figure(_) => "please report it",
            Self::Unknown { .. } => {
                "`bufferlab reproduce --list` lists the experiments; the CSV files in docs/evidence/reproduction \
                 list the statements"
            }
            Self::NoRuns(_) => "what is computed is drawn at once: leave the table of values out",
            Self::NoReading => {
                "leave --profile out; docs/evidence/reproduction.md says which papers have a public simulator"
            }
            Self::NoScale(_) => "leave --scale out, or add [paper] with its `seeds` to the experiment",
            Self::TooMany { .. } => {
                "lower --seeds or the experiment's `seeds`, or name fewer experiments at a time"
            }
            Self::Report(error) => error.hint(),
            Self::Results(error) => error.hint(),
            Self::Threads(_) => "run fewer at a time with --jobs",
        }
    }
}

/// A failed run of an experiment, with the reason for the failure.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{point}: {cause}")]
pub struct RunFailure {
    /// Description of the run: experiment, axis values, variant, seed.
    pub point: String,
    /// Reason for the failure of the run. Identical runs of several experiments share one reason.
    pub cause: Arc<FailureCause>,
}

impl RunFailure {
    pub(crate) fn new(point: String, cause: FailureCause) -> Self {
        Self { point, cause: Arc::new(cause) }
    }
}

/// Reason why a simulation run has no results.
#[derive(Debug, thiserror::Error)]
pub enum FailureCause {
    /// The scenario is invalid, or the experiment sets an invalid value.
    #[error("{}", .0.problems().iter().map(Problem::in_one_line).collect::<Vec<_>>().join("; "))]
    Scenario(LoadError),
    /// The simulation of the experiment's run failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A defect of the program: a panic while the program computed the numbers from the tables.
    #[error("{0}; this is a bug in bufferlab, please report it")]
    Panicked(#[from] Panicked),
    /// The result tables of the simulation run cannot be read.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// The run's summary cannot be computed.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// JSON cannot represent the numbers that the run computed.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// The run's numbers cannot be written to the cache.
    #[error("{}: {source}", path.display())]
    Kept {
        /// Path of the cache file.
        path: PathBuf,
        /// Error that the operating system reported for the cache file.
        source: io::Error,
    },
    /// The run was assigned to another machine, and the result of the run did not arrive.
    #[error("{0}")]
    Elsewhere(String),
    /// The run's results were removed from the cache, or the cache file is damaged.
    #[error("{}: the numbers have vanished", .0.display())]
    Vanished(PathBuf),
}
