//! The built-in topologies, one file each.

pub(crate) mod dumbbell;
pub(crate) mod fat_tree;
pub(crate) mod graph;
pub(crate) mod leaf_spine;
pub(crate) mod single_switch;

use bufferlab_params::ParamKind;

/// Limit on hosts or switches; a larger network does not fit a machine's memory.
pub(crate) const MAX_NODES: u64 = 1 << 17;

/// Limit on ports of a switch: each port has at least one queue, and queue numbers have 16 bits.
pub(crate) const MAX_PORTS: u64 = 65_535;
/// Parameter kind of a number of nodes.
const NODES: ParamKind = ParamKind::Count { min: 1, max: MAX_NODES };
/// Example of a delay in a scenario.
const DELAY: &str = "\"10 us\"";
const RATE: &str = "\"10 Gb/s\"";
