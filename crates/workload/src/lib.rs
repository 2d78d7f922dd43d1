//! Flow sizes, arrival processes, queries and flow lists.

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
    /// Bytes of payload, at least 1.
    pub size: u64,
    /// Index of its class in the run's table of classes.
    pub class: u16,
    /// The query that it answers, unique in the run; [`FlowSpec::NO_QUERY`] otherwise.
    pub query: u32,
    /// When its connection opens: `None` at `start` (with a handshake if the transport has one); earlier
    /// than `start`: the connection exists already when the data comes.
    pub open: Option<Time>,
    /// Explicit choices among equal paths, data direction: byte k is the choice at the k-th branching
    /// switch. `None`: the topology's rule.
    pub data_path: Option<u32>,
    /// The same for its ACKs.
    pub ack_path: Option<u32>,
}

impl FlowSpec {
    /// [`FlowSpec::query`] of a flow that belongs to no query.
    pub const NO_QUERY: u32 = u32::MAX;
}

/// Who talks to whom. A *rack* is the set of hosts on one tier-0 switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// A random host of the next rack (the last rack's next is the first).
    NextRack,
    /// A random host of any other rack.
    OtherRack,
    /// Any other host.
    AllToAll,
}

/// placeholder
#[derive(Clone, Debug)]
pub struct SizeDistribution;
