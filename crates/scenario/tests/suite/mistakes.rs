//! Typical mistakes in scenarios and their error messages. Every fixture in
//! `mistakes/` has a snapshot.

use crate::common::{SCENARIOS, owned, render, toml_files};
use bufferlab_scenario::{LoadError, load};
use std::path::Path;

const FOLDER: &str = "tests/mistakes";

fn mistake(path: &Path, overrides: &[(&str, &str)]) -> LoadError {
    match load(path, &owned(overrides)) {
        Ok(_) => panic!("{} loads, and was to be refused", path.display()),
        Err(error) => error,
    }
}

/// Asserts that every problem has a place and a help text.
fn assert_helpful(error: &LoadError) {
    for problem in error.problems() {
        assert!(problem.help_text().is_some(), "no advice: {problem}");
        if problem.file().is_some() {
            assert!(problem.line().is_some(), "no line: {problem}");
        }
    }
}

#[test]
fn every_mistake_is_refused_with_place_reason_and_advice() {
    let mut paths = toml_files(Path::new(FOLDER));
    paths.retain(|path| !path.ends_with("cyclic_extends_b.toml"));
    assert!(paths.len() >= 30, "fixtures are missing");
    for path in paths {
        let error = mistake(&path, &[]);
        assert_helpful(&error);
        let name = path.file_stem().expect("a file").to_string_lossy().into_owned();
        insta::assert_snapshot!(name, render(&error));
    }
}

#[test]
fn a_missing_scenario_is_named_with_its_neighbour() {
    let error = mistake(Path::new("tests/mistakes/unknown_keys.toml"), &[]);
    assert_helpful(&error);
    insta::assert_snapshot!("missing_scenario", render(&error));
}

#[test]
fn mistakes_on_the_command_line_show_the_command_line() {
    let star = Path::new(SCENARIOS).join("star-incast.toml");
    let cases: [(&str, &[(&str, &str)]); 6] = [
        ("set_misspelled_policy", &[("switch.policy", "adm")]),
        ("set_unknown_key", &[("switch.bufer", "1 MB")]),
        ("set_no_such_entry", &[("workload.web_search.load", "0.5")]),
        ("set_bad_table", &[("switch.policy", "{ name = \"dt\", alpha }")]),
        ("set_fraction_as_word", &[("workload.0.request_fraction_of_buffer", "lots")]),
        ("set_empty_key", &[("switch..policy", "dt")]),
    ];
    for (name, overrides) in cases {
        let error = mistake(&star, overrides);
        assert_helpful(&error);
        insta::assert_snapshot!(name, render(&error));
    }
}

/// The settings are impossible for a switch, or have no effect. The switch has 400 KB, eight ports
/// and one queue per port.
#[test]
fn parameters_of_policies_that_make_no_sense_are_refused_with_the_reason() {
    let star = Path::new(SCENARIOS).join("star-incast.toml");
    let policies = [
        "{ name = \"dt\", alpha = 0 }",
        "{ name = \"dt\", alpha = [1, 0.5, 0.25] }",
        "{ name = \"abm\", headroom_per_port = \"50 KB\" }",
        "{ name = \"abm\", congestion = \"fraction\", congested_bytes = \"1 MB\" }",
        "{ name = \"abm\", congested_share = 1.5 }",
        "{ name = \"abm-dt\", update_interval = \"0 s\" }",
        "{ name = \"edt\", c1 = 0 }",
        "{ name = \"edt\", c2 = 7000 }",
        "{ name = \"tdt\", nec = 300 }",
        "{ name = \"tdt\", lb = \"60 KB\" }",
        "{ name = \"tdt\", packet_bytes = \"1 MB\" }",
        "{ name = \"tdt\", burst_rate = 1 }",
        "{ name = \"occamy\", bucket_cells = 0 }",
        "{ name = \"occamy\", cell_rate = 9000000000000000000 }",
        "{ name = \"losspass\", port_limit = \"static\", port_buffer = \"40 KB\", large_reserve = \"41 KB\" }",
        "{ name = \"losspass\", port_buffer = \"1 MB\" }",
        "{ name = \"losspass\", large_priority = 2 }",
        "{ name = \"losspass\", classes = \"dscp\" }",
        "{ name = \"credence\", error_rate = 1.2 }",
        "{ name = \"l2bm-like\", least_weight = 0 }",
        "{ name = \"bshare-like\", least_rate = 0 }",
        "{ name = \"bshare-like\", delay_limit = \"1 us\" }",
        "{ name = \"fab\", short_packets = 0 }",
        "{ name = \"fab\", flow_entries = 1000000000 }",
        "{ name = \"ib\", gain = 1, old_gain = 2 }",
        "{ name = \"ib\", gain = 0, old_gain = 0 }",
        "{ name = \"ib\", drop_above = \"1 MB\" }",
        "{ name = \"ib\", reference_queue = \"400 KB\" }",
        "{ name = \"ib\", short_headroom = \"400 KB\" }",
        "{ name = \"ib\", priority_queue = true }",
        "{ name = \"plasticine\", high_priorities = 2 }",
        "{ name = \"plasticine\", congestion = \"bytes\", congested_bytes = \"400 KB\" }",
        "{ name = \"plasticine-single\", short_packets = 0 }",
        "{ name = \"plasticine-pisa\", congested_above = \"400 KB\" }",
        "{ name = \"plasticine-pisa\", pass_period = \"0 s\" }",
        "{ name = \"followlqd\", idle_thresholds = \"none\" }",
        "{ name = \"harmonic\", limit = \"ranks\" }",
    ];
    let mut text = String::new();
    for policy in policies {
        let error = mistake(&star, &[("switch.policy", policy)]);
        assert_helpful(&error);
        text.push_str(&render(&error));
        text.push('\n');
    }
    insta::assert_snapshot!("policy_parameters", text);
}

#[test]
fn suspicious_scenarios_run_with_warnings() {
    let loaded = crate::common::shipped_with(
        "dumbbell.toml",
        &[
            ("switch.ecn", "{ kind = \"step\", threshold = \"91 MB\" }"),
            ("transport", "[{ congestion_control = \"dctcp\" }, { congestion_control = \"newreno\" }]"),
            ("workload.0.transport", "dctcp"),
        ],
    );
    let mut text: String = loaded.warnings.iter().map(|warning| render(warning)).collect();
    let loaded =
        crate::common::shipped_with("star-incast.toml", &[("transport.0.congestion_control", "dctcp")]);
    text.extend(loaded.warnings.iter().map(|warning| render(warning)));
    assert!(loaded.warnings.iter().all(|warning| warning.is_warning()));
    insta::assert_snapshot!("warnings", text);
}

/// Every fixture in `warnings/` adds one suspicious setting to a valid scenario, and has a
/// snapshot.
#[test]
fn every_suspicious_setting_is_shown_once_with_place_reason_and_advice() {
    let folder = Path::new("tests/warnings");
    for base in toml_files(&folder.join("base")) {
        let loaded = load(&base, &[]).unwrap_or_else(|error| panic!("{}", render(&error)));
        assert!(loaded.warnings.is_empty(), "{}: {:?}", base.display(), loaded.warnings);
    }
    let paths = toml_files(folder);
    assert!(paths.len() >= 14, "fixtures are missing");
    for path in paths {
        let loaded = load(&path, &[]).unwrap_or_else(|error| panic!("{}", render(&error)));
        let [warning] = &loaded.warnings[..] else { panic!("{}: {:?}", path.display(), loaded.warnings) };
        assert!(
            warning.is_warning() && warning.help_text().is_some() && warning.line().is_some(),
            "{warning}"
        );
        assert_eq!(warning.file().map(Path::new), Some(path.as_path()), "{warning}");
        let name = path.file_stem().expect("a file").to_string_lossy().into_owned();
        insta::assert_snapshot!(format!("warning_{name}"), render(warning));
    }
}

/// A marking rule without ECN-capable packets causes a warning if the rule was set last. If the
/// transport was changed last, the user compares transports, and gets no warning.
#[test]
fn marks_in_vain_are_shown_where_they_were_meant() {
    let count = |scenario: &str, overrides: &[(&str, &str)]| {
        let loaded = crate::common::shipped_with(scenario, overrides);
        loaded.warnings.iter().filter(|warning| warning.key() == "switch.ecn").count()
    };
    let step = "{ kind = \"step\", threshold = \"30 KB\" }";
    assert_eq!(count("star-incast.toml", &[("switch.ecn", step)]), 1);
    let other = [
        ("transport", "[{ name = \"dctcp\", congestion_control = \"newreno\" }]"),
        ("workload.0.transport", "dctcp"),
    ];
    assert_eq!(count("dumbbell.toml", &other), 0);
    let both = [other[0], other[1], ("switch.ecn", step)];
    assert_eq!(count("dumbbell.toml", &both), 1);
}

/// The loader never panics on a changed scenario, and never fails without a reported problem.
#[test]
fn no_mutilated_scenario_makes_the_loader_panic() {
    let junk = [
        "",
        "1",
        "-1",
        "0",
        "\"\"",
        "\"x\"",
        "\"-5 KB\"",
        "[]",
        "{}",
        "[[]]",
        "true",
        "1.5",
        "1979-05-27",
        "99999999999999999999",
    ];
    for path in crate::common::shipped() {
        let text = std::fs::read_to_string(&path).expect("readable");
        let lines: Vec<&str> = text.lines().collect();
        let check = |lines: &[String]| {
            if let Err(error) = bufferlab_scenario::load_text(&path, &lines.join("\n"), &[]) {
                assert!(!error.problems().is_empty());
                render(&error);
            }
        };
        for number in (0..lines.len()).filter(|&number| !lines[number].trim_start().starts_with('#')) {
            let mut changed: Vec<String> = lines.iter().map(|&line| line.to_owned()).collect();
            changed.remove(number);
            check(&changed);
            changed = lines[..number].iter().map(|&line| line.to_owned()).collect();
            check(&changed);
            if let Some((key, _)) = lines[number].split_once('=') {
                for value in junk {
                    let mut changed: Vec<String> = lines.iter().map(|&line| line.to_owned()).collect();
                    changed[number] = format!("{key}= {value}");
                    check(&changed);
                }
            }
        }
    }
}
