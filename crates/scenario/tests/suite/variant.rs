//! Tests of variants: parsing, effect on a scenario, and errors.

use crate::common::{SCENARIOS, owned, render, shipped_with};
use bufferlab_core::POLICIES;
use bufferlab_scenario::{Changes, LoadError, Loaded, Variant, load_changed, load_text};
use proptest::prelude::*;
use std::path::Path;

fn parsed(text: &str) -> Variant {
    Variant::parse(text).unwrap_or_else(|mistake| panic!("{mistake}"))
}

fn load_as(scenario: &str, variant: &str) -> Result<Loaded, LoadError> {
    let variant = parsed(variant);
    let changes = Changes { variant: Some(&variant), ..Changes::default() };
    load_changed(&Path::new(SCENARIOS).join(scenario), None, &changes)
}

/// Draws a typical value: a word, number, quantity, list or quoted text.
fn value() -> impl Strategy<Value = String> {
    let quoted = "[a-z,()+=\\[: ]{0,8}";
    prop_oneof![
        "[a-z]{1,6}",
        "[0-9]{1,3}",
        "[1-9]e\\+[1-9]",
        "[1-9] (KB|us|Gb/s)",
        "1/[1-9]{1,2}",
        prop::collection::vec("[1-9][0-9]?", 1..3).prop_map(|list| format!("[{}]", list.join(", "))),
        quoted.prop_map(|text| format!("\"{text}\"")),
        quoted.prop_map(|text| format!("'{text}'")),
    ]
}

prop_compose! {
    /// Draws a variant as (label, policy, parameters, changes), and blanks between the parts.
    fn written()(
        // No name of a policy begins with one of these first characters, so a drawn label is no
        // policy.
        label in prop::option::of("[XYµ0-9][a-z0-9 %.-]{0,10}[a-z0-9]"),
        policy in prop::sample::select(POLICIES),
        values in prop::collection::vec(value(), POLICIES.iter().map(|info| info.params.len()).max().unwrap_or(0)),
        used in 0..4_usize,
        changes in prop::sample::subsequence(vec!["buffer", "switch.queues_per_port", "ecn.threshold", "transport.0.min_rto"], 0..4),
        others in prop::collection::vec(value(), 4),
        blanks in prop::collection::vec("[ ]{0,2}", 6),
    ) -> (String, Option<String>, &'static str, Vec<String>) {
        let parameters: Vec<_> = policy.params.iter().zip(&values).take(used).collect();
        let mut text = label.as_ref().map(|label| format!("{label}{}:{}", blanks[0], blanks[1])).unwrap_or_default();
        text.push_str(policy.name);
        if !parameters.is_empty() {
            let inside: Vec<_> = parameters.iter().map(|(param, value)| {
                format!("{}{}{}={}{value}", blanks[2], param.name, blanks[3], blanks[4])
            }).collect();
            text.push_str(&format!("{}({}{})", blanks[5], inside.join(","), blanks[0]));
        }
        for (path, value) in changes.iter().zip(&others) {
            text.push_str(&format!(" +{}{path}{}={}{value}", blanks[1], blanks[2], blanks[3]));
        }
        let full = |path: &&str| if path.contains("transport") || path.starts_with("switch.") {
            (*path).to_owned()
        } else {
            format!("switch.{path}")
        };
        let parameters = parameters.iter().map(|(param, _)| format!("switch.policy.{}", param.name));
        let paths = parameters.chain(changes.iter().map(full)).collect();
        (text, label, policy.name, paths)
    }
}

proptest! {
    #[test]
    fn what_is_printed_reads_as_the_same_variant((text, label, policy, paths) in written()) {
        let variant = parsed(&text);
        prop_assert_eq!(variant.policy().name, policy);
        prop_assert_eq!(variant.paths().collect::<Vec<_>>(), paths);
        if let Some(label) = label {
            prop_assert_eq!(variant.label(), label);
        }
        let printed = variant.to_string();
        let again = parsed(&printed);
        prop_assert_eq!(again.to_string(), printed);
        prop_assert_eq!(again.label(), variant.label());
        prop_assert_eq!(again.paths().collect::<Vec<_>>(), variant.paths().collect::<Vec<_>>());
    }

    #[test]
    fn a_folder_is_named_with_what_every_file_system_has((text, ..) in written()) {
        let folder = parsed(&text).folder();
        prop_assert!(!folder.is_empty() && folder.len() < 120 && !folder.starts_with('.'));
        prop_assert!(folder.chars().all(|c| c.is_ascii_alphanumeric() || "-._=".contains(c)), "{folder}");
    }

    #[test]
    fn no_text_breaks_the_reader(text in "[a-z(),=+:\"'\\[\\]{} .µ]{0,24}") {
        if let Err(mistake) = Variant::parse(&text) {
            prop_assert!(mistake.at.end <= text.len());
            prop_assert!(mistake.to_string().contains('^'));
        }
    }
}

#[test]
fn labels_and_folders_say_what_the_variant_is() {
    let shown = |text: &str| (parsed(text).label(), parsed(text).folder());
    let pair = |label: &str, folder: &str| (label.to_owned(), folder.to_owned());
    assert_eq!(shown("Dynamic-Threshold"), pair("dt", "dt"));
    assert_eq!(shown("dt( alpha=1/16 )"), pair("dt(alpha=1/16)", "dt-alpha=1-16"));
    assert_eq!(shown("dt + ecn.threshold=30 KB"), pair("dt + ecn.threshold=30 KB", "dt-ecn.threshold=30-KB"));
    assert_eq!(shown("halb/halb: dt").0, "halb/halb");
}

#[test]
fn a_label_that_is_no_label_is_refused() {
    for (text, character, message) in
        [(": dt", 1, "the label is empty"), ("a\u{7}b: dt", 1, "the label has a control character")]
    {
        let mistake = Variant::parse(text).expect_err(text);
        assert_eq!((mistake.character(), mistake.message.as_str()), (character, message));
    }
}

#[test]
fn mistakes_are_shown_with_their_place_and_what_to_do() {
    let texts = [
        "td(alpha=0.5)",
        "zzzz",
        "dt(alpha=0.5",
        "dt(alpha=[0.5, 1)",
        "dt(alhpa=0.5)",
        "cs(alpha=1)",
        "sonic-abm(headroom)",
        "dt(alpha=0.5, alpha=1)",
        "dt(alpha=0.5) switch.buffer=2 MB",
        "dt + marking.k=30 KB",
        "dt + bufer=2 MB",
        "dt + seed=2",
        "dt + switch.policy.alpha=2",
        "dt + buffer=2 MB + switch.buffer=1 MB",
        "dt(alpha=\"a\" \"b\")",
        "dt +",
        "all",
        "mine.py:FairShare(part=0.5)",
        "abm: dt",
        "",
    ];
    let shown: Vec<_> =
        texts.iter().map(|text| Variant::parse(text).expect_err(text).to_string() + "\n").collect();
    insta::with_settings!({ omit_expression => true }, {
        insta::assert_snapshot!("variant_mistakes", shown.join("\n"));
    });
}

#[test]
fn a_value_that_does_not_fit_is_shown_where_the_variant_says_it() {
    let error =
        load_as("star-incast.toml", "low: dt(alpha=-1) + ecn.treshold=30 KB").expect_err("both are wrong");
    insta::with_settings!({ omit_expression => true }, {
        insta::assert_snapshot!("variant_values", render(&error));
    });
}

/// The option `--set` is older than variants, and reads a key by the rules of scenario files.
#[test]
fn a_variant_is_what_the_same_keys_set_by_hand_are() {
    for (variant, keys) in [
        ("dt(alpha=2)", vec![("switch.policy.alpha", "2")]),
        ("abm(alpha=0.25)", vec![("switch.policy", "{ name = \"abm\", alpha = 0.25 }")]),
        ("cs + buffer=2 MB", vec![("switch.policy", "cs"), ("switch.buffer", "2 MB")]),
        (
            "x: abm + transport.0.congestion_control=cubic+workload.0.fan_in=3",
            vec![("switch.policy", "abm"), ("transport.0.congestion_control", "cubic+workload.0.fan_in=3")],
        ),
    ] {
        let path = Path::new(SCENARIOS).join("star-incast.toml");
        let overrides = owned(&keys);
        let by_hand = load_changed(&path, None, &Changes { overrides: &overrides, ..Changes::default() });
        match (load_as("star-incast.toml", variant), by_hand) {
            (Ok(as_variant), Ok(by_hand)) => {
                assert_eq!(as_variant.resolved, by_hand.resolved, "{variant}");
                assert_eq!(as_variant.scenario, by_hand.scenario, "{variant}");
            }
            (Err(a), Err(b)) => assert_eq!(a.to_string(), b.to_string()),
            (a, b) => panic!("{variant}: {} and {}", a.is_ok(), b.is_ok()),
        }
    }
}

#[test]
fn the_policy_of_the_scenario_keeps_its_parameters_and_another_one_starts_afresh() {
    // The scenario has the policy sonic-dt with a headroom of 20 KB.
    let path = Path::new(SCENARIOS).join("reverie-reduced.toml");
    let resolved = |variant: &str| {
        let (overrides, variant) = (owned(&[("switch.policy.alpha", "0.375")]), parsed(variant));
        let changes = Changes { overrides: &overrides, variant: Some(&variant), ..Changes::default() };
        load_changed(&path, None, &changes).unwrap_or_else(|error| panic!("{}", render(&error))).resolved
    };
    let own = resolved("sonic-dt(xon=5 KB)");
    assert!(own.contains("headroom = \"20 KB\"") && own.contains("alpha = 0.375"), "{own}");
    assert!(own.contains("xon = \"5 KB\""), "{own}");
    let other = resolved("sonic-abm(headroom=30 KB)");
    assert!(other.contains("headroom = \"30 KB\"") && !other.contains("0.375"), "{other}");
}

#[test]
fn an_alias_in_the_scenario_is_the_same_policy() {
    let text =
        shipped_with("star-incast.toml", &[("switch.policy", "{ name = \"dt\", alpha = 4 }")]).resolved;
    let text = text.replace("name = \"dt\"", "name = \"dynamic-threshold\"");
    assert!(text.contains("dynamic-threshold"));
    let variant = parsed("a: dt");
    let changes = Changes { variant: Some(&variant), ..Changes::default() };
    let loaded = load_changed(Path::new("alias.toml"), Some(&text), &changes).expect("it loads");
    assert!(loaded.resolved.contains("alpha = 4"), "{}", loaded.resolved);
    assert_eq!(loaded.variant.map(|variant| variant.label).as_deref(), Some("a"));
}

/// A policy with brackets in a variant equals a policy as a table in a file.
#[test]
fn a_policy_with_brackets_is_a_table_in_a_file_too() {
    let text = shipped_with("star-incast.toml", &[("switch.policy", "dt(alpha=0.5)")]).resolved;
    let as_table = shipped_with("star-incast.toml", &[("switch.policy", "{ name = \"dt\", alpha = 0.5 }")]);
    assert_eq!(text, as_table.resolved);
    let with_table = "[switch.policy]\nname = \"dt\"\nalpha = 0.5\n";
    assert!(text.contains(with_table), "{text}");
    let misspelt = text.replace(with_table, "policy = \"dt(alhpa=0.5)\"\n");
    let error = load_text(Path::new("x.toml"), &misspelt, &[]).expect_err("there is no such parameter");
    let shown = render(&error);
    assert!(shown.contains("switch.policy.alhpa") && shown.contains("did you mean `alpha`?"), "{shown}");
}
