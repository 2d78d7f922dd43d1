//! Histogram of durations: lateness of frames, and time of packets in the buffer.

/// Largest 99.9th percentile of lateness (ns) with which statements about queues have a meaning.
pub const INCONCLUSIVE_LATENESS_NS: u64 = 1_000_000;

/// Histogram of durations, with bins of an eighth of an octave.
#[derive(Clone, Debug)]
pub struct Durations {
    bins: Vec<u64>,
    count: u64,
    sum: u64,
    largest: u64,
}

impl Default for Durations {
    fn default() -> Self {
        Self { bins: vec![0; 64 * 8], count: 0, sum: 0, largest: 0 }
    }
}

impl Durations {
    /// Adds a duration of `ns` nanoseconds to the histogram.
    pub fn add(&mut self, ns: u64) {
        let octave = ns.max(8).ilog2();
        let part = (ns.max(8) >> (octave - 3)) & 7;
        self.bins[(octave as usize) * 8 + part as usize] += 1;
        self.count += 1;
        self.sum = self.sum.saturating_add(ns);
        self.largest = self.largest.max(ns);
    }

    /// Number of durations that the histogram has.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Sum of all durations in the histogram (ns).
    #[must_use]
    pub const fn sum(&self) -> u64 {
        self.sum
    }

    /// Largest duration in the histogram (ns).
    #[must_use]
    pub const fn largest(&self) -> u64 {
        self.largest
    }

    /// Returns the upper end of the bin that contains quantile `q` (ns). The returned value is at
    /// most 13 % above the quantile, and at most the largest recorded duration.
    #[must_use]
    pub fn quantile(&self, q: f64) -> u64 {
        let wanted = (self.count as f64 * q).ceil() as u64;
        let mut seen = 0;
        for (index, count) in self.bins.iter().enumerate() {
            seen += count;
            if seen >= wanted.max(1) {
                let (octave, part) = (index / 8, index as u64 % 8);
                return (((8 + part + 1) << (octave - 3)) - 1).min(self.largest);
            }
        }
        self.largest
    }
}
