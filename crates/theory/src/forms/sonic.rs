//! Shares of lossless and lossy queues under SONiC's two views of one buffer (Reverie section 2.2,
//! Eqs. 1–3 and 7–11).
//!
//! A packet is stored once and counted twice: at ingress (pool `ingress_pool`, lossless and lossy)
//! and at egress (lossy in `egress_lossy_pool`). In this module n lossless ingress queues and m
//! lossy egress queues are congested. All sizes are in one unit.

use super::{Domain, DomainError, at_most, check, not_negative, positive};

pub use super::dynamic_threshold::threshold;

/// Sizes of the pools, and numbers of congested queues.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pools {
    /// Size of the ingress pool b_in, which lossless and lossy packets share.
    pub ingress_pool: f64,
    /// Size of the egress pool b_eo of the lossy queues.
    pub egress_lossy_pool: f64,
    /// Number n of congested lossless ingress queues.
    pub lossless_queues: u32,
    /// Number m of congested lossy egress queues.
    pub lossy_queues: u32,
    /// Factor α in the pause threshold of a lossless ingress queue.
    pub alpha_lossless: f64,
    /// Factor α' in the drop threshold of a lossy egress queue.
    pub alpha_lossy: f64,
}

/// Occupancy of the queues, and their pause and drop thresholds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shares {
    /// Occupancy of all lossless queues (Eqs. 2, 11; size).
    pub lossless: f64,
    /// Occupancy of all lossy queues (Eqs. 3, 10; size).
    pub lossy: f64,
    /// Length `α(b_in − q_in)` at which a lossless queue pauses its sender (size).
    pub pause_threshold: f64,
    /// Length `α'(b_eo − q_eo)` at which a lossy queue drops packets (size).
    pub drop_threshold: f64,
}

impl Pools {
    fn check(&self) -> Domain<()> {
        positive("ingress_pool", self.ingress_pool)?;
        positive("egress_lossy_pool", self.egress_lossy_pool)?;
        at_most(
            "egress_lossy_pool",
            self.egress_lossy_pool,
            self.ingress_pool,
            "the ingress pool, heuristic 3",
        )?;
        positive("alpha_lossless", self.alpha_lossless)?;
        positive("alpha_lossy", self.alpha_lossy).map(drop)
    }

    /// Fraction x = nα/(1 + nα) of the remaining space that the lossless queues take.
    fn lossless_fraction(&self) -> f64 {
        let sum = f64::from(self.lossless_queues) * self.alpha_lossless;
        sum / (1.0 + sum)
    }

    /// Fraction y = mα'/(1 + mα') of the lossy egress pool that the lossy queues take.
    fn lossy_fraction(&self) -> f64 {
        let sum = f64::from(self.lossy_queues) * self.alpha_lossy;
        sum / (1.0 + sum)
    }

    /// Shares of lossless and lossy queues in the steady state. Lossy queues take `b_eo·y` (Eqs. 3,
    /// 10), lossless queues `b_in·x − b_eo·x·y` (Eq. 11; Eq. 2 has the wrong pool in its second
    /// term, E-REV-2).
    ///
    /// # Errors
    /// If a pool or factor is not positive, or the egress pool is larger than the ingress pool
    /// (heuristic 3).
    pub fn shares(&self) -> Domain<Shares> {
        self.check()?;
        let (x, y) = (self.lossless_fraction(), self.lossy_fraction());
        let lossy = self.egress_lossy_pool * y;
        Ok(Shares {
            lossless: self.ingress_pool * x - lossy * x,
            lossy,
            pause_threshold: self.alpha_lossless * (self.ingress_pool - lossy) * (1.0 - x),
            drop_threshold: self.alpha_lossy * self.egress_lossy_pool * (1.0 - y),
        })
    }

    /// Whether lossy queues get more than lossless queues, for the numbers n and m of queues (the
    /// paper's Issue 1, E-REV-6): `b_in·x < b_eo·y·(1 + x)`.
    ///
    /// # Errors
    /// Returns the errors of [`Self::shares`].
    pub fn lossy_gets_more(&self) -> Domain<bool> {
        let shares = self.shares()?;
        Ok(shares.lossy > shares.lossless)
    }

    /// Whether lossy queues get more than lossless queues, by the condition as printed: `b_in <
    /// 2·b_eo` (Issue 1 in §2.3 of Reverie, E-REV-6). The printed condition is exact for infinitely
    /// many queues.
    #[must_use]
    pub fn lossy_gets_more_printed(&self) -> bool {
        self.ingress_pool < 2.0 * self.egress_lossy_pool
    }
}

/// Configured sizes of a buffer's pools.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PoolSizes {
    /// Size b of the whole buffer.
    pub buffer: f64,
    /// Size of the ingress pool.
    pub ingress_pool: f64,
    /// Size b_h of the headroom pool.
    pub headroom_pool: f64,
    /// Size b_el of the egress pool of the lossless queues.
    pub egress_lossless_pool: f64,
    /// Size b_eo of the egress pool of the lossy queues.
    pub egress_lossy_pool: f64,
}

/// Checks the pool sizes against heuristics 1 to 3. Heuristic 1: ingress pool and headroom pool
/// must fit into the buffer. The paper prints "<" instead of "at most" (E-REV-4). Heuristic 2: the
/// lossless egress pool must be the whole buffer. Heuristic 3: the lossy egress pool must be at
/// most the ingress pool.
///
/// # Errors
/// If a pool size violates a heuristic. The error names the first violated heuristic.
pub fn check_pools(pools: PoolSizes) -> Result<(), DomainError> {
    positive("buffer", pools.buffer)?;
    not_negative("headroom_pool", pools.headroom_pool)?;
    let most = pools.buffer - pools.headroom_pool;
    let ingress = positive("ingress_pool", pools.ingress_pool)?;
    at_most("ingress_pool", ingress, most, "the buffer less the headroom pool, heuristic 1")?;
    let whole = pools.egress_lossless_pool == pools.buffer;
    let valid = format_args!("{} (the whole buffer, heuristic 2)", pools.buffer);
    check(whole, "egress_lossless_pool", pools.egress_lossless_pool, valid)?;
    let lossy = positive("egress_lossy_pool", pools.egress_lossy_pool)?;
    at_most("egress_lossy_pool", lossy, ingress, "the ingress pool, heuristic 3").map(drop)
}

/// Occupancies q_in, q_el and q_eo of a switch, from which Eq. 1 computes thresholds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Occupancies {
    /// Occupancy q_in of the ingress pool (size).
    pub ingress: f64,
    /// Occupancy q_el of the lossless egress queues (size).
    pub egress_lossless: f64,
    /// Occupancy q_eo of the lossy egress queues (size).
    pub egress_lossy: f64,
}

/// Thresholds of ingress and egress queues by Eq. 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// Threshold b_in − q_in of a lossless or lossy queue at ingress with factor 1 (size).
    pub ingress: f64,
    /// Threshold of a lossless queue at egress with factor 1 (size).
    pub egress_lossless: f64,
    /// Threshold of a lossy queue at egress with factor 1 (size).
    pub egress_lossy: f64,
}

/// Free space of each pool. A queue's threshold is its factor times the free space (Eq. 1; sizes).
///
/// # Errors
/// If a pool is not positive, or an occupancy is negative or larger than its pool.
pub fn thresholds(pools: PoolSizes, occupancies: Occupancies) -> Domain<Thresholds> {
    Ok(Thresholds {
        ingress: threshold(1.0, pools.ingress_pool, occupancies.ingress)?,
        egress_lossless: threshold(1.0, pools.egress_lossless_pool, occupancies.egress_lossless)?,
        egress_lossy: threshold(1.0, pools.egress_lossy_pool, occupancies.egress_lossy)?,
    })
}
