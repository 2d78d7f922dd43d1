//! Errors of a run.

use thiserror::Error;

/// A run that cannot start or cannot continue.
#[derive(Debug, Error)]
pub enum SimError {
    /// The policy does not fit a switch.
    #[error("switch {switch}: {source}")]
    Policy {
        /// Name of the switch.
        switch: String,
        /// Reason of the mismatch.
        source: bufferlab_core::BuildError,
    },
    /// The marking rule does not fit a switch.
    #[error("switch {switch}: marking: {source}")]
    Marker {
        /// Name of the switch.
        switch: String,
        /// Reason of the mismatch.
        source: bufferlab_core::BuildError,
    },
    /// The classifier does not fit a switch.
    #[error("switch {switch}: classifier: {source}")]
    Classifier {
        /// Name of the switch.
        switch: String,
        /// Reason of the mismatch.
        source: bufferlab_core::BuildError,
    },
    /// A policy failed during the run, or asked for something that no switch can do. The policy's
    /// later verdicts are meaningless.
    #[error(transparent)]
    PolicyFailed(Box<FailedPolicy>),
    /// A custom marking rule failed during the run. Its later marks are meaningless.
    #[error(transparent)]
    MarkingFailed(Box<FailedMarking>),
    /// A congestion control failed during the run. Its later packets are meaningless.
    #[error(transparent)]
    ControlFailed(Box<FailedControl>),
    /// The scheduler does not fit the switch's queues.
    #[error("switch {switch}: scheduler: {source}")]
    Scheduler {
        /// Name of the switch.
        switch: String,
        /// Reason of the mismatch.
        source: bufferlab_core::ScheduleError,
    },
    /// A traffic process does not fit the topology.
    #[error(transparent)]
    Traffic(#[from] bufferlab_workload::SourceError),
    /// A transport names no known congestion control.
    #[error("no congestion control is called \"{0}\"")]
    CongestionControl(String),
    /// A parameter of a congestion control does not fit the path.
    #[error("transport {transport}: congestion control: {source}")]
    ControlParameter {
        /// Name of the transport.
        transport: String,
        /// Reason of the mismatch.
        source: bufferlab_core::BuildError,
    },
    /// Prescribed routes form a loop.
    #[error("packets for {host} would go round for ever: {switches}; mend [[topology.route]]")]
    RoutingLoop {
        /// Name of the destination host.
        host: String,
        /// Switches of the loop, in order.
        switches: String,
    },
    /// The scenario exceeds a limit of this engine.
    #[error("{what}: {found}, at most {limit}")]
    TooLarge {
        /// Kind of item that exceeds the limit, such as "hosts".
        what: &'static str,
        /// Number that the scenario requires.
        found: u64,
        /// Largest number that the engine supports.
        limit: u64,
    },
    /// Packets waiting at the NICs of hosts would fill the memory.
    #[error(transparent)]
    CardFull(Box<FullCard>),
    /// The observer of the run (`go_on`) asked for its end.
    #[error("the run was interrupted")]
    Interrupted,
    /// The sink of the rows failed.
    #[error("writing results: {0}")]
    Sink(#[from] std::io::Error),
    /// A conservation law is broken: a bug in bufferlab.
    #[error(
        "an identity is broken at {time} in switch {switch}: {source}; this is a bug in bufferlab, please report it"
    )]
    Broken {
        /// Time at which the identity was found broken.
        time: bufferlab_units::Time,
        /// Name of the switch.
        switch: String,
        /// The accounting identity that does not hold.
        source: bufferlab_core::LedgerError,
    },
    /// Packets were lost without a record: a bug in bufferlab.
    #[error(
        "{alive} packets are alive but {found} were found in queues and on links; this is a bug in bufferlab, please report it"
    )]
    LostTrack {
        /// Number of live packets according to the slab.
        alive: usize,
        /// Number of packets found in queues and pipes.
        found: usize,
    },
}

/// A host whose NIC would have to store more packets than the limit. Boxed in [`SimError`] as
/// [`FailedPolicy`] is.
#[derive(Debug, Error)]
#[error(
    "host {host} had {packets} packets at its network card at {time} ({} MB of memory) and more to come: \
     all packets that a window allows are made at once",
    (packets * crate::BYTES_PER_PACKET).div_ceil(1_000_000)
)]
pub struct FullCard {
    /// Name of the host.
    pub host: String,
    /// Packets waiting at the NIC.
    pub packets: usize,
    /// Time since which the NIC has had no room.
    pub time: bufferlab_units::Time,
}

/// A congestion control that failed during the run. Boxed in [`SimError`] as [`FailedPolicy`] is.
#[derive(Debug, Error)]
#[error("congestion control {control} failed in flow {flow} ({src} to {dst}) at {time}: {failure}")]
pub struct FailedControl {
    /// Name of the congestion control.
    pub control: String,
    /// Flow number, as in the table of flows.
    pub flow: u64,
    /// Name of the sending host.
    pub src: String,
    /// Name of the receiving host.
    pub dst: String,
    /// Time of the failure.
    pub time: bufferlab_units::Time,
    /// Kind of failure, with the error behind it.
    pub failure: bufferlab_transport::ControlFailure,
}

/// A policy that failed during the run. Boxed in [`SimError`] to keep the results of hot functions
/// small.
#[derive(Debug, Error)]
#[error("policy {policy} failed in {} at {time}: {failure}", self.place())]
pub struct FailedPolicy {
    /// Name of the policy.
    pub policy: String,
    /// Name of the switch.
    pub switch: String,
    /// Port and priority of the queue concerned; `None` if the call concerned no single queue.
    pub queue: Option<(u16, u8)>,
    /// Time of the failure.
    pub time: bufferlab_units::Time,
    /// Kind of failure, with the error behind it.
    pub failure: bufferlab_core::PolicyFailure,
}

impl FailedPolicy {
    fn place(&self) -> String {
        place(&self.switch, self.queue)
    }
}

/// A marking rule that failed during the run. Boxed in [`SimError`] as [`FailedPolicy`] is.
#[derive(Debug, Error)]
#[error("marking rule {rule} failed in {} at {time}: {failure}", place(switch, Some(*queue)))]
pub struct FailedMarking {
    /// Name of the marking rule.
    pub rule: String,
    /// Name of the switch.
    pub switch: String,
    /// Port and priority of the packet that the rule judged.
    pub queue: (u16, u8),
    /// Time of the failure.
    pub time: bufferlab_units::Time,
    /// Kind of failure, with the error behind it.
    pub failure: bufferlab_core::MarkingFailure,
}

/// Text such as "switch leaf0 (port 3, priority 1)".
fn place(switch: &str, queue: Option<(u16, u8)>) -> String {
    match queue {
        Some((port, priority)) => format!("switch {switch} (port {port}, priority {priority})"),
        None => format!("switch {switch}"),
    }
}
