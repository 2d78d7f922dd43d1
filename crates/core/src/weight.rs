//! Fixed-point factors, such as α, from which thresholds are computed.

/// A non-negative factor such as α or α·γ/n in Q32.32 fixed point. Verdicts use integer
/// arithmetic, so they are equal on every machine. A conversion rounds to the nearest 2⁻³².
/// A product with a number of bytes is rounded down to a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Weight(pub u64);

impl Weight {
    /// The factor 1, which leaves a number of bytes unchanged.
    pub const ONE: Self = Self(1 << 32);

    /// The nearest representable factor. Values beyond 2³² saturate,
    /// and negative values become zero.
    #[must_use]
    pub fn from_f64(x: f64) -> Self {
        Self((x * (1_u64 << 32) as f64).round() as u64)
    }

    /// The factor `numerator / denominator`, rounded down.
    ///
    /// # Panics
    /// If `denominator` is zero.
    #[must_use]
    pub fn from_fraction(numerator: u64, denominator: u64) -> Self {
        let quotient = (u128::from(numerator) << 32) / u128::from(denominator);
        Self(u64::try_from(quotient).unwrap_or(u64::MAX))
    }

    /// Multiplies the factor by `bytes`, rounded down to a byte. The product saturates.
    #[inline]
    #[must_use]
    pub const fn apply(self, bytes: u64) -> u64 {
        let product = (self.0 as u128 * bytes as u128) >> 32;
        if product > u64::MAX as u128 { u64::MAX } else { product as u64 }
    }

    /// Whether `bytes` ≥ factor × `of`, without rounding the product.
    #[inline]
    #[must_use]
    pub const fn is_reached_by(self, bytes: u64, of: u64) -> bool {
        (bytes as u128) << 32 >= self.0 as u128 * of as u128
    }

    /// The product of two factors, rounded down.
    #[must_use]
    pub const fn times(self, other: Self) -> Self {
        Self(other.apply(self.0))
    }

    /// Quotient of the factor `self` and `divisor`, rounded down.
    ///
    /// # Panics
    /// If `divisor` is zero.
    #[must_use]
    pub fn divided_by(self, divisor: Self) -> Self {
        Self::from_fraction(self.0, divisor.0)
    }

    /// The power of two nearest to the factor by ratio, as switches encode α. The factor zero stays
    /// zero.
    #[must_use]
    pub const fn nearest_power_of_two(self) -> Self {
        if self.0 == 0 {
            return self;
        }
        let exponent = self.0.ilog2();
        // A factor rounds up from 2^(e + 1/2), where its square reaches 2^(2e + 1).
        let up = self.0 as u128 * self.0 as u128 >= 1 << (2 * exponent + 1);
        if up && exponent < 63 { Self(1 << (exponent + 1)) } else { Self(1 << exponent) }
    }

    /// The factor as a floating-point number, for reports.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / (1_u64 << 32) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The factor 2/3 is rounded, so the threshold for 42,804 free bytes is 28,535 B instead of
    /// 28,536 B. No threshold is more than one byte too low.
    #[test]
    fn a_threshold_of_rounded_factors_is_short_by_one_byte_at_most() {
        let two_thirds = Weight::from_f64(2.0).divided_by(Weight::from_fraction(3, 1));
        assert_eq!(two_thirds.apply(42_804), 28_535);
        for n in 1..=64_u64 {
            for share in 1..=8_u64 {
                let gamma = Weight::from_fraction(share, 8);
                let factor = Weight::from_f64(2.0).divided_by(Weight::from_fraction(n, 1)).times(gamma);
                for free in (0..200_000_000_u64).step_by(1_234_567) {
                    let exact = 2 * share * free / (8 * n);
                    let found = factor.apply(free);
                    assert!(found == exact || found + 1 == exact, "2 / {n} x {share}/8 of {free} B: {found}");
                }
            }
        }
    }

    #[test]
    fn factors_are_exact_where_binary_is() {
        assert_eq!(Weight::from_f64(0.5).apply(60), 30);
        assert_eq!(Weight::from_f64(1024.0).apply(3), 3_072);
        assert_eq!(Weight::from_fraction(1, 3).apply(300), 99);
        assert_eq!(Weight::from_f64(2.0).divided_by(Weight::from_f64(4.0)), Weight::from_f64(0.5));
        assert_eq!(Weight::from_f64(0.5).times(Weight::from_f64(0.25)), Weight::from_f64(0.125));
    }

    #[test]
    fn the_nearest_power_of_two_is_within_a_factor_of_the_root_of_two() {
        let near = |x: f64| Weight::from_f64(x).nearest_power_of_two().as_f64();
        for (x, power) in
            [(1.0, 1.0), (1.41, 1.0), (1.42, 2.0), (3.0, 4.0), (0.5 / 3.0, 0.125), (0.3, 0.25), (20.0, 16.0)]
        {
            assert_eq!(near(x), power, "{x}");
        }
        assert_eq!(Weight(0).nearest_power_of_two(), Weight(0));
        assert_eq!(Weight(u64::MAX).nearest_power_of_two(), Weight(1 << 63));
    }

    #[test]
    fn a_share_is_reached_exactly_where_decimal_arithmetic_says() {
        let share = Weight::from_f64(0.9);
        assert!(share.is_reached_by(90, 100));
        assert!(!share.is_reached_by(89, 100), "0.9 × 100 rounds down to 89");
        assert!(share.is_reached_by(0, 0));
        assert!(!share.is_reached_by(u64::MAX / 2, u64::MAX));
    }
}
