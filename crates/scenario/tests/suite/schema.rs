//! The JSON Schema accepts the files that the loader accepts, and refuses files that a
//! schema can refuse.

use bufferlab_core::POLICIES;
use bufferlab_scenario::{json_schema, load};
use serde_json::{Map, Value, json};
use std::path::Path;
use toml::de::{DeTable, DeValue};

fn as_json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).expect("readable");
    let document = DeTable::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    table(document.get_ref())
}

fn table(table: &DeTable<'_>) -> Value {
    let entry = |(key, item): (&toml::Spanned<_>, &toml::Spanned<DeValue<'_>>)| {
        (
            String::clone(&std::borrow::Cow::into_owned(std::borrow::Cow::clone(key.get_ref()))),
            value(item.get_ref()),
        )
    };
    Value::Object(table.iter().map(entry).collect::<Map<_, _>>())
}

fn value(item: &DeValue<'_>) -> Value {
    match item {
        DeValue::String(text) => json!(text),
        DeValue::Integer(number) => json!(number.as_str().replace('_', "").parse::<i64>().expect("small")),
        DeValue::Float(number) => json!(number.as_str().parse::<f64>().expect("a float")),
        DeValue::Boolean(flag) => json!(flag),
        DeValue::Array(list) => list.iter().map(|item| value(item.get_ref())).collect(),
        DeValue::Table(inner) => table(inner),
        DeValue::Datetime(date) => json!(date.to_string()),
    }
}

#[test]
fn every_shipped_scenario_fits_the_schema() {
    let validator = jsonschema::validator_for(&json_schema()).expect("the schema is a schema");
    for path in crate::common::shipped() {
        let errors: Vec<_> = validator.iter_errors(&as_json(&path)).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{}: {errors:?}", path.display());
    }
}

#[test]
fn resolved_scenarios_fit_the_schema_with_every_policy() {
    let validator = jsonschema::validator_for(&json_schema()).expect("the schema is a schema");
    for info in POLICIES {
        let loaded = crate::common::shipped_with("link-failure.toml", &[("switch.policy", info.name)]);
        let document = DeTable::parse(&loaded.resolved).expect("it is TOML");
        assert!(validator.is_valid(&table(document.get_ref())), "{}", loaded.resolved);
    }
}

#[test]
fn a_policy_may_be_written_with_its_parameters_in_brackets() {
    let validator = jsonschema::validator_for(&json_schema()).expect("the schema is a schema");
    for (policy, fits) in [("dt(alpha=0.5)", true), ("dt", true), ("td(alpha=0.5)", false), ("dt(", false)] {
        let mut scenario = as_json(&Path::new(crate::common::SCENARIOS).join("star-incast.toml"));
        scenario["switch"]["policy"] = json!(policy);
        assert_eq!(validator.is_valid(&scenario), fits, "{policy}");
    }
}

#[test]
fn the_schema_refuses_mistakes_of_form() {
    let validator = jsonschema::validator_for(&json_schema()).expect("the schema is a schema");
    let of_form = [
        "unknown_key",
        "misspelled_policy",
        "misspelled_parameter",
        "unit_missing",
        "unit_missing_in_string",
        "wrong_unit_kind",
        "bits_for_bytes",
        "negative_rate",
        "alpha_zero",
        "load_above_one",
        "wrong_type",
        "unknown_kind",
        "key_of_another_kind",
        "missing_sections",
        "single_brackets",
        "mistake_in_override",
    ];
    for name in of_form {
        let path = format!("tests/mistakes/{name}.toml");
        assert!(load(Path::new(&path), &[]).is_err());
        assert!(!validator.is_valid(&as_json(Path::new(&path))), "{name} passes");
    }
}

#[test]
fn a_file_that_extends_another_may_leave_everything_out() {
    let validator = jsonschema::validator_for(&json_schema()).expect("the schema is a schema");
    assert!(validator.is_valid(&json!({ "extends": "base.toml", "switch": { "policy": { "alpha": 2 } } })));
    assert!(!validator.is_valid(&json!({ "switch": { "policy": { "alpha": 2 } } })));
    assert!(!validator.is_valid(&json!({ "extends": "base.toml", "swich": {} })));
}

#[test]
fn the_schema_offers_every_parameter_of_every_policy() {
    let text = json_schema().to_string();
    for param in POLICIES.iter().flat_map(|info| info.params) {
        assert!(text.contains(&format!("\"{}\":", param.name)), "{} is missing", param.name);
    }
}
