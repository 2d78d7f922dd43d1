//! Tests that every command gives an equal answer to the question whether the headroom is enough.

use crate::support::{model, switch};
use bufferlab_operator::{Kind, QueueHeadroom, Traffic, WhatIf, headroom_answers, scenario};
use bufferlab_params::ParamValue;
use bufferlab_scenario::load_text;
use bufferlab_sonic::config::Config;
use bufferlab_sonic::explain::explain;
use bufferlab_sonic::lint::{Options, check};
use bufferlab_sonic::silicon::{chip, predict};
use bufferlab_theory::calculators::CALCULATORS;
use bufferlab_theory::forms::headroom::PausedPort;
use bufferlab_units::BitRate;
use std::path::Path;

/// Twenty profiles: chip, speed (Mb/s), headroom (bytes), and headroom pool (bytes).
const PROFILES: [(&str, u64, u64, u64); 20] = [
    ("trident3", 100_000, 20_000, 800_000),
    ("trident3", 100_000, 40_000, 800_000),
    ("trident3", 100_000, 90_112, 800_000),
    ("trident3", 100_000, 170_000, 800_000),
    ("trident3", 100_000, 170_000, 60_000),
    ("trident3", 25_000, 20_000, 800_000),
    ("trident3", 40_000, 56_000, 800_000),
    ("trident3", 50_000, 56_160, 800_000),
    ("tomahawk2", 100_000, 56_160, 800_000),
    ("tomahawk2", 100_000, 56_160, 100_000),
    ("tomahawk2", 50_000, 56_160, 800_000),
    ("tomahawk5", 100_000, 90_112, 800_000),
    ("tomahawk5", 200_000, 110_000, 300_000),
    ("tomahawk5", 400_000, 190_000, 800_000),
    ("tomahawk5", 800_000, 190_000, 800_000),
    ("spectrum3", 100_000, 55_296, 800_000),
    ("spectrum3", 200_000, 60_416, 800_000),
    ("spectrum4", 400_000, 110_592, 800_000),
    ("spectrum4", 800_000, 204_800, 800_000),
    ("trident2", 10_000, 18_720, 800_000),
];

fn config((_, speed, xoff, pool): (&str, u64, u64, u64)) -> Config {
    switch(|name, text| match name {
        "pg_profile_lookup.ini" => format!("{speed} 5m 1536 0 {xoff} -1 3584\n"),
        "port_config.ini" => text.replace("100000", &speed.to_string()),
        _ => text
            .replace("\"300m\"", "\"5m\"")
            .replace("\"xoff\": \"800000\"", &format!("\"xoff\": \"{pool}\"")),
    })
}

/// Returns the notes that the command `theory headroom` prints about a headroom of `has` bytes.
fn theory(speed_mbps: u64, cell: u64, has: u64) -> Vec<String> {
    let given = [
        ("rate".to_owned(), ParamValue::Rate(BitRate(speed_mbps * 1_000_000))),
        ("cable".to_owned(), ParamValue::Ratio(5.0)),
        ("cell".to_owned(), ParamValue::Bytes(cell)),
        ("has".to_owned(), ParamValue::Bytes(has)),
    ];
    let info = CALCULATORS.find("headroom").expect("a calculator");
    info.calculate(&given).expect("in range").notes
}

#[test]
fn all_commands_give_one_answer_for_twenty_profiles() {
    for profile in PROFILES {
        let config = config(profile);
        let family = chip(profile.0).expect("a family");
        let predicted = predict(&config, family, 64).unwrap_or_else(|error| panic!("{profile:?}: {error}"));
        let answer = predicted.groups[0].headroom_answer.clone().expect("speed and cable are known");
        let explained = explain(&config, Some(family));
        let ways = explained.kinds.iter().flat_map(|kind| &kind.ways);
        let headroom: Vec<_> = ways.filter_map(|way| way.headroom.as_ref()).collect();
        assert!(!headroom.is_empty() && headroom.iter().all(|one| one.answer == answer), "{answer}");
        let options = Options { chip: Some(family), ..Options::default() };
        let found = check(&config, &options).expect("rules");
        let judged: Vec<_> = found.iter().filter(|one| one.rule.code == "SB003").collect();
        let is_enough = answer.ends_with("enough for packets of every size");
        assert_eq!(judged.is_empty(), is_enough, "{profile:?}: {answer}");
        assert!(judged.iter().all(|one| one.message.ends_with(&answer)), "{judged:#?}");
        let notes = model(&config, profile.0).notes;
        assert_eq!(notes.iter().any(|note| note.contains(&answer)), !is_enough, "{notes:#?}");
        let usable = headroom[0].bytes;
        let (_, verdict) =
            answer.rsplit_once("headroom: ").or_else(|| answer.rsplit_once("no more): ")).expect("a verdict");
        let notes = theory(profile.1, family.cell, usable);
        assert!(notes.contains(&format!("headroom of {usable} B: {verdict}")), "{profile:?}: {notes:#?}");
    }
}

#[test]
fn check_judges_a_scenario_by_the_same_needs() {
    for profile in PROFILES {
        let config = config(profile);
        let family = chip(profile.0).expect("a family");
        let predicted = predict(&config, family, 64).unwrap_or_else(|error| panic!("{profile:?}: {error}"));
        let answer = predicted.groups[0].headroom_answer.clone().expect("speed and cable are known");
        let text = scenario("check", &config, &model(&config, profile.0), &Traffic::new(Kind::Incast))
            .unwrap_or_else(|error| panic!("{profile:?}: {error}"));
        let loaded = load_text(Path::new("check.toml"), &text, &[]).unwrap_or_else(|e| panic!("{e:?}"));
        let queue = QueueHeadroom::new(&loaded.scenario, 0, 0, 3).expect("lossless");
        let needs = PausedPort {
            speed_mbps: profile.1,
            cable_metres: 5.0,
            mtu_bytes: 9_100,
            cell_bytes: family.cell,
            packet_overhead: 0,
        };
        assert_eq!(queue.needs, needs.needs(), "{profile:?}");
        let all = headroom_answers(&loaded.scenario);
        let expected = [format!("8 lossless queues, {} Mb/s over 5 m: {}", queue.speed_mbps, queue.answer())];
        assert_eq!(all, expected, "{profile:?}");
        // The simulated switch rounds a headroom up to whole cells, and some chips double the
        // headroom.
        if queue.usable == profile.2 {
            assert_eq!(queue.answer(), answer, "{profile:?}");
        }
    }
}

#[test]
fn a_pool_below_the_need_of_one_group_is_an_error() {
    let config = config(("trident3", 100_000, 170_000, 20_000));
    let options = Options { chip: chip("trident3"), ..Options::default() };
    let found = check(&config, &options).expect("rules");
    let errors: Vec<_> =
        found.iter().filter(|one| one.severity == bufferlab_sonic::lint::Severity::Error).collect();
    assert!(errors.iter().any(|one| one.rule.code == "SB019"), "{errors:#?}");
    let judged = found.iter().find(|one| one.rule.code == "SB003").expect("it is judged by the pool");
    assert!(judged.message.contains("19968 B of headroom (of 170000 B in the profile"), "{}", judged.message);
}

#[test]
fn what_if_answers_as_lint_does_and_not_for_the_packets_of_its_traffic() {
    let config = config(("trident3", 100_000, 90_112, 800_000));
    let model = model(&config, "trident3");
    let plan = WhatIf::new("what-if", (&config, &model), None, &Traffic::new(Kind::Incast)).expect("it fits");
    let about: Vec<_> = plan.notes.iter().filter(|note| note.contains("of headroom")).collect();
    assert_eq!(about.len(), 1, "{:#?}", plan.notes);
    assert!(about[0].contains("enough for full-size packets"), "{about:?}");
    assert!(plan.scenario.contains("enough for full-size packets"));
}
