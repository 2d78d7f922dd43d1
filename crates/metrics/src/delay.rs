//! Queueing delays of packets: numbers of packets per bin of delay, with exact sums.

use crate::histogram::{index_of, range_of};

/// Number of packets by queueing delay.
///
/// Bins are 64 ns wide below 4 µs. Above 4 µs, the width of a bin is at most 1/64 of its delay.
/// Every bin also has the sum of its packets' delays, so that the mean is exact. Memory is bounded:
/// about 1,000 bins for a second.
#[derive(Clone, Debug, Default)]
pub struct DelayHistogram {
    /// Number of packets and sum of their delays (ns) per bin. The list ends with the largest bin
    /// used.
    bins: Vec<(u64, u64)>,
}

/// One bin of a histogram of delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayBin {
    /// Smallest queueing delay of the bin (ns).
    pub from_ns: u64,
    /// Largest queueing delay of the bin (ns).
    pub to_ns: u64,
    /// Number of packets with a delay in the bin.
    pub packets: u64,
    /// Sum of the delays of the bin's packets (ns).
    pub total_ns: u64,
}

impl DelayHistogram {
    /// Counts a packet with the queueing delay `delay_ns`.
    #[inline]
    pub fn add(&mut self, delay_ns: u64) {
        let index = index_of(delay_ns);
        if index >= self.bins.len() {
            self.grow(index);
        }
        let bin = &mut self.bins[index];
        bin.0 += 1;
        bin.1 += delay_ns;
    }

    #[cold]
    fn grow(&mut self, index: usize) {
        self.bins.resize((index + 1).next_power_of_two(), (0, 0));
    }

    /// Bins that contain packets, sorted by delay.
    pub fn bins(&self) -> impl Iterator<Item = DelayBin> + '_ {
        self.bins.iter().enumerate().filter(|(_, bin)| bin.0 != 0).map(|(index, &(packets, total_ns))| {
            let (from_ns, to_ns) = range_of(index);
            DelayBin { from_ns, to_ns, packets, total_ns }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_counted_in_their_bins_and_summed_exactly() {
        let mut histogram = DelayHistogram::default();
        [0, 63, 64, 4_000_000, 4_000_001].into_iter().for_each(|delay| histogram.add(delay));
        let bins: Vec<_> = histogram.bins().collect();
        let counts: Vec<_> = bins.iter().map(|bin| (bin.packets, bin.total_ns)).collect();
        assert_eq!(counts, [(2, 63), (1, 64), (2, 8_000_001)]);
        assert!(bins.iter().all(|bin| bin.from_ns <= bin.to_ns));
        let last = bins[2];
        assert!(
            last.from_ns <= 4_000_000
                && last.to_ns >= 4_000_001
                && last.to_ns - last.from_ns < 4_000_000 / 63
        );
    }
}
