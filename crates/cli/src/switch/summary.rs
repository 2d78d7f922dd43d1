//! Summary of a switch of real packets, as text and as JSON.

use crate::live::{bytes, span};
use crate::records;
use bufferlab_dataplane::{Discard, Durations, INCONCLUSIVE_LATENESS_NS, Summary, SwitchFile};
use bufferlab_params::Choice;
use bufferlab_units::Time;
use std::fmt::Write as _;

/// Converts the summary of a switch's run to a JSON record.
pub(super) fn for_programs(file: &SwitchFile, summary: &Summary) -> records::SwitchRunFile {
    let lateness = &summary.lateness;
    let ports = file.ports.iter().zip(&summary.tallies).map(|(port, tallies)| {
        let discarded = Discard::ALL.iter().map(|why| (why.word().to_owned(), tallies.discarded(*why)));
        records::SwitchPortRecord {
            interface: port.interface.clone(),
            received: tallies.received,
            received_bytes: tallies.received_bytes,
            sent: tallies.sent,
            sent_bytes: tallies.sent_bytes,
            flooded: tallies.flooded,
            refused: tallies.refused,
            finished_checksums: tallies.checksums,
            link: tallies.link.word().to_owned(),
            discarded: discarded.filter(|(_, frames)| *frames > 0).collect(),
        }
    });
    let core = summary.pipeline.driver().core();
    let queues = core.buffer().queue_ids().map(|queue| {
        let (port, priority) = core.buffer().port_and_priority(queue);
        let counters = core.counters(queue);
        records::SwitchQueueRecord {
            interface: file.ports[usize::from(port)].interface.clone(),
            priority,
            arrived: counters.arrived,
            enqueued: counters.enqueued,
            dropped: counters.dropped,
            evicted: counters.evicted,
            marked: counters.marked,
            peak_bytes: summary.pipeline.peaks().queue_ever(usize::from(queue.0)),
            stay: durations(summary.pipeline.stays(usize::from(queue.0))),
        }
    });
    records::SwitchRunFile {
        format: "bufferlab-dataplane-run",
        format_version: 1,
        name: file.scenario.name.clone(),
        policy: file.scenario.switches[0].policy.clone(),
        ran_ns: summary.ran.as_ns(),
        lateness: records::LatenessRecord {
            frames: lateness.count(),
            p50_ns: lateness.quantile(0.5),
            p99_ns: lateness.quantile(0.99),
            p999_ns: lateness.quantile(0.999),
            largest_ns: lateness.largest(),
            is_inconclusive: is_inconclusive(lateness),
        },
        buffer: records::SwitchBufferRecord {
            capacity_bytes: core.buffer().capacity(),
            peak_bytes: summary.pipeline.peaks().buffer_ever(),
        },
        late_arrivals: summary.late_arrivals,
        missed: summary.missed,
        stolen_ns: summary.stolen.map(Time::as_ns),
        ports: ports.collect(),
        queues: queues.collect(),
        losses: summary
            .pipeline
            .losses()
            .into_iter()
            .map(|(why, packets)| (why.to_string(), packets))
            .collect(),
        notes: summary.notes.clone(),
    }
}

/// Formats the summary of a switch's run as text.
pub(super) fn in_words(file: &SwitchFile, summary: &Summary) -> String {
    let mut text = String::new();
    // Writing into a string cannot fail, so the result is ignored.
    let _ = writeln!(
        text,
        "ran {}; lateness of {}",
        span(summary.ran.as_ns()),
        in_quantiles(&summary.lateness, "frames")
    );
    if is_inconclusive(&summary.lateness) {
        text.push_str(
            "INCONCLUSIVE: p99.9 is above 1 ms, so the run says little about queues; repeat it on an idle machine, with real-time \
             priority, or at lower rates\n",
        );
    }
    let _ = writeln!(
        text,
        "late arrivals {}, frames that the system dropped before they were read {}",
        summary.late_arrivals, summary.missed
    );
    let (buffer, peaks) = (summary.pipeline.driver().core().buffer(), summary.pipeline.peaks());
    let _ =
        writeln!(text, "buffer {}, at most {} stored", bytes(buffer.capacity()), bytes(peaks.buffer_ever()));
    if let Some(stolen) = summary.stolen.filter(|span| *span > Time::ZERO) {
        let _ = writeln!(
            text,
            "the hypervisor took {} of CPU time: frames may be late by as much",
            span(stolen.as_ns())
        );
    }
    let _ = writeln!(text, "port             received         sent      flooded      refused  discarded");
    for (port, tallies) in file.ports.iter().zip(&summary.tallies) {
        let reasons = Discard::ALL.iter().filter(|why| tallies.discarded(**why) > 0);
        let reasons: Vec<_> =
            reasons.map(|why| format!("{} {}", why.word(), tallies.discarded(*why))).collect();
        let _ = writeln!(
            text,
            "{:<12} {:>12} {:>12} {:>12} {:>12}  {}",
            port.interface,
            tallies.received,
            tallies.sent,
            tallies.flooded,
            tallies.refused,
            reasons.join(", ")
        );
    }
    queues(file, summary, &mut text);
    text
}

/// Adds a line per queue: the core's counters, named as in the simulator's table `queues`, the
/// largest occupancy, and the times for which sent packets were stored.
fn queues(file: &SwitchFile, summary: &Summary, text: &mut String) {
    let core = summary.pipeline.driver().core();
    text.push_str(
        "queue             arrived     enqueued      dropped      evicted       marked       peak   stay p50        p99    largest\n",
    );
    for queue in core.buffer().queue_ids() {
        let (port, priority) = core.buffer().port_and_priority(queue);
        let (counters, stays) = (core.counters(queue), summary.pipeline.stays(usize::from(queue.0)));
        let name = format!("{} p{priority}", file.ports[usize::from(port)].interface);
        let stay = |ns: u64| if stays.count() == 0 { "-".to_owned() } else { span(ns) };
        let _ = writeln!(
            text,
            "{name:<12} {:>12} {:>12} {:>12} {:>12} {:>12} {:>10} {:>10} {:>10} {:>10}",
            counters.arrived,
            counters.enqueued,
            counters.dropped,
            counters.evicted,
            counters.marked,
            bytes(summary.pipeline.peaks().queue_ever(usize::from(queue.0))),
            stay(stays.quantile(0.5)),
            stay(stays.quantile(0.99)),
            stay(stays.largest()),
        );
    }
    for (reason, packets) in summary.pipeline.losses() {
        let _ = writeln!(text, "lost, {reason}: {packets}");
    }
}

/// Formats quantiles of durations as text for people.
fn in_quantiles(durations: &Durations, of: &str) -> String {
    let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|q| span(durations.quantile(q)));
    let largest = span(durations.largest());
    format!("{} {of}: p50 {p50}, p99 {p99}, p99.9 {p999}, largest {largest}", durations.count())
}

/// Durations as a JSON record. `None` if no packet has a duration.
fn durations(durations: &Durations) -> Option<records::StayRecord> {
    (durations.count() > 0).then(|| records::StayRecord {
        packets: durations.count(),
        mean_ns: durations.sum() / durations.count(),
        p50_ns: durations.quantile(0.5),
        p99_ns: durations.quantile(0.99),
        p999_ns: durations.quantile(0.999),
        largest_ns: durations.largest(),
    })
}

/// Whether frames were so late that the results about queues are not reliable.
fn is_inconclusive(lateness: &Durations) -> bool {
    lateness.quantile(0.999) > INCONCLUSIVE_LATENESS_NS
}
