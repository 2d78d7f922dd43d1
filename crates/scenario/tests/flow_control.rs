//! What the keys of flow control mean: defaults that follow from the switch, keys that switch things off, storms and routes by name.

mod common;

use bufferlab_core::ParamValue;
use bufferlab_scenario::{FaultSpec, RouteSpec, WatchdogAction, WatchdogRule, WatchdogSpec};
use bufferlab_units::Time;
use common::{assert_round_trip, shipped_with};

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
