//! Tests that a host's turn order stays intact when flows start and end.

use crate::support::{Lab, flow, run, star};
use bufferlab_units::Time;

/// Fifty long flows leave host 0 in turn. A short flow's timer expires too early, so this flow
/// still waits for another turn when its last acknowledgement arrives. Then a flow of host 1 reuses
/// the slot of the short flow.
#[test]
fn a_flow_that_ends_while_it_waits_for_its_turn_leaves_the_turn_order_intact() {
    let lab = Lab::new(
        &star(4, "10 Gb/s", "10 us"),
        "buffer = \"10 MB\"\npolicy = \"cs\"",
        "congestion_control = \"newreno\"\nhandshake = false\ninitial_window = \"whole\"\nmin_rto = \"100 ms\"\n\
         initial_rto = \"100 ms\"",
    )
    .transport(
        "congestion_control = \"newreno\"\nhandshake = false\nmin_rto = \"30 us\"\ninitial_rto = \"30 us\"",
    );
    let long = |src| (0..50).map(move |n| flow(src, 2, 50_000, Time::from_ns(10 * n)));
    let short = |n: u64| flow(0, 3, 1_000, Time::from_us(5 + 20 * n));
    // Flows start throughout the run, so that a new flow reuses the slot of an ended flow.
    let takers = |n: u64| flow(1, 3, 1_000, Time::from_us(1 + n));
    let scenario = lab.lists(vec![
        (0, "long", long(0).collect()),
        (1, "short", (0..20).map(short).collect()),
        (0, "taker", (0..500).map(takers).collect()),
    ]);
    let rows = run(&scenario);
    let spurious = rows.flows.iter().filter(|flow| flow.class == 1 && flow.timeouts > 0).count();
    assert!(spurious > 5, "timers expired early: {spurious}");
    let stuck: Vec<_> = rows.flows.iter().filter(|flow| flow.fct_ns.is_none()).collect();
    assert!(stuck.is_empty(), "{} flows never end, the first: {:?}", stuck.len(), stuck[0]);
    assert!(rows.flows.iter().all(|flow| flow.class != 0 || flow.retransmitted_packets == 0));
}
