//! One number of a comparison.

/// One number, ours and theirs.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What it is.
    pub metric: &'static str,
    /// Ours.
    pub ours: f64,
    /// Theirs.
    pub theirs: f64,
    /// Largest relative difference that was expected.
    pub tolerance: f64,
}

impl Row {
    /// `ours / theirs − 1`; zero if both are zero.
    #[must_use]
    pub fn difference(&self) -> f64 {
        if self.ours == self.theirs { 0.0 } else { self.ours / self.theirs - 1.0 }
    }

    /// Whether the difference is as small as expected.
    #[must_use]
    pub fn is_within(&self) -> bool {
        self.difference().abs() <= self.tolerance
    }
}
