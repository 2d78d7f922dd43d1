//! Counts the instructions per packet-hop of the simulator, and compares the counts with recorded
//! counts.
//!
//! Instructions do not depend on the machine's load, so a change of a few per cent is visible
//! immediately. Every scenario of `xtask/instructions.toml` runs twice under Callgrind, for two
//! simulated durations. The difference of the two runs excludes the cost of starting the program.
//! The recorded counts are for one version of the compiler, which the file names.

use crate::program::{self, Build};
use crate::skips::{self, Outcome};
use crate::{bench, cargo, output, read, root, run, target};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// File that has the recorded instruction counts.
const FILE: &str = "xtask/instructions.toml";

/// File with the history of the recorded instruction counts, one line per scenario.
const HISTORY: &str = "xtask/instructions.csv";

/// Largest accepted relative difference from a recorded instruction count.
const TOLERANCE: f64 = 0.02;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Recorded {
    /// Output of `rustc --version` when the instruction counts were recorded.
    compiler: String,
    scenario: Vec<Measured>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Measured {
    /// Name of a scenario file in `scenarios/`, without its ending.
    name: String,
    /// The two simulated durations of the scenario, the shorter duration first.
    durations: [String; 2],
    /// Further settings of the simulation run, in the syntax of `--set`.
    settings: Vec<String>,
    /// Number of instructions per packet-hop of the release build.
    per_hop: f64,
    /// Instructions per packet-hop of the build that the tests use, which has assertions.
    per_hop_in_tests: f64,
}

impl Recorded {
    /// Formats the recorded counts as the text of the file `xtask/instructions.toml`.
    fn text(&self) -> String {
        let mut text = "# Instructions per packet-hop, by `cargo xtask instructions --record`\n# (docs/evidence/performance.md).\n\n".to_owned();
        text += &format!("compiler = {:?}\n", self.compiler);
        for Measured { name, durations, settings, per_hop, per_hop_in_tests } in &self.scenario {
            text += &format!(
                "\n[[scenario]]\nname = {name:?}\ndurations = {durations:?}\nsettings = {settings:?}\nper_hop = {per_hop:.1}\nper_hop_in_tests = {per_hop_in_tests:.1}\n"
            );
        }
        text
    }

    /// Returns lines for the history: date and hash of the commit, compiler, scenario, instruction
    /// count.
    fn history(&self, compiler: &str) -> Result<String, String> {
        let commit = output(Command::new("git").args(["log", "-1", "--format=%cs,%h"]).current_dir(root()))?;
        let commit = String::from_utf8_lossy(&commit).trim().to_owned();
        let line =
            |measured: &Measured| format!("{commit},{compiler},{},{:.1}\n", measured.name, measured.per_hop);
        Ok(self.scenario.iter().map(line).collect())
    }
}

/// Counts instructions, and compares them with the recorded counts. With `record`, writes the new
/// counts instead, and adds a line per scenario to the history.
///
/// # Errors
/// If Valgrind is missing, a run fails, or a count of the same compiler differs by more than 2 %.
pub fn check(record: bool) -> Result<(), String> {
    if !has_valgrind() {
        return Err(
            "valgrind is missing, and nothing was counted\nhint: on Debian: apt-get install valgrind"
                .to_owned(),
        );
    }
    let mut recorded = recorded()?;
    let compiler = compiler()?;
    let different = counted(&mut recorded, Build::Release)?;
    if record {
        counted(&mut recorded, Build::Dev)?;
        recorded.compiler.clone_from(&compiler);
        let write = |file: &str, text: String| {
            std::fs::write(root().join(file), text).map_err(|error| format!("{file}: {error}"))
        };
        write(FILE, recorded.text())?;
        return write(HISTORY, read(HISTORY)? + &recorded.history(&compiler)?);
    }
    judged(&different, &recorded, &compiler)
}

/// Compares the instructions of the development build with the recorded counts. Without Valgrind
/// the CI step is skipped.
///
/// # Errors
/// The errors of [`check`].
pub fn gate() -> Result<Outcome, String> {
    if !has_valgrind() {
        skips::note("no instructions were counted without valgrind (on Debian: apt-get install valgrind)");
        return Ok(Outcome::Skipped);
    }
    let mut recorded = recorded()?;
    let different = counted(&mut recorded, Build::Dev)?;
    judged(&different, &recorded, &compiler()?)?;
    Ok(Outcome::Passed)
}

fn has_valgrind() -> bool {
    let asked =
        Command::new("valgrind").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    asked.is_ok_and(|status| status.success())
}

fn recorded() -> Result<Recorded, String> {
    toml::from_str(&read(FILE)?).map_err(|error| format!("{FILE}: {error}\nhint: see its head for the form"))
}

fn compiler() -> Result<String, String> {
    let version = output(Command::new("rustc").arg("--version"))?;
    Ok(String::from_utf8_lossy(&version).trim().to_owned())
}

/// The program whose instructions are counted. An incremental build splits crates into more pieces
/// and inlines less, which costs 4 % more instructions in the tests' build. So the program is built
/// without incremental compilation, in a separate folder if the developer's builds are incremental.
fn program(build: Build) -> Result<PathBuf, String> {
    if matches!(build, Build::Release) || std::env::var_os("CARGO_INCREMENTAL").is_some_and(|set| set == "0")
    {
        return program::program(build);
    }
    let folder = target()?.join("count");
    let mut command = cargo(&["build", "--locked", "--package", "bufferlab-cli", "--target-dir"]);
    run(command.arg(&folder).env("CARGO_INCREMENTAL", "0"))?;
    Ok(folder.join("debug").join(format!("bufferlab{}", std::env::consts::EXE_SUFFIX)))
}

/// Counts the instructions of all scenarios with one build of the program, and replaces the
/// recorded counts. Returns the names of the scenarios whose counts differ.
fn counted(recorded: &mut Recorded, build: Build) -> Result<Vec<String>, String> {
    let program = program(build)?;
    let mut different = Vec::new();
    for scenario in &mut recorded.scenario {
        let found = measure(&program, scenario)?;
        let known = match build {
            Build::Release => &mut scenario.per_hop,
            Build::Dev => &mut scenario.per_hop_in_tests,
        };
        println!(
            "{:24} {found:8.1} instructions per packet-hop, {known:8.1} recorded ({:+.1} %)",
            scenario.name,
            100.0 * (found / *known - 1.0)
        );
        if is_different(found, *known) {
            different.push(scenario.name.clone());
        }
        *known = (found * 10.0).round() / 10.0;
    }
    Ok(different)
}

fn judged(different: &[String], recorded: &Recorded, compiler: &str) -> Result<(), String> {
    if different.is_empty() {
        return Ok(());
    }
    if compiler != recorded.compiler {
        skips::note(&format!(
            "instructions were counted and not judged: {FILE} was recorded with {}, this is {compiler}",
            recorded.compiler
        ));
        return Ok(());
    }
    Err(format!(
        "{}: more than 2 % from what is recorded\nhint: if that is meant, run `cargo xtask instructions --record`, and say why in the commit",
        different.join(", ")
    ))
}

/// Whether an instruction count differs too much from the recorded count. An improvement is
/// reported, too: an unrecorded improvement would hide the next loss of speed.
fn is_different(found: f64, recorded: f64) -> bool {
    (found / recorded - 1.0).abs() > TOLERANCE
}

/// Measures the instructions per packet-hop of a scenario, from runs of two durations.
fn measure(program: &Path, scenario: &Measured) -> Result<f64, String> {
    let [short, long] = &scenario.durations;
    let (short, long) = (count(program, scenario, short)?, count(program, scenario, long)?);
    if long.1 <= short.1 {
        return Err(format!(
            "{}: the longer run has no more packet-hops than the shorter one",
            scenario.name
        ));
    }
    Ok((long.0 - short.0) as f64 / (long.1 - short.1) as f64)
}

/// Returns the number of instructions and the number of packet-hops of one run.
fn count(program: &Path, scenario: &Measured, duration: &str) -> Result<(u64, u64), String> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program).arg("bench");
    command.arg(format!("scenarios/{}.toml", scenario.name)).args(["--json", "--runs", "1"]);
    command.args(["--set", &format!("duration=\"{duration}\"")]);
    for setting in &scenario.settings {
        command.args(["--set", setting]);
    }
    let result = command.current_dir(root()).output();
    let result = result.map_err(|error| format!("{command:?} cannot start: {error}"))?;
    let (out, err) = (String::from_utf8_lossy(&result.stdout), String::from_utf8_lossy(&result.stderr));
    match (instructions(&err), bench::parsed(&out)) {
        (Some(instructions), Ok(run)) if result.status.success() => Ok((instructions, run.packet_hops)),
        _ => Err(format!("{command:?}: {}\n{out}{err}", result.status)),
    }
}

/// Parses the number of instructions in Callgrind's output: `==1234== Collected : 5678`.
fn instructions(printed: &str) -> Option<u64> {
    let (_, rest) = printed.split_once("Collected :")?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_from_what_is_printed() {
        assert_eq!(instructions("==7== Events    : Ir\n==7== Collected : 123456\n==7=="), Some(123_456));
        assert_eq!(instructions("killed"), None);
    }

    #[test]
    fn two_per_cent_in_either_direction_are_noticed() {
        assert!(!is_different(1_019.0, 1_000.0) && !is_different(981.0, 1_000.0));
        assert!(is_different(1_021.0, 1_000.0) && is_different(979.0, 1_000.0));
    }

    #[test]
    fn the_file_names_scenarios_that_there_are() {
        let recorded: Recorded =
            toml::from_str(&read(FILE).expect("part of the repository")).expect("its form");
        assert!(recorded.scenario.len() >= 2);
        let again: Recorded = toml::from_str(&recorded.text()).expect("its form");
        assert_eq!(again.text(), recorded.text());
        for scenario in &recorded.scenario {
            assert!(root().join(format!("scenarios/{}.toml", scenario.name)).is_file(), "{}", scenario.name);
        }
    }
}
