//! What a sweep leaves: a comparison per point, means as CSV, headline metrics as text.

use super::{Point, Vary, page, short};
use crate::PlanError;
use bufferlab_report::format::{estimate, number};
use bufferlab_report::{Caveat, CaveatRecord, Comparison, Report, ReportError, Sentence, grid_finding};
use schemars::{JsonSchema, Schema, schema_for};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// What the reports of all points have in common, and what is to be read before their numbers.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// What was run: seeds, duration, version and so on; what is not the same everywhere says so.
    pub facts: Vec<(String, String)>,
    /// Caveats with the points that they concern, one entry for every kind, in the words of the
    /// first point.
    pub caveats: Vec<(CaveatRecord, String)>,
}

impl Notes {
    fn of(reports: &[(&Point, Report)]) -> Self {
        let mut notes = Self::default();
        let mut kinds: Vec<(CaveatRecord, Vec<&str>)> = Vec::new();
        for (number, (point, report)) in reports.iter().enumerate() {
            let facts = report.facts();
            for (at, (name, what)) in facts.into_iter().enumerate() {
                match notes.facts.get_mut(at) {
                    Some((known, same)) if *known == name && *same != what => {
                        *same = "not the same at every point".to_owned();
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

/// Where a caveat holds, of `all` points: nothing if at all of them.
fn place(mut points: Vec<&str>, all: usize) -> String {
    points.dedup();
    match points.as_slice() {
        [one] if all > 1 => format!("At {one}"),
        [first, ..] if points.len() < all => format!("At {} of {all} points, first {first}", points.len()),
        _ => String::new(),
    }
}

/// Points with what the schemes did there.
type Compared<'a> = Vec<(&'a Point, Comparison)>;

/// The points that have results, compared each, and what is to be known of them.
pub(super) fn compared<'a>(
    out: &Path,
    points: &'a [Point],
    policies: &[String],
) -> Result<(Compared<'a>, Notes), PlanError> {
    let mut all = Vec::new();
    for point in points {
        let dir = out.join(&point.folder);
        if dir.is_dir() {
            match Report::load(&dir, policies) {
                Ok(report) => {
                    report.write()?;
                    all.push((point, report));
                }
                Err(ReportError::NoRuns { .. }) => {}
                Err(other) => return Err(other.into()),
            }
        }
    }
    let notes = Notes::of(&all);
    Ok((all.into_iter().map(|(point, report)| (point, report.comparison)).collect(), notes))
}

/// A grid of comparisons. `format_version` grows when a field changes its meaning or goes; new
/// fields may come without.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "bufferlab sweep")]
struct SweepFile<'a> {
    /// `bufferlab-sweep`.
    format: &'static str,
    /// 1.
    format_version: u32,
    /// The scenario's name.
    name: &'a str,
    /// The keys of the grid, the last one fastest.
    vary: &'a [Vary],
    /// What was found, in sentences; differences are corrected for the looks at all points
    /// together.
    finding: Vec<Sentence>,
    /// What to check before trusting the numbers.
    caveats: Vec<SweepCaveat<'a>>,
    /// Those that have results.
    points: Vec<SweepPoint<'a>>,
}

/// One point of the grid.
#[derive(Serialize, JsonSchema)]
struct SweepPoint<'a> {
    /// A value for every varied key, as it was written.
    at: BTreeMap<&'a str, &'a str>,
    /// Its folder, below that of the sweep.
    folder: &'a str,
    /// What the schemes did there.
    comparison: &'a Comparison,
}

/// A reason to doubt the results of some points.
#[derive(Serialize, JsonSchema)]
struct SweepCaveat<'a> {
    /// In the words of the first point that it concerns.
    #[serde(flatten)]
    caveat: &'a CaveatRecord,
    /// Which points; empty: all of them.
    place: &'a str,
}

/// The schema of `sweep.json`, and of what `sweep` prints with `--json`.
#[must_use]
pub fn sweep_schema() -> Schema {
    schema_for!(SweepFile<'_>)
}

/// Everything for programs, with a line end.
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

/// One line per point, metric and policy.
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

/// The headline metrics, one table each: a row per point, a column per policy.
pub(super) fn table(vary: &[Vary], compared: &[(&Point, Comparison)]) -> String {
    let Some((_, first)) = compared.first() else { return "no point has results\n".to_owned() };
    let mut text = String::new();
    for metric in first.metrics.iter().map(|row| &row.metric).filter(|metric| metric.headline) {
        let mut rows = vec![vary.iter().map(|vary| short(&vary.key).to_owned()).collect::<Vec<_>>()];
        rows[0].extend(first.policies.iter().cloned());
        for (point, comparison) in compared {
            let mut row: Vec<_> =
                point.overrides.iter().map(|(_, value)| value.trim_matches('"').to_owned()).collect();
            for policy in &first.policies {
                let cells =
                    comparison.metrics.iter().find(|row| row.metric.id == metric.id).map(|row| &row.cells);
                let cell = cells.and_then(|cells| cells.iter().find(|cell| cell.policy == *policy));
                row.push(match cell.and_then(|cell| cell.estimate) {
                    None => "–".to_owned(),
                    Some(mean) => {
                        mean.half_width.map_or_else(|| number(mean.mean), |half| estimate(mean.mean, half))
                    }
                });
            }
            rows.push(row);
        }
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<_> = (0..rows[0].len()).map(width).collect();
        let _ = writeln!(text, "{}: {}", metric.group, metric.title());
        for row in &rows {
            let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:>width$}"));
            let _ = writeln!(text, "  {}", cells.collect::<Vec<_>>().join("  "));
        }
        text.push('\n');
    }
    text
}
