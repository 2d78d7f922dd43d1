//! Reasons why statements do not hold here: `claims/reasons.csv`.
//!
//! Every row whose verdict [needs a reason](crate::Verdict::needs_reason) has one sentence, an
//! owner and the run that shows the reason.

use crate::TableError;
use crate::table::{Cells, CsvRow};
use std::fmt;

/// Side that must change for a statement to hold: the paper or this project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The paper's sentence or setting does not give the paper's result.
    Paper,
    /// A model, setting or criterion of this project must change.
    Ours,
    /// The reason for the failing statement is not known yet.
    Open,
}

impl Owner {
    const ALL: [Self; 3] = [Self::Paper, Self::Ours, Self::Open];

    /// Name of the owner as tables write it.
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

/// Reason for a statement that does not hold here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// Number of the statement, such as `ABM-F6c-1`.
    pub id: String,
    /// Side that must change for the statement to hold.
    pub owner: Owner,
    /// Reason why the statement does not hold, in one sentence.
    pub why: String,
    /// Run, test or table that shows the reason.
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
