//! Tests that a parameter returns the given value, the default, or nothing.

use bufferlab_params::{
    BufferProfile, Choice, Direction, ParamInfo, ParamKind, ParamValue, Params, Profile, choices,
};
use bufferlab_units::{BitRate, Time};

choices! {
    /// An enumeration for the tests.
    enum End {
        Tail = "tail": "the last",
        Head = "head": "the first",
    }
}

const COUNT: ParamKind = ParamKind::Count { min: 1, max: 9 };

static INFOS: &[ParamInfo] = &[
    ParamInfo::optional("ratio", ParamKind::Ratio { min: 0.0, max: 8.0 }, "0.5", "A ratio."),
    ParamInfo::optional("size", ParamKind::SIZE, "\"1 KB\"", "A size."),
    ParamInfo::optional("time", ParamKind::SPAN, "\"1 us\"", "A time."),
    ParamInfo::optional("rate", ParamKind::RATE, "\"1 Gb/s\"", "A rate."),
    ParamInfo::computed("count", COUNT, "the number of ports", "4", "A count."),
    ParamInfo::optional("end", ParamKind::Choice(End::WORDS), "\"tail\"", "An end."),
    ParamInfo::optional("text", ParamKind::Text, "\"x\"", "A text."),
    ParamInfo::optional("texts", ParamKind::Texts, "[\"x\"]", "Texts."),
    ParamInfo::with_default("flag", ParamKind::Flag, ParamValue::Flag(true), "A flag."),
    ParamInfo::with_default(
        "alphas",
        ParamKind::RatioPerPriority { min: 0.0, max: 8.0 },
        ParamValue::ratios(&[1.0, 0.5]),
        "Alphas.",
    ),
];

fn given(values: &[(&str, ParamValue)]) -> Params {
    let values: Vec<_> = values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    Params::resolve(INFOS, Profile::Paper, &values).expect("they are in their domains")
}

#[test]
fn what_is_given_comes_back_and_what_is_left_out_is_none() {
    let params = given(&[
        ("ratio", ParamValue::Ratio(0.25)),
        ("size", ParamValue::Bytes(1_500)),
        ("time", ParamValue::Time(Time::from_ns(80))),
        ("rate", ParamValue::Rate(BitRate::gbps(10))),
        ("count", ParamValue::Count(3)),
        ("end", ParamValue::word("head")),
        ("text", ParamValue::Text("a text".into())),
        ("texts", ParamValue::Texts(vec!["h0".to_owned(), "h1".to_owned()])),
    ]);
    assert_eq!(params.given_ratio("ratio"), Some(0.25));
    assert_eq!(params.given_bytes("size"), Some(1_500));
    assert_eq!(params.given_time("time"), Some(Time::from_ns(80)));
    assert_eq!(params.given_rate("rate"), Some(BitRate::gbps(10)));
    assert_eq!((params.given_count("count"), params.small_count("count")), (Some(3), 3));
    assert_eq!(params.given_choice("end"), Some(End::Head));
    assert_eq!(params.text("text"), "a text");
    assert_eq!(params.given_texts("texts"), Some(&["h0".to_owned(), "h1".to_owned()][..]));
    let nothing = given(&[]);
    assert_eq!((nothing.given_ratio("ratio"), nothing.given_bytes("size")), (None, None));
    assert_eq!((nothing.given_time("time"), nothing.given_rate("rate")), (None, None));
    assert_eq!((nothing.given_count("count"), nothing.given_choice::<End>("end")), (None, None));
    assert_eq!(nothing.given_texts("texts"), None);
    for info in INFOS {
        let has_default = matches!(info.name, "flag" | "alphas");
        assert_eq!(nothing.has(info.name), has_default, "{}", info.name);
        assert!(params.has(info.name), "{}", info.name);
    }
}

#[test]
fn what_a_rule_decides_is_filled_in_and_can_be_taken_back() {
    let mut params = given(&[]);
    assert_eq!(params.count_or("count", 5), 5);
    assert_eq!((params.count("count"), params.is_default("flag")), (5, true));
    assert_eq!(params.count_or("count", 6), 5, "it has a value now");
    params.unset("count");
    assert_eq!(params.given_count("count"), None);
    assert_eq!(params.rate_or("rate", BitRate::gbps(25)), BitRate::gbps(25));
    assert_eq!(params.time_or("time", Time::from_us(1)), Time::from_us(1));
    assert_eq!(params.choice_or("end", End::Tail), End::Tail);
}

#[test]
fn the_last_of_several_values_holds_for_all_further_priorities() {
    assert_eq!(given(&[]).ratio_per_priority("alphas", 4), [1.0, 0.5, 0.5, 0.5]);
}

#[test]
fn a_value_outside_of_its_domain_or_of_another_kind_is_refused_by_name() {
    let refused = |name: &str, value| {
        let error = Params::resolve(INFOS, Profile::Paper, &[(name.to_owned(), value)]);
        error.expect_err("it is no value of this parameter").to_string()
    };
    assert_eq!(
        refused("count", ParamValue::Count(10)),
        "count: expected a whole number from 1 to 9, found 10"
    );
    assert_eq!(
        refused("ratio", ParamValue::Ratio(f64::NAN)),
        "ratio: expected a number from 0 to 8, found NaN"
    );
    assert_eq!(
        refused("end", ParamValue::word("middle")),
        "end: expected one of tail, head, found \"middle\""
    );
    assert!(
        refused("flags", ParamValue::Flag(true))
            .starts_with("flags: unknown parameter \"flags\"; known: ratio, size")
    );
}

/// Tests the half-open range: `min` itself is refused, `max` is accepted.
#[test]
fn a_ratio_above_its_bound_may_be_the_largest_and_not_the_bound() {
    let kind = ParamKind::RatioAbove { min: 0.0, max: 2.0 };
    let fits = |x| kind.check(&ParamValue::Ratio(x)).is_ok();
    assert!(fits(2.0) && fits(1e-9) && !fits(0.0) && !fits(2.1) && !fits(-1.0));
}

#[test]
fn a_profile_covers_the_queues_of_its_side_ports_and_priorities() {
    let profile = |ports: &[u16], priorities: &[u8]| BufferProfile {
        direction: Direction::Egress,
        ports: ports.to_vec(),
        priorities: priorities.to_vec(),
        ..BufferProfile::default()
    };
    let everywhere = profile(&[], &[]);
    assert!(everywhere.covers(Direction::Egress, 3, 1) && !everywhere.covers(Direction::Ingress, 3, 1));
    let some = profile(&[2, 3], &[1]);
    assert!(some.covers(Direction::Egress, 3, 1) && some.covers(Direction::Egress, 2, 1));
    assert!(!some.covers(Direction::Egress, 3, 0) && !some.covers(Direction::Egress, 1, 1));
    assert!(!some.covers(Direction::Ingress, 3, 1));
}

#[test]
fn a_wrong_profile_is_named_by_its_number() {
    let wrong = BufferProfile { headroom: Some(1), direction: Direction::Egress, ..BufferProfile::default() };
    let list = ParamValue::Profiles(
        vec![BufferProfile { reserved: Some(1), ..BufferProfile::default() }, wrong].into(),
    );
    let misfit = ParamKind::Profiles.check(&list).expect_err("headroom is of ingress queues");
    assert_eq!(misfit.profile, Some(1), "{misfit}");
}
