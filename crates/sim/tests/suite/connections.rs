//! Tests of the completion time of a second message over an open connection,
//! compared with closed forms to the nanosecond.

use crate::support::{Lab, flow, run, star};
use bufferlab_units::{BitRate, Time};

const RATE: BitRate = BitRate(10_000_000_000);
const DELAY: Time = Time::from_us(500);
const SEGMENT: u64 = 1_400;
const FULL: u64 = 1_454;
const ACK: u64 = 54;

/// Delivery time of a single packet over two hops of equal rate (ps).
fn alone(bytes: u64) -> u64 {
    2 * (RATE.serialization(bytes).0 + DELAY.0)
}

/// Transmission time of `count` full packets back to back (ps).
fn train(count: u64) -> u64 {
    (count - 1) * RATE.serialization(FULL).0 + alone(FULL)
}

/// Time of slow start with an initial window of ten segments, for `count` segments (ps).
fn slow_start(count: u64) -> u64 {
    let (mut start, mut left, mut round) = (0, count, 10);
    while left > round {
        start += alone(FULL) + alone(ACK);
        left -= round;
        round *= 2;
    }
    start + train(left)
}

fn lab(keys: &str) -> Lab {
    let transport = format!("min_rto = \"10 ms\"\nhandshake = false\n{keys}");
    Lab::new(
        &star(3, "10 Gb/s", "500 us"),
        "buffer = \"64 MB\"\npolicy = \"cs\"\n[switch.ecn]\nkind = \"step\"\nthreshold = \"50 MB\"",
        &transport,
    )
    .times("2 s", "1 s")
}

/// Completion times of messages from host 1 to host 0 (ns). Each message has a number of segments
/// and a start time (ms).
fn fcts(keys: &str, messages: &[(u64, u64)]) -> Vec<u64> {
    let flows = messages.iter().map(|&(count, ms)| flow(1, 0, count * SEGMENT, Time::from_ms(ms))).collect();
    let rows = run(&lab(keys).flows(flows));
    rows.flows_by_number().iter().map(|flow| flow.fct_ns.expect("finished")).collect()
}

fn ns(ps: u64) -> u64 {
    Time(ps).as_ns()
}

#[test]
fn the_second_message_begins_with_the_window_of_the_first() {
    for control in ["newreno", "cubic", "dctcp", "ecn-star"] {
        let keys = format!("congestion_control = \"{control}\"");
        // The rounds of slow start have 10, 20, 40, 80, 160 and 90 segments, so the window exceeds
        // 100 segments.
        let messages = [(400, 0), (100, 20)];
        assert_eq!(fcts(&keys, &messages), [ns(slow_start(400)), ns(slow_start(100))], "{control}: apart");
        let kept = fcts(&format!("{keys}\npersistent = true"), &messages);
        assert_eq!(kept, [ns(slow_start(400)), ns(train(100))], "{control}: one connection");
    }
}

#[test]
fn a_connection_that_was_idle_begins_again_if_it_is_told_to() {
    // The connection idles for a second, which is a hundred timeouts.
    let messages = [(400, 0), (100, 1_000)];
    let keys = "congestion_control = \"newreno\"\npersistent = true";
    assert_eq!(fcts(keys, &messages)[1], ns(slow_start(100)), "RFC 5681");
    assert_eq!(fcts(&format!("{keys}\nidle_restart = false"), &messages)[1], ns(train(100)));
}

#[test]
fn only_the_first_message_shakes_hands() {
    let keys = "congestion_control = \"newreno\"\npersistent = true";
    let messages = [(5, 0), (5, 20)];
    let transport = format!("min_rto = \"10 ms\"\n{keys}");
    let flows = messages.map(|(count, ms)| flow(1, 0, count * SEGMENT, Time::from_ms(ms)));
    let lab = Lab::new(&star(3, "10 Gb/s", "500 us"), "buffer = \"64 MB\"\npolicy = \"cs\"", &transport);
    let rows = run(&lab.times("2 s", "1 s").flows(flows.to_vec()));
    let found: Vec<_> = rows.flows_by_number().iter().map(|flow| flow.fct_ns).collect();
    assert_eq!(found, [Some(ns(2 * alone(58) + train(5))), Some(ns(train(5)))]);
}

#[test]
fn a_message_waits_for_the_only_connection_of_its_pair() {
    let keys = "congestion_control = \"newreno\"\npersistent = true";
    let both = [(400, 0), (100, 0)];
    let one = fcts(&format!("{keys}\nconnections_per_pair = 1"), &both);
    // The second message begins when the first message has been acknowledged.
    let acknowledged = slow_start(400) + alone(ACK);
    assert_eq!(one, [ns(slow_start(400)), ns(acknowledged + train(100))]);
    // With a second connection both messages start at once, each with a window of ten segments.
    let two = fcts(&format!("{keys}\nconnections_per_pair = 2"), &both);
    assert!(two[1] < ns(slow_start(100)) + 100_000, "{two:?}");
    assert_eq!(fcts(keys, &both), two, "without a limit another connection is opened");
}

#[test]
fn other_pairs_and_the_other_direction_have_connections_of_their_own() {
    let flows = vec![
        flow(1, 0, 400 * SEGMENT, Time::ZERO),
        flow(2, 0, 100 * SEGMENT, Time::from_ms(20)),
        flow(0, 1, 100 * SEGMENT, Time::from_ms(40)),
    ];
    let rows = run(&lab("congestion_control = \"newreno\"\npersistent = true").flows(flows));
    let fresh = Some(ns(slow_start(100)));
    assert_eq!(rows.flow(1).fct_ns, fresh);
    assert_eq!(rows.flow(2).fct_ns, fresh);
}

#[test]
fn every_congestion_control_carries_many_messages_over_one_connection() {
    for info in bufferlab_transport::CONGESTION_CONTROLS.iter().filter(|info| !info.rdma_only) {
        for profile in ["paper", "artifact"] {
            let keys = format!(
                "congestion_control = \"{}\"\npersistent = true\nconnections_per_pair = 1",
                info.name
            );
            // The buffers are small, so that messages end in all states of the sender.
            let lab = Lab::new(
                &star(4, "1 Gb/s", "20 us"),
                "buffer = \"30 KB\"\npolicy = \"cs\"\n[switch.ecn]\nkind = \"step\"\nthreshold = \"15 KB\"",
                &keys,
            );
            let message =
                |n: u64| flow(1 + (n % 3) as u32, 0, 1 + n * 7_777 % 90_000, Time::from_us(n * 200));
            let mut scenario = lab.times("200 ms", "20 s").flows((0..300).map(message).collect());
            if profile == "artifact" {
                scenario.profile = bufferlab_core::Profile::Artifact;
            }
            let rows = run(&scenario);
            assert!(rows.all_finished(), "{} {profile}", info.name);
            let suffered = rows.flows.iter().any(|flow| flow.dropped_packets + flow.marked_packets > 0);
            assert!(suffered || info.owns_window, "{} {profile}: nothing happened", info.name);
        }
    }
}

#[test]
fn a_flow_without_a_size_sends_until_arrivals_end() {
    let table = "[[workload]]\nkind = \"bursts\"\nbursts = [{ src = \"h1\", dst = \"h0\", start = \"1 ms\" }, { src = \"h2\", dst = \"h0\", start = \"0 s\", size = \"1 MB\" }]";
    let scenario = lab("congestion_control = \"dctcp\"").times("20 ms", "10 s").workloads(table);
    let rows = run(&scenario);
    assert!(rows.all_finished());
    let (short, long) = (rows.flow(0), rows.flow(1));
    assert_eq!(short.size_bytes, 1_000_000);
    // The flow ends one propagation delay after the end of the arrival phase, with the bytes that
    // it sent during this phase.
    let end = long.start_ns + long.fct_ns.expect("finished");
    assert!((20_000_000..21_100_000).contains(&end), "{end}");
    assert_eq!(long.size_bytes, long.sent_packets * SEGMENT);
    assert!(long.size_bytes > 1_000_000, "{}", long.size_bytes);
    assert!(rows.totals.end_ns < 23_000_000, "the run does not wait for the drain: {}", rows.totals.end_ns);
}
