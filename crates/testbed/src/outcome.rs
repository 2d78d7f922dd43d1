//! Flows and queries as the hosts measured them.

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
    /// Arrival time of the flow's last byte; `None` if the run ended first.
    pub completed: Option<Time>,
    /// Flow number at the switch, by addresses and ports.
    /// All messages of a connection have one number.
    pub hash: u32,
}

/// Outcome of a query in a run with real hosts.
#[derive(Clone, Debug)]
pub struct QueryOutcome {
    /// Number of the query.
    pub number: u32,
    /// Class of the query's flows.
    pub class: u16,
    /// Number of the client host.
    pub client: u32,
    /// Start time of the query.
    pub started: Time,
    /// Number of answers to the query.
    pub answers: u32,
    /// Total size of all answers to the query (bytes).
    pub bytes: u64,
    /// Arrival time of the query's last answer; `None` if the run ended first.
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
    /// Flows in the order of their starts.
    pub flows: Vec<FlowOutcome>,
    /// Queries in the order of their starts.
    pub queries: Vec<QueryOutcome>,
    /// Samples of active flows, if the scenario requests samples.
    pub progress: Vec<ProgressSample>,
    /// Flows that iperf3 has measured.
    #[cfg(target_os = "linux")]
    pub(crate) measured: Vec<crate::programs::Measured>,
    /// Names of traffic classes.
    pub classes: Vec<String>,
    /// Start of the run by the system clock (ns since 1970).
    pub began_ns: u64,
}
