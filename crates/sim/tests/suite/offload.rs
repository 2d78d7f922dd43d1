//! Tests that bursts of large send offload leave a host without interruption.

use crate::support::{Lab, flow, run, star};
use bufferlab_units::{BitRate, Time};

const RATE: BitRate = BitRate(1_000_000_000);
const DELAY: Time = Time::from_us(50);
const SEGMENT: u64 = 1_400;
const FULL: u64 = 1_454;

fn lab(keys: &str) -> Lab {
    let transport = format!("congestion_control = \"newreno\"\nhandshake = false\n{keys}");
    Lab::new(&star(4, "1 Gb/s", "50 us"), "buffer = \"64 MB\"\npolicy = \"cs\"", &transport)
}

/// Arrival time of the `n`-th packet of a train that leaves a host without gaps (ns).
fn arrival(n: u64) -> u64 {
    let ps = (n + 1) * RATE.serialization(FULL).0 + 2 * DELAY.0;
    Time(ps).as_ns()
}

/// Completion times of three flows of ten segments to three hosts,
/// all started at once at one NIC (ns).
fn three(keys: &str) -> Vec<u64> {
    let flows = (1..4).map(|dst| flow(0, dst, 10 * SEGMENT, Time::ZERO)).collect();
    let rows = run(&lab(keys).flows(flows));
    rows.flows_by_number().iter().map(|flow| flow.fct_ns.expect("finished")).collect()
}

#[test]
fn without_offload_flows_take_turns_packet_by_packet() {
    // The first flow's first packet leaves before the other flows start. Then packets leave in the
    // order of the flows 0 1 2 0 1 2 …
    assert_eq!(three(""), [arrival(26), arrival(29), arrival(30)]);
}

#[test]
fn a_burst_leaves_back_to_back_before_the_next_flow() {
    assert_eq!(three("lso = \"64 KB\""), [arrival(10), arrival(20), arrival(30)]);
    // Bursts of five packets leave in the order of the flows 0 1 2 0 1 2.
    assert_eq!(three("lso = \"7 KB\""), [arrival(20), arrival(25), arrival(30)]);
    // An offload size below one segment gives no bursts.
    assert_eq!(three("lso = \"1 KB\""), three(""));
}

#[test]
fn acknowledgements_wait_for_the_end_of_a_burst() {
    // Host 1 sends two segments to host 0, whose burst of 40 packets is in progress
    // when they arrive.
    let ack_after = |keys: &str| {
        let flows = vec![flow(0, 2, 40 * SEGMENT, Time::ZERO), flow(1, 0, 2 * SEGMENT, Time::ZERO)];
        let rows = run(&lab(&format!("initial_window = 40\n{keys}")).flows(flows));
        rows.flow(0).fct_ns.expect("finished")
    };
    // Without offload, the ACKs of the two segments (54 B each) leave between the packets.
    // With offload the ACKs leave after the packets.
    let two_acks = Time(2 * RATE.serialization(54).0).as_ns();
    assert_eq!(ack_after(""), arrival(40) + two_acks);
    assert_eq!(ack_after("lso = \"64 KB\""), arrival(40));
}

#[test]
fn flows_with_offload_get_through_losses_in_either_order_of_the_card() {
    for nic in ["fair", "fifo"] {
        for profile in [bufferlab_core::Profile::Paper, bufferlab_core::Profile::Artifact] {
            let lab = Lab::new(
                &star(4, "1 Gb/s", "50 us"),
                "buffer = \"40 KB\"\npolicy = \"cs\"",
                "congestion_control = \"cubic\"\nlso = \"64 KB\"\nmin_rto = \"1 ms\"",
            );
            let lab = lab.more(&format!("[host]\nnic = \"{nic}\""));
            let flows = (0..60).map(|n| flow(1 + n % 3, 0, 300_000, Time::from_us(u64::from(n) * 500)));
            let mut scenario = lab.times("40 ms", "10 s").flows(flows.collect());
            scenario.profile = profile;
            let rows = run(&scenario);
            assert!(rows.all_finished(), "{nic} {profile:?}");
            assert!(rows.switch_losses() > 0, "{nic}: the buffer is too large for this test");
        }
    }
}
