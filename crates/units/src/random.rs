//! Named streams of random numbers.

/// A seeded stream of random numbers (SplitMix64), derived from the run's seed,
/// a name and an index.
///
/// Every component draws from a separate stream (common random numbers). So two runs
/// that differ in one component, such as the policy, have equal numbers in all other components.
/// Changing the sequence changes every result and needs a changelog entry.
#[derive(Clone, Debug)]
pub struct RandomStream {
    state: u64,
}

impl RandomStream {
    /// Creates the stream `name[index]` of the run's `seed`.
    #[must_use]
    pub fn new(seed: u64, name: &str, index: u64) -> Self {
        let mut state = mix(seed ^ 0x6275_6666_6572_6c61);
        for byte in name.bytes() {
            state = mix(state ^ u64::from(byte));
        }
        Self { state: mix(state ^ mix(index)) }
    }

    /// Returns the next 64 random bits, uniformly distributed.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state)
    }

    /// Returns the next number, uniform in `[0, 1)`, which is a multiple of 2⁻⁵³.
    #[inline]
    pub fn next_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Returns a uniform number in `0..bound`; the bias is below `bound / 2⁶⁴`.
    ///
    /// # Panics
    /// If `bound` is zero.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound != 0, "a choice among nothing");
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Draws a number from an exponential distribution with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.next_f64()).ln()
    }
}

/// Mixes 64 bits with SplitMix64's finalizer (Steele, Lea, Flood 2014), a bijection.
/// The hash that assigns flows to paths uses this function, too.
#[inline]
#[must_use]
pub const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_repeatable_and_apart() {
        let draw = |seed, name, index| RandomStream::new(seed, name, index).next_u64();
        assert_eq!(draw(1, "a", 0), draw(1, "a", 0));
        let all = [draw(1, "a", 0), draw(2, "a", 0), draw(1, "b", 0), draw(1, "a", 1)];
        for (i, x) in all.iter().enumerate() {
            assert!(!all[..i].contains(x));
        }
    }

    /// Compares the stream with the sequence of Vigna's `splitmix64.c` for the seed 1234567. Source
    /// of the sequence: Rosetta Code ("Pseudo-random numbers/Splitmix64").
    #[test]
    fn a_stream_is_the_published_sequence() {
        let mut stream = RandomStream { state: 1_234_567 };
        let published = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(published.map(|_| stream.next_u64()), published);
    }

    #[test]
    fn means_are_right() {
        let mut stream = RandomStream::new(7, "test", 0);
        let n = 200_000;
        let mean = (0..n).map(|_| stream.exponential(3.0)).sum::<f64>() / f64::from(n);
        assert!((mean - 3.0).abs() < 0.05, "{mean}");
        let below = (0..n).map(|_| stream.below(10)).sum::<u64>() as f64 / f64::from(n);
        assert!((below - 4.5).abs() < 0.05, "{below}");
    }
}
