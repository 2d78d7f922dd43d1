//! What must pass before a change lands?
//!
//! `.ci/run` and a developer call the same steps, so a failure there can be repeated here. `tidy` and
//! `generate --check` are no steps of their own: they run as tests.

use crate::hardware;
use crate::instructions;
use crate::python::{self, Build};
use crate::site;
use crate::{cargo, output, root, run as spawn, target};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// One step.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Its name on the command line.
    pub name: &'static str,
    run: fn() -> Result<(), String>,
}

/// Every step, the quick ones first.
pub const STEPS: &[Step] = &[
    Step { name: "fmt", run: || spawn(&mut cargo(&["fmt", "--all", "--check"])) },
    Step { name: "clippy", run: clippy },
    Step { name: "test", run: || spawn(&mut cargo(&["test", "--workspace", "--locked"])) },
    Step { name: "dctcp", run: dctcp },
    Step { name: "fuzz", run: || fuzz("dev", FUZZ_STEP) },
    Step { name: "circuits", run: hardware::check },
    Step { name: "doc", run: doc },
    Step { name: "smoke", run: || smoke(Build::Dev) },
    Step { name: "count", run: instructions::gate },
    Step { name: "python", run: || python::check(Build::Dev) },
    Step { name: "site", run: site::build },
];

/// The scenario that the smoke run plays: the one that the documentation starts with.
const SMOKE: &str = "scenarios/star-incast.toml";

/// A minute of the search: always the same cases, and no more of them on a faster machine, so that what has passed passes again.
const FUZZ_STEP: &[&str] = &["--seed", "1", "--cases", "1500", "--budget", "60s"];

/// The step called `name`.
#[must_use]
pub fn step(name: &str) -> Option<&'static Step> {
    STEPS.iter().find(|step| step.name == name)
}

/// Runs every step; stops at the first that fails.
///
/// # Errors
/// Which step failed, and how to repeat it.
pub fn all() -> Result<(), String> {
    STEPS.iter().try_for_each(run)
}

/// Runs one step and says how long it took.
///
/// # Errors
/// As [`all`].
pub fn run(step: &Step) -> Result<(), String> {
    let start = Instant::now();
    eprintln!("== {}", step.name);
    (step.run)().map_err(|why| format!("{why}\nhint: repeat this step with `cargo xtask {}`", step.name))?;
    eprintln!("== {}: passed in {:.0} s", step.name, start.elapsed().as_secs_f64());
    Ok(())
}

fn clippy() -> Result<(), String> {
    spawn(&mut cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"]))
}

/// What the testbed's DCTCP needs to be built and run, and how it is found.
const FOR_DCTCP: [(&str, &str); 3] = [
    ("the headers of libelf (libelf-dev)", "/usr/include/libelf.h"),
    ("the headers of zlib (zlib1g-dev)", "/usr/include/zlib.h"),
    ("clang", "/usr/bin/clang"),
];

/// The feature `dctcp`, which nothing else builds: no warning, and its test, which says itself where the kernel or the rights are missing.
/// Where this machine cannot build it, the step says so and passes.
fn dctcp() -> Result<(), String> {
    let missing: Vec<_> =
        FOR_DCTCP.iter().filter(|(_, file)| !Path::new(file).exists()).map(|(what, _)| *what).collect();
    if !missing.is_empty() {
        eprintln!("skipped: without {} the testbed's DCTCP is neither built nor tested", missing.join(", "));
        eprintln!("hint: on Debian: apt-get install clang libelf-dev zlib1g-dev");
        return Ok(());
    }
    let of = ["--package", "bufferlab-cli", "--features", "dctcp", "--locked"];
    spawn(cargo(&["clippy", "--all-targets"]).args(of).args(["--", "-D", "warnings"]))?;
    // What the test says of a run that it skips is to be seen.
    spawn(cargo(&["test", "--test", "suite"]).args(of).args(["dctcp::", "--", "--nocapture"]))
}

/// Private items too: their documentation is what the next person in a crate reads.
fn doc() -> Result<(), String> {
    let arguments = ["doc", "--workspace", "--no-deps", "--document-private-items", "--locked"];
    spawn(cargo(&arguments).env("RUSTDOCFLAGS", "-D warnings"))
}

/// The program, used as a person would: look, run twice with all checks on, compare.
///
/// The steps of a change take the program that the tests have built: the release build alone would take as long as all
/// tests.
///
/// # Errors
/// What the program answered wrong.
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

/// Scenarios that nobody would write, in a build of this profile: "dev", which the tests have built, or "search", which is faster by far.
///
/// # Errors
/// If a case goes wrong.
pub fn fuzz(profile: &str, options: &[&str]) -> Result<(), String> {
    let run = ["run", "--quiet", "--locked", "--package", "bufferlab-fuzz", "--profile", profile, "--"];
    spawn(cargo(&run).args(options))
}

/// The program, built if need be.
///
/// # Errors
/// If the build fails.
pub fn program(build: Build) -> Result<PathBuf, String> {
    let (profile, folder) = match build {
        Build::Dev => ("dev", "debug"),
        Build::Release => ("release", "release"),
    };
    spawn(&mut cargo(&["build", "--profile", profile, "--locked", "--package", "bufferlab-cli"]))?;
    let target = target()?;
    Ok(target.join(folder).join(format!("bufferlab{}", std::env::consts::EXE_SUFFIX)))
}

/// The same scenario and seed give the same bytes in every file but `timing.json`.
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
