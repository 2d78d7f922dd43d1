//! Lint rules about QoS maps, PFC, marking and watchdogs.

use super::context::{Context, some};
use super::{Findings, Severity};
use crate::config::{MapKind, WredProfile};
use crate::keys::PortName;
use crate::place::ConfigPlace;
use std::collections::{BTreeMap, BTreeSet};

/// Names of packet colours, in the order of `WredProfile::colours`.
const COLOURS: [&str; 3] = ["green", "yellow", "red"];

/// Returns the marking profiles of lossless queues, with the queues' ports.
fn marking_of_lossless<'c>(context: &Context<'c>) -> BTreeMap<&'c str, (&'c WredProfile, Vec<PortName>)> {
    let config = context.config;
    let mut found: BTreeMap<&str, (&WredProfile, Vec<PortName>)> = BTreeMap::new();
    for ((port, index), setting) in config.queue_settings.iter().filter(|((port, _), _)| !port.is_remote()) {
        let is_lossless = match config.queue(port, *index).profile() {
            Some(profile) => config.is_lossless_queue_profile(&profile.name),
            None => config.lossless_priorities(port).contains(index),
        };
        let name = setting.wred.as_ref().filter(|_| is_lossless);
        if let Some((name, profile)) = name.and_then(|name| config.wred.get_key_value(&name.value)) {
            let ports = &mut found.entry(name).or_insert_with(|| (profile, Vec::new())).1;
            if ports.last() != Some(port) {
                ports.push(port.clone());
            }
        }
    }
    found
}

/// Largest occupancy at which any lossless class pauses (bytes).
fn highest_pause(context: &Context<'_>) -> Option<u64> {
    context.classes.iter().filter_map(|class| context.pause(class)).max()
}

pub(super) fn ecn_above_pause(context: &Context<'_>, findings: &mut Findings) {
    let Some(pause) = highest_pause(context) else { return };
    for (name, (profile, ports)) in marking_of_lossless(context) {
        let min = profile.colours[0].min.as_ref().filter(|min| min.value >= pause);
        if let Some(min) = min {
            findings.add(
                &min.place,
                format!(
                    "{name} of {} marks from {} B on, and a group alone pauses at {pause} B: PFC always comes first",
                    some(&ports),
                    min.value
                ),
                format!("\"green_min_threshold\": \"{}\" or less; several busy groups pause earlier still", pause / 5),
            );
        }
        let max = &profile.colours[0];
        if let (Some(low), Some(high)) = (&max.min, &max.max)
            && low.value > high.value
        {
            findings.add_as(
                Severity::Error,
                &low.place,
                format!("{name}: marking begins at {} B and ends at {} B", low.value, high.value),
                "exchange the two thresholds",
            );
        }
    }
}

pub(super) fn wred_drops_lossless(context: &Context<'_>, findings: &mut Findings) {
    let pause = highest_pause(context);
    for (name, (profile, ports)) in marking_of_lossless(context) {
        let ecn = profile.ecn.as_ref().map_or("ecn_none", |ecn| ecn.value.as_str());
        for (colour, thresholds) in COLOURS.iter().zip(&profile.colours) {
            let enabled = thresholds.enabled.as_ref().is_some_and(|enabled| enabled.value);
            let drops = thresholds.probability.as_ref().is_none_or(|probability| probability.value > 0);
            let Some(min) = thresholds.min.as_ref().filter(|_| enabled && drops) else { continue };
            if pause.is_some_and(|pause| min.value >= pause) {
                continue;
            }
            let marks = ecn == "ecn_all" || ecn.contains(colour);
            let before = pause.map_or(String::new(), |pause| format!(", before the pause at {pause} B"));
            if !marks {
                findings.add(
                    &min.place,
                    format!(
                        "{name} of {} drops {colour} packets of lossless queues from {} B on{before}: ecn is {ecn}",
                        some(&ports),
                        min.value
                    ),
                    "\"ecn\": \"ecn_all\", or take WRED off lossless queues",
                );
            } else if *colour == "green" {
                findings.add_as(
                    Severity::Info,
                    &min.place,
                    format!(
                        "{name}: packets that cannot be marked (not ECN-capable) are dropped from {} B \
                     on{before}",
                        min.value
                    ),
                    "see that all lossless traffic is ECN-capable",
                );
            }
        }
    }
}

pub(super) fn watchdog_too_short(context: &Context<'_>, findings: &mut Findings) {
    let config = context.config;
    let mut short: BTreeMap<(u64, u64), Vec<PortName>> = BTreeMap::new();
    let mut rarely: BTreeMap<u64, (&ConfigPlace, Vec<PortName>)> = BTreeMap::new();
    for (port, watchdog) in &config.watchdogs {
        let Some(detection) = &watchdog.detection_ms else { continue };
        if config.watchdog_poll_ms.as_ref().is_some_and(|poll| detection.value < poll.value) {
            let ports =
                &mut rarely.entry(detection.value).or_insert_with(|| (&detection.place, Vec::new())).1;
            ports.push(port.clone());
        }
        let speed = config.ports.get(port).and_then(|port| port.speed_mbps.as_ref()).map(|speed| speed.value);
        if let (Some(speed), Some(longest)) = (speed.filter(|speed| *speed > 0), longest_pause(context))
            && detection.value as f64 <= longest * 8.0 / (speed as f64 * 1e3)
        {
            short.entry((detection.value, speed)).or_default().push(port.clone());
        }
    }
    let poll = config.watchdog_poll_ms.as_ref().map_or(0, |poll| poll.value);
    for (detection, (place, ports)) in rarely {
        let message = format!(
            "{}: a storm is {detection} ms, but the watchdog polls only every {poll} ms",
            some(&ports)
        );
        findings.add(place, message, format!("\"detection_time\": \"{poll}\" or more"));
    }
    for ((detection, speed), ports) in short {
        let needs = longest_pause(context).map_or(0.0, |bytes| bytes * 8.0 / (speed as f64 * 1e3)).ceil();
        let place = config.watchdogs[&ports[0]].place.clone();
        findings.add(
            &place,
            format!(
                "{}: a switch like this one may pause for {needs} ms while it drains its memory at {speed} \
                 Mb/s; a storm is \
                 {detection} ms",
                some(&ports)
            ),
            format!("\"detection_time\": \"{}\" or more", 2.0 * needs),
        );
    }
}

/// Returns the size of the largest pool (bytes). A peer with an equal pool pauses longest while the
/// whole pool drains through one port.
fn longest_pause(context: &Context<'_>) -> Option<f64> {
    let pools = context.config.pools.values().filter_map(|pool| pool.size.as_ref());
    // VOQ systems have gigabytes of memory beside the chip; their pauses follow from other limits.
    pools.map(|size| size.value).filter(|size| *size < 1 << 30).max().map(|bytes| bytes as f64)
}

/// Mismatches of PFC and QoS maps by message and suggestion, each with all affected ports.
type Mismatches = BTreeMap<(String, String), (Severity, ConfigPlace, Vec<PortName>)>;

pub(super) fn lossless_at_one_end(context: &Context<'_>, findings: &mut Findings) {
    let config = context.config;
    let mut mismatches = Mismatches::new();
    for (port, qos) in &config.port_qos {
        let Some(enabled) = &qos.pfc_enable else { continue };
        for priority in &enabled.value {
            one_priority(context, port, *priority, &enabled.place, &mut mismatches);
        }
        lossy_classes(context, port, &enabled.value, &enabled.place, &mut mismatches);
        if let Some(watched) = &qos.watchdog {
            let more: Vec<_> = watched.value.difference(&enabled.value).collect();
            if !more.is_empty() {
                let message = format!("the watchdog watches priorities {more:?} that have no PFC");
                let key = (message, "let pfcwd_sw_enable name priorities of pfc_enable only".to_owned());
                mismatches
                    .entry(key)
                    .or_insert_with(|| (Severity::Warning, watched.place.clone(), Vec::new()))
                    .2
                    .push(port.clone());
            }
        }
    }
    for ((message, suggestion), (severity, place, ports)) in mismatches {
        findings.add_as(severity, &place, format!("{}: {message}", some(&ports)), suggestion);
    }
}

/// Checks a priority with PFC. A traffic class must use the priority's group, and pauses must stop
/// the queue of this class.
fn one_priority(
    context: &Context<'_>,
    port: &PortName,
    priority: u8,
    place: &ConfigPlace,
    mismatches: &mut Mismatches,
) {
    let config = context.config;
    let group = config.map(port, MapKind::PfcToPg).and_then(|(_, map)| map.get(priority)).unwrap_or(priority);
    let Some((pg_name, to_group)) = config.map(port, MapKind::TcToPg) else { return };
    let classes: Vec<u8> =
        to_group.entries.iter().filter(|(_, to)| to.value == group).map(|(tc, _)| *tc).collect();
    let mut tell = |severity, message: String, suggestion: String| {
        mismatches
            .entry((message, suggestion))
            .or_insert_with(|| (severity, place.clone(), Vec::new()))
            .2
            .push(port.clone());
    };
    if classes.is_empty() {
        tell(
            Severity::Error,
            format!("priority {priority} has PFC, but no traffic class enters group {group} by {pg_name}"),
            format!(
                "map a class to {group} in TC_TO_PRIORITY_GROUP_MAP|{pg_name}, or take {priority} out of pfc_enable"
            ),
        );
        return;
    }
    let queue_map = config.map(port, MapKind::TcToQueue);
    let pfc_map = config.map(port, MapKind::PfcToQueue);
    if let (Some((queue_name, to_queue)), Some((pfc_name, pfc_queue))) = (queue_map, pfc_map) {
        let queues: BTreeSet<u8> = classes.iter().filter_map(|tc| to_queue.get(*tc)).collect();
        match pfc_queue.get(priority) {
            Some(paused) if !queues.is_empty() && !queues.contains(&paused) => tell(
                Severity::Error,
                format!(
                    "a pause of priority {priority} stops queue {paused} ({pfc_name}), but its classes \
                     {classes:?} leave by \
                     queues {queues:?} ({queue_name})"
                ),
                "let both maps name the same queue".to_owned(),
            ),
            None => tell(
                Severity::Error,
                format!("{pfc_name} has no queue for priority {priority}: a pause stops nothing"),
                format!("add \"{priority}\" to MAP_PFC_PRIORITY_TO_QUEUE|{pfc_name}"),
            ),
            Some(_) => {}
        }
        for queue in queues {
            let profile = config.queue(port, queue);
            if profile.profile().is_some_and(|profile| !config.is_lossless_queue_profile(&profile.name)) {
                tell(
                    Severity::Error,
                    format!(
                        "priority {priority} is lossless at ingress and leaves by queue {queue}, which is lossy"
                    ),
                    format!("assign the lossless profile to queue {queue} in BUFFER_QUEUE"),
                );
            }
        }
    }
}

/// Checks the traffic classes that DSCP selects on a port: no class may have a lossy group and a
/// lossless queue.
fn lossy_classes(
    context: &Context<'_>,
    port: &PortName,
    enabled: &BTreeSet<u8>,
    place: &ConfigPlace,
    mismatches: &mut Mismatches,
) {
    let config = context.config;
    let maps = (
        config.map(port, MapKind::DscpToTc),
        config.map(port, MapKind::TcToPg),
        config.map(port, MapKind::TcToQueue),
    );
    let (Some((dscp_name, to_class)), Some((_, to_group)), Some((_, to_queue))) = maps else { return };
    let classes: BTreeSet<u8> = to_class.entries.values().map(|to| to.value).collect();
    let lossless = |queue: u8| {
        config
            .queue(port, queue)
            .profile()
            .is_some_and(|profile| config.is_lossless_queue_profile(&profile.name))
    };
    for class in classes {
        let (Some(group), Some(queue)) = (to_group.get(class), to_queue.get(class)) else { continue };
        if !enabled.contains(&group) && !enabled.is_empty() && lossless(queue) {
            let message = format!(
                "class {class} of {dscp_name} enters group {group} without PFC and leaves by queue {queue}, \
                 which is lossless"
            );
            let suggestion = format!("add {group} to pfc_enable, or assign a lossy profile to queue {queue}");
            mismatches
                .entry((message, suggestion))
                .or_insert_with(|| (Severity::Warning, place.clone(), Vec::new()))
                .2
                .push(port.clone());
        }
    }
}

pub(super) fn asymmetric(context: &Context<'_>, findings: &mut Findings) {
    let config = context.config;
    for (port, info) in &config.ports {
        if let Some(asym) = info.pfc_asym.as_ref().filter(|asym| asym.value) {
            findings.add(
                &asym.place,
                format!("{port} answers pauses of all priorities, but sends only those of its lossless ones"),
                "intended towards hosts that pause everything",
            );
        }
    }
    let in_use = |port: &&PortName| config.in_use(port) && !port.is_remote();
    let (with, without): (Vec<&PortName>, Vec<&PortName>) =
        config.port_qos.keys().filter(in_use).partition(|port| !config.pfc_priorities(port).is_empty());
    if !with.is_empty() && !without.is_empty() {
        let ports: Vec<_> = without.into_iter().cloned().collect();
        findings.add_as(
            Severity::Warning,
            &config.port_qos[&ports[0]].place,
            format!(
                "{} {} PFC, and {} none: lossless packets that enter there can be lost",
                with.len(),
                if with.len() == 1 { "port has" } else { "ports have" },
                format_args!("{} {}", some(&ports), if ports.len() == 1 { "has" } else { "have" })
            ),
            "enable the same priorities on every port that lossless traffic uses",
        );
    }
    let mut sets: BTreeMap<BTreeSet<u8>, Vec<&PortName>> = BTreeMap::new();
    for port in with {
        sets.entry(config.pfc_priorities(port)).or_default().push(port);
    }
    if sets.len() > 1 {
        let kinds: Vec<_> =
            sets.iter().map(|(set, ports)| format!("{set:?} on {}", counted(ports.len()))).collect();
        let first = sets.values().next().map(|ports| ports[0]);
        if let Some(port) = first {
            findings.add(
                &config.port_qos[port].place,
                format!("ports differ in lossless priorities: {}", kinds.join(", ")),
                "expected where priorities are remapped (dual ToR); otherwise let them agree",
            );
        }
    }
}

/// Formats a number of ports in words.
fn counted(ports: usize) -> String {
    if ports == 1 { "1 port".to_owned() } else { format!("{ports} ports") }
}
