//! Flows and queries as the hosts saw them.

use bufferlab_units::Time;
use bufferlab_workload::FlowSpec;

/// A flow, with times since the start of the run.
#[derive(Clone, Debug)]
pub struct FlowOutcome {
    /// The workload's request; [`FlowSpec::size`] of an unlimited flow is the number of received
    /// bytes.
    pub spec: FlowSpec,
    /// Time at which the application had the data.
    pub started: Time,
    /// Arrival of the last byte; `None` if the run ended first.
    pub completed: Option<Time>,
    /// Flow number at the switch, by addresses and ports; all messages of a connection share it.
    pub hash: u32,
}

/// Outcome of a query.
#[derive(Clone, Debug)]
pub struct QueryOutcome {
    /// Number of the query.
    pub number: u32,
    /// Class of the query's flows.
    pub class: u16,
    /// Client host.
    pub client: u32,
    /// Start time.
    pub started: Time,
    /// Number of answers.
    pub answers: u32,
    /// Bytes of all answers.
    pub bytes: u64,
    /// Arrival of the last answer; `None` if the run ended first.
    pub completed: Option<Time>,
}

/// Received bytes of a flow at a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgressSample {
    /// Time of the sample, common to all its flows.
    pub at: Time,
    /// Index in [`Outcome::flows`].
    pub flow: usize,
    /// Payload read by the receiving application.
    pub bytes: u64,
}

/// Outcome of a run.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Flows in the order of their starts.
    pub flows: Vec<FlowOutcome>,
    /// Queries in the order of their starts.
    pub queries: Vec<QueryOutcome>,
    /// Samples of active flows, if the scenario requests them.
    pub progress: Vec<ProgressSample>,
    /// Measurements of iperf3.
    #[cfg(target_os = "linux")]
    pub(crate) measured: Vec<crate::programs::Measured>,
    /// Names of classes.
    pub classes: Vec<String>,
    /// Start of the run by the system clock (ns since 1970).
    pub began_ns: u64,
}
