//! What happens to packets in a switch's memory, noted one by one where a run records them.
//!
//! The core tells of it while it happens, when nobody else can be asked; flows, limits and numbers
//! of packets are looked up when the event is settled (`observe::packets`), which is before any of
//! the packets is gone.

use super::record::Place;
use crate::ids::PacketId;
use bufferlab_core::{
    Account, Arrival, Buffer, Departure, DropReason, End, IngressId, QueueId, Stored, SwitchEvent, Tags,
};
use bufferlab_metrics::PacketEvent;
use bufferlab_units::Time;

/// A packet's event, as the core told it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Logged {
    pub(crate) now: Time,
    pub(crate) event: PacketEvent,
    /// `None`: a pause or its end that no packet brought about.
    pub(crate) packet: Option<PacketId>,
    /// Its queue, counted over the switch; of a pause without a packet, some queue of the memory.
    pub(crate) queue: QueueId,
    pub(crate) ingress: IngressId,
    pub(crate) size: u32,
    pub(crate) tags: Tags,
    pub(crate) queue_bytes: u64,
    pub(crate) occupancy_bytes: u64,
    pub(crate) ingress_bytes: u64,
    pub(crate) account: Option<Account>,
    pub(crate) reason: Option<DropReason>,
    /// Of a refused packet: what the policy was asked.
    pub(crate) refused: Option<Arrival>,
    /// How long it had been stored.
    pub(crate) stay: Option<Time>,
}

impl Logged {
    /// The entry of `event` for the table of packets, if it has one. `last`: the entry before it.
    pub(super) fn new(
        place: Place,
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

    fn of_arrival(place: Place, arrival: &Arrival, id: u32, event: PacketEvent, buffer: &Buffer) -> Self {
        Self {
            now: arrival.now,
            event,
            packet: Some(PacketId(id)),
            queue: QueueId(place.first_queue + arrival.queue.0),
            ingress: arrival.ingress,
            size: arrival.size,
            tags: arrival.tags,
            queue_bytes: buffer.queue_bytes(arrival.queue),
            occupancy_bytes: place.elsewhere_bytes + buffer.occupancy(),
            ingress_bytes: buffer.ingress_bytes(arrival.ingress),
            account: None,
            reason: None,
            refused: None,
            stay: None,
        }
    }

    fn stored(place: Place, arrival: &Arrival, id: u32, buffer: &Buffer) -> Self {
        let account = buffer.peek(arrival.queue, End::Tail).map(|stored| stored.account);
        Self { account, ..Self::of_arrival(place, arrival, id, PacketEvent::Admitted, buffer) }
    }

    fn evicted(
        (place, now): (Place, Time),
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
            size: stored.size,
            tags: stored.tags,
            queue_bytes: buffer.queue_bytes(queue),
            occupancy_bytes: place.elsewhere_bytes + buffer.occupancy(),
            ingress_bytes: buffer.ingress_bytes(stored.ingress),
            account: Some(stored.account),
            reason: Some(reason),
            refused: None,
            stay: Some(now - stored.enqueued_at),
        }
    }

    /// The packet that leaves is told by [`super::SwitchNode`] afterwards: the core does not name
    /// it here.
    fn departed(place: Place, departure: &Departure, buffer: &Buffer) -> Self {
        Self {
            now: departure.now,
            event: PacketEvent::Departed,
            packet: None,
            queue: QueueId(place.first_queue + departure.queue.0),
            ingress: departure.ingress,
            size: departure.size,
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

    /// A pause or its end, which `last` has brought about, if anything has. What the ingress queue
    /// holds is looked up when it is settled.
    fn pause((place, now): (Place, Time), ingress: IngressId, paused: bool, last: Option<&Self>) -> Self {
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
