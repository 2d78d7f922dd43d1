//! Formats the ledger of verdicts as Markdown and CSV.

use super::{Claim, Evidence, Ledger, LedgerRow, Record};
use crate::real::repetitions;
use crate::{RealRecord, Reason, UniverseRow, Verdict};
use std::fmt::Write;

impl Ledger {
    /// Formats the counts of verdicts per paper as a Markdown table.
    #[must_use]
    pub fn summary_markdown(&self) -> String {
        let mut text = String::from("| paper | rows |");
        Verdict::ALL.iter().for_each(|verdict| text.push_str(&format!(" {verdict} |")));
        text.push_str(&format!("\n|---|---|{}\n", "---|".repeat(Verdict::COUNT)));
        let mut line = |name: &str, counts: [usize; Verdict::COUNT]| {
            let cells: String = counts.iter().map(|count| format!(" {count} |")).collect();
            // Writing to a string cannot fail.
            let _ = writeln!(text, "| {name} | {} |{cells}", counts.iter().sum::<usize>());
        };
        for paper in self.papers() {
            line(paper, self.counts(Some(paper)));
        }
        line("**all**", self.counts(None));
        text
    }

    /// Formats every row of the ledger, grouped by paper. A row has the evidence for its verdict
    /// first, then the records of other scales and profiles.
    #[must_use]
    pub fn rows_markdown(&self) -> String {
        let mut text = String::new();
        for paper in self.papers() {
            let _ = writeln!(text, "## {paper}\n");
            text.push_str(
                "| claim | where | statement | verdict | here | evidence | real packets |\n|---|---|---|---|---|---|---|\n",
            );
            for row in self.rows.iter().filter(|row| row.claim.paper == paper) {
                text.push_str(&line(row));
            }
            text.push('\n');
        }
        text
    }

    /// Formats all rows of one paper as CSV. A row has the evidence for its verdict, and the
    /// verdicts of other scales, of the paper's public code, of real packets and under other
    /// readings. The tables in `claims/` have the rest.
    ///
    /// # Errors
    /// If a row cannot be written as CSV.
    pub fn paper_csv(&self, paper: &str) -> csv::Result<Vec<u8>> {
        let mut table = csv::Writer::from_writer(Vec::new());
        table.write_record([
            "claim",
            "where",
            "statement",
            "verdict",
            "here",
            "why",
            "evidence",
            "also",
            "readings",
        ])?;
        for row in self.rows_of(paper) {
            table.write_record(short(row))?;
        }
        table.into_inner().map_err(|error| csv::Error::from(error.into_error()))
    }

    fn rows_of(&self, paper: &str) -> impl Iterator<Item = &LedgerRow> {
        self.rows.iter().filter(move |row| row.claim.paper == paper)
    }
}

/// Returns the cells of one statement's row in [`Ledger::paper_csv`].
fn short(row: &LedgerRow) -> [String; 9] {
    let claim = &row.claim;
    let (here, evidence) = match row.evidence() {
        Evidence::Test(test) => (test.measured.clone(), test.test.clone()),
        Evidence::Runs(run) => {
            let scale = if run.scale == "paper" { ", paper's scale" } else { "" };
            (measured(run), format!("{}, {}{scale}", run.experiment, seeds(run)))
        }
        Evidence::None => (String::new(), String::new()),
    };
    let beside = row.beside().map(|run| {
        let reading = if run.is_of_paper() { "" } else { "artifact " };
        format!("{reading}{}: {}", run.scale, run.verdict)
    });
    let real = row.real.as_ref().map(|real| format!("real packets: {}", real.verdict));
    [
        claim.id.clone(),
        claim.figure_table_section.clone(),
        claim.statement(),
        shown(claim, row.evidence().verdict()),
        here,
        row.reason().map_or_else(String::new, because),
        evidence,
        beside.chain(real).collect::<Vec<_>>().join("; "),
        if row.readings.is_empty() { String::new() } else { UniverseRow::sentence(&row.readings) },
    ]
}

/// Describes why a statement does not hold: the side that must change, the reason, and the run that
/// shows the reason.
fn because(reason: &Reason) -> String {
    format!("{}: {} ({})", reason.owner, reason.why, reason.run)
}

/// Formats a verdict. The best verdict on a statement about hardware is "consistent in simulation".
fn shown(claim: &Claim, verdict: Verdict) -> String {
    let simulated = claim.is_on_hardware() && verdict.holds();
    format!("{verdict}{}", if simulated { " (consistent in simulation)" } else { "" })
}

/// Formats a text in one line for a table cell, without vertical bars.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

/// Formats a row of the ledger's table; `<br>` separates the deciding evidence from other records.
fn line(row: &LedgerRow) -> String {
    let claim = &row.claim;
    let statement = claim.statement();
    let (mut verdicts, mut here, mut evidence) = match row.evidence() {
        Evidence::Test(test) => {
            (vec![test.verdict], vec![test.measured.clone()], vec![format!("test `{}`", test.test)])
        }
        Evidence::Runs(run) => (vec![run.verdict], vec![measured(run)], vec![place(run)]),
        Evidence::None => {
            let why =
                if row.records.is_empty() { "nobody has run it" } else { "not run in the paper's reading" };
            (vec![Verdict::NotRun], vec![String::new()], vec![why.to_owned()])
        }
    };
    for run in row.beside() {
        verdicts.push(run.verdict);
        here.push(measured(run));
        evidence.push(place(run));
    }
    here.extend(row.reason().map(because));
    format!(
        "| {} | {} | {} | {} | {} | {} | {} |\n",
        claim.id,
        cell(&claim.figure_table_section),
        cell(&statement),
        verdicts.iter().map(|verdict| shown(claim, *verdict)).collect::<Vec<_>>().join("<br>"),
        cell(&here.join("<br>")),
        evidence.join("<br>"),
        cell(&row.real.as_ref().map_or_else(String::new, real))
    )
}

/// Describes a statement's result with real packets.
fn real(record: &RealRecord) -> String {
    format!(
        "{}: {} (`{}`, {}, {}, `{}`)",
        record.verdict,
        record.measured,
        record.experiment,
        repetitions(record.repetitions),
        record.date,
        record.commit
    )
}

/// Describes the measured result of recorded runs, with the remark if the record has one.
fn measured(run: &Record) -> String {
    if run.note.is_empty() { run.measured.clone() } else { format!("{} {}", run.measured, run.note) }
}

/// Describes which runs a record comes from: experiment, scale, profile, seeds, date and commit.
fn place(run: &Record) -> String {
    let seeds = seeds(run);
    format!(
        "`{}`, {}, profile {}, {seeds}, {}, `{}`",
        run.experiment, run.scale, run.profile, run.date, run.commit
    )
}

/// Formats the number of seeds in a record, such as "5 seeds".
fn seeds(run: &Record) -> String {
    if run.seeds == 1 { "1 seed".to_owned() } else { format!("{} seeds", run.seeds) }
}
