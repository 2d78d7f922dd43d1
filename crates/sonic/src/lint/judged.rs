//! Lists the parts of a configuration that a check did not judge, with the reasons.

use super::Options;
use super::context::some;
use crate::config::{Config, MapKind, Model};
use crate::keys::PortName;
use crate::resolve::Resolved;
use crate::silicon::{GENERIC, Memory};
use std::collections::BTreeMap;

/// Configuration tables that a switch may have, each with the properties that depend on this table.
const TABLES: &[(&str, &str)] = &[
    ("PORT", "speeds and whether ports exist"),
    ("CABLE_LENGTH", "headroom of cables"),
    ("BUFFER_POOL", "sizes of pools"),
    ("BUFFER_PROFILE", "limits and headroom"),
    ("BUFFER_PG", "profiles of priority groups"),
    ("BUFFER_QUEUE", "profiles of queues"),
    ("PORT_QOS_MAP", "PFC and maps of ports"),
    ("TC_TO_PRIORITY_GROUP_MAP", "groups of classes"),
    ("TC_TO_QUEUE_MAP", "queues of classes"),
    ("QUEUE", "schedulers and marking of queues"),
    ("SCHEDULER", "shares of queues"),
    ("WRED_PROFILE", "marking"),
    ("PFC_WD", "watchdogs"),
];

/// Returns the parts of a configuration that the rules did not judge, each with the reason.
/// Findings do not cover the parts that the rules did not judge.
#[must_use]
pub fn not_judged(config: &Config, options: &Options) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(vendor) = config.vendor {
        found.push(format!(
            "entries that are missing ({}): {vendor} has other defaults",
            super::OF_SONIC.join(", ")
        ));
    }
    if options.chip.is_none() {
        let other = crate::silicon::other_chip(config);
        let why = match &config.device.hwsku {
            Some(sku) if other.is_some() => {
                let (chip, accounting) = other.unwrap_or_default();
                format!(
                    "{} has a {chip}: known model, unknown memory ({accounting})",
                    crate::place::printable(&sku.value)
                )
            }
            Some(sku) => format!("the chip of {} is not known", crate::place::printable(&sku.value)),
            None => "the chip is not known".to_owned(),
        };
        found.push(format!("whole cells, slices and the size of the memory: {why}; name it with --chip"));
    }
    if let Err(error) = Memory::new(config, options.chip.unwrap_or(&GENERIC)) {
        found.push(format!("pause points and limits (SB006, SB008, SB009, SB010): {error}"));
    }
    found.extend(headroom(config));
    let missing: Vec<_> = TABLES
        .iter()
        .filter(|(table, _)| !config.has_table(table))
        .map(|(table, what)| format!("{what} ({table})"))
        .collect();
    if !missing.is_empty() {
        found.push(format!("{}: no file has the table", missing.join(", ")));
    }
    let other: Vec<_> = config
        .maps
        .keys()
        .filter(|(kind, _)| *kind == MapKind::Other)
        .map(|(_, name)| name.as_str())
        .collect();
    if !other.is_empty() {
        found.push(format!("maps that rewrite packets ({}): no rule is about them", other.join(", ")));
    }
    if !config.problems.is_empty() {
        found.push(match config.problems.len() {
            1 => "a value that was not understood (SB000)".to_owned(),
            many => format!("{many} values that were not understood (SB000)"),
        });
    }
    found
}

/// Returns the lossless groups whose headroom was not compared with the needed headroom, by reason.
fn headroom(config: &Config) -> Vec<String> {
    let mut reasons: BTreeMap<String, (usize, Vec<PortName>)> = BTreeMap::new();
    for port in config.named_ports().into_iter().filter(|port| config.in_use(port)) {
        for group in 0..8 {
            if let Some(why) = why_not(config, &port, group) {
                let (groups, ports) = reasons.entry(why).or_default();
                *groups += 1;
                if ports.last() != Some(&port) {
                    ports.push(port.clone());
                }
            }
        }
    }
    let line = |(why, (groups, ports)): (String, (usize, Vec<PortName>))| {
        let many = if groups == 1 { "" } else { "s" };
        format!("headroom of {groups} lossless group{many} ({}): {why}", some(&ports))
    };
    reasons.into_iter().map(line).collect()
}

fn why_not(config: &Config, port: &PortName, group: u8) -> Option<String> {
    let no_speed = config.ports.get(port).is_none_or(|info| info.speed_mbps.is_none());
    match config.group(port, group) {
        Resolved::Profile(profile) if profile.is_lossless() => {
            let named = crate::silicon::speed_and_cable(&profile.name).is_some();
            if profile.dynamic_headroom && profile.xoff.is_none() {
                Some("the switch computes the profile".to_owned())
            } else if named || !no_speed && config.cables.contains_key(port) {
                None
            } else if no_speed {
                Some("the speed is not known (give PORT or port_config.ini)".to_owned())
            } else {
                Some("the cable is not known (give CABLE_LENGTH)".to_owned())
            }
        }
        Resolved::Computed(_) => Some("the switch computes the profile (give a dump of APPL_DB)".to_owned()),
        Resolved::NoRow(..) if config.lookup.is_empty() => Some("no pg_profile_lookup.ini".to_owned()),
        Resolved::Unknown if no_speed => {
            Some("the speed is not known (give PORT or port_config.ini)".to_owned())
        }
        Resolved::Unknown => Some("the cable is not known (give CABLE_LENGTH)".to_owned()),
        Resolved::Nothing
            if config.model() == Model::Dynamic
                && config.groups.is_empty()
                && config.lossless_priorities(port).contains(&group) =>
        {
            Some("no file has BUFFER_PG".to_owned())
        }
        _ => None,
    }
}
