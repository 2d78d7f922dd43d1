//! Findings of a comparison, as sentences.
//!
//! A sentence "a differs from b" requires a significant paired test after Holm's correction for
//! *all* tests of the page. The tests are every judged metric ([`judged`]) of every scheme against
//! the baseline. Readers use each sentence alone, so the chance that any sentence is wrong must be
//! small. Holm's method limits that chance. The method of Benjamini and Hochberg would only limit
//! the share of wrong sentences. Holm's method also allows any dependence between the metrics of
//! one run. The disadvantage is lower statistical power: differences that are significant only
//! without the correction are reported as open questions.

mod grid;
mod sentences;
mod single;
#[cfg(test)]
mod tests;

pub use grid::grid_finding;
pub use single::nearest_pause_text;
pub(crate) use single::{facts_of_one, no_pause};

use crate::compare::{Comparison, MetricComparison};
use crate::metric::{Better, Metric, Unit};
use crate::statistics::{Change, Estimate, chance_of, holm};
use schemars::JsonSchema;
use serde::Serialize;

/// Accepted chance of a false difference, over all sentences of a page.
const LEVEL: f64 = 0.05;
/// Relative changes below this fraction are displayed as zero.
const TOLD: f64 = 0.000_5;
/// Percentages below this limit are negligible: sentences about negligible changes come last.
const MINOR_PERCENT: f64 = 0.1;

/// Kind of a sentence in a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SentenceKind {
    /// The sentence states a difference that is significant after the correction for all tests.
    Difference,
    /// The sentence states a possible difference, or that no difference is detectable.
    Open,
    /// The sentence states losses or pauses of the compared runs, without a significance test.
    Fact,
}

/// A sentence of a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Sentence {
    /// Kind of the sentence: difference, open question or fact.
    pub kind: SentenceKind,
    /// Text of the sentence, with a full stop.
    pub text: String,
}

/// Judgement of one metric of one scheme against the baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// Name of the judged metric.
    pub metric: String,
    /// Label of the judged scheme.
    pub policy: String,
    /// Rank of the metric by importance in findings, from 0.
    pub rank: usize,
    /// Change against the baseline; `None` if the baseline's mean is zero.
    pub change: Option<Change>,
    /// Mean of the paired differences, in the metric's unit.
    pub difference: Estimate,
    /// Whether the change improves the metric; `None` without a change.
    pub better: Option<bool>,
    /// The p-value: chance that noise alone gives at least the measured difference.
    pub chance: f64,
    /// The p-value after Holm's correction for all tests of the comparison.
    pub corrected: f64,
}

impl Judgement {
    /// Size of the change, to order changes by; infinite if the baseline's mean is zero.
    #[must_use]
    pub fn size(&self) -> f64 {
        self.change.map_or(f64::INFINITY, |change| change.mean.abs())
    }

    /// Whether the difference is significant after the correction for all tests.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.corrected <= LEVEL
    }

    /// Whether the difference would be significant without the correction for the number of tests.
    #[must_use]
    pub fn is_hint(&self) -> bool {
        self.chance <= LEVEL
    }
}

/// Tests every judged metric of every scheme that shares at least two seeds with the baseline. The
/// most important metric is first.
#[must_use]
pub fn judgements(comparison: &Comparison) -> Vec<Judgement> {
    let judged = judged(comparison);
    let looks = looks(&judged, comparison.policies.len());
    let judgement = |look: Look| {
        let metric = &judged[look.metric].metric;
        let sign = if metric.better == Better::Higher { 1.0 } else { -1.0 };
        Judgement {
            metric: metric.id.clone(),
            policy: comparison.policies[look.policy].clone(),
            rank: look.metric,
            change: look.change,
            difference: look.difference,
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

/// Formats the findings of a comparison as sentences, the most important first. The result is empty
/// without a comparison, unless lossless traffic caused no pause.
#[must_use]
pub fn finding(comparison: &Comparison) -> Vec<Sentence> {
    if comparison.policies.len() < 2 {
        let sentence = |text| Sentence { kind: SentenceKind::Fact, text };
        return no_pause(comparison).map(sentence).into_iter().collect();
    }
    let judged: Vec<&MetricComparison> = judged(comparison);
    let looks = looks(&judged, comparison.policies.len());
    sentences::sentences(comparison, &judged, &looks)
}

/// Returns the metrics of findings and ranked tables: outcomes with a good direction. The metric
/// that ranks schemes is first. The selection does not depend on the results.
#[must_use]
pub(crate) fn judged(comparison: &Comparison) -> Vec<&MetricComparison> {
    let mut found: Vec<(u8, &MetricComparison)> = comparison
        .metrics
        .iter()
        .filter(|row| row.cells.iter().any(|cell| cell.estimate.is_some()))
        .filter_map(|row| Some((importance(&row.metric)?, row)))
        .collect();
    // The sort is stable: metrics of equal rank, such as one metric of several classes, keep their
    // order.
    found.sort_by_key(|(importance, _)| *importance);
    found.into_iter().map(|(_, row)| row).collect()
}

/// Returns the headline metrics; the metric that ranks schemes is first.
#[must_use]
pub fn headlines(comparison: &Comparison) -> Vec<&MetricComparison> {
    let mut rows: Vec<&MetricComparison> =
        comparison.metrics.iter().filter(|row| row.metric.headline).collect();
    // The sort is stable, so metrics that are not judged keep their order at the end.
    rows.sort_by_key(|row| importance(&row.metric).unwrap_or(u8::MAX));
    rows
}

/// Rank of a metric among the judged metrics; `None` if the metric is not judged.
fn importance(metric: &Metric) -> Option<u8> {
    metric.importance().filter(|_| metric.headline && metric.better != Better::Neither)
}

/// Significance test of one metric of one scheme against the baseline.
#[derive(Clone, Copy, Debug)]
struct Look {
    /// Index of the tested metric among the judged metrics.
    metric: usize,
    /// Index of the scheme in the comparison, at least 1.
    policy: usize,
    /// Mean of the differences between the scheme and the baseline, paired by seed.
    difference: Estimate,
    /// Change against the baseline; `None` if the baseline's mean is zero.
    change: Option<Change>,
    /// Means of the baseline and of the scheme over their common seeds.
    levels: (f64, f64),
    /// The p-value: chance that noise alone gives at least the measured differences.
    chance: f64,
    /// The p-value after the correction for all tests.
    corrected: f64,
}

impl Look {
    fn holds(&self) -> bool {
        self.corrected <= LEVEL && self.is_told()
    }

    /// Whether the difference is significant only before Holm's correction for all tests.
    fn is_hint(&self) -> bool {
        self.chance <= LEVEL && self.corrected > LEVEL && self.is_told()
    }

    /// Whether the change is large enough to be displayed.
    fn is_told(&self) -> bool {
        self.change.is_none_or(|change| change.mean.abs() >= TOLD)
    }

    /// Whether the means of the baseline and the scheme are both negligible, whatever their
    /// difference.
    fn is_minor(&self, metric: &Metric) -> bool {
        metric.unit == Unit::Percent && self.levels.0.max(self.levels.1) < MINOR_PERCENT
    }
}

/// Tests every judged metric of every scheme that shares at least two seeds with the baseline.
fn looks(judged: &[&MetricComparison], policies: usize) -> Vec<Look> {
    let mut looks = Vec::new();
    for (metric, row) in judged.iter().enumerate() {
        for policy in 1..policies {
            let pairs: Vec<(f64, f64)> = pairs(row, 0, policy);
            let differences: Vec<f64> = pairs.iter().map(|(base, value)| value - base).collect();
            let (Some(chance), Some(difference)) = (chance_of(&pairs), Estimate::from_values(&differences))
            else {
                continue;
            };
            let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / pairs.len() as f64;
            let levels = (mean(|pair| pair.0), mean(|pair| pair.1));
            let change = Change::from_pairs(&pairs);
            looks.push(Look { metric, policy, difference, change, levels, chance, corrected: 1.0 });
        }
    }
    let corrected = holm(&looks.iter().map(|look| look.chance).collect::<Vec<_>>());
    for (look, corrected) in looks.iter_mut().zip(corrected) {
        look.corrected = corrected;
    }
    looks
}

/// Returns the values of the schemes `of` and `with` for the seeds that both schemes have.
pub(crate) fn pairs(row: &MetricComparison, of: usize, with: usize) -> Vec<(f64, f64)> {
    let values = row.cells[of].values.iter().zip(&row.cells[with].values);
    values.filter_map(|(a, b)| (*a).zip(*b)).collect()
}
