//! Tests of the whole terminal after typical mistakes: the place, the mistake, the expected value,
//! and the hint.

use crate::support::{Desk, TINY};

/// A folder with a scenario that differs from the tiny scenario in one place.
fn scenario_with(from: &str, to: &str) -> Desk {
    assert_eq!(TINY.matches(from).count(), 1, "{from:?} stands once in the scenario");
    let desk = Desk::new();
    desk.write("tiny.toml", &TINY.replace(from, to));
    desk
}

/// Output of a refused command, which is on stderr. The exit code is 1 for a mistake in a file,
/// and 2 for a mistake in the command line.
fn refused(desk: &Desk, exit_code: i32, args: &[&str]) -> String {
    let output = desk.output(args);
    assert_eq!(output.status.code(), Some(exit_code), "{}", desk.terminal(args));
    assert!(output.stdout.is_empty(), "errors are no data");
    desk.terminal(args)
}

/// Output for a mistake in the scenario. The output names file, line and key, and gives a hint.
fn mistake_in_file(desk: &Desk, key: &str, place: &str) -> String {
    let shown = refused(desk, 1, &["run", "tiny.toml"]);
    assert!(shown.contains(&format!("× {key}: ")), "the key {key} is named:\n{shown}");
    assert!(shown.contains(&format!("[{place}:")), "the place {place} is named:\n{shown}");
    assert!(shown.contains("help: "), "there is a hint:\n{shown}");
    assert!(!desk.path("results").exists(), "nothing was begun");
    shown
}

macro_rules! snapshot {
    ($name:expr, $shown:expr) => {
        insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!($name, $shown) })
    };
}

#[test]
fn mistakes_in_a_scenario_are_shown_in_their_line() {
    let cases = [
        ("unknown_key", "buffer = \"200 KB\"", "bufer = \"200 KB\"", "switch.bufer", "tiny.toml:14"),
        ("misspelled_policy", "name = \"dt\"", "name = \"td\"", "switch.policy", "tiny.toml:15"),
        ("alpha_zero", "alpha = 1", "alpha = 0", "switch.policy.alpha", "tiny.toml:15"),
        ("unit_missing", "\"10 us\"", "10", "topology.delay", "tiny.toml:11"),
        ("negative_rate", "\"10 Gb/s\"", "\"-10 Gb/s\"", "topology.rate", "tiny.toml:10"),
        ("buffer_smaller_than_packet", "\"200 KB\"", "\"1 KB\"", "switch.buffer", "tiny.toml:14"),
    ];
    for (name, from, to, key, place) in cases {
        let shown = mistake_in_file(&scenario_with(from, to), key, place);
        snapshot!(name, shown);
    }
}

/// Creates a folder with the tiny scenario, whose workload is replaced.
fn with_workload(keys: &str) -> Desk {
    let start = TINY.find("[[workload]]").expect("it has a workload");
    let end = TINY.find("[output]").expect("it has an output");
    let desk = Desk::new();
    desk.write("tiny.toml", &format!("{}[[workload]]\n{keys}\n\n{}", &TINY[..start], &TINY[end..]));
    desk
}

#[test]
fn a_load_above_one_is_refused() {
    let desk =
        with_workload("kind = \"poisson\"\nsizes = \"web_search\"\nload = 40\nload_of = \"host_links\"");
    let shown = mistake_in_file(&desk, "workload.0.load", "tiny.toml:24");
    snapshot!("load_above_one", shown);
}

#[test]
fn flow_lists_are_checked_before_the_run() {
    let desk = with_workload("kind = \"flow_list\"\nfile = \"flows.csv\"");
    let shown = mistake_in_file(&desk, "workload.0.file", "tiny.toml:23");
    snapshot!("missing_flow_list", shown);
    desk.write("flows.csv", "src,dst,size_bytes,start_ns\nh0,h1,1000,0\nh0,h7,1000,5\n");
    let shown = mistake_in_file(&desk, "workload.0.file", "flows.csv:3");
    snapshot!("unknown_host_in_flow_list", shown);
}

#[test]
fn scenarios_that_extend_each_other_are_shown_as_a_circle() {
    let desk = Desk::new();
    desk.write("tiny.toml", "extends = \"base.toml\"\n");
    desk.write("base.toml", "extends = \"tiny.toml\"\n");
    let shown = mistake_in_file(&desk, "extends", "base.toml:1");
    snapshot!("cyclic_extends", shown);
}

#[test]
fn a_host_without_a_cable_is_named_with_the_line_to_add() {
    let star = "kind = \"single_switch\"\nhosts = 4\nrate = \"10 Gb/s\"\ndelay = \"10 us\"";
    let cables = ["a", "b", "c"]
        .map(|host| format!("  {{ a = \"{host}\", b = \"s\", rate = \"10 Gb/s\", delay = \"1 us\" }},\n"));
    let graph = format!(
        "kind = \"graph\"\nhosts = [\"a\", \"b\", \"c\", \"d\"]\nswitches = [\"s\"]\nlinks = [\n{}]",
        cables.concat()
    );
    let shown = mistake_in_file(&scenario_with(star, &graph), "topology.hosts", "tiny.toml:9");
    snapshot!("host_without_link", shown);
}

#[test]
fn a_missing_scenario_is_answered_with_a_file_that_is_there() {
    let desk = Desk::with_tiny();
    snapshot!("missing_scenario_near", refused(&desk, 1, &["run", "tiyn.toml"]));
    snapshot!("missing_scenario", refused(&desk, 1, &["run", "elsewhere/scenario.toml"]));
}

#[test]
fn changes_on_the_command_line_are_shown_as_they_were_typed() {
    let desk = Desk::with_tiny();
    snapshot!(
        "set_misspelled_policy",
        refused(&desk, 1, &["run", "tiny.toml", "--set", "switch.policy=adm"])
    );
    snapshot!("set_unknown_key", refused(&desk, 1, &["run", "tiny.toml", "--set", "switch.bufer=1 MB"]));
    snapshot!("set_without_unit", refused(&desk, 1, &["check", "tiny.toml", "--set", "duration=10"]));
    snapshot!("set_without_equals", refused(&desk, 2, &["run", "tiny.toml", "--set", "switch.policy"]));
}

#[test]
fn a_command_line_that_makes_no_sense_is_answered_at_once() {
    let desk = Desk::with_tiny();
    snapshot!("unknown_command", refused(&desk, 2, &["comprae", "tiny.toml"]));
    snapshot!("no_scenario", refused(&desk, 2, &["run"]));
    snapshot!("seeds_zero", refused(&desk, 2, &["run", "tiny.toml", "--seeds", "0"]));
    snapshot!("seeds_negative", refused(&desk, 2, &["run", "tiny.toml", "--seeds", "-3"]));
    snapshot!("jobs_as_word", refused(&desk, 2, &["run", "tiny.toml", "--jobs", "all"]));
}

#[test]
fn policies_to_compare_are_checked_before_anything_runs() {
    let desk = Desk::with_tiny();
    let compare =
        |policies: &str, code: i32| refused(&desk, code, &["compare", "tiny.toml", "--policies", policies]);
    snapshot!("policies_misspelled", compare("dt,adm", 2));
    snapshot!("policies_named_twice", compare("dt,cs,dynamic-threshold", 1));
    snapshot!("policies_empty", compare(",", 2));
    assert_eq!(desk.files("").len(), 1, "nothing was begun");
}

#[test]
fn a_file_in_the_way_of_the_results_is_named() {
    let desk = Desk::with_tiny();
    desk.write("taken", "by a file");
    snapshot!("out_is_a_file", refused(&desk, 1, &["run", "tiny.toml", "--out", "taken"]));
    snapshot!("out_below_a_file", refused(&desk, 1, &["run", "tiny.toml", "--out", "taken/by/results"]));
    snapshot!(
        "compare_out_below_a_file",
        refused(&desk, 1, &["compare", "tiny.toml", "--out", "taken/by/results"])
    );
    assert_eq!(desk.files("").len(), 2, "nothing was left behind");
}

#[test]
fn other_peoples_files_are_never_touched() {
    let desk = Desk::with_tiny();
    desk.write("thesis/chapter.txt", "years of work");
    snapshot!("out_with_foreign_files", refused(&desk, 1, &["run", "tiny.toml", "--out", "thesis"]));
    snapshot!(
        "compare_out_with_foreign_files",
        refused(&desk, 1, &["compare", "tiny.toml", "--out", "thesis"])
    );
    snapshot!("out_is_the_folder_one_is_in", refused(&desk, 1, &["run", "tiny.toml", "--out", "."]));
    assert_eq!(desk.files("").len(), 2, "nothing was left behind");
}

#[test]
fn runs_of_different_scenarios_are_not_put_into_one_table() {
    let desk = Desk::with_tiny();
    desk.succeed(&["compare", "tiny.toml", "--policies", "dt,cs", "--out", "all"]);
    let changed =
        ["compare", "tiny.toml", "--policies", "dt", "--set", "workload.0.fan_in=2", "--out", "all"];
    snapshot!("compare_with_another_scenario", refused(&desk, 1, &changed));
    let seeds = ["run", "tiny.toml", "--seeds", "2", "--out", "all"];
    snapshot!("seeds_into_a_comparison", refused(&desk, 1, &seeds));
    desk.succeed(&["run", "tiny.toml", "--out", "single"]);
    let seeds = ["run", "tiny.toml", "--seeds", "2", "--out", "single"];
    snapshot!("seeds_into_a_single_run", refused(&desk, 1, &seeds));
}

#[test]
fn runs_of_the_same_scenario_join_a_comparison() {
    let desk = Desk::with_tiny();
    desk.succeed(&["compare", "tiny.toml", "--policies", "dt,cs", "--out", "all"]);
    let shown = desk.terminal(&["compare", "tiny.toml", "--policies", "dt,abm", "--out", "all"]);
    let notice = "5 other runs of this scenario are in the folder, and not shown: cs (5)";
    assert!(shown.contains(&format!("{notice}; --with-earlier shows them\n")), "{shown}");
    assert!(shown.contains("dt (baseline)  abm\n"), "{shown}");
    let page = || std::fs::read_to_string(desk.path("all/report.html")).expect("readable");
    assert!(page().contains(notice) && page().contains("tiny: dt, abm compared"), "{shown}");
    let all = ["--policies", "dt,abm", "--out", "all", "--with-earlier"];
    let shown = desk.terminal(&[&["compare", "tiny.toml"], &all[..]].concat());
    assert!(shown.contains("dt (baseline)") && shown.contains("abm") && shown.contains("cs"), "{shown}");
    assert!(!shown.contains("not shown") && !page().contains("Also here"), "{shown}");
    // A report can have fewer seeds than the folder of results.
    let fewer = ["--policies", "dt,cs", "--seeds", "2", "--out", "all", "--json"];
    let shown = desk.succeed(&[&["compare", "tiny.toml"], &fewer[..]].concat());
    let comparison: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
    assert_eq!(comparison["seeds"].as_array().map(Vec::len), Some(2));
    desk.succeed(&["verify", "all"]);
    // With `--replace`, a run of a different scenario replaces the first run.
    let changed = ["--policies", "dt,cs,abm", "--set", "workload.0.fan_in=2", "--out", "all", "--replace"];
    desk.succeed(&[&["compare", "tiny.toml"], &changed[..]].concat());
}

#[test]
fn reports_need_results() {
    let desk = Desk::with_tiny();
    std::fs::create_dir(desk.path("empty")).expect("writable");
    snapshot!("report_on_an_empty_folder", refused(&desk, 1, &["report", "empty"]));
    snapshot!("report_on_nothing", refused(&desk, 1, &["report", "absent"]));
    snapshot!("report_on_a_file", refused(&desk, 1, &["report", "tiny.toml"]));
}

/// Checks that the output of a refused command names all `parts`.
fn names(desk: &Desk, code: i32, args: &[&str], parts: &[&str]) {
    let shown = refused(desk, code, args);
    let flat = shown.replace("\n  │ ", " ").replace("\n        ", " ");
    for part in parts {
        assert!(flat.contains(part), "{part:?} is missing:\n{shown}");
    }
}

#[test]
fn a_policy_whose_parameters_cannot_be_read_is_explained() {
    let desk = Desk::with_tiny();
    let cases = [
        ("dt(alpha=1", ["this `(` is never closed", "add `)`", "for example dt(alpha=0.5)"]),
        ("dt(alpha=1))", ["`)` does not close a bracket", "", "for example dt(alpha=0.5)"]),
        ("dt(1)", ["this is not key=value", "", "for example dt(alpha=0.5)"]),
        ("dt alpha=1", ["parameters go into brackets", "", "for example dt(alpha=0.5)"]),
    ];
    for (policy, parts) in cases {
        names(&desk, 1, &["run", "tiny.toml", "--set", &format!("switch.policy={policy}")], &parts);
    }
}

#[test]
fn values_in_another_notation_are_answered_with_the_right_one() {
    let desk = Desk::with_tiny();
    let set = |change: &str, part: &str| names(&desk, 1, &["run", "tiny.toml", "--set", change], &[part]);
    set("switch.buffer=1,5 MB", "write a decimal point, not a comma");
    set("output.sample_interval=10", "for example sample_interval = \"10 us\"");
    set("workload={kind=\"poisson\"}", "or workload = [{ … }]");
    let limit = ["run", "tiny.toml", "--memory-limit", "10"];
    names(&desk, 2, &limit, &["the unit is missing; expected a size such as \"2 GB\""]);
}

#[test]
fn an_unknown_option_is_not_explained_by_an_escape() {
    let desk = Desk::with_tiny();
    let shown = refused(&desk, 2, &["run", "tiny.toml", "--profile", "paper"]);
    assert!(shown.contains("'--profile'") && !shown.contains("as a value"), "{shown}");
}

#[test]
fn policies_may_be_separated_by_commas_and_blanks() {
    let desk = Desk::with_tiny();
    let shown = desk.succeed(&["compare", "tiny.toml", "--policies", "dt,", "cs"]);
    assert!(shown.contains("dt (baseline)  cs\n"), "{shown}");
}

#[test]
fn one_variant_in_two_spellings_is_named() {
    let desk = Desk::with_tiny();
    let compare = ["compare", "tiny.toml", "--variants", "dt(alpha=1)", "dt(alpha=1.0)"];
    names(&desk, 1, &compare, &["\"dt(alpha=1)\" and \"dt(alpha=1.0)\" are the same variant"]);
    desk.succeed(&[&compare[..4], &["again: dt(alpha=1.0)", "--seeds", "1"]].concat());
}

#[test]
fn a_sweep_over_the_policy_takes_no_list_of_policies() {
    let desk = Desk::with_tiny();
    let sweep = ["sweep", "tiny.toml", "--vary", "switch.policy=dt,cs", "--policies", "dt,cs"];
    names(&desk, 1, &sweep, &["the sweep varies `switch.policy`, and \"dt\" sets it, too"]);
    desk.succeed(&sweep[..4]);
}

#[test]
fn a_common_extension_makes_no_file_similar() {
    let desk = scenario_with("name = \"tiny\"", "extends = \"star-incest.toml\"\nname = \"tiny\"");
    desk.write("size.toml", TINY);
    let shown = refused(&desk, 1, &["run", "tiny.toml"]);
    assert!(shown.contains("cannot read") && !shown.contains("size.toml"), "{shown}");
}

#[test]
fn a_flow_list_with_another_header_is_answered_with_the_expected_one() {
    let desk = with_workload("kind = \"flow_list\"\nfile = \"flows.csv\"");
    desk.write("flows.csv", "src;dst;size_bytes;start_ns\nh0;h1;1000;0\n");
    names(&desk, 1, &["run", "tiny.toml"], &["separate the columns with commas"]);
    desk.write("flows.csv", "h0,h1,1000,0\n");
    let header = "put the header above the flows: src,dst,size_bytes,start_ns";
    names(&desk, 1, &["run", "tiny.toml"], &[header]);
}

#[test]
fn a_file_is_no_folder_of_results() {
    let desk = Desk::with_tiny();
    names(&desk, 1, &["verify", "tiny.toml"], &["give a folder of results, not a file"]);
}

#[test]
fn an_option_of_another_command_or_program_is_answered_with_the_one_that_is_meant() {
    let desk = Desk::with_tiny();
    let compare = "`bufferlab sweep SCENARIO --vary KEY=VALUES` tries several values";
    let cases: [(&[&str], &str); 12] = [
        (&["run", "tiny.toml", "--vary", "switch.buffer=1MB"], compare),
        (
            &["compare", "tiny.toml", "--vary", "switch.buffer=1MB,2MB"],
            "tip: `--set KEY=VALUE` changes a key",
        ),
        (&["play", "--port", "80"], "the port of the page is --listen N"),
        (&["view", "results", "--port=80"], "the port of the page is --listen N"),
        (&["run", "tiny.toml", "--policy", "cs"], "`--set switch.policy=NAME` chooses the policy"),
        (&["run", "tiny.toml", "--policies", "cs"], "SCENARIO --policies NAMES` compares several"),
        (&["run", "tiny.toml", "--duration", "1 ms"], "`--set duration=VALUE` changes this key"),
        (&["check", "tiny.toml", "--buffer=1MB"], "`--set switch.buffer=VALUE` changes this key"),
        (&["run", "tiny.toml", "-o", "x"], "the folder of the results is --out DIR"),
        (&["run", "tiny.toml", "other.toml"], "`bufferlab run` takes one scenario"),
        (&["sweep", "tiny.toml"], "for example --vary 'switch.buffer=[\"1 MB\", \"2 MB\"]'"),
        (&["run"], "`bufferlab new scenario NAME` writes a scenario to start with"),
    ];
    for (args, tip) in cases {
        names(&desk, 2, args, &[tip]);
        let shown = desk.terminal(args);
        assert!(!shown.contains("similar") && !shown.contains("--verify"), "one tip is enough:\n{shown}");
    }
    // For an option that is nearly right, the program prints clap's suggestion without changes.
    names(&desk, 2, &["run", "tiny.toml", "--output", "x"], &["similar argument exists: '--out'"]);
    let far = desk.terminal(&["compare", "tiny.toml", "--policies", "dt,foo"]);
    assert!(far.contains("invalid value 'foo'") && !far.contains("similar"), "{far}");
    names(&desk, 2, &["compare", "tiny.toml", "--policies", "dt,amb"], &["similar value exists: 'abm'"]);
}

#[test]
fn a_range_is_answered_with_a_list_of_values() {
    let desk = Desk::with_tiny();
    for range in ["switch.buffer=1MB..2MB", "duration=1 ms..=2 ms", "workload.0.fan_in=1..3"] {
        names(
            &desk,
            2,
            &["run", "tiny.toml", "--set", range],
            &["one value, not a range", "bufferlab sweep"],
        );
        names(&desk, 2, &["sweep", "tiny.toml", "--vary", range], &["list the values instead of a range"]);
    }
    // A path may contain two dots and is then no range.
    names(&desk, 1, &["run", "tiny.toml", "--set", "workload.0.file=../1..2.csv"], &["workload.0.file"]);
}

#[test]
fn an_unknown_metric_is_answered_with_the_nearest_and_the_list() {
    let desk = Desk::with_tiny();
    let compare = ["compare", "tiny.toml", "--policies", "dt,cs", "--until-interval", "50%", "--metric"];
    let list = "bufferlab report results/tiny-compare --list-metrics";
    names(
        &desk,
        1,
        &[&compare[..], &["qct"]].concat(),
        &["there is no metric \"qct\"", list, "qct_mean_ms\"?"],
    );
    let shown = desk.terminal(&[&compare[..], &["switches.lost_precent"]].concat());
    assert!(shown.contains("did you mean \"switches.lost_percent\"?"), "{shown}");
    assert!(!shown.contains("all.slowdown_p50"), "the list is another command's:\n{shown}");
    let listed = desk.succeed(&["report", "results/tiny-compare", "--list-metrics"]);
    assert!(listed.contains("switches.lost_percent") && listed.contains("packets lost"), "{listed}");
    let table = ["report", "results/tiny-compare", "--table", "md", "--metric"];
    names(&desk, 1, &[&table[..], &["foo"]].concat(), &["there is no metric \"foo\"", list]);
    desk.succeed(&[&table[..], &["switches.lost_percent"]].concat());
    desk.succeed(&["sweep", "tiny.toml", "--vary", "workload.0.fan_in=2,3", "--out", "sweep"]);
    let listed = desk.succeed(&["report", "sweep", "--list-metrics"]);
    assert!(listed.starts_with("all.") && listed.contains("switches.lost_percent"), "{listed}");
    let table = ["report", "sweep", "--table", "md", "--metric", "lost"];
    names(&desk, 1, &table, &["bufferlab report sweep --list-metrics", "did you mean \"all.lost_packets\"?"]);
}

#[test]
fn an_empty_name_in_a_list_of_the_testbed_is_left_out() {
    let desk = Desk::with_tiny();
    let run = ["testbed", "run", "absent.toml", "--policies", "dt,", "cs"];
    names(&desk, 1, &run, &["absent.toml"]);
    names(&desk, 2, &["testbed", "run", "demo", "--policies", "dt,amb"], &["similar value exists: 'abm'"]);
}

#[test]
fn sizes_in_errors_and_warnings_are_readable() {
    let desk = Desk::with_tiny();
    let set = "switch.policy=smxq(limit=\"1234567 B\")";
    let shown = desk.terminal(&["check", "tiny.toml", "--set", set]);
    assert!(!shown.contains("200000 B"), "{shown}");
    let long = ["run", "tiny.toml", "--set", "switch.policy=losspass(port_buffer=\"1234567 B\")"];
    names(&desk, 1, &long, &["1,234,567 B for a port exceed the buffer of 200 KB"]);
}
