//! Predicts the occupancy at which a lone lossy egress queue loses its first packet, and the shared
//! memory of its pool.

use super::chips::Rule;
use super::memory::Memory;
use super::predict::stored_share;
use crate::config::{Config, Pool, Profile, Side, Threshold};
use crate::resolve::Resolved;
use serde::Serialize;
use std::collections::BTreeMap;

/// Loss point of a lossy egress queue that is alone on the switch.
#[derive(Clone, Debug, Serialize)]
pub struct QueuePoint {
    /// Name of the profile that the lossy queue has.
    pub profile: String,
    /// Guaranteed minimum of the queue (cells, or bytes).
    pub minimum: u64,
    /// Shared memory of the queue's pool in one slice (cells, or bytes).
    pub shared: u64,
    /// Number of the first cell that the queue loses, from 1.
    pub drop: u64,
}

impl Memory {
    /// Predicts the loss points of all lossy queue profiles in use. Profiles without a rule are
    /// added to `not_predicted`, with the reason.
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

    /// Predicts the loss point of a lossy queue; `None` if no rule exists for the chip or pool.
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
        // Beyond the queue's minimum, a packet also needs memory of the ingress pool.
        let drop = minimum + limit.min(self.shared) + 1;
        Some(QueuePoint { profile: profile.name.clone(), minimum, shared, drop })
    }

    /// Shared memory of an egress pool in one slice (cells). A pool as large as the ingress pool
    /// has the shared memory S of the ingress pool. Any other pool has its configured size. If the
    /// size includes the minimums of queues, they are subtracted. The file
    /// `docs/evidence/silicon.md` has the configuration files for each case.
    fn egress_share(&self, config: &Config, name: &str, pool: &Pool) -> Option<u64> {
        let size = pool.size.as_ref()?.value;
        let ingress = config.pools.get(&self.pool)?.size.as_ref()?.value;
        let in_slices = |bytes: u64| bytes / self.chip.cell / self.chip.slices;
        // Some files give the egress pool of one slice, but the ingress pool of all slices.
        let is_of_a_slice = self.chip.slices > 1 && size.checked_mul(self.chip.slices) == Some(ingress);
        let own = if is_of_a_slice { size / self.chip.cell } else { in_slices(size) };
        if size == ingress {
            return Some(self.shared);
        }
        // The file has only one egress pool, and the pool's size fits into S. So the size already
        // excludes headroom and reserves.
        let is_only_pool = !name.contains("egress_lossy");
        let is_net = self.net || own == self.shared || is_only_pool && own < self.shared;
        Some(if is_net { own } else { own.saturating_sub(self.reserves.queues) })
    }
}
