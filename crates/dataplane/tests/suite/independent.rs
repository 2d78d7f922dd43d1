//! An independent check of Dynamic Thresholds and step marking. A few lines, which share no code
//! with the core, recompute the verdicts from the timestamps of captures.

use crate::captures::{CapturedFrame, EPOCH_NS, read};
use crate::pipeline::sent;
use crate::{frame, switch};
use bufferlab_dataplane::{CaptureWriter, Pipeline};
use bufferlab_units::{RandomStream, Time};

const BUFFER: u64 = 60_000;
const STEP: u64 = 8_000;
const DELAY_NS: u64 = 1_000_000;
/// Transmission time of a byte on a link of 100 Mb/s (ns).
const BYTE_NS: u64 = 80;

/// Returns the captures of a run in which the hosts of two ports overload two other hosts.
fn captured(alpha: &str, folder: &std::path::Path) -> Vec<Vec<CapturedFrame>> {
    let file = switch(
        4,
        &format!(
            "[switch]\nbuffer = \"{BUFFER} B\"\npolicy = {{ name = \"dt\", alpha = {alpha} }}\n\
             ecn = {{ kind = \"step\", threshold = \"{STEP} B\" }}\n[forwarding]\ndelay = \"1 ms\"\n"
        ),
    );
    let mut capture = CaptureWriter::create(folder, &file, 0).expect("writable");
    capture.begin(EPOCH_NS);
    let mut pipeline = Pipeline::new(&file, None).expect("the policy fits").with_capture(Some(capture));
    let (mut random, mut at) = (RandomStream::new(5, "frames", 0), Time::from_ms(1));
    for number in 0..6_000 {
        at += Time::from_ns(1 + random.below(if number % 1_500 < 1_000 { 40_000 } else { 200_000 }));
        let (from, to) = (random.below(2) as u8, 2 + random.below(2) as u8);
        let bytes = [60, 64, 700, 1_514, 1_514][random.below(5) as usize];
        let ecn = [0, 2][random.below(2) as usize];
        pipeline.receive(from.into(), at, &frame(from, to, ecn, bytes)).expect("it is well-formed");
        pipeline.advance(at);
        let _ = sent(&mut pipeline, 4, at);
        if number % 64 == 0 {
            // The writing thread may be slow on a busy machine, and this test runs faster than real
            // time.
            std::thread::sleep(std::time::Duration::from_micros(500));
        }
    }
    pipeline.finish();
    let _ = sent(&mut pipeline, 4, Time::MAX);
    let report = pipeline.end_capture().expect("writable").expect("there is a capture");
    assert_eq!(report.left_out, 0);
    report.files.iter().map(|path| read(path)).collect()
}

/// Stored packets of a port: start of transmission and size (bytes) of each packet.
#[derive(Default)]
struct Line {
    packets: Vec<(u64, u64)>,
    free_at: u64,
}

impl Line {
    /// Number of bytes that wait at `now`, without packets whose transmission has begun.
    fn waiting(&self, now: u64) -> u64 {
        self.packets.iter().filter(|(starts, _)| *starts > now).map(|(_, bytes)| bytes).sum()
    }
}

#[test]
fn verdicts_and_marks_are_those_of_the_formulas_on_the_stamps_of_captures() {
    for (alpha, halves) in [("0.5", 1), ("1.0", 2), ("2.0", 4)] {
        let folder = tempfile::tempdir().expect("a folder");
        let ports = captured(alpha, folder.path());
        let mut arrivals: Vec<&CapturedFrame> =
            ports[..2].iter().flatten().filter(|seen| seen.direction == 1).collect();
        arrivals.sort_by_key(|seen| seen.at_ns);
        let mut lines = [Line::default(), Line::default()];
        let (mut drops, mut marks) = (0, 0);
        for seen in arrivals {
            let (now, bytes) = (seen.at_ns + DELAY_NS, u64::from(seen.original) + 24);
            let queue = lines[usize::from(seen.data[5]) - 2].waiting(now);
            let stored: u64 = lines.iter().map(|line| line.waiting(now)).sum();
            // The policy stores the packet of L bytes if q + L <= alpha (B - Q), for q bytes in the
            // queue and Q bytes in the buffer of B bytes. The code has alpha in halves.
            let is_stored = stored + bytes <= BUFFER && 2 * (queue + bytes) <= halves * (BUFFER - stored);
            assert_eq!(seen.comment.starts_with("dropped"), !is_stored, "alpha {alpha}: {seen:?}");
            drops += usize::from(!is_stored);
            if is_stored {
                // The step marking rule compares the length of the queue before the packet is
                // added.
                let is_marked = seen.data[15] & 3 != 0 && queue > STEP;
                let line = &mut lines[usize::from(seen.data[5]) - 2];
                let starts = now.max(line.free_at);
                line.free_at = starts + bytes * BYTE_NS;
                line.packets.push((starts, bytes));
                marks += usize::from(is_marked);
            }
        }
        let comment = |seen: &&CapturedFrame| seen.direction == 2 && seen.comment.starts_with("marked");
        let marked: usize = ports[2..].iter().map(|port| port.iter().filter(comment).count()).sum();
        assert_eq!(marked, marks, "alpha {alpha}");
        // Every stored frame leaves at the time that the independent model predicts.
        for (line, port) in lines.iter().zip(&ports[2..]) {
            let left: Vec<u64> =
                port.iter().filter(|seen| seen.direction == 2).map(|seen| seen.at_ns).collect();
            let expected: Vec<u64> =
                line.packets.iter().map(|(starts, bytes)| starts + bytes * BYTE_NS).collect();
            assert_eq!(left, expected, "alpha {alpha}");
        }
        assert!(drops > 300 && marks > 150, "alpha {alpha}: {drops} drops, {marks} marks");
    }
}
