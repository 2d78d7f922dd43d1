//! Findings of a comparison, as sentences.
//!
//! A sentence "a differs from b" requires a significant paired test after Holm's correction for
//! *all* tests of the page: every judged metric ([`judged`]) of every scheme against the baseline.
//! Readers use each sentence alone, so the chance that any of them is wrong must be small. Holm's
//! method limits that chance; the method of Benjamini and Hochberg would only limit the share of
//! wrong ones. Holm's method also allows any dependence between the metrics of one run. The price
//! is power: differences that are significant only without the correction are reported as open.

mod grid;
mod single;
#[cfg(test)]
mod tests;
mod words;

pub use grid::grid_finding;
pub(crate) use single::facts_of_one;

use crate::compare::{Comparison, MetricComparison};
use crate::metric::{Better, Metric};
use crate::statistics::{Estimate, chance_of, holm};
use schemars::JsonSchema;
use serde::Serialize;

/// Accepted chance of an error, over all sentences together.
const LEVEL: f64 = 0.05;
/// Relative changes below this are displayed as zero.
const TOLD: f64 = 0.000_5;

/// Kind of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SentenceKind {
    /// A difference that is significant after the correction.
    Difference,
    /// A possible difference, or the absence of a detectable one.
    Open,
    /// A fact about these runs only: losses and pauses.
    Fact,
}

/// A sentence of a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Sentence {
    /// Kind of the sentence.
    pub kind: SentenceKind,
    /// Text, with a full stop.
    pub text: String,
}

/// One metric of one scheme against the baseline, as judged by findings.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// Name of the metric.
    pub metric: String,
    /// Label of the scheme.
    pub policy: String,
    /// Rank of the metric by importance, from 0.
    pub rank: usize,
    /// Mean of the paired differences, a fraction of the baseline's mean; in the metric's unit if
    /// that mean is zero.
    pub change: Estimate,
    /// Whether `change` is a fraction.
    pub relative: bool,
    /// Whether the change is an improvement; `None` without a change.
    pub better: Option<bool>,
    /// Chance of differences at least this clear without an effect.
    pub chance: f64,
    /// Chance corrected for all tests of the comparison (Holm).
    pub corrected: f64,
}

impl Judgement {
    /// Whether the difference is significant after the correction for all tests.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.corrected <= LEVEL
    }

    /// Whether the difference would be significant if it were the only test.
    #[must_use]
    pub fn is_hint(&self) -> bool {
        self.chance <= LEVEL
    }
}

/// Every judged metric of every scheme with at least two common seeds, the most important metric
/// first.
#[must_use]
pub fn judgements(comparison: &Comparison) -> Vec<Judgement> {
    let judged = judged(comparison);
    let looks = looks(&judged, comparison.policies.len());
    let judgement = |look: Look| {
        let metric = &judged[look.metric].metric;
        let relative = look.base != 0.0;
        let scale = if relative { look.base.abs() } else { 1.0 };
        let change = Estimate {
            seeds: look.difference.seeds,
            mean: look.difference.mean / scale,
            half_width: look.difference.half_width.map(|half| half / scale),
        };
        let sign = if metric.better == Better::Higher { 1.0 } else { -1.0 };
        Judgement {
            metric: metric.id.clone(),
            policy: comparison.policies[look.policy].clone(),
            rank: look.metric,
            change,
            relative,
            better: look
                .is_told()
                .then_some(look.difference.mean * sign > 0.0)
                .filter(|_| look.difference.mean != 0.0),
            chance: look.chance,
            corrected: look.corrected,
        }
    };
    looks.into_iter().map(judgement).collect()
}

/// The findings of a comparison as sentences, the most important first; empty without a comparison.
#[must_use]
pub fn finding(comparison: &Comparison) -> Vec<Sentence> {
    if comparison.policies.len() < 2 {
        return Vec::new();
    }
    let judged: Vec<&MetricComparison> = judged(comparison);
    let looks = looks(&judged, comparison.policies.len());
    words::sentences(comparison, &judged, &looks)
}

/// The metrics of findings and ranked tables, with the ranking metric first. These are outcomes
/// with a good direction. Of the mean and the p99 of one quantity only one is used, since both
/// would mostly agree. The choice does not depend on the results.
#[must_use]
pub(crate) fn judged(comparison: &Comparison) -> Vec<&MetricComparison> {
    let mut found: Vec<(u8, &MetricComparison)> = comparison
        .metrics
        .iter()
        .filter(|row| row.cells.iter().any(|cell| cell.estimate.is_some()))
        .filter_map(|row| Some((importance(&row.metric)?, row)))
        .collect();
    // The sort is stable: classes keep their order.
    found.sort_by_key(|(importance, _)| *importance);
    found.into_iter().map(|(_, row)| row).collect()
}

/// Rank of a metric among the judged ones; `None` if it is not judged.
fn importance(metric: &Metric) -> Option<u8> {
    metric.importance().filter(|_| metric.headline && metric.better != Better::Neither)
}

/// One metric of one scheme against the baseline.
#[derive(Clone, Copy, Debug)]
struct Look {
    /// Index among the judged metrics.
    metric: usize,
    /// Index of the scheme, at least 1.
    policy: usize,
    /// Mean of the paired differences.
    difference: Estimate,
    /// Mean of the baseline over the same seeds.
    base: f64,
    /// Whether the scheme's value is zero in all seeds.
    gone: bool,
    /// Chance of differences at least this clear without an effect.
    chance: f64,
    /// Chance corrected for all tests.
    corrected: f64,
}

impl Look {
    fn holds(&self) -> bool {
        self.corrected <= LEVEL && self.is_told()
    }

    /// Whether the difference is significant only without the correction.
    fn is_hint(&self) -> bool {
        self.chance <= LEVEL && self.corrected > LEVEL && self.is_told()
    }

    /// Whether the change is large enough to be displayed.
    fn is_told(&self) -> bool {
        self.base == 0.0 || self.difference.mean.abs() >= TOLD * self.base.abs()
    }

    /// The change as a fraction of the baseline; `None` if that is zero.
    fn relative(&self) -> Option<f64> {
        (self.base != 0.0).then(|| self.difference.mean / self.base.abs())
    }
}

/// Every pair of a judged metric and a scheme with at least two common seeds.
fn looks(judged: &[&MetricComparison], policies: usize) -> Vec<Look> {
    let mut looks = Vec::new();
    for (metric, row) in judged.iter().enumerate() {
        for policy in 1..policies {
            let pairs: Vec<(f64, f64)> = pairs(row, 0, policy);
            let differences: Vec<f64> = pairs.iter().map(|(base, value)| value - base).collect();
            if let (Some(chance), Some(difference)) = (chance_of(&differences), Estimate::of(&differences)) {
                let base = pairs.iter().map(|(base, _)| base).sum::<f64>() / pairs.len() as f64;
                let gone = pairs.iter().all(|(_, value)| *value == 0.0);
                looks.push(Look { metric, policy, difference, base, gone, chance, corrected: 1.0 });
            }
        }
    }
    let corrected = holm(&looks.iter().map(|look| look.chance).collect::<Vec<_>>());
    for (look, corrected) in looks.iter_mut().zip(corrected) {
        look.corrected = corrected;
    }
    looks
}

/// The values of two schemes in the seeds that both have.
pub(crate) fn pairs(row: &MetricComparison, of: usize, with: usize) -> Vec<(f64, f64)> {
    let values = row.cells[of].values.iter().zip(&row.cells[with].values);
    values.filter_map(|(a, b)| (*a).zip(*b)).collect()
}
