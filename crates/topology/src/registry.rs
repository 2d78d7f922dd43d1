//! The registry of topologies.

use crate::Topology;
use crate::kinds;
use bufferlab_params::{Faults, Params, RegisterError, Registry, entry};

/// Function that builds the network which parameters describe. The function stores computed
/// parameter values with [`Params::set`] and similar methods, so that the resolved scenario shows
/// these values.
///
/// # Errors
/// Returns inconsistent parameters with their places in the scenario.
pub type BuildTopology = dyn Fn(&mut Params) -> Result<Topology, Faults> + Send + Sync;

entry! {
    /// Registry entry of a kind of network.
    pub struct TopologyInfo("topology", '_') {
        /// Function that builds the graph from parameters.
        pub build: &'static BuildTopology,
    }
}

/// Every built-in topology, in the order of the reference page.
pub static TOPOLOGIES: Registry<TopologyInfo> = Registry::new(&[
    &kinds::single_switch::INFO,
    &kinds::dumbbell::INFO,
    &kinds::leaf_spine::INFO,
    &kinds::fat_tree::INFO,
    &kinds::rail::INFO,
    &kinds::scale_up::INFO,
    &kinds::multi_plane::INFO,
    &kinds::dragonfly::INFO,
    &kinds::graph::INFO,
]);

/// Keys of `[topology]` that every kind of topology has.
const COMMON: &[&str] = &["multipath", "change", "route"];

/// Registers a custom topology. Its name is then valid as `kind` in scenarios.
///
/// # Errors
/// Returns the errors of [`Registry::register`].
/// Also fails if a parameter has the name of a key that every topology has.
pub fn register_topology(info: TopologyInfo) -> Result<&'static TopologyInfo, RegisterError> {
    TOPOLOGIES.register_below(COMMON, info)
}

/// Registers a topology like [`register_topology`], but replaces a custom topology that has the
/// name already ([`Registry::replace_below`]).
///
/// # Errors
/// Returns the errors of [`register_topology`]. Also fails if a different topology has one of the
/// names.
pub fn replace_topology(info: TopologyInfo) -> Result<&'static TopologyInfo, RegisterError> {
    TOPOLOGIES.replace_below(COMMON, info)
}
