//! A switch of the network: the core's pipeline, its links, and what is recorded of it.

use bufferlab_core::{
    Arrival, Buffer, Departure, DropReason, IngressId, Observer, Policy, QueueId, Stored, Switch,
};
use bufferlab_metrics::{DelayHistogram, OccupancyHistogram};
use bufferlab_units::Time;
use std::collections::BTreeMap;

/// One switch.
#[derive(Debug)]
pub(crate) struct SwitchNode {
    pub(crate) core: Switch<Box<dyn Policy>>,
    /// Link of port 0; the ports' links follow each other.
    pub(crate) first_link: u32,
    /// Bytes of a frame that are not charged.
    pub(crate) uncharged: u32,
    /// A timer for the policy's next timeout is set. If not, an arrival may bring one.
    pub(crate) timer_set: bool,
    pub(crate) record: SwitchRecord,
}

/// A packet that was removed from a queue without being sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evicted {
    pub(crate) queue: QueueId,
    pub(crate) packet: u32,
    pub(crate) size: u32,
    pub(crate) reason: DropReason,
}

/// Exact occupancy histograms, delays and drops of one switch.
#[derive(Debug)]
pub(crate) struct SwitchRecord {
    pub(crate) total: OccupancyHistogram,
    pub(crate) ports: Vec<OccupancyHistogram>,
    pub(crate) queues: Vec<OccupancyHistogram>,
    /// How long the packet that left last had been stored.
    pub(crate) last_sojourn: Time,
    /// By queue and class (`queue × classes + class`); empty where delays are not measured.
    pub(crate) delays: Vec<DelayHistogram>,
    /// By queue: bytes refused on arrival.
    pub(crate) refused_bytes: Vec<u64>,
    /// By queue, class and reason: packets and bytes.
    pub(crate) drops: BTreeMap<(QueueId, u16, u8), (u64, u64)>,
    /// Evicted since the driver last looked: it owns the packets.
    pub(crate) evicted: Vec<Evicted>,
    /// Pause changes since the driver last looked.
    pub(crate) pauses: Vec<(IngressId, bool)>,
}

impl SwitchRecord {
    pub(crate) fn new(ports: usize, queues: usize) -> Self {
        Self {
            total: OccupancyHistogram::default(),
            ports: vec![OccupancyHistogram::default(); ports],
            queues: vec![OccupancyHistogram::default(); queues],
            last_sojourn: Time::ZERO,
            delays: Vec::new(),
            refused_bytes: vec![0; queues],
            drops: BTreeMap::new(),
            evicted: Vec::new(),
            pauses: Vec::new(),
        }
    }

    pub(crate) fn count_drop(&mut self, queue: QueueId, class: u16, reason: DropReason, size: u32) {
        let entry = self.drops.entry((queue, class, reason as u8)).or_default();
        entry.0 += 1;
        entry.1 += u64::from(size);
    }

    #[inline]
    fn set(&mut self, now: Time, queue: QueueId, port: u16, buffer: &Buffer) {
        self.total.set(now.0, buffer.occupancy());
        self.ports[usize::from(port)].set(now.0, buffer.port_bytes(port));
        self.queues[usize::from(queue.0)].set(now.0, buffer.queue_bytes(queue));
    }
}

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

    fn dropped(&mut self, arrival: &Arrival, _: u32, _: DropReason, _: &Buffer) {
        self.refused_bytes[usize::from(arrival.queue.0)] += u64::from(arrival.size);
    }

    fn evicted(&mut self, now: Time, queue: QueueId, stored: &Stored, reason: DropReason, buffer: &Buffer) {
        let (port, _) = buffer.port_and_priority(queue);
        self.set(now, queue, port, buffer);
        let Stored { packet, size, .. } = *stored;
        self.evicted.push(Evicted { queue, packet, size, reason });
    }

    fn pause_changed(&mut self, _: Time, ingress: IngressId, paused: bool) {
        self.pauses.push((ingress, paused));
    }
}
