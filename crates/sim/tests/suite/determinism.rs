//! Tests of determinism: a run depends only on its scenario and seed.

use crate::support::{Lab, Rows, flow, run, run_fast, star, try_run};
use bufferlab_metrics::{FlowRow, LinkRow};
use bufferlab_scenario::{Scenario, TieOrder};
use bufferlab_sim::Simulation;
use bufferlab_units::Time;

const TRANSPORT: &str = "congestion_control = \"dctcp\"\nmin_rto = \"1 ms\"\ninitial_rto = \"1 ms\"\n\
                         unscheduled_bytes = \"20 KB\"";

/// Scenario of two racks under load with losses, marks that draw random numbers,
/// sprayed packets and queries.
fn scenario(policy: &str, seed: u64, load: f64) -> Scenario {
    let lab = Lab::new(
        "kind = \"leaf_spine\"\nleaves = 2\nhosts_per_leaf = 6\nspines = 2\nlinks_per_pair = 2\nmultipath = \"spray\"\n\
         host_rate = \"10 Gb/s\"\ndelay = \"2 us\"",
        &format!(
            "buffer = \"120 KB\"\nqueues_per_port = 2\npolicy = \"{policy}\"\n\
             ecn = {{ kind = \"red\", kmin = \"5 KB\", kmax = \"30 KB\", pmax = 0.5 }}"
        ),
        TRANSPORT,
    );
    lab.seed(seed).times("4 ms", "1 s").more("[output]\nsample_interval = \"10 us\"").workloads(&format!(
        "[[workload]]\nkind = \"poisson\"\nsizes = \"40 KB\"\nload = {load}\nload_of = \"leaf_uplinks\"\n\
         [[workload]]\nkind = \"incast\"\nrequest = \"60 KB\"\nfan_in = 6\nqueries_per_second_per_host = 300.0"
    ))
}

#[test]
fn the_same_scenario_gives_the_same_rows() {
    let first = run(&scenario("abm", 7, 0.9));
    assert!(first.switch_losses() > 0 && first.flows.iter().any(|flow| flow.marked_packets > 0));
    assert!(!first.series.is_empty() && !first.queries.is_empty());
    assert!(first == run(&scenario("abm", 7, 0.9)), "two runs differ");
}

#[test]
fn another_seed_gives_other_rows() {
    let (one, other) = (run_fast(&scenario("dt", 1, 0.9)), run_fast(&scenario("dt", 2, 0.9)));
    let starts = |rows: &Rows| rows.flows_by_number().iter().map(|flow| flow.start_ns).collect::<Vec<_>>();
    assert_ne!(starts(&one), starts(&other));
    assert_ne!(one.totals.packet_hops, other.totals.packet_hops);
}

/// Rows of all flows that arrived, with the results of the flows removed.
fn arrivals(rows: &Rows) -> Vec<FlowRow> {
    let arrival = |flow: &&FlowRow| FlowRow {
        flow_id: flow.flow_id,
        class: flow.class,
        query_id: flow.query_id,
        src_host: flow.src_host,
        dst_host: flow.dst_host,
        size_bytes: flow.size_bytes,
        start_ns: flow.start_ns,
        sending_ns: flow.sending_ns,
        state: flow.state,
        ideal_ns: flow.ideal_ns,
        ..FlowRow::default()
    };
    rows.flows_by_number().iter().map(arrival).collect()
}

#[test]
fn policies_meet_the_same_arrivals() {
    let base = run_fast(&scenario("dt", 3, 0.9));
    for policy in ["cs", "abm", "cp", "es"] {
        let other = run_fast(&scenario(policy, 3, 0.9));
        assert_eq!(arrivals(&base), arrivals(&other), "{policy}");
        let times = |rows: &Rows| rows.flows_by_number().iter().map(|flow| flow.fct_ns).collect::<Vec<_>>();
        assert_ne!(times(&base), times(&other), "{policy} treats them differently");
    }
}

/// Number of packets on each link between leaves and spines.
/// Flows go from host 0 to the other rack, and if `busy` also within a rack.
fn ways_of_host_0(multipath: &str, busy: bool) -> Vec<u64> {
    let topology = format!(
        "kind = \"leaf_spine\"\nleaves = 2\nhosts_per_leaf = 4\nspines = 4\nlinks_per_pair = 4\n\
         multipath = \"{multipath}\"\nhost_rate = \"10 Gb/s\"\ndelay = \"1 us\""
    );
    let keys = format!("{TRANSPORT}\ndata_priorities = [0, 1]");
    let lab = Lab::new(&topology, "buffer = \"1 MB\"\nqueues_per_port = 2\npolicy = \"dt\"", &keys);
    let of_host_0 = (0..16).map(|number| flow(0, 4, 20_000, Time::from_us(100 * number)));
    let elsewhere = (0..16).map(|number| flow(1, 2, 20_000, Time::from_us(100 * number + 50)));
    let mut flows: Vec<_> = of_host_0.chain(elsewhere.filter(|_| busy)).collect();
    flows.sort_by_key(|flow| flow.start);
    let rows = run(&lab.times("2 ms", "100 ms").flows(flows));
    assert!(rows.all_finished());
    let between = |link: &&LinkRow| [&link.from, &link.to].iter().all(|name| !name.starts_with('h'));
    rows.links.iter().filter(between).map(|link| link.tx_packets).collect()
}

#[test]
fn what_a_host_draws_does_not_depend_on_what_others_draw() {
    for multipath in ["ecmp", "spray"] {
        let (alone, among_others) = (ways_of_host_0(multipath, false), ways_of_host_0(multipath, true));
        assert!(alone.iter().filter(|&&packets| packets > 0).count() > 8, "{multipath}: {alone:?}");
        assert_eq!(alone, among_others, "{multipath}");
    }
}

#[test]
fn watching_a_run_does_not_change_it() {
    let scenario = scenario("dt", 5, 1.0);
    let plain = run_fast(&scenario);
    assert!(plain == run(&scenario), "verification changes the run");
    let mut rows = Rows::default();
    let (mut calls, mut latest) = (0, 0);
    let simulation = Simulation::new(&scenario).expect("it fits");
    let mut watch = |progress: &bufferlab_sim::Progress| {
        calls += 1;
        assert!(
            progress.now.0 >= latest && progress.now <= progress.end && progress.duration <= progress.end
        );
        assert!(progress.flows_live <= progress.flows_started && progress.packet_hops > 0);
        latest = progress.now.0;
    };
    rows.totals = simulation.run(&mut rows, &mut watch).expect("it runs");
    assert!(calls > 0, "{} events are enough for a report", rows.totals.events);
    assert!(plain == rows, "watching changes the run");
}

#[test]
fn noise_in_starts_moves_every_flow_a_little_and_nothing_at_zero() {
    let calm = scenario("dt", 7, 0.6);
    let noisy = Scenario { start_jitter: Time::from_ns(20), ..calm.clone() };
    let (calm, noisy) = (run(&calm), run(&noisy));
    let starts = |rows: &Rows| {
        let mut starts: Vec<_> = rows
            .flows
            .iter()
            .map(|flow| (flow.class, flow.query_id, flow.src_host, flow.dst_host, flow.start_ns))
            .collect();
        starts.sort_unstable();
        starts
    };
    let (calm_starts, noisy_starts) = (starts(&calm), starts(&noisy));
    assert_eq!(calm_starts.len(), noisy_starts.len());
    let moved = calm_starts.iter().zip(&noisy_starts).filter(|(one, other)| {
        assert_eq!((one.0, one.1, one.2, one.3), (other.0, other.1, other.2, other.3));
        assert!((one.4..=one.4 + 20).contains(&other.4), "{one:?} became {other:?}");
        one.4 != other.4
    });
    assert!(moved.count() * 10 > calm_starts.len() * 8);
    // All answers of a query belong to the query, although they start at different times.
    assert_eq!(calm.queries.len(), noisy.queries.len());
    assert!(noisy.queries.iter().all(|query| query.fan_in == 6), "{:?}", noisy.queries.first());
}

/// Flows are in memory from their random draw to their start.
#[test]
fn a_jitter_that_would_fill_the_memory_with_flows_ends_the_run() {
    let endless = Scenario {
        start_jitter: Time::from_ns(100_000_000_000_000),
        duration: Time::from_ns(100_000_000_000_000),
        ..scenario("dt", 7, 0.6)
    };
    let error = try_run(&endless, false).expect_err("it is given up").to_string();
    assert!(
        error.starts_with("flows that wait for their jittered start") && error.ends_with("at most 1048576"),
        "{error}"
    );
}

#[test]
fn the_order_of_insertion_is_another_run_and_repeatable() {
    let fair = scenario("dt", 7, 0.9);
    let inserted = Scenario { tie_order: TieOrder::Insertion, ..fair.clone() };
    assert!(run(&inserted) == run(&inserted), "two runs differ");
    assert!(run(&fair) != run(&inserted));
}

#[test]
fn more_flows_than_there_are_slots_end_the_run() {
    let most = 1 << 20;
    let transport = "congestion_control = \"newreno\"\nhandshake = false";
    let lab = Lab::new(&star(8, "10 Gb/s", "2 us"), "buffer = \"4 MB\"\npolicy = \"cs\"", transport);
    let scenario = lab.flows((0..=most).map(|number| flow(number % 7, 7, 100_000, Time::ZERO)).collect());
    let error = try_run(&scenario, false).expect_err("one flow too many").to_string();
    assert_eq!(error, format!("flows alive at once: {}, at most {most}", most + 1));
}
