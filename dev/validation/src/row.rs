//! A metric as one row of a comparison between bufferlab and the reference.

/// Value of one metric in bufferlab and in the reference.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedMetric {
    /// Name of the compared metric.
    pub metric: &'static str,
    /// Bufferlab's value of the metric.
    pub ours: f64,
    /// The reference's value of the metric.
    pub theirs: f64,
    /// Largest relative difference between bufferlab's and the reference's value that counts as
    /// agreement.
    pub tolerance: f64,
}

impl ComparedMetric {
    /// Relative difference `ours / theirs − 1`; zero if `ours` and `theirs` are zero.
    #[must_use]
    pub fn difference(&self) -> f64 {
        if self.ours == self.theirs { 0.0 } else { self.ours / self.theirs - 1.0 }
    }

    /// Whether the difference between bufferlab's and the reference's value is within the
    /// tolerance.
    #[must_use]
    pub fn is_within(&self) -> bool {
        self.difference().abs() <= self.tolerance
    }
}
