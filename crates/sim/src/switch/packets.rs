//! Log of packet events in a switch's memory, for runs that record packets.
//!
//! The core reports an event during its handling, when no other component is readable. The program
//! looks up flows, limits and packet numbers when the event is settled (`observe::packets`), before
//! any of the packets is freed.

use super::record::MemoryOffset;
use crate::ids::PacketId;
use bufferlab_core::{
    Account, Arrival, Buffer, Departure, DropReason, End, IngressId, QueueId, Stored, SwitchEvent, Tags,
};
use bufferlab_metrics::PacketEvent;
use bufferlab_units::Time;

/// A packet event that the core reported.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Logged {
    pub(crate) now: Time,
    pub(crate) event: PacketEvent,
    /// Packet of the event. `None` for a pause or resume that no packet caused.
    pub(crate) packet: Option<PacketId>,
    /// Queue of the packet, numbered over the switch. A pause without a packet has any queue of the
    /// memory.
    pub(crate) queue: QueueId,
    pub(crate) ingress: IngressId,
    pub(crate) size: u32,
    pub(crate) tags: Tags,
    pub(crate) queue_bytes: u64,
    pub(crate) occupancy_bytes: u64,
    pub(crate) ingress_bytes: u64,
    pub(crate) account: Option<Account>,
    pub(crate) reason: Option<DropReason>,
    /// For a refused packet: the arrival about which the policy decided.
    pub(crate) refused: Option<Arrival>,
    /// Time for which the packet was in the buffer.
    pub(crate) stay: Option<Time>,
}

impl Logged {
    /// Log entry of `event`, if the table of packets records it. `last` is the previous entry of
    /// the log.
    pub(super) fn new(
        place: MemoryOffset,
        event: &SwitchEvent<'_>,
        buffer: &Buffer,
        last: Option<&Self>,
    ) -> Option<Self> {
        match *event {
            SwitchEvent::Arriving(_) | SwitchEvent::Bypassing(_) | SwitchEvent::Departing(_) => None,
            SwitchEvent::Stored { arrival, id } => Some(Self::stored(place, arrival, id, buffer)),
            SwitchEvent::Refused { arrival, id, refusal } => {
                let logged = Self::of_arrival(place, arrival, id, refusal.outcome, buffer);
                Some(Self { reason: Some(refusal.reason), refused: Some(*arrival), ..logged })
            }
            SwitchEvent::Evicted { now, queue, stored, reason } => {
                Some(Self::evicted((place, now), queue, stored, reason, buffer))
            }
            SwitchEvent::Departed(departure) => Some(Self::departed(place, departure, buffer)),
            SwitchEvent::PauseChanged { now, ingress, paused } => {
                Some(Self::pause((place, now), ingress, paused, last))
            }
        }
    }

    fn of_arrival(
        place: MemoryOffset,
        arrival: &Arrival,
        id: u32,
        event: PacketEvent,
        buffer: &Buffer,
    ) -> Self {
        Self {
            now: arrival.now,
            event,
            packet: Some(PacketId(id)),
            queue: QueueId(place.first_queue + arrival.queue.0),
            ingress: arrival.ingress,
            size: arrival.header.size,
            tags: arrival.header.tags,
            queue_bytes: buffer.queue_bytes(arrival.queue),
            occupancy_bytes: place.elsewhere_bytes + buffer.occupancy(),
            ingress_bytes: buffer.ingress_bytes(arrival.ingress),
            account: None,
            reason: None,
            refused: None,
            stay: None,
        }
    }

    fn stored(place: MemoryOffset, arrival: &Arrival, id: u32, buffer: &Buffer) -> Self {
        let account = buffer.peek(arrival.queue, End::Tail).map(|stored| stored.account);
        Self { account, ..Self::of_arrival(place, arrival, id, PacketEvent::Admitted, buffer) }
    }

    fn evicted(
        (place, now): (MemoryOffset, Time),
        queue: QueueId,
        stored: &Stored,
        reason: DropReason,
        buffer: &Buffer,
    ) -> Self {
        Self {
            now,
            event: PacketEvent::Evicted,
            packet: Some(PacketId(stored.packet)),
            queue: QueueId(place.first_queue + queue.0),
            ingress: stored.ingress,
            size: stored.header.size,
            tags: stored.header.tags,
            queue_bytes: buffer.queue_bytes(queue),
            occupancy_bytes: place.elsewhere_bytes + buffer.occupancy(),
            ingress_bytes: buffer.ingress_bytes(stored.ingress),
            account: Some(stored.account),
            reason: Some(reason),
            refused: None,
            stay: Some(now - stored.enqueued_at),
        }
    }

    /// Log entry of a departure, without the packet: the core does not report which packet departs,
    /// and [`super::SwitchNode`] adds the packet afterwards.
    fn departed(place: MemoryOffset, departure: &Departure, buffer: &Buffer) -> Self {
        Self {
            now: departure.now,
            event: PacketEvent::Departed,
            packet: None,
            queue: QueueId(place.first_queue + departure.queue.0),
            ingress: departure.ingress,
            size: departure.header.size,
            tags: Tags::NONE,
            queue_bytes: buffer.queue_bytes(departure.queue),
            occupancy_bytes: place.elsewhere_bytes + buffer.occupancy(),
            ingress_bytes: buffer.ingress_bytes(departure.ingress),
            account: None,
            reason: None,
            refused: None,
            stay: Some(departure.now - departure.enqueued_at),
        }
    }

    /// Creates the entry of a pause or resume. `last` is the packet event that caused the pause or
    /// resume, if any. The engine looks up the bytes of the ingress queue when the engine settles
    /// the event.
    fn pause(
        (place, now): (MemoryOffset, Time),
        ingress: IngressId,
        paused: bool,
        last: Option<&Self>,
    ) -> Self {
        let event = if paused { PacketEvent::Paused } else { PacketEvent::Resumed };
        let nothing = Self {
            now,
            event,
            packet: None,
            queue: QueueId(place.first_queue),
            ingress,
            size: 0,
            tags: Tags::NONE,
            queue_bytes: 0,
            occupancy_bytes: 0,
            ingress_bytes: 0,
            account: None,
            reason: None,
            refused: None,
            stay: None,
        };
        let of = |last: &Self| Self {
            event,
            ingress,
            account: None,
            reason: None,
            refused: None,
            stay: None,
            ..*last
        };
        last.map_or(nothing, of)
    }
}
