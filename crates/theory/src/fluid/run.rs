//! The event loop of a fluid run.

use super::control::{Changes, Constant, Control, View};
use super::model::FluidError;
use super::rates::{LimitSide, Rates, Tank};
use super::setup::Fluid;
use super::trajectory::{Breakpoint, Refusal, Trajectory};

/// Share of the buffer below which a difference of two lengths is treated as zero.
pub(super) const SMALL_LENGTH: f64 = 1e-11;
/// State of a fluid run in progress.
pub(super) struct Run<'a> {
    model: &'a Fluid,
    tank: Tank,
    control: Box<dyn Control>,
    rates: Rates,
    limits: Vec<f64>,
    free: Vec<f64>,
    /// Times at which sources start or end, in order.
    switches: Vec<f64>,
    next_switch: usize,
    now: f64,
    end: f64,
    small_length: f64,
    small_time: f64,
    refused: Vec<f64>,
    pub(super) trajectory: Trajectory,
}

impl<'a> Run<'a> {
    pub(super) fn new(model: &'a Fluid, control: Box<dyn Control>, end: f64) -> Self {
        let tank = model.tank.clone();
        let queues = tank.queues();
        let scale = tank.pools.iter().map(|pool| pool.size).fold(0.0, f64::max);
        let fastest = tank.port_rates.iter().copied().fold(0.0, f64::max);
        let mut switches: Vec<f64> = model
            .sources
            .iter()
            .flat_map(|source| [source.start, source.end])
            .filter(|&at| at > 0.0 && at.is_finite())
            .collect();
        switches.sort_unstable_by(f64::total_cmp);
        switches.dedup();
        Self {
            control,
            rates: Rates::default(),
            limits: vec![0.0; tank.groups.len()],
            free: vec![0.0; tank.pools.len()],
            switches,
            next_switch: 0,
            now: 0.0,
            end,
            small_length: SMALL_LENGTH * scale,
            small_time: SMALL_LENGTH * scale / fastest,
            refused: vec![0.0; queues],
            trajectory: Trajectory {
                breakpoints: Vec::new(),
                first_refusals: vec![None; queues],
                arrived: vec![0.0; queues],
                served: vec![0.0; queues],
                events: 0,
            },
            model,
            tank,
        }
    }

    pub(super) fn play(&mut self, watched: Option<usize>) -> Result<(), FluidError> {
        self.update_sources();
        self.update_limits();
        for group in 0..self.tank.groups.len() {
            self.place(group);
        }
        self.tank.full = self.tank.total() >= self.tank.capacity - self.small_length;
        let (mut in_place, patience) = (0_usize, 64 + 16 * self.tank.queues());
        self.record();
        loop {
            self.settle(patience)?;
            if watched.is_some_and(|queue| self.trajectory.first_refusals[queue].is_some()) {
                break;
            }
            self.trajectory.events += 1;
            if self.trajectory.events > self.model.max_events {
                return Err(FluidError::TooManyEvents { time: self.now, limit: self.model.max_events });
            }
            let step = self.until_next();
            in_place = if step > self.small_time { 0 } else { in_place + 1 };
            if in_place > patience {
                return Err(FluidError::Chattering { time: self.now, events: in_place });
            }
            if self.now + step >= self.end {
                self.advance(self.end - self.now, self.end);
                break;
            }
            let at_switch = self.switches.get(self.next_switch).copied();
            match at_switch.filter(|&at| at <= self.now + step + self.small_time) {
                Some(at) => self.advance(at - self.now, at),
                None => self.advance(step, self.now + step),
            }
            self.arrive_at_events();
            self.record();
        }
        self.keep();
        Ok(())
    }

    fn view(&self) -> View<'_> {
        View {
            now: self.now,
            tank: &self.tank,
            rates: &self.rates,
            limits: &self.limits,
            small_length: self.small_length,
            small_time: self.small_time,
        }
    }

    fn update_sources(&mut self) {
        while self.switches.get(self.next_switch).is_some_and(|&at| at <= self.now) {
            self.next_switch += 1;
        }
        self.tank.arriving.fill(0.0);
        for source in &self.model.sources {
            if source.start <= self.now && self.now < source.end {
                self.tank.arriving[source.queue] += source.rate;
            }
        }
    }

    fn update_limits(&mut self) {
        for pool in 0..self.tank.pools.len() {
            self.free[pool] = self.tank.free(pool);
        }
        for group in 0..self.limits.len() {
            self.limits[group] = self.tank.limit(group, &self.free);
        }
    }

    /// Determines the position of a group relative to its limit after the limit jumped.
    fn place(&mut self, group: usize) {
        let gap = self.limits[group] - self.tank.group_length(group);
        self.tank.groups[group].place = if gap > self.small_length {
            LimitSide::Under
        } else if gap < -self.small_length {
            LimitSide::Over
        } else {
            LimitSide::At
        };
    }

    /// Computes the rates and lets the law react, until the law changes no more limits.
    fn settle(&mut self, patience: usize) -> Result<(), FluidError> {
        let mut rounds = 0;
        loop {
            self.tank.solve(&mut self.rates);
            self.note_refusals();
            let (mut control, mut changes) =
                (std::mem::replace(&mut self.control, Box::new(Constant)), Changes::new());
            let changed = control.settle(&self.view(), &mut changes);
            self.control = control;
            if !changed {
                break;
            }
            rounds += 1;
            if rounds > patience {
                return Err(FluidError::Chattering { time: self.now, events: rounds });
            }
            self.apply(&changes);
        }
        // Groups that grow faster or slower than their limit are no longer at the limit.
        let small_rate = 1e-12 * self.tank.port_rates.iter().copied().fold(0.0, f64::max);
        for group in 0..self.limits.len() {
            if self.tank.groups[group].place == LimitSide::At {
                let apart = self.rates.group_growth[group] - self.rates.limit_growth[group];
                if apart > small_rate {
                    self.tank.groups[group].place = LimitSide::Over;
                } else if apart < -small_rate {
                    self.tank.groups[group].place = LimitSide::Under;
                }
            }
        }
        Ok(())
    }

    fn apply(&mut self, changes: &Changes) {
        let mut changed = false;
        for &(group, limit) in changes {
            if self.tank.groups[group].limit != limit {
                self.tank.groups[group].limit = limit;
                changed = true;
            }
        }
        if changed {
            self.update_limits();
            for &(group, _) in changes {
                self.place(group);
            }
            self.record();
        }
    }

    fn note_refusals(&mut self) {
        for queue in 0..self.tank.queues() {
            let (arriving, accepted) = (self.tank.arriving[queue], self.rates.accepted[queue]);
            // A refusal smaller than the rounding error does not count as a refusal.
            if self.trajectory.first_refusals[queue].is_none() && arriving - accepted > 1e-9 * arriving {
                let (arrived, stored) = (self.trajectory.arrived[queue], self.tank.lengths[queue]);
                self.trajectory.first_refusals[queue] = Some(Refusal { time: self.now, arrived, stored });
            }
        }
    }

    /// Time until the next event of sources, queues, limits, buffer or law.
    fn until_next(&self) -> f64 {
        let (tank, rates) = (&self.tank, &self.rates);
        let mut step = self.control.until_next(&self.view());
        if let Some(&at) = self.switches.get(self.next_switch) {
            step = step.min(at - self.now);
        }
        for queue in 0..tank.queues() {
            if rates.growth[queue] < 0.0 && tank.lengths[queue] > 0.0 {
                step = step.min(tank.lengths[queue] / -rates.growth[queue]);
            }
        }
        for group in 0..self.limits.len() {
            let gap = self.limits[group] - tank.group_length(group);
            let closing = rates.group_growth[group] - rates.limit_growth[group];
            let meets = match tank.groups[group].place {
                LimitSide::Under => closing > 0.0 && gap < f64::INFINITY,
                LimitSide::Over => closing < 0.0,
                LimitSide::At => false,
            };
            if meets {
                step = step.min((gap / closing).max(0.0));
            }
        }
        if rates.total > 0.0 && !tank.full {
            step = step.min((tank.capacity - tank.total()).max(0.0) / rates.total);
        }
        step.max(0.0)
    }

    /// Advances the state of the run by the span `time`, to the time `then`.
    fn advance(&mut self, time: f64, then: f64) {
        let mut control = std::mem::replace(&mut self.control, Box::new(Constant));
        control.advance(time, &self.view());
        self.control = control;
        for queue in 0..self.tank.queues() {
            let length = self.tank.lengths[queue] + time * self.rates.growth[queue];
            self.tank.lengths[queue] = length.max(0.0);
            let (arriving, accepted) = (self.tank.arriving[queue], self.rates.accepted[queue]);
            self.refused[queue] += time * (arriving - accepted).max(0.0);
            self.trajectory.arrived[queue] += time * arriving;
            self.trajectory.served[queue] += time * self.rates.served[queue];
        }
        self.now = then;
        self.update_limits();
    }

    /// Handles all events that are due now, including simultaneous events.
    fn arrive_at_events(&mut self) {
        for queue in 0..self.tank.queues() {
            if self.rates.growth[queue] < 0.0 && self.tank.lengths[queue] <= self.small_length {
                self.tank.lengths[queue] = 0.0;
            }
        }
        for group in 0..self.limits.len() {
            let gap = self.limits[group] - self.tank.group_length(group);
            let closing = self.rates.group_growth[group] - self.rates.limit_growth[group];
            match self.tank.groups[group].place {
                LimitSide::Under if gap <= self.small_length && closing > 0.0 => {
                    self.tank.groups[group].place = LimitSide::At;
                }
                LimitSide::Over if gap >= -self.small_length && closing < 0.0 => {
                    self.tank.groups[group].place = LimitSide::At;
                }
                _ => {}
            }
        }
        self.tank.full = self.tank.total() >= self.tank.capacity - self.small_length;
        if self.switches.get(self.next_switch).is_some_and(|&at| at <= self.now) {
            self.update_sources();
        }
    }

    fn record(&mut self) {
        if self.model.record || self.trajectory.breakpoints.is_empty() {
            self.keep();
        }
    }

    fn keep(&mut self) {
        let tank = &self.tank;
        let breakpoint = Breakpoint {
            time: self.now,
            lengths: tank.lengths.clone(),
            limits: tank.group_of.iter().map(|&group| self.limits[group]).collect(),
            refused: self.refused.clone(),
            states: (0..tank.port_rates.len()).map(|port| self.control.state(port)).collect(),
        };
        if self.trajectory.breakpoints.last() != Some(&breakpoint) {
            self.trajectory.breakpoints.push(breakpoint);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fluid::{Law, Shape, Source};

    /// A law whose weights change without end, or whose events are always due.
    struct Restless {
        settles: bool,
    }

    impl Control for Restless {
        fn settle(&mut self, _: &View<'_>, _: &mut Changes) -> bool {
            !self.settles
        }

        fn until_next(&self, _: &View<'_>) -> f64 {
            0.0
        }

        fn advance(&mut self, _: f64, _: &View<'_>) {}
    }

    #[test]
    fn a_law_that_never_rests_is_caught_instead_of_looping() {
        for settles in [false, true] {
            let shape = Shape::new(1.0, vec![1.0], 1).expect("in domain");
            let fluid = Fluid::new(shape.clone(), Law::complete_sharing(&shape))
                .and_then(|fluid| fluid.with(Source { queue: 0, rate: 2.0, start: 0.0, end: 1.0 }))
                .expect("in domain");
            let mut run = Run::new(&fluid, Box::new(Restless { settles }), 1.0);
            let error = run.play(None).expect_err("it chatters");
            assert!(matches!(error, FluidError::Chattering { time: 0.0, .. }), "{error}");
        }
    }
}
