//! Generates the reference of the experiment format for `docs/reference/experiments.md`, and the
//! JSON Schema for editors and checkers.

use crate::format::{
    AXIS, AXIS_VALUE, CLAIM, CONDITION, COURSE, GOODPUT, MARK, PANEL, PROBE, QUEUES, READING, ROOT, SCALE,
    STATISTIC, VARIANT,
};
use bufferlab_document::reference::table;
use bufferlab_document::schema::Schema;
use serde_json::{Value, json};

/// Writes every table, key, unit and default of the experiment format as Markdown.
#[must_use]
pub fn reference() -> String {
    let mut text = String::new();
    let tables = [
        &ROOT,
        &AXIS,
        &AXIS_VALUE,
        &VARIANT,
        &STATISTIC,
        &GOODPUT,
        &QUEUES,
        &PROBE,
        &SCALE,
        &READING,
        &PANEL,
        &COURSE,
        &CLAIM,
        &CONDITION,
        &MARK,
    ];
    for spec in tables {
        table(&mut text, spec);
    }
    text
}

/// Keys that the file of an analytical figure may have.
const OF_FIGURES: [&str; 4] = ["title", "figure", "about", "theory"];

/// Generates the JSON Schema (draft 2020-12) of an experiment: an experiment that runs a scenario,
/// or an analytical figure.
///
/// The reader of experiment files checks more than a schema can express, such as names of metrics,
/// variants and values, and expressions.
#[must_use]
pub fn json_schema() -> Value {
    let whole = Schema::default().table(&ROOT, true);
    let (mut runs, mut figure) = (whole.clone(), whole);
    if let Some(properties) = runs["properties"].as_object_mut() {
        properties.remove("theory");
    }
    runs["required"] = json!(["title", "figure", "scenario", "quick"]);
    runs["anyOf"] = json!([{ "required": ["policies"] }, { "required": ["variant"] }]);
    if let Some(properties) = figure["properties"].as_object_mut() {
        properties.retain(|key, _| OF_FIGURES.contains(&key.as_str()));
    }
    figure["required"] = json!(["title", "figure", "theory"]);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "bufferlab experiment",
        "description": ROOT.doc,
        "anyOf": [runs, figure],
    })
}
