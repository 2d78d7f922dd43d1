//! Estimation of the round-trip time, and the retransmission timeout (RFC 6298).

use bufferlab_units::Time;

/// Smoothed round-trip time of a flow and the variation of this time, in picoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct RttEstimator {
    smoothed: u64,
    variation: u64,
}

impl RttEstimator {
    /// Adds a sample of the round-trip time by RFC 6298 (2.2) and (2.3):
    /// α = 1/8, β = 1/4, with integer arithmetic that rounds down.
    #[inline]
    pub fn sample(&mut self, rtt: Time) {
        if self.smoothed == 0 {
            self.smoothed = rtt.0.max(1);
            self.variation = rtt.0 / 2;
        } else {
            let error = self.smoothed.abs_diff(rtt.0);
            self.variation = self.variation - self.variation / 4 + error / 4;
            self.smoothed = self.smoothed - self.smoothed / 8 + rtt.0 / 8;
        }
    }

    /// Smoothed round-trip time. `None` before the first sample.
    #[must_use]
    pub fn smoothed(&self) -> Option<Time> {
        (self.smoothed != 0).then_some(Time(self.smoothed))
    }

    /// Retransmission timeout SRTT + 4·RTTVAR, at least `min`.
    /// Before the first sample the timeout is `initial`.
    #[inline]
    #[must_use]
    pub fn timeout(&self, min: Time, initial: Time) -> Time {
        if self.smoothed == 0 { initial } else { Time((self.smoothed + 4 * self.variation).max(min.0)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_follows_rfc_6298() {
        let mut rtt = RttEstimator::default();
        let timeout = |rtt: &RttEstimator| rtt.timeout(Time::from_us(1), Time::from_ms(10));
        assert_eq!(timeout(&rtt), Time::from_ms(10));
        rtt.sample(Time::from_us(80));
        assert_eq!(timeout(&rtt), Time::from_us(80 + 4 * 40));
        rtt.sample(Time::from_us(160));
        // The estimator has RTTVAR = 3/4·40 + 1/4·80 = 50 and SRTT = 7/8·80 + 1/8·160 = 90.
        assert_eq!(timeout(&rtt), Time::from_us(90 + 4 * 50));
        assert_eq!(rtt.timeout(Time::from_ms(10), Time::ZERO), Time::from_ms(10));
    }
}
