//! Markdown table of all metrics, for the page `docs/reference/metrics.md`.

use super::table;
use super::{Better, Metric, Unit};
use std::fmt::Write;

/// Formats a Markdown table per scope: id, label, unit and good direction of every metric.
#[must_use]
pub fn metrics_table() -> String {
    let mut text = String::new();
    for (scope, about, kinds) in table::scopes() {
        // Writing into a string cannot fail.
        let _ = writeln!(text, "\n{}\n\n| id | label | unit | better |\n|---|---|---|---|", about.trim());
        for kind in kinds {
            let subjects = scope.subjects("…");
            let ids = subjects.iter().map(|subject| format!("`{}.{}`", subject.prefix(), kind.name));
            let ids: Vec<_> = ids.map(|id| id.replace("{}", "…")).collect();
            let better = match kind.better {
                Better::Lower => "lower",
                Better::Higher => "higher",
                Better::Neither => "",
            };
            let label = Metric::label_of(kind).replace("{}", "…");
            let unit = if kind.unit == Unit::Count { "" } else { kind.unit.symbol() };
            let _ = writeln!(text, "| {} | {label} | {unit} | {better} |", ids.join(", "));
        }
    }
    text
}
