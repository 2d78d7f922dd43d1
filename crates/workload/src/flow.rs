//! What is a flow, and where do drivers get the next one?

use bufferlab_units::Time;

/// One flow to be carried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowSpec {
    /// When the application hands its data over.
    pub start: Time,
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// Bytes of payload, at least 1; [`FlowSpec::UNLIMITED`]: as many as can be sent until flows
    /// stop arriving.
    pub size: u64,
    /// Index of its class in the run's table of classes.
    pub class: u16,
    /// The query that it answers, unique in the run; [`FlowSpec::NO_QUERY`] otherwise.
    pub query: u32,
    /// When its connection opens: `None` at `start` (with a handshake if the transport has one);
    /// earlier than `start`: the connection exists already when the data comes.
    pub open: Option<Time>,
    /// Explicit choices among equal paths, data direction: byte k is the choice at the k-th
    /// branching switch. `None`: the topology's rule.
    pub data_path: Option<u32>,
    /// The same for its ACKs.
    pub ack_path: Option<u32>,
}

impl FlowSpec {
    /// [`FlowSpec::query`] of a flow that belongs to no query.
    pub const NO_QUERY: u32 = u32::MAX;

    /// [`FlowSpec::size`] of a flow that sends for as long as flows may start.
    pub const UNLIMITED: u64 = u64::MAX;
}

/// Hands out flows one by one, in the order in which they start.
pub trait FlowSource: Send {
    /// The next flow: never earlier than the one before. `None` when there are no more, and then
    /// for ever.
    #[must_use]
    fn next_flow(&mut self) -> Option<FlowSpec>;
}

impl<S: FlowSource + ?Sized> FlowSource for Box<S> {
    fn next_flow(&mut self) -> Option<FlowSpec> {
        (**self).next_flow()
    }
}
