//! Runs numbered fuzzing cases in separate processes. The search detects a case that hangs or dies,
//! and writes the case to a file. The case affects only its process.

mod workers;

use crate::case::Case;
use crate::compose::options_of;
use crate::findings::{Finding, Report};
use crate::generate::generate;
use crate::judge::{Budget, Judged, Outcome, judge};
use crate::minimise::minimise;
use crate::pairs::{Coverage, Reached};
use crate::parsers;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use workers::search;

/// Subject of a search for defects: scenarios, or readers of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Subject {
    /// Run scenarios with all checks.
    Scenarios,
    /// Pass damaged input to readers of files, requests and answers.
    Parsers,
}

impl Subject {
    /// Word for the subject of a search on the command line and in summaries.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Scenarios => "scenarios",
            Self::Parsers => "parsers",
        }
    }
}

/// Options of a search for failures.
#[derive(Clone, Debug)]
pub struct Search {
    /// Subject of the search: scenarios or readers.
    pub subject: Subject,
    /// Seed from which the search draws its cases.
    pub seed: u64,
    /// Maximum duration of the search.
    pub time: Duration,
    /// Maximum number of cases (for parsers: batches).
    pub cases: u64,
    /// Number of parallel processes of the search.
    pub jobs: u64,
    /// Folder in which the search stores failing cases.
    pub out: PathBuf,
}

/// Outcomes, findings and coverage of a search for defects.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Number of fuzzing cases by outcome.
    pub outcomes: BTreeMap<String, u64>,
    /// Number of fuzzing cases that ran on several threads.
    pub divided: u64,
    /// Failures that the search has found.
    pub findings: Vec<Finding>,
    /// Pairs and triples of options that ran together in a fuzzing case.
    pub coverage: Coverage,
    /// Duration of the search (s).
    pub seconds: u64,
}

/// Summary of a search for defects, in a format for programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Subject of the search: `scenarios` or `parsers`.
    pub subject: String,
    /// Seed from which the search drew its cases.
    pub seed: u64,
    /// Duration of the search (s).
    pub seconds: u64,
    /// Number of cases that the search ran.
    pub cases: u64,
    /// Number of fuzzing cases by outcome.
    pub outcomes: BTreeMap<String, u64>,
    /// Number of fuzzing cases that ran on several threads.
    pub divided: u64,
    /// Number of findings by kind.
    pub findings: BTreeMap<String, u64>,
    /// Numbers of options, pairs and triples that ran together; `None` for a search of parsers.
    pub coverage: Option<Reached>,
    /// All findings of the search.
    pub details: Vec<Finding>,
}

impl Found {
    /// Adds the report of one fuzzing case to the result of the search.
    pub fn add(&mut self, report: Report) {
        for (outcome, count) in report.outcomes {
            *self.outcomes.entry(outcome).or_default() += count;
        }
        self.divided += report.divided;
        self.coverage.note(&report.options);
        for finding in report.findings {
            eprintln!("{}: {}\n  repeat: {}", finding.kind, finding.what, finding.replay);
            self.findings.push(finding);
        }
    }

    /// Adds the outcomes, findings and coverage of another search.
    pub fn merge(&mut self, other: Self) {
        for (outcome, count) in other.outcomes {
            *self.outcomes.entry(outcome).or_default() += count;
        }
        self.divided += other.divided;
        self.coverage.merge(&other.coverage);
        self.findings.extend(other.findings);
        self.seconds += other.seconds;
    }

    /// Number of cases that the search ran.
    #[must_use]
    pub fn cases(&self) -> u64 {
        self.outcomes.values().sum()
    }

    /// Text with the number of cases by outcome, and the number of findings.
    #[must_use]
    pub fn in_words(&self) -> String {
        let parts: Vec<_> = self.outcomes.iter().map(|(word, count)| format!("{count} {word}")).collect();
        let divided = if self.divided > 0 {
            format!("; {} on 1, 2 and 3 threads", self.divided)
        } else {
            String::new()
        };
        format!("{} cases: {}{divided}; {} findings", self.cases(), parts.join(", "), self.findings.len())
    }

    /// Summarises the search for programs.
    #[must_use]
    pub fn summary(&self, options: &Search) -> Summary {
        let mut findings = BTreeMap::new();
        for finding in &self.findings {
            *findings.entry(finding.kind.clone()).or_default() += 1;
        }
        Summary {
            subject: options.subject.word().to_owned(),
            seed: options.seed,
            seconds: self.seconds,
            cases: self.cases(),
            outcomes: self.outcomes.clone(),
            divided: self.divided,
            findings,
            coverage: (options.subject == Subject::Scenarios).then(|| self.coverage.reached()),
            details: self.findings.clone(),
        }
    }
}

/// Writes the summary of a search to a file as JSON.
///
/// # Errors
/// If the folder or the file cannot be written.
pub fn write_summary(path: &Path, summary: &Summary) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, serde_json::to_string_pretty(summary).map_err(io::Error::other)? + "\n")
}

/// Runs the fuzzing cases with the numbers `from`, `from + step` … below `until` in a worker
/// process. The worker announces each case on standard output, and reports the result of the case
/// at its end.
///
/// # Errors
/// If standard output is closed or a case cannot be written to a file.
pub fn work(subject: Subject, seed: u64, cases: impl Iterator<Item = u64>, out: &Path) -> io::Result<()> {
    let mut say = io::stdout().lock();
    for number in cases {
        writeln!(say, "begin {number}")?;
        say.flush()?;
        let report = match subject {
            Subject::Scenarios => scenario(seed, number, out)?,
            Subject::Parsers => parsers::batch(seed, number, out, None)?,
        };
        writeln!(say, "end {number} {}", serde_json::to_string(&report).map_err(io::Error::other)?)?;
        say.flush()?;
    }
    Ok(())
}

/// Generates and checks one fuzzing case of a scenario, and reports the result.
fn scenario(seed: u64, number: u64, out: &Path) -> io::Result<Report> {
    let budget = Budget::default();
    let Judged { case, result, is_divided } = judge(&generate(seed, number), number, budget);
    let mut report = Report { divided: u64::from(is_divided), ..Report::default() };
    let word = match result {
        Ok(outcome) => {
            if outcome == Outcome::Ran {
                report.options = options_of(&case);
            }
            outcome.word()
        }
        Err(fault) => {
            let case = minimise(&case, number, &fault, budget);
            let path = write_down(out, seed, number, &case, &fault.to_string())?;
            let what = fault.to_string().lines().next().unwrap_or_default().to_owned();
            report.findings.push(Finding { kind: fault.word().to_owned(), what, replay: replay(&path) });
            "wrong"
        }
    };
    report.outcomes.insert(word.to_owned(), 1);
    Ok(report)
}

/// Command line that repeats the failing case in the file `path`.
fn replay(path: &Path) -> String {
    format!("cargo xtask fuzz play {}", path.display())
}

fn write_down(out: &Path, seed: u64, number: u64, case: &Case, what: &str) -> io::Result<PathBuf> {
    fs::create_dir_all(out)?;
    let path = out.join(format!("{seed}-{number}.toml"));
    let remarks: String = what.lines().map(|line| format!("# {line}\n")).collect();
    fs::write(&path, format!("# Case {number} of seed {seed}.\n{remarks}{}", case.to_toml()))?;
    Ok(path)
}
