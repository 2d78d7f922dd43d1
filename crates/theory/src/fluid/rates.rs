//! Exact growth rates of all queues, for any set of queues at their limits.
//!
//! A *limited group* (a queue, or all queues of a port) has three positions. Under its limit the
//! group takes all arrivals, and over its limit the group takes no arrivals. At its limit the group
//! takes the amount that keeps the group at the limit, if possible. Then the group's length follows
//! the limit. The group must not need more than the arrivals, or a faster drain than the port's
//! rate. With limits `w (S - occupancy)` of a pool, all rates depend on the pool's growth X:
//!
//! `X = sum of the other groups' growth + sum over groups at their limit of clamp(-w X, -drain,
//! arrivals - drain)`
//!
//! The right side falls with X and the left side rises. So the equation has exactly one solution X,
//! and the state has exactly one future. The solution is the general algorithm behind ABM's cases 1
//! and 2 (appendix A.4) and all states between them. A queue that follows its limit needs no small
//! time steps, because the algorithm solves for the queue's rate.

/// Position of a group of queues relative to its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LimitSide {
    Under,
    At,
    Over,
}

/// Limit of a group of queues.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Limit {
    /// The group has no limit except the buffer.
    None,
    /// The group has a constant limit.
    Fixed(f64),
    /// The limit is `weight` times the pool's free space.
    Free { pool: usize, weight: f64 },
}

/// Queues that share one limit and are adjacent on one port.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) queues: std::ops::Range<usize>,
    pub(super) limit: Limit,
    pub(super) place: LimitSide,
}

/// A pool of buffer space, with its size and the queues that it counts.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    pub(super) size: f64,
    /// Whether the pool counts the queues of earlier pools in addition to the queues that it
    /// limits.
    pub(super) counts_earlier: bool,
}

/// The switch's structure and the state that rates depend on.
#[derive(Clone, Debug)]
pub(super) struct Tank {
    /// Size of the physical memory. Infinite if only pools limit queues.
    pub(super) capacity: f64,
    pub(super) port_rates: Vec<f64>,
    pub(super) queues_per_port: usize,
    pub(super) groups: Vec<Group>,
    /// Group to which each queue belongs.
    pub(super) group_of: Vec<usize>,
    pub(super) pools: Vec<Pool>,
    /// For each group, the pool whose space the group uses, even if the group's limit does not
    /// depend on the pool.
    pub(super) pool_of: Vec<usize>,
    pub(super) lengths: Vec<f64>,
    pub(super) arriving: Vec<f64>,
    /// Whether the buffer is full, apart from rounding.
    pub(super) full: bool,
}

/// Rates of queues, groups and pools (size per time).
#[derive(Clone, Debug, Default)]
pub(super) struct Rates {
    pub(super) accepted: Vec<f64>,
    pub(super) served: Vec<f64>,
    pub(super) growth: Vec<f64>,
    pub(super) group_growth: Vec<f64>,
    pub(super) limit_growth: Vec<f64>,
    pub(super) pool_growth: Vec<f64>,
    /// Growth rate of the whole buffer.
    pub(super) total: f64,
    /// Whether the full buffer refuses a part of the arrivals.
    pub(super) overflowing: bool,
    pub(super) scratch: Scratch,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    pub(super) bends: Vec<f64>,
    /// Highest and lowest possible growth rate of every group.
    highest: Vec<f64>,
    lowest: Vec<f64>,
}

impl Tank {
    pub(super) fn queues(&self) -> usize {
        self.lengths.len()
    }

    pub(super) fn port_of(&self, queue: usize) -> usize {
        queue / self.queues_per_port
    }

    pub(super) fn port_queues(&self, port: usize) -> std::ops::Range<usize> {
        port * self.queues_per_port..(port + 1) * self.queues_per_port
    }

    pub(super) fn sum(&self, values: &[f64], queues: std::ops::Range<usize>) -> f64 {
        values[queues].iter().sum()
    }

    pub(super) fn group_length(&self, group: usize) -> f64 {
        self.sum(&self.lengths, self.groups[group].queues.clone())
    }

    pub(super) fn total(&self) -> f64 {
        self.lengths.iter().sum()
    }

    /// Occupancy of a pool: the length of all queues that the pool counts, in the model's unit of
    /// size.
    pub(super) fn occupancy(&self, pool: usize) -> f64 {
        let counted = |group: &usize| {
            let own = self.pool_of[*group];
            own == pool || (own < pool && self.pools[pool].counts_earlier)
        };
        (0..self.groups.len()).filter(counted).map(|group| self.group_length(group)).sum()
    }

    pub(super) fn free(&self, pool: usize) -> f64 {
        (self.pools[pool].size - self.occupancy(pool)).max(0.0)
    }

    /// The limit of a group for the given free space of every pool.
    pub(super) fn limit(&self, group: usize, free: &[f64]) -> f64 {
        match self.groups[group].limit {
            Limit::None => f64::INFINITY,
            Limit::Fixed(limit) => limit,
            Limit::Free { pool, weight } => weight * free[pool],
        }
    }

    /// Computes the rates of all queues, groups and pools in the present state.
    pub(super) fn solve(&self, rates: &mut Rates) {
        rates.resize(self);
        for queue in 0..self.queues() {
            let takes = self.groups[self.group_of[queue]].place != LimitSide::Over;
            rates.accepted[queue] = if takes { self.arriving[queue] } else { 0.0 };
        }
        self.serve(rates);
        for group in 0..self.groups.len() {
            self.bound_growth(group, rates);
        }
        for pool in 0..self.pools.len() {
            self.solve_pool(pool, rates);
        }
        rates.total = rates.group_growth.iter().sum();
        // Rounding must not make a full buffer of constant length overflow.
        rates.overflowing = self.full && rates.total > 1e-12 * self.port_rates.iter().sum::<f64>();
        if rates.overflowing {
            self.overflow(rates);
        } else {
            for group in 0..self.groups.len() {
                if self.groups[group].place == LimitSide::At {
                    let queues = self.groups[group].queues.clone();
                    let (arriving, served) =
                        (self.sum(&self.arriving, queues.clone()), self.sum(&rates.served, queues.clone()));
                    let accepted = (rates.group_growth[group] + served).clamp(0.0, arriving);
                    let share = if arriving > 0.0 { accepted / arriving } else { 0.0 };
                    for queue in queues {
                        rates.accepted[queue] = share * self.arriving[queue];
                    }
                }
            }
            // The first step assumes that empty queues get all their arrivals. Empty queues of a
            // group at its limit get less.
            if self.groups.len() < self.queues() {
                self.serve(rates);
            }
        }
        for queue in 0..self.queues() {
            rates.growth[queue] = rates.accepted[queue] - rates.served[queue];
        }
    }

    /// Serves queues round robin in the fluid model. Empty queues send their accepted traffic
    /// immediately. The other queues share the rest of the line equally.
    pub(super) fn serve(&self, rates: &mut Rates) {
        for port in 0..self.port_rates.len() {
            let queues = self.port_queues(port);
            let (mut rest, mut sharers) = (self.port_rates[port], queues.len());
            for queue in queues.clone() {
                // The value −1 marks a queue that is not served yet.
                rates.served[queue] = -1.0;
            }
            loop {
                let share = rest / sharers.max(1) as f64;
                let mut settled = false;
                for queue in queues.clone() {
                    let needs = rates.accepted[queue];
                    if rates.served[queue] < 0.0 && self.lengths[queue] <= 0.0 && needs <= share {
                        rates.served[queue] = needs;
                        rest -= needs;
                        sharers -= 1;
                        settled = true;
                    }
                }
                if !settled {
                    for queue in queues.clone() {
                        if rates.served[queue] < 0.0 {
                            rates.served[queue] = share;
                        }
                    }
                    break;
                }
            }
        }
    }

    /// Sets the growth of a group that takes all arrivals, and of a group that takes none.
    fn bound_growth(&self, group: usize, rates: &mut Rates) {
        let Group { queues, place, .. } = &self.groups[group];
        let (arriving, served) =
            (self.sum(&self.arriving, queues.clone()), self.sum(&rates.served, queues.clone()));
        let empty = self.lengths[queues.clone()].iter().all(|&length| length <= 0.0);
        let lowest = if empty { 0.0 } else { -served };
        let highest = (arriving - served).max(lowest);
        rates.scratch.lowest[group] = lowest;
        rates.scratch.highest[group] = highest;
        rates.group_growth[group] = if *place == LimitSide::Over { lowest } else { highest };
        rates.limit_growth[group] = 0.0;
    }

    /// Computes the growth of one pool, and of the groups whose limits follow the pool.
    fn solve_pool(&self, pool: usize, rates: &mut Rates) {
        let slides = |group: usize| match self.groups[group] {
            Group { limit: Limit::Free { pool: of, weight }, place: LimitSide::At, .. } if of == pool => {
                Some(weight)
            }
            _ => None,
        };
        let mut constant = 0.0;
        if self.pools[pool].counts_earlier {
            constant += rates.pool_growth[..pool].iter().sum::<f64>();
        }
        rates.scratch.bends.clear();
        for group in (0..self.groups.len()).filter(|&group| self.pool_of[group] == pool) {
            if let Some(weight) = slides(group).filter(|&weight| weight > 0.0) {
                rates.scratch.bends.push(-rates.scratch.lowest[group] / weight);
                rates.scratch.bends.push(-rates.scratch.highest[group] / weight);
            } else {
                if self.groups[group].place == LimitSide::At {
                    // The limit is constant, so the group does not grow.
                    rates.group_growth[group] =
                        0.0_f64.clamp(rates.scratch.lowest[group], rates.scratch.highest[group]);
                }
                constant += rates.group_growth[group];
            }
        }
        rates.scratch.bends.sort_unstable_by(f64::total_cmp);
        let Scratch { bends, highest, lowest } = &rates.scratch;
        let followers = || {
            (0..self.groups.len())
                .filter(|&group| self.pool_of[group] == pool)
                .filter_map(|group| slides(group).filter(|&w| w > 0.0).map(|weight| (group, weight)))
        };
        let excess = |x: f64| {
            let follow: f64 =
                followers().map(|(group, weight)| (-weight * x).clamp(lowest[group], highest[group])).sum();
            constant + follow - x
        };
        // The function `excess` falls with the pool's growth x, and is linear between two bends.
        let next = bends.partition_point(|&bend| excess(bend) > 0.0);
        let from = if next == 0 { f64::NEG_INFINITY } else { bends[next - 1] };
        let to = bends.get(next).copied().unwrap_or(f64::INFINITY);
        let inside = between(from, to);
        let (mut fixed, mut weights) = (constant, 0.0);
        for (group, weight) in followers() {
            let wanted = -weight * inside;
            if wanted >= highest[group] {
                fixed += highest[group];
            } else if wanted <= lowest[group] {
                fixed += lowest[group];
            } else {
                weights += weight;
            }
        }
        let x = (fixed / (1.0 + weights)).clamp(from, to);
        rates.pool_growth[pool] = x;
        self.move_limits(pool, x, rates);
    }

    /// Changes the limits of a pool that grows by `x`, and the groups that are at their limits.
    fn move_limits(&self, pool: usize, x: f64, rates: &mut Rates) {
        for group in 0..self.groups.len() {
            if let Limit::Free { pool: of, weight } = self.groups[group].limit
                && of == pool
            {
                rates.limit_growth[group] = -weight * x;
                if self.groups[group].place == LimitSide::At {
                    rates.group_growth[group] =
                        (-weight * x).clamp(rates.scratch.lowest[group], rates.scratch.highest[group]);
                }
            }
        }
    }
}

/// A point between the bends `from` and `to` of a piecewise linear function. An infinite value
/// means that the bend is missing.
fn between(from: f64, to: f64) -> f64 {
    match (from.is_finite(), to.is_finite()) {
        (true, true) => 0.5 * (from + to),
        (true, false) => from + 1.0 + from.abs(),
        (false, true) => to - 1.0 - to.abs(),
        (false, false) => 0.0,
    }
}

impl Rates {
    fn resize(&mut self, tank: &Tank) {
        let (queues, groups) = (tank.queues(), tank.groups.len());
        for by_queue in [&mut self.accepted, &mut self.served, &mut self.growth] {
            by_queue.resize(queues, 0.0);
        }
        let Scratch { highest, lowest, .. } = &mut self.scratch;
        for by_group in [&mut self.group_growth, &mut self.limit_growth, highest, lowest] {
            by_group.resize(groups, 0.0);
        }
        self.pool_growth.resize(tank.pools.len(), 0.0);
    }
}
