//! What can go wrong with a result folder, and what to do about it.

use crate::digest::FileFault;
use crate::words::WORDS_MAX;
use arrow_schema::{ArrowError, DataType};
use bufferlab_metrics::CellFault;
use parquet::errors::ParquetError;
use std::io;
use std::path::{Path, PathBuf};

/// An error of this crate. The message names the file; [`ResultsError::hint`] says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResultsError {
    /// Reading or writing failed.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The verb: `create`, `write` …
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The output folder holds something that is not a run's result.
    #[error("{} is not empty and not the result of a run (found `{found}`)", path.display())]
    ForeignFolder {
        /// The folder.
        path: PathBuf,
        /// One entry that no run writes.
        found: String,
    },
    /// The output path is a file.
    #[error("{} exists and is not a folder", path.display())]
    NotAFolder {
        /// The path.
        path: PathBuf,
    },
    /// A folder has the name under which a run is written, and no run has made it.
    #[error("{} is in the way: a run is written under this name, but this folder is none of bufferlab's", path.display())]
    InTheWay {
        /// The folder.
        path: PathBuf,
    },
    /// Another command, in this process or another, is writing the same result.
    #[error("another command is writing {}", path.display())]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// The folder has no manifest.
    #[error("{} has no {}: not a complete run", path.display(), crate::MANIFEST_FILE)]
    Incomplete {
        /// The folder.
        path: PathBuf,
    },
    /// A file of the folder is not what the run wrote.
    #[error("{}: {fault}", path.display())]
    Damaged {
        /// The folder.
        path: PathBuf,
        /// The file, and what is wrong with it.
        fault: FileFault,
    },
    /// A JSON file does not say what it should.
    #[error("{} is not readable: {source}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: serde_json::Error,
    },
    /// The result was written in another format version.
    #[error("{} has result format {found}, this program reads {}", path.display(), crate::FORMAT_VERSION)]
    FormatVersion {
        /// The manifest.
        path: PathBuf,
        /// Its format version.
        found: u32,
    },
    /// Two classes, switches or hosts of a run have the same name, so tables could not tell them
    /// apart.
    #[error("two {kind} have the name `{name}`")]
    DuplicateName {
        /// `classes`, `switches` or `hosts`.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// A table cannot be read or written.
    #[error("{}: {source}", path.display())]
    Table {
        /// The table's file.
        path: PathBuf,
        /// What is wrong.
        source: TableError,
    },
}

/// What is wrong with a table.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// Parquet cannot be encoded, decoded, read or written.
    #[error(transparent)]
    Parquet(#[from] ParquetError),
    /// Arrow refuses a batch of rows.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
    /// The file lacks a column.
    #[error("column `{column}` is missing")]
    MissingColumn {
        /// Its name.
        column: &'static str,
    },
    /// A column is of another type.
    #[error("column `{column}` is {found}, expected {expected}")]
    ColumnType {
        /// Its name.
        column: &'static str,
        /// Its type in the file.
        found: DataType,
        /// The type that it must have.
        expected: DataType,
    },
    /// A cell does not fit its column.
    #[error("column `{column}`, row {row} of its batch: {fault}")]
    Cell {
        /// The column's name.
        column: &'static str,
        /// Number of the row among those that are decoded at a time, from 0.
        row: usize,
        /// What is wrong with it.
        fault: CellFault,
    },
    /// A table names a class, switch or host that the run did not have.
    #[error("the manifest does not know the name `{name}`")]
    UnknownName {
        /// The name.
        name: String,
    },
    /// A column of words holds so many different ones that the file must be damaged.
    #[error("more than {WORDS_MAX} different words where a few are expected")]
    TooManyWords,
}

impl ResultsError {
    /// What the user can do, as a sentence.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied => "choose a folder that you may write to with --out",
                io::ErrorKind::StorageFull => "free some space, or choose another disk with --out",
                io::ErrorKind::NotFound => "check the path",
                _ => "check the path and the disk, then run again",
            },
            Self::ForeignFolder { .. } => {
                "choose another folder with --out, or move the other files away; nothing was deleted"
            }
            Self::InTheWay { .. } => "move it away, or choose another folder with --out; nothing was deleted",
            Self::NotAFolder { .. } => "choose another name with --out",
            Self::Busy { .. } => "wait for it to end, or choose another folder with --out",
            Self::Incomplete { .. } => "give the folder of a finished run, or run the scenario again",
            Self::Damaged { .. } | Self::Json { .. } | Self::Table { .. } => {
                "the file was changed or damaged after the run: run the scenario again"
            }
            Self::DuplicateName { .. } => "give each its own name in the scenario",
            Self::FormatVersion { .. } => "read it with the version that wrote it, or run the scenario again",
        }
    }

    /// For `map_err` on I/O.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { action, path, source }
    }

    /// For `map_err` on whatever can be wrong with a table.
    pub(crate) fn table<E: Into<TableError>>(path: &Path) -> impl FnOnce(E) -> Self {
        let path = path.to_path_buf();
        move |error| Self::Table { path, source: error.into() }
    }
}
