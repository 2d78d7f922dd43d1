//! Configuration of a switch with its meaning: pools, profiles, groups, queues, maps, ports and
//! cables, each with its place.

use crate::keys::PortName;
use crate::place::{ConfigPlace, Placed, Problem};
use std::collections::{BTreeMap, BTreeSet};

/// Way in which the switch computes the buffer profiles of lossless groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// The switch takes profiles from rows for speed and cable (`pg_profile_lookup.ini`).
    Traditional,
    /// The switch computes profiles by a formula of the vendor, when a port's speed, cable or MTU
    /// changes.
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
    /// Buffer model of the switch, if the device entry names the model.
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
    /// Number of lanes that the port has.
    pub lanes: Option<Placed<u32>>,
    /// Size of the largest frame on the port (bytes).
    pub mtu: Option<Placed<u64>>,
    /// Whether the port obeys pauses of all priorities, but sends pauses only for its lossless
    /// priorities (`pfc_asym`).
    pub pfc_asym: Option<Placed<bool>>,
    /// Whether the port is configured as up (`admin_status`).
    pub admin_up: Option<Placed<bool>>,
}

/// Side of the switch on which a pool accounts packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The pool accounts packets by the ports at which they arrived.
    Ingress,
    /// The pool accounts packets by the ports through which they leave.
    Egress,
    /// The pool counts packets once for ingress and egress (VOQ systems).
    Both,
}

/// Whether the thresholds of a pool's profiles are numbers of bytes or alphas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Thresholds of the pool's profiles are in bytes.
    Static,
    /// Thresholds of the pool's profiles are multiples of the pool's free memory.
    Dynamic,
}

/// Values of an entry of the table `BUFFER_POOL`.
#[derive(Clone, Debug)]
pub struct Pool {
    /// Place of the pool's entry in the configuration files.
    pub place: ConfigPlace,
    /// Side of the switch on which the pool accounts packets.
    pub side: Option<Placed<Side>>,
    /// Notation of the pool's thresholds.
    pub mode: Option<Placed<Mode>>,
    /// Size of the pool (bytes); absent if the switch computes the size.
    pub size: Option<Placed<u64>>,
    /// Headroom that priority groups share in the pool (bytes).
    pub xoff: Option<Placed<u64>>,
    /// Percentage of the switch's pool memory that belongs to the pool.
    pub percentage: Option<Placed<u64>>,
}

/// Limit of a profile in its pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// The limit is alpha times the pool's free memory; the value is the binary exponent of alpha.
    Dynamic(i8),
    /// The limit is a static number of bytes.
    Static(u64),
}

/// Values of an entry of the table `BUFFER_PROFILE`.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Place of the profile's entry in the configuration files.
    pub place: ConfigPlace,
    /// Name of the buffer profile.
    pub name: String,
    /// Name of the pool that the profile is in.
    pub pool: Option<Placed<String>>,
    /// Reserve of each priority group or queue with the profile (bytes).
    pub size: Option<Placed<u64>>,
    /// Threshold of the priority groups or queues with the profile, in the profile's pool.
    pub threshold: Option<Placed<Threshold>>,
    /// Occupancy at which a priority group with the profile resumes its sender at the latest
    /// (bytes).
    pub xon: Option<Placed<u64>>,
    /// Distance below the threshold at which a priority group with the profile resumes its sender
    /// (bytes).
    pub xon_offset: Option<Placed<u64>>,
    /// Headroom of the profile beyond the threshold (bytes). A profile with headroom is lossless.
    pub xoff: Option<Placed<u64>>,
    /// Whether the switch computes the headroom of the profile.
    pub dynamic_headroom: bool,
    /// Action on packets beyond the profile's limit (`drop`, `trim`).
    pub discard_action: Option<Placed<String>>,
}

/// DSCP that the switch gives to trimmed packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrimDscp {
    /// All trimmed packets get this DSCP.
    Value(u8),
    /// The egress port maps the class `tc_value` to a DSCP (`from-tc`).
    FromTc,
}

/// Queue in which the switch stores trimmed packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrimQueue {
    /// Trimmed packets enter the queue with this number.
    Index(u8),
    /// The DSCP of the trimmed packet selects its queue (`dynamic`).
    Dynamic,
}

/// Values of the entry `SWITCH_TRIMMING|GLOBAL`: queues whose profile has the action `trim` cut
/// packets instead of dropping them.
#[derive(Clone, Debug)]
pub struct Trimming {
    /// Place of the entry in the configuration files.
    pub place: ConfigPlace,
    /// Size to which the switch cuts a packet (bytes).
    pub size: Option<Placed<u64>>,
    /// DSCP of trimmed packets.
    pub dscp: Option<Placed<TrimDscp>>,
    /// Class whose DSCP trimmed packets get if `dscp` is `from-tc`.
    pub class: Option<Placed<u8>>,
    /// Queue of trimmed packets at the egress port.
    pub queue: Option<Placed<TrimQueue>>,
}

/// Reference of a priority group or queue to its buffer profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assigned {
    /// The group or queue has the buffer profile of the given name.
    Profile(String),
    /// The reference is `NULL`: the switch computes a lossless profile.
    Computed,
}

/// Kinds of QoS maps in SONiC's configuration.
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
    /// Kind of the maps that do not select a queue: `TC_TO_DSCP_MAP` and similar maps.
    Other,
}

/// A QoS map of the configuration.
#[derive(Clone, Debug)]
pub struct Map {
    /// Place of the QoS map in the configuration files.
    pub place: ConfigPlace,
    /// Output value of the QoS map for each input value.
    pub entries: BTreeMap<u8, Placed<u8>>,
}

impl Map {
    /// Returns the output value of the map for the input `from`.
    #[must_use]
    pub fn get(&self, from: u8) -> Option<u8> {
        self.entries.get(&from).map(|to| to.value)
    }
}

/// Values of an entry of the table `PORT_QOS_MAP`.
#[derive(Clone, Debug)]
pub struct PortQos {
    /// Place of the port's entry in the configuration files.
    pub place: ConfigPlace,
    /// Names of the port's QoS maps, by kind of map.
    pub maps: BTreeMap<MapKind, Placed<String>>,
    /// Priorities on which the port has PFC.
    pub pfc_enable: Option<Placed<BTreeSet<u8>>>,
    /// Priorities that the port's software watchdog watches.
    pub watchdog: Option<Placed<BTreeSet<u8>>>,
    /// Name of the scheduler of the whole port.
    pub scheduler: Option<Placed<String>>,
}

/// Values of an entry of the table `QUEUE`.
#[derive(Clone, Debug)]
pub struct QueueSetting {
    /// Place of the queue's entry in the configuration files.
    pub place: ConfigPlace,
    /// Name of the queue's scheduler.
    pub scheduler: Option<Placed<String>>,
    /// Name of the queue's marking profile.
    pub wred: Option<Placed<String>>,
}

/// Marking thresholds for packets of one colour.
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

/// Values of an entry of the table `WRED_PROFILE`.
#[derive(Clone, Debug)]
pub struct WredProfile {
    /// Place of the marking profile in the configuration files.
    pub place: ConfigPlace,
    /// ECN mode of the profile: `ecn_all`, `ecn_none`, `ecn_green`, ...
    pub ecn: Option<Placed<String>>,
    /// Thresholds of the profile for green, yellow and red packets.
    pub colours: [Wred; 3],
}

/// Values of an entry of the table `SCHEDULER`.
#[derive(Clone, Debug)]
pub struct Scheduler {
    /// Place of the scheduler's entry in the configuration files.
    pub place: ConfigPlace,
    /// Kind of the scheduler: `DWRR`, `WRR`, `STRICT`.
    pub kind: Option<Placed<String>>,
    /// Weight of a queue with this scheduler among the queues of the port.
    pub weight: Option<Placed<u64>>,
    /// Rates and bursts of the scheduler, as the file has them (`pir 1250000000`).
    pub rates: Vec<String>,
    /// Rate that the scheduler guarantees (`cir`): bytes per second, or packets per second if
    /// `counts_packets`.
    pub least: Option<u64>,
    /// Rate that the scheduler does not exceed (`pir`): bytes per second, or packets per second if
    /// `counts_packets`.
    pub most: Option<u64>,
    /// Burst above the rate `most` (`pbs`), in bytes, or in packets if `counts_packets`.
    pub burst: Option<u64>,
    /// Whether the rates are packets per second (`meter_type` `packets`).
    pub counts_packets: bool,
}

/// Values of an entry of the table `PFC_WD`.
#[derive(Clone, Debug)]
pub struct Watchdog {
    /// Place of the watchdog's entry in the configuration files.
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
    /// Place of the row of `pg_profile_lookup.ini` in the configuration files.
    pub place: ConfigPlace,
    /// Speed of the ports to which the row applies (Mb/s).
    pub speed_mbps: u64,
    /// Length of the cables to which the row applies (metres).
    pub cable_metres: f64,
    /// Reserve of a priority group (bytes).
    pub size: u64,
    /// Occupancy at which a priority group resumes its sender at the latest (bytes).
    pub xon: u64,
    /// Headroom of a priority group (bytes).
    pub xoff: u64,
    /// Value of `dynamic_th` or `static_th`; the mode of the pool decides which of the two keys the
    /// row has.
    pub threshold: i64,
    /// Distance below the threshold at which a priority group resumes its sender (bytes).
    pub xon_offset: Option<u64>,
}

/// The whole buffer and QoS configuration of a switch.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Device entry of the switch that has the configuration.
    pub device: Device,
    /// Settings of the switch's ports, by name of the port.
    pub ports: BTreeMap<PortName, PortInfo>,
    /// Lengths of the ports' cables (metres), by name of the port.
    pub cables: BTreeMap<PortName, Placed<f64>>,
    /// Buffer pools of the switch, by name of the pool.
    pub pools: BTreeMap<String, Pool>,
    /// Buffer profiles of the switch, by name of the profile.
    pub profiles: BTreeMap<String, Profile>,
    /// Buffer profiles of priority groups, by port and number of the group.
    pub groups: BTreeMap<(PortName, u8), Placed<Assigned>>,
    /// Buffer profiles of queues, by port and number of the queue.
    pub queues: BTreeMap<(PortName, u8), Placed<Assigned>>,
    /// Whether the profiles of queues name more than one egress pool.
    pub several_queue_pools: bool,
    /// Names of the profiles that limit each port in ingress pools.
    pub ingress_lists: BTreeMap<PortName, Placed<Vec<String>>>,
    /// Names of the profiles that limit each port in egress pools.
    pub egress_lists: BTreeMap<PortName, Placed<Vec<String>>>,
    /// QoS maps of the switch, by kind and name of the map.
    pub maps: BTreeMap<(MapKind, String), Map>,
    /// QoS maps and PFC of each port, by name of the port.
    pub port_qos: BTreeMap<PortName, PortQos>,
    /// QoS maps of all ports (`PORT_QOS_MAP|global`).
    pub global_qos: Option<PortQos>,
    /// Schedulers and marking profiles of queues, by port and number of the queue.
    pub queue_settings: BTreeMap<(PortName, u8), QueueSetting>,
    /// Marking profiles of the switch, by name of the profile.
    pub wred: BTreeMap<String, WredProfile>,
    /// Schedulers of the switch, by name of the scheduler.
    pub schedulers: BTreeMap<String, Scheduler>,
    /// PFC watchdogs of the ports, by name of the port.
    pub watchdogs: BTreeMap<PortName, Watchdog>,
    /// Size, DSCP and queue of trimmed packets.
    pub trimming: Option<Trimming>,
    /// Interval at which watchdogs poll (milliseconds).
    pub watchdog_poll_ms: Option<Placed<u64>>,
    /// Alpha of the lossless profiles that the switch computes (`default_dynamic_th`).
    pub default_dynamic_th: Option<Placed<i8>>,
    /// Size of the switch's whole packet memory, as a running switch reports it in STATE_DB
    /// (bytes).
    pub mmu_size: Option<Placed<u64>>,
    /// Sum of the headroom of all groups divided by the shared headroom pool.
    pub over_subscribe_ratio: Option<Placed<f64>>,
    /// MTU of lossless traffic (bytes).
    pub lossless_mtu: Option<Placed<u64>>,
    /// Share of small packets in lossless traffic (percent).
    pub small_packet_percent: Option<Placed<u64>>,
    /// Rows of the lookup table `pg_profile_lookup.ini`.
    pub lookup: Vec<LookupRow>,
    /// Parts of the configuration that the reader did not understand.
    pub problems: Vec<Problem>,
    /// Names of the tables about buffers and QoS in the files, including tables without entries.
    pub tables: BTreeSet<String>,
    /// Tables without relevance for buffers: name and number of entries.
    pub others: BTreeMap<String, usize>,
    /// Names of the configuration files, in the order in which the caller gave them.
    pub files: Vec<String>,
    /// Vendor of the configuration files, if they are not SONiC's. The rules of SONiC's schema do
    /// not apply to such files.
    pub vendor: Option<&'static str>,
}

impl Config {
    /// Returns the way in which the switch computes lossless profiles, if the device entry names a
    /// way. Otherwise the way is dynamic in two cases. A group asks for a computed profile, or the
    /// files set parameters of the dynamic model without rows.
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

    /// Priorities on which the port sends and obeys PFC pauses.
    #[must_use]
    pub fn pfc_priorities(&self, port: &PortName) -> BTreeSet<u8> {
        let qos = self.port_qos.get(port).and_then(|qos| qos.pfc_enable.as_ref());
        qos.map(|enabled| enabled.value.clone()).unwrap_or_default()
    }

    /// Whether the files describe a whole switch: model, ports, buffers and QoS. If they do, all
    /// tables of the switch are in these files.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let any = |names: &[&str]| names.iter().any(|name| self.tables.contains(*name));
        self.device.hwsku.is_some()
            && any(&["PORT"])
            && any(&["BUFFER_POOL", "BUFFER_PROFILE"])
            && any(&["PORT_QOS_MAP", "QUEUE", "TC_TO_QUEUE_MAP", "TC_TO_PRIORITY_GROUP_MAP"])
    }

    /// Whether an entry that a table lacks is also missing on the switch. Otherwise the table may
    /// be in a file that the caller did not give. Many switches have no profile lists of ports,
    /// even if the configuration is complete.
    #[must_use]
    pub fn has_table(&self, name: &str) -> bool {
        self.tables.contains(name) || (!name.ends_with("_PROFILE_LIST") && self.is_whole())
    }

    /// Returns the names of all ports in the tables, without the ports of other cards of a chassis.
    #[must_use]
    pub fn named_ports(&self) -> BTreeSet<PortName> {
        let groups = self.groups.keys().map(|(port, _)| port);
        let queues = self.queues.keys().map(|(port, _)| port);
        let others = self.ports.keys().chain(self.port_qos.keys()).chain(self.cables.keys());
        groups.chain(queues).chain(others).filter(|port| !port.is_remote()).cloned().collect()
    }

    /// Whether the port has priority groups or queues. If no port has groups or queues, all ports
    /// are in use.
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
