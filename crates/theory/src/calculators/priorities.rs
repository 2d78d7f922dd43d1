//! Priorities that use a buffer, as an input of the calculators for ABM's bounds.

use super::{Derivation, bytes, input, number};
use crate::forms::{Domain, check, positive};
use bufferlab_params::Params;

/// The priorities that use a buffer, with their alphas.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Priorities {
    /// Size of the shared buffer (bytes).
    pub(super) buffer_bytes: f64,
    /// The alpha of each priority that uses the buffer.
    pub(super) alphas: Vec<f64>,
}

impl Priorities {
    /// Reads the calculator parameters `buffer` and `alphas`.
    pub(super) fn new(params: &Params) -> Self {
        Self { buffer_bytes: input::size(params, "buffer"), alphas: params.ratios("alphas") }
    }

    /// Refuses a buffer or an alpha that is not positive, and an empty list of alphas.
    pub(super) fn check(&self) -> Domain<()> {
        positive("buffer", self.buffer_bytes)?;
        check(!self.alphas.is_empty(), "alphas", 0.0, "one alpha or more")?;
        self.alphas.iter().try_for_each(|&alpha| positive("alphas", alpha).map(drop))
    }

    /// Adds derivation steps that list the buffer and the alpha of each priority.
    pub(super) fn steps(&self, derivation: &mut Derivation) {
        derivation.step("buffer", "", "", bytes(self.buffer_bytes), "");
        let alphas: Vec<_> = self.alphas.iter().map(|&alpha| number(alpha)).collect();
        derivation.step("alphas", "", "", alphas.join(", "), "");
    }
}
