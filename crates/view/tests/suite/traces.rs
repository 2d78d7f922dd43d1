//! Tests that other programs can read the trace files.

use crate::support::{folder, run};
use bufferlab_metrics::{PacketEvent, PacketRow};
use bufferlab_results::RunResult;
use bufferlab_view::View;
use bufferlab_view::trace::Format;
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;

/// Scenario of the run, and the numbers of its packets that were stored, lost and sent.
const RUN: (&str, &[(&str, &str)]) = ("lossless.toml", &[("duration", "1 ms"), ("output.packets", "all")]);

fn trace(format: Format) -> Vec<u8> {
    let folder = folder();
    let view = View::open(&run(&folder, RUN.0, RUN.1), None).expect("it opens");
    let mut bytes = Vec::new();
    view.trace(format, &mut bytes).expect("it is written");
    bytes
}

#[test]
fn a_trace_for_perfetto_has_queues_that_add_up_to_the_buffer_and_pauses_that_end() {
    let trace: Value = serde_json::from_slice(&trace(Format::Perfetto)).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    let of = |ph: &str| events.iter().filter(|event| event["ph"] == ph).collect::<Vec<_>>();
    let times: Vec<f64> = events.iter().filter_map(|event| event["ts"].as_f64()).collect();
    assert!(times.is_sorted() && times.len() > 1_000, "{} times", times.len());
    let mut last = BTreeMap::new();
    for counter in of("C") {
        last.insert(
            counter["name"].as_str().expect("a name"),
            counter["args"]["bytes"].as_u64().expect("bytes"),
        );
    }
    let buffer = last.remove("buffer").expect("a counter of the buffer");
    assert!(buffer > 0 && last.len() >= 2, "{last:?}");
    assert_eq!(last.values().sum::<u64>(), buffer, "queues are what the buffer holds: {last:?}");
    let (begun, ended) = (of("b").len(), of("e").len());
    assert!(ended > 0 && begun >= ended, "{begun} {ended}");
}

#[test]
fn a_capture_is_read_by_the_programs_of_wireshark() {
    let bytes = trace(Format::Pcapng);
    let mut reader = pcap_file::pcapng::PcapNgReader::new(&bytes[..]).expect("a capture");
    let mut packets = 0_u64;
    while let Some(block) = reader.next_block() {
        if let pcap_file::pcapng::Block::EnhancedPacket(packet) = block.expect("a block") {
            packets += 1;
            assert!(!packet.options.is_empty(), "every packet has a comment");
        }
    }
    assert!(packets > 1_000, "{packets}");
    let folder = folder();
    let file = folder.path().join("run.pcapng");
    std::fs::write(&file, bytes).expect("writable");
    let Ok(said) =
        Command::new("tshark").args(["-r"]).arg(&file).args(["-T", "fields", "-e", "frame.comment"]).output()
    else {
        println!("tshark is not installed: only the library that wrote the capture has read it");
        return;
    };
    let comments = String::from_utf8_lossy(&said.stdout);
    assert_eq!(comments.lines().count() as u64, packets);
    assert!(comments.lines().all(|line| line.contains("at queue ")));
}

/// Compares rows of the packet table with frames of the capture.
/// Frames of packets mention their marks, and marks have no separate frames.
#[test]
fn a_marked_packet_carries_its_mark_when_it_leaves() {
    let folder = folder();
    let dir = run(&folder, "dumbbell.toml", &[("output.packets", "left")]);
    let mut rows = Vec::new();
    RunResult::open(&dir).expect("a run").visit(|row: PacketRow| rows.push(row)).expect("rows");
    let count = |event: PacketEvent| rows.iter().filter(|row| row.event == event).count();
    let marked = count(PacketEvent::Marked);
    assert!(marked > 50, "{marked} marks");
    // If a packet was marked on arrival, its departure or eviction is marked, too.
    let follows = |at: usize| rows[at + 1..].iter().find(|row| key(row) == key(&rows[at]));
    let marks = (0..rows.len()).filter(|&at| rows[at].event == PacketEvent::Marked);
    let (mut arriving, mut leaving) = (0, 0);
    for at in marks {
        match follows(at).map(|row| row.event) {
            Some(PacketEvent::Departed | PacketEvent::Evicted) => arriving += 1,
            _ => leaving += 1,
        }
    }
    let mut bytes = Vec::new();
    View::open(&dir, None).expect("it opens").trace(Format::Pcapng, &mut bytes).expect("it is written");
    let mut reader = pcap_file::pcapng::PcapNgReader::new(&bytes[..]).expect("a capture");
    let (mut frames, mut carrying) = (0, 0);
    while let Some(block) = reader.next_block() {
        if let pcap_file::pcapng::Block::EnhancedPacket(packet) = block.expect("a block") {
            frames += 1;
            let said = format!("{:?}", packet.options);
            assert_eq!(said.contains("; marked: "), packet.data[15] & 3 == 3, "{said}");
            carrying += usize::from(packet.data[15] & 3 == 3);
        }
    }
    let paused = count(PacketEvent::Paused) + count(PacketEvent::Resumed);
    assert_eq!(frames, rows.len() - marked - paused);
    assert_eq!(carrying, 2 * arriving + leaving);
}

/// Key that identifies a packet in all rows of the packet table of a switch.
fn key(row: &PacketRow) -> (Option<u64>, Option<u32>, Option<&'static str>) {
    (row.flow_id, row.packet, row.kind)
}

#[test]
fn a_trace_is_written_whole_or_not_at_all() {
    let folder = folder();
    let view = View::open(&run(&folder, RUN.0, RUN.1), None).expect("it opens");
    let path = folder.path().join("run.json");
    view.trace_file(Format::Perfetto, &path).expect("it is written");
    let mut bytes = Vec::new();
    view.trace(Format::Perfetto, &mut bytes).expect("it is written");
    assert!(std::fs::read(&path).expect("readable") == bytes);
    // A folder at the trace's path cannot be replaced by a file.
    let taken = folder.path().join("taken");
    std::fs::create_dir_all(taken.join("with")).expect("writable");
    let refused = view.trace_file(Format::Pcapng, &taken).expect_err("it cannot be put there");
    assert!(refused.to_string().contains("taken"), "{refused}");
    let left: Vec<_> = std::fs::read_dir(folder.path()).expect("readable").flatten().collect();
    let left: Vec<_> = left.iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    assert!(left.iter().all(|name| !name.contains("partial")), "{left:?}");
}
