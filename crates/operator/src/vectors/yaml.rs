//! Formats vectors in the form of sonic-mgmt's `qos_params`, with the profiles and keys that
//! sonic-mgmt's qualification reads.

use super::{GroupVector, Vectors};
use std::fmt::Write as _;

/// Default margin that testers allow between expectation and chip (packets).
pub(super) const MARGIN: u64 = 4;

/// Short name of a chip family in sonic-mgmt's qualification: `td3`, `th2`.
pub(super) fn family(name: &str) -> String {
    let short = |long: &str, short: &str| name.strip_prefix(long).map(|rest| format!("{short}{rest}"));
    let found = [("tomahawk", "th"), ("trident", "td"), ("jericho", "jr"), ("spectrum", "spc")];
    found
        .into_iter()
        .find_map(|(long, abbreviated)| short(long, abbreviated))
        .unwrap_or_else(|| name.to_owned())
}

/// Formats the text of a YAML comment on one line. Names of profiles are keys of a database and may
/// contain any characters.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Writer of nested maps as YAML text.
struct Writer {
    text: String,
}

impl Writer {
    fn line(&mut self, depth: usize, content: &str) {
        // Writing into a string cannot fail.
        let _ = writeln!(self.text, "{:1$}{content}", "", depth * 4);
    }

    fn entries(&mut self, name: &str, entries: &[(&str, String)]) {
        self.line(4, &format!("{name}:"));
        for (key, value) in entries {
            self.line(5, &format!("{key}: {value}"));
        }
    }
}

/// Formats the test vectors as `qos_params`, by the chip's rules. Testers must set their margins
/// and `pkts_num_leak_out`, the number of packets that leave before a port blocks.
#[must_use]
pub fn yaml(vectors: &Vectors) -> String {
    let mut writer = Writer { text: String::new() };
    writer.line(0, &format!(
        "# predicted by bufferlab for {}: packets of {} B, groups of one of {} slices; compare with a chip before use",
        vectors.title, vectors.packet_bytes, vectors.slices
    ));
    for caveat in &vectors.caveats {
        writer.line(0, &format!("# caveat: {}", one_line(caveat)));
    }
    for gap in &vectors.not_predicted {
        writer.line(0, &format!("# not predicted: {}", one_line(gap)));
    }
    writer.line(0, "qos_params:");
    writer.line(1, &format!("{}:", family(vectors.chip)));
    writer.line(2, "topo-any:");
    let mut known: Vec<String> = Vec::new();
    for group in &vectors.groups {
        let speed = group.speed_mbps.map_or("speed".to_owned(), |speed| speed.to_string());
        let cable = group.cable_metres.map_or("cable".to_owned(), |metres| format!("{metres}m"));
        let name = format!("{speed}_{cable}");
        if known.contains(&name) {
            continue;
        }
        writer.line(3, &format!("{name}:"));
        known.push(name);
        profile(&mut writer, vectors, group);
    }
    writer.text
}

fn profile(writer: &mut Writer, vectors: &Vectors, group: &GroupVector) {
    let n = |number: u64| number.to_string();
    let (pause, loss, resume) = (group.pause.formula, group.loss.formula, group.resume.formula);
    writer.line(4, "pkts_num_leak_out: 0");
    writer.line(4, &format!("cell_size: {}", vectors.cell_bytes));
    let traffic = |at: usize| {
        let (pg, dscp) = group.groups[at.min(group.groups.len() - 1)];
        vec![("dscp", n(u64::from(dscp))), ("ecn", n(1)), ("pg", n(u64::from(pg)))]
    };
    let with = |at: usize, more: &[(&'static str, u64)]| {
        let more = more.iter().map(|(key, value)| (*key, n(*value)));
        traffic(at).into_iter().chain(more).collect::<Vec<_>>()
    };
    for at in 0..group.groups.len() {
        let drop =
            [("pkts_num_trig_pfc", pause), ("pkts_num_trig_ingr_drp", loss), ("pkts_num_margin", MARGIN)];
        writer.entries(&format!("xoff_{}", at + 1), &with(at, &drop));
    }
    for at in 0..group.groups.len() {
        let resume = [("pkts_num_trig_pfc", pause), ("pkts_num_dismiss_pfc", resume)];
        writer.entries(&format!("xon_{}", at + 1), &with(at, &resume));
    }
    let sizes = [("packet_size", vectors.packet_bytes), ("cell_size", vectors.cell_bytes)];
    let headroom = [
        ("pkts_num_trig_pfc", pause),
        ("pkts_num_trig_ingr_drp", loss),
        sizes[1],
        ("pkts_num_margin", MARGIN),
    ];
    writer.entries("wm_pg_headroom", &with(0, &headroom));
    let shared = [("pkts_num_fill_min", group.minimum), ("pkts_num_trig_pfc", pause), sizes[0], sizes[1]];
    writer.entries("wm_pg_shared_lossless", &with(0, &shared));
    pool(writer, group);
    let Some(queue) = vectors.queues.first() else { return };
    let lossy = [
        ("dscp", n(u64::from(queue.queue.1))),
        ("ecn", n(1)),
        ("pg", n(0)),
        ("pkts_num_trig_egr_drp", n(queue.loss.formula)),
    ];
    writer.entries("lossy_queue_1", &lossy);
}

fn pool(writer: &mut Writer, group: &GroupVector) {
    let Some(pool) = &group.pool else { return };
    let list = |numbers: Vec<u64>| format!("{numbers:?}");
    let mut entries = vec![
        ("dscps", list(group.groups.iter().map(|(_, dscp)| u64::from(*dscp)).collect())),
        ("ecn", "1".to_owned()),
        ("pgs", list(group.groups.iter().map(|(pg, _)| u64::from(*pg)).collect())),
        ("pgs_num", pool.groups.to_string()),
        ("pkts_num_trig_pfc", group.pause.formula.to_string()),
        ("pkts_num_hdrm_full", pool.full.to_string()),
        ("pkts_num_hdrm_partial", pool.partial.to_string()),
        ("margin", MARGIN.to_string()),
    ];
    if group.sequence.len() as u64 == pool.groups {
        let sequence = list(group.sequence.iter().map(|point| point.formula).collect());
        entries.insert(5, ("pkts_num_trig_pfc_multi", sequence));
    }
    writer.entries("hdrm_pool_size", &entries);
}
