//! The topologies that bufferlab has, one file each.

pub(crate) mod dumbbell;
pub(crate) mod fat_tree;
pub(crate) mod graph;
pub(crate) mod leaf_spine;
pub(crate) mod single_switch;

use bufferlab_params::ParamKind;

/// More hosts or switches than this do not fit a machine's memory.
pub(crate) const MAX_NODES: u64 = 1 << 17;

/// Ports of a switch: each is a queue at least, and queues are numbered by 16 bits.
pub(crate) const MAX_PORTS: u64 = 65_535;
/// A number of nodes.
const NODES: ParamKind = ParamKind::Count { min: 1, max: MAX_NODES };
/// A delay and a rate, as they are written.
const DELAY: &str = "\"10 us\"";
const RATE: &str = "\"10 Gb/s\"";
