//! Tests of every `sonic` command on the small switch, and of the messages about faulty files.

use crate::support::{Desk, text};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

const SWITCH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/sonic/switch");

/// A folder with the small switch in `switch/`, and a changed copy in `changed/`.
fn desk(from: &str, to: &str) -> Desk {
    let desk = Desk::new();
    for entry in fs::read_dir(Path::new(SWITCH)).expect("the example is there") {
        let path = entry.expect("readable").path();
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        let content = fs::read_to_string(&path).expect("text");
        desk.write(&format!("changed/{name}"), &content.replace(from, to));
        desk.write(&format!("switch/{name}"), &content);
    }
    desk
}

macro_rules! shows {
    ($desk:expr, $name:expr, $args:expr) => {
        insta::with_settings!({ omit_expression => true }, {
            insta::assert_snapshot!($name, $desk.terminal(&[&["sonic"], &$args[..]].concat()))
        })
    };
}

#[test]
fn a_switch_is_explained_predicted_and_checked() {
    let desk = desk("", "");
    shows!(desk, "sonic_explain", ["explain", "switch", "--chip", "trident3"]);
    shows!(desk, "sonic_predict", ["predict", "switch", "--chip", "trident3"]);
    shows!(desk, "sonic_lint", ["lint", "switch", "--chip", "trident3"]);
    shows!(desk, "sonic_rules", ["rules"]);
}

#[test]
fn a_change_is_told_by_its_consequences_and_a_mistake_fails() {
    let desk = desk(
        "\"static_th\": \"4000000\" },\n        \"egress_lossy",
        "\"static_th\": \"900000\" },\n        \"egress_lossy",
    );
    shows!(desk, "sonic_diff", ["diff", "switch", "changed", "--chip", "trident3"]);
    let check = ["sonic", "lint", "changed", "--chip", "trident3"];
    assert_eq!(desk.output(&check).status.code(), Some(1));
    let allowed = [&check[..], &["--allow", "SB009=a test"]].concat();
    assert_eq!(desk.output(&allowed).status.code(), Some(0));
    assert_eq!(desk.output(&[&allowed[..], &["--fail-on", "info"]].concat()).status.code(), Some(1));
    assert_eq!(desk.output(&[&check[..], &["--fail-on", "never"]].concat()).status.code(), Some(0));
}

#[test]
fn programs_read_json_and_sarif_from_stdout() {
    let desk = desk("", "");
    for args in [
        &["explain", "switch", "--json"][..],
        &["predict", "switch", "--chip", "tomahawk5", "--json"],
        &["diff", "switch", "changed", "--json"],
        &["lint", "switch", "--format", "json"],
        &["lint", "switch", "--format", "sarif"],
    ] {
        let output = desk.output(&[&["sonic"], args].concat());
        let value: Result<serde_json::Value, _> = serde_json::from_slice(&output.stdout);
        assert!(value.is_ok(), "{args:?}: {}", text(&output.stdout));
    }
}

#[test]
fn nvidia_rows_stand_beside_the_calculation() {
    let desk = Desk::new();
    desk.write("SN5600.ini", "100000 40m 19456 19456 49152 0\n100000 1000m 19456 19456 168960 0\n");
    shows!(desk, "sonic_headroom", ["headroom", "SN5600.ini"]);
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_its_line_and_what_to_do() {
    let desk = desk("", "");
    desk.write("broken.json", "{\n  \"BUFFER_POOL\": {\n    \"p\": { \"size\": \"1\", }\n  }\n}\n");
    desk.write("notes.txt", "nothing of the kind\n");
    desk.write("empty/readme.md", "nothing\n");
    shows!(desk, "sonic_broken", ["lint", "broken.json"]);
    shows!(desk, "sonic_other_kind", ["explain", "notes.txt"]);
    shows!(desk, "sonic_missing", ["explain", "missing.json"]);
    shows!(desk, "sonic_empty_folder", ["explain", "empty"]);
    shows!(desk, "sonic_no_chip", ["predict", "switch"]);
    shows!(desk, "sonic_unknown_chip", ["explain", "switch", "--chip", "tomahawk9"]);
    shows!(desk, "sonic_allow_without_reason", ["lint", "switch", "--allow", "SB001="]);
}

#[test]
fn lint_names_the_groups_whose_headroom_it_cannot_judge() {
    let desk = desk("", "");
    let complete = desk.succeed(&["sonic", "lint", "switch", "--chip", "trident3"]);
    assert!(!complete.contains("not judged"), "{complete}");
    fs::remove_file(desk.path("changed/pg_profile_lookup.ini")).expect("it is there");
    let partial = desk.succeed(&["sonic", "lint", "changed", "--chip", "trident3"]);
    assert!(partial.contains("not judged: headroom of 8 lossless groups"), "{partial}");
    assert!(partial.contains("no pg_profile_lookup.ini"), "{partial}");
}

#[test]
fn a_misspelt_field_is_answered_with_the_known_one() {
    let desk = desk("\"size\": \"4000000\"", "\"sise\": \"4000000\"");
    let shown = desk.terminal(&["sonic", "lint", "changed", "--chip", "trident3"]);
    assert!(shown.contains("suggestion: did you mean \"size\"?"), "{shown}");
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_refused_and_not_read() {
    let desk = Desk::new();
    shows!(desk, "sonic_device", ["lint", "/dev/zero"]);
}

#[test]
fn what_if_writes_a_scenario_that_runs_and_ends_in_a_recommendation() {
    let desk = desk("\"dynamic_th\": \"1\"", "\"dynamic_th\": \"2\"");
    let switch = ["sonic", "what-if", "switch", "--chip", "trident3", "--duration", "200 us", "--out", "w"];
    let written = desk.output(&[&switch[..], &["--only-write"]].concat());
    assert!(written.status.success(), "{}", text(&written.stderr));
    assert!(!desk.path("w/compare").exists(), "--only-write ran something");
    desk.succeed(&["run", "w/what-if.toml", "--out", "kept"]);
    let with = ["--against", "changed", "--seeds", "2"];
    let table = desk.succeed(&[&switch[..], &with].concat());
    for part in ["today", "changed", "lossless alpha x2", "policy Reverie", "recommendation: ", "caveats"] {
        assert!(table.contains(part), "{part}: {table}");
    }
    assert!(desk.path("w/compare/report.html").is_file());
    let json = desk.succeed(&[&switch[..], &with, &["--json"]].concat());
    let value: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert!(value["recommendation"]["choice"].is_string() && value["comparison"]["metrics"].is_array());
    let fewer = desk.output(&[&switch[..], &["--against", "changed", "--seeds", "1"]].concat());
    let said = text(&fewer.stderr);
    assert!(
        said.contains("in the folder, and not shown: changed (1)") && said.contains("--with-earlier"),
        "{said}"
    );
    let refused = desk.output(&[&switch[..], &["--load", "0.2"]].concat());
    assert!(text(&refused.stderr).contains("holds another scenario"), "{}", text(&refused.stderr));
}

#[test]
fn vectors_are_a_table_a_qualification_file_and_json() {
    let desk = desk("", "");
    shows!(desk, "sonic_vectors", ["vectors", "switch", "--chip", "trident3"]);
    shows!(desk, "sonic_vectors_yaml", ["vectors", "switch", "--chip", "trident3", "--format", "yaml"]);
    let json = desk.succeed(&["sonic", "vectors", "switch", "--chip", "trident3", "--format", "json"]);
    assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok());
    let args = ["sonic", "vectors", "switch", "--chip", "trident3", "--scenarios", "qualification"];
    desk.succeed(&args);
    for what in ["pause", "loss"] {
        let file = format!("qualification/pg_lossless_100000_5m_profile-Ethernet0-{what}.toml");
        let plan = desk.succeed(&["check", &file]);
        assert!(plan.contains("lossless priorities 3, 4"), "{plan}");
        assert!(plan.contains("100 Gb/s over 5 m: 90.112 KB of headroom: "), "{plan}");
    }
}

#[test]
fn a_cell_and_slices_by_hand_serve_a_chip_that_is_not_known() {
    let desk = desk("", "");
    let predicted = |chip: &[&str]| -> serde_json::Value {
        let json = desk.succeed(&[&["sonic", "predict", "switch", "--json"], chip].concat());
        serde_json::from_str(&json).expect("JSON")
    };
    let (known, by_hand) = (predicted(&["--chip", "trident3"]), predicted(&["--cell", "256 B"]));
    assert_eq!((&known[0]["groups"], &known[0]["shared"]), (&by_hand[0]["groups"], &by_hand[0]["shared"]));
    let halves = predicted(&["--chip", "trident3", "--slices", "2"]);
    assert_eq!((&halves[0]["slices"], &halves[0]["cell_bytes"]), (&2.into(), &256.into()));
    let refused = desk.output(&["sonic", "predict", "switch", "--chip", "trident3", "--slices", "0"]);
    assert!(text(&refused.stderr).contains("a number from 1 to 64"), "{}", text(&refused.stderr));
}

#[test]
fn alphas_are_estimated_from_a_dump_of_counters() {
    let desk = desk("", "");
    // A lone priority group with alpha 1 stores up to half of the pool: 12,332 / 2 cells of 256 B.
    desk.write(
        "counters.json",
        r#"{
            "COUNTERS_PG_NAME_MAP": { "Ethernet0:3": "oid:0x1" },
            "COUNTERS_BUFFER_POOL_NAME_MAP": { "ingress_lossless_pool": "oid:0x2" },
            "USER_WATERMARKS:oid:0x1": {
                "SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES": "1578496",
                "SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES": "256"
            },
            "USER_WATERMARKS:oid:0x2": { "SAI_BUFFER_POOL_STAT_WATERMARK_BYTES": "1578496" }
        }"#,
    );
    let args = ["sonic", "calibrate", "switch", "--chip", "trident3", "--counters", "counters.json"];
    let found = desk.succeed(&args);
    assert!(found.contains("dynamic_th is -1, and the switch behaves as with 0"), "{found}");
    desk.write("empty.json", "{}");
    let refused = desk.output(&[&args[..6], &["empty.json"]].concat());
    assert!(text(&refused.stderr).contains("no watermarks"), "{}", text(&refused.stderr));
}

#[test]
fn a_chip_answers_probes_until_its_input_ends() {
    let desk = desk("", "");
    let mut child = desk
        .command(&["sonic", "probe", "switch", "--chip", "trident3"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("bufferlab starts");
    let check = |value: u64| {
        format!(
            "{{\"op\":\"check\",\"probe\":\"pfc_xoff\",\"src_port\":0,\"dst_port\":1,\"value\":{value},\"pg\":3}}\n"
        )
    };
    let requests = format!("{}\nnonsense\n{}", check(4_000), check(5_000));
    child.stdin.take().expect("a pipe").write_all(requests.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let answers: Vec<_> = text(&output.stdout).lines().map(str::to_owned).collect();
    assert!(output.status.success() && answers.len() == 3, "{answers:?}");
    assert_eq!(answers[0], "{\"success\":true,\"detected\":false}");
    assert!(answers[1].starts_with("{\"success\":false,\"error\":"), "{answers:?}");
    assert_eq!(answers[2], "{\"success\":true,\"detected\":true}");
}

/// Runs the adapter for sonic-mgmt's probing framework against the program. The framework itself
/// runs if the environment variable `BUFFERLAB_SONIC_MGMT` names a checkout of sonic-mgmt.
#[test]
fn the_adapter_for_sonic_mgmt_finds_the_thresholds_of_the_chip() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../integrations/sonic-mgmt/test_framework.py");
    let mut python = std::process::Command::new("python3");
    python.args(["-B", script, env!("CARGO_BIN_EXE_bufferlab"), SWITCH, "trident3"]);
    let Ok(output) = python.output() else {
        let _ = writeln!(std::io::stderr(), "SKIPPED the adapter for sonic-mgmt: there is no python3");
        return;
    };
    let (said, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{said}\n{errors}");
    // The adapter must report the numbers of `sonic vectors`, and the headroom of four priority
    // groups that have two different profiles.
    assert!(said.contains("pause 4117, first loss 4470, resume after 14"), "{said}");
    assert!(said.contains("headroom of four groups 1955"), "{said}");
    match std::env::var_os("BUFFERLAB_SONIC_MGMT") {
        Some(_) => assert!(said.contains("HeadroomPoolProbing: "), "{said}"),
        None => {
            assert!(said.contains("skipped: the framework of sonic-mgmt"), "{said}");
            let why = "BUFFERLAB_SONIC_MGMT is not set";
            let _ = writeln!(std::io::stderr(), "SKIPPED the probing framework of sonic-mgmt: {why}");
        }
    }
}

#[test]
fn expectations_of_testers_are_met_or_have_the_term_of_their_difference() {
    let desk = desk("", "");
    let vectors = ["sonic", "vectors", "switch", "--chip", "trident3"];
    let own = desk.succeed(&[&vectors[..], &["--format", "yaml"]].concat());
    desk.write("qos_params.yaml", &own.replace("pkts_num_trig_pfc: 4117", "pkts_num_trig_pfc: 6172"));
    let found = desk.succeed(&[&vectors[..], &["--expect", "qos_params.yaml"]].concat());
    assert!(found.contains("6172 (model 4117): dynamic_th 0; pg_lossless"), "{found}");
    let refused = desk.output(&[&vectors[..], &["--expect", "qos_params.yaml", "--topology", "t9"]].concat());
    assert!(text(&refused.stderr).contains("no expectation of td3"), "{}", text(&refused.stderr));
}

#[test]
fn files_of_other_vendors_are_explained_and_checked() {
    let desk = Desk::new();
    let vendors = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/sonic/vendors");
    for vendor in ["devlink/sb.json", "cumulus", "junos", "eos"] {
        let files = format!("{vendors}/{vendor}");
        assert!(!desk.succeed(&["sonic", "explain", &files]).is_empty());
        let lint = desk.output(&["sonic", "lint", &files]);
        assert!(text(&lint.stdout).contains("has other defaults"), "{vendor}: {}", text(&lint.stderr));
    }
}

#[test]
fn a_switch_that_does_not_answer_is_named_and_nothing_waits() {
    let desk = Desk::new();
    let output = desk.output(&["sonic", "explain", "--redis", "127.0.0.1:1"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("127.0.0.1:1, CONFIG_DB") && said.contains("HOST:PORT"), "{said}");
    assert_eq!(desk.output(&["sonic", "explain"]).status.code(), Some(2), "neither files nor a server");
    let output = desk.output(&["sonic", "diff", "--redis", "127.0.0.1:1", "."]);
    assert!(text(&output.stderr).contains("127.0.0.1:1, CONFIG_DB"), "{}", text(&output.stderr));
    for (args, problem) in [
        (&["sonic", "diff", "."][..], "one side is missing"),
        (&["sonic", "diff", ".", ".", "--redis", "127.0.0.1:1"], "three sides"),
    ] {
        let output = desk.output(args);
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stderr).contains(problem), "{}", text(&output.stderr));
    }
}

#[test]
fn a_tuner_without_a_switch_does_not_start() {
    let desk = Desk::new();
    let output = desk.output(&["sonic", "tune", "--redis", "127.0.0.1:1", "--apply"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("127.0.0.1:1, CONFIG_DB"), "{}", text(&output.stderr));
    desk.write("bufferlab-tune.json", "no journal");
    let output = desk.output(&["sonic", "tune", "--redis", "127.0.0.1:1", "--apply"]);
    let said = text(&output.stderr);
    assert!(said.contains("bufferlab-tune.json") && said.contains("--journal"), "{said}");
    assert!(desk.path("bufferlab-tune.json").exists(), "what was configured before must not get lost");
}
