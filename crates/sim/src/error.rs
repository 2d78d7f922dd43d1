//! Errors that prevent or end a simulation run.

use thiserror::Error;

/// A run that cannot start or cannot continue.
#[derive(Debug, Error)]
pub enum SimError {
    /// The buffer policy does not fit a switch.
    #[error("switch {switch}: {source}")]
    Policy {
        /// Name of the switch that the policy does not fit.
        switch: String,
        /// Reason why the policy does not fit the switch.
        source: bufferlab_core::BuildError,
    },
    /// The marking rule does not fit a switch.
    #[error("switch {switch}: marking: {source}")]
    Marker {
        /// Name of the switch that the marking rule does not fit.
        switch: String,
        /// Reason why the marking rule does not fit the switch.
        source: bufferlab_core::BuildError,
    },
    /// The classifier does not fit a switch.
    #[error("switch {switch}: classifier: {source}")]
    Classifier {
        /// Name of the switch that the classifier does not fit.
        switch: String,
        /// Reason why the classifier does not fit the switch.
        source: bufferlab_core::BuildError,
    },
    /// A policy failed during the run, or requested an action that no switch supports. The policy's
    /// later verdicts have no meaning.
    #[error(transparent)]
    PolicyFailed(Box<FailedPolicy>),
    /// A custom marking rule failed during the run. The rule's later marks have no meaning.
    #[error(transparent)]
    MarkingFailed(Box<FailedMarking>),
    /// A custom classifier failed during the run. Later queues would be arbitrary.
    #[error(transparent)]
    ClassifierFailed(Box<FailedClassifier>),
    /// A congestion control failed during the run. Packets that this congestion control sends later
    /// have no meaning.
    #[error(transparent)]
    ControlFailed(Box<FailedControl>),
    /// The scheduler does not fit the switch's queues.
    #[error("switch {switch}: scheduler: {source}")]
    Scheduler {
        /// Name of the switch that the scheduler does not fit.
        switch: String,
        /// Reason why the scheduler does not fit the switch.
        source: bufferlab_core::ScheduleError,
    },
    /// A traffic process does not fit the topology.
    #[error(transparent)]
    Traffic(#[from] bufferlab_workload::SourceError),
    /// A transport names an unknown congestion control.
    #[error("no congestion control is called \"{0}\"")]
    CongestionControl(String),
    /// A parameter of a congestion control does not fit the path.
    #[error("transport {transport}: congestion control: {source}")]
    ControlParameter {
        /// Name of the transport that has the parameter.
        transport: String,
        /// Reason why the parameter does not fit the path.
        source: bufferlab_core::BuildError,
    },
    /// The prescribed routes contain a loop.
    #[error("packets for {host} would go round for ever: {switches}; mend [[topology.route]]")]
    RoutingLoop {
        /// Name of the destination host.
        host: String,
        /// Switches of the loop, in the order in which packets visit them.
        switches: String,
    },
    /// The scenario exceeds a limit of this engine.
    #[error("{what}: {found}, at most {limit}")]
    TooLarge {
        /// Kind of item that exceeds the limit, such as "hosts".
        what: &'static str,
        /// Number of items that the scenario requires.
        found: u64,
        /// Largest number of items that the engine supports.
        limit: u64,
    },
    /// Packets waiting at the NICs of hosts would fill the memory.
    #[error(transparent)]
    CardFull(Box<FullCard>),
    /// The run cannot be copied, because one of its policies or workloads has no copy.
    #[error("{what} cannot be copied, so the run cannot be forked")]
    CannotFork {
        /// Policy or workload that cannot be copied, with its place.
        what: String,
        /// Advice to the author of the policy or workload that cannot be copied.
        hint: &'static str,
    },
    /// A change of a running simulation is invalid, and did not take place.
    #[error("{0}")]
    Refused(String),
    /// The caller's function `go_on` ended the run.
    #[error("the run was interrupted")]
    Interrupted,
    /// The sink that writes the rows of results has failed.
    #[error("writing results: {0}")]
    Sink(#[from] std::io::Error),
    /// An accounting identity is broken, which is a defect of bufferlab.
    #[error(
        "an identity is broken at {time} in switch {switch}: {source}; this is a bug in bufferlab, please report it"
    )]
    Broken {
        /// Time at which the check found the broken accounting identity.
        time: bufferlab_units::Time,
        /// Name of the switch whose accounting identity is broken.
        switch: String,
        /// The accounting identity that is broken.
        source: bufferlab_core::LedgerError,
    },
    /// Packets were lost without a record, which is a defect of bufferlab.
    #[error(
        "{alive} packets are alive but {found} were found in queues and on links; this is a bug in bufferlab, please report it"
    )]
    LostTrack {
        /// Number of live packets according to the table of packets.
        alive: usize,
        /// Number of packets found in queues and on links.
        found: usize,
    },
}

/// A host whose NIC would have to store more packets than the limit. The error is boxed in
/// [`SimError`], for the reason given at [`FailedPolicy`].
#[derive(Debug, Error)]
#[error(
    "host {host} had {packets} packets at its network card at {time} ({} MB of memory) and more to come: \
     all packets that a window allows are made at once",
    (packets * crate::BYTES_PER_PACKET).div_ceil(1_000_000)
)]
pub struct FullCard {
    /// Name of the host with the full NIC.
    pub host: String,
    /// Number of packets that wait at the NIC.
    pub packets: usize,
    /// Time since which the NIC has had no space.
    pub time: bufferlab_units::Time,
}

/// A congestion control that failed during the run. The error is boxed in [`SimError`], for the
/// reason given at [`FailedPolicy`].
#[derive(Debug, Error)]
#[error("congestion control {control} failed in flow {flow} ({src} to {dst}) at {time}: {failure}")]
pub struct FailedControl {
    /// Name of the congestion control that failed.
    pub control: String,
    /// Number of the flow, as in the table of flows.
    pub flow: u64,
    /// Name of the host that sends the flow.
    pub src: String,
    /// Name of the host that receives the flow.
    pub dst: String,
    /// Time at which the congestion control failed.
    pub time: bufferlab_units::Time,
    /// Kind of the congestion control's failure, with the error that caused the failure.
    pub failure: bufferlab_transport::ControlFailure,
}

/// A policy that failed during the run. The error is boxed in [`SimError`] to keep the results of
/// hot functions small.
#[derive(Debug, Error)]
#[error("policy {policy} failed in {} at {time}: {failure}", self.place())]
pub struct FailedPolicy {
    /// Name of the policy that failed.
    pub policy: String,
    /// Name of the switch of the policy.
    pub switch: String,
    /// Port and priority of the queue for which the policy was called.
    /// `None` if the call concerned no single queue.
    pub queue: Option<(u16, u8)>,
    /// Time at which the policy failed.
    pub time: bufferlab_units::Time,
    /// Kind of the policy's failure, with the error that caused the failure.
    pub failure: bufferlab_core::PolicyFailure,
}

impl FailedPolicy {
    fn place(&self) -> String {
        place(&self.switch, self.queue)
    }
}

/// A marking rule that failed during the run. The error is boxed in [`SimError`], for the reason
/// given at [`FailedPolicy`].
#[derive(Debug, Error)]
#[error("marking rule {rule} failed in {} at {time}: {failure}", place(switch, Some(*queue)))]
pub struct FailedMarking {
    /// Name of the marking rule that failed.
    pub rule: String,
    /// Name of the switch of the marking rule.
    pub switch: String,
    /// Port and priority of the packet for which the marking rule was called.
    pub queue: (u16, u8),
    /// Time at which the marking rule failed.
    pub time: bufferlab_units::Time,
    /// Kind of the marking rule's failure, with the error that caused the failure.
    pub failure: bufferlab_core::MarkingFailure,
}

/// A classifier that failed during the run. The error is boxed in [`SimError`], for the reason
/// given at [`FailedPolicy`].
#[derive(Debug, Error)]
#[error("classifier {classifier} failed in switch {switch}{} at {time}: {failure}", of_flow(flow.as_ref()))]
pub struct FailedClassifier {
    /// Name of the classifier that failed.
    pub classifier: String,
    /// Name of the switch of the classifier.
    pub switch: String,
    /// Flow of the packet: its number, as in the table of flows, and the names of its sender and
    /// receiver. `None` if the failure concerns no packet, or the flow has ended.
    pub flow: Option<(u64, String, String)>,
    /// Time at which the classifier failed.
    pub time: bufferlab_units::Time,
    /// Kind of the classifier's failure, with the error that caused the failure.
    pub failure: bufferlab_core::ClassifierFailure,
}

/// Flow of a failure for an error message, such as " (flow 12, h3 to h0)".
fn of_flow(flow: Option<&(u64, String, String)>) -> String {
    flow.map_or_else(String::new, |(number, src, dst)| format!(" (flow {number}, {src} to {dst})"))
}

/// Place of a failure for an error message, such as "switch leaf0 (port 3, priority 1)".
fn place(switch: &str, queue: Option<(u16, u8)>) -> String {
    match queue {
        Some((port, priority)) => format!("switch {switch} (port {port}, priority {priority})"),
        None => format!("switch {switch}"),
    }
}
