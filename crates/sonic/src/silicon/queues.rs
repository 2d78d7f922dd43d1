//! Where a lone lossy egress queue loses its first packet, and what its pool shares.

use super::chips::Rule;
use super::memory::Memory;
use super::predict::stored_share;
use crate::config::{Config, Pool, Profile, Side, Threshold};
use crate::resolve::Resolved;
use serde::Serialize;
use std::collections::BTreeMap;

/// A lossy egress queue that has the switch for itself.
#[derive(Clone, Debug, Serialize)]
pub struct QueuePoint {
    /// Profile of the queue.
    pub profile: String,
    /// Minimum of the queue (cells, or bytes).
    pub minimum: u64,
    /// What the pool of the queue shares in one slice (cells, or bytes).
    pub shared: u64,
    /// Number of the first packet that the queue loses.
    pub drop: u64,
}

impl Memory {
    /// Points of all lossy queue profiles in use; profiles without a rule go to `not_predicted`
    /// with the reason.
    pub(super) fn queues(&self, config: &Config, not_predicted: &mut Vec<String>) -> Vec<QueuePoint> {
        let mut found = BTreeMap::new();
        for (port, index) in config.queues.keys().filter(|(port, _)| !port.is_remote()) {
            let Resolved::Profile(profile) = config.queue(port, *index) else { continue };
            if !config.is_lossless_queue_profile(&profile.name) {
                found.entry(profile.name.clone()).or_insert(profile);
            }
        }
        let points = found.into_values().filter_map(|profile| {
            let point = self.queue(config, &profile);
            if point.is_none() {
                not_predicted.push(format!("queues with {}: no rule for this chip and pool", profile.name));
            }
            point
        });
        points.collect()
    }

    /// The point of a lossy queue; `None` where the chip or the pool has no rule.
    pub(crate) fn queue(&self, config: &Config, profile: &Profile) -> Option<QueuePoint> {
        let Rule::Cells = self.chip.rule else { return None };
        let (name, pool) = config.pool_of(profile)?;
        if pool.side.as_ref()?.value == Side::Both {
            return None;
        }
        let shared = self.egress_share(config, name, pool)?;
        let minimum = self.cells(profile.reserve());
        let limit = match profile.threshold.as_ref()?.value {
            Threshold::Dynamic(exponent) => stored_share(exponent, shared),
            Threshold::Static(bytes) => (bytes / self.chip.cell).min(shared),
        };
        // A packet beyond the minimum needs a place in the ingress pool, too.
        let drop = minimum + limit.min(self.shared) + 1;
        Some(QueuePoint { profile: profile.name.clone(), minimum, shared, drop })
    }

    /// What an egress pool shares in one slice (cells): S of a pool as large as the ingress pool;
    /// otherwise its size, less the minimums of queues where the size holds them.
    /// `docs/evidence/silicon.md` has the files behind each case.
    fn egress_share(&self, config: &Config, name: &str, pool: &Pool) -> Option<u64> {
        let size = pool.size.as_ref()?.value;
        let ingress = config.pools.get(&self.pool)?.size.as_ref()?.value;
        let in_slices = |bytes: u64| bytes / self.chip.cell / self.chip.slices;
        // A file may have the pool of one slice beside an ingress pool of all.
        let is_of_a_slice = self.chip.slices > 1 && size.checked_mul(self.chip.slices) == Some(ingress);
        let own = if is_of_a_slice { size / self.chip.cell } else { in_slices(size) };
        if size == ingress {
            return Some(self.shared);
        }
        // Where one egress pool is all there is, a size that fits into S is what headroom and
        // reserves left.
        let is_only_pool = !name.contains("egress_lossy");
        let is_net = self.net || own == self.shared || is_only_pool && own < self.shared;
        Some(if is_net { own } else { own.saturating_sub(self.reserves.queues) })
    }
}
