//! Tests that a repeated command writes the same bytes with any number of jobs,
//! from the stored scenario, and with every check enabled.

use crate::support::Desk;
use std::collections::BTreeMap;

/// All files of a folder except the file with the elapsed times.
fn results(desk: &Desk, folder: &str) -> BTreeMap<String, Vec<u8>> {
    let mut files = desk.files(folder);
    files.retain(|name, _| !name.ends_with("timing.json"));
    assert!(!files.is_empty());
    files
}

/// Compares the names of the files before their contents, because contents are hard to read
/// in a failure.
#[track_caller]
fn assert_equal(one: &BTreeMap<String, Vec<u8>>, other: &BTreeMap<String, Vec<u8>>) {
    assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
    let different: Vec<_> = one.iter().filter(|(name, content)| other[*name] != **content).collect();
    let names: Vec<_> = different.iter().map(|(name, _)| name).collect();
    assert!(names.is_empty(), "these files differ: {names:?}");
}

#[test]
fn a_comparison_leaves_the_same_bytes_at_any_number_of_jobs() {
    let desk = Desk::with_tiny();
    for (jobs, out) in [("1", "one"), ("2", "two")] {
        let (stdout, args) = {
            let args = [
                "compare",
                "tiny.toml",
                "--policies",
                "dt,abm",
                "--seeds",
                "2",
                "--jobs",
                jobs,
                "--out",
                out,
            ];
            (desk.succeed(&args), args)
        };
        assert!(stdout.contains("QCT"), "{args:?}");
    }
    let (one, two) = (results(&desk, "one"), results(&desk, "two"));
    for file in ["report.html", "comparison.csv", "dt/seed-1/flows.parquet", "abm/seed-2/manifest.json"] {
        assert!(one.contains_key(file), "{file} is compared");
    }
    assert_equal(&one, &two);
    assert_ne!(one["dt/seed-1/flows.parquet"], one["dt/seed-2/flows.parquet"], "the seed matters");
    assert_ne!(one["dt/seed-1/flows.parquet"], one["abm/seed-1/flows.parquet"], "the policy matters");
}

#[test]
fn the_scenario_in_a_result_folder_reproduces_its_tables() {
    let desk = Desk::with_scenarios();
    desk.write("tiny.toml", crate::support::TINY);
    let cases = [
        ("tiny.toml", &["--set", "switch.policy=abm", "--set", "seed=7"][..]),
        ("scenarios/star-incast.toml", &["--set", "switch.policy=cs"]),
        // The flow list of the stored scenario is in the folder of the tables.
        ("scenarios/dumbbell.toml", &[]),
    ];
    for (number, (scenario, changes)) in cases.into_iter().enumerate() {
        let (first, again) = (format!("first-{number}"), format!("again-{number}"));
        desk.succeed(&[&["run", scenario, "--out", &first], changes].concat());
        desk.succeed(&["run", &format!("{first}/scenario.toml"), "--out", &again]);
        assert_equal(&results(&desk, &first), &results(&desk, &again));
    }
    assert!(desk.path("again-2/dumbbell-flows.csv").is_file());
}

#[test]
fn verification_does_not_change_results() {
    let desk = Desk::with_tiny();
    for policy in ["switch.policy=dt", "switch.policy=abm"] {
        desk.succeed(&["run", "tiny.toml", "--set", policy, "--out", "plain", "--replace"]);
        desk.succeed(&["run", "tiny.toml", "--set", policy, "--out", "verified", "--verify", "--replace"]);
        assert_equal(&results(&desk, "plain"), &results(&desk, "verified"));
    }
}

#[test]
fn a_report_made_again_is_the_same_report() {
    let desk = Desk::with_tiny();
    desk.succeed(&["compare", "tiny.toml", "--policies", "abm,dt", "--seeds", "2", "--out", "all"]);
    let before = results(&desk, "all");
    desk.succeed(&["report", "all"]);
    assert_equal(&before, &results(&desk, "all"));
}

#[test]
fn figures_are_files_with_the_numbers_that_they_draw_the_same_each_time() {
    let desk = Desk::with_scenarios();
    let incast = "scenarios/star-incast.toml";
    desk.succeed(&["compare", incast, "--policies", "abm,dt", "--seeds", "2", "--out", "all"]);
    for (folder, style) in [("first", "paper"), ("second", "paper"), ("slides", "screen")] {
        desk.succeed(&["report", "all", "--figures", folder, "--style", style]);
    }
    let read = |folder: &str, name: &str| std::fs::read(desk.path(folder).join(name)).expect("a figure");
    let svg = |folder: &str| String::from_utf8(read(folder, "slowdown-incast-flows.svg")).expect("text");
    assert!(svg("first").contains("width=\"240pt\"") && !svg("first").contains("class=\"caption\""));
    assert!(svg("slides").contains("width=\"640\"") && svg("slides").contains("class=\"caption\""));
    let csv = String::from_utf8(read("first", "slowdown-incast-flows.csv")).expect("text");
    assert!(csv.starts_with("series,") && csv.contains("\nabm,") && csv.contains("\ndt,"), "{csv}");
    let png = read("first", "slowdown-incast-flows.png");
    // The image is 240 points wide at 600 dots per inch. Renderers round the width up or down.
    let width = u32::from_be_bytes([png[16], png[17], png[18], png[19]]);
    assert!((1_995..=2_005).contains(&width), "{width}");
    for name in ["slowdown-incast-flows.svg", "slowdown-incast-flows.png"] {
        assert!(read("first", name) == read("second", name), "{name}");
    }
}
