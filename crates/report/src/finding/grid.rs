//! Findings of a grid of comparisons, as sentences.
//!
//! Holm's correction covers the tests of all grid points. A grid has more tests than one
//! comparison, so fewer differences are significant.

use super::sentences::{Amount, named, phrase, with_unit};
use super::{Look, Sentence, SentenceKind, judged, looks};
use crate::compare::Comparison;
use crate::metric::{Better, Metric};
use crate::statistics::holm;

/// Maximum number of metrics in the findings of a grid.
const METRICS: usize = 4;
/// Maximum number of grid points that a sentence names; more points are only counted.
const NAMES: usize = 2;

struct Found<'a> {
    metric: &'a Metric,
    policy: &'a str,
    point: usize,
    look: Look,
}

/// Formats the findings of a grid. The sentences name the grid points at which schemes differ from
/// the baseline, and the baseline's values along the grid. The result is empty without points.
#[must_use]
pub fn grid_finding(points: &[(String, &Comparison)]) -> Vec<Sentence> {
    let mut found: Vec<Found<'_>> = Vec::new();
    let mut metrics: Vec<&Metric> = Vec::new();
    for (point, (_, comparison)) in points.iter().enumerate() {
        let rows = judged(comparison);
        for row in &rows {
            if !metrics.iter().any(|known| known.id == row.metric.id) {
                metrics.push(&row.metric);
            }
        }
        found.extend(looks(&rows, comparison.policies.len()).into_iter().map(|look| Found {
            metric: &rows[look.metric].metric,
            policy: &comparison.policies[look.policy],
            point,
            look,
        }));
    }
    let corrected = holm(&found.iter().map(|one| one.look.chance).collect::<Vec<_>>());
    for (one, corrected) in found.iter_mut().zip(corrected) {
        one.look.corrected = corrected;
    }
    let baseline = points.first().map_or("", |(_, first)| first.baseline());
    let mut list: Vec<Sentence> = Vec::new();
    for metric in metrics.iter().take(METRICS) {
        list.extend(differences(metric, &found, points, baseline));
    }
    if points.iter().any(|(_, comparison)| comparison.policies.len() > 1) {
        list.push(closing(&found, points));
    }
    list.extend(metrics.iter().take(METRICS).filter_map(|metric| course(metric, points, baseline)));
    list
}

/// Formats sentences about differences: "cs ends incast queries 78–98 % sooner than dt
/// at 6 of 9 points."
fn differences(
    metric: &Metric,
    found: &[Found<'_>],
    points: &[(String, &Comparison)],
    baseline: &str,
) -> Vec<Sentence> {
    let good = if metric.better == Better::Lower { -1.0 } else { 1.0 };
    let mut list = Vec::new();
    let mut policies: Vec<&str> = Vec::new();
    for one in found {
        if !policies.contains(&one.policy) {
            policies.push(one.policy);
        }
    }
    for side in [good, -good] {
        for policy in &policies {
            let of = |one: &&Found<'_>| {
                let Found { look, .. } = one;
                one.metric.id == metric.id
                    && one.policy == *policy
                    && look.holds()
                    && look.difference.mean * side > 0.0
            };
            let held: Vec<&Found<'_>> = found.iter().filter(of).collect();
            if held.is_empty() {
                continue;
            }
            let changes: Vec<f64> =
                held.iter().filter_map(|one| one.look.change.map(|change| change.mean)).collect();
            let lower = side < 0.0;
            let text = if changes.is_empty() {
                let verb = if lower { "lowers" } else { "raises" };
                format!(
                    "{policy} {verb} {} against {baseline}, where it is 0,",
                    metric.in_sentence_with_subject()
                )
            } else {
                phrase(metric, lower, false, &Amount::of_several(metric, &changes))
                    .replace("{names}", policy)
                    .replace("{baseline}", baseline)
                    .trim_end_matches('.')
                    .to_owned()
            };
            let at: Vec<&str> = held.iter().map(|one| points[one.point].0.as_str()).collect();
            list.push(Sentence {
                kind: SentenceKind::Difference,
                text: format!("{text} {}.", places(&at, points.len())),
            });
        }
    }
    list
}

/// Formats a phrase for the points of a difference, such as "at 1 of 9 points (buffer = 200 KB)".
fn places(at: &[&str], all: usize) -> String {
    match at.len() {
        _ if all == 1 => "at the only point".to_owned(),
        count if count == all => format!("at all {all} points"),
        count if count <= NAMES => format!("at {count} of {all} points ({})", at.join("; ")),
        count => format!("at {count} of {all} points"),
    }
}

/// Names the tested metrics, and states that no other difference is detectable.
fn closing(found: &[Found<'_>], points: &[(String, &Comparison)]) -> Sentence {
    let open = |text| Sentence { kind: SentenceKind::Open, text };
    if found.is_empty() {
        return open(
            "One seed: whether the schemes differ cannot be told, since a difference may be chance. Repeat with `--seeds 5`: what is there already does not run again."
                .to_owned(),
        );
    }
    let held = found.iter().filter(|one| one.look.holds()).count();
    let hints: Vec<&Found<'_>> = found.iter().filter(|one| one.look.is_hint()).collect();
    let begin = if held > 0 { "Nothing else differs" } else { "Nothing differs" };
    let mut schemes: Vec<&str> = Vec::new();
    for one in &hints {
        if !schemes.contains(&one.policy) {
            schemes.push(one.policy);
        }
    }
    let alone = match hints.len() {
        0 => String::new(),
        1 => format!(
            " One more, of {}, would count as a single comparison: more seeds would tell.",
            named(&schemes)
        ),
        many => format!(
            " {many} more, of {}, would count as a single comparison: more seeds would tell.",
            named(&schemes)
        ),
    };
    open(format!(
        "{begin} beyond noise. {} comparisons at {} points were looked at, and corrected for together (Holm).{alone}",
        found.len(),
        points.len()
    ))
}

/// Formats a sentence about the baseline along the grid: "Under dt, mean QCT of incast queries is
/// lowest at 0.196 ms (buffer = 800 KB) and highest at 10.9 ms (buffer = 200 KB)."
fn course(metric: &Metric, points: &[(String, &Comparison)], baseline: &str) -> Option<Sentence> {
    let mean = |(place, comparison): &(String, &Comparison)| {
        let row = comparison.metric(&metric.id)?;
        Some((row.cells.first()?.estimate?.mean, place.clone()))
    };
    let values: Vec<(f64, String)> = points.iter().filter_map(mean).collect();
    let least = values.iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
    let most = values.iter().rev().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let (lowest, highest) = (with_unit(metric, least.0), with_unit(metric, most.0));
    // Values that are displayed with equal text give no information.
    if lowest == highest {
        return None;
    }
    let text = format!(
        "Under {baseline}, {} is lowest at {lowest} ({}) and highest at {highest} ({}).",
        metric.in_sentence_with_subject(),
        least.1,
        most.1
    );
    Some(Sentence { kind: SentenceKind::Fact, text })
}
