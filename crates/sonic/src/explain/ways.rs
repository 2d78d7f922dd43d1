//! The way of a packet through a port: traffic class, priority group, queue, and all limits.

use crate::config::{Config, MapKind, Profile, Threshold, TrimDscp};
use crate::keys::PortName;
use crate::resolve::Resolved;
use crate::silicon::headroom::GroupHeadroom;
use crate::silicon::{Chip, Memory};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// A limit that a packet may reach on its way through a port.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Limit {
    /// Name of the limit in tables of explanations.
    pub name: String,
    /// Name of the buffer profile that sets the limit.
    pub profile: String,
    /// Alpha of the limit as a fraction, or the bytes of a static limit.
    pub alpha: String,
    /// Reserve that the buffer profile guarantees (bytes).
    pub reserve: u64,
    /// Threshold including the reserve, for an empty, half full and full pool (bytes). The
    /// thresholds are absent if the pool has no size.
    pub thresholds: Option<[u64; 3]>,
    /// Occupancy that a queue reaches if no other queue uses the pool (bytes).
    pub alone: Option<u64>,
    /// Action of the switch on a packet that exceeds the limit.
    pub then: &'static str,
}

/// Usable headroom of a lossless priority group, and the headroom that the group needs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Headroom {
    /// Headroom that one priority group can use (bytes): the smaller of its profile's headroom and
    /// the headroom pool of a slice.
    pub bytes: u64,
    /// Headroom of the priority group's buffer profile (bytes).
    pub asked: u64,
    /// Speed of the port (Mb/s).
    pub speed_mbps: u64,
    /// Length of the port's cable (metres).
    pub cable_metres: f64,
    /// Size of the largest lossless packet on the port (bytes).
    pub mtu: u64,
    /// Headroom that full-size packets need if the peer stops immediately after the pause (bytes).
    pub least: u64,
    /// Headroom that a port needs if the peer takes the response time of the standard (bytes).
    pub standard: u64,
    /// Usable headroom minus the headroom needed by the standard (bytes).
    pub margin_bytes: i64,
    /// Length of additional cable that the headroom margin covers (metres).
    pub margin_metres: f64,
    /// Sentence that answers whether the headroom is enough.
    pub answer: String,
}

/// Marking in a queue on the way of a packet.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Wred {
    /// Name of the queue's marking profile.
    pub profile: String,
    /// ECN mode of the marking profile, such as `ecn_all`.
    pub ecn: String,
    /// First and last threshold of the marking profile (bytes).
    pub thresholds: [Option<u64>; 2],
}

/// Second admission of packets that a queue trims.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trim {
    /// Size to which the switch cuts a packet (bytes).
    pub size: Option<u64>,
    /// DSCP of the trimmed packet: a number, or `from class 5`.
    pub dscp: Option<String>,
    /// Queue of the trimmed packet at the same egress port.
    pub queue: Option<u8>,
    /// Buffer profile of the queue with the trimmed packets.
    pub profile: Option<String>,
}

/// Formats where trimmed packets go; a missing value is the chip's default.
impl fmt::Display for Trim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.size {
            Some(bytes) => write!(f, "{bytes} B")?,
            None => f.write_str("the chip's default size")?,
        }
        match &self.dscp {
            Some(dscp) => write!(f, ", DSCP {dscp}")?,
            None => f.write_str(", the chip's default DSCP")?,
        }
        let profile = self.profile.as_deref().unwrap_or("no profile: the limit of the chip applies");
        match self.queue {
            Some(queue) => write!(f, ", admitted again to queue {queue} ({profile})"),
            None => f.write_str(", admitted again to a queue that these files do not name"),
        }
    }
}

/// The way of one traffic class through the switch: priority group, queue and limits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Way {
    /// Number of the traffic class.
    pub class: u8,
    /// DSCP values that map to the traffic class.
    pub dscp: Vec<u8>,
    /// Priority group of the traffic class at ingress.
    pub group: Option<u8>,
    /// Queue of the traffic class at egress.
    pub queue: Option<u8>,
    /// Whether the priority group has PFC.
    pub pfc: bool,
    /// Limits that a packet of the class may reach, in the order in which the switch checks them.
    pub limits: Vec<Limit>,
    /// Headroom of the priority group, if the group is lossless.
    pub headroom: Option<Headroom>,
    /// Distance of the priority group's resume point below its pause point (bytes).
    pub resume_below: Option<u64>,
    /// Marking in the egress queue of the class.
    pub wred: Option<Wred>,
    /// Way of trimmed packets, if the egress queue trims.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trim: Option<Trim>,
}

/// A kind of port: ports with equal speed, cable and ways of packets.
#[derive(Clone, Debug, Serialize)]
pub struct PortKind {
    /// Names of the ports that are of this kind.
    pub ports: Vec<String>,
    /// Speed that all ports of this kind have (Mb/s).
    pub speed_mbps: Option<u64>,
    /// Length of the cables of all ports of this kind (metres).
    pub cable_metres: Option<f64>,
    /// Limits and queues on the way of each traffic class through the switch.
    pub ways: Vec<Way>,
}

/// Returns the kinds of ports, each with the ways of all traffic classes.
pub(super) fn kinds(config: &Config, memory: Option<&Memory>, chip: Option<&'static Chip>) -> Vec<PortKind> {
    let mut kinds: Vec<(PortName, PortKind)> = Vec::new();
    for port in config.named_ports().into_iter().filter(|port| config.in_use(port)) {
        let ways: Vec<Way> =
            classes(config, &port).into_iter().map(|class| way(config, memory, chip, &port, class)).collect();
        if ways.iter().all(|way| way.limits.is_empty()) {
            continue;
        }
        let speed_mbps =
            config.ports.get(&port).and_then(|port| port.speed_mbps.as_ref()).map(|speed| speed.value);
        let cable_metres = config.cables.get(&port).map(|cable| cable.value);
        let same = |kind: &&mut (PortName, PortKind)| {
            let kind = &kind.1;
            kind.speed_mbps == speed_mbps && kind.cable_metres == cable_metres && kind.ways == ways
        };
        match kinds.iter_mut().find(same) {
            Some((_, kind)) => kind.ports.push(port.to_string()),
            None => {
                let kind = PortKind { ports: vec![port.to_string()], speed_mbps, cable_metres, ways };
                kinds.push((port, kind));
            }
        }
    }
    kinds.into_iter().map(|(_, kind)| kind).collect()
}

/// Returns the traffic classes of a port, from its QoS maps. Without QoS maps, each group and queue
/// is a class.
fn classes(config: &Config, port: &PortName) -> Vec<u8> {
    let maps = [MapKind::TcToPg, MapKind::TcToQueue].into_iter().filter_map(|kind| config.map(port, kind));
    let mut classes: Vec<u8> = maps.flat_map(|(_, map)| map.entries.keys().copied()).collect();
    if classes.is_empty() {
        let within = (port.clone(), 0)..=(port.clone(), 7);
        let groups = config.groups.range(within.clone()).map(|((_, index), _)| *index);
        let queues = config.queues.range(within).map(|((_, index), _)| *index);
        classes = groups.chain(queues).chain(config.lossless_priorities(port)).collect();
    }
    classes.sort_unstable();
    classes.dedup();
    classes
}

fn way(
    config: &Config,
    memory: Option<&Memory>,
    chip: Option<&'static Chip>,
    port: &PortName,
    class: u8,
) -> Way {
    let to = |kind| match config.map(port, kind) {
        Some((_, map)) => map.get(class),
        None => Some(class),
    };
    let (group, queue) = (to(MapKind::TcToPg), to(MapKind::TcToQueue));
    let dscp = config.map(port, MapKind::DscpToTc).map_or_else(Vec::new, |(_, map)| {
        map.entries.iter().filter(|(_, to)| to.value == class).map(|(dscp, _)| *dscp).collect()
    });
    let pfc = group.is_some_and(|group| config.lossless_priorities(port).contains(&group));
    let mut way = Way {
        class,
        dscp,
        group,
        queue,
        pfc,
        limits: Vec::new(),
        headroom: None,
        resume_below: None,
        wred: None,
        trim: None,
    };
    if let Some(profile) = group.and_then(|group| group_profile(config, chip, port, group)) {
        let then = if profile.is_lossless() { "pause" } else { "drop" };
        way.limits.push(limit(config, memory, "priority group", &profile, then));
        for name in config.ingress_lists.get(port).map_or(&[][..], |list| &list.value) {
            let of_pool = config.profiles.get(name).filter(|of_port| {
                of_port.pool.as_ref().map(|pool| &pool.value) == profile.pool.as_ref().map(|pool| &pool.value)
            });
            way.limits.extend(of_pool.map(|of_port| limit(config, memory, "port at ingress", of_port, then)));
        }
        if profile.is_lossless() {
            way.headroom = headroom(config, chip, port, &profile);
            way.resume_below = profile.xon_offset.as_ref().map(|offset| offset.value);
        }
    }
    if let Some(Resolved::Profile(profile)) = queue.map(|queue| config.queue(port, queue)) {
        let then = if profile.is_trimming() { "trim" } else { "drop" };
        way.trim = profile.is_trimming().then(|| trim(config, port));
        way.limits.push(limit(config, memory, "queue", &profile, then));
        for name in config.egress_lists.get(port).map_or(&[][..], |list| &list.value) {
            let of_pool = config.profiles.get(name).filter(|of_port| {
                of_port.pool.as_ref().map(|pool| &pool.value) == profile.pool.as_ref().map(|pool| &pool.value)
            });
            way.limits
                .extend(of_pool.map(|of_port| limit(config, memory, "port at egress", of_port, "drop")));
        }
    }
    way.wred = queue.and_then(|queue| marking(config, port, queue));
    way
}

/// Returns the profile of a priority group, as assigned or as the switch computes it.
fn group_profile(
    config: &Config,
    chip: Option<&'static Chip>,
    port: &PortName,
    group: u8,
) -> Option<Box<Profile>> {
    match config.group(port, group) {
        Resolved::Profile(profile) => Some(profile),
        Resolved::Computed(exponent) => {
            crate::nvidia::computed_profile(config, port, exponent, chip?).map(Box::new)
        }
        _ => None,
    }
}

fn trim(config: &Config, port: &PortName) -> Trim {
    let trimming = config.trimming.as_ref();
    let dscp = trimming.and_then(|trimming| match trimming.dscp.as_ref()?.value {
        TrimDscp::Value(dscp) => Some(dscp.to_string()),
        TrimDscp::FromTc => Some(
            trimming
                .class
                .as_ref()
                .map_or("from a class".to_owned(), |class| format!("from class {}", class.value)),
        ),
    });
    let queue = config.trim_queue(port);
    let profile = queue.and_then(|queue| config.queue(port, queue).profile().map(|of| of.name.clone()));
    let size = trimming.and_then(|trimming| trimming.size.as_ref()).map(|size| size.value);
    Trim { size, dscp, queue, profile }
}

fn marking(config: &Config, port: &PortName, queue: u8) -> Option<Wred> {
    let name = config.queue_settings.get(&(port.clone(), queue))?.wred.as_ref()?;
    let profile = config.wred.get(&name.value)?;
    let green = &profile.colours[0];
    Some(Wred {
        profile: name.value.clone(),
        ecn: profile.ecn.as_ref().map_or("ecn_none".to_owned(), |ecn| ecn.value.clone()),
        thresholds: [&green.min, &green.max].map(|value| value.as_ref().map(|value| value.value)),
    })
}

/// Formats alpha as an integer or a fraction: 8, 1, 1/8.
pub(crate) fn fraction(exponent: i8) -> String {
    if exponent >= 0 { (1u32 << exponent).to_string() } else { format!("1/{}", 1u32 << -exponent) }
}

fn limit(
    config: &Config,
    memory: Option<&Memory>,
    name: &str,
    profile: &Profile,
    then: &'static str,
) -> Limit {
    let reserve = profile.minimum(config.shared_headroom());
    let shared = shared_bytes(config, memory, profile);
    let threshold = profile.threshold.as_ref().map(|limit| match (limit.value, memory) {
        (Threshold::Dynamic(exponent), Some(memory)) => Threshold::Dynamic(memory.chip.exponent(exponent)),
        (threshold, _) => threshold,
    });
    let alpha = match threshold {
        Some(Threshold::Dynamic(exponent)) => fraction(exponent),
        Some(Threshold::Static(bytes)) => format!("{bytes} B"),
        None => "no limit".to_owned(),
    };
    let at = |used: u64| {
        let shared = shared?;
        let free = shared.saturating_sub(used);
        Some(reserve.saturating_add(match threshold {
            Some(Threshold::Dynamic(exponent)) if exponent >= 0 => free.saturating_mul(1 << exponent),
            Some(Threshold::Dynamic(exponent)) => free >> -exponent,
            Some(Threshold::Static(bytes)) => bytes,
            None => free,
        }))
    };
    let alone = shared.map(|shared| {
        reserve
            + match threshold {
                Some(Threshold::Dynamic(exponent)) => crate::silicon::share(exponent, shared),
                Some(Threshold::Static(bytes)) => bytes.min(shared),
                None => shared,
            }
    });
    let thresholds = shared.and_then(|shared| Some([at(0)?, at(shared / 2)?, at(shared)?]));
    Limit { name: name.to_owned(), profile: profile.name.clone(), alpha, reserve, thresholds, alone, then }
}

/// Returns the shared memory of a profile's pool in one slice (bytes).
fn shared_bytes(config: &Config, memory: Option<&Memory>, profile: &Profile) -> Option<u64> {
    let (name, pool) = config.pool_of(profile)?;
    match memory {
        Some(memory) if memory.pool == name => Some(memory.shared * memory.chip.cell),
        Some(memory) => Some(pool.size.as_ref()?.value / memory.chip.slices),
        None => Some(pool.size.as_ref()?.value),
    }
}

fn headroom(
    config: &Config,
    chip: Option<&'static Chip>,
    port: &PortName,
    profile: &Profile,
) -> Option<Headroom> {
    let speed_mbps = config.ports.get(port)?.speed_mbps.as_ref()?.value;
    let cable_metres = config.cables.get(port)?.value;
    let ports = std::slice::from_ref(port);
    let found = GroupHeadroom::new(config, chip, ports, profile, (speed_mbps, cable_metres))?;
    Some(Headroom {
        bytes: found.usable,
        asked: found.asked,
        speed_mbps,
        cable_metres,
        mtu: found.mtu,
        least: found.needs.least,
        standard: found.needs.full_size,
        margin_bytes: found.margin_bytes(),
        margin_metres: found.margin_metres(),
        answer: found.answer(),
    })
}

/// Lists the reasons why lossless groups cannot be explained, each with all affected ports.
pub(crate) fn gaps(config: &Config) -> Vec<String> {
    let mut found: BTreeMap<String, Vec<PortName>> = BTreeMap::new();
    for port in config.named_ports().into_iter().filter(|port| config.in_use(port)) {
        for group in config.lossless_priorities(&port) {
            let why = match config.group(&port, group) {
                Resolved::Computed(exponent) => {
                    format!(
                        "group {group}: the switch computes the profile, with alpha {}",
                        fraction(exponent)
                    )
                }
                Resolved::NoRow(speed, cable) => {
                    format!("group {group}: no row for {speed} Mb/s and {cable} m")
                }
                Resolved::Unknown => format!("group {group}: speed or cable are not known"),
                Resolved::Dangling(name) => format!("group {group}: there is no profile {}", name.value),
                Resolved::Nothing | Resolved::Profile(_) => continue,
            };
            found.entry(why).or_default().push(port.clone());
        }
    }
    found.into_iter().map(|(why, ports)| format!("{why} ({})", crate::lint::some(&ports))).collect()
}
