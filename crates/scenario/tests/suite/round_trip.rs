//! The resolved text of a scenario loads to an equal scenario.

use crate::common::{assert_round_trip, owned, reload, shipped, shipped_with};
use bufferlab_core::POLICIES;
use bufferlab_scenario::load_text;
use std::path::Path;

#[test]
fn every_shipped_scenario_loads_without_warnings_and_survives_the_round_trip() {
    let paths = shipped();
    assert!(paths.len() >= 5);
    for path in paths {
        let file = path.file_name().expect("a file").to_string_lossy().into_owned();
        let loaded = shipped_with(&file, &[]);
        assert!(loaded.warnings.is_empty(), "{file}: {:?}", loaded.warnings);
        assert_eq!(format!("{}.toml", loaded.scenario.name), file);
        assert_round_trip(&loaded);
        // Defaults in the resolved text cause no new warnings.
        let again = reload(&loaded);
        assert!(again.warnings.is_empty(), "{file}: {:?}", again.warnings);
    }
}

#[test]
fn every_policy_survives_the_round_trip_with_all_of_its_parameters() {
    for info in POLICIES {
        for profile in ["paper", "artifact"] {
            let loaded =
                shipped_with("abm-reduced.toml", &[("switch.policy", info.name), ("profile", profile)]);
            let spec = &loaded.scenario.switches[0];
            assert_eq!(spec.policy, info.name);
            // The resolved text omits an empty list of profiles.
            let said = info.params.iter().filter(|param| param.name != "profiles").count();
            assert_eq!(spec.policy_params.len(), said);
            assert_round_trip(&loaded);
        }
    }
}

#[test]
fn what_the_shipped_scenarios_leave_out_survives_the_round_trip_too() {
    let text = r#"
        description = "every \"odd\" corner\nof the format \\ µ"
        profile = "artifact"
        seed = 7
        duration = "1.5 ms"
        drain = "0 s"
        topology = { kind = "graph", multipath = "spray", hosts = ["client", "server", "third"], switches = 3, links = [
            { a = "client", b = "s0", rate = "10Gbps", delay = "17.28 µs" },
            { a = "s1", b = "server", rate = "0.995 Gb/s", delay = "0 s" },
            { a = "third", b = "s1", rate = "10 Gb/s", delay = "1 ps" },
            { a = "s0", b = "s1", rate = "40 Gb/s", delay = "1 us", count = 2 },
            { a = "s2", b = "s1", rate = "40 Gb/s", delay = "1 us" },
        ], change = [
            { link = "s1-s0/1", rate_ab = "1 Gb/s", delay = "2 us" },
            { link = "s0-s1/0", down = ["1 ms", "2 ms", "3 ms", "4 ms"] },
        ] }
        switch_override = [
            { switches = ["s1", "s2"], ecn = { kind = "none" }, scheduler = "strict_priority" },
            { switches = "*2", policy = { alpha = [1, "1/3", 0.1] }, buffer_per_port_per_gbps = "3.44 KB" },
        ]
        [switch]
        buffer = "1 MiB"
        queues_per_port = 3
        uncharged_bytes = "18 B"
        policy = { name = "dynamic-threshold", alpha = "1/2" }
        scheduler = [
            { queues = [2] },
            { queues = [0, 1], discipline = "deficit_round_robin", quanta = ["3 KB", "1500 B"] },
        ]
        ecn = { kind = "red", kmin = "100 KB", kmax = "400 KB", pmax = 0.2, scope = "port", at = "dequeue", priorities = [1, 2] }
        [[transport]]
        congestion_control = { name = "dctcp", gain = 0.1 }
        ecn_capable = true
        data_priority = 2
        control_max_payload_bytes = "16 B"
        [[transport]]
        name = "plain"
        congestion_control = "newreno"
        handshake = false
        ack_every = 2
        [host]
        nic = "fifo"
        [[workload]]
        kind = "poisson"
        sizes = "12345 B"
        load = "1/3"
        load_of = "host_links"
        transport = "plain"
        [[workload]]
        kind = "incast"
        request_fraction_of_buffer = 0.1
        fan_in = 2
        queries_per_second_per_host = 3
        pattern = "all_to_all"
        persistent = false
        transport = "dctcp"
        [output]
        sample_interval = "1 us"
        sample_switch = "s2"
        base_rtt = "80 us"
    "#;
    let loaded = load_text(Path::new("odd.toml"), text, &owned(&[]))
        .unwrap_or_else(|error| panic!("{}", crate::common::render(&error)));
    assert_eq!(loaded.scenario.name, "odd");
    assert_round_trip(&loaded);
    insta::assert_snapshot!("resolved", loaded.resolved);
}

#[test]
fn every_congestion_control_survives_the_round_trip_in_either_profile() {
    for profile in ["paper", "artifact"] {
        let mut text = format!(
            r#"
            profile = "{profile}"
            duration = "1 s"
            topology = {{ kind = "single_switch", hosts = 6, rate = "10 Gb/s", delay = "1 us" }}
            [switch]
            buffer = "1 MB"
            policy = "dt"
            queues_per_port = 8
            ecn = {{ kind = "step", threshold = "90 KB" }}
            "#
        );
        for info in bufferlab_transport::CONGESTION_CONTROLS {
            let control = info.name;
            let carriers = [("tcp", !info.rdma_only), ("rdma", info.owns_window)];
            for (kind, _) in carriers.into_iter().filter(|(_, fits)| *fits) {
                let name = if kind == "tcp" { control.to_owned() } else { format!("{control}-{kind}") };
                text += &format!(
                    "[[transport]]\nname = \"{name}\"\nkind = \"{kind}\"\ncongestion_control = \"{control}\"\n[[workload]]\n\
                     kind = \"poisson\"\nclass = \"{name}\"\ntransport = \"{name}\"\nsizes = \"1 KB\"\nload = 0.02\n"
                );
            }
        }
        text += r#"
            [[transport]]
            name = "odd"
            congestion_control = { name = "timely", low = "15 us", increment = "7 Mb/s" }
            initial_window = "bdp"
            base_rtt = "12 us"
            data_priorities = [1, 2, 2]
            pias_thresholds = ["10 KB", "1 MB"]
            small_bytes = "100 KB"
            [[transport]]
            name = "odd-rdma"
            kind = "rdma"
            congestion_control = { name = "dcqcn", parameters = "mellanox", min_rate = "50 Mb/s" }
            recovery = "selective-repeat"
            window_limit = "bdp"
            base_rtt = "12 us"
            retransmission_timeout = "320 us"
            nack_interval = "7 us"
            notification = "frames"
            notification_interval = "4 us"
            ack_every = 8
            strict_pace = true
            completion = "receiver"
            ideal_header_bytes = "48 B"
            [[workload]]
            kind = "poisson"
            class = "odd-rdma"
            transport = "odd-rdma"
            sizes = "1 KB"
            load = 0.1
            [[workload]]
            kind = "poisson"
            transport = "odd"
            sizes = "1 KB"
            load = 0.1
        "#;
        let loaded = load_text(Path::new("controls.toml"), &text, &owned(&[]))
            .unwrap_or_else(|error| panic!("{}", crate::common::render(&error)));
        // The paper's thresholds of TIMELY are for networks with longer round trips.
        let is_expected = |key: &str| profile == "paper" && key.ends_with(".congestion_control.low");
        assert!(loaded.warnings.iter().all(|warning| is_expected(warning.key())), "{:?}", loaded.warnings);
        assert_round_trip(&loaded);
        insta::assert_snapshot!(format!("resolved_controls_{profile}"), loaded.resolved);
    }
}

#[test]
fn open_loop_traffic_survives_the_round_trip() {
    let text = r#"
        duration = "1 s"
        topology = { kind = "single_switch", hosts = 6, rate = "1 Gb/s", uplink_rate = "100 Gb/s", delay = "0 s" }
        switch = { buffer = "1 MB", policy = "dt" }
        transport = [
            { name = "burst", congestion_control = "none", rate = "8 Gb/s" },
            { name = "steady", congestion_control = "none", rate = "0.2 Gb/s", spacing = "poisson", segment_bytes = "1446 B" },
            { congestion_control = "newreno" },
        ]
        [[workload]]
        kind = "on_off"
        class = "pairs"
        transport = "burst"
        pairs = [["h0", "h1"], ["h2", "h1"]]
        on_time = "250 us"
        off_time = "19.75 ms"
        off_distribution = "pareto"
        pareto_shape = 1.9
        others = [{ class = "long", transport = "steady", share = 0.1, on_time = "100 ms", on_distribution = "fixed" }]
        [[workload]]
        kind = "on_off"
        class = "anywhere"
        transport = "burst"
        on_time = "250 us"
        on_distribution = "fixed"
        off_time = "1 ms"
        [[workload]]
        kind = "bursts"
        transport = "steady"
        bursts = [
            { src = "h4", dst = "h5", start = "150 ms", duration = "1 ms" },
            { src = "h4", dst = "h5", start = "100 ms", size = "1 MB" },
            { src = "h3", dst = "h5", start = "0 s" },
        ]
        [[workload]]
        kind = "bursts"
        class = "tcp"
        transport = "newreno"
        bursts = [{ src = "h4", dst = "h5", start = "150 ms", size = "1 MB" }]
        [output]
        sample_interval = "1 us"
        sample_from = "149 ms"
        sample_until = "152 ms"
        sample_ports = [5, 1]
    "#;
    let loaded = load_text(Path::new("open.toml"), text, &owned(&[]))
        .unwrap_or_else(|error| panic!("{}", crate::common::render(&error)));
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
    assert_round_trip(&loaded);
    insta::assert_snapshot!("resolved_open_loop", loaded.resolved);
}

/// Formats a dumbbell with the given keys of `[switch]`, and of an override of one switch.
fn overridden(switch: &str, of: &str, over: &str) -> String {
    format!(
        r#"
        name = "overridden"
        duration = "1 ms"
        topology = {{ kind = "dumbbell", hosts_per_side = 2, host_rate = "10 Gb/s", bottleneck_rate = "10 Gb/s", delay = "1 us" }}
        [switch]
        buffer = "1 MB"
        queues_per_port = 4
        {switch}
        [[switch_override]]
        switches = "{of}"
        {over}
        [[transport]]
        congestion_control = "newreno"
        [[workload]]
        kind = "poisson"
        sizes = "10 KB"
        load = 0.1
        load_of = "host_links"
        pattern = "all_to_all"
        "#
    )
}

/// Keys that the test sets for a switch, for an override, or for both.
const SAYINGS: [&str; 17] = [
    "",
    "hardware = { slices = 1 }",
    "hardware = { family = \"trident3\", cell = \"208 B\" }",
    "hardware = { slice_by = \"ingress\", packet_overhead = \"48 B\", resume_below = \"pause-point\" }",
    "hardware = { slices = 2, cut_through = \"100 B\" }",
    "hardware = { port_limit = \"300 KB\", uncharged_priorities = [1] }",
    "hardware = { threshold_refresh = \"3 us\" }",
    "pfc = { priorities = [3] }",
    "pfc = { priorities = [3], ports = [0], quanta = 400, watchdog = { detection_time = \"1 ms\" } }",
    "pfc = { enabled = false, priorities = [2] }",
    "classifier = { name = \"elephant-trap\", short_queue = 0 }",
    "classifier = \"priority\"",
    "ecn = { kind = \"step\", threshold = \"30 KB\" }",
    "ecn = { kind = \"red\", kmin = \"10 KB\", kmax = \"40 KB\", pmax = 0.1 }",
    "buffer_per_port_per_gbps = \"40 KB\"",
    "scheduler = \"strict_priority\"",
    "uncharged_bytes = \"14 B\"",
];

/// Policies that the test sets for a switch or an override.
const POLICIES_SAID: [&str; 4] = [
    "policy = { name = \"sonic-dt\", headroom = \"10 KB\" }",
    "policy = { name = \"sonic-dt\", headroom = \"auto\" }",
    "policy = { name = \"sonic-dt\", headroom = \"10 KB\", profiles = [{ priorities = [3], dynamic_th = 1 }] }",
    "policy = { name = \"dt\", alpha = 2 }",
];

#[test]
fn what_one_switch_has_and_another_has_not_survives_the_round_trip() {
    let mut loadable = 0;
    for of in ["left", "right", "*"] {
        for (of_switch, of_override) in
            (0..SAYINGS.len()).flat_map(|a| (0..SAYINGS.len()).map(move |b| (a, b)))
        {
            let [switch, over] = [SAYINGS[of_switch], SAYINGS[of_override]];
            let (switch_policy, override_policy) = (
                POLICIES_SAID[of_switch % 3],
                if of_override % 2 == 0 { "" } else { POLICIES_SAID[of_override % 4] },
            );
            // A scenario may have only one of the two keys for the buffer.
            let buffer = switch.replace("buffer_per_port_per_gbps = \"40 KB\"", "");
            let text =
                overridden(&format!("{switch_policy}\n{buffer}"), of, &format!("{override_policy}\n{over}"));
            // The loader refuses invalid combinations; other tests check these combinations.
            if let Ok(loaded) = load_text(Path::new("overridden.toml"), &text, &owned(&[])) {
                loadable += 1;
                assert_round_trip(&loaded);
            }
        }
    }
    assert!(loadable > 300, "only {loadable} combinations could be loaded");
}
