//! Limits on the numbers of nodes and edges of schedules.

use bufferlab_params::Limit;

const EFFECT: &str = "refused while the file is read";

/// Largest number of nodes of a schedule. A node takes 40 bytes, so the limit takes 0.8 GB.
pub const NODES_MAX: usize = 20_000_000;

/// Largest number of edges of a schedule. An edge takes 8 bytes, and 12 more bytes during
/// construction.
pub const EDGES_MAX: usize = 60_000_000;

/// Largest number of ranks of a schedule, which is the largest number of hosts of a run.
pub(crate) const RANKS_MAX: u32 = 65_535;

/// List of the size limits of schedules.
pub const LIMITS: &[Limit] = &[
    Limit {
        name: "nodes of a schedule",
        most: NODES_MAX as u64,
        unit: "",
        place: "schedule files, and files of `bufferlab import`",
        effect: EFFECT,
    },
    Limit {
        name: "edges of a schedule",
        most: EDGES_MAX as u64,
        unit: "",
        place: "schedule files, and files of `bufferlab import`",
        effect: EFFECT,
    },
    Limit {
        name: "ranks of a schedule",
        most: RANKS_MAX as u64,
        unit: "",
        place: "schedule files, and files of `bufferlab import`",
        effect: EFFECT,
    },
];
