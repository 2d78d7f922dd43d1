//! Finds the buffer profile that a priority group or a queue uses.

use crate::config::{
    Assigned, Config, LookupRow, MapKind, Mode, Model, Pool, Profile, Side, Threshold, TrimDscp, TrimQueue,
};
use crate::keys::PortName;
use crate::place::Placed;
use std::collections::BTreeSet;

/// Name of the pool for the profiles that the switch makes from rows of speed and cable.
pub const LOSSLESS_POOL: &str = "ingress_lossless_pool";
/// Name of the pool with the lossless egress queues.
pub const LOSSLESS_QUEUES: &str = "egress_lossless_pool";

/// Profile of a priority group or queue, or the reason why the profile is absent.
#[derive(Clone, Debug)]
pub enum Resolved {
    /// No buffer profile is assigned to the priority group or queue.
    Nothing,
    /// The profile is in the configuration, or the switch makes it from a row of
    /// `pg_profile_lookup.ini`.
    Profile(Box<Profile>),
    /// The switch computes the profile; the value is the exponent of alpha.
    Computed(i8),
    /// The assigned profile does not exist; the value is its name.
    Dangling(Placed<String>),
    /// PFC is on, but the lookup file has no row for the port's speed (Mb/s) and cable (metres).
    NoRow(u64, f64),
    /// PFC is on, but speed or cable of the port is not known.
    Unknown,
}

impl Resolved {
    /// Returns the buffer profile of the priority group or queue; `None` if no profile applies.
    #[must_use]
    pub fn profile(&self) -> Option<&Profile> {
        match self {
            Self::Profile(profile) => Some(profile),
            _ => None,
        }
    }
}

impl Profile {
    /// Whether the profile has headroom, so that packets beyond the limit cause a pause
    /// instead of a loss.
    #[must_use]
    pub fn is_lossless(&self) -> bool {
        self.xoff.is_some() || self.dynamic_headroom
    }

    /// Whether a queue with the profile trims packets beyond its limit instead of dropping them.
    #[must_use]
    pub fn is_trimming(&self) -> bool {
        self.discard_action.as_ref().is_some_and(|action| action.value.eq_ignore_ascii_case("trim"))
    }

    /// Whether the profile intentionally admits no packet. NVIDIA switches assign such profiles to
    /// ports that are down.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        let limit = self.threshold.as_ref().map(|limit| limit.value);
        self.reserve() == 0 && matches!(limit, Some(Threshold::Dynamic(-8) | Threshold::Static(0)))
    }

    /// Reserve that the profile guarantees (bytes).
    #[must_use]
    pub fn reserve(&self) -> u64 {
        self.size.as_ref().map_or(0, |size| size.value)
    }

    /// Guaranteed minimum of the profile (bytes): the reserve without headroom. Without a
    /// shared headroom pool, a profile's size includes its headroom (`size` = xon + xoff on
    /// NVIDIA switches).
    #[must_use]
    pub fn minimum(&self, shared_headroom: bool) -> u64 {
        let headroom = self.xoff.as_ref().map_or(0, |xoff| xoff.value);
        let size = self.reserve();
        if !shared_headroom && size >= headroom { size - headroom } else { size }
    }

    /// Alpha of the profile, if its limit is dynamic.
    #[must_use]
    pub fn alpha(&self) -> Option<f64> {
        match self.threshold.as_ref()?.value {
            Threshold::Dynamic(exponent) => Some(2f64.powi(i32::from(exponent))),
            Threshold::Static(_) => None,
        }
    }
}

impl Config {
    /// Returns name and settings of the pool that a profile is in.
    #[must_use]
    pub fn pool_of(&self, profile: &Profile) -> Option<(&str, &Pool)> {
        let name = profile.pool.as_ref()?.value.as_str();
        self.pools.get_key_value(name).map(|(name, pool)| (name.as_str(), pool))
    }

    /// Whether priority groups share headroom: a pool has a size of shared headroom, or the
    /// configuration has an over-subscription ratio.
    #[must_use]
    pub fn shared_headroom(&self) -> bool {
        let shared = self.pools.values().any(|pool| pool.xoff.as_ref().is_some_and(|xoff| xoff.value > 0));
        shared || self.over_subscribe_ratio.as_ref().is_some_and(|ratio| ratio.value > 0.0)
    }

    /// Returns the row of `pg_profile_lookup.ini` for a speed (Mb/s) and a cable (metres).
    #[must_use]
    pub fn row(&self, speed_mbps: u64, cable_metres: f64) -> Option<&LookupRow> {
        self.lookup.iter().find(|row| row.speed_mbps == speed_mbps && row.cable_metres == cable_metres)
    }

    /// Returns the profile that the switch makes from a row of `pg_profile_lookup.ini`.
    #[must_use]
    pub fn profile_of(&self, row: &LookupRow) -> Profile {
        let at = |field: &str| row.place.field(field, row.place.line);
        let placed = |field: &str, value: u64| Some(Placed { value, place: at(field) });
        let pool = self.pools.get(LOSSLESS_POOL);
        let fixed = pool.and_then(|pool| pool.mode.as_ref()).is_some_and(|mode| mode.value == Mode::Static);
        let exponent = i8::try_from(row.threshold).ok().filter(|exponent| (-8..=8).contains(exponent));
        let threshold = match (fixed, exponent) {
            (false, Some(exponent)) => Threshold::Dynamic(exponent),
            _ => Threshold::Static(u64::try_from(row.threshold).unwrap_or(0)),
        };
        Profile {
            place: row.place.clone(),
            name: format!("pg_lossless_{}_{}m_profile", row.speed_mbps, row.cable_metres),
            pool: Some(Placed { value: LOSSLESS_POOL.to_owned(), place: row.place.clone() }),
            size: placed("size", row.size),
            threshold: Some(Placed { value: threshold, place: at("threshold") }),
            xon: placed("xon", row.xon),
            xon_offset: row.xon_offset.and_then(|offset| placed("xon_offset", offset)),
            xoff: placed("xoff", row.xoff),
            dynamic_headroom: false,
            discard_action: None,
        }
    }

    /// Returns the lossless priorities of a port: the priorities with PFC. If no file configures
    /// PFC, the result is the numbers of the queues in the lossless egress pool.
    #[must_use]
    pub fn lossless_priorities(&self, port: &PortName) -> BTreeSet<u8> {
        if !self.port_qos.is_empty() {
            return self.pfc_priorities(port);
        }
        let queues = self.queues.range((port.clone(), 0)..=(port.clone(), 7));
        let is_lossless = |assigned: &Assigned| match assigned {
            Assigned::Profile(name) => self.is_lossless_queue_profile(name),
            Assigned::Computed => false,
        };
        queues.filter(|(_, assigned)| is_lossless(&assigned.value)).map(|((_, index), _)| *index).collect()
    }

    /// Whether queues with this profile are lossless. The pool decides in two cases: queues use
    /// several egress pools, or the profile's name is unclear and the file has a lossy egress pool.
    /// Otherwise the profile's name decides, which contains "lossless" or "lossy" on every device.
    #[must_use]
    pub fn is_lossless_queue_profile(&self, name: &str) -> bool {
        let pool = self.profiles.get(name).and_then(|profile| profile.pool.as_ref());
        let is_named = name.contains("lossless") || name.contains("lossy");
        let lossy_pool = || self.pools.keys().any(|pool| pool.contains("egress_lossy"));
        match pool {
            Some(pool) if self.several_queue_pools || !is_named && lossy_pool() => {
                pool.value == LOSSLESS_QUEUES
            }
            _ => name.contains("lossless"),
        }
    }

    /// Whether the profiles of queues name more than one egress pool. Without queues, all profiles
    /// of egress pools count.
    pub(crate) fn names_several_queue_pools(&self) -> bool {
        let used: BTreeSet<&str> = self
            .queues
            .values()
            .filter_map(|assigned| match &assigned.value {
                Assigned::Profile(name) => Some(name.as_str()),
                Assigned::Computed => None,
            })
            .collect();
        let is_egress = |pool: &&Placed<String>| {
            self.pools
                .get(&pool.value)
                .and_then(|pool| pool.side.as_ref())
                .is_some_and(|side| side.value == Side::Egress)
        };
        let of_queues = |profile: &&Profile| used.is_empty() || used.contains(profile.name.as_str());
        let mut pools = self.profiles.values().filter(of_queues).filter_map(|profile| profile.pool.as_ref());
        let Some(first) = pools.by_ref().find(is_egress) else { return false };
        pools.any(|pool| pool.value != first.value && is_egress(&pool))
    }

    /// Returns the profile of a priority group.
    #[must_use]
    pub fn group(&self, port: &PortName, index: u8) -> Resolved {
        match self.groups.get(&(port.clone(), index)) {
            Some(assigned) => self.assigned(assigned),
            None if self.model() == Model::Dynamic || !self.lossless_priorities(port).contains(&index) => {
                Resolved::Nothing
            }
            None => self.looked_up(port),
        }
    }

    fn looked_up(&self, port: &PortName) -> Resolved {
        let speed = self.ports.get(port).and_then(|port| port.speed_mbps.as_ref());
        match (speed, self.cables.get(port)) {
            // A cable of 0 m exempts a port from a computed profile.
            (_, Some(cable)) if cable.value == 0.0 => Resolved::Nothing,
            (Some(speed), Some(cable)) => match self.row(speed.value, cable.value) {
                Some(row) => Resolved::Profile(Box::new(self.profile_of(row))),
                None => Resolved::NoRow(speed.value, cable.value),
            },
            _ => Resolved::Unknown,
        }
    }

    /// Returns the profile of a queue.
    #[must_use]
    pub fn queue(&self, port: &PortName, index: u8) -> Resolved {
        self.queues.get(&(port.clone(), index)).map_or(Resolved::Nothing, |assigned| self.assigned(assigned))
    }

    /// Returns the queue that trimmed packets enter at an egress port. A dynamic queue follows from
    /// the DSCP of trimmed packets by the port's maps. The result is `None` if the files do not
    /// decide.
    #[must_use]
    pub fn trim_queue(&self, port: &PortName) -> Option<u8> {
        let trimming = self.trimming.as_ref()?;
        match (trimming.queue.as_ref()?.value, trimming.dscp.as_ref().map(|dscp| dscp.value)) {
            (TrimQueue::Index(queue), _) => Some(queue),
            (TrimQueue::Dynamic, Some(TrimDscp::Value(dscp))) => {
                let class = self.map(port, MapKind::DscpToTc)?.1.get(dscp)?;
                self.map(port, MapKind::TcToQueue)?.1.get(class)
            }
            (TrimQueue::Dynamic, _) => None,
        }
    }

    fn assigned(&self, assigned: &Placed<Assigned>) -> Resolved {
        match &assigned.value {
            Assigned::Computed => {
                Resolved::Computed(self.default_dynamic_th.as_ref().map_or(0, |exponent| exponent.value))
            }
            Assigned::Profile(name) => match self.profiles.get(name) {
                Some(profile) => Resolved::Profile(Box::new(profile.clone())),
                None => Resolved::Dangling(Placed { value: name.clone(), place: assigned.place.clone() }),
            },
        }
    }
}
