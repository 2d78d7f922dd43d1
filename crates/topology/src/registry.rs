//! The registry of topologies.

use crate::Topology;
use crate::kinds;
use bufferlab_params::{Faults, ParamInfo, Params, RegisterError, Registry, entry};
use std::fmt;

/// Builds the network that parameters describe. Values that follow from a rule are written back
/// with [`Params::set`] and its like, so that the resolved scenario shows them.
///
/// # Errors
/// Inconsistent parameters, reported at their place in the scenario.
pub type BuildTopology = dyn Fn(&mut Params) -> Result<Topology, Faults> + Send + Sync;

/// A kind of network: an entry of the registry.
pub struct TopologyInfo {
    /// `kind` in a scenario's `[topology]`.
    pub name: &'static str,
    /// Other accepted names of the topology.
    pub aliases: &'static [&'static str],
    /// Full name.
    pub title: &'static str,
    /// Summary of the topology in one line.
    pub summary: &'static str,
    /// Reference to the paper that introduced it; may be empty.
    pub source: &'static str,
    /// Parameters that the kind accepts.
    pub params: &'static [ParamInfo],
    /// Function from parameters to the graph.
    pub build: &'static BuildTopology,
}

entry!(TopologyInfo, "topology", '_');

impl fmt::Debug for TopologyInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TopologyInfo").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Every topology, in the order of the documentation.
pub static TOPOLOGIES: Registry<TopologyInfo> = Registry::new(&[
    &kinds::single_switch::INFO,
    &kinds::dumbbell::INFO,
    &kinds::leaf_spine::INFO,
    &kinds::fat_tree::INFO,
    &kinds::graph::INFO,
]);

/// Keys of `[topology]` that every kind has.
const COMMON: &[&str] = &["multipath", "change", "route"];

/// Registers a custom topology. From then on its name is valid as `kind` in scenarios.
///
/// # Errors
/// Returns the errors of [`Registry::register`]. Also fails if a parameter has the name of a key
/// that every topology has.
pub fn register_topology(info: TopologyInfo) -> Result<&'static TopologyInfo, RegisterError> {
    TOPOLOGIES.register_below(COMMON, info)
}
