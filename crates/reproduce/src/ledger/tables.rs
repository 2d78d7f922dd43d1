//! Rows of the tables in `claims/` as Rust types.

use crate::table::{Cells, CsvRow, rows, to_csv};
use crate::{ClaimCheck, Experiment, ReproduceError, TableError, Verdict};
use serde::Serialize;
use std::path::Path;

const COSTS: &str = include_str!("../../../../claims/costs.csv");
const ESTIMATES: &str = include_str!("../../../../claims/cost-estimates.csv");

/// Cost of an experiment's runs at the time when their verdicts were recorded.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// Name of the experiment, such as `abm/fig6`.
    pub experiment: String,
    /// Scale of the runs: quick or paper.
    pub scale: String,
    /// Profile of the runs: settings of the paper's text (`paper`) or public code (`artifact`).
    pub profile: String,
    /// Number of runs of the experiment.
    pub runs: u64,
    /// Packet-hops of all runs: a packet that crosses n links counts n times.
    pub packet_hops: u64,
    /// CPU time of all runs of the experiment (s).
    pub cpu_seconds: f64,
    /// Git commit of the program that executed the runs.
    pub commit: String,
    /// Date of the recorded cost: year, month, day.
    pub date: String,
}

/// Returns the recorded costs of experiments, from the last record of each experiment.
///
/// # Errors
/// If the table is damaged.
pub fn recorded_costs() -> Result<Vec<Cost>, ReproduceError> {
    Ok(rows("claims/costs.csv", COSTS)?)
}

/// Returns estimated costs of experiments that never ran completely. The estimates are extrapolated
/// from a part of each run's simulated time.
///
/// # Errors
/// If the table is damaged.
pub fn estimated_costs() -> Result<Vec<Cost>, ReproduceError> {
    Ok(rows("claims/cost-estimates.csv", ESTIMATES)?)
}

/// Formats the costs of experiments as `costs.csv`.
///
/// # Errors
/// If a row cannot be written as CSV.
pub fn costs_csv(costs: &[Cost]) -> Result<String, ReproduceError> {
    to_csv("costs.csv", costs.iter())
}

/// A statement of a paper, from the table of claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Number of the statement: names of paper and figure, and a count.
    pub id: String,
    /// Name of the paper that makes the statement.
    pub paper: String,
    /// Figure, table or section of the paper with the statement.
    pub figure_table_section: String,
    /// Conditions under which the paper makes the statement.
    pub scenario: String,
    /// Scheme that the statement is about, and the baseline for the comparison.
    pub scheme_and_baseline: String,
    /// Metric that the paper's statement is about.
    pub metric: String,
    /// Value of the metric that the paper states, as text.
    pub paper_value: String,
    /// Kind of evidence in the paper: analytical, simulated, measured, or only an order of schemes.
    pub kind: String,
    /// Criterion under which bufferlab accepts the statement.
    pub pass_criterion: String,
    /// Cost of checking the statement: minutes, hours, or hardware.
    pub check_cost: String,
    /// Errata of the paper, and substitutes for facts that the paper omits.
    pub substitute_or_note: String,
}

impl Claim {
    /// Creates the entry for a statement of a custom experiment.
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

    /// Describes the statement in one line: the compared schemes, the metric and the paper's
    /// result.
    #[must_use]
    pub fn statement(&self) -> String {
        let mut text = self.scheme_and_baseline.clone();
        if !self.metric.is_empty() {
            text = format!("{text}, {}", self.metric);
        }
        if self.paper_value.is_empty() { text } else { format!("{text}: {}", self.paper_value) }
    }

    /// Whether the paper used hardware, so that our result is a simulation of the hardware.
    #[must_use]
    pub fn is_on_hardware(&self) -> bool {
        self.check_cost == "hardware"
    }
}

/// A test that checks a statement in every test run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TestEvidence {
    /// Number of the statement, such as `ABM-F6c-1`.
    pub id: String,
    /// Verdict on the statement that the test asserts.
    pub verdict: Verdict,
    /// Measured result of the test, as text; empty if the name of the test states the result.
    pub measured: String,
    /// File and name of the test that checks the statement.
    pub test: String,
}

/// A recorded verdict that runs gave on a statement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Record {
    /// Number of the statement, such as `ABM-F6c-1`.
    pub id: String,
    /// Verdict on the statement that the runs give.
    pub verdict: Verdict,
    /// Effect of the statement that the runs measured, as text.
    pub measured: String,
    /// Number of seeds for each variant and combination of axis values.
    pub seeds: u64,
    /// Scale of the runs: quick or paper.
    pub scale: String,
    /// Profile of the runs: settings of the paper's text (`paper`) or public code (`artifact`).
    pub profile: String,
    /// Name of the experiment, such as `abm/fig6`.
    pub experiment: String,
    /// Remark that pages print beside the recorded verdict.
    pub note: String,
    /// Git commit of the program that executed the runs.
    pub commit: String,
    /// Date of the recorded verdict: year, month, day.
    pub date: String,
    /// Fingerprint of experiment, scenarios and engine; empty in records of earlier versions.
    pub fingerprint: String,
}

impl Record {
    /// Key of a record among the records of a statement: its scale and its profile.
    #[must_use]
    pub fn key(&self) -> (&str, &str) {
        (&self.scale, &self.profile)
    }

    /// Whether the record can decide a verdict: its runs did not fail, and its verdict is not VOID.
    #[must_use]
    pub fn speaks(&self) -> bool {
        !matches!(self.verdict, Verdict::NotRun | Verdict::Void)
    }

    /// Whether the runs of the record used the settings of the paper's text.
    #[must_use]
    pub fn is_of_paper(&self) -> bool {
        self.profile == "paper"
    }
}

impl Cost {
    /// Identity of a recorded cost: experiment, scale and profile.
    #[must_use]
    pub fn key(&self) -> (&str, &str, &str) {
        (&self.experiment, &self.scale, &self.profile)
    }

    /// Reads the rows of a table of costs (`costs.csv`).
    pub(crate) fn read_all(file: &Path, text: &str) -> Result<Vec<Self>, ReproduceError> {
        Ok(rows(&file.display().to_string(), text)?)
    }
}

impl CsvRow for Cost {
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

impl CsvRow for Claim {
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

impl CsvRow for TestEvidence {
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

impl CsvRow for Record {
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
            // Records of earlier versions lack the column `fingerprint`.
            fingerprint: cells.text("fingerprint"),
        })
    }
}
