//! Errors of result folders, with hints.

use crate::digest::FileFault;
use arrow_schema::{ArrowError, DataType};
use bufferlab_metrics::CellFault;
use parquet::errors::ParquetError;
use std::io;
use std::path::{Path, PathBuf};

/// Limit on distinct words; only a damaged table exceeds it.
pub(crate) const INTERNED_MAX: usize = 1_000;

/// An error of this crate. The message names the file; [`ResultsError::hint`] says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResultsError {
    /// Reading or writing failed.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The failed action as a verb: `create`, `write` …
        action: &'static str,
        /// Path of the file or folder.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The output folder contains something other than the result of a run.
    #[error("{} is not empty and not the result of a run (found `{found}`)", path.display())]
    ForeignFolder {
        /// Path of the folder.
        path: PathBuf,
        /// Name of an entry that no run writes.
        found: String,
    },
    /// The output path is a file.
    #[error("{} exists and is not a folder", path.display())]
    NotAFolder {
        /// Path of the file.
        path: PathBuf,
    },
    /// A folder has the hidden name that a run needs while it is written, and no run has created
    /// it.
    #[error("{} is in the way: a run is written under this name, but this folder is none of bufferlab's", path.display())]
    InTheWay {
        /// Path of the folder with the hidden name.
        path: PathBuf,
    },
    /// Another command, in this process or another, is writing the same result.
    #[error("another command is writing {}", path.display())]
    Busy {
        /// Path of the folder.
        path: PathBuf,
    },
    /// The folder has no manifest.
    #[error("{} has no {}: not a complete run", path.display(), crate::MANIFEST_FILE)]
    Incomplete {
        /// Path of the folder.
        path: PathBuf,
    },
    /// A file of the folder has changed since the run wrote it.
    #[error("{}: {fault}", path.display())]
    Damaged {
        /// Path of the folder.
        path: PathBuf,
        /// The file and its fault.
        fault: FileFault,
    },
    /// A JSON file has unexpected content.
    #[error("{} is not readable: {source}", path.display())]
    Json {
        /// Path of the file.
        path: PathBuf,
        /// Error of the JSON parser, with its position.
        source: serde_json::Error,
    },
    /// The result was written in another format version.
    #[error("{} has result format {found}, this program reads {}", path.display(), crate::FORMAT_VERSION)]
    FormatVersion {
        /// Path of the manifest.
        path: PathBuf,
        /// Format version of the manifest.
        found: u32,
    },
    /// Two classes, switches or hosts of a run have the same name, so tables could not distinguish
    /// them.
    #[error("two {kind} have the name `{name}`")]
    DuplicateName {
        /// Kind of the name: `classes`, `switches` or `hosts`.
        kind: &'static str,
        /// The duplicate name.
        name: String,
    },
    /// A table cannot be read or written.
    #[error("{}: {source}", path.display())]
    Table {
        /// Path of the table's file.
        path: PathBuf,
        /// The underlying error.
        source: TableError,
    },
}

/// Error of a table.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// Parquet cannot be encoded, decoded, read or written.
    #[error(transparent)]
    Parquet(#[from] ParquetError),
    /// Arrow rejects a batch of rows.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
    /// The file lacks a column.
    #[error("column `{column}` is missing")]
    MissingColumn {
        /// Name of the column.
        column: &'static str,
    },
    /// A column has an unexpected type.
    #[error("column `{column}` is {found}, expected {expected}")]
    ColumnType {
        /// Name of the column.
        column: &'static str,
        /// Type in the file.
        found: DataType,
        /// Expected type.
        expected: DataType,
    },
    /// A cell does not fit its column.
    #[error("column `{column}`, row {row} of its batch: {fault}")]
    Cell {
        /// Name of the column.
        column: &'static str,
        /// Number of the row within its batch, from 0.
        row: usize,
        /// Fault of the cell.
        fault: CellFault,
    },
    /// A table names a class, switch or host that the run did not have.
    #[error("the manifest does not know the name `{name}`")]
    UnknownName {
        /// The unknown name.
        name: String,
    },
    /// A text column has more distinct words than any intact file, so the file is damaged.
    #[error("more than {INTERNED_MAX} different words where a few are expected")]
    TooManyWords,
}

impl ResultsError {
    /// Advice to the user, as a sentence.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied => "choose a folder that you may write to with --out",
                io::ErrorKind::StorageFull => "free some space, or choose another disk with --out",
                io::ErrorKind::NotFound => "check the path",
                io::ErrorKind::NotADirectory => "give a folder of results, not a file",
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

    /// Converts I/O errors, for use in `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { action, path, source }
    }

    /// Converts errors of a table, for use in `map_err`.
    pub(crate) fn table<E: Into<TableError>>(path: &Path) -> impl FnOnce(E) -> Self {
        let path = path.to_path_buf();
        move |error| Self::Table { path, source: error.into() }
    }
}
