//! A metric as one row of a comparison between bufferlab and the ns-3 reference.

/// Value of one metric in bufferlab and in the ns-3 reference.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedMetric {
    /// Name of the compared metric.
    pub metric: &'static str,
    /// Value of the metric in bufferlab's run.
    pub ours: f64,
    /// Value of the metric in the ns-3 reference's run.
    pub theirs: f64,
    /// Largest relative difference between bufferlab's value and the ns-3 reference's value that
    /// counts as agreement.
    pub tolerance: f64,
}

impl ComparedMetric {
    /// Returns the relative difference between bufferlab's value (`ours`) and the ns-3 reference's
    /// value (`theirs`).
    #[must_use]
    pub fn difference(&self) -> f64 {
        if self.ours == self.theirs { 0.0 } else { self.ours / self.theirs - 1.0 }
    }

    /// Whether the difference between bufferlab's and the ns-3 reference's value is within the
    /// tolerance.
    #[must_use]
    pub fn is_within(&self) -> bool {
        self.difference().abs() <= self.tolerance
    }
}
