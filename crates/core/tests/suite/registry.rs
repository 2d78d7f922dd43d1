//! Tests of custom policies: valid policies are registered, invalid policies are refused.
//! Registered policies stay registered for all tests of this program.

use bufferlab_core::policy::CompleteSharing;
use bufferlab_core::policy::REGISTRY;
use bufferlab_core::{CLASSIFIERS, MARKERS};
use bufferlab_core::{
    POLICIES, ParamInfo, ParamKind, ParamValue, PolicyInfo, RegisterError, find_policy, policies,
    register_policy, replace_policy,
};
use bufferlab_params::Catalog;

fn entry(name: &'static str) -> PolicyInfo {
    PolicyInfo {
        name,
        aliases: &[],
        title: "Own",
        summary: "Of a test.",
        source: "A test.",
        cost: "O(1)",
        params: &[],
        build: &|_, _| Ok(Box::new(CompleteSharing)),
    }
}

#[test]
fn a_custom_policy_is_found_by_name_and_alias_behind_the_built_in_ones() {
    let info = PolicyInfo { aliases: &["registry-test-alias"], ..entry("registry-test") };
    let info = register_policy(info).expect("the name is free");
    for name in ["registry-test", "registry-test-alias"] {
        assert!(std::ptr::eq(find_policy(name).expect("registered"), info));
    }
    let at = policies().iter().position(|known| known.name == "registry-test").expect("listed");
    assert!(at >= POLICIES.len());
    assert!(!POLICIES.iter().any(|known| known.name == "registry-test"));
    let again = register_policy(entry("registry-test")).expect_err("taken");
    assert_eq!(again.to_string(), "the name \"registry-test\" belongs to the policy Own; choose another");
}

#[test]
fn a_replaced_policy_keeps_its_place_and_a_built_in_one_cannot_be_replaced() {
    register_policy(entry("registry-again")).expect("the name is free");
    let before = policies().iter().position(|known| known.name == "registry-again");
    let info = PolicyInfo { title: "Own, written again", ..entry("registry-again") };
    replace_policy(info).expect("it is our own");
    let found = find_policy("registry-again").expect("registered");
    assert_eq!(found.title, "Own, written again");
    assert_eq!(policies().iter().position(|known| known.name == "registry-again"), before);
    assert!(matches!(replace_policy(entry("dt")), Err(RegisterError::Taken { .. })));
    assert!(matches!(replace_policy(entry("dynamic-threshold")), Err(RegisterError::Taken { .. })));
}

#[test]
fn names_texts_and_parameters_that_break_the_rules_are_refused_with_the_rule() {
    const fn ratio(name: &'static str, default: f64) -> ParamInfo {
        let kind = ParamKind::Ratio { min: 0.0, max: 1.0 };
        ParamInfo { name, kind, default: ParamValue::Ratio(default), artifact_default: None, doc: "" }
    }
    static OUTSIDE: [ParamInfo; 1] = [ratio("share", 2.0)];
    static TWICE: [ParamInfo; 2] = [ratio("share", 0.5), ratio("share", 0.5)];
    static NAMED: [ParamInfo; 1] = [ratio("name", 0.5)];
    for (info, message) in [
        (entry(""), "begin with a letter"),
        (entry("My_DT"), "no policy can be called \"My_DT\": names are lower-case letters"),
        (entry("all"), "it has another meaning"),
        (entry("seed-1"), "it has another meaning"),
        (entry("a-name-that-is-much-too-long-for-any-column"), "longer than 40"),
        (entry("dt"), "belongs to the policy Dynamic Thresholds"),
        (PolicyInfo { aliases: &["x", "x"], ..entry("own-a") }, "\"x\": it is given twice"),
        (PolicyInfo { title: " ", ..entry("own-b") }, "policy \"own-b\": the title must be one line"),
        (PolicyInfo { summary: "a\nb", ..entry("own-c") }, "the summary must be one line"),
        (PolicyInfo { params: &OUTSIDE, ..entry("own-d") }, "its default: expected a number from 0 to 1"),
        (PolicyInfo { params: &TWICE, ..entry("own-e") }, "parameter \"share\": it is declared twice"),
        (PolicyInfo { params: &NAMED, ..entry("own-f") }, "it has another meaning"),
    ] {
        let name = info.name;
        let error = register_policy(info).expect_err(message).to_string();
        assert!(error.contains(message), "{error}");
        assert!(name == "dt" || find_policy(name).is_none(), "{name} was registered");
    }
}

#[test]
fn every_built_in_entry_keeps_the_rules_of_own_ones_and_names_its_source() {
    assert_eq!(REGISTRY.verify(), Ok(()));
    assert_eq!(CLASSIFIERS.verify(), Ok(()));
    assert_eq!(MARKERS.verify(), Ok(()));
    let kinds: [&dyn Catalog; 3] = [&REGISTRY, &CLASSIFIERS, &MARKERS];
    for card in kinds.iter().flat_map(|kind| kind.cards(false)) {
        assert!(!card.source.is_empty(), "{}", card.name);
    }
}
