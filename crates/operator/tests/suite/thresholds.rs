//! Compares the thresholds of chips by the chip's rule, by simulation and by measurement, and
//! writes the tables of `docs/evidence/silicon.md` and `docs/evidence/silicon/thresholds.csv`.
//!
//! `cargo xtask generate operator` writes the tables. The command and the test need the folder of
//! real configurations.

use crate::measured::{ENTRIES, Entry};
use crate::support::corpus;
use crate::yaml::Node;
use bufferlab_operator::vectors::{GroupVector, Point, Vectors};
use bufferlab_pages::{assert_all, check_block, check_file};
use bufferlab_sonic::silicon::chip;
use std::fmt::Write as _;
use std::path::Path;

/// Quantities of the table, in the order of its columns.
const QUANTITIES: [&str; 5] = ["pause", "headroom", "resume", "headroom pool", "lossy drop"];

/// A threshold of a qualification entry (packets): by the chip's rule, simulated and measured.
struct Threshold {
    entry: &'static Entry,
    quantity: &'static str,
    rule: u64,
    simulated: Option<u64>,
    measured: u64,
    /// Difference from the measurement that the testers allow (packets).
    margin: u64,
}

/// Explains a difference between the chip's rule and the measured threshold.
fn term(entry: &Entry, quantity: &str) -> &'static str {
    match (entry.name().as_str(), quantity) {
        ("th5 lt2-p32o64 800000_5m", "headroom pool") => {
            "number of groups: the test fills 22, the configured headroom pool holds 24"
        }
        ("td3 t1-lag 100000_300m" | "td3 any 50000_300m", "lossy drop") => {
            "egress pool: measured with a lossy pool as large as the lossless egress pool"
        }
        ("td3 t1-lag 100000_300m", "headroom") => "xoff: the test has 623 cells, the row 625",
        ("td3 any 100000_300m", "pause") => "S: 4 cells less than the files have",
        ("td3 dualtor 100000_300m", "pause" | "lossy drop") => {
            "minimums of queues: a dual ToR takes none off (exact without them), and has the lossy pool of `any`"
        }
        ("td3 dualtor 100000_300m", "headroom") => {
            "rounding: the test counts the headroom without the packet that is lost"
        }
        ("td3 any 50000_300m", "pause") => {
            "xoff: measured with an older profile of 240 cells, the row has 625"
        }
        ("th2 any 50000_300m", "pause") => "S: 2 or 3 cells less than a quarter of the pool",
        ("th2 any 100000_300m", "lossy drop") => {
            "egress pool: measured with that of the T0 without a dual ToR"
        }
        ("th2 t1-64-lag 100000_300m", "pause") => {
            "pool: measured with that of a T1 with remapped priorities; its template's branch gives 19,995"
        }
        ("th2 any 40000_300m", "resume") => "xon_offset: the test has 12 cells, the row 11",
        ("th2 any 40000_300m", "headroom pool") => "rounding: the last group of the test one packet early",
        ("jr2 any 100000_2000m", "resume") => "rounding of bytes to packets",
        ("jr2 any 100000_2000m" | "jr2 any 100000_120000m", "headroom") => "rounding of bytes to packets",
        _ => "",
    }
}

/// Explains a difference between the simulated chip and the chip's rule.
fn simulated_term(threshold: &Threshold) -> &'static str {
    match threshold.quantity {
        "pause" => {
            "the limit falls between two cells: the simulated group pauses with the packet that reaches it"
        }
        "headroom" => "the pause, one packet later",
        "resume" => "rounding of bytes to packets",
        "headroom pool" => "the headroom of a group is whole packets",
        _ => {
            "the limit falls between two cells: the simulated queue is compared with the packet, chips without it"
        }
    }
}

fn group_of<'a>(entry: &Entry, vectors: &'a Vectors) -> &'a GroupVector {
    let (speed, cable) = entry.speed_cable.trim_end_matches('m').split_once('_').expect("speed and cable");
    let (speed, cable): (Option<u64>, Option<f64>) = (speed.parse().ok(), cable.parse().ok());
    let of_speed = |group: &&GroupVector| group.speed_mbps == speed;
    let exact = vectors.groups.iter().filter(of_speed).find(|group| group.cable_metres == cable);
    // The names of some entries have a cable that differs from the cable of the test.
    exact.or_else(|| vectors.groups.iter().find(of_speed)).unwrap_or_else(|| panic!("{}", entry.name()))
}

fn measured(entry: &Entry, node: &Node, quantity: &str) -> Option<u64> {
    let number = |test: &str, key: &str| node.number(&[test, key]);
    let of_headroom = if entry.family == "th2" { "wm_pg_headroom" } else { "xoff_1" };
    match quantity {
        "pause" => number("xoff_1", "pkts_num_trig_pfc"),
        "resume" => number("xon_1", "pkts_num_dismiss_pfc"),
        "headroom" if entry.headroom => {
            let from = number(of_headroom, "pkts_num_trig_pfc")?;
            Some(number(of_headroom, "pkts_num_trig_ingr_drp")? - from)
        }
        "headroom pool" if entry.headroom_pool => {
            let part = |key| number("hdrm_pool_size", key);
            Some((part("pgs_num")? - 1) * part("pkts_num_hdrm_full")? + part("pkts_num_hdrm_partial")?)
        }
        "lossy drop" => number("lossy_queue_1", "pkts_num_trig_egr_drp"),
        _ => None,
    }
}

fn margin(entry: &Entry, node: &Node, quantity: &str) -> u64 {
    let of = |test: &str| node.number(&[test, "pkts_num_margin"]).unwrap_or(2).max(2);
    match quantity {
        "pause" => of("xoff_1"),
        "resume" => of("xon_1"),
        "headroom" => of(if entry.family == "th2" { "wm_pg_headroom" } else { "xoff_1" }),
        "lossy drop" => of("lossy_queue_1").max(4),
        _ => 0,
    }
}

fn computed(vectors: &Vectors, group: &GroupVector, quantity: &str) -> Option<Point> {
    let beyond = |loss: Point, pause: Point| Point {
        formula: loss.formula - pause.formula,
        simulated: loss.simulated.zip(pause.simulated).map(|(loss, pause)| loss - pause),
    };
    match quantity {
        "pause" => Some(group.pause),
        "headroom" => Some(beyond(group.loss, group.pause)),
        "resume" => Some(group.resume),
        "headroom pool" => group.pool.map(|pool| pool.sum),
        _ => vectors.queues.first().map(|queue| queue.loss),
    }
}

fn thresholds(folder: &Path, entry: &'static Entry) -> Vec<Threshold> {
    let node = entry.measured(folder);
    let config = entry.config(folder);
    let vectors = Vectors::new(&config, chip(entry.chip).expect("a chip"), 64);
    let vectors = vectors.unwrap_or_else(|error| panic!("{}: {error}", entry.name()));
    let group = group_of(entry, &vectors);
    let row = |quantity: &'static str| {
        let measured = measured(entry, &node, quantity)?;
        let Point { formula: rule, simulated } = computed(&vectors, group, quantity)?;
        Some(Threshold { entry, quantity, rule, simulated, measured, margin: margin(entry, &node, quantity) })
    };
    QUANTITIES.into_iter().filter_map(row).collect()
}

fn title(entry: &Entry) -> String {
    let family = match entry.family {
        "th5" => "Tomahawk 5",
        "td3" => "Trident 3",
        "th2" => "Tomahawk 2",
        _ => "Jericho 2",
    };
    let (speed, cable) = entry.speed_cable.trim_end_matches('m').split_once('_').expect("speed and cable");
    let speed: u64 = speed.parse().expect("a speed");
    format!("{family} | {} | {}G {cable} m", entry.topology.trim_start_matches("topo-"), speed / 1_000)
}

/// Formats a row for each threshold of an entry, as CSV: rule, simulated, measured.
fn table(all: &[Vec<Threshold>]) -> String {
    let mut text = "chip,topology,port,number,rule,simulated,measured\n".to_owned();
    for threshold in all.iter().filter(|row| !row[0].entry.apart).flatten() {
        let Threshold { entry, quantity, rule, simulated, measured, .. } = threshold;
        let simulated = simulated.map_or(String::new(), |number| number.to_string());
        let title = title(entry).replace(" | ", ",");
        let _ = writeln!(text, "{title},{quantity},{rule},{simulated},{measured}");
    }
    text
}

/// Formats a row for each threshold that the rule does not give exactly, with the term that
/// explains the difference.
fn misses(all: &[Vec<Threshold>]) -> String {
    let mut text = "| chip | topology | port | number | rule | simulated | margin | term |\n\
        |---|---|---|---|--:|--:|--:|---|\n"
        .to_owned();
    for threshold in all.iter().flatten().filter(|threshold| !threshold.entry.apart) {
        let off = |value: u64| i128::from(value) - i128::from(threshold.measured);
        let (rule, simulated) = (off(threshold.rule), threshold.simulated.map(off));
        if rule == 0 {
            continue; // The simulated number differs by one packet at most.
        }
        let mut terms = vec![term(threshold.entry, threshold.quantity)];
        if simulated.is_some_and(|simulated| simulated != rule) {
            terms.push(simulated_term(threshold));
        }
        terms.retain(|term| !term.is_empty());
        let simulated = simulated.map_or("-".to_owned(), |off| format!("{off:+}"));
        let _ = writeln!(
            text,
            "| {} | {} | {rule:+} | {simulated} | {} | {} |",
            title(threshold.entry),
            threshold.quantity,
            threshold.margin,
            terms.join("; ")
        );
    }
    text
}

#[test]
fn thresholds_by_rule_and_by_simulation_are_the_measured_ones_or_a_term_explains_the_rest() {
    let Some(folder) = corpus("thresholds") else { return };
    let all: Vec<Vec<Threshold>> = ENTRIES.iter().map(|entry| thresholds(&folder, entry)).collect();
    let (table, misses) = (table(&all), misses(&all));
    println!("{table}\n{misses}");
    for threshold in all.iter().flatten() {
        let Threshold { entry, quantity, rule, simulated, measured, margin } = threshold;
        let what = format!("{} {quantity}: {rule} / {simulated:?} / {measured}", entry.name());
        let is_named = !term(entry, quantity).is_empty();
        assert_eq!(rule != measured, is_named, "{what}: exact by rule, or a term says why not");
        assert!(
            simulated.is_none_or(|simulated| simulated.abs_diff(*rule) <= 1),
            "{what}: rule and simulation"
        );
        let within = simulated.unwrap_or(*rule).abs_diff(*measured) <= *margin;
        assert!(within || is_named, "{what}: margin {margin}");
    }
    assert_all([
        check_file("docs/evidence/silicon/thresholds.csv", &table),
        check_block(
            "docs/evidence/silicon.md",
            "<!-- misses: begin -->\n\n",
            "\n<!-- misses: end -->",
            &misses,
        ),
    ]);
}
