//! Errors in packet traces, with their place and advice.

use crate::flow_list::LineTooLong;
use crate::limits::LINE_BYTES_MAX;
use bufferlab_params::Beyond;
use std::path::{Path, PathBuf};
use std::{fmt, io};

/// Place of a packet in its trace file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketPlace {
    /// Number of the line in a CSV file, from 1.
    Line(u64),
    /// Number of the packet in a capture, from 1 as in capture tools.
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

/// A packet trace that cannot be replayed. Each message includes the cause of the error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file system reported an error, or the gzip stream is damaged.
    #[error("trace {}: {cause}", path.display())]
    Io {
        /// Path of the trace file.
        path: PathBuf,
        /// Underlying error of the file system or the decompression.
        cause: std::io::Error,
    },
    /// The trace file has no packets.
    #[error("trace {}: no packets; expected a pcap capture, or CSV with a header and at least one line below it", path.display())]
    Empty {
        /// Path of the trace file.
        path: PathBuf,
    },
    /// No frame of the capture has an IP address.
    #[error(
        "trace {}: none of its {frames} frames has an IP address; check the link type of the capture, and that its snap length leaves \
         the headers (tcpdump -s 96)",
        path.display()
    )]
    NoAddresses {
        /// Path of the trace file.
        path: PathBuf,
        /// Number of frames in the capture file.
        frames: usize,
    },
    /// All packets of the trace were omitted.
    #[error(
        "trace {}: none of its {packets} packets goes from one host to another; map their addresses to different hosts",
        path.display()
    )]
    NothingToSend {
        /// Path of the trace file.
        path: PathBuf,
        /// Number of packets in the trace.
        packets: usize,
    },
    /// A required column of the trace is missing.
    #[error("trace {}, line 1: no column {column}; found {found}; rename a column or add it", path.display())]
    MissingColumn {
        /// Path of the trace file.
        path: PathBuf,
        /// Name of the missing column.
        column: &'static str,
        /// Names of the columns in the trace file.
        found: String,
    },
    /// The program cannot read frames of the capture's link type.
    #[error(
        "trace {}: frames of link type {link_type}; read are Ethernet (1), IP (12, 14, 101, 228, 229), loopback (0, 108) and all \
         interfaces of Linux (113, 276): {advice}",
        path.display()
    )]
    LinkType {
        /// Path of the trace file.
        path: PathBuf,
        /// Number of the link type in the capture's header.
        link_type: u32,
        /// Advice to the user on the link type.
        advice: &'static str,
    },
    /// The trace has more packets or addresses than the limits allow.
    #[error("trace {}, {place}: {beyond}; split the file, or cut out a part of its time", path.display())]
    TooMany {
        /// Path of the trace file.
        path: PathBuf,
        /// Place of the first packet beyond the limit in the trace file.
        place: PacketPlace,
        /// Exceeded limit, and the number of packets or addresses.
        beyond: Beyond,
    },
    /// A line of the trace is longer than the limit.
    #[error(
        "trace {}, line {line}: longer than {LINE_BYTES_MAX} bytes, which no packet needs; expected a packet per line, so check the \
         line ends, quotes, and that this is a CSV file or a capture",
        path.display()
    )]
    LineTooLong {
        /// Path of the trace file.
        path: PathBuf,
        /// Number of the line in the file (after decompression), from 1.
        line: u64,
    },
    /// The trace file is damaged.
    #[error("trace {}, {place}: {cause}; the file is damaged, so remove what is behind the packet before", path.display())]
    Damaged {
        /// Path of the trace file.
        path: PathBuf,
        /// Place of the damage in the trace file.
        place: PacketPlace,
        /// Message of the reader about the damage in the file.
        cause: String,
    },
    /// A packet of the trace is invalid.
    #[error("trace {}, {place}: {problem}", path.display())]
    Packet {
        /// Path of the trace file.
        path: PathBuf,
        /// Place of the invalid packet in the trace file.
        place: PacketPlace,
        /// Reason why the packet is invalid.
        problem: PacketProblem,
    },
}

impl TraceError {
    /// Converts an error of reading the trace into the trace's error type. The cause may be a line
    /// that is longer than the limit for lines.
    pub(super) fn io(path: &Path, cause: io::Error) -> Self {
        let path = path.to_owned();
        match LineTooLong::find_in(&cause) {
            Some(LineTooLong { line }) => Self::LineTooLong { path, line },
            None => Self::Io { path, cause },
        }
    }

    /// Number of the line with the error in a text file.
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

/// Problem with one packet of a trace; the message gives advice.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PacketProblem {
    /// A line of the trace has more or fewer fields than the header.
    #[error("{found} fields, expected {expected} as in the header; look for a missing or extra comma")]
    FieldCount {
        /// Number of fields in the header of the trace.
        expected: usize,
        /// Number of fields in the wrong line of the trace.
        found: usize,
    },
    /// A field of the trace has an invalid value.
    #[error("column `{column}`: `{value}` {problem}")]
    Cell {
        /// Name of the column with the invalid field.
        column: String,
        /// Text of the invalid field.
        value: String,
        /// Reason why the value of the field is invalid.
        problem: crate::CellProblem,
    },
    /// The trace packet has zero bytes.
    #[error("a packet of 0 bytes; give its size on the wire")]
    NoBytes,
    /// The packet is longer than the transport's largest packet.
    #[error(
        "{bytes} bytes are more than {largest}, the segments and headers of its transport; raise `segment_bytes`, or capture without offloading"
    )]
    TooLong {
        /// Size of the trace packet on the wire (bytes).
        bytes: u64,
        /// Size of the largest packet that the transport sends (bytes on the wire).
        largest: u32,
    },
    /// The packet has a priority that ports do not have.
    #[error(
        "priority {priority} is beyond queues_per_port = {queues}, counted from 0; raise `queues_per_port`, or set priority = \"transport\""
    )]
    NoSuchQueue {
        /// Priority in the trace that has no queue in the switch.
        priority: u8,
        /// Number of queues of each switch port.
        queues: u8,
    },
    /// The packet has an address that maps to no host.
    #[error("`{address}` is no host and has none in `addresses`; add it, or set unmapped = \"round_robin\"")]
    Unmapped {
        /// Address in the trace that maps to no host.
        address: String,
    },
    /// The time of the packet is beyond 64 bits of picoseconds (213 days).
    #[error("more than 213 days after the first packet; check the unit of time")]
    TooLate,
}
