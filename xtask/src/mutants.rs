//! Mutation testing of the pure crates: checks that the tests detect wrong code.
//!
//! [cargo-mutants](https://mutants.rs) generates the mutants, each one small change of the source,
//! and runs tests on a copy of the repository.
//! This module selects the mutants, and the packages whose tests must detect these mutants.
//! The module compares surviving mutants with `testdata/mutants.toml`, the list of mutants
//! without observable effect. Results are stored in `target/mutants/outcomes.tsv`.

mod list;
mod tool;

use crate::root;
use list::{Mutant, equivalents, listed};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use tool::Tests;

/// A pure crate and the packages whose tests must detect its mutants.
/// Quick packages are first. The tests of the other packages run only on surviving mutants.
struct Subject {
    package: &'static str,
    tests: &'static [&'static str],
    wider: &'static [&'static str],
}

const SUBJECTS: &[Subject] = &[
    Subject { package: "bufferlab-units", tests: &["bufferlab-units", "bufferlab-transport"], wider: CORE },
    Subject {
        package: "bufferlab-params",
        tests: &["bufferlab-params", "bufferlab-core", "bufferlab-workload"],
        wider: &["bufferlab-conformance", "bufferlab-theory", "bufferlab-scenario", "bufferlab-sim"],
    },
    Subject { package: "bufferlab-core", tests: CORE, wider: &["bufferlab-conformance", "bufferlab-sim"] },
    Subject {
        package: "bufferlab-transport",
        tests: &["bufferlab-transport", "bufferlab-conformance"],
        wider: &["bufferlab-sim"],
    },
    Subject { package: "bufferlab-metrics", tests: &["bufferlab-metrics"], wider: &["bufferlab-results"] },
    Subject { package: "bufferlab-workload", tests: &["bufferlab-workload"], wider: &["bufferlab-sim"] },
    Subject { package: "bufferlab-topology", tests: &["bufferlab-scenario"], wider: &["bufferlab-sim"] },
    Subject { package: "bufferlab-theory", tests: &["bufferlab-theory"], wider: &[] },
];
const CORE: &[&str] = &["bufferlab-core", "bufferlab-conformance"];
/// Name of the crate that is mutated only on request, because it is larger than all other pure
/// crates together.
const ON_DEMAND: &str = "bufferlab-theory";

/// Number of mutants per call of cargo-mutants. The outcomes are written after each call.
const BATCH: usize = 10;

/// Options of a run of mutation tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Number of mutants in the sample, which `seed` selects; `None` means all mutants.
    pub sample: Option<usize>,
    /// Seed that selects the sample of mutants.
    pub seed: u64,
    /// Packages to mutate; an empty list means all pure crates except the theory crate.
    pub packages: Vec<String>,
    /// Whether to keep the outcomes of earlier runs, and to run only the missing mutants.
    pub resume: bool,
    /// Whether to print the selected mutants without running them.
    pub list: bool,
    /// Timeout for running the quick tests on one mutant (s).
    pub timeout: u64,
}

/// Timeout of the quick tests (s): ten times their usual duration.
const TIMEOUT: u64 = 150;

/// Default number of mutants of a sample.
const SAMPLE: usize = 20;

impl Default for Options {
    fn default() -> Self {
        Self {
            sample: Some(SAMPLE),
            seed: 1,
            packages: Vec::new(),
            resume: false,
            list: false,
            timeout: TIMEOUT,
        }
    }
}

impl Options {
    /// Parses the arguments of `cargo xtask mutants`.
    ///
    /// # Errors
    /// If an argument is unknown; the error names the argument.
    pub fn parse(words: &[&str]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut words = words.iter().copied();
        while let Some(word) = words.next() {
            let mut number = || {
                let value = words.next().ok_or_else(|| format!("{word} needs a number"))?;
                value.parse::<u64>().map_err(|_| format!("{word} {value}: expected a number"))
            };
            match word {
                "--sample" => options.sample = Some(number()? as usize),
                "--seed" => options.seed = number()?,
                "--timeout" => options.timeout = number()?,
                "--all" => options.sample = None,
                "--resume" => options.resume = true,
                "--list" => options.list = true,
                "--package" | "-p" => {
                    let name = words.next().ok_or("--package needs a name")?;
                    let name = format!("bufferlab-{}", name.trim_start_matches("bufferlab-"));
                    if SUBJECTS.iter().all(|subject| subject.package != name) {
                        return Err(format!("{name} is not among the crates that are mutated"));
                    }
                    options.packages.push(name);
                }
                other => return Err(format!("{other}: cargo xtask mutants does not know this option")),
            }
        }
        Ok(options)
    }

    fn takes(&self, subject: &Subject) -> bool {
        if self.packages.is_empty() {
            return subject.package != ON_DEMAND;
        }
        self.packages.iter().any(|name| name == subject.package)
    }
}

/// Outcome of running the tests on a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// At least one test failed on the mutant, so the tests detect it.
    Killed,
    /// No test failed before the timeout: the mutant runs forever, or the machine is slow.
    Hung,
    Survived,
    /// The compiler rejects the mutant's code.
    Unviable,
}

const OUTCOMES: [(&str, Outcome); 4] = [
    ("killed", Outcome::Killed),
    ("hung", Outcome::Hung),
    ("survived", Outcome::Survived),
    ("unviable", Outcome::Unviable),
];

impl Outcome {
    fn name(self) -> &'static str {
        OUTCOMES.iter().find(|(_, outcome)| *outcome == self).map_or("", |(name, _)| *name)
    }
}

/// Outcomes of tests on mutants, by the mutant's key ([`Mutant::key`]).
type Outcomes = BTreeMap<String, Outcome>;

/// Runs the tests on mutants and reports the surviving mutants.
///
/// # Errors
/// If cargo-mutants fails, a listed equivalent mutant does not exist, or an unlisted mutant
/// survives.
pub fn run(options: &Options) -> Result<(), String> {
    let tool = tool::Tool::find_or_install()?;
    let subjects: Vec<_> = SUBJECTS.iter().filter(|subject| options.takes(subject)).collect();
    let packages: Vec<_> = subjects.iter().map(|subject| subject.package).collect();
    let mutants = listed(&tool.list(&packages)?)?;
    let equivalents = equivalents(&crate::read(list::EQUIVALENTS)?)?;
    let stale = list::stale(&equivalents, &mutants, &packages);
    if !stale.is_empty() {
        return Err(format!(
            "{} names mutants that do not exist:\n  {}",
            list::EQUIVALENTS,
            stale.join("\n  ")
        ));
    }
    let chosen = list::sample(&mutants, options.sample, options.seed);
    let (equal, chosen): (Vec<_>, Vec<_>) =
        chosen.into_iter().partition(|mutant| equivalents.iter().any(|known| known.is(mutant)));
    if options.list {
        chosen.iter().for_each(|mutant| println!("{}", mutant.name));
        return Ok(());
    }
    eprintln!(
        "{} mutants, {} of them chosen, {} known as equivalent",
        mutants.len(),
        chosen.len(),
        equal.len()
    );
    let mut outcomes = if options.resume { read_outcomes() } else { Outcomes::new() };
    for subject in subjects {
        let own = chosen.iter().copied().filter(|mutant| mutant.package == subject.package);
        let left: Vec<_> = own.filter(|mutant| !outcomes.contains_key(&mutant.key)).collect();
        for (index, batch) in left.chunks(BATCH).enumerate() {
            let (packages, timeout) = (subject.tests, options.timeout);
            let quick = Tests { packages, thorough: false, baseline: index == 0, timeout };
            let mut found = tool.test(subject.package, batch, quick)?;
            let survived = |mutant: &&&Mutant| found.get(&mutant.key) == Some(&Outcome::Survived);
            let survivors: Vec<_> = batch.iter().filter(survived).copied().collect();
            if !survivors.is_empty() && !subject.wider.is_empty() {
                let packages = subject.wider;
                let wider = Tests { packages, thorough: true, baseline: false, timeout: 10 * timeout };
                let again = tool.test(subject.package, &survivors, wider)?;
                // A mutant for which the quick tests finish does not run forever: the machine was
                // too slow.
                found.extend(again.into_iter().filter(|(_, outcome)| *outcome != Outcome::Hung));
            }
            outcomes.extend(found);
            write_outcomes(&outcomes)?;
        }
    }
    report(&chosen, &equal, &outcomes)
}

/// Prints the outcomes of the selected mutants; returns an error if a mutant survived.
fn report(chosen: &[&Mutant], equal: &[&Mutant], outcomes: &Outcomes) -> Result<(), String> {
    let with =
        |wanted: Outcome| chosen.iter().filter(move |mutant| outcomes.get(&mutant.key) == Some(&wanted));
    let [caught, hung, survived, unviable] = OUTCOMES.map(|(_, outcome)| with(outcome).count());
    let killed = caught + hung;
    let tried = killed + survived;
    let share = if tried == 0 { 100.0 } else { 100.0 * killed as f64 / tried as f64 };
    println!(
        "{killed} of {tried} mutants killed ({share:.1} %), {hung} of them by the clock, {survived} survived, {} equivalent, \
         {unviable} do not compile",
        equal.len()
    );
    with(Outcome::Hung).for_each(|mutant| println!("  by the clock: {}", mutant.name));
    let missing = chosen.iter().filter(|mutant| !outcomes.contains_key(&mutant.key)).count();
    if missing > 0 {
        return Err(format!(
            "cargo-mutants said nothing about {missing} mutants: run this again with --resume"
        ));
    }
    if survived == 0 {
        return Ok(());
    }
    let mut message = format!("{survived} mutants survived that {} does not list", list::EQUIVALENTS);
    for mutant in with(Outcome::Survived) {
        // Writing into a string cannot fail.
        let _ = write!(message, "\n  {}\n      {}", mutant.name, mutant.line);
    }
    message
        .push_str("\nhint: write the test that notices, or list the mutant with the reason why nothing can");
    Err(message)
}

fn folder() -> PathBuf {
    root().join("target/mutants")
}

fn outcomes_file() -> PathBuf {
    folder().join("outcomes.tsv")
}

/// Reads the stored outcome of each mutant by key; the map is empty before the first run.
fn read_outcomes() -> Outcomes {
    let text = std::fs::read_to_string(outcomes_file()).unwrap_or_default();
    let outcome = |line: &str| {
        let (name, key) = line.split_once('\t')?;
        let (_, outcome) = OUTCOMES.iter().find(|(known, _)| *known == name)?;
        Some((key.to_owned(), *outcome))
    };
    text.lines().filter_map(outcome).collect()
}

fn write_outcomes(outcomes: &Outcomes) -> Result<(), String> {
    let line = |(key, outcome): (&String, &Outcome)| format!("{}\t{key}\n", outcome.name());
    let text: String = outcomes.iter().map(line).collect();
    let path = outcomes_file();
    std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_understood_and_what_is_wrong_is_named() {
        let parse = |text: &str| Options::parse(&text.split_whitespace().collect::<Vec<_>>());
        assert_eq!(parse(""), Ok(Options::default()));
        let expected = Options {
            sample: Some(3),
            seed: 9,
            packages: vec!["bufferlab-core".to_owned(), "bufferlab-units".to_owned()],
            resume: true,
            list: false,
            timeout: 60,
        };
        let words = "--sample 3 --seed 9 --package core -p bufferlab-units --resume --timeout 60";
        assert_eq!(parse(words), Ok(expected));
        assert_eq!(parse("--all").map(|options| options.sample), Ok(None));
        for (wrong, what) in [
            ("--sample", "--sample needs a number"),
            ("--seed x", "--seed x: expected a number"),
            ("--package cli", "bufferlab-cli is not among"),
            ("--fast", "--fast: cargo xtask mutants does not know"),
        ] {
            assert!(parse(wrong).is_err_and(|message| message.contains(what)), "{wrong}");
        }
    }

    fn mutant(key: &str) -> Mutant {
        let text = |text: &str| text.to_owned();
        Mutant { name: format!("{key}, named"), package: text("p"), key: text(key), line: text("a < b") }
    }

    #[test]
    fn a_survivor_is_an_error_with_its_name_and_line_and_a_missing_outcome_is_one_too() {
        let (a, b) = (mutant("a"), mutant("b"));
        let outcomes =
            |list: &[(&str, Outcome)]| list.iter().map(|(key, o)| ((*key).to_owned(), *o)).collect();
        let killed = outcomes(&[("a", Outcome::Killed), ("b", Outcome::Unviable)]);
        assert_eq!(report(&[&a, &b], &[], &killed), Ok(()));
        let survived = outcomes(&[("a", Outcome::Killed), ("b", Outcome::Survived)]);
        let message = report(&[&a, &b], &[], &survived).expect_err("b survived");
        assert!(
            message.contains("1 mutants survived") && message.contains("b, named\n      a < b"),
            "{message}"
        );
        assert_eq!(report(&[&a], &[&b], &survived), Ok(()));
        let nothing = outcomes(&[("a", Outcome::Killed)]);
        assert!(report(&[&a, &b], &[], &nothing).is_err_and(|message| message.contains("nothing about 1")));
    }

    #[test]
    fn every_subject_is_a_package_of_the_workspace_and_every_pure_crate_is_one() {
        let known = crate::metadata().expect("cargo knows them");
        let names: Vec<_> =
            known["packages"].as_array().into_iter().flatten().map(|p| p["name"].clone()).collect();
        let all = SUBJECTS.iter().flat_map(|s| s.tests.iter().chain(s.wider).chain([&s.package]));
        for name in all {
            assert!(names.iter().any(|known| known == *name), "{name}");
        }
        for (pure, _) in crate::tidy::PURE {
            assert!(
                SUBJECTS.iter().any(|subject| subject.package == *pure),
                "{pure} is pure and not mutated"
            );
        }
    }
}
