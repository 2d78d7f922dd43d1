//! Typical mistakes, and what users read about them. Every fixture in `mistakes/` has a snapshot.

mod common;

use bufferlab_scenario::{LoadError, load};
use common::{SCENARIOS, owned, render, toml_files};
use std::path::Path;

const FOLDER: &str = "tests/mistakes";

fn mistake(path: &Path, overrides: &[(&str, &str)]) -> LoadError {
    match load(path, &owned(overrides)) {
        Ok(_) => panic!("{} loads, and was to be refused", path.display()),
        Err(error) => error,
    }
}

/// Every problem must say where it is and what to do.
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

#[test]
fn suspicious_scenarios_run_with_warnings() {
    let loaded = common::shipped_with(
        "dumbbell.toml",
        &[
            ("switch.ecn", "{ kind = \"step\", threshold = \"91 MB\" }"),
            ("transport", "[{ congestion_control = \"dctcp\" }, { congestion_control = \"newreno\" }]"),
            ("workload.0.transport", "dctcp"),
        ],
    );
    let mut text: String = loaded.warnings.iter().map(|warning| render(warning)).collect();
    let loaded = common::shipped_with("star-incast.toml", &[("transport.0.congestion_control", "dctcp")]);
    text.extend(loaded.warnings.iter().map(|warning| render(warning)));
    assert!(loaded.warnings.iter().all(|warning| warning.is_warning()));
    insta::assert_snapshot!("warnings", text);
}

/// Whatever is done to a scenario, the loader answers: it neither panics nor refuses without a reason.
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
    for path in common::shipped() {
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
