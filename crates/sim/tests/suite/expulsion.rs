//! Tests that every packet which a policy expels is lost once, even if the policy's timer expels
//! the packet.

use crate::support::{Lab, flow, run, star};
use bufferlab_units::Time;

/// Two ports are overloaded while the memory is nearly full. The policy's token bucket is below
/// zero for most of the time, and the policy's timer finds queues that are too long.
#[test]
fn a_policy_that_expels_when_its_timer_is_due_loses_packets_once_and_flows_recover() {
    let switch = "buffer = \"100 KB\"\npolicy = { name = \"occamy\", alpha = 1, cell_rate = 20_000_000, bucket_cells = 20 }";
    let transport = "congestion_control = \"newreno\"\ninitial_window = \"whole\"\nmin_rto = \"1 ms\"\ninitial_rto = \"1 ms\"";
    let lab = Lab::new(&star(6, "10 Gb/s", "1 us"), switch, transport);
    let long = (1..3).map(|src| flow(src, 0, 100_000, Time::ZERO));
    let burst = (3..6).map(|src| flow(src, 1, 60_000, Time::from_us(40)));
    let rows = run(&lab.flows(long.chain(burst).collect()));
    assert!(rows.all_finished());
    let expelled: u64 = rows.queues.iter().map(|queue| queue.evicted_packets).sum();
    assert!(expelled > 10, "{expelled}");
    let lost: u64 = rows.drops.iter().map(|row| row.packets).sum();
    assert_eq!(lost, rows.switch_losses());
}
