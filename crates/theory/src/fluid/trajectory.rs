//! Trajectory of a fluid run: its events, and the state at any instant.

/// State of a port's state machine, for laws with a state machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortState {
    /// The port has the limit `α (B − Q)` (TDT) or is controlled (EDT); other laws have only this
    /// state.
    Normal,
    /// The port absorbs a burst (TDT) or is uncontrolled (EDT).
    Absorption,
    /// TDT: evacuation.
    Evacuation,
}

/// The state at an event. Two breakpoints at one time are the state just before and just after a
/// jump.
#[derive(Clone, Debug, PartialEq)]
pub struct Breakpoint {
    /// Time of the event.
    pub time: f64,
    /// Length of each queue.
    pub lengths: Vec<f64>,
    /// By queue: the limit of the queue, or of its port where the law limits ports. Infinite where
    /// only the buffer limits.
    pub limits: Vec<f64>,
    /// Amount refused so far, by queue: dropped, or for lossless queues held back at the sender.
    pub refused: Vec<f64>,
    /// States of the ports' state machines.
    pub states: Vec<PortState>,
}

/// The first refusal to a queue: its time and the queue's state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Refusal {
    /// Time of the refusal.
    pub time: f64,
    /// Amount that had arrived for the queue by then: a burst that ends here is stored completely.
    pub arrived: f64,
    /// Length of the queue at the time of the refusal.
    pub stored: f64,
}

/// Record of a run: its events, linear in between.
#[derive(Clone, Debug, PartialEq)]
pub struct Trajectory {
    pub(super) breakpoints: Vec<Breakpoint>,
    pub(super) first_refusals: Vec<Option<Refusal>>,
    pub(super) arrived: Vec<f64>,
    pub(super) served: Vec<f64>,
    pub(super) events: usize,
}

impl Trajectory {
    /// The events in order of time, from the start of the run to its end. A run without a record
    /// has only these two.
    #[must_use]
    pub fn breakpoints(&self) -> &[Breakpoint] {
        &self.breakpoints
    }

    /// The state of the switch at the end of the run.
    #[must_use]
    pub fn last(&self) -> &Breakpoint {
        &self.breakpoints[self.breakpoints.len() - 1]
    }

    /// The first refusal to `queue`; `None` if the queue refuses nothing or does not exist.
    #[must_use]
    pub fn first_refusal(&self, queue: usize) -> Option<Refusal> {
        self.first_refusals.get(queue).copied().flatten()
    }

    /// Amount that arrived in the whole run, by queue.
    #[must_use]
    pub fn arrived(&self) -> &[f64] {
        &self.arrived
    }

    /// Amount sent in the whole run, by queue.
    #[must_use]
    pub fn served(&self) -> &[f64] {
        &self.served
    }

    /// Number of events: instants at which a rate, a limit or a state changed.
    #[must_use]
    pub fn events(&self) -> usize {
        self.events
    }

    /// Length of `queue` at `time`; before the start, the first length; after the end, the last.
    ///
    /// # Panics
    /// If there is no such queue.
    #[must_use]
    pub fn length(&self, queue: usize, time: f64) -> f64 {
        self.interpolate(time, |at| at.lengths[queue])
    }

    /// Limit of `queue` at `time`; the new limit where it jumps.
    ///
    /// # Panics
    /// If there is no such queue.
    #[must_use]
    pub fn limit(&self, queue: usize, time: f64) -> f64 {
        self.interpolate(time, |at| at.limits[queue])
    }

    /// Amount refused to `queue` by `time`.
    ///
    /// # Panics
    /// If there is no such queue.
    #[must_use]
    pub fn refused(&self, queue: usize, time: f64) -> f64 {
        self.interpolate(time, |at| at.refused[queue])
    }

    /// State of `port` at `time`.
    ///
    /// # Panics
    /// If there is no such port.
    #[must_use]
    pub fn state(&self, port: usize, time: f64) -> PortState {
        self.breakpoints[self.not_after(time)].states[port]
    }

    /// Length of all queues at `time`.
    #[must_use]
    pub fn occupancy(&self, time: f64) -> f64 {
        self.interpolate(time, |at| at.lengths.iter().sum())
    }

    /// The last breakpoint at or before `time`, or the first breakpoint.
    fn not_after(&self, time: f64) -> usize {
        self.breakpoints.partition_point(|at| at.time <= time).saturating_sub(1)
    }

    fn interpolate(&self, time: f64, value: impl Fn(&Breakpoint) -> f64) -> f64 {
        let index = self.not_after(time);
        let (left, before) = (&self.breakpoints[index], value(&self.breakpoints[index]));
        match self.breakpoints.get(index + 1) {
            Some(right) if time > left.time && right.time > left.time => {
                let after = value(right);
                if after == before {
                    return before;
                }
                before + (after - before) * (time - left.time) / (right.time - left.time)
            }
            _ => before,
        }
    }
}
