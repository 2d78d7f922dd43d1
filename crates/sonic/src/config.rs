//! Configuration of a switch with its meaning: pools, profiles, groups, queues, maps, ports and
//! cables, each with its place.

use crate::keys::PortName;
use crate::place::{ConfigPlace, Placed, Problem};
use std::collections::{BTreeMap, BTreeSet};

/// Way in which the switch computes lossless profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// The switch takes rows for speed and cable (`pg_profile_lookup.ini`).
    Traditional,
    /// The switch uses a formula of the vendor, when a port's speed, cable or MTU changes.
    Dynamic,
}

/// Values of the entry `DEVICE_METADATA|localhost`.
#[derive(Clone, Debug, Default)]
pub struct Device {
    /// Hardware model of the switch (`Arista-7260CX3-C64`).
    pub hwsku: Option<Placed<String>>,
    /// Platform of the switch (`x86_64-mlnx_msn4600c-r0`).
    pub platform: Option<Placed<String>>,
    /// Role of the switch (`ToRRouter`).
    pub role: Option<Placed<String>>,
    /// Buffer model, if the entry names it.
    pub model: Option<Placed<Model>>,
    /// Name of the chip in a system with several chips (`asic0`).
    pub asic: Option<Placed<String>>,
}

/// Settings of a port on the front panel.
#[derive(Clone, Debug)]
pub struct PortInfo {
    /// First place in the files that describes the port.
    pub place: ConfigPlace,
    /// Speed of the port (Mb/s).
    pub speed_mbps: Option<Placed<u64>>,
    /// Number of the port's lanes.
    pub lanes: Option<Placed<u32>>,
    /// Size of the largest frame on the port (bytes).
    pub mtu: Option<Placed<u64>>,
    /// Whether the port obeys pauses of all priorities, but sends pauses only for its lossless
    /// priorities (`pfc_asym`).
    pub pfc_asym: Option<Placed<bool>>,
    /// Whether the port is configured as up.
    pub admin_up: Option<Placed<bool>>,
}

/// Side of the switch on which a pool accounts packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The pool accounts packets by the ports that they came from.
    Ingress,
    /// The pool accounts packets by the ports that they leave through.
    Egress,
    /// The pool counts packets once for ingress and egress (VOQ systems).
    Both,
}

/// Notation of a pool's thresholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Thresholds of the pool are in bytes.
    Static,
    /// Thresholds of the pool are multiples of the free memory.
    Dynamic,
}

/// Values of an entry of `BUFFER_POOL`.
#[derive(Clone, Debug)]
pub struct Pool {
    /// Place of the entry in the files.
    pub place: ConfigPlace,
    /// Side of the switch on which the pool accounts packets.
    pub side: Option<Placed<Side>>,
    /// Notation of the pool's thresholds.
    pub mode: Option<Placed<Mode>>,
    /// Size of the pool (bytes); absent if the switch computes it.
    pub size: Option<Placed<u64>>,
    /// Headroom that groups share in the pool (bytes).
    pub xoff: Option<Placed<u64>>,
    /// Percentage of the switch's pool memory that belongs to the pool.
    pub percentage: Option<Placed<u64>>,
}

/// Limit of a profile in its pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// The limit is alpha times the free memory; the value is the binary exponent of alpha.
    Dynamic(i8),
    /// The limit is a static number of bytes.
    Static(u64),
}

/// Values of an entry of `BUFFER_PROFILE`.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Place of the entry in the files.
    pub place: ConfigPlace,
    /// Name of the profile.
    pub name: String,
    /// Name of the profile's pool.
    pub pool: Option<Placed<String>>,
    /// Reserve of each group or queue with the profile (bytes).
    pub size: Option<Placed<u64>>,
    /// Limit of the profile in the pool.
    pub threshold: Option<Placed<Threshold>>,
    /// Occupancy at which a group with the profile resumes at the latest (bytes).
    pub xon: Option<Placed<u64>>,
    /// Distance below the threshold at which a group with the profile resumes (bytes).
    pub xon_offset: Option<Placed<u64>>,
    /// Headroom of the profile beyond the threshold (bytes). A profile with headroom is lossless.
    pub xoff: Option<Placed<u64>>,
    /// Whether the switch computes the headroom of the profile.
    pub dynamic_headroom: bool,
    /// Action on packets beyond the profile's limit (`drop`, `trim`).
    pub discard_action: Option<Placed<String>>,
}

/// Reference of a group or queue to its profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assigned {
    /// The group or queue has the buffer profile of the given name.
    Profile(String),
    /// The reference is `NULL`: the switch computes a lossless profile.
    Computed,
}

/// Kinds of QoS maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MapKind {
    /// The map is in the table `DSCP_TO_TC_MAP`.
    DscpToTc,
    /// The map is in the table `DOT1P_TO_TC_MAP`.
    Dot1pToTc,
    /// The map is in the table `TC_TO_QUEUE_MAP`.
    TcToQueue,
    /// The map is in the table `TC_TO_PRIORITY_GROUP_MAP`.
    TcToPg,
    /// The map is in the table `MAP_PFC_PRIORITY_TO_QUEUE` or `PFC_PRIORITY_TO_QUEUE_MAP`.
    PfcToQueue,
    /// The map is in the table `PFC_PRIORITY_TO_PRIORITY_GROUP_MAP`.
    PfcToPg,
    /// Maps that do not select a queue: `TC_TO_DSCP_MAP` and similar maps.
    Other,
}

/// A QoS map of the configuration.
#[derive(Clone, Debug)]
pub struct Map {
    /// Place of the map in the files.
    pub place: ConfigPlace,
    /// Output value of the map by input value.
    pub entries: BTreeMap<u8, Placed<u8>>,
}

impl Map {
    /// Returns the output value of the map for the input `from`.
    #[must_use]
    pub fn get(&self, from: u8) -> Option<u8> {
        self.entries.get(&from).map(|to| to.value)
    }
}

/// Values of an entry of `PORT_QOS_MAP`.
#[derive(Clone, Debug)]
pub struct PortQos {
    /// Place of the entry in the files.
    pub place: ConfigPlace,
    /// Names of the port's maps by kind.
    pub maps: BTreeMap<MapKind, Placed<String>>,
    /// Priorities on which the port has PFC.
    pub pfc_enable: Option<Placed<BTreeSet<u8>>>,
    /// Priorities that the port's software watchdog watches.
    pub watchdog: Option<Placed<BTreeSet<u8>>>,
    /// Name of the scheduler of the whole port.
    pub scheduler: Option<Placed<String>>,
}

/// Values of an entry of `QUEUE`.
#[derive(Clone, Debug)]
pub struct QueueSetting {
    /// Place of the entry in the files.
    pub place: ConfigPlace,
    /// Name of the queue's scheduler.
    pub scheduler: Option<Placed<String>>,
    /// Name of the queue's marking profile.
    pub wred: Option<Placed<String>>,
}

/// Marking thresholds of one colour.
#[derive(Clone, Debug, Default)]
pub struct Wred {
    /// Whether packets that cannot be marked are dropped at random (`wred_green_enable`).
    pub enabled: Option<Placed<bool>>,
    /// Occupancy at which marking or dropping begins (bytes).
    pub min: Option<Placed<u64>>,
    /// Occupancy from which on every packet is marked or dropped (bytes).
    pub max: Option<Placed<u64>>,
    /// Probability of marking or dropping just below `max` (percent).
    pub probability: Option<Placed<u64>>,
}

/// Values of an entry of `WRED_PROFILE`.
#[derive(Clone, Debug)]
pub struct WredProfile {
    /// Place of the entry in the files.
    pub place: ConfigPlace,
    /// ECN mode of the profile: `ecn_all`, `ecn_none`, `ecn_green`, ...
    pub ecn: Option<Placed<String>>,
    /// Thresholds of the profile for green, yellow and red packets.
    pub colours: [Wred; 3],
}

/// Values of an entry of `SCHEDULER`.
#[derive(Clone, Debug)]
pub struct Scheduler {
    /// Place of the entry in the configuration files.
    pub place: ConfigPlace,
    /// Kind of the scheduler: `DWRR`, `WRR`, `STRICT`.
    pub kind: Option<Placed<String>>,
    /// Weight of a queue with this scheduler among the queues of the port.
    pub weight: Option<Placed<u64>>,
    /// Rates and bursts of the scheduler as written (`pir 1250000000`).
    pub rates: Vec<String>,
    /// Rate that the scheduler guarantees (`cir`), per second in bytes, or in packets if
    /// `counts_packets`.
    pub least: Option<u64>,
    /// Rate that the scheduler does not exceed (`pir`), per second in bytes, or in packets if
    /// `counts_packets`.
    pub most: Option<u64>,
    /// Burst above the rate `most` (`pbs`), in bytes, or in packets if `counts_packets`.
    pub burst: Option<u64>,
    /// Whether the rates are packets per second (`meter_type` `packets`).
    pub counts_packets: bool,
}

/// Values of an entry of `PFC_WD`.
#[derive(Clone, Debug)]
pub struct Watchdog {
    /// Place of the entry in the configuration files.
    pub place: ConfigPlace,
    /// Action of the watchdog during a storm: `drop`, `forward`, `alert`.
    pub action: Option<Placed<String>>,
    /// Length of a pause that counts as a storm (milliseconds).
    pub detection_ms: Option<Placed<u64>>,
    /// Time without a pause that ends a storm (milliseconds).
    pub restoration_ms: Option<Placed<u64>>,
}

/// Values of a row of `pg_profile_lookup.ini`.
#[derive(Clone, Debug, PartialEq)]
pub struct LookupRow {
    /// Place of the row in the configuration files.
    pub place: ConfigPlace,
    /// Speed of the ports that the row is for (Mb/s).
    pub speed_mbps: u64,
    /// Length of the cables that the row is for (metres).
    pub cable_metres: f64,
    /// Reserve of a group (bytes).
    pub size: u64,
    /// Occupancy at which a group resumes at the latest (bytes).
    pub xon: u64,
    /// Headroom of a group (bytes).
    pub xoff: u64,
    /// Value of `dynamic_th` or `static_th`, by the mode of the pool.
    pub threshold: i64,
    /// Distance below the threshold at which a group resumes (bytes).
    pub xon_offset: Option<u64>,
}

/// The whole configuration of a switch.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The switch that has the configuration.
    pub device: Device,
    /// Settings of ports by name.
    pub ports: BTreeMap<PortName, PortInfo>,
    /// Lengths of the ports' cables (metres).
    pub cables: BTreeMap<PortName, Placed<f64>>,
    /// Buffer pools by name.
    pub pools: BTreeMap<String, Pool>,
    /// Buffer profiles by name.
    pub profiles: BTreeMap<String, Profile>,
    /// Buffer profiles of priority groups.
    pub groups: BTreeMap<(PortName, u8), Placed<Assigned>>,
    /// Buffer profiles of queues.
    pub queues: BTreeMap<(PortName, u8), Placed<Assigned>>,
    /// Whether the profiles of queues name more than one egress pool.
    pub several_queue_pools: bool,
    /// Profiles that limit ports in ingress pools.
    pub ingress_lists: BTreeMap<PortName, Placed<Vec<String>>>,
    /// Profiles that limit ports in egress pools.
    pub egress_lists: BTreeMap<PortName, Placed<Vec<String>>>,
    /// QoS maps by kind and name.
    pub maps: BTreeMap<(MapKind, String), Map>,
    /// QoS maps and PFC of ports.
    pub port_qos: BTreeMap<PortName, PortQos>,
    /// QoS maps of all ports (`PORT_QOS_MAP|global`).
    pub global_qos: Option<PortQos>,
    /// Schedulers and marking of queues.
    pub queue_settings: BTreeMap<(PortName, u8), QueueSetting>,
    /// Marking profiles by name.
    pub wred: BTreeMap<String, WredProfile>,
    /// Schedulers by name.
    pub schedulers: BTreeMap<String, Scheduler>,
    /// PFC watchdogs of ports.
    pub watchdogs: BTreeMap<PortName, Watchdog>,
    /// Interval at which watchdogs poll (milliseconds).
    pub watchdog_poll_ms: Option<Placed<u64>>,
    /// Alpha of computed lossless profiles (`default_dynamic_th`).
    pub default_dynamic_th: Option<Placed<i8>>,
    /// Size of the whole memory, as a running switch reports it in STATE_DB (bytes).
    pub mmu_size: Option<Placed<u64>>,
    /// Sum of all headroom divided by the shared headroom pool.
    pub over_subscribe_ratio: Option<Placed<f64>>,
    /// MTU of lossless traffic (bytes).
    pub lossless_mtu: Option<Placed<u64>>,
    /// Share of small packets in lossless traffic (percent).
    pub small_packet_percent: Option<Placed<u64>>,
    /// Rows of `pg_profile_lookup.ini`.
    pub lookup: Vec<LookupRow>,
    /// Parts of the configuration that the reader did not understand.
    pub problems: Vec<Problem>,
    /// Names of the tables about buffers and QoS that the files have, also of
    /// tables without entries.
    pub tables: BTreeSet<String>,
    /// Tables without relevance for buffers: name and number of entries.
    pub others: BTreeMap<String, usize>,
    /// Names of the files, in the order in which the caller gave them.
    pub files: Vec<String>,
    /// Vendor of the files, if they are not SONiC's: rules of SONiC's schema do not apply.
    pub vendor: Option<&'static str>,
}

impl Config {
    /// Way in which the switch computes lossless profiles, if the device entry names it. Otherwise
    /// it is dynamic in two cases: a group asks for a computed profile, or the parameters of the
    /// dynamic model are set without rows.
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

    /// Whether the files describe a whole switch: its model, ports, buffers and QoS. Then no other
    /// file has a table of the switch.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let any = |names: &[&str]| names.iter().any(|name| self.tables.contains(*name));
        self.device.hwsku.is_some()
            && any(&["PORT"])
            && any(&["BUFFER_POOL", "BUFFER_PROFILE"])
            && any(&["PORT_QOS_MAP", "QUEUE", "TC_TO_QUEUE_MAP", "TC_TO_PRIORITY_GROUP_MAP"])
    }

    /// Whether missing entries of a table are missing on the switch. Otherwise the table may be in
    /// a file that the caller did not give. Many switches have no profile lists of ports, even if
    /// their configuration is whole.
    #[must_use]
    pub fn has_table(&self, name: &str) -> bool {
        self.tables.contains(name) || (!name.ends_with("_PROFILE_LIST") && self.is_whole())
    }

    /// Names of all ports in the tables, without the ports of other cards.
    #[must_use]
    pub fn named_ports(&self) -> BTreeSet<PortName> {
        let groups = self.groups.keys().map(|(port, _)| port);
        let queues = self.queues.keys().map(|(port, _)| port);
        let others = self.ports.keys().chain(self.port_qos.keys()).chain(self.cables.keys());
        groups.chain(queues).chain(others).filter(|port| !port.is_remote()).cloned().collect()
    }

    /// Whether the port has groups or queues. If no port has any, all ports are in use.
    #[must_use]
    pub fn in_use(&self, port: &PortName) -> bool {
        let any = !self.groups.is_empty() || !self.queues.is_empty();
        let within = (port.clone(), 0)..=(port.clone(), u8::MAX);
        !any || self.groups.range(within.clone()).next().is_some()
            || self.queues.range(within).next().is_some()
    }

    /// Returns the map of a kind for a port: the port's own map, or else the map of all ports.
    #[must_use]
    pub fn map(&self, port: &PortName, kind: MapKind) -> Option<(&str, &Map)> {
        let own = self.port_qos.get(port).and_then(|qos| qos.maps.get(&kind));
        let name = own.or_else(|| self.global_qos.as_ref()?.maps.get(&kind));
        let key = (kind, name?.value.clone());
        self.maps.get_key_value(&key).map(|((_, name), map)| (name.as_str(), map))
    }
}
