//! Weights `α γ / n` of ABM and Plasticine, which change as queues become congested.

use super::control::{Changes, Control, View};
use super::model::{FluidError, Shape, checked, positive};
use super::rates::Limit;

/// Rule for a queue's drain rate γ, which is a fraction of the fastest port's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrainRate {
    /// The drain rate γ is always 1 (a single queue per port).
    One,
    /// The drain rate is an equal share of the port for each of its congested queues,
    /// including the queue itself.
    Computed,
    /// The drain rate is the rate of the last interval, if the queue was backlogged. The drain rate
    /// is at least the port's rate divided by the number of queues. The source needs
    /// [`Refresh::Every`].
    Measured,
}

/// Fraction of the congestion mark below which a queue is no longer congested, for continuous
/// refresh.
///
/// Without this band below the mark, a queue's congestion would start and end endlessly at one
/// instant. Suppose that a queue at its mark becomes congested and lowers the limits of other
/// queues on its port. The other queues stop growing, and the limit of the first queue rises faster
/// than the queue. So the first queue is no longer congested. With the band, time passes before
/// each change. Laws with a refresh interval change slowly enough and have no band.
const RELEASE: f64 = 0.99;

/// Times at which the law updates the counts n of congested queues and the drain rates γ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Refresh {
    /// The law updates at the instant at which a queue starts or ends being congested. Congestion
    /// of a queue begins at a mark and ends 1 % below the mark.
    Continuous,
    /// The law updates at intervals of the given time.
    /// The first update is one interval after the start of the run.
    Every(f64),
}

/// Limits `α γ / n (B - Q)` with n congested queues in the queue's group (ABM Eq. 9 and 13,
/// Plasticine Eq. 3).
///
/// A queue is congested when it is not empty and reaches `congested_share` of its limit.
/// All weights start with n = γ = 1, as in a switch that has just been started.
#[derive(Clone, Debug, PartialEq)]
pub struct CongestionCount {
    /// Alpha of each queue.
    pub alphas: Vec<f64>,
    /// Counting group of each queue, numbered from 0. In ABM the group is the priority,
    /// in Plasticine the group of priorities.
    pub groups: Vec<usize>,
    /// Fraction of a queue's limit from which the queue is congested, above 0 and at most 1 (ABM:
    /// 0.9).
    pub congested_share: f64,
    /// Rule for the drain rate γ of a queue.
    pub drain_rate: DrainRate,
    /// Times at which the law updates the counts n of congested queues and the drain rates γ.
    pub refresh: Refresh,
}

impl CongestionCount {
    /// The law ABM of the ABM paper: each priority has a separate count and alpha, and a queue is
    /// congested from 0.9 of its limit.
    ///
    /// # Errors
    /// If there is not one α per queue of a port.
    pub fn abm(
        shape: &Shape,
        alphas: &[f64],
        drain_rate: DrainRate,
        refresh: Refresh,
    ) -> Result<Self, FluidError> {
        let priorities = shape.queues_per_port();
        Self::plasticine(shape, alphas, priorities, drain_rate, refresh)
    }

    /// The law Plasticine: the first `high` queues of all ports are one counting group,
    /// and all further queues are a second group.
    ///
    /// # Errors
    /// If there is not one α per queue of a port.
    pub fn plasticine(
        shape: &Shape,
        alphas: &[f64],
        high: usize,
        drain_rate: DrainRate,
        refresh: Refresh,
    ) -> Result<Self, FluidError> {
        let priorities = shape.queues_per_port();
        if alphas.len() != priorities {
            return Err(FluidError::WrongLength {
                what: "alpha by priority",
                found: alphas.len(),
                expected: priorities,
            });
        }
        Ok(Self {
            alphas: (0..shape.queues()).map(|queue| alphas[queue % priorities]).collect(),
            groups: (0..shape.queues()).map(|queue| (queue % priorities).min(high)).collect(),
            congested_share: 0.9,
            drain_rate,
            refresh,
        })
    }

    pub(super) fn validate(&self, shape: &Shape) -> Result<(), FluidError> {
        for (queue, &alpha) in shape.by_queue("alpha by queue", &self.alphas)?.iter().enumerate() {
            positive(format!("alpha of queue {queue}"), alpha)?;
        }
        if self.groups.len() != shape.queues() {
            let (found, expected) = (self.groups.len(), shape.queues());
            return Err(FluidError::WrongLength { what: "group by queue", found, expected });
        }
        for (queue, &group) in self.groups.iter().enumerate() {
            let what = format!("the group of queue {queue}");
            checked(what, group as f64, group < shape.queues(), "a number below that of the queues")?;
        }
        let share = self.congested_share;
        checked("the congested share", share, share > 0.0 && share <= 1.0, "above 0 and at most 1")?;
        if let Refresh::Every(interval) = self.refresh {
            positive("the refresh interval", interval)?;
        } else if self.drain_rate == DrainRate::Measured {
            checked("the refresh interval", 0.0, false, "an interval in which a drain rate can be measured")?;
        }
        Ok(())
    }
}

/// State of the law that counts congested queues.
#[derive(Clone, Debug)]
pub(super) struct Counter {
    law: CongestionCount,
    congested: Vec<bool>,
    weights: Vec<f64>,
    /// Amount that each queue sent since the last update, and whether the queue was backlogged
    /// since the update.
    sent: Vec<f64>,
    stood: Vec<bool>,
    next_refresh: f64,
}

impl Counter {
    pub(super) fn new(law: CongestionCount) -> Self {
        let queues = law.alphas.len();
        let next_refresh = if let Refresh::Every(interval) = law.refresh { interval } else { f64::INFINITY };
        Self {
            weights: law.alphas.clone(),
            congested: vec![false; queues],
            sent: vec![0.0; queues],
            stood: vec![false; queues],
            next_refresh,
            law,
        }
    }

    /// Distance of a queue's length beyond the mark of congestion, and the growth of this distance.
    fn margin(&self, queue: usize, view: &View<'_>) -> (f64, f64) {
        let releases = self.congested[queue] && self.law.refresh == Refresh::Continuous;
        let share = if releases { RELEASE * self.law.congested_share } else { self.law.congested_share };
        let group = view.tank.group_of[queue];
        let margin = view.tank.lengths[queue] - share * view.limits[group];
        (margin, view.rates.growth[queue] - share * view.rates.limit_growth[group])
    }

    /// Updates the congestion flags to the present instant. Queues that become congested are
    /// handled first. Newly congested queues lower limits, which can only make other queues
    /// congested. Queues that cease to be congested raise limits, which can only end the congestion
    /// of other queues. So the number of changes of congestion at one instant is finite.
    fn flip(&mut self, view: &View<'_>) -> bool {
        let small = view.small_length;
        let small_rate = small / view.small_time * 1e-6;
        let mut changed = false;
        for queue in 0..self.congested.len() {
            let (margin, rate) = self.margin(queue, view);
            let beyond = margin > small || (margin >= -small && rate > small_rate);
            if !self.congested[queue] && view.tank.lengths[queue] > 0.0 && beyond {
                self.congested[queue] = true;
                changed = true;
            }
        }
        if changed {
            return true;
        }
        for queue in 0..self.congested.len() {
            let (margin, rate) = self.margin(queue, view);
            let short = margin < -small || (margin <= small && rate < -small_rate);
            if self.congested[queue] && (view.tank.lengths[queue] <= 0.0 || short) {
                self.congested[queue] = false;
                changed = true;
            }
        }
        changed
    }

    fn gamma(&self, queue: usize, view: &View<'_>) -> f64 {
        let tank = view.tank;
        let fastest = tank.port_rates.iter().copied().fold(0.0, f64::max);
        let rate = tank.port_rates[tank.port_of(queue)] / fastest;
        match (self.law.drain_rate, self.law.refresh) {
            (DrainRate::Computed, _) => {
                let others = tank
                    .port_queues(tank.port_of(queue))
                    .filter(|&other| other != queue && self.congested[other])
                    .count();
                rate / (others + 1) as f64
            }
            (DrainRate::Measured, Refresh::Every(interval)) if self.stood[queue] => {
                let measured = self.sent[queue] / (interval * fastest);
                measured.clamp(rate / tank.queues_per_port as f64, 1.0)
            }
            _ => 1.0,
        }
    }

    fn weigh(&mut self, view: &View<'_>, changes: &mut Changes) -> bool {
        let mut counts = vec![0_usize; self.congested.len()];
        for (queue, &congested) in self.congested.iter().enumerate() {
            counts[self.law.groups[queue]] += usize::from(congested);
        }
        let before = changes.len();
        for queue in 0..self.congested.len() {
            let n = counts[self.law.groups[queue]].max(1) as f64;
            let weight = self.law.alphas[queue] * self.gamma(queue, view) / n;
            if weight != self.weights[queue] {
                self.weights[queue] = weight;
                changes.push((view.tank.group_of[queue], Limit::Free { pool: 0, weight }));
            }
        }
        changes.len() > before
    }
}

impl Control for Counter {
    fn settle(&mut self, view: &View<'_>, changes: &mut Changes) -> bool {
        match self.law.refresh {
            Refresh::Continuous => {
                let flipped = self.flip(view);
                if flipped {
                    self.weigh(view, changes);
                }
                flipped
            }
            Refresh::Every(interval) => {
                if view.now < self.next_refresh - view.small_time {
                    return false;
                }
                for queue in 0..self.congested.len() {
                    let (margin, _) = self.margin(queue, view);
                    self.congested[queue] = view.tank.lengths[queue] > 0.0 && margin >= -view.small_length;
                    self.stood[queue] |= view.tank.lengths[queue] > 0.0;
                }
                let changed = self.weigh(view, changes);
                for queue in 0..self.congested.len() {
                    self.sent[queue] = 0.0;
                    self.stood[queue] = view.tank.lengths[queue] > 0.0;
                }
                self.next_refresh += interval;
                changed
            }
        }
    }

    fn until_next(&self, view: &View<'_>) -> f64 {
        if self.law.refresh != Refresh::Continuous {
            return (self.next_refresh - view.now).max(0.0);
        }
        (0..self.congested.len())
            .map(|queue| {
                let (margin, rate) = self.margin(queue, view);
                // If the length has crossed the mark of congestion already, the law has handled the
                // change.
                let closing = if self.congested[queue] {
                    margin > 0.0 && rate < 0.0
                } else {
                    margin < 0.0 && rate > 0.0
                };
                if closing { -margin / rate } else { f64::INFINITY }
            })
            .fold(f64::INFINITY, f64::min)
    }

    fn advance(&mut self, time: f64, view: &View<'_>) {
        if self.law.refresh == Refresh::Continuous {
            return;
        }
        for queue in 0..self.congested.len() {
            self.sent[queue] += time * view.rates.served[queue];
            self.stood[queue] |= view.tank.lengths[queue] > 0.0 || view.rates.growth[queue] > 0.0;
        }
    }
}
