//! Passes damaged input to all parts of bufferlab that read files, requests or answers. Readers
//! must not panic or abort, and must have bounded time and memory.
//!
//! A batch is a number of inputs for one reader. Inputs are changes of small valid files, and of
//! earlier inputs of the batch. An earlier input is reused if the reader's error message was new,
//! apart from names and numbers. The reuse is a cheap substitute for code coverage, because later
//! inputs reach code behind the first check.

mod mutate;
mod requests;
mod targets;

use crate::findings::{Finding, Report};
use crate::guard::guarded;
use crate::values::Dice;
use bufferlab_units::RandomStream;
use cpu_time::ProcessTime;
use mutate::mutate;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, io};
use targets::TARGETS;

pub(crate) use targets::Desk;

/// Maximum number of inputs that a batch of the fuzzer keeps for further changes.
const KEPT_MAX: usize = 64;
/// Largest memory that a reader may take for one input (KiB).
const MEMORY_MAX_KIB: u64 = 256 << 10;
/// Maximum number of attempts to minimise a failing input.
const SMALLER_ATTEMPTS: u32 = 400;
/// Maximum time to minimise a failing input. The minimisation must end before the batch counts as
/// hung.
const SMALLER_FOR: Duration = Duration::from_secs(5);

/// A reader of files, requests or answers that the fuzzer tests.
pub(crate) struct Target {
    /// Name of the reader on the command line and in reports.
    pub(crate) name: &'static str,
    /// Function that returns small valid inputs for the reader.
    pub(crate) seeds: fn() -> Vec<Vec<u8>>,
    /// Keywords of the reader's format, which the fuzzer inserts into inputs.
    pub(crate) words: &'static [&'static str],
    /// Number of inputs in one batch for the reader.
    pub(crate) inputs: u64,
    /// CPU time that the reader may take for an input (s).
    pub(crate) seconds: u64,
    /// Function that reads an input. The error is the reader's refusal as text.
    pub(crate) read: fn(&mut Desk, &[u8]) -> Result<(), String>,
}

/// Name of the reader that a batch tests.
#[must_use]
pub fn target_of(number: u64) -> &'static str {
    target(number).name
}

/// Names of all readers that the fuzzer tests.
pub fn targets() -> impl Iterator<Item = &'static str> {
    TARGETS.iter().map(|target| target.name)
}

fn target(number: u64) -> &'static Target {
    &TARGETS[(number % TARGETS.len() as u64) as usize]
}

/// A failure of a reader: the kind of the failure, and a description.
type Wrong = (&'static str, String);

/// Passes one input to a reader. Returns the reader's refusal, if any.
fn judge(target: &Target, desk: &mut Desk, input: &[u8]) -> Result<Result<(), String>, Wrong> {
    forget_peak();
    let before = peak_kib().unwrap_or_default();
    let start = ProcessTime::now();
    let answer =
        guarded(|| (target.read)(desk, input)).map_err(|panic| ("panic", format!("panic {panic}")))?;
    let took = start.elapsed();
    if took > Duration::from_secs(target.seconds) {
        return Err(("time", format!("{:.1} s for {} B", took.as_secs_f64(), input.len())));
    }
    let grown = peak_kib().unwrap_or_default().saturating_sub(before);
    if grown > MEMORY_MAX_KIB {
        return Err(("memory", format!("{} MiB for {} B", grown >> 10, input.len())));
    }
    Ok(answer)
}

/// Runs the batch of inputs with the number `number` under a seed. The function writes every input
/// to the file `trace` before the reader reads the input, to find an input that kills the process.
///
/// # Errors
/// If a failing input cannot be written into `out`.
pub fn batch(seed: u64, number: u64, out: &Path, trace: Option<&Path>) -> io::Result<Report> {
    run(target(number), seed, number, out, trace)
}

fn run(target: &Target, seed: u64, number: u64, out: &Path, trace: Option<&Path>) -> io::Result<Report> {
    let mut stream = RandomStream::new(seed, "parsers", number);
    let mut dice = Dice(&mut stream);
    let mut desk = Desk::new()?;
    let mut kept = (target.seeds)();
    let seeds = kept.len();
    let mut shapes = BTreeSet::new();
    let mut report = Report::default();
    let mut kinds = BTreeSet::new();
    for index in 0..target.inputs {
        // The batch also contains unchanged valid inputs, which show that the reader accepts some
        // input.
        let input = match kept.get(index as usize).filter(|_| index < seeds as u64) {
            Some(seed) => seed.clone(),
            None => mutate(&mut dice, &kept, target.words),
        };
        if let Some(trace) = trace {
            fs::write(trace, &input)?;
        }
        let word = match judge(target, &mut desk, &input) {
            Ok(answer) => {
                if shapes.insert(shape(&answer)) && kept.len() < seeds + KEPT_MAX {
                    kept.push(input);
                }
                if answer.is_ok() { "accepted" } else { "refused" }
            }
            Err((kind, what)) => {
                if kinds.insert((kind, what.lines().next().unwrap_or_default().to_owned())) {
                    let input = smaller(target, &mut desk, input, kind);
                    report.findings.push(write_down(
                        target,
                        &input,
                        (seed, number, index),
                        kind,
                        &what,
                        out,
                    )?);
                }
                "wrong"
            }
        };
        *report.outcomes.entry(format!("{} {word}", target.name)).or_default() += 1;
    }
    Ok(report)
}

/// Hash of a reader's error message without quoted text and digits.
fn shape(answer: &Result<(), String>) -> u64 {
    let text = answer.as_ref().err().map_or("", String::as_str);
    let mut hasher = DefaultHasher::new();
    let mut is_quoted = false;
    for c in text.chars().take(400) {
        is_quoted ^= matches!(c, '"' | '`');
        if !is_quoted && !c.is_ascii_digit() {
            c.hash(&mut hasher);
        }
    }
    hasher.finish()
}

/// Searches for a smaller input that makes the reader fail in the way of the original input.
fn smaller(target: &Target, desk: &mut Desk, mut input: Vec<u8>, kind: &str) -> Vec<u8> {
    let (mut attempts, start) = (0, Instant::now());
    let mut part = input.len() / 2;
    let goes_on = |attempts| attempts < SMALLER_ATTEMPTS && start.elapsed() < SMALLER_FOR;
    while part > 0 && goes_on(attempts) {
        let mut at = 0;
        while at < input.len() && goes_on(attempts) {
            attempts += 1;
            let mut without = input.clone();
            without.drain(at..input.len().min(at + part));
            match judge(target, desk, &without) {
                Err((found, _)) if found == kind => input = without,
                _ => at += part,
            }
        }
        part /= 2;
    }
    input
}

fn write_down(
    target: &Target,
    input: &[u8],
    (seed, number, index): (u64, u64, u64),
    kind: &str,
    what: &str,
    out: &Path,
) -> io::Result<Finding> {
    fs::create_dir_all(out)?;
    let path = out.join(format!("{}-{seed}-{number}-{index}.bin", target.name));
    fs::write(&path, input)?;
    let first = what.lines().next().unwrap_or_default();
    Ok(Finding {
        kind: kind.to_owned(),
        what: format!("{}: {first}", target.name),
        replay: format!("cargo xtask fuzz input {}", path.display()),
    })
}

/// Passes the content of a file to a reader. The name of the file begins with the name of the
/// reader.
///
/// # Errors
/// If no reader has this name, the file is unreadable, or reading the input fails.
pub fn input(path: &Path) -> Result<String, String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let fits = |target: &&Target| name.strip_prefix(target.name).is_some_and(|rest| rest.starts_with('-'));
    let target = TARGETS.iter().filter(fits).max_by_key(|target| target.name.len()).ok_or_else(|| {
        let known: Vec<_> = targets().collect();
        format!("{name}: the name must begin with one of {} and a hyphen", known.join(", "))
    })?;
    let failed = |error: io::Error| format!("{}: {error}", path.display());
    let bytes = fs::read(path).map_err(failed)?;
    let mut desk = Desk::new().map_err(failed)?;
    match judge(target, &mut desk, &bytes) {
        Ok(Ok(())) => Ok("accepted".to_owned()),
        Ok(Err(refusal)) => Ok(format!("refused: {refusal}")),
        Err((kind, what)) => Err(format!("{kind}: {what}")),
    }
}

/// Peak memory of this process since the last call of [`forget_peak`] (KiB); `None` if the system
/// does not report the peak memory.
fn peak_kib() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Resets the peak memory of this process to the present memory.
fn forget_peak() {
    // Writing to /proc fails on systems other than Linux, on which the peak memory is unknown, too.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    /// All threads of a process share its memory and its panic handler. So tests that measure
    /// memory or panics run one after the other.
    static TURN: Mutex<()> = Mutex::new(());

    fn turn() -> MutexGuard<'static, ()> {
        TURN.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fragile(_: &mut Desk, input: &[u8]) -> Result<(), String> {
        assert!(!input.contains(&b'!'), "no exclamation");
        if input.contains(&b'~') {
            let hog = vec![1_u8; 300 << 20];
            return Err(format!("{} bytes", hog.iter().filter(|byte| **byte == 1).count()));
        }
        input.is_ascii().then_some(()).ok_or_else(|| "not ASCII".to_owned())
    }

    const FRAGILE: Target = Target {
        name: "fragile",
        seeds: || vec![b"plain text".to_vec()],
        words: &["!"],
        inputs: 60,
        seconds: 1,
        read: fragile,
    };

    #[test]
    fn a_reader_that_panics_is_caught_with_the_smallest_input() {
        let _turn = turn();
        let out = tempfile::tempdir().expect("a folder");
        let report = run(&FRAGILE, 1, 1, out.path(), None).expect("writable");
        assert_eq!(report, run(&FRAGILE, 1, 1, out.path(), None).expect("writable"), "a batch is repeatable");
        let finding = report.findings.iter().find(|finding| finding.kind == "panic").expect("it panics");
        assert!(finding.what.contains("no exclamation"), "{finding:?}");
        let file = finding.replay.rsplit(' ').next().expect("a file");
        assert_eq!(fs::read(file).expect("it is written"), b"!");
    }

    #[test]
    fn a_reader_that_takes_too_much_memory_is_caught() {
        if peak_kib().is_none() {
            let why = "SKIPPED the limit of a reader's memory: the system does not tell the peak";
            let _ = writeln!(std::io::stderr(), "{why}");
            return;
        }
        let _turn = turn();
        let mut desk = Desk::new().expect("a folder");
        assert_eq!(judge(&FRAGILE, &mut desk, b"small"), Ok(Ok(())));
        let (kind, what) = judge(&FRAGILE, &mut desk, b"~").expect_err("300 MiB");
        assert_eq!(kind, "memory", "{what}");
    }

    #[test]
    fn every_target_accepts_its_seeds() {
        let _turn = turn();
        let mut refused = Vec::new();
        for target in TARGETS {
            let mut desk = Desk::new().expect("a folder");
            for (index, seed) in (target.seeds)().iter().enumerate() {
                let answer = judge(target, &mut desk, seed);
                if answer != Ok(Ok(())) {
                    refused.push(format!("{} {index}: {answer:?}", target.name));
                }
            }
        }
        assert!(refused.is_empty(), "{}", refused.join("\n"));
    }
}
