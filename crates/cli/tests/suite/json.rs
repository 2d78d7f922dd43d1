//! Does what commands print with `--json` keep to the schema that the program publishes, and say the same as the files?

use crate::support::{Desk, text};
use serde_json::Value;
use std::fs;

/// What a command prints, checked against a published schema.
fn printed(desk: &Desk, command: &[&str], schema: &str) -> Value {
    let output = desk.output(command);
    assert!(output.status.success(), "{command:?}: {}", text(&output.stderr));
    let value: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let schema = desk.output(&["schema", schema]);
    let schema: Value = serde_json::from_slice(&schema.stdout).expect("a schema is JSON");
    let validator = jsonschema::validator_for(&schema).unwrap_or_else(|error| panic!("{error}"));
    let wrong: Vec<String> =
        validator.iter_errors(&value).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(wrong.is_empty(), "{command:?}: {wrong:#?}");
    assert_eq!(value["format_version"], 1);
    // A schema that takes anything would be none.
    assert!(!validator.is_valid(&Value::Array(Vec::new())));
    value
}

#[test]
fn comparisons_are_printed_as_they_are_kept() {
    let desk = Desk::with_tiny();
    let compared = printed(
        &desk,
        &["compare", "tiny.toml", "--policies", "dt,cs", "--seeds", "2", "--out", "both", "--json"],
        "comparison",
    );
    let kept = fs::read_to_string(desk.path("both/comparison.json")).expect("written");
    assert_eq!(compared, serde_json::from_str::<Value>(&kept).expect("JSON"));
    assert_eq!(compared["policies"], serde_json::json!(["dt", "cs"]));
    assert_eq!(compared, printed(&desk, &["report", "both", "--json"], "comparison"));
    let single = printed(&desk, &["run", "tiny.toml", "--out", "one", "--json"], "comparison");
    let metrics = single["metrics"].as_array().expect("a list");
    assert!(metrics.iter().any(|row| row["cells"][0]["estimate"]["mean"].is_number()), "{metrics:#?}");
}

#[test]
fn sweeps_explanations_and_policies_keep_to_their_schemas() {
    let desk = Desk::with_tiny();
    let vary = "switch.buffer=100 KB,200 KB";
    let swept = printed(
        &desk,
        &["sweep", "tiny.toml", "--vary", vary, "--policies", "dt,cs", "--out", "grid", "--json"],
        "sweep",
    );
    assert_eq!(swept["points"].as_array().map(Vec::len), Some(2));
    assert_eq!(swept["points"][1]["at"]["switch.buffer"], "200 KB");
    let kept = fs::read_to_string(desk.path("grid/sweep.json")).expect("written");
    assert_eq!(swept, serde_json::from_str::<Value>(&kept).expect("JSON"));
    let explained = printed(&desk, &["explain", "tiny.toml", "--json"], "explanations");
    assert_eq!(explained["explanations"][0]["event"], "drop");
    let listed = printed(&desk, &["policy", "list", "--json"], "policies");
    let names = listed["policies"].as_array().expect("a list").len();
    let shown = printed(&desk, &["policy", "show", "tdt", "--json"], "policies");
    assert!(names >= 25 && shown["policies"][0]["parameters"].as_array().is_some_and(|list| list.len() > 5));
}
