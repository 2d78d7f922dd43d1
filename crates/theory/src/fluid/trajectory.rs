//! Trajectory of a fluid run: its events, and the state at any instant.

/// State of a port, for laws with a state machine per port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortState {
    /// The port has the limit `α (B − Q)` (TDT) or is controlled (EDT).
    /// Ports under laws without state machines have only the state `Normal`.
    Normal,
    /// The port absorbs a burst (TDT) or is uncontrolled (EDT).
    Absorption,
    /// The port evacuates its queue (TDT only).
    Evacuation,
}

/// State of the switch at an event. Two breakpoints at one time are the states just before and just
/// after a jump of limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Breakpoint {
    /// Time at which the event happens.
    pub time: f64,
    /// Length of each queue at the event.
    pub lengths: Vec<f64>,
    /// Limit of each queue, or of its port if the law limits ports.
    /// The limit is infinite if only the buffer limits the queue.
    pub limits: Vec<f64>,
    /// Amount of data refused so far to each queue. The data was dropped, or for lossless queues
    /// stays at the sender.
    pub refused: Vec<f64>,
    /// State of each port in the law's state machine.
    pub states: Vec<PortState>,
}

/// The first refusal to a queue: its time and the state of the queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Refusal {
    /// Time at which the queue first refused data.
    pub time: f64,
    /// Amount that had arrived for the queue before the refusal. A burst of at most this amount is
    /// stored completely.
    pub arrived: f64,
    /// Length of the queue at the time of the refusal.
    pub stored: f64,
}

/// Events of a fluid run. Between two events the lengths of all queues are linear.
#[derive(Clone, Debug, PartialEq)]
pub struct Trajectory {
    pub(super) breakpoints: Vec<Breakpoint>,
    pub(super) first_refusals: Vec<Option<Refusal>>,
    pub(super) arrived: Vec<f64>,
    pub(super) served: Vec<f64>,
    pub(super) events: usize,
}

impl Trajectory {
    /// The events in order of time, from the start of the run to its end.
    /// A run without a record has only the first and the last event.
    #[must_use]
    pub fn breakpoints(&self) -> &[Breakpoint] {
        &self.breakpoints
    }

    /// The state of the switch at the end of the run.
    #[must_use]
    pub fn last(&self) -> &Breakpoint {
        &self.breakpoints[self.breakpoints.len() - 1]
    }

    /// The first refusal to `queue`. `None` if the queue refuses no data or does not exist.
    #[must_use]
    pub fn first_refusal(&self, queue: usize) -> Option<Refusal> {
        self.first_refusals.get(queue).copied().flatten()
    }

    /// Amount that arrived at each queue in the whole run.
    #[must_use]
    pub fn arrived(&self) -> &[f64] {
        &self.arrived
    }

    /// Amount that each queue sent in the whole run.
    #[must_use]
    pub fn served(&self) -> &[f64] {
        &self.served
    }

    /// Number of events of the run: instants at which a rate, a limit or a state changed.
    #[must_use]
    pub fn events(&self) -> usize {
        self.events
    }

    /// Length of `queue` at the time `time`. Before the start of the run, the result is the first
    /// length. After the end of the run, the result is the last length.
    ///
    /// # Panics
    /// If the queue does not exist.
    #[must_use]
    pub fn length(&self, queue: usize, time: f64) -> f64 {
        self.interpolate(time, |at| at.lengths[queue])
    }

    /// Limit of `queue` at the time `time`. If the limit jumps at `time`, the result is the new
    /// limit.
    ///
    /// # Panics
    /// If the queue does not exist.
    #[must_use]
    pub fn limit(&self, queue: usize, time: f64) -> f64 {
        self.interpolate(time, |at| at.limits[queue])
    }

    /// Amount refused to `queue` until the time `time`.
    ///
    /// # Panics
    /// If the queue does not exist.
    #[must_use]
    pub fn refused(&self, queue: usize, time: f64) -> f64 {
        self.interpolate(time, |at| at.refused[queue])
    }

    /// State of `port` at the time `time`.
    ///
    /// # Panics
    /// If the port does not exist.
    #[must_use]
    pub fn state(&self, port: usize, time: f64) -> PortState {
        self.breakpoints[self.not_after(time)].states[port]
    }

    /// Length of all queues together at the time `time`.
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
