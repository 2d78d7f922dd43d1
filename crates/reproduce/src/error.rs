//! What can go wrong with a reproduction, and what to do then.

use crate::TableError;
use bufferlab_document::{LoadError, Problem};
use bufferlab_lab::{Panicked, RunError};
use bufferlab_params::Beyond;
use bufferlab_report::ReportError;
use bufferlab_results::ResultsError;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why an experiment cannot be read or run.
#[derive(Debug, thiserror::Error)]
pub enum ReproduceError {
    /// A file or folder.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// read, write, …
        action: &'static str,
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Experiments are wrong: everything that could be found, each with file, line, key and advice.
    #[error("{}", .0.in_lines())]
    Experiment(#[from] LoadError),
    /// A table of claims is wrong.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A table cannot be written.
    #[error("{name}: {source}")]
    Unwritable {
        /// Which.
        name: &'static str,
        /// Why.
        source: csv::Error,
    },
    /// Nothing of that name.
    #[error("there is no experiment or paper \"{name}\"{}", near.as_ref().map_or_else(String::new, |near| format!("; did you mean \"{near}\"?")))]
    Unknown {
        /// What was asked for.
        name: String,
        /// What is called nearly so.
        near: Option<String>,
    },
    /// An analytical figure has no runs, and so no table of their values.
    #[error("{0} has no runs whose values could be drawn")]
    NoRuns(String),
    /// None of the experiments has the reading of a public simulator.
    #[error("none of these experiments has the reading of an artifact")]
    NoReading,
    /// None of the experiments has the scale of that name.
    #[error("none of these experiments has the scale \"{0}\"")]
    NoScale(&'static str),
    /// More runs than one command may plan.
    #[error("{experiment}: {beyond}")]
    TooMany {
        /// Which experiment asks for them; several together have the name of the last.
        experiment: String,
        /// The limit, and what was asked for.
        beyond: Beyond,
    },
    /// An analytical figure cannot be computed: its parameters are ours.
    #[error("this is a bug in bufferlab: {0}")]
    Figure(bufferlab_theory::fluid::FluidError),
    /// A chart cannot be drawn.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// Threads cannot be started.
    #[error(transparent)]
    Threads(#[from] RunError),
}

impl ReproduceError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { action, path, source }
    }

    /// What to do.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Io { .. } => "check the path, its rights, and the room on the disk",
            Self::Experiment(_) => "docs/reference/experiments.md explains the keys of an experiment",
            Self::Table(_) => "mend the table; its columns are named in claims/README.md",
            Self::Unwritable { .. } | Self::Figure(_) => "please report it",
            Self::Unknown { .. } => "`bufferlab reproduce --list` shows all of them",
            Self::NoRuns(_) => "what is computed is drawn at once: leave the table of values out",
            Self::NoReading => {
                "leave --profile out; docs/evidence/reproduction.md says which papers have a public simulator"
            }
            Self::NoScale(_) => "leave --scale out, or add [paper] with its `seeds` to the experiment",
            Self::TooMany { .. } => {
                "lower --seeds or the experiment's `seeds`, or name fewer experiments at a time"
            }
            Self::Report(error) => error.hint(),
            Self::Threads(_) => "run fewer at a time with --jobs",
        }
    }
}

/// A run that has no numbers, and why.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{point}: {cause}")]
pub struct RunFailure {
    /// Which run: experiment, places, variant, seed.
    pub point: String,
    /// Why; runs that are the same share it.
    pub cause: Arc<FailureCause>,
}

impl RunFailure {
    pub(crate) fn new(point: String, cause: FailureCause) -> Self {
        Self { point, cause: Arc::new(cause) }
    }
}

/// Why a run has no numbers.
#[derive(Debug, thiserror::Error)]
pub enum FailureCause {
    /// The scenario is wrong, or what the experiment sets in it.
    #[error("{}", .0.problems().iter().map(Problem::in_one_line).collect::<Vec<_>>().join("; "))]
    Scenario(LoadError),
    /// The run broke off.
    #[error(transparent)]
    Run(#[from] RunError),
    /// What is taken of its tables could not be worked out, by a defect of the program.
    #[error("{0}; this is a bug in bufferlab, please report it")]
    Panicked(#[from] Panicked),
    /// Its tables cannot be read.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// Its summary cannot be made.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// Its numbers have no form in JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// Its numbers cannot be kept.
    #[error("{}: {source}", path.display())]
    Kept {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It was to be done elsewhere, and has not come from there.
    #[error("{0}")]
    Elsewhere(String),
    /// Its numbers were kept, and somebody removed or damaged them.
    #[error("{}: the numbers have vanished", .0.display())]
    Vanished(PathBuf),
}
