//! The JSON Schema of scenario files, for editors and checkers.

use crate::format::{KeySpec, Kind, Presence, ROOT, SCHEDULER_GROUP, SWITCH, SWITCH_OVERRIDE, TableSpec};
use crate::quantity::Dimension;
use crate::read::kind_of_parameter;
use bufferlab_core::POLICIES;
use serde_json::{Map, Value, json};

/// The schema (draft 2020-12) of a scenario file.
///
/// A file must be complete, or say what it `extends`: then everything may be left out. The loader checks more than a
/// schema can say (references between sections, sizes against each other).
#[must_use]
pub fn json_schema() -> Value {
    let mut complete = table(&ROOT, true);
    let mut extending = table(&ROOT, false);
    if let Some(properties) = complete["properties"].as_object_mut() {
        properties.remove("extends");
    }
    extending["required"] = json!(["extends"]);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "bufferlab scenario",
        "description": ROOT.doc,
        "anyOf": [complete, extending],
        // Written once: it is the largest part, and stands in four places.
        "$defs": { "policy": policy() },
    })
}

/// A table; `complete`: with the keys that it must have.
fn table(spec: &'static TableSpec, complete: bool) -> Value {
    if spec.variants.is_empty() {
        return object(spec, None, complete);
    }
    let variants = spec.variants.iter().map(|variant| object(spec, Some(variant.kind), complete));
    json!({ "description": spec.doc, "anyOf": variants.collect::<Vec<_>>() })
}

fn object(spec: &'static TableSpec, kind: Option<&'static str>, complete: bool) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    let mut doc = spec.doc;
    if let Some(variant) = spec.variants.iter().find(|variant| Some(variant.kind) == kind) {
        properties.insert("kind".to_owned(), json!({ "const": variant.kind, "description": variant.doc }));
        required.push("kind");
        doc = variant.doc;
    }
    // An override accepts what a switch accepts, and requires none of it.
    let of_switch = if std::ptr::eq(spec, &SWITCH_OVERRIDE) { SWITCH.keys } else { &[] };
    for key in spec.keys_of(kind) {
        properties.insert(key.name.to_owned(), property(key, complete));
        if matches!(key.presence, Presence::Required) {
            required.push(key.name);
        }
    }
    for key in of_switch {
        properties.insert(key.name.to_owned(), property(key, false));
    }
    let mut schema = json!({
        "type": "object",
        "description": doc,
        "properties": properties,
        "additionalProperties": false,
    });
    if complete && !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn property(key: &'static KeySpec, complete: bool) -> Value {
    let mut schema = value(&key.kind, complete);
    schema["description"] = json!(key.doc);
    schema
}

fn value(kind: &Kind, complete: bool) -> Value {
    let quantity = |dimension: Dimension| json!({ "type": "string", "pattern": dimension.pattern() });
    let whole = |min: u64, max: u64| match max {
        u64::MAX => json!({ "type": "integer", "minimum": min }),
        _ => json!({ "type": "integer", "minimum": min, "maximum": max }),
    };
    let ratio = |min: f64, max: f64, open: bool| {
        let bound = if open { "exclusiveMinimum" } else { "minimum" };
        let number = json!({ "type": "number", bound: min, "maximum": max });
        json!({ "anyOf": [number, { "type": "string", "pattern": "^[0-9.]+(\\s*/\\s*[0-9.]+)?$" }] })
    };
    match *kind {
        Kind::Text => json!({ "type": "string" }),
        Kind::Time { .. } => quantity(Dimension::Time),
        Kind::Size { .. } => quantity(Dimension::Size),
        Kind::SizePerPort { .. } => {
            let one = quantity(Dimension::Size);
            json!({ "anyOf": [one, { "type": "array", "minItems": 1, "items": one }] })
        }
        Kind::Rate => quantity(Dimension::Rate),
        Kind::Count { min, max } => whole(min, max),
        Kind::Ratio { min, max, open } => ratio(min, max, open),
        Kind::Ratios { min, max } => {
            let one = ratio(min, max, false);
            json!({ "anyOf": [one, { "type": "array", "minItems": 1, "items": one }] })
        }
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Choice(words) => {
            json!({ "enum": words.iter().map(|word| word.0).collect::<Vec<_>>() })
        }
        Kind::Words(_) | Kind::CongestionControl => json!({ "enum": crate::convert::words_of(kind) }),
        Kind::Window => {
            json!({ "anyOf": [{ "type": "integer", "minimum": 1 }, { "enum": ["bdp", "whole"] }] })
        }
        Kind::Table(spec) => table(spec, complete),
        Kind::Tables(spec) => json!({ "type": "array", "items": table(spec, true) }),
        Kind::Texts => {
            json!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] })
        }
        Kind::CountOrNames => json!({ "anyOf": [
            { "type": "integer", "minimum": 1 },
            { "type": "array", "minItems": 1, "items": { "type": "string" } },
        ] }),
        Kind::Counts { min, max } => json!({ "type": "array", "items": whole(min, max) }),
        Kind::List(element) => {
            json!({ "type": "array", "minItems": 1, "items": value(&kind_of_parameter(*element), complete) })
        }
        Kind::Pairs => json!({ "type": "array", "minItems": 1, "items": {
            "type": "array", "minItems": 2, "maxItems": 2, "items": { "type": "string" },
        } }),
        Kind::Sizes => json!({ "type": "array", "items": quantity(Dimension::Size) }),
        Kind::Intervals => json!({ "type": "array", "minItems": 2, "items": quantity(Dimension::Time) }),
        Kind::Policy => json!({ "$ref": "#/$defs/policy" }),
        Kind::Scheduler => json!({ "anyOf": [
            { "enum": ["fifo", "round_robin", "strict_priority"] },
            { "type": "array", "minItems": 1, "items": table(&SCHEDULER_GROUP, true) },
        ] }),
    }
}

/// A name, or for every policy a table with its parameters. Without `name`, what a base file says is meant.
fn policy() -> Value {
    let names: Vec<_> = POLICIES.iter().flat_map(|info| [&[info.name], info.aliases].concat()).collect();
    let mut alternatives = vec![json!({ "enum": names })];
    for info in POLICIES {
        let mut properties = Map::new();
        let known = [&[info.name], info.aliases].concat();
        properties.insert("name".to_owned(), json!({ "enum": known, "description": info.title }));
        for param in info.params {
            let mut schema = value(&kind_of_parameter(param.kind), true);
            schema["description"] = json!(param.doc);
            properties.insert(param.name.to_owned(), schema);
        }
        alternatives.push(json!({
            "type": "object",
            "description": info.summary,
            "properties": properties,
            "additionalProperties": false,
        }));
    }
    json!({ "anyOf": alternatives })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The properties of an object schema.
    fn properties(schema: &Value) -> BTreeSet<&str> {
        schema["properties"].as_object().expect("an object schema").keys().map(String::as_str).collect()
    }

    /// Compares a table of the schema with what the reader accepts, and every table below it.
    fn assert_same_keys(spec: &'static TableSpec, schema: &Value, extends: bool) {
        let kinds: Vec<_> = match spec.variants {
            [] => vec![(None, schema)],
            variants => {
                let schemas = schema["anyOf"].as_array().expect("one schema per kind");
                variants.iter().map(|variant| Some(variant.kind)).zip(schemas).collect()
            }
        };
        for (kind, schema) in kinds {
            let mut accepted: BTreeSet<_> = spec.keys_of(kind).map(|key| key.name).collect();
            accepted.extend(kind.map(|_| "kind"));
            if std::ptr::eq(spec, &SWITCH_OVERRIDE) {
                accepted.extend(SWITCH.keys.iter().map(|key| key.name));
            }
            if !extends {
                accepted.remove("extends");
            }
            assert_eq!(properties(schema), accepted, "{} {kind:?}", spec.title);
            assert_eq!(schema["additionalProperties"], json!(false), "{}", spec.title);
            for key in spec.keys_of(kind) {
                match key.kind {
                    Kind::Table(below) => assert_same_keys(below, &schema["properties"][key.name], true),
                    Kind::Tables(below) => {
                        assert_same_keys(below, &schema["properties"][key.name]["items"], true)
                    }
                    _ => {}
                }
            }
        }
    }

    #[test]
    fn the_schema_has_exactly_the_keys_that_the_reader_accepts() {
        let schema = json_schema();
        assert_same_keys(&ROOT, &schema["anyOf"][0], false);
        assert_same_keys(&ROOT, &schema["anyOf"][1], true);
    }
}
