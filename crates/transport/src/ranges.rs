//! Sets of segment numbers as sorted, disjoint, non-adjacent ranges: out-of-order segments at a
//! receiver, and SACKed segments at a sender.

/// Ranges `first..end` in ascending order. Empty (and without memory) while no segment is lost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ranges {
    ranges: Vec<(u32, u32)>,
    count: u32,
}

impl Ranges {
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Number of segments in all ranges of the set.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// The n-th largest segment number of the set (n from 1).
    pub(crate) fn nth_from_top(&self, n: u32) -> Option<u32> {
        let mut left = n;
        for &(first, end) in self.ranges.iter().rev() {
            if end - first >= left {
                return Some(end - left);
            }
            left -= end - first;
        }
        None
    }

    /// Number of segments of the set in the range `first..end`.
    pub(crate) fn covered(&self, first: u32, end: u32) -> u32 {
        if first >= end {
            return 0;
        }
        let start = self.ranges.partition_point(|range| range.1 <= first);
        self.ranges[start..]
            .iter()
            .take_while(|range| range.0 < end)
            .map(|range| range.1.min(end) - range.0.max(first))
            .sum()
    }

    /// Number of segments in the range `first..end` that are not in the set.
    pub(crate) fn holes(&self, first: u32, end: u32) -> u32 {
        if first >= end { 0 } else { end - first - self.covered(first, end) }
    }

    /// Smallest segment number that is not in the set, at or above `from`.
    pub(crate) fn next_hole(&self, from: u32) -> u32 {
        let at = self.ranges.partition_point(|range| range.1 <= from);
        match self.ranges.get(at) {
            Some(&(first, end)) if first <= from => end,
            _ => from,
        }
    }

    /// Adds the range `first..end`. Returns the range of the set that now contains `first..end`.
    pub(crate) fn insert(&mut self, first: u32, end: u32) -> (u32, u32) {
        let start = self.ranges.partition_point(|range| range.1 < first);
        let stop = start + self.ranges[start..].partition_point(|range| range.0 <= end);
        let merged = self.ranges[start..stop].iter().fold((first, end), |m, r| (m.0.min(r.0), m.1.max(r.1)));
        let before: u32 = self.ranges[start..stop].iter().map(|range| range.1 - range.0).sum();
        self.count += merged.1 - merged.0 - before;
        self.ranges.splice(start..stop, [merged]);
        merged
    }

    /// Removes all segment numbers below `limit` and returns the number of removed segments.
    pub(crate) fn remove_below(&mut self, limit: u32) -> u32 {
        let removed = self.covered(0, limit);
        if removed != 0 {
            self.ranges.retain_mut(|range| {
                range.0 = range.0.max(limit);
                range.0 < range.1
            });
            self.count -= removed;
        }
        removed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bufferlab_units::RandomStream;

    #[test]
    fn ranges_agree_with_a_plain_set() {
        let mut stream = RandomStream::new(3, "ranges", 0);
        for _ in 0..300 {
            let (mut ranges, mut set) = (Ranges::default(), [false; 64]);
            for _ in 0..40 {
                let a = stream.below(64) as u32;
                let b = (a + 1 + stream.below(6) as u32).min(64);
                if stream.below(8) == 0 {
                    let expected = set[..a as usize].iter().filter(|&&x| x).count() as u32;
                    assert_eq!(ranges.remove_below(a), expected);
                    set[..a as usize].fill(false);
                } else {
                    let got = ranges.insert(a, b);
                    set[a as usize..b as usize].fill(true);
                    assert!(got.0 <= a && got.1 >= b);
                    assert!(set[got.0 as usize..got.1 as usize].iter().all(|&x| x));
                }
                assert_eq!(ranges.count(), set.iter().filter(|&&x| x).count() as u32);
                let members = set[a as usize..b as usize].iter().filter(|&&x| x).count() as u32;
                assert_eq!(ranges.covered(a, b), members);
                assert_eq!(ranges.holes(a, b), b - a - members);
                for n in 1..5 {
                    let nth = (0..64).rev().filter(|&s| set[s as usize]).nth(n as usize - 1);
                    assert_eq!(ranges.nth_from_top(n), nth);
                }
                let hole = (a..).find(|&s| s >= 64 || !set[s as usize]).unwrap_or(64);
                assert_eq!(ranges.next_hole(a), hole);
            }
        }
    }
}
