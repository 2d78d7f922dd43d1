//! The three problems of SONiC's buffer model from the Reverie paper, with the numbers of a
//! configuration.
//!
//! The paper has these symbols: b is the size of the ingress pool, b° the size of the egress lossy
//! pool. The numbers of busy lossless groups and lossy queues are n and n°, with the alphas α and
//! α°. The paper's equations are q° = n°α°/(1 + n°α°) b° (Eq. 10) and q = nα/(1 + nα) (b - q°) (Eq.
//! 11).

use super::Findings;
use super::context::Context;
use crate::config::Profile;
use crate::resolve::LOSSLESS_POOL;

/// Profiles, alphas and pools of a configuration's lossless groups and lossy queues.
struct Sides<'c> {
    lossless: &'c Profile,
    lossy: &'c Profile,
    alpha: f64,
    lossy_alpha: f64,
    pool: f64,
    lossy_pool: f64,
    /// Number of ports; each port has one busy group and one busy queue.
    ports: usize,
}

impl Sides<'_> {
    fn share(n: f64, alpha: f64) -> f64 {
        n * alpha / (1.0 + n * alpha)
    }

    /// Occupancy of lossy queues in the steady state (bytes).
    fn lossy_bytes(&self, queues: f64) -> f64 {
        Self::share(queues, self.lossy_alpha) * self.lossy_pool
    }

    /// Occupancy of lossless groups in the steady state (bytes).
    fn lossless_bytes(&self, groups: f64, queues: f64) -> f64 {
        Self::share(groups, self.alpha) * (self.pool - self.lossy_bytes(queues)).max(0.0)
    }

    /// Pause point of one of `groups` busy lossless groups (bytes).
    fn pause(&self, groups: f64, queues: f64) -> f64 {
        self.lossless_bytes(groups, queues) / groups
    }
}

fn sides<'c>(context: &'c Context<'_>) -> Option<Sides<'c>> {
    let class = context.classes.iter().max_by_key(|class| class.ports.len())?;
    let lossy = context.lossy_queues.iter().find(|profile| profile.alpha().is_some())?;
    let memory = context.memory.as_ref()?;
    let size = context.config.pool_of(lossy)?.1.size.as_ref()?.value;
    Some(Sides {
        lossless: &class.profile,
        lossy,
        alpha: class.profile.alpha()?,
        lossy_alpha: lossy.alpha()?,
        pool: (memory.shared * memory.chip.cell) as f64,
        lossy_pool: size as f64 / memory.chip.slices as f64,
        ports: class.ports.len(),
    })
}

fn megabytes(bytes: f64) -> String {
    format!("{:.2} MB", bytes / 1e6)
}

pub(super) fn lossy_outgrows_lossless(context: &Context<'_>, findings: &mut Findings) {
    let Some(sides) = sides(context) else { return };
    if sides.pool >= 2.0 * sides.lossy_pool {
        return;
    }
    let Some(pool) = context.config.pools.get(LOSSLESS_POOL) else { return };
    let busy = sides.ports.max(1) as f64;
    let (lossy, lossless) = (sides.lossy_bytes(busy), sides.lossless_bytes(busy, busy));
    findings.add(
        &pool.place,
        format!(
            "with {busy} busy queues on each side lossy traffic holds {} and lossless traffic {}: the shared \
             pool ({} of a \
             slice) is not twice the lossy pool ({})",
            megabytes(lossy),
            megabytes(lossless),
            megabytes(sides.pool),
            megabytes(sides.lossy_pool)
        ),
        format!("to prevent it, a lossy pool of at most half: {} of a slice", megabytes(sides.pool / 2.0)),
    );
}

pub(super) fn lossless_yields(context: &Context<'_>, findings: &mut Findings) {
    let Some(sides) = sides(context) else { return };
    let busy = sides.ports.max(1) as f64;
    let (alone, among) = (sides.pause(1.0, 0.0), sides.pause(1.0, busy));
    if among >= 0.99 * alone {
        return;
    }
    let place = sides.lossless.threshold.as_ref().map_or(&sides.lossless.place, |limit| &limit.place);
    findings.add(
        place,
        format!(
            "a group with {} pauses at {} alone and at {} when {busy} lossy queues are busy; those drop at the \
             same point \
             whatever lossless traffic does",
            sides.lossless.name,
            megabytes(alone),
            megabytes(among)
        ),
        "lower dynamic_th of lossy queues, or their pool, if lossless traffic matters more",
    );
}

pub(super) fn bursts_favour_lossy(context: &Context<'_>, findings: &mut Findings) {
    let Some(sides) = sides(context) else { return };
    // The whole burst enters an empty switch at once, so the limit of a lone queue applies.
    let lossy = sides.lossy_bytes(1.0).min(sides.lossy_pool);
    let lossless = sides.lossless_bytes(1.0, 0.0);
    if lossy <= lossless {
        return;
    }
    findings.add(
        &sides.lossy.place,
        format!(
            "a burst of {} fits into a lossy queue with {}, one of {} into a lossless group with {} before it pauses",
            megabytes(lossy),
            sides.lossy.name,
            megabytes(lossless),
            sides.lossless.name
        ),
        "raise dynamic_th of lossless profiles, or lower that of lossy queues",
    );
}
