//! What is wrong with a packet trace, where, and what helps?

use crate::flow_list::{LINE_BYTES_MAX, LineTooLong};
use bufferlab_params::Beyond;
use std::path::{Path, PathBuf};
use std::{fmt, io};

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
    /// A capture of nothing but frames without addresses.
    #[error(
        "trace {}: none of its {frames} frames has an IP address; check the link type of the capture, and that its snap length leaves \
         the headers (tcpdump -s 96)",
        path.display()
    )]
    NoAddresses {
        /// The file.
        path: PathBuf,
        /// Frames in it.
        frames: usize,
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
        "trace {}: frames of link type {link_type}; read are Ethernet (1), IP (12, 14, 101, 228, 229), loopback (0, 108) and all \
         interfaces of Linux (113, 276): {advice}",
        path.display()
    )]
    LinkType {
        /// The file.
        path: PathBuf,
        /// The number of the link type in its header.
        link_type: u32,
        /// What to do.
        advice: &'static str,
    },
    /// More packets or addresses than a trace may have.
    #[error("trace {}, {place}: {beyond}; split the file, or cut out a part of its time", path.display())]
    TooMany {
        /// The file.
        path: PathBuf,
        /// The first one beyond the limit.
        place: PacketPlace,
        /// The limit.
        beyond: Beyond,
    },
    /// A line without an end in sight.
    #[error(
        "trace {}, line {line}: longer than {LINE_BYTES_MAX} bytes, which no packet needs; expected a packet per line, so check the \
         line ends, quotes, and that this is a CSV file or a capture",
        path.display()
    )]
    LineTooLong {
        /// The file.
        path: PathBuf,
        /// Line in the file (after decompression), from 1.
        line: u64,
    },
    /// A damaged file.
    #[error("trace {}, {place}: {cause}; the file is damaged, so remove what is behind the packet before", path.display())]
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
    /// An error of reading, or what a limit of lines says.
    pub(super) fn io(path: &Path, cause: io::Error) -> Self {
        let path = path.to_owned();
        match LineTooLong::of(&cause) {
            Some(LineTooLong { line }) => Self::LineTooLong { path, line },
            None => Self::Io { path, cause },
        }
    }

    /// The line of a text file at which something is wrong.
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
