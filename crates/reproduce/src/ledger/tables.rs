//! What are the rows of the tables in `claims/`?

use crate::table::{Cells, Row, rows, to_csv};
use crate::{ClaimCheck, Experiment, ReproduceError, TableError, Verdict};
use serde::Serialize;
use std::path::Path;

const COSTS: &str = include_str!("../../../../claims/costs.csv");
const ESTIMATES: &str = include_str!("../../../../claims/cost-estimates.csv");

/// What an experiment took when it was recorded.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// The experiment.
    pub experiment: String,
    /// quick or paper.
    pub scale: String,
    /// Whose reading of what the papers leave open: paper or artifact.
    pub profile: String,
    /// Its runs.
    pub runs: u64,
    /// Packets that crossed a link, in all of them.
    pub packet_hops: u64,
    /// CPU time (s).
    pub cpu_seconds: f64,
    /// The program's source.
    pub commit: String,
    /// Year, month, day.
    pub date: String,
}

/// What experiments took when they were recorded last.
///
/// # Errors
/// If the table is damaged.
pub fn recorded_costs() -> Result<Vec<Cost>, ReproduceError> {
    Ok(rows("claims/costs.csv", COSTS)?)
}

/// What experiments would take that nobody has run as a whole, from a part of the duration of each
/// run.
///
/// # Errors
/// If the table is damaged.
pub fn estimated_costs() -> Result<Vec<Cost>, ReproduceError> {
    Ok(rows("claims/cost-estimates.csv", ESTIMATES)?)
}

/// Costs as `costs.csv`.
///
/// # Errors
/// If a row cannot be written as CSV.
pub fn costs_csv(costs: &[Cost]) -> Result<String, ReproduceError> {
    to_csv("costs.csv", costs.iter())
}

/// A statement of a paper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Its number: paper, place, count.
    pub id: String,
    /// The paper.
    pub paper: String,
    /// Where it stands.
    pub figure_table_section: String,
    /// Under which circumstances.
    pub scenario: String,
    /// What is compared with what.
    pub scheme_and_baseline: String,
    /// What is measured.
    pub metric: String,
    /// What the paper says.
    pub paper_value: String,
    /// Analytical, simulated, measured, or an ordering.
    pub kind: String,
    /// When we believe it.
    pub pass_criterion: String,
    /// Minutes, hours, hardware.
    pub check_cost: String,
    /// Errata, substitutes.
    pub substitute_or_note: String,
}

impl Claim {
    /// A statement of somebody's own experiment.
    #[must_use]
    pub(crate) fn of_study(experiment: &Experiment, check: &ClaimCheck) -> Self {
        let study = experiment.paper();
        let effects: Vec<&str> = check.conditions.iter().map(|one| one.effect.as_str()).collect();
        let statement = check.statement.clone().unwrap_or_else(|| effects.join("; "));
        let scenario = experiment.runs().and_then(|runs| runs.scenario.file_name());
        Self {
            id: check.id.clone(),
            paper: study.to_owned(),
            figure_table_section: experiment.figure.clone(),
            scenario: scenario.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
            scheme_and_baseline: statement,
            metric: String::new(),
            paper_value: String::new(),
            kind: "own".to_owned(),
            pass_criterion: String::new(),
            check_cost: String::new(),
            substitute_or_note: check.note.clone().unwrap_or_default(),
        }
    }

    /// What is stated, in a line: what is compared, by which metric, and what the paper says.
    #[must_use]
    pub fn statement(&self) -> String {
        let mut text = self.scheme_and_baseline.clone();
        if !self.metric.is_empty() {
            text = format!("{text}, {}", self.metric);
        }
        if self.paper_value.is_empty() { text } else { format!("{text}: {}", self.paper_value) }
    }

    /// Whether the paper used hardware: what we do is a simulation of it.
    #[must_use]
    pub fn is_on_hardware(&self) -> bool {
        self.check_cost == "hardware"
    }
}

/// A test that checks a statement whenever the tests run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TestEvidence {
    /// The statement.
    pub id: String,
    /// What the test asserts about it.
    pub verdict: Verdict,
    /// What was measured, in words; empty where the test's name says it.
    pub measured: String,
    /// File and name of the test.
    pub test: String,
}

/// A verdict that runs have shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Record {
    /// The statement.
    pub id: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// What was measured, in words.
    pub measured: String,
    /// Seeds of every point.
    pub seeds: u64,
    /// quick or paper.
    pub scale: String,
    /// Whose reading of what the papers leave open: paper or artifact.
    pub profile: String,
    /// The experiment.
    pub experiment: String,
    /// To be read with the verdict.
    pub note: String,
    /// The program's source.
    pub commit: String,
    /// Year, month, day.
    pub date: String,
}

impl Record {
    /// What distinguishes the records of a statement: scale and profile.
    #[must_use]
    pub fn key(&self) -> (&str, &str) {
        (&self.scale, &self.profile)
    }

    /// Whether it was run in the paper's reading.
    #[must_use]
    pub fn is_of_paper(&self) -> bool {
        self.profile == "paper"
    }
}

impl Cost {
    /// What distinguishes costs: experiment, scale and profile.
    #[must_use]
    pub fn key(&self) -> (&str, &str, &str) {
        (&self.experiment, &self.scale, &self.profile)
    }

    /// The rows of a `costs.csv`.
    pub(crate) fn read_all(file: &Path, text: &str) -> Result<Vec<Self>, ReproduceError> {
        Ok(rows(&file.display().to_string(), text)?)
    }
}

impl Row for Cost {
    const COLUMNS: &'static [&'static str] =
        &["experiment", "scale", "profile", "runs", "packet_hops", "cpu_seconds", "commit", "date"];

    fn read(cells: &Cells<'_>) -> Result<Self, TableError> {
        Ok(Self {
            experiment: cells.text("experiment"),
            scale: cells.text("scale"),
            profile: cells.text("profile"),
            runs: cells.count("runs")?,
            packet_hops: cells.count("packet_hops")?,
            cpu_seconds: cells.number("cpu_seconds")?,
            commit: cells.text("commit"),
            date: cells.text("date"),
        })
    }
}

impl Row for Claim {
    const COLUMNS: &'static [&'static str] = &[
        "id",
        "paper",
        "figure_table_section",
        "scenario",
        "scheme_and_baseline",
        "metric",
        "paper_value",
        "kind",
        "pass_criterion",
        "check_cost",
        "substitute_or_note",
    ];

    fn read(cells: &Cells<'_>) -> Result<Self, TableError> {
        Ok(Self {
            id: cells.text("id"),
            paper: cells.text("paper"),
            figure_table_section: cells.text("figure_table_section"),
            scenario: cells.text("scenario"),
            scheme_and_baseline: cells.text("scheme_and_baseline"),
            metric: cells.text("metric"),
            paper_value: cells.text("paper_value"),
            kind: cells.text("kind"),
            pass_criterion: cells.text("pass_criterion"),
            check_cost: cells.text("check_cost"),
            substitute_or_note: cells.text("substitute_or_note"),
        })
    }
}

impl Row for TestEvidence {
    const COLUMNS: &'static [&'static str] = &["id", "verdict", "measured", "test"];

    fn read(cells: &Cells<'_>) -> Result<Self, TableError> {
        Ok(Self {
            id: cells.text("id"),
            verdict: cells.verdict("verdict")?,
            measured: cells.text("measured"),
            test: cells.text("test"),
        })
    }
}

impl Row for Record {
    const COLUMNS: &'static [&'static str] =
        &["id", "verdict", "measured", "seeds", "scale", "profile", "experiment", "note", "commit", "date"];

    fn read(cells: &Cells<'_>) -> Result<Self, TableError> {
        Ok(Self {
            id: cells.text("id"),
            verdict: cells.verdict("verdict")?,
            measured: cells.text("measured"),
            seeds: cells.count("seeds")?,
            scale: cells.text("scale"),
            profile: cells.text("profile"),
            experiment: cells.text("experiment"),
            note: cells.text("note"),
            commit: cells.text("commit"),
            date: cells.text("date"),
        })
    }
}
