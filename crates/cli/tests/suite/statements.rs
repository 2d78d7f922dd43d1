//! Tests of `reproduce` with single statements of the papers, from an empty folder.

use crate::support::{Desk, text};

#[test]
fn a_statement_is_repeated_with_the_program_alone() {
    let desk = Desk::new();
    let printed = desk.succeed(&["reproduce", "abm-set-1", "TDT-F8a-1"]);
    for words in [
        "PASS          ABM-SET-1    computed here, holds: leaves are oversubscribed 4 to 1 and 5 to 1",
        "PASS          TDT-F8a-1    recorded: first packet 0.481",
        "cargo test -p bufferlab-conformance tdt_f8a_1",
        "its figure: bufferlab reproduce tdt/fig8",
    ] {
        assert!(printed.contains(words), "{words}: {printed}");
    }
    let unknown = desk.output(&["reproduce", concat!("REV-F7a", "-9")]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(text(&unknown.stderr).contains("did you mean \"REV-F7a-1\"?"), "{}", text(&unknown.stderr));
}

#[test]
fn recorded_values_give_the_effects_of_statements_and_figures() {
    let desk = Desk::new();
    let args = ["reproduce", "REV-F7a-1", "tdt/fig14", "ABM-SET-1", "--values", "recorded"];
    let output = desk.output(&args);
    let (printed, told) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && told.contains("recorded for tdt/fig14, reverie/fig7"), "{told}");
    let recorded = recorded_effect("REV-F7a-1");
    assert!(
        printed.contains(&format!("REV-F7a-1    {recorded} % (criterion: at least 30 %; paper: 60 %)")),
        "{printed}"
    );
    assert!(!printed.contains("REV-F7b-1") && printed.contains("TDT-F14a-2"), "{printed}");
    let several = desk.output(&["reproduce", "tdt", "--values", "values.csv"]);
    assert!(text(&several.stderr).contains("draws one experiment"), "{}", text(&several.stderr));
}

/// Returns the mean in a statement's record with the paper's setting at quick scale.
fn recorded_effect(statement: &str) -> String {
    let verdicts = include_str!("../../../../claims/verdicts.csv");
    let of = format!("{statement},");
    let is_quick = |line: &&str| line.starts_with(&of) && line.contains(",quick,paper,");
    let row = verdicts.lines().find(is_quick).expect("the statement has a row");
    let text = row.split(',').nth(2).expect("a row has a text");
    text.split(' ').next().unwrap_or_default().to_owned()
}

#[test]
fn the_data_package_is_written_and_checked_by_one_command_each() {
    let desk = Desk::new();
    desk.succeed(&["reproduce", "--package", "data"]);
    let checked = desk.succeed(&["verify", "data"]);
    assert!(checked.starts_with("data: 0 runs, ") && checked.ends_with(", all as written\n"), "{checked}");
    desk.write("data/claims/claims.csv", "id\n");
    let changed = desk.output(&["verify", "data"]);
    assert_eq!(changed.status.code(), Some(1));
    assert!(text(&changed.stdout).contains("claims.csv"), "{}", text(&changed.stdout));
}
