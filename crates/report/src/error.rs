//! Errors of reports, with hints.

use bufferlab_results::{Mixture, ResultsError};
use std::io;
use std::path::{Path, PathBuf};

/// An error of this crate. The message names the file; [`ReportError::hint`] gives advice.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The folder of a run cannot be read.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// The folder of results has no run.
    #[error("{}", no_runs(path, below))]
    NoRuns {
        /// Path of the folder of results.
        path: PathBuf,
        /// Subfolders with runs for a report, such as the points of a sweep.
        below: Vec<PathBuf>,
    },
    /// Runs of the folder differ in more than seed and policy, so their mean is meaningless.
    #[error("{} {mixture}", path.display())]
    Mixed {
        /// Path of the folder of results.
        path: PathBuf,
        /// Two runs of the folder that cannot be in one report, and the difference between them.
        mixture: Mixture,
    },
    /// A file of the report cannot be written, or the folder cannot be read.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// Verb of the failed file operation: read, write, …
        action: &'static str,
        /// Path of the inaccessible file or folder.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A table of the report cannot be encoded in the file's format.
    #[error("cannot write {}: {problem}", path.display())]
    Encode {
        /// Path of the file that cannot be written.
        path: PathBuf,
        /// Description of the encoder's error.
        problem: String,
    },
    /// A chart cannot be drawn as a PNG picture.
    #[error("cannot draw \"{title}\": {problem}")]
    Picture {
        /// Title of the chart that cannot be drawn.
        title: String,
        /// Description of the error in drawing the chart.
        problem: String,
    },
}

/// Message for a folder without runs, with the subfolders that have runs.
fn no_runs(path: &Path, below: &[PathBuf]) -> String {
    match below {
        [] => format!("{} holds no finished run", path.display()),
        [one] => format!("{} is no run or comparison; below it, {} is one", path.display(), one.display()),
        [first, ..] => format!(
            "{} is no run or comparison; {} folders below it are, such as {}",
            path.display(),
            below.len(),
            first.display()
        ),
    }
}

impl ReportError {
    /// Advice to the user on how to correct the error, as a sentence.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Results(error) => error.hint(),
            Self::NoRuns { below, .. } if !below.is_empty() => {
                "a report and its figures are of one of them, or of a complete sweep: give its folder"
            }
            Self::NoRuns { .. } => {
                "give the folder of a run (it has a manifest.json) or of a comparison (POLICY/seed-N/)"
            }
            Self::Mixed { .. } => {
                "repeat the command that made the folder with --replace, or into another folder with --out; the report \
                 of a single run (`bufferlab report` on a seed-N folder) is sound"
            }
            Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                "check the path; `bufferlab run` and `bufferlab compare` name their folder at the end"
            }
            Self::Io { source, .. } if source.kind() == io::ErrorKind::NotADirectory => {
                "give a folder that `bufferlab run` or `bufferlab compare` has written"
            }
            Self::Picture { .. } => "names must not hold control characters: check the scenario's",
            Self::Io { .. } | Self::Encode { .. } => {
                "check that you may write there and that the disk has space"
            }
        }
    }

    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { action, path, source }
    }

    pub(crate) fn unreadable(error: ResultsError) -> Self {
        match error {
            ResultsError::Io { action, path, source } => Self::Io { action, path, source },
            other => other.into(),
        }
    }

    /// Returns the error for a value that the file's format cannot represent.
    pub fn encode<E: std::fmt::Display>(path: &Path) -> impl FnOnce(E) -> Self {
        let path = path.to_path_buf();
        move |error| Self::Encode { path, problem: error.to_string() }
    }
}
