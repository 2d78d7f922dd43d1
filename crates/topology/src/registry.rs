//! The registry of topologies.

use crate::Topology;
use crate::kinds;
use bufferlab_params::{Faults, ParamInfo, Params, RegisterError, Registry, entry};
use std::fmt;

/// Builds the network that parameters describe. It fills in, with [`Params::set`] and its like,
/// what a rule decides, so that the resolved scenario says it.
///
/// # Errors
/// What does not fit together, at the parameters that say it.
pub type BuildTopology = dyn Fn(&mut Params) -> Result<Topology, Faults> + Send + Sync;

/// A kind of network: the entry of the registry.
pub struct TopologyInfo {
    /// `kind` in a scenario's `[topology]`.
    pub name: &'static str,
    /// Other accepted names.
    pub aliases: &'static [&'static str],
    /// Name in full.
    pub title: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Where it comes from; may be empty.
    pub source: &'static str,
    /// Its keys.
    pub params: &'static [ParamInfo],
    /// From parameters to the graph.
    pub build: &'static BuildTopology,
}

entry!(TopologyInfo, "topology", '_');

impl fmt::Debug for TopologyInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TopologyInfo").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Every topology, in the order of documentation.
pub static TOPOLOGIES: Registry<TopologyInfo> = Registry::new(&[
    &kinds::single_switch::INFO,
    &kinds::dumbbell::INFO,
    &kinds::leaf_spine::INFO,
    &kinds::fat_tree::INFO,
    &kinds::graph::INFO,
]);

/// Keys of `[topology]` that every kind has.
const COMMON: &[&str] = &["multipath", "change", "route"];

/// Adds a topology from outside: from then on its name works as `kind` in scenarios.
///
/// # Errors
/// As [`Registry::register`]; if a parameter has the name of a key that every topology has.
pub fn register_topology(info: TopologyInfo) -> Result<&'static TopologyInfo, RegisterError> {
    TOPOLOGIES.register_below(COMMON, info)
}
