//! Tests that every command of `bufferlab` supports a custom policy that a program registers.

use std::fs;
use std::process::Command;
use tempfile::TempDir;

/// Scenario with queries that are too large for the buffer, so every policy loses packets.
const TINY: &str = r#"name = "tiny"
description = "Queries to three servers on one switch"
duration = "10 ms"
drain = "100 ms"

[topology]
kind = "single_switch"
hosts = 4
rate = "10 Gb/s"
delay = "10 us"

[switch]
buffer = "100 KB"
policy = { name = "root-share", share = 0.5 }

[[transport]]
congestion_control = "newreno"
initial_window = "whole"

[[workload]]
kind = "incast"
request = "150 KB"
fan_in = 3
queries_per_second_per_host = 250.0
"#;

/// An experiment that compares the custom policy with built-in policies.
const STUDY: &str = r#"title = "Queries and buffers"
figure = "own"
scenario = "../../tiny.toml"
policies = ["dt", "root-share(share=0.25)"]
[[axis]]
name = "buffer"
key = "switch.buffer"
values = ["100 KB", "200 KB"]
[metrics]
qct = "class.incast.qct_mean_ms"
[quick]
seeds = 1
[paper]
seeds = 1
[[panel]]
title = "mean QCT (ms)"
metric = "qct"
"#;

/// Creates a folder with the scenario and the experiment of the tests.
fn desk() -> TempDir {
    let desk = TempDir::new().expect("a folder");
    fs::write(desk.path().join("tiny.toml"), TINY).expect("writable");
    fs::create_dir_all(desk.path().join("own/study")).expect("writable");
    fs::write(desk.path().join("own/study/buffers.toml"), STUDY).expect("writable");
    desk
}

/// Runs the example program in the folder and returns its output. The program must succeed.
fn succeed(desk: &TempDir, args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_own-policy"));
    let output = command.args(args).current_dir(desk.path()).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {said}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn it_is_listed_and_shown_beside_the_others() {
    let desk = desk();
    let list = succeed(&desk, &["policy", "list"]);
    assert!(list.lines().any(|line| line.starts_with("root-share")), "{list}");
    assert!(list.lines().any(|line| line.starts_with("dt ")), "{list}");
    let shown = succeed(&desk, &["policy", "show", "root-share"]);
    assert!(shown.contains("share = 0.75") && shown.contains("Part of the buffer"), "{shown}");
}

#[test]
fn it_is_compared_with_parameters_and_with_the_others() {
    let desk = desk();
    let variants = ["--variants", "dt(alpha=0.5)", "root-share(share=0.25)", "root-share(share=1)"];
    let args = [&["compare", "tiny.toml", "--out", "all", "--json"], &variants[..]].concat();
    let compared: serde_json::Value = serde_json::from_str(&succeed(&desk, &args)).expect("JSON");
    assert_eq!(compared["policies"], serde_json::json!(variants[1..]));
    let metrics = compared["metrics"].as_array().expect("a list");
    let ends =
        metrics.iter().find(|row| row["metric"]["id"] == "class.incast.qct_mean_ms").expect("measured");
    let mean = |cell: usize| ends["cells"][cell]["estimate"]["mean"].as_f64().expect("a number");
    assert!((mean(1) - mean(2)).abs() > 0.01, "the parameter makes no difference: {ends:#}");
    let args = ["compare", "tiny.toml", "--policies", "dt,root-share", "--out", "names"];
    assert!(succeed(&desk, &args).contains("root-share"));
}

#[test]
fn a_run_from_before_the_program_was_built_is_made_again() {
    let desk = desk();
    let grid = ["sweep", "tiny.toml", "--vary", "switch.buffer=100 KB,200 KB", "--out", "grid"];
    let again = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_own-policy"));
        let output = command.args(grid).current_dir(desk.path()).output().expect("it starts");
        String::from_utf8(output.stderr).expect("text")
    };
    assert!(!again().contains("already"));
    assert!(again().contains("2 runs are there already"));
    let run = desk.path().join("grid/switch.buffer=100-KB/root-share/seed-1/manifest.json");
    let old =
        fs::File::options().write(true).open(&run).unwrap_or_else(|why| panic!("{}: {why}", run.display()));
    old.set_modified(std::time::UNIX_EPOCH).expect("it may be dated");
    assert!(again().contains("1 run is there already"));
}

#[test]
fn it_is_run_explained_swept_and_reproduced() {
    let desk = desk();
    succeed(&desk, &["run", "tiny.toml", "--out", "one"]);
    let manifest = fs::read_to_string(desk.path().join("one/manifest.json")).expect("readable");
    assert!(manifest.contains("\"root-share\""), "{manifest}");
    let own = succeed(&desk, &["explain", "one"]);
    assert!(own.contains("root-share: share = 0.5"), "{own}");
    // For a packet that another policy lost, the explanation has the custom policy's verdict.
    let other = succeed(&desk, &["explain", "tiny.toml", "--variant", "dt(alpha=0.5)"]);
    assert!(other.lines().any(|line| line.trim_start().starts_with("root-share ")), "{other}");
    let args = ["sweep", "tiny.toml", "--vary", "switch.policy=dt,root-share(share=1)", "--out", "grid"];
    assert!(succeed(&desk, &args).contains("root-share(share=1)"));
    let args = ["reproduce", "study/buffers", "--registry", "own", "--out", "study"];
    succeed(&desk, &args);
    let values = fs::read_to_string(desk.path().join("study/study/buffers/values.csv")).expect("readable");
    assert!(values.contains("root-share(share=0.25)"), "{values}");
}
