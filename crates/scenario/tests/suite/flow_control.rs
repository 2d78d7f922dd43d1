//! Tests of the meaning of flow control keys: defaults that depend on the switch, keys that disable
//! features, storms and routes by name.

use crate::common::{SCENARIOS, assert_round_trip, owned, render, shipped_with};
use bufferlab_core::{BufferProfile, Direction, ParamValue, ThresholdRule};
use bufferlab_scenario::{
    FaultSpec, Loaded, PauseStormSpec, RouteSpec, WatchdogAction, WatchdogRule, WatchdogSpec, load,
};
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
    // Without PFC, the scenario accepts every policy.
    let other = [("switch.pfc.enabled", "false"), ("switch.policy", "dt")];
    assert_eq!(shipped_with("lossless.toml", &other).scenario.switches[0].policy, "dt");
}

#[test]
fn a_storm_repeats_its_frames_at_half_of_the_pause_and_warns_where_nobody_listens() {
    let loaded = shipped_with("pfc-storm.toml", &[]);
    // 1000 quanta of 64 B at 10 Gb/s are 51.2 us.
    let expected = FaultSpec::PauseStorm(PauseStormSpec {
        host: 0,
        priorities: vec![1],
        from: Time::from_ms(1),
        until: Some(Time::from_ms(7)),
        interval: Time(25_600_000),
        quanta: 1_000,
        zero_from: None,
    });
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

/// Returns the headroom of every port, configured or computed.
fn headroom_of(loaded: &Loaded, switch: usize) -> ParamValue {
    let params = &loaded.scenario.switches[switch].policy_params;
    params.iter().find(|(name, _)| name == "headroom").expect("the policy has it").1.clone()
}

#[test]
fn automatic_headroom_covers_priorities_of_single_ports() {
    let own = "[{ ports = [3], priorities = [0] }]";
    let loaded =
        shipped_with("lossless.toml", &[("switch.policy.headroom", "auto"), ("switch.pfc.by_port", own)]);
    let of = |port, priority| {
        loaded.scenario.paused_cable(0, port, priority).map(|cable| cable.headroom().bytes())
    };
    assert_eq!((of(3, 1), of(2, 0)), (None, None));
    let needed = of(3, 0).expect("priority 0 is lossless on port 3");
    assert_eq!(of(0, 1), Some(needed), "all cables are equal");
    assert_eq!(headroom_of(&loaded, 0), ParamValue::Bytes(needed));
}

#[test]
fn automatic_headroom_is_what_the_cables_of_a_switch_need_and_the_resolved_file_has_the_numbers() {
    let auto = [("switch.policy.headroom", "auto")];
    let loaded = shipped_with("lossless.toml", &auto);
    assert_round_trip(&loaded);
    let needed = loaded.scenario.paused_cable(0, 0, 1).expect("priority 1 is lossless").headroom();
    assert_eq!(headroom_of(&loaded, 0), ParamValue::Bytes(needed.bytes()));
    assert!(!loaded.resolved.contains("auto"), "{}", loaded.resolved);
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
    // The default headroom of the policy is `auto`.
    let of = |policy: &str| headroom_of(&shipped_with("lossless.toml", &[("switch.policy", policy)]), 0);
    assert_eq!(of("sonic-dt"), of("sonic-dt(headroom=auto)"));
    assert_eq!(of("sonic-dt"), ParamValue::Bytes(needed.bytes()));
    // The port of a longer cable has a different headroom.
    let change = ("topology.change", "[{ link = \"h1-switch\", delay = \"20 us\" }]");
    let long = shipped_with("lossless.toml", &[auto[0], change]);
    assert_round_trip(&long);
    let ParamValue::BytesPerPort(list) = headroom_of(&long, 0) else { panic!("one number for all ports") };
    let more = long.scenario.paused_cable(0, 1, 1).expect("it is lossless").headroom().bytes();
    assert_eq!((list[0], list[1]), (needed.bytes(), more));
    assert!(more > needed.bytes() + 40_000, "{more}");
    // Without lossless priorities, the computed headroom is zero.
    let off = shipped_with("lossless.toml", &[auto[0], ("switch.pfc.enabled", "false")]);
    assert_eq!(headroom_of(&off, 0), ParamValue::Bytes(0));
}

#[test]
fn switches_with_different_cables_become_overrides_when_their_headroom_is_computed() {
    let loaded = shipped_with("reverie-reduced.toml", &[("switch.policy.headroom", "auto")]);
    assert_round_trip(&loaded);
    let (first, last) = (headroom_of(&loaded, 0), headroom_of(&loaded, loaded.scenario.switches.len() - 1));
    assert!(loaded.warnings.iter().all(|warning| !warning.to_string().contains("headroom")));
    for (switch, value) in [(0, first), (loaded.scenario.switches.len() as u32 - 1, last)] {
        for port in 0..loaded.scenario.topology.ports_of(switch).len() as u16 {
            for priority in
                loaded.scenario.switches[switch as usize].pfc.as_ref().expect("lossless").priorities.clone()
            {
                let needed = loaded
                    .scenario
                    .paused_cable(switch, port, priority)
                    .expect("lossless")
                    .headroom()
                    .bytes();
                let found = loaded.scenario.configured_headroom(switch, port, priority);
                assert!(found >= Some(needed), "{switch} {port} {priority}: {value:?}");
            }
        }
    }
}

#[test]
fn headroom_that_is_too_small_a_pool_that_is_and_pauses_that_end_too_early_are_warned_of_with_numbers() {
    let needed =
        shipped_with("lossless.toml", &[]).scenario.paused_cable(0, 0, 1).expect("lossless").headroom();
    let warning = |overrides: &[(&str, &str)]| {
        let loaded = shipped_with("lossless.toml", overrides);
        let texts: Vec<_> = loaded.warnings.iter().map(ToString::to_string).collect();
        assert!(texts.len() <= 1, "{texts:?}");
        texts.into_iter().next()
    };
    let exactly = format!("{} B", needed.bytes());
    assert_eq!(warning(&[("switch.policy.headroom", &exactly)]), None);
    let less = format!("{} B", needed.bytes() - 1);
    let text = warning(&[("switch.policy.headroom", &less)]).expect("a byte is missing");
    assert!(
        text.contains(&less) && text.contains("port 0, priority 1") && text.contains(": 1 B more"),
        "{text}"
    );
    let pool = [("switch.policy.headroom", "auto"), ("switch.policy.headroom_pool", "10 KB")];
    assert!(warning(&pool).expect("the pool is too small").contains("headroom pool"));
    let quanta = needed.least_quanta;
    let repeated = |quanta: u64| {
        warning(&[("switch.policy.headroom", "auto"), ("switch.pfc.quanta", &quanta.to_string())])
    };
    let least =
        shipped_with("lossless.toml", &[("switch.pfc.quanta", "65535")]).scenario.paused_cable(0, 0, 1);
    let least = least.expect("lossless").headroom().least_quanta;
    assert!(least >= quanta && repeated(least).is_none());
    assert!(repeated(least - 1).expect("one is missing").contains(&format!("{least} are needed")));
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

/// Renders the errors of a shipped scenario with invalid overrides.
fn refused(name: &str, overrides: &[(&str, &str)]) -> String {
    let error = load(&Path::new(SCENARIOS).join(name), &owned(overrides)).expect_err("it makes no sense");
    // The test removes the frame of the message and joins its lines.
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
    let page = include_str!("../../../../docs/concepts/lossless.md");
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

#[test]
fn ports_may_have_other_lossless_priorities_and_another_reaction() {
    let by_port = "[{ ports = [0, 2], priorities = [0, 1] }, { ports = [1], reaction = \"7 us\" }, \
                   { ports = [2], priorities = [] }]";
    let loaded = shipped_with("lossless.toml", &[("switch.pfc.by_port", by_port)]);
    assert_round_trip(&loaded);
    let pfc = loaded.scenario.switches[0].pfc.clone().expect("lossless");
    assert_eq!((pfc.mask(), pfc.masks_by_port(4)), (0b11, vec![0b11, 0b10, 0, 0b10]));
    assert_eq!((pfc.reaction_at(1), pfc.reaction_at(0)), (Time::from_us(7), pfc.reaction));
    for (value, why) in [
        ("[{ ports = [99], reaction = \"1 us\" }]", "there is no port 99"),
        ("[{ ports = [0], priorities = [9] }]", "there is no priority 9"),
        ("[{ priorities = [1] }]", "`ports`"),
        ("[{ ports = [], priorities = [1] }]", "no port is listed"),
        ("[{ ports = [0] }]", "the table changes nothing"),
    ] {
        let found = refused("lossless.toml", &[("switch.pfc.by_port", value)]);
        assert!(found.contains(why), "{value}: {found}");
    }
}

#[test]
fn tables_of_ports_are_read_without_a_valid_number_of_queues() {
    let unknown = [("switch.queues_per_port", "0"), ("switch.egress", "[{ scheduler = \"fifo\" }]")];
    let found = refused("first.toml", &unknown);
    assert!(found.contains("queues_per_port"), "{found}");
}

#[test]
fn tables_of_ports_that_send_differently_are_checked() {
    for (value, why) in [
        ("[{ ports = [99], rate = \"1 Gb/s\" }]", "has no port 99"),
        ("[{ ports = [], rate = \"1 Gb/s\" }]", "the list is empty"),
        ("[{ ports = [0] }]", "the table changes nothing"),
        ("[{ queues = [0], scheduler = \"fifo\" }]", "`queues` belongs to `rate`"),
        ("[{ burst = \"9 KB\", scheduler = \"fifo\" }]", "`burst` belongs to `rate`"),
        ("[{ queues = [9], rate = \"1 Gb/s\" }]", "there is no queue 9"),
        ("[{ scheduler = [{ queues = [0, 0] }] }]", "queue 0 is named twice"),
        ("[{ rate = \"1 Gb/s\", scedule = \"fifo\" }]", "scedule"),
    ] {
        let found = refused("first.toml", &[("switch.egress", value)]);
        assert!(found.contains(why), "{value}: {found}");
    }
    let some = "[{ ports = [1], scheduler = \"strict_priority\" }, { rate = \"3 Gb/s\", burst = \"20 KB\" }, \
                { ports = [0, 1], queues = [0], rate = \"500 Mb/s\" }]";
    assert_round_trip(&shipped_with("first.toml", &[("switch.egress", some)]));
    let none = shipped_with("first.toml", &[("switch.egress", "[]")]);
    assert!(none.scenario.switches[0].egress.is_empty());
}
