//! Sequential choice of the number of seeds: adds seeds until intervals are narrow.
//!
//! An interval is often narrow by chance, so stopping at the first narrow interval is biased. An
//! interval of 95 % then contains the true change in fewer than 95 % of cases. So an interval that
//! may stop the runs has a level of `1 - 0.05 / checks` (Bonferroni), for the number of interim
//! checks. With a chance of 95 %, all intervals together contain the true change, whichever check
//! stops the runs. The number of seeds doubles from one interim check to the next, so that there
//! are few checks.

use crate::compare::{Comparison, MetricComparison};
use crate::finding::{judged, pairs};
use crate::statistics::Change;

/// Number of seeds at the first interim check: fewer seeds do not show the spread of results.
const FIRST: u32 = 5;

/// Chance that at least one of the intervals misses the true change.
const CHANCE: f64 = 0.05;

/// Rule that decides when the number of seeds is sufficient.
#[derive(Clone, Debug, PartialEq)]
pub struct Stopping {
    /// Half-width of a sufficiently narrow interval, as a fraction of the baseline's mean.
    pub half_width: f64,
    /// Maximum number of seeds of a scheme.
    pub most: u32,
    /// Name of the metric whose interval decides about more seeds. `None` selects the first metric
    /// of the ranking.
    pub metric: Option<String>,
}

/// Result of an interim check of the seeds that have run so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// Name of the metric whose confidence interval decides about more seeds.
    pub metric: String,
    /// Number of seeds that every scheme has run.
    pub seeds: u64,
    /// Label of every scheme except the baseline, and its change against the baseline with the
    /// corrected interval.
    pub changes: Vec<(String, Change)>,
    /// Whether the seeds are sufficient, so that no further interim check is needed.
    pub is_enough: bool,
}

impl Stopping {
    /// Numbers of seeds at which interim checks happen: 5, 10, 20 and so on, ending with the
    /// maximum.
    #[must_use]
    pub fn looks(&self) -> Vec<u32> {
        let doubled = std::iter::successors(Some(FIRST), |seeds| seeds.checked_mul(2));
        let mut looks: Vec<u32> = doubled.take_while(|&seeds| seeds < self.most).collect();
        looks.push(self.most);
        looks
    }

    /// Checks whether the seeds of `comparison` are sufficient.
    ///
    /// # Errors
    /// If the metric is missing, or if no values can be compared. The error is a sentence with the
    /// reason.
    pub fn look(&self, comparison: &Comparison) -> Result<Look, String> {
        let row = self.row(comparison)?;
        let level = 1.0 - CHANCE / self.looks().len() as f64;
        let mut changes = Vec::new();
        let mut seeds = u64::MAX;
        let mut is_enough = true;
        for (at, cell) in row.cells.iter().enumerate().skip(1) {
            let change = Change::at_level(&pairs(row, 0, at), level);
            let Some((change, half_width)) = change.and_then(|change| Some((change, change.half_width()?)))
            else {
                return Err(format!(
                    "{} of {} cannot be compared with the baseline's: it is missing or zero there, or there is one seed",
                    row.metric.id, cell.policy
                ));
            };
            seeds = seeds.min(change.seeds);
            is_enough &= half_width <= self.half_width;
            changes.push((cell.policy.clone(), change));
        }
        Ok(Look { metric: row.metric.id.clone(), seeds, changes, is_enough })
    }

    fn row<'a>(&self, comparison: &'a Comparison) -> Result<&'a MetricComparison, String> {
        if comparison.policies.len() < 2 {
            return Err("an interval is that of a difference, and there is one scheme".to_owned());
        }
        let Some(id) = &self.metric else {
            return judged(comparison).first().copied().ok_or_else(|| "no metric can be judged".to_owned());
        };
        comparison.metric(id).ok_or_else(|| {
            let known: Vec<&str> = comparison.metrics.iter().map(|row| row.metric.id.as_str()).collect();
            format!("no metric is called \"{id}\"; known here: {}", known.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Cell;
    use crate::metric::Metric;
    use crate::statistics::{Estimate, student_quantile, student_t_975};

    fn stopping(half_width: f64, most: u32) -> Stopping {
        Stopping { half_width, most, metric: None }
    }

    #[test]
    fn numbers_of_seeds_double_up_to_the_largest() {
        assert_eq!(stopping(0.05, 160).looks(), [5, 10, 20, 40, 80, 160]);
        assert_eq!(stopping(0.05, 30).looks(), [5, 10, 20, 30]);
        assert_eq!(stopping(0.05, 4).looks(), [4]);
    }

    /// Estimates the mean difference between two schemes from `seeds` random values. The true means
    /// are equal.
    fn drawn(stream: &mut bufferlab_units::RandomStream, seeds: usize, values: &mut Vec<f64>) -> Estimate {
        // The noise is uniform; means of five values are close to normal.
        while values.len() < seeds {
            values.push(stream.next_f64() - 0.5);
        }
        Estimate::from_values(&values[..seeds]).expect("there are some")
    }

    #[test]
    fn intervals_that_decided_hold_the_truth_at_least_as_often_as_they_say() {
        let stopping = stopping(0.12, 80);
        let level = 1.0 - CHANCE / stopping.looks().len() as f64;
        let mut stream = bufferlab_units::RandomStream::new(1, "sequential", 0);
        let (mut corrected, mut plain) = (0, 0);
        const TRIALS: u32 = 4_000;
        for _ in 0..TRIALS {
            let mut values = Vec::new();
            for &seeds in &stopping.looks() {
                let estimate = drawn(&mut stream, seeds as usize, &mut values);
                let plain_half = estimate.half_width.expect("several seeds");
                let degrees = estimate.seeds - 1;
                let half = plain_half * student_quantile(level, degrees) / student_t_975(degrees);
                if half <= stopping.half_width || seeds == stopping.most {
                    corrected += u32::from(estimate.mean.abs() > half);
                    plain += u32::from(estimate.mean.abs() > plain_half);
                    break;
                }
            }
        }
        let share = |missed: u32| f64::from(missed) / f64::from(TRIALS);
        // If 5 % of the intervals miss the true mean, the share measured in 4,000 trials has a
        // standard deviation of 0.34 %.
        assert!(share(corrected) < 0.05, "{}", share(corrected));
        assert!(share(plain) > share(corrected), "{} {}", share(plain), share(corrected));
    }

    #[test]
    fn a_look_takes_the_widest_interval_and_names_what_it_lacks() {
        let metric = Metric::find("class.web.qct_mean_ms").expect("the table has it");
        // The means of the schemes are 10 and 8, so the change is -20 %. Only the second scheme has
        // noise, with the standard deviations 0.01 and 0.03 relative to its mean. The half-width is
        // 2.7764 / sqrt(5) standard deviations.
        let cell = |policy: &str, mean: f64, noise: f64| Cell {
            policy: policy.to_owned(),
            values: [-1.0, -1.0, 0.0, 1.0, 1.0].map(|step| Some(mean + noise * step)).to_vec(),
            estimate: None,
            change: None,
        };
        let row = MetricComparison {
            metric,
            cells: vec![cell("dt", 10.0, 0.0), cell("abm", 8.0, 0.08), cell("cs", 8.0, 0.24)],
        };
        let policies = ["dt", "abm", "cs"].map(str::to_owned).to_vec();
        let comparison =
            Comparison { policies, seeds: (1..6).collect(), metrics: vec![row], nearest_pause: None };
        let of = |half_width| Stopping {
            metric: Some("class.web.qct_mean_ms".to_owned()),
            ..stopping(half_width, 5)
        };
        // A stopping rule with a single interim check needs no correction.
        assert!(of(0.031).look(&comparison).expect("it can be judged").is_enough);
        let look = of(0.029).look(&comparison).expect("it can be judged");
        assert!(!look.is_enough && look.seeds == 5 && look.changes.len() == 2, "{look:?}");
        let unknown = Stopping { metric: Some("speed".to_owned()), ..stopping(0.1, 5) };
        assert!(unknown.look(&comparison).is_err_and(|why| why.contains("class.web.qct_mean_ms")));
    }
}
