//! Limits of the bytes of whole egress ports.

use crate::buffer::{Buffer, QueueId};
use crate::policy::interface::{Account, Arrival, Bound, DropReason, Verdict};

/// Bytes that `queue` may use: the limit of its port less the bytes of the port's other queues.
pub(crate) fn rest_of_port(limit: u64, queue: QueueId, buffer: &Buffer) -> u64 {
    let (port, _) = buffer.port_and_priority(queue);
    limit.saturating_sub(buffer.shared_port_bytes(port).saturating_sub(buffer.shared_queue_bytes(queue)))
}

/// Admission test of a policy that limits ports. A packet is admitted iff the port stays within
/// `limit` with the packet, and the packet fits into the pool.
#[inline]
pub(crate) fn within_port_limit(arrival: &Arrival, limit: u64, buffer: &Buffer) -> Verdict {
    if !buffer.fits(arrival.header.size) {
        return Verdict::Drop(DropReason::BufferFull);
    }
    if buffer.shared_port_bytes(arrival.port) + u64::from(arrival.header.size) > limit {
        return Verdict::Drop(DropReason::OverPortLimit);
    }
    Verdict::Admit(Account::Shared)
}

/// The comparison by which [`within_port_limit`] refused a packet.
pub(crate) fn port_bound(
    arrival: &Arrival,
    reason: DropReason,
    limit: u64,
    buffer: &Buffer,
) -> Option<Bound> {
    match reason {
        DropReason::OverPortLimit => Bound::port(arrival, limit, buffer).if_binding(),
        _ => Bound::usual(arrival, reason, None, buffer),
    }
}
