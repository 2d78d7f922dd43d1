//! What does a comparison say, in sentences? And what does it not say?
//!
//! A sentence "a differs from b" is only made where the paired test says so after Holm's correction
//! for *all* looks of the page: every judged metric ([`judged`]) of every scheme against the
//! baseline. Holm's method and not that of Benjamini and Hochberg: each sentence is read, quoted
//! and acted upon alone, so the chance that any of them is wrong must be small, not the share of
//! wrong ones; and the metrics of one run depend on each other in ways nobody knows, which Holm's
//! method bears. Its price is power: what only shows without the correction is said to be open.

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

/// Chance of an error that is accepted, over all sentences together.
const LEVEL: f64 = 0.05;
/// Relative changes below this round to nothing where they are shown.
const TOLD: f64 = 0.000_5;

/// What kind of sentence it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SentenceKind {
    /// A difference that holds after the correction.
    Difference,
    /// What may be a difference, and what is none as far as can be told.
    Open,
    /// What happened in these runs, without a claim beyond them: losses and pauses.
    Fact,
}

/// A sentence of a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Sentence {
    /// Its kind.
    pub kind: SentenceKind,
    /// Its text, with a full stop.
    pub text: String,
}

/// One metric of one scheme against the baseline, as findings judge it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// Name of the metric.
    pub metric: String,
    /// Label of the scheme.
    pub policy: String,
    /// Place of the metric in the order of importance, from 0.
    pub rank: usize,
    /// Mean of the paired differences, a fraction of the baseline's mean where that is not zero;
    /// else in the metric's unit.
    pub change: Estimate,
    /// Whether `change` is a fraction.
    pub relative: bool,
    /// Whether the change is for the better; `None` where there is none.
    pub better: Option<bool>,
    /// Chance of such differences without an effect.
    pub chance: f64,
    /// The same, corrected for all looks of the comparison (Holm).
    pub corrected: f64,
}

impl Judgement {
    /// Whether it holds after the correction for all looks.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.corrected <= LEVEL
    }

    /// Whether it would hold if nothing else had been looked at.
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

/// The finding of a comparison in sentences, the most important first; empty where nothing is
/// compared.
#[must_use]
pub fn finding(comparison: &Comparison) -> Vec<Sentence> {
    if comparison.policies.len() < 2 {
        return Vec::new();
    }
    let judged: Vec<&MetricComparison> = judged(comparison);
    let looks = looks(&judged, comparison.policies.len());
    words::sentences(comparison, &judged, &looks)
}

/// The metrics that findings and ranked tables are about, that by which schemes are ranked first:
/// outcomes with a good direction, and of the mean and the p99 of one quantity only one, since both
/// would mostly say the same twice. Which ones does not depend on the results.
#[must_use]
pub(crate) fn judged(comparison: &Comparison) -> Vec<&MetricComparison> {
    let mut found: Vec<(u8, &MetricComparison)> = comparison
        .metrics
        .iter()
        .filter(|row| row.cells.iter().any(|cell| cell.estimate.is_some()))
        .filter_map(|row| Some((importance(&row.metric)?, row)))
        .collect();
    // Stable: classes stay in their order.
    found.sort_by_key(|(importance, _)| *importance);
    found.into_iter().map(|(_, row)| row).collect()
}

/// The place of a metric among those that are judged; `None` if it is not.
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
    /// The scheme's value is zero in all of them.
    gone: bool,
    /// Chance of such differences without an effect.
    chance: f64,
    /// The same, corrected for all looks.
    corrected: f64,
}

impl Look {
    fn holds(&self) -> bool {
        self.corrected <= LEVEL && self.is_told()
    }

    /// Only shows as long as one does not look elsewhere.
    fn is_hint(&self) -> bool {
        self.chance <= LEVEL && self.corrected > LEVEL && self.is_told()
    }

    /// Large enough to be read.
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
