//! Reads configured ports, cables, pools, profiles, priority groups and queues.

use super::entry::Entry;
use crate::config::{Assigned, Config, Mode, Model, Pool, PortInfo, Profile, Side, Threshold};
use crate::ini::metres;
use crate::keys::{self, PortName};
use crate::place::Placed;
use crate::raw::KEYS_MAX;
use std::collections::BTreeMap;

/// Reads an entry if its table is about ports or buffers.
pub(super) fn read(table: &str, key: &str, entry: &mut Entry<'_>, config: &mut Config) {
    match table {
        "DEVICE_METADATA" => device(key, entry, config),
        "PORT" => port(key, entry, config),
        "CABLE_LENGTH" => cables(entry, config),
        "BUFFER_POOL" => pool(key, entry, config),
        "BUFFER_PROFILE" => profile(key, entry, config),
        "BUFFER_PG" => assignments(key, entry, &mut config.groups),
        "BUFFER_QUEUE" => assignments(key, entry, &mut config.queues),
        "BUFFER_PORT_INGRESS_PROFILE_LIST" => lists(key, entry, &mut config.ingress_lists),
        "BUFFER_PORT_EGRESS_PROFILE_LIST" => lists(key, entry, &mut config.egress_lists),
        "BUFFER_MAX_PARAM_TABLE" => {
            if key == "global" {
                config.mmu_size = entry.bytes("mmu_size");
            }
            // The table BUFFER_MAX_PARAM_TABLE also has limits of ports, which SONiC itself checks.
            let _ = entry.rest();
        }
        "DEFAULT_LOSSLESS_BUFFER_PARAMETER" => {
            config.default_dynamic_th = entry.exponent("default_dynamic_th");
            config.over_subscribe_ratio = entry.parse("over_subscribe_ratio", |text| {
                let ratio = text.parse::<f64>().ok().filter(|ratio| ratio.is_finite() && *ratio >= 0.0);
                ratio.ok_or_else(|| "expected a number from 0".to_owned())
            });
        }
        "LOSSLESS_TRAFFIC_PATTERN" => {
            config.lossless_mtu = entry.bytes("mtu");
            config.small_packet_percent = entry.parse("small_packet_percentage", |text| {
                let percent = text.parse::<u64>().ok().filter(|percent| *percent <= 100);
                percent.ok_or_else(|| "expected a whole number from 0 to 100 (percent)".to_owned())
            });
        }
        _ => {}
    }
}

fn device(key: &str, entry: &mut Entry<'_>, config: &mut Config) {
    if key == "localhost" {
        let device = &mut config.device;
        device.hwsku = entry.text("hwsku");
        device.platform = entry.text("platform");
        device.role = entry.text("type");
        device.asic = entry.text("asic_name");
        device.model = entry.parse("buffer_model", |text| match text {
            "dynamic" => Ok(Model::Dynamic),
            "traditional" => Ok(Model::Traditional),
            _ => Err("expected \"dynamic\" or \"traditional\"".to_owned()),
        });
    }
    // All other fields of the device entry are about names, addresses and routing.
    let _ = entry.rest();
}

fn port(key: &str, entry: &mut Entry<'_>, config: &mut Config) {
    let info = PortInfo {
        place: entry.place(),
        speed_mbps: entry.number("speed", "Mb/s"),
        lanes: entry.parse("lanes", |text| Ok(u32::try_from(text.split(',').count()).unwrap_or(u32::MAX))),
        mtu: entry.bytes("mtu"),
        pfc_asym: entry.truth("pfc_asym"),
        admin_up: entry.truth("admin_status"),
    };
    // All other fields of a port entry are about optics and names.
    let _ = entry.rest();
    config.ports.insert(PortName::new(key), info);
}

fn cables(entry: &mut Entry<'_>, config: &mut Config) {
    for (name, text, place) in entry.rest() {
        match metres(text) {
            Some(value) => {
                config.cables.insert(PortName::new(name), Placed { value, place });
            }
            None => {
                let message = format!("\"{}\" is not a length", crate::place::printable(text));
                entry.refuse(place, message, "write metres, such as 40m");
            }
        }
    }
}

fn pool(key: &str, entry: &mut Entry<'_>, config: &mut Config) {
    let pool = Pool {
        place: entry.place(),
        side: entry.parse("type", |text| match text {
            "ingress" => Ok(Side::Ingress),
            "egress" => Ok(Side::Egress),
            "both" => Ok(Side::Both),
            _ => Err("expected ingress, egress or both".to_owned()),
        }),
        mode: entry.parse("mode", |text| match text {
            "static" => Ok(Mode::Static),
            "dynamic" => Ok(Mode::Dynamic),
            _ => Err("expected static or dynamic".to_owned()),
        }),
        size: entry.bytes("size"),
        xoff: entry.bytes("xoff"),
        percentage: entry.number("percentage", "percent"),
    };
    config.pools.insert(key.to_owned(), pool);
}

fn profile(key: &str, entry: &mut Entry<'_>, config: &mut Config) {
    let dynamic = entry.exponent("dynamic_th");
    let fixed = entry.bytes("static_th");
    if let (Some(_), Some(fixed)) = (&dynamic, &fixed) {
        let message = "static_th beside dynamic_th".to_owned();
        entry.refuse(
            fixed.place.clone(),
            message,
            "keep the one that fits the mode of the pool; dynamic_th counts",
        );
    }
    let threshold = match (dynamic, fixed) {
        (Some(Placed { value, place }), _) => Some(Placed { value: Threshold::Dynamic(value), place }),
        (None, Some(Placed { value, place })) => Some(Placed { value: Threshold::Static(value), place }),
        (None, None) => None,
    };
    let profile = Profile {
        place: entry.place(),
        name: key.to_owned(),
        pool: entry.reference("pool"),
        size: entry.bytes("size"),
        threshold,
        xon: entry.bytes("xon"),
        xon_offset: entry.bytes("xon_offset"),
        xoff: entry.bytes("xoff"),
        dynamic_headroom: entry.text("headroom_type").is_some_and(|kind| kind.value == "dynamic"),
        discard_action: entry.text("packet_discard_action"),
    };
    config.profiles.insert(key.to_owned(), profile);
}

fn assignments(key: &str, entry: &mut Entry<'_>, to: &mut BTreeMap<(PortName, u8), Placed<Assigned>>) {
    let (ports, indices) = match keys::ports_and_indices(key) {
        Ok(both) => both,
        Err(message) => return entry.refuse_key(message, "correct the key; the entry is left out"),
    };
    let assigned = entry.reference("profile").map(|Placed { value, place }| {
        let value = if value == "NULL" { Assigned::Computed } else { Assigned::Profile(value) };
        Placed { value, place }
    });
    let Some(assigned) = assigned else {
        return entry
            .refuse_key("no profile".to_owned(), "name a profile, or NULL where the switch computes it");
    };
    if to.len() + ports.len() * indices.len() > KEYS_MAX {
        return entry.refuse_key(too_many(), "no switch has that many; the entry is left out");
    }
    for port in &ports {
        for index in &indices {
            if let Some(old) = to.insert((port.clone(), *index), assigned.clone()) {
                let message = format!("{port}, {index} has a profile already, in {}", old.place);
                entry.refuse(
                    assigned.place.clone(),
                    message,
                    "name each port and number in one key; this one counts",
                );
            }
        }
    }
}

fn lists(key: &str, entry: &mut Entry<'_>, to: &mut BTreeMap<PortName, Placed<Vec<String>>>) {
    let ports = match keys::ports(key) {
        Ok(ports) => ports,
        Err(message) => return entry.refuse_key(message, "correct the key; the entry is left out"),
    };
    if to.len() + ports.len() > KEYS_MAX {
        return entry.refuse_key(too_many(), "no switch has that many; the entry is left out");
    }
    // The older schema also has the name "profile_list". Some versions of SONiC mark lists with an
    // @.
    let list = entry.references("profile_list").or_else(|| entry.references("profile_list@"));
    if let Some(list) = list {
        to.extend(ports.into_iter().map(|port| (port, list.clone())));
    }
}

/// Returns the error message for a key with more ports and numbers than a configuration may have.
pub(super) fn too_many() -> String {
    format!("more than {KEYS_MAX} ports and numbers in the keys of one table")
}
