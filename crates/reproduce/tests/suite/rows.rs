//! Tests of single statements as targets of the command `reproduce`.

use bufferlab_core::Profile;
use bufferlab_reproduce::{
    Behaviours, Checked, Estimates, Fingerprints, Ledger, Plan, Registry, ScaleName, Selection, write_package,
};
use std::collections::BTreeSet;
use std::path::Path;

fn registry() -> Registry {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    Registry::load(&folder).unwrap_or_else(|error| panic!("{error}"))
}

fn ledger() -> Ledger {
    Ledger::recorded().unwrap_or_else(|error| panic!("{error}"))
}

fn names(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

#[test]
fn every_statement_of_the_papers_is_a_target() {
    let (registry, ledger) = (registry(), ledger());
    for row in &ledger.rows {
        let id = row.claim.id.to_lowercase();
        let selected = Selection::new(&[id], &registry, &ledger).unwrap_or_else(|error| panic!("{error}"));
        assert!(selected.experiments.is_empty(), "{}", row.claim.id);
        assert_eq!(selected.parts.len() + selected.tested.len(), 1, "{}", row.claim.id);
    }
}

#[test]
fn statements_and_figures_mix_and_a_figure_includes_its_statements() {
    let (registry, ledger) = (registry(), ledger());
    let named = names("REV-F7a-1 tdt/fig14 TDT-F14a-1 ABM-SET-1 REV-F7b-1 ABM-SET-1 REV-F7a-1");
    let selected = Selection::new(&named, &registry, &ledger).unwrap_or_else(|error| panic!("{error}"));
    let whole: Vec<_> = selected.experiments.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(whole, ["tdt/fig14"]);
    let parts: Vec<_> = selected.parts.iter().map(|(one, ids)| (one.id.as_str(), ids.join(" "))).collect();
    assert_eq!(parts, [("reverie/fig7", "REV-F7a-1 REV-F7b-1".to_owned())]);
    assert_eq!(selected.tested.len(), 1);
}

#[test]
fn an_unknown_name_has_the_nearest_one() {
    let (registry, ledger) = (registry(), ledger());
    for (written, near) in [
        (concat!("REV-F7a", "-9"), "REV-F7a-1"),
        (concat!("ABM-SET", "-11"), "ABM-SET-1"),
        (concat!("PLA-F12b", "-99"), "PLA-F12b-1"),
        ("abm/fig66", "abm/fig6"),
        ("fig14", "tdt/fig14"),
    ] {
        let error = Selection::new(&names(written), &registry, &ledger).expect_err("unknown").to_string();
        assert!(error.ends_with(&format!("did you mean \"{near}\"?")), "{error}");
    }
    let error = Selection::new(&names("xyzzy"), &registry, &ledger).expect_err("unknown").to_string();
    assert_eq!(error, "there is no experiment, paper or statement \"xyzzy\"");
}

/// A record of a single statement is as valid as a record of the whole figure.
#[test]
fn the_runs_of_a_statement_give_the_fingerprint_of_its_figure() {
    let behaviours = Behaviours::recorded().unwrap_or_else(|error| panic!("{error}"));
    let mut fewer = 0;
    for experiment in registry().experiments.iter().filter(|one| !one.claims().is_empty()) {
        let whole =
            Plan::new(experiment, ScaleName::Quick, Some(1)).expect("every experiment has this scale");
        let whole = whole.under(Profile::Paper);
        let of_whole = Fingerprints::new(&whole, &behaviours).unwrap_or_else(|why| panic!("{why}"));
        for claim in experiment.claims() {
            let part = whole.clone().only_rows(std::slice::from_ref(&claim.id));
            assert_eq!(part.experiment.claims().len(), 1);
            assert_eq!(part.points.is_empty(), claim.conditions.is_empty(), "{}", claim.id);
            fewer += usize::from(part.points.len() < whole.points.len());
            let of_part = Fingerprints::new(&part, &behaviours).unwrap_or_else(|why| panic!("{why}"));
            assert_eq!(of_part.of_claim(claim), of_whole.of_claim(claim), "{}", claim.id);
        }
    }
    assert!(fewer > 100, "{fewer} statements need fewer runs than their figure");
}

#[test]
fn the_program_runs_every_test_of_the_theory_that_judges_a_statement() {
    let (registry, ledger) = (registry(), ledger());
    let mut ran = BTreeSet::new();
    for row in ledger.rows.iter().filter(|row| row.test.is_some()) {
        let test = row.test.as_ref().map_or("", |test| test.test.as_str());
        for one in test.split("; ").filter(|one| one.starts_with("crates/theory/")) {
            assert!(bufferlab_theory::statements::find(one).is_some(), "the program does not run {one}");
            ran.insert(row.claim.id.as_str());
        }
    }
    assert!(ran.len() >= 90, "{} statements", ran.len());
    let row = |id: &str| ledger.rows.iter().find(|row| row.claim.id == id).expect("a row");
    let computed = Checked::new(row("ABM-SET-1"), &registry);
    assert!(computed.others.is_empty() && computed.ran.iter().all(|(_, found)| found.is_ok()));
    assert_eq!(computed.lines(), ["computed here, holds: leaves are oversubscribed 4 to 1 and 5 to 1"]);
    let recorded = Checked::new(row("TDT-F8a-1"), &registry).lines().join("\n");
    for part in ["recorded: first packet 0.481", "cargo test -p bufferlab-conformance tdt_f8a_1", "tdt/fig8"]
    {
        assert!(recorded.contains(part), "{recorded}");
    }
}

#[test]
fn recorded_values_are_those_of_todays_experiments() {
    let mut found = 0;
    for experiment in registry().experiments.iter().filter(|one| one.runs().is_some()) {
        let recorded = Estimates::recorded(experiment, ScaleName::Quick, Profile::Paper);
        found += usize::from(recorded.unwrap_or_else(|error| panic!("{error}")).is_some());
    }
    assert!(found >= 30, "{found} experiments have recorded values");
}

/// The data package of one bufferlab version is always identical, and readers notice a changed
/// byte.
#[test]
fn the_data_package_is_complete_and_checked() {
    let folder = tempfile::tempdir().expect("a folder");
    let (first, again) = (folder.path().join("first"), folder.path().join("again"));
    let files = write_package(&first).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(write_package(&again).unwrap_or_else(|error| panic!("{error}")), files);
    let inspect =
        |folder: &Path| bufferlab_results::inspect(folder).unwrap_or_else(|error| panic!("{error}"));
    let (of_first, of_again) = (inspect(&first), inspect(&again));
    assert_eq!((of_first.files, of_first.problems.len()), (files, 0), "{:?}", of_first.problems);
    assert_eq!(of_first.bytes, of_again.bytes);
    let names = [
        "CITATION.cff",
        "fingerprints.csv",
        "claims/claims.csv",
        "claims/verdicts.csv",
        "claims/values/tdt-fig14.quick.paper.csv",
        "experiments/reverie/fig7.toml",
        "scenarios/reverie-reduced.toml",
    ];
    for name in names {
        let read = |folder: &Path| std::fs::read(folder.join(name)).expect("written");
        assert!(read(&first) == read(&again), "{name}");
    }
    let verdicts = again.join("claims/verdicts.csv");
    let text = std::fs::read_to_string(&verdicts).expect("written");
    std::fs::write(&verdicts, text.replacen("PASS", "FAIL", 1)).expect("writable");
    let problems = inspect(&again).problems;
    assert!(problems.len() == 1 && problems[0].1.contains("verdicts.csv"), "{problems:?}");
}
