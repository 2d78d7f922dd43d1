//! Instants and spans of time in picoseconds.

use core::fmt;
use core::ops::{Add, AddAssign, Mul, Sub};

/// An instant since the start of the run, or a span between two instants, in picoseconds.
///
/// 2⁶⁴ ps are 213 days, so no run overflows. One type serves instants and spans. Names of variables
/// tell instants and spans apart (`deadline`, `interval`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct Time(pub u64);

impl Time {
    /// Time at the start of the run, or the empty span.
    pub const ZERO: Self = Self(0);
    /// Time that is later than any event, which means "never".
    pub const MAX: Self = Self(u64::MAX);

    /// Creates a time of `ns` nanoseconds.
    #[must_use]
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns * 1_000)
    }

    /// Creates a time of `us` microseconds.
    #[must_use]
    pub const fn from_us(us: u64) -> Self {
        Self(us * 1_000_000)
    }

    /// Creates a time of `ms` milliseconds.
    #[must_use]
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms * 1_000_000_000)
    }

    /// Converts seconds to a time, rounded to picoseconds; negative numbers and NaN give zero.
    #[must_use]
    pub fn from_secs_f64(seconds: f64) -> Self {
        Self((seconds * 1e12).round() as u64)
    }

    /// Returns the time in nanoseconds, the unit of result tables, rounded to nearest (halves up).
    #[must_use]
    pub const fn as_ns(self) -> u64 {
        (self.0 + 500) / 1_000
    }

    /// Returns the time in seconds as a float, for statistics and display.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-12
    }

    /// Returns `self − earlier`, or zero if `earlier` is later than `self`.
    #[must_use]
    pub const fn saturating_sub(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }

    /// Returns `self + span`, but at most [`Time::MAX`].
    #[must_use]
    pub const fn saturating_add(self, span: Self) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Add for Time {
    type Output = Self;
    #[inline]
    fn add(self, span: Self) -> Self {
        Self(self.0 + span.0)
    }
}

impl AddAssign for Time {
    #[inline]
    fn add_assign(&mut self, span: Self) {
        self.0 += span.0;
    }
}

impl Sub for Time {
    type Output = Self;
    #[inline]
    fn sub(self, earlier: Self) -> Self {
        Self(self.0 - earlier.0)
    }
}

impl Mul<u64> for Time {
    type Output = Self;
    #[inline]
    fn mul(self, factor: u64) -> Self {
        Self(self.0 * factor)
    }
}

/// Writes the time in the largest unit in which the number is at least 1: `80 us`, `1.25 ms`,
/// `3 s`.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, scale) = match self.0 {
            0..1_000 => ("ps", 1),
            1_000..1_000_000 => ("ns", 1_000),
            1_000_000..1_000_000_000 => ("us", 1_000_000),
            1_000_000_000..1_000_000_000_000 => ("ms", 1_000_000_000),
            _ => ("s", 1_000_000_000_000_u64),
        };
        if self.0.is_multiple_of(scale) {
            write!(f, "{} {unit}", self.0 / scale)
        } else {
            let text = format!("{:.12}", self.0 as f64 / scale as f64);
            write!(f, "{} {unit}", text.trim_end_matches('0').trim_end_matches('.'))
        }
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_print_in_the_unit_that_a_reader_expects() {
        assert_eq!(Time::from_us(80).to_string(), "80 us");
        assert_eq!(Time(1_163_200).to_string(), "1.1632 us");
        assert_eq!(Time::ZERO.to_string(), "0 ps");
        assert_eq!(Time::from_ms(2_500).to_string(), "2.5 s");
    }

    #[test]
    fn nanoseconds_round_to_nearest() {
        assert_eq!(Time(1_499).as_ns(), 1);
        assert_eq!(Time(1_500).as_ns(), 2);
    }
}
