//! Finds finished runs, so that a repeated command resumes.

use crate::Job;
use crate::execute::has_stored;
use bufferlab_results::{MANIFEST_FILE, Manifest, RunResult};
use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// Caveats that depend on the other runs of a plan.
pub(crate) const OF_A_PLAN: [&str; 2] = ["policy-overridden", "other-traffic"];

static CUSTOM_CODE: Mutex<Option<SystemTime>> = Mutex::new(None);

/// Declares that this program defines custom schemes, and when their code was last changed.
/// A scenario does not record the version of a custom scheme, so older runs are not reused.
/// The latest declared time counts.
pub fn set_custom_code(built: SystemTime) {
    let mut latest = CUSTOM_CODE.lock().unwrap_or_else(PoisonError::into_inner);
    *latest = (*latest).max(Some(built));
}

/// Returns the latest time given to [`set_custom_code`]; `None`
/// if the program has no custom schemes.
#[must_use]
pub fn custom_code() -> Option<SystemTime> {
    *CUSTOM_CODE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the folder of `job` has the job's result. The result must be an undamaged run of the
/// job's scenario, by this version of the program, with the job's caveats.
#[must_use]
pub fn is_finished(job: &Job) -> bool {
    let unhurt = |run: &RunResult| run.damage().is_ok_and(|faults| faults.is_empty());
    has_stored(&job.dir, &job.loaded)
        && RunResult::open(&job.dir).is_ok_and(|run| {
            is_of_this_version(run.manifest())
                && !has_old_code(&job.dir)
                && is_as_planned(job, &run)
                && unhurt(&run)
        })
}

/// Whether this version of the program wrote the manifest.
/// Results are reproducible only within a version.
pub(crate) fn is_of_this_version(manifest: &Manifest) -> bool {
    manifest.bufferlab_version == env!("CARGO_PKG_VERSION")
        && manifest.git_commit.as_deref() == crate::commit()
}

/// Whether a finished run is older than the custom classes of this program.
pub(crate) fn has_old_code(dir: &Path) -> bool {
    let later = |built: SystemTime| {
        let written = fs::metadata(dir.join(MANIFEST_FILE)).and_then(|file| file.modified());
        written.is_ok_and(|written| written > built)
    };
    !custom_code().is_none_or(later)
}

/// Whether a finished run has the caveats of `job` that depend on the other runs of the plan.
fn is_as_planned(job: &Job, run: &RunResult) -> bool {
    let planned = |id: &str| OF_A_PLAN.contains(&id);
    let stored = run.manifest().caveats.iter().filter(|caveat| planned(&caveat.id));
    stored.eq(job.caveats.iter().filter(|caveat| planned(&caveat.id)))
}
