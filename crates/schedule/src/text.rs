//! Schedules as text: a CSV file with a node per line.
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
//! * `after` lists the nodes that this one waits for, separated by spaces: `NODE`,
//!   `NODE:CONDITION` or `NODE:CONDITION+NANOSECONDS`. Conditions are `started`, `sent`, `received`
//!   and `done`. The default is `received` for transfers and `done` for other nodes.
//! * Optional columns are `start_ns` (earliest start), `lane` (processor of a rank), `class` and
//!   every column that no line needs. A named node may be on a later line.

mod read;
mod write;

pub use read::parse_schedule;
pub use write::write_schedule;

use crate::ScheduleError;
use std::path::PathBuf;

/// A schedule file that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScheduleTextError {
    /// Bytes that are not UTF-8 text, or a broken line of CSV.
    #[error("schedule {}: {cause}; expected a CSV file with the columns {REQUIRED}", path.display())]
    Csv {
        /// Path of the file.
        path: PathBuf,
        /// Underlying error, with its line.
        cause: csv::Error,
    },
    /// A missing, unknown or repeated column.
    #[error("schedule {}, line 1: {problem}; columns are {}", path.display(), COLUMNS.join(", "))]
    Column {
        /// Path of the file.
        path: PathBuf,
        /// Problem with the header.
        problem: String,
    },
    /// A field with an invalid value.
    #[error("schedule {}, line {line}, column `{column}`: {problem}", path.display())]
    Cell {
        /// Path of the file.
        path: PathBuf,
        /// Line in the file, from 1.
        line: u64,
        /// Name of the column.
        column: &'static str,
        /// Problem with the value, and advice.
        problem: String,
    },
    /// Nodes that do not form a schedule.
    #[error("schedule {}{}: {cause}", path.display(), line.map(|line| format!(", line {line}")).unwrap_or_default())]
    Schedule {
        /// Path of the file.
        path: PathBuf,
        /// Line in the file, from 1, if one line is the cause.
        line: Option<u64>,
        /// Underlying error.
        cause: ScheduleError,
    },
}

/// Columns that every file has, for messages.
const REQUIRED: &str = "node, kind and after";
/// All columns, in the order in which they are written.
const COLUMNS: [&str; 10] =
    ["node", "kind", "src", "dst", "size_bytes", "duration_ns", "start_ns", "lane", "class", "after"];
/// Class of a transfer that names none.
const DEFAULT_CLASS: &str = "flow";
