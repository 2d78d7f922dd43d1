//! How is the ledger shown in Markdown?

use super::{Claim, Evidence, Ledger, LedgerRow, Record};
use crate::real::repetitions;
use crate::{RealRecord, Verdict};
use std::fmt::Write;

impl Ledger {
    /// The counts as a table in Markdown.
    #[must_use]
    pub fn summary_markdown(&self) -> String {
        let mut text = String::from("| paper | rows |");
        Verdict::ALL.iter().for_each(|verdict| text.push_str(&format!(" {verdict} |")));
        text.push_str(&format!("\n|---|---|{}\n", "---|".repeat(Verdict::COUNT)));
        let mut line = |name: &str, counts: [usize; Verdict::COUNT]| {
            let cells: String = counts.iter().map(|count| format!(" {count} |")).collect();
            // Writing into a string cannot fail.
            let _ = writeln!(text, "| {name} | {} |{cells}", counts.iter().sum::<usize>());
        };
        for paper in self.papers() {
            line(paper, self.counts(Some(paper)));
        }
        line("**all**", self.counts(None));
        text
    }

    /// Every row, by paper, in Markdown: what speaks for its verdict, and below it the records of
    /// other scales and profiles.
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

    /// The rows of one paper for its page, in Markdown: the evidence for each verdict, and the
    /// verdicts of other scales, of the artifact's reading and of real packets. `claims/` has the
    /// rest.
    #[must_use]
    pub fn paper_markdown(&self, paper: &str) -> String {
        let mut text = String::from(
            "| claim | where | statement | verdict | here | evidence | also |\n|---|---|---|---|---|---|---|\n",
        );
        self.rows.iter().filter(|row| row.claim.paper == paper).for_each(|row| text.push_str(&short(row)));
        text
    }
}

/// One row of [`Ledger::paper_markdown`].
fn short(row: &LedgerRow) -> String {
    let claim = &row.claim;
    let (here, evidence) = match row.evidence() {
        Evidence::Test(test) => (test.measured.clone(), format!("`{}`", test.test)),
        Evidence::Runs(run) => {
            let scale = if run.scale == "paper" { ", paper's scale" } else { "" };
            (measured(run), format!("`{}`, {}{scale}", run.experiment, seeds(run)))
        }
        Evidence::None => (String::new(), String::new()),
    };
    let beside = row.beside().map(|run| {
        let reading = if run.is_of_paper() { "" } else { "artifact " };
        format!("{reading}{}: {}", run.scale, run.verdict)
    });
    let real = row.real.as_ref().map(|real| format!("real packets: {}", real.verdict));
    format!(
        "| {} | {} | {} | {} | {} | {evidence} | {} |\n",
        claim.id,
        cell(&claim.figure_table_section),
        cell(&claim.statement()),
        shown(claim, row.evidence().verdict()),
        cell(&here),
        beside.chain(real).collect::<Vec<_>>().join("<br>")
    )
}

/// A verdict; one on hardware is at best consistent in simulation.
fn shown(claim: &Claim, verdict: Verdict) -> String {
    let simulated = claim.is_on_hardware() && verdict.holds();
    format!("{verdict}{}", if simulated { " (consistent in simulation)" } else { "" })
}

/// One line without bars.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

/// A row of the table; `<br>` stands between what speaks and what stands beside it.
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

/// What real packets have shown, in words.
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

/// What runs have shown, in words.
fn measured(run: &Record) -> String {
    if run.note.is_empty() { run.measured.clone() } else { format!("{} {}", run.measured, run.note) }
}

/// Which runs they were.
fn place(run: &Record) -> String {
    let seeds = seeds(run);
    format!(
        "`{}`, {}, profile {}, {seeds}, {}, `{}`",
        run.experiment, run.scale, run.profile, run.date, run.commit
    )
}

/// How many seeds every point ran with.
fn seeds(run: &Record) -> String {
    if run.seeds == 1 { "1 seed".to_owned() } else { format!("{} seeds", run.seeds) }
}
