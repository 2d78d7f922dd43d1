//! Tests of the files that commands preserve in a folder: results of another scenario, and
//! checksums of written files.

use crate::support::{Desk, text};
use std::fs;

#[test]
fn a_run_does_not_replace_the_results_of_another_scenario_unless_told_to() {
    let desk = Desk::with_tiny();
    desk.succeed(&["run", "tiny.toml", "--out", "mine"]);
    let first = desk.files("mine");
    // A repeated run may replace the results of the scenario in the folder.
    desk.succeed(&["run", "tiny.toml", "--out", "mine"]);
    let other = ["run", "tiny.toml", "--set", "switch.policy=cs", "--out", "mine"];
    let output = desk.output(&other);
    assert_eq!(output.status.code(), Some(1));
    let mut after = desk.files("mine");
    assert_eq!(after.remove("manifest.json"), first.get("manifest.json").cloned(), "nothing was touched");
    insta::with_settings!({ omit_expression => true }, {
        insta::assert_snapshot!("another_scenario_lies_there", desk.terminal(&other));
    });
    desk.succeed(&[&other[..], &["--replace"]].concat());
    assert!(fs::read_to_string(desk.path("mine/scenario.toml")).expect("readable").contains("\"cs\""));
}

#[test]
fn seeds_of_another_scenario_are_kept_too() {
    let desk = Desk::with_tiny();
    desk.succeed(&["run", "tiny.toml", "--seeds", "2", "--out", "mine"]);
    let other = ["run", "tiny.toml", "--seeds", "2", "--set", "switch.policy=cs", "--out", "mine"];
    let output = desk.output(&other);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("mine holds runs of another scenario"), "{}", text(&output.stderr));
    desk.succeed(&[&other[..], &["--replace"]].concat());
}

#[test]
fn verify_says_what_is_damaged_or_missing_and_so_does_the_report() {
    let desk = Desk::with_tiny();
    desk.succeed(&["compare", "tiny.toml", "--policies", "dt,cs", "--seeds", "2", "--out", "mine"]);
    let all = desk.succeed(&["verify", "mine"]);
    assert!(all.starts_with("mine: 4 runs, ") && all.ends_with(", all as written\n"), "{all}");
    fs::remove_dir_all(desk.path("mine/cs/seed-2")).expect("removable");
    let report = desk.succeed(&["report", "mine"]);
    assert!(report.ends_with("report.html\n"), "{report}");
    let comparison = fs::read_to_string(desk.path("mine/comparison.json")).expect("readable");
    assert!(comparison.contains("1 of 4 runs have no result: cs/seed-2."), "{comparison}");
    let table = desk.path("mine/dt/seed-1/drops.parquet");
    let mut bytes = fs::read(&table).expect("readable");
    bytes[20] ^= 4;
    fs::write(&table, bytes).expect("writable");
    insta::with_settings!({ omit_expression => true }, {
        insta::assert_snapshot!("verify_finds_damage", desk.terminal(&["verify", "mine"]));
        insta::assert_snapshot!("a_report_of_damaged_tables", desk.terminal(&["report", "mine"]));
    });
    // Repeating the command that made the folder repairs the damaged run, and does not change
    // intact files.
    let whole = desk.files("mine/dt/seed-2");
    desk.succeed(&["compare", "tiny.toml", "--policies", "dt,cs", "--seeds", "2", "--out", "mine"]);
    desk.succeed(&["verify", "mine"]);
    assert_eq!(desk.files("mine/dt/seed-2"), whole);
}

#[test]
fn a_comparison_runs_only_what_is_missing_or_was_made_for_another_baseline() {
    let desk = Desk::with_tiny();
    let compare = |more: &[&str]| {
        let output = desk.output(&[&["compare", "tiny.toml", "--out", "all"], more].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    let longer = "longer: dt + duration=20 ms";
    assert!(!compare(&["--seeds", "1", "--variants", "dt", longer]).contains("already"));
    assert!(compare(&["--seeds", "1", "--variants", "dt", longer]).contains("2 runs are there already"));
    assert!(compare(&["--seeds", "2", "--variants", "dt", longer]).contains("2 runs are there already"));
    // The program compares other variants with the baseline variant. So the baseline must not have
    // the caveat that its traffic differs.
    let manifest = |run: &str| fs::read_to_string(desk.path(run).join("manifest.json")).expect("readable");
    assert!(manifest("all/longer/seed-1").contains("other-traffic"));
    let said = compare(&["--seeds", "2", "--variants", longer, "dt"]);
    assert!(said.contains("2 runs are there already"), "{said}");
    assert!(!manifest("all/longer/seed-1").contains("other-traffic"));
    // The program does not reuse results of another version, and only a run checks invariants.
    assert!(!compare(&["--seeds", "1", "--variants", longer, "dt", "--verify"]).contains("already"));
    let path = desk.path("all/dt/seed-1/manifest.json");
    let older =
        manifest("all/dt/seed-1").replace("\"bufferlab_version\": \"0.", "\"bufferlab_version\": \"0.0.");
    fs::write(path, older).expect("writable");
    assert!(compare(&["--seeds", "1", "--variants", longer, "dt"]).contains("1 run is there already"));
}

#[test]
fn a_comparison_has_five_seeds_unless_told_otherwise() {
    let desk = Desk::with_tiny();
    let seeds = |more: &[&str]| {
        desk.succeed(&[&["compare", "tiny.toml", "--policies", "dt", "--out", "all"], more].concat());
        let text = fs::read_to_string(desk.path("all/comparison.json")).expect("readable");
        let comparison: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        comparison["seeds"].as_array().expect("a list").len()
    };
    assert_eq!(seeds(&[]), 5);
    assert_eq!(seeds(&["--replace", "--seeds", "7"]), 7);
}

#[test]
fn a_run_with_several_seeds_runs_only_those_that_are_missing() {
    let desk = Desk::with_tiny();
    let run = |more: &[&str]| {
        let output = desk.output(&[&["run", "tiny.toml", "--out", "all"], more].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    assert!(!run(&["--seeds", "2"]).contains("already"));
    let before = desk.files("all/seed-1");
    assert!(run(&["--seeds", "3"]).contains("2 runs are there already"));
    assert_eq!(desk.files("all/seed-1"), before, "not even the time that it took is another one");
    fs::write(desk.path("all/seed-2/flows.parquet"), "other bytes").expect("writable");
    assert!(run(&["--seeds", "3"]).contains("2 runs are there already"), "what is damaged runs again");
    desk.succeed(&["verify", "all"]);
    // Finished runs are not reused with `--verify`, because only a run checks invariants.
    assert!(!run(&["--seeds", "3", "--verify"]).contains("already"));
}

#[test]
fn a_run_with_fewer_seeds_shows_only_those_and_mentions_the_others() {
    let desk = Desk::with_tiny();
    let run = |more: &[&str]| {
        let output = desk.output(&[&["run", "tiny.toml", "--out", "all"], more].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        (text(&output.stdout), text(&output.stderr))
    };
    assert!(!run(&["--seeds", "3"]).1.contains("not shown"));
    let (shown, said) = run(&["--seeds", "2"]);
    assert!(shown.contains("Mean over 2 seeds"), "{shown}");
    let notice = "1 other run of this scenario is in the folder, and not shown: dt (1)";
    assert!(said.contains(&format!("{notice}; --with-earlier shows them\n")), "{said}");
    let (shown, said) = run(&["--seeds", "2", "--with-earlier"]);
    assert!(shown.contains("Mean over 3 seeds") && !said.contains("not shown"), "{shown}{said}");
}

#[test]
fn seeds_are_added_until_the_interval_is_narrow_and_the_report_says_so() {
    let desk = Desk::with_tiny();
    let until = |percent: &str| {
        desk.output(&[
            "compare",
            "tiny.toml",
            "--policies",
            "dt,cs",
            "--seeds",
            "20",
            "--until-interval",
            percent,
            "--out",
            "mine",
        ])
    };
    // No interval of random traffic is as narrow as a millionth of the mean, so all seeds are
    // needed.
    let strict = until("0.0001%");
    let said = text(&strict.stderr).clone();
    assert!(strict.status.success(), "{said}");
    assert!(said.contains("\n5 seeds: ") || said.starts_with("5 seeds: "), "{said}");
    assert!(said.contains("20 seeds: "), "{said}");
    let comparison = fs::read_to_string(desk.path("mine/comparison.json")).expect("readable");
    assert!(
        comparison.contains("seeds-by-interval") && comparison.contains("was not reached"),
        "{comparison}"
    );
    assert_eq!(fs::read_dir(desk.path("mine/dt")).expect("readable").count(), 20);
    // At a limit of 100000 %, the first interim check is the last check. The check reads only five
    // of the 20 seeds.
    let whole = desk.files("mine/dt/seed-3");
    let wide = until("100000%");
    let said = text(&wide.stderr).clone();
    assert!(wide.status.success() && said.matches(" seeds: ").count() == 1, "{said}");
    assert!(fs::read_to_string(desk.path("mine/comparison.json")).expect("readable").contains("was reached"));
    assert!(said.contains("not shown: cs (15), dt (15)"), "{said}");
    assert_eq!(desk.files("mine/dt/seed-3"), whole, "nothing ran again");
    let mistaken =
        desk.output(&["compare", "tiny.toml", "--policies", "dt", "--until-interval", "5%", "--out", "one"]);
    assert!(text(&mistaken.stderr).contains("there is one scheme"), "{}", text(&mistaken.stderr));
}
