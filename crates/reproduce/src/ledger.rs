//! What has become of every statement? The table of claims, beside what tests prove and what runs have shown.
//!
//! Three tables, all in `claims/`: `claims.csv` says what the papers say and when we believe it; `tests.csv` names the tests that check
//! statements in every CI run (written by `cargo xtask generate` from the tests' own words); `verdicts.csv` holds what `bufferlab reproduce --record`
//! found, with scale, seeds, commit and date.

use crate::{ReproduceError, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

const CLAIMS: &str = include_str!("../../../claims/claims.csv");
const TESTS: &str = include_str!("../../../claims/tests.csv");
const VERDICTS: &str = include_str!("../../../claims/verdicts.csv");
const COSTS: &str = include_str!("../../../claims/costs.csv");

/// What an experiment took when it was recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// The experiment.
    pub experiment: String,
    /// quick or paper.
    pub scale: String,
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
    /// What became of it.
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

/// What speaks for a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// A test.
    Test(TestEvidence),
    /// Runs.
    Runs(Record),
    /// Nothing: nobody has tried.
    None,
}

impl Evidence {
    /// The verdict that it speaks for.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match self {
            Self::Test(test) => test.verdict,
            Self::Runs(record) => record.verdict,
            Self::None => Verdict::NotRun,
        }
    }
}

/// A statement and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerRow {
    /// The statement.
    pub claim: Claim,
    /// What speaks for its verdict.
    pub evidence: Evidence,
}

/// All statements.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// In the order of the papers.
    pub rows: Vec<LedgerRow>,
}

impl Ledger {
    /// The ledger that travels inside the program.
    ///
    /// # Errors
    /// If one of its tables is damaged.
    pub fn recorded() -> Result<Self, ReproduceError> {
        Self::of(CLAIMS, TESTS, VERDICTS)
    }

    /// The ledger of a checkout's `claims/`.
    ///
    /// # Errors
    /// If a table is missing or damaged.
    pub fn load(folder: &Path) -> Result<Self, ReproduceError> {
        let read = |name: &str| {
            let path = folder.join(name);
            std::fs::read_to_string(&path).map_err(ReproduceError::io("read", &path))
        };
        Self::of(&read("claims.csv")?, &read("tests.csv")?, &read("verdicts.csv")?)
    }

    fn of(claims: &str, tests: &str, verdicts: &str) -> Result<Self, ReproduceError> {
        let mut evidence: BTreeMap<String, Evidence> = BTreeMap::new();
        for test in table::<TestEvidence>("claims/tests.csv", tests)? {
            evidence.insert(test.id.clone(), Evidence::Test(test));
        }
        for record in table::<Record>("claims/verdicts.csv", verdicts)? {
            // What could not run says less than a test does.
            if record.verdict != Verdict::NotRun || !evidence.contains_key(&record.id) {
                evidence.insert(record.id.clone(), Evidence::Runs(record));
            }
        }
        let rows = table::<Claim>("claims/claims.csv", claims)?.into_iter().map(|claim| {
            let evidence = evidence.remove(&claim.id).unwrap_or(Evidence::None);
            LedgerRow { claim, evidence }
        });
        let rows = rows.collect();
        match evidence.pop_first() {
            Some((id, _)) => Err(ReproduceError::Table {
                name: "claims/claims.csv".to_owned(),
                why: format!("there is no claim {id}, which a test or an experiment checks"),
            }),
            None => Ok(Self { rows }),
        }
    }

    /// Puts verdicts of runs in the place of what was known.
    pub fn update(&mut self, records: &[Record]) {
        for record in records {
            if let Some(row) = self.rows.iter_mut().find(|row| row.claim.id == record.id)
                && (record.verdict != Verdict::NotRun || row.evidence == Evidence::None)
            {
                row.evidence = Evidence::Runs(record.clone());
            }
        }
    }

    /// The verdicts of runs, as `verdicts.csv`.
    ///
    /// # Errors
    /// If a row cannot be written as CSV.
    pub fn records_csv(&self) -> Result<String, ReproduceError> {
        let records = self.rows.iter().filter_map(|row| match &row.evidence {
            Evidence::Runs(record) => Some(record),
            _ => None,
        });
        to_csv("verdicts.csv", records)
    }

    /// How many statements of a paper (all, if `None`) have each verdict, in the order of [`Verdict::ALL`].
    #[must_use]
    pub fn counts(&self, paper: Option<&str>) -> [usize; 7] {
        Verdict::ALL.map(|verdict| {
            let counts = |row: &&LedgerRow| {
                paper.is_none_or(|paper| row.claim.paper == paper) && row.evidence.verdict() == verdict
            };
            self.rows.iter().filter(counts).count()
        })
    }

    /// The papers in order.
    #[must_use]
    pub fn papers(&self) -> Vec<&str> {
        let mut papers: Vec<&str> = Vec::new();
        for row in &self.rows {
            if papers.last() != Some(&row.claim.paper.as_str()) {
                papers.push(&row.claim.paper);
            }
        }
        papers
    }

    /// The counts as a table in Markdown.
    #[must_use]
    pub fn summary_markdown(&self) -> String {
        let mut text = String::from("| paper | rows |");
        Verdict::ALL.iter().for_each(|verdict| text.push_str(&format!(" {verdict} |")));
        text.push_str("\n|---|---|---|---|---|---|---|---|---|\n");
        let mut line = |name: &str, counts: [usize; 7]| {
            let cells: String = counts.iter().map(|count| format!(" {count} |")).collect();
            // Writing into a string cannot fail.
            let _ = writeln!(text, "| {name} | {} |{cells}", counts.iter().sum::<usize>());
        };
        for paper in self.papers() {
            line(paper_name(paper), self.counts(Some(paper)));
        }
        line("**all**", self.counts(None));
        text
    }

    /// Every row, by paper, in Markdown.
    #[must_use]
    pub fn rows_markdown(&self) -> String {
        let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
        let mut text = String::new();
        for paper in self.papers() {
            let _ = writeln!(text, "## {}\n", paper_name(paper));
            text.push_str(
                "| claim | where | statement | verdict | here | evidence |\n|---|---|---|---|---|---|\n",
            );
            for row in self.rows.iter().filter(|row| row.claim.paper == paper) {
                let claim = &row.claim;
                let statement =
                    format!("{}, {}: {}", claim.scheme_and_baseline, claim.metric, claim.paper_value);
                let (here, evidence) = match &row.evidence {
                    Evidence::Test(test) => (test.measured.clone(), format!("test `{}`", test.test)),
                    Evidence::Runs(run) => {
                        let note = if run.note.is_empty() { String::new() } else { format!(" {}", run.note) };
                        let seeds =
                            if run.seeds == 1 { "1 seed".to_owned() } else { format!("{} seeds", run.seeds) };
                        let place = format!(
                            "`{}`, {}, profile {}, {seeds}, {}, `{}`",
                            run.experiment, run.scale, run.profile, run.date, run.commit
                        );
                        (format!("{}{note}", run.measured), place)
                    }
                    Evidence::None => (String::new(), "nobody has run it".to_owned()),
                };
                let mut verdict = row.evidence.verdict().name().to_owned();
                if claim.is_on_hardware() && row.evidence.verdict() <= Verdict::Pass {
                    verdict.push_str(" (consistent in simulation)");
                }
                let _ = writeln!(
                    text,
                    "| {} | {} | {} | {verdict} | {} | {evidence} |",
                    claim.id,
                    cell(&claim.figure_table_section),
                    cell(&statement),
                    cell(&here)
                );
            }
            text.push('\n');
        }
        text
    }
}

/// A paper's name without its number: `000 ABM (SIGCOMM 2022)` is ABM (SIGCOMM 2022).
#[must_use]
pub fn paper_name(paper: &str) -> &str {
    paper.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start()
}

fn table<T: for<'a> Deserialize<'a>>(name: &str, text: &str) -> Result<Vec<T>, ReproduceError> {
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
