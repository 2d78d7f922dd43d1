//! Typical mistakes in experiment files, and the error messages for these mistakes. Every file of
//! cases in `mistakes/` has a snapshot.

use bufferlab_document::{LoadError, Problem};
use bufferlab_reproduce::{Experiment, Plan, Registry, ReproduceError, ScaleName};
use std::fs;
use std::path::Path;

/// Formats file, line, key, message and advice of every problem. Tests of scenarios cover how a
/// terminal shows these errors.
fn render(error: &LoadError) -> String {
    let one = |problem: &Problem| {
        let (file, line) = (problem.file().unwrap_or_default(), problem.line().unwrap_or_default());
        let help = problem.help_text().unwrap_or_default().replace('\n', "\n    ");
        format!("{file}:{line}: {problem}\n    {help}\n")
    };
    error.problems().iter().map(one).collect()
}

/// Splits a file of mistaken experiments into the names and texts of its cases.
fn cases(text: &str) -> Vec<(&str, &str)> {
    let cases = text.split("==== ").skip(1);
    cases.map(|case| case.split_once('\n').expect("a name stands alone on its line")).collect()
}

/// Checks that the reader rejects every case, with a file position and a hint for every problem.
fn check(file: &str) -> String {
    let text = fs::read_to_string(format!("tests/mistakes/{file}.cases")).expect("readable");
    let mut shown = String::new();
    for (name, text) in cases(&text) {
        let path = format!("tests/mistakes/{name}.toml");
        let error = Experiment::from_text(Path::new(&path), "test/mistake", text).expect_err(name);
        for problem in error.problems() {
            assert!(problem.help_text().is_some(), "{name}: no advice: {problem}");
            assert!(
                problem.file() == Some(path.as_str()) && problem.line().is_some(),
                "{name}: no place: {problem}"
            );
        }
        shown += &format!("==== {name}\n{}\n", render(&error));
    }
    shown
}

#[test]
fn mistakes_of_form_are_refused_with_place_reason_and_advice() {
    insta::assert_snapshot!("form", check("form"));
}

#[test]
fn mistakes_in_what_runs_are_refused_with_place_reason_and_advice() {
    insta::assert_snapshot!("runs", check("runs"));
}

#[test]
fn mistakes_in_what_is_measured_are_refused_with_place_reason_and_advice() {
    insta::assert_snapshot!("metrics", check("metrics"));
}

#[test]
fn mistakes_in_what_is_stated_are_refused_with_place_reason_and_advice() {
    insta::assert_snapshot!("claims", check("claims"));
}

#[test]
fn the_mistakes_of_all_files_are_shown_together() {
    let folder = tempfile::tempdir().expect("a folder");
    let paper = folder.path().join("own");
    fs::create_dir_all(&paper).expect("writable");
    for name in ["a", "b"] {
        fs::write(paper.join(format!("{name}.toml")), "title = 't'\nfigure = 'f'\ntheory = 'abm-44'\n")
            .expect("writable");
    }
    let error = Registry::load(folder.path()).expect_err("two mistakes");
    let ReproduceError::Experiment(error) = &error else { panic!("{error}") };
    let files: Vec<_> = error.problems().iter().filter_map(|problem| problem.file()).collect();
    assert!(matches!(files[..], [a, b] if a.ends_with("a.toml") && b.ends_with("b.toml")), "{files:?}");
}

const OWN: &str = r#"
title = "My own"
figure = "mine"
scenario = "../../scenarios/star-incast.toml"

[[variant]]
name = "small"
set = { "switch.bufer" = "100 KB" }

[quick]
seeds = 1
"#;

#[test]
fn what_the_scenario_refuses_is_shown_where_the_experiment_sets_it() {
    let path = Path::new("../../experiments/abm/own.toml");
    let load = |text: &str| {
        let experiment =
            Experiment::from_text(path, "own/own", text).unwrap_or_else(|error| panic!("{error}"));
        let plan = Plan::new(&experiment, ScaleName::Quick, None).expect("it has this scale");
        plan.load(&plan.points[0]).map(|loaded| loaded.scenario.seed).map_err(|failure| failure.to_string())
    };
    let failure = load(OWN).expect_err("the scenario has no such key");
    assert_eq!(
        failure,
        "own/own: small, seed +0: ../../experiments/abm/own.toml:8: switch.bufer: unknown key (did you mean `buffer`?)"
    );
    assert!(load(&OWN.replace("bufer", "buffer")).is_ok());
    let unit = load(&OWN.replace("bufer", "buffer").replace("100 KB", "100 kilo")).expect_err("no unit");
    assert!(unit.contains("own.toml:8: switch.buffer: "), "{unit}");
}

#[test]
fn an_experiment_of_ones_own_needs_no_paper_scale() {
    let path = Path::new("../../experiments/abm/own.toml");
    let own = Experiment::from_text(path, "own/own", &OWN.replace("bufer", "buffer"));
    let own = own.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(Plan::all([&own], ScaleName::Quick, None, None).map(|plans| plans.len()).ok(), Some(1));
    let error = Plan::all([&own], ScaleName::Paper, None, None).expect_err("there is no such scale");
    assert_eq!(error.to_string(), "none of these experiments has the scale \"paper\"");
    assert!(error.hint().contains("[paper]"));
    let error = Plan::all([&own], ScaleName::Quick, None, Some(bufferlab_core::Profile::Artifact));
    assert!(matches!(error, Err(ReproduceError::NoReading)));
}
