//! Packets as policies see them.

use crate::buffer::{IngressId, QueueId};
use crate::header::Header;
use bufferlab_units::Time;

/// A packet that asks for space, after classification.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Time of arrival.
    pub now: Time,
    /// Header of the packet, with the classifier's marks. Its size is the bytes that the packet
    /// would occupy.
    pub header: Header,
    /// Packets evicted for this arrival so far: the policy is called again after each eviction.
    pub evictions: u32,
    /// Egress queue of the packet.
    pub queue: QueueId,
    /// Egress port of `queue`.
    pub port: u16,
    /// The ingress queue (arrival port × priority) to which the packet is charged.
    pub ingress: IngressId,
    /// Queue within the port (0 is the first). The classifier chose it; `header.priority` is the
    /// priority from which it did.
    pub priority: u8,
}

/// A packet that leaves its queue for transmission.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// Time at which the transmission starts.
    pub now: Time,
    /// Time of admission.
    pub enqueued_at: Time,
    /// Header of the packet, as it was stored. Its size is the bytes that the packet occupied.
    pub header: Header,
    /// Queue that the packet leaves.
    pub queue: QueueId,
    /// Egress port of `queue`.
    pub port: u16,
    /// Ingress queue to which the packet was charged.
    pub ingress: IngressId,
    /// Queue within the port.
    pub priority: u8,
}
