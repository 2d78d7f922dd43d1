//! Tests of the choice among several paths for each packet or flow.

use crate::support::{Lab, Rows, chi_square, flow, run, run_fast};
use bufferlab_metrics::LinkRow;
use bufferlab_units::Time;
use bufferlab_workload::FlowSpec;

const SWITCH: &str = "buffer = \"10 MB\"\npolicy = \"cs\"";
const TRANSPORT: &str = "congestion_control = \"newreno\"\nhandshake = false";

/// Topology of two racks of two hosts, two spines, and four parallel cables for each link.
fn fabric(multipath: &str) -> Lab {
    let topology = format!(
        "kind = \"leaf_spine\"\nleaves = 2\nhosts_per_leaf = 2\nspines = 2\nlinks_per_pair = 4\nhost_rate = \"10 Gb/s\"\n\
         delay = \"1 us\"\nmultipath = \"{multipath}\""
    );
    Lab::new(&topology, SWITCH, TRANSPORT)
}

fn fat_tree(multipath: &str) -> Lab {
    let topology = format!(
        "kind = \"fat_tree\"\nk = 4\nrate = \"10 Gb/s\"\ndelay = \"1 us\"\nmultipath = \"{multipath}\""
    );
    Lab::new(&topology, SWITCH, TRANSPORT)
}

/// Number of packets over each of the links that `select` accepts.
fn packets(rows: &Rows, select: impl Fn(&LinkRow) -> bool) -> Vec<u64> {
    rows.links.iter().filter(|link| select(link)).map(|link| link.tx_packets).collect()
}

/// Lists `count` flows of one packet each, one after the other.
fn single_packets(count: u64, src: u32, dst: u32) -> Vec<FlowSpec> {
    (0..count).map(|n| flow(src, dst, 1_000, Time::from_us(4 * n))).collect()
}

/// Checks each value of Pearson's statistic, and the mean of many values.
/// The expected mean is `cells − 1` and the variance is twice this mean.
fn assert_even(statistics: &[f64], cells: f64, what: &str) {
    let (mean, deviation) = (cells - 1.0, (2.0 * (cells - 1.0)).sqrt());
    let largest = statistics.iter().copied().fold(0.0, f64::max);
    assert!(largest < mean + 6.0 * deviation, "{what}: {statistics:?}");
    let average = statistics.iter().sum::<f64>() / statistics.len() as f64;
    let error = deviation / (statistics.len() as f64).sqrt();
    assert!((average - mean).abs() < 4.0 * error, "{what}: {average:.2}, expected {mean} ± {error:.2}");
}

#[test]
fn flows_spread_evenly_over_parallel_cables_and_over_both_tiers() {
    let (mut up, mut down, mut cores, mut back) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for seed in 0..40 {
        let rows = run_fast(&fabric("ecmp").seed(seed).flows(single_packets(800, 0, 2)));
        assert!(rows.all_finished());
        let from_leaf0 = packets(&rows, |link| link.from == "leaf0" && link.role == "up");
        let to_leaf1 = packets(&rows, |link| link.to == "leaf1" && link.role == "down");
        let acknowledgements = packets(&rows, |link| link.from == "leaf1" && link.role == "up");
        assert_eq!((from_leaf0.len(), from_leaf0.iter().sum::<u64>()), (8, 800));
        up.push(chi_square(&from_leaf0));
        down.push(chi_square(&to_leaf1));
        back.push(chi_square(&acknowledgements));
        let rows = run_fast(&fat_tree("ecmp").seed(seed).flows(single_packets(800, 0, 15)));
        // The choices of the edge switch and of the aggregation switch together select the core
        // switch. If edge and aggregation switches used the same bits of the hash, two core
        // switches would be idle.
        cores.push(chi_square(&packets(&rows, |link| link.from.starts_with("agg0_") && link.role == "up")));
    }
    assert_even(&up, 8.0, "leaf to spines");
    assert_even(&down, 8.0, "spines to leaf");
    assert_even(&back, 8.0, "acknowledgements");
    assert_even(&cores, 4.0, "cores of a fat tree");
}

#[test]
fn all_packets_of_a_flow_take_one_path_per_direction() {
    let mut paths = std::collections::BTreeSet::new();
    for seed in 0..60 {
        let rows = run(&fat_tree("ecmp").seed(seed).flows(vec![flow(0, 13, 200_000, Time::ZERO)]));
        assert_eq!(rows.flow(0).retransmitted_packets, 0, "one path keeps the order");
        let data = rows.flow(0).sent_packets;
        assert_eq!(
            packets(&rows, |_| true).iter().filter(|&&count| count > 0).count(),
            12,
            "six hops each way"
        );
        for link in rows.links.iter().filter(|link| link.tx_packets > 0) {
            assert_eq!(link.tx_packets, data, "{} to {}", link.from, link.to);
        }
        let core = |to: &str| {
            let used = rows
                .links
                .iter()
                .find(|link| link.from.starts_with("core") && link.to.starts_with(to) && link.tx_packets > 0);
            used.expect("a core is passed").from.clone()
        };
        paths.insert((core("agg3_"), core("agg0_")));
    }
    assert_eq!(paths.len(), 16, "both directions choose among all four cores, independently: {paths:?}");
}

#[test]
fn sprayed_packets_of_one_flow_use_all_paths_evenly() {
    let mut statistics = Vec::new();
    for seed in 0..20 {
        let rows = run_fast(&fabric("spray").seed(seed).flows(vec![flow(0, 2, 1_400_000, Time::ZERO)]));
        assert!(rows.all_finished());
        assert_eq!(rows.flow(0).retransmitted_packets, 0, "empty paths of one length keep the order");
        statistics.push(chi_square(&packets(&rows, |link| link.from == "leaf0" && link.role == "up")));
        let acknowledgements = packets(&rows, |link| link.from == "leaf1" && link.role == "up");
        assert!(acknowledgements.iter().all(|&count| count > 60), "{acknowledgements:?}");
        let down = packets(&rows, |link| link.to == "leaf1" && link.role == "down");
        assert!(down.iter().all(|&count| count > 60), "{down:?}");
    }
    assert_even(&statistics, 8.0, "sprayed data");
}

#[test]
fn explicit_paths_are_honoured_hop_by_hop_in_both_directions() {
    for multipath in ["ecmp", "spray"] {
        for (up, down) in [(0, 0), (3, 1), (4, 2), (7, 3), (13, 6)] {
            let mut chosen = flow(0, 2, 50_000, Time::ZERO);
            chosen.data_path = Some(up | down << 8);
            chosen.ack_path = Some((7 - up % 8) | (3 - down % 4) << 8);
            let rows = run(&fabric(multipath).flows(vec![chosen]));
            let count = rows.flow(0).sent_packets;
            // Leaf 0 numbers spine 0's cables first. Each spine has four cables to leaf 1.
            // Choices are taken modulo the number of paths.
            let expect = |from_leaf: &str, to_leaf: &str, up: u32, down: u32| {
                let spine = format!("spine{}", up / 4);
                let cables = |from: &str, to: &str, used: u32| {
                    let counts: Vec<_> =
                        rows.links_between(from, to).iter().map(|link| link.tx_packets).collect();
                    let expected: Vec<_> =
                        (0..4).map(|cable| if cable == used { count } else { 0 }).collect();
                    assert_eq!(counts, expected, "{multipath}, {up}/{down}: {from} to {to}");
                };
                cables(from_leaf, &spine, up % 4);
                cables(&spine, to_leaf, down);
            };
            expect("leaf0", "leaf1", up % 8, down % 4);
            expect("leaf1", "leaf0", 7 - up % 8, 3 - down % 4);
        }
    }
}

#[test]
fn every_pair_of_hosts_of_a_fat_tree_is_connected_and_every_link_is_used() {
    for multipath in ["ecmp", "spray"] {
        let pairs = (0..16).flat_map(|src| (0..16).filter(move |&dst| dst != src).map(move |dst| (src, dst)));
        let flows = pairs.zip(0..).map(|((src, dst), n)| flow(src, dst, 6_000, Time::from_us(n))).collect();
        let rows = run(&fat_tree(multipath).flows(flows));
        assert_eq!((rows.flows.len(), rows.all_finished()), (240, true));
        assert_eq!(rows.links.len(), 96);
        assert!(rows.links.iter().all(|link| link.tx_packets > 0), "{multipath}: every link is used");
        // The numbers are hops on shortest paths between hosts of one rack, of one pod,
        // and of two pods.
        let per_direction: u64 = rows
            .flows
            .iter()
            .map(|flow| {
                match (flow.src_host / 2 == flow.dst_host / 2, flow.src_host / 4 == flow.dst_host / 4) {
                    (true, _) => 2 * flow.sent_packets,
                    (false, true) => 4 * flow.sent_packets,
                    (false, false) => 6 * flow.sent_packets,
                }
            })
            .sum();
        assert_eq!(rows.totals.packet_hops, 2 * per_direction, "{multipath}");
    }
}
