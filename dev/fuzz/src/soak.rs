//! Runs all searches for defects in turn for a given time, with fresh seeds. The searches test
//! scenarios, parsers, faults and kills, and every shipped scenario on several threads.
//!
//! The soak test (all searches in turn) writes its state after every part, so a later call can
//! resume an interrupted soak test.

mod shipped;

use crate::faults::{self, Faults};
use crate::findings::{Finding, Report};
use crate::pairs::{Coverage, Reached};
use crate::search::{Search, Subject, search};
use bufferlab_units::RandomStream;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, io};

/// Maximum duration of one part of a soak test. A different kind of search follows each part.
const PART_MAX: Duration = Duration::from_secs(240);
/// Minimum number of rounds of a soak test. In each round, every kind of search gets one part.
const ROUNDS: u32 = 2;
/// Shares of the kinds of searches in the time of a round (percent). In two hours on two cores,
/// every fault is injected.
const SHARES: [(Kind, u32); 4] =
    [(Kind::Scenarios, 30), (Kind::Parsers, 15), (Kind::Faults, 45), (Kind::Shipped, 10)];

/// Kind of search that a part of a soak test runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Scenarios,
    Parsers,
    Faults,
    Shipped,
}

/// Options of a soak test, which runs all searches for defects in turn.
#[derive(Clone, Debug)]
pub struct Soak {
    /// Path of the program whose system calls fail.
    pub program: PathBuf,
    /// Seed from which the seeds of all searches are derived.
    pub seed: u64,
    /// Duration of all parts of the soak test together, including parts before a resumption.
    pub budget: Duration,
    /// Folder of the report, of failing cases, and of the state of the soak test.
    pub out: PathBuf,
    /// Folder of the shipped scenarios.
    pub scenarios: PathBuf,
    /// Number of parallel processes of the soak test.
    pub jobs: u64,
}

/// Results of all parts of a soak test so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct State {
    /// Seed from which the seeds of all searches are derived.
    pub seed: u64,
    /// Total duration of all parts of the soak test (s).
    pub seconds: u64,
    /// Number of completed parts of the soak test.
    pub parts: u64,
    /// Number of fuzzing cases by subject of the search and by outcome.
    pub cases: BTreeMap<String, BTreeMap<String, u64>>,
    /// Number of scenarios that ran on several threads.
    pub divided: u64,
    /// Number of injected faults in the seed's order, and number of all faults.
    pub faults: (usize, usize),
    /// Numbers of options, pairs and triples that ran together since the last start or resumption
    /// of the soak test.
    pub coverage: Option<Reached>,
    /// Searches that the soak test skipped, with reasons.
    pub skipped: Vec<String>,
    /// Failures that the soak test has found.
    pub findings: Vec<Finding>,
}

impl State {
    /// Reads the state that an earlier soak test has written into the folder `out`.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub fn read(out: &Path) -> io::Result<Self> {
        let text = fs::read_to_string(out.join("report.json"))?;
        serde_json::from_str(&text).map_err(io::Error::other)
    }

    fn write(&self, out: &Path) -> io::Result<()> {
        fs::create_dir_all(out)?;
        let text = serde_json::to_string_pretty(self).map_err(io::Error::other)?;
        // Renaming is atomic, so a killed soak test leaves the report of its last completed part.
        for (name, text) in [("report.json", text + "\n"), ("report.md", self.markdown())] {
            fs::write(out.join(format!(".{name}")), text)?;
            fs::rename(out.join(format!(".{name}")), out.join(name))?;
        }
        Ok(())
    }

    fn add(&mut self, name: &str, report: Report) {
        let cases = self.cases.entry(name.to_owned()).or_default();
        for (outcome, count) in report.outcomes {
            *cases.entry(outcome).or_default() += count;
        }
        self.divided += report.divided;
        for finding in report.findings {
            // If several findings have one cause, the report has one example.
            if !self.findings.iter().any(|known| is_like(known, &finding)) {
                self.findings.push(finding);
            }
        }
    }

    /// Report of the soak test with tables of cases and findings.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text = format!(
            "# Soak\n\nSeed {}, {} min, {} parts. {} scenarios ran on 1, 2 and 3 threads. {} of {} faults were injected.\n",
            self.seed,
            self.seconds / 60,
            self.parts,
            self.divided,
            self.faults.0,
            self.faults.1
        );
        // Writing into a string never returns an error.
        if let Some(reached) = self.coverage {
            let _ = writeln!(
                text,
                "Options that ran: {} of {}, pairs {} of {}, triples {}.",
                reached.options.0, reached.options.1, reached.pairs.0, reached.pairs.1, reached.triples
            );
        }
        for skipped in &self.skipped {
            let _ = writeln!(text, "Skipped: {skipped}.");
        }
        text.push_str("\n| searched | ended | cases |\n|---|---|--:|\n");
        for (name, outcomes) in &self.cases {
            for (outcome, count) in outcomes {
                let _ = writeln!(text, "| {name} | {outcome} | {count} |");
            }
        }
        let _ = writeln!(text, "\n## Findings: {}\n", self.findings.len());
        if !self.findings.is_empty() {
            text.push_str("| kind | finding | repeat |\n|---|---|---|\n");
        }
        for Finding { kind, what, replay } in &self.findings {
            let _ =
                writeln!(text, "| {kind} | {} | `{replay}` |", what.replace('|', "\\|").replace('\n', " "));
        }
        text
    }
}

/// Whether two findings probably have one cause. Findings with one cause have equal kinds, and
/// texts that differ only in numbers.
fn is_like(first: &Finding, second: &Finding) -> bool {
    let words = |finding: &Finding| -> String {
        finding.what.chars().filter(|c| !c.is_ascii_digit()).take(120).collect()
    };
    first.kind == second.kind && words(first) == words(second)
}

/// Continues a soak test from `state` until the time budget is used; writes the report after every
/// part.
///
/// # Errors
/// If a process cannot be started, or the folder cannot be written to.
pub fn soak(options: &Soak, mut state: State) -> io::Result<State> {
    state.seed = options.seed;
    let before = Duration::from_secs(state.seconds);
    let begin = Instant::now();
    let mut coverage = Coverage::default();
    let round = (options.budget / ROUNDS).min(PART_MAX * 100 / 45);
    while before + begin.elapsed() < options.budget {
        let (kind, share) = SHARES[(state.parts % SHARES.len() as u64) as usize];
        let left = options.budget.saturating_sub(before + begin.elapsed());
        let time = (round * share / 100).min(left).min(PART_MAX);
        let seed = RandomStream::new(options.seed, "soak", state.parts).below(1_000_000_000);
        match kind {
            Kind::Scenarios | Kind::Parsers => {
                look(options, &mut state, &mut coverage, kind, seed, time)?;
            }
            Kind::Faults => inject(options, &mut state, time)?,
            Kind::Shipped => state.add("shipped scenarios", shipped::run(&options.scenarios, seed, time)?),
        }
        state.parts += 1;
        state.seconds = (before + begin.elapsed()).as_secs();
        state.coverage = Some(coverage.reached());
        state.write(&options.out)?;
        eprintln!(
            "{} s: {kind:?} of seed {seed} done; {} findings so far",
            state.seconds,
            state.findings.len()
        );
    }
    Ok(state)
}

fn look(
    options: &Soak,
    state: &mut State,
    coverage: &mut Coverage,
    kind: Kind,
    seed: u64,
    time: Duration,
) -> io::Result<()> {
    let subject = if kind == Kind::Scenarios { Subject::Scenarios } else { Subject::Parsers };
    let out = options.out.clone();
    let found = search(&Search { subject, seed, time, cases: u64::MAX, jobs: options.jobs, out })?;
    coverage.merge(&found.coverage);
    let report = Report {
        outcomes: found.outcomes,
        divided: found.divided,
        findings: found.findings,
        options: Vec::new(),
    };
    state.add(subject.word(), report);
    Ok(())
}

/// Injects the next faults in the order of the soak test's seed, until the time is over or every
/// fault was injected.
fn inject(options: &Soak, state: &mut State, time: Duration) -> io::Result<()> {
    let injected = faults::inject(&Faults {
        program: options.program.clone(),
        seed: options.seed,
        time,
        most: usize::MAX,
        from: state.faults.0,
        jobs: options.jobs,
    })?;
    state.faults = (injected.done, injected.all);
    if let Some(why) = injected.skipped.filter(|why| !state.skipped.contains(why)) {
        state.skipped.push(why);
    }
    state.add("faults", injected.report);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(what: &str) -> Finding {
        Finding { kind: "panic".to_owned(), what: what.to_owned(), replay: "again".to_owned() }
    }

    #[test]
    fn a_report_is_read_again_and_has_each_cause_once() {
        let out = tempfile::tempdir().expect("a folder");
        let mut state = State { seed: 9, seconds: 60, ..State::default() };
        let findings = vec![finding("at a.rs:1: | x"), finding("at a.rs:22: | x"), finding("at b.rs:1: y")];
        let report = Report { outcomes: [("ran".to_owned(), 5)].into(), findings, ..Report::default() };
        state.add("scenarios", report.clone());
        state.add("scenarios", report);
        state.write(out.path()).expect("writable");
        let again = State::read(out.path()).expect("it was written");
        assert_eq!((again.seed, again.cases["scenarios"]["ran"], again.findings.len()), (9, 10, 2));
        let page = fs::read_to_string(out.path().join("report.md")).expect("it was written");
        assert!(page.contains("| scenarios | ran | 10 |") && page.contains("at a.rs:1: \\| x"), "{page}");
    }
}
