//! Interface between the integrator and laws whose limits change by events.

use super::rates::{Limit, Rates, Tank};
use super::trajectory::PortState;

/// The state at an instant, with the rates from this instant on.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) now: f64,
    pub(super) tank: &'a Tank,
    pub(super) rates: &'a Rates,
    /// Limit of each group.
    pub(super) limits: &'a [f64],
    /// Tolerance below which lengths, and times, count as equal.
    pub(super) small_length: f64,
    pub(super) small_time: f64,
}

/// New limits, each with the number of its group.
pub(super) type Changes = Vec<(usize, Limit)>;

/// A law that counts, measures or waits. Its counters move linearly between events.
pub(super) trait Control {
    /// Applies changes that are due at this instant. Called again with new rates until it returns
    /// `false`.
    fn settle(&mut self, view: &View<'_>, changes: &mut Changes) -> bool;

    /// Time from now until [`Self::settle`] may have something to change; infinite if the present
    /// rates never lead to a change.
    fn until_next(&self, view: &View<'_>) -> f64;

    /// Lets `time` pass at the present rates. Called before the lengths move.
    fn advance(&mut self, time: f64, view: &View<'_>);

    /// State of the port's state machine.
    fn state(&self, _port: usize) -> PortState {
        PortState::Normal
    }
}

/// Limits that never change.
#[derive(Clone, Copy, Debug)]
pub(super) struct Constant;

impl Control for Constant {
    fn settle(&mut self, _: &View<'_>, _: &mut Changes) -> bool {
        false
    }

    fn until_next(&self, _: &View<'_>) -> f64 {
        f64::INFINITY
    }

    fn advance(&mut self, _: f64, _: &View<'_>) {}
}
