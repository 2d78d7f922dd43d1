//! What happens when links fail, come back, or are slower than the others?

mod support;

use bufferlab_units::Time;
use support::{Lab, flow, run, star};

const TRANSPORT: &str = "congestion_control = \"newreno\"\nmin_rto = \"1 ms\"\ninitial_rto = \"1 ms\"";

#[test]
fn a_network_may_be_idle_for_longer_than_the_calendar_counts() {
    // 44 bits of picoseconds are 17.6 s.
    let lab = Lab::new(&star(2, "10 Gb/s", "1 us"), "buffer = \"100 KB\"\npolicy = \"cs\"", TRANSPORT);
    let flows = [0, 20, 61, 100].map(|second| flow(0, 1, 5_000, Time::from_ms(1_000 * second)));
    let rows = run(&lab.times("120 s", "1 s").flows(flows.to_vec()));
    let times: Vec<_> = rows.flows.iter().map(|flow| flow.fct_ns).collect();
    assert!(times[0].is_some() && times.iter().all(|&fct| fct == times[0]), "{times:?}");
}
