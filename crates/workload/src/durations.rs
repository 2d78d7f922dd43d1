//! Random durations of bursts, silences and think times.

use bufferlab_units::{RandomStream, Time};

/// A probability distribution of durations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Durations {
    /// Mean of the drawn durations.
    pub mean: Time,
    /// Shape of the distribution of durations around the mean.
    pub shape: DurationShape,
}

/// Shape of a distribution of durations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DurationShape {
    /// All durations equal the mean.
    Fixed,
    /// The durations have an exponential distribution, which has no memory.
    Exponential,
    /// The durations have a Pareto distribution with this shape above 1: a heavy tail. The variance
    /// is infinite up to shape 2.
    Pareto(f64),
}

impl DurationShape {
    /// Name of the shape in scenario files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Exponential => "exponential",
            Self::Pareto(_) => "pareto",
        }
    }
}

impl Durations {
    /// Draws a duration; a fixed duration takes no random number.
    pub fn sample(&self, stream: &mut RandomStream) -> Time {
        let mean = self.mean.0 as f64;
        let drawn = match self.shape {
            DurationShape::Fixed => return self.mean,
            DurationShape::Exponential => stream.exponential(mean),
            DurationShape::Pareto(shape) => {
                let least = mean * (shape - 1.0) / shape;
                least / (1.0 - stream.next_f64()).powf(1.0 / shape)
            }
        };
        // The conversion saturates: the tail of a Pareto distribution may exceed the largest time.
        Time(drawn.round() as u64)
    }

    /// Draws the rest of a duration that is in progress at time zero. The rest of a fixed duration
    /// is a uniform fraction of the duration, so that sources with equal periods are not
    /// synchronised. The rest of other shapes is a whole duration, which is exact for the
    /// exponential shape.
    pub fn sample_first(&self, stream: &mut RandomStream) -> Time {
        match self.shape {
            DurationShape::Fixed if self.mean.0 > 0 => Time(stream.below(self.mean.0)),
            _ => self.sample(stream),
        }
    }

    /// Whether durations can be drawn: the mean is above zero, and a Pareto shape above 1.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let shape = match self.shape {
            DurationShape::Pareto(shape) => shape > 1.0 && shape.is_finite(),
            _ => true,
        };
        shape && self.mean > Time::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(shape: DurationShape) -> (f64, f64) {
        let durations = Durations { mean: Time::from_us(250), shape };
        let mut stream = RandomStream::new(3, "durations", 0);
        let drawn: Vec<f64> =
            (0..200_000).map(|_| durations.sample(&mut stream).as_secs_f64() * 1e6).collect();
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / drawn.len() as f64;
        (mean, variance.sqrt())
    }

    #[test]
    fn every_shape_has_its_mean_and_deviation() {
        assert_eq!(moments(DurationShape::Fixed), (250.0, 0.0));
        let (mean, deviation) = moments(DurationShape::Exponential);
        assert!((mean - 250.0).abs() < 3.0 && (deviation - 250.0).abs() < 5.0, "{mean} {deviation}");
        // For a Pareto distribution with shape a = 3, the standard deviation is mean * sqrt(1 / (a
        // (a - 2))) = 144.3.
        let (mean, deviation) = moments(DurationShape::Pareto(3.0));
        assert!((mean - 250.0).abs() < 2.0 && (deviation - 144.3).abs() < 15.0, "{mean} {deviation}");
    }

    #[test]
    fn a_pareto_duration_is_never_below_its_least_value() {
        let durations = Durations { mean: Time::from_us(300), shape: DurationShape::Pareto(1.5) };
        let mut stream = RandomStream::new(3, "durations", 1);
        assert!((0..10_000).all(|_| durations.sample(&mut stream) >= Time::from_us(100)));
    }

    #[test]
    fn sources_with_fixed_periods_start_anywhere_in_them() {
        let durations = Durations { mean: Time::from_ms(20), shape: DurationShape::Fixed };
        let starts: Vec<_> = (0..1_000)
            .map(|n| durations.sample_first(&mut RandomStream::new(3, "durations", n)).as_secs_f64())
            .collect();
        let mean = starts.iter().sum::<f64>() / 1_000.0;
        assert!((mean - 0.010).abs() < 0.000_6 && starts.iter().all(|s| *s < 0.020), "{mean}");
    }

    #[test]
    fn nonsense_is_recognised() {
        let sound = |mean, shape| Durations { mean, shape }.is_sound();
        assert!(sound(Time(1), DurationShape::Pareto(1.01)));
        assert!(!sound(Time::ZERO, DurationShape::Fixed));
        assert!(!sound(Time(1), DurationShape::Pareto(1.0)));
        assert!(!sound(Time(1), DurationShape::Pareto(f64::NAN)));
    }
}
