//! Lists all faults: every system call of every command, in an order that the seed determines.

use super::bench::{Bench, TRIALS, Trial};
use super::disturb::Disturbance;
use bufferlab_units::RandomStream;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Source code of the library that makes system calls fail.
const SOURCE: &str = include_str!("shim.c");
/// Kinds of system calls, with possible errors as Linux's error numbers. The number 0 means that
/// the call transfers fewer bytes. Signals interrupt only slow calls (EINTR), so opening and
/// renaming files never fail with EINTR.
const ERRORS: &[(&str, &[i32])] = &[
    ("open", &[EIO, EMFILE]),
    ("create", &[EIO, ENOSPC]),
    ("write", &[EIO, ENOSPC, EINTR, 0]),
    ("read", &[EIO, EINTR, 0]),
    ("rename", &[EIO, ENOSPC]),
    ("mkdir", &[EIO, ENOSPC]),
    ("remove", &[EIO]),
    ("sync", &[EIO]),
];
const EINTR: i32 = 4;
const EIO: i32 = 5;
const EMFILE: i32 = 24;
const ENOSPC: i32 = 28;
/// Range of address spaces for commands (MiB). The smallest address space is too small to load the
/// program, and the largest suffices for every command.
const MEMORY_MIB: std::ops::Range<u64> = 16..400;
const MEMORY_STEP_MIB: usize = 6;
/// Number of moments at which each command is killed.
const KILLS: u64 = 20;

/// Compiled library that makes system calls of a process fail.
#[derive(Debug)]
pub(crate) struct Shim {
    _folder: TempDir,
    pub(super) library: PathBuf,
}

impl Shim {
    /// Compiles the library that makes system calls of the tested program fail.
    ///
    /// # Errors
    /// Returns the reason why this machine cannot compile the library.
    pub(super) fn build() -> Result<Self, String> {
        if !cfg!(target_os = "linux") {
            return Err("calls fail under Linux only".to_owned());
        }
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let (source, library) = (folder.path().join("shim.c"), folder.path().join("shim.so"));
        fs::write(&source, SOURCE).map_err(|error| error.to_string())?;
        let compiler = Command::new("cc")
            .args(["-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", "-o"])
            .args([&library, &source])
            .arg("-ldl")
            .output()
            .map_err(|error| format!("no C compiler: {error}"))?;
        if !compiler.status.success() {
            return Err(format!("the C compiler failed: {}", String::from_utf8_lossy(&compiler.stderr)));
        }
        Ok(Self { _folder: folder, library })
    }
}

/// A fault that can be injected: a command and its disturbance.
#[derive(Debug)]
pub(crate) struct Point {
    pub(super) trial: &'static Trial,
    pub(super) what: Disturbance,
}

/// Lists all faults that the injection can cause in all commands.
///
/// # Errors
/// If an undisturbed command fails.
pub(super) fn points(program: &Path, shim: Option<&Shim>, seed: u64) -> io::Result<Vec<Point>> {
    let mut all = Vec::new();
    let memory: Vec<_> = MEMORY_MIB.step_by(MEMORY_STEP_MIB).filter(|&mib| is_loaded(program, mib)).collect();
    for trial in TRIALS {
        let mut push = |what| all.push(Point { trial, what });
        if let Some(shim) = shim {
            let counts = counts(program, shim, trial)?;
            for (op, errors) in ERRORS {
                let count = counts.get(*op).copied().unwrap_or_default();
                for (&error, at) in errors.iter().flat_map(|error| (1..=count).map(move |at| (error, at))) {
                    push(Disturbance::Call { op, error, at, sticky: false });
                    if error == ENOSPC {
                        push(Disturbance::Call { op, error, at, sticky: true });
                    }
                }
            }
        }
        memory.iter().for_each(|&mib| push(Disturbance::Memory { mib }));
        (0..KILLS).for_each(|number| push(Disturbance::Kill { number }));
    }
    shuffle(&mut all, seed);
    Ok(all)
}

/// Whether the system can load the program into this address space (MiB).
/// Under a smaller limit the system ends the process, and the program cannot be tested.
fn is_loaded(program: &Path, mib: u64) -> bool {
    let mut command = limited(program, mib);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Runs the program with a limited address space (MiB).
pub(super) fn limited(program: &Path, mib: u64) -> Command {
    let mut command = Command::new("sh");
    let script = format!("ulimit -v {}; exec \"$0\" \"$@\"", mib << 10);
    command.args(["-c", &script]).arg(program);
    command
}

fn shuffle(all: &mut [Point], seed: u64) {
    let mut stream = RandomStream::new(seed, "faults", 0);
    for last in (1..all.len()).rev() {
        all.swap(last, stream.below(last as u64 + 1) as usize);
    }
}

/// Number of system calls of each kind that an undisturbed command makes.
fn counts(program: &Path, shim: &Shim, trial: &Trial) -> io::Result<BTreeMap<String, u64>> {
    let bench = Bench::new(program, trial)?;
    let log = bench.beside("log");
    let mut command = bench.command(program, trial.command);
    Disturbance::Call { op: "none", error: 0, at: 0, sticky: false }.apply(&mut command, &bench, shim, &log);
    let output = command.output()?;
    if !output.status.success() {
        return Err(io::Error::other(super::bench::describe(trial.command, &output)));
    }
    let text = fs::read_to_string(&log)?;
    let count = |line: &str| {
        let (op, count) = line.strip_prefix("count ")?.split_once(' ')?;
        Some((op.to_owned(), count.trim().parse().ok()?))
    };
    Ok(text.lines().filter_map(count).collect())
}
