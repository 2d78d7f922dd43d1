//! Tests that the output of `--json` follows the published schemas and agrees with the files.

use crate::support::{Desk, text};
use serde_json::Value;
use std::fs;

/// An all-reduce of four hosts at one switch.
const RING: &str = r#"
name = "ring"
duration = "2 ms"
[topology]
kind = "single_switch"
hosts = 4
rate = "10 Gb/s"
delay = "1 us"
[switch]
buffer = "1 MB"
policy = "dt"
[[transport]]
congestion_control = "newreno"
[[workload]]
kind = "collective"
operation = "all_reduce"
size = "100 KB"
"#;

/// Output of a command that satisfies a published schema.
fn printed(desk: &Desk, command: &[&str], schema: &str) -> Value {
    let output = desk.output(command);
    assert!(output.status.success(), "{command:?}: {}", text(&output.stderr));
    by_schema(desk, &output.stdout, schema)
}

/// Checks output of a command against a published schema.
pub(crate) fn by_schema(desk: &Desk, printed: &[u8], schema: &str) -> Value {
    let value: Value = serde_json::from_slice(printed)
        .unwrap_or_else(|error| panic!("{schema}: {error}: {}", text(printed)));
    let version = if schema == "comparison" { 2 } else { 1 };
    let schema = desk.output(&["schema", schema]);
    let schema: Value = serde_json::from_slice(&schema.stdout).expect("a schema is JSON");
    let validator = jsonschema::validator_for(&schema).unwrap_or_else(|error| panic!("{error}"));
    let wrong: Vec<String> =
        validator.iter_errors(&value).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(value["format_version"], version);
    // If the schema accepted every value, the test would check nothing.
    assert!(!validator.is_valid(&Value::Array(Vec::new())));
    value
}

#[test]
fn comparisons_are_printed_as_they_are_kept() {
    let desk = Desk::with_tiny();
    let compared = printed(
        &desk,
        &["compare", "tiny.toml", "--policies", "dt,cs", "--seeds", "2", "--out", "both", "--json"],
        "comparison",
    );
    let kept = fs::read_to_string(desk.path("both/comparison.json")).expect("written");
    assert_eq!(compared, serde_json::from_str::<Value>(&kept).expect("JSON"));
    assert_eq!(compared["policies"], serde_json::json!(["dt", "cs"]));
    assert_eq!(compared, printed(&desk, &["report", "both", "--json"], "comparison"));
    let before = desk.files("both");
    let steady = printed(&desk, &["report", "both", "--steady", "--json"], "comparison");
    assert_eq!(
        (&steady["policies"], desk.files("both")),
        (&compared["policies"], before),
        "nothing is written"
    );
    let single = printed(&desk, &["run", "tiny.toml", "--out", "one", "--json"], "comparison");
    let metrics = single["metrics"].as_array().expect("a list");
    assert!(metrics.iter().any(|row| row["cells"][0]["estimate"]["mean"].is_number()), "{metrics:#?}");
}

#[test]
fn sweeps_explanations_and_policies_keep_to_their_schemas() {
    let desk = Desk::with_tiny();
    let vary = "switch.buffer=100 KB,200 KB";
    let swept = printed(
        &desk,
        &["sweep", "tiny.toml", "--vary", vary, "--policies", "dt,cs", "--out", "grid", "--json"],
        "sweep",
    );
    assert_eq!(swept["points"].as_array().map(Vec::len), Some(2));
    assert_eq!(swept["points"][1]["at"]["switch.buffer"], "200 KB");
    let kept = fs::read_to_string(desk.path("grid/sweep.json")).expect("written");
    assert_eq!(swept, serde_json::from_str::<Value>(&kept).expect("JSON"));
    let explained = printed(&desk, &["explain", "tiny.toml", "--json"], "explanations");
    assert_eq!(explained["explanations"][0]["event"], "drop");
    fs::write(desk.path("ring.toml"), RING).expect("written");
    let path = printed(&desk, &["explain", "ring.toml", "--critical-path", "--json"], "critical-paths");
    assert_eq!(path["critical_paths"][0]["steps"][0]["kind"], "transfer");
    let listed = printed(&desk, &["policy", "list", "--json"], "policies");
    let names = listed["policies"].as_array().expect("a list").len();
    let shown = printed(&desk, &["policy", "show", "tdt", "--json"], "policies");
    assert!(names >= 25 && shown["policies"][0]["parameters"].as_array().is_some_and(|list| list.len() > 5));
}

#[test]
fn checks_verifications_derivations_and_verdicts_keep_to_their_schemas() {
    let desk = Desk::with_tiny();
    let checked = printed(&desk, &["check", "tiny.toml", "--json"], "check");
    assert_eq!((checked["hosts"].as_u64(), &checked["policies"]), (Some(4), &serde_json::json!(["dt"])));
    assert!(checked["needs_one_thread"].as_str().is_some_and(|why| why.contains("one rack")), "{checked:#}");
    let resolved = checked["resolved"].as_str().expect("a scenario");
    desk.write("resolved.toml", resolved);
    assert_eq!(desk.succeed(&["check", "resolved.toml", "--resolved"]), resolved, "it can be run again");

    desk.succeed(&["run", "tiny.toml", "--out", "one"]);
    let whole = printed(&desk, &["verify", "one", "--json"], "verify");
    assert_eq!(
        (whole["folders"][0]["runs"].as_u64(), &whole["folders"][0]["problems"]),
        (Some(1), &serde_json::json!([]))
    );
    fs::write(desk.path("one/flows.parquet"), "other bytes").expect("writable");
    let damaged = desk.output(&["verify", "one", "--json"]);
    assert_eq!(damaged.status.code(), Some(1));
    let damaged: Value = serde_json::from_slice(&damaged.stdout).expect("JSON all the same");
    assert!(damaged["folders"][0]["problems"][0]["problem"].is_string(), "{damaged:#}");

    let shares = ["theory", "shares", "--alpha", "1", "--queues", "3", "--buffer", "4 MB", "--json"];
    let derived = printed(&desk, &shares, "theory");
    assert!(derived["answers"].as_array().is_some_and(|answers| !answers.is_empty()), "{derived:#}");
    assert!(derived["steps"][0]["formula"].is_string());
}

#[test]
fn a_measurement_of_speed_keeps_to_its_schema() {
    let desk = Desk::with_tiny();
    let measured = printed(&desk, &["bench", "tiny.toml", "--runs", "3", "--json"], "bench");
    let seconds: Vec<f64> =
        measured["seconds"].as_array().expect("a list").iter().filter_map(Value::as_f64).collect();
    assert!(seconds.len() == 3 && seconds.is_sorted(), "{measured:#}");
    let rate = measured["packet_hops"].as_f64().expect("a number") / seconds[1];
    assert!((measured["packet_hops_per_second"].as_f64().expect("a number") / rate - 1.0).abs() < 1e-9);
    assert_eq!((measured["hosts"].as_u64(), &measured["clock"]), (Some(4), &serde_json::json!("cpu")));
}

#[test]
fn what_is_said_of_real_packets_keeps_to_its_schemas() {
    let desk = Desk::with_tiny();
    desk.write(
        "switch.toml",
        r#"
[switch]
buffer = "20 KB"
policy = "dt"
[[port]]
interface = "a"
rate = "1 Gb/s"
[[port]]
interface = "b"
rate = "1 Gb/s"
"#,
    );
    let compared = printed(&desk, &["switch", "switch.toml", "--synthetic", "3000", "--json"], "parity");
    assert_eq!((compared["packets"].as_u64(), compared["differences"].as_u64()), (Some(3000), Some(0)));
    let lost = ["dropped", "evicted", "sent"].map(|what| compared[what].as_u64().expect("a number"));
    assert!(lost[0] > 0 && lost.iter().sum::<u64>() == 3000, "{compared:#}");
    // The output is valid JSON of the schema even if this machine cannot run the testbed.
    let checked = desk.output(&["testbed", "check", "--json"]);
    let found = by_schema(&desk, &checked.stdout, "testbed-check");
    assert_eq!(found["can_run"], checked.status.success(), "{found:#}");
    assert!(found["findings"].as_array().is_some_and(|all| all.len() > 5), "{found:#}");
}

#[test]
fn a_study_of_ones_own_prints_its_verdicts_by_the_schema() {
    let desk = Desk::with_tiny();
    desk.write(
        "own/study/buffers.toml",
        r#"
title = "Queries and buffers"
figure = "own"
scenario = "../../tiny.toml"
policies = ["dt", "cs"]
[[axis]]
name = "buffer"
key = "switch.buffer"
values = ["50 KB", "100 KB"]
[metrics]
qct = "class.incast.qct_mean_ms"
[quick]
seeds = 3
[paper]
seeds = 3
[[panel]]
title = "mean QCT (ms)"
metric = "qct"
[[claim]]
id = "OWN-1"
statement = "Complete sharing ends queries sooner than DT."
effect = 'lower(v("qct", "cs", "50 KB"), v("qct", "dt", "50 KB"))'
at_least = 0.0
neutral = 0.0
"#,
    );
    let study = ["reproduce", "study/buffers", "--registry", "own", "--out", "study", "--json"];
    let judged = printed(&desk, &study, "reproduce");
    let experiment = &judged["experiments"][0];
    assert_eq!(
        (&experiment["id"], experiment["runs"].as_u64()),
        (&serde_json::json!("study/buffers"), Some(12))
    );
    let statement = &experiment["statements"][0];
    assert_eq!(statement["id"], "OWN-1", "{judged:#}");
    assert!(statement["effects"][0]["mean"].is_number() && statement["verdict"].is_string(), "{judged:#}");
}
