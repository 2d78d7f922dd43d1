//! Tests that the check finds entries and fields that are deleted at random from a sound
//! configuration.

use crate::support::example;
use bufferlab_sonic::lint::{Options, Severity, check, not_judged};
use bufferlab_sonic::silicon::chip;
use bufferlab_sonic::{Config, Reader};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

const PORTS: [&str; 12] = [
    "Ethernet0",
    "Ethernet4",
    "Ethernet8",
    "Ethernet12",
    "Ethernet16",
    "Ethernet20",
    "Ethernet24",
    "Ethernet28",
    "Ethernet32",
    "Ethernet36",
    "Ethernet40",
    "Ethernet44",
];
const LOOKUP: &str = "100000 5m 1536 0 160000 -1 3584\n";

/// Number of omissions that the test tries in every table.
const OF_A_TABLE: usize = 12;

fn of_ports(entry: impl Fn(&str) -> Value) -> Value {
    Value::Object(PORTS.iter().map(|port| ((*port).to_owned(), entry(port))).collect())
}

fn of_queues(parts: &[(&str, Value)]) -> Value {
    let keys = PORTS.iter().flat_map(|port| parts.iter().map(move |part| (port, part)));
    Value::Object(keys.map(|(port, (numbers, entry))| (format!("{port}|{numbers}"), entry.clone())).collect())
}

/// Returns a whole configuration of twelve ports without an error and a warning.
fn sound() -> Map<String, Value> {
    let mut tables: Map<String, Value> = serde_json::from_str(&example("switch/qos.json")).expect("JSON");
    let of_buffers: Map<String, Value> = serde_json::from_str(&example("switch/buffers.json")).expect("JSON");
    tables.extend(of_buffers);
    let qos = tables["PORT_QOS_MAP"]["Ethernet0"].clone();
    let other_qos: Value = serde_json::from_str(&qos.to_string().replace("AZURE", "OTHER")).expect("JSON");
    for table in tables.iter_mut().filter(|(name, _)| name.contains("MAP") && *name != "PORT_QOS_MAP") {
        let map = table.1["AZURE"].clone();
        table.1["OTHER"] = map;
    }
    let colours = ["green", "yellow", "red"].into_iter().flat_map(|colour| {
        [
            (format!("wred_{colour}_enable"), "true"),
            (format!("{colour}_min_threshold"), "200000"),
            (format!("{colour}_max_threshold"), "800000"),
            (format!("{colour}_drop_probability"), "5"),
        ]
    });
    let mut wred: Map<String, Value> = colours.map(|(field, value)| (field, value.into())).collect();
    wred.insert("ecn".to_owned(), "ecn_all".into());
    let served = |number: u8| json!({ "scheduler": format!("scheduler.{number}") });
    let marked = json!({ "scheduler": "scheduler.1", "wred_profile": "AZURE_LOSSLESS" });
    let profile = |name: &str| json!({ "profile": name });
    let more = json!({
        "DEVICE_METADATA": { "localhost": { "hwsku": "Arista-7050CX3-32S-C32" } },
        "PORT": of_ports(|_| json!({ "speed": "100000", "mtu": "9100", "admin_status": "up" })),
        "CABLE_LENGTH": { "AZURE": of_ports(|_| "5m".into()) },
        "PORT_QOS_MAP": of_ports(|port| if port < "Ethernet3" { qos.clone() } else { other_qos.clone() }),
        "BUFFER_PG": of_queues(&[("0", profile("ingress_lossy_profile"))]),
        "BUFFER_QUEUE": of_queues(&[
            ("0-2", profile("egress_lossy_profile")),
            ("3-4", profile("egress_lossless_profile")),
            ("5-7", profile("egress_lossy_profile")),
        ]),
        "BUFFER_PORT_INGRESS_PROFILE_LIST": of_ports(|_| json!({ "profile_list": "ingress_lossy_profile" })),
        "BUFFER_PORT_EGRESS_PROFILE_LIST":
            of_ports(|_| json!({ "profile_list": "egress_lossless_profile,egress_lossy_profile" })),
        "SCHEDULER": {
            "scheduler.0": { "type": "DWRR", "weight": "14" },
            "scheduler.1": { "type": "DWRR", "weight": "15" },
            "scheduler.2": { "type": "WRR", "weight": "10" },
            "scheduler.3": { "type": "DWRR", "weight": "20" },
        },
        "QUEUE": of_queues(&[
            ("0", served(0)), ("1", served(2)), ("2", served(3)), ("3-4", marked), ("5-7", served(0)),
        ]),
        "WRED_PROFILE": { "AZURE_LOSSLESS": wred },
    });
    let Value::Object(more) = more else { unreachable!("an object") };
    tables.extend(more);
    let watchdog = tables["PFC_WD"]["Ethernet0"].clone();
    let Value::Object(mut watchdogs) = of_ports(|_| watchdog.clone()) else { unreachable!("an object") };
    watchdogs.insert("GLOBAL".to_owned(), json!({ "POLL_INTERVAL": "200" }));
    tables.insert("PFC_WD".to_owned(), Value::Object(watchdogs));
    tables
}

fn read(tables: &Map<String, Value>, lookup: &str) -> Config {
    let mut reader = Reader::default();
    let text = serde_json::to_string_pretty(tables).expect("JSON");
    reader.add("config_db.json", text.as_bytes()).expect("a configuration");
    if !lookup.is_empty() {
        reader.add("pg_profile_lookup.ini", lookup.as_bytes()).expect("rows");
    }
    reader.finish()
}

/// Returns rule, severity and message of each lint finding.
fn findings(config: &Config) -> BTreeSet<(&'static str, Severity, String)> {
    let options = Options { chip: chip("trident3"), ..Options::default() };
    let found = check(config, &options).expect("rules");
    found.into_iter().map(|one| (one.rule.code, one.severity, one.message)).collect()
}

/// Generator of numbers below a bound, from a seed.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % bound
    }
}

/// Returns every entry of a table, and every field of every entry.
fn parts(table: &Map<String, Value>) -> Vec<(String, Option<String>)> {
    let fields = |(key, entry): (&String, &Value)| {
        let names = entry.as_object().expect("an entry").keys().cloned();
        let fields: Vec<_> = names.map(|field| (key.clone(), Some(field))).collect();
        std::iter::once((key.clone(), None)).chain(fields).collect::<Vec<_>>()
    };
    table.iter().flat_map(fields).collect()
}

/// Whether an entry or field is about buffers; the admin status and the device are not about
/// buffers.
fn is_about_buffers(table: &str, field: Option<&str>) -> bool {
    table != "DEVICE_METADATA" && field != Some("admin_status")
}

#[test]
fn entries_deleted_at_random_are_found_in_every_table() {
    let sound = sound();
    let before = findings(&read(&sound, LOOKUP));
    let serious: Vec<_> = before.iter().filter(|finding| finding.1 < Severity::Info).collect();
    assert!(serious.is_empty(), "{serious:#?}");
    let mut draw = Draw(43);
    let mut missed = Vec::new();
    let mut tables = 0;
    for (name, table) in &sound {
        let table = table.as_object().expect("a table");
        let mut parts = parts(table);
        parts.retain(|(_, field)| is_about_buffers(name, field.as_deref()));
        if parts.is_empty() {
            continue;
        }
        tables += 1;
        assert!(parts.len() >= OF_A_TABLE, "{name} has {} parts", parts.len());
        for _ in 0..OF_A_TABLE {
            let (key, field) = parts.swap_remove(draw.below(parts.len()));
            let mut changed = sound.clone();
            let entries = changed[name].as_object_mut().expect("a table");
            match &field {
                Some(field) => {
                    entries[&key].as_object_mut().expect("an entry").remove(field);
                }
                None => {
                    entries.remove(&key);
                }
            }
            let after = findings(&read(&changed, LOOKUP));
            if after.difference(&before).next().is_none() {
                missed.push(format!("{name}|{key} {}", field.unwrap_or_default()));
            }
        }
    }
    assert!(tables >= 16, "{tables} tables");
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn whole_tables_deleted_from_a_whole_configuration_are_found() {
    let sound = sound();
    let before = findings(&read(&sound, LOOKUP));
    let identity = ["DEVICE_METADATA", "PORT"];
    let is_needed = |name: &str| !identity.contains(&name) && !name.ends_with("_LIST");
    for name in sound.keys().filter(|name| is_needed(name)) {
        let mut changed = sound.clone();
        changed.remove(name);
        let after = findings(&read(&changed, LOOKUP));
        assert!(after.difference(&before).next().is_some(), "{name}");
    }
}

#[test]
fn what_was_not_judged_is_listed_with_the_reason() {
    let gaps = |tables: &Map<String, Value>, lookup: &str, name: Option<&str>| {
        let options = Options { chip: name.and_then(chip), ..Options::default() };
        not_judged(&read(tables, lookup), &options)
    };
    let sound = sound();
    assert_eq!(gaps(&sound, LOOKUP, Some("trident3")), [""; 0]);
    let without_rows = gaps(&sound, "", Some("trident3"));
    assert_eq!(
        without_rows,
        [
            "headroom of 24 lossless groups (Ethernet0, Ethernet4, Ethernet8 and 9 more): no pg_profile_lookup.ini"
        ]
    );
    assert!(gaps(&sound, LOOKUP, None)[0].contains("name it with --chip"));
    let mut buffers = sound.clone();
    buffers.retain(|name, _| name.starts_with("BUFFER"));
    let of_buffers = gaps(&buffers, LOOKUP, Some("trident3"));
    assert!(of_buffers.iter().any(|gap| gap.contains("speed is not known")), "{of_buffers:#?}");
    assert!(of_buffers.iter().any(|gap| gap.contains("(PORT_QOS_MAP)")), "{of_buffers:#?}");
}

#[test]
fn queues_of_a_card_in_a_chassis_are_not_missed() {
    let mut chassis = sound();
    let queues = chassis["QUEUE"].as_object().expect("a table").clone();
    let of_card = queues.into_iter().map(|(key, entry)| (format!("card1|Asic0|{key}"), entry));
    chassis.insert("QUEUE".to_owned(), Value::Object(of_card.collect()));
    let found = check(&read(&chassis, LOOKUP), &Options::default()).expect("rules");
    let missed: Vec<_> = found.iter().filter(|one| one.message.contains("in QUEUE")).collect();
    assert!(missed.is_empty(), "{missed:#?}");
}
