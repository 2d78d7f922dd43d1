//! Limits of the number of runs in a plan.

use bufferlab_params::Limit;

/// Number of seeds of a run, of a comparison, or of every point of a sweep.
pub const SEEDS: Limit = Limit {
    name: "seeds",
    most: 10_000,
    unit: "",
    place: "`--seeds`, `seeds` in Python and in experiments",
    effect: "refused before the first run",
};

/// Number of runs of one command: points × variants × seeds.
pub const RUNS: Limit = Limit {
    name: "runs",
    most: 100_000,
    unit: "",
    place: "`--vary`, `--variants`, `--policies`, `--seeds`, their counterparts in Python, axes of experiments",
    effect: "refused before the first run",
};

/// Memory reserved beyond the estimate of a run (bytes): for rows not yet written to disk,
/// and for the program itself.
pub(crate) const RESERVE: u64 = 64_000_000;

/// All limits of plans that this crate checks.
pub const LIMITS: &[Limit] = &[SEEDS, RUNS];
