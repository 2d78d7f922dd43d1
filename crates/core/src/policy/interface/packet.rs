//! What a policy sees of a packet.

use crate::buffer::{IngressId, QueueId};
use crate::tags::Tags;
use bufferlab_units::Time;

/// One packet asking for space, after classification.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// When.
    pub now: Time,
    /// The egress queue that it wants to join.
    pub queue: QueueId,
    /// Egress port of `queue`.
    pub port: u16,
    /// Priority (queue within the port, 0 is the first).
    pub priority: u8,
    /// Marks set by hosts and classifiers.
    pub tags: Tags,
    /// Bytes that it would occupy.
    pub size: u32,
    /// Its flow, stable over the flow's life.
    pub flow: u32,
    /// The ingress queue (arrival port × priority) that it is charged to.
    pub ingress: IngressId,
    /// Stored packets that have been evicted for it so far: the policy is asked again after each.
    pub evictions: u32,
}

/// A packet that leaves its queue for the wire.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// When its transmission starts.
    pub now: Time,
    /// The queue that it leaves.
    pub queue: QueueId,
    /// Egress port of `queue`.
    pub port: u16,
    /// Priority.
    pub priority: u8,
    /// Bytes released.
    pub size: u32,
    /// Its flow.
    pub flow: u32,
    /// The ingress queue that it was charged to.
    pub ingress: IngressId,
    /// When it had been admitted.
    pub enqueued_at: Time,
}
