//! Headroom that the cables of a scenario need. The module applies the model of
//! [`bufferlab_units::headroom`] to the network, the transports and the switches.

use crate::model::{PfcSpec, Scenario, SwitchSpec, TransportSpec};
use bufferlab_core::{BufferProfile, Direction, ParamValue};
use bufferlab_topology::{Port, Topology};
use bufferlab_units::headroom::{PacketMemory, PausedCable};

/// Properties of a switch with lossless priorities that determine its headroom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PausingSwitch<'a> {
    pub(crate) pfc: &'a PfcSpec,
    /// Size of a memory cell (bytes); 1 without cells.
    pub(crate) cell_bytes: u32,
    pub(crate) packet_overhead: u32,
    /// Number of bytes of every frame that the switch does not store.
    pub(crate) uncharged_bytes: u32,
}

/// Returns smallest and largest size on the wire (bytes) of the packets that a transport
/// sends with `priority`.
fn sizes(transport: &TransportSpec, priority: u8) -> Option<(u32, u32)> {
    let levels = transport.pias_thresholds_bytes.len();
    let of_data = |&first: &u8| (first..=first.saturating_add(levels as u8)).contains(&priority);
    let header = transport.header_bytes;
    let data = transport
        .data_priorities
        .iter()
        .any(of_data)
        .then(|| (header.saturating_add(1), header.saturating_add(transport.segment_bytes)));
    let is_control = transport.control_priority == priority && transport.congestion_control != "none";
    let tiny = header.saturating_add(transport.control_max_payload_bytes.min(transport.segment_bytes));
    let control = is_control.then(|| {
        let smallest =
            if tiny > header { (header + 1).min(transport.ack_bytes) } else { transport.ack_bytes };
        (smallest, tiny.max(transport.ack_bytes))
    });
    match (data, control) {
        (Some(one), Some(other)) => Some((one.0.min(other.0), one.1.max(other.1))),
        (one, other) => one.or(other),
    }
}

/// Returns the size of the smallest and largest packet that hosts send with `priority` (bytes). For
/// a priority that no transport uses, the packets of all priorities count.
fn packets(transports: &[&TransportSpec], priority: u8) -> Option<(u32, u32)> {
    let join = |one: (u32, u32), other: (u32, u32)| (one.0.min(other.0), one.1.max(other.1));
    let named = transports.iter().filter_map(|transport| sizes(transport, priority)).reduce(join);
    named.or_else(|| {
        let all = transports.iter().map(|transport| {
            let data = transport.header_bytes.saturating_add(transport.segment_bytes);
            let smallest = transport.header_bytes.saturating_add(1).min(transport.ack_bytes);
            (smallest, data.max(transport.ack_bytes))
        });
        all.reduce(join)
    })
}

/// Returns the properties of the cable at `port` of a switch, with the end `end`, that determine
/// the headroom of `priority`. `None` if the priority is lossy or no packets are sent.
pub(crate) fn paused_cable(
    topology: &Topology,
    transports: &[&TransportSpec],
    switch: PausingSwitch<'_>,
    (port, end): (u16, Port),
    priority: u8,
) -> Option<PausedCable> {
    let mask = switch.pfc.mask_at(port);
    if mask >> priority & 1 == 0 {
        return None;
    }
    let (_, arrivals) = topology.links[end.link as usize].from(end.peer)?;
    let (smallest, largest) = packets(transports, priority)?;
    let back = transports.iter().map(|transport| {
        transport.header_bytes.saturating_add(transport.segment_bytes).max(transport.ack_bytes)
    });
    Some(PausedCable {
        arrivals,
        frames: end.rate,
        delay: end.delay,
        reaction: switch.pfc.reaction_at(port),
        packets: PacketMemory {
            smallest,
            largest,
            uncharged: switch.uncharged_bytes,
            overhead: switch.packet_overhead,
            cell: switch.cell_bytes,
        },
        largest_back: back.max().unwrap_or(0),
    })
}

/// Returns the headroom of a policy with `params` for a lossless ingress queue (bytes). The
/// headroom of the last matching buffer profile takes precedence over the parameter `headroom`.
/// `None` if the policy has no headroom.
pub(crate) fn configured(params: &[(String, ParamValue)], port: u16, priority: u8) -> Option<u64> {
    let find = |wanted: &str| params.iter().find(|(name, _)| name == wanted).map(|(_, value)| value);
    let general = match find("headroom")? {
        ParamValue::Bytes(bytes) => *bytes,
        ParamValue::BytesPerPort(list) => *list.get(usize::from(port)).or(list.last())?,
        _ => return None,
    };
    let profiles: &[BufferProfile] = match find("profiles") {
        Some(ParamValue::Profiles(profiles)) => profiles,
        _ => &[],
    };
    let (port, priority) = (usize::from(port), usize::from(priority));
    let mut own = profiles.iter().rev().filter(|one| one.covers(Direction::Ingress, port, priority));
    Some(own.find_map(|profile| profile.headroom).unwrap_or(general))
}

impl Scenario {
    /// Returns the properties of the cable at `port` of a switch that determine the headroom of
    /// `priority`. The result is `None` if the priority is lossy, or if the switch has no port
    /// `port`.
    #[must_use]
    pub fn paused_cable(&self, switch: u32, port: u16, priority: u8) -> Option<PausedCable> {
        let spec: &SwitchSpec = self.switches.get(switch as usize)?;
        let end = *self.topology.ports_of(switch).get(usize::from(port))?;
        let switch = PausingSwitch {
            pfc: spec.pfc.as_ref()?,
            cell_bytes: spec.hardware.switch.cell_bytes,
            packet_overhead: spec.hardware.switch.packet_overhead,
            uncharged_bytes: spec.uncharged_bytes,
        };
        let transports: Vec<&TransportSpec> = self.transports.iter().collect();
        paused_cable(&self.topology, &transports, switch, (port, end), priority)
    }

    /// Returns the configured headroom of `switch` for the ingress queue of `port` and `priority`
    /// (bytes). `None` if the policy of the switch has no headroom.
    #[must_use]
    pub fn configured_headroom(&self, switch: u32, port: u16, priority: u8) -> Option<u64> {
        configured(&self.switches.get(switch as usize)?.policy_params, port, priority)
    }
}
