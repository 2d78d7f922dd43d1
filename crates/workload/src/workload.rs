//! The trait that scenarios and drivers use for workloads, and the registry of kinds of workloads.

use crate::context::WorkloadContext;
use crate::kinds;
use crate::traffic::TrafficBuilder;
use crate::{BUILTIN_SIZES, SourceError};
use bufferlab_params::{Faults, ParamKind, Params, RegisterError, Registry, Word, entry};
use std::any::Any;
use std::fmt;

/// A workload that was checked against its network and transports, and can start in
/// any number of runs.
///
/// Each run starts the workload again. The workload then makes all draws that depend on the seed,
/// from [`TrafficBuilder::seed`] and [`TrafficBuilder::label`].
pub trait Workload: Any + fmt::Debug + Send + Sync {
    /// Adds all traffic of the workload in a run to the builder `traffic`.
    ///
    /// # Errors
    /// If the workload's sources cannot be built for this run.
    fn start(&self, traffic: &mut TrafficBuilder<'_>) -> Result<(), SourceError>;

    /// Describes the traffic of the workload in one line, such as "load 0.4, sizes web_search".
    fn in_words(&self) -> String;

    /// Numbering of the queries of the workload's flows.
    fn queries(&self) -> Queries {
        Queries::None
    }

    /// Mean payload that all hosts together offer while flows start (bits per second). `None` if
    /// the parameters do not determine the payload.
    fn offered_bps(&self) -> Option<f64> {
        None
    }

    /// Mean number of flows or queries that all hosts together start per second while flows start.
    /// `None` if the parameters do not determine this number.
    fn arrivals_per_second(&self) -> Option<f64> {
        None
    }

    /// Size of the workload's largest flow (bytes). `None` if the size is unknown.
    /// [`FlowSpec::UNLIMITED`](crate::FlowSpec::UNLIMITED) is an endless flow.
    fn largest_flow_bytes(&self) -> Option<u64> {
        None
    }

    /// Number of listed flows in memory; a flow takes [`FLOW_BYTES`](crate::FLOW_BYTES). Each run
    /// stores a copy of these flows.
    fn listed_flows(&self) -> usize {
        0
    }

    /// Names of the classes of the workload's flows in addition to its main class.
    fn other_classes(&self) -> Vec<&str> {
        Vec::new()
    }
}

/// Numbering of the queries of a workload's flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queries {
    /// No flow of the workload answers a query.
    None,
    /// A list assigns flows to queries ([`TrafficBuilder::add_list`]). Workloads with listed
    /// queries start before all other workloads.
    Listed,
    /// Queries get numbers from [`TrafficBuilder::queries`], which no other workload has.
    Numbered,
}

/// Function that checks parameters against the workload's context, and creates the workload. The
/// function sets computed values with [`Params::set`] and similar functions, so that the resolved
/// scenario contains these values.
///
/// # Errors
/// Contradictions between parameters, each reported at the parameter that causes the contradiction.
pub type BuildWorkload =
    dyn Fn(&mut Params, &WorkloadContext<'_>) -> Result<Box<dyn Workload>, Faults> + Send + Sync;

entry! {
    /// Registry entry of a kind of workload.
    pub struct WorkloadInfo("workload", '_') {
        /// Constructor of the workload from its parameters.
        pub build: &'static BuildWorkload,
    }
}

/// Every kind of workload, in the order of documentation.
pub static WORKLOADS: Registry<WorkloadInfo> = Registry::new(&[
    &kinds::poisson::INFO,
    &kinds::incast::INFO,
    &kinds::multi_get::INFO,
    &kinds::on_off::INFO,
    &kinds::bursts::INFO,
    &kinds::trace::INFO,
    &kinds::flow_list::INFO,
    &kinds::collective::INFO,
    &kinds::schedule::INFO,
]);

/// Keys of the table `[[workload]]` that every kind of workload has.
const COMMON: &[&str] = &["class", "transport"];

/// Registers a custom workload: afterwards, its name is a valid `kind` in scenarios.
///
/// # Errors
/// Returns the errors of [`Registry::register`]. Also fails if a parameter has the name of a key
/// that every workload has.
pub fn register_workload(info: WorkloadInfo) -> Result<&'static WorkloadInfo, RegisterError> {
    WORKLOADS.register_below(COMMON, info)
}

/// Registers a custom workload, replacing a custom workload of this name; see
/// [`register_workload`].
///
/// # Errors
/// Returns the errors of [`register_workload`]. Also fails if a built-in workload has the name.
pub fn replace_workload(info: WorkloadInfo) -> Result<&'static WorkloadInfo, RegisterError> {
    WORKLOADS.replace_below(COMMON, info)
}

/// Names of the built-in distributions of flow sizes, as words of a parameter.
const SIZE_WORDS: [Word; BUILTIN_SIZES.len()] = {
    let mut words = [Word { name: "", meaning: "" }; BUILTIN_SIZES.len()];
    let mut index = 0;
    while index < words.len() {
        words[index] = Word { name: BUILTIN_SIZES[index].name, meaning: BUILTIN_SIZES[index].summary };
        index += 1;
    }
    words
};

/// Kind of a parameter for a size distribution, which [`WorkloadContext::sizes`] reads.
pub const FLOW_SIZES: ParamKind = ParamKind::FlowSizes(&SIZE_WORDS);
