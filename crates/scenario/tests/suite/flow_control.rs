//! What the keys of flow control mean: defaults that follow from the switch, keys that switch things off, storms and routes by name.

use crate::common::{SCENARIOS, assert_round_trip, owned, render, shipped_with};
use bufferlab_core::{BufferProfile, Direction, ParamValue, ThresholdRule};
use bufferlab_scenario::{FaultSpec, RouteSpec, WatchdogAction, WatchdogRule, WatchdogSpec, load};
use bufferlab_units::Time;
use std::path::Path;

fn watchdog(overrides: &[(&str, &str)]) -> Option<WatchdogSpec> {
    let loaded = shipped_with("lossless.toml", overrides);
    assert_round_trip(&loaded);
    loaded.scenario.switches[0].pfc.as_ref().expect("it is lossless").watchdog
}

#[test]
fn a_watchdog_waits_200_ms_for_every_32_ports_and_looks_as_often_as_the_shorter_time_wants() {
    let times =
        |spec: WatchdogSpec| [spec.detection, spec.restoration, spec.poll].map(|t| t.0 / 1_000_000_000);
    let found = |overrides: &[(&str, &str)]| times(watchdog(overrides).expect("it has one"));
    assert_eq!(found(&[("switch.pfc.watchdog", "{}")]), [200, 200, 200]);
    let large = ("topology.hosts", "33");
    let roomy = ("switch.buffer", "4 MB");
    assert_eq!(found(&[("switch.pfc.watchdog", "{}"), large, roomy]), [400, 400, 400]);
    assert_eq!(
        found(&[("switch.pfc.watchdog", "{ detection_time = \"3 s\", restoration_time = \"2 s\" }")]),
        [3_000, 2_000, 1_000]
    );
    let spec = watchdog(&[("switch.pfc.watchdog", "{ action = \"forward\" }")]).expect("it has one");
    assert_eq!((spec.rule, spec.action), (WatchdogRule::Mellanox, WatchdogAction::Forward));
}

#[test]
fn flow_control_and_its_watchdog_are_switched_off_by_one_key_each() {
    assert_eq!(watchdog(&[]), None);
    assert_eq!(watchdog(&[("switch.pfc.watchdog", "{ enabled = false }")]), None);
    let off = shipped_with("lossless.toml", &[("switch.pfc.enabled", "false")]);
    assert_round_trip(&off);
    assert_eq!((off.scenario.switches[0].pfc.clone(), off.scenario.switches[0].lossless()), (None, 0));
    // Any policy will do then.
    let other = [("switch.pfc.enabled", "false"), ("switch.policy", "dt")];
    assert_eq!(shipped_with("lossless.toml", &other).scenario.switches[0].policy, "dt");
}

#[test]
fn a_storm_repeats_its_frames_at_half_of_the_pause_and_warns_where_nobody_listens() {
    let loaded = shipped_with("pfc-storm.toml", &[]);
    // 1000 quanta of 64 B at 10 Gb/s are 51.2 us.
    let expected = FaultSpec::PauseStorm {
        host: 0,
        priorities: vec![1],
        from: Time::from_ms(1),
        until: Time::from_ms(7),
        interval: Time(25_600_000),
        quanta: 1_000,
    };
    assert_eq!((loaded.scenario.faults, loaded.warnings.len()), (vec![expected], 0));
    let deaf = shipped_with("pfc-storm.toml", &[("switch.pfc.enabled", "false")]);
    assert!(
        deaf.warnings[0].to_string().contains("priority 1 is not lossless at \"s0\""),
        "{:?}",
        deaf.warnings
    );
}

#[test]
fn routes_name_switches_and_hosts_by_patterns() {
    let loaded = shipped_with(
        "deadlock.toml",
        &[("topology.route", "[{ at = [\"s1\", \"s2\"], to = \"*\", via = \"s0\" }]")],
    );
    assert_round_trip(&loaded);
    assert_eq!(loaded.scenario.topology.routes, [RouteSpec { at: vec![1, 2], to: vec![0, 1, 2], via: 0 }]);
}

#[test]
fn headroom_is_one_size_or_a_list_with_one_per_port() {
    let headroom = |value: &str| {
        let loaded = shipped_with("lossless.toml", &[("switch.policy.headroom", value)]);
        assert_round_trip(&loaded);
        let params = &loaded.scenario.switches[0].policy_params;
        params.iter().find(|(name, _)| name == "headroom").expect("given").1.clone()
    };
    assert_eq!(headroom("20 KB"), ParamValue::Bytes(20_000));
    let list = ParamValue::BytesPerPort(vec![20_000, 30_000].into());
    assert_eq!(headroom("[\"20 KB\", \"30 KB\"]"), list);
}

#[test]
fn profiles_are_tables_whose_dynamic_th_is_a_power_of_two() {
    let value = "[{ priorities = [1], dynamic_th = -3, reserved = \"1248 B\", xon = \"2288 B\" }, \
                 { direction = \"egress\", ports = [0, 1], priorities = [0], static_threshold = \"30 KB\" }]";
    let loaded = shipped_with("lossless.toml", &[("switch.policy.profiles", value)]);
    assert_round_trip(&loaded);
    let params = &loaded.scenario.switches[0].policy_params;
    let found = &params.iter().find(|(name, _)| name == "profiles").expect("given").1;
    let lossless = BufferProfile {
        priorities: vec![1],
        threshold: Some(ThresholdRule::Dynamic(0.125)),
        reserved: Some(1_248),
        xon: Some(2_288),
        ..BufferProfile::default()
    };
    let lossy = BufferProfile {
        direction: Direction::Egress,
        ports: vec![0, 1],
        priorities: vec![0],
        threshold: Some(ThresholdRule::Static(30_000)),
        ..BufferProfile::default()
    };
    assert_eq!(*found, ParamValue::Profiles(vec![lossless, lossy].into()));
}

/// What is said of a shipped scenario with overrides that make no sense.
fn refused(name: &str, overrides: &[(&str, &str)]) -> String {
    let error = load(&Path::new(SCENARIOS).join(name), &owned(overrides)).expect_err("it makes no sense");
    // Without the frame, and in one line.
    render(&error).replace(['│', '\n'], " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_profile_that_makes_no_sense_is_refused_at_its_key_with_what_was_expected() {
    for (value, key, why) in [
        ("3", "switch.policy.profiles", "expected a list of tables"),
        ("[3]", "switch.policy.profiles[0]", "expected a table"),
        ("[{ priority = [1] }]", "switch.policy.profiles[0].priority", "did you mean `priorities`?"),
        ("[{ dynamic_th = 9 }]", "switch.policy.profiles[0].dynamic_th", "out of range"),
        ("[{ dynamic_th = 0.5 }]", "switch.policy.profiles[0].dynamic_th", "no whole number"),
        ("[{ alpha = 1, dynamic_th = 1 }]", "switch.policy.profiles[0].dynamic_th", "`alpha` is given, too"),
        ("[{ xon = 12 }]", "switch.policy.profiles[0].xon", "the unit is missing"),
        ("[{ ports = [] }]", "switch.policy.profiles[0].ports", "the list is empty"),
        ("[{ ports = [1] }]", "switch.policy.profiles[0]", "expected at least one of alpha"),
        ("[{ ports = [99], alpha = 1 }]", "switch.policy.profiles", "profile 0 is for port 99"),
    ] {
        let found = refused("lossless.toml", &[("switch.policy.profiles", value)]);
        assert!(found.contains(key) && found.contains(why), "{value}: {found}");
    }
    for (value, why) in [("[]", "no port is listed"), ("[99]", "there is no port 99")] {
        let found = refused("lossless.toml", &[("switch.pfc.ports", value)]);
        assert!(found.contains(why), "{value}: {found}");
    }
}

#[test]
fn the_configuration_in_the_documentation_loads() {
    let page = include_str!("../../../../docs/lossless.md");
    let from = page.find("[switch]\nbuffer = \"15079168 B\"").expect("the example");
    let example = &page[from..from + page[from..].find("```").expect("its end")];
    let shipped = include_str!("../../../../scenarios/lossless.toml");
    let own = shipped.find("[switch]").expect("it has a switch")
        ..shipped.find("[[transport]]").expect("and transports");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("sonic.toml");
    std::fs::write(&path, [&shipped[..own.start], example, &shipped[own.end..]].concat()).expect("writable");
    let loaded = load(&path, &[]).unwrap_or_else(|error| panic!("{}", render(&error)));
    assert_round_trip(&loaded);
    assert_eq!(loaded.scenario.switches[0].pfc.as_ref().expect("lossless").mask_at(3), 0b1_1000);
}

#[test]
fn a_priority_may_be_lossless_on_some_ports() {
    let loaded = shipped_with("lossless.toml", &[("switch.pfc.ports", "[0]")]);
    assert_round_trip(&loaded);
    let pfc = loaded.scenario.switches[0].pfc.clone().expect("lossless");
    assert_eq!((pfc.masks_by_port(3), pfc.mask_at(1)), (vec![0b10, 0, 0], 0));
}
