//! Errors of reading and writing result folders, with hints.

use crate::digest::FileFault;
use arrow_schema::{ArrowError, DataType};
use bufferlab_metrics::CellFault;
use parquet::errors::ParquetError;
use std::io;
use std::path::{Path, PathBuf};

/// Maximum number of distinct words in a table's text columns; only a damaged table has more.
pub(crate) const INTERNED_MAX: usize = 1_000;

/// An error of this crate. The message names the file; [`ResultsError::hint`] advises the user.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResultsError {
    /// A file or folder cannot be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// Verb of the failed file operation, such as `create` or `write`.
        action: &'static str,
        /// Path of the unreadable or unwritable file or folder.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The output folder contains files that do not belong to the result of a run.
    #[error("{} is not empty and not the result of a run (found `{found}`)", path.display())]
    ForeignFolder {
        /// Path of the output folder.
        path: PathBuf,
        /// Name of a file or folder that no run writes.
        found: String,
    },
    /// The output path exists and is a file.
    #[error("{} exists and is not a folder", path.display())]
    NotAFolder {
        /// Path of the output, which is a file.
        path: PathBuf,
    },
    /// A folder that no run created has the hidden name under which a run is written.
    #[error("{} is in the way: a run is written under this name, but this folder is none of bufferlab's", path.display())]
    InTheWay {
        /// Path of the folder with the hidden name.
        path: PathBuf,
    },
    /// Another command, in this process or in a different process, is writing the result.
    #[error("another command is writing {}", path.display())]
    Busy {
        /// Path of the result folder that the other command writes.
        path: PathBuf,
    },
    /// The result folder has no manifest.
    #[error("{} has no {}: not a complete run", path.display(), crate::MANIFEST_FILE)]
    Incomplete {
        /// Path of the folder without a manifest.
        path: PathBuf,
    },
    /// A file of the result folder has changed since the run wrote the file.
    #[error("{}: {fault}", path.display())]
    Damaged {
        /// Path of the damaged result folder.
        path: PathBuf,
        /// Name of the changed file, and the difference.
        fault: FileFault,
    },
    /// A JSON file of a result folder has unexpected content.
    #[error("{} is not readable: {source}", path.display())]
    Json {
        /// Path of the JSON file with an error.
        path: PathBuf,
        /// Error of the JSON parser, with the position in the file.
        source: serde_json::Error,
    },
    /// The manifest has a format version that this program cannot read.
    #[error("{} has result format {found}, this program reads {}", path.display(), crate::FORMAT_VERSION)]
    FormatVersion {
        /// Path of the manifest with an unknown format version.
        path: PathBuf,
        /// Format version of the manifest.
        found: u32,
    },
    /// Two classes, switches or hosts of a run have the same name, so rows of tables would be
    /// ambiguous.
    #[error("two {kind} have the name `{name}`")]
    DuplicateName {
        /// Kind of the duplicate name: `classes`, `switches` or `hosts`.
        kind: &'static str,
        /// Name that two classes, two switches or two hosts share.
        name: String,
    },
    /// A table cannot be read or written.
    #[error("{}: {source}", path.display())]
    Table {
        /// Path of the table's file.
        path: PathBuf,
        /// The reason why the table cannot be read or written.
        source: TableError,
    },
}

/// Error about a table of results.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// Parquet cannot be encoded, decoded, read or written.
    #[error(transparent)]
    Parquet(#[from] ParquetError),
    /// Arrow refuses a batch of a table's rows.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
    /// The file of a table lacks a column.
    #[error("column `{column}` is missing")]
    MissingColumn {
        /// Name of the missing column.
        column: &'static str,
    },
    /// A column of a table has an unexpected type.
    #[error("column `{column}` is {found}, expected {expected}")]
    ColumnType {
        /// Name of the column with the unexpected type.
        column: &'static str,
        /// Type of the column in the file.
        found: DataType,
        /// Type that the table's definition requires.
        expected: DataType,
    },
    /// A cell of a table does not fit its column.
    #[error("column `{column}`, row {row} of its batch: {fault}")]
    Cell {
        /// Name of the column that contains the cell.
        column: &'static str,
        /// Number of the cell's row within its batch, from 0.
        row: usize,
        /// Reason why the cell does not fit its column.
        fault: CellFault,
    },
    /// A table names a class, switch or host that the run did not have.
    #[error("the manifest does not know the name `{name}`")]
    UnknownName {
        /// Name that the run's lists of names lack.
        name: String,
    },
    /// A text column has more distinct words than any intact file, so the file is damaged.
    #[error("more than {INTERNED_MAX} different words where a few are expected")]
    TooManyWords,
}

impl ResultsError {
    /// Advice to the user about the error, as a sentence.
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

    /// Converts I/O errors on a file to [`ResultsError`], for use in `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { action, path, source }
    }

    /// Converts errors of a table's file to [`ResultsError`], for use in `map_err`.
    pub(crate) fn table<E: Into<TableError>>(path: &Path) -> impl FnOnce(E) -> Self {
        let path = path.to_path_buf();
        move |error| Self::Table { path, source: error.into() }
    }
}
