//! Typical mistakes, and what users read about them. Every fixture in `mistakes/` has a snapshot.

use bufferlab_scenario::{LoadError, load};
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};
use std::path::{Path, PathBuf};

const FOLDER: &str = "tests/mistakes";

fn render(diagnostic: &dyn Diagnostic) -> String {
    let mut text = String::new();
    GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor())
        .with_width(100)
        .render_report(&mut text, diagnostic)
        .expect("a string takes everything");
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn mistake(path: &Path, overrides: &[(&str, &str)]) -> LoadError {
    let overrides: Vec<_> =
        overrides.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    match load(path, &overrides) {
        Ok(_) => panic!("{} loads, and was to be refused", path.display()),
        Err(error) => error,
    }
}

/// Every problem must say where it is and what to do.
fn assert_helpful(error: &LoadError) {
    for problem in error.problems() {
        let text = problem.to_string();
        assert!(problem.help_text().is_some(), "no advice: {text}");
        if problem.file().is_some() {
            assert!(problem.line().is_some(), "no line: {text}");
        }
    }
}

#[test]
fn every_mistake_is_refused_with_place_reason_and_advice() {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(FOLDER).expect("fixtures").map(|entry| entry.expect("readable").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.retain(|path| !path.ends_with("cyclic_extends_b.toml"));
    paths.sort();
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
    insta::assert_snapshot!("missing_scenario", render(&error));
}

#[test]
fn mistakes_on_the_command_line_show_the_command_line() {
    let star = Path::new("../../scenarios/star-incast.toml");
    let cases: [(&str, &[(&str, &str)]); 6] = [
        ("set_misspelled_policy", &[("switch.policy", "adm")]),
        ("set_unknown_key", &[("switch.bufer", "1 MB")]),
        ("set_no_such_entry", &[("workload.web_search.load", "0.5")]),
        ("set_bad_table", &[("switch.policy", "{ name = \"dt\", alpha }")]),
        ("set_fraction_as_word", &[("workload.0.request_fraction_of_buffer", "lots")]),
        ("set_empty_key", &[("switch..policy", "dt")]),
    ];
    for (name, overrides) in cases {
        insta::assert_snapshot!(name, render(&mistake(star, overrides)));
    }
}
