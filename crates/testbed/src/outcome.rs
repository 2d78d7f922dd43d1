//! What happened to flows and queries, as hosts saw it.

use bufferlab_units::Time;
use bufferlab_workload::FlowSpec;

/// A flow, with times since the run's beginning.
#[derive(Clone, Debug)]
pub struct FlowOutcome {
    /// As the workload asked for it; [`FlowSpec::size`] of a flow without end is what had arrived.
    pub spec: FlowSpec,
    /// When the application handed its data over.
    pub started: Time,
    /// When the last byte had arrived; `None`: the run ended first.
    pub completed: Option<Time>,
    /// Number of its flow at the switch, by addresses and ports; the same for all messages of a
    /// connection.
    pub hash: u32,
}

/// A query.
#[derive(Clone, Debug)]
pub struct QueryOutcome {
    /// Its number.
    pub number: u32,
    /// Class of its flows.
    pub class: u16,
    /// Who asked.
    pub client: u32,
    /// When.
    pub started: Time,
    /// Answers that it asked for.
    pub answers: u32,
    /// Bytes of all of them.
    pub bytes: u64,
    /// When all had arrived; `None`: the run ended first.
    pub completed: Option<Time>,
}

/// What had arrived of a flow at a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgressSample {
    /// When; the same for all flows of a sample.
    pub at: Time,
    /// Its place in [`Outcome::flows`].
    pub flow: usize,
    /// Payload that the receiving application had.
    pub bytes: u64,
}

/// All of a run.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// In the order of their starts.
    pub flows: Vec<FlowOutcome>,
    /// In the order of their starts.
    pub queries: Vec<QueryOutcome>,
    /// Samples of the flows that were under way, where the scenario asks for them.
    pub progress: Vec<ProgressSample>,
    /// What iperf3 measured.
    #[cfg(target_os = "linux")]
    pub(crate) measured: Vec<crate::programs::Measured>,
    /// Names of classes.
    pub classes: Vec<String>,
    /// Beginning of the run by the system's clock (ns since 1970).
    pub began_ns: u64,
}
