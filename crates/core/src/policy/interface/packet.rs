//! Packets as policies see them.

use crate::buffer::{IngressId, QueueId};
use crate::tags::Tags;
use bufferlab_units::Time;

/// A packet that asks for space, after classification.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Time of arrival.
    pub now: Time,
    /// Egress queue of the packet.
    pub queue: QueueId,
    /// Egress port of `queue`.
    pub port: u16,
    /// Priority (queue within the port, 0 is the first).
    pub priority: u8,
    /// Marks set by hosts and classifiers.
    pub tags: Tags,
    /// Bytes that the packet would occupy.
    pub size: u32,
    /// Flow of the packet, constant over the flow's life.
    pub flow: u32,
    /// The ingress queue (arrival port × priority) to which the packet is charged.
    pub ingress: IngressId,
    /// Packets evicted for this arrival so far: the policy is called again after each eviction.
    pub evictions: u32,
}

/// A packet that leaves its queue for transmission.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// Time at which the transmission starts.
    pub now: Time,
    /// Queue that the packet leaves.
    pub queue: QueueId,
    /// Egress port of `queue`.
    pub port: u16,
    /// Priority (queue within the port).
    pub priority: u8,
    /// Bytes released.
    pub size: u32,
    /// Flow of the packet.
    pub flow: u32,
    /// Ingress queue to which the packet was charged.
    pub ingress: IngressId,
    /// Time of admission.
    pub enqueued_at: Time,
}
