//! Tests of fairness among senders that compete for one port.

use crate::support::{Lab, Rows, flow, run, run_fast, star};
use bufferlab_scenario::TieOrder;
use bufferlab_sim::Simulation;
use bufferlab_units::Time;

/// Counts the delivered packets of each host when all hosts send to one port at the same
/// picosecond. The port sends the first arrival at once and stores the second arrival in the
/// buffer, which has space for one packet. All other packets are lost and never sent again.
fn winners(hosts: u32, instants: u64, seed: u64) -> (Vec<u64>, Vec<u64>) {
    let spacing = Time::from_us(20);
    let lab = Lab::new(
        &star(hosts + 1, "10 Gb/s", "1 us"),
        "buffer = \"1454 B\"\npolicy = \"cs\"",
        "congestion_control = \"newreno\"\nhandshake = false\ninitial_rto = \"10 s\"\nmin_rto = \"10 s\"",
    );
    let flows = (0..instants).flat_map(|n| (0..hosts).map(move |src| flow(src, hosts, 1_400, spacing * n)));
    let rows = run(&lab.seed(seed).times("100 ms", "1 us").flows(flows.collect()));
    let (mut first, mut served) = (vec![0; hosts as usize], vec![0; hosts as usize]);
    let shortest = rows.flows.iter().filter_map(|flow| flow.fct_ns).min().expect("somebody is served");
    for flow in rows.flows.iter().filter(|flow| flow.fct_ns.is_some()) {
        served[flow.src_host as usize] += 1;
        first[flow.src_host as usize] += u64::from(flow.fct_ns == Some(shortest));
    }
    (first, served)
}

#[test]
fn simultaneous_arrivals_are_ordered_fairly_for_any_number_of_hosts() {
    for hosts in [2, 3, 5, 7, 8] {
        let instants = 3_000;
        let (first, served) = winners(hosts, instants, u64::from(hosts));
        assert_eq!(first.iter().sum::<u64>(), instants);
        assert_eq!(served.iter().sum::<u64>(), 2 * instants);
        for (counts, places) in [(&first, 1.0), (&served, 2.0)] {
            let p = places / f64::from(hosts);
            let (mean, deviation) = (instants as f64 * p, (instants as f64 * p * (1.0 - p)).sqrt());
            for (host, &count) in counts.iter().enumerate() {
                assert!(
                    (count as f64 - mean).abs() <= 4.5 * deviation,
                    "{hosts} hosts, {places} places: host {host} got {count}, expected {mean:.0} ± {deviation:.0}"
                );
            }
        }
    }
}

/// Results of two long flows of `control` from hosts 0 and 1 to host 2 within `duration`. The
/// second flow starts `gap_us` microseconds after the first flow.
///
/// Hosts send faster than the port drains. Otherwise one flow could fill the port alone,
/// because its packets arrive exactly when other packets leave, and a drop-tail queue excludes the
/// other flow (phase effects: Floyd and Jacobson 1992).
fn two_long_flows(control: &str, switch: &str, duration: &str, gap_us: u64) -> Rows {
    let transport = format!("congestion_control = \"{control}\"\nmin_rto = \"5 ms\"\ninitial_rto = \"5 ms\"");
    let port = "change = [{ link = \"h2-switch\", rate_ba = \"10 Gb/s\" }]";
    let lab = Lab::new(&format!("{}\n{port}", star(3, "25 Gb/s", "10 us")), switch, &transport);
    let flows =
        vec![flow(0, 2, 10_000_000_000, Time::ZERO), flow(1, 2, 10_000_000_000, Time::from_us(gap_us))];
    run_fast(&lab.times(duration, "0 s").flows(flows))
}

/// Jain's index of the flows' throughput: 1 if equal, 1/n if one flow has all throughput.
fn jain(rows: &Rows) -> f64 {
    let shares: Vec<f64> =
        rows.flows.iter().map(|flow| (flow.sent_packets - flow.retransmitted_packets) as f64).collect();
    let (sum, squares) = (shares.iter().sum::<f64>(), shares.iter().map(|share| share * share).sum::<f64>());
    sum * sum / (shares.len() as f64 * squares)
}

const FRAME: u64 = 1_454;

#[test]
fn two_dctcp_flows_share_a_port_and_keep_its_queue_near_the_threshold() {
    let threshold = 65 * FRAME;
    let ecn = format!("ecn = {{ kind = \"step\", threshold = \"{threshold} B\" }}");
    for gap_us in [3, 200, 1_000] {
        let switch = format!("buffer = \"2 MB\"\npolicy = \"cs\"\n{ecn}");
        let rows = two_long_flows("dctcp", &switch, "60 ms", gap_us);
        assert!(jain(&rows) > 0.95, "{}", jain(&rows));
        assert_eq!(rows.switch_losses(), 0);
        let queue = rows.queue(0, 2, 0);
        // At the first mark, the data in flight fill the queue and a path of 43 us at 10 Gb/s. Slow
        // start doubles the data in flight.
        let pipe = 54_000;
        assert!((threshold..2 * (threshold + pipe)).contains(&queue.max_bytes), "{queue:?}");
        let mean = queue.mean_bytes / threshold as f64;
        assert!((0.8..1.05).contains(&mean), "mean of {mean} K");
        assert!(rows.link("switch", "h2").utilisation > 0.98, "{:?}", rows.link("switch", "h2"));
    }
}

#[test]
fn two_newreno_flows_share_a_port_and_fill_its_buffer() {
    let buffer = 150_000;
    for gap_us in [3, 200, 1_000] {
        let switch = format!("buffer = \"{buffer} B\"\npolicy = \"cs\"");
        let rows = two_long_flows("newreno", &switch, "500 ms", gap_us);
        assert!(jain(&rows) > 0.95, "{}", jain(&rows));
        let queue = rows.queue(0, 2, 0);
        assert!(queue.max_bytes > buffer - FRAME && queue.max_bytes <= buffer, "{queue:?}");
        assert!(queue.dropped_packets > 100 && rows.switch_losses() == queue.dropped_packets, "{queue:?}");
        // A retransmission may be lost again, once, when slow start overshoots. Fast recovery
        // repairs all later losses without a timeout.
        assert!(rows.flows.iter().all(|flow| flow.timeouts <= 1), "{:?}", rows.flows);
        assert!(rows.link("switch", "h2").utilisation > 0.98, "{:?}", rows.link("switch", "h2"));
    }
}

/// Results of a flow of three packets that starts behind a flow of a thousand packets at one NIC.
fn behind_a_long_flow(nic: &str) -> Rows {
    let lab = Lab::new(
        &star(3, "10 Gb/s", "1 us"),
        "buffer = \"10 MB\"\npolicy = \"cs\"",
        "congestion_control = \"newreno\"\nhandshake = false\ninitial_window = \"whole\"",
    );
    let flows = vec![flow(0, 1, 1_400_000, Time::ZERO), flow(0, 2, 4_200, Time::from_us(10))];
    run(&lab.more(&format!("[host]\nnic = \"{nic}\"")).flows(flows))
}

#[test]
fn a_fair_card_lets_flows_take_turns_and_a_fifo_card_does_not() {
    let frame = 1_163_200;
    // The path's delay is the time from the NIC's first bit to the last bit at the receiver: two
    // serializations of a frame, and two propagation delays of 1 us.
    let path = 2 * frame + 2_000_000;
    // At 10 us the ninth frame of the long flow is on the wire (8 · 1.1632 us = 9.3 us). At a fair
    // NIC, the short flow's first frame follows the tenth frame of the long flow, which was earlier
    // in the turn order. At a FIFO NIC, the short flow's first frame follows all thousand frames.
    let turn = 10 * frame - 10_000_000;
    let fair = behind_a_long_flow("fair");
    assert_eq!(fair.flow(1).fct_ns, Some(Time(turn + 4 * frame + path).as_ns()));
    // The long flow's last packet follows its 999 other packets and all three packets of
    // the short flow.
    assert_eq!(fair.flow(0).fct_ns, Some(Time(1_002 * frame + path).as_ns()));
    let fifo = behind_a_long_flow("fifo");
    assert_eq!(fifo.flow(1).fct_ns, Some(Time(1_000 * frame - 10_000_000 + 2 * frame + path).as_ns()));
    assert_eq!(fifo.flow(0).fct_ns, Some(Time(999 * frame + path).as_ns()));
}

#[test]
fn flows_of_one_host_share_its_card_evenly() {
    let lab = Lab::new(
        &star(5, "10 Gb/s", "1 us"),
        "buffer = \"10 MB\"\npolicy = \"cs\"",
        "congestion_control = \"newreno\"\ninitial_window = \"whole\"",
    );
    let flows = (1..5).map(|dst| flow(0, dst, 20_000_000, Time::from_us(u64::from(dst)))).collect();
    let rows = run_fast(&lab.times("10 ms", "0 s").flows(flows));
    assert!(jain(&rows) > 0.9999, "{}", jain(&rows));
}

#[test]
fn by_insertion_the_host_that_began_to_send_first_is_always_served_first() {
    // All hosts begin at one picosecond, in the order of their flows in the list.
    let hosts = 5;
    let lab = Lab::new(
        &star(hosts + 1, "10 Gb/s", "1 us"),
        "buffer = \"1454 B\"\npolicy = \"cs\"",
        "congestion_control = \"newreno\"\nhandshake = false\ninitial_rto = \"10 s\"\nmin_rto = \"10 s\"",
    );
    let order = [3, 1, 4, 0, 2];
    let flows = (0..50).flat_map(|n| order.map(|src| flow(src, hosts, 1_400, Time::from_us(20) * n)));
    let mut scenario = lab.times("100 ms", "1 us").flows(flows.collect());
    scenario.tie_order = TieOrder::Insertion;
    let rows = run(&scenario);
    let served: Vec<_> =
        rows.flows.iter().filter(|flow| flow.fct_ns.is_some()).map(|flow| flow.src_host).collect();
    assert_eq!(served, [3, 1].repeat(50));
}

/// Results of the overload of `scenarios/testbed-burst.toml` under TDT:
/// bytes of each of the four senders, and the number of bursts with losses.
fn bursts_beside_overload(changes: &[(&str, &str)]) -> ([u64; 4], usize) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/testbed-burst.toml");
    let tdt = [("switch.policy", "{ name = \"tdt\", dec = 8 }"), ("duration", "6 s")];
    let changes: Vec<_> =
        tdt.iter().chain(changes).map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let loaded = bufferlab_scenario::load(&path, &changes).unwrap_or_else(|e| panic!("{e}"));
    let simulation = Simulation::new(&loaded.scenario).unwrap_or_else(|e| panic!("{e}"));
    let mut rows = Rows::default();
    rows.totals = simulation.run(&mut rows, &mut |_| ()).unwrap_or_else(|e| panic!("{e}"));
    let of = |host| rows.flows.iter().filter(|flow| flow.src_host == host).map(|flow| flow.size_bytes).sum();
    let lost = rows.queries.iter().filter(|query| query.dropped_packets > 0).count();
    ([3, 4, 5, 6].map(of), lost)
}

/// Simulated bursts lose no packet under TDT although real bursts
/// do (docs/evidence/real-packets.md), and this test shows why.
/// With links exactly as fast as the port, one of two hosts sends in step with the port. Then the
/// port stays in evacuation, full and without a drop.
#[test]
fn a_host_in_step_with_an_evacuated_port_locks_the_other_one_out_and_faster_links_end_it() {
    let (bytes, lost) = bursts_beside_overload(&[]);
    for pair in bytes.chunks(2) {
        assert!(pair.iter().max() > pair.iter().min().map(|least| 50 * least).as_ref(), "{bytes:?}");
    }
    assert_eq!(lost, 0, "bursts find a buffer that the overload has left");
    let faster = r#"[{ link = "h3-switch", rate_ab = "110 Mb/s" }, { link = "h4-switch", rate_ab = "110 Mb/s" }, { link = "h5-switch", rate_ab = "110 Mb/s" }, { link = "h6-switch", rate_ab = "110 Mb/s" }]"#;
    let (bytes, lost) = bursts_beside_overload(&[("topology.change", faster)]);
    for pair in bytes.chunks(2) {
        assert!(pair.iter().max() < pair.iter().min().map(|least| 5 * least).as_ref(), "{bytes:?}");
    }
    assert!(lost > 0, "the overload has its share again");
}
