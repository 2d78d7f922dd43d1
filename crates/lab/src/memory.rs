//! Checks that planned runs fit in memory.
//!
//! The limit is the memory that the system has free when a command starts. So a large server may
//! run scenarios that a laptop rejects. The program rejects a run before the system would kill the
//! process. If the system reports a wrong amount, `--memory-limit` replaces it.

use crate::limits::RESERVE;
use crate::{PlanError, RunError};
use bufferlab_scenario::{Loaded, Scenario};
use bufferlab_sim::MemoryEstimate;
use bufferlab_workload::FLOW_BYTES;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Free memory that is assumed if the system has no `/proc` (bytes).
const ASSUMED: u64 = 16_000_000_000;

/// Memory limit from [`set_memory_limit`] (bytes); 0 means no limit.
static LIMIT: AtomicU64 = AtomicU64::new(0);

/// Overrides the system's free memory until the process ends (bytes).
pub fn set_memory_limit(bytes: u64) {
    LIMIT.store(bytes.max(1), Ordering::Relaxed);
}

/// Memory limit of a command, and the origin of this limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryBudget {
    /// Amount of memory that the command may use (bytes).
    pub bytes: u64,
    /// Origin of the memory limit as text, such as "the system has".
    pub source: &'static str,
}

/// Returns the smallest memory limit of the user, the system, the control group and the shell.
#[must_use]
pub fn memory_budget() -> MemoryBudget {
    let limit = LIMIT.load(Ordering::Relaxed);
    if limit > 0 {
        return MemoryBudget { bytes: limit, source: "--memory-limit allows" };
    }
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let known = [
        (available(&text("/proc/meminfo")), "the system has"),
        (control_group(&text("/proc/self/cgroup"), Path::new("/sys/fs/cgroup")), "the control group has"),
        (address_space(&text("/proc/self/limits"), &text("/proc/self/status")), "`ulimit -v` leaves"),
    ];
    let known = known.into_iter().filter_map(|(bytes, source)| Some(MemoryBudget { bytes: bytes?, source }));
    known
        .min_by_key(|budget| budget.bytes)
        .unwrap_or(MemoryBudget { bytes: ASSUMED, source: "it is assumed that the system has" })
}

/// Reads `MemAvailable` from the text of `/proc/meminfo` (bytes).
fn available(meminfo: &str) -> Option<u64> {
    kilobytes(meminfo, "MemAvailable:")
}

/// Reads the number after a label in a `/proc` file that counts in kB, and returns bytes.
fn kilobytes(text: &str, label: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(label))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1_024)
}

/// Returns the memory that the control group of this process and the groups above it have left
/// (bytes).
fn control_group(membership: &str, root: &Path) -> Option<u64> {
    let path = membership.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let number = |path: &Path| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let left = |folder: &Path| {
        let (most, used) = (number(&folder.join("memory.max"))?, number(&folder.join("memory.current"))?);
        // Cached file pages count as used memory, but the system reclaims these pages on demand.
        let stat = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
        let cached = stat.lines().find_map(|line| line.strip_prefix("inactive_file ")?.parse::<u64>().ok());
        Some(most.saturating_sub(used.saturating_sub(cached.unwrap_or(0))))
    };
    root.join(path).ancestors().take_while(|folder| folder.starts_with(root)).filter_map(left).min()
}

/// Address space that the limit of `ulimit -v` leaves (bytes).
fn address_space(limits: &str, status: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let most = line.split_whitespace().next()?.parse::<u64>().ok()?;
    Some(most.saturating_sub(kilobytes(status, "VmSize:").unwrap_or(0)))
}

/// Error of a run that does not fit in memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "it takes about {} of memory before its first packet{}, and {} {}",
    format_memory(self.estimate.bytes()),
    in_words(&self.estimate),
    self.budget.source,
    format_memory(self.budget.bytes)
)]
pub struct TooMuchMemory {
    /// Estimated memory of the run before its first packet.
    pub estimate: MemoryEstimate,
    /// Memory that the command may use.
    pub budget: MemoryBudget,
}

/// Describes the largest parts of a memory estimate, such as " (tables of flows 8.6 GB: see
/// `flow_entries`, the number of switches)".
fn in_words(estimate: &MemoryEstimate) -> String {
    let large = |part: &&bufferlab_sim::MemoryPart| part.bytes >= estimate.bytes() / 20;
    let parts = estimate.parts().iter().filter(large);
    let parts: Vec<_> =
        parts.map(|part| format!("{} {}: see {}", part.what, format_memory(part.bytes), part.keys)).collect();
    format!(" ({})", parts.join("; "))
}

/// Formats a number of bytes for people, such as "8.6 GB".
#[must_use]
pub fn format_memory(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} KB", bytes.div_ceil(1_000)),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

/// Checks that one run of a scenario fits in memory.
///
/// # Errors
/// Returns [`RunError::Memory`] before the network is built.
pub fn fits(scenario: &Scenario) -> Result<(), RunError> {
    fits_into(scenario, memory_budget()).map(|_| ())
}

/// Returns the memory of a run (bytes), or an error if the memory exceeds `budget`.
pub(crate) fn fits_into(scenario: &Scenario, budget: MemoryBudget) -> Result<u64, RunError> {
    let estimate = MemoryEstimate::new(scenario);
    match estimate.bytes().saturating_add(RESERVE) {
        bytes if bytes <= budget.bytes => Ok(bytes),
        _ => Err(RunError::Memory(Box::new(TooMuchMemory { estimate, budget }))),
    }
}

/// Rejects a plan whose loaded scenarios need more memory than the command may use. Each run keeps
/// its scenario, with files and lists, until the run ends.
pub(crate) fn plan_fits(loaded: &Loaded, runs: u64) -> Result<(), PlanError> {
    let files: usize = loaded.inputs.iter().map(|input| input.content.len()).sum();
    let listed: usize = loaded.scenario.workloads.iter().map(|spec| spec.workload.listed_flows()).sum();
    let one = (files + listed * FLOW_BYTES + 2 * loaded.resolved.len()) as u64;
    let (all, budget) = (one.saturating_mul(runs), memory_budget());
    if all <= budget.bytes {
        return Ok(());
    }
    let held = match runs {
        1 => format!("the run holds {} of files and lists", format_memory(one)),
        _ => {
            let (one, all) = (format_memory(one), format_memory(all));
            format!("{runs} runs hold {one} of files and lists each, {all} in all")
        }
    };
    let message = format!("{held}, and {} {}", budget.source, format_memory(budget.bytes));
    Err(PlanError::refused(message, "plan fewer runs at a time, shorten the lists, or raise --memory-limit"))
}
