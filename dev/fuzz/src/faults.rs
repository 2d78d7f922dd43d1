//! Runs the real program while the system fails. A fault is a failing system call on a file
//! (create, write, read, rename, remove), memory exhaustion, or a kill at any moment.
//!
//! After every fault, the exit code must be right and earlier results must be complete. Partial
//! results must never be taken for finished results. The repeated command must produce the bytes of
//! an undisturbed command.

mod bench;
mod disturb;
mod points;

use crate::findings::Report;
use points::{Shim, points};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

pub use disturb::Disturbance;

/// Options of an injection of faults.
#[derive(Clone, Debug)]
pub struct Faults {
    /// Path of the tested program, such as `target/debug/bufferlab`.
    pub program: PathBuf,
    /// Seed of the order in which faults are injected.
    pub seed: u64,
    /// Maximum duration of the injection of faults.
    pub time: Duration,
    /// Maximum number of injected faults.
    pub most: usize,
    /// Position of the first injected fault in the order of faults. A later injection continues
    /// after the last injected fault.
    pub from: usize,
    /// Number of tested commands that run in parallel.
    pub jobs: u64,
}

/// Result of an injection of faults.
#[derive(Clone, Debug, Default)]
pub struct Injected {
    /// Numbers of injected faults by kind, and the failures that these faults revealed.
    pub report: Report,
    /// Position that the injection has reached in the order of faults, including the faults of
    /// earlier injections.
    pub done: usize,
    /// Total number of faults in the seed's order.
    pub all: usize,
    /// Reason why the injection made no system call fail; `None` if system calls failed.
    pub skipped: Option<String>,
}

/// Injects faults, in an order that the seed determines, until the time or the faults run out.
///
/// # Errors
/// If a temporary folder cannot be created, or the undisturbed program fails.
pub fn inject(options: &Faults) -> io::Result<Injected> {
    let shim = Shim::build();
    let (shim, skipped) = match shim {
        Ok(shim) => (Some(shim), None),
        Err(why) => (None, Some(why)),
    };
    let all = points(&options.program, shim.as_ref(), options.seed)?;
    let begin = Instant::now();
    let end = all.len().min(options.from.saturating_add(options.most));
    let next = AtomicUsize::new(options.from);
    let (sender, receiver) = mpsc::channel();
    let mut report = Report::default();
    thread::scope(|scope| {
        for _ in 0..options.jobs {
            let (all, next, shim, sender) = (&all, &next, shim.as_ref(), sender.clone());
            scope.spawn(move || {
                while begin.elapsed() < options.time {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= end {
                        break;
                    }
                    let judged = disturb::judge(&options.program, shim, &all[at], options.seed, at);
                    if sender.send(judged).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        for judged in receiver {
            let (kind, finding) = judged?;
            *report.outcomes.entry(kind).or_default() += 1;
            report.findings.extend(finding);
        }
        Ok::<_, io::Error>(())
    })?;
    let done = options.from + report.outcomes.values().sum::<u64>() as usize;
    Ok(Injected { report, done, all: all.len(), skipped })
}

/// Repeats the fault at position `number` of the list that a seed orders. Returns a description of
/// the fault, and the findings.
///
/// # Errors
/// Returns the errors of [`inject`]. Also fails if fault `number` does not exist.
pub fn repeat(program: &Path, seed: u64, number: usize) -> io::Result<(String, Report)> {
    let shim = Shim::build().ok();
    let all = points(program, shim.as_ref(), seed)?;
    let point =
        all.get(number).ok_or_else(|| io::Error::other(format!("{number} of {} faults", all.len())))?;
    let (kind, finding) = disturb::judge(program, shim.as_ref(), point, seed, number)?;
    let report =
        Report { outcomes: [(kind, 1)].into(), findings: finding.into_iter().collect(), ..Report::default() };
    Ok((format!("{point:?}"), report))
}
