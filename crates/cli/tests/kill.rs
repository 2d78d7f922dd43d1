//! A run that is killed leaves nothing that looks like a result, harms no earlier result, and can be started again.

mod support;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};
use support::{Desk, TINY};

/// Starts a run that takes minutes, and kills it while it is writing into the hidden folder `partial`.
fn kill_in_the_middle(desk: &Desk, args: &[&str], partial: &str) {
    let mut child = desk.command(args).spawn().expect("it starts");
    let is_writing = |folder: &Path| {
        let tables = fs::read_dir(folder).map(|entries| {
            entries
                .flatten()
                .filter(|entry| entry.file_name().to_string_lossy().ends_with(".parquet"))
                .count()
        });
        tables.is_ok_and(|tables| tables >= 7)
    };
    let start = Instant::now();
    while !is_writing(&desk.path(partial)) {
        assert!(start.elapsed() < Duration::from_secs(30), "the run does not begin to write");
        assert!(child.try_wait().expect("it can be asked").is_none(), "the run is over before it was killed");
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(200));
    assert!(child.try_wait().expect("it can be asked").is_none(), "the run is over before it was killed");
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
}

const LONG: [&str; 4] = ["--set", "duration=1000 s", "--set", "drain=1 ms"];

#[test]
fn a_killed_run_leaves_no_result_and_can_be_run_again() {
    let desk = Desk::with_tiny();
    kill_in_the_middle(
        &desk,
        &[&["run", "tiny.toml", "--out", "out/first"], &LONG[..]].concat(),
        "out/.first.partial",
    );
    assert!(!desk.path("out/first").exists(), "nothing has the name of the result");
    assert!(!desk.output(&["report", "out/first"]).status.success());
    assert!(!desk.output(&["report", "out"]).status.success(), "what was left is not taken for a run");
    desk.succeed(&["run", "tiny.toml", "--out", "out/first"]);
    assert!(desk.path("out/first/manifest.json").is_file());
    let left: Vec<_> = fs::read_dir(desk.path("out")).expect("a folder").flatten().collect();
    assert_eq!(left.len(), 1, "the new run has cleared away what the killed one left: {left:?}");
}

#[test]
fn a_killed_run_leaves_the_earlier_result_as_it_was() {
    let desk = Desk::with_tiny();
    desk.succeed(&["run", "tiny.toml", "--out", "out"]);
    let before = desk.files("out");
    kill_in_the_middle(&desk, &[&["run", "tiny.toml", "--out", "out"], &LONG[..]].concat(), ".out.partial");
    assert_eq!(desk.files("out"), before);
}

#[test]
fn a_killed_comparison_keeps_its_finished_runs_and_can_be_completed() {
    let desk = Desk::with_tiny();
    desk.succeed(&["compare", "tiny.toml", "--policies", "dt", "--out", "all"]);
    let before = desk.files("all/dt");
    let policies = ["--policies", "cs", "--out", "all"];
    // Another duration would be another scenario: the flows of this one go on for long instead.
    desk.write("long.toml", &TINY.replace("\"10 ms\"", "\"1000 s\""));
    let args = [&["compare", "long.toml"], &policies[..]].concat();
    assert!(!desk.output(&args).status.success(), "a longer run is not compared with a shorter one");
    let args = [&["compare", "long.toml", "--policies", "cs"], &["--out", "long"][..]].concat();
    kill_in_the_middle(&desk, &args, "long/cs/.seed-1.partial");
    assert!(!desk.output(&["report", "long"]).status.success());
    assert_eq!(desk.files("all/dt"), before);
    desk.succeed(&[&["compare", "tiny.toml"], &policies[..]].concat());
    assert_eq!(desk.files("all/dt"), before);
}
