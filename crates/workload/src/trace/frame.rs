//! Addresses and priority of a frame, from its first bytes: captures are often cut short.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What a replay needs of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
    /// 0 to 7: of the outermost VLAN tag (IEEE 802.1Q), else the class selector, the first three bits of the DSCP (RFC 2474).
    pub(super) priority: u8,
}

/// EtherTypes of VLAN tags.
const TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];

/// `None` for frames without IP.
pub(super) fn parse_ethernet(bytes: &[u8]) -> Option<Frame> {
    let mut at = 12;
    let mut tagged = None;
    loop {
        let kind = u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]);
        at += 2;
        if !TAGS.contains(&kind) {
            let frame = match kind {
                0x0800 | 0x86dd => parse_ip(bytes.get(at..)?)?,
                _ => return None,
            };
            return Some(Frame { priority: tagged.unwrap_or(frame.priority), ..frame });
        }
        tagged = tagged.or(Some(bytes.get(at)? >> 5));
        at += 2;
    }
}

/// An IPv4 or IPv6 packet.
pub(super) fn parse_ip(bytes: &[u8]) -> Option<Frame> {
    match bytes.first()? >> 4 {
        4 => {
            let address = |at: usize| Some(Ipv4Addr::from(<[u8; 4]>::try_from(bytes.get(at..at + 4)?).ok()?));
            let (source, destination) = (address(12)?.into(), address(16)?.into());
            Some(Frame { source, destination, priority: bytes[1] >> 5 })
        }
        6 => {
            let address =
                |at: usize| Some(Ipv6Addr::from(<[u8; 16]>::try_from(bytes.get(at..at + 16)?).ok()?));
            let (source, destination) = (address(8)?.into(), address(24)?.into());
            // The traffic class begins in the low half of the first byte.
            Some(Frame { source, destination, priority: (bytes[0] & 0x0f) >> 1 })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An IPv4 header with class selector 5.
    fn ipv4() -> Vec<u8> {
        let mut bytes = vec![0x45, 0xb8, 0, 40, 0, 0, 0, 0, 64, 17, 0, 0];
        bytes.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        bytes
    }

    fn ethernet(types: &[u8], payload: &[u8]) -> Vec<u8> {
        [&[0_u8; 12], types, payload].concat()
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
