//! Nodes of a schedule, and edges between the nodes.

use bufferlab_units::Time;

/// Number of a node in the order in which the nodes were added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct NodeId(pub u32);

impl NodeId {
    /// Position of the node in the schedule.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Data that one rank sends to another rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Rank that sends the data.
    pub src: u32,
    /// Rank that receives the data; different from `src`.
    pub dst: u32,
    /// Payload of the transfer (bytes), at least 1.
    pub bytes: u64,
    /// Index of the transfer's class in [`crate::Schedule::classes`].
    pub class: u16,
}

/// Work that a node of a schedule represents: a transfer, a computation or a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A message between ranks. The node finishes when the receiver has the last byte.
    Transfer(Transfer),
    /// A computation on a rank. Computations of one rank and lane run one at a time,
    /// in the order in which they become ready.
    /// Nodes that become ready together run in the order of their numbers.
    Compute {
        /// Rank that executes the computation.
        rank: u32,
        /// Processor of the rank; 0 unless the rank has several computations in parallel.
        lane: u8,
        /// Duration of the computation.
        duration: Time,
    },
    /// A barrier, which finishes as soon as all its parents have reached the awaited events.
    Barrier,
}

/// Event of a parent for which an edge waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Condition {
    /// The edge waits for the start of the parent node.
    Started = 0,
    /// The parent is a transfer whose sender has transmitted the last byte and needs no further
    /// acknowledgement.
    Sent = 1,
    /// The receiver has the last byte of a transfer, a computation is done, or a barrier is open.
    Finished = 2,
}

/// Edge between two nodes: an entry in the list of edges of one of the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Node at the other end: the child in a list of children, the parent in a list of parents.
    pub node: NodeId,
    /// Event of the parent for which the child waits.
    pub condition: Condition,
    /// Time between the parent's event and its effect on the child.
    pub delay: Time,
}

/// Compact form of an edge in memory: the other node, the condition, and an index into the table of
/// delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PackedEdge {
    pub(crate) node: u32,
    label: u32,
}

impl PackedEdge {
    pub(crate) const fn new(node: u32, condition: Condition, delay: u32) -> Self {
        Self { node, label: delay << 2 | condition as u32 }
    }

    /// Copies the edge, with `node` as the node at the other end.
    pub(crate) const fn with_node(self, node: u32) -> Self {
        Self { node, label: self.label }
    }

    pub(crate) fn unpack(self, delays: &[Time]) -> Edge {
        let condition = match self.label & 3 {
            0 => Condition::Started,
            1 => Condition::Sent,
            _ => Condition::Finished,
        };
        Edge { node: NodeId(self.node), condition, delay: delays[(self.label >> 2) as usize] }
    }
}
