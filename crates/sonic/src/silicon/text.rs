//! Formats predicted thresholds of a chip as text.

use super::{GroupPoint, Prediction, slices};
use std::fmt::Write as _;

/// Formats the prediction as text: the sum that gives the shared memory, then groups, queues and
/// headroom pools.
#[must_use]
pub fn text(prediction: &Prediction) -> String {
    let mut text = String::new();
    // Writing into a string cannot fail.
    let unit = if prediction.cell_bytes == 1 { "bytes" } else { "cells" };
    let _ = writeln!(
        text,
        "{}: cells of {} B, {}; {}",
        prediction.chip,
        prediction.cell_bytes,
        slices(prediction.slices),
        prediction.accounting
    );
    for term in &prediction.terms {
        let _ = writeln!(text, "  {:>14}  {} ({})", term.cells, term.name, term.how);
    }
    let _ = writeln!(text, "  {:>14}  S: shared memory of one slice ({unit})", prediction.shared);
    for group in &prediction.groups {
        one_group(&mut text, prediction, group, unit);
    }
    for queue in &prediction.queues {
        let _ = writeln!(
            text,
            "\nlossy queue alone, {}\n  the first packet is lost with {} {unit} (reserve {}, {} shared)",
            queue.profile, queue.drop, queue.minimum, queue.shared
        );
    }
    for pool in &prediction.headroom_pools {
        let _ = writeln!(
            text,
            "\nheadroom pool of a slice, {}\n  {} {unit}: {} groups with {} each, the last one with {}",
            pool.profile, pool.cells, pool.groups, pool.full, pool.partial
        );
    }
    for gap in &prediction.not_predicted {
        let _ = writeln!(text, "\nnot predicted: {gap}");
    }
    for caveat in &prediction.caveats {
        let _ = writeln!(text, "\ncaveat: {caveat}");
    }
    text
}

fn one_group(text: &mut String, prediction: &Prediction, group: &GroupPoint, unit: &str) {
    let speed = group.speed_mbps.map_or(String::new(), |speed| format!(", {speed} Mb/s"));
    let cable = group.cable_metres.map_or(String::new(), |metres| format!(", {metres} m"));
    let alpha = group.dynamic_th.map_or("static limit".to_owned(), |exponent| {
        format!("alpha {} (dynamic_th {exponent})", crate::explain::fraction(exponent))
    });
    let [pause, loss, resume] = group.packets;
    let _ = writeln!(
        text,
        "\nlossless group alone, {}{speed}{cable}: {} ports, groups {:?}, {alpha}",
        group.profile,
        group.ports.len(),
        group.groups
    );
    let _ = writeln!(text, "                {unit:>12}  packets of {} B", prediction.packet_bytes);
    let _ = writeln!(text, "  pauses with   {:>12} {pause:>8}", group.pause);
    let _ = writeln!(text, "  loses with    {:>12} {loss:>8}  (headroom {})", group.drop, group.headroom);
    let _ = writeln!(text, "  resumes below {:>12} {resume:>8}  under the pause point", group.resume_below);
    if let Some(answer) = &group.headroom_answer {
        let _ = writeln!(text, "  {answer}");
    }
    if !group.sequence.is_empty() {
        let points: Vec<_> = group.sequence.iter().map(ToString::to_string).collect();
        let _ = writeln!(text, "  one after the other: {}", points.join(", "));
    }
}
