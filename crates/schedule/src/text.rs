//! Schedules as text: a CSV file with one node per line.
//!
//! ```text
//! node,kind,src,dst,size_bytes,duration_ns,class,after
//! a,transfer,0,1,65536,,forward,
//! b,compute,1,,,5000,,a
//! c,transfer,1,2,65536,,forward,b a:sent+500
//! d,barrier,,,,,,c
//! ```
//!
//! * `node` is a unique name without spaces, `:` and `+`.
//! * `kind` is `transfer`, `compute` or `barrier`.
//! * `src` is the rank that sends or computes, `dst` the rank that receives.
//! * `after` lists the nodes for which this node waits, separated by spaces:
//!   `NODE`, `NODE:CONDITION` or `NODE:CONDITION+NANOSECONDS`. Conditions are `started`, `sent`,
//!   `received` and `done`. The default is `received` for transfers and `done` for other nodes.
//! * `collective` is `NUMBER:OPERATION:ALGORITHM:BYTES:RANKS` for the nodes of a collective, such
//!   as `0:all_reduce:ring:65536:8`, for the table `collectives`. Nodes with equal values in this
//!   column belong to one collective.
//! * Optional columns are `start_ns` (earliest start), `lane` (processor of a rank), `class`,
//!   `collective` and every column that no line needs. The line of a named node may follow later in
//!   the file.

mod read;
mod write;

pub use read::parse_schedule;
pub use write::write_schedule;

use crate::ScheduleError;
use std::path::PathBuf;

/// Reason why a schedule file cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScheduleTextError {
    /// The schedule file is not UTF-8 text, or has a broken line of CSV.
    #[error("schedule {}: {cause}; expected a CSV file with the columns {REQUIRED}", path.display())]
    Csv {
        /// Path of the schedule file.
        path: PathBuf,
        /// Error of the CSV reader, with the line.
        cause: csv::Error,
    },
    /// A column of the schedule file is missing, unknown or repeated.
    #[error("schedule {}, line 1: {problem}; columns are {}", path.display(), COLUMNS.join(", "))]
    Column {
        /// Path of the schedule file.
        path: PathBuf,
        /// Description of the problem with the file's header.
        problem: String,
    },
    /// A field of the schedule file has an invalid value.
    #[error("schedule {}, line {line}, column `{column}`: {problem}", path.display())]
    Cell {
        /// Path of the schedule file.
        path: PathBuf,
        /// Number of the field's line in the file, from 1.
        line: u64,
        /// Name of the column with the invalid field.
        column: &'static str,
        /// Reason why the value of the field is invalid, with advice.
        problem: String,
    },
    /// The nodes in the file do not form a valid schedule.
    #[error("schedule {}{}: {cause}", path.display(), line.map(|line| format!(", line {line}")).unwrap_or_default())]
    Schedule {
        /// Path of the schedule file.
        path: PathBuf,
        /// Number of the line that is the cause, from 1; `None` if no single line is the cause.
        line: Option<u64>,
        /// Reason why the nodes do not form a schedule.
        cause: ScheduleError,
    },
}

/// Names of the columns that every file has, for messages.
const REQUIRED: &str = "node, kind and after";
/// Names of all columns of a schedule file, in the order in which the writer writes the columns.
const COLUMNS: [&str; 11] = [
    "node",
    "kind",
    "src",
    "dst",
    "size_bytes",
    "duration_ns",
    "start_ns",
    "lane",
    "class",
    "after",
    "collective",
];
/// Name of the class of transfers whose line names no class.
const DEFAULT_CLASS: &str = "flow";
