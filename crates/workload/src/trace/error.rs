//! What is wrong with a packet trace, where, and what helps?

use std::fmt;
use std::path::PathBuf;

/// Where a packet stands in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketPlace {
    /// A line of a CSV file, from 1.
    Line(u64),
    /// A packet of a capture, from 1 as capture tools count.
    Number(u64),
}

impl fmt::Display for PacketPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Number(number) => write!(f, "packet {number}"),
        }
    }
}

/// A packet trace that cannot be replayed. Messages are complete.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file system said no, or a gzip stream is damaged.
    #[error("trace {}: {cause}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What happened.
        cause: std::io::Error,
    },
    /// No packet at all.
    #[error("trace {}: no packets; expected a pcap capture, or CSV with a header and at least one line below it", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// All packets were left out.
    #[error(
        "trace {}: none of its {packets} packets goes from one host to another; map their addresses to different hosts",
        path.display()
    )]
    NothingToSend {
        /// The file.
        path: PathBuf,
        /// Packets in it.
        packets: usize,
    },
    /// A column that every trace needs.
    #[error("trace {}, line 1: no column {column}; found {found}; rename a column or add it", path.display())]
    MissingColumn {
        /// The file.
        path: PathBuf,
        /// What is missing.
        column: &'static str,
        /// The columns that are there.
        found: String,
    },
    /// A capture whose frames cannot be read.
    #[error(
        "trace {}: frames of link type {link_type}; Ethernet (1) and IP (101, 228, 229) are read, so capture on an Ethernet interface or convert the file",
        path.display()
    )]
    LinkType {
        /// The file.
        path: PathBuf,
        /// The number of the link type in its header.
        link_type: u32,
    },
    /// A damaged file.
    #[error("trace {}, {place}: {cause}; the file is damaged or was cut off, so remove what is behind the packet before", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where reading failed.
        place: PacketPlace,
        /// What the reader says.
        cause: String,
    },
    /// A packet that makes no sense.
    #[error("trace {}, {place}: {problem}", path.display())]
    Packet {
        /// The file.
        path: PathBuf,
        /// Which packet.
        place: PacketPlace,
        /// What is wrong with it.
        problem: PacketProblem,
    },
}

impl TraceError {
    /// The line of a text file at which something is wrong.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        match self {
            Self::MissingColumn { .. } => Some(1),
            Self::Packet { place: PacketPlace::Line(line), .. }
            | Self::Damaged { place: PacketPlace::Line(line), .. } => Some(*line),
            _ => None,
        }
    }
}

/// What is wrong with one packet, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PacketProblem {
    /// A line with more or fewer fields than the header.
    #[error("{found} fields, expected {expected} as in the header; look for a missing or extra comma")]
    FieldCount {
        /// Fields of the header.
        expected: usize,
        /// Fields of the line.
        found: usize,
    },
    /// A field with a value that makes no sense.
    #[error("column `{column}`: `{value}` {problem}")]
    Cell {
        /// Name of the column.
        column: String,
        /// What stands there.
        value: String,
        /// What is wrong with it.
        problem: crate::CellProblem,
    },
    /// A packet without bytes.
    #[error("a packet of 0 bytes; give its size on the wire")]
    NoBytes,
    /// Longer than anything that the transport sends.
    #[error(
        "{bytes} bytes are more than {largest}, the segments and headers of its transport; raise `segment_bytes`, or capture without offloading"
    )]
    TooLong {
        /// Its size on the wire.
        bytes: u64,
        /// What can be sent.
        largest: u32,
    },
    /// A priority that ports do not have.
    #[error(
        "priority {priority} is beyond queues_per_port = {queues}, counted from 0; raise `queues_per_port`, or set priority = \"transport\""
    )]
    NoSuchQueue {
        /// The packet's.
        priority: u8,
        /// What there is.
        queues: u8,
    },
    /// An address that is mapped to no host.
    #[error("`{address}` is no host and has none in `addresses`; add it, or set unmapped = \"round_robin\"")]
    Unmapped {
        /// The address.
        address: String,
    },
    /// Later than 64 bits of picoseconds reach (213 days).
    #[error("more than 213 days after the first packet; check the unit of time")]
    TooLate,
}
