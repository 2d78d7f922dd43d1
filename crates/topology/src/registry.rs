//! The registry of topologies.

use crate::Topology;
use crate::kinds;
use bufferlab_params::{Faults, Params, RegisterError, Registry, entry};

/// Builds the network that parameters describe. Values that follow from a rule are written back
/// with [`Params::set`] and its like, so that the resolved scenario shows them.
///
/// # Errors
/// Inconsistent parameters, reported at their place in the scenario.
pub type BuildTopology = dyn Fn(&mut Params) -> Result<Topology, Faults> + Send + Sync;

entry! {
    /// Registry entry of a kind of network.
    pub struct TopologyInfo("topology", '_') {
        /// Function from parameters to the graph.
        pub build: &'static BuildTopology,
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
