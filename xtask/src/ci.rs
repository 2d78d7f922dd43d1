//! Steps of CI: the checks that a change of the repository must pass.
//!
//! `.ci/run` and a developer call the same CI steps, so a failure in CI can be repeated locally.
//! `tidy` and `generate --check` are not separate steps of CI: they run as tests.

use crate::instructions;
use crate::program::{Build, dctcp_lacks, features, program};
use crate::python;
use crate::rtl;
use crate::site;
use crate::skips::{self, Outcome};
use crate::{cargo, output, root, run as spawn, target};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// A step of continuous integration (CI).
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Name of the CI step on the command line.
    pub name: &'static str,
    run: fn() -> Result<Outcome, String>,
    /// Whether `ci` may run the step at the same time as another step. Such a step mostly uses one
    /// processor core, and does not depend on the speed of the machine.
    beside: bool,
}

const fn alone(name: &'static str, run: fn() -> Result<Outcome, String>) -> Step {
    Step { name, run, beside: false }
}

const fn beside(name: &'static str, run: fn() -> Result<Outcome, String>) -> Step {
    Step { name, run, beside: true }
}

/// All steps of CI. Quick steps are first; steps that may run two at a time are last.
pub const STEPS: &[Step] = &[
    alone("fmt", || passed(spawn(&mut cargo(&["fmt", "--all", "--check"])))),
    alone("deny", deny),
    alone("clippy", || passed(clippy())),
    alone("test", || passed(test())),
    alone("dctcp", dctcp),
    alone("fuzz", || passed(fuzz_step())),
    alone("doc", || passed(doc())),
    // Of the steps that may run two at a time, the slowest step starts first.
    beside("walks", || passed(walks())),
    beside("python", || passed(python::check(Build::Dev))),
    beside("site", || passed(site::build())),
    beside("circuits", rtl::check),
    beside("count", instructions::gate),
    beside("smoke", || passed(smoke(Build::Dev))),
];

/// Number of CI steps that run at the same time. More steps would need more than two cores.
const LANES: usize = 2;

/// Converts the result of a CI step to an outcome, for steps that are never skipped as a whole.
fn passed(result: Result<(), String>) -> Result<Outcome, String> {
    result.map(|()| Outcome::Passed)
}

/// Scenario of the step `smoke`: the first scenario in the documentation.
const SMOKE: &str = "scenarios/star-incast.toml";

/// Searches of the step `fuzz` with fixed cases, so that every machine repeats these searches.
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

/// Runs every step of CI, even after a failed step, so that one run shows every failure. At the
/// end, lists the steps and all parts that the steps skipped.
///
/// # Errors
/// If a step fails; the error names the first failed step and the command that repeats this step.
pub fn all() -> Result<(), String> {
    run_steps(STEPS)
}

/// Runs one step of CI; prints the step's duration and the parts that the step skipped.
///
/// # Errors
/// The errors of [`all`].
pub fn run(step: &Step) -> Result<(), String> {
    run_steps(std::slice::from_ref(step))
}

fn run_steps(steps: &[Step]) -> Result<(), String> {
    let parts =
        [false, true].map(|beside| steps.iter().filter(|step| step.beside == beside).collect::<Vec<_>>());
    let mut done = run_in_lanes(&parts[0], 1);
    done.extend(run_in_lanes(&parts[1], LANES));
    eprint!("{}", summary(&done));
    let failed = done.into_iter().find_map(|done| Some((done.name, done.outcome.err()?)));
    failed
        .map_or(Ok(()), |(name, why)| Err(format!("{why}\nhint: repeat this step with `cargo xtask {name}`")))
}

/// Runs steps of CI in their order, `lanes` steps at a time.
fn run_in_lanes(steps: &[&Step], lanes: usize) -> Vec<Done> {
    let next = AtomicUsize::new(0);
    let lane = || {
        let mut done = Vec::new();
        while let Some(step) = steps.get(next.fetch_add(1, Ordering::Relaxed)) {
            done.push(run_step(step));
        }
        done
    };
    std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..lanes).map(|_| scope.spawn(lane)).collect();
        let done = lanes.into_iter().flat_map(|lane| lane.join().expect("a step returns its errors"));
        done.collect()
    })
}

fn run_step(step: &Step) -> Done {
    eprintln!("== {}", step.name);
    let start = Instant::now();
    let outcome = (step.run)();
    let seconds = start.elapsed().as_secs_f64();
    let done = Done { name: step.name, seconds, left_out: skips::take(), outcome };
    eprintln!("== {}", done.in_words());
    done
}

/// A completed step of CI, with its duration and outcome.
struct Done {
    name: &'static str,
    seconds: f64,
    outcome: Result<Outcome, String>,
    /// Parts of the CI step that were skipped, with reasons.
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

/// Lists all steps of CI, then all parts that the steps skipped.
fn summary(done: &[Done]) -> String {
    let mut text = String::from("\n== steps\n");
    for one in done {
        text.push_str(&format!("{}\n", one.in_words()));
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

/// Name of the test that follows the walk-throughs in `docs/extend`.
const WALKS: &str = "newcomer::the_walk_throughs_work";

/// Runs all tests except two that are separate steps of CI. The test of DCTCP needs a quiet
/// machine. The walk-throughs call the compiler repeatedly. If the tests of one crate fail, the
/// tests of the next crates still run.
fn test() -> Result<(), String> {
    let mut command = cargo(&["test", "--workspace", "--locked", "--no-fail-fast"]);
    skips::listen(command.args(features()).args(["--", "--skip", "dctcp::", "--skip", WALKS]))
}

/// Follows the walk-throughs in a copy of the repository. The command builds with the options of
/// the step `test`, so that no crate is built twice.
fn walks() -> Result<(), String> {
    let mut command = cargo(&["test", "--workspace", "--locked", "--test", "suite"]);
    skips::listen(command.args(features()).args(["--", "--exact", WALKS]))
}

/// Runs the test of the testbed's DCTCP alone, because other tests would delay the switch. The test
/// reports missing rights and kernels without BPF. The step is skipped if this machine cannot build
/// the feature `dctcp`; the other CI steps then build without `dctcp`.
fn dctcp() -> Result<Outcome, String> {
    let missing = dctcp_lacks();
    if !missing.is_empty() {
        skips::note(&format!(
            "the testbed's DCTCP is neither built nor tested without {} (on Debian: apt-get install clang libelf-dev zlib1g-dev)",
            missing.join(", ")
        ));
        return Ok(Outcome::Skipped);
    }
    // Most users build the program without the feature `dctcp`, so clippy also checks this build.
    spawn(&mut cargo(&["clippy", "--package", "bufferlab-cli", "--locked", "--", "-D", "warnings"]))?;
    let of = ["--package", "bufferlab-cli", "--features", "dctcp", "--locked"];
    passed(skips::listen(cargo(&["test", "--test", "suite"]).args(of).args(["dctcp::", "--", "--nocapture"])))
}

/// Builds the documentation of all crates, including private items, because developers read the
/// documentation of private items.
fn doc() -> Result<(), String> {
    let arguments = ["doc", "--workspace", "--no-deps", "--document-private-items", "--locked"];
    spawn(cargo(&arguments).env("RUSTDOCFLAGS", "-D warnings"))
}

/// Uses the program as a user would: prints help, runs a scenario twice with all checks, and
/// compares the results.
///
/// The CI steps of a change use the program that the tests have built.
/// The release build alone would take as long as all tests.
///
/// # Errors
/// If the program fails or gives a wrong answer; the error describes the answer.
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

/// Runs the fuzzing searches with the fixed seeds and with a fresh seed.
fn fuzz_step() -> Result<(), String> {
    program(Build::Dev)?;
    FUZZ_FIXED.iter().chain(FUZZ_FRESH).try_for_each(|options| fuzz("dev", options))
}

/// Runs a fuzzing search in a build of the profile `profile`: "dev", which the tests have built, or
/// "search", which is much faster.
///
/// # Errors
/// If a case of the fuzzing search fails.
pub fn fuzz(profile: &str, options: &[&str]) -> Result<(), String> {
    let run = ["run", "--quiet", "--locked", "--package", "bufferlab-fuzz", "--profile", profile, "--"];
    spawn(cargo(&run).args(options))
}

/// Runs all fuzzing searches in turn for a given time. The program and the searches are built with
/// the build profile for searches.
///
/// # Errors
/// If a fuzzing search finds a failure.
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
                        doc: failed in 1 s\n== skipped\n\
                        test: the live view: `script` is not installed\ndctcp: DCTCP is not tested without clang\n";
        assert_eq!(summary(&done), expected);
        assert!(summary(&done[..1]).ends_with("== skipped\nnothing\n"));
    }

    #[test]
    fn the_first_failure_is_named_and_the_steps_behind_it_run() {
        let steps = [
            beside("slow", || {
                skips::note("a part of the slow one");
                std::thread::sleep(std::time::Duration::from_millis(100));
                Ok(Outcome::Passed)
            }),
            alone("first", || Ok(Outcome::Passed)),
            beside("bad", || Err("it failed".to_owned())),
            beside("late", || {
                skips::note("a part of the late one");
                Ok(Outcome::Passed)
            }),
        ];
        let error = run_steps(&steps).expect_err("a step fails");
        assert_eq!(error, "it failed\nhint: repeat this step with `cargo xtask bad`");
        let all: Vec<_> = steps.iter().filter(|step| step.beside).collect();
        let done = run_in_lanes(&all, LANES);
        let left_out =
            |name: &str| done.iter().find(|done| done.name == name).map(|done| done.left_out.clone());
        assert_eq!(left_out("slow"), Some(vec!["a part of the slow one".to_owned()]));
        assert_eq!(left_out("bad"), Some(Vec::new()), "each step has its own list");
        assert_eq!(left_out("late"), Some(vec!["a part of the late one".to_owned()]));
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
