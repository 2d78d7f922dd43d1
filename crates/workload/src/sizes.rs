//! Distributions of flow sizes.

mod builtin;
mod error;
mod table;

pub use builtin::{BUILTIN_SIZES, BuiltinSizes};
pub use error::{SizeError, SizePlace};

use bufferlab_units::RandomStream;

/// A distribution of flow sizes: a cumulative distribution function (CDF) that is linear between
/// its points.
///
/// `(bytes, cumulative)` means that a flow has at most `bytes` with probability `cumulative`. Two
/// points with equal `bytes` are a jump: this size alone has a positive probability (an *atom*). A
/// first point with a positive probability is also an atom, and the smallest size.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeDistribution {
    name: String,
    points: Vec<(f64, f64)>,
}

impl SizeDistribution {
    /// Creates a distribution of flow sizes whose cumulative distribution goes through `points`.
    ///
    /// # Errors
    /// [`SizeError`] if `points` is empty or a point is invalid. Sizes must be finite, not
    /// negative, never fall, and end with at least one byte. Probabilities must be in 0..=1, never
    /// fall, and end with 1.
    pub fn from_points(name: impl Into<String>, points: Vec<(f64, f64)>) -> Result<Self, SizeError> {
        let places: Vec<SizePlace> = (1..=points.len()).map(SizePlace::Point).collect();
        Self::checked(name.into(), points, &places)
    }

    /// Reads lines `bytes,cumulative`. Blanks may replace the comma, and percentages the
    /// probabilities. The function ignores empty lines, text after a `#`, and a header (a first
    /// line without any number).
    ///
    /// # Errors
    /// Returns the errors of [`Self::from_points`]. Also fails if a line is not two numbers; the
    /// error has the number of this line.
    pub fn from_csv(name: impl Into<String>, text: &str) -> Result<Self, SizeError> {
        let name = name.into();
        let (points, places) = table::parse(&name, text)?;
        Self::checked(name, points, &places)
    }

    /// Creates a distribution in which every flow has `bytes` bytes. The size 0 is read as 1,
    /// because a flow has at least one byte.
    #[must_use]
    pub fn fixed(bytes: u64) -> Self {
        let bytes = bytes.max(1);
        Self { name: format!("fixed({bytes})"), points: vec![(bytes as f64, 1.0)] }
    }

    /// Returns the distribution of this name in [`BUILTIN_SIZES`].
    #[must_use]
    pub fn builtin(name: &str) -> Option<Self> {
        let found = BUILTIN_SIZES.iter().find(|sizes| sizes.name == name)?;
        Some(Self { name: name.to_owned(), points: found.points.to_vec() })
    }

    /// Scales all sizes so that the mean is `mean_bytes`. Papers state means that differ from their
    /// tables. (LossPass states 7.12 MB for data mining, but its table gives 7.47 MB.)
    ///
    /// # Errors
    /// [`SizeError`] if the scaled sizes are invalid, for example because
    /// `mean_bytes` is not positive.
    pub fn scaled_to_mean(&self, mean_bytes: f64) -> Result<Self, SizeError> {
        let factor = mean_bytes / self.mean();
        let points = self.points.iter().map(|&(bytes, cumulative)| (bytes * factor, cumulative)).collect();
        Self::from_points(format!("{} scaled to a mean of {mean_bytes} B", self.name), points)
    }

    /// Name of the distribution of flow sizes, for reports and messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Points of the cumulative distribution: `(bytes, cumulative probability)`.
    #[must_use]
    pub fn points(&self) -> &[(f64, f64)] {
        &self.points
    }

    /// Mean flow size in bytes, in closed form: every segment contributes its probability times its
    /// middle. The mean is exact for the continuous distribution. Rounding samples to whole bytes
    /// does not change the mean, except for sizes below one byte.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let (first_bytes, first_cumulative) = self.points[0];
        let segments = self.points.windows(2).map(|pair| {
            let [(x0, p0), (x1, p1)] = [pair[0], pair[1]];
            (p1 - p0) * (x0 + x1) / 2.0
        });
        first_cumulative * first_bytes + segments.sum::<f64>()
    }

    /// Smallest size, in bytes, that a fraction `p` of the flows does not exceed. For `p` = 0, the
    /// result is the smallest size. A `p` outside of 0..=1 counts as 0 or 1.
    #[must_use]
    pub fn quantile(&self, p: f64) -> f64 {
        let points = &self.points;
        if p.is_nan() || p <= 0.0 {
            // Index of the first point with a probability above 0. The distribution begins at
            // the point before this point.
            let beginning = points.partition_point(|&(_, cumulative)| cumulative <= 0.0);
            return points[beginning.saturating_sub(1)].0;
        }
        let p = p.min(1.0);
        let after = points.partition_point(|&(_, cumulative)| cumulative < p);
        let (x1, p1) = points[after];
        if after == 0 {
            return x1;
        }
        let (x0, p0) = points[after - 1];
        // The inequality p0 < p <= p1 holds here, so the divisor is positive.
        x0 + (x1 - x0) * ((p - p0) / (p1 - p0))
    }

    /// Draws a flow size in bytes by inverse transform. The draw takes one random number from
    /// `stream`, and rounds to the nearest byte, at least 1.
    #[must_use]
    pub fn sample(&self, stream: &mut RandomStream) -> u64 {
        (self.quantile(stream.next_f64()).round() as u64).max(1)
    }

    fn checked(name: String, points: Vec<(f64, f64)>, places: &[SizePlace]) -> Result<Self, SizeError> {
        let mut before = (0.0, 0.0);
        for (&(bytes, cumulative), &place) in points.iter().zip(places) {
            if !(bytes.is_finite() && bytes >= 0.0) {
                return Err(SizeError::NotASize { name, place, bytes });
            }
            if bytes < before.0 {
                return Err(SizeError::SizeFalls { name, place, bytes, before: before.0 });
            }
            if !(0.0..=1.0).contains(&cumulative) {
                return Err(SizeError::NotAProbability { name, place, cumulative });
            }
            if cumulative < before.1 {
                return Err(SizeError::ProbabilityFalls { name, place, cumulative, before: before.1 });
            }
            before = (bytes, cumulative);
        }
        let Some(&place) = places.last() else { return Err(SizeError::NoPoints { name }) };
        if before.1 != 1.0 {
            return Err(SizeError::EndsBelowOne { name, place, cumulative: before.1 });
        }
        if before.0 < 1.0 {
            return Err(SizeError::NotASize { name, place, bytes: before.0 });
        }
        Ok(Self { name, points })
    }
}

#[cfg(test)]
mod tests;
