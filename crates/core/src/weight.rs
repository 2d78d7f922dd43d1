//! Fixed-point factors of thresholds.

/// A non-negative factor such as α or α·γ/n in Q32.32 fixed point: verdicts are integer arithmetic and thus
/// the same on every machine. Converting rounds to the nearest 2⁻³²; applying rounds down to a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Weight(pub u64);

impl Weight {
    /// The factor one.
    pub const ONE: Self = Self(1 << 32);

    /// The nearest representable factor; beyond 2³² it saturates, negative values give zero.
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

    /// ⌊factor × bytes⌋, saturating.
    #[inline]
    #[must_use]
    pub const fn of(self, bytes: u64) -> u64 {
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
        Self(other.of(self.0))
    }

    /// This factor divided by `divisor`, rounded down.
    ///
    /// # Panics
    /// If `divisor` is zero.
    #[must_use]
    pub fn divided_by(self, divisor: Self) -> Self {
        Self::from_fraction(self.0, divisor.0)
    }

    /// As a float, for reports.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / (1_u64 << 32) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_exact_where_binary_is() {
        assert_eq!(Weight::from_f64(0.5).of(60), 30);
        assert_eq!(Weight::from_f64(1024.0).of(3), 3_072);
        assert_eq!(Weight::from_fraction(1, 3).of(300), 99);
        assert_eq!(Weight::from_f64(2.0).divided_by(Weight::from_f64(4.0)), Weight::from_f64(0.5));
        assert_eq!(Weight::from_f64(0.5).times(Weight::from_f64(0.25)), Weight::from_f64(0.125));
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
