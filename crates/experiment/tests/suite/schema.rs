//! Tests that the JSON Schema of experiments accepts valid files, and refuses the errors that a
//! schema can detect. (`cargo xtask generate` updates the schema and the reference.)

use bufferlab_experiment::json_schema;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// Paths of the files with the papers' experiments, in order.
fn experiments() -> Vec<PathBuf> {
    let list = |folder: &Path| {
        let entries = fs::read_dir(folder).expect("readable");
        let mut paths: Vec<_> = entries.map(|entry| entry.expect("readable").path()).collect();
        paths.sort();
        paths
    };
    list(Path::new("../../experiments")).iter().flat_map(|paper| list(paper)).collect()
}

#[test]
fn every_experiment_of_the_papers_fits_the_schema() {
    let validator = jsonschema::validator_for(&json_schema()).expect("the schema is a schema");
    let paths = experiments();
    assert!(paths.len() > 40, "{} experiments", paths.len());
    for path in paths {
        let document: Value =
            toml::from_str(&fs::read_to_string(&path).expect("readable")).expect("it is TOML");
        let errors: Vec<_> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{}: {errors:?}", path.display());
    }
}

#[test]
fn the_schema_refuses_mistakes_of_form() {
    let validator = jsonschema::validator_for(&json_schema()).expect("the schema is a schema");
    let good = json!({
        "title": "t", "figure": "f", "scenario": "s.toml", "policies": ["dt"], "quick": { "seeds": 3 },
        "metrics": { "tail": { "flows": ["web"], "of": "slowdown", "take": "p99" } },
    });
    assert!(validator.is_valid(&good));
    let figure = json!({ "title": "t", "figure": "f", "theory": "abm-4" });
    assert!(validator.is_valid(&figure));
    let with = |document: &Value, key: &str, value: Value| {
        let mut changed = document.clone();
        changed[key] = value;
        changed
    };
    for (document, key, value) in [
        (&good, "pannel", json!([])),
        (&good, "quick", json!({ "seed": 3 })),
        (&good, "quick", json!({ "seeds": 0 })),
        (&good, "metrics", json!({ "tail": { "of": "slowdown", "take": "p98" } })),
        (&good, "claim", json!([{ "effect": "1", "at_least": 1.0 }])),
        (&figure, "theory", json!("abm-44")),
        (&figure, "policies", json!(["dt"])),
    ] {
        assert!(!validator.is_valid(&with(document, key, value)), "{key} passes");
    }
}
