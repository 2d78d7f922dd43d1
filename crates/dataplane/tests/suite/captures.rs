//! Compares the captures of ports with the record of the packets in one run of the switch.

use crate::pipeline::{sent, traffic};
use crate::{frame, switch};
use bufferlab_dataplane::{CaptureWriter, Fate, Pipeline, RecordWriter, Recorded, SwitchFile, read_record};
use bufferlab_units::Time;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// File of a switch with a push-out policy, which refuses some packets and evicts others.
const LQD: &str = "[switch]\nbuffer = \"60 KB\"\nqueues_per_port = 2\npolicy = \"lqd\"\n\
                   ecn = { kind = \"step\", threshold = \"10 KB\" }\n\
                   [forwarding]\ndelay = \"1 ms\"\npriorities = [{ code_point = 46, priority = 1 }]\n";
pub(crate) const EPOCH_NS: u64 = 1_767_323_045_000_000_000;

/// A frame in a capture file.
#[derive(Clone, Debug)]
pub(crate) struct CapturedFrame {
    pub(crate) at_ns: u64,
    pub(crate) data: Vec<u8>,
    pub(crate) original: u32,
    /// Direction of the frame: 0 if unknown, 1 for in, 2 for out.
    pub(crate) direction: u32,
    pub(crate) comment: String,
}

pub(crate) fn read(path: &Path) -> Vec<CapturedFrame> {
    let bytes = std::fs::read(path).expect("it is there");
    let (mut reader, mut seen) = (PcapNgReader::new(&bytes[..]).expect("a capture"), Vec::new());
    while let Some(block) = reader.next_block() {
        let Block::EnhancedPacket(packet) = block.expect("a block") else { continue };
        let (mut direction, mut comment) = (0, String::new());
        for option in &packet.options {
            match option {
                EnhancedPacketOption::Flags(flags) => direction = *flags,
                EnhancedPacketOption::Comment(text) => comment = text.to_string(),
                _ => {}
            }
        }
        let (data, original) = (packet.data.to_vec(), packet.original_len);
        seen.push(CapturedFrame {
            at_ns: packet.timestamp.as_nanos() as u64,
            data,
            original,
            direction,
            comment,
        });
    }
    seen
}

/// Runs an overload with a record and captures. One additional frame is malformed, and one frame
/// waits to be sent when the switch ends. Returns the record and the frames by port.
fn run(file: &SwitchFile, folder: &Path, snapshot_bytes: u32) -> (Vec<Recorded>, Vec<Vec<CapturedFrame>>) {
    let (record, captures) = (folder.join("record"), folder.join("captures"));
    let writer = RecordWriter::create(&record, file.names(), &file.text).expect("writable");
    let mut capture = CaptureWriter::create(&captures, file, snapshot_bytes).expect("writable");
    capture.begin(EPOCH_NS);
    let pipeline = Pipeline::new(file, Some(writer)).expect("the policy fits");
    let mut pipeline = pipeline.with_capture(Some(capture));
    let (mut now, mut frames) = (Time::ZERO, traffic().into_iter().peekable());
    while now < Time::from_ms(400) {
        now += Time::from_ms(1);
        while let Some((port, at, frame)) = frames.next_if(|(_, at, _)| *at <= now) {
            pipeline.receive(port, at, &frame).expect("it is well-formed");
        }
        pipeline.advance(now);
        let _ = sent(&mut pipeline, 3, now);
        // The writing thread may be slow on a busy machine, and this test runs faster than real
        // time.
        std::thread::sleep(std::time::Duration::from_micros(100));
    }
    let _ = pipeline.receive(0, now, &[0; 9]).expect_err("it is too short");
    pipeline.receive(0, now, &frame(0, 1, 0, 60)).expect("it is well-formed");
    pipeline.finish();
    assert!(!captures.join("p0.pcapng").exists(), "it has its name when it is whole");
    let report = pipeline.end_capture().expect("writable").expect("there is a capture");
    assert_eq!((report.left_out, report.files.len()), (0, 3));
    pipeline.close().expect("writable");
    let seen: Vec<_> = report.files.iter().map(|path| read(path)).collect();
    assert_eq!(seen.iter().map(Vec::len).sum::<usize>() as u64, report.frames);
    assert_eq!(std::fs::read_dir(&captures).expect("a folder").count(), 3, "nothing else is there");
    (read_record(&record, &file.names()).expect("a record").rows, seen)
}

#[test]
fn captures_hold_the_frames_of_the_record_with_their_times_marks_and_reasons() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = switch(3, LQD);
    let (rows, seen) = run(&file, folder.path(), 0);
    for (port, frames) in (0_u16..).zip(&seen) {
        assert!(frames.is_sorted_by_key(|frame| frame.at_ns), "port {port} is in the order of time");
        let rate = file.ports[usize::from(port)].rate;
        let is_unsent = |row: &Recorded| row.incoming.at >= Time::from_ms(401);
        // An expected entry has time, direction and beginning of the comment. The entry of a loss
        // is at the frame's arrival, the entry of a mark at its departure.
        let mut expected: Vec<(u64, u32, String)> = Vec::new();
        for row in &rows {
            let (egress, queue) = (row.incoming.egress, row.queue);
            if row.incoming.ingress == port {
                let comment = match row.fate {
                    Fate::Sent { .. } if is_unsent(row) => "not sent".to_owned(),
                    Fate::Sent { .. } => String::new(),
                    Fate::Refused(refusal) => {
                        format!("dropped at queue p{egress}.{queue}; {}", refusal.reason.name())
                    }
                    Fate::Evicted { reason, .. } => {
                        format!("evicted at queue p{egress}.{queue}; {}", reason.name())
                    }
                };
                let at = row.incoming.at.saturating_sub(Time::from_ms(1));
                expected.push((EPOCH_NS + at.as_ns(), 1, comment));
            }
            if let (Fate::Sent { at, marked }, true, false) = (row.fate, egress == port, is_unsent(row)) {
                let ends = EPOCH_NS + (at + rate.serialization(row.incoming.header.size.into())).as_ns();
                let comment = if marked {
                    format!("marked on arrival at queue p{port}.{queue};")
                } else {
                    String::new()
                };
                expected.push((ends, 2, comment));
            }
        }
        if port == 0 {
            expected.push((EPOCH_NS + 400_000_000, 1, "discarded".to_owned()));
        }
        let short = |one: &CapturedFrame| {
            let reason = one.comment.split("reason: ").nth(1);
            let start = one.comment.split("; queue").next().unwrap_or_default();
            let start = start.split(':').next().unwrap_or_default();
            match reason {
                Some(reason) => format!("{start}; {reason}"),
                None if one.comment.contains("; queue") => format!("{start};"),
                None => start.to_owned(),
            }
        };
        let mut found: Vec<_> = frames.iter().map(|one| (one.at_ns, one.direction, short(one))).collect();
        expected.sort();
        found.sort();
        assert_eq!(found, expected, "port {port}");
        for one in frames {
            assert_eq!(one.data.len() as u32, one.original);
            if one.comment.starts_with("marked") {
                assert_eq!(one.data[15] & 3, 3, "a mark is in the header: {}", one.comment);
            }
        }
    }
    let count =
        |port: usize, start: &str| seen[port].iter().filter(|one| one.comment.starts_with(start)).count();
    assert!(
        count(0, "evicted") > 100 && count(2, "marked") > 100,
        "{} {}",
        count(0, "evicted"),
        count(2, "marked")
    );
}

/// The test checks that later frames of a capture wait a limited time until an earlier frame is
/// sent or lost.
#[test]
fn a_starved_frame_does_not_hold_up_the_capture_and_its_fate_is_told_all_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let file =
        switch(3, &LQD.replace("buffer = \"60 KB\"", "buffer = \"10 KB\"\nscheduler = \"strict_priority\""));
    let mut capture = CaptureWriter::create(folder.path(), &file, 64).expect("writable");
    capture.begin(EPOCH_NS);
    let mut pipeline = Pipeline::new(&file, None).expect("the policy fits").with_capture(Some(capture));
    // Port 2 is busy with priority 0 until the end, so a frame of priority 1 waits.
    let mut at = Time::from_ms(1);
    let mut send = |pipeline: &mut Pipeline, from: u8, to: u8, class: u8, bytes: usize| {
        at += Time::from_us(7);
        pipeline.receive(from.into(), at, &frame(from, to, class, bytes)).expect("it is well-formed");
        pipeline.advance(at);
        let _ = sent(pipeline, 3, at);
    };
    for _ in 0..3 {
        send(&mut pipeline, 0, 2, 0, 1_300);
    }
    send(&mut pipeline, 0, 2, 46 << 2, 1_400);
    for index in 0..40_000 {
        send(&mut pipeline, 0, 2, 0, 64);
        if index % 64 == 0 {
            std::thread::sleep(std::time::Duration::from_micros(200));
        }
    }
    pipeline.finish();
    let report = pipeline.end_capture().expect("writable").expect("there is a capture");
    assert_eq!(report.left_out, 0);
    let seen = read(&report.files[0]);
    // The capture file has continued without the frame. The frame's loss has a separate entry
    // without a direction.
    let apart: Vec<_> = seen.iter().filter(|one| one.direction == 0).collect();
    assert!(apart.len() == 1 && apart[0].original == 1_400, "{apart:?}");
    assert!(apart[0].comment.starts_with("not sent: it was due at p2"), "{}", apart[0].comment);
    let waited = seen.iter().filter(|one| one.direction == 1 && one.original == 1_400).count();
    assert_eq!(waited, 1, "it is where it came in, too");
    let lost: u64 = pipeline.losses().values().sum();
    let told =
        seen.iter().filter(|one| one.comment.starts_with("evicted") || one.comment.starts_with("dropped"));
    assert!(lost > 10 && told.count() as u64 == lost, "{lost} lost");
}

#[test]
fn a_loss_says_what_the_queue_held_and_what_it_may() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = switch(3, &LQD.replace("lqd", "dt"));
    let (_, seen) = run(&file, folder.path(), 64);
    let dropped: Vec<_> =
        seen[..2].iter().flatten().filter(|one| one.comment.starts_with("dropped")).collect();
    assert!(dropped.len() > 100, "{}", dropped.len());
    for one in dropped {
        assert!(one.data.len() == 64, "headers");
        let number = |before: &str| -> u64 {
            let rest = one.comment.split(before).nth(1).unwrap_or_else(|| panic!("{}", one.comment));
            rest.split(' ')
                .next()
                .and_then(|text| text.parse().ok())
                .unwrap_or_else(|| panic!("{}", one.comment))
        };
        let (queue, buffer, limit) = (number("; queue "), number("buffer "), number("limit "));
        // Dynamic Thresholds has alpha 1/2, so the limit is half of the free space.
        assert_eq!(limit, (60_000 - buffer) / 2, "{}", one.comment);
        assert!(queue <= buffer && queue + u64::from(one.original) + 24 > limit, "{}", one.comment);
    }
}

#[test]
fn tshark_counts_what_the_record_counts() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = switch(3, LQD);
    let (rows, _) = run(&file, folder.path(), 128);
    let fields = |port: u16, filter: &str| {
        let mut command = Command::new("tshark");
        command.arg("-r").arg(folder.path().join(format!("captures/p{port}.pcapng"))).args(["-Y", filter]);
        command.args(["-T", "fields", "-e", "frame.comment", "-e", "ip.dsfield.ecn"]).output()
    };
    let Ok(first) = fields(0, "frame.packet_flags_direction == 1") else {
        let _ = writeln!(std::io::stderr(), "SKIPPED captures read by tshark: it is not installed");
        return;
    };
    assert!(first.status.success(), "{}", String::from_utf8_lossy(&first.stderr));
    let count = |is_it: &dyn Fn(&Recorded) -> bool| rows.iter().filter(|row| is_it(row)).count();
    // In addition to the recorded packets, the switch discarded one frame.
    let came = count(&|row| row.incoming.ingress == 0) + 1;
    assert_eq!(String::from_utf8_lossy(&first.stdout).lines().count(), came);
    let lines = |port: u16, word: &str| -> Vec<String> {
        let output = fields(port, &format!("frame.comment contains \"{word}\"")).expect("it has run before");
        String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
    };
    for port in [0, 1] {
        let of = |row: &Recorded| row.incoming.ingress == port;
        let dropped = count(&|row| of(row) && matches!(row.fate, Fate::Refused(_)));
        let evicted = count(&|row| of(row) && matches!(row.fate, Fate::Evicted { .. }));
        assert_eq!((lines(port, "dropped").len(), lines(port, "evicted").len()), (dropped, evicted));
    }
    let marked = lines(2, "marked");
    let expected =
        count(&|row| row.incoming.egress == 2 && matches!(row.fate, Fate::Sent { marked: true, .. }));
    assert_eq!(marked.len(), expected);
    assert!(marked.iter().all(|line| line.ends_with("\t3")), "CE: {marked:?}");
}

#[test]
fn a_switch_that_fails_leaves_no_capture() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = switch(3, LQD);
    let capture = CaptureWriter::create(folder.path(), &file, 0).expect("writable");
    assert!(folder.path().join("p0.pcapng.partial").exists());
    let mut pipeline = Pipeline::new(&file, None).expect("the policy fits").with_capture(Some(capture));
    pipeline.receive(0, Time::from_ms(1), &frame(0, 1, 0, 60)).expect("it is well-formed");
    drop(pipeline);
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0, "a partial file is left");
}
