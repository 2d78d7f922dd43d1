//! Reads the headers of Ethernet frames that a switch needs, and marks frames.
//!
//! Frames are untrusted: every length is checked, and a malformed frame has a [`Discard`] reason.

use crate::addresses::MacAddress;
use crate::tallies::Discard;
use bufferlab_core::{Ecn, Header};
use std::net::Ipv4Addr;

/// Size of an Ethernet header without a VLAN tag (bytes).
pub const HEADER_BYTES: usize = 14;
/// Size of the smallest frame without its check sequence (bytes); IEEE 802.3 has 64 B with the
/// check sequence.
pub const SMALLEST_BYTES: usize = 60;

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const VLAN: u16 = 0x8100;
const SERVICE_VLAN: u16 = 0x88a8;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Network protocol of a frame, which gives the position of the congestion bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Network {
    V4,
    V6,
    /// The frame has no congestion bits, because its protocol is ARP or another protocol.
    Other,
}

/// Headers of a frame that the switch has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// Destination address of the frame.
    pub to: MacAddress,
    /// Source address of the frame.
    pub from: MacAddress,
    /// Code point of the differentiated services field (RFC 2474), 0 to 63; 0 without this field.
    pub code_point: u8,
    /// Priority code point of the outer VLAN tag (IEEE 802.1Q), 0 to 7; `None` without a tag.
    pub tag_priority: Option<u8>,
    /// Header of the packet, without size and priority. The ECN state is from the ECN bits (RFC
    /// 3168). The flow is a hash of addresses, protocol and ports. Without IP addresses, the flow
    /// is a hash of the link-layer addresses.
    pub packet: Header,
}

/// Reads the headers of `frame` (without check sequence).
///
/// # Errors
/// The reason why the frame cannot be forwarded.
pub fn read(frame: &[u8]) -> Result<Headers, Discard> {
    let (Some(to), Some(from)) = (address(frame, 0), address(frame, 6)) else {
        return Err(Discard::Truncated);
    };
    let tags = tag_bytes(frame);
    let (kind, start) = (u16_at(frame, 12 + tags).ok_or(Discard::Truncated)?, HEADER_BYTES + tags);
    if is_tag(kind) {
        return Err(Discard::Vlan);
    }
    if from.is_group() {
        return Err(Discard::GroupSource);
    }
    let mut flow = Hash::new();
    for tag in frame[12..12 + tags].chunks(TAG_BYTES) {
        // The VLAN number is part of the flow, because hosts of different networks may have equal
        // addresses. The priority in the tag is not a part of the flow, because the priority may
        // vary within a flow.
        flow.take(&[tag[2] & 0x0f, tag[3]]);
    }
    let (network, code_point, bits) = match kind {
        IPV4 => read_v4(&frame[start..], &mut flow)?,
        IPV6 => read_v6(&frame[start..], &mut flow)?,
        _ => {
            flow.take(&frame[..12]);
            flow.take(&frame[start - 2..start]);
            (Network::Other, 0, 0)
        }
    };
    let tag_priority = (tags > 0).then(|| frame[14] >> 5);
    let ecn = match (network, bits) {
        (Network::Other, _) | (_, 0) => Ecn::NotCapable,
        (_, 3) => Ecn::Marked,
        _ => Ecn::Capable,
    };
    let packet = Header { flow: flow.finish(), ecn, ..Header::default() };
    Ok(Headers { to, from, code_point, tag_priority, packet })
}

/// Size of a VLAN tag (bytes), which has a type, a priority and a number (IEEE 802.1Q).
pub const TAG_BYTES: usize = 4;

fn is_tag(kind: u16) -> bool {
    kind == VLAN || kind == SERVICE_VLAN
}

/// Size of the first two VLAN tags of `frame` (bytes). A switch does not read a third tag.
#[must_use]
pub fn tag_bytes(frame: &[u8]) -> usize {
    let has = |tags: usize| u16_at(frame, 12 + tags).is_some_and(is_tag);
    if !has(0) {
        0
    } else if !has(TAG_BYTES) {
        TAG_BYTES
    } else {
        2 * TAG_BYTES
    }
}

/// Reads code point and ECN bits of an IPv4 packet (RFC 791).
fn read_v4(packet: &[u8], flow: &mut Hash) -> Result<(Network, u8, u8), Discard> {
    let first = *packet.first().ok_or(Discard::Truncated)?;
    let (version, header) = (first >> 4, usize::from(first & 15) * 4);
    if version != 4 || header < 20 {
        return Err(Discard::Malformed);
    }
    let length = usize::from(u16_at(packet, 2).ok_or(Discard::Truncated)?);
    if length < header {
        return Err(Discard::Malformed);
    }
    if packet.len() < length {
        return Err(Discard::Truncated);
    }
    flow.take(&packet[12..20]);
    flow.take(&packet[9..10]);
    // All fragments of a packet belong to one flow. Only the first fragment has ports, so
    // ports are ignored.
    let is_fragment = u16_at(packet, 6).is_some_and(|field| field & 0x3fff != 0);
    if !is_fragment && matches!(packet[9], TCP | UDP) {
        flow.take(packet.get(header..header + 4).unwrap_or(&[]));
    }
    Ok((Network::V4, packet[1] >> 2, packet[1] & 3))
}

/// Reads code point and ECN bits of an IPv6 packet (RFC 8200).
fn read_v6(packet: &[u8], flow: &mut Hash) -> Result<(Network, u8, u8), Discard> {
    if packet.first().ok_or(Discard::Truncated)? >> 4 != 6 {
        return Err(Discard::Malformed);
    }
    let payload = usize::from(u16_at(packet, 4).ok_or(Discard::Truncated)?);
    if packet.len() < 40 + payload {
        return Err(Discard::Truncated);
    }
    flow.take(&packet[8..40]);
    flow.take(&packet[6..7]);
    if matches!(packet[6], TCP | UDP) {
        flow.take(packet.get(40..44).unwrap_or(&[]));
    }
    let class = (packet[0] << 4) | (packet[1] >> 4);
    Ok((Network::V6, class >> 2, class & 3))
}

/// Sets the congestion mark of an ECN-capable frame; other frames do not change. The checksum of
/// an IPv4 header is updated by RFC 1624, Eq. 3. IPv6 headers have no checksum.
pub fn mark(frame: &mut [u8]) {
    let start = HEADER_BYTES + tag_bytes(frame);
    match u16_at(frame, start - 2) {
        Some(IPV4) if frame.len() >= start + 20 => {
            let packet = &mut frame[start..];
            if packet[1] & 3 == 0 {
                return;
            }
            let before = u16::from_be_bytes([packet[0], packet[1]]);
            packet[1] |= 3;
            let after = u16::from_be_bytes([packet[0], packet[1]]);
            let checksum = u16::from_be_bytes([packet[10], packet[11]]);
            let checksum = updated(checksum, before, after).to_be_bytes();
            packet[10..12].copy_from_slice(&checksum);
        }
        // The two ECN bits of the traffic class are bits 4 and 5 of the second byte.
        Some(IPV6) if frame.len() >= start + 2 && frame[start + 1] & 0x30 != 0 => {
            frame[start + 1] |= 0x30;
        }
        _ => {}
    }
}

/// Completes a checksum that the sender left to its network card: the sum of RFC 1071 over the
/// bytes from `start`. The checksum is `offset` bytes after `start`. Before the call, the checksum
/// field has the sum of the pseudo header. Returns false if the frame is too short.
pub fn finish_checksum(frame: &mut [u8], start: usize, offset: usize) -> bool {
    let Some(part) = frame.get_mut(start..).filter(|part| part.len() >= offset + 2) else { return false };
    let sum = !fold(sum_of(part));
    // Zero would mean that a datagram has no checksum (RFC 768). For TCP, 0 and
    // 0xffff are equivalent.
    let sum = if sum == 0 { 0xffff } else { sum };
    part[offset..offset + 2].copy_from_slice(&sum.to_be_bytes());
    true
}

/// Returns the sum of all 16-bit words. A zero byte follows an odd last byte.
fn sum_of(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<4>();
    let sum: u64 = words.iter().map(|&word| u64::from(u32::from_be_bytes(word))).sum();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    sum + u64::from(u32::from_be_bytes(last))
}

/// Adds the carries of a sum until the sum has 16 bits.
fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Returns the checksum after one word of the data changed, by RFC 1624, Eq. 3: HC' = ~(~HC + ~m +
/// m').
fn updated(checksum: u16, before: u16, after: u16) -> u16 {
    !fold(u64::from(!checksum) + u64::from(!before) + u64::from(after))
}

/// Returns [`Header::flow`] for the packets of a TCP connection over IPv4, for the direction from
/// one end (address and port) to the other end.
#[must_use]
pub fn tcp_flow(from: (Ipv4Addr, u16), to: (Ipv4Addr, u16)) -> u32 {
    let mut flow = Hash::new();
    flow.take(&from.0.octets());
    flow.take(&to.0.octets());
    flow.take(&[TCP]);
    flow.take(&from.1.to_be_bytes());
    flow.take(&to.1.to_be_bytes());
    flow.finish()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

fn address(bytes: &[u8], at: usize) -> Option<MacAddress> {
    bytes.get(at..at + 6)?.try_into().ok().map(MacAddress)
}

/// FNV-1a hash of 64 bits, which is folded to 32 bits.
struct Hash(u64);

impl Hash {
    const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn take(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(self) -> u32 {
        (self.0 ^ (self.0 >> 32)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds an IPv4 frame with `class` as the second byte of its header, and with a correct
    /// checksum.
    fn frame_v4(class: u8) -> Vec<u8> {
        let mut frame = vec![0_u8; 60];
        frame[..6].copy_from_slice(&[2, 0, 0, 0, 0, 1]);
        frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 2]);
        frame[12..14].copy_from_slice(&IPV4.to_be_bytes());
        frame[14..34].copy_from_slice(&[
            0x45, class, 0, 46, 0xab, 0xcd, 0x40, 0, 64, TCP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        ]);
        let checksum = full_checksum(&frame[14..34]).to_be_bytes();
        frame[24..26].copy_from_slice(&checksum);
        frame
    }

    /// Returns the sum of RFC 1071 over a header including its checksum field.
    fn full_checksum(header: &[u8]) -> u16 {
        let mut sum: u32 =
            header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    #[test]
    fn a_mark_leaves_the_checksum_of_every_header_correct() {
        for class in 0..=255_u8 {
            for salt in 0..=255_u8 {
                let mut frame = frame_v4(class);
                frame[18] = salt;
                frame[24..26].fill(0);
                let checksum = full_checksum(&frame[14..34]).to_be_bytes();
                frame[24..26].copy_from_slice(&checksum);
                let before = frame.clone();
                mark(&mut frame);
                // A header with a correct checksum sums up to zero.
                assert_eq!(full_checksum(&frame[14..34]), 0, "class {class}, salt {salt}");
                let marked = read(&frame).expect("it is well-formed").packet.ecn;
                match class & 3 {
                    0 => assert_eq!(frame, before, "a packet that is not ECN-capable stays as it is"),
                    _ => assert_eq!(marked, Ecn::Marked),
                }
                assert_eq!(frame[15] >> 2, class >> 2, "the code point stays");
            }
        }
    }

    #[test]
    fn a_finished_checksum_makes_the_sum_of_pseudo_header_and_segment_zero() {
        for bytes in [60, 61, 62, 63, 1_514] {
            for salt in 0..=255_u8 {
                let mut frame = frame_v4(0);
                frame.resize(bytes, salt);
                // The pseudo header has addresses, protocol and length. A host leaves the sum of
                // the pseudo header in the checksum field.
                let length = (bytes - 34) as u16;
                let pseudo = sum_of(&frame[26..34]) + u64::from(TCP) + u64::from(length);
                frame[50..52].copy_from_slice(&fold(pseudo).to_be_bytes());
                assert!(finish_checksum(&mut frame, 34, 16));
                assert_eq!(fold(pseudo + sum_of(&frame[34..])), 0xffff, "{bytes} bytes, salt {salt}");
            }
        }
        for (start, offset) in [(34, 25), (34, 26), (60, 0), (61, 0), (usize::MAX, 0)] {
            let frame = frame_v4(0);
            let mut after = frame.clone();
            assert!(!finish_checksum(&mut after, start, offset), "{start} {offset}");
            assert_eq!(after, frame);
        }
    }

    #[test]
    fn a_mark_of_ipv6_changes_the_ecn_bits_alone() {
        for class in 0..=255_u8 {
            let mut frame = vec![0_u8; 60];
            frame[6] = 2;
            frame[12..14].copy_from_slice(&IPV6.to_be_bytes());
            frame[14] = 0x60 | class >> 4;
            frame[15] = class << 4 | 0x0a;
            let before = read(&frame).expect("it is well-formed");
            assert_eq!(before.code_point, class >> 2);
            let ecn = [Ecn::NotCapable, Ecn::Capable, Ecn::Capable, Ecn::Marked][usize::from(class & 3)];
            assert_eq!(before.packet.ecn, ecn);
            mark(&mut frame);
            let after = read(&frame).expect("it is well-formed");
            assert_eq!((after.code_point, after.packet.flow), (before.code_point, before.packet.flow));
            let wanted = if class & 3 == 0 { Ecn::NotCapable } else { Ecn::Marked };
            assert_eq!(after.packet.ecn, wanted);
            assert_eq!((frame[14] >> 4, frame[15] & 15), (6, 0x0a), "version and flow label stay");
        }
    }

    #[test]
    fn flows_are_told_apart_by_addresses_protocol_and_ports_and_fragments_by_addresses() {
        let flow = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut frame = frame_v4(0);
            change(&mut frame);
            read(&frame).expect("it is well-formed").packet.flow
        };
        let plain = flow(&|_| {});
        let ends = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        assert_eq!(tcp_flow((ends.0, 0), (ends.1, 0)), plain, "the same from addresses and ports");
        for at in [23, 26, 29, 30, 33, 34, 36] {
            assert_ne!(flow(&|frame| frame[at] ^= 1), plain, "byte {at}");
        }
        for at in [0, 6, 15, 18, 22, 40] {
            let other = flow(&|frame| frame[at] ^= 4);
            assert_eq!(other, plain, "byte {at}");
        }
        let fragment = |ports: u8| {
            flow(&|frame| {
                frame[20] = 0x20;
                frame[34] = ports;
            })
        };
        assert_eq!(fragment(0), fragment(7));
    }

    /// Adds VLAN tags to a frame. Each tag has a type from `types` (0x81 or 0x88). The priorities
    /// are 5, 4 and so on, and the numbers are 7, 8 and so on.
    fn tagged(frame: &[u8], types: &[u8]) -> Vec<u8> {
        let mut all = frame[..12].to_vec();
        for (index, &kind) in (0..).zip(types) {
            all.extend([kind, if kind == 0x81 { 0 } else { 0xa8 }, (5 - index) << 5, 7 + index]);
        }
        all.extend(&frame[12..]);
        all
    }

    #[test]
    fn behind_one_or_two_tags_headers_are_read_and_marked_as_without_them() {
        let v4 = frame_v4(46 << 2 | 2);
        let mut v6 = vec![0_u8; 60];
        v6[6] = 2;
        v6[12..16].copy_from_slice(&[0x86, 0xdd, 0x6b, 0xa0]);
        let mut other = v4.clone();
        other[12..14].copy_from_slice(&[8, 6]);
        for plain in [v4, v6, other] {
            let expected = read(&plain).expect("it is well-formed");
            assert_eq!((tag_bytes(&plain), expected.tag_priority), (0, None));
            let mut marked = plain.clone();
            mark(&mut marked);
            for types in [&[0x81][..], &[0x88], &[0x88, 0x81]] {
                let mut frame = tagged(&plain, types);
                let found = read(&frame).expect("it is well-formed");
                assert_eq!((tag_bytes(&frame), found.tag_priority), (4 * types.len(), Some(5)));
                assert_eq!(
                    (found.to, found.code_point, found.packet.ecn),
                    (expected.to, expected.code_point, expected.packet.ecn)
                );
                assert_ne!(found.packet.flow, expected.packet.flow, "it is of another network");
                frame[14] ^= 0xe0;
                assert_eq!(
                    read(&frame).map(|headers| headers.packet.flow),
                    Ok(found.packet.flow),
                    "a priority is no flow"
                );
                frame[14] ^= 0xe0;
                mark(&mut frame);
                assert_eq!(frame, tagged(&marked, types));
                for length in 0..HEADER_BYTES + 4 * types.len() {
                    assert_eq!(
                        read(&frame[..length]),
                        Err(Discard::Truncated),
                        "{length} bytes of {types:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_is_too_short_or_contradicts_itself_has_its_reason() {
        let whole = frame_v4(2);
        for length in 0..HEADER_BYTES {
            assert_eq!(read(&whole[..length]), Err(Discard::Truncated), "{length} bytes");
        }
        let changed = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut frame = frame_v4(2);
            change(&mut frame);
            read(&frame)
        };
        assert_eq!(changed(&|frame| frame[14] = 0x55), Err(Discard::Malformed), "version 5");
        assert_eq!(changed(&|frame| frame[14] = 0x44), Err(Discard::Malformed), "a header of 16 B");
        assert_eq!(changed(&|frame| frame[16..18].fill(0)), Err(Discard::Malformed), "a length of zero");
        assert_eq!(changed(&|frame| frame[16] = 5), Err(Discard::Truncated), "longer than the frame");
        assert_eq!(read(&tagged(&whole, &[0x81; 3])), Err(Discard::Vlan), "three tags");
        assert_eq!(changed(&|frame| frame[6] = 3), Err(Discard::GroupSource));
    }
}
