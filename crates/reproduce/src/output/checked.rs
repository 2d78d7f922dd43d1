//! Statements about a paper's figure that tests check instead of runs.

use crate::figures::{places, statements};
use crate::{Experiment, Ledger};
use bufferlab_report::PageTable;

/// Formats the table of the statements about a figure that tests check. The result is `None` for
/// figures of custom studies.
pub(super) fn checked_by_tests(experiment: &Experiment) -> Option<PageTable> {
    let ledger = Ledger::recorded().ok()?;
    let paper = experiment.paper();
    let rows: Vec<Vec<String>> = statements(&ledger, paper, &places(&experiment.figure))
        .into_iter()
        .filter_map(|row| {
            let test = row.test.as_ref()?;
            Some(vec![
                row.claim.id.clone(),
                row.claim.statement(),
                test.verdict.to_string(),
                test.measured.clone(),
                in_words(&test.test),
            ])
        })
        .collect();
    let header =
        ["claim", "statement", "verdict", "when it was recorded", "test"].map(str::to_owned).to_vec();
    (!rows.is_empty()).then(|| PageTable { title: "What tests check".to_owned(), header, rows })
}

/// Number of statements about a figure that tests check.
#[must_use]
pub fn checked(experiment: &Experiment) -> usize {
    checked_by_tests(experiment).map_or(0, |table| table.rows.len())
}

/// Formats the name of a test as words, so that a narrow column can wrap it:
/// `file.rs: name in words`.
pub(super) fn in_words(test: &str) -> String {
    match test.split_once("::") {
        Some((file, name)) => format!("{file}: {}", name.replace('_', " ")),
        None => test.to_owned(),
    }
}
