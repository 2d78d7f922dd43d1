//! The comparison by which a packet was refused.

use super::packet::Arrival;
use super::verdict::DropReason;
use crate::buffer::{Buffer, IngressId, QueueId};

/// What had no room for a packet: `held + size > limit`.
///
/// All three are what was compared: `size` is what the packet is charged with (whole cells, or none
/// of it where a scheme compares the length without it), and `held` may be a filtered or an old
/// length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// What was compared.
    pub place: BoundPlace,
    /// What it held (bytes).
    pub held: u64,
    /// What the packet adds (bytes).
    pub size: u64,
    /// What it may hold (bytes).
    pub limit: u64,
}

/// What a [`Bound`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundPlace {
    /// The memory, or what reserves leave of it.
    Buffer,
    /// What the scheme lets all queues share, of which something is set aside.
    SharedPool,
    /// The pool of ingress queues.
    IngressPool,
    /// The pool of lossy egress queues.
    LossyPool,
    /// The headroom of all ingress queues together.
    HeadroomPool,
    /// An egress queue.
    Queue(QueueId),
    /// The low-pass filtered length of an egress queue.
    FilteredQueue(QueueId),
    /// An egress port.
    Port(u16),
    /// Packets of small flows at an egress port.
    SmallFlows(u16),
    /// An ingress queue.
    Ingress(IngressId),
    /// The headroom of an ingress queue.
    Headroom(IngressId),
    /// The headroom that the ingress queues of a port share.
    PortHeadroom(u16),
}

impl Bound {
    /// Whether the packet was too much.
    #[must_use]
    pub fn binds(&self) -> bool {
        self.held.saturating_add(self.size) > self.limit
    }

    /// The bound if it binds.
    #[must_use]
    pub fn if_binding(self) -> Option<Self> {
        self.binds().then_some(self)
    }

    /// The shared pool as it is, whatever policies are shown of it.
    #[must_use]
    pub fn buffer(arrival: &Arrival, buffer: &Buffer) -> Self {
        let (held, limit) = (buffer.pool_occupancy(), buffer.shared_capacity());
        Self { place: BoundPlace::Buffer, held, size: arrival.size.into(), limit }
    }

    /// The packet's queue, which may hold `limit`.
    #[must_use]
    pub fn queue(arrival: &Arrival, limit: u64, buffer: &Buffer) -> Self {
        let held = buffer.shared_queue_bytes(arrival.queue);
        Self { place: BoundPlace::Queue(arrival.queue), held, size: arrival.size.into(), limit }
    }

    /// The packet's egress port, which may hold `limit`.
    #[must_use]
    pub fn port(arrival: &Arrival, limit: u64, buffer: &Buffer) -> Self {
        let held = buffer.shared_port_bytes(arrival.port);
        Self { place: BoundPlace::Port(arrival.port), held, size: arrival.size.into(), limit }
    }

    /// What most schemes compare: the pool, and the queue with its `threshold`. `None` for other
    /// reasons.
    #[must_use]
    pub fn usual(
        arrival: &Arrival,
        reason: DropReason,
        threshold: Option<u64>,
        buffer: &Buffer,
    ) -> Option<Self> {
        match reason {
            DropReason::BufferFull => Self::buffer(arrival, buffer).if_binding(),
            DropReason::OverThreshold => Self::queue(arrival, threshold?, buffer).if_binding(),
            _ => None,
        }
    }
}
