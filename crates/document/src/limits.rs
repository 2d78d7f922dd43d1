//! Limits of the size of documents and of the files that they refer to.

use bufferlab_params::Limit;

/// Number of nodes that fit a machine's memory.
pub(crate) const MAX_NODES: u64 = 1 << 20;

/// Bytes of a document: a scenario, an experiment, a file that one extends, standard input.
pub const DOCUMENT: Limit = Limit {
    name: "bytes of a scenario or an experiment",
    most: 32_000_000,
    unit: "B",
    place: "the file, files that it extends, standard input",
    effect: "refused when it is loaded",
};

/// Bytes of a file that a document refers to: it is kept in memory and beside the results.
pub const FILE: Limit = Limit {
    name: "bytes of a file that a scenario refers to",
    most: 1_000_000_000,
    unit: "B",
    place: "`file` and `sizes` of workloads",
    effect: "refused when the scenario is loaded",
};

/// Nodes of a graph, given by a number or a list of names.
pub const NODES: Limit = Limit {
    name: "named nodes",
    most: MAX_NODES,
    unit: "",
    place: "`hosts` and `switches` of `kind = \"graph\"`",
    effect: "refused when the scenario is loaded",
};

/// Limits that this crate checks.
pub const LIMITS: &[Limit] = &[DOCUMENT, FILE, NODES];
