//! Finds and calls the program cargo-mutants, and parses its output.

use super::list::Mutant;
use super::{Outcome, Outcomes, folder};
use crate::{output, root, run};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

/// Version of cargo-mutants that this task installs.
const VERSION: &str = "27.1.0";

/// Skipped tests of whole programs and documents, which detect no mutant that other tests miss.
const SKIPPED: &[&str] = &["newcomer::", "docs::", "competitive::", "pisa_staleness::"];
/// Exhaustive tests of short scripts. The exhaustive tests detect more mutants, but take longer
/// than all other tests together. So the exhaustive tests run only on surviving mutants.
const THOROUGH: &[&str] = &["registry::", "report::"];

/// Selection of tests to run on mutants.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tests<'a> {
    /// Packages whose tests run on each mutant.
    pub(super) packages: &'a [&'a str],
    /// Whether the slow, exhaustive tests also run on each mutant.
    pub(super) thorough: bool,
    /// Whether the tests first run on the unchanged code.
    pub(super) baseline: bool,
    /// Timeout for running the tests on one mutant (s).
    pub(super) timeout: u64,
}

/// The installed program cargo-mutants.
#[derive(Clone, Debug)]
pub(super) struct Tool {
    program: PathBuf,
}

impl Tool {
    /// Finds cargo-mutants in the search path or below `target/tools`. If the program is missing,
    /// it is installed below `target/tools`.
    pub(super) fn find_or_install() -> Result<Self, String> {
        let own = root().join("target/tools");
        let built = own.join("bin").join(format!("cargo-mutants{}", std::env::consts::EXE_SUFFIX));
        for program in [PathBuf::from("cargo-mutants"), built.clone()] {
            let asked = Command::new(&program).args(["mutants", "--version"]).output();
            if asked.is_ok_and(|answer| answer.status.success()) {
                return Ok(Self { program });
            }
        }
        eprintln!("cargo-mutants {VERSION} is missing and gets installed below target/tools");
        // An unoptimised build of cargo-mutants takes a third of the time. The program mostly waits
        // for compilers and tests.
        let mut install =
            crate::cargo(&["install", "cargo-mutants", "--locked", "--debug", "--version", VERSION]);
        install.arg("--root").arg(&own).env("CARGO_TARGET_DIR", own.join("build"));
        run(&mut install).map_err(|why| {
            format!("{why}\nhint: install it by hand with `cargo install cargo-mutants --locked`")
        })?;
        // The build files of cargo-mutants are not needed after the installation.
        let _ = std::fs::remove_dir_all(own.join("build"));
        Ok(Self { program: built })
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("mutants").args(arguments).current_dir(root());
        command
    }

    /// Returns the list of all mutants of the packages, as JSON.
    pub(super) fn list(&self, packages: &[&str]) -> Result<Vec<u8>, String> {
        let mut command = self.command(&["--list", "--json"]);
        packages.iter().for_each(|package| {
            command.args(["--package", package]);
        });
        output(&mut command)
    }

    /// Runs tests on the mutants of `package` that the caller selects.
    pub(super) fn test(
        &self,
        package: &str,
        mutants: &[&Mutant],
        tests: Tests<'_>,
    ) -> Result<Outcomes, String> {
        let out = folder();
        std::fs::create_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
        let timeout = tests.timeout.to_string();
        let baseline = if tests.baseline { "run" } else { "skip" };
        let mut command =
            self.command(&["--package", package, "--baseline", baseline, "--profile", "mutants"]);
        command.args(["--cap-lints", "true", "--colors", "never", "--no-shuffle", "--timeout", &timeout]);
        command.arg("--output").arg(&out);
        for mutant in mutants {
            command.arg("--re").arg(format!("^{}$", escaped(&mutant.name)));
        }
        // In version 27.1, mutants that delete a field of a struct pass every `--re` filter.
        // Therefore `--file` excludes at least the mutants of other files.
        let files: BTreeSet<_> = mutants.iter().filter_map(|mutant| mutant.name.split(':').next()).collect();
        for file in files {
            command.args(["--file", file]);
        }
        for test in tests.packages {
            command.args(["--test-package", test]);
        }
        command.args(["--", "--tests", "--"]);
        let slow = if tests.thorough { &[][..] } else { THOROUGH };
        for name in SKIPPED.iter().chain(slow) {
            command.args(["--skip", name]);
        }
        // The copies of the repository share the builds of unchanged crates.
        command.env("CARGO_TARGET_DIR", out.join("build"));
        // A mutant changes one source line, and a full build of the crate takes ten times as long.
        command.env("CARGO_INCREMENTAL", "1");
        let status = command.status().map_err(|error| format!("cargo-mutants cannot start: {error}"))?;
        // Exit code 0: the tests detect all mutants. Code 2: some mutants survive. Code 3: the
        // tests of some mutants time out. Other exit codes are failures of cargo-mutants, or of the
        // tests on the unchanged code.
        if !matches!(status.code(), Some(0 | 2 | 3)) {
            return Err(format!("cargo-mutants failed: {status}"));
        }
        let path = out.join("mutants.out/outcomes.json");
        let text = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let json: Value = serde_json::from_slice(&text).map_err(|error| format!("outcomes.json: {error}"))?;
        Ok(outcomes(&json, mutants))
    }
}

/// Parses the outcomes of `mutants` from the JSON of cargo-mutants.
fn outcomes(json: &Value, mutants: &[&Mutant]) -> Outcomes {
    let outcome = |entry: &Value| {
        let name = entry["scenario"]["Mutant"]["name"].as_str()?;
        let key = &mutants.iter().find(|mutant| mutant.name == name)?.key;
        let outcome = match entry["summary"].as_str()? {
            "CaughtMutant" => Outcome::Killed,
            "Timeout" => Outcome::Hung,
            "MissedMutant" => Outcome::Survived,
            "Unviable" => Outcome::Unviable,
            _ => return None,
        };
        Some((key.clone(), outcome))
    };
    json["outcomes"].as_array().into_iter().flatten().filter_map(outcome).collect()
}

/// Returns a regular expression that matches exactly the string `text`.
fn escaped(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for character in text.chars() {
        if r"\.+*?()|[]{}^$".contains(character) {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_literally() {
        assert_eq!(
            escaped("a.rs:3:5: replace + with * in F<T>::g"),
            r"a\.rs:3:5: replace \+ with \* in F<T>::g"
        );
    }

    #[test]
    fn outcomes_are_read_and_those_of_other_mutants_are_not() {
        let mutant = |name: &str| Mutant {
            name: name.to_owned(),
            package: "p".to_owned(),
            key: format!("key of {name}"),
            line: String::new(),
        };
        let mutants = ["a", "b", "c", "d"].map(mutant);
        let entry = |name: &str, summary: &str| serde_json::json!({ "scenario": { "Mutant": { "name": name } }, "summary": summary });
        let json = serde_json::json!({ "outcomes": [
            { "scenario": "Baseline", "summary": "Success" },
            entry("a", "CaughtMutant"), entry("b", "MissedMutant"), entry("c", "Timeout"), entry("e", "Unviable"),
        ] });
        let found = outcomes(&json, &mutants.iter().collect::<Vec<_>>());
        let found: Vec<_> = found.iter().map(|(key, outcome)| (key.as_str(), *outcome)).collect();
        assert_eq!(
            found,
            [("key of a", Outcome::Killed), ("key of b", Outcome::Survived), ("key of c", Outcome::Hung)]
        );
    }
}
