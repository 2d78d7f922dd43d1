//! Traffic patterns, which select the partners of a sender.

use crate::SourceError;
use bufferlab_params::choices;
use bufferlab_units::RandomStream;
use std::collections::BTreeSet;
use std::fmt;

choices! {
    /// Pattern that selects a sender's partners. A *rack* is the set of hosts on one tier-0 switch.
    pub enum Pattern {
        NextRack = "next_rack": "a random host of the next rack; the first rack follows the last",
        OtherRack = "other_rack": "a random host of any other rack",
        AllToAll = "all_to_all": "any other host",
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Hosts of all racks in one list, rack after rack. A *slot* is a position in this list.
#[derive(Clone, Debug)]
pub(crate) struct Racks {
    hosts: Vec<u32>,
    /// First slot of each rack: slots `starts[r]..starts[r + 1]` are rack r.
    starts: Vec<usize>,
    /// Number of the rack to which each host slot belongs.
    rack_of: Vec<u32>,
}

impl Racks {
    /// Lists the hosts of all racks with hosts. The function refuses a host that is listed twice,
    /// and a pattern in which a host would have no partner.
    pub(crate) fn new(racks: &[Vec<u32>], pattern: Pattern) -> Result<Self, SourceError> {
        let mut this = Self { hosts: Vec::new(), starts: vec![0], rack_of: Vec::new() };
        for rack in racks.iter().filter(|rack| !rack.is_empty()) {
            let number = (this.starts.len() - 1) as u32;
            this.hosts.extend_from_slice(rack);
            this.rack_of.extend(rack.iter().map(|_| number));
            this.starts.push(this.hosts.len());
        }
        let mut seen = BTreeSet::new();
        if let Some(&host) = this.hosts.iter().find(|&&host| !seen.insert(host)) {
            return Err(SourceError::HostTwice { host });
        }
        if this.hosts.len() < 2 {
            return Err(SourceError::TooFewHosts { hosts: this.hosts.len() });
        }
        if pattern != Pattern::AllToAll && this.rack_count() < 2 {
            return Err(SourceError::TooFewRacks { pattern, racks: this.rack_count() });
        }
        Ok(this)
    }

    /// Returns all hosts, in the order of their slots.
    pub(crate) fn hosts(&self) -> &[u32] {
        &self.hosts
    }

    /// Number of racks that contain hosts.
    pub(crate) fn rack_count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Slots of the hosts that are in the rack `rack`.
    pub(crate) fn slots(&self, rack: usize) -> std::ops::Range<usize> {
        self.starts[rack]..self.starts[rack + 1]
    }

    /// Returns the number of the rack that contains the host slot `slot`.
    pub(crate) fn rack_of(&self, slot: usize) -> usize {
        self.rack_of[slot] as usize
    }

    /// Number of the rack that follows the rack of the host slot `slot`.
    pub(crate) fn next_rack(&self, slot: usize) -> usize {
        (self.rack_of(slot) + 1) % self.rack_count()
    }

    /// Draws a uniformly random partner of the host in `slot`; every pattern takes exactly
    /// one random number.
    pub(crate) fn partner(&self, slot: usize, pattern: Pattern, stream: &mut RandomStream) -> u32 {
        let among = |slots: std::ops::Range<usize>, stream: &mut RandomStream| {
            slots.start + stream.below(slots.len() as u64) as usize
        };
        // Draws one of all hosts, except the hosts in a gap of consecutive slots.
        let outside = |gap: std::ops::Range<usize>, stream: &mut RandomStream| {
            let draw = stream.below((self.hosts.len() - gap.len()) as u64) as usize;
            if draw < gap.start { draw } else { draw + gap.len() }
        };
        let chosen = match pattern {
            Pattern::NextRack => among(self.slots(self.next_rack(slot)), stream),
            Pattern::OtherRack => outside(self.slots(self.rack_of(slot)), stream),
            Pattern::AllToAll => outside(slot..slot + 1, stream),
        };
        self.hosts[chosen]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hits(pattern: Pattern, slot: usize) -> Vec<(u32, u32)> {
        let racks = Racks::new(&[vec![0, 1], vec![], vec![10, 11, 12], vec![20]], pattern).unwrap();
        let mut stream = RandomStream::new(5, "test", 0);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..30_000 {
            *counts.entry(racks.partner(slot, pattern, &mut stream)).or_insert(0_u32) += 1;
        }
        counts.into_iter().collect()
    }

    fn assert_uniform_over(expected: &[u32], pattern: Pattern, slot: usize) {
        let hits = hits(pattern, slot);
        assert_eq!(hits.iter().map(|&(host, _)| host).collect::<Vec<_>>(), expected, "{pattern} {slot}");
        let mean = 30_000.0 / expected.len() as f64;
        for (host, count) in hits {
            // The tolerance is five standard deviations of a binomial count.
            assert!((f64::from(count) - mean).abs() < 5.0 * mean.sqrt(), "{pattern}: host {host} {count}");
        }
    }

    #[test]
    fn a_pattern_reaches_every_allowed_host_equally_and_no_other() {
        // The racks have hosts 0 and 1, hosts 10 to 12, and host 20. The empty rack has no slots.
        assert_uniform_over(&[10, 11, 12], Pattern::NextRack, 0);
        assert_uniform_over(&[20], Pattern::NextRack, 3);
        assert_uniform_over(&[0, 1], Pattern::NextRack, 5);
        assert_uniform_over(&[10, 11, 12, 20], Pattern::OtherRack, 1);
        assert_uniform_over(&[0, 1, 20], Pattern::OtherRack, 2);
        assert_uniform_over(&[0, 1, 10, 12, 20], Pattern::AllToAll, 3);
        assert_uniform_over(&[0, 1, 10, 11, 12], Pattern::AllToAll, 5);
    }

    #[test]
    fn impossible_placements_are_refused() {
        let refuse = |racks: &[Vec<u32>], pattern| Racks::new(racks, pattern).unwrap_err();
        assert_eq!(refuse(&[vec![0, 1], vec![1]], Pattern::AllToAll), SourceError::HostTwice { host: 1 });
        assert_eq!(refuse(&[vec![7]], Pattern::AllToAll), SourceError::TooFewHosts { hosts: 1 });
        assert_eq!(
            refuse(&[vec![0, 1], vec![]], Pattern::NextRack),
            SourceError::TooFewRacks { pattern: Pattern::NextRack, racks: 1 }
        );
        assert!(Racks::new(&[vec![0, 1]], Pattern::AllToAll).is_ok());
    }
}
