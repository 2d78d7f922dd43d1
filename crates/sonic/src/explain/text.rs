//! Formats the explanation of a configuration as text: a picture of the memory, tables, and the way
//! of each traffic class.

use super::{Explanation, Limit, PortKind, Way};
use bufferlab_units::quantity::format_size;
use std::fmt::Write as _;

/// Width of the bar that shows the parts of the memory (characters).
const WIDTH: u64 = 60;

/// Formats the explanation of a configuration as text.
#[must_use]
pub fn text(explanation: &Explanation) -> String {
    let mut text = String::new();
    // Writing into a string cannot fail.
    let switch = explanation.switch.as_deref().unwrap_or("a switch without a name");
    let _ = writeln!(text, "{switch}: {}", explanation.chip);
    memory(&mut text, explanation);
    for kind in &explanation.kinds {
        port_kind(&mut text, kind);
    }
    if !explanation.not_explained.is_empty() {
        let _ = writeln!(text, "\nnot explained:");
    }
    for gap in &explanation.not_explained {
        let _ = writeln!(text, "  {gap}");
    }
    text
}

fn memory(text: &mut String, explanation: &Explanation) {
    let all: u64 = explanation.parts.iter().map(|part| part.bytes).sum();
    let whole = explanation.memory_bytes.unwrap_or(all).max(all).max(1);
    if let Some(bytes) = explanation.memory_bytes {
        let _ = writeln!(text, "\nmemory: {} ({bytes} B)", format_size(bytes));
    } else {
        let _ = writeln!(text, "\nmemory");
    }
    let mut picture = String::new();
    for (part, mark) in explanation.parts.iter().zip("#=+-.".chars()) {
        let width = u128::from(part.bytes) * u128::from(WIDTH) / u128::from(whole);
        let width = usize::try_from(width).unwrap_or(0).max(1);
        picture.extend(std::iter::repeat_n(mark, width));
        let share = 100.0 * part.bytes as f64 / whole as f64;
        let _ =
            writeln!(text, "  {mark} {:<16} {:>14} B {share:>5.1} %  {}", part.name, part.bytes, part.note);
    }
    if !picture.is_empty() {
        let _ = writeln!(text, "  [{picture:<60}]");
    }
    for caveat in &explanation.caveats {
        let _ = writeln!(text, "  caveat: {caveat}");
    }
    if !explanation.accounting.is_empty() {
        let _ = writeln!(text, "  {}", explanation.accounting);
    }
    for term in &explanation.terms {
        let _ = writeln!(text, "  {:>12}  {} ({})", term.cells, term.name, term.how);
    }
    let _ = writeln!(text, "\npools");
    for pool in &explanation.pools {
        let _ = writeln!(text, "  {:<24} {:>14} B  {}", pool.name, pool.bytes, pool.note);
    }
    if let Some(ratio) = explanation.promised_ratio {
        let more = if ratio > 1.0 { ": the same memory is promised more often than it exists" } else { "" };
        let _ = writeln!(text, "  together {ratio:.2} times the memory{more}");
    }
}

fn port_kind(text: &mut String, kind: &PortKind) {
    let speed = kind.speed_mbps.map_or("unknown speed".to_owned(), |speed| format!("{speed} Mb/s"));
    let cable = kind.cable_metres.map_or("unknown cable".to_owned(), |metres| format!("{metres} m"));
    let first = &kind.ports[0];
    let ports = match kind.ports.len() {
        1 => first.clone(),
        count => format!("{count} ports ({first} to {})", kind.ports[count - 1]),
    };
    let _ = writeln!(text, "\n{ports}: {speed}, {cable}");
    let mut shown: Vec<(&Way, Vec<u8>)> = Vec::new();
    for way in &kind.ways {
        let same = |(other, _): &&mut (&Way, Vec<u8>)| {
            (other.pfc, &other.limits, &other.headroom, &other.wred, &other.trim)
                == (way.pfc, &way.limits, &way.headroom, &way.wred, &way.trim)
        };
        match shown.iter_mut().find(same) {
            Some((_, classes)) => classes.push(way.class),
            None => shown.push((way, vec![way.class])),
        }
    }
    for (way, classes) in shown {
        one_way(text, kind, way, &classes);
    }
}

fn one_way(text: &mut String, kind: &PortKind, way: &Way, classes: &[u8]) {
    let pfc = if way.pfc { ", PFC" } else { "" };
    let of = |number: fn(&Way) -> Option<u8>| {
        let ways = kind.ways.iter().filter(|way| classes.contains(&way.class));
        let mut numbers: Vec<u8> = ways.filter_map(number).collect();
        numbers.dedup();
        list(&numbers)
    };
    let (groups, queues) = (of(|way| way.group), of(|way| way.queue));
    let _ = writeln!(text, "  class {}: group {groups}{pfc}, queue {queues}", list(classes));
    if !way.limits.iter().any(|limit| limit.name == "priority group") {
        let _ = writeln!(text, "    priority group   no profile that is known");
    }
    for limit in &way.limits {
        let _ = writeln!(text, "    {}", limit_line(limit));
    }
    if !way.limits.iter().any(|limit| limit.name == "queue") {
        let _ = writeln!(text, "    queue            no profile: the limit of the chip applies");
    }
    if let Some(trim) = &way.trim {
        let _ = writeln!(text, "    trimmed packets  {trim}");
    }
    if let Some(headroom) = &way.headroom {
        let _ = writeln!(
            text,
            "    {}\n      {} B arrive at {} Mb/s over {} m with packets of {} B ({} B if the peer stops at once); \
             margin {:+} B, {:+.0} m of cable",
            headroom.answer,
            headroom.standard,
            headroom.speed_mbps,
            headroom.cable_metres,
            headroom.mtu,
            headroom.least,
            headroom.margin_bytes,
            headroom.margin_metres
        );
    }
    if let Some(below) = way.resume_below {
        let _ = writeln!(text, "    resume {below} B below the pause point");
    }
    if let Some(wred) = &way.wred {
        let bytes = wred.thresholds.map(|bytes| bytes.map_or("?".to_owned(), |bytes| bytes.to_string()));
        let _ =
            writeln!(text, "    marking {}: {} from {} to {} B", wred.profile, wred.ecn, bytes[0], bytes[1]);
    }
}

fn limit_line(limit: &Limit) -> String {
    let name = format!("{:<16} {} {}", limit.name, limit.then, limit.profile);
    let alpha =
        if limit.alpha.ends_with(" B") { limit.alpha.clone() } else { format!("alpha {}", limit.alpha) };
    let reserve = if limit.reserve > 0 { format!(", reserve {} B", limit.reserve) } else { String::new() };
    match (limit.thresholds, limit.alone) {
        (Some([empty, half, full]), Some(alone)) => format!(
            "{name}: {alpha}{reserve}; {alone} B alone; threshold {empty} B (pool empty), {half} B (half full), \
             {full} B (full)"
        ),
        _ => format!("{name}: {alpha}{reserve}; the pool has no size"),
    }
}

/// Formats numbers as a list with ranges: `0-2,5`.
fn list(numbers: &[u8]) -> String {
    let mut parts: Vec<(u8, u8)> = Vec::new();
    for number in numbers {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => parts.push((*number, *number)),
        }
    }
    let parts = parts.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    parts.collect::<Vec<_>>().join(",")
}
