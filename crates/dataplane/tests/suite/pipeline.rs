//! Tests of the times and verdicts of the pipeline.

use crate::{frame, switch};
use bufferlab_dataplane::{Pipeline, RecordWriter, SwitchFile, read_record};
use bufferlab_units::{RandomStream, Time};

const DT: &str = "[switch]\nbuffer = \"60 KB\"\nqueues_per_port = 2\npolicy = \"dt\"\n\
                  ecn = { kind = \"step\", threshold = \"10 KB\" }\n\
                  [forwarding]\ndelay = \"1 ms\"\npriorities = [{ code_point = 46, priority = 1 }]\n";

/// Returns the frames that the switch sent until `now`: time, port, content.
pub(crate) fn sent(pipeline: &mut Pipeline, ports: u16, now: Time) -> Vec<(Time, u16, Vec<u8>)> {
    let mut out = Vec::new();
    for port in 0..ports {
        while let Some(due) = pipeline.next_due(port, now) {
            out.push((due.at, port, pipeline.frame(due).to_vec()));
            pipeline.handed_over(port, due, true);
        }
    }
    out.sort_by_key(|(at, port, _)| (*at, *port));
    out
}

#[test]
fn a_frame_leaves_after_the_delay_line_and_its_transmission() {
    let file = switch(3, DT);
    let mut pipeline = Pipeline::new(&file, None).expect("the policy fits");
    let at = Time::from_ms(5);
    pipeline.receive(0, at, &frame(0, 2, 0, 1_514)).expect("it is well-formed");
    pipeline.receive(1, at, &frame(1, 2, 0, 60)).expect("it is well-formed");
    pipeline.advance(Time::from_ms(7));
    let frames = sent(&mut pipeline, 3, Time::from_ms(7));
    let times: Vec<_> = frames.iter().map(|(at, port, frame)| (at.as_ns(), *port, frame.len())).collect();
    // Frames of 1,538 B and 84 B leave back to back 1 ms after the arrivals, at 80 ns per byte.
    assert_eq!(times, [(6_123_040, 2, 1_514), (6_129_760, 2, 60)]);
}

/// Builds frames that overload port 2, with ECN and two priorities. Each frame has an ingress port
/// and a time.
pub(crate) fn traffic() -> Vec<(u16, Time, Vec<u8>)> {
    let mut random = RandomStream::new(1, "frames", 0);
    let mut at = Time::from_ms(1);
    (0..4_000)
        .map(|_| {
            at += Time::from_ns(1 + random.below(110_000));
            let from = random.below(2) as u8;
            let class = [0, 2, 46 << 2, 46 << 2 | 2][random.below(4) as usize];
            let bytes = if random.below(3) == 0 { 64 } else { 1_514 };
            (from.into(), at, frame(from, 2, class, bytes))
        })
        .collect()
}

/// Runs the traffic through a pipeline that decides every `step`, and returns the sent frames and
/// the record.
fn run(file: &SwitchFile, step: Time, folder: &std::path::Path) -> (Vec<(Time, u16, Vec<u8>)>, String) {
    let record = RecordWriter::create(folder, file.names(), &file.text).expect("the folder can be written");
    let mut pipeline = Pipeline::new(file, Some(record)).expect("the policy fits");
    let (mut out, mut now) = (Vec::new(), Time::ZERO);
    let mut frames = traffic().into_iter().peekable();
    let end = Time::from_ms(600);
    while now < end {
        now += step;
        while let Some((port, at, frame)) = frames.next_if(|(_, at, _)| *at <= now) {
            pipeline.receive(port, at, &frame).expect("it is well-formed");
        }
        pipeline.advance(now);
        out.extend(sent(&mut pipeline, 3, now));
    }
    pipeline.finish();
    out.extend(sent(&mut pipeline, 3, Time::MAX));
    assert_eq!(pipeline.driver().late(), 0, "nothing came after it was decided");
    pipeline.driver().core().verify().expect("the accounts are right");
    pipeline.close().expect("the record can be written");
    let mut lines: Vec<_> = std::fs::read_to_string(folder.join("packets.csv"))
        .expect("it is there")
        .lines()
        .map(str::to_owned)
        .collect();
    lines.sort();
    (out, lines.join("\n"))
}

#[test]
fn a_process_that_comes_late_decides_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = switch(3, DT);
    let prompt = run(&file, Time::from_us(10), &folder.path().join("prompt"));
    for (name, step) in [("late", Time::from_ms(20)), ("very late", Time::from_ms(300))] {
        let late = run(&file, step, &folder.path().join(name));
        assert_eq!(late.1, prompt.1, "{name}: verdicts, marks and departures");
        assert_eq!(late.0, prompt.0, "{name}: frames and their times");
    }
    let rows = read_record(&folder.path().join("late"), &file.names()).expect("a record").rows;
    assert_eq!(rows.len(), 4_000);
    let lost = rows.iter().filter(|row| !matches!(row.fate, bufferlab_dataplane::Fate::Sent { .. })).count();
    assert!(lost > 100, "{lost} lost");
    let marked = prompt.0.iter().filter(|(_, _, frame)| frame[15] & 3 == 3).count();
    let recorded =
        rows.iter().filter(|row| matches!(row.fate, bufferlab_dataplane::Fate::Sent { marked: true, .. }));
    assert_eq!(marked, recorded.count(), "every mark of the record is on its frame");
    assert!(marked > 100, "{marked} marked");
}

#[test]
fn frames_to_all_leave_through_every_other_port() {
    let file = switch(4, DT);
    let mut pipeline = Pipeline::new(&file, None).expect("the policy fits");
    let mut broadcast = frame(1, 0, 0, 60);
    broadcast[..6].fill(0xff);
    pipeline.receive(1, Time::from_ms(1), &broadcast).expect("it is well-formed");
    pipeline.advance(Time::from_ms(5));
    let ports: Vec<_> =
        sent(&mut pipeline, 4, Time::from_ms(5)).into_iter().map(|(_, port, _)| port).collect();
    assert_eq!(ports, [0, 2, 3]);
    assert_eq!(pipeline.tallies()[1].flooded, 1);
    assert_eq!(pipeline.driver().late(), 0, "copies of one time are not late");
}

#[test]
fn a_frame_for_a_time_that_was_decided_counts_as_late_and_arrives_next() {
    let file = switch(3, DT);
    let mut pipeline = Pipeline::new(&file, None).expect("the policy fits");
    pipeline.receive(0, Time::from_ms(5), &frame(0, 2, 0, 1_514)).expect("it is well-formed");
    pipeline.advance(Time::from_ms(8));
    pipeline.receive(1, Time::from_ms(5), &frame(1, 2, 0, 1_514)).expect("it is well-formed");
    pipeline.advance(Time::from_ms(9));
    assert_eq!(pipeline.driver().late(), 1);
    let times: Vec<_> =
        sent(&mut pipeline, 3, Time::from_ms(9)).into_iter().map(|(at, ..)| at.as_ns()).collect();
    // Each frame takes 123,040 ns. The first frame starts after the delay line. The second frame
    // starts after the time until which decisions are final.
    assert_eq!(times, [6_123_040, 8_123_041]);
}
