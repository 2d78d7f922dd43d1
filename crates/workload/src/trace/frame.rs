//! Parses a frame's addresses and priority from its first bytes, because captures often cut frames.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Data of a captured frame that a replay needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
    /// Priority of the frame, 0 to 7, from the outermost VLAN tag (IEEE 802.1Q). Without a tag, the
    /// priority is the class selector, the first three bits of the DSCP (RFC 2474).
    pub(super) priority: u8,
    /// Size of the frame on the wire, without headers that only the capture has (bytes).
    pub(super) bytes: u32,
}

/// Result of parsing a captured packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parse {
    /// The packet has network addresses.
    Frame(Frame),
    /// The packet has no network address, as in ARP, or the capture cut the address.
    NoAddress,
}

/// Link type of a capture: the header before the packets of an interface
/// (<https://www.tcpdump.org/linktypes.html>).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    Ethernet,
    /// The packet is IPv4 or IPv6 without another header.
    Ip,
    /// The header is four bytes with the address family: BSD's loopback.
    Loopback,
    /// The header comes from the Linux kernel, in captures of all interfaces (`tcpdump -i any`).
    Cooked,
    /// The header is version 2 of the Linux kernel's header for captures of all interfaces.
    Cooked2,
}

/// Size of an Ethernet header without tags and check sequence (bytes).
const ETHERNET_BYTES: u32 = 14;
/// Linux device numbers whose frames have an Ethernet header: Ethernet and loopback.
const ETHERNET_DEVICES: [u16; 2] = [1, 772];

impl Link {
    /// Returns the link type with the number `number`.
    ///
    /// # Errors
    /// Advice to the user, if the link type is not supported.
    pub(super) fn new(number: u32) -> Result<Self, &'static str> {
        match number {
            1 => Ok(Self::Ethernet),
            // Some systems use other numbers for raw IP. IPv4 alone and IPv6 alone have
            // separate numbers.
            12 | 14 | 101 | 228 | 229 => Ok(Self::Ip),
            0 | 108 => Ok(Self::Loopback),
            113 => Ok(Self::Cooked),
            276 => Ok(Self::Cooked2),
            105 | 119 | 127 | 163 => Err(
                "they are frames of a wireless network, whose sizes and times on the air are none of a cable; capture on a wired interface",
            ),
            _ => Err("capture on an Ethernet interface, or convert the file"),
        }
    }

    /// Parses a packet of `length` bytes, of which the capture has `bytes`.
    pub(super) fn parse(self, bytes: &[u8], length: u32) -> Parse {
        let kind = |at: usize| Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
        // Parses a packet after a header that exists only in the capture.
        let after = |header: u32, device: Option<u16>, protocol: Option<u16>| {
            let is_ethernet = device.is_some_and(|device| ETHERNET_DEVICES.contains(&device));
            let on_the_wire = if is_ethernet { ETHERNET_BYTES } else { 0 };
            let found = parse_payload(protocol?, bytes.get(header as usize..)?)?;
            Some(Frame { bytes: length.saturating_sub(header) + on_the_wire, ..found })
        };
        let found = match self {
            Self::Ethernet => parse_ethernet(bytes).map(|frame| Frame { bytes: length, ..frame }),
            Self::Ip => parse_ip(bytes).map(|frame| Frame { bytes: length, ..frame }),
            Self::Loopback => bytes
                .get(4..)
                .and_then(parse_ip)
                .map(|frame| Frame { bytes: length.saturating_sub(4), ..frame }),
            Self::Cooked => after(16, kind(2), kind(14)),
            Self::Cooked2 => after(20, kind(8), kind(0)),
        };
        found.map_or(Parse::NoAddress, Parse::Frame)
    }
}

/// EtherTypes of VLAN tags.
const TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];
/// Smallest EtherType; a smaller number is the length of an IEEE 802.3 frame.
const TYPE_LEAST: u16 = 0x0600;
/// Largest number of MPLS labels that the parser skips.
const LABELS_MAX: usize = 16;

/// Parses an Ethernet frame; `None` for frames without IP.
fn parse_ethernet(bytes: &[u8]) -> Option<Frame> {
    let kind = u16::from_be_bytes([*bytes.get(12)?, *bytes.get(13)?]);
    parse_payload(kind, bytes.get(14..)?)
}

/// Parses the packet after an EtherType; skips VLAN tags, MPLS labels and a PPPoE session.
fn parse_payload(mut kind: u16, bytes: &[u8]) -> Option<Frame> {
    let (mut at, mut tagged) = (0, None);
    while TAGS.contains(&kind) {
        tagged = tagged.or(Some(bytes.get(at)? >> 5));
        kind = u16::from_be_bytes([*bytes.get(at + 2)?, *bytes.get(at + 3)?]);
        at += 4;
    }
    let rest = bytes.get(at..)?;
    let frame = match kind {
        0x0800 | 0x86dd => parse_ip(rest)?,
        0x8847 | 0x8848 => {
            // The lowest bit of the third byte of an MPLS label marks the last label.
            let labels = rest.chunks_exact(4).take(LABELS_MAX);
            let last = labels.clone().position(|label| label[2] & 1 == 1)?;
            parse_ip(rest.get(4 * (last + 1)..)?)?
        }
        // Six bytes of PPPoE header precede the PPP protocol: IPv4 or IPv6.
        0x8864 if matches!(rest.get(6..8)?, [0x00, 0x21 | 0x57]) => parse_ip(rest.get(8..)?)?,
        length if length < TYPE_LEAST && rest.starts_with(&[0xaa, 0xaa, 0x03, 0, 0, 0]) => {
            match rest.get(6..8)? {
                [0x08, 0x00] | [0x86, 0xdd] => parse_ip(rest.get(8..)?)?,
                _ => return None,
            }
        }
        _ => return None,
    };
    Some(Frame { priority: tagged.unwrap_or(frame.priority), ..frame })
}

/// Parses the header of an IPv4 or IPv6 packet.
fn parse_ip(bytes: &[u8]) -> Option<Frame> {
    match bytes.first()? >> 4 {
        4 => {
            let address = |at: usize| Some(Ipv4Addr::from(<[u8; 4]>::try_from(bytes.get(at..at + 4)?).ok()?));
            let (source, destination) = (address(12)?.into(), address(16)?.into());
            Some(Frame { source, destination, priority: bytes[1] >> 5, bytes: 0 })
        }
        6 => {
            let address =
                |at: usize| Some(Ipv6Addr::from(<[u8; 16]>::try_from(bytes.get(at..at + 16)?).ok()?));
            let (source, destination) = (address(8)?.into(), address(24)?.into());
            // The traffic class begins in the low half of the first byte.
            Some(Frame { source, destination, priority: (bytes[0] & 0x0f) >> 1, bytes: 0 })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds an IPv4 header whose DSCP has the class selector 5.
    fn ipv4() -> Vec<u8> {
        let mut bytes = vec![0x45, 0xb8, 0, 40, 0, 0, 0, 0, 64, 17, 0, 0];
        bytes.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        bytes
    }

    fn ethernet(types: &[u8], payload: &[u8]) -> Vec<u8> {
        [&[0_u8; 12], types, payload].concat()
    }

    /// Parses a packet after `header` on this link. The packet is `more` bytes
    /// longer than captured.
    fn parsed(link: u32, header: &[u8], packet: &[u8]) -> Option<(String, String, u8, u32)> {
        let bytes = [header, packet].concat();
        let link = Link::new(link).expect("it is read");
        match link.parse(&bytes, bytes.len() as u32 + 1_000) {
            Parse::Frame(Frame { source, destination, priority, bytes }) => {
                Some((source.to_string(), destination.to_string(), priority, bytes))
            }
            Parse::NoAddress => None,
        }
    }

    fn expected(priority: u8, bytes: u32) -> Option<(String, String, u8, u32)> {
        Some(("10.0.0.1".into(), "10.0.0.2".into(), priority, bytes))
    }

    #[test]
    fn every_link_type_has_the_same_addresses_and_its_own_length() {
        let ip = ipv4();
        let cooked =
            |device: u16| [&[0, 0], &device.to_be_bytes()[..], &[0, 6], &[2; 8], &[0x08, 0x00]].concat();
        let cooked2 = |device: u16| {
            [&[0x08, 0x00, 0, 0, 0, 0, 0, 3], &device.to_be_bytes()[..], &[4, 6], &[2; 8]].concat()
        };
        assert_eq!(parsed(1, &ethernet(&[0x08, 0x00], &[]), &ip), expected(5, 1_034));
        for raw in [12, 14, 101, 228, 229] {
            assert_eq!(parsed(raw, &[], &ip), expected(5, 1_020), "{raw}");
        }
        assert_eq!(parsed(0, &[2, 0, 0, 0], &ip), expected(5, 1_020));
        assert_eq!(parsed(108, &[0, 0, 0, 2], &ip), expected(5, 1_020));
        // The kernel's header exists only in the capture, unlike the Ethernet header.
        assert_eq!(parsed(113, &cooked(1), &ip), expected(5, 1_034));
        assert_eq!(parsed(113, &cooked(772), &ip), expected(5, 1_034));
        assert_eq!(parsed(113, &cooked(512), &ip), expected(5, 1_020));
        assert_eq!(parsed(276, &cooked2(1), &ip), expected(5, 1_034));
        assert_eq!(parsed(276, &cooked2(65_534), &ip), expected(5, 1_020));
        for wireless in [105, 119, 127, 163] {
            assert!(Link::new(wireless).expect_err("on the air").contains("wireless"), "{wireless}");
        }
        assert!(Link::new(9).is_err());
    }

    #[test]
    fn tags_labels_and_sessions_are_skipped() {
        let ip = ipv4();
        let frame = |types: &[u8]| parsed(1, &ethernet(types, &[]), &ip).map(|found| found.2);
        assert_eq!(frame(&[0x81, 0x00, 0x60, 1, 0x08, 0x00]), Some(3));
        assert_eq!(
            frame(&[0x88, 0xa8, 0x60, 1, 0x81, 0x00, 0xe0, 2, 0x08, 0x00]),
            Some(3),
            "the outer tag counts"
        );
        assert_eq!(
            frame(&[0x91, 0x00, 0x00, 1, 0x91, 0x00, 0xe0, 2, 0x81, 0x00, 0x20, 3, 0x08, 0x00]),
            Some(0)
        );
        assert_eq!(frame(&[0x88, 0x47, 0, 1, 0x01, 64]), Some(5), "one label");
        assert_eq!(frame(&[0x88, 0x48, 0, 1, 0x00, 64, 0, 2, 0x01, 64]), Some(5), "two labels");
        assert_eq!(frame(&[0x81, 0x00, 0x40, 1, 0x88, 0x47, 0, 1, 0x01, 64]), Some(2), "a label in a tag");
        assert_eq!(frame(&[0x88, 0x64, 0x11, 0, 0, 1, 0, 22, 0x00, 0x21]), Some(5), "PPPoE");
        assert_eq!(frame(&[0, 40, 0xaa, 0xaa, 3, 0, 0, 0, 0x08, 0x00]), Some(5), "IEEE 802.3 with SNAP");
        for none in [
            &[0x08, 0x06][..],
            &[0x88, 0x47, 0, 1, 0, 64],
            &[0x88, 0x64, 0x11, 0, 0, 1, 0, 22, 0xc0, 0x21],
            &[0, 40],
        ] {
            assert_eq!(frame(none), None, "{none:?}");
        }
        // The tag of a packet captured on all interfaces follows the kernel's header.
        let tagged = [&[0, 0, 0, 1, 0, 6], &[2; 8][..], &[0x81, 0x00, 0x60, 1, 0x08, 0x00]].concat();
        assert_eq!(parsed(113, &tagged, &ip).map(|found| found.2), Some(3));
    }

    #[test]
    fn addresses_and_class_of_ip_packets() {
        let frame = parse_ethernet(&ethernet(&[0x08, 0x00], &ipv4())).expect("IPv4");
        assert_eq!(
            (frame.source.to_string(), frame.destination.to_string()),
            ("10.0.0.1".into(), "10.0.0.2".into())
        );
        assert_eq!(frame.priority, 5);
        let mut ipv6 = vec![0x6b, 0x80, 0, 0, 0, 8, 17, 64];
        ipv6.extend(Ipv6Addr::LOCALHOST.octets());
        ipv6.extend(Ipv6Addr::UNSPECIFIED.octets());
        let frame = parse_ip(&ipv6).expect("IPv6");
        assert_eq!(
            (frame.source.to_string(), frame.destination.to_string(), frame.priority),
            ("::1".into(), "::".into(), 5)
        );
    }

    #[test]
    fn the_outer_vlan_tag_decides_the_priority() {
        let tagged = ethernet(&[0x88, 0xa8, 0x60, 1, 0x81, 0x00, 0xe0, 2, 0x08, 0x00], &ipv4());
        assert_eq!(parse_ethernet(&tagged).map(|frame| frame.priority), Some(3));
    }

    #[test]
    fn what_has_no_address_or_is_cut_too_short_is_none() {
        assert_eq!(parse_ethernet(&ethernet(&[0x08, 0x06], &[0; 28])), None);
        let whole = ethernet(&[0x81, 0x00, 0xe0, 2, 0x08, 0x00], &ipv4());
        for length in 0..whole.len() {
            assert_eq!(parse_ethernet(&whole[..length]), None, "{length} bytes");
        }
        assert_eq!(parse_ip(&[0x70; 60]), None);
    }
}
