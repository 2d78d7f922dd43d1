//! Nodes and edges of a schedule.

use bufferlab_units::Time;

/// Number of a node, in the order in which the nodes were added.
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

/// Data that one rank sends to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Sending rank.
    pub src: u32,
    /// Receiving rank, different from `src`.
    pub dst: u32,
    /// Payload, at least 1 (bytes).
    pub bytes: u64,
    /// Index into [`crate::Schedule::classes`].
    pub class: u16,
}

/// Work of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A message. The node finishes when the receiver has the last byte.
    Transfer(Transfer),
    /// A computation. Computations of one rank and lane run one at a time, in the order in which
    /// they become ready. Nodes that become ready together run in the order of their numbers.
    Compute {
        /// Computing rank.
        rank: u32,
        /// Processor of the rank; 0 unless the rank computes several things at once.
        lane: u8,
        /// Time of the computation.
        duration: Time,
    },
    /// A point that finishes as soon as all of its parents allow it to start.
    Barrier,
}

/// Event of a parent that an edge waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Condition {
    /// The parent has started.
    Started = 0,
    /// The sender has transmitted the last byte of the parent, a transfer, and needs no more
    /// acknowledgement of it.
    Sent = 1,
    /// The receiver has the last byte of a transfer, a computation is done, or a barrier is open.
    Finished = 2,
}

/// Edge between two nodes: the end that is not implied by the place of the edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Node at the other end: the child in a list of children, the parent in a list of parents.
    pub node: NodeId,
    /// Event of the parent.
    pub condition: Condition,
    /// Time that passes between the event and the effect.
    pub delay: Time,
}

/// Edge in memory: the other node, and the condition with an index into the table of delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PackedEdge {
    pub(crate) node: u32,
    label: u32,
}

impl PackedEdge {
    pub(crate) const fn new(node: u32, condition: Condition, delay: u32) -> Self {
        Self { node, label: delay << 2 | condition as u32 }
    }

    /// Copies the edge, with `node` in place of its node.
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
