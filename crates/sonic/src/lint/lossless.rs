//! Lint rules about lossless groups: headroom, size of the headroom, and resume points.

use super::context::{Context, some};
use super::{Findings, Severity};
use crate::config::{Model, Threshold};
use crate::keys::PortName;
use crate::resolve::Resolved;
use crate::silicon::headroom::{GroupHeadroom, usual_needs};
use std::collections::BTreeMap;

pub(super) fn headroom_too_small(context: &Context<'_>, findings: &mut Findings) {
    for class in &context.classes {
        let Some(xoff) = &class.profile.xoff else { continue };
        let Some(headroom) = GroupHeadroom::of_class(context.config, context.options.chip, class) else {
            continue;
        };
        let GroupHeadroom { speed_mbps, cable_metres, usable, needs, .. } = headroom;
        let (severity, enough) = if usable < needs.least {
            (Severity::Error, needs.full_size)
        } else if usable < needs.full_size {
            (Severity::Warning, needs.full_size)
        } else if usable < needs.worst {
            (Severity::Info, needs.worst)
        } else {
            continue;
        };
        let bound = if xoff.value < enough { "" } else { ", and more in the headroom pool" };
        findings.add_as(
            severity,
            &xoff.place,
            format!(
                "{} of {}, {speed_mbps} Mb/s over {cable_metres} m: {}",
                class.profile.name,
                some(&class.ports),
                headroom.answer()
            ),
            format!("\"xoff\": \"{enough}\" or more{bound}"),
        );
    }
    shrinking_rows(context, findings);
}

/// Finds rows of the lookup table that give a longer cable less headroom than a shorter cable: one
/// of the two rows is wrong.
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
    // If the configuration has no row, the caller did not give the lookup file.
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
        let need = usual_needs(speed.max(1), cable);
        findings.add(
            &place,
            format!(
                "no row for {speed} Mb/s and {cable} m, so there is PFC without headroom on {}",
                some(&ports)
            ),
            format!(
                "add a row \"{speed} {cable}m ...\" with xoff of {} or more, or a cable length that has one",
                need.full_size
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
