//! What can go wrong with a reproduction, and what to do then.

use std::io;
use std::path::{Path, PathBuf};

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
    /// An experiment's file is wrong.
    #[error("{}: {why}", path.display())]
    Experiment {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        why: String,
    },
    /// A table of claims is wrong.
    #[error("{name}: {why}")]
    Table {
        /// Which.
        name: String,
        /// Why.
        why: String,
    },
    /// Nothing of that name.
    #[error("there is no experiment or paper \"{0}\"")]
    Unknown(String),
    /// A chart cannot be drawn.
    #[error(transparent)]
    Report(#[from] bufferlab_report::ReportError),
    /// Threads cannot be started.
    #[error(transparent)]
    Threads(#[from] bufferlab_lab::RunError),
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
            Self::Experiment { .. } => "docs/guide.md explains the keys of an experiment",
            Self::Table { .. } => "mend the table; its columns are named in claims/README.md",
            Self::Unknown(_) => "`bufferlab reproduce --list` shows all of them",
            Self::Report(error) => error.hint(),
            Self::Threads(_) => "run fewer at a time with --jobs",
        }
    }
}
