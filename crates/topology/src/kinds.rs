//! The built-in topologies, with one file per topology.

pub(crate) mod dragonfly;
pub(crate) mod dumbbell;
pub(crate) mod fat_tree;
pub(crate) mod graph;
pub(crate) mod leaf_spine;
pub(crate) mod multi_plane;
pub(crate) mod rail;
pub(crate) mod scale_up;
pub(crate) mod single_switch;

use bufferlab_params::ParamKind;

/// Maximum number of hosts or switches. A larger network does not fit a machine's memory.
pub(crate) const MAX_NODES: u64 = 1 << 17;

/// Maximum number of ports of a switch. Each port has at least one queue, with a 16-bit number.
pub(crate) const MAX_PORTS: u64 = 65_535;
/// Kind of a parameter that is a number of hosts or switches.
const NODES: ParamKind = ParamKind::Count { min: 1, max: MAX_NODES };
/// Example of the text of a delay in a scenario.
const DELAY: &str = "\"10 us\"";
const RATE: &str = "\"10 Gb/s\"";
