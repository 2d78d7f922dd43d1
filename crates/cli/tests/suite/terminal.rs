//! Tests with snapshots of the whole terminal for every command.

use crate::support::{Desk, text};

macro_rules! shows {
    ($desk:expr, $name:literal, $($arg:expr),+) => {
        insta::with_settings!({ omit_expression => true }, {
            insta::assert_snapshot!($name, $desk.terminal(&[$($arg),+]))
        })
    };
}

#[test]
fn help_names_every_command_and_the_first_thing_to_type() {
    let desk = Desk::new();
    shows!(desk, "help", "--help");
    shows!(desk, "run_help", "run", "--help");
    shows!(desk, "compare_help", "compare", "--help");
    // If the command line has no command, help goes to stderr and the exit code reports a
    // wrong command line.
    let bare = desk.output(&[]);
    assert_eq!((bare.status.code(), bare.stdout.len()), (Some(2), 0));
    assert!(text(&bare.stderr).starts_with("A laboratory"));
}

#[test]
fn policies_are_listed_and_described_from_the_registry() {
    let desk = Desk::new();
    shows!(desk, "policy_list", "policy", "list");
    shows!(desk, "policy_show_dt", "policy", "show", "dt");
    shows!(desk, "policy_show_abm", "policy", "show", "abm");
    shows!(desk, "policy_show_nonsense", "policy", "show", "nonsense");
    assert_eq!(
        desk.succeed(&["policy", "show", "Dynamic-Threshold"]),
        desk.succeed(&["policy", "show", "dt"]),
        "aliases and capitals are understood"
    );
}

#[test]
fn check_says_what_would_run() {
    let desk = Desk::with_scenarios();
    shows!(desk, "check_star_incast", "check", "scenarios/star-incast.toml");
    shows!(desk, "check_abm_reduced", "check", "scenarios/abm-reduced.toml");
    shows!(desk, "check_dumbbell_changed", "check", "scenarios/dumbbell.toml", "--set", "duration=20 ms");
    shows!(desk, "check_resolved", "check", "--resolved", "scenarios/star-incast.toml");
}

#[test]
fn check_writes_nothing() {
    let desk = Desk::with_tiny();
    desk.succeed(&["check", "tiny.toml"]);
    assert_eq!(desk.files("").len(), 1);
}

#[test]
fn run_compare_and_report_print_a_summary_and_name_their_folder() {
    let desk = Desk::with_tiny();
    shows!(desk, "run", "run", "tiny.toml");
    shows!(desk, "run_seeds", "run", "tiny.toml", "--seeds", "2", "--set", "switch.policy=cs");
    shows!(desk, "compare", "compare", "tiny.toml", "--policies", "dt,cs,abm", "--seeds", "2");
    shows!(desk, "report_run", "report", "results/tiny");
    shows!(desk, "report_comparison", "report", "results/tiny-compare");
}

#[test]
fn a_comparison_says_which_switches_it_does_not_change() {
    let desk = Desk::with_scenarios();
    let part =
        "extends = \"scenarios/dumbbell.toml\"\n[[switch_override]]\nswitches = \"right\"\npolicy = \"cp\"\n";
    desk.write("part.toml", part);
    desk.write("all.toml", &part.replace("right", "*"));
    let shown = desk.succeed(&["compare", "part.toml", "--policies", "dt,cs"]);
    let caveat = shown.lines().find(|line| line.contains("1 of 2 switches (right)"));
    assert!(caveat.is_some(), "{shown}");
    shows!(desk, "compare_without_effect", "compare", "all.toml", "--policies", "dt,cs");
}

#[test]
fn a_run_leaves_its_tables_and_nothing_else() {
    let desk = Desk::with_tiny();
    desk.succeed(&["run", "tiny.toml", "--out", "first"]);
    let names: Vec<_> = desk.files("first").into_keys().collect();
    insta::assert_snapshot!("files_of_a_run", names.join("\n"));
    assert_eq!(desk.files("").len(), names.len() + 1);
}

#[test]
fn a_suspicious_scenario_runs_with_a_warning_before_the_numbers() {
    let desk = Desk::with_tiny();
    shows!(desk, "warning", "check", "tiny.toml", "--set", "transport.0.congestion_control=dctcp");
}

#[test]
fn the_schema_is_json_for_editors() {
    let schema = Desk::new().succeed(&["schema"]);
    serde_json::from_str::<serde_json::Value>(&schema).expect("it is JSON");
    let start: Vec<_> = schema.lines().take(8).collect();
    insta::assert_snapshot!("schema_start", start.join("\n"));
}

#[test]
fn bench_prints_counts_and_speed() {
    let desk = Desk::with_tiny();
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"[0-9.]+ M packet-hops", "[RATE] M packet-hops");
    settings.add_filter(r"fastest [0-9.]+", "fastest [RATE]");
    settings.add_filter(r"[0-9.]+ s of CPU", "[TIME] s of CPU");
    settings.add_filter(
        r"built in [0-9.]+ s(; [0-9]+ MB resident at most)?",
        "built in [TIME] s; [N] MB resident at most",
    );
    settings.bind(|| shows!(desk, "bench", "bench", "tiny.toml", "--runs", "2"));
    assert_eq!(desk.files("").len(), 1, "bench writes nothing");
}

#[test]
fn a_loss_is_explained_with_its_limit_the_holders_and_what_others_would_have_done() {
    let desk = Desk::with_scenarios();
    let scenario = "scenarios/hardware.toml";
    shows!(desk, "explain", "explain", scenario, "--after", "8 ms", "--port", "0");
    shows!(
        desk,
        "explain_eviction",
        "explain",
        scenario,
        "--set",
        "switch.policy=lqd",
        "--event",
        "eviction"
    );
    shows!(desk, "explain_nothing", "explain", "scenarios/hardware-cut-through.toml");
    shows!(desk, "explain_no_such_switch", "explain", scenario, "--switch", "leaf0");
    desk.succeed(&["run", scenario, "--set", "output.explain_losses=1", "--out", "out"]);
    let report = std::fs::read_to_string(desk.path("out/report.html")).expect("a report");
    assert!(report.contains("Explained losses"));
    assert_eq!(
        desk.succeed(&["explain", "out"]),
        desk.succeed(&["explain", scenario]),
        "a run is explained by its folder"
    );
}

#[test]
fn a_pause_is_explained_by_its_ingress_queue_and_nothing_lossless_is_lost() {
    let desk = Desk::with_scenarios();
    shows!(desk, "explain_pause", "explain", "scenarios/lossless.toml", "--event", "pause");
    let losses = desk.output(&["explain", "scenarios/lossless.toml", "--event", "loss"]);
    assert!(!text(&losses.stdout).contains("(lossless)"), "{}", text(&losses.stdout));
}
