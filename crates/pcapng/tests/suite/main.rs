//! Tests that Wireshark's programs and the pcapng library can read a capture.

use bufferlab_pcapng::{Capture, Direction, Frame, Interface, Remark, Totals};
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use std::io::Write;
use std::process::Command;

/// The time 2026-01-02 03:04:05.123456789 UTC (ns since 1970).
const AT_NS: u64 = 1_767_323_045_123_456_789;

fn capture() -> Vec<u8> {
    let mut capture = Capture::new(Vec::new()).expect("memory can be written");
    let eth1 = Interface {
        name: "eth1",
        description: "port 1",
        bits_per_second: Some(100_000_000),
        snapshot_bytes: 64,
    };
    let first = capture.interface(&eth1).expect("memory can be written");
    let second = capture.interface(&Interface { name: "eth2", ..eth1 }).expect("memory can be written");
    assert_eq!((first, second), (0, 1));
    let mut data = [0; 64];
    (data[12], data[14]) = (8, 0x45);
    let came = Frame {
        interface: first,
        at_ns: AT_NS,
        original_bytes: 1_514,
        data: &data,
        direction: Some(Direction::Inbound),
        left_out: 0,
    };
    let lost = Remark {
        event: "dropped",
        queue: "eth2.0",
        queue_bytes: 9_000,
        buffer_bytes: 30_000,
        limit: Some(9_500),
        reason: Some("threshold"),
        ..Remark::default()
    };
    capture.frame(&came, None).expect("memory can be written");
    let dropped = Frame { interface: second, at_ns: AT_NS + 1, direction: None, left_out: 3, ..came };
    capture.frame(&dropped, Some(&lost.to_string())).expect("memory can be written");
    let left = Frame { direction: Some(Direction::Outbound), left_out: 0, ..dropped };
    capture.frame(&left, None).expect("memory can be written");
    let totals = Totals { span_ns: (AT_NS, AT_NS + 5), received: 2, left_out: 3 };
    capture.totals(second, &totals).expect("memory can be written");
    assert!(capture.frame(&Frame { interface: 9, ..came }, None).is_err(), "there is no interface 9");
    capture.into_inner()
}

#[test]
fn a_capture_is_read_back_as_it_was_written() {
    let bytes = capture();
    let mut reader = PcapNgReader::new(&bytes[..]).expect("a capture");
    let mut packets = Vec::new();
    let mut totals = None;
    while let Some(block) = reader.next_block() {
        match block.expect("a block") {
            Block::EnhancedPacket(packet) => packets.push(packet.into_owned()),
            Block::InterfaceStatistics(block) => totals = Some(block.into_owned()),
            _ => {}
        }
    }
    let times: Vec<_> = packets.iter().map(|packet| packet.timestamp.as_nanos() as u64).collect();
    assert_eq!(times, [AT_NS, AT_NS + 1, AT_NS + 1]);
    let flags = |options: &[EnhancedPacketOption<'_>]| {
        options.iter().find_map(|one| match one {
            EnhancedPacketOption::Flags(flags) => Some(*flags),
            _ => None,
        })
    };
    let directions: Vec<_> = packets.iter().map(|packet| flags(&packet.options)).collect();
    assert_eq!(directions, [Some(1), None, Some(2)]);
    assert!(packets[1].options.contains(&EnhancedPacketOption::DropCount(3)));
    let comment =
        "dropped at queue eth2.0; queue 9000 B, buffer 30000 B after it, limit 9500 B; reason: threshold";
    assert!(packets[1].options.contains(&EnhancedPacketOption::Comment(comment.into())));
    assert_eq!(packets[0].original_len, 1_514);
    // In the capture file, the upper half of a time stamp is first.
    assert_eq!(totals.expect("totals").timestamp, (AT_NS + 5).rotate_left(32));
}

#[test]
fn wireshark_reads_names_times_directions_and_comments() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("two.pcapng");
    std::fs::write(&file, capture()).expect("writable");
    let fields = [
        "frame.interface_name",
        "frame.time_epoch",
        "frame.packet_flags_direction",
        "frame.drop_count",
        "frame.comment",
    ];
    let mut command = Command::new("tshark");
    command.arg("-r").arg(&file).args(["-T", "fields", "-E", "separator=|"]);
    for field in fields {
        command.args(["-e", field]);
    }
    let Ok(output) = command.output() else {
        let _ = writeln!(std::io::stderr(), "SKIPPED a capture read by tshark: it is not installed");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    // Some versions of the tested program write flags in hexadecimal.
    let lines: Vec<_> = text.lines().map(|line| line.replace("0x0000000", "")).collect();
    assert_eq!(lines.len(), 3, "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(lines[0], "eth1|1767323045.123456789|1||", "{text}");
    assert!(lines[1].starts_with("eth2|1767323045.123456790||3|dropped at queue eth2.0; "), "{text}");
    assert_eq!(lines[2], "eth2|1767323045.123456790|2||", "{text}");
}
