//! Tests that the parameters of registered policies are declared correctly and resolve to the
//! declared values.

use bufferlab_core::{POLICIES, ParamInfo, ParamValue, Params, Profile, find_policy};
use bufferlab_params::ResolveError;
use bufferlab_units::Time;
use std::borrow::Cow;

fn infos(policy: &str) -> &'static [ParamInfo] {
    find_policy(policy).expect("registered").params
}

fn resolve(name: &str, value: ParamValue) -> Result<Params, ResolveError> {
    Params::resolve(infos("abm"), Profile::Paper, &[(name.to_owned(), value)])
}

#[test]
fn every_default_lies_in_its_domain() {
    for info in POLICIES {
        for param in info.params {
            for profile in [Profile::Paper, Profile::Artifact] {
                let checked = param.check(param.default_in(profile));
                assert_eq!(checked, Ok(()), "{} {} {}", info.name, param.name, profile.word());
            }
        }
    }
}

#[test]
fn an_entry_is_debugged_by_its_name() {
    let entry = find_policy("dynamic-thresholds").or(find_policy("dt")).expect("registered");
    assert!(format!("{entry:?}").contains(entry.name));
}

#[test]
fn names_and_aliases_of_policies_and_parameters_are_unique() {
    let names = POLICIES.iter().flat_map(|info| std::iter::once(&info.name).chain(info.aliases));
    let mut names: Vec<_> = names.collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
    for info in POLICIES {
        for (index, param) in info.params.iter().enumerate() {
            assert!(info.params[..index].iter().all(|other| other.name != param.name), "{}", param.name);
        }
    }
}

#[test]
fn values_outside_their_domain_or_of_another_kind_are_refused() {
    for (name, value, message) in [
        ("unscheduled_alpha", ParamValue::Ratio(f64::NAN), "found NaN"),
        ("unscheduled_alpha", ParamValue::Ratio(0.0), "expected a number from"),
        ("unscheduled_alpha", ParamValue::Count(3), "expected a number from"),
        ("alpha", ParamValue::RatioPerPriority(Cow::Borrowed(&[])), "found an empty list"),
        ("alpha", ParamValue::RatioPerPriority(Cow::Borrowed(&[1.0, -1.0])), "found -1"),
        ("update_interval", ParamValue::Time(Time::ZERO), "expected at least 1 ns"),
        ("congestion", ParamValue::Choice("treshold".into()), "expected one of threshold, fraction"),
        ("alfa", ParamValue::Ratio(1.0), "unknown parameter \"alfa\"; known: alpha"),
    ] {
        let error = resolve(name, value).expect_err(message);
        assert_eq!(error.given, Some(0));
        assert!(error.message.contains(message), "{error}");
    }
}

#[test]
fn a_size_per_port_is_one_for_all_or_a_list_whose_last_entry_repeats() {
    let resolve = |value: ParamValue| {
        Params::resolve(infos("sonic-dt"), Profile::Paper, &[("headroom".to_owned(), value)])
    };
    let list = |list: &'static [u64]| ParamValue::BytesPerPort(Cow::Borrowed(list));
    let sizes = |value| resolve(value).expect("in domain").bytes_per_port("headroom", 3);
    assert_eq!((sizes(ParamValue::Bytes(7)), sizes(list(&[9, 8]))), (vec![7; 3], vec![9, 8, 8]));
    assert_eq!(list(&[9, 8]).to_string(), "[\"9 B\", \"8 B\"]");
    assert!(resolve(list(&[])).is_err_and(|error| error.message.contains("empty list")));
}

#[test]
fn a_list_by_priority_repeats_its_last_entry_and_profiles_have_their_own_defaults() {
    let given = ParamValue::RatioPerPriority(Cow::Borrowed(&[1.0, 0.5]));
    let params = resolve("alpha", given).expect("in domain");
    assert_eq!(params.ratio_per_priority("alpha", 4), [1.0, 0.5, 0.5, 0.5]);
    assert_eq!(params.ratio("unscheduled_alpha"), 64.0);
    let artifact = Params::resolve(infos("abm"), Profile::Artifact, &[]).expect("defaults");
    assert_eq!(artifact.ratio("unscheduled_alpha"), 1_024.0);
    let drain_rate = artifact.iter().find(|(name, _)| *name == "drain_rate").map(|(_, value)| value);
    assert_eq!(drain_rate, Some(&ParamValue::word("credited")));
}
