//! Lossless and lossy traffic in the pools of a SONiC switch (Reverie section 2.2).
//!
//! A lossless packet counts in its ingress queue and in the ingress pool, whose limit
//! `α (b_in - q_in)` pauses the sender. A lossy packet counts in its egress queue and in the egress
//! lossy pool, with the limit `α' (b_eo - q_eo)`. The ingress pool also counts lossy packets but
//! does not limit them. So the lossy pool does not depend on lossless traffic, and the lossless
//! queues get the rest of the ingress pool. In this model each counted queue drains through a
//! separate port. A pause takes effect at once, so that no headroom is needed. Data that a lossless
//! queue *refuses* waits at the sender.

use super::model::{FluidError, Shape, checked, positive};
use super::rates::{Group, Limit, LimitSide, Pool, Tank};
use super::setup::Fluid;
use super::trajectory::Trajectory;

/// SONiC's two limiting pools and the queues that use them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sonic {
    /// Size b_in of the ingress pool.
    pub ingress_pool: f64,
    /// Size b_eo of the egress lossy pool. The lossy pool is at most `ingress_pool` (heuristic 3).
    pub lossy_pool: f64,
    /// Number n of lossless ingress queues.
    pub lossless_queues: usize,
    /// Number m of lossy egress queues.
    pub lossy_queues: usize,
    /// Factor α in the limit of lossless ingress queues.
    pub lossless_alpha: f64,
    /// Factor α' in the limit of lossy egress queues.
    pub lossy_alpha: f64,
    /// Rate at which every queue drains while it is not empty (size per time).
    pub drain_rate: f64,
}

impl Sonic {
    /// A fluid model of the empty pools. Queues 0 to n - 1 are lossless, n to n + m - 1 lossy.
    ///
    /// # Errors
    /// If there is no queue, a pool, α or the rate is not a finite number above 0, or the lossy
    /// pool is larger than the ingress pool.
    pub fn fluid(&self) -> Result<Fluid, FluidError> {
        positive("the ingress pool", self.ingress_pool)?;
        let fits = self.lossy_pool > 0.0 && self.lossy_pool <= self.ingress_pool;
        checked("the lossy pool", self.lossy_pool, fits, "above 0 and at most the ingress pool")?;
        positive("alpha of lossless queues", self.lossless_alpha)?;
        positive("alpha of lossy queues", self.lossy_alpha)?;
        let queues = self.lossless_queues + self.lossy_queues;
        let shape = Shape::new(self.ingress_pool, vec![self.drain_rate; queues], 1)?;
        let is_lossy = |queue: usize| queue >= self.lossless_queues;
        let limit = |queue| {
            if is_lossy(queue) {
                Limit::Free { pool: 0, weight: self.lossy_alpha }
            } else {
                Limit::Free { pool: 1, weight: self.lossless_alpha }
            }
        };
        let tank = Tank {
            // The limit of lossy ingress queues is huge (heuristic 3), but the limit is 0 when the
            // ingress pool is full.
            capacity: self.ingress_pool,
            port_rates: shape.port_rates().to_vec(),
            queues_per_port: 1,
            groups: (0..queues)
                .map(|queue| Group { queues: queue..queue + 1, limit: limit(queue), place: LimitSide::Under })
                .collect(),
            group_of: (0..queues).collect(),
            pools: vec![
                Pool { size: self.lossy_pool, counts_earlier: false },
                Pool { size: self.ingress_pool, counts_earlier: true },
            ],
            pool_of: (0..queues).map(|queue| usize::from(!is_lossy(queue))).collect(),
            lengths: vec![0.0; queues],
            arriving: vec![0.0; queues],
            full: false,
        };
        Ok(Fluid::with_tank(tank, None, shape))
    }

    /// Occupancy of all lossless queues and of all lossy queues at the time `time`.
    ///
    /// # Panics
    /// If `run` belongs to another model.
    #[must_use]
    pub fn held(&self, run: &Trajectory, time: f64) -> (f64, f64) {
        let sum = |queues: std::ops::Range<usize>| queues.map(|queue| run.length(queue, time)).sum();
        (sum(0..self.lossless_queues), sum(self.lossless_queues..self.lossless_queues + self.lossy_queues))
    }
}
