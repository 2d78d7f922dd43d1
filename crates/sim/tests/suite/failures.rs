//! Tests of links that fail, recover, or are slower than other links.

use crate::support::{Lab, Rows, flow, run, run_fast, star};
use bufferlab_units::Time;
use bufferlab_workload::FlowSpec;

const TRANSPORT: &str = "congestion_control = \"newreno\"\nmin_rto = \"1 ms\"\ninitial_rto = \"1 ms\"";

/// Topology of two racks of four hosts and two spines, with the changes `change`.
fn fabric(change: &str) -> Lab {
    let topology = format!(
        "kind = \"leaf_spine\"\nleaves = 2\nhosts_per_leaf = 4\nspines = 2\nhost_rate = \"10 Gb/s\"\n\
         fabric_rate = \"20 Gb/s\"\ndelay = \"2 us\"\nchange = [{change}]"
    );
    Lab::new(&topology, "buffer = \"500 KB\"\npolicy = \"dt\"", TRANSPORT)
}

/// Twelve flows of 3 MB in each direction between the racks.
fn crossing() -> Vec<FlowSpec> {
    let pair = |n: u32| {
        let start = Time::from_us(u64::from(n));
        [flow(n % 4, 4 + (n + 1) % 4, 3_000_000, start), flow(4 + n % 4, (n + 2) % 4, 3_000_000, start)]
    };
    (0..12).flat_map(pair).collect()
}

/// Checks that flows count as many lost packets as switches and links.
fn assert_losses_add_up(rows: &Rows) {
    let by_flow: u64 = rows.flows.iter().map(|flow| flow.dropped_packets).sum();
    assert_eq!(by_flow, rows.switch_losses() + rows.link_losses());
}

fn tx(rows: &Rows, from: &str, to: &str) -> u64 {
    rows.link(from, to).tx_packets
}

#[test]
fn a_link_that_failed_before_the_start_is_never_used() {
    let rows = run_fast(&fabric("{ link = \"leaf0-spine1\", failed = true }").flows(crossing()));
    assert!(rows.all_finished());
    assert_eq!((tx(&rows, "leaf0", "spine1"), tx(&rows, "spine1", "leaf0")), (0, 0));
    // No packet uses the link that leads only to the failed link.
    assert_eq!((tx(&rows, "leaf1", "spine1"), tx(&rows, "spine1", "leaf1")), (0, 0));
    assert!(tx(&rows, "leaf0", "spine0") > 20_000 && tx(&rows, "spine0", "leaf0") > 20_000);
    assert_eq!(rows.link_losses(), 0);
    assert_losses_add_up(&rows);
}

#[test]
fn a_link_that_goes_down_loses_what_is_on_it_and_its_flows_go_on_elsewhere() {
    let healthy = run_fast(&fabric("").flows(crossing()));
    let down =
        run_fast(&fabric("{ link = \"leaf0-spine1\", down = [\"3 ms\", \"900 ms\"] }").flows(crossing()));
    let back =
        run_fast(&fabric("{ link = \"leaf0-spine1\", down = [\"3 ms\", \"5 ms\"] }").flows(crossing()));
    for rows in [&healthy, &down, &back] {
        assert!(rows.all_finished());
        assert_losses_add_up(rows);
    }
    assert_eq!(healthy.link_losses(), 0);
    let used = |rows: &Rows| tx(rows, "leaf0", "spine1") + tx(rows, "spine1", "leaf0");
    // In the run `down`, the link carries traffic for 3 of about 15 ms. In the run `back`, the link
    // is down for 2 ms only.
    assert!(used(&down) > 1_000 && used(&down) < used(&healthy) / 2, "{} of {}", used(&down), used(&healthy));
    assert!(used(&back) > 2 * used(&down), "{} and {}", used(&back), used(&down));
    for rows in [&down, &back] {
        let lost: Vec<_> = rows.links.iter().filter(|link| link.lost_packets > 0).collect();
        // The failure loses 5 kB on the wire (2 us at 20 Gb/s) and the packets that waited
        // for the link.
        assert!(rows.link_losses() > 2, "{lost:?}");
        let ends =
            |from: &str, to: &str| (from == "leaf0" && to == "spine1") || (from == "spine1" && to == "leaf0");
        assert!(
            lost.iter().all(|link| ends(&link.from, &link.to)
                || ends(&link.to, &link.from)
                || link.from == "spine1"),
            "{lost:?}"
        );
        assert!(rows.flows.iter().any(|flow| flow.retransmitted_packets > 0));
    }
    assert!(tx(&down, "leaf0", "spine0") > tx(&healthy, "leaf0", "spine0"), "the other spine takes over");
    let last = |rows: &Rows| rows.flows.iter().filter_map(|flow| flow.fct_ns).max();
    assert!(last(&down) > last(&healthy), "half of the capacity takes longer");
}

#[test]
fn a_flapping_link_breaks_no_identity() {
    // The link changes state every 7 µs, with up to a dozen packets on the wire and more in queues.
    let times: Vec<_> = (0..60).map(|n| format!("\"{} us\"", 20 + 7 * n)).collect();
    for link in ["leaf0-spine1", "h0-leaf0", "spine0-leaf1"] {
        let change = format!("{{ link = \"{link}\", delay = \"5 us\", down = [{}] }}", times.join(", "));
        let flows = crossing().into_iter().map(|flow| FlowSpec { size: 100_000, ..flow }).collect();
        let rows = run(&fabric(&change).flows(flows));
        assert!(rows.all_finished(), "{link}");
        assert!(rows.link_losses() > 10, "{link}: {}", rows.link_losses());
        assert_losses_add_up(&rows);
    }
}

#[test]
fn a_slower_direction_is_respected_and_the_other_is_not_slowed() {
    let topology = format!(
        "{}\nchange = [{{ link = \"h0-switch\", rate_ab = \"1 Gb/s\" }}]",
        star(3, "10 Gb/s", "1 us")
    );
    let lab = Lab::new(
        &topology,
        "buffer = \"20 MB\"\npolicy = \"cs\"",
        "congestion_control = \"newreno\"\nmin_rto = \"1 s\"",
    );
    // The link from host 0 has 1 Gb/s, the link to host 0 has 10 Gb/s.
    let flows = vec![flow(0, 1, 10_000_000, Time::ZERO), flow(2, 0, 10_000_000, Time::ZERO)];
    let rows = run_fast(&lab.times("20 ms", "1 s").flows(flows));
    let seconds = |number| rows.flow(number).fct_ns.expect("it finishes") as f64 * 1e-9;
    let wire_bits = 10e6 * 8.0 * 1_454.0 / 1_400.0;
    // The acknowledgements of the second flow share the slow uplink with the first flow's data. An
    // acknowledgement has 54 B, and a data frame has 1454 B.
    let expected = wire_bits * (1.0 + 54.0 / 1_454.0) / 1e9;
    assert!((seconds(0) / expected - 1.0).abs() < 0.02, "{} s, expected {expected} s", seconds(0));
    assert!((seconds(1) / (wire_bits / 10e9) - 1.0).abs() < 0.05, "{} s", seconds(1));
    let uplink = rows.link("h0", "switch");
    assert!(uplink.utilisation > 0.99 && uplink.utilisation <= 1.001, "{}", uplink.utilisation);
    assert_eq!((uplink.rate_bps, rows.link("switch", "h0").rate_bps), (1_000_000_000, 10_000_000_000));
}

#[test]
fn flows_of_a_host_without_a_link_stay_unfinished_and_harm_nobody() {
    for change in [
        "{ link = \"h1-switch\", failed = true }",
        "{ link = \"h1-switch\", down = [\"50 us\", \"3000 s\"] }",
    ] {
        for nic in ["fair", "fifo"] {
            let topology = format!("{}\nchange = [{change}]", star(3, "10 Gb/s", "1 us"));
            let lab = Lab::new(&topology, "buffer = \"100 KB\"\npolicy = \"dt\"", TRANSPORT);
            let flows =
                [(0, 1), (1, 2), (2, 1), (0, 2)].map(|(src, dst)| flow(src, dst, 400_000, Time::ZERO));
            // The outage is so long that retransmission timers back off to a minute.
            let lab = lab.times("200 s", "100 s").more(&format!("[host]\nnic = \"{nic}\""));
            let rows = run(&lab.flows(flows.to_vec()));
            let finished: Vec<_> = (0..4).map(|number| rows.flow(number).fct_ns.is_some()).collect();
            assert_eq!(finished, [false, false, false, true], "{change}, {nic}");
            assert_eq!((rows.totals.flows, rows.totals.flows_finished), (4, 1));
            assert_eq!(rows.totals.end_ns, 300_000_000_000, "what is unfinished was watched until the end");
            // The ideal completion time is 4 us of propagation (both directions) plus the time of
            // 400 KB at 10 Gb/s. The ideal completion time ignores failures.
            assert!(rows.flows.iter().all(|flow| flow.ideal_ns == 324_000.0), "{:?}", rows.flows);
            let patient = rows.flow(0);
            assert!((15..25).contains(&patient.timeouts), "1 ms, 2 ms, 4 ms … 60 s: {patient:?}");
            assert_losses_add_up(&rows);
        }
    }
}

#[test]
fn a_host_whose_link_comes_back_finishes_its_flows() {
    for nic in ["fair", "fifo"] {
        let topology = format!(
            "{}\nchange = [{{ link = \"h1-switch\", down = [\"50 us\", \"40 ms\"] }}]",
            star(3, "10 Gb/s", "1 us")
        );
        let lab = Lab::new(&topology, "buffer = \"100 KB\"\npolicy = \"dt\"", TRANSPORT);
        let flows = [(0, 1), (1, 2), (2, 1), (0, 2)].map(|(src, dst)| flow(src, dst, 400_000, Time::ZERO));
        let rows = run(&lab.more(&format!("[host]\nnic = \"{nic}\"")).flows(flows.to_vec()));
        assert!(rows.all_finished());
        for number in 0..3 {
            let fct = rows.flow(number).fct_ns.expect("it finishes");
            assert!((40_000_000..110_000_000).contains(&fct), "{nic}, flow {number}: {fct} ns");
        }
        assert_losses_add_up(&rows);
    }
}

#[test]
fn a_network_may_be_idle_for_longer_than_the_calendar_counts() {
    // A 44-bit number of picoseconds ends at 17.6 s.
    let lab = Lab::new(&star(2, "10 Gb/s", "1 us"), "buffer = \"100 KB\"\npolicy = \"cs\"", TRANSPORT);
    let flows = [0, 20, 61, 100].map(|second| flow(0, 1, 5_000, Time::from_ms(1_000 * second)));
    let rows = run(&lab.times("120 s", "1 s").flows(flows.to_vec()));
    let times: Vec<_> = rows.flows.iter().map(|flow| flow.fct_ns).collect();
    assert!(times[0].is_some() && times.iter().all(|&fct| fct == times[0]), "{times:?}");
}
