//! Interface between the integrator and laws whose limits change at events.

use super::rates::{Limit, Rates, Tank};
use super::trajectory::PortState;

/// The state of the fluid switch at an instant, with the rates that apply from this instant on.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) now: f64,
    pub(super) tank: &'a Tank,
    pub(super) rates: &'a Rates,
    /// Limit of each group of queues.
    pub(super) limits: &'a [f64],
    /// Tolerance within which two lengths are equal. `small_time` is the tolerance for times.
    pub(super) small_length: f64,
    pub(super) small_time: f64,
}

/// New limits, each with the number of its group of queues.
pub(super) type Changes = Vec<(usize, Limit)>;

/// A threshold law with counters, measurements or timers. All counters change linearly between
/// events.
pub(super) trait Control {
    /// Applies changes of the limits that are due at this instant.
    /// The integrator repeats the call with new rates until the method returns `false`.
    fn settle(&mut self, view: &View<'_>, changes: &mut Changes) -> bool;

    /// Time from now until [`Self::settle`] may have a change to make. Infinite if the present
    /// rates never lead to a change.
    fn until_next(&self, view: &View<'_>) -> f64;

    /// Advances the counters of the law by `time` at the present rates. The integrator calls this
    /// method before it changes the lengths.
    fn advance(&mut self, time: f64, view: &View<'_>);

    /// State of a port in the state machine of the law, such as absorption.
    fn state(&self, _port: usize) -> PortState {
        PortState::Normal
    }
}

/// A threshold law without states: each limit is a constant, or a constant multiple of the free
/// space.
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
