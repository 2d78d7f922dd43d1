//! Tests that runs of lossless networks on several threads give the rows of a run on one thread.

use crate::parts::same_on_all;
use crate::support::{Lab, Rows};
use bufferlab_scenario::{Scenario, load};
use bufferlab_sim::Simulation;
use bufferlab_units::RandomStream;
use std::path::Path;

/// Reads a scenario of the repository and applies the given changes.
fn shipped(name: &str, changes: &[(&str, &str)]) -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name);
    let changes: Vec<_> =
        changes.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    load(&path, &changes).unwrap_or_else(|error| panic!("{error}")).scenario
}

fn pauses(rows: &Rows) -> u64 {
    rows.pauses.iter().map(|row| row.received_pauses).sum()
}

#[test]
fn incasts_over_dcqcn_beside_tcp() {
    for seed in ["1", "2"] {
        let changes = [
            ("seed", seed),
            ("duration", "\"3 ms\""),
            ("drain", "\"20 ms\""),
            ("workload.1.queries_per_second_per_host", "100.0"),
        ];
        let rows = same_on_all("reverie-reduced", &shipped("reverie-reduced.toml", &changes));
        assert!(pauses(&rows) > 0 && rows.pause_spans.len() > 10, "seed {seed}: {} pauses", pauses(&rows));
    }
}

#[test]
fn records_of_packets() {
    let changes = [("output.packets", "all")];
    let rows = same_on_all("pfc-storm with packets", &shipped("pfc-storm.toml", &changes));
    assert!(rows.packets.len() > 10_000, "{} rows", rows.packets.len());
}

#[test]
fn storms_and_watchdogs_with_every_action_rule_and_counter() {
    let zero = "[{ kind = \"pause_storm\", host = \"h0\", priorities = [1], from = \"1 ms\", quanta = 1000, \
                zero_from = \"5 ms\" }]";
    let watchdog =
        |key: &'static str| move |value: &str| vec![(format!("switch.pfc.watchdog.{key}"), value.to_owned())];
    let cases = [
        Vec::new(),
        vec![("switch.pfc.watchdog.enabled".to_owned(), "false".to_owned())],
        watchdog("action")("\"forward\""),
        watchdog("action")("\"alert\""),
        watchdog("rule")("\"broadcom\""),
        [watchdog("counts")("\"frames\""), vec![("fault".to_owned(), zero.to_owned())]].concat(),
        [watchdog("counts")("\"enabled_ports\""), vec![("fault".to_owned(), zero.to_owned())]].concat(),
    ];
    for changes in cases {
        let changes: Vec<_> = changes.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let rows = same_on_all(&format!("{changes:?}"), &shipped("pfc-storm.toml", &changes));
        let has_watchdog = !changes.iter().any(|(key, _)| key.ends_with("enabled"));
        assert_eq!(!rows.storms.is_empty(), has_watchdog, "{changes:?}");
        assert!(pauses(&rows) > 0);
    }
}

/// A ring of switches with one host each.
fn ring(switches: u32) -> String {
    let host = |at| format!("{{ a = \"h{at}\", b = \"s{at}\" }}");
    let cable = |at| format!("{{ a = \"s{at}\", b = \"s{}\" }}", (at + 1) % switches);
    let links: Vec<_> = (0..switches).map(host).chain((0..switches).map(cable)).collect();
    format!(
        "kind = \"graph\"\nhosts = {switches}\nswitches = {switches}\nlinks = [{}]",
        links.join(", ").replace(" }", ", rate = \"10 Gb/s\", delay = \"1 us\" }")
    )
}

#[test]
fn routes_up_and_down_trees_have_no_circle_and_routes_in_rings_have_circles() {
    let switch = "buffer = \"9 MB\"\npolicy = { name = \"sonic-dt\", headroom = \"20 KB\" }\npfc = { priorities = [0] }";
    let reason = |topology: &str| {
        let lab = Lab::new(topology, switch, "congestion_control = \"dctcp\"");
        let scenario = lab.workloads(
            "[[workload]]\nkind = \"poisson\"\nsizes = \"1 KB\"\nload = 0.1\nload_of = \"host_links\"\n\
             pattern = \"all_to_all\"",
        );
        Simulation::new(&scenario).expect("it begins").needs_one_thread(&scenario)
    };
    let wide = "kind = \"leaf_spine\"\nleaves = 3\nhosts_per_leaf = 70\nspines = 2\nlinks_per_pair = 2\n\
                host_rate = \"10 Gb/s\"\ndelay = \"1 us\"";
    let fat_tree = "kind = \"fat_tree\"\nk = 4\nrate = \"10 Gb/s\"\ndelay = \"1 us\"";
    // Shortest paths in a triangle have one cable between switches, so no cable waits for another.
    for tree in [wide, fat_tree, &ring(3)] {
        assert_eq!(reason(tree), None, "{tree}");
    }
    for topology in [ring(4), ring(5)] {
        assert!(reason(&topology).is_some_and(|why| why.contains("circle")), "{topology}");
    }
}

#[test]
fn a_network_whose_pauses_can_wait_in_a_circle_runs_on_one_thread() {
    let scenario = shipped("deadlock.toml", &[]);
    let simulation = Simulation::new(&scenario).expect("it begins");
    let why = simulation.needs_one_thread(&scenario).expect("its routes form a circle");
    assert!(why.contains("circle"), "{why}");
    assert!(crate::parts::rows_on(1, &scenario) == crate::parts::rows_on(3, &scenario));
}

/// Draws a random element of `values`.
fn draw<'a>(stream: &mut RandomStream, values: &[&'a str]) -> &'a str {
    values[stream.below(values.len() as u64) as usize]
}

/// A random network of racks.
fn random_topology(stream: &mut RandomStream) -> String {
    let kind = draw(
        stream,
        &[
            "kind = \"leaf_spine\"\nleaves = 3\nhosts_per_leaf = 4\nspines = 2\nhost_rate = \"10 Gb/s\"",
            "kind = \"leaf_spine\"\nleaves = 4\nhosts_per_leaf = 3\nspines = 1\nlinks_per_pair = 2\n\
             host_rate = \"25 Gb/s\"",
            "kind = \"fat_tree\"\nk = 4\nrate = \"10 Gb/s\"",
            "kind = \"fat_tree\"\nk = 4\nrate = \"10 Gb/s\"\nmultipath = \"spray\"",
        ],
    );
    format!("{kind}\ndelay = \"{}\"", draw(stream, &["200 ns", "1 us", "3 us"]))
}

/// A random switch whose queue 1 is lossless.
fn random_switch(stream: &mut RandomStream) -> String {
    let policy = draw(
        stream,
        &[
            "{ name = \"sonic-dt\", headroom = \"20 KB\", alpha = 0.125 }",
            "{ name = \"sonic-dt\", headroom = \"15 KB\", headroom_pool = \"30 KB\", alpha = 0.0625 }",
            "{ name = \"sonic-dt\", headroom = \"6 KB\", alpha = 0.5 }",
            "{ name = \"reverie\", headroom = \"auto\" }",
        ],
    );
    // Broadcom's rule of the watchdog needs repeated pause frames.
    let pfc = draw(
        stream,
        &[
            "",
            "quanta = 100",
            "quanta = 1000\nwatchdog = { detection_time = \"200 us\", restoration_time = \"200 us\", \
             poll_interval = \"50 us\" }",
            "watchdog = { action = \"forward\", detection_time = \"100 us\", restoration_time = \"100 us\", \
             poll_interval = \"20 us\" }",
            "quanta = 200\nwatchdog = { rule = \"broadcom\", detection_time = \"100 us\", \
             restoration_time = \"150 us\", poll_interval = \"50 us\" }",
        ],
    );
    let frames = draw(stream, &["", "frames = \"each\"", "reaction = \"300 ns\""]);
    let hardware = draw(stream, &["", "hardware = { cut_through = \"64 B\" }"]);
    format!(
        "buffer = \"300 KB\"\nqueues_per_port = 2\npolicy = {policy}\n{hardware}\n\
         ecn = {{ kind = \"red\", kmin = \"5 KB\", kmax = \"60 KB\", pmax = 0.5 }}\n\
         [switch.pfc]\npriorities = [1]\n{pfc}\n{frames}"
    )
}

/// A random transport of the lossless traffic.
fn random_transport(stream: &mut RandomStream) -> String {
    let keys = draw(
        stream,
        &[
            "kind = \"rdma\"\ncongestion_control = \"dcqcn\"",
            "kind = \"rdma\"\ncongestion_control = \"dcqcn\"\nnotification = \"acks\"\n\
             control_priority = 1",
            "congestion_control = \"newreno\"\nmin_rto = \"1 ms\"\ninitial_rto = \"1 ms\"",
            "congestion_control = \"none\"\nrate = \"6 Gb/s\"",
        ],
    );
    format!("{keys}\ndata_priority = 1")
}

/// A random lossless network with random traffic. Two thirds of the networks have a pause storm,
/// and two thirds have packet records or samples.
fn random(seed: u64) -> Scenario {
    const TRAFFIC: &str = "\
        [[workload]]\nkind = \"poisson\"\ntransport = \"t0\"\nsizes = \"40 KB\"\nload = 0.5\n\
        load_of = \"host_links\"\npattern = \"all_to_all\"\n\
        [[workload]]\nkind = \"incast\"\ntransport = \"t0\"\nrequest = \"200 KB\"\nfan_in = 4\n\
        pattern = \"all_to_all\"\nqueries_per_second_per_host = 400.0\n\
        [[workload]]\nkind = \"poisson\"\nclass = \"lossy\"\ntransport = \"t1\"\nsizes = \"20 KB\"\n\
        load = 0.3\nload_of = \"host_links\"\npattern = \"all_to_all\"";
    let mut stream = RandomStream::new(seed, "parts", 0);
    let stream = &mut stream;
    let topology = random_topology(stream);
    let fault = draw(
        stream,
        &[
            "",
            "[[fault]]\nkind = \"pause_storm\"\nhost = \"h5\"\npriorities = [1]\nfrom = \"100 us\"\n\
             until = \"700 us\"\nquanta = 300",
            "[[fault]]\nkind = \"pause_storm\"\nhost = \"h1\"\npriorities = [1]\nfrom = \"50 us\"\n\
             zero_from = \"500 us\"\nquanta = 100",
        ],
    );
    let sampled = if topology.contains("leaf") { "leaf2" } else { "edge1_1" };
    let samples =
        format!("[output]\nsample_interval = \"7 us\"\nsample_switch = \"{sampled}\"\ndelays = true");
    let output = draw(stream, &["", "[output]\npackets = \"all\"", &samples]);
    // In a quarter of the runs, an early time limit ends the run.
    let drain = if seed.is_multiple_of(4) { "300 us" } else { "400 ms" };
    Lab::new(&topology, &random_switch(stream), &random_transport(stream))
        .transport("congestion_control = \"cubic\"\nmin_rto = \"1 ms\"\ninitial_rto = \"1 ms\"")
        .more(&format!("{fault}\n{output}"))
        .seed(seed)
        .times("600 us", drain)
        .workloads(TRAFFIC)
}

#[test]
fn random_networks() {
    let (mut all, mut lossless_losses, mut storms, mut ended) = (0, 0, 0, 0);
    for seed in 0..40 {
        let rows = same_on_all(&format!("random network {seed}"), &random(seed));
        all += pauses(&rows);
        lossless_losses += rows.pauses.iter().map(|row| row.lost_lossless_packets).sum::<u64>();
        storms += rows.storms.len();
        ended += u64::from(rows.all_finished());
    }
    assert!(
        all > 1_000 && lossless_losses > 0 && storms > 0 && ended > 10,
        "{all} {lossless_losses} {storms} {ended}"
    );
}
