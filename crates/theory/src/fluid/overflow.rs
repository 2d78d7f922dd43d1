//! Division of the space that becomes free in a full buffer.

use super::rates::{Group, Limit, LimitSide, Rates, Tank};

impl Tank {
    /// Computes the rates for a full buffer with more arrivals than departures. The function admits
    /// every arrival that no limit refuses with one common probability, which keeps the buffer
    /// full. A group at its limit takes at most the amount that keeps the group at the limit.
    /// Limits that depend on the free space of an exhausted pool are zero.
    ///
    /// A pool that is not exhausted (SONiC's lossy pool beside a full ingress pool) keeps changing,
    /// and the limits of its groups change, too. The function computes the growth of this pool and
    /// the probability in alternation until the two values agree.
    pub(super) fn overflow(&self, rates: &mut Rates) {
        let exhausted: Vec<bool> =
            (0..self.pools.len()).map(|pool| self.free(pool) <= 1e-9 * self.pools[pool].size).collect();
        let arriving: Vec<f64> =
            self.groups.iter().map(|group| self.sum(&self.arriving, group.queues.clone())).collect();
        let mut ceilings = vec![0.0; self.groups.len()];
        for _ in 0..100 {
            for (group, ceiling) in ceilings.iter_mut().enumerate() {
                let Group { queues, limit, place } = &self.groups[group];
                *ceiling = match (limit, place) {
                    (&Limit::Free { pool, .. }, _) if exhausted[pool] => 0.0,
                    (_, LimitSide::Over) => 0.0,
                    (_, LimitSide::At) => {
                        let keeps = self.sum(&rates.served, queues.clone()) + rates.limit_growth[group];
                        keeps.clamp(0.0, arriving[group])
                    }
                    (_, LimitSide::Under) => arriving[group],
                };
            }
            let share = self.let_in(&ceilings, &arriving, &mut rates.scratch.bends);
            for (group, of) in self.groups.iter().enumerate() {
                let taken = (share * arriving[group]).min(ceilings[group]);
                for queue in of.queues.clone() {
                    rates.accepted[queue] = if arriving[group] > 0.0 {
                        taken * self.arriving[queue] / arriving[group]
                    } else {
                        0.0
                    };
                }
            }
            self.serve(rates);
            for (group, of) in self.groups.iter().enumerate() {
                rates.group_growth[group] =
                    self.sum(&rates.accepted, of.queues.clone()) - self.sum(&rates.served, of.queues.clone());
            }
            let mut moved = 0.0_f64;
            for (pool, &exhausted) in exhausted.iter().enumerate() {
                let counted = |group: &usize| self.pool_of[*group] == pool;
                let own: f64 = (0..self.groups.len()).filter(counted).map(|g| rates.group_growth[g]).sum();
                let growth = if exhausted { 0.0 } else { own };
                moved = moved.max((growth - rates.pool_growth[pool]).abs());
                rates.pool_growth[pool] = growth;
            }
            for (group, of) in self.groups.iter().enumerate() {
                rates.limit_growth[group] = match of.limit {
                    Limit::Free { pool, weight } => -weight * rates.pool_growth[pool],
                    _ => 0.0,
                };
            }
            if moved <= 1e-12 * self.port_rates[0] {
                break;
            }
        }
        // The chosen share of arrivals makes the growth zero, apart from rounding.
        rates.total = 0.0;
    }

    /// The share of all arrivals that keeps a full buffer full, if no group exceeds its ceiling.
    fn let_in(&self, ceilings: &[f64], arriving: &[f64], bends: &mut Vec<f64>) -> f64 {
        // The closure computes the growth of the buffer if `share` of all arrivals is admitted.
        // The growth rises with the share, linearly between bends.
        let growth = |share: f64| -> f64 {
            let mut by_port = vec![0.0; self.port_rates.len()];
            for (group, of) in self.groups.iter().enumerate() {
                by_port[self.port_of(of.queues.start)] += (share * arriving[group]).min(ceilings[group]);
            }
            (0..self.port_rates.len())
                .map(|port| {
                    let backlogged = self.lengths[self.port_queues(port)].iter().any(|&length| length > 0.0);
                    let net = by_port[port] - self.port_rates[port];
                    if backlogged { net } else { net.max(0.0) }
                })
                .sum()
        };
        bends.clear();
        bends.extend([0.0, 1.0]);
        for (group, of) in self.groups.iter().enumerate() {
            let rate = self.port_rates[self.port_of(of.queues.start)];
            let marks = [ceilings[group] / arriving[group], rate / arriving[group]];
            bends.extend(marks.into_iter().filter(|&bend| bend > 0.0 && bend < 1.0));
        }
        bends.sort_unstable_by(f64::total_cmp);
        let next = bends.partition_point(|&bend| growth(bend) <= 0.0);
        if next == 0 {
            0.0
        } else if next == bends.len() {
            1.0
        } else {
            let (from, to) = (bends[next - 1], bends[next]);
            let (low, high) = (growth(from), growth(to));
            from + (to - from) * (-low / (high - low))
        }
    }
}
