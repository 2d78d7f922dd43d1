//! Compares the first drop of packets in the real switch with the first drop in the fluid model.
//!
//! `cargo xtask generate theory` rewrites the measured block of
//! `docs/evidence/validation-fluid.md`.

use crate::packets::{Cell, First, Layout, MTU};
use bufferlab_core::DropReason;
use bufferlab_pages::{assert_all, check_block, check_file};
use bufferlab_units::Time;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

const BEGIN: &str = "<!-- measured: begin; cargo xtask generate theory -->";
const END: &str = "<!-- measured: end -->";

/// A comparison outside the tolerance, and the heading of the page section that explains the
/// difference.
struct Explained {
    policy: &'static str,
    layout: Layout,
    rate: f64,
    name: &'static str,
}

const fn few_packets(layout: Layout, rate: f64) -> Explained {
    Explained { policy: "plasticine", layout, rate, name: "Limits of a few packets" }
}

const EXPLAINED: &[Explained] = &[
    few_packets(Layout::Ports(8), 2.5),
    few_packets(Layout::Ports(8), 5.0),
    few_packets(Layout::Ports(8), 12.0),
    few_packets(Layout::Queues(4), 2.5),
    few_packets(Layout::Queues(4), 5.0),
    few_packets(Layout::Queues(8), 2.5),
    few_packets(Layout::Queues(8), 5.0),
    few_packets(Layout::Queues(8), 12.0),
    few_packets(Layout::Together(6), 2.5),
    few_packets(Layout::Together(6), 5.0),
];

struct Outcome {
    cell: Cell,
    fluid: First,
    packets: First,
    reason: DropReason,
}

impl Outcome {
    /// Whether the packets and the fluid model agree in the time and length of the first drop,
    /// within 3 % and one packet.
    fn is_within(&self) -> bool {
        let time = 0.03 * self.fluid.seconds + self.cell.packet_time();
        let length = 0.03 * self.fluid.stored + MTU as f64;
        (self.packets.seconds - self.fluid.seconds).abs() <= time
            && (self.packets.stored - self.fluid.stored).abs() <= length
    }

    fn explanation(&self) -> Option<&'static str> {
        let Cell { policy, layout, rate, .. } = self.cell;
        let is_it = |entry: &&Explained| {
            entry.policy == policy && entry.layout == layout && (entry.rate - rate).abs() < 1e-9
        };
        EXPLAINED.iter().find(is_it).map(|entry| entry.name)
    }
}

fn grid() -> Vec<Cell> {
    let ports = [0, 1, 2, 4, 8].map(Layout::Ports);
    let queues = [2, 4, 8].map(Layout::Queues);
    let together = [2, 6].map(Layout::Together);
    let mut cells = Vec::new();
    for policy in ["dt", "abm", "plasticine", "edt", "tdt", "cs"] {
        let weighted = matches!(policy, "dt" | "abm" | "plasticine");
        let alphas: &[(f64, f64)] = if weighted { &[(1.0, 1.0), (0.5, 20.0)] } else { &[(1.0, 1.0)] };
        for &alphas in alphas {
            for layout in ports.into_iter().chain(queues).chain(together) {
                // The old queues fill the whole buffer, so the test cannot compare the models.
                let trivial = policy == "cs" && matches!(layout, Layout::Ports(1..) | Layout::Queues(_));
                for rate in [2.5, 5.0, 12.0] {
                    if !trivial {
                        cells.push(Cell::on_grid(policy, layout, alphas, rate));
                    }
                }
            }
        }
    }
    cells
}

static OUTCOMES: LazyLock<Vec<Outcome>> = LazyLock::new(|| {
    let outcome = |cell: Cell| {
        let (packets, reason) = cell.by_packets();
        Outcome { cell, fluid: cell.by_fluid(), packets, reason }
    };
    grid().into_iter().map(outcome).collect()
});

fn state(layout: Layout) -> String {
    match layout {
        Layout::Ports(0) => "empty".to_owned(),
        Layout::Ports(1) => "1 port".to_owned(),
        Layout::Ports(n) => format!("{n} ports"),
        Layout::Queues(k) => format!("{k} queues, 1 port"),
        Layout::Together(n) => format!("{n} ports, together"),
    }
}

/// Relative difference of `ours` from `theirs` in per cent.
fn difference(ours: f64, theirs: f64) -> f64 {
    if theirs > 0.0 { 100.0 * (ours / theirs - 1.0) } else { 0.0 }
}

impl Outcome {
    /// Differences of the first drop's time and of the bytes stored at the first drop (per cent).
    fn differences(&self) -> (f64, f64) {
        let Self { fluid, packets, .. } = self;
        (difference(packets.seconds, fluid.seconds), difference(packets.stored, fluid.stored))
    }
}

/// The generated block of the page: a line per policy, then the comparisons outside the tolerance.
fn block() -> String {
    let outside = || OUTCOMES.iter().filter(|outcome| !outcome.is_within());
    let mut text = format!("\nOf {} cells, {} exceed the tolerance.\n\n", OUTCOMES.len(), outside().count());
    text.push_str(
        "| policy | cells | within | largest difference in time | largest difference in length |\n",
    );
    text.push_str("|---|--:|--:|--:|--:|\n");
    for cells in OUTCOMES.chunk_by(|one, other| one.cell.policy == other.cell.policy) {
        let largest = |of: fn(&Outcome) -> f64| {
            cells.iter().map(of).max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(0.0)
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {:+.1} % | {:+.1} % |",
            cells[0].cell.policy,
            cells.len(),
            cells.iter().filter(|outcome| outcome.is_within()).count(),
            largest(|outcome| outcome.differences().0),
            largest(|outcome| outcome.differences().1),
        );
    }
    text.push_str("\nThe following cells exceed the tolerance:\n\n");
    text.push_str("| policy | old queues | alpha old, burst | burst rate | fluid (us) | packets (us) | difference in length | why |\n");
    text.push_str("|---|---|---|--:|--:|--:|--:|---|\n");
    for outcome in outside() {
        let Outcome { cell, fluid, packets, .. } = outcome;
        let (_, length) = outcome.differences();
        let _ = writeln!(
            text,
            "| {} | {} | {}, {} | {} | {:.1} | {:.1} | {length:+.1} % | {} |",
            cell.policy,
            state(cell.layout),
            cell.alphas.0,
            cell.alphas.1,
            cell.rate,
            fluid.seconds * 1e6,
            packets.seconds * 1e6,
            outcome.explanation().unwrap_or("**unexplained**"),
        );
    }
    text.push('\n');
    text
}

/// The table of all comparisons of packets with the fluid model,
/// `docs/evidence/validation/fluid.csv`.
fn table() -> String {
    let mut text = String::from(
        "policy,old_queues,alpha_old,alpha_burst,burst_rate,fluid_us,packets_us,difference_percent,fluid_kb,packets_kb,length_difference_percent,within\n",
    );
    for outcome in OUTCOMES.iter() {
        let Outcome { cell, fluid, packets, .. } = outcome;
        let (time, length) = outcome.differences();
        let _ = writeln!(
            text,
            "{},\"{}\",{},{},{},{:.1},{:.1},{time:+.1},{:.1},{:.1},{length:+.1},{}",
            cell.policy,
            state(cell.layout),
            cell.alphas.0,
            cell.alphas.1,
            cell.rate,
            fluid.seconds * 1e6,
            packets.seconds * 1e6,
            fluid.stored / 1e3,
            packets.stored / 1e3,
            if outcome.is_within() { "yes" } else { "no" },
        );
    }
    text
}

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/evidence/validation-fluid.md")
}

fn page() -> String {
    std::fs::read_to_string(path()).expect("docs/evidence/validation-fluid.md can be read")
}

#[test]
fn packets_drop_first_where_the_fluid_says_or_the_page_explains_why_not() {
    let surprises: Vec<_> = OUTCOMES
        .iter()
        .filter(|outcome| !outcome.is_within() && outcome.explanation().is_none())
        .map(|outcome| {
            format!(
                "{:?}: fluid {:?}, packets {:?} ({:?})",
                outcome.cell, outcome.fluid, outcome.packets, outcome.reason
            )
        })
        .collect();
    assert!(surprises.is_empty(), "{} cells:\n{}", surprises.len(), surprises.join("\n"));
}

#[test]
fn every_explanation_is_needed_and_stands_on_the_page() {
    for entry in EXPLAINED {
        let needed = OUTCOMES.iter().any(|outcome| {
            let Cell { policy, layout, rate, .. } = outcome.cell;
            !outcome.is_within() && policy == entry.policy && layout == entry.layout && rate == entry.rate
        });
        assert!(needed, "{} {:?} {}: inside the tolerance", entry.policy, entry.layout, entry.rate);
        assert!(page().contains(&format!("\n### {}\n", entry.name)), "{} is no heading", entry.name);
    }
}

#[test]
fn the_page_and_its_table_show_what_is_measured() {
    assert_all([
        check_block("docs/evidence/validation-fluid.md", BEGIN, END, &format!("\n{}", block())),
        check_file("docs/evidence/validation/fluid.csv", &table()),
    ]);
}

/// Checks that the comparison can fail: the fluid model of another policy is not
/// within the tolerance.
#[test]
fn the_fluid_of_one_policy_does_not_describe_the_packets_of_another() {
    let cell = Cell::on_grid("dt", Layout::Ports(4), (1.0, 1.0), 5.0);
    let (packets, reason) = cell.by_packets();
    let fluid = Cell { policy: "abm", ..cell }.by_fluid();
    assert!(!Outcome { cell, fluid, packets, reason }.is_within());
}

/// If the limits are a few packets long, packets differ from the fluid model, as the page
/// describes. The longer the limit, the smaller is the difference.
#[test]
fn where_limits_are_a_few_packets_a_larger_buffer_brings_packets_and_fluid_together() {
    let outcome = |layout, buffer| {
        let cell = Cell { buffer, ..Cell::on_grid("plasticine", layout, (0.5, 20.0), 5.0) };
        let (packets, reason) = cell.by_packets();
        Outcome { cell, fluid: cell.by_fluid(), packets, reason }
    };
    assert!(outcome(Layout::Ports(8), 16_000_000).is_within());
    let short = |buffer| {
        let Outcome { fluid, packets, .. } = outcome(Layout::Queues(8), buffer);
        1.0 - packets.stored / fluid.stored
    };
    let (few, more) = (short(4_000_000), short(16_000_000));
    assert!(few > 0.2 && more < 0.08, "{few} {more}");
}

/// A port sends one packet of 12 us per round. If the refresh interval is a whole number of
/// packets, each refresh sees a queue at one point of its small oscillation. So a limit of a few
/// packets causes no error.
#[test]
fn refreshed_in_step_with_the_packets_abm_agrees_and_out_of_step_it_does_not() {
    let deviation = |us| {
        let cell =
            Cell { refresh: Time::from_us(us), ..Cell::on_grid("abm", Layout::Ports(8), (0.5, 20.0), 5.0) };
        (cell.by_packets().0.stored / cell.by_fluid().stored - 1.0).abs()
    };
    let (in_step, out_of_step) = (deviation(12), deviation(10));
    assert!(in_step < 0.005 && out_of_step > 0.05, "{in_step} {out_of_step}");
}
