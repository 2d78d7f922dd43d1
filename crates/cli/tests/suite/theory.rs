//! Tests of the calculators' output: each derivation as a snapshot, and each refusal with the valid
//! range and a hint.

use crate::support::{Desk, text};

macro_rules! shows {
    ($desk:expr, $name:expr, $args:expr) => {
        insta::with_settings!({ omit_expression => true }, {
            insta::assert_snapshot!($name, $desk.terminal(&[&["theory"], &$args[..]].concat()))
        })
    };
}

#[test]
fn every_calculator_shows_its_derivation_and_then_the_answer() {
    let desk = Desk::new();
    shows!(desk, "help", ["--help"]);
    shows!(desk, "burst_tolerance_help", ["burst-tolerance", "--help"]);
    shows!(desk, "alpha", ["alpha", "--burst-rate", "50 Gb/s", "--burst", "1 MB"]);
    shows!(desk, "shares", ["shares", "--buffer", "16 MB", "--alpha", "0.125", "--share", "0.25"]);
    shows!(desk, "guarantees", ["guarantees", "--alphas", "0.5,20", "--gamma", "0.25"]);
    shows!(desk, "drain_time", ["drain-time", "--alphas", "20,0.5", "--rate", "25 Gb/s"]);
    shows!(desk, "ecn", ["ecn", "--buffer", "192 KB", "--burst", "100 KB"]);
    shows!(desk, "headroom", ["headroom"]);
    shows!(desk, "headroom_400g", ["headroom", "--rate", "400 Gb/s", "--lanes", "8", "--cable", "50 m"]);
    shows!(desk, "chips", ["chips", "--ports", "40", "--buffer", "3.84 MB"]);
    shows!(desk, "tdt_parameters", ["tdt-parameters", "--buffer", "1 MB", "--ports", "16"]);
}

/// Compares two buffers in simulations of an incast. The calculated buffer loses no packet, and a
/// buffer that is a few percent smaller loses packets.
#[test]
fn the_buffer_for_a_burst_is_what_a_simulated_incast_needs() {
    let desk = Desk::new();
    let args = ["burst", "--burst", "4 MB", "--fan-in", "32", "--port-rate", "100 Gb/s", "--policy", "dt"];
    shows!(desk, "burst", [&args[..], &["--alpha", "1"]].concat());
    shows!(desk, "burst_largest", ["burst", "--buffer", "64 MB", "--fan-in", "32", "--congested", "4"]);
    let sender =
        |host| format!("  {{ src = \"h{host}\", dst = \"h16\", start = \"0 ms\", size = \"86800 B\" }},\n");
    let senders: String = (0..16).map(sender).collect();
    for (policy, alpha, share) in [("dt", 1.0, 2.0), ("dt", 0.5, 3.0), ("ideal", 1.0, 1.0)] {
        // Sixteen senders send 62 packets of 1,454 B each on the wire. The receiver's port sends
        // 1/16 of the burst meanwhile, so the switch must store 15/16.
        let burst: u64 = 16 * 62 * 1_454;
        let size = format!("{burst} B");
        let alpha = alpha.to_string();
        let asked = ["--burst", &size, "--fan-in", "16", "--policy", policy, "--alpha", &alpha, "--json"];
        let text = desk.succeed(&[&["theory", "burst"], &asked[..]].concat());
        let answer: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let answers = answer["answers"].as_array().expect("a list");
        let needed = answers.iter().find(|found| found["name"] == "buffer needed").expect("it is answered");
        let needed = needed["value"].as_f64().expect("a number");
        let expected = burst as f64 * 15.0 / 16.0 * share;
        assert!((needed / expected - 1.0).abs() < 1e-6, "{needed}, {expected}");
        let lost = |buffer: f64| {
            let policy = if policy == "ideal" { "cs".to_owned() } else { format!("dt(alpha={alpha})") };
            let buffer = format!("buffer = \"{} B\"\npolicy = \"{policy}\"", buffer as u64);
            desk.write("incast.toml", &INCAST.replace("BUFFER", &buffer).replace("SENDERS", &senders));
            let text = desk.succeed(&["run", "incast.toml", "--json", "--out", "incast", "--replace"]);
            let results: serde_json::Value = serde_json::from_str(&text).expect("JSON");
            let metrics = results["metrics"].as_array().expect("a list");
            let is_lost = |row: &&serde_json::Value| row["metric"]["id"] == "switches.lost_percent";
            let lost = metrics.iter().find(is_lost).expect("it is there");
            lost["cells"][0]["values"][0].as_f64().expect("a number")
        };
        // Tolerance of the calculated buffer: three packets, times the buffer that the switch needs
        // for each byte of the burst.
        let slack = 3.0 * 1_454.0 * share;
        assert_eq!(lost(needed + slack), 0.0, "{policy} {alpha}");
        assert!(lost(needed - 4.0 * slack) > 0.0, "{policy} {alpha}");
    }
}

/// One query to sixteen servers, whose answers come at line rate.
const INCAST: &str = r#"name = "incast"
duration = "1 ms"
drain = "50 ms"

[topology]
kind = "single_switch"
hosts = 17
rate = "10 Gb/s"
delay = "1 us"

[switch]
BUFFER

[[transport]]
congestion_control = "newreno"
initial_window = "whole"

[[workload]]
kind = "bursts"
class = "answers"
bursts = [
SENDERS]
"#;

#[test]
fn burst_tolerance_is_compared_or_derived_for_a_policy() {
    let desk = Desk::new();
    let switch = ["burst-tolerance", "--ports", "32", "--queues", "8", "--congested", "4"];
    shows!(desk, "burst_tolerance", switch);
    for policy in ["dt", "abm", "plasticine", "edt", "tdt", "losspass", "ideal"] {
        let args = [&switch[..], &["--policy", policy]].concat();
        shows!(desk, format!("burst_tolerance_{policy}"), args);
    }
    let busy = ["--policy", "abm", "--congested-queues", "3", "--queues-beside-burst", "1"];
    shows!(desk, "burst_tolerance_busy_port", [&switch[..], &busy].concat());
    let same =
        ["--congested-queues", "8", "--priorities", "4", "--same-priority", "--queues-beside-burst", "4"];
    shows!(desk, "burst_tolerance_same_priority", [&switch[..], &same].concat());
}

#[test]
fn what_the_theory_does_not_cover_is_refused_with_the_valid_range_and_a_hint() {
    let desk = Desk::new();
    let cases: [(&str, i32, &[&str]); 12] = [
        ("refused_slow_burst", 1, &["burst-tolerance", "--burst-rate", "5 Gb/s"]),
        ("refused_congested", 1, &["burst-tolerance", "--congested", "40"]),
        ("refused_no_buffer", 1, &["burst-tolerance", "--buffer", "0 B"]),
        ("refused_negative_alpha", 1, &["burst-tolerance", "--alpha", "-1"]),
        ("refused_tau", 1, &["burst-tolerance", "--tau", "1.2"]),
        ("refused_large_burst", 1, &["alpha", "--burst-rate", "50 Gb/s", "--burst", "9 MB"]),
        ("refused_long_burst", 1, &["alpha", "--burst-rate", "50 Gb/s", "--duration", "2 ms"]),
        ("refused_share", 1, &["shares", "--share", "1"]),
        ("refused_gamma", 1, &["guarantees", "--gamma", "0"]),
        ("refused_ecn_burst", 1, &["ecn", "--buffer", "100 KB", "--burst", "100 KB"]),
        ("refused_percentage", 1, &["headroom", "--small-packets", "120"]),
        ("refused_unit", 2, &["ecn", "--rtt", "5"]),
    ];
    for (name, code, args) in cases {
        let typed = [&["theory"], args].concat();
        let output = desk.output(&typed);
        assert_eq!(output.status.code(), Some(code), "{}", desk.terminal(&typed));
        assert!(output.stdout.is_empty(), "errors are no data");
        let shown = text(&output.stderr);
        assert!(shown.contains("expected") && shown.contains("--help"), "{shown}");
        shows!(desk, name, args);
    }
}

#[test]
fn every_figure_has_points_and_a_page() {
    let desk = Desk::new();
    shows!(desk, "figures", ["figure"]);
    shows!(desk, "figure_unknown", ["figure", "abm-6"]);
    let names = desk.succeed(&["theory", "figure"]);
    for name in names.lines().filter_map(|line| line.split_whitespace().next()) {
        let points = desk.succeed(&["theory", "figure", name]);
        assert!(points.starts_with("panel,line,x,y\n") && points.lines().count() > 5, "{name}: {points}");
        desk.succeed(&["theory", "figure", name, "--out", "figure.html"]);
        let page = std::fs::read_to_string(desk.path("figure.html")).expect("a page");
        assert!(page.contains("<svg") && page.ends_with("</html>"), "{name}");
    }
}

#[test]
fn an_answer_is_replayed_by_packets() {
    let desk = Desk::new();
    let text = desk.succeed(&["theory", "drain-time", "--alphas", "0.5,2", "--verify"]);
    let (answer, replay) = text.split_once("packets: ").expect("both");
    assert!(answer.contains("drain time 1") && replay.contains("drain time 1, beside all others"), "{text}");
    assert!(replay.contains("holds") && !replay.contains("DIFFERS") && replay.contains("bound: "), "{text}");
    let chips = desk.succeed(&["theory", "chips", "--verify"]);
    assert!(chips.contains("not replayed: published figures"), "{chips}");
}
