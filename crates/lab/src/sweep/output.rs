//! Writes the output of a sweep: a comparison per point, means as CSV, headline metrics as text.

use super::{Point, Vary, page, short};
use crate::PlanError;
use bufferlab_report::format::{estimate, number};
use bufferlab_report::{
    Caveat, CaveatRecord, Comparison, Metric, PageTable, Report, ReportError, Sentence, finding_text,
    grid_finding, headlines, noted_text, short_labels,
};
use schemars::{JsonSchema, Schema, schema_for};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Facts that the reports of all points share, and caveats to read before the numbers.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Facts about the runs: seeds, duration, version and so on. If a fact differs between points,
    /// its text mentions the difference.
    pub facts: Vec<(String, String)>,
    /// Caveats of the sweep, each with the points that have the caveat. There is one entry per
    /// kind, with the text of the first point that has the caveat.
    pub caveats: Vec<(CaveatRecord, String)>,
}

impl Notes {
    /// Adds a note about the parts that all variants share, because labels omit these parts.
    pub(super) fn with_common(mut self, common: &[String]) -> Self {
        if !common.is_empty() {
            self.facts.insert(0, ("Common to all".to_owned(), common.join(", ")));
        }
        self
    }

    fn from_reports(reports: &[(&Point, Report)]) -> Self {
        let mut notes = Self::default();
        let mut kinds: Vec<(CaveatRecord, Vec<&str>)> = Vec::new();
        for (number, (point, report)) in reports.iter().enumerate() {
            let facts = report.facts();
            for (at, (name, what)) in facts.into_iter().enumerate() {
                match notes.facts.get_mut(at) {
                    Some((known, same)) if *known == name && *same != what => {
                        *same = "differs between the points".to_owned();
                    }
                    None if number == 0 => notes.facts.push((name, what)),
                    _ => {}
                }
            }
            for caveat in report.caveats.iter().map(Caveat::record) {
                match kinds.iter_mut().find(|(known, _)| known.id == caveat.id) {
                    Some((_, places)) => places.push(&point.folder),
                    None => kinds.push((caveat, vec![&point.folder])),
                }
            }
        }
        let all = reports.len();
        notes.caveats = kinds.into_iter().map(|(caveat, places)| (caveat, place(places, all))).collect();
        notes
    }
}

/// Describes which of `all` points have a caveat; empty if all points have the caveat.
fn place(mut points: Vec<&str>, all: usize) -> String {
    points.dedup();
    match points.as_slice() {
        [one] if all > 1 => format!("At {one}"),
        [first, ..] if points.len() < all => format!("At {} of {all} points, first {first}", points.len()),
        _ => String::new(),
    }
}

/// Points of a sweep, each with the comparison of its policies.
type Compared<'a> = Vec<(&'a Point, Comparison)>;

/// Compares the policies at every point that has results, and collects the notes.
/// On request, writes the report of every point.
pub(super) fn compared<'a>(
    out: &Path,
    points: &'a [Point],
    policies: &[String],
    write: bool,
) -> Result<(Compared<'a>, Notes), PlanError> {
    let mut all = Vec::new();
    for point in points {
        let dir = out.join(&point.folder);
        if dir.is_dir() {
            match Report::load(&dir, policies) {
                Ok(report) => {
                    if write {
                        report.write()?;
                    }
                    all.push((point, report));
                }
                Err(ReportError::NoRuns { .. }) => {}
                Err(other) => return Err(other.into()),
            }
        }
    }
    let notes = Notes::from_reports(&all);
    Ok((all.into_iter().map(|(point, report)| (point, report.comparison)).collect(), notes))
}

/// Returns the comparisons with short labels for people, and the common parts of `policies` that
/// the short labels omit.
pub(super) fn shown<'a>(
    compared: &[(&'a Point, Comparison)],
    policies: &[String],
) -> (Compared<'a>, Vec<String>) {
    let (short, common) = short_labels(policies);
    let label = |label: &String| {
        let at = policies.iter().position(|policy| policy == label);
        at.map_or_else(|| label.clone(), |at| short[at].clone())
    };
    let relabelled = |(point, comparison): &(&'a Point, Comparison)| {
        let labels: Vec<String> = comparison.policies.iter().map(label).collect();
        (*point, comparison.relabelled(&labels))
    };
    (compared.iter().map(relabelled).collect(), common)
}

/// A grid of comparisons. `format_version` increases if a field changes its meaning or is removed;
/// new fields do not change the version.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "bufferlab sweep")]
struct SweepFile<'a> {
    /// Name of the document's format, always `bufferlab-sweep`.
    format: &'static str,
    /// Version of the document's format: 1.
    format_version: u32,
    /// Name of the swept scenario.
    name: &'a str,
    /// Keys of the grid with their values; the last key varies fastest.
    vary: &'a [Vary],
    /// Findings as sentences. Differences are corrected for multiple tests over all points.
    finding: Vec<Sentence>,
    /// Caveats of the sweep, to check before trusting its numbers.
    caveats: Vec<SweepCaveat<'a>>,
    /// Points of the sweep's grid with results.
    points: Vec<SweepPoint<'a>>,
}

/// A point of the sweep's grid with its results.
#[derive(Serialize, JsonSchema)]
struct SweepPoint<'a> {
    /// Value of every varied key at the point, as written by the user.
    at: BTreeMap<&'a str, &'a str>,
    /// Folder of the point, relative to the folder of the sweep.
    folder: &'a str,
    /// Comparison of the policies at this grid point.
    comparison: &'a Comparison,
}

/// A reason to doubt the results of some points.
#[derive(Serialize, JsonSchema)]
struct SweepCaveat<'a> {
    /// The caveat, with the text of the first point that has this caveat.
    #[serde(flatten)]
    caveat: &'a CaveatRecord,
    /// Points that have the caveat; empty means all points.
    place: &'a str,
}

/// Schema of `sweep.json`, and of the output of `sweep --json`.
#[must_use]
pub fn sweep_schema() -> Schema {
    schema_for!(SweepFile<'_>)
}

/// Formats the full results of a sweep as JSON, with a final newline.
pub(super) fn json(
    name: &str,
    vary: &[Vary],
    (compared, notes): (&[(&Point, Comparison)], &Notes),
) -> serde_json::Result<String> {
    let points = compared
        .iter()
        .map(|(point, comparison)| SweepPoint {
            at: point.overrides.iter().map(|(key, value)| (key.as_str(), value.trim_matches('"'))).collect(),
            folder: &point.folder,
            comparison,
        })
        .collect();
    let caveats = notes.caveats.iter().map(|(caveat, place)| SweepCaveat { caveat, place }).collect();
    let finding = grid_finding(&page::named(vary, compared));
    let file =
        SweepFile { format: "bufferlab-sweep", format_version: 1, name, vary, finding, caveats, points };
    Ok(serde_json::to_string_pretty(&file)? + "\n")
}

/// Formats the means of a sweep as CSV: one line per point, metric and policy.
pub(super) fn csv(vary: &[Vary], compared: &[(&Point, Comparison)]) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let mut text: String = vary.iter().map(|vary| quoted(&vary.key) + ",").collect();
    text.push_str(
        "metric,group,label,unit,policy,seeds,mean,ci95_half_width,change,change_ci95_low,change_ci95_high\n",
    );
    let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    for (point, comparison) in compared {
        for row in &comparison.metrics {
            for cell in &row.cells {
                for (_, value) in &point.overrides {
                    text.push_str(&quoted(value.trim_matches('"')));
                    text.push(',');
                }
                let (metric, mean, change) = (&row.metric, cell.estimate, cell.change);
                let words = [&metric.id, &metric.group, &metric.label, metric.unit.symbol(), &cell.policy];
                let words = words.map(quoted).join(",");
                let _ = writeln!(
                    text,
                    "{words},{},{},{},{},{},{}",
                    mean.map_or(0, |mean| mean.seeds),
                    number(mean.map(|mean| mean.mean)),
                    number(mean.and_then(|mean| mean.half_width)),
                    number(change.map(|change| change.mean)),
                    number(change.and_then(|change| change.low)),
                    number(change.and_then(|change| change.high)),
                );
            }
        }
    }
    text
}

/// Headline metrics of the first point; the metric that ranks schemes is first.
pub(super) fn headline_metrics<'a>(compared: &'a [(&Point, Comparison)]) -> Vec<&'a Metric> {
    let first = compared.first().map(|(_, first)| headlines(first)).unwrap_or_default();
    first.into_iter().map(|row| &row.metric).collect()
}

/// Formats findings, headline metrics and caveats as text, in the order of a comparison's report.
pub(super) fn text(vary: &[Vary], (compared, notes): (&[(&Point, Comparison)], &Notes)) -> String {
    let mut text = finding_text(&grid_finding(&page::named(vary, compared)), notes.caveats.len());
    if !text.is_empty() {
        text.push('\n');
    }
    text + &tables(vary, compared) + &noted_text(&notes.caveats)
}

/// Creates a table of a metric: a row per point, a column per varied key and policy.
pub(super) fn table(vary: &[Vary], compared: &[(&Point, Comparison)], metric: &Metric) -> PageTable {
    let policies = compared.first().map(|(_, first)| &first.policies[..]).unwrap_or_default();
    let keys = vary.iter().map(|vary| short(&vary.key).to_owned());
    let header = keys.chain(policies.iter().cloned()).collect();
    let row = |(point, comparison): &(&Point, Comparison)| {
        let values = point.overrides.iter().map(|(_, value)| value.trim_matches('"').to_owned());
        let means = policies.iter().map(|policy| {
            let row = comparison.metric(&metric.id);
            let cell = row.and_then(|row| row.cells.iter().find(|cell| cell.policy == *policy));
            match cell.and_then(|cell| cell.estimate) {
                None => "–".to_owned(),
                Some(mean) => {
                    mean.half_width.map_or_else(|| number(mean.mean), |half| estimate(mean.mean, half))
                }
            }
        });
        values.chain(means).collect()
    };
    let title = format!("{}: {}", metric.group, metric.title());
    PageTable { title, header, rows: compared.iter().map(row).collect() }
}

/// Formats the headline metrics of a sweep as text, one table per metric.
fn tables(vary: &[Vary], compared: &[(&Point, Comparison)]) -> String {
    if compared.is_empty() {
        return "no point has results\n".to_owned();
    }
    let mut text = String::new();
    for metric in headline_metrics(compared) {
        let PageTable { title, header, rows } = table(vary, compared, metric);
        let lines: Vec<Vec<String>> = std::iter::once(header).chain(rows).collect();
        let width = |column: usize| lines.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<_> = (0..lines[0].len()).map(width).collect();
        let _ = writeln!(text, "{title}");
        for line in &lines {
            let cells = line.iter().zip(&widths).map(|(cell, &width)| format!("{cell:>width$}"));
            let _ = writeln!(text, "  {}", cells.collect::<Vec<_>>().join("  "));
        }
        text.push('\n');
    }
    text.truncate(text.len() - usize::from(text.ends_with("\n\n")));
    text
}
