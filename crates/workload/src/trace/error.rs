//! Errors of packet traces, with their place and advice.

use crate::flow_list::LineTooLong;
use crate::limits::LINE_BYTES_MAX;
use bufferlab_params::Beyond;
use std::path::{Path, PathBuf};
use std::{fmt, io};

/// Place of a packet in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketPlace {
    /// Line of a CSV file, from 1.
    Line(u64),
    /// Number of a packet in a capture, from 1 as capture tools count.
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
    /// A file system error, or a damaged gzip stream.
    #[error("trace {}: {cause}", path.display())]
    Io {
        /// Path of the trace.
        path: PathBuf,
        /// Underlying error.
        cause: std::io::Error,
    },
    /// A trace without packets.
    #[error("trace {}: no packets; expected a pcap capture, or CSV with a header and at least one line below it", path.display())]
    Empty {
        /// Path of the trace.
        path: PathBuf,
    },
    /// A capture in which no frame has an address.
    #[error(
        "trace {}: none of its {frames} frames has an IP address; check the link type of the capture, and that its snap length leaves \
         the headers (tcpdump -s 96)",
        path.display()
    )]
    NoAddresses {
        /// Path of the trace.
        path: PathBuf,
        /// Number of frames in the capture.
        frames: usize,
    },
    /// A trace whose packets were all left out.
    #[error(
        "trace {}: none of its {packets} packets goes from one host to another; map their addresses to different hosts",
        path.display()
    )]
    NothingToSend {
        /// Path of the trace.
        path: PathBuf,
        /// Number of packets in the trace.
        packets: usize,
    },
    /// A required column that is missing.
    #[error("trace {}, line 1: no column {column}; found {found}; rename a column or add it", path.display())]
    MissingColumn {
        /// Path of the trace.
        path: PathBuf,
        /// Name of the missing column.
        column: &'static str,
        /// Columns of the file.
        found: String,
    },
    /// A capture whose frames cannot be read.
    #[error(
        "trace {}: frames of link type {link_type}; read are Ethernet (1), IP (12, 14, 101, 228, 229), loopback (0, 108) and all \
         interfaces of Linux (113, 276): {advice}",
        path.display()
    )]
    LinkType {
        /// Path of the trace.
        path: PathBuf,
        /// Number of the link type in the file's header.
        link_type: u32,
        /// Advice to the user.
        advice: &'static str,
    },
    /// More packets or addresses than the limits allow.
    #[error("trace {}, {place}: {beyond}; split the file, or cut out a part of its time", path.display())]
    TooMany {
        /// Path of the trace.
        path: PathBuf,
        /// Place of the first packet beyond the limit.
        place: PacketPlace,
        /// Exceeded limit.
        beyond: Beyond,
    },
    /// A line longer than the limit.
    #[error(
        "trace {}, line {line}: longer than {LINE_BYTES_MAX} bytes, which no packet needs; expected a packet per line, so check the \
         line ends, quotes, and that this is a CSV file or a capture",
        path.display()
    )]
    LineTooLong {
        /// Path of the trace.
        path: PathBuf,
        /// Line in the file (after decompression), from 1.
        line: u64,
    },
    /// A damaged file.
    #[error("trace {}, {place}: {cause}; the file is damaged, so remove what is behind the packet before", path.display())]
    Damaged {
        /// Path of the trace.
        path: PathBuf,
        /// Place of the damage.
        place: PacketPlace,
        /// Message of the reader.
        cause: String,
    },
    /// An invalid packet.
    #[error("trace {}, {place}: {problem}", path.display())]
    Packet {
        /// Path of the trace.
        path: PathBuf,
        /// Place of the packet.
        place: PacketPlace,
        /// Problem with the packet.
        problem: PacketProblem,
    },
}

impl TraceError {
    /// Converts a read error, which may be a line beyond the limit.
    pub(super) fn io(path: &Path, cause: io::Error) -> Self {
        let path = path.to_owned();
        match LineTooLong::find_in(&cause) {
            Some(LineTooLong { line }) => Self::LineTooLong { path, line },
            None => Self::Io { path, cause },
        }
    }

    /// Line of the error in a text file.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        match self {
            Self::MissingColumn { .. } => Some(1),
            Self::LineTooLong { line, .. } | Self::TooMany { place: PacketPlace::Line(line), .. } => {
                Some(*line)
            }
            Self::Packet { place: PacketPlace::Line(line), .. }
            | Self::Damaged { place: PacketPlace::Line(line), .. } => Some(*line),
            _ => None,
        }
    }
}

/// Problem with one packet, and advice.
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
    /// A field with an invalid value.
    #[error("column `{column}`: `{value}` {problem}")]
    Cell {
        /// Name of the column.
        column: String,
        /// Text of the field.
        value: String,
        /// Problem with the value.
        problem: crate::CellProblem,
    },
    /// A packet of zero bytes.
    #[error("a packet of 0 bytes; give its size on the wire")]
    NoBytes,
    /// A packet longer than the transport's largest packet.
    #[error(
        "{bytes} bytes are more than {largest}, the segments and headers of its transport; raise `segment_bytes`, or capture without offloading"
    )]
    TooLong {
        /// Size of the packet on the wire.
        bytes: u64,
        /// Largest size that the transport sends.
        largest: u32,
    },
    /// A priority that ports do not have.
    #[error(
        "priority {priority} is beyond queues_per_port = {queues}, counted from 0; raise `queues_per_port`, or set priority = \"transport\""
    )]
    NoSuchQueue {
        /// Priority of the packet.
        priority: u8,
        /// Number of queues of a port.
        queues: u8,
    },
    /// An address that maps to no host.
    #[error("`{address}` is no host and has none in `addresses`; add it, or set unmapped = \"round_robin\"")]
    Unmapped {
        /// The unmapped address.
        address: String,
    },
    /// A time beyond 64 bits of picoseconds (213 days).
    #[error("more than 213 days after the first packet; check the unit of time")]
    TooLate,
}
