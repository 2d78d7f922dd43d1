//! Statistics of reports: percentiles by nearest rank, and Student's intervals.

use schemars::JsonSchema;
use serde::Serialize;

/// A percentile in thousandths, so that its rank is exact: `Percentile(990)` is p99.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percentile(pub u32);

impl Percentile {
    /// The median.
    pub const P50: Self = Self(500);
    /// 95 %.
    pub const P95: Self = Self(950);
    /// 99 %.
    pub const P99: Self = Self(990);
    /// 99.9 %.
    pub const P99_9: Self = Self(999);

    /// Samples beyond a percentile that make it reliable.
    pub const SAMPLES_BEYOND: u64 = 10;

    /// The smallest sample that is at least as large as this fraction of the samples (nearest
    /// rank): `sorted[ceil(p·n) − 1]`. `None` without samples.
    #[must_use]
    pub fn of(self, sorted: &[f64]) -> Option<f64> {
        let rank = (sorted.len() as u64 * u64::from(self.0)).div_ceil(1_000);
        sorted.get(rank.saturating_sub(1) as usize).copied()
    }

    /// Samples needed for [`Self::SAMPLES_BEYOND`] samples beyond the percentile: 1,000 for p99.
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

/// A summary of many samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Distribution {
    /// Samples.
    pub count: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p99_9: f64,
    /// Largest.
    pub max: f64,
}

impl Distribution {
    /// Summarises `samples` and sorts them; `None` if there are none.
    #[must_use]
    pub fn of(samples: &mut [f64]) -> Option<Self> {
        samples.sort_unstable_by(f64::total_cmp);
        Some(Self {
            count: samples.len() as u64,
            // After sorting, so that the sum does not depend on the order of arrival.
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
    /// Number of seeds.
    pub seeds: u64,
    /// Mean.
    pub mean: f64,
    /// Half-width of the interval: `t · s / √n`; `None` with a single seed, which has no interval.
    pub half_width: Option<f64>,
}

impl Estimate {
    /// The mean of `values` and its interval, assuming a normal distribution (Student); `None`
    /// without values.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let n = values.len();
        if n == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / n as f64;
        let half_width = (n > 1).then(|| {
            let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
            let deviation = (squares / (n - 1) as f64).sqrt();
            student_t_975(n as u64 - 1) * deviation / (n as f64).sqrt()
        });
        Some(Self { seeds: n as u64, mean, half_width })
    }

    /// Whether the interval excludes zero; false without an interval.
    #[must_use]
    pub fn excludes_zero(&self) -> bool {
        self.half_width.is_some_and(|half| self.mean.abs() > half)
    }
}

/// The 97.5 % quantile of Student's distribution, for the half-width of a 95 % interval.
///
/// # Panics
/// With zero degrees of freedom: there is no interval.
#[must_use]
pub fn student_t_975(degrees: u64) -> f64 {
    student_quantile(0.95, degrees)
}

/// The two-sided chance that Student's distribution is at least as far from zero as `t`.
///
/// The finite sums for whole degrees of freedom (Abramowitz and Stegun 26.7.3 and 26.7.4), exact up
/// to rounding: about 1e-15, far below any chance that decides here.
///
/// # Panics
/// With zero degrees of freedom: there is no deviation to divide by.
#[must_use]
pub(crate) fn student_two_sided(t: f64, degrees: u64) -> f64 {
    assert!(degrees > 0, "a deviation needs two values");
    let angle = (t.abs() / (degrees as f64).sqrt()).atan();
    let (sine, square) = (angle.sin(), angle.cos().powi(2));
    // Terms of the sum: each is computed from the previous one.
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

/// The `t` that Student's distribution exceeds in magnitude with the chance `1 - level`, for the
/// half-width of an interval of that level.
///
/// By bisection of [`student_two_sided`], which falls as `t` grows.
///
/// # Panics
/// As [`student_two_sided`].
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

/// Chance of differences at least as clear as these without an effect, by Student's paired test.
///
/// Identical differences other than zero have no deviation, so that the test would always be
/// significant (this happens with counts of rare events). Then the sign test is used: `2 / 2^n`.
/// `None` with fewer than two differences.
pub(crate) fn chance_of(differences: &[f64]) -> Option<f64> {
    let n = differences.len();
    if n < 2 {
        return None;
    }
    if differences.iter().all(|difference| *difference == 0.0) {
        return Some(1.0);
    }
    let mean = differences.iter().sum::<f64>() / n as f64;
    let squares = differences.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    let error = (squares / ((n - 1) * n) as f64).sqrt();
    // Rounding may produce a deviation where the true one is zero.
    if error <= mean.abs() * 1e-12 {
        return Some(2.0_f64.powi(1 - n as i32));
    }
    Some(student_two_sided(mean / error, n as u64 - 1))
}

/// The chances of many tests, corrected for their number by Holm's method (S. Holm, A simple
/// sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6, 1979). If
/// all tests of at most 5 % are accepted, the chance that *any* of them is wrong is at most 5 %,
/// for any dependence between the tests.
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
        // Abramowitz and Stegun, table 26.10, to four digits.
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
            // One degree is Cauchy's distribution; two degrees have a closed form with a root.
            let cauchy = 1.0 - 2.0 * t.abs().atan() / std::f64::consts::PI;
            assert!((student_two_sided(t, 1) - cauchy).abs() < 1e-12);
            let two = 1.0 - t.abs() / (2.0 + t * t).sqrt();
            assert!((student_two_sided(t, 2) - two).abs() < 1e-12);
        }
        // 99.9 % within 8.6103 of four degrees, 99 % within 3.1693 of ten (printed tables).
        assert!((student_two_sided(8.6103, 4) - 0.001).abs() < 1e-6);
        assert!((student_two_sided(3.1693, 10) - 0.01).abs() < 1e-6);
    }

    #[test]
    fn a_difference_without_deviation_is_no_certainty() {
        assert_eq!(chance_of(&[2.0]), None);
        assert_eq!(chance_of(&[0.0, 0.0]), Some(1.0));
        assert_eq!(chance_of(&[3.0, 3.0]), Some(0.5));
        assert_eq!(chance_of(&[0.1 + 0.2, 0.3, 0.3]), Some(0.25));
        // -1, -3, -2: mean -2, s = 1, t = -2 sqrt(3); with two degrees 1 - t / sqrt(2 + t^2) =
        // 0.07418.
        assert!((chance_of(&[-1.0, -3.0, -2.0]).unwrap() - 0.074_18).abs() < 1e-5);
    }

    #[test]
    fn holms_correction_matches_a_hand_calculation() {
        // Sorted 0.01, 0.02, 0.03, 0.04 times 4, 3, 2, 1: 0.04, 0.06, 0.06, 0.04; none may be below
        // the previous one.
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
        // 7 % of 100 is rank 7, although 0.07 * 100 > 7 in floating point.
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
        // Values 4, 5, 6, 7, 8: mean 6, s = sqrt(2.5), t(4) = 2.7764, half = 2.7764 * 1.58114 /
        // 2.23607 = 1.96321.
        let estimate = Estimate::of(&[4.0, 5.0, 6.0, 7.0, 8.0]).unwrap();
        assert_eq!(estimate.mean, 6.0);
        assert!((estimate.half_width.unwrap() - 1.963_21).abs() < 1e-4, "{estimate:?}");
        assert_eq!(Estimate::of(&[5.0]).unwrap().half_width, None);
        assert_eq!(Estimate::of(&[]), None);
    }

    #[test]
    fn students_quantile_tends_to_the_normal() {
        assert!((student_t_975(31) - 2.0395).abs() < 1e-4);
        assert!((student_t_975(100) - 1.9840).abs() < 1e-4);
        assert!((student_t_975(1_000_000) - 1.959_96).abs() < 1e-4);
    }

    #[test]
    fn quantiles_of_any_level_are_those_of_the_tables() {
        // 99 % and 99.9 % on either side (Abramowitz and Stegun, table 26.10).
        assert!((student_quantile(0.99, 4) - 4.604).abs() < 1e-3);
        assert!((student_quantile(0.998, 9) - 4.297).abs() < 1e-3);
    }
}
