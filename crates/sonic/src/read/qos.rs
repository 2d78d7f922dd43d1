//! Reads configured QoS maps, PFC, schedulers, marking, watchdogs and trimming.

use super::buffers::too_many;
use super::entry::Entry;
use crate::config::{
    Config, Map, MapKind, PortQos, QueueSetting, Scheduler, TrimDscp, TrimQueue, Trimming, Watchdog, Wred,
    WredProfile,
};
use crate::keys::{self, PortName};
use crate::place::{Placed, printable};
use crate::raw::KEYS_MAX;
use std::collections::BTreeMap;

/// Reads an entry if its table is about QoS.
pub(super) fn read(table: &str, key: &str, entry: &mut Entry<'_>, config: &mut Config) {
    match table {
        "PORT_QOS_MAP" => port_qos(key, entry, config),
        "QUEUE" => queue(key, entry, config),
        "WRED_PROFILE" => wred(key, entry, config),
        "SCHEDULER" => {
            let rates = ["cir", "pir", "cbs", "pbs"].into_iter().filter_map(|field| {
                let text = entry.text(field)?.value;
                (text != "0").then(|| format!("{field} {}", printable(&text)))
            });
            let rates: Vec<String> = rates.collect();
            let [least, most, burst] = ["cir", "pir", "pbs"].map(|field| {
                let rate = entry.text(field)?.value.trim().parse::<u64>().ok();
                rate.filter(|rate| *rate > 0)
            });
            let meter = entry.text("meter_type");
            let scheduler = Scheduler {
                rates,
                least,
                most,
                burst,
                counts_packets: meter.is_some_and(|meter| meter.value == "packets"),
                place: entry.place(),
                kind: entry.text("type"),
                weight: entry.number("weight", "share"),
            };
            entry.skip(&["priority"]);
            config.schedulers.insert(key.to_owned(), scheduler);
        }
        "PFC_WD" => watchdog(key, entry, config),
        "SWITCH_TRIMMING" => trimming(key, entry, config),
        _ => {
            if let Some((kind, froms, tos)) = map_kind(table) {
                map(key, entry, config, kind, froms, tos);
            }
        }
    }
}

/// Returns the kind of a QoS map and the largest numbers of its inputs and outputs.
fn map_kind(table: &str) -> Option<(MapKind, u8, u8)> {
    Some(match table {
        "DSCP_TO_TC_MAP" => (MapKind::DscpToTc, 63, 15),
        "DOT1P_TO_TC_MAP" => (MapKind::Dot1pToTc, 7, 15),
        "TC_TO_QUEUE_MAP" => (MapKind::TcToQueue, 15, keys::INDEX_MAX),
        "TC_TO_PRIORITY_GROUP_MAP" => (MapKind::TcToPg, 15, 7),
        "MAP_PFC_PRIORITY_TO_QUEUE" | "PFC_PRIORITY_TO_QUEUE_MAP" => {
            (MapKind::PfcToQueue, 7, keys::INDEX_MAX)
        }
        "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP" => (MapKind::PfcToPg, 7, 7),
        "DSCP_TO_FC_MAP" | "EXP_TO_FC_MAP" | "MPLS_TC_TO_TC_MAP" | "TC_TO_DOT1P_MAP" | "TC_TO_DSCP_MAP" => {
            (MapKind::Other, 63, 63)
        }
        _ => return None,
    })
}

fn map(key: &str, entry: &mut Entry<'_>, config: &mut Config, kind: MapKind, from_max: u8, to_max: u8) {
    let mut entries = BTreeMap::new();
    for (from, to, place) in entry.rest() {
        let number = |text: &str, max| keys::indices(text, max);
        match (number(from, from_max), number(to, to_max)) {
            (Ok(froms), Ok(tos)) if tos.len() == 1 => {
                entries.extend(
                    froms.into_iter().map(|from| (from, Placed { value: tos[0], place: place.clone() })),
                );
            }
            _ => {
                let message = format!(
                    "\"{}\" to \"{}\": expected a number up to {from_max} and one up to {to_max}",
                    printable(from),
                    printable(to)
                );
                entry.refuse(place, message, "correct the pair; it is left out");
            }
        }
    }
    let map = Map { place: entry.place(), entries };
    config.maps.insert((kind, key.to_owned()), map);
}

fn port_qos(key: &str, entry: &mut Entry<'_>, config: &mut Config) {
    let fields = [
        ("dscp_to_tc_map", MapKind::DscpToTc),
        ("dot1p_to_tc_map", MapKind::Dot1pToTc),
        ("tc_to_queue_map", MapKind::TcToQueue),
        ("tc_to_pg_map", MapKind::TcToPg),
        ("pfc_to_queue_map", MapKind::PfcToQueue),
        ("pfc_to_pg_map", MapKind::PfcToPg),
    ];
    let maps = fields.into_iter().filter_map(|(field, kind)| Some((kind, entry.reference(field)?))).collect();
    let qos = PortQos {
        place: entry.place(),
        maps,
        pfc_enable: entry.priorities("pfc_enable"),
        watchdog: entry.priorities("pfcwd_sw_enable"),
        scheduler: entry.reference("scheduler"),
    };
    entry.skip(&[
        "tc_to_dscp_map",
        "tc_to_dot1p_map",
        "dscp_to_fc_map",
        "exp_to_fc_map",
        "mpls_tc_to_tc_map",
    ]);
    if key == "global" {
        config.global_qos = Some(qos);
        return;
    }
    match keys::ports(key) {
        Ok(ports) if config.port_qos.len() + ports.len() > KEYS_MAX => {
            entry.refuse_key(too_many(), "no switch has that many; the entry is left out");
        }
        Ok(ports) => config.port_qos.extend(ports.into_iter().map(|port| (port, qos.clone()))),
        Err(message) => entry.refuse_key(message, "correct the key; the entry is left out"),
    }
}

fn queue(key: &str, entry: &mut Entry<'_>, config: &mut Config) {
    let (ports, indices) = match keys::ports_and_indices(key) {
        Ok(both) => both,
        Err(message) => return entry.refuse_key(message, "correct the key; the entry is left out"),
    };
    if config.queue_settings.len() + ports.len() * indices.len() > KEYS_MAX {
        return entry.refuse_key(too_many(), "no switch has that many; the entry is left out");
    }
    let setting = QueueSetting {
        place: entry.place(),
        scheduler: entry.reference("scheduler"),
        wred: entry.reference("wred_profile"),
    };
    for port in &ports {
        for index in &indices {
            config.queue_settings.insert((port.clone(), *index), setting.clone());
        }
    }
}

fn wred(key: &str, entry: &mut Entry<'_>, config: &mut Config) {
    let colours = ["green", "yellow", "red"].map(|colour| Wred {
        enabled: entry.truth(&format!("wred_{colour}_enable")),
        min: entry.bytes(&format!("{colour}_min_threshold")),
        max: entry.bytes(&format!("{colour}_max_threshold")),
        probability: entry.number(&format!("{colour}_drop_probability"), "percent"),
    });
    let profile = WredProfile { place: entry.place(), ecn: entry.text("ecn"), colours };
    config.wred.insert(key.to_owned(), profile);
}

fn watchdog(key: &str, entry: &mut Entry<'_>, config: &mut Config) {
    if key == "GLOBAL" {
        config.watchdog_poll_ms = entry.number("POLL_INTERVAL", "milliseconds");
        entry.skip(&["BIG_RED_SWITCH"]);
        return;
    }
    let watchdog = Watchdog {
        place: entry.place(),
        action: entry.text("action"),
        detection_ms: entry.number("detection_time", "milliseconds"),
        restoration_ms: entry.number("restoration_time", "milliseconds"),
    };
    entry.skip(&["pfc_stat_history"]);
    match keys::ports(key) {
        Ok(ports) if config.watchdogs.len() + ports.len() > KEYS_MAX => {
            entry.refuse_key(too_many(), "no switch has that many; the entry is left out");
        }
        Ok(ports) => {
            config.watchdogs.extend(ports.into_iter().map(|port: PortName| (port, watchdog.clone())))
        }
        Err(message) => entry.refuse_key(message, "correct the key; the entry is left out"),
    }
}

fn trimming(key: &str, entry: &mut Entry<'_>, config: &mut Config) {
    if key != "GLOBAL" {
        return entry
            .refuse_key("the key is not GLOBAL".to_owned(), "correct the key; the entry is left out");
    }
    let number = |text: &str, max: u8| text.parse::<u8>().ok().filter(|number| *number <= max);
    config.trimming = Some(Trimming {
        place: entry.place(),
        size: entry.bytes("size"),
        dscp: entry.parse("dscp_value", |text| match text {
            "from-tc" => Ok(TrimDscp::FromTc),
            text => number(text, 63)
                .map(TrimDscp::Value)
                .ok_or_else(|| "expected a DSCP from 0 to 63, or from-tc".to_owned()),
        }),
        class: entry.parse("tc_value", |text| {
            number(text, 15).ok_or_else(|| "expected a class from 0 to 15".to_owned())
        }),
        queue: entry.parse("queue_index", |text| match text {
            "dynamic" => Ok(TrimQueue::Dynamic),
            text => number(text, keys::INDEX_MAX)
                .map(TrimQueue::Index)
                .ok_or_else(|| format!("expected a queue from 0 to {}, or dynamic", keys::INDEX_MAX)),
        }),
    });
}
