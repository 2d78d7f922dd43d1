//! Packets of a classic pcap capture.

use super::frame::{Frame, parse_ethernet, parse_ip};
use super::{PacketPlace, RawPacket, RawTrace, TraceError};
use pcap_file::DataLink;
use pcap_file::pcap::PcapReader;
use std::path::Path;

/// First bytes of a capture: times in microseconds or nanoseconds, in either byte order.
const MAGIC: [[u8; 4]; 4] =
    [[0xa1, 0xb2, 0xc3, 0xd4], [0xd4, 0xc3, 0xb2, 0xa1], [0xa1, 0xb2, 0x3c, 0x4d], [0x4d, 0x3c, 0xb2, 0xa1]];
const MAGIC_NG: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
/// Link types that some systems give to IP packets, and that of IPv4 and IPv6 alone.
const RAW_IP: [u32; 4] = [12, 101, 228, 229];

pub(super) fn is_capture(content: &[u8]) -> bool {
    content.starts_with(&MAGIC_NG) || MAGIC.iter().any(|magic| content.starts_with(magic))
}

pub(super) fn read(path: &Path, content: &[u8]) -> Result<RawTrace, TraceError> {
    if content.starts_with(&MAGIC_NG) {
        return Err(TraceError::PcapNg { path: path.to_owned() });
    }
    let damaged = |number: u64, cause: String| TraceError::Damaged {
        path: path.to_owned(),
        place: PacketPlace::Number(number),
        cause,
    };
    let mut reader = PcapReader::new(content).map_err(|error| damaged(0, error.to_string()))?;
    let parse: fn(&[u8]) -> Option<Frame> = match reader.header().datalink {
        DataLink::ETHERNET => parse_ethernet,
        other if RAW_IP.contains(&u32::from(other)) => parse_ip,
        other => return Err(TraceError::LinkType { path: path.to_owned(), link_type: other.into() }),
    };
    let (mut packets, mut without_address, mut number) = (Vec::new(), 0, 0);
    while let Some(next) = reader.next_packet() {
        number += 1;
        let packet = next.map_err(|error| damaged(number, error.to_string()))?;
        let Some(frame) = parse(&packet.data) else {
            without_address += 1;
            continue;
        };
        packets.push(RawPacket {
            at_ps: packet.timestamp.as_nanos() * 1_000,
            source: frame.source.to_string(),
            destination: frame.destination.to_string(),
            size: u64::from(packet.orig_len),
            priority: Some(frame.priority),
            place: PacketPlace::Number(number),
        });
    }
    Ok(RawTrace { packets, without_address, ignored_columns: Vec::new() })
}
