//! Flows and queries of a testbed run, as the hosts measured them.

use bufferlab_units::Time;
use bufferlab_workload::FlowSpec;

/// A flow that the hosts carried, with times since the start of the run.
#[derive(Clone, Debug)]
pub struct FlowOutcome {
    /// The flow that the workload requested.
    /// For an unlimited flow, [`FlowSpec::size`] is the number of received bytes.
    pub spec: FlowSpec,
    /// Time at which the sending application had the flow's data.
    pub started: Time,
    /// Arrival time of the flow's last byte; `None` if the run ended before.
    pub completed: Option<Time>,
    /// Number of the flow at the switch, a hash of addresses and ports. All messages of a
    /// connection have an equal number.
    pub hash: u32,
}

/// Outcome of a query in a run with real hosts.
#[derive(Clone, Debug)]
pub struct QueryOutcome {
    /// Number that identifies the query in the run.
    pub number: u32,
    /// Number of the traffic class that the query's flows have.
    pub class: u16,
    /// Number of the host that sent the query.
    pub client: u32,
    /// Time at which the client sent the query.
    pub started: Time,
    /// Number of answers that the query demands.
    pub answers: u32,
    /// Total size of all answers to the query (bytes).
    pub bytes: u64,
    /// Arrival time of the query's last answer; `None` if the run ended before.
    pub completed: Option<Time>,
}

/// Number of received bytes of a flow at the time of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgressSample {
    /// Time of the sample, which covers all active flows.
    pub at: Time,
    /// Index of the flow in [`Outcome::flows`].
    pub flow: usize,
    /// Payload of the flow that the receiving application has read (bytes).
    pub bytes: u64,
}

/// Outcome of a run with real hosts.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Flows of the run, in the order of their starts.
    pub flows: Vec<FlowOutcome>,
    /// Queries of the run, in the order of their starts.
    pub queries: Vec<QueryOutcome>,
    /// Samples of active flows, if the scenario requests samples.
    pub progress: Vec<ProgressSample>,
    /// Measurements of the flows that iperf3 carried.
    #[cfg(target_os = "linux")]
    pub(crate) measured: Vec<crate::programs::Measured>,
    /// Names of traffic classes, by the number of the class.
    pub classes: Vec<String>,
    /// Start of the run by the system clock (ns since 1970).
    pub began_ns: u64,
}
