//! What is recorded of a switch, told by the core as it happens.

use super::effects::{Effects, Evicted};
use crate::ids::PacketId;
use bufferlab_core::{Arrival, Buffer, Departure, DropReason, IngressId, Observer, Panel, QueueId, Stored};
use bufferlab_metrics::OccupancyHistogram;
use bufferlab_units::Time;
use std::collections::BTreeMap;

/// Exact occupancy histograms and drops of one switch, and what its events lead to.
#[derive(Debug)]
pub(crate) struct SwitchRecord {
    pub(crate) total: OccupancyHistogram,
    pub(crate) ports: Vec<OccupancyHistogram>,
    pub(crate) queues: Vec<OccupancyHistogram>,
    /// How long the packet that left last had been stored.
    pub(crate) last_sojourn: Time,
    /// By queue, class and reason: packets and bytes.
    pub(crate) drops: BTreeMap<(QueueId, u16, u8), (u64, u64)>,
    pub(crate) effects: Effects,
}

impl SwitchRecord {
    pub(crate) fn new(ports: usize, queues: usize) -> Self {
        Self {
            total: OccupancyHistogram::default(),
            ports: vec![OccupancyHistogram::default(); ports],
            queues: vec![OccupancyHistogram::default(); queues],
            last_sojourn: Time::ZERO,
            drops: BTreeMap::new(),
            effects: Effects::default(),
        }
    }

    /// The run ends.
    pub(crate) fn close(&mut self, end: Time) {
        let parts = self.ports.iter_mut().chain(&mut self.queues).chain([&mut self.total]);
        parts.for_each(|histogram| histogram.close(end.0));
    }

    pub(crate) fn count_drop(&mut self, queue: QueueId, class: u16, reason: DropReason, size: u32) {
        let entry = self.drops.entry((queue, class, reason as u8)).or_default();
        entry.0 += 1;
        entry.1 += u64::from(size);
    }

    /// `queue` of `port` of the only memory has changed.
    #[inline]
    fn set(&mut self, now: Time, queue: QueueId, port: u16, buffer: &Buffer) {
        self.total.set(now.0, buffer.occupancy());
        self.ports[usize::from(port)].set(now.0, buffer.port_bytes(port));
        self.queues[usize::from(queue.0)].set(now.0, buffer.queue_bytes(queue));
    }

    /// The same of one of several memories.
    fn set_at(&mut self, place: Place, now: Time, queue: QueueId, port: u16, buffer: &Buffer) {
        self.total.set(now.0, place.elsewhere_bytes + buffer.occupancy());
        self.ports[usize::from(place.first_port + port)].set(now.0, buffer.port_bytes(port));
        self.queues[usize::from(place.first_queue + queue.0)].set(now.0, buffer.queue_bytes(queue));
    }

    fn note_eviction(&mut self, now: Time, evicted: Evicted, buffer: &Buffer, place: Place) {
        let (port, _) = buffer.port_and_priority(evicted.queue);
        self.set_at(place, now, evicted.queue, port, buffer);
        let queue = QueueId(place.first_queue + evicted.queue.0);
        self.effects.evict(Evicted { queue, ..evicted });
    }
}

/// `stored`, which was removed from `queue`.
fn evicted(queue: QueueId, stored: &Stored, reason: DropReason, buffer: &Buffer) -> Evicted {
    let (packet, size) = (PacketId(stored.packet), stored.size);
    let (ingress_port, _) = buffer.port_and_priority(QueueId(stored.ingress.0));
    Evicted { queue, packet, size, reason, ingress_port }
}

/// Where a memory is within its switch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    pub(super) first_port: u16,
    pub(super) first_queue: u16,
    /// Bytes in the switch's other memories.
    pub(super) elsewhere_bytes: u64,
}

/// Of the only memory of a switch.
impl Observer for SwitchRecord {
    #[inline]
    fn stored(&mut self, arrival: &Arrival, _: u32, buffer: &Buffer) {
        self.set(arrival.now, arrival.queue, arrival.port, buffer);
    }

    #[inline]
    fn departed(&mut self, departure: &Departure, buffer: &Buffer) {
        self.set(departure.now, departure.queue, departure.port, buffer);
        self.last_sojourn = departure.now - departure.enqueued_at;
    }

    fn evicted(&mut self, now: Time, queue: QueueId, stored: &Stored, reason: DropReason, buffer: &Buffer) {
        self.note_eviction(now, evicted(queue, stored, reason, buffer), buffer, Place::default());
    }

    fn pause_changed(&mut self, _: Time, ingress: IngressId, paused: bool) {
        self.effects.demand_pause(ingress, paused);
    }
}

/// Listens to one of several memories, or to one that bystanders watch.
pub(super) struct Listener<'a> {
    pub(super) record: &'a mut SwitchRecord,
    pub(super) panel: Option<&'a mut Panel>,
    pub(super) place: Place,
}

impl Observer for Listener<'_> {
    fn arriving(&mut self, arrival: &Arrival, buffer: &Buffer) {
        if let Some(panel) = &mut self.panel {
            panel.arriving(arrival, buffer);
        }
    }

    fn bypassing(&mut self, arrival: &Arrival, buffer: &Buffer) {
        if let Some(panel) = &mut self.panel {
            panel.bypassing(arrival, buffer);
        }
    }

    fn departing(&mut self, now: Time, buffer: &Buffer) {
        if let Some(panel) = &mut self.panel {
            panel.departing(now, buffer);
        }
    }

    fn stored(&mut self, arrival: &Arrival, id: u32, buffer: &Buffer) {
        if let Some(panel) = &mut self.panel {
            panel.stored(arrival, id, buffer);
        }
        self.record.set_at(self.place, arrival.now, arrival.queue, arrival.port, buffer);
    }

    fn departed(&mut self, departure: &Departure, buffer: &Buffer) {
        if let Some(panel) = &mut self.panel {
            panel.departed(departure, buffer);
        }
        self.record.set_at(self.place, departure.now, departure.queue, departure.port, buffer);
        self.record.last_sojourn = departure.now - departure.enqueued_at;
    }

    fn dropped(&mut self, arrival: &Arrival, id: u32, reason: DropReason, buffer: &Buffer) {
        if let Some(panel) = &mut self.panel {
            panel.dropped(arrival, id, reason, buffer);
        }
    }

    fn evicted(&mut self, now: Time, queue: QueueId, stored: &Stored, reason: DropReason, buffer: &Buffer) {
        if let Some(panel) = &mut self.panel {
            panel.evicted(now, queue, stored, reason, buffer);
        }
        self.record.note_eviction(now, evicted(queue, stored, reason, buffer), buffer, self.place);
    }

    fn pause_changed(&mut self, now: Time, ingress: IngressId, paused: bool) {
        self.record.pause_changed(now, ingress, paused);
    }
}
