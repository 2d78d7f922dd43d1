//! Tests that every registered policy passes the common checks.

use bufferlab_conformance::{Effort, Subject, check_subject};
use bufferlab_core::{POLICIES, ParamValue, PolicyInfo, find_policy};
use bufferlab_units::Time;

/// Policies whose verdicts do not follow from queue length and threshold alone. These policies
/// consider the packet's flow, drop early, or use an old or filtered copy of the length.
const BEYOND_THE_THRESHOLD: &[&str] = &["fab", "ib", "plasticine-pisa", "plasticine-single", "reverie"];

/// Parameters that replace slow defaults. A switch is built for every script, so large flow tables
/// are slow. Time advances in steps of 27 us, so short periods are slow.
fn quick(info: &PolicyInfo) -> Vec<(&'static str, ParamValue)> {
    let quick =
        [("flow_entries", ParamValue::Count(64)), ("pass_period", ParamValue::Time(Time::from_us(10)))];
    quick.into_iter().filter(|(name, _)| info.params.iter().any(|param| param.name == *name)).collect()
}

/// Returns every policy with its defaults, and variants that run different code.
fn subjects() -> Vec<Subject> {
    let defaults = POLICIES.iter().map(|info| {
        let subject = as_claimed(info, &quick(info));
        if BEYOND_THE_THRESHOLD.contains(&info.name) { subject.with_other_limits() } else { subject }
    });
    let mut subjects: Vec<_> = defaults.collect();
    let abm = find_policy("abm").expect("registered");
    let word = |word: &'static str| ParamValue::Choice(word.into());
    subjects.push(Subject::registered(abm, &[("drain_rate", word("computed"))]));
    subjects.push(Subject::registered(
        abm,
        &[
            ("drain_rate", word("credited")),
            ("congestion", word("fraction")),
            ("update_interval", ParamValue::Time(Time::from_us(5))),
        ],
    ));
    let plasticine = find_policy("plasticine").expect("registered");
    subjects.push(Subject::registered(
        plasticine,
        &[("high_priorities", ParamValue::Count(0)), ("drain_rate", word("measured"))],
    ));
    subjects.push(Subject::registered(
        plasticine,
        &[("congestion", word("bytes")), ("congested_bytes", ParamValue::Bytes(100))],
    ));
    let single = find_policy("plasticine-single").expect("registered");
    subjects.push(Subject::registered(single, &[("short_flows", word("tag"))]));
    let pisa = find_policy("plasticine-pisa").expect("registered");
    let prompt = [
        ("pass_period", ParamValue::Time(Time::from_us(5))),
        ("egress_length", word("dequeue")),
        ("zero_when_empty", ParamValue::Flag(false)),
        ("high_priorities", ParamValue::Count(0)),
        ("counted_queues", ParamValue::Count(1)),
    ];
    subjects.push(Subject::registered(pisa, &prompt).with_other_limits());
    let ib = find_policy("ib").expect("registered");
    for afd in ["per_flow", "per_queue", "swapped"] {
        let harsh = [
            ("afd", word(afd)),
            ("afd_interval", ParamValue::Time(Time::from_us(20))),
            ("fair_share_cap", ParamValue::Bytes(100)),
            ("drop_above", ParamValue::Bytes(0)),
            ("reference_queue", ParamValue::Bytes(50)),
            ("elephant_bytes", ParamValue::Bytes(100)),
            ("short_headroom", ParamValue::Bytes(50)),
            ("flow_entries", ParamValue::Count(4)),
        ];
        subjects.push(Subject::registered(ib, &harsh).with_other_limits());
    }
    let fab = find_policy("fab").expect("registered");
    subjects.push(Subject::registered(fab, &[("short_flows", word("tag"))]));
    let abm_dt = find_policy("abm-dt").expect("registered");
    subjects.push(Subject::registered(
        abm_dt,
        &[
            ("unscheduled", ParamValue::Flag(true)),
            ("congestion", word("watermark")),
            ("alpha_steps", word("powers-of-two")),
            ("update_interval", ParamValue::Time(Time::from_us(60))),
        ],
    ));
    subjects
        .push(Subject::registered(abm, &[("headroom_per_port", ParamValue::Bytes(50))]).with_other_limits());
    let tdt = find_policy("tdt").expect("registered");
    let flag = ParamValue::Flag(true);
    subjects.push(Subject::registered(
        tdt,
        &[
            ("literal_dec", flag.clone()),
            ("any_drop_ends_absorption", flag.clone()),
            ("keep_drop_count", flag),
            ("packet_bytes", ParamValue::Bytes(100)),
            ("lb", ParamValue::Bytes(1)),
        ],
    ));
    let edt = find_policy("edt").expect("registered");
    subjects.push(Subject::registered(
        edt,
        &[
            ("c1", ParamValue::Count(1)),
            ("c2", ParamValue::Count(2)),
            ("tm1", ParamValue::Time(Time::from_us(3))),
            ("tm2", ParamValue::Time(Time::from_us(50))),
        ],
    ));
    let occamy = find_policy("occamy").expect("registered");
    let alpha = |alpha: f64| ("alpha", ParamValue::RatioPerPriority(vec![alpha].into()));
    // Small alphas cause many expulsions. With a slow memory, expulsions wait for the token bucket.
    for rate in [100_000_000_000, 10_000_000] {
        let bucket = ("bucket_cells", ParamValue::Count(20));
        subjects.push(Subject::registered(
            occamy,
            &[
                alpha(0.5),
                bucket,
                ("cell_rate", ParamValue::Count(rate)),
                ("traffic", word("reads-and-writes")),
            ],
        ));
    }
    let losspass = find_policy("losspass").expect("registered");
    for params in [
        // With these parameter values, the limit of the policy is so small that the limit also
        // applies in the tiny buffer of the exhaustive scripts.
        vec![("alpha", ParamValue::Ratio(4.0)), ("victim", word("head"))],
        vec![("large_reserve", ParamValue::Bytes(64)), ("reserve", word("always"))],
        vec![("classes", word("tag")), ("alpha", ParamValue::Ratio(2.0))],
        // The port limit does not depend on alpha, because the comparison that the paper prints is
        // not monotone in alpha.
        vec![("printed_line_4", ParamValue::Flag(true)), ("port_limit", word("static"))],
    ] {
        subjects.push(as_claimed(losspass, &params));
    }
    let first = || ("ties", word("first"));
    for (name, params) in [
        ("lqd", vec![first()]),
        ("harmonic", vec![("limit", word("sum"))]),
        ("followlqd", vec![first(), ("idle_thresholds", word("zero"))]),
        ("followlqd", vec![("idle_thresholds", word("keep"))]),
        ("l2bm-like", vec![("update_interval", ParamValue::Time(Time::from_us(5)))]),
        ("bshare-like", vec![("update_interval", ParamValue::Time(Time::from_us(5)))]),
        ("bshare-like", vec![("delay_limit", ParamValue::Time(Time::from_us(8)))]),
        ("credence", vec![first(), ("error_rate", ParamValue::Ratio(0.3))]),
        ("credence", vec![("oracle", word("drop")), ("idle_thresholds", word("zero"))]),
    ] {
        subjects.push(as_claimed(find_policy(name).expect("registered"), &params));
    }
    subjects
}

/// Subjects of the policy that the environment variable `BUFFERLAB_POLICY` names, or all subjects.
/// Tests of one policy are quick.
fn requested_subjects() -> Vec<Subject> {
    let Ok(name) = std::env::var("BUFFERLAB_POLICY") else { return subjects() };
    let found: Vec<_> = subjects().into_iter().filter(|subject| subject.name().starts_with(&name)).collect();
    assert!(!found.is_empty(), "BUFFERLAB_POLICY: no policy is called \"{name}\"");
    found
}

/// Creates a test subject for `info`, with all claims of the scheme that differ from the common
/// claims.
fn as_claimed(info: &'static PolicyInfo, params: &[(&str, ParamValue)]) -> Subject {
    let subject = Subject::registered(info, params);
    match info.name {
        // The scheme evicts at most one packet per arrival (section 3.2.2 of the paper).
        "losspass" => subject.with_at_most_evictions(1),
        // The thresholds of `followlqd` and `credence` depend on the arriving packet itself,
        // because these policies first add the packet's bytes. Credence also drops by predictions.
        "followlqd" | "credence" => subject.with_other_limits(),
        _ => subject,
    }
}

#[test]
fn every_policy_holds_on_all_short_scripts_of_a_tiny_buffer() {
    let effort = Effort { random_seeds: 0..0, ..Effort::default() };
    for subject in requested_subjects() {
        let report = check_subject(&subject, &effort);
        assert!(report.holds(), "{report}");
        assert_eq!(report.checks[0].trials, 5_u64.pow(6) + 4_u64.pow(6));
    }
}

#[test]
fn every_policy_holds_on_random_scripts_of_large_switches() {
    let effort = Effort { exhaustive_length: 0, ..Effort::default() };
    for subject in requested_subjects() {
        let report = check_subject(&subject, &effort);
        assert!(report.holds(), "{report}");
    }
}
