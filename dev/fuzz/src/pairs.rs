//! Schedules pairs of options, and counts pairs and triples that have run together in a fuzzing
//! case.

use crate::options::{OPTIONS, can_meet};
use bufferlab_units::RandomStream;
use std::sync::LazyLock;

/// All pairs of options that can be part of one fuzzing case.
pub(crate) static PAIRS: LazyLock<Vec<(u16, u16)>> = LazyLock::new(|| {
    let count = OPTIONS.len();
    let below = |second: usize| (0..second).filter(move |&first| can_meet(first, second));
    (0..count).flat_map(|second| below(second).map(move |first| (first as u16, second as u16))).collect()
});

/// Returns entry `number` of the sequence of option pairs that a seed selects. The sequence
/// contains each pair once before it repeats.
pub(crate) fn scheduled(seed: u64, number: u64) -> (usize, usize) {
    let count = PAIRS.len() as u64;
    let mut stream = RandomStream::new(seed, "pairs", 0);
    let start = stream.below(count);
    // If the step size and the number of pairs have no common divisor, the steps visit every pair.
    let step = loop {
        let step = 1 + stream.below(count);
        if gcd(step, count) == 1 {
            break step;
        }
    };
    let at = (u128::from(number) * u128::from(step) + u128::from(start)) % u128::from(count);
    let (first, second) = PAIRS[at as usize];
    (usize::from(first), usize::from(second))
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Options, pairs of options and triples of options that have run together in a fuzzing case.
#[derive(Clone, Debug)]
pub struct Coverage {
    options: Bits,
    pairs: Bits,
    triples: Bits,
}

/// Numbers of options, pairs and triples of options that have run together in a fuzzing case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Reached {
    /// Number of options that ran in some fuzzing case, and number of all options.
    pub options: (u64, u64),
    /// Number of pairs of options that ran together, and number of possible pairs.
    pub pairs: (u64, u64),
    /// Number of triples of options that ran together.
    pub triples: u64,
}

impl Default for Coverage {
    fn default() -> Self {
        let count = OPTIONS.len() as u64;
        Self {
            options: Bits::new(count),
            pairs: Bits::new(count * (count - 1) / 2),
            triples: Bits::new(count * (count - 1) * (count - 2) / 6),
        }
    }
}

impl Coverage {
    /// Records the options of a case that ran, by their numbers.
    pub fn note(&mut self, options: &[usize]) {
        let mut options = options.to_vec();
        options.sort_unstable();
        options.dedup();
        options.retain(|&option| option < OPTIONS.len());
        for (at, &c) in options.iter().enumerate() {
            let c64 = c as u64;
            self.options.set(c64);
            for (before, &b) in options[..at].iter().enumerate() {
                let b64 = b as u64;
                self.pairs.set(c64 * (c64 - 1) / 2 + b64);
                for &a in &options[..before] {
                    // Triples a < b < c of options are numbered in the order of c, then b, then a.
                    self.triples
                        .set(c64 * (c64 - 1) * c64.saturating_sub(2) / 6 + b64 * (b64 - 1) / 2 + a as u64);
                }
            }
        }
    }

    /// Adds the options, pairs and triples that another search has run.
    pub fn merge(&mut self, other: &Self) {
        self.options.merge(&other.options);
        self.pairs.merge(&other.pairs);
        self.triples.merge(&other.triples);
    }

    /// Returns the numbers of options, pairs and triples of options that ran.
    #[must_use]
    pub fn reached(&self) -> Reached {
        Reached {
            options: (self.options.count(), OPTIONS.len() as u64),
            pairs: (self.pairs.count(), PAIRS.len() as u64),
            triples: self.triples.count(),
        }
    }

    /// Labels of the options that no fuzzing case has run.
    #[must_use]
    pub fn missing(&self) -> Vec<&'static str> {
        let all = OPTIONS.iter().enumerate();
        all.filter(|(index, _)| !self.options.has(*index as u64))
            .map(|(_, choice)| choice.label.as_str())
            .collect()
    }
}

#[derive(Clone, Debug)]
struct Bits(Vec<u64>);

impl Bits {
    fn new(count: u64) -> Self {
        Self(vec![0; count.div_ceil(64) as usize])
    }

    fn set(&mut self, bit: u64) {
        self.0[(bit / 64) as usize] |= 1 << (bit % 64);
    }

    fn has(&self, bit: u64) -> bool {
        self.0[(bit / 64) as usize] >> (bit % 64) & 1 == 1
    }

    fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }

    fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_pair_is_scheduled_once_before_one_comes_again() {
        let all: BTreeSet<_> = (0..PAIRS.len() as u64).map(|number| scheduled(5, number)).collect();
        assert_eq!(all.len(), PAIRS.len());
        assert_ne!(scheduled(5, 0), scheduled(6, 0));
    }

    #[test]
    fn pairs_and_triples_are_counted_once_each() {
        let mut coverage = Coverage::default();
        assert_eq!(coverage.reached().pairs.0, 0);
        coverage.note(&[0, 1, 2, 3]);
        coverage.note(&[3, 2, 1, 1]);
        let reached = coverage.reached();
        assert_eq!((reached.options.0, reached.pairs.0, reached.triples), (4, 6, 4));
        let last = OPTIONS.len() - 1;
        coverage.note(&[last - 2, last - 1, last]);
        assert_eq!(coverage.reached().triples, 5);
        let mut other = Coverage::default();
        other.note(&[0, 5]);
        other.merge(&coverage);
        assert_eq!((other.reached().options.0, other.reached().pairs.0), (8, 10));
        assert!(!other.missing().contains(&OPTIONS[5].label.as_str()));
        assert!(other.missing().contains(&OPTIONS[9].label.as_str()));
    }
}
