//! Which runs are there already, so that a command that is repeated goes on where the first one was
//! ended?

use crate::Job;
use crate::execute::has_stored;
use bufferlab_results::{MANIFEST_FILE, Manifest, RunResult};
use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// Caveats that a plan gives to a run, by what else is compared.
pub(crate) const OF_A_PLAN: [&str; 2] = ["policy-overridden", "other-traffic"];

static OWN_CODE: Mutex<Option<SystemTime>> = Mutex::new(None);

/// Says that this program brings along schemes of its own, and when they were written or built. A
/// scenario does not tell one version of them from the next, so runs from before are not taken for
/// runs of this program. The latest time counts.
pub fn set_own_code(built: SystemTime) {
    let mut latest = OWN_CODE.lock().unwrap_or_else(PoisonError::into_inner);
    *latest = (*latest).max(Some(built));
}

/// When the schemes of its own that this program brings along were written or built, the latest;
/// `None` if it has said nothing.
#[must_use]
pub fn own_code() -> Option<SystemTime> {
    *OWN_CODE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether what `job` would write is there: a finished and undamaged run of the same scenario, by
/// the same version of the program, with the same caveats.
#[must_use]
pub fn is_kept(job: &Job) -> bool {
    let unhurt = |run: &RunResult| run.damage().is_ok_and(|faults| faults.is_empty());
    has_stored(&job.dir, &job.loaded)
        && RunResult::open(&job.dir).is_ok_and(|run| {
            is_of_this_version(run.manifest())
                && !has_old_code(&job.dir)
                && is_as_planned(job, &run)
                && unhurt(&run)
        })
}

/// Whether this version of the program wrote the manifest: determinism is a promise per version.
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
    !own_code().is_none_or(later)
}

/// What is compared with a run decides on some of its caveats.
fn is_as_planned(job: &Job, run: &RunResult) -> bool {
    let planned = |id: &str| OF_A_PLAN.contains(&id);
    let stored = run.manifest().caveats.iter().filter(|caveat| planned(&caveat.id));
    stored.eq(job.caveats.iter().filter(|caveat| planned(&caveat.id)))
}
