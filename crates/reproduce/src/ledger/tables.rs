//! What are the rows of the tables in `claims/`?

use crate::{ReproduceError, Verdict};
use serde::{Deserialize, Serialize};

const COSTS: &str = include_str!("../../../../claims/costs.csv");

/// What an experiment took when it was recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    table("claims/costs.csv", COSTS)
}

/// Costs as `costs.csv`.
///
/// # Errors
/// If a row cannot be written as CSV.
pub fn costs_csv(costs: &[Cost]) -> Result<String, ReproduceError> {
    to_csv("costs.csv", costs.iter())
}

/// A statement of a paper.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
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
    /// Whether the paper used hardware: what we do is a simulation of it.
    #[must_use]
    pub fn is_on_hardware(&self) -> bool {
        self.check_cost == "hardware"
    }
}

/// A test that checks a statement whenever the tests run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

/// The rows of a table.
pub(crate) fn table<T: for<'a> Deserialize<'a>>(name: &str, text: &str) -> Result<Vec<T>, ReproduceError> {
    let failed = |error: csv::Error| ReproduceError::Table { name: name.to_owned(), why: error.to_string() };
    csv::Reader::from_reader(text.as_bytes()).deserialize().collect::<Result<_, _>>().map_err(failed)
}

/// Rows as CSV with a header.
///
/// # Errors
/// If a row has no form in CSV.
pub(crate) fn to_csv<'a, T: Serialize + 'a>(
    name: &str,
    rows: impl Iterator<Item = &'a T>,
) -> Result<String, ReproduceError> {
    let failed = |why: String| ReproduceError::Table { name: name.to_owned(), why };
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.serialize(row).map_err(|error| failed(error.to_string()))?;
    }
    let bytes = writer.into_inner().map_err(|error| failed(error.to_string()))?;
    String::from_utf8(bytes).map_err(|error| failed(error.to_string()))
}
