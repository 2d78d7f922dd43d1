//! Queues in Reverie's pool, where admission compares a low-pass filtered length with a threshold.
//!
//! Admission checks that the filtered length `q̂` is at most `Γ = w (b* - q*)` (Reverie Eq. 4).
//! The continuous form of Eq. 5 is `dq̂/dt = (q - q̂) / τ` (τ = time between updates / -ln γ).
//! Queue lengths are linear between events, so the filter is a line plus an exponential.
//! Bisection on intervals with a monotone difference finds the instant at which `q̂` meets Γ.
//!
//! **Sliding.** In the steady state admission and refusal alternate so fast that the filtered
//! length stays at Γ. Several sliding queues have no common linear motion. So the model resolves
//! the alternation: refusal starts at `q̂ = Γ` and ends at `q̂ = Γ - resolution`. Averages converge
//! as the resolution goes to 0. The number of events grows as the inverse of the resolution.

use super::model::{FluidError, checked, not_negative, positive};

/// A queue in Reverie's pool that has a separate port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReverieQueue {
    /// Constant weight `α_p / n_p` of the queue's priority.
    pub weight: f64,
    /// Rate at which liquid arrives for the queue (size per time).
    pub arriving: f64,
    /// Time at which arrivals for the queue start.
    pub start: f64,
    /// Time at which arrivals for the queue end.
    pub end: f64,
    /// Rate at which the queue drains while it is not empty (size per time).
    pub drain_rate: f64,
}

/// Reverie's shared pool with its queues.
#[derive(Clone, Debug, PartialEq)]
pub struct Reverie {
    /// Size b* of the shared pool.
    pub pool: f64,
    /// Time constant τ of the low-pass filter of queue lengths.
    pub time_constant: f64,
    /// Distance below the limit at which refusals of a queue end. The distance must be small
    /// against the limits (for example a packet).
    pub resolution: f64,
    /// The queues of the pool, which are empty at time 0.
    pub queues: Vec<ReverieQueue>,
}

/// State of the pool and its queues at an event.
#[derive(Clone, Debug, PartialEq)]
pub struct ReveriePoint {
    /// Time at which the event happens.
    pub time: f64,
    /// Length of each queue. The length changes linearly until the next event.
    pub lengths: Vec<f64>,
    /// Filtered length of each queue. The filtered length is *not* linear until the next event
    /// ([`ReverieRun::filtered`]).
    pub filtered: Vec<f64>,
    /// Amount of data refused so far to each queue. The data was dropped, or for lossless queues
    /// stays at the sender.
    pub refused: Vec<f64>,
}

/// Record of a run of Reverie's pool.
#[derive(Clone, Debug, PartialEq)]
pub struct ReverieRun {
    time_constant: f64,
    points: Vec<ReveriePoint>,
    first_refusals: Vec<Option<f64>>,
}

/// Maximum number of events in a run.
const EVENTS: usize = 2_000_000;

impl Reverie {
    /// Runs the model from time 0 to `end`.
    ///
    /// # Errors
    /// If a number is out of its range. All sizes and rates must be finite. Pool, time constant,
    /// resolution, weights and drain rates must be above 0. The resolution must be below the size
    /// of the pool. More than two million events are an error, too: a larger resolution needs fewer
    /// events.
    pub fn run(&self, end: f64) -> Result<ReverieRun, FluidError> {
        positive("the end of the run", end)?;
        positive("the pool", self.pool)?;
        positive("the time constant", self.time_constant)?;
        let fits = self.resolution > 0.0 && self.resolution < self.pool;
        checked("the resolution", self.resolution, fits, "above 0 and below the pool")?;
        for (index, queue) in self.queues.iter().enumerate() {
            positive(format!("the weight of queue {index}"), queue.weight)?;
            positive(format!("the drain rate of queue {index}"), queue.drain_rate)?;
            not_negative(format!("the arrival rate of queue {index}"), queue.arriving)?;
            not_negative(format!("the start of queue {index}"), queue.start)?;
            checked(
                format!("the end of queue {index}"),
                queue.end,
                queue.end >= queue.start,
                "not before its start",
            )?;
        }
        let mut state = State::new(self);
        let mut points = vec![state.point()];
        while state.now < end {
            if points.len() > EVENTS {
                return Err(FluidError::TooManyEvents { time: state.now, limit: EVENTS });
            }
            state.step(end);
            points.push(state.point());
        }
        Ok(ReverieRun { time_constant: self.time_constant, points, first_refusals: state.first_refusals })
    }
}

/// State of a run of Reverie's pool in progress.
struct State<'a> {
    model: &'a Reverie,
    now: f64,
    lengths: Vec<f64>,
    filtered: Vec<f64>,
    refused: Vec<f64>,
    blocked: Vec<bool>,
    /// Whether the pool has no free space, apart from the resolution.
    full: bool,
    first_refusals: Vec<Option<f64>>,
}

impl<'a> State<'a> {
    fn new(model: &'a Reverie) -> Self {
        let queues = model.queues.len();
        Self {
            model,
            now: 0.0,
            lengths: vec![0.0; queues],
            filtered: vec![0.0; queues],
            refused: vec![0.0; queues],
            blocked: vec![false; queues],
            full: false,
            first_refusals: vec![None; queues],
        }
    }

    fn point(&self) -> ReveriePoint {
        ReveriePoint {
            time: self.now,
            lengths: self.lengths.clone(),
            filtered: self.filtered.clone(),
            refused: self.refused.clone(),
        }
    }

    fn free(&self) -> f64 {
        (self.model.pool - self.lengths.iter().sum::<f64>()).max(0.0)
    }

    /// Advances the run to the next event, at most to `end`.
    fn step(&mut self, end: f64) {
        let model = self.model;
        let small = 1e-12 * model.pool;
        // The pool and its queues first change between admission and refusal, then rates are
        // computed.
        let free = self.free();
        self.switch_modes(free, small);
        let arriving: Vec<f64> = model
            .queues
            .iter()
            .map(|queue| if queue.start <= self.now && self.now < queue.end { queue.arriving } else { 0.0 })
            .collect();
        let growth = self.growth(&arriving);
        let total: f64 = growth.iter().sum();
        let to_linear = self.time_to_linear_event(end, free, &growth);
        let mut span = to_linear;
        // The loop computes the times at which the filtered lengths meet their limits.
        for (index, &slope) in growth.iter().enumerate() {
            let offset = if self.blocked[index] { -model.resolution } else { 0.0 };
            let weight = model.queues[index].weight;
            let gap = Gap::new(
                (self.lengths[index], slope, self.filtered[index], model.time_constant),
                (weight * free + offset, -weight * total),
            );
            let crossing =
                if self.blocked[index] { gap.negated().first_rise(span) } else { gap.first_rise(span) };
            span = span.min(crossing);
        }
        self.flow(span, small, &growth, &arriving);
        let then = self.now + span;
        // The step ends at the exact times at which sources start and end.
        let met = model.queues.iter().flat_map(|queue| [queue.start, queue.end]);
        let met = met.chain([end]).find(|&at| span >= to_linear && (at - then).abs() <= 1e-12 * end.abs());
        // The clock advances by at least one step, even if rounding gives no progress.
        self.now = met.unwrap_or(then).max(self.now.next_up());
    }

    /// Updates whether the pool is full and which queues are at their limit.
    /// The pool has `free` free space.
    fn switch_modes(&mut self, free: f64, small: f64) {
        let model = self.model;
        self.full = if self.full { free < model.resolution } else { free <= small };
        for index in 0..self.lengths.len() {
            let limit = model.queues[index].weight * free;
            self.blocked[index] = if self.blocked[index] {
                self.filtered[index] > limit - model.resolution + small
            } else {
                self.filtered[index] >= limit - small
            };
        }
    }

    /// Growth rate of every queue. The call also records first refusals.
    fn growth(&mut self, arriving: &[f64]) -> Vec<f64> {
        let mut growth = vec![0.0; self.lengths.len()];
        for (index, growth) in growth.iter_mut().enumerate() {
            let refuses = self.full || self.blocked[index];
            if refuses && arriving[index] > 0.0 && self.first_refusals[index].is_none() {
                self.first_refusals[index] = Some(self.now);
            }
            let accepted = if refuses { 0.0 } else { arriving[index] };
            let drain = self.model.queues[index].drain_rate;
            *growth = accepted - if self.lengths[index] > 0.0 { drain } else { accepted.min(drain) };
        }
        growth
    }

    /// Time until a source starts or ends, a queue becomes empty, or the pool becomes full or stops
    /// being full. The result is at most the time until `end`.
    fn time_to_linear_event(&self, end: f64, free: f64, growth: &[f64]) -> f64 {
        let model = self.model;
        let total: f64 = growth.iter().sum();
        let mut span = end - self.now;
        for (index, queue) in model.queues.iter().enumerate() {
            for at in [queue.start, queue.end] {
                if at > self.now {
                    span = span.min(at - self.now);
                }
            }
            if growth[index] < 0.0 {
                span = span.min(self.lengths[index] / -growth[index]);
            }
        }
        if total > 0.0 {
            span.min(free / total)
        } else if self.full && total < 0.0 {
            span.min((model.resolution - free).max(0.0) / -total)
        } else {
            span
        }
    }

    /// Updates lengths, filtered lengths and refusals over a time span with constant rates.
    fn flow(&mut self, span: f64, small: f64, growth: &[f64], arriving: &[f64]) {
        let time_constant = self.model.time_constant;
        let decay = (-span / time_constant).exp();
        for (index, &slope) in growth.iter().enumerate() {
            let length = self.lengths[index];
            let lag = slope * time_constant;
            self.filtered[index] =
                length + slope * span - lag + (self.filtered[index] - length + lag) * decay;
            self.lengths[index] = (length + slope * span).max(0.0);
            if self.lengths[index] <= small && slope < 0.0 {
                self.lengths[index] = 0.0;
            }
            let taken = if self.full || self.blocked[index] { 0.0 } else { arriving[index] };
            self.refused[index] += span * (arriving[index] - taken);
        }
    }
}

/// Gap `q̂(t) - limit(t) = constant + slope t + decaying e^(-t/τ)` of a queue to its limit.
#[derive(Clone, Copy, Debug)]
struct Gap {
    constant: f64,
    slope: f64,
    decaying: f64,
    time_constant: f64,
}

impl Gap {
    /// The gap between a filter (length, its slope, filtered length,
    /// time constant) and a limit (value, slope).
    fn new(filter: (f64, f64, f64, f64), limit: (f64, f64)) -> Self {
        let (length, slope, filtered, time_constant) = filter;
        Self {
            constant: length - slope * time_constant - limit.0,
            slope: slope - limit.1,
            decaying: filtered - length + slope * time_constant,
            time_constant,
        }
    }

    fn negated(self) -> Self {
        Self { constant: -self.constant, slope: -self.slope, decaying: -self.decaying, ..self }
    }

    fn at(&self, time: f64) -> f64 {
        // Close to 0 the constant and the exponential nearly cancel. The function expm1 computes
        // the difference of the two without loss of digits.
        self.constant
            + self.decaying
            + self.slope * time
            + self.decaying * (-time / self.time_constant).exp_m1()
    }

    /// The first instant in (0, `span`] at which the gap reaches 0 from below.
    /// The result is infinite if the gap never reaches 0.
    fn first_rise(&self, span: f64) -> f64 {
        // The gap has at most one extremum, where slope = decaying / τ e^(-t/τ).
        let ratio = self.slope * self.time_constant / self.decaying;
        let bend = if ratio > 0.0 && ratio < 1.0 { -ratio.ln() * self.time_constant } else { f64::INFINITY };
        let mut from = 0.0;
        for to in [bend.min(span), span] {
            if to > from && self.at(from) < 0.0 && self.at(to) >= 0.0 {
                return self.root(from, to);
            }
            from = to;
        }
        f64::INFINITY
    }

    /// Time at which the gap is zero, by Newton's method within a bracket. If a step would leave
    /// the bracket, the function bisects the bracket. The gap is below zero at `from`, not below
    /// zero at `to`, and monotone between `from` and `to`.
    fn root(&self, mut from: f64, mut to: f64) -> f64 {
        let mut guess = to;
        for _ in 0..200 {
            let value = self.at(guess);
            if value < 0.0 {
                from = guess;
            } else {
                to = guess;
            }
            let steepness =
                self.slope - self.decaying / self.time_constant * (-guess / self.time_constant).exp();
            let newton = guess - value / steepness;
            let next = if newton > from && newton < to { newton } else { 0.5 * (from + to) };
            if next <= from || next >= to || (next - guess).abs() <= 1e-14 * to {
                // The result is exact up to rounding.
                // The caller recognises due events with a tolerance.
                return next;
            }
            guess = next;
        }
        to
    }
}

impl ReverieRun {
    /// The events of the run in order of time.
    #[must_use]
    pub fn points(&self) -> &[ReveriePoint] {
        &self.points
    }

    /// Time of the first refusal to `queue`. `None` if the queue refuses no data or does not exist.
    #[must_use]
    pub fn first_refusal(&self, queue: usize) -> Option<f64> {
        self.first_refusals.get(queue).copied().flatten()
    }

    fn segment(&self, time: f64) -> (&ReveriePoint, Option<&ReveriePoint>) {
        let index = self.points.partition_point(|at| at.time <= time).saturating_sub(1);
        (&self.points[index], self.points.get(index + 1))
    }

    /// Length of `queue` at the time `time`.
    ///
    /// # Panics
    /// If the queue does not exist.
    #[must_use]
    pub fn length(&self, queue: usize, time: f64) -> f64 {
        match self.segment(time) {
            (left, Some(right)) if time > left.time => {
                let slope = (right.lengths[queue] - left.lengths[queue]) / (right.time - left.time);
                left.lengths[queue] + slope * (time - left.time)
            }
            (left, _) => left.lengths[queue],
        }
    }

    /// Filtered length of `queue` at the time `time`, exact between events.
    ///
    /// # Panics
    /// If the queue does not exist.
    #[must_use]
    pub fn filtered(&self, queue: usize, time: f64) -> f64 {
        match self.segment(time) {
            (left, Some(right)) if time > left.time => {
                let slope = (right.lengths[queue] - left.lengths[queue]) / (right.time - left.time);
                let (past, lag) = (time - left.time, slope * self.time_constant);
                left.lengths[queue] + slope * past - lag
                    + (left.filtered[queue] - left.lengths[queue] + lag) * (-past / self.time_constant).exp()
            }
            (left, _) => left.filtered[queue],
        }
    }

    /// Average length of `queue` between the times `from` and `to` of the run.
    ///
    /// # Panics
    /// If the queue does not exist.
    #[must_use]
    pub fn average_length(&self, queue: usize, from: f64, to: f64) -> f64 {
        let mut area = 0.0;
        for pair in self.points.windows(2) {
            let (start, end) = (pair[0].time.max(from), pair[1].time.min(to));
            if end > start {
                let slope = (pair[1].lengths[queue] - pair[0].lengths[queue]) / (pair[1].time - pair[0].time);
                let middle = 0.5 * (start + end) - pair[0].time;
                area += (end - start) * (pair[0].lengths[queue] + slope * middle);
            }
        }
        area / (to - from)
    }
}
