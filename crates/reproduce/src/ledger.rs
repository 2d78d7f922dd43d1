//! The ledger: a verdict on every statement of the papers, from tests and recorded simulation runs.
//!
//! The ledger combines six tables in `claims/`. `claims.csv` has the statements and their
//! criteria. `tests.csv` names the tests that check statements in every CI run; `cargo xtask
//! generate` writes it from the tests' comments. `verdicts.csv` has the results of `bufferlab
//! reproduce --record`: one record per statement, scale and profile, with seeds, commit and date.
//! `real-packets.csv` has the results with real packets. Pages show these results beside a verdict,
//! which they never change. `multiverse.csv` has the verdicts under settings that the papers leave
//! open. `reasons.csv` has the reason for every statement that does not hold.
//!
//! [`LedgerRow::evidence`] alone selects the source of a row's verdict.

mod markdown;
mod tables;

pub use tables::{Claim, Cost, Record, TestEvidence, costs_csv, estimated_costs, recorded_costs};

use crate::real;
use crate::table::{lines, rows, to_csv};
use crate::{Experiment, RealRecord, Reason, ReproduceError, ScaleName, TableError, UniverseRow, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Number of seeds from which a record at the paper's scale takes precedence over a record at
/// reduced scale. With fewer seeds, an interval is too uncertain.
const HEADLINE_SEEDS: u64 = 3;

const CLAIMS: &str = include_str!("../../../claims/claims.csv");
const TESTS: &str = include_str!("../../../claims/tests.csv");
const VERDICTS: &str = include_str!("../../../claims/verdicts.csv");
const REASONS: &str = include_str!("../../../claims/reasons.csv");
const READINGS: &str = include_str!("../../../claims/multiverse.csv");

/// Evidence for the verdict on a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence<'a> {
    /// A test of the repository is the evidence for the verdict.
    Test(&'a TestEvidence),
    /// Recorded runs are the evidence for the verdict.
    Runs(&'a Record),
    /// The statement has no evidence: no test or run has checked it.
    None,
}

impl Evidence<'_> {
    /// Verdict on the statement that the evidence gives.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match self {
            Self::Test(test) => test.verdict,
            Self::Runs(record) => record.verdict,
            Self::None => Verdict::NotRun,
        }
    }
}

/// A statement of a paper in the ledger, with its evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerRow {
    /// Statement of a paper that the ledger row is about.
    pub claim: Claim,
    /// Test that checks the statement, if the repository has such a test.
    pub test: Option<TestEvidence>,
    /// Recorded verdicts on the statement, one per scale and profile, in order of precedence.
    pub records: Vec<Record>,
    /// Result of the statement with real packets. Pages show this result beside the verdict, which
    /// the result never changes.
    pub real: Option<RealRecord>,
    /// Reason why the statement does not hold in bufferlab, if known.
    pub reason: Option<Reason>,
    /// Recorded verdicts under every setting that the paper leaves open; empty if none is recorded.
    pub readings: Vec<UniverseRow>,
}

impl LedgerRow {
    /// A statement without evidence.
    fn new(claim: Claim) -> Self {
        Self { claim, test: None, records: Vec::new(), real: None, reason: None, readings: Vec::new() }
    }

    /// Returns the evidence that decides the row's verdict.
    ///
    /// Runs with the settings of the paper's text take precedence over a test. Runs under another
    /// profile are shown but never decide. Among records of the paper's profile, VOID records and
    /// failed runs are last. The best record has the paper's scale and three or more seeds. Records
    /// at reduced scale follow, then records at the paper's scale with fewer seeds. A test takes
    /// precedence over VOID records and failed runs.
    #[must_use]
    pub fn evidence(&self) -> Evidence<'_> {
        let first = self.records.first().filter(|record| record.is_of_paper());
        match (first, self.test.as_ref()) {
            (Some(record), Some(test)) if !record.speaks() => Evidence::Test(test),
            (Some(record), _) => Evidence::Runs(record),
            (None, Some(test)) => Evidence::Test(test),
            (None, None) => Evidence::None,
        }
    }

    /// Returns the reason for the row's verdict, if the kind of verdict requires a reason.
    #[must_use]
    pub fn reason(&self) -> Option<&Reason> {
        self.reason.as_ref().filter(|_| self.evidence().verdict().needs_reason())
    }

    /// Returns the records of a statement that do not decide the verdict. Pages show these records
    /// beside the deciding record.
    pub fn beside(&self) -> impl Iterator<Item = &Record> {
        let speaks = matches!(self.evidence(), Evidence::Runs(_));
        self.records.iter().skip(usize::from(speaks))
    }

    /// Adds a record of a verdict, or replaces the record with equal scale and profile. A record of
    /// failed runs replaces no other record.
    fn insert(&mut self, record: Record) {
        let same = |known: &&mut Record| known.key() == record.key();
        match self.records.iter_mut().find(same) {
            Some(known) if record.verdict != Verdict::NotRun || known.verdict == Verdict::NotRun => {
                *known = record;
            }
            Some(_) => {}
            None => self.records.push(record),
        }
        self.records.sort_by_key(rank);
    }
}

/// Sort key of a record for [`LedgerRow::evidence`]; the record with the smallest key decides the
/// verdict.
pub(crate) fn rank(record: &Record) -> (bool, bool, u8) {
    let scale = match record.scale.as_str() {
        "paper" if record.seeds >= HEADLINE_SEEDS => 0,
        "paper" => 2,
        _ => 1,
    };
    (!record.is_of_paper(), !record.speaks(), scale)
}

/// All statements of the papers with their verdicts.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// Rows of the ledger, one per statement, in the order of the papers.
    pub rows: Vec<LedgerRow>,
}

impl Ledger {
    /// Loads the ledger that is embedded in the program.
    ///
    /// # Errors
    /// If one of the embedded tables is damaged.
    pub fn recorded() -> Result<Self, ReproduceError> {
        let reasons = rows("claims/reasons.csv", REASONS)?;
        let ledger = Self::parse(CLAIMS, TESTS, VERDICTS)?.beside_real(real::recorded()?)?;
        ledger.with_readings(READINGS)?.with_reasons(reasons)
    }

    /// Loads the ledger from the folder `claims/` of a checkout.
    ///
    /// # Errors
    /// If a table of the folder is missing or damaged.
    pub fn load(folder: &Path) -> Result<Self, ReproduceError> {
        let read = |name: &str| {
            let path = folder.join(name);
            std::fs::read_to_string(&path).map_err(ReproduceError::io("read", &path))
        };
        let real = rows::<RealRecord>("claims/real-packets.csv", &read("real-packets.csv")?)?;
        let reasons = rows("claims/reasons.csv", &read("reasons.csv")?)?;
        let ledger = Self::parse(&read("claims.csv")?, &read("tests.csv")?, &read("verdicts.csv")?)?;
        ledger.beside_real(real)?.with_readings(&read("multiverse.csv")?)?.with_reasons(reasons)
    }

    /// Adds to each ledger row the reason why its statement does not hold.
    fn with_reasons(mut self, reasons: Vec<Reason>) -> Result<Self, ReproduceError> {
        for (line, reason) in (2..).zip(reasons) {
            let known = self.rows.iter_mut().find(|row| row.claim.id == reason.id);
            let row = known.ok_or_else(|| no_claim("claims/reasons.csv", line, &reason.id))?;
            row.reason = Some(reason);
        }
        Ok(self)
    }

    /// Adds the results with real packets to the rows of the ledger.
    fn beside_real(mut self, records: Vec<RealRecord>) -> Result<Self, ReproduceError> {
        for (line, record) in (2..).zip(records) {
            let known = self.rows.iter_mut().find(|row| row.claim.id == record.id);
            let row = known.ok_or_else(|| no_claim("claims/real-packets.csv", line, &record.id))?;
            row.real = Some(record);
        }
        Ok(self)
    }

    /// Adds the recorded verdicts under open settings to the rows of the ledger. A statement has
    /// the verdicts at one scale: the paper's scale if it is recorded.
    fn with_readings(mut self, text: &str) -> Result<Self, ReproduceError> {
        let file = "claims/multiverse.csv";
        for (line, reading) in lines::<UniverseRow>(file, text)? {
            let known = self.rows.iter_mut().find(|row| row.claim.id == reading.id);
            known.ok_or_else(|| no_claim(file, line, &reading.id))?.readings.push(reading);
        }
        let at_paper = |reading: &UniverseRow| reading.scale == ScaleName::Paper.name();
        for row in self.rows.iter_mut().filter(|row| row.readings.iter().any(at_paper)) {
            row.readings.retain(at_paper);
        }
        Ok(self)
    }

    fn parse(claims: &str, tests: &str, verdicts: &str) -> Result<Self, ReproduceError> {
        let rows = rows::<Claim>("claims/claims.csv", claims)?.into_iter();
        let mut ledger = Self { rows: rows.map(LedgerRow::new).collect() };
        let places: BTreeMap<String, usize> =
            ledger.rows.iter().enumerate().map(|(place, row)| (row.claim.id.clone(), place)).collect();
        let place =
            |file: &str, line: u64, id: &str| places.get(id).copied().ok_or_else(|| no_claim(file, line, id));
        let file = "claims/tests.csv";
        for (line, test) in lines::<TestEvidence>(file, tests)? {
            let row = place(file, line, &test.id)?;
            ledger.rows[row].test = Some(test);
        }
        let file = "claims/verdicts.csv";
        for (line, record) in lines::<Record>(file, verdicts)? {
            let row = place(file, line, &record.id)?;
            ledger.rows[row].insert(record);
        }
        Ok(ledger)
    }

    /// Converts the ledger into the ledger of a study: adds the statements of `experiments` that
    /// are not from the papers.
    ///
    /// If no experiment judges a statement of the papers, the papers' statements are removed. After
    /// the removal, the ledger has only the study's statements, and is empty if the study makes no
    /// statements.
    #[must_use]
    pub fn with_study(mut self, experiments: &[Experiment]) -> Self {
        let known: BTreeSet<String> = self.rows.iter().map(|row| row.claim.id.clone()).collect();
        let claims = || experiments.iter().flat_map(|one| one.claims().iter().map(move |claim| (one, claim)));
        let own = claims().filter(|(_, claim)| !known.contains(&claim.id));
        let own: Vec<_> = own.map(|(one, claim)| Claim::of_study(one, claim)).collect();
        if claims().all(|(_, claim)| !known.contains(&claim.id)) {
            self.rows.clear();
        }
        self.rows.extend(own.into_iter().map(LedgerRow::new));
        self
    }

    /// Returns the ledger row of the statement with a given number.
    #[must_use]
    pub fn claim(&self, id: &str) -> Option<&Claim> {
        self.rows.iter().map(|row| &row.claim).find(|claim| claim.id == id)
    }

    /// Adds the verdicts of a `verdicts.csv`, if the file exists. If `goes_before` accepts a
    /// verdict, the verdict replaces the known verdict on its statement. Returns the verdicts on
    /// statements that the ledger lacks.
    ///
    /// # Errors
    /// If the file exists but is damaged.
    pub fn recall(
        &mut self,
        file: &Path,
        goes_before: impl Fn(&Record) -> bool,
    ) -> Result<Vec<Record>, ReproduceError> {
        let text = match std::fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(ReproduceError::io("read", file)(error)),
        };
        let mut others = Vec::new();
        for (_, record) in lines::<Record>(&file.display().to_string(), &text)? {
            let Some(row) = self.rows.iter_mut().find(|row| row.claim.id == record.id) else {
                others.push(record);
                continue;
            };
            if goes_before(&record) || row.records.iter().all(|known| known.key() != record.key()) {
                row.insert(record);
            }
        }
        Ok(others)
    }

    /// Removes the recorded verdicts from the ledger and keeps the statements.
    pub fn forget(&mut self) {
        for row in &mut self.rows {
            row.records.clear();
        }
    }

    /// Adds recorded verdicts; each verdict replaces the record with equal scale and profile.
    pub fn update(&mut self, records: &[Record]) {
        for record in records {
            if let Some(row) = self.rows.iter_mut().find(|row| row.claim.id == record.id) {
                row.insert(record.clone());
            }
        }
    }

    /// Returns the recorded verdicts of all statements, in the order of the statements.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.rows.iter().flat_map(|row| &row.records)
    }

    /// Formats the recorded verdicts as `verdicts.csv`.
    ///
    /// # Errors
    /// If a row cannot be written as CSV.
    pub fn records_csv(&self) -> Result<String, ReproduceError> {
        to_csv("verdicts.csv", self.records())
    }

    /// Counts the statements of a paper (`None` for all papers) by verdict, in the order of
    /// [`Verdict::ALL`].
    #[must_use]
    pub fn counts(&self, paper: Option<&str>) -> [usize; Verdict::COUNT] {
        Verdict::ALL.map(|verdict| {
            let counts = |row: &&LedgerRow| {
                paper.is_none_or(|paper| row.claim.paper == paper) && row.evidence().verdict() == verdict
            };
            self.rows.iter().filter(counts).count()
        })
    }

    /// Returns the names of the papers in the order of the ledger.
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
}

/// Returns the error for a row of a claims table with an unknown statement.
fn no_claim(file: &str, line: u64, id: &str) -> TableError {
    TableError {
        file: file.to_owned(),
        line,
        column: Some("id".to_owned()),
        why: format!("claims/claims.csv has no claim {id}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(verdict: Verdict, scale: &str, profile: &str, seeds: u64) -> Record {
        let text = |text: &str| text.to_owned();
        Record {
            id: text("ABM-F6a-1"),
            verdict,
            measured: String::new(),
            seeds,
            scale: text(scale),
            profile: text(profile),
            experiment: text("abm/fig6"),
            note: String::new(),
            commit: text("0"),
            date: text("2026-01-01"),
            fingerprint: String::new(),
        }
    }

    fn ledger(records: &[Record]) -> Ledger {
        let header = CLAIMS.lines().next().unwrap_or_default();
        let claim = CLAIMS.lines().find(|line| line.starts_with("ABM-F6a-1,")).unwrap_or_default();
        let claims = format!("{header}\n{claim}\n");
        let mut ledger = Ledger::parse(&claims, "id,verdict,measured,test\n", "").expect("tables");
        ledger.update(records);
        ledger
    }

    #[test]
    fn a_record_takes_the_place_of_the_one_of_its_scale_and_profile_only() {
        let (quick, paper) =
            (record(Verdict::Pass, "quick", "paper", 3), record(Verdict::Fail, "paper", "paper", 5));
        let artifact = record(Verdict::Null, "quick", "artifact", 3);
        let mut ledger = ledger(&[quick, artifact.clone(), paper.clone()]);
        assert_eq!(ledger.rows[0].records.len(), 3);
        let again = record(Verdict::Strong, "quick", "paper", 5);
        ledger.update(&[again.clone(), record(Verdict::NotRun, "quick", "artifact", 3)]);
        assert_eq!(ledger.rows[0].records, [paper, again, artifact]);
        let written = ledger.records_csv().expect("a table");
        assert_eq!(written.lines().count(), 4, "{written}");
    }

    #[test]
    fn the_papers_scale_speaks_from_three_seeds_on_and_the_papers_profile_always() {
        let quick = record(Verdict::Pass, "quick", "paper", 3);
        let few = ledger(&[quick.clone(), record(Verdict::Fail, "paper", "paper", 2)]);
        assert_eq!(few.rows[0].evidence().verdict(), Verdict::Pass);
        let enough = ledger(&[quick, record(Verdict::Fail, "paper", "paper", 3)]);
        assert_eq!(enough.rows[0].evidence().verdict(), Verdict::Fail);
        let not_run = record(Verdict::NotRun, "quick", "paper", 3);
        let artifact = ledger(&[record(Verdict::Pass, "quick", "artifact", 3), not_run]);
        assert_eq!(artifact.rows[0].evidence().verdict(), Verdict::NotRun);
        assert_eq!(artifact.rows[0].beside().count(), 1);
        let only = ledger(&[record(Verdict::Pass, "quick", "artifact", 3)]);
        assert_eq!(only.rows[0].evidence(), Evidence::None);
        assert_eq!(only.rows[0].beside().count(), 1);
    }

    #[test]
    fn readings_belong_to_their_statement_and_the_papers_scale_goes_first() {
        let simulated = ledger(&[record(Verdict::Fail, "quick", "paper", 3)]);
        let readings = "id,reading,verdict,measured,seeds,scale,commit,date\n\
             ABM-F6a-1,the headline reading,PASS,,3,quick,a,2026-01-01\n\
             ABM-F6a-1,k = 3,FAIL,,3,quick,a,2026-01-01\n\
             ABM-F6a-1,the headline reading,PASS,,3,paper,a,2026-01-01\n";
        let under = simulated.clone().with_readings(readings).expect("it is of the statement");
        let found = &under.rows.iter().find(|row| row.claim.id == "ABM-F6a-1").expect("a row").readings;
        assert_eq!(found.len(), 1, "the paper's scale goes before the quick one");
        assert!(simulated.with_readings(&readings.replace("F6a-1,k", "F6a-0,k")).is_err());
    }

    /// Pages show results with real packets, but these results change neither verdicts nor the
    /// counts of verdicts.
    #[test]
    fn real_packets_change_no_verdict() {
        let simulated = ledger(&[record(Verdict::Fail, "quick", "paper", 3)]);
        let real = |id: &str| RealRecord {
            id: id.to_owned(),
            verdict: Verdict::Strong,
            measured: "7 ± 1".to_owned(),
            repetitions: 5,
            simulated: Verdict::Fail,
            simulated_measured: String::new(),
            experiment: "abm/fig6".to_owned(),
            note: String::new(),
            commit: "0".to_owned(),
            date: "2026-01-01".to_owned(),
        };
        let beside = simulated.clone().beside_real(vec![real("ABM-F6a-1")]);
        let beside = beside.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(beside.counts(None), simulated.counts(None));
        assert_eq!(beside.rows[0].evidence(), simulated.rows[0].evidence());
        assert!(
            beside.rows_markdown().contains("| STRONG: 7 ± 1 (`abm/fig6`, 5 repetitions,"),
            "{}",
            beside.rows_markdown()
        );
        let table = String::from_utf8(beside.paper_csv("ABM (SIGCOMM 2022)").expect("rows")).expect("text");
        assert!(table.ends_with(",FAIL,,,\"abm/fig6, 3 seeds\",real packets: STRONG,\n"), "{table}");
        let error = simulated.beside_real(vec![real("ABM-1")]).expect_err("no such statement").to_string();
        assert!(
            error.starts_with("claims/real-packets.csv:2: column id: claims/claims.csv has no claim"),
            "{error}"
        );
    }

    #[test]
    fn a_test_speaks_unless_runs_under_the_papers_profile_do() {
        let mut row = ledger(&[record(Verdict::Fail, "quick", "artifact", 3)]).rows.remove(0);
        let text = String::new();
        row.test = Some(TestEvidence {
            id: text.clone(),
            verdict: Verdict::Pass,
            measured: text.clone(),
            test: text,
        });
        assert_eq!(row.evidence().verdict(), Verdict::Pass);
        row.insert(record(Verdict::NotRun, "quick", "paper", 3));
        assert_eq!(row.evidence().verdict(), Verdict::Pass);
        row.insert(record(Verdict::Null, "quick", "paper", 3));
        assert_eq!(row.evidence().verdict(), Verdict::Null);
        assert_eq!(row.beside().count(), 1);
    }
}
