//! Rules about lossless groups: headroom, its size, and resume points.

use super::context::{Context, some};
use super::{Findings, Severity};
use crate::config::{Config, Model, Threshold};
use crate::keys::PortName;
use crate::resolve::Resolved;
use bufferlab_theory::forms::sonic_headroom::tabulated_quanta;
use bufferlab_units::headroom::{PacketMemory, PausedCable};
use bufferlab_units::{BitRate, Time};
use std::collections::BTreeMap;

/// Largest frame if a port does not set its MTU (bytes): SONiC's default.
const MTU: u64 = 9_100;
/// Speed of light in a fibre or cable (metres per second), as in SONiC's calculation.
const METRES_PER_SECOND: f64 = 198e6;
/// Pause quanta are 512 bit times (bits).
const QUANTUM_BITS: f64 = 512.0;

/// Smallest packet that a peer may send (bytes), and the usual large packet of a network without
/// jumbo frames (bytes).
const SMALLEST: u32 = 64;
const ORDINARY: u32 = 1_500;

/// Headroom that a port needs after a pause decision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Need {
    /// Need with ordinary packets, a pause frame that never waits and a peer that stops at once
    /// (bytes). Less headroom is never enough.
    pub(crate) least: u64,
    /// Need with full-size packets and frames, and the response time that the standard allows
    /// (bytes).
    pub(crate) standard: u64,
    /// Need as in `standard`, but with the packet size from 64 B that wastes most memory (bytes).
    pub(crate) worst: u64,
}

/// Headroom that a port needs. Without a tabulated response time the peer stops at once.
pub(crate) fn need(speed_mbps: u64, cable_metres: f64, mtu: u64, cell: u64) -> Need {
    let rate = BitRate(speed_mbps.saturating_mul(1_000_000));
    let frame = u32::try_from(mtu).unwrap_or(u32::MAX);
    let cell = u32::try_from(cell).unwrap_or(0);
    let seconds = |seconds: f64| Time((seconds * 1e12) as u64);
    let quanta = tabulated_quanta(speed_mbps as f64).unwrap_or(0.0);
    let response = seconds(quanta * QUANTUM_BITS / (speed_mbps as f64 * 1e6));
    let bytes = |reaction: Time, smallest: u32, largest: u32, largest_back: u32| {
        let cable = PausedCable {
            arrivals: rate,
            frames: rate,
            delay: seconds(cable_metres / METRES_PER_SECOND),
            reaction,
            packets: PacketMemory { smallest, largest, uncharged: 0, overhead: 0, cell },
            largest_back,
        };
        cable.headroom().bytes()
    };
    let ordinary = ORDINARY.min(frame);
    Need {
        least: bytes(Time::ZERO, ordinary, ordinary, 0),
        standard: bytes(response, frame, frame, frame),
        worst: bytes(response, SMALLEST.min(frame), frame, frame),
    }
}

/// The largest lossless packet on these ports (bytes).
pub(crate) fn mtu(config: &Config, ports: &[PortName]) -> u64 {
    let written = |port: &PortName| config.ports.get(port)?.mtu.as_ref().map(|mtu| mtu.value);
    let of_ports = ports.iter().filter_map(written).max().unwrap_or(MTU);
    // Lossless packets may be smaller than the largest that the ports carry.
    config.lossless_mtu.as_ref().map_or(of_ports, |mtu| mtu.value.min(of_ports))
}

pub(super) fn headroom_too_small(context: &Context<'_>, findings: &mut Findings) {
    for class in &context.classes {
        let (Some(speed), Some(cable)) = (class.speed_mbps, class.cable_metres) else { continue };
        let Some(xoff) = class.profile.xoff.as_ref().filter(|xoff| xoff.value > 0) else { continue };
        if speed == 0 {
            continue;
        }
        let cell = context.options.chip.map_or(1, |chip| chip.cell);
        let need = need(speed, cable, mtu(context.config, &class.ports), cell);
        let has = format!(
            "{} of {}: {} B of headroom at {speed} Mb/s over {cable} m",
            class.profile.name,
            some(&class.ports),
            xoff.value
        );
        let (severity, why, enough) = if xoff.value < need.least {
            let why = format!("{} B arrive even if the peer stops at once", need.least);
            (Severity::Error, why, need.standard)
        } else if xoff.value < need.standard {
            let why =
                format!("{} B may arrive if the peer takes as long as the standard allows", need.standard);
            (Severity::Warning, why, need.standard)
        } else if xoff.value < need.worst {
            let why = format!(
                "enough for large packets; small ones in cells of {cell} B may take {} B",
                need.worst
            );
            (Severity::Info, why, need.worst)
        } else {
            continue;
        };
        findings.add_as(
            severity,
            &xoff.place,
            format!("{has}; {why}"),
            format!("\"xoff\": \"{enough}\" or more"),
        );
    }
    shrinking_rows(context, findings);
}

/// Rows that give a longer cable less headroom than a shorter one: one of the two is wrong.
fn shrinking_rows(context: &Context<'_>, findings: &mut Findings) {
    let rows = &context.config.lookup;
    for row in rows {
        let shorter = rows.iter().filter(|other| {
            other.speed_mbps == row.speed_mbps
                && other.cable_metres < row.cable_metres
                && other.xoff > row.xoff
        });
        if let Some(other) = shorter.max_by_key(|other| other.xoff) {
            findings.add_as(
                Severity::Warning,
                &row.place.field("xoff", row.place.line),
                format!(
                    "{} B of headroom for {} m at {} Mb/s, but {} B for {} m",
                    row.xoff, row.cable_metres, row.speed_mbps, other.xoff, other.cable_metres
                ),
                format!("xoff of {} or more, or less for {} m", other.xoff, other.cable_metres),
            );
        }
    }
}

pub(super) fn no_row(context: &Context<'_>, findings: &mut Findings) {
    let config = context.config;
    // Without any row, the caller did not give the file.
    if config.lookup.is_empty() || config.model() == Model::Dynamic {
        return;
    }
    let mut missing: BTreeMap<(u64, u64), Vec<PortName>> = BTreeMap::new();
    for port in config.named_ports().into_iter().filter(|port| config.in_use(port)) {
        let lossless = config.lossless_priorities(&port);
        let no_row = lossless.into_iter().find_map(|index| match config.group(&port, index) {
            Resolved::NoRow(speed, cable) => Some((speed, cable.to_bits())),
            _ => None,
        });
        if let Some(key) = no_row {
            missing.entry(key).or_default().push(port);
        }
    }
    for ((speed, cable), ports) in missing {
        let cable = f64::from_bits(cable);
        let place = config
            .cables
            .get(&ports[0])
            .map_or_else(|| config.ports[&ports[0]].place.clone(), |cable| cable.place.clone());
        let need = need(speed.max(1), cable, MTU, 1);
        findings.add(
            &place,
            format!(
                "no row for {speed} Mb/s and {cable} m, so there is PFC without headroom on {}",
                some(&ports)
            ),
            format!(
                "add a row \"{speed} {cable}m ...\" with xoff of {} or more, or a cable length that has one",
                need.standard
            ),
        );
    }
}

pub(super) fn xon_above_threshold(context: &Context<'_>, findings: &mut Findings) {
    for class in &context.classes {
        let Some(pause) = context.pause(class) else { continue };
        let profile = &class.profile;
        let offset = profile.xon_offset.as_ref().filter(|offset| offset.value >= pause && offset.value > 0);
        if let Some(offset) = offset {
            findings.add(
                &offset.place,
                format!(
                    "{} resumes {} B below its pause point, which is {} B at most: it resumes when it is empty",
                    profile.name, offset.value, pause
                ),
                "lower xon_offset to one or two packets",
            );
        }
        let xon = profile.xon.as_ref().filter(|xon| xon.value > 0 && xon.value >= pause);
        if let Some(xon) = xon {
            findings.add(
                &xon.place,
                format!(
                    "{} resumes at {} B, and pauses at {} B at most: it never stays paused",
                    profile.name, xon.value, pause
                ),
                format!("lower xon below {}, or raise the threshold", pause),
            );
        }
    }
}

pub(super) fn pfc_without_headroom(context: &Context<'_>, findings: &mut Findings) {
    let config = context.config;
    let mut found: BTreeMap<(String, u8), Vec<PortName>> = BTreeMap::new();
    for (port, qos) in config.port_qos.iter().filter(|(port, _)| config.in_use(port)) {
        for priority in qos.pfc_enable.iter().flat_map(|enabled| enabled.value.iter().copied()) {
            let group =
                config.map(port, crate::config::MapKind::PfcToPg).and_then(|(_, map)| map.get(priority));
            let group = group.unwrap_or(priority);
            let why = match config.group(port, group) {
                Resolved::Profile(profile) if !profile.is_lossless() => {
                    format!("has the profile {} without xoff", profile.name)
                }
                Resolved::Profile(profile)
                    if profile.xoff.as_ref().is_some_and(|xoff| xoff.value == 0)
                        && !profile.dynamic_headroom =>
                {
                    format!("has {} with xoff 0", profile.name)
                }
                Resolved::Nothing if has_exempt_cable(context, port) => {
                    "has a cable of 0 m, so no profile is made".to_owned()
                }
                Resolved::Nothing if config.model() == Model::Dynamic && !config.groups.is_empty() => {
                    "has no profile".to_owned()
                }
                _ => continue,
            };
            found.entry((why, group)).or_default().push(port.clone());
        }
    }
    for ((why, group), ports) in found {
        let place = match config.groups.get(&(ports[0].clone(), group)) {
            Some(assigned) => assigned.place.clone(),
            None => config.port_qos[&ports[0]].place.clone(),
        };
        findings.add(
            &place,
            format!(
                "PFC is on for priority group {group} of {}, which {why}: there is no headroom",
                some(&ports)
            ),
            "assign a lossless profile (NULL in the dynamic model), or take the priority out of pfc_enable",
        );
    }
}

fn has_exempt_cable(context: &Context<'_>, port: &PortName) -> bool {
    context.config.cables.get(port).is_some_and(|cable| cable.value == 0.0)
}

pub(super) fn alpha_below_bdp(context: &Context<'_>, findings: &mut Findings) {
    let round_trip = context.round_trip_us();
    let product = |speed_mbps: u64| (speed_mbps as f64 * round_trip / 8.0) as u64;
    let hint = "raise dynamic_th by one (alpha doubles), or accept it: name the round trip with --round-trip";
    for class in &context.classes {
        let (Some(speed), Some(pause)) = (class.speed_mbps, context.pause(class)) else { continue };
        if pause < product(speed) {
            findings.add(
                class.profile.threshold.as_ref().map_or(&class.profile.place, |limit| &limit.place),
                format!(
                    "a lone group with {} pauses at {} B; {speed} Mb/s times {round_trip} us are {} B",
                    class.profile.name,
                    pause,
                    product(speed)
                ),
                hint,
            );
        }
    }
    let fastest = context
        .config
        .ports
        .values()
        .filter_map(|port| port.speed_mbps.as_ref())
        .map(|speed| speed.value)
        .max();
    let (Some(fastest), Some(memory)) = (fastest, &context.memory) else { return };
    for profile in &context.lossy_queues {
        let is_dynamic =
            matches!(profile.threshold.as_ref().map(|limit| limit.value), Some(Threshold::Dynamic(_)));
        let Some(point) = memory.queue(context.config, profile).filter(|_| is_dynamic) else { continue };
        let drop = point.drop * memory.chip.cell;
        if drop < product(fastest) {
            findings.add(
                profile.threshold.as_ref().map_or(&profile.place, |limit| &limit.place),
                format!(
                    "a lone queue with {} drops at {drop} B; {fastest} Mb/s times {round_trip} us are {} B",
                    profile.name,
                    product(fastest)
                ),
                hint,
            );
        }
    }
}

/// Length of cable that `bytes` of headroom cover beyond a link that needs `needed` bytes (metres);
/// negative if headroom is missing.
pub(crate) fn spare_metres(bytes: u64, needed: u64, speed_mbps: u64) -> f64 {
    let spare = bytes as f64 - needed as f64;
    // A metre of cable adds 2 C / v bits, for both directions.
    spare * 8.0 * METRES_PER_SECOND / (2.0 * speed_mbps.max(1) as f64 * 1e6)
}
