//! Reads a paper's statements, their conditions, and the marks of the paper's numbers in charts.

use super::axes::label;
use super::read::Known;
use super::{Beside, ClaimCheck, Condition, Panel};
use crate::PaperMark;
use crate::expression::compile;
use bufferlab_document::context::Complaint;
use bufferlab_document::reader::Reader;

/// Reads every statement (`[[claim]]`) of an experiment.
pub(super) fn claims(root: &mut Reader<'_>, known: &Known<'_>, panels: &[Panel]) -> Vec<ClaimCheck> {
    let mut claims: Vec<ClaimCheck> = Vec::new();
    for mut reader in root.tables("claim") {
        let Some(claim) = claim(&mut reader, known, panels) else { continue };
        if claims.iter().any(|known| known.id == claim.id) {
            let complaint = Complaint::new(format!("{} is judged twice", claim.id), "the second time");
            reader.error(
                "id",
                complaint.help(
                    "conditions of one statement stand together: also = [{ effect = …, at_least = … }]",
                ),
            );
        }
        claims.push(claim);
    }
    claims
}

fn claim(reader: &mut Reader<'_>, known: &Known<'_>, panels: &[Panel]) -> Option<ClaimCheck> {
    let (id, statement) = (reader.text("id"), reader.text("statement"));
    let (note, not_checkable) = (reader.text("note"), reader.text("not_checkable"));
    let parts = [
        "effect",
        "at_least",
        "at_most",
        "neutral",
        "paper",
        "percent",
        "over_seeds",
        "guard",
        "better",
        "mark",
        "also",
    ];
    let mut conditions = Vec::new();
    if not_checkable.is_some() {
        for key in parts.into_iter().filter(|key| reader.has(key)) {
            let complaint =
                Complaint::new("what cannot be decided has no condition", "not beside `not_checkable`");
            reader.error(key, complaint.help("leave out this or `not_checkable`"));
        }
    } else {
        if !reader.has("effect") {
            let doc = "what is measured, and a band: `at_least` or `at_most`; or `not_checkable`, why it cannot be decided";
            reader.report_missing(
                "effect",
                "'lower(v(\"incast\", \"abm\", 0.8), v(\"incast\", \"dt\", 0.8))'",
                doc,
            );
        }
        conditions.extend(condition(reader, known, panels));
        for mut also in reader.tables("also") {
            conditions.extend(condition(&mut also, known, panels));
            also.finish();
        }
    }
    let beside = reader.tables("beside").into_iter().filter_map(beside).collect();
    Some(ClaimCheck { id: id?, statement, conditions, not_checkable, note, beside })
}

/// Reads an alternative interpretation of the paper: an entry of a claim's list `beside`.
fn beside(mut reader: Reader<'_>) -> Option<Beside> {
    let (reading, effect, percent) = (reader.text("reading"), reader.text("effect"), reader.flag("percent"));
    if let Some(effect) = &effect {
        check_expression(&reader, "effect", effect);
    }
    reader.finish();
    Some(Beside { reading: reading?, effect: effect?, percent: percent? })
}

/// Reads the condition in a claim, or in an entry of the claim's list `also`.
fn condition(reader: &mut Reader<'_>, known: &Known<'_>, panels: &[Panel]) -> Option<Condition> {
    let effect = reader.text("effect");
    let (at_least, at_most) = (reader.number("at_least"), reader.number("at_most"));
    let (neutral, paper) = (reader.number("neutral"), reader.number("paper"));
    let (percent, over_seeds) = (reader.flag("percent"), reader.choice("over_seeds"));
    let (guard, better) = (reader.text("guard"), reader.choice("better"));
    if let Some(guard) = &guard {
        check_expression(reader, "guard", guard);
    }
    let mark = mark(reader, known, panels);
    if let Some(effect) = &effect {
        check_expression(reader, "effect", effect);
        check_band(reader);
    }
    if mark.is_some() && !reader.has("paper") {
        let complaint = Complaint::new("a mark needs `paper`, the number that it shows", "which number?");
        reader.error("mark", complaint.help("for example paper = 0.94"));
    }
    Some(Condition {
        effect: effect?,
        at_least,
        at_most,
        neutral,
        paper,
        percent: percent?,
        over_seeds: over_seeds?,
        guard,
        better,
        mark,
    })
}

/// Checks that the criterion of a statement gives the direction of the effect.
fn check_band(reader: &Reader<'_>) {
    match (reader.has("at_least"), reader.has("at_most")) {
        (false, false) => {
            let complaint = Complaint::new("the criterion has no band", "how large must it be?");
            reader.error("effect", complaint.help("give `at_least` or `at_most`"));
        }
        (true, true) if reader.has("neutral") => {
            let complaint = Complaint::new("with `neutral` the effect has one direction", "and two bounds");
            reader.error(
                "neutral",
                complaint.help("give `at_least` or `at_most`, not both; or leave out `neutral`"),
            );
        }
        _ => {}
    }
}

fn check_expression(reader: &Reader<'_>, key: &str, expression: &str) {
    if let Err(error) = compile(expression) {
        let complaint = Complaint::new(format!("not an expression: {error}"), "this expression");
        reader.error(key, complaint.help("docs/reference/experiments.md lists what an expression may call"));
    }
}

fn mark(reader: &mut Reader<'_>, known: &Known<'_>, panels: &[Panel]) -> Option<PaperMark> {
    reader.spec_of("mark");
    reader.item("mark")?;
    let mut reader = reader.table("mark")?;
    let (metric, variant, value) = (reader.text("metric"), reader.text("variant"), reader.text("value"));
    if let Some(metric) = &metric {
        known.check_metric(&reader, "metric", metric);
    }
    if let Some(variant) = &variant {
        known.check_variant(&reader, "variant", reader.place("variant"), variant);
    }
    if let (Some(metric), Some(variant)) = (&metric, &variant) {
        let of_metric = |panel: &&Panel| panel.metric == *metric;
        if !panels.iter().any(|panel| of_metric(&panel) && panel.shows(variant)) {
            let message = format!("no panel shows \"{metric}\" of \"{variant}\"");
            let complaint = Complaint::new(message, "would be seen nowhere");
            reader.error(
                "metric",
                complaint.help("add a [[panel]] with this metric, or name one that has a panel"),
            );
        }
    }
    if let Some(value) = &value {
        check_expression(&reader, "value", value);
    }
    let (x, y) = (labels(&mut reader, "x", 0, known), labels(&mut reader, "y", 1, known));
    reader.finish();
    Some(PaperMark { metric: metric?, variant: variant?, x, y, value: value? })
}

/// Reads a list of labels that name values of one axis.
fn labels(reader: &mut Reader<'_>, key: &'static str, axis: usize, known: &Known<'_>) -> Option<Vec<String>> {
    let items = reader.values(key);
    if !reader.has(key) {
        return None;
    }
    match known.axes.get(axis) {
        Some(axis) => items.iter().for_each(|item| known.check_label(reader, key, axis, item)),
        None if known.axes_complete => {
            let complaint =
                Complaint::new(format!("the experiment has no axis {}", axis + 1), "no such axis");
            reader.error(key, complaint.help("leave it out"));
        }
        None => {}
    }
    Some(items.iter().map(|item| label(&item.value)).collect())
}
