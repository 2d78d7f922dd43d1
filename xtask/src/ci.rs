//! The checks that a change must pass.
//!
//! `.ci/run` and a developer call the same steps, so a failure in CI can be repeated locally.
//! `tidy` and `generate --check` are not separate steps: they run as tests.

use crate::instructions;
use crate::python::{self, Build};
use crate::rtl;
use crate::site;
use crate::skips::{self, Outcome};
use crate::{cargo, output, root, run as spawn, target};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// A step of CI.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Name of the step on the command line.
    pub name: &'static str,
    run: fn() -> Result<Outcome, String>,
}

/// All steps of CI, quick steps first.
pub const STEPS: &[Step] = &[
    Step { name: "fmt", run: || passed(spawn(&mut cargo(&["fmt", "--all", "--check"]))) },
    Step { name: "deny", run: deny },
    Step { name: "clippy", run: || passed(clippy()) },
    Step { name: "test", run: || passed(test()) },
    Step { name: "dctcp", run: dctcp },
    Step { name: "fuzz", run: || passed(fuzz_step()) },
    Step { name: "circuits", run: rtl::check },
    Step { name: "doc", run: || passed(doc()) },
    Step { name: "smoke", run: || passed(smoke(Build::Dev)) },
    Step { name: "count", run: instructions::gate },
    Step { name: "python", run: || passed(python::check(Build::Dev)) },
    Step { name: "site", run: || passed(site::build()) },
];

/// Outcome of a step of CI that always runs.
fn passed(result: Result<(), String>) -> Result<Outcome, String> {
    result.map(|()| Outcome::Passed)
}

/// Scenario of the smoke run: the first one in the documentation.
const SMOKE: &str = "scenarios/star-incast.toml";

/// Searches of the step `fuzz` with fixed cases, so that every machine repeats them.
const FUZZ_FIXED: &[&[&str]] = &[
    &["--seed", "1", "--cases", "700", "--budget", "25s"],
    &["--subject", "parsers", "--seed", "1", "--cases", "60", "--budget", "12s"],
];
/// Searches of the step `fuzz` with a fresh seed, which is printed, and with system faults.
const FUZZ_FRESH: &[&[&str]] = &[
    &["--fresh", "--budget", "20s"],
    &["--subject", "parsers", "--fresh", "--budget", "10s"],
    &["--fresh", "--budget", "15s", "faults"],
];

/// Returns the step of CI called `name`.
#[must_use]
pub fn step(name: &str) -> Option<&'static Step> {
    STEPS.iter().find(|step| step.name == name)
}

/// Runs every step of CI, and stops at the first failure.
/// At the end, lists the steps and all skipped parts.
///
/// # Errors
/// Names the failed step and the command that repeats it.
pub fn all() -> Result<(), String> {
    run_steps(STEPS)
}

/// Runs one step of CI; prints its duration and the parts that it skipped.
///
/// # Errors
/// Returns the errors of [`all`].
pub fn run(step: &Step) -> Result<(), String> {
    run_steps(std::slice::from_ref(step))
}

fn run_steps(steps: &[Step]) -> Result<(), String> {
    let mut done = Vec::new();
    let result = steps.iter().try_for_each(|step| {
        eprintln!("== {}", step.name);
        let start = Instant::now();
        let outcome = (step.run)();
        done.push(Done {
            name: step.name,
            seconds: start.elapsed().as_secs_f64(),
            left_out: skips::take(),
            outcome,
        });
        let done = &done[done.len() - 1];
        eprintln!("== {}", done.in_words());
        done.outcome
            .as_ref()
            .map(|_| ())
            .map_err(|why| format!("{why}\nhint: repeat this step with `cargo xtask {}`", step.name))
    });
    eprint!("{}", summary(steps, &done));
    result
}

/// A completed step of CI.
struct Done {
    name: &'static str,
    seconds: f64,
    outcome: Result<Outcome, String>,
    /// Parts of the step that were skipped, with reasons.
    left_out: Vec<String>,
}

impl Done {
    fn in_words(&self) -> String {
        let Self { name, seconds, outcome, left_out } = self;
        let how = match (outcome, left_out.len()) {
            (Err(_), _) => "failed".to_owned(),
            (Ok(Outcome::Skipped), _) => "skipped".to_owned(),
            (Ok(Outcome::Passed), 0) => "passed".to_owned(),
            (Ok(Outcome::Passed), parts) => format!("passed, {parts} skipped"),
        };
        format!("{name}: {how} in {seconds:.0} s")
    }
}

/// Lists all steps of CI, then all skipped parts.
fn summary(steps: &[Step], done: &[Done]) -> String {
    let mut text = String::from("\n== steps\n");
    for one in done {
        text.push_str(&format!("{}\n", one.in_words()));
    }
    for step in &steps[done.len()..] {
        text.push_str(&format!("{}: not run\n", step.name));
    }
    let mut skipped: Vec<_> = done
        .iter()
        .flat_map(|one| one.left_out.iter().map(move |what| format!("{}: {what}\n", one.name)))
        .collect();
    if skipped.is_empty() {
        skipped.push("nothing\n".to_owned());
    }
    text.push_str("== skipped\n");
    text.extend(skipped);
    text
}

/// Checks the dependencies for every operating system, if cargo-deny is installed.
fn deny() -> Result<Outcome, String> {
    if !cargo(&["deny", "--version"]).output().is_ok_and(|found| found.status.success()) {
        skips::note(
            "dependencies of other systems are not checked without cargo-deny (cargo install cargo-deny)",
        );
        return Ok(Outcome::Skipped);
    }
    passed(spawn(&mut cargo(&["deny", "--all-features", "--locked", "check", "bans", "licenses", "sources"])))
}

fn clippy() -> Result<(), String> {
    let of = ["--workspace", "--all-targets", "--locked"];
    spawn(cargo(&["clippy"]).args(of).args(features()).args(["--", "-D", "warnings"]))
}

/// Runs all tests except the test of DCTCP, which needs a quiet machine and is the next step.
fn test() -> Result<(), String> {
    let mut command = cargo(&["test", "--workspace", "--locked"]);
    skips::listen(command.args(features()).args(["--", "--skip", "dctcp::"]))
}

/// Returns the feature `dctcp` if this machine can build it.
/// Every step of the development build enables this feature, so that no crate is built twice.
fn features() -> &'static [&'static str] {
    if dctcp_lacks().is_empty() { &["--features", "bufferlab-cli/dctcp"] } else { &[] }
}

/// Requirements of the feature `dctcp` that this machine lacks.
fn dctcp_lacks() -> Vec<&'static str> {
    FOR_DCTCP.iter().filter(|(_, file)| !Path::new(file).exists()).map(|(what, _)| *what).collect()
}

/// Requirements for building and running the testbed's DCTCP, and how to detect them.
const FOR_DCTCP: [(&str, &str); 3] = [
    ("the headers of libelf (libelf-dev)", "/usr/include/libelf.h"),
    ("the headers of zlib (zlib1g-dev)", "/usr/include/zlib.h"),
    ("clang", "/usr/bin/clang"),
];

/// Runs the test of the testbed's DCTCP alone, because other tests would delay the switch.
/// The test reports missing rights and kernels without BPF. The step is skipped if this machine
/// cannot build the feature `dctcp`; the other steps then build without this feature.
fn dctcp() -> Result<Outcome, String> {
    let missing = dctcp_lacks();
    if !missing.is_empty() {
        skips::note(&format!(
            "the testbed's DCTCP is neither built nor tested without {} (on Debian: apt-get install clang libelf-dev zlib1g-dev)",
            missing.join(", ")
        ));
        return Ok(Outcome::Skipped);
    }
    // Most users build the program without the feature `dctcp`, so check this build, too.
    spawn(&mut cargo(&["clippy", "--package", "bufferlab-cli", "--locked", "--", "-D", "warnings"]))?;
    let of = ["--package", "bufferlab-cli", "--features", "dctcp", "--locked"];
    passed(skips::listen(cargo(&["test", "--test", "suite"]).args(of).args(["dctcp::", "--", "--nocapture"])))
}

/// Builds the documentation with private items, because developers read it.
fn doc() -> Result<(), String> {
    let arguments = ["doc", "--workspace", "--no-deps", "--document-private-items", "--locked"];
    spawn(cargo(&arguments).env("RUSTDOCFLAGS", "-D warnings"))
}

/// Uses the program as a user would: prints help, runs twice with all checks, compares the results.
///
/// The CI steps of a change use the program that the tests have built.
/// The release build alone would take as long as all tests.
///
/// # Errors
/// Describes the program's wrong answer.
pub fn smoke(build: Build) -> Result<(), String> {
    let folder = root().join("target/smoke");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let program = program(build)?;
    let bufferlab = |arguments: &[&str]| {
        let printed = output(Command::new(&program).args(arguments).current_dir(root()))?;
        if printed.is_empty() { Err(format!("bufferlab {arguments:?} printed nothing")) } else { Ok(()) }
    };
    bufferlab(&["policy", "list"])?;
    bufferlab(&["check", SMOKE])?;
    let [first, second] = ["first", "second"].map(|name| folder.join(name));
    for out in [&first, &second] {
        bufferlab(&["run", SMOKE, "--verify", "--out", &out.to_string_lossy()])?;
    }
    same_results(&first, &second)?;
    let compared = folder.join("compare");
    bufferlab(&[
        "compare",
        SMOKE,
        "--policies",
        "dt,cs,abm",
        "--seeds",
        "2",
        "--out",
        &compared.to_string_lossy(),
    ])?;
    let report = compared.join("report.html");
    let html = std::fs::read_to_string(&report).map_err(|error| format!("{}: {error}", report.display()))?;
    if html.contains("</html>") { Ok(()) } else { Err(format!("{} is cut short", report.display())) }
}

/// Searches for failures with the fixed seeds and with a fresh seed.
fn fuzz_step() -> Result<(), String> {
    program(Build::Dev)?;
    FUZZ_FIXED.iter().chain(FUZZ_FRESH).try_for_each(|options| fuzz("dev", options))
}

/// Searches for failures in a build of this profile: "dev", which the tests have built,
/// or "search", which is much faster.
///
/// # Errors
/// If a case of the search fails.
pub fn fuzz(profile: &str, options: &[&str]) -> Result<(), String> {
    let run = ["run", "--quiet", "--locked", "--package", "bufferlab-fuzz", "--profile", profile, "--"];
    spawn(cargo(&run).args(options))
}

/// Runs all searches in turn for a given time.
/// The program and the searches are built with the profile of searches.
///
/// # Errors
/// If a search finds a failure.
pub fn soak(options: &[&str]) -> Result<(), String> {
    let build = [
        "build",
        "--profile",
        "search",
        "--locked",
        "--package",
        "bufferlab-cli",
        "--package",
        "bufferlab-fuzz",
    ];
    spawn(&mut cargo(&build))?;
    let folder = target()?.join("search");
    let program = folder.join(format!("bufferlab{}", std::env::consts::EXE_SUFFIX));
    let search = folder.join(format!("bufferlab-fuzz{}", std::env::consts::EXE_SUFFIX));
    spawn(Command::new(search).arg("soak").arg("--program").arg(program).args(options).current_dir(root()))
}

/// Returns the path of the program, which is built if necessary.
///
/// # Errors
/// If the build fails.
pub fn program(build: Build) -> Result<PathBuf, String> {
    let (profile, folder) = match build {
        Build::Dev => ("dev", "debug"),
        Build::Release => ("release", "release"),
    };
    let mut command = cargo(&["build", "--profile", profile, "--locked", "--package", "bufferlab-cli"]);
    if matches!(build, Build::Dev) {
        command.args(features());
    }
    spawn(&mut command)?;
    let target = target()?;
    Ok(target.join(folder).join(format!("bufferlab{}", std::env::consts::EXE_SUFFIX)))
}

/// Checks that equal scenarios and seeds give equal bytes in every file except `timing.json`.
fn same_results(first: &Path, second: &Path) -> Result<(), String> {
    let read = |path: &Path| std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
    let entries = std::fs::read_dir(first).map_err(|error| format!("{}: {error}", first.display()))?;
    let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    names.retain(|name| name != "timing.json");
    if !names.iter().any(|name| name == "flows.parquet") {
        return Err(format!("{} holds no table of flows", first.display()));
    }
    for name in names {
        if read(&first.join(&name))? != read(&second.join(&name))? {
            return Err(format!("two runs of {SMOKE} differ in {}", name.display()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_have_names_of_their_own() {
        for (index, step) in STEPS.iter().enumerate() {
            assert!(STEPS[..index].iter().all(|other| other.name != step.name), "{}", step.name);
        }
    }

    #[test]
    fn the_summary_names_every_step_and_everything_that_was_skipped() {
        let step = |name| Step { name, run: || Ok(Outcome::Passed) };
        let steps = ["fmt", "test", "dctcp", "doc", "site"].map(step);
        let done = |name, outcome, left_out: &[&str]| Done {
            name,
            seconds: 1.4,
            outcome,
            left_out: left_out.iter().map(|what| (*what).to_owned()).collect(),
        };
        let done = [
            done("fmt", Ok(Outcome::Passed), &[]),
            done("test", Ok(Outcome::Passed), &["the live view: `script` is not installed"]),
            done("dctcp", Ok(Outcome::Skipped), &["DCTCP is not tested without clang"]),
            done("doc", Err("it failed".to_owned()), &[]),
        ];
        let expected = "\n== steps\nfmt: passed in 1 s\ntest: passed, 1 skipped in 1 s\ndctcp: skipped in 1 s\n\
                        doc: failed in 1 s\nsite: not run\n== skipped\n\
                        test: the live view: `script` is not installed\ndctcp: DCTCP is not tested without clang\n";
        assert_eq!(summary(&steps, &done), expected);
        assert!(summary(&steps[..1], &done[..1]).ends_with("== skipped\nnothing\n"));
    }

    #[test]
    fn results_that_differ_are_noticed_and_times_may() {
        let folders = [tempfile::tempdir(), tempfile::tempdir()].map(|folder| folder.expect("a folder"));
        let [first, second] = folders.each_ref().map(tempfile::TempDir::path);
        let write = |name: &str, contents: [&str; 2]| {
            for (folder, content) in [first, second].into_iter().zip(contents) {
                std::fs::write(folder.join(name), content).expect("writable");
            }
        };
        assert!(same_results(first, second).is_err(), "nothing was written");
        write("flows.parquet", ["a", "a"]);
        write("timing.json", ["1 s", "2 s"]);
        assert_eq!(same_results(first, second), Ok(()));
        write("links.parquet", ["a", "b"]);
        assert!(same_results(first, second).is_err_and(|why| why.contains("links.parquet")));
    }
}
