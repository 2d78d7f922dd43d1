//! An exact time-weighted histogram of a byte count.

/// Binary logarithm of a bin's width in the linear part: bins below 4 KiB are 64 bytes wide.
const UNIT_BITS: u32 = 6;
/// Binary logarithm of the number of bins per octave, above the linear part. A bin is at most 1/64
/// of its value wide.
const SUB_BITS: u32 = 6;

/// Histogram of the time that a buffer spent at every occupancy. The caller stores the current
/// occupancy. [`OccupancyHistogram`] also has the mean and the maximum.
///
/// Times are exact, because the histogram records every change of occupancy. Bins are 64 bytes wide
/// below 4 KiB. Above 4 KiB, the width of a bin is at most 1/64 of its occupancy. So memory is
/// bounded: about 1,000 bins at 1 GB.
#[derive(Clone, Debug, Default)]
pub struct OccupancyTimes {
    /// Time per bin of the histogram (ps); the list ends with the largest bin used.
    bins: Vec<u64>,
    since: u64,
}

impl OccupancyTimes {
    /// Records that the occupancy was `held` (bytes) from the last change until `now` (ps).
    /// `now` never decreases.
    #[inline]
    pub fn hold(&mut self, now: u64, held: u64) {
        let span = now - self.since;
        if span == 0 {
            return;
        }
        self.since = now;
        let index = index_of(held);
        match self.bins.get_mut(index) {
            Some(bin) => *bin += span,
            None => self.grow(index, span),
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, index: usize, span: u64) {
        self.bins.resize((index + 1).next_power_of_two(), 0);
        self.bins[index] = span;
    }

    /// Bins whose time is not zero, sorted by occupancy.
    pub fn bins(&self) -> impl Iterator<Item = Bin> + '_ {
        self.bins.iter().enumerate().filter(|(_, time)| **time != 0).map(|(index, &time)| {
            let (from, to) = range_of(index);
            Bin { from, to, time }
        })
    }

    /// Total time that the histogram has recorded (ps).
    #[must_use]
    pub fn span(&self) -> u64 {
        self.since
    }
}

/// Time spent at every occupancy ([`OccupancyTimes`]), with the exact mean and maximum.
#[derive(Clone, Debug, Default)]
pub struct OccupancyHistogram {
    times: OccupancyTimes,
    value: u64,
    max: u64,
    /// Sum of occupancy × time [byte · ps].
    integral: u128,
}

/// One bin of a histogram of occupancy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// Smallest buffer occupancy of the bin (bytes).
    pub from: u64,
    /// Largest buffer occupancy of the bin (bytes).
    pub to: u64,
    /// Time that the buffer spent at an occupancy of the bin (ps).
    pub time: u64,
}

impl OccupancyHistogram {
    /// Sets the occupancy to `value` (bytes) at `now` (ps). `now` never decreases.
    #[inline]
    pub fn set(&mut self, now: u64, value: u64) {
        self.integral += u128::from(self.value) * u128::from(now - self.times.since);
        self.times.hold(now, self.value);
        self.value = value;
        self.max = self.max.max(value);
    }

    /// Closes the histogram at `now`: the current occupancy counts until `now`.
    pub fn close(&mut self, now: u64) {
        self.set(now, self.value);
    }

    /// Bins whose time is not zero, sorted by occupancy.
    pub fn bins(&self) -> impl Iterator<Item = Bin> + '_ {
        self.times.bins()
    }

    /// Largest occupancy that the histogram has recorded (bytes).
    #[must_use]
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Time-weighted mean of the occupancy (bytes) over the recorded time.
    #[must_use]
    pub fn mean(&self) -> f64 {
        if self.times.since == 0 { 0.0 } else { self.integral as f64 / self.times.since as f64 }
    }
}

#[inline]
pub(crate) fn index_of(value: u64) -> usize {
    let units = value >> UNIT_BITS;
    // The first 128 units of 64 bytes have one bin each (step 0). From 64·2^k units on, a bin has
    // 2^k units. The code has no branches, because it runs at every change of occupancy.
    let step = (units | (1 << SUB_BITS)).ilog2() - SUB_BITS;
    ((step as usize) << SUB_BITS) + (units >> step) as usize
}

pub(crate) fn range_of(index: usize) -> (u64, u64) {
    let (octave, within) = (index >> SUB_BITS, (index & ((1 << SUB_BITS) - 1)) as u64);
    let (first, step) = match octave {
        0 => (within, 1),
        k => ((within + (1 << SUB_BITS)) << (k - 1), 1 << (k - 1)),
    };
    (first << UNIT_BITS, ((first + step) << UNIT_BITS) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_its_bin_and_bins_do_not_overlap() {
        for value in (0..20_000).chain((1..40).map(|s| (1_u64 << s) + 17)) {
            let (from, to) = range_of(index_of(value));
            assert!((from..=to).contains(&value), "{value} not in {from}..={to}");
        }
        for index in 0..1_000 {
            assert_eq!(range_of(index).1 + 1, range_of(index + 1).0);
        }
    }

    #[test]
    fn time_is_weighed_exactly() {
        let mut histogram = OccupancyHistogram::default();
        histogram.set(0, 100);
        histogram.set(10, 1_000_000);
        histogram.set(40, 0);
        histogram.close(100);
        let times: Vec<_> = histogram.bins().map(|bin| bin.time).collect();
        assert_eq!(times, [60, 10, 30]);
        assert_eq!(histogram.max(), 1_000_000);
        assert!((histogram.mean() - (1_000.0 + 30_000_000.0) / 100.0).abs() < 1e-9);
    }
}
