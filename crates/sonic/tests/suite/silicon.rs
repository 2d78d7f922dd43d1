//! Compares predicted with measured numbers of every distinct qualification entry with a known
//! configuration, by the rules of `docs/evidence/silicon.md`.

use crate::measured::{ENTRIES, Entry};
use crate::support::{corpus, example, switch};
use crate::yaml::Node;
use bufferlab_sonic::lint::{Options, Severity, check};
use bufferlab_sonic::silicon::{CHIPS, GENERIC, Memory, Prediction, Rule, chip, chip_for, predict};
use bufferlab_sonic::{Config, Reader};
use std::path::Path;

/// A number of a qualification entry: predicted value, measured value, and the testers' margin.
struct Value {
    entry: String,
    what: &'static str,
    predicted: u64,
    measured: u64,
    margin: u64,
    why: &'static str,
    apart: bool,
}

impl Value {
    fn off(&self) -> u64 {
        self.predicted.abs_diff(self.measured)
    }

    fn row(&self) -> String {
        let off = i128::from(self.predicted) - i128::from(self.measured);
        let why = if self.off() == 0 { "" } else { self.why };
        format!(
            "| {} | {} | {} | {} | {off:+} | {why} |",
            self.entry, self.what, self.predicted, self.measured
        )
    }
}

fn values(folder: &Path, entry: &Entry) -> Vec<Value> {
    let measured = entry.measured(folder);
    let config = entry.config(folder);
    let chip = chip(entry.chip).expect("a family");
    let prediction = predict(&config, chip, 64).unwrap_or_else(|error| panic!("{}: {error}", entry.name()));
    let (speed, cable) = entry.speed_cable.trim_end_matches('m').split_once('_').expect("speed and cable");
    let is_class = |speed: u64, cable: u64| {
        let group = prediction.groups.iter();
        group
            .clone()
            .find(|group| group.speed_mbps == Some(speed) && group.cable_metres == Some(cable as f64))
    };
    let (speed, cable) = (speed.parse().expect("a speed"), cable.parse().expect("metres"));
    let group = is_class(speed, cable).or_else(|| prediction.groups.first()).expect("a class");
    let margin = |test: &str| measured.number(&[test, "pkts_num_margin"]).unwrap_or(2).max(2);
    let mut found = Vec::new();
    let mut add = |what, predicted, measured: Option<u64>, margin| {
        if let Some(measured) = measured {
            found.push(Value {
                entry: entry.name(),
                what,
                predicted,
                measured,
                margin,
                why: entry.why,
                apart: entry.apart,
            });
        }
    };
    let pfc = measured.number(&["xoff_1", "pkts_num_trig_pfc"]);
    add("pause", group.packets[0], pfc, margin("xoff_1"));
    let resume = ["xon_1", "pkts_num_dismiss_pfc"];
    add("resume", group.packets[2], measured.number(&resume), margin("xon_1"));
    if entry.headroom {
        let test = if entry.family == "th2" { "wm_pg_headroom" } else { "xoff_1" };
        let loss = measured.number(&[test, "pkts_num_trig_ingr_drp"]);
        let from = measured.number(&[test, "pkts_num_trig_pfc"]);
        let beyond = loss.zip(from).map(|(loss, from)| loss - from);
        add("headroom", group.packets[1] - group.packets[0], beyond, margin(test));
    }
    if entry.headroom_pool {
        let part = |key: &str| measured.number(&["hdrm_pool_size", key]);
        let sum = (part("pgs_num"), part("pkts_num_hdrm_full"), part("pkts_num_hdrm_partial"));
        if let (Some(groups), Some(full), Some(partial)) = sum {
            let pool = prediction.headroom_pools.first().expect("a pool").cells;
            add("headroom pool", pool, Some((groups - 1) * full + partial), 0);
        }
    }
    let reserve = measured.number(&["wm_pg_shared_lossless", "pkts_num_fill_min"]);
    if entry.family != "jr2" {
        add("reserve of a group", group.minimum, reserve, 0);
    }
    let lossy = measured.number(&["lossy_queue_1", "pkts_num_trig_egr_drp"]);
    if let Some(queue) = prediction.queues.first() {
        add("lossy drop", queue.drop, lossy, margin("lossy_queue_1").max(4));
    }
    found.extend(sequence(&measured, entry, &config, &prediction));
    found
}

fn sequence(measured: &Node, entry: &Entry, config: &Config, prediction: &Prediction) -> Vec<Value> {
    let Some(points) = measured.numbers(&["hdrm_pool_size", "pkts_num_trig_pfc_multi"]) else {
        return Vec::new();
    };
    let memory = Memory::new(config, chip(entry.chip).expect("a family")).expect("a memory");
    let group = &prediction.groups[0];
    let predicted = memory.fill_points(group.minimum, group.dynamic_th.expect("dynamic"), points.len());
    let pairs = predicted.into_iter().zip(points);
    pairs
        .map(|(predicted, measured)| Value {
            entry: entry.name(),
            what: "sequence",
            predicted,
            measured,
            margin: 0,
            why: entry.why,
            apart: entry.apart,
        })
        .collect()
}

fn share(values: &[&Value], holds: impl Fn(&Value) -> bool) -> (usize, f64) {
    let hits = values.iter().filter(|value| holds(value)).count();
    (hits, hits as f64 / values.len() as f64)
}

#[test]
fn measured_numbers_come_out_of_the_configuration_alone() {
    let Some(folder) = corpus("silicon") else { return };
    let all: Vec<_> = ENTRIES.iter().flat_map(|entry| values(&folder, entry)).collect();
    eprintln!("| entry | number | predicted | measured | difference | why |\n|---|---|--:|--:|--:|---|");
    for value in all.iter().filter(|value| value.what != "sequence" || value.off() > 0) {
        eprintln!("{}", value.row());
    }
    let of = |what: &str| all.iter().filter(|value| value.what == what && !value.apart).collect::<Vec<_>>();
    let check = |what: &str, least: f64, claim: &str, holds: &dyn Fn(&Value) -> bool| {
        let values = of(what);
        let (hits, part) = share(&values, holds);
        eprintln!("{what}, {claim}: {hits} of {}", values.len());
        assert!(part >= least, "{what}, {claim}: {hits} of {}", values.len());
    };
    check("pause", 0.8, "within the margin", &|value| value.off() <= value.margin);
    check("pause", 16.0 / 21.0, "exact", &|value| value.off() == 0);
    check("lossy drop", 15.0 / 19.0, "exact", &|value| value.off() == 0);
    check("pause", 0.9, "within 1 %", &|value| 100 * value.off() <= value.measured);
    check("headroom", 0.95, "within the margin", &|value| value.off() <= value.margin);
    check("resume", 0.95, "within the margin", &|value| value.off() <= value.margin);
    check("headroom pool", 0.85, "exact", &|value| value.off() == 0);
    check("reserve of a group", 1.0, "exact", &|value| value.off() == 0);
    check("sequence", 1.0, "exact", &|value| value.off() == 0);
    assert!(all.iter().filter(|value| value.apart).all(|value| value.off() == 0), "the part that is known");
    let th5: Vec<_> = of("pause").into_iter().filter(|value| value.entry.starts_with("th5")).collect();
    assert_eq!(share(&th5, |value| value.off() == 0), (10, 1.0));
}

fn unchanged(_: &str, text: String) -> String {
    text
}

#[test]
fn the_small_switch_is_accounted_by_hand() {
    let config = switch(unchanged);
    let prediction = predict(&config, chip("trident3").expect("a family"), 64).expect("a prediction");
    // 4,000,000 B are 15,625 cells, and 800,000 B of headroom are 3,125 cells. Reserves take 4
    // ports x 2 groups x 6 cells, and 4 x 5 queues x 6 cells.
    assert_eq!(prediction.shared, 15_625 - 3_125 - 48 - 120);
    let group = &prediction.groups[0];
    // With alpha = 1/2, 4,111 cells reach half of the 8,221 cells that are left of 12,332. The
    // group has a reserve of 6 cells.
    assert_eq!((group.minimum, group.pause), (6, 6 + 4_111));
    assert_eq!((group.headroom, group.drop, group.resume_below), (624, 6 + 4_111 + 624 + 1, 14));
    let five = &prediction.groups[1];
    assert_eq!((five.profile.as_str(), five.headroom), ("pg_lossless_100000_5m_profile", 352));
    // The queue gets two thirds of the lossy pool (11,718 cells minus 120), and has a reserve of 6
    // cells.
    assert_eq!(prediction.queues[0].drop, 6 + 7_732 + 1);
    assert_eq!(prediction.headroom_pools[1].groups, 9);
    assert!(prediction.not_predicted.is_empty(), "{:?}", prediction.not_predicted);
}

#[test]
fn a_file_whose_static_limit_holds_size_and_headroom_has_net_pools() {
    let config = switch(|_, text| text.replace("\"static_th\": \"4000000\"", "\"static_th\": \"4800000\""));
    let prediction = predict(&config, chip("trident3").expect("a family"), 64).expect("a prediction");
    assert_eq!((prediction.shared, prediction.terms.len()), (15_625, 1));
    assert!(prediction.accounting.starts_with("net pools"), "{}", prediction.accounting);
}

#[test]
fn what_cannot_be_predicted_says_why() {
    let without_size = switch(|_, text| text.replace("\"size\": \"4000000\", \"xoff\"", "\"xoff\""));
    let error = predict(&without_size, chip("trident3").expect("a family"), 64).expect_err("no size");
    assert!(error.message.contains("the pool has no size"), "{error}");
    let config = switch(unchanged);
    assert!(chip_for(&config, None).expect_err("no hwsku").help.contains("--chip"));
    assert!(chip_for(&config, Some("tomahawk9")).expect_err("no chip").help.contains("tomahawk5"));
    let mut reader = Reader::default();
    reader.add("show.txt", example("show-buffer.txt").as_bytes()).expect("output");
    assert!(predict(&reader.finish(), chip("trident3").expect("a family"), 64).expect("S").groups.is_empty());
}

#[test]
fn configurations_that_were_measured_have_no_error() {
    let Some(folder) = corpus("measured") else { return };
    // An entry with a separate `pool` mixes the files of two roles, so the test omits it.
    for entry in ENTRIES.iter().filter(|entry| entry.pool.is_none()) {
        let options = Options { chip: chip(entry.chip), ..Options::default() };
        let found = check(&entry.config(&folder), &options).expect("rules");
        for finding in found.iter().filter(|finding| finding.severity < Severity::Info) {
            eprintln!(
                "{}: {} {} {}: {}",
                entry.name(),
                finding.severity,
                finding.rule.code,
                finding.place,
                finding.message
            );
        }
        assert!(found.iter().all(|finding| finding.severity > Severity::Error), "{}", entry.name());
    }
}

/// Names of chip families in sonic-mgmt's lists, each with the name in this crate.
const FAMILIES: [(&str, &str); 17] = [
    ("broadcom_td2", "trident2"),
    ("broadcom_td3", "trident3"),
    ("broadcom_th", "tomahawk"),
    ("broadcom_th2", "tomahawk2"),
    ("broadcom_th3", "tomahawk3"),
    ("broadcom_th4", "tomahawk4"),
    ("broadcom_th5", "tomahawk5"),
    ("broadcom_jr2", "jericho2"),
    ("broadcom_j2c+", "jericho2"),
    ("mellanox_spc1", "spectrum1"),
    ("mellanox_spc2", "spectrum2"),
    ("mellanox_spc3", "spectrum3"),
    ("mellanox_spc4", "spectrum4"),
    ("mellanox_spc5", "spectrum5"),
    ("broadcom_td4", "trident4"),
    ("broadcom_th6", "tomahawk6"),
    ("broadcom_q3d", "jericho3"),
];

/// Each model in sonic-mgmt's lists has its chip family in this crate, or is known to have another
/// chip.
#[test]
fn every_hardware_model_has_its_family_or_is_known_without_a_memory() {
    let Some(folder) = corpus("models") else { return };
    let table = std::fs::read_to_string(folder.join("models.csv")).expect("models.csv");
    let mut known = 0;
    for (model, asic) in table.lines().skip(1).filter_map(|line| line.split_once(',')) {
        // The names of vendors do not identify a chip family.
        if matches!(asic, "broadcom" | "mellanox_dualtor") {
            continue;
        }
        let text = format!(r#"{{"DEVICE_METADATA": {{"localhost": {{"hwsku": "{model}"}}}}}}"#);
        let config = bufferlab_sonic::read("c.json", text.as_bytes()).expect("JSON");
        let expected = FAMILIES.iter().find(|(name, _)| *name == asic).map(|(_, family)| *family);
        match (chip_for(&config, None), expected) {
            (Ok(chip), expected) => {
                assert_eq!(Some(chip.name), expected, "{model} is {asic}");
                known += 1;
            }
            (Err(error), None) => {
                assert!(error.message.contains("known model, unknown memory"), "{error}");
            }
            (Err(error), Some(_)) => panic!("{model} is {asic}: {error}"),
        }
    }
    assert!(known > 70, "{known} models");
}

#[test]
fn only_nvidia_chips_with_two_levels_read_7_as_64_and_only_spectrum_6_stores_descriptors() {
    for chip in CHIPS.iter().chain([&GENERIC]) {
        let two_levels = matches!(chip.rule, Rule::TwoLevels);
        assert_eq!(two_levels, ["spectrum4", "spectrum5", "spectrum6"].contains(&chip.name));
        for exponent in -8..=8 {
            let expected = if two_levels && exponent == 7 { 6 } else { exponent };
            assert_eq!(chip.exponent(exponent), expected, "{}", chip.name);
        }
        let more = match (chip.name, chip.rule) {
            ("spectrum6", _) => 32,
            (_, Rule::Bytes(more)) => more,
            _ => 0,
        };
        assert_eq!(chip.packet_overhead(), more, "{}", chip.name);
        for bytes in [64, 192, 225, 1_024, 9_100] {
            let expected = (bytes + more).div_ceil(chip.cell) * chip.cell;
            assert_eq!(chip.packet_bytes(bytes), expected, "{}, {bytes} B", chip.name);
        }
    }
}

#[test]
fn a_switch_with_a_chip_that_is_not_listed_is_refused_by_name() {
    let of = |model: &str| {
        let text = format!(r#"{{"DEVICE_METADATA": {{"localhost": {{"hwsku": "{model}"}}}}}}"#);
        let config = bufferlab_sonic::read("c.json", text.as_bytes()).expect("JSON");
        chip_for(&config, None).expect_err("no chip of the list").message
    };
    assert!(of("Cisco-8101-32FH-O").contains("Cisco Silicon One (GB)"), "{}", of("Cisco-8101-32FH-O"));
    assert!(of("Wistron_sw_to3200k_32x100").contains("known model, unknown memory"));
}

#[test]
fn pools_of_an_nvidia_switch_are_net_on_an_unknown_chip_too() {
    let device = |device: &str| {
        switch(|name, text| match name {
            "switch/buffers.json" => {
                text.replacen('{', &format!("{{\"DEVICE_METADATA\": {{\"localhost\": {{ {device} }} }},"), 1)
            }
            _ => text,
        })
    };
    let shared = |config: &Config| Memory::new(config, &GENERIC).expect("a memory").shared;
    for known in [
        "\"hwsku\": \"Mellanox-SN5640-C512S2\"",
        "\"hwsku\": \"ACS-SN9900\"",
        "\"platform\": \"x86_64-nvidia_sn5640-r0\"",
        "\"hwsku\": \"ACS-SN6600\"",
    ] {
        assert_eq!(shared(&device(known)), 4_000_000, "{known}");
    }
    for other in
        ["\"hwsku\": \"Some-SNJ60\"", "\"hwsku\": \"Dell-Z9999\"", "\"platform\": \"x86_64-dell_z9999-r0\""]
    {
        assert!(shared(&device(other)) < 4_000_000, "{other}");
    }
}

#[test]
fn a_dump_without_a_model_is_told_apart_by_its_lists_of_ports() {
    let dump = |limit: &str| {
        let text = format!(
            r#"{{
                "BUFFER_POOL_TABLE:ingress_lossless_pool": {{ "type": "ingress", "mode": "dynamic", "size": "4000000" }},
                "BUFFER_PROFILE_TABLE:of_port": {{ "pool": "[BUFFER_POOL_TABLE:ingress_lossless_pool]", "size": "0", {limit} }},
                "BUFFER_PROFILE_TABLE:pg_lossless_100000_5m_profile": {{
                    "pool": "[BUFFER_POOL_TABLE:ingress_lossless_pool]", "size": "54272", "xon": "18432", "xoff": "35840", "dynamic_th": "0"
                }},
                "BUFFER_PORT_INGRESS_PROFILE_LIST:Ethernet0": {{ "profile_list": "[BUFFER_PROFILE_TABLE:of_port]" }},
                "BUFFER_PG_TABLE:Ethernet0:3-4": {{ "profile": "[BUFFER_PROFILE_TABLE:pg_lossless_100000_5m_profile]" }}
            }}"#
        );
        bufferlab_sonic::read("appl_db.json", text.as_bytes()).expect("JSON")
    };
    let net = dump("\"dynamic_th\": \"7\"");
    assert!(net.problems.is_empty(), "{:?}", net.problems);
    assert_eq!(Memory::new(&net, &GENERIC).expect("a memory").shared, 4_000_000);
    let gross = dump("\"static_th\": \"4000000\"");
    assert!(Memory::new(&gross, &GENERIC).expect("a memory").shared < 4_000_000);
}

#[test]
fn a_pool_that_may_be_net_and_overcommits_is_a_finding() {
    // The sizes are from sonic-buildimage#28657. With its headroom, the pool exceeds the memory.
    let with = |chip_name: &str, size: u64| {
        let config = switch(|name, text| match name {
            "switch/buffers.json" => text
                .replacen("\"size\": \"4000000\"", &format!("\"size\": \"{size}\""), 1)
                .replace("\"xoff\": \"800000\"", "\"xoff\": \"81553920\"")
                .replace("\"static_th\": \"4000000\"", "\"static_th\": \"265332900\""),
            _ => text,
        });
        let options = Options { chip: chip(chip_name), ..Options::default() };
        let found = check(&config, &options).expect("rules");
        let of_rule = found.into_iter().filter(|finding| finding.rule.code == "SB017");
        of_rule.map(|finding| finding.message).collect::<Vec<_>>()
    };
    let found = with("tomahawk6", 258_035_400);
    assert!(found.iter().any(|one| one.contains("promise 339589320 B of the 267196860 B")), "{found:#?}");
    assert!(with("tomahawk6", 180_000_000).is_empty());
}
