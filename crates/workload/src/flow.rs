//! Flows, and the flow sources that drivers call for the next flow.

use bufferlab_units::Time;

/// A flow that a workload sends from one host to another host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowSpec {
    /// Time at which the application hands the flow's data to the transport.
    pub start: Time,
    /// Number of the host that sends the flow.
    pub src: u32,
    /// Number of the host that receives the flow.
    pub dst: u32,
    /// Payload of the flow (bytes), at least 1. [`FlowSpec::UNLIMITED`] is a flow that sends until
    /// the arrival phase ends.
    pub size: u64,
    /// Index of the flow's class in the run's table of classes.
    pub class: u16,
    /// Number of the query that the flow answers, unique in the run; otherwise
    /// [`FlowSpec::NO_QUERY`].
    pub query: u32,
    /// Opening time of the flow's connection: `None` for `start` (with a handshake if the
    /// transport has one). If the time is before `start`, the connection already exists when
    /// the data arrives.
    pub open: Option<Time>,
    /// Explicit choices among equal paths for data packets: byte k is the choice at the k-th
    /// branching switch. `None` for the topology's rule.
    pub data_path: Option<u32>,
    /// Explicit choices among equal paths for ACKs, encoded like `data_path`.
    pub ack_path: Option<u32>,
    /// Number of the schedule node that the flow executes, counted over all schedules of the run;
    /// otherwise [`FlowSpec::NO_NODE`].
    pub node: u32,
}

impl FlowSpec {
    /// Value of [`FlowSpec::query`] for a flow without a query.
    pub const NO_QUERY: u32 = u32::MAX;

    /// Value of [`FlowSpec::node`] for a flow that belongs to no schedule.
    pub const NO_NODE: u32 = u32::MAX;

    /// Value of [`FlowSpec::size`] for a flow that sends until the arrival phase ends.
    pub const UNLIMITED: u64 = u64::MAX;
}

/// Source that returns flows one by one, in the order of their starts.
pub trait FlowSource: Send {
    /// Returns the next flow, which never starts earlier than the previous flow. After the last
    /// flow, the result is always `None`.
    #[must_use]
    fn next_flow(&mut self) -> Option<FlowSpec>;

    /// Copies the source, for a simulation that is forked. The copy returns the flows that the
    /// original would return from now on. `None` means that the source cannot be copied, so that
    /// forks are refused. A source that implements [`Clone`] returns
    /// `Some(Box::new(self.clone()))`.
    fn boxed_clone(&self) -> Option<Box<dyn FlowSource>> {
        None
    }
}

impl<S: FlowSource + ?Sized> FlowSource for Box<S> {
    fn next_flow(&mut self) -> Option<FlowSpec> {
        (**self).next_flow()
    }

    fn boxed_clone(&self) -> Option<Box<dyn FlowSource>> {
        (**self).boxed_clone()
    }
}
