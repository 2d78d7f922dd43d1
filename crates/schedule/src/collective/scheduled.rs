//! Description of a collective in a schedule, and its bandwidths.

use super::{Algorithm, Operation};
use bufferlab_params::Choice;
use bufferlab_units::Time;
use std::fmt;

/// A collective of a schedule, to which nodes of the schedule refer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduledCollective {
    /// Operation of the collective, such as all-reduce.
    pub operation: Operation,
    /// Algorithm that executes the collective.
    pub algorithm: Algorithm,
    /// Size S of the data (bytes): see [`Operation`].
    pub bytes: u64,
    /// Number of ranks n in the group.
    pub ranks: u32,
}

impl ScheduledCollective {
    /// Algorithm bandwidth of a collective that takes `time`: S divided by the time (bit/s, rounded
    /// down). Zero if the time is zero.
    #[must_use]
    pub fn algorithm_bps(&self, time: Time) -> u64 {
        self.scaled_bps(time, (1, 1))
    }

    /// Bus bandwidth of a collective that takes `time` (bit/s, rounded down).
    ///
    /// The factors equal the factors in `doc/PERFORMANCE.md` of nccl-tests. The factor is 2(n −
    /// 1)/n for an all-reduce, (n − 1)/n for all-gather, reduce-scatter and all-to-all, and 1 for a
    /// broadcast. A pipeline has the factor of the send-receive test, which is 1.
    #[must_use]
    pub fn bus_bps(&self, time: Time) -> u64 {
        let (n, others) = (u64::from(self.ranks), u64::from(self.ranks.saturating_sub(1)));
        self.scaled_bps(
            time,
            match self.operation {
                Operation::AllReduce => (2 * others, n),
                Operation::AllGather | Operation::ReduceScatter | Operation::AllToAll => (others, n),
                Operation::Broadcast | Operation::Pipeline => (1, 1),
            },
        )
    }

    fn scaled_bps(&self, time: Time, (numerator, denominator): (u64, u64)) -> u64 {
        let bits = u128::from(self.bytes) * 8 * 1_000_000_000_000 * u128::from(numerator);
        let over = u128::from(time.0) * u128::from(denominator);
        bits.checked_div(over).map_or(0, |bps| u64::try_from(bps).unwrap_or(u64::MAX))
    }

    /// Parses a collective from text of the form `OPERATION:ALGORITHM:BYTES:RANKS`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(':');
        let collective = Self {
            operation: Choice::from_word(words.next()?)?,
            algorithm: Choice::from_word(words.next()?)?,
            bytes: words.next()?.parse().ok()?,
            ranks: words.next()?.parse().ok()?,
        };
        words.next().is_none().then_some(collective)
    }
}

impl fmt::Display for ScheduledCollective {
    /// Writes the collective as text that [`Self::parse`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}:{}", self.operation, self.algorithm, self.bytes, self.ranks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bus_bandwidth_has_the_factors_of_nccl_tests() {
        // A collective of 8 ranks moves 1 GB in 1 s, so S/t is 8 Gb/s.
        let bus = |operation| {
            let collective =
                ScheduledCollective { operation, algorithm: Algorithm::Ring, bytes: 1_000_000_000, ranks: 8 };
            assert_eq!(collective.algorithm_bps(Time::from_ms(1_000)), 8_000_000_000);
            assert_eq!(ScheduledCollective::parse(&collective.to_string()), Some(collective));
            collective.bus_bps(Time::from_ms(1_000))
        };
        assert_eq!(bus(Operation::AllReduce), 14_000_000_000);
        assert_eq!(bus(Operation::AllGather), 7_000_000_000);
        assert_eq!(bus(Operation::ReduceScatter), 7_000_000_000);
        assert_eq!(bus(Operation::AllToAll), 7_000_000_000);
        assert_eq!(bus(Operation::Broadcast), 8_000_000_000);
        assert_eq!(ScheduledCollective::parse("all_reduce:ring:8"), None);
        assert_eq!(ScheduledCollective::parse("all_reduce:ring:8:8:8"), None);
    }
}
