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
use crate::metric::{Better, Metric, Unit};
use crate::statistics::{Change, Estimate, chance_of, holm};
use schemars::JsonSchema;
use serde::Serialize;

/// Chance of an error that is accepted, over all sentences together.
const LEVEL: f64 = 0.05;
/// Relative changes below this round to nothing where they are shown.
const TOLD: f64 = 0.000_5;
/// Percentages below this matter to nobody: sentences about them come last.
const MINOR_PERCENT: f64 = 0.1;

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
    /// Change against the baseline; `None` where the baseline's mean is zero.
    pub change: Option<Change>,
    /// Mean of the paired differences, in the metric's unit.
    pub difference: Estimate,
    /// Whether the change is for the better; `None` where there is none.
    pub better: Option<bool>,
    /// Chance of such differences without an effect.
    pub chance: f64,
    /// The same, corrected for all looks of the comparison (Holm).
    pub corrected: f64,
}

impl Judgement {
    /// Size of the change, to order changes by; infinite where the baseline's mean is zero.
    #[must_use]
    pub fn size(&self) -> f64 {
        self.change.map_or(f64::INFINITY, |change| change.mean.abs())
    }

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

/// The metrics of findings and ranked tables, the one that ranks schemes first: outcomes with a good
/// direction. Which ones does not depend on the results.
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
    /// Change against the baseline; `None` where the baseline's mean is zero.
    change: Option<Change>,
    /// Means of the baseline and of the scheme over the same seeds.
    levels: (f64, f64),
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

    /// Whether the change is large enough to be read.
    fn is_told(&self) -> bool {
        self.change.is_none_or(|change| change.mean.abs() >= TOLD)
    }

    /// Whether both levels are too small to matter, however they differ.
    fn is_minor(&self, metric: &Metric) -> bool {
        metric.unit == Unit::Percent && self.levels.0.max(self.levels.1) < MINOR_PERCENT
    }
}

/// Every pair of a judged metric and a scheme with at least two common seeds.
fn looks(judged: &[&MetricComparison], policies: usize) -> Vec<Look> {
    let mut looks = Vec::new();
    for (metric, row) in judged.iter().enumerate() {
        for policy in 1..policies {
            let pairs: Vec<(f64, f64)> = pairs(row, 0, policy);
            let differences: Vec<f64> = pairs.iter().map(|(base, value)| value - base).collect();
            let (Some(chance), Some(difference)) = (chance_of(&pairs), Estimate::of(&differences)) else {
                continue;
            };
            let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / pairs.len() as f64;
            let levels = (mean(|pair| pair.0), mean(|pair| pair.1));
            let change = Change::of(&pairs);
            looks.push(Look { metric, policy, difference, change, levels, chance, corrected: 1.0 });
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
