//! Tests that `new` writes files that run without changes, and that `new` overwrites no file.

use crate::support::{Desk, text};
use std::fs;
use std::path::Path;
use std::process::Command;

const CHECKOUT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The command that the output suggests after `next: bufferlab`.
fn next(stderr: &[u8]) -> Vec<String> {
    let said = text(stderr);
    let line = said.lines().find_map(|line| line.strip_prefix("next: bufferlab ")).expect("a next command");
    line.split(' ').map(str::to_owned).collect()
}

/// Writes files with `new`, then runs the suggested next command with the arguments `more`.
fn write_and_run(desk: &Desk, args: &[&str], more: &[&str]) -> String {
    let output = desk.output(args);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let next = next(&output.stderr);
    let next: Vec<&str> = next.iter().map(String::as_str).chain(more.iter().copied()).collect();
    desk.succeed(&next)
}

#[test]
fn new_scenarios_run_at_once_without_a_warning() {
    let desk = Desk::new();
    for (name, topology) in [("mine", "single_switch"), ("racks/fabric", "leaf_spine")] {
        let shown = write_and_run(
            &desk,
            &["new", "scenario", name, "--topology", topology],
            &["--set", "duration=10ms"],
        );
        assert!(shown.contains("queries"), "{shown}");
        let checked = desk.output(&["check", &format!("{name}.toml")]);
        assert!(checked.status.success() && checked.stderr.is_empty(), "{}", text(&checked.stderr));
        assert!(text(&checked.stdout).contains(topology));
    }
    assert!(desk.path("results/fabric/report.html").is_file(), "results have the scenario's name");
}

#[test]
fn a_new_study_runs_at_once_and_judges_its_statement() {
    let desk = Desk::new();
    let shown = write_and_run(&desk, &["new", "study", "studies/depth"], &["--seeds", "1"]);
    assert!(shown.contains("depth-1") && shown.contains("250 KB"), "{shown}");
    assert!(!shown.contains("NOT-RUN"), "{shown}");
    assert!(desk.path("results/depth/depth/buffers/values.csv").is_file());
}

#[test]
fn nothing_is_overwritten() {
    let desk = Desk::new();
    desk.write("mine.toml", "precious");
    desk.write("mine/notes", "precious");
    for what in ["scenario", "study", "policy"] {
        let output = desk.output(&["new", what, "mine"]);
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stderr).contains("exists already"), "{}", text(&output.stderr));
    }
    assert_eq!(fs::read_to_string(desk.path("mine.toml")).expect("readable"), "precious");
    assert_eq!(desk.files("mine").len(), 1);
}

#[test]
fn names_that_cannot_work_are_refused_before_anything_is_written() {
    let desk = Desk::new();
    for (name, code, why) in [
        ("Mine", 2, "lower-case letters"),
        ("mine.toml", 2, "without an ending"),
        ("", 2, "value"),
        ("dt", 1, "there is a policy \"dt\" already"),
        ("match", 1, "a word of Rust"),
        ("policy", 1, "a word of Rust"),
    ] {
        let output = desk.output(&["new", "policy", name]);
        assert_eq!(output.status.code(), Some(code), "{name}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(why), "{name}: {}", text(&output.stderr));
    }
    let output = desk.output(&["new", "policy", "mine", "--checkout", "."]);
    assert!(text(&output.stderr).contains("no checkout of bufferlab"), "{}", text(&output.stderr));
    assert!(desk.files(".").is_empty());
}

/// The test takes a minute after a change of the engine, because another workspace compiles the
/// engine again. Other libraries come from this workspace's target folder.
#[test]
fn the_crate_of_a_new_policy_compiles_outside_of_the_checkout() {
    let desk = Desk::new();
    let output = desk.output(&["new", "policy", "fair-share", "--checkout", CHECKOUT]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("next: cd fair-share && cargo test"), "{}", text(&output.stderr));
    for (path, content) in desk.files("fair-share") {
        let content = text(&content);
        let content = content.to_lowercase();
        for word in ["root-share", "rootshare", "own_policy", "own-policy"] {
            assert!(path == "Cargo.lock" || !content.contains(word), "{path}: {word}");
        }
    }
    let target =
        Path::new(env!("CARGO_BIN_EXE_bufferlab")).ancestors().nth(2).expect("target/debug/bufferlab");
    let mut cargo = Command::new(env!("CARGO"));
    let checked = cargo
        .args(["check", "--offline", "--all-targets", "--target-dir"])
        .arg(target)
        .current_dir(desk.path("fair-share"))
        .output()
        .expect("cargo starts");
    assert!(checked.status.success(), "{}", text(&checked.stderr));
}
