//! Packets of a capture: classic pcap and pcapng.
//!
//! Captures need not hold whole packets: a snap length (`tcpdump -s 96`) cuts them, and the length on the wire is recorded beside what is left.

use super::frame::{Frame, parse_ethernet, parse_ip};
use super::{PacketPlace, RawPacket, RawTrace, TraceError};
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::{Block, PcapNgReader};
use pcap_file::{DataLink, TsResolution};
use std::path::Path;

/// First bytes of a capture: times in microseconds or nanoseconds, in either byte order.
const MAGIC: [[u8; 4]; 4] =
    [[0xa1, 0xb2, 0xc3, 0xd4], [0xd4, 0xc3, 0xb2, 0xa1], [0xa1, 0xb2, 0x3c, 0x4d], [0x4d, 0x3c, 0xb2, 0xa1]];
const MAGIC_NG: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
/// Link types that some systems give to IP packets, and that of IPv4 and IPv6 alone.
const RAW_IP: [u32; 4] = [12, 101, 228, 229];
/// Picoseconds of a second.
const SECOND: u128 = 1_000_000_000_000;

pub(super) fn is_capture(content: &[u8]) -> bool {
    content.starts_with(&MAGIC_NG) || MAGIC.iter().any(|magic| content.starts_with(magic))
}

pub(super) fn read(path: &Path, content: &[u8]) -> Result<RawTrace, TraceError> {
    let mut capture = Capture { path, trace: RawTrace::default(), packets: 0 };
    if content.starts_with(&MAGIC_NG) {
        capture.read_pcapng(content)?;
    } else {
        capture.read_pcap(content)?;
    }
    Ok(capture.trace)
}

type Parser = fn(&[u8]) -> Option<Frame>;

/// A capture that is being read.
struct Capture<'a> {
    path: &'a Path,
    trace: RawTrace,
    /// Packets so far, those without an address included.
    packets: u64,
}

impl Capture<'_> {
    fn read_pcap(&mut self, content: &[u8]) -> Result<(), TraceError> {
        let mut reader = PcapReader::new(content).map_err(|error| self.damaged(&error))?;
        let header = reader.header();
        let parse = self.parser(header.datalink)?;
        let (fraction, most) = match header.ts_resolution {
            TsResolution::MicroSecond => (1_000_000, 1_000_000),
            TsResolution::NanoSecond => (1_000, 1_000_000_000),
        };
        // Without the reader's own checks: it takes a packet that is longer than the snap length for a mistake.
        while let Some(next) = reader.next_raw_packet() {
            self.packets += 1;
            let packet = next.map_err(|error| self.damaged(&error))?;
            if packet.ts_frac >= most {
                return Err(self.damaged(&format!("its time has a fraction of {} of {most}", packet.ts_frac)));
            }
            let at_ps = u128::from(packet.ts_sec) * SECOND + u128::from(packet.ts_frac) * fraction;
            self.whole_length(packet.orig_len, &packet.data)?;
            self.add(at_ps, packet.orig_len, parse(&packet.data));
        }
        Ok(())
    }

    fn read_pcapng(&mut self, content: &[u8]) -> Result<(), TraceError> {
        let mut reader = PcapNgReader::new(content).map_err(|error| self.damaged(&error))?;
        // Those of the current section: a file may be several, one behind the other.
        let mut interfaces: Vec<Interface> = Vec::new();
        while let Some(next) = reader.next_block() {
            let (number, units, length, data) = match next {
                Ok(Block::SectionHeader(_)) => {
                    interfaces.clear();
                    continue;
                }
                Ok(Block::InterfaceDescription(block)) => {
                    interfaces.push(Interface::new(&block));
                    continue;
                }
                // The reader counts units of the interface as nanoseconds, for it does not know the interface here.
                Ok(Block::EnhancedPacket(packet)) => {
                    (packet.interface_id, packet.timestamp.as_nanos(), packet.original_len, packet.data)
                }
                Ok(Block::Packet(packet)) => {
                    (packet.interface_id.into(), packet.timestamp.into(), packet.original_len, packet.data)
                }
                Ok(Block::SimplePacket(_)) => {
                    self.packets += 1;
                    return Err(self.damaged(&"it has no time (a Simple Packet Block)"));
                }
                // Names, statistics, comments.
                Ok(_) => continue,
                Err(error) => {
                    self.packets += 1;
                    return Err(self.damaged(&error));
                }
            };
            self.packets += 1;
            let Some(interface) = interfaces.get(number as usize) else {
                return Err(self.damaged(&format!("it is of interface {number}, which is not described")));
            };
            self.whole_length(length, &data)?;
            let frame = self.parser(interface.link)?(&data);
            self.add(interface.picoseconds(units), length, frame);
        }
        Ok(())
    }

    fn add(&mut self, at_ps: u128, length: u32, frame: Option<Frame>) {
        let Some(frame) = frame else {
            self.trace.without_address += 1;
            return;
        };
        self.trace.packets.push(RawPacket {
            at_ps,
            source: frame.source.to_string(),
            destination: frame.destination.to_string(),
            size: u64::from(length),
            priority: Some(frame.priority),
            place: PacketPlace::Number(self.packets),
        });
    }

    /// A packet is at least as long as what was captured of it: a header that denies it would make flows of nothing.
    fn whole_length(&self, length: u32, data: &[u8]) -> Result<(), TraceError> {
        let captured = data.len();
        if (length as usize) < captured {
            return Err(self
                .damaged(&format!("it claims a length of {length} B, of which {captured} B were captured")));
        }
        Ok(())
    }

    fn parser(&self, link: DataLink) -> Result<Parser, TraceError> {
        match link {
            DataLink::ETHERNET => Ok(parse_ethernet),
            other if RAW_IP.contains(&u32::from(other)) => Ok(parse_ip),
            other => Err(TraceError::LinkType { path: self.path.to_owned(), link_type: other.into() }),
        }
    }

    fn damaged(&self, cause: &dyn ToString) -> TraceError {
        TraceError::Damaged {
            path: self.path.to_owned(),
            place: PacketPlace::Number(self.packets),
            cause: cause.to_string(),
        }
    }
}

/// An interface of a pcapng section.
struct Interface {
    link: DataLink,
    /// The option `if_tsresol`: a power of ten, or of two if the highest bit is set.
    resolution: u8,
    /// The option `if_tsoffset`: seconds to be added.
    offset: u64,
}

impl Interface {
    fn new(block: &InterfaceDescriptionBlock<'_>) -> Self {
        // Microseconds, where nothing is said.
        let mut interface = Self { link: block.linktype, resolution: 6, offset: 0 };
        for option in &block.options {
            match option {
                InterfaceDescriptionOption::IfTsResol(resolution) => interface.resolution = *resolution,
                InterfaceDescriptionOption::IfTsOffset(offset) => interface.offset = *offset,
                _ => {}
            }
        }
        interface
    }

    fn picoseconds(&self, units: u128) -> u128 {
        let exponent = u32::from(self.resolution & 0x7f);
        let parts = if self.resolution & 0x80 == 0 {
            10_u128.checked_pow(exponent)
        } else {
            1_u128.checked_shl(exponent)
        };
        // Units are 64 bits, so that their product with a second fits; an absurd resolution leaves no time at all.
        let since = parts.map_or(0, |parts| units * SECOND / parts);
        u128::from(self.offset) * SECOND + since
    }
}
