//! Comparison of several policies over several seeds, paired by seed.

use crate::metric::Metric;
use crate::statistics::{Change, Estimate};
use crate::summary::RunSummary;
use bufferlab_results::QueueNearPause;
use schemars::JsonSchema;
use serde::Serialize;

/// A comparison of policies; the first policy is the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// Labels of the compared policies, in order.
    pub policies: Vec<String>,
    /// Every seed that at least one policy ran, ascending.
    pub seeds: Vec<u64>,
    /// Compared metrics, in the order of reports.
    pub metrics: Vec<MetricComparison>,
    /// Lossless ingress queue that was nearest to a pause in any run, if no run paused a sender.
    #[serde(skip)]
    pub nearest_pause: Option<QueueNearPause>,
}

/// Values of one metric for every policy.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MetricComparison {
    /// The compared metric.
    pub metric: Metric,
    /// Cells of the metric: one per policy, in the order of [`Comparison::policies`].
    pub cells: Vec<Cell>,
}

/// Values of one metric for one policy.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Cell {
    /// Label of the policy that has the values.
    pub policy: String,
    /// Value for every seed, in the order of [`Comparison::seeds`]; `None` for a missing seed.
    pub values: Vec<Option<f64>>,
    /// Mean of the metric over the seeds, with its confidence interval.
    pub estimate: Option<Estimate>,
    /// Change against the baseline, as a fraction of the baseline's mean. `None` for the baseline
    /// itself, without common seeds, and if the baseline's mean is zero.
    pub change: Option<Change>,
}

impl Comparison {
    /// Returns the comparison with `labels` in place of the policies' labels.
    ///
    /// # Panics
    /// If there are fewer labels than policies.
    #[must_use]
    pub fn relabelled(&self, labels: &[String]) -> Self {
        let mut other = self.clone();
        let label = |old: &mut String| {
            if let Some(at) = self.policies.iter().position(|policy| policy == old) {
                old.clone_from(&labels[at]);
            }
        };
        other.policies.iter_mut().for_each(label);
        other.metrics.iter_mut().flat_map(|row| &mut row.cells).for_each(|cell| label(&mut cell.policy));
        other
    }

    /// Compares `runs`, given as (policy label, summary). The first label is the baseline.
    ///
    /// **Paired by seed**: runs with equal seeds have equal arrivals. So the difference is computed
    /// per seed, and the effects of the arrivals cancel ([`Change`]).
    #[must_use]
    pub fn from_runs(runs: &[(&str, &RunSummary)]) -> Self {
        let mut policies: Vec<String> = Vec::new();
        let mut seeds: Vec<u64> = Vec::new();
        let mut metrics: Vec<Metric> = Vec::new();
        let values: Vec<_> = runs.iter().map(|(_, run)| run.metrics()).collect();
        for ((label, run), values) in runs.iter().zip(&values) {
            if !policies.iter().any(|policy| policy == label) {
                policies.push((*label).to_owned());
            }
            seeds.push(run.seed);
            for value in values {
                match metrics.iter_mut().find(|metric| metric.id == value.metric.id) {
                    Some(known) => known.headline |= value.metric.headline,
                    None => metrics.push(value.metric.clone()),
                }
            }
        }
        seeds.sort_unstable();
        seeds.dedup();
        let value_of = |policy: &str, seed: u64, id: &str| {
            let at = runs.iter().position(|(label, run)| *label == policy && run.seed == seed)?;
            values[at].iter().find(|value| value.metric.id == id)?.value
        };
        let compared = metrics.into_iter().map(|metric| {
            let row = |policy: &String| -> Vec<Option<f64>> {
                seeds.iter().map(|seed| value_of(policy, *seed, &metric.id)).collect()
            };
            let rows: Vec<_> = policies.iter().map(row).collect();
            let cells = policies.iter().zip(&rows).enumerate().map(|(at, (policy, row))| Cell {
                policy: policy.clone(),
                values: row.clone(),
                estimate: Estimate::from_values(&row.iter().flatten().copied().collect::<Vec<_>>()),
                change: (at > 0).then(|| relative_change(&rows[0], row)).flatten(),
            });
            MetricComparison { cells: cells.collect(), metric }
        });
        Self { metrics: compared.collect(), nearest_pause: nearest_pause(runs), policies, seeds }
    }

    /// Label of the policy that the other policies are compared with.
    #[must_use]
    pub fn baseline(&self) -> &str {
        self.policies.first().map_or("", String::as_str)
    }

    /// Returns the compared metric with the given id, which may be an id from an earlier version.
    #[must_use]
    pub fn metric(&self, id: &str) -> Option<&MetricComparison> {
        let id = Metric::current_id(id);
        self.metrics.iter().find(|metric| metric.metric.id == id)
    }
}

/// Returns the queue that was nearest to a pause in any of `runs`; `None` if one of the runs
/// recorded no queue near a pause.
fn nearest_pause(runs: &[(&str, &RunSummary)]) -> Option<QueueNearPause> {
    let all: Option<Vec<_>> = runs.iter().map(|(_, run)| run.nearest_pause.as_ref()).collect();
    let share = |queue: &QueueNearPause| queue.held_bytes as f64 / queue.threshold_bytes.max(1) as f64;
    all?.into_iter().max_by(|a, b| share(a).total_cmp(&share(b))).cloned()
}

/// Computes the relative change of `values` against `baseline`, over the seeds for which both
/// policies have a value.
pub(crate) fn relative_change(baseline: &[Option<f64>], values: &[Option<f64>]) -> Option<Change> {
    let pairs: Vec<(f64, f64)> = baseline.iter().zip(values).filter_map(|(b, v)| (*b).zip(*v)).collect();
    Change::from_pairs(&pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_common_seeds_are_paired() {
        let change =
            relative_change(&[Some(10.0), None, Some(30.0)], &[Some(11.0), Some(99.0), Some(33.0)]).unwrap();
        assert_eq!(change.seeds, 2);
        assert!((change.mean - 0.1).abs() < 1e-12);
        assert_eq!(relative_change(&[Some(1.0), None], &[None, Some(1.0)]), None);
    }
}
