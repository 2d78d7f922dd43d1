//! Link rates and exact serialization times.

use crate::Time;
use core::fmt;

const PS_PER_S_TIMES_8: u64 = 8_000_000_000_000;

/// A rate of a link in bits per second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct BitRate(pub u64);

impl BitRate {
    /// Creates a rate of `n` Gb/s.
    #[must_use]
    pub const fn gbps(n: u64) -> Self {
        Self(n * 1_000_000_000)
    }

    /// Creates a rate of `n` Mb/s.
    #[must_use]
    pub const fn mbps(n: u64) -> Self {
        Self(n * 1_000_000)
    }

    /// Time for sending `bytes` bytes at this rate, rounded up to the next picosecond, at most the
    /// largest time.
    ///
    /// # Panics
    /// If the rate is zero.
    #[must_use]
    pub fn serialization(self, bytes: u64) -> Time {
        let bits_ps = u128::from(bytes) * u128::from(PS_PER_S_TIMES_8);
        Time(u64::try_from(bits_ps.div_ceil(u128::from(self.0))).unwrap_or(u64::MAX))
    }

    /// Number of bytes that a link of this rate carries in `span`, rounded down.
    #[must_use]
    pub fn bytes_in(self, span: Time) -> u64 {
        (u128::from(self.0) * u128::from(span.0) / u128::from(PS_PER_S_TIMES_8)) as u64
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, scale) = match self.0 {
            0..1_000 => ("b/s", 1.0),
            1_000..1_000_000 => ("Kb/s", 1e3),
            1_000_000..1_000_000_000 => ("Mb/s", 1e6),
            _ => ("Gb/s", 1e9),
        };
        write!(f, "{} {unit}", self.0 as f64 / scale)
    }
}

impl fmt::Debug for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Computes the serialization times of one link.
/// At the usual rates, the hot path only multiplies and never divides.
///
/// The state is one word, so that a link can store it next to the other data used per packet. If a
/// byte takes a whole number of picoseconds, the word is the number of picoseconds. For all other
/// rates, the word is the rate with the lowest bit set.
#[derive(Clone, Copy, Debug)]
pub struct Serializer(u64);

impl Serializer {
    /// Prepares the serialization times for `rate`.
    ///
    /// # Panics
    /// If the rate is zero, or 2^63 b/s or more.
    #[must_use]
    pub const fn new(rate: BitRate) -> Self {
        assert!(rate.0 > 0 && rate.0 >> 63 == 0, "a rate fits into 63 bits");
        let exact = PS_PER_S_TIMES_8.is_multiple_of(rate.0);
        Self(if exact { (PS_PER_S_TIMES_8 / rate.0) << 1 } else { rate.0 << 1 | 1 })
    }

    /// Time for sending `bytes` bytes: equal to [`BitRate::serialization`] for frames below 2 MB.
    #[inline]
    #[must_use]
    pub const fn time(self, bytes: u32) -> Time {
        let value = self.0 >> 1;
        if self.0 & 1 == 0 {
            Time(bytes as u64 * value)
        } else {
            Time((bytes as u64 * PS_PER_S_TIMES_8).div_ceil(value))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serialization_is_exact_at_the_usual_rates() {
        for gbps in [1, 10, 25, 40, 100, 400, 800] {
            let rate = BitRate::gbps(gbps);
            let exact = 1454 * 8_000 / gbps;
            assert_eq!(rate.serialization(1454), Time(exact), "{rate}");
            assert_eq!(Serializer::new(rate).time(1454), Time(exact), "{rate}");
        }
    }

    #[test]
    fn serialization_rounds_up_elsewhere() {
        let rate = BitRate::mbps(995);
        assert_eq!(rate.serialization(1), Time(8_041));
        assert_eq!(Serializer::new(rate).time(1), Time(8_041));
        assert_eq!(rate.bytes_in(rate.serialization(1500)), 1500);
    }
}
