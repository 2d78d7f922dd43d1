//! Tests that a run on several threads gives the rows of a run on one thread.

use crate::support::{Lab, Rows, flow, star};
use bufferlab_scenario::Scenario;
use bufferlab_sim::{SimError, Simulation};
use bufferlab_units::Time;
use std::num::NonZero;

/// All rows of a run on `threads` threads. The largest number of packets alive is omitted, because
/// the shards of a network cannot know this number exactly.
pub(crate) fn rows_on(threads: usize, scenario: &Scenario) -> Rows {
    let simulation = Simulation::new(scenario).unwrap_or_else(|error| panic!("{error}"));
    let mut rows = Rows::default();
    let threads = NonZero::new(threads).expect("at least one");
    let totals = simulation.run_on(threads, scenario, &mut rows, &mut |_| true);
    rows.totals = totals.unwrap_or_else(|error| panic!("{error}"));
    rows.totals.peak_packets = 0;
    rows
}

/// Checks that runs with two, three and eight threads give the rows of a run with one thread.
/// Returns the rows of the run.
pub(crate) fn same_on_all(what: &str, scenario: &Scenario) -> Rows {
    let simulation = Simulation::new(scenario).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(simulation.needs_one_thread(scenario), None, "{what}");
    let one = rows_on(1, scenario);
    for threads in [2, 3, 8] {
        let several = rows_on(threads, scenario);
        let at = format!("{what} on {threads} threads");
        assert_eq!(one.totals, several.totals, "{at}");
        assert!(one.flows == several.flows, "{at}: {}", first_difference(&one.flows, &several.flows));
        assert!(one.queries == several.queries, "{at}: {}", first_difference(&one.queries, &several.queries));
        assert!(one.queues == several.queues, "{at}: {}", first_difference(&one.queues, &several.queues));
        assert!(one.links == several.links, "{at}: {}", first_difference(&one.links, &several.links));
        assert!(one == several, "{at}: another table");
    }
    one
}

fn first_difference<T: PartialEq + std::fmt::Debug>(one: &[T], other: &[T]) -> String {
    match one.iter().zip(other).find(|(one, other)| one != other) {
        Some((one, other)) => format!("{one:?}\n{other:?}"),
        None => format!("{} and {} rows", one.len(), other.len()),
    }
}

const LEAF_SPINE: &str = "kind = \"leaf_spine\"\nleaves = 4\nhosts_per_leaf = 6\nspines = 2\nlinks_per_pair = 2\n\
                          host_rate = \"10 Gb/s\"\ndelay = \"2 us\"";
const FAT_TREE: &str =
    "kind = \"fat_tree\"\nk = 4\nrate = \"10 Gb/s\"\ndelay = \"1 us\"\nmultipath = \"spray\"";
const WORKLOADS: &str = "[[workload]]\nkind = \"poisson\"\nsizes = \"60 KB\"\nload = 0.8\nload_of = \"host_links\"\npattern = \"all_to_all\"\n\
                         [[workload]]\nkind = \"incast\"\nrequest = \"80 KB\"\nfan_in = 2\n\
                         queries_per_second_per_host = 200.0";

/// A switch with a small buffer, so that many packets are lost and repeated.
fn switch(policy: &str) -> String {
    format!(
        "buffer = \"100 KB\"\nqueues_per_port = 2\npolicy = \"{policy}\"\n\
         ecn = {{ kind = \"red\", kmin = \"5 KB\", kmax = \"30 KB\", pmax = 0.5 }}"
    )
}

fn transport(control: &str) -> String {
    format!("congestion_control = \"{control}\"\nmin_rto = \"1 ms\"\ninitial_rto = \"1 ms\"")
}

#[test]
fn every_kind_of_policy() {
    // The policies of this test cover timers, evictions, random draws and state per flow.
    for policy in ["dt", "abm", "lqd", "losspass", "plasticine", "tdt", "fab", "occamy"] {
        let scenario = Lab::new(LEAF_SPINE, &switch(policy), &transport("dctcp"))
            .times("1 ms", "1 s")
            .workloads(WORKLOADS);
        let rows = same_on_all(policy, &scenario);
        assert!(rows.switch_losses() > 0 && rows.all_finished(), "{policy}: {} losses", rows.switch_losses());
        assert!(rows.queries.iter().any(|query| query.qct_ns.is_some()), "{policy}");
    }
}

#[test]
fn every_kind_of_transport() {
    let tcp = ["newreno", "cubic", "hpcc", "powertcp", "timely", "swift"].map(transport);
    let rdma = "kind = \"rdma\"\ncongestion_control = \"dcqcn\"".to_owned();
    for keys in tcp.into_iter().chain([rdma]) {
        for topology in [LEAF_SPINE, FAT_TREE] {
            let lab = Lab::new(topology, &switch("dt"), &keys).times("500 us", "1 s");
            let rows = same_on_all(&keys, &lab.workloads(WORKLOADS));
            assert!(rows.flows.len() > 20, "{keys}: {} flows", rows.flows.len());
        }
    }
}

#[test]
fn connections_with_handshakes_delayed_acknowledgements_and_fins() {
    let keys = format!("{}\nhandshake = true\nfull_connection = true\nack_every = 2", transport("newreno"));
    let lab = Lab::new(LEAF_SPINE, &switch("dt"), &keys).times("1 ms", "1 s");
    assert!(same_on_all("connections", &lab.workloads(WORKLOADS)).switch_losses() > 0);
}

#[test]
fn runs_that_are_cut_and_runs_that_end_early() {
    let samples = "[output]\nsample_interval = \"7 us\"\nsample_switch = \"leaf2\"";
    let lab = Lab::new(LEAF_SPINE, &switch("abm"), &transport("dctcp")).more(samples);
    let cut = same_on_all("a cut run", &lab.clone().times("2 ms", "100 us").workloads(WORKLOADS));
    assert!(!cut.all_finished(), "some flows are alive at the end");
    // The last flow ends long before the end of the arrival phase, and the policy's timers
    // continue.
    let early = |flows| lab.clone().times("4 ms", "1 s").flows(flows);
    let flows = vec![flow(0, 9, 50_000, Time::from_us(3)), flow(5, 9, 50_000, Time::from_us(3))];
    let rows = same_on_all("an early end", &early(flows));
    assert_eq!(rows.totals.end_ns, 4_000_000);
    // The list has a flow that ends long after all other flows.
    let flows = vec![flow(0, 9, 5_000, Time::from_us(3)), flow(5, 14, 4_000_000, Time::from_us(3_990))];
    let scenario = early(flows);
    let rows = same_on_all("a late end", &scenario);
    assert!(rows == rows_on(8, &scenario), "more threads than racks");
    assert!(rows.totals.end_ns > 7_000_000, "{}", rows.totals.end_ns);
}

#[test]
fn delays_cut_through_device_queues_and_jitter() {
    let scenario = Lab::new(
        LEAF_SPINE,
        &format!("{}\nhardware = {{ cut_through = \"64 B\", device_queue = 3 }}", switch("dt")),
        &transport("dctcp"),
    )
    .times("1 ms", "1 s")
    .more(
        "[output]\ndelays = true\npackets = \"all\"\nsample_interval = \"20 us\"\nsample_switch = \"leaf3\"",
    )
    .workloads(WORKLOADS);
    let rows = same_on_all("options", &scenario);
    assert!(rows.switch_losses() > 0);
}

#[test]
fn a_network_that_cannot_be_divided_runs_on_one_thread() {
    let scenario =
        Lab::new(&star(6, "10 Gb/s", "2 us"), &switch("dt"), &transport("dctcp")).workloads(WORKLOADS);
    let simulation = Simulation::new(&scenario).expect("it begins");
    let why = simulation.needs_one_thread(&scenario).expect("there is one rack");
    assert!(why.contains("one rack"), "{why}");
    assert!(rows_on(1, &scenario) == rows_on(4, &scenario));
}

#[test]
fn whoever_stops_a_run_stops_all_parts() {
    let scenario =
        Lab::new(LEAF_SPINE, &switch("dt"), &transport("dctcp")).times("300 ms", "1 s").workloads(WORKLOADS);
    let simulation = Simulation::new(&scenario).expect("it begins");
    let (mut rows, mut asked) = (Rows::default(), 0);
    let mut go_on = |_: &bufferlab_sim::Progress| {
        asked += 1;
        asked < 2
    };
    let three = NonZero::new(3).expect("three");
    let result = simulation.run_on(three, &scenario, &mut rows, &mut go_on);
    assert!(matches!(result, Err(SimError::Interrupted)), "{result:?}");
    assert_eq!(asked, 2);
}
