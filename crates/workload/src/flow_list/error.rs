//! What is wrong with a flow list, where, and what helps?

use super::{FLOW_BYTES, LINE_BYTES_MAX};
use std::path::PathBuf;

/// A flow list that cannot be read or written. Messages are complete: no variant has a
/// [`std::error::Error::source`] that would repeat a part of them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FlowListError {
    /// The file system said no, or a gzip stream is damaged.
    #[error("flow list {}: {cause}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What happened.
        cause: std::io::Error,
    },
    /// Bytes that are no text.
    #[error("flow list {}, line {line}: not UTF-8 text; save the file as UTF-8", path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// Line in the file (after decompression), from 1.
        line: u64,
    },
    /// A line without an end in sight.
    #[error(
        "flow list {}, line {line}: longer than {LINE_BYTES_MAX} bytes, which no flow needs; expected a flow per line, so check the \
         line ends and that this is a CSV file",
        path.display()
    )]
    LineTooLong {
        /// The file.
        path: PathBuf,
        /// Line in the file (after decompression), from 1.
        line: u64,
    },
    /// More flows than memory should hold.
    #[error(
        "flow list {}, line {line}: more than {most} flows, which take {FLOW_BYTES} bytes each and as much again in every run ({} \
         MB for one); split the list into several scenarios, or describe the traffic by a workload that draws its flows",
        path.display(),
        (2 * FLOW_BYTES as u64 * *most as u64).div_ceil(1_000_000)
    )]
    TooManyFlows {
        /// The file.
        path: PathBuf,
        /// Line of the first flow beyond the limit (after decompression), from 1.
        line: u64,
        /// The limit.
        most: usize,
    },
    /// A line with more or fewer fields than the header.
    #[error(
        "flow list {}, line {line}: {found} fields, expected {expected} as in the header; look for a missing \
         or extra comma or a quote that is not closed",
        path.display()
    )]
    FieldCount {
        /// The file.
        path: PathBuf,
        /// Line in the file (after decompression), from 1.
        line: u64,
        /// Fields of the header.
        expected: usize,
        /// Fields of the line.
        found: usize,
    },
    /// Nothing to do.
    #[error(
        "flow list {}: no flows; expected a header with {REQUIRED} and at least one line below it",
        path.display()
    )]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// A column that every list needs.
    #[error(
        "flow list {}, line 1: no column `{column}`; found {}; rename a column or add it",
        path.display(),
        quoted(found)
    )]
    MissingColumn {
        /// The file.
        path: PathBuf,
        /// What is missing.
        column: &'static str,
        /// The columns that are there.
        found: Vec<String>,
    },
    /// The same column twice.
    #[error("flow list {}, line 1: column `{column}` appears twice; rename or delete one", path.display())]
    DuplicateColumn {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
    },
    /// A field with a value that makes no sense.
    #[error("flow list {}, line {line}, column `{column}`: `{value}` {problem}", path.display())]
    Cell {
        /// The file.
        path: PathBuf,
        /// Line in the file (after decompression), from 1.
        line: u64,
        /// Name of the column.
        column: String,
        /// What stands there.
        value: String,
        /// What is wrong with it.
        problem: CellProblem,
    },
    /// A flow that a list cannot express; nothing has been written.
    #[error("flow list {}: flow {index} {problem}", path.display())]
    NotWritable {
        /// The file.
        path: PathBuf,
        /// Position of the flow, from 0.
        index: usize,
        /// What is wrong with it.
        problem: &'static str,
    },
}

impl FlowListError {
    /// The line at fault (after decompression), from 1, where there is one.
    #[must_use]
    pub const fn line(&self) -> Option<u64> {
        match self {
            Self::NotUtf8 { line, .. }
            | Self::LineTooLong { line, .. }
            | Self::TooManyFlows { line, .. }
            | Self::FieldCount { line, .. }
            | Self::Cell { line, .. } => Some(*line),
            Self::MissingColumn { .. } | Self::DuplicateColumn { .. } => Some(1),
            Self::Io { .. } | Self::Empty { .. } | Self::NotWritable { .. } => None,
        }
    }
}

/// What is wrong with one field of a flow list, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CellProblem {
    /// Text where a number belongs.
    #[error("is not a number; write digits, with a point for decimals and without spaces or units")]
    NotANumber,
    /// Below zero.
    #[error("is negative; sizes, times and numbers start at 0")]
    Negative,
    /// A name that steers what shows it.
    #[error(
        "has a hidden character, U+{code:04X}; leave it out: control characters and marks of writing direction change how a \
         terminal or page shows what stands around them"
    )]
    Hidden {
        /// The character.
        code: u32,
    },
    /// Decimals where none make sense.
    #[error("is not a whole number; remove the decimals")]
    NotWhole,
    /// Beyond the range of the column.
    #[error("is too large for this column; check its unit")]
    TooLarge,
    /// A flow without data.
    #[error("is not a flow size; a flow has at least 1 byte, so remove the line")]
    EmptyFlow,
    /// A host that the topology does not have.
    #[error("is not a host; hosts are {known}")]
    UnknownHost {
        /// What would have been accepted.
        known: String,
    },
    /// A number that is also the name of another host.
    #[error("is the number of one host and the name of another; rename the host in the topology")]
    AmbiguousHost,
    /// A flow from a host to itself.
    #[error("is the sender as well; src and dst must differ, so remove the line")]
    ToItself,
    /// A connection that opens after its flow starts.
    #[error("is after the flow's start; a connection opens at the start or earlier")]
    OpenAfterStart,
    /// Choices that are not small numbers.
    #[error("is not a path; write up to four choices between 0 and 255 separated by `/`, for example 3/1")]
    NotAPath,
    /// More than 65,535 class names.
    #[error("is one class too many; a run has at most 65535, so check that this column holds class names")]
    TooManyClasses,
}

/// The columns that every list has, for messages.
const REQUIRED: &str = "src,dst,size_bytes,start_ns";

fn quoted(columns: &[String]) -> String {
    let quoted: Vec<_> = columns.iter().map(|column| format!("`{column}`")).collect();
    quoted.join(", ")
}
