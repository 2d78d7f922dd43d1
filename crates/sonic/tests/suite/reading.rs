//! The reader keeps every configuration value with its place in the files.

use crate::support::{example, switch};
use bufferlab_sonic::config::{MapKind, Mode, Model, Side, Threshold};
use bufferlab_sonic::{PortName, Reader, Resolved, Weight, read};

fn unchanged(_: &str, text: String) -> String {
    text
}

#[test]
fn a_whole_switch_is_read_from_its_parts_and_nothing_is_left_over() {
    let config = switch(unchanged);
    assert_eq!(config.problems, []);
    assert_eq!(config.model(), Model::Traditional);
    let pool = &config.pools["ingress_lossless_pool"];
    assert_eq!(pool.size.as_ref().map(|size| size.value), Some(4_000_000));
    assert_eq!(pool.xoff.as_ref().map(|xoff| xoff.value), Some(800_000));
    let kinds = (pool.side.as_ref().map(|side| side.value), pool.mode.as_ref().map(|mode| mode.value));
    assert_eq!(kinds, (Some(Side::Ingress), Some(Mode::Dynamic)));
    let port = PortName::new("Ethernet8");
    assert_eq!(config.ports[&port].speed_mbps.as_ref().map(|speed| speed.value), Some(100_000));
    assert_eq!(config.cables[&port].value, 300.0);
    assert_eq!(config.named_ports().len(), 4);
    let (name, map) = config.map(&port, MapKind::DscpToTc).expect("a map");
    assert_eq!((name, map.get(3), map.get(63)), ("AZURE", Some(3), Some(1)));
    assert_eq!(config.wred["AZURE_LOSSLESS"].colours[0].max.as_ref().map(|max| max.value), Some(800_000));
}

#[test]
fn a_lossless_group_gets_the_row_of_its_speed_and_cable() {
    let config = switch(unchanged);
    let group = config.group(&PortName::new("Ethernet8"), 3);
    let profile = group.profile().expect("a row");
    assert_eq!(profile.name, "pg_lossless_100000_300m_profile");
    assert_eq!(profile.xoff.as_ref().map(|xoff| xoff.value), Some(159_744));
    assert_eq!(profile.threshold.as_ref().map(|limit| limit.value), Some(Threshold::Dynamic(-1)));
    assert_eq!(profile.place.to_string(), "pg_profile_lookup.ini:4: pg_profile_lookup|100000 300m");
    assert!(matches!(config.group(&PortName::new("Ethernet8"), 5), Resolved::Nothing));
    let longer = switch(|_, text| text.replace("\"Ethernet8\": \"300m\"", "\"Ethernet8\": \"301m\""));
    assert!(matches!(longer.group(&PortName::new("Ethernet8"), 3), Resolved::NoRow(100_000, 301.0)));
    let none = switch(|_, text| text.replace("\"Ethernet8\": \"300m\"", "\"Ethernet8\": \"0m\""));
    assert!(matches!(none.group(&PortName::new("Ethernet8"), 3), Resolved::Nothing));
}

#[test]
fn values_keep_their_lines() {
    let config = switch(unchanged);
    let profile = &config.profiles["egress_lossy_profile"];
    assert_eq!(profile.place.to_string(), "buffers.json:13: BUFFER_PROFILE|egress_lossy_profile");
    let size = profile.size.as_ref().expect("a size");
    assert_eq!(size.place.to_string(), "buffers.json:13: BUFFER_PROFILE|egress_lossy_profile.size");
}

#[test]
fn a_dump_with_flat_keys_is_the_same_configuration() {
    let flat = r#"{"BUFFER_PROFILE|p": {"pool": "x", "dynamic_th": "-3"},
        "BUFFER_PG|Ethernet0|3-4": {"profile": "NULL"},
        "ACL_RULE|a": {}}"#;
    let config = read("dump.json", flat.as_bytes()).expect("a dump");
    assert_eq!(
        config.profiles["p"].threshold.as_ref().map(|limit| limit.value),
        Some(Threshold::Dynamic(-3))
    );
    assert!(matches!(config.group(&PortName::new("Ethernet0"), 4), Resolved::Computed(0)));
    assert_eq!(config.model(), Model::Dynamic);
    assert_eq!(config.others.get("ACL_RULE"), Some(&1));
}

#[test]
fn the_output_of_show_buffer_is_read() {
    let config = read("show.txt", example("show-buffer.txt").as_bytes()).expect("output");
    assert_eq!(config.problems, []);
    let profile = &config.profiles["pg_lossless_100000_5m_profile"];
    assert_eq!(profile.xon_offset.as_ref().map(|offset| offset.value), Some(3_584));
    assert_eq!(config.lossless_mtu.as_ref().map(|mtu| mtu.value), Some(1_024));
    assert_eq!(config.pools["ingress_lossless_pool"].xoff.as_ref().map(|xoff| xoff.value), Some(800_000));
}

#[test]
fn what_is_not_understood_is_named_with_its_place() {
    let text = r#"{
        "BUFFER_POOL": { "p": { "size": "1 MB", "type": "sideways", "sise": "1" } },
        "BUFFER_PROFILE": { "q": { "dynamic_th": "9", "static_th": "1" }, "r": 5 },
        "BUFFER_PG": { "Ethernet0": { "profile": "q" }, "Ethernet0|0": {} },
        "CABLE_LENGTH": { "AZURE": { "Ethernet0": "short" } },
        "PORT_QOS_MAP": { "Ethernet0": { "pfc_enable": "3,9" } },
        "TC_TO_QUEUE_MAP": { "AZURE": { "0": "x" } }
    }"#;
    let config = read("c.json", text.as_bytes()).expect("JSON");
    let refused = config.problems.iter().filter(|problem| problem.weight == Weight::Refused);
    let places: Vec<_> = refused.map(|problem| problem.place.to_string()).collect();
    assert_eq!(
        places,
        [
            "c.json:2: BUFFER_POOL|p.size",
            "c.json:2: BUFFER_POOL|p.type",
            "c.json:3: BUFFER_PROFILE|q.dynamic_th",
            "c.json:3: BUFFER_PROFILE|r",
            "c.json:4: BUFFER_PG|Ethernet0",
            "c.json:4: BUFFER_PG|Ethernet0|0",
            "c.json:5: CABLE_LENGTH|AZURE.Ethernet0",
            "c.json:6: PORT_QOS_MAP|Ethernet0.pfc_enable",
            "c.json:7: TC_TO_QUEUE_MAP|AZURE.0",
        ]
    );
    let notes: Vec<_> = config.problems.iter().filter(|problem| problem.weight == Weight::Note).collect();
    assert!(notes.len() == 1 && notes[0].message.contains("sise"), "{notes:?}");
}

#[test]
fn two_files_that_differ_are_both_named() {
    let mut reader = Reader::default();
    for (name, size) in [("a.json", 1), ("b.json", 2)] {
        let text = format!(r#"{{"BUFFER_POOL": {{"p": {{"size": "{size}"}}}}}}"#);
        reader.add(name, text.as_bytes()).expect("JSON");
    }
    let config = reader.finish();
    assert_eq!(config.pools["p"].size.as_ref().map(|size| size.value), Some(1));
    assert!(
        config.problems[0].to_string().contains("is \"2\" here and \"1\" in a.json:1"),
        "{:?}",
        config.problems
    );
}

#[test]
fn what_runs_completes_what_was_configured() {
    let mut reader = Reader::default();
    let configured = r#"{"BUFFER_POOL": {"ingress_lossless_pool": {"type": "ingress", "mode": "dynamic"}},
        "BUFFER_PG": {"Ethernet0|3-4": {"profile": "NULL"}}}"#;
    let running = r#"{"BUFFER_POOL_TABLE:ingress_lossless_pool": {"size": "1000000", "type": "ingress"},
        "BUFFER_PROFILE_TABLE:computed": {"pool": "ingress_lossless_pool",
            "size": "19456", "xoff": "40960", "dynamic_th": "0"},
        "BUFFER_PG_TABLE:Ethernet0:3-4": {"profile": "computed"},
        "BUFFER_PG_TABLE:Ethernet0:0": {"NULL": "NULL", "profile": "x"},
        "COUNTERS:oid:0x1": {}}"#;
    reader.add("config_db.json", configured.as_bytes()).expect("JSON");
    reader.add("appl_db.json", running.as_bytes()).expect("JSON");
    let config = reader.finish();
    assert_eq!(config.problems, []);
    assert_eq!(config.pools["ingress_lossless_pool"].size.as_ref().map(|size| size.value), Some(1_000_000));
    let group = config.group(&PortName::new("Ethernet0"), 4);
    assert_eq!(group.profile().map(|profile| profile.name.as_str()), Some("computed"));
    assert_eq!(config.others.get("COUNTERS"), Some(&1));
}

#[test]
fn a_file_for_several_chips_is_named_and_not_dropped() {
    let config = read("golden.json", br#"{"localhost": {"PORT": {}}, "asic0": {"PORT": {}}}"#).expect("JSON");
    assert_eq!(config.problems.len(), 2);
    assert!(config.problems[0].help.contains("a file of its own"), "{:?}", config.problems);
}
