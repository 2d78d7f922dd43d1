//! The same command leaves the same bytes: with any number of jobs, from the stored scenario, with every check on.

use crate::support::Desk;
use std::collections::BTreeMap;

/// All files but the one that says how long it took.
fn results(desk: &Desk, folder: &str) -> BTreeMap<String, Vec<u8>> {
    let mut files = desk.files(folder);
    files.retain(|name, _| !name.ends_with("timing.json"));
    assert!(!files.is_empty());
    files
}

/// Compares names first, because contents do not print well.
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
        // Its flow list lies beside the tables.
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
