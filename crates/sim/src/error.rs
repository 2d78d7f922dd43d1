//! What can go wrong when a scenario is run.

use thiserror::Error;

/// A run that cannot start or cannot go on.
#[derive(Debug, Error)]
pub enum SimError {
    /// The policy does not fit a switch.
    #[error("switch {switch}: {source}")]
    Policy {
        /// The switch's name.
        switch: String,
        /// Why.
        source: bufferlab_core::BuildError,
    },
    /// The marking rule does not fit a switch.
    #[error("switch {switch}: marking: {source}")]
    Marker {
        /// The switch's name.
        switch: String,
        /// Why.
        source: bufferlab_core::BuildError,
    },
    /// The classifier does not fit a switch.
    #[error("switch {switch}: classifier: {source}")]
    Classifier {
        /// The switch's name.
        switch: String,
        /// Why.
        source: bufferlab_core::BuildError,
    },
    /// A policy failed while it ran, or asked for what no switch can do: its verdicts mean nothing
    /// any more.
    #[error(transparent)]
    PolicyFailed(Box<FailedPolicy>),
    /// An own marking rule failed while it ran: its marks mean nothing any more.
    #[error(transparent)]
    MarkingFailed(Box<FailedMarking>),
    /// A congestion control failed while it ran: what it sends means nothing any more.
    #[error(transparent)]
    ControlFailed(Box<FailedControl>),
    /// The scheduler does not fit the switch's queues.
    #[error("switch {switch}: scheduler: {source}")]
    Scheduler {
        /// The switch's name.
        switch: String,
        /// Why.
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
        /// The transport's name.
        transport: String,
        /// Why.
        source: bufferlab_core::BuildError,
    },
    /// Prescribed routes lead packets in a circle.
    #[error("packets for {host} would go round for ever: {switches}; mend [[topology.route]]")]
    RoutingLoop {
        /// The destination.
        host: String,
        /// The switches of the circle, in order.
        switches: String,
    },
    /// The scenario exceeds a limit of this engine.
    #[error("{what}: {found}, at most {limit}")]
    TooLarge {
        /// What.
        what: &'static str,
        /// How many there are.
        found: u64,
        /// How many are possible.
        limit: u64,
    },
    /// Packets that wait at the cards of hosts would fill the memory.
    #[error(transparent)]
    CardFull(Box<FullCard>),
    /// Whoever watched the run asked for its end.
    #[error("the run was interrupted")]
    Interrupted,
    /// The sink failed.
    #[error("writing results: {0}")]
    Sink(#[from] std::io::Error),
    /// A conservation law is broken: a bug in bufferlab.
    #[error(
        "an identity is broken at {time} in switch {switch}: {source}; this is a bug in bufferlab, please report it"
    )]
    Broken {
        /// When.
        time: bufferlab_units::Time,
        /// Where.
        switch: String,
        /// What.
        source: bufferlab_core::LedgerError,
    },
    /// Packets were lost without a record: a bug in bufferlab.
    #[error(
        "{alive} packets are alive but {found} were found in queues and on links; this is a bug in bufferlab, please report it"
    )]
    LostTrack {
        /// Packets alive by the slab.
        alive: usize,
        /// Packets in queues and pipes.
        found: usize,
    },
}

/// A host whose network card would have to hold more packets than there may be. Boxed in
/// [`SimError`] as [`FailedPolicy`] is.
#[derive(Debug, Error)]
#[error(
    "host {host} had {packets} packets at its network card at {time} ({} MB of memory) and more to come: \
     all packets that a window allows are made at once",
    (packets * (size_of::<crate::world::packet::Packet>() + size_of::<crate::ids::PacketId>())).div_ceil(1_000_000)
)]
pub struct FullCard {
    /// The host's name.
    pub host: String,
    /// Packets that wait there.
    pub packets: usize,
    /// Since when there is no room for more.
    pub time: bufferlab_units::Time,
}

/// A congestion control that failed while it ran. Boxed in [`SimError`] as [`FailedPolicy`] is.
#[derive(Debug, Error)]
#[error("congestion control {control} failed in flow {flow} ({src} to {dst}) at {time}: {failure}")]
pub struct FailedControl {
    /// The control's name.
    pub control: String,
    /// Number of the flow, as in its table.
    pub flow: u64,
    /// The sending host's name.
    pub src: String,
    /// The receiving host's name.
    pub dst: String,
    /// When.
    pub time: bufferlab_units::Time,
    /// What happened, and the error behind it.
    pub failure: bufferlab_transport::ControlFailure,
}

/// A policy that failed while it ran. Boxed in [`SimError`], because the results of hot functions
/// can hold one.
#[derive(Debug, Error)]
#[error("policy {policy} failed in {} at {time}: {failure}", self.place())]
pub struct FailedPolicy {
    /// The policy's name.
    pub policy: String,
    /// The switch's name.
    pub switch: String,
    /// Port and priority of the queue that it was called for, where the call was about one.
    pub queue: Option<(u16, u8)>,
    /// When.
    pub time: bufferlab_units::Time,
    /// What happened, and the error behind it.
    pub failure: bufferlab_core::PolicyFailure,
}

impl FailedPolicy {
    fn place(&self) -> String {
        place(&self.switch, self.queue)
    }
}

/// A marking rule that failed while it ran. Boxed in [`SimError`] as [`FailedPolicy`] is.
#[derive(Debug, Error)]
#[error("marking rule {rule} failed in {} at {time}: {failure}", place(switch, Some(*queue)))]
pub struct FailedMarking {
    /// The rule's name.
    pub rule: String,
    /// The switch's name.
    pub switch: String,
    /// Port and priority of the packet that it was asked about.
    pub queue: (u16, u8),
    /// When.
    pub time: bufferlab_units::Time,
    /// What happened, and the error behind it.
    pub failure: bufferlab_core::MarkingFailure,
}

/// "switch leaf0 (port 3, priority 1)"
fn place(switch: &str, queue: Option<(u16, u8)>) -> String {
    match queue {
        Some((port, priority)) => format!("switch {switch} (port {port}, priority {priority})"),
        None => format!("switch {switch}"),
    }
}
