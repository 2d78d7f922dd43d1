//! What a workload is to scenarios and to drivers, and the registry of kinds.

use crate::context::WorkloadContext;
use crate::kinds;
use crate::traffic::TrafficBuilder;
use crate::{BUILTIN_SIZES, SourceError};
use bufferlab_params::{Faults, ParamInfo, ParamKind, Params, RegisterError, Registry, Word, entry};
use std::any::Any;
use std::fmt;

/// A workload that was checked against its network and transports, and can start in any number of
/// runs.
///
/// It is asked for its flows again for each run: what depends on the seed is drawn there, from
/// [`TrafficBuilder::seed`] and [`TrafficBuilder::label`], and nowhere else.
pub trait Workload: Any + fmt::Debug + Send + Sync {
    /// Hands everything that it sends in a run to `traffic`.
    ///
    /// # Errors
    /// If its sources cannot be built for this run.
    fn start(&self, traffic: &mut TrafficBuilder<'_>) -> Result<(), SourceError>;

    /// What it sends, in one line: "load 0.4, sizes web_search".
    fn in_words(&self) -> String;

    /// How the queries of its flows are numbered.
    fn queries(&self) -> Queries {
        Queries::None
    }

    /// Payload that all hosts together are to send, on average over the time in which flows start
    /// (bits per second), where its parameters say so.
    fn offered_bps(&self) -> Option<f64> {
        None
    }

    /// Flows or queries that all hosts together are to start per second, on average over the time
    /// in which flows start, where its parameters say so.
    fn arrivals_per_second(&self) -> Option<f64> {
        None
    }

    /// Its largest flow (bytes, [`FlowSpec::UNLIMITED`](crate::FlowSpec::UNLIMITED) for one without
    /// an end), where it is known.
    fn largest_flow_bytes(&self) -> Option<u64> {
        None
    }

    /// Flows that it holds in memory, each of [`FLOW_BYTES`](crate::FLOW_BYTES): those of a list. A
    /// run holds as many again.
    fn listed_flows(&self) -> usize {
        0
    }

    /// Classes of its flows beside the workload's own.
    fn other_classes(&self) -> Vec<&str> {
        Vec::new()
    }
}

/// How the queries of a workload's flows are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queries {
    /// Its flows answer no queries.
    None,
    /// By itself: a list says which flows answer which query ([`TrafficBuilder::add_list`]). Such
    /// workloads come first.
    Listed,
    /// With numbers from [`TrafficBuilder::queries`], which no other workload has.
    Numbered,
}

/// Checks parameters against what is around the workload, and makes the workload. It fills in, with
/// [`Params::set`] and its like, what a rule decides, so that the resolved scenario says it.
///
/// # Errors
/// What does not fit together, at the parameters that say it.
pub type BuildWorkload =
    dyn Fn(&mut Params, &WorkloadContext<'_>) -> Result<Box<dyn Workload>, Faults> + Send + Sync;

/// A kind of workload: the entry of the registry.
pub struct WorkloadInfo {
    /// `kind` in a scenario's `[[workload]]`.
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
    /// From parameters to the workload.
    pub build: &'static BuildWorkload,
}

entry!(WorkloadInfo, "workload", '_');

impl fmt::Debug for WorkloadInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkloadInfo").field("name", &self.name).finish_non_exhaustive()
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
]);

/// Keys of `[[workload]]` that every kind has.
const COMMON: &[&str] = &["class", "transport"];

/// Adds a workload from outside: from then on its name works as `kind` in scenarios.
///
/// # Errors
/// As [`Registry::register`]; if a parameter has the name of a key that every workload has.
pub fn register_workload(info: WorkloadInfo) -> Result<&'static WorkloadInfo, RegisterError> {
    WORKLOADS.register_below(COMMON, info)
}

/// Like [`register_workload`], but takes the place of an own workload of the same name.
///
/// # Errors
/// As [`register_workload`]; if the name belongs to a built-in one.
pub fn replace_workload(info: WorkloadInfo) -> Result<&'static WorkloadInfo, RegisterError> {
    WORKLOADS.replace_below(COMMON, info)
}

/// The built-in distributions of flow sizes, as words.
const SIZE_WORDS: [Word; BUILTIN_SIZES.len()] = {
    let mut words = [Word { name: "", meaning: "" }; BUILTIN_SIZES.len()];
    let mut index = 0;
    while index < words.len() {
        words[index] = Word { name: BUILTIN_SIZES[index].name, meaning: BUILTIN_SIZES[index].summary };
        index += 1;
    }
    words
};

/// The kind of a parameter that is a distribution of flow sizes; [`WorkloadContext::sizes`] makes
/// it one.
pub const FLOW_SIZES: ParamKind = ParamKind::FlowSizes(&SIZE_WORDS);
