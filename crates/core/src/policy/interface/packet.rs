//! Packets as policies see them: arrivals and departures.

use crate::buffer::{IngressId, QueueId};
use crate::header::Header;
use bufferlab_units::Time;

/// A packet that needs space in the buffer, after classification.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Time at which the packet arrives.
    pub now: Time,
    /// Header of the packet, with the classifier's marks. Its size is the number of bytes that the
    /// packet would occupy.
    pub header: Header,
    /// Number of packets evicted for this arrival so far. After each eviction the switch asks the
    /// policy about the arrival again.
    pub evictions: u32,
    /// Egress queue of the packet.
    pub queue: QueueId,
    /// Egress port of the packet's queue.
    pub port: u16,
    /// Ingress queue (arrival port × priority) that is charged for the packet.
    pub ingress: IngressId,
    /// Queue within the port (0 is the first), chosen by the classifier.
    /// The classifier derived the queue from `header.priority`.
    pub priority: u8,
}

/// A packet that leaves its queue for transmission.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// Time at which the transmission starts.
    pub now: Time,
    /// Time at which the switch stored the packet.
    pub enqueued_at: Time,
    /// Header of the packet, as the switch stored it. The header's size is the number of bytes that
    /// the packet occupied.
    pub header: Header,
    /// Queue that the packet leaves.
    pub queue: QueueId,
    /// Egress port of the packet's queue.
    pub port: u16,
    /// Ingress queue that was charged for the packet.
    pub ingress: IngressId,
    /// Number of the packet's queue within the port.
    pub priority: u8,
}
