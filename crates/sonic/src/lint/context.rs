//! Data that several lint rules need: lossless classes, pause points, memory, short lists of ports.

use super::Options;
use crate::config::{Config, Pool, Profile, Threshold};
use crate::keys::PortName;
use crate::silicon::{Class, GENERIC, Memory, classes, share};
use std::collections::BTreeMap;

/// Round-trip time within a data centre without queues (microseconds).
const ROUND_TRIP_US: f64 = 8.0;

pub(super) struct Context<'c> {
    pub(super) config: &'c Config,
    pub(super) options: &'c Options,
    /// Memory of the chip, or a memory that counts bytes if the chip is not known. The field is
    /// absent if no pool has a size.
    pub(super) memory: Option<Memory>,
    /// Classes of lossless priority groups; the groups of a class have one profile.
    pub(super) classes: Vec<Class>,
    /// Profiles of lossy queues that are in use, by name.
    pub(super) lossy_queues: Vec<&'c Profile>,
}

impl<'c> Context<'c> {
    pub(super) fn new(config: &'c Config, options: &'c Options) -> Self {
        let memory = Memory::new(config, options.chip.unwrap_or(&GENERIC)).ok();
        let classes = classes(config, &mut Vec::new()).into_values().collect();
        let mut lossy: BTreeMap<&str, &Profile> = BTreeMap::new();
        for assigned in config.queues.iter().filter(|((port, _), _)| !port.is_remote()).map(|(_, to)| to) {
            if let crate::config::Assigned::Profile(name) = &assigned.value
                && !config.is_lossless_queue_profile(name)
                && let Some(profile) = config.profiles.get(name).filter(|profile| !profile.is_zero())
            {
                lossy.insert(name, profile);
            }
        }
        Self { config, options, memory, classes, lossy_queues: lossy.into_values().collect() }
    }

    /// Pause point of a lone priority group of a class (bytes).
    pub(super) fn pause(&self, class: &Class) -> Option<u64> {
        let memory = self.memory.as_ref()?;
        Some(memory.group(self.config, class, 64)?.pause * memory.chip.cell)
    }

    /// Limit of a profile for a lone queue in a pool of `size` bytes (bytes).
    pub(super) fn lone_limit(profile: &Profile, size: u64) -> Option<u64> {
        Some(match profile.threshold.as_ref()?.value {
            Threshold::Dynamic(exponent) => share(exponent, size),
            Threshold::Static(bytes) => bytes,
        })
    }

    pub(super) fn pool_size(&self, profile: &Profile) -> Option<(&str, &Pool, u64)> {
        let (name, pool) = self.config.pool_of(profile)?;
        Some((name, pool, pool.size.as_ref()?.value))
    }

    pub(super) fn round_trip_us(&self) -> f64 {
        self.options.round_trip_us.unwrap_or(ROUND_TRIP_US)
    }
}

/// Formats a list of ports: the names of the first ports, and the number of the remaining ports.
pub(crate) fn some(ports: &[PortName]) -> String {
    const SHOWN: usize = 3;
    let names: Vec<_> = ports.iter().take(SHOWN).map(ToString::to_string).collect();
    match ports.len().saturating_sub(SHOWN) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}
