//! Injects one fault and checks the results of the disturbed command.

use super::bench::{Bench, Files, Trial, describe, is_hidden};
use super::points::{Point, Shim, limited};
use crate::findings::Finding;
use bufferlab_units::RandomStream;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Duration after which a command counts as hung.
const HANGS_AFTER: Duration = Duration::from_secs(60);
/// Rust's message when memory is exhausted, which is neither a panic nor a defect of the program.
const OUT_OF_MEMORY: &str = "memory allocation of";

/// A fault that disturbs a command while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disturbance {
    /// A system call fails.
    Call {
        /// Kind of the failing system calls, such as `write`.
        op: &'static str,
        /// Linux's error number for the failing system call; 0 makes the call transfer fewer bytes.
        error: i32,
        /// Number of the failing system call, from 1; 0 means no call.
        at: u64,
        /// Whether all later system calls of the kind fail, too.
        sticky: bool,
    },
    /// The address space of the process is limited.
    Memory {
        /// Address space that the process may use (MiB).
        mib: u64,
    },
    /// The process gets the signal SIGKILL after a delay that depends on the number of the attempt.
    Kill {
        /// Number of the attempt to kill the command, which determines the moment of the signal.
        number: u64,
    },
}

impl Disturbance {
    /// Text that names the kind of the disturbance. Reports count faults by kind.
    #[must_use]
    pub fn kind(self) -> String {
        match self {
            Self::Call { op, error, sticky, .. } => {
                let error = match error {
                    0 => "short",
                    4 => "EINTR",
                    5 => "EIO",
                    24 => "EMFILE",
                    28 => "ENOSPC",
                    _ => "error",
                };
                format!("{op} {error}{}", if sticky { " from then on" } else { "" })
            }
            Self::Memory { .. } => "memory".to_owned(),
            Self::Kill { .. } => "kill -9".to_owned(),
        }
    }

    /// Sets the environment of the command so that the fault library causes the fault.
    pub(super) fn apply(self, command: &mut Command, bench: &Bench, shim: &Shim, log: &Path) {
        let Self::Call { op, error, at, sticky } = self else { return };
        command
            .env("LD_PRELOAD", &shim.library)
            .env("FAULT_UNDER", bench.out())
            .env("FAULT_LOG", log)
            .env("FAULT_OP", op)
            .env("FAULT_AT", at.to_string())
            .env("FAULT_ERRNO", error.to_string())
            .env("FAULT_STICKY", if sticky { "1" } else { "0" });
    }

    /// Whether the command must succeed despite the disturbance. A system call that transfers fewer
    /// bytes or is interrupted must not affect the command.
    const fn is_harmless(self) -> bool {
        matches!(self, Self::Call { error: 0 | 4, .. })
    }
}

/// Result files of undisturbed commands, by program and name of the command.
type ExpectedByCommand = BTreeMap<(PathBuf, &'static str), Arc<Expected>>;

/// Result files before an undisturbed command, and result files after the command.
type Expected = (Files, Files);
static EXPECTED: LazyLock<Mutex<ExpectedByCommand>> = LazyLock::new(Mutex::default);

fn expected(program: &Path, trial: &'static Trial) -> io::Result<Arc<Expected>> {
    let key = (program.to_owned(), trial.name);
    let known = || EXPECTED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(files) = known().get(&key) {
        return Ok(Arc::clone(files));
    }
    let bench = Bench::new(program, trial)?;
    let before = bench.files()?;
    bench.must(program, trial.command)?;
    let files = Arc::new((before, bench.files()?));
    known().insert(key, Arc::clone(&files));
    Ok(files)
}

/// Disturbs a command once. Returns the kind of the disturbance, and the finding, if any.
pub(super) fn judge(
    program: &Path,
    shim: Option<&Shim>,
    point: &Point,
    seed: u64,
    number: usize,
) -> io::Result<(String, Option<Finding>)> {
    let Point { trial, what } = point;
    let expected = expected(program, trial)?;
    let bench = Bench::new(program, trial)?;
    let output = disturbed(program, shim, &bench, trial, *what)?;
    let finding = wrong(program, &bench, trial, *what, &expected, output)?;
    let finding = finding.map(|(kind, text)| Finding {
        kind: kind.to_owned(),
        what: format!("{} under {what:?}: {text}", trial.name),
        replay: format!("cargo xtask fuzz fault {seed} {number}"),
    });
    Ok((what.kind(), finding))
}

fn disturbed(
    program: &Path,
    shim: Option<&Shim>,
    bench: &Bench,
    trial: &Trial,
    what: Disturbance,
) -> io::Result<Option<Output>> {
    match what {
        Disturbance::Call { .. } => {
            let mut command = bench.command(program, trial.command);
            if let Some(shim) = shim {
                what.apply(&mut command, bench, shim, &bench.beside("log"));
            }
            ended(&mut command, HANGS_AFTER)
        }
        Disturbance::Memory { mib } => {
            let mut command = limited(program, mib);
            bench.prepare(&mut command).args(trial.command);
            ended(&mut command, HANGS_AFTER)
        }
        Disturbance::Kill { number } => {
            let mut command = bench.command(program, trial.command);
            let start = Instant::now();
            // The signal is sent within the duration of the undisturbed command, because a later
            // signal would have no effect.
            let whole = ended(&mut bench_of(program, trial)?.command(program, trial.command), HANGS_AFTER)?;
            let whole_us = start.elapsed().as_micros() as u64;
            drop(whole);
            let mut stream = RandomStream::new(number, trial.name, 0);
            let wait = Duration::from_micros(stream.below(whole_us.max(1)));
            let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
            std::thread::sleep(wait);
            // The command may have ended before the signal SIGKILL.
            let _ = child.kill();
            let status = child.wait()?;
            Ok(Some(Output { status, stdout: Vec::new(), stderr: Vec::new() }))
        }
    }
}

fn bench_of(program: &Path, trial: &Trial) -> io::Result<Bench> {
    Bench::new(program, trial)
}

/// Output of a command; `None` if the command hung and was killed.
fn ended(command: &mut Command, patience: Duration) -> io::Result<Option<Output>> {
    let log = tempfile::tempfile()?;
    let mut child = command.stdout(Stdio::null()).stderr(log.try_clone()?).spawn()?;
    let start = Instant::now();
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if start.elapsed() > patience => {
                child.kill()?;
                child.wait()?;
                return Ok(None);
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    let mut stderr = Vec::new();
    let mut log = log;
    io::Seek::rewind(&mut log)?;
    io::Read::read_to_end(&mut log, &mut stderr)?;
    Ok(Some(Output { status, stdout: Vec::new(), stderr }))
}

type Wrong = (&'static str, String);

/// Checks the exit status and the files of a disturbed command,
/// then repeats the command without the disturbance.
fn wrong(
    program: &Path,
    bench: &Bench,
    trial: &Trial,
    what: Disturbance,
    (before, whole): &Expected,
    output: Option<Output>,
) -> io::Result<Option<Wrong>> {
    let Some(output) = output else { return Ok(Some(("hang", "it did not end".to_owned()))) };
    let left = bench.files()?;
    let said = describe(trial.command, &output);
    let log = fs::read_to_string(bench.beside("log")).unwrap_or_default();
    let fired = log.lines().find_map(|line| line.strip_prefix("fired "));
    let said = fired.map_or(said.clone(), |fired| format!("{said} (failed: {fired})"));
    let is_fired = fired.is_some();
    if let Some(wrong) = bad_end(what, output.status, &said, is_fired) {
        return Ok(Some(wrong));
    }
    if let Some(name) = partial(&left, before, whole) {
        return Ok(Some((
            "partial result",
            format!("{name} is neither the earlier nor the new one; {said}"),
        )));
    }
    if let Some(name) = lost(&left, before, whole) {
        return Ok(Some(("lost result", format!("{name} is gone; {said}"))));
    }
    if output.status.success()
        && let Some(name) = difference(&left, whole, false)
    {
        return Ok(Some(("silent", format!("exit code 0, and {name} differs or is missing; {said}"))));
    }
    let again = bench.command(program, trial.command).output()?;
    if !again.status.success() {
        return Ok(Some(("not repeatable", format!("{said}; then {}", describe(trial.command, &again)))));
    }
    let ended = bench.files()?;
    Ok(difference(&ended, whole, true)
        .map(|name| ("not repeatable", format!("{name} differs after the repetition; {said}"))))
}

/// Finds a crash or a wrong exit code of a disturbed command.
fn bad_end(what: Disturbance, status: ExitStatus, said: &str, is_fired: bool) -> Option<Wrong> {
    let is_killed = matches!(what, Disturbance::Kill { .. });
    let is_starved = matches!(what, Disturbance::Memory { .. });
    if said.contains("panicked at") && !is_killed {
        return Some(("panic", said.to_owned()));
    }
    match status.code() {
        Some(0) => None,
        // With a small address space, the system may be unable to load the program.
        Some(_) if is_starved => None,
        Some(1) if !said.is_empty() => {
            (what.is_harmless() && is_fired).then(|| ("refusal", format!("a harmless call ended it: {said}")))
        }
        Some(_) => Some(("exit code", said.to_owned())),
        None if is_killed => None,
        None if is_starved && (said.contains(OUT_OF_MEMORY) || !said.contains("SIGSEGV")) => None,
        None => Some(("abort", said.to_owned())),
    }
}

/// Finds a visible file that equals neither the file of the earlier result nor the file of the new
/// result. Summary files may cover only the complete runs, but must not be truncated.
fn partial<'f>(left: &'f Files, before: &Files, whole: &Files) -> Option<&'f str> {
    let is_known =
        |name: &str, content: &Vec<u8>| [before, whole].iter().any(|files| files.get(name) == Some(content));
    let is_fine = |name: &str, content: &Vec<u8>| match name.strip_suffix("SHA256SUMS") {
        Some(folder) => are_sums_of(folder, content, left),
        None => is_known(name, content) || is_summary(name, left) && is_uncut(name, content),
    };
    let mut visible = left.iter().filter(|(name, _)| !is_hidden(name));
    visible.find(|(name, content)| !is_fine(name, content)).map(|(name, _)| name.as_str())
}

/// Whether a result file summarises runs. A summary is outside the folder of a run, or is the page
/// of a run. Bufferlab can recreate the page from the tables.
fn is_summary(name: &str, files: &Files) -> bool {
    let (folder, file) = name.rsplit_once('/').unwrap_or(("", name));
    file == "report.html" || !files.contains_key(&format!("{folder}/manifest.json"))
}

/// Whether every line of `SHA256SUMS` is the checksum of an existing file. A page or a table may be
/// newer than in the earlier result and in the undisturbed result. A file may lack a checksum, but
/// no checksum may be wrong. `folder` is empty or ends with a slash.
fn are_sums_of(folder: &str, content: &[u8], files: &Files) -> bool {
    let text = String::from_utf8_lossy(content);
    let agrees = |line: &str| {
        let (sum, name) = line.split_once("  ")?;
        let file = files.get(&format!("{folder}{name}"))?;
        (format!("{:x}", Sha256::digest(file)) == sum).then_some(())
    };
    text.ends_with('\n') && text.lines().all(|line| agrees(line).is_some())
}

/// Whether a file has the ending of a complete file of its kind.
fn is_uncut(name: &str, content: &[u8]) -> bool {
    let text = String::from_utf8_lossy(content);
    match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "html" => text.trim_end().ends_with("</html>"),
        "svg" => text.trim_end().ends_with("</svg>"),
        "json" => serde_json::from_slice::<serde_json::Value>(content).is_ok(),
        "parquet" => content.len() > 8 && content.ends_with(b"PAR1"),
        "csv" => {
            let mut widths =
                text.lines().filter(|line| !line.contains('"')).map(|line| line.split(',').count());
            let first = widths.next();
            text.ends_with('\n') && widths.all(|width| Some(width) == first)
        }
        "toml" | "md" => text.ends_with('\n'),
        "png" => content.ends_with(b"IEND\xaeB\x60\x82"),
        // A trace file has no recognisable last line.
        _ => false,
    }
}

/// Finds a result file of the earlier run that is missing, although the new result contains a file
/// with this name.
fn lost<'f>(left: &Files, before: &'f Files, whole: &Files) -> Option<&'f str> {
    // While a command replaces a result, the complete old result is briefly in a hidden folder next
    // to the new result.
    let is_aside = |name: &str| {
        let mut parts: Vec<_> = name.split('/').collect();
        let file = parts.pop().unwrap_or_default();
        let folder = parts.pop().unwrap_or_default();
        let aside = [&parts[..], &[&format!(".{folder}.replaced"), file]].concat().join("/");
        left.get(&aside) == before.get(name)
    };
    let mut gone = before.keys().filter(|name| !is_hidden(name) && !left.contains_key(*name));
    gone.find(|name| whole.contains_key(*name) && !is_summary(name, before) && !is_aside(name))
        .map(String::as_str)
}

/// Finds the first file that differs from the undisturbed result. If `exact` is false, additional
/// hidden files are no difference.
fn difference<'f>(found: &'f Files, whole: &'f Files, exact: bool) -> Option<&'f str> {
    let surplus = found.keys().find(|name| !whole.contains_key(*name) && (exact || !is_hidden(name)));
    let changed =
        whole.iter().find(|(name, content)| found.get(*name) != Some(content)).map(|(name, _)| name);
    changed.or(surplus).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(list: &[(&str, &str)]) -> Files {
        list.iter().map(|(name, content)| ((*name).to_owned(), content.as_bytes().to_vec())).collect()
    }

    #[test]
    fn partial_lost_and_changed_files_are_found() {
        let before = files(&[("first/manifest.json", "old")]);
        let whole = files(&[("first/manifest.json", "new"), ("report.html", "page")]);
        for good in [&before, &whole, &files(&[("first/manifest.json", "new"), (".first.partial/x", "half")])]
        {
            assert_eq!((partial(good, &before, &whole), lost(good, &before, &whole)), (None, None));
        }
        let page = |text: &str| files(&[("first/manifest.json", "new"), ("report.html", text)]);
        assert_eq!(partial(&page("<html></html>"), &before, &whole), None);
        assert_eq!(partial(&page("<html></ht"), &before, &whole), Some("report.html"));
        assert!(
            is_uncut("a.csv", b"x,y\n1,2\n") && !is_uncut("a.csv", b"x,y\n1") && !is_uncut("a.json", b"{")
        );
        let sum = "cf4e2ca29a6d3e53c88a1a3fb0eb3ab8df4bc6f2f6bc3bbe6a1db6f3d5ca9ac3"; // of a different file
        assert!(!are_sums_of("first/", format!("{sum}  manifest.json\n").as_bytes(), &before));
        let sum = format!("{:x}", Sha256::digest("old"));
        assert!(are_sums_of("first/", format!("{sum}  manifest.json\n").as_bytes(), &before));
        assert!(!are_sums_of("first/", format!("{sum}  manifest.json").as_bytes(), &before), "cut");
        let cut = files(&[("first/manifest.json", "ne")]);
        assert_eq!(partial(&cut, &before, &whole), Some("first/manifest.json"));
        assert_eq!(lost(&files(&[]), &before, &whole), Some("first/manifest.json"));
        let aside = files(&[(".first.replaced/manifest.json", "old")]);
        assert_eq!(lost(&aside, &before, &whole), None);
        assert_eq!(difference(&before, &whole, false), Some("first/manifest.json"));
        let leftover = files(&[("first/manifest.json", "new"), ("report.html", "page"), (".lock", "")]);
        assert_eq!(difference(&leftover, &whole, false), None);
        assert_eq!(difference(&leftover, &whole, true), Some(".lock"));
    }
}
