//! How packets are written for Wireshark: pcapng with interfaces, directions, and comments that say
//! what became of a packet.
//!
//! ```
//! use bufferlab_capture::{Capture, Direction, Frame, Interface, Remark};
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

/// What packets came or went through.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interface<'a> {
    /// Its name.
    pub name: &'a str,
    /// What stands beside the name; may be empty.
    pub description: &'a str,
    /// Its rate (bit/s), where it has one.
    pub bits_per_second: Option<u64>,
    /// Bytes of a packet that are kept at most; 0: all.
    pub snapshot_bytes: u32,
}

/// Which way a packet went through its interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// It came in.
    Inbound,
    /// It left.
    Outbound,
}

/// A packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Frame<'a> {
    /// What [`Capture::interface`] answered.
    pub interface: u32,
    /// When (ns since 1970).
    pub at_ns: u64,
    /// Its length on the link (bytes).
    pub original_bytes: u32,
    /// Its beginning, or all of it.
    pub data: &'a [u8],
    /// `None`: it is not known, or it went neither way.
    pub direction: Option<Direction>,
    /// Packets of the interface that were left out right before it.
    pub left_out: u64,
}

/// What an interface saw altogether.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    /// When the count began and ended (ns since 1970).
    pub span_ns: (u64, u64),
    /// Packets that came in.
    pub received: u64,
    /// Packets that are not in the capture, for want of time or room.
    pub left_out: u64,
}

/// A capture that is being written.
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
    /// Begins a capture in `to`. The library writes in small pieces: `to` should have a buffer.
    ///
    /// # Errors
    /// If it cannot be written to.
    pub fn new(to: W) -> io::Result<Self> {
        let program = concat!("bufferlab ", env!("CARGO_PKG_VERSION"));
        let section = SectionHeaderBlock {
            endianness: Endianness::Little,
            options: vec![SectionHeaderOption::UserApplication(Cow::Borrowed(program))],
            ..SectionHeaderBlock::default()
        };
        Ok(Self { file: PcapNgWriter::with_section_header(to, section).map_err(failed)?, interfaces: 0 })
    }

    /// Adds an interface; answers its number.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn interface(&mut self, interface: &Interface<'_>) -> io::Result<u32> {
        let mut options = vec![InterfaceDescriptionOption::IfName(Cow::Borrowed(interface.name))];
        if !interface.description.is_empty() {
            options.push(InterfaceDescriptionOption::IfDescription(Cow::Borrowed(interface.description)));
        }
        options.extend(interface.bits_per_second.map(InterfaceDescriptionOption::IfSpeed));
        // Units of time are nanoseconds.
        options.push(InterfaceDescriptionOption::IfTsResol(9));
        let snaplen = interface.snapshot_bytes;
        let block = InterfaceDescriptionBlock { linktype: DataLink::ETHERNET, snaplen, options };
        self.file.write_pcapng_block(block).map_err(failed)?;
        self.interfaces += 1;
        Ok(self.interfaces - 1)
    }

    /// Adds a packet, with a comment if there is something to say of it.
    ///
    /// # Errors
    /// If it cannot be written, or the interface is not known.
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

    /// Says what an interface saw, at the end of the capture.
    ///
    /// # Errors
    /// If it cannot be written, or the interface is not known.
    pub fn totals(&mut self, interface: u32, totals: &Totals) -> io::Result<()> {
        // The format wants the upper half of a time first; the library writes numbers as a whole,
        // in the order of the file.
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

    /// Hands everything on that waits in a buffer of the destination.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.file.get_mut().flush()
    }

    /// What was written to.
    pub fn into_inner(self) -> W {
        self.file.into_inner()
    }
}
