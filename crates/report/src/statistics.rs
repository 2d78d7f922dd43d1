//! Statistics of reports: percentiles by nearest rank, and Student's intervals.

use crate::format;
use schemars::JsonSchema;
use serde::Serialize;

/// A percentile in thousandths, so that its rank is exact: `Percentile(990)` is p99.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percentile(pub u32);

impl Percentile {
    /// The 50th percentile, or median.
    pub const P50: Self = Self(500);
    /// The 95th percentile.
    pub const P95: Self = Self(950);
    /// The 99th percentile.
    pub const P99: Self = Self(990);
    /// The 99.9th percentile.
    pub const P99_9: Self = Self(999);

    /// Number of samples beyond a percentile that make the percentile reliable.
    pub const SAMPLES_BEYOND: u64 = 10;

    /// Returns the smallest sample that is at least as large as this fraction of the samples
    /// (nearest rank): `sorted[ceil(p·n) − 1]`. `None` without samples.
    #[must_use]
    pub fn of(self, sorted: &[f64]) -> Option<f64> {
        let rank = (sorted.len() as u64 * u64::from(self.0)).div_ceil(1_000);
        sorted.get(rank.saturating_sub(1) as usize).copied()
    }

    /// Number of samples for [`Self::SAMPLES_BEYOND`] samples beyond the percentile: 1,000 for p99.
    #[must_use]
    pub fn samples_needed(self) -> u64 {
        (Self::SAMPLES_BEYOND * 1_000).div_ceil(u64::from(1_000 - self.0.min(999)))
    }

    /// Name of the percentile: `p99`, `p99.9`.
    #[must_use]
    pub fn name(self) -> String {
        match (self.0 / 10, self.0 % 10) {
            (whole, 0) => format!("p{whole}"),
            (whole, tenth) => format!("p{whole}.{tenth}"),
        }
    }
}

/// Summary of a distribution of samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Distribution {
    /// Number of samples.
    pub count: u64,
    /// Arithmetic mean of the samples.
    pub mean: f64,
    /// Median of the samples.
    pub p50: f64,
    /// 95th percentile of the samples.
    pub p95: f64,
    /// 99th percentile of the samples.
    pub p99: f64,
    /// 99.9th percentile of the samples.
    pub p99_9: f64,
    /// Largest of the samples.
    pub max: f64,
}

impl Distribution {
    /// Sorts `samples` and summarises them; `None` without samples.
    #[must_use]
    pub fn of(samples: &mut [f64]) -> Option<Self> {
        samples.sort_unstable_by(f64::total_cmp);
        Some(Self {
            count: samples.len() as u64,
            // The samples are sorted first, so that the sum does not depend on the
            // order of arrival.
            mean: samples.iter().sum::<f64>() / samples.len() as f64,
            p50: Percentile::P50.of(samples)?,
            p95: Percentile::P95.of(samples)?,
            p99: Percentile::P99.of(samples)?,
            p99_9: Percentile::P99_9.of(samples)?,
            max: *samples.last()?,
        })
    }
}

/// A mean over seeds with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Estimate {
    /// Number of seeds in the mean.
    pub seeds: u64,
    /// Mean of the metric over the seeds.
    pub mean: f64,
    /// Half-width of the interval: `t · s / √n`; `None` with a single seed, which has no interval.
    pub half_width: Option<f64>,
}

impl Estimate {
    /// Computes the mean of `values` and the mean's 95 % confidence interval, assuming a normal
    /// distribution (Student). The result is `None` if there are no values.
    #[must_use]
    pub fn from_values(values: &[f64]) -> Option<Self> {
        let n = values.len();
        if n == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / n as f64;
        let half_width = (n > 1).then(|| student_t_975(n as u64 - 1) * standard_error(values));
        Some(Self { seeds: n as u64, mean, half_width })
    }

    /// Whether the confidence interval of the mean excludes zero; false without an interval.
    #[must_use]
    pub fn excludes_zero(&self) -> bool {
        self.half_width.is_some_and(|half| self.mean.abs() > half)
    }
}

/// A change against a baseline, paired by seed, as a fraction of the baseline's mean.
///
/// The interval is computed for the logarithm of the ratio of the two means (delta method). So the
/// interval never reaches below −1: no mean falls by more than 100 %. Runs are paired by seed, so
/// effects of the seed cancel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    /// Number of seeds that the scheme and the baseline share.
    pub seeds: u64,
    /// Ratio of the scheme's mean to the baseline's mean, less 1: −0.5 is half of the baseline.
    pub mean: f64,
    /// Lower end of the change's 95 % interval; `None` with a single seed.
    pub low: Option<f64>,
    /// Upper end of the change's 95 % interval; `None` with a single seed.
    pub high: Option<f64>,
}

impl Change {
    /// Computes the relative change against the baseline from one pair of values per seed: the
    /// baseline's value, then the compared run's. The result is `None` without pairs, or if the
    /// baseline's mean is zero.
    #[must_use]
    pub fn from_pairs(pairs: &[(f64, f64)]) -> Option<Self> {
        Self::at_level(pairs, 0.95)
    }

    /// Computes the change with an interval whose level may differ from 95 %.
    #[must_use]
    pub(crate) fn at_level(pairs: &[(f64, f64)], level: f64) -> Option<Self> {
        let (base, value) = means(pairs)?;
        if base == 0.0 {
            return None;
        }
        let n = pairs.len() as u64;
        let mean = (value - base) / base.abs();
        let (mut low, mut high) = (None, None);
        if n > 1 {
            let t = student_quantile(level, n - 1);
            let (from, to) = match LogRatio::from_pairs(pairs) {
                Some(LogRatio { log, error }) => ((log - t * error).exp_m1(), (log + t * error).exp_m1()),
                None => {
                    let half = t * standard_error(&differences(pairs)) / base.abs();
                    // A value that is zero with every seed cannot decrease further.
                    let floor = if base > 0.0 && value >= 0.0 { -1.0 } else { f64::NEG_INFINITY };
                    ((mean - half).max(floor), mean + half)
                }
            };
            (low, high) = (Some(from), Some(to));
        }
        Some(Self { seeds: n, mean, low, high })
    }

    /// Whether the interval of the change excludes zero; false without an interval.
    #[must_use]
    pub fn excludes_zero(&self) -> bool {
        self.low.is_some_and(|low| low > 0.0) || self.high.is_some_and(|high| high < 0.0)
    }

    /// Formats the percentage, and the distances to the ends of the interval in percentage points:
    /// `−12.3 % ±3.7`. If the distances differ, the format is `−93.7 % −2.4/+3.7`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let mean = format::change(self.mean);
        // If the scheme's value is 0 with every seed, the change is −100 % and has no interval.
        let (Some(low), Some(high), true) = (self.low, self.high, self.mean > -1.0) else { return mean };
        let [below, above] = [self.mean - low, high - self.mean].map(|part| format::tenth(part * 100.0));
        if below == above { format!("{mean} ±{below}") } else { format!("{mean} −{below}/+{above}") }
    }

    /// Distance from the change to the farther end of its interval; `None` with a single seed.
    #[must_use]
    pub fn half_width(&self) -> Option<f64> {
        Some((self.mean - self.low?).max(self.high? - self.mean))
    }
}

/// Logarithm of the ratio of a scheme's mean to the baseline's mean, with its standard error.
struct LogRatio {
    log: f64,
    error: f64,
}

impl LogRatio {
    /// Computes the logarithm of the ratio from pairs of values: the baseline's value, then the
    /// compared run's value. The result is `None` unless both means are positive and there are at
    /// least two pairs.
    fn from_pairs(pairs: &[(f64, f64)]) -> Option<Self> {
        let (base, value) = means(pairs).filter(|(base, value)| *base > 0.0 && *value > 0.0)?;
        // The logarithm of a mean has the deviations of the single values, divided by the mean.
        let deviations: Vec<f64> = pairs.iter().map(|(b, v)| v / value - b / base).collect();
        (pairs.len() > 1).then(|| Self { log: (value / base).ln(), error: standard_error(&deviations) })
    }
}

fn means(pairs: &[(f64, f64)]) -> Option<(f64, f64)> {
    let n = pairs.len() as f64;
    let sums = pairs.iter().fold((0.0, 0.0), |(base, value), (b, v)| (base + b, value + v));
    (n > 0.0).then(|| (sums.0 / n, sums.1 / n))
}

fn differences(pairs: &[(f64, f64)]) -> Vec<f64> {
    pairs.iter().map(|(base, value)| value - base).collect()
}

/// Standard error of the mean of at least two values.
fn standard_error(values: &[f64]) -> f64 {
    let n = values.len();
    let mean = values.iter().sum::<f64>() / n as f64;
    let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    (squares / ((n - 1) * n) as f64).sqrt()
}

/// Returns the 97.5 % quantile of Student's distribution: a 95 % interval extends this number of
/// standard errors to either side.
///
/// # Panics
/// If there are zero degrees of freedom, which give no interval.
#[must_use]
pub fn student_t_975(degrees: u64) -> f64 {
    student_quantile(0.95, degrees)
}

/// Returns the two-sided chance that Student's distribution is at least as far from zero as `t`.
///
/// The function uses the finite sums for whole degrees of freedom (Abramowitz and Stegun 26.7.3 and
/// 26.7.4). The sums are exact up to rounding of about 1e-15, far below any significance level.
///
/// # Panics
/// If there are zero degrees of freedom.
#[must_use]
pub(crate) fn student_two_sided(t: f64, degrees: u64) -> f64 {
    assert!(degrees > 0, "a deviation needs two values");
    let angle = (t.abs() / (degrees as f64).sqrt()).atan();
    let (sine, square) = (angle.sin(), angle.cos().powi(2));
    // Each term of the sum is computed from the previous term.
    let odd = degrees % 2 == 1;
    let (mut term, mut sum) = (if odd { angle.cos() } else { 1.0 }, 0.0);
    for k in 1..=degrees / 2 {
        sum += term;
        let k = k as f64;
        term *= square * if odd { 2.0 * k / (2.0 * k + 1.0) } else { (2.0 * k - 1.0) / (2.0 * k) };
    }
    let within = if odd { (angle + sine * sum) * std::f64::consts::FRAC_2_PI } else { sine * sum };
    (1.0 - within).clamp(0.0, 1.0)
}

/// Returns the `t` that Student's distribution exceeds in magnitude with the chance `1 - level`.
/// The half-width of an interval of this level is `t` standard errors.
///
/// The method is bisection of [`student_two_sided`], which falls as `t` grows.
///
/// # Panics
/// Panics like [`student_two_sided`].
#[must_use]
pub(crate) fn student_quantile(level: f64, degrees: u64) -> f64 {
    let (mut low, mut high) = (0.0_f64, 1.0);
    while student_two_sided(high, degrees) > 1.0 - level && high < 1e9 {
        high *= 2.0;
    }
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if student_two_sided(middle, degrees) > 1.0 - level { low = middle } else { high = middle }
    }
    high
}

/// Returns the p-value of the differences between the two values of each pair. The test is
/// Student's paired test; it checks the logarithm of the means' ratio, as in [`Change`]. If a mean
/// is not positive, Student's test checks the difference of the means.
///
/// Differences that are equal in all pairs have no deviation, so Student's test would always find
/// them significant. (Counts of few events can be equal.) Equal differences get the chance of the
/// sign test, `2 / 2^n`. The result is `None` with fewer than two pairs.
pub(crate) fn chance_of(pairs: &[(f64, f64)]) -> Option<f64> {
    let n = pairs.len();
    if n < 2 {
        return None;
    }
    let differences = differences(pairs);
    if differences.iter().all(|difference| *difference == 0.0) {
        return Some(1.0);
    }
    let (mean, error) = match LogRatio::from_pairs(pairs) {
        Some(LogRatio { log, error }) => (log, error),
        None => (differences.iter().sum::<f64>() / n as f64, standard_error(&differences)),
    };
    // Rounding may give equal values a small deviation.
    if error <= mean.abs() * 1e-12 {
        return Some(2.0_f64.powi(1 - n as i32));
    }
    Some(student_two_sided(mean / error, n as u64 - 1))
}

/// Corrects the p-values of many tests for the number of tests, by Holm's method. (S. Holm, A
/// simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6,
/// 1979.) If all tests with a corrected p-value of at most 5 % are accepted, the chance of *any*
/// false acceptance is at most 5 %. This limit holds for any dependence between the tests.
pub(crate) fn holm(chances: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..chances.len()).collect();
    order.sort_by(|a, b| chances[*a].total_cmp(&chances[*b]));
    let mut corrected = vec![1.0; chances.len()];
    let mut least = 0.0_f64;
    for (rank, at) in order.into_iter().enumerate() {
        least = least.max(chances[at] * (chances.len() - rank) as f64).min(1.0);
        corrected[at] = least;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_and_chances_match_the_printed_table_and_the_closed_forms() {
        // The printed values are from Abramowitz and Stegun, table 26.10, to four digits.
        let printed = [
            12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281, 2.2010, 2.1788,
            2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860, 2.0796, 2.0739, 2.0687, 2.0639,
            2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423,
        ];
        for (degrees, quantile) in (1..).zip(printed) {
            assert!(
                (student_t_975(degrees) - quantile).abs() < 1e-4,
                "{degrees}: {}",
                student_t_975(degrees)
            );
            let chance = student_two_sided(quantile, degrees);
            assert!((chance - 0.05).abs() < 2e-5, "{degrees}: {chance}");
        }
        for t in [0.0_f64, 0.3, 1.0, -2.5, 40.0] {
            // With one degree of freedom, Student's distribution is the Cauchy distribution. With
            // two degrees, the distribution function has a closed form with a square root.
            let cauchy = 1.0 - 2.0 * t.abs().atan() / std::f64::consts::PI;
            assert!((student_two_sided(t, 1) - cauchy).abs() < 1e-12);
            let two = 1.0 - t.abs() / (2.0 + t * t).sqrt();
            assert!((student_two_sided(t, 2) - two).abs() < 1e-12);
        }
        // Printed tables of Student's distribution: with four degrees of freedom, 99.9 % of the
        // values are within 8.6103. With ten degrees of freedom, 99 % of the values are within
        // 3.1693.
        assert!((student_two_sided(8.6103, 4) - 0.001).abs() < 1e-6);
        assert!((student_two_sided(3.1693, 10) - 0.01).abs() < 1e-6);
    }

    #[test]
    fn a_difference_without_deviation_is_no_certainty() {
        let chance = |differences: &[f64]| {
            chance_of(&differences.iter().map(|difference| (0.0, *difference)).collect::<Vec<_>>())
        };
        assert_eq!(chance(&[2.0]), None);
        assert_eq!(chance(&[0.0, 0.0]), Some(1.0));
        assert_eq!(chance(&[3.0, 3.0]), Some(0.5));
        assert_eq!(chance(&[0.1 + 0.2, 0.3, 0.3]), Some(0.25));
        // The values -1, -3 and -2 have the mean -2 and the standard deviation 1, so |t| = 2
        // sqrt(3). With two degrees of freedom, the p-value is 1 - |t| / sqrt(2 + t^2) = 0.07418.
        assert!((chance(&[-1.0, -3.0, -2.0]).unwrap() - 0.074_18).abs() < 1e-5);
    }

    #[test]
    fn a_change_matches_a_hand_calculation() {
        // The means are 20 and 18. The deviations are 9/18 - 10/20 = 0, 17/18 - 1 = -1/18 and 28/18
        // - 30/20 = 1/18. So s = 1/18, error = s / sqrt(3) = 0.032075, t(2) = 4.3027. The log of
        // 0.9 is -0.105361, with ends -0.243370 and 0.032648.
        let change = Change::from_pairs(&[(10.0, 9.0), (20.0, 17.0), (30.0, 28.0)]).unwrap();
        assert!((change.mean + 0.1).abs() < 1e-12, "{change:?}");
        assert!((change.low.unwrap() + 0.216_02).abs() < 1e-5, "{change:?}");
        assert!((change.high.unwrap() - 0.033_19).abs() < 1e-5, "{change:?}");
        assert!(!change.excludes_zero());
        // If the ratio of the two values is equal for every seed, the interval has no width, even
        // if the values of the seeds differ.
        let halved = Change::from_pairs(&[(10.0, 5.0), (20.0, 10.0)]).unwrap();
        assert_eq!((halved.mean, halved.low.map(|low| (low * 1e9).round())), (-0.5, Some(-5e8)));
    }

    #[test]
    fn nothing_falls_by_more_than_everything() {
        let pairs = [(0.5, 0.001), (3.0, 0.1), (0.2, 0.0)];
        let change = Change::from_pairs(&pairs).unwrap();
        assert!(change.low.unwrap() > -1.0 && change.high.unwrap() > change.mean, "{change:?}");
        let gone = Change::from_pairs(&[(0.5, 0.0), (3.0, 0.0), (0.2, 0.0)]).unwrap();
        assert_eq!((gone.mean, gone.low), (-1.0, Some(-1.0)));
        assert_eq!(Change::from_pairs(&[(0.0, 1.0), (0.0, 2.0)]), None);
        assert_eq!(Change::from_pairs(&[(10.0, 5.0)]).unwrap().half_width(), None);
        assert_eq!(Change::from_pairs(&[]), None);
    }

    #[test]
    fn holms_correction_matches_a_hand_calculation() {
        // The sorted p-values 0.01, 0.02, 0.03, 0.04 times 4, 3, 2, 1 are 0.04, 0.06, 0.06, 0.04.
        // No corrected p-value may be below the previous one.
        let corrected = holm(&[0.04, 0.01, 0.03, 0.02]);
        for (value, wanted) in corrected.iter().zip([0.06, 0.04, 0.06, 0.06]) {
            assert!((value - wanted).abs() < 1e-12, "{corrected:?}");
        }
        assert_eq!(holm(&[0.6, 0.9]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }

    #[test]
    fn a_percentile_is_the_sample_of_nearest_rank() {
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(Percentile::P50.of(&hundred), Some(50.0));
        assert_eq!(Percentile::P99.of(&hundred), Some(99.0));
        assert_eq!(Percentile::P99_9.of(&hundred), Some(100.0));
        // The percentile 7 % of 100 samples has rank 7, although 0.07 * 100 > 7 in floating point.
        assert_eq!(Percentile(70).of(&hundred), Some(7.0));
        assert_eq!(Percentile::P50.of(&[3.0]), Some(3.0));
        assert_eq!(Percentile::P50.of(&[1.0, 2.0]), Some(1.0));
        assert_eq!(Percentile::P50.of(&[]), None);
    }

    #[test]
    fn a_percentile_needs_ten_samples_beyond_it() {
        assert_eq!(Percentile::P50.samples_needed(), 20);
        assert_eq!(Percentile::P95.samples_needed(), 200);
        assert_eq!(Percentile::P99.samples_needed(), 1_000);
        assert_eq!(Percentile::P99_9.samples_needed(), 10_000);
        assert_eq!((Percentile::P99.name(), Percentile::P99_9.name()), ("p99".into(), "p99.9".into()));
    }

    #[test]
    fn an_interval_matches_the_textbook() {
        // The values 4, 5, 6, 7, 8 have the mean 6 and the standard deviation sqrt(2.5), with t(4)
        // = 2.7764. The half-width is 2.7764 * 1.58114 / 2.23607 = 1.96321.
        let estimate = Estimate::from_values(&[4.0, 5.0, 6.0, 7.0, 8.0]).unwrap();
        assert_eq!(estimate.mean, 6.0);
        assert!((estimate.half_width.unwrap() - 1.963_21).abs() < 1e-4, "{estimate:?}");
        assert_eq!(Estimate::from_values(&[5.0]).unwrap().half_width, None);
        assert_eq!(Estimate::from_values(&[]), None);
    }

    #[test]
    fn students_quantile_tends_to_the_normal() {
        assert!((student_t_975(31) - 2.0395).abs() < 1e-4);
        assert!((student_t_975(100) - 1.9840).abs() < 1e-4);
        assert!((student_t_975(1_000_000) - 1.959_96).abs() < 1e-4);
    }

    #[test]
    fn quantiles_of_any_level_are_those_of_the_tables() {
        // The quantiles of Student's distribution leave 0.5 % and 0.1 % of the values on either
        // side (Abramowitz and Stegun, table 26.10).
        assert!((student_quantile(0.99, 4) - 4.604).abs() < 1e-3);
        assert!((student_quantile(0.998, 9) - 4.297).abs() < 1e-3);
    }
}
