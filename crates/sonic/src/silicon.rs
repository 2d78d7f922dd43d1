//! Predicts where a chip pauses, drops and resumes with a configuration, in cells and packets.
//!
//! `docs/evidence/silicon.md` has the rules, and the measurements that they were compared with.

mod chips;
pub mod headroom;
mod memory;
mod predict;
mod queues;
mod text;

pub(crate) use chips::other_chip;
pub use chips::{CHIPS, Chip, GENERIC, Rule, chip, chip_of};
pub(crate) use memory::slices;
pub use memory::{Memory, Reserves, Term};
pub(crate) use predict::{Class, classes, share};
pub use predict::{GroupPoint, HeadroomPool, Prediction, port_exponent, predict, speed_and_cable};
pub use queues::QueuePoint;
pub use text::text;

use crate::config::Config;
use bufferlab_params::suggestion;

/// Reason why a prediction is impossible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PredictError {
    /// Text of the error message.
    pub message: String,
    /// Advice to the user on how to correct the error.
    pub help: String,
}

impl PredictError {
    fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: help.into() }
    }
}

/// Returns the chip with this name, or else the chip of the configured switch.
///
/// # Errors
/// If the name is unknown, or if there is no name and the switch is not in the list.
pub fn chip_for(config: &Config, name: Option<&str>) -> Result<&'static Chip, PredictError> {
    let names = || CHIPS.iter().map(|chip| chip.name).collect::<Vec<_>>().join(", ");
    if let Some(name) = name {
        let message = || format!("no chip is called \"{}\"", crate::place::printable(name));
        let help = || match suggestion(name, CHIPS.iter().map(|chip| chip.name)) {
            Some(near) => format!("did you mean \"{near}\"? known: {}", names()),
            None => format!("choose one of: {}", names()),
        };
        return chip(name).ok_or_else(|| PredictError::new(message(), help()));
    }
    chip_of(config).ok_or_else(|| {
        let switch = config
            .device
            .hwsku
            .as_ref()
            .map_or("no hwsku".to_owned(), |sku| format!("\"{}\"", crate::place::printable(&sku.value)));
        match other_chip(config) {
            Some((other, accounting)) => PredictError::new(
                format!(
                    "{switch} in DEVICE_METADATA|localhost has a {other}: known model, unknown memory ({accounting})"
                ),
                format!(
                    "--chip takes one of: {}; none of them accounts as this one does for certain",
                    names()
                ),
            ),
            None => PredictError::new(
                format!("the chip is not known: the configuration has {switch} in DEVICE_METADATA|localhost"),
                format!("name it with --chip: {}", names()),
            ),
        }
    })
}
