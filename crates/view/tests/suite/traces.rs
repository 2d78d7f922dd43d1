//! Traces as others read them.

use crate::support::{folder, run};
use bufferlab_view::View;
use bufferlab_view::trace::Format;
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;

/// Events of the shipped run: packets that were stored, lost and sent.
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
