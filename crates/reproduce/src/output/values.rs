//! The values of an experiment as text for a terminal.

use crate::{Axis, Estimates, Metric, Runs};
use bufferlab_report::Estimate;
use bufferlab_report::format::{estimate, number};
use std::fmt::Write;

/// Largest number of rows that a table shows; the text gives the number of further rows.
const ROWS: usize = 40;

/// Formats a table per metric: one row per combination of axis values, one column per variant. The
/// cells are means with their 95 % intervals. An experiment without runs gives no text.
#[must_use]
pub fn values_text(estimates: &Estimates) -> String {
    let mut text = String::new();
    let Some(runs) = estimates.experiment().runs() else { return text };
    for (name, metric) in &runs.metrics {
        let what = match metric {
            Metric::Summary(_) => metric.key(),
            _ => metric.full_label(),
        };
        let label = if *name == what { name.clone() } else { format!("{name} ({what})") };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{label}");
        let rows = table(estimates, runs, name);
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
        for row in rows.iter().take(1 + ROWS) {
            let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:>width$}"));
            let _ = writeln!(text, "  {}", cells.collect::<Vec<_>>().join("  "));
        }
        if rows.len() > 1 + ROWS {
            let _ = writeln!(text, "  and {} more rows in values.csv", rows.len() - 1 - ROWS);
        }
    }
    text
}

/// Returns the header of a metric's table, then its rows.
fn table(estimates: &Estimates, runs: &Runs, metric: &str) -> Vec<Vec<String>> {
    let names = runs.axes.iter().map(|axis: &Axis| axis.name.clone());
    let mut rows = vec![names.chain(runs.variants.iter().map(|variant| variant.name.clone())).collect()];
    for places in estimates.grid() {
        let at = runs.axes.iter().zip(places).map(|(axis, &place)| axis.values[place].label.clone());
        let cell = |variant: usize| match estimates.get(metric, variant, places) {
            None => "–".to_owned(),
            Some(Estimate { mean, half_width: Some(half), .. }) => estimate(mean, half),
            Some(Estimate { mean, .. }) => number(mean),
        };
        rows.push(at.chain((0..runs.variants.len()).map(cell)).collect());
    }
    rows
}
