//! Writes packet captures for Wireshark: pcapng with interfaces, directions, and a comment about
//! the outcome of each packet.
//!
//! ```
//! use bufferlab_pcapng::{Capture, Direction, Frame, Interface, Remark};
//!
//! let mut capture = Capture::new(Vec::new())?;
//! let eth1 = capture.interface(&Interface { name: "eth1", ..Interface::default() })?;
//! let lost = Remark { event: "dropped", queue: "eth1.0", queue_bytes: 9_000, buffer_bytes: 30_000, limit: Some(9_500), ..Remark::default() };
//! capture.frame(&Frame { interface: eth1, at_ns: 1_700_000_000_000_000_000, original_bytes: 1_514, data: &[0; 128], ..Frame::default() }, Some(&lost.to_string()))?;
//! let bytes = capture.into_inner();
//! # Ok::<(), std::io::Error>(())
//! ```

mod remark;

pub use remark::Remark;

use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::interface_statistics::{InterfaceStatisticsBlock, InterfaceStatisticsOption};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness, PcapError};
use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};
use std::time::Duration;

/// A switch's interface whose packets the capture contains.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interface<'a> {
    /// Name of the captured interface.
    pub name: &'a str,
    /// Description of the interface, which Wireshark shows beside its name; may be empty.
    pub description: &'a str,
    /// Bit rate of the interface (bit/s), if the rate is known.
    pub bits_per_second: Option<u64>,
    /// Maximum number of bytes stored per packet; 0 means all bytes.
    pub snapshot_bytes: u32,
}

/// Direction of a packet through its interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The packet arrived at the interface of the switch.
    Inbound,
    /// The switch sent the packet through the interface.
    Outbound,
}

/// A packet that a program writes to the capture.
#[derive(Clone, Copy, Debug, Default)]
pub struct Frame<'a> {
    /// Number of the packet's interface, which [`Capture::interface`] returned.
    pub interface: u32,
    /// Time at which the packet crossed the interface (ns since 1970).
    pub at_ns: u64,
    /// Length of the packet on the link (bytes).
    pub original_bytes: u32,
    /// First bytes of the packet, or all bytes of the packet.
    pub data: &'a [u8],
    /// Direction of the packet through the interface; `None` if it is unknown.
    pub direction: Option<Direction>,
    /// Number of the interface's packets that are omitted right before this packet.
    pub left_out: u64,
}

/// Packet counts of an interface at the end of a capture.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    /// Start and end of the time in which packets were counted (ns since 1970).
    pub span_ns: (u64, u64),
    /// Number of packets that the interface received during the capture.
    pub received: u64,
    /// Number of packets that the capture omits, because of missing time or disk space.
    pub left_out: u64,
}

/// A packet capture that is being written.
pub struct Capture<W: Write> {
    file: PcapNgWriter<W>,
    interfaces: u32,
}

impl<W: Write> fmt::Debug for Capture<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capture").field("interfaces", &self.interfaces).finish_non_exhaustive()
    }
}

fn failed(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}

impl<W: Write> Capture<W> {
    /// Begins a capture in `to`. The pcapng library writes in small pieces, so `to` should be
    /// buffered.
    ///
    /// # Errors
    /// If writing to `to` fails.
    pub fn new(to: W) -> io::Result<Self> {
        let program = concat!("bufferlab ", env!("CARGO_PKG_VERSION"));
        let section = SectionHeaderBlock {
            endianness: Endianness::Little,
            options: vec![SectionHeaderOption::UserApplication(Cow::Borrowed(program))],
            ..SectionHeaderBlock::default()
        };
        Ok(Self { file: PcapNgWriter::with_section_header(to, section).map_err(failed)?, interfaces: 0 })
    }

    /// Adds an interface to the capture and returns the interface's number.
    ///
    /// # Errors
    /// If writing the interface to the capture fails.
    pub fn interface(&mut self, interface: &Interface<'_>) -> io::Result<u32> {
        let mut options = vec![InterfaceDescriptionOption::IfName(Cow::Borrowed(interface.name))];
        if !interface.description.is_empty() {
            options.push(InterfaceDescriptionOption::IfDescription(Cow::Borrowed(interface.description)));
        }
        options.extend(interface.bits_per_second.map(InterfaceDescriptionOption::IfSpeed));
        // Time stamps of the interface's packets are in nanoseconds.
        options.push(InterfaceDescriptionOption::IfTsResol(9));
        let snaplen = interface.snapshot_bytes;
        let block = InterfaceDescriptionBlock { linktype: DataLink::ETHERNET, snaplen, options };
        self.file.write_pcapng_block(block).map_err(failed)?;
        self.interfaces += 1;
        Ok(self.interfaces - 1)
    }

    /// Adds a packet to the capture, with an optional comment.
    ///
    /// # Errors
    /// If writing fails, or the capture has no such interface.
    pub fn frame(&mut self, frame: &Frame<'_>, comment: Option<&str>) -> io::Result<()> {
        let mut options = Vec::new();
        options.extend(comment.map(|text| EnhancedPacketOption::Comment(Cow::Borrowed(text))));
        if let Some(direction) = frame.direction {
            options.push(EnhancedPacketOption::Flags(match direction {
                Direction::Inbound => 1,
                Direction::Outbound => 2,
            }));
        }
        if frame.left_out > 0 {
            options.push(EnhancedPacketOption::DropCount(frame.left_out));
        }
        let block = EnhancedPacketBlock {
            interface_id: frame.interface,
            timestamp: Duration::from_nanos(frame.at_ns),
            original_len: frame.original_bytes,
            data: Cow::Borrowed(frame.data),
            options,
        };
        self.file.write_pcapng_block(block).map_err(failed)?;
        Ok(())
    }

    /// Writes the packet counts of an interface at the end of the capture.
    ///
    /// # Errors
    /// If writing fails, or the capture has no such interface.
    pub fn totals(&mut self, interface: u32, totals: &Totals) -> io::Result<()> {
        // The pcapng format requires the upper half of a time stamp first. The library writes whole
        // numbers in the byte order of the file.
        let time = |ns: u64| ns.rotate_left(32);
        let options = vec![
            InterfaceStatisticsOption::IsbStartTime(time(totals.span_ns.0)),
            InterfaceStatisticsOption::IsbEndTime(time(totals.span_ns.1)),
            InterfaceStatisticsOption::IsbIfRecv(totals.received),
            InterfaceStatisticsOption::IsbOsDrop(totals.left_out),
        ];
        let timestamp = time(totals.span_ns.1);
        let block = InterfaceStatisticsBlock { interface_id: interface, timestamp, options };
        self.file.write_pcapng_block(block).map_err(failed)?;
        Ok(())
    }

    /// Writes buffered packets to the destination of the capture.
    ///
    /// # Errors
    /// If writing to the destination fails.
    pub fn flush(&mut self) -> io::Result<()> {
        self.file.get_mut().flush()
    }

    /// Returns the destination to which the capture was written.
    pub fn into_inner(self) -> W {
        self.file.into_inner()
    }
}
