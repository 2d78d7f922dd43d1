//! Errors of flow lists, with their place and advice.

use super::FLOW_BYTES;
use crate::limits::LINE_BYTES_MAX;
use std::path::PathBuf;

/// A flow list that cannot be read or written. Messages are complete: no variant has a
/// [`std::error::Error::source`] that would repeat a part of them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FlowListError {
    /// A file system error, or a damaged gzip stream.
    #[error("flow list {}: {cause}", path.display())]
    Io {
        /// Path of the flow list.
        path: PathBuf,
        /// Underlying error.
        cause: std::io::Error,
    },
    /// Bytes that are not UTF-8 text.
    #[error("flow list {}, line {line}: not UTF-8 text; save the file as UTF-8", path.display())]
    NotUtf8 {
        /// Path of the flow list.
        path: PathBuf,
        /// Line in the file (after decompression), from 1.
        line: u64,
    },
    /// A line longer than the limit.
    #[error(
        "flow list {}, line {line}: longer than {LINE_BYTES_MAX} bytes, which no flow needs; expected a flow per line, so check the \
         line ends and that this is a CSV file",
        path.display()
    )]
    LineTooLong {
        /// Path of the flow list.
        path: PathBuf,
        /// Line in the file (after decompression), from 1.
        line: u64,
    },
    /// More flows than the memory limit allows.
    #[error(
        "flow list {}, line {line}: more than {most} flows, which take {FLOW_BYTES} bytes each and as much again in every run ({} \
         MB for one); split the list into several scenarios, or describe the traffic by a workload that draws its flows",
        path.display(),
        (2 * FLOW_BYTES as u64 * *most as u64).div_ceil(1_000_000)
    )]
    TooManyFlows {
        /// Path of the flow list.
        path: PathBuf,
        /// Line of the first flow beyond the limit (after decompression), from 1.
        line: u64,
        /// Largest number of flows.
        most: usize,
    },
    /// A line with more or fewer fields than the header.
    #[error(
        "flow list {}, line {line}: {found} fields, expected {expected} as in the header; look for a missing \
         or extra comma or a quote that is not closed",
        path.display()
    )]
    FieldCount {
        /// Path of the flow list.
        path: PathBuf,
        /// Line in the file (after decompression), from 1.
        line: u64,
        /// Fields of the header.
        expected: usize,
        /// Fields of the line.
        found: usize,
    },
    /// A list without flows.
    #[error(
        "flow list {}: no flows; expected a header with {REQUIRED} and at least one line below it",
        path.display()
    )]
    Empty {
        /// Path of the flow list.
        path: PathBuf,
    },
    /// A required column that is missing.
    #[error(
        "flow list {}, line 1: no column `{column}`; found {}; {}",
        path.display(),
        quoted(found),
        header_advice(found)
    )]
    MissingColumn {
        /// Path of the flow list.
        path: PathBuf,
        /// Name of the missing column.
        column: &'static str,
        /// Columns of the file.
        found: Vec<String>,
    },
    /// A column that appears twice.
    #[error("flow list {}, line 1: column `{column}` appears twice; rename or delete one", path.display())]
    DuplicateColumn {
        /// Path of the flow list.
        path: PathBuf,
        /// Name of the column.
        column: String,
    },
    /// A field with an invalid value.
    #[error("flow list {}, line {line}, column `{column}`: `{value}` {problem}", path.display())]
    Cell {
        /// Path of the flow list.
        path: PathBuf,
        /// Line in the file (after decompression), from 1.
        line: u64,
        /// Name of the column.
        column: String,
        /// Text of the field.
        value: String,
        /// Problem with the value.
        problem: CellProblem,
    },
    /// A flow that a list cannot express; nothing has been written.
    #[error("flow list {}: flow {index} {problem}", path.display())]
    NotWritable {
        /// Path of the flow list.
        path: PathBuf,
        /// Position of the flow, from 0.
        index: usize,
        /// Problem with the flow.
        problem: &'static str,
    },
}

impl FlowListError {
    /// Line of the error (after decompression), from 1, if it has one.
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

/// Problem with one field of a flow list, and advice.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CellProblem {
    /// Text instead of a number.
    #[error("is not a number; write digits, with a point for decimals and without spaces or units")]
    NotANumber,
    /// A number below zero.
    #[error("is negative; sizes, times and numbers start at 0")]
    Negative,
    /// A name with a character that changes its display.
    #[error(
        "has a hidden character, U+{code:04X}; leave it out: control characters and marks of writing direction change how a \
         terminal or page shows what stands around them"
    )]
    Hidden {
        /// Code of the character.
        code: u32,
    },
    /// A fraction where only whole numbers are allowed.
    #[error("is not a whole number; remove the decimals")]
    NotWhole,
    /// A number beyond the range of the column.
    #[error("is too large for this column; check its unit")]
    TooLarge,
    /// A flow without data.
    #[error("is not a flow size; a flow has at least 1 byte, so remove the line")]
    EmptyFlow,
    /// A host that the topology does not have.
    #[error("is not a host; hosts are {known}")]
    UnknownHost {
        /// Accepted hosts.
        known: String,
    },
    /// A host number that is also the name of another host.
    #[error("is the number of one host and the name of another; rename the host in the topology")]
    AmbiguousHost,
    /// A flow from a host to itself.
    #[error("is the sender as well; src and dst must differ, so remove the line")]
    ToItself,
    /// A connection that opens after its flow starts.
    #[error("is after the flow's start; a connection opens at the start or earlier")]
    OpenAfterStart,
    /// Path choices that are not small numbers.
    #[error("is not a path; write up to four choices between 0 and 255 separated by `/`, for example 3/1")]
    NotAPath,
    /// More than 65,535 class names.
    #[error("is one class too many; a run has at most 65535, so check that this column holds class names")]
    TooManyClasses,
}

/// Columns that every list has, for messages.
const REQUIRED: &str = "src,dst,size_bytes,start_ns";

/// Advice for a header without a required column: commas, a missing header, or a wrong name.
fn header_advice(found: &[String]) -> String {
    if let [only] = found
        && only.contains([';', '\t'])
    {
        return "separate the columns with commas".to_owned();
    }
    if found.iter().any(|column| column.parse::<f64>().is_ok()) {
        return format!("put the header above the flows: {REQUIRED}");
    }
    "rename a column or add it".to_owned()
}

fn quoted(columns: &[String]) -> String {
    let quoted: Vec<_> = columns.iter().map(|column| format!("`{column}`")).collect();
    quoted.join(", ")
}
