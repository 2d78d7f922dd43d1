//! Lint rules about trimming: the settings of the switch, and the queue that trimmed packets enter.
//!
//! A queue whose profile has `packet_discard_action` `trim` cuts an excess packet and admits the
//! packet a second time, to the trim queue of the same port. Source: SONiC#1898 and SAI#2077.
//! Without a queue that trims, these rules report nothing.

use super::context::{Context, some};
use super::{Findings, Severity};
use crate::config::{Assigned, Config, MapKind, Profile, Threshold, TrimDscp, Trimming};
use crate::keys::PortName;
use crate::silicon::headroom::mtu;
use crate::silicon::{Chip, GENERIC};
use bufferlab_theory::forms::headroom::SONIC_METRES_PER_SECOND;
use std::collections::BTreeMap;

/// Profiles of queues that trim, with the ports of these queues.
fn trimming_profiles(config: &Config) -> BTreeMap<&str, (&Profile, Vec<PortName>)> {
    let mut found: BTreeMap<&str, (&Profile, Vec<PortName>)> = BTreeMap::new();
    for ((port, _), assigned) in config.queues.iter().filter(|((port, _), _)| !port.is_remote()) {
        let Assigned::Profile(name) = &assigned.value else { continue };
        if let Some(profile) = config.profiles.get(name).filter(|profile| profile.is_trimming()) {
            let ports = &mut found.entry(name).or_insert_with(|| (profile, Vec::new())).1;
            if ports.last() != Some(port) {
                ports.push(port.clone());
            }
        }
    }
    found
}

/// Calls `judge` for each port with a queue that trims, and groups the ports by the trim queue and
/// the answer of `judge`.
fn trim_queues<T: Ord>(
    config: &Config,
    judge: impl Fn(&PortName, u8) -> Option<T>,
) -> BTreeMap<(u8, T), Vec<PortName>> {
    let profiles = trimming_profiles(config);
    let mut ports: Vec<_> = profiles.into_values().flat_map(|(_, ports)| ports).collect();
    ports.sort();
    ports.dedup();
    let mut found: BTreeMap<(u8, T), Vec<PortName>> = BTreeMap::new();
    for port in ports {
        let Some(queue) = config.trim_queue(&port) else { continue };
        if let Some(answer) = judge(&port, queue) {
            found.entry((queue, answer)).or_default().push(port);
        }
    }
    found
}

fn queue_place(trimming: &Trimming) -> &crate::place::ConfigPlace {
    trimming.queue.as_ref().map_or(&trimming.place, |queue| &queue.place)
}

pub(super) fn incomplete(context: &Context<'_>, findings: &mut Findings) {
    let config = context.config;
    let Some((name, (profile, ports))) = trimming_profiles(config).pop_first() else { return };
    let Some(trimming) = &config.trimming else {
        let place = profile.discard_action.as_ref().map_or(&profile.place, |action| &action.place);
        // A missing table may be in a file that the caller did not give.
        let (severity, files) = match config.has_table("SWITCH_TRIMMING") {
            true => (Severity::Warning, ""),
            false => (Severity::Info, " in these files"),
        };
        findings.add_as(
            severity,
            place,
            format!("queues of {} have {name}, which trims, without SWITCH_TRIMMING|GLOBAL{files}", some(&ports)),
            "\"SWITCH_TRIMMING\": { \"GLOBAL\": { \"size\": ..., \"dscp_value\": ..., \"queue_index\": ... } }",
        );
        return;
    };
    let from_tc = trimming.dscp.as_ref().is_some_and(|dscp| dscp.value == TrimDscp::FromTc);
    let fields = [
        ("size", trimming.size.is_some(), "the chip's default decides what is left of a packet"),
        (
            "dscp_value",
            trimming.dscp.is_some(),
            "the chip's default decides how receivers know a trimmed packet",
        ),
        ("tc_value", trimming.class.is_some() || !from_tc, "dscp_value is from-tc, and no class is given"),
        (
            "queue_index",
            trimming.queue.is_some(),
            "the chip's default decides which queue trimmed packets enter",
        ),
    ];
    for (field, _, consequence) in fields.iter().filter(|(_, has, _)| !has) {
        findings.add(
            &trimming.place,
            format!("no {field}, and queues of {} trim: {consequence}", some(&ports)),
            format!("add \"{field}\" to {}", trimming.place.path()),
        );
    }
}

pub(super) fn queue_without_profile(context: &Context<'_>, findings: &mut Findings) {
    let config = context.config;
    let Some(trimming) = &config.trimming else { return };
    let is_bare =
        |port: &PortName, queue| (!config.queues.contains_key(&(port.clone(), queue))).then_some(());
    for ((queue, ()), ports) in trim_queues(config, is_bare) {
        findings.add(
            queue_place(trimming),
            format!(
                "trimmed packets enter queue {queue} of {}, which has no profile: the limit of the chip applies",
                some(&ports)
            ),
            format!("add {}|{queue} to BUFFER_QUEUE, with a lossy profile that drops", ports[0]),
        );
    }
}

pub(super) fn lossless_queue(context: &Context<'_>, findings: &mut Findings) {
    let config = context.config;
    let Some(trimming) = &config.trimming else { return };
    let why = |port: &PortName, queue: u8| {
        let paused = |priority: &u8| {
            let map = config.map(port, MapKind::PfcToQueue);
            map.and_then(|(_, map)| map.get(*priority)).unwrap_or(*priority) == queue
        };
        if let Some(priority) = config.lossless_priorities(port).iter().find(|priority| paused(priority)) {
            return Some(format!("PFC of priority {priority} pauses the queue"));
        }
        let profile = config.queue(port, queue);
        let profile = profile.profile()?;
        let is_lossless = profile.is_lossless() || config.is_lossless_queue_profile(&profile.name);
        is_lossless.then(|| format!("its profile {} is lossless", profile.name))
    };
    for ((queue, why), ports) in trim_queues(config, why) {
        findings.add(
            queue_place(trimming),
            format!("trimmed packets enter queue {queue} of {}: {why}", some(&ports)),
            "\"queue_index\" of a lossy queue",
        );
    }
}

/// Finds trim queues whose own profile trims. A packet is trimmed at most once, so a second trim
/// is a loss.
pub(super) fn queue_that_trims(context: &Context<'_>, findings: &mut Findings) {
    let config = context.config;
    let Some(trimming) = &config.trimming else { return };
    let trims = |port: &PortName, queue| {
        let profile = config.queue(port, queue);
        profile.profile().filter(|profile| profile.is_trimming()).map(|profile| profile.name.clone())
    };
    for ((queue, name), ports) in trim_queues(config, trims) {
        findings.add_as(
            Severity::Warning,
            queue_place(trimming),
            format!(
                "trimmed packets enter queue {queue} of {} with {name}, which trims: SONiC trims a packet once, \
                 so the queue drops",
                some(&ports)
            ),
            "\"packet_discard_action\": \"drop\" for the trim queue",
        );
    }
}

/// Number of packets that a switch trims in one round trip at least, for ports whose senders react
/// to trimmed packets.
///
/// Two senders at line rate fill a port of rate r twice. Until a sender knows of the first trimmed
/// packet, a round trip T passes, so the excess is one bandwidth-delay product: ⌊r T / M⌋ packets
/// of the largest size M. More senders and smaller packets give more trims, so the number is a
/// lower bound. Senders of NDP also send at line rate for the first round trip (Handley et al.,
/// SIGCOMM 2017, section 3). T is the stated round trip. Otherwise T is the time over the port's
/// cable and back, which no round trip is below.
fn trims_of_round_trip(context: &Context<'_>, port: &PortName) -> Option<(u64, f64)> {
    let config = context.config;
    let speed_mbps = config.ports.get(port)?.speed_mbps.as_ref()?.value as f64;
    let of_cable = |metres: f64| 2e6 * metres / SONIC_METRES_PER_SECOND;
    let round_trip_us = match context.options.round_trip_us {
        Some(stated) => stated,
        None => of_cable(config.cables.get(port)?.value),
    };
    let packet = mtu(config, std::slice::from_ref(port)).max(1) as f64;
    Some(((speed_mbps * round_trip_us / 8.0 / packet) as u64, round_trip_us))
}

/// Number of trimmed packets that a queue with a static limit holds: ⌊(reserve + limit) / c⌋, where
/// c is the memory of a packet of `size` bytes in whole cells. The limit is at most the pool.
fn trimmed_packets(config: &Config, chip: &Chip, profile: &Profile, size: u64) -> Option<u64> {
    let Threshold::Static(limit) = profile.threshold.as_ref()?.value else { return None };
    let pool = config.pool_of(profile).and_then(|(_, pool)| pool.size.as_ref());
    let limit = pool.map_or(limit, |pool| limit.min(pool.value));
    Some(profile.reserve().saturating_add(limit) / chip.packet_bytes(size).max(1))
}

pub(super) fn queue_too_small(context: &Context<'_>, findings: &mut Findings) {
    let config = context.config;
    let Some(trimming) = &config.trimming else { return };
    let Some(size) = trimming.size.as_ref().map(|size| size.value) else { return };
    let chip = context.options.chip.unwrap_or(&GENERIC);
    let judge = |port: &PortName, queue: u8| {
        let profile = config.queue(port, queue);
        let profile = profile.profile()?;
        let held = trimmed_packets(config, chip, profile, size)?;
        let (trims, round_trip_us) = trims_of_round_trip(context, port)?;
        (held < trims).then(|| (profile.name.clone(), held, trims, round_trip_us.to_bits()))
    };
    for ((queue, (name, held, trims, round_trip)), ports) in trim_queues(config, judge) {
        let round_trip_us = f64::from_bits(round_trip);
        let profile = &config.profiles[&name];
        findings.add(
            profile.threshold.as_ref().map_or(&profile.place, |limit| &limit.place),
            format!(
                "queue {queue} of {} holds {held} packets trimmed to {size} B; a round trip of {round_trip_us:.1} us \
                 trims {trims}",
                some(&ports)
            ),
            format!("\"static_th\": \"{}\" or more", trims * chip.packet_bytes(size)),
        );
    }
}
