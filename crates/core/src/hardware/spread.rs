//! Assignment of ports to the slices of a memory.

use std::ops::Range;

/// Consecutive ports spread over the slices of a memory as evenly as possible: six ports on four
/// slices give 2, 2, 1 and 1.
///
/// The public configurations of chips do not state which port is in which slice,
/// but the slices of a chip serve equal numbers of lanes.
/// So every slice has a port, unless there are fewer ports than slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortSpread {
    ports: usize,
    slices: usize,
}

impl PortSpread {
    /// Spreads `ports` ports over `slices` slices (at least one slice).
    #[must_use]
    pub const fn new(ports: usize, slices: usize) -> Self {
        Self { ports, slices: if slices == 0 { 1 } else { slices } }
    }

    /// Number of slices of the memory.
    #[must_use]
    pub const fn slices(self) -> usize {
        self.slices
    }

    /// Smallest number of ports of a slice, and the number of slices that have one port more.
    const fn shares(self) -> (usize, usize) {
        (self.ports / self.slices, self.ports % self.slices)
    }

    /// Ports of the memory slice `slice`. The first slice has the ports with the lowest numbers.
    #[must_use]
    pub fn ports_of(self, slice: usize) -> Range<usize> {
        let (few, larger) = self.shares();
        let begin = slice * few + slice.min(larger);
        begin..begin + few + usize::from(slice < larger)
    }

    /// The memory slice of the port `port`.
    #[must_use]
    pub fn slice_of(self, port: usize) -> usize {
        let (few, larger) = self.shares();
        let border = larger * (few + 1);
        if port < border { port / (few + 1) } else { larger + (port - border) / few.max(1) }
    }

    /// The ports of each memory slice, in the order of the slices.
    pub fn ranges(self) -> impl Iterator<Item = Range<usize>> {
        (0..self.slices).map(move |slice| self.ports_of(slice))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_port_is_in_one_slice_and_slices_differ_by_one_port_at_most() {
        for ports in 0..70 {
            for slices in 1..20 {
                let spread = PortSpread::new(ports, slices);
                let ranges: Vec<_> = spread.ranges().collect();
                assert_eq!(
                    ranges.iter().flat_map(Clone::clone).collect::<Vec<_>>(),
                    (0..ports).collect::<Vec<_>>()
                );
                for (slice, range) in ranges.iter().enumerate() {
                    assert!(range.len() == ports / slices || range.len() == ports / slices + 1);
                    assert!(range.clone().all(|port| spread.slice_of(port) == slice), "{ports}, {slices}");
                }
            }
        }
        let sizes = |ports, slices| {
            PortSpread::new(ports, slices).ranges().map(|range| range.len()).collect::<Vec<_>>()
        };
        assert_eq!(sizes(6, 4), [2, 2, 1, 1]);
        assert_eq!(sizes(9, 4), [3, 2, 2, 2]);
        assert_eq!(sizes(11, 8), [2, 2, 2, 1, 1, 1, 1, 1]);
    }
}
