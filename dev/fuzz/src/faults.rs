//! The real program where the system fails: the N-th call that creates, writes, reads, renames or
//! removes a file, memory that ends, and kills at any moment.
//!
//! Whatever fails: the exit code tells, earlier results stay whole, nothing partial is taken for
//! finished, and the repeated command ends with the bytes of an undisturbed one.

mod bench;
mod disturb;
mod points;

use crate::search::Report;
use points::{Shim, points};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

pub use disturb::Disturbance;

/// What to do.
#[derive(Clone, Debug)]
pub struct Faults {
    /// The program: `target/debug/bufferlab`.
    pub program: PathBuf,
    /// Of the order in which faults are injected.
    pub seed: u64,
    /// When to end.
    pub time: Duration,
    /// How many faults at most.
    pub most: usize,
    /// Where to begin in the order; a later call goes on there.
    pub from: usize,
    /// Commands at a time.
    pub jobs: u64,
}

/// What was injected.
#[derive(Clone, Debug, Default)]
pub struct Injected {
    /// Faults by kind, and findings.
    pub report: Report,
    /// How many of the order are done by now, those of earlier calls included.
    pub done: usize,
    /// How many faults there are.
    pub all: usize,
    /// Why calls were not let fail, where they were not.
    pub skipped: Option<String>,
}

/// Injects faults, in an order by the seed, until the time or the faults are used up.
///
/// # Errors
/// If a folder for temporary files cannot be made, or the program does not do its work undisturbed.
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

/// Injects fault `number` of the order of a seed once more. Answers what it is, and what went
/// wrong.
///
/// # Errors
/// As [`inject`], and if there is no such fault.
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
