//! Tests of scenarios that the program contains.

use crate::support::{Desk, text};

#[test]
fn a_shipped_scenario_runs_by_its_name_and_a_file_of_this_name_comes_first() {
    let desk = Desk::new();
    desk.succeed(&["run", "star-incast", "--set", "duration=1 ms", "--out", "by-name"]);
    let star = format!("{}/star-incast.toml", crate::support::SCENARIOS);
    desk.succeed(&["run", &star, "--set", "duration=1 ms", "--out", "by-path"]);
    let without_time = |folder: &str| {
        let mut files = desk.files(folder);
        files.retain(|name, _| name != "timing.json" && name != "report.html");
        files
    };
    assert!(without_time("by-name") == without_time("by-path"));
    // A scenario that extends another scenario, and one that reads a flow list.
    desk.succeed(&["check", "abm-buffers"]);
    desk.succeed(&["check", "dumbbell"]);
    desk.write("first", "duration = 3");
    let output = desk.output(&["check", "first"]);
    assert!(!output.status.success() && text(&output.stderr).contains("duration"));
}

#[test]
fn a_scenario_that_needs_files_of_the_repository_is_not_shipped() {
    let output = Desk::new().output(&["check", "artifact-incast"]);
    assert!(text(&output.stderr).contains("cannot read artifact-incast"), "{}", text(&output.stderr));
}
