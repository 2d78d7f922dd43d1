//! A configuration with its meaning: pools, profiles, groups, queues, maps, ports and cables, each
//! with its place.

use crate::keys::PortName;
use crate::place::{ConfigPlace, Placed, Problem};
use std::collections::{BTreeMap, BTreeSet};

/// The way in which lossless profiles are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// Rows for speed and cable (`pg_profile_lookup.ini`).
    Traditional,
    /// A formula of the vendor, when a port's speed, cable or MTU changes.
    Dynamic,
}

/// The entry `DEVICE_METADATA|localhost`.
#[derive(Clone, Debug, Default)]
pub struct Device {
    /// Hardware model (`Arista-7260CX3-C64`).
    pub hwsku: Option<Placed<String>>,
    /// Platform (`x86_64-mlnx_msn4600c-r0`).
    pub platform: Option<Placed<String>>,
    /// Role (`ToRRouter`).
    pub role: Option<Placed<String>>,
    /// Buffer model, if the entry names it.
    pub model: Option<Placed<Model>>,
    /// Chip of a system with several (`asic0`).
    pub asic: Option<Placed<String>>,
}

/// A port of the front panel.
#[derive(Clone, Debug)]
pub struct PortInfo {
    /// First place that describes the port.
    pub place: ConfigPlace,
    /// Speed (Mb/s).
    pub speed_mbps: Option<Placed<u64>>,
    /// Number of lanes.
    pub lanes: Option<Placed<u32>>,
    /// Largest frame (bytes).
    pub mtu: Option<Placed<u64>>,
    /// Whether the port obeys pauses of all priorities, but sends pauses only for its lossless
    /// priorities (`pfc_asym`).
    pub pfc_asym: Option<Placed<bool>>,
    /// Whether the port is configured as up.
    pub admin_up: Option<Placed<bool>>,
}

/// The side on which a pool accounts packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The ports that packets came from.
    Ingress,
    /// The ports that packets leave through.
    Egress,
    /// The pool counts packets once for ingress and egress (VOQ systems).
    Both,
}

/// The notation of a pool's thresholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// In bytes.
    Static,
    /// A threshold that is a multiple of the free memory.
    Dynamic,
}

/// An entry of `BUFFER_POOL`.
#[derive(Clone, Debug)]
pub struct Pool {
    /// Place of the entry.
    pub place: ConfigPlace,
    /// Side.
    pub side: Option<Placed<Side>>,
    /// Notation of thresholds.
    pub mode: Option<Placed<Mode>>,
    /// Size (bytes); absent if the switch computes it.
    pub size: Option<Placed<u64>>,
    /// Shared headroom (bytes).
    pub xoff: Option<Placed<u64>>,
    /// Share of the memory that the switch has for pools (percent).
    pub percentage: Option<Placed<u64>>,
}

/// The limit of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// Exponent of two of alpha: the limit is alpha times the free memory.
    Dynamic(i8),
    /// A static limit (bytes).
    Static(u64),
}

/// An entry of `BUFFER_PROFILE`.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Place of the entry.
    pub place: ConfigPlace,
    /// Name.
    pub name: String,
    /// Pool.
    pub pool: Option<Placed<String>>,
    /// Reserve (bytes).
    pub size: Option<Placed<u64>>,
    /// Limit of the profile in the pool.
    pub threshold: Option<Placed<Threshold>>,
    /// Occupancy at which the group resumes at the latest (bytes).
    pub xon: Option<Placed<u64>>,
    /// Distance below the threshold at which the group resumes (bytes).
    pub xon_offset: Option<Placed<u64>>,
    /// Headroom beyond the threshold (bytes). A profile with headroom is lossless.
    pub xoff: Option<Placed<u64>>,
    /// Whether the switch computes the headroom.
    pub dynamic_headroom: bool,
    /// Action on packets beyond the limit (`drop`, `trim`).
    pub discard_action: Option<Placed<String>>,
}

/// The reference of a group or queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assigned {
    /// Name of a buffer profile.
    Profile(String),
    /// `NULL`: the switch computes a lossless profile.
    Computed,
}

/// Kinds of maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MapKind {
    /// `DSCP_TO_TC_MAP`.
    DscpToTc,
    /// `DOT1P_TO_TC_MAP`.
    Dot1pToTc,
    /// `TC_TO_QUEUE_MAP`.
    TcToQueue,
    /// `TC_TO_PRIORITY_GROUP_MAP`.
    TcToPg,
    /// `MAP_PFC_PRIORITY_TO_QUEUE`, `PFC_PRIORITY_TO_QUEUE_MAP`.
    PfcToQueue,
    /// `PFC_PRIORITY_TO_PRIORITY_GROUP_MAP`.
    PfcToPg,
    /// Maps that do not select a queue: `TC_TO_DSCP_MAP` and others.
    Other,
}

/// A QoS map of the configuration.
#[derive(Clone, Debug)]
pub struct Map {
    /// Place of the map.
    pub place: ConfigPlace,
    /// Output value of the map by input value.
    pub entries: BTreeMap<u8, Placed<u8>>,
}

impl Map {
    /// The output value of the map for `from`.
    #[must_use]
    pub fn get(&self, from: u8) -> Option<u8> {
        self.entries.get(&from).map(|to| to.value)
    }
}

/// An entry of `PORT_QOS_MAP`.
#[derive(Clone, Debug)]
pub struct PortQos {
    /// Place of the entry.
    pub place: ConfigPlace,
    /// Names of maps by kind.
    pub maps: BTreeMap<MapKind, Placed<String>>,
    /// Priorities with PFC.
    pub pfc_enable: Option<Placed<BTreeSet<u8>>>,
    /// Priorities that the software watchdog watches.
    pub watchdog: Option<Placed<BTreeSet<u8>>>,
    /// Scheduler of the whole port.
    pub scheduler: Option<Placed<String>>,
}

/// An entry of `QUEUE`.
#[derive(Clone, Debug)]
pub struct QueueSetting {
    /// Place of the entry.
    pub place: ConfigPlace,
    /// Scheduler.
    pub scheduler: Option<Placed<String>>,
    /// Marking profile.
    pub wred: Option<Placed<String>>,
}

/// Thresholds of one colour.
#[derive(Clone, Debug, Default)]
pub struct Wred {
    /// Whether packets that cannot be marked are dropped at random (`wred_green_enable`).
    pub enabled: Option<Placed<bool>>,
    /// Occupancy at which marking or dropping begins (bytes).
    pub min: Option<Placed<u64>>,
    /// Occupancy from which on every packet is marked or dropped (bytes).
    pub max: Option<Placed<u64>>,
    /// Probability just below `max` (percent).
    pub probability: Option<Placed<u64>>,
}

/// An entry of `WRED_PROFILE`.
#[derive(Clone, Debug)]
pub struct WredProfile {
    /// Place of the entry.
    pub place: ConfigPlace,
    /// ECN mode: `ecn_all`, `ecn_none`, `ecn_green`, ...
    pub ecn: Option<Placed<String>>,
    /// Thresholds for green, yellow and red packets.
    pub colours: [Wred; 3],
}

/// An entry of `SCHEDULER`.
#[derive(Clone, Debug)]
pub struct Scheduler {
    /// Place of the entry.
    pub place: ConfigPlace,
    /// Kind of scheduler: `DWRR`, `WRR`, `STRICT`.
    pub kind: Option<Placed<String>>,
    /// Share of the queue among its siblings.
    pub weight: Option<Placed<u64>>,
    /// Rates and bursts as written (`pir 1250000000`).
    pub rates: Vec<String>,
}

/// An entry of `PFC_WD`.
#[derive(Clone, Debug)]
pub struct Watchdog {
    /// Place of the entry.
    pub place: ConfigPlace,
    /// Action during a storm: `drop`, `forward`, `alert`.
    pub action: Option<Placed<String>>,
    /// Length of a pause that counts as a storm (milliseconds).
    pub detection_ms: Option<Placed<u64>>,
    /// Time without a pause that ends a storm (milliseconds).
    pub restoration_ms: Option<Placed<u64>>,
}

/// A row of `pg_profile_lookup.ini`.
#[derive(Clone, Debug, PartialEq)]
pub struct LookupRow {
    /// Place of the row.
    pub place: ConfigPlace,
    /// Speed (Mb/s).
    pub speed_mbps: u64,
    /// Cable (metres).
    pub cable_metres: f64,
    /// Reserve (bytes).
    pub size: u64,
    /// Occupancy at which a group resumes at the latest (bytes).
    pub xon: u64,
    /// Headroom (bytes).
    pub xoff: u64,
    /// `dynamic_th` or `static_th`, by the mode of the pool.
    pub threshold: i64,
    /// Distance below the threshold at which a group resumes (bytes).
    pub xon_offset: Option<u64>,
}

/// The whole configuration.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The switch that has the configuration.
    pub device: Device,
    /// Ports.
    pub ports: BTreeMap<PortName, PortInfo>,
    /// Cables (metres).
    pub cables: BTreeMap<PortName, Placed<f64>>,
    /// Pools by name.
    pub pools: BTreeMap<String, Pool>,
    /// Profiles by name.
    pub profiles: BTreeMap<String, Profile>,
    /// Profiles of priority groups.
    pub groups: BTreeMap<(PortName, u8), Placed<Assigned>>,
    /// Profiles of queues.
    pub queues: BTreeMap<(PortName, u8), Placed<Assigned>>,
    /// Whether the profiles of queues name more than one egress pool.
    pub several_queue_pools: bool,
    /// Profiles that limit ports in ingress pools.
    pub ingress_lists: BTreeMap<PortName, Placed<Vec<String>>>,
    /// Profiles that limit ports in egress pools.
    pub egress_lists: BTreeMap<PortName, Placed<Vec<String>>>,
    /// Maps by kind and name.
    pub maps: BTreeMap<(MapKind, String), Map>,
    /// Maps and PFC of ports.
    pub port_qos: BTreeMap<PortName, PortQos>,
    /// Maps of all ports (`PORT_QOS_MAP|global`).
    pub global_qos: Option<PortQos>,
    /// Schedulers and marking of queues.
    pub queue_settings: BTreeMap<(PortName, u8), QueueSetting>,
    /// Marking profiles by name.
    pub wred: BTreeMap<String, WredProfile>,
    /// Schedulers by name.
    pub schedulers: BTreeMap<String, Scheduler>,
    /// Watchdogs of ports.
    pub watchdogs: BTreeMap<PortName, Watchdog>,
    /// Interval at which watchdogs poll (milliseconds).
    pub watchdog_poll_ms: Option<Placed<u64>>,
    /// Alpha of computed lossless profiles (`default_dynamic_th`).
    pub default_dynamic_th: Option<Placed<i8>>,
    /// The whole memory, as a running switch reports it in STATE_DB (bytes).
    pub mmu_size: Option<Placed<u64>>,
    /// Sum of all headroom divided by the shared headroom pool.
    pub over_subscribe_ratio: Option<Placed<f64>>,
    /// MTU of lossless traffic (bytes).
    pub lossless_mtu: Option<Placed<u64>>,
    /// Share of small packets in lossless traffic (percent).
    pub small_packet_percent: Option<Placed<u64>>,
    /// Rows of `pg_profile_lookup.ini`.
    pub lookup: Vec<LookupRow>,
    /// Parts of the configuration that were not understood.
    pub problems: Vec<Problem>,
    /// Tables about buffers and QoS that the files have, also those without entries.
    pub tables: BTreeSet<String>,
    /// Tables without relevance for buffers: name and number of entries.
    pub others: BTreeMap<String, usize>,
    /// The files, in the order in which the caller gave them.
    pub files: Vec<String>,
}

impl Config {
    /// The way in which lossless profiles are computed, if the device entry names it. Otherwise it
    /// is dynamic if a group asks for a computed profile, or if its parameters are set without
    /// rows.
    #[must_use]
    pub fn model(&self) -> Model {
        if let Some(model) = &self.device.model {
            return model.value;
        }
        let computed = self.groups.values().any(|group| group.value == Assigned::Computed);
        if computed || (self.default_dynamic_th.is_some() && self.lookup.is_empty()) {
            Model::Dynamic
        } else {
            Model::Traditional
        }
    }

    /// Priorities on which the port has PFC.
    #[must_use]
    pub fn pfc_priorities(&self, port: &PortName) -> BTreeSet<u8> {
        let qos = self.port_qos.get(port).and_then(|qos| qos.pfc_enable.as_ref());
        qos.map(|enabled| enabled.value.clone()).unwrap_or_default()
    }

    /// Whether the files describe a whole switch: its model, ports, buffers and QoS. Then no table
    /// is in another file.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let any = |names: &[&str]| names.iter().any(|name| self.tables.contains(*name));
        self.device.hwsku.is_some()
            && any(&["PORT"])
            && any(&["BUFFER_POOL", "BUFFER_PROFILE"])
            && any(&["PORT_QOS_MAP", "QUEUE", "TC_TO_QUEUE_MAP", "TC_TO_PRIORITY_GROUP_MAP"])
    }

    /// Whether missing entries of a table are missing on the switch. Otherwise the table may be in
    /// a file that was not given. Many switches have no profile lists of ports, also if their
    /// configuration is whole.
    #[must_use]
    pub fn has_table(&self, name: &str) -> bool {
        self.tables.contains(name) || (!name.ends_with("_PROFILE_LIST") && self.is_whole())
    }

    /// All ports that any table names, without the ports of other cards.
    #[must_use]
    pub fn named_ports(&self) -> BTreeSet<PortName> {
        let groups = self.groups.keys().map(|(port, _)| port);
        let queues = self.queues.keys().map(|(port, _)| port);
        let others = self.ports.keys().chain(self.port_qos.keys()).chain(self.cables.keys());
        groups.chain(queues).chain(others).filter(|port| !port.is_remote()).cloned().collect()
    }

    /// Whether the port has groups or queues. If no port has any, all are in use.
    #[must_use]
    pub fn in_use(&self, port: &PortName) -> bool {
        let any = !self.groups.is_empty() || !self.queues.is_empty();
        let within = (port.clone(), 0)..=(port.clone(), u8::MAX);
        !any || self.groups.range(within.clone()).next().is_some()
            || self.queues.range(within).next().is_some()
    }

    /// The map of a kind for a port: the port's own map, or else the map of all ports.
    #[must_use]
    pub fn map(&self, port: &PortName, kind: MapKind) -> Option<(&str, &Map)> {
        let own = self.port_qos.get(port).and_then(|qos| qos.maps.get(&kind));
        let name = own.or_else(|| self.global_qos.as_ref()?.maps.get(&kind));
        let key = (kind, name?.value.clone());
        self.maps.get_key_value(&key).map(|((_, name), map)| (name.as_str(), map))
    }
}
