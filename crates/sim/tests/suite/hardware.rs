//! Tests of the effect of each hardware option of a chip: the scenarios `hardware-*.toml`,
//! each with and without its option.
//!
//! `cargo xtask generate sim` rewrites the table of `docs/concepts/chips.md`.

use crate::support::{Lab, star};
use bufferlab_metrics::{DelayRow, DropRow, FlowRow, FlowState, RunSink, RunTotals};
use bufferlab_pages::{assert_all, check_block};
use bufferlab_scenario::{HardwareSpec, load};
use bufferlab_sim::Simulation;
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, Default)]
struct Rows {
    flows: Vec<FlowRow>,
    delays: Vec<DelayRow>,
    drops: Vec<DropRow>,
    totals: RunTotals,
}

impl RunSink for Rows {
    fn flow(&mut self, row: &FlowRow) -> io::Result<()> {
        self.flows.push(row.clone());
        Ok(())
    }
    fn drops(&mut self, row: &DropRow) -> io::Result<()> {
        self.drops.push(row.clone());
        Ok(())
    }
    fn delay(&mut self, row: &DelayRow) -> io::Result<()> {
        self.delays.push(row.clone());
        Ok(())
    }
}

/// Rows of a run whose summary is in the table of hardware options.
#[derive(Debug)]
struct Shown {
    rows: Rows,
}

impl Shown {
    fn class(&self, name: &str) -> Option<u16> {
        self.rows.totals.classes.iter().position(|class| class == name).map(|index| index as u16)
    }

    fn flows(&self, class: &str) -> impl Iterator<Item = &FlowRow> {
        let class = self.class(class);
        self.rows.flows.iter().filter(move |flow| Some(flow.class) == class)
    }

    /// Percentage of the packets of a class that were lost.
    fn lost(&self, class: &str) -> f64 {
        let (sent, lost) = self
            .flows(class)
            .fold((0, 0), |(sent, lost), flow| (sent + flow.sent_packets, lost + flow.dropped_packets));
        100.0 * lost as f64 / sent as f64
    }

    /// Number of the bursts of a class that lost no packet.
    fn lossless(&self, class: &str) -> usize {
        self.flows(class).filter(|flow| flow.state == FlowState::Finished).count()
    }

    /// Mean queueing delay of the packets of a class (us).
    fn delay_us(&self, class: &str) -> f64 {
        let class = self.class(class);
        let of_class = self.rows.delays.iter().filter(|row| Some(row.class) == class);
        let (total, packets) =
            of_class.fold((0, 0), |(total, packets), row| (total + row.total_ns, packets + row.packets));
        total as f64 / packets as f64 / 1e3
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs a scenario unchanged, or with an ideal switch.
fn run(file: &str, ideal: bool) -> Shown {
    let loaded = load(&folder().join("scenarios").join(file), &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut scenario = loaded.scenario;
    if ideal {
        scenario.switches[0].hardware = HardwareSpec::default();
    }
    let mut simulation = Simulation::new(&scenario).unwrap_or_else(|e| panic!("{e}"));
    simulation.set_verify(file == "hardware-slices.toml");
    let mut rows = Rows::default();
    rows.totals = simulation.run(&mut rows, &mut |_| ()).unwrap_or_else(|e| panic!("{e}"));
    Shown { rows }
}

fn both(option: &str) -> (Shown, Shown) {
    let file = format!("hardware-{option}.toml");
    (run(&file, true), run(&file, false))
}

/// Adds the rows of one hardware option to the table, and returns the runs without and with this
/// option.
fn measure(option: &str, table: &mut String) -> (Shown, Shown) {
    let (ideal, chip) = both(option);
    for (name, shown) in [("without", &ideal), ("with", &chip)] {
        let _ = writeln!(
            table,
            "| {option} | {name} | {} of 12 | {:.1} % | {} of 12 | {:.1} % | {:.1} % | {:.0} us |",
            shown.lossless("far"),
            shown.lost("far"),
            shown.lossless("near"),
            shown.lost("near"),
            shown.lost("light"),
            shown.delay_us("overload")
        );
    }
    (ideal, chip)
}

#[test]
fn each_option_changes_what_it_should() {
    let mut table = String::from(
        "| option | | far bursts without loss | far packets lost | near bursts without loss | near packets lost | light packets lost | \
         delay of the overwhelmed |\n|---|---|--:|--:|--:|--:|--:|--:|\n",
    );
    let (ideal, cells) = measure("cells", &mut table);
    assert!(cells.lost("far") > ideal.lost("far") + 1.0, "a tenth of the memory is lost to whole cells");
    // A packet of 1,500 B needs eight cells of 208 B, so the queues of DT's steady state shrink by
    // 1500 / 1664.
    let shrunk = cells.delay_us("overload") / ideal.delay_us("overload");
    assert!((shrunk - 1_500.0 / 1_664.0).abs() < 0.01, "{shrunk}");

    let (ideal, slices) = measure("slices", &mut table);
    assert!(
        (ideal.lost("far") - ideal.lost("near")).abs() < 1.0,
        "with one memory it does not matter where a port is"
    );
    assert!(
        slices.lost("near") > slices.lost("far") + 5.0,
        "the near port shares a slice with three greedy ones"
    );

    let (greedy, reserved) = measure("reserves", &mut table);
    assert!(
        greedy.lost("light") > 5.0 && reserved.lost("light") == 0.0,
        "a reserve protects a port that needs little"
    );

    let (greedy, limited) = measure("port-limit", &mut table);
    assert!(greedy.lost("light") > 5.0 && limited.lost("light") == 0.0);
    assert!(limited.lossless("far") > greedy.lossless("far"), "three ports of 200 KB leave room for bursts");
    assert!(limited.rows.drops.iter().all(|row| row.reason == "over-port-limit"), "nothing else is met");

    let (exact, rounded) = measure("alpha", &mut table);
    assert!(rounded.lost("far") > exact.lost("far"), "0.7 becomes 0.5");
    // Three queues are at the limit alpha B / (1 + 3 alpha), which excludes the packet in
    // transmission.
    let expected = (0.5 / 2.5) / (0.7 / 3.1);
    let shrunk = rounded.delay_us("overload") / exact.delay_us("overload");
    assert!((shrunk - expected).abs() < 0.01, "{shrunk} for {expected}");

    let (instant, stale) = measure("refresh", &mut table);
    assert!(
        stale.lossless("far") > instant.lossless("far"),
        "a short burst is judged by the space before it"
    );
    assert!(
        stale.lost("far") > instant.lost("far"),
        "a long one finds its limit low for as long as it lasts"
    );
    check_document(&table);
}

#[test]
fn a_packet_that_is_cut_through_saves_the_time_of_its_rest_at_the_switch() {
    let (whole, cut) = both("cut-through");
    let fct = |shown: &Shown| shown.flows("single").next().and_then(|flow| flow.fct_ns).expect("it arrives");
    // Cut-through saves the serialization time of 1,500 B minus the serialization time of 64 B, at
    // 10 Gb/s.
    assert_eq!(fct(&whole) - fct(&cut), 1_200 - 51);
}

fn check_document(table: &str) {
    const BEGIN: &str = "<!-- measured: begin; cargo xtask generate sim -->";
    assert_all([check_block(
        "docs/concepts/chips.md",
        BEGIN,
        "<!-- measured: end -->",
        &format!("\n{table}"),
    )]);
}

/// Scenarios with several numbers of ports and slices load, and all their flows finish
/// under every policy of the list.
#[test]
fn slices_of_any_number_divide_any_number_of_ports() {
    for (hosts, slices) in [(5, 4), (6, 4), (9, 4), (11, 5), (11, 7), (11, 8)] {
        for (policy, slice_by, pfc) in [
            ("dt", "egress", ""),
            ("abm", "egress", ""),
            ("sonic-dt", "egress", ""),
            ("sonic-abm", "egress", ""),
            ("sonic-dt", "ingress", "pfc = { priorities = [0] }\n"),
            ("sonic-abm", "ingress", "pfc = { priorities = [0] }\n"),
            ("sonic-abm", "ingress", ""),
            ("reverie", "ingress", "pfc = { priorities = [0] }\n"),
        ] {
            let headroom = if pfc.is_empty() { "" } else { ", headroom = \"auto\"" };
            let switch = format!(
                "buffer = \"4 MB\"\npolicy = {{ name = \"{policy}\"{headroom} }}\n{pfc}\
                 hardware = {{ slices = {slices}, slice_by = \"{slice_by}\" }}"
            );
            let lab = Lab::new(&star(hosts, "10 Gb/s", "1 us"), &switch, "congestion_control = \"newreno\"")
                .times("50 us", "1 ms");
            let rows = crate::support::run(&lab.workloads(
                "[[workload]]\nkind = \"incast\"\nrequest = \"20 KB\"\nfan_in = 1\nqueries_per_second_per_host = 20000.0\n",
            ));
            assert!(rows.all_finished(), "{policy}, {slice_by}, {hosts} ports, {slices} slices");
        }
    }
}
