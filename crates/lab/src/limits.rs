//! Limits on the number of runs in a plan.

use bufferlab_params::Limit;

/// Limit on seeds of a run, of a comparison, or of every point of a sweep.
pub const SEEDS: Limit = Limit {
    name: "seeds",
    most: 10_000,
    unit: "",
    place: "`--seeds`, `seeds` in Python and in experiments",
    effect: "refused before the first run",
};

/// Limit on runs of one command: points × variants × seeds.
pub const RUNS: Limit = Limit {
    name: "runs",
    most: 100_000,
    unit: "",
    place: "`--vary`, `--variants`, `--policies`, `--seeds`, their counterparts in Python, axes of experiments",
    effect: "refused before the first run",
};

/// Memory reserved beyond the estimate of a run: rows not yet written to disk, the program itself
/// (bytes).
pub(crate) const RESERVE: u64 = 64_000_000;

/// Limits that this crate checks.
pub const LIMITS: &[Limit] = &[SEEDS, RUNS];
