//! Reasons why statements of papers do not hold in bufferlab: one sentence in `claims/reasons.csv`,
//! and a full argument for some statements in `claims/arguments.csv`.
//!
//! Every row whose verdict [needs a reason](crate::Verdict::needs_reason) has one sentence, an
//! owner and the run that shows the reason.

use crate::table::{Cells, CsvRow, rows};
use crate::{Evidence, Ledger, LedgerRow, ReproduceError, TableError};
use std::fmt;

const ARGUMENTS: &str = include_str!("../../../claims/arguments.csv");

/// The side that must change for a failed statement to hold: paper, bufferlab, or unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The paper's sentence or setting does not give the paper's result.
    Paper,
    /// A model, setting or criterion of bufferlab must change.
    Ours,
    /// The reason for the failing statement is not known yet.
    Open,
}

impl Owner {
    const ALL: [Self; 3] = [Self::Paper, Self::Ours, Self::Open];

    /// Name of the side that must change, as tables write it, such as `paper`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Ours => "ours",
            Self::Open => "open",
        }
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Reason why a statement of a paper does not hold in bufferlab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// Number of the statement, such as `ABM-F6c-1`.
    pub id: String,
    /// Side that must change for the statement to hold: paper or bufferlab, if known.
    pub owner: Owner,
    /// Reason why the statement does not hold, in one sentence.
    pub why: String,
    /// Name of the run, test or table that shows the reason for the verdict.
    pub run: String,
}

impl CsvRow for Reason {
    const COLUMNS: &'static [&'static str] = &["id", "owner", "why", "run"];

    fn read(cells: &Cells<'_>) -> Result<Self, TableError> {
        let owner = cells.text("owner");
        let known = Owner::ALL.into_iter().find(|known| known.name() == owner);
        let Some(owner) = known else {
            return Err(cells.wrong("owner", format!("expected paper, ours or open, found \"{owner}\"")));
        };
        for column in ["why", "run"] {
            if cells.text(column).trim().is_empty() {
                return Err(cells.wrong(column, "expected a text, found nothing".to_owned()));
            }
        }
        Ok(Self { id: cells.text("id"), owner, why: cells.text("why"), run: cells.text("run") })
    }
}

/// Returns the measured result of a ledger row, without criteria and the paper's numbers.
pub(crate) fn result(row: &LedgerRow) -> String {
    let measured = match row.evidence() {
        Evidence::Test(test) => &test.measured,
        Evidence::Runs(run) => &run.measured,
        Evidence::None => return String::new(),
    };
    without_criteria(measured)
}

/// Returns a text of measured results without its criteria and the paper's numbers.
pub(crate) fn without_criteria(measured: &str) -> String {
    let mut parts = Vec::new();
    for part in measured.split("; ") {
        // A measured result ends with `; paper: 60 %)` or a similar text.
        if part.starts_with("paper: ") {
            continue;
        }
        parts.push(part.split(" (criterion").next().unwrap_or(part));
    }
    parts.join("; ")
}

/// A row of `claims/arguments.csv`: the full argument for a verdict.
struct Argument {
    /// Number of the statement, such as `ABM-F6c-1`.
    id: String,
    /// Argument for the verdict, evidence against the verdict, and evidence that would decide the
    /// question.
    text: String,
}

impl CsvRow for Argument {
    const COLUMNS: &'static [&'static str] = &["id", "argument"];

    fn read(cells: &Cells<'_>) -> Result<Self, TableError> {
        Ok(Self { id: cells.text("id"), text: cells.text("argument") })
    }
}

/// Formats the statements with a full argument that still do not hold, as Markdown sections with
/// verdict, statement, result and argument.
///
/// # Errors
/// If the table of arguments is damaged, or names an unknown statement.
pub fn arguments_markdown(ledger: &Ledger) -> Result<String, ReproduceError> {
    let mut text = String::new();
    for (line, one) in (2..).zip(rows::<Argument>("claims/arguments.csv", ARGUMENTS)?) {
        let row = ledger.rows.iter().find(|row| row.claim.id == one.id);
        let row = row.ok_or_else(|| TableError {
            file: "claims/arguments.csv".to_owned(),
            line,
            column: Some("id".to_owned()),
            why: format!("claims/claims.csv has no claim {}", one.id),
        })?;
        let verdict = row.evidence().verdict();
        if verdict.needs_reason() {
            let owner = row.reason().map_or_else(String::new, |reason| format!(" ({})", reason.owner));
            let cells = [row.claim.statement(), result(row)].map(|cell| cell.replace('|', "\\|"));
            text.push_str(&format!(
                "### {}: {verdict}{owner}\n\n| paper | here |\n|---|---|\n| {} |\n\n{}\n\n",
                one.id,
                cells.join(" | "),
                one.text
            ));
        }
    }
    Ok(text)
}
