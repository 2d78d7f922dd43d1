//! The comparison by which a policy refused a packet.

use super::packet::Arrival;
use super::verdict::DropReason;
use crate::buffer::{Buffer, IngressId, QueueId};

/// A comparison by which a policy refused a packet: `held + size > limit`.
///
/// The fields `held`, `size` and `limit` are the compared values. `size` is the number of bytes
/// that the packet adds: whole cells, or 0 if the scheme compares the queue length without the
/// packet. `held` may be a low-pass filtered length or the length at an earlier time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Queue, port or pool whose bytes the policy compared.
    pub place: BoundPlace,
    /// Bytes in the compared queue, port or pool before the packet arrived.
    pub held: u64,
    /// Bytes that the refused packet would add.
    pub size: u64,
    /// Limit of the compared queue, port or pool (bytes).
    pub limit: u64,
}

/// The queue, port or pool whose bytes a [`Bound`] compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundPlace {
    /// The whole memory except all reserves.
    Buffer,
    /// The pool that all queues share, without space that the scheme reserves.
    SharedPool,
    /// The pool that ingress queues share.
    IngressPool,
    /// The pool that lossy egress queues share.
    LossyPool,
    /// The headroom of all ingress queues together.
    HeadroomPool,
    /// Egress queue whose length the policy limits.
    Queue(QueueId),
    /// The low-pass filtered length of an egress queue.
    FilteredQueue(QueueId),
    /// Egress port whose stored bytes the policy limits.
    Port(u16),
    /// Packets of small flows in the queues of an egress port.
    SmallFlows(u16),
    /// Ingress queue whose length the policy limits.
    Ingress(IngressId),
    /// The headroom of an ingress queue.
    Headroom(IngressId),
    /// The headroom that the ingress queues of a port share.
    PortHeadroom(u16),
}

impl Bound {
    /// Whether the queue, port or pool would exceed its limit with the packet.
    #[must_use]
    pub fn binds(&self) -> bool {
        self.held.saturating_add(self.size) > self.limit
    }

    /// Returns the bound if the packet would exceed its limit, otherwise `None`.
    #[must_use]
    pub fn if_binding(self) -> Option<Self> {
        self.binds().then_some(self)
    }

    /// Compares the shared pool's current occupancy, even if policies see an older occupancy.
    #[must_use]
    pub fn buffer(arrival: &Arrival, buffer: &Buffer) -> Self {
        let (held, limit) = (buffer.pool_occupancy(), buffer.shared_capacity());
        Self { place: BoundPlace::Buffer, held, size: arrival.header.size.into(), limit }
    }

    /// Compares the length of the packet's queue with the limit `limit` (bytes).
    #[must_use]
    pub fn queue(arrival: &Arrival, limit: u64, buffer: &Buffer) -> Self {
        let held = buffer.shared_queue_bytes(arrival.queue);
        Self { place: BoundPlace::Queue(arrival.queue), held, size: arrival.header.size.into(), limit }
    }

    /// Compares the bytes of the packet's egress port with the limit `limit` (bytes).
    #[must_use]
    pub fn port(arrival: &Arrival, limit: u64, buffer: &Buffer) -> Self {
        let held = buffer.shared_port_bytes(arrival.port);
        Self { place: BoundPlace::Port(arrival.port), held, size: arrival.header.size.into(), limit }
    }

    /// Comparison by which most schemes refuse a packet: the shared pool with its size, or the
    /// queue with its `threshold`. `None` for other reasons of a refusal.
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
