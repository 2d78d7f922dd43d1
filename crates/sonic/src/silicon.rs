//! Predicts where a chip pauses, drops and resumes with a configuration, in cells and packets.
//!
//! `docs/evidence/silicon.md` has the rules of the prediction, and compares the rules with
//! measurements.

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
pub use predict::{
    GroupPoint, HeadroomPool, Prediction, is_unlimited_in_port, port_exponent, predict, speed_and_cable,
};
pub use queues::QueuePoint;
pub use text::text;

use crate::config::Config;
use bufferlab_params::suggestion;

/// Reason why the thresholds of a chip cannot be predicted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PredictError {
    /// Text of the error message about the prediction.
    pub message: String,
    /// Advice to the user on how to correct the error.
    pub help: String,
}

impl PredictError {
    fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: help.into() }
    }
}

/// The chip that a user names, with the size of a cell and the number of slices if the user gives
/// them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChipChoice {
    /// Name of the chip family, if the user gives a name.
    pub name: Option<String>,
    /// Size of a cell (bytes), if it differs from the cell size of the chip's family.
    pub cell: Option<u64>,
    /// Number of slices, if it differs from the number of slices of the chip's family.
    pub slices: Option<u64>,
}

impl ChipChoice {
    /// Whether the user gives the name of a chip, the size of a cell or the number of slices.
    #[must_use]
    pub fn is_given(&self) -> bool {
        *self != Self::default()
    }

    /// Returns the chip of a configuration. For a switch that is not in the list, the user can give
    /// the size of a cell. Without `slices`, the memory of such a switch is one slice.
    ///
    /// # Errors
    /// Returns the errors of [`chip_for`]. Also fails if the size of a cell or the number of slices
    /// is 0, or larger than on any chip.
    pub fn resolve(&self, config: &Config) -> Result<&'static Chip, PredictError> {
        let name = self.name.as_deref();
        if self.cell.is_none() && self.slices.is_none() {
            return chip_for(config, name);
        }
        for (what, value, most) in [("cell", self.cell, CELL_MAX), ("slices", self.slices, SLICES_MAX)] {
            if value.is_some_and(|value| !(1..=most).contains(&value)) {
                let message = format!("--{what} {}", value.unwrap_or(0));
                return Err(PredictError::new(message, format!("give a number from 1 to {most}")));
            }
        }
        let base = match (chip_for(config, name), self.cell) {
            (Ok(chip), _) => Some(chip),
            (Err(_), Some(_)) if name.is_none() => None,
            (Err(error), _) => return Err(error),
        };
        let of = |given: Option<u64>, own: fn(&Chip) -> u64| given.or(base.map(own)).unwrap_or(1);
        Ok(by_hand(config, base, of(self.cell, |chip| chip.cell), of(self.slices, |chip| chip.slices)))
    }
}

/// Returns a chip with the size of a cell and the number of slices that the user gives. Other facts
/// come from `base`; without `base`, the accounting follows from the vendor. The returned chip
/// lives as long as the program, as chip families do.
fn by_hand(config: &Config, base: Option<&'static Chip>, cell: u64, slices: u64) -> &'static Chip {
    let unknown = if chips::is_nvidia(config) { Rule::OneLevel } else { Rule::Cells };
    let rule = match base.map_or(unknown, |chip| chip.rule) {
        Rule::Bytes(_) if cell > 1 => Rule::Cells,
        rule => rule,
    };
    let of = base.map_or_else(|| "a chip".to_owned(), |chip| chip.title.to_owned());
    let parts = memory::slices(slices);
    let title = format!("{of} with cells of {cell} B and {parts}, as given by hand");
    Box::leak(Box::new(Chip {
        name: "by-hand",
        title: Box::leak(title.into_boxed_str()),
        cell,
        slices,
        rule,
        memory: base.and_then(|chip| chip.memory),
        headroom_overhead: base.map_or([0; 2], |chip| chip.headroom_overhead),
        descriptor: base.map_or(0, |chip| chip.descriptor),
        ..GENERIC
    }))
}

/// Largest size of a cell (bytes) and largest number of slices that a user can give.
const CELL_MAX: u64 = 65_536;
const SLICES_MAX: u64 = 64;

/// Returns the chip family called `name`. Without a name, returns the chip of the configured
/// switch.
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
