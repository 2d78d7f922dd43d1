//! JSON Schema of scenario files, for editors and checkers.

use crate::format::{
    CLASSIFIER_CATALOG, CONGESTION_CONTROL_CATALOG, POLICY_CATALOG, ROOT, SWITCH, SWITCH_OVERRIDE,
};
use crate::read::kind_of_parameter;
use bufferlab_document::schema::{Borrowed, Schema, definition};
use bufferlab_params::{Card, Catalog};
use serde_json::{Map, Value, json};

/// Settings of the schema: an override accepts all keys of a switch, and requires none.
static SCHEMA: Schema = Schema { borrowed: &[Borrowed { table: &SWITCH_OVERRIDE, from: &SWITCH }] };

/// Returns the JSON Schema (draft 2020-12) of a scenario file.
///
/// A file must be complete, or have the key `extends`; then all other keys are optional. The loader
/// checks more than a schema can express (references between sections, relations between sizes).
#[must_use]
pub fn json_schema() -> Value {
    let mut complete = SCHEMA.table(&ROOT, true);
    let mut extending = SCHEMA.table(&ROOT, false);
    if let Some(properties) = complete["properties"].as_object_mut() {
        properties.remove("extends");
    }
    extending["required"] = json!(["extends"]);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "bufferlab scenario",
        "description": ROOT.doc,
        "anyOf": [complete, extending],
        // The definitions are shared, because several places use the large parts of the schema.
        "$defs": {
            definition(POLICY_CATALOG.kind()): entries(POLICY_CATALOG),
            definition(CLASSIFIER_CATALOG.kind()): entries(CLASSIFIER_CATALOG),
            definition(CONGESTION_CONTROL_CATALOG.kind()): entries(CONGESTION_CONTROL_CATALOG),
        },
    })
}

/// Returns the schema of a value that selects a registry entry. The value is a name, a name with
/// parameters in brackets, or a table with the parameters of an entry. A table without `name`
/// changes the entry of the base file.
fn entries(catalog: &'static dyn Catalog) -> Value {
    let cards = catalog.cards(false);
    let names: Vec<_> = cards.iter().flat_map(Card::names).collect();
    let brackets = format!("^({})\\(.*\\)$", names.join("|"));
    let mut alternatives = vec![json!({ "enum": names }), json!({ "type": "string", "pattern": brackets })];
    for card in &cards {
        let mut properties = Map::new();
        let known: Vec<_> = card.names().collect();
        properties.insert("name".to_owned(), json!({ "enum": known, "description": card.title }));
        for param in card.params {
            let mut schema = SCHEMA.value(&kind_of_parameter(param.kind), true);
            schema["description"] = json!(param.documentation());
            properties.insert(param.name.to_owned(), schema);
        }
        alternatives.push(json!({
            "type": "object",
            "description": card.summary,
            "properties": properties,
            "additionalProperties": false,
        }));
    }
    json!({ "anyOf": alternatives })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bufferlab_document::spec::{Kind, TableSpec};
    use std::collections::BTreeSet;

    /// Returns the names of the properties in an object schema.
    fn properties(schema: &Value) -> BTreeSet<&str> {
        schema["properties"].as_object().expect("an object schema").keys().map(String::as_str).collect()
    }

    /// Compares a table of the JSON schema, and every table inside that table, with the keys that
    /// the reader accepts.
    fn assert_same_keys(spec: &'static TableSpec, schema: &Value, extends: bool) {
        let cards = spec.cards(false);
        let names: Vec<_> = match spec.catalog() {
            Some(_) => cards.iter().map(|card| card.name).collect(),
            None => spec.variants.iter().map(|variant| variant.kind).collect(),
        };
        let kinds: Vec<_> = match names.as_slice() {
            [] => vec![(None, schema)],
            names => {
                let schemas = schema["anyOf"].as_array().expect("one schema per kind");
                assert_eq!(schemas.len(), names.len(), "{}", spec.title);
                names.iter().map(|name| Some(*name)).zip(schemas).collect()
            }
        };
        for (kind, schema) in kinds {
            let mut accepted: BTreeSet<_> = spec.keys_of(kind).map(|key| key.name).collect();
            let card = cards.iter().find(|card| Some(card.name) == kind);
            accepted.extend(card.into_iter().flat_map(|card| card.params).map(|param| param.name));
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
