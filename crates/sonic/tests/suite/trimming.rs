//! Tests that trimming is read, explained and judged.

use crate::support::{corpus, files};
use bufferlab_sonic::config::{TrimDscp, TrimQueue};
use bufferlab_sonic::diff::diff;
use bufferlab_sonic::explain::{self, explain};
use bufferlab_sonic::lint::{self, Finding, Options, Severity, check};
use bufferlab_sonic::silicon::chip;
use bufferlab_sonic::{Config, Weight, read};
use serde_json::{Value, json};

/// Returns a switch with one port, whose queue 0 trims to queue 6. Queue 6 has a static limit.
fn sound() -> Value {
    let lossy = |more: Value| {
        let mut profile = json!({ "pool": "egress_lossy_pool", "size": "0" });
        profile.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        profile
    };
    let port = json!({ "speed": "100000", "mtu": "9100", "lanes": "0,1,2,3", "admin_status": "up" });
    json!({
        "DEVICE_METADATA": { "localhost": { "hwsku": "ACS-MSN4700", "platform": "x86_64-mlnx_msn4700-r0" } },
        "PORT": { "Ethernet0": port },
        "BUFFER_POOL": {
            "egress_lossy_pool": { "type": "egress", "mode": "dynamic", "size": "20000000" },
            "egress_lossless_pool": { "type": "egress", "mode": "dynamic", "size": "20000000" },
            "ingress_lossy_pool": { "type": "ingress", "mode": "dynamic", "size": "20000000" },
        },
        "BUFFER_PROFILE": {
            "q_lossy": lossy(json!({ "dynamic_th": "0", "packet_discard_action": "trim" })),
            "q_trimmed": lossy(json!({ "static_th": "100000" })),
            "q_lossless": { "pool": "egress_lossless_pool", "size": "0", "dynamic_th": "7" },
            "pg_lossy": { "pool": "ingress_lossy_pool", "size": "0", "dynamic_th": "1" },
        },
        "BUFFER_QUEUE": {
            "Ethernet0|0": { "profile": "q_lossy" },
            "Ethernet0|3": { "profile": "q_lossless" },
            "Ethernet0|6": { "profile": "q_trimmed" },
        },
        "BUFFER_PG": { "Ethernet0|0": { "profile": "pg_lossy" } },
        "SWITCH_TRIMMING": { "GLOBAL": { "size": "256", "dscp_value": "48", "queue_index": "6" } },
    })
}

fn config(edit: impl Fn(&mut Value)) -> Config {
    let mut tables = sound();
    edit(&mut tables);
    read("config_db.json", tables.to_string().as_bytes()).expect("JSON")
}

/// Returns the findings about trimming: all of them are of rules from SB026.
fn findings(config: &Config, options: &Options) -> Vec<Finding> {
    let found = check(config, options).expect("no allowances");
    found.into_iter().filter(|finding| finding.rule.code >= "SB026").collect()
}

fn found(edit: impl Fn(&mut Value)) -> Vec<(&'static str, Severity, String)> {
    let all = findings(&config(edit), &Options { chip: chip("spectrum3"), ..Options::default() });
    all.into_iter().map(|finding| (finding.rule.code, finding.severity, finding.message)).collect()
}

fn remove(tables: &mut Value, table: &str, entry: &str, field: &str) {
    let entry = if field.is_empty() { &mut tables[table] } else { &mut tables[table][entry] };
    let name = if field.is_empty() { "GLOBAL" } else { field };
    entry.as_object_mut().expect("an object").remove(name).expect("a field");
}

#[test]
fn trimming_is_read_with_both_forms_of_each_value() {
    let global = |dscp: &str, queue: &str| {
        config(|tables| {
            tables["SWITCH_TRIMMING"]["GLOBAL"] =
                json!({ "size": "256", "dscp_value": dscp, "tc_value": "5", "queue_index": queue });
        })
    };
    let read = |config: Config| {
        assert!(config.problems.is_empty() && config.others.is_empty(), "{:?}", config.problems);
        let trimming = config.trimming.expect("trimming");
        let value = |number: &Option<bufferlab_sonic::Placed<u8>>| number.as_ref().map(|number| number.value);
        let size = trimming.size.expect("a size").value;
        let (dscp, queue) = (trimming.dscp.expect("a DSCP").value, trimming.queue.expect("a queue").value);
        (size, dscp, value(&trimming.class), queue)
    };
    assert_eq!(read(global("48", "6")), (256, TrimDscp::Value(48), Some(5), TrimQueue::Index(6)));
    assert_eq!(read(global("from-tc", "dynamic")), (256, TrimDscp::FromTc, Some(5), TrimQueue::Dynamic));
    for (dscp, queue) in [("64", "6"), ("48", "64"), ("from", "6"), ("48", "-1")] {
        let problems = global(dscp, queue).problems;
        assert!(problems.len() == 1 && problems[0].weight == Weight::Refused, "{dscp} {queue}: {problems:?}");
    }
}

#[test]
fn the_explanation_names_size_dscp_queue_and_profile_of_trimmed_packets() {
    let of = |edit: &dyn Fn(&mut Value)| explain::text(&explain(&config(edit), None));
    let whole = of(&|_| ());
    let line = "trimmed packets  256 B, DSCP 48, admitted again to queue 6 (q_trimmed)";
    assert_eq!(whole.matches("trimmed packets").count(), 1, "{whole}");
    assert!(whole.contains(line), "{whole}");
    let bare = of(&|tables| tables["BUFFER_QUEUE"] = json!({ "Ethernet0|0": { "profile": "q_lossy" } }));
    assert!(bare.contains("queue 6 (no profile: the limit of the chip applies)"), "{bare}");
    let absent = of(&|tables| remove(tables, "SWITCH_TRIMMING", "", ""));
    let defaults = "the chip's default size, the chip's default DSCP, admitted again to a queue that";
    assert!(absent.contains(defaults), "{absent}");
    // A dynamic queue follows from the DSCP by the maps of the port.
    let dynamic = of(&|tables| {
        tables["SWITCH_TRIMMING"]["GLOBAL"]["queue_index"] = "dynamic".into();
        tables["PORT_QOS_MAP"] =
            json!({ "Ethernet0": { "dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE" } });
        tables["DSCP_TO_TC_MAP"] = json!({ "AZURE": { "0": "0", "48": "5" } });
        tables["TC_TO_QUEUE_MAP"] = json!({ "AZURE": { "0": "0", "5": "6" } });
    });
    assert!(dynamic.contains(line), "{dynamic}");
}

#[test]
fn a_difference_names_the_trimming_that_changes() {
    let (old, new) =
        (config(|_| ()), config(|tables| tables["SWITCH_TRIMMING"]["GLOBAL"]["size"] = "128".into()));
    let changes = diff(&old, &new, None).expect("no allowances").changes;
    let trim = changes.iter().find(|change| change.what.contains("trimmed packets")).expect("a change");
    assert!(trim.before.starts_with("256 B") && trim.after.starts_with("128 B"), "{trim:?}");
}

#[test]
fn a_sound_trim_queue_has_no_finding() {
    assert_eq!(found(|_| ()), []);
    // Without a queue that trims, the settings of the switch are not judged.
    let unused = found(|tables| {
        remove(tables, "BUFFER_PROFILE", "q_lossy", "packet_discard_action");
        remove(tables, "BUFFER_QUEUE", "Ethernet0|6", "profile");
        remove(tables, "SWITCH_TRIMMING", "GLOBAL", "size");
    });
    assert_eq!(unused, []);
}

#[test]
fn settings_that_are_missing_are_named() {
    use Severity::{Info, Warning};
    for field in ["size", "dscp_value", "queue_index"] {
        let found = found(|tables| remove(tables, "SWITCH_TRIMMING", "GLOBAL", field));
        assert_eq!((found.len(), found[0].0, found[0].1), (1, "SB027", Warning), "{field}: {found:?}");
        assert!(found[0].2.starts_with(&format!("no {field}, and queues of Ethernet0 trim")), "{found:?}");
    }
    let from_tc = found(|tables| tables["SWITCH_TRIMMING"]["GLOBAL"]["dscp_value"] = "from-tc".into());
    assert!(from_tc.len() == 1 && from_tc[0].2.starts_with("no tc_value"), "{from_tc:?}");
    let empty = found(|tables| remove(tables, "SWITCH_TRIMMING", "", ""));
    assert!(empty.len() == 1 && (empty[0].0, empty[0].1) == ("SB027", Warning), "{empty:?}");
    // A table that is not in the files may be in another one.
    let absent = found(|tables| {
        tables.as_object_mut().expect("tables").remove("SWITCH_TRIMMING");
    });
    assert!(absent.len() == 1 && (absent[0].0, absent[0].1) == ("SB027", Info), "{absent:?}");
    assert!(absent[0].2.ends_with("in these files"), "{absent:?}");
}

#[test]
fn a_trim_queue_without_a_profile_is_found() {
    let found = found(|tables| {
        tables["BUFFER_QUEUE"].as_object_mut().expect("queues").remove("Ethernet0|6");
    });
    assert!(found.len() == 1 && (found[0].0, found[0].1) == ("SB028", Severity::Warning), "{found:?}");
    assert!(found[0].2.starts_with("trimmed packets enter queue 6 of Ethernet0, which has no profile"));
}

#[test]
fn a_lossless_trim_queue_is_an_error() {
    let by_profile = found(|tables| {
        tables["BUFFER_QUEUE"]["Ethernet0|6"] = json!({ "profile": "q_lossless" });
    });
    assert!(by_profile.len() == 1 && (by_profile[0].0, by_profile[0].1) == ("SB029", Severity::Error));
    // Pauses of priority 3 stop queue 6 by the port's map.
    let by_pfc = found(|tables| {
        tables["PORT_QOS_MAP"] = json!({ "Ethernet0": { "pfc_enable": "3", "pfc_to_queue_map": "AZURE" } });
        tables["MAP_PFC_PRIORITY_TO_QUEUE"] = json!({ "AZURE": { "3": "6" } });
    });
    let hit = by_pfc.iter().find(|(code, ..)| *code == "SB029").expect("a finding");
    assert!(hit.2.ends_with("PFC of priority 3 pauses the queue"), "{hit:?}");
}

#[test]
fn a_trim_queue_that_trims_is_found() {
    let found = found(|tables| tables["BUFFER_QUEUE"]["Ethernet0|6"] = json!({ "profile": "q_lossy" }));
    assert!(found.len() == 1 && (found[0].0, found[0].1) == ("SB026", Severity::Warning), "{found:?}");
}

#[test]
fn a_trim_queue_holds_the_trims_of_a_round_trip() {
    // A trimmed packet of 256 B takes two cells of 144 B. A round trip of 8 us at 100 Gb/s has 10
    // packets of 9,100 B, which take 2,880 B.
    let with = |limit: u64, round_trip_us: Option<f64>, edit: &dyn Fn(&mut Value)| {
        let config = config(|tables| {
            tables["BUFFER_PROFILE"]["q_trimmed"]["static_th"] = limit.to_string().into();
            edit(tables);
        });
        let options = Options { chip: chip("spectrum3"), round_trip_us, ..Options::default() };
        findings(&config, &options)
    };
    assert_eq!(with(2_880, Some(8.0), &|_| ()).len(), 0);
    let small = with(2_879, Some(8.0), &|_| ());
    assert!(small.len() == 1 && small[0].rule.code == "SB030", "{small:?}");
    let message = "queue 6 of Ethernet0 holds 9 packets trimmed to 256 B; a round trip of 8.0 us trims 10";
    assert_eq!((small[0].message.as_str(), small[0].severity), (message, Severity::Warning));
    assert_eq!(small[0].suggestion, "\"static_th\": \"2880\" or more");
    // The reserve counts. Without a speed, or without a round trip and a cable, nothing is judged.
    assert_eq!(
        with(2_592, Some(8.0), &|tables| tables["BUFFER_PROFILE"]["q_trimmed"]["size"] = "288".into()).len(),
        0
    );
    assert_eq!(with(0, None, &|_| ()).len(), 0);
    assert_eq!(with(0, Some(8.0), &|tables| remove(tables, "PORT", "Ethernet0", "speed")).len(), 0);
    // 2 x 300 m are 3.03 us: 4 packets, 1,152 B.
    let cable = |tables: &mut Value| tables["CABLE_LENGTH"] = json!({ "AZURE": { "Ethernet0": "300m" } });
    assert_eq!((with(1_151, None, &cable).len(), with(1_152, None, &cable).len()), (1, 0));
    // A dynamic limit has no fixed number of packets.
    let dynamic = |tables: &mut Value| {
        tables["BUFFER_PROFILE"]["q_trimmed"] =
            json!({ "pool": "egress_lossy_pool", "size": "0", "dynamic_th": "-8" });
    };
    assert_eq!(with(0, Some(8.0), &dynamic).len(), 0);
}

#[test]
fn real_files_have_no_finding_about_trimming() {
    let Some(folder) = corpus("trimming") else { return };
    let folders = ["rendered", "tables"].map(|name| folder.join(name));
    let mut judged = 0;
    for path in folders.iter().flat_map(|folder| files(folder)).filter(|path| path.extension().is_some()) {
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        let Ok(config) = read(&name, &std::fs::read(&path).expect("a file that is there")) else { continue };
        let found = findings(&config, &Options::default());
        assert!(found.is_empty(), "{name}: {}", lint::text(&found, &[]));
        judged += 1;
    }
    assert!(judged > 10, "{judged} files");
}
