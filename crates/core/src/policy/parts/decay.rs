//! A first-order low-pass filter in time. In each step of time, the distance of the filtered value
//! from its target shrinks by a constant factor. Fractions of a step use powers of the factor.

use bufferlab_units::Time;

/// Number of binary digits of a fraction of a time step.
const PARTS: u32 = 10;
/// Number of fractional bits of a power of the fading factor.
const BITS: u32 = 63;

/// Powers of the factor by which the distance from the target shrinks.
#[derive(Clone, Debug)]
pub(crate) struct Decay {
    /// `factor^(2^j / 2^PARTS)` in units of 2⁻⁶³, for each j.
    powers: [u64; 48],
}

impl Decay {
    /// Powers of a factor that is between 0 and 1.
    pub(crate) fn new(factor: f64) -> Self {
        // Square roots and products round identically on every machine,
        // powers of floating-point numbers do not.
        let root = (0..PARTS).fold(factor, |root, _| root.sqrt());
        let mut powers = [(root * (1_u64 << BITS) as f64) as u64; 48];
        for j in 1..powers.len() {
            powers[j] = times(powers[j - 1], powers[j - 1]);
        }
        Self { powers }
    }

    /// Fades `value` (2⁻³² bytes) towards `target` (bytes) over the time `elapsed`,
    /// in steps of length `step`. Returns the new value and the time used.
    /// The function leaves a remainder shorter than a part of a step for the next call.
    #[inline]
    pub(crate) fn follow(&self, value: u64, target: u64, elapsed: Time, step: Time) -> (u64, Time) {
        let parts = (u128::from(elapsed.0) << PARTS) / u128::from(step.0);
        let taken = Time(((parts * u128::from(step.0)) >> PARTS) as u64);
        let target = target << 32;
        let away = times(value.abs_diff(target), self.over(parts));
        (if value < target { target - away } else { target + away }, taken)
    }

    /// `factor^(parts / 2^PARTS)` in units of 2⁻⁶³, for `parts` parts of a time step.
    fn over(&self, parts: u128) -> u64 {
        if parts >> self.powers.len() != 0 {
            return 0;
        }
        let mut power = 1_u64 << BITS;
        let mut left = parts as u64;
        while left != 0 && power != 0 {
            power = times(power, self.powers[left.trailing_zeros() as usize]);
            left &= left - 1;
        }
        power
    }
}

/// The product of a number and a power of the factor.
#[inline]
fn times(number: u64, power: u64) -> u64 {
    ((u128::from(number) * u128::from(power)) >> BITS) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Time = Time(120_000);

    fn bytes(value: u64) -> f64 {
        value as f64 / (1_u64 << 32) as f64
    }

    #[test]
    fn a_constant_target_is_approached_by_the_factor_with_every_step() {
        let decay = Decay::new(0.999);
        for steps in [1_u64, 2, 7, 1_000, 50_000] {
            let (value, taken) = decay.follow(0, 1_000_000, Time(STEP.0 * steps), STEP);
            let wanted = 1e6 * (1.0 - 0.999_f64.powi(steps as i32));
            assert!((bytes(value) - wanted).abs() < 1.0, "{steps}: {} {wanted}", bytes(value));
            assert_eq!(taken, Time(STEP.0 * steps));
            let (back, _) = decay.follow(1_000_000 << 32, 0, Time(STEP.0 * steps), STEP);
            assert!((bytes(back) - (1e6 - wanted)).abs() < 1.0, "{steps}: {}", bytes(back));
        }
    }

    #[test]
    fn it_does_not_matter_how_time_is_cut() {
        let decay = Decay::new(0.99);
        let (whole, _) = decay.follow(5_000 << 32, 90_000, Time(1_000_000), STEP);
        let (mut value, mut at) = (5_000 << 32, Time::ZERO);
        for now in (0..=1_000_000).step_by(37) {
            let (next, taken) = decay.follow(value, 90_000, Time(now) - at, STEP);
            (value, at) = (next, at + taken);
        }
        let (value, _) = decay.follow(value, 90_000, Time(1_000_000) - at, STEP);
        assert!((bytes(value) - bytes(whole)).abs() < 90.0, "{} {}", bytes(value), bytes(whole));
    }

    #[test]
    fn without_a_past_the_value_is_the_target_and_long_silence_empties_it() {
        assert_eq!(Decay::new(0.0).follow(7 << 32, 40, STEP, STEP).0, 40 << 32);
        assert_eq!(Decay::new(0.999_999_9).follow(1 << 60, 0, Time(u64::MAX), Time(1)).0, 0);
    }
}
