//! Limits of the size of documents and of the files that documents name.

use bufferlab_params::Limit;

/// Maximum number of nodes of a graph that fit into a machine's memory.
pub(crate) const MAX_NODES: u64 = 1 << 20;

/// Maximum size of a document in bytes: a scenario, an experiment, a file that one of them extends,
/// or the text from standard input.
pub const DOCUMENT: Limit = Limit {
    name: "bytes of a scenario or an experiment",
    most: 32_000_000,
    unit: "B",
    place: "the file, files that it extends, standard input",
    effect: "refused when it is loaded",
};

/// Maximum size of a file that a document names, in bytes. The program keeps the file in memory and
/// beside the results.
pub const FILE: Limit = Limit {
    name: "bytes of a file that a scenario refers to",
    most: 1_000_000_000,
    unit: "B",
    place: "`file` and `sizes` of workloads",
    effect: "refused when the scenario is loaded",
};

/// Number of nodes of a graph, given by a number or a list of names.
pub const NODES: Limit = Limit {
    name: "named nodes",
    most: MAX_NODES,
    unit: "",
    place: "`hosts` and `switches` of `kind = \"graph\"`",
    effect: "refused when the scenario is loaded",
};

/// All limits of documents that this crate checks.
pub const LIMITS: &[Limit] = &[DOCUMENT, FILE, NODES];
