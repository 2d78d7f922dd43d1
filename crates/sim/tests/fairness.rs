//! Who gets how much when several want the same?

mod support;

use bufferlab_units::Time;
use support::{Lab, flow, run, star};

/// Hosts that start at the same picosecond towards one port. The first arrival goes on the wire at once, the second into the
/// buffer, which has room for one packet; all others are lost and never sent again.
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
