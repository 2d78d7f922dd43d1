//! Generates the JSON Schema of a table, for editors and checkers.

use crate::convert::words_of;
use crate::quantity::Dimension;
use crate::spec::{KeySpec, Kind, Presence, TableSpec};
use bufferlab_params::{AUTO, Card, ParamInfo, ParamValue, TableInfo};
use serde_json::{Map, Value, json};

/// A table that also accepts the keys of a second table, but does not require these keys.
#[derive(Clone, Copy, Debug)]
pub struct Borrowed {
    /// Table that also accepts the keys of another table.
    pub table: &'static TableSpec,
    /// Table that declares the additionally accepted keys.
    pub from: &'static TableSpec,
}

/// Generates schemas (JSON Schema draft 2020-12) of tables.
///
/// Schemas of registry entries are large and are used in several places.
/// The schema of a [`Kind::Entry`] is therefore a reference to `#/$defs/` and the catalog's kind.
/// The caller that writes the document adds the definition to `$defs`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Schema {
    /// Tables that also accept keys of another table.
    pub borrowed: &'static [Borrowed],
}

/// Key in `$defs` for the schema of a catalog's entries.
#[must_use]
pub fn definition(kind: &str) -> String {
    kind.replace(' ', "_")
}

impl Schema {
    /// Returns the JSON Schema of a table. With `complete`, the schema demands the required keys.
    #[must_use]
    pub fn table(&self, spec: &'static TableSpec, complete: bool) -> Value {
        let kinds: Vec<_> = match spec.catalog() {
            Some(_) => spec.cards(false).iter().map(|card| self.card(spec, card, complete)).collect(),
            None => {
                let variants = spec.variants.iter();
                variants.map(|variant| self.object(spec, Some(variant.kind), complete)).collect()
            }
        };
        if kinds.is_empty() {
            return self.object(spec, None, complete);
        }
        json!({ "description": spec.doc, "anyOf": kinds })
    }

    /// The schema of a table for one entry of a registry.
    fn card(&self, spec: &'static TableSpec, card: &Card, complete: bool) -> Value {
        let mut schema = self.object(spec, None, complete);
        schema["description"] = json!(card.summary);
        schema["properties"]["kind"] = match card.aliases {
            [] => json!({ "const": card.name, "description": card.summary }),
            _ => json!({ "enum": card.names().collect::<Vec<_>>(), "description": card.summary }),
        };
        self.add_params(&mut schema, card.params, complete);
        schema
    }

    /// Adds the parameters `params` to the schema of a table.
    fn add_params(&self, schema: &mut Value, params: &'static [ParamInfo], complete: bool) {
        for param in params {
            let kind = Kind::for_parameter(param.kind).expect("such a table has no profiles");
            let mut property = self.value(&kind, complete);
            property["description"] = json!(param.doc);
            schema["properties"][param.name] = property;
        }
        let required = params.iter().filter(|param| matches!(param.default, ParamValue::Required(_)));
        let required: Vec<_> = required.map(|param| json!(param.name)).collect();
        if complete && !required.is_empty() {
            let known = schema["required"].as_array().cloned().unwrap_or_default();
            schema["required"] = json!([known, required].concat());
        }
    }

    /// Returns the JSON Schema of a table of parameters.
    fn param_table(&self, info: &'static TableInfo) -> Value {
        let mut schema = json!({
            "type": "object",
            "description": info.doc,
            "properties": {},
            "additionalProperties": false,
        });
        self.add_params(&mut schema, info.params, true);
        schema
    }

    fn object(&self, spec: &'static TableSpec, kind: Option<&'static str>, complete: bool) -> Value {
        let mut properties = Map::new();
        let mut required = Vec::new();
        let mut doc = spec.doc;
        if let Some(variant) = spec.variants.iter().find(|variant| Some(variant.kind) == kind) {
            properties
                .insert("kind".to_owned(), json!({ "const": variant.kind, "description": variant.doc }));
            required.push("kind");
            doc = variant.doc;
        }
        let borrowed = self.borrowed.iter().find(|borrowed| std::ptr::eq(borrowed.table, spec));
        for key in spec.keys_of(kind) {
            properties.insert(key.name.to_owned(), self.property(key, complete));
            if matches!(key.presence, Presence::Required) {
                required.push(key.name);
            }
        }
        for key in borrowed.map_or(&[] as &[_], |borrowed| borrowed.from.keys) {
            properties.insert(key.name.to_owned(), self.property(key, false));
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

    fn property(&self, key: &'static KeySpec, complete: bool) -> Value {
        let mut schema = self.value(&key.kind, complete);
        schema["description"] = json!(key.doc);
        schema
    }

    /// Returns the JSON Schema of a value that has the kind `kind`.
    #[must_use]
    pub fn value(&self, kind: &Kind, complete: bool) -> Value {
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
                json!({ "anyOf": [one, { "type": "array", "minItems": 1, "items": one }, { "const": AUTO }] })
            }
            Kind::Rate => quantity(Dimension::Rate),
            Kind::Count { min, max } => whole(min, max),
            Kind::Ratio { min, max, open } => ratio(min, max, open),
            Kind::Ratios { min, max } => {
                let one = ratio(min, max, false);
                json!({ "anyOf": [one, { "type": "array", "minItems": 1, "items": one }] })
            }
            Kind::Number => json!({ "type": "number" }),
            Kind::Flag => json!({ "type": "boolean" }),
            Kind::Words(_) => json!({ "enum": words_of(kind) }),
            Kind::Name(catalog) => {
                json!({ "enum": catalog.cards(false).iter().map(|card| card.name).collect::<Vec<_>>() })
            }
            Kind::Tag(catalog) => {
                json!({ "enum": catalog.cards(false).iter().flat_map(Card::names).collect::<Vec<_>>() })
            }
            Kind::CountOrWord { words, .. } => {
                json!({ "anyOf": [{ "type": "integer", "minimum": 1 }, { "enum": words }] })
            }
            Kind::Table(spec) => self.table(spec, complete),
            Kind::Tables(spec) => json!({ "type": "array", "items": self.table(spec, true) }),
            Kind::ParamTables(info) => json!({ "type": "array", "items": self.param_table(info) }),
            Kind::Texts => {
                json!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] })
            }
            Kind::CountOrNames { .. } => json!({ "anyOf": [
                { "type": "integer", "minimum": 1 },
                { "type": "array", "minItems": 1, "items": { "type": "string" } },
            ] }),
            Kind::Counts { min, max } => json!({ "type": "array", "items": whole(min, max) }),
            Kind::List(element) => {
                let element = Kind::for_parameter(*element).expect("lists have plain elements");
                json!({ "type": "array", "minItems": 1, "items": self.value(&element, complete) })
            }
            Kind::Pairs { .. } => json!({ "type": "array", "minItems": 1, "items": {
                "type": "array", "minItems": 2, "maxItems": 2, "items": { "type": "string" },
            } }),
            Kind::Sizes => json!({ "type": "array", "items": quantity(Dimension::Size) }),
            Kind::Intervals => json!({ "type": "array", "minItems": 2, "items": quantity(Dimension::Time) }),
            Kind::Values { .. } | Kind::Settings { .. } | Kind::Named(_) | Kind::TextOr { .. } => {
                self.free_value(kind, complete)
            }
            Kind::Entry(catalog) => json!({ "$ref": format!("#/$defs/{}", definition(catalog.kind())) }),
            Kind::WordOrTables { words, table, .. } => json!({ "anyOf": [
                { "enum": words.iter().map(|word| word.name).collect::<Vec<_>>() },
                { "type": "array", "minItems": 1, "items": self.table(table, true) },
            ] }),
        }
    }

    /// Returns the JSON Schema of a value for which a document may choose the type or the keys.
    fn free_value(&self, kind: &Kind, complete: bool) -> Value {
        match *kind {
            Kind::Values { or } => {
                let plain = json!({ "type": ["string", "number", "boolean"] });
                let items = match or {
                    Some(spec) => json!({ "anyOf": [plain, self.table(spec, true)] }),
                    None => plain,
                };
                json!({ "type": "array", "minItems": 1, "items": items })
            }
            Kind::Named(kind) => {
                json!({ "type": "object", "additionalProperties": self.value(kind, complete) })
            }
            Kind::TextOr { tables, .. } => {
                let tables = tables.iter().map(|spec| self.table(spec, true));
                let all: Vec<_> = std::iter::once(json!({ "type": "string" })).chain(tables).collect();
                json!({ "anyOf": all })
            }
            _ => json!({ "type": "object" }),
        }
    }
}
