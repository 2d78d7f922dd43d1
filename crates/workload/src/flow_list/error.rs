//! Errors of flow lists, with their place and advice.

use super::FLOW_BYTES;
use crate::limits::LINE_BYTES_MAX;
use std::path::PathBuf;

/// A flow list that cannot be read or written. Messages are complete: no variant has a
/// [`std::error::Error::source`] that would repeat a part of the message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FlowListError {
    /// The file system reported an error, or the gzip stream is damaged.
    #[error("flow list {}: {cause}", path.display())]
    Io {
        /// Path of the flow list.
        path: PathBuf,
        /// Underlying error of the file system or the decompression.
        cause: std::io::Error,
    },
    /// The flow list has bytes that are not UTF-8 text.
    #[error("flow list {}, line {line}: not UTF-8 text; save the file as UTF-8", path.display())]
    NotUtf8 {
        /// Path of the flow list.
        path: PathBuf,
        /// Number of the line in the file (after decompression), from 1.
        line: u64,
    },
    /// A line of the flow list is longer than the limit.
    #[error(
        "flow list {}, line {line}: longer than {LINE_BYTES_MAX} bytes, which no flow needs; expected a flow per line, so check the \
         line ends and that this is a CSV file",
        path.display()
    )]
    LineTooLong {
        /// Path of the flow list.
        path: PathBuf,
        /// Number of the line in the file (after decompression), from 1.
        line: u64,
    },
    /// The flow list has more flows than the memory limit allows.
    #[error(
        "flow list {}, line {line}: more than {most} flows, which take {FLOW_BYTES} bytes each and as much again in every run ({} \
         MB for one); split the list into several scenarios, or describe the traffic by a workload that draws its flows",
        path.display(),
        (2 * FLOW_BYTES as u64 * *most as u64).div_ceil(1_000_000)
    )]
    TooManyFlows {
        /// Path of the flow list.
        path: PathBuf,
        /// Number of the line with the first flow beyond the limit (after decompression), from 1.
        line: u64,
        /// Largest allowed number of flows in a flow list.
        most: usize,
    },
    /// A line of the flow list has more or fewer fields than the header.
    #[error(
        "flow list {}, line {line}: {found} fields, expected {expected} as in the header; look for a missing \
         or extra comma or a quote that is not closed",
        path.display()
    )]
    FieldCount {
        /// Path of the flow list.
        path: PathBuf,
        /// Number of the line in the file (after decompression), from 1.
        line: u64,
        /// Number of fields in the header of the flow list.
        expected: usize,
        /// Number of fields in the wrong line of the flow list.
        found: usize,
    },
    /// The flow list has no flows.
    #[error(
        "flow list {}: no flows; expected a header with {REQUIRED} and at least one line below it",
        path.display()
    )]
    Empty {
        /// Path of the flow list.
        path: PathBuf,
    },
    /// A required column of the flow list is missing.
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
        /// Names of the columns in the flow list.
        found: Vec<String>,
    },
    /// A column appears twice in the flow list.
    #[error("flow list {}, line 1: column `{column}` appears twice; rename or delete one", path.display())]
    DuplicateColumn {
        /// Path of the flow list.
        path: PathBuf,
        /// Name of the column that appears twice.
        column: String,
    },
    /// A field of the flow list has an invalid value.
    #[error("flow list {}, line {line}, column `{column}`: `{value}` {problem}", path.display())]
    Cell {
        /// Path of the flow list.
        path: PathBuf,
        /// Number of the line in the file (after decompression), from 1.
        line: u64,
        /// Name of the column with the invalid field.
        column: String,
        /// Text of the invalid field.
        value: String,
        /// Reason why the value of the field is invalid.
        problem: CellProblem,
    },
    /// A flow list cannot express a flow; nothing has been written.
    #[error("flow list {}: flow {index} {problem}", path.display())]
    NotWritable {
        /// Path of the flow list.
        path: PathBuf,
        /// Position of the flow among the flows to write, from 0.
        index: usize,
        /// Reason why a flow list cannot express the flow.
        problem: &'static str,
    },
}

impl FlowListError {
    /// Number of the line with the error (after decompression), from 1, if the error has a line.
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

/// Problem with one field of a flow list; the message gives advice.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CellProblem {
    /// The field has text instead of a number.
    #[error("is not a number; write digits, with a point for decimals and without spaces or units")]
    NotANumber,
    /// The field has a number below zero.
    #[error("is negative; sizes, times and numbers start at 0")]
    Negative,
    /// The field has a name with a character that changes its display.
    #[error(
        "has a hidden character, U+{code:04X}; leave it out: control characters and marks of writing direction change how a \
         terminal or page shows what stands around them"
    )]
    Hidden {
        /// Unicode number of the hidden character.
        code: u32,
    },
    /// The field has a fraction, but its column allows only whole numbers.
    #[error("is not a whole number; remove the decimals")]
    NotWhole,
    /// The field has a number beyond the range of its column.
    #[error("is too large for this column; check its unit")]
    TooLarge,
    /// The field gives a flow without data.
    #[error("is not a flow size; a flow has at least 1 byte, so remove the line")]
    EmptyFlow,
    /// The field names a host that the topology does not have.
    #[error("is not a host; hosts are {known}")]
    UnknownHost {
        /// Description of the hosts that the field accepts.
        known: String,
    },
    /// The field has a host number that is also the name of another host.
    #[error("is the number of one host and the name of another; rename the host in the topology")]
    AmbiguousHost,
    /// The field gives a flow from a host to itself.
    #[error("is the sender as well; src and dst must differ, so remove the line")]
    ToItself,
    /// The field gives a connection that opens after the flow's start.
    #[error("is after the flow's start; a connection opens at the start or earlier")]
    OpenAfterStart,
    /// The field has path choices that are not small numbers.
    #[error("is not a path; write up to four choices between 0 and 255 separated by `/`, for example 3/1")]
    NotAPath,
    /// The flow list has more than 65,535 class names.
    #[error("is one class too many; a run has at most 65535, so check that this column holds class names")]
    TooManyClasses,
}

/// Names of the columns that every flow list has, for messages.
const REQUIRED: &str = "src,dst,size_bytes,start_ns";

/// Advice for a header without a required column. The header lacks commas, is missing, or
/// has a wrong name.
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
