//! Records of a switch, filled from the core's events.

use super::effects::{Effects, Evicted};
use super::packets::Logged;
use crate::ids::PacketId;
use bufferlab_core::{
    Arrival, Buffer, Departure, DropReason, Observer, Panel, Policy, QueueId, Stored, Switch, SwitchEvent,
};
use bufferlab_metrics::OccupancyTimes;
use bufferlab_units::Time;
use std::collections::BTreeMap;

/// Exact occupancy histograms and drops of one switch, and the effects of its events.
///
/// The core counts the bytes in the buffer. The record only adds the time spent at each occupancy.
#[derive(Clone, Debug)]
pub(crate) struct SwitchRecord {
    pub(crate) total: OccupancyTimes,
    /// Occupancy of each port; empty if every port has one queue ([`Self::of_port`]).
    ports: Vec<OccupancyTimes>,
    pub(crate) queues: Vec<QueueRecord>,
    /// Time for which the packet that left last was in the buffer.
    pub(crate) last_sojourn: Time,
    /// Drops by queue, class and reason: numbers of packets and bytes.
    pub(crate) drops: BTreeMap<(QueueId, u16, u8), (u64, u64)>,
    /// Number of ACKs among the dropped packets.
    pub(crate) lost_acks: u64,
    pub(crate) effects: Effects,
    /// Whether every event of every packet is logged among the effects.
    pub(super) logs_packets: bool,
}

/// Records of one queue of a switch.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueueRecord {
    pub(crate) times: OccupancyTimes,
    /// Peak length of the queue (bytes). Packets that bypassed the queue count only after the end
    /// of the run.
    pub(crate) max: u64,
    /// Sum of size × time in the queue over the packets that have left (byte · ps). The sum equals
    /// the integral of the queue length over time, but needs one product per packet instead of two.
    byte_time: u128,
}

impl QueueRecord {
    /// Adds a packet of size `bytes` that was in the queue for the time `stay`.
    #[inline]
    fn note_stay(&mut self, bytes: u32, stay: Time) {
        self.byte_time += u128::from(bytes) * u128::from(stay.0);
    }

    /// Time-weighted mean length of the queue (bytes).
    pub(crate) fn mean(&self) -> f64 {
        let span = self.times.span();
        if span == 0 { 0.0 } else { self.byte_time as f64 / span as f64 }
    }
}

impl SwitchRecord {
    pub(crate) fn new(ports: usize, queues: usize) -> Self {
        Self {
            total: OccupancyTimes::default(),
            ports: vec![OccupancyTimes::default(); if ports == queues { 0 } else { ports }],
            queues: vec![QueueRecord::default(); queues],
            last_sojourn: Time::ZERO,
            drops: BTreeMap::new(),
            lost_acks: 0,
            effects: Effects::default(),
            logs_packets: false,
        }
    }

    /// Closes the records of the memory `core` at `place`, at the end of the run.
    pub(super) fn close<P: Policy>(&mut self, place: MemoryOffset, end: Time, core: &Switch<P>) {
        let buffer = core.buffer();
        // Each memory updates the occupancy of the whole switch again, because this occupancy
        // includes the bytes of all memories.
        self.total.hold(end.0, place.elsewhere_bytes + buffer.occupancy());
        for port in 0..buffer.ports() {
            if let Some(times) = self.ports.get_mut(usize::from(place.first_port + port)) {
                times.hold(end.0, buffer.port_bytes(port));
            }
        }
        for queue in buffer.queue_ids() {
            let record = &mut self.queues[usize::from(place.first_queue + queue.0)];
            record.times.hold(end.0, buffer.queue_bytes(queue));
            // A packet that bypassed the queue was the only packet of the queue.
            record.max = record.max.max(u64::from(core.largest_bypassed(queue)));
            for stored in buffer.packets(queue) {
                record.note_stay(stored.header.size, end - stored.enqueued_at);
            }
        }
    }

    pub(crate) fn count_drop(&mut self, queue: QueueId, class: u16, reason: DropReason, size: u32) {
        let entry = self.drops.entry((queue, class, reason as u8)).or_default();
        entry.0 += 1;
        entry.1 += u64::from(size);
    }

    /// Occupancy of a port over time. The only queue of a port has the occupancy of the port.
    pub(crate) fn of_port(&self, port: u16) -> &OccupancyTimes {
        let port = usize::from(port);
        self.ports.get(port).unwrap_or_else(|| &self.queues[port].times)
    }

    /// Records that a packet was stored in the memory at `place`.
    #[inline(always)] // The compiler can so drop a `place` of all zeros.
    fn rise(&mut self, place: MemoryOffset, arrival: &Arrival, buffer: &Buffer) {
        let (now, size) = (arrival.now.0, u64::from(arrival.header.size));
        self.total.hold(now, place.elsewhere_bytes + buffer.occupancy() - size);
        if let Some(times) = self.ports.get_mut(usize::from(place.first_port + arrival.port)) {
            times.hold(now, buffer.port_bytes(arrival.port) - size);
        }
        let queue = &mut self.queues[usize::from(place.first_queue + arrival.queue.0)];
        let length = buffer.queue_bytes(arrival.queue);
        queue.times.hold(now, length - size);
        queue.max = queue.max.max(length);
    }

    /// Records that a packet has left the memory at `place`.
    #[inline(always)] // The compiler can so drop a `place` of all zeros.
    fn fall(&mut self, place: MemoryOffset, leaving: Leaving, buffer: &Buffer) {
        let Leaving { now, queue, port, size, stay } = leaving;
        let bytes = u64::from(size);
        self.total.hold(now.0, place.elsewhere_bytes + buffer.occupancy() + bytes);
        if let Some(times) = self.ports.get_mut(usize::from(place.first_port + port)) {
            times.hold(now.0, buffer.port_bytes(port) + bytes);
        }
        let record = &mut self.queues[usize::from(place.first_queue + queue.0)];
        record.times.hold(now.0, buffer.queue_bytes(queue) + bytes);
        record.note_stay(size, stay);
        self.last_sojourn = stay;
    }

    fn note_eviction(
        &mut self,
        now: Time,
        stay: Time,
        evicted: Evicted,
        buffer: &Buffer,
        place: MemoryOffset,
    ) {
        let (port, _) = buffer.port_and_priority(evicted.queue);
        let last_sojourn = self.last_sojourn;
        self.fall(place, Leaving { now, queue: evicted.queue, port, size: evicted.size, stay }, buffer);
        self.last_sojourn = last_sojourn;
        let queue = QueueId(place.first_queue + evicted.queue.0);
        self.effects.evict(Evicted { queue, ..evicted });
    }
}

/// A packet that leaves a memory of the switch.
#[derive(Clone, Copy, Debug)]
struct Leaving {
    now: Time,
    queue: QueueId,
    port: u16,
    size: u32,
    /// Time for which the packet was in the buffer.
    stay: Time,
}

impl From<&Departure> for Leaving {
    #[inline]
    fn from(departure: &Departure) -> Self {
        let &Departure { now, enqueued_at, header, queue, port, .. } = departure;
        Self { now, queue, port, size: header.size, stay: now - enqueued_at }
    }
}

/// Effect of the removal of the packet `stored` from `queue`.
fn evicted(queue: QueueId, stored: &Stored, reason: DropReason, buffer: &Buffer) -> Evicted {
    let (packet, size) = (PacketId(stored.packet), stored.header.size);
    let (ingress_port, _) = buffer.port_and_priority(QueueId(stored.ingress.0));
    Evicted { queue, packet, size, reason, ingress_port }
}

/// First port and first queue of a memory in its switch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MemoryOffset {
    pub(super) first_port: u16,
    pub(super) first_queue: u16,
    /// Bytes in the switch's other memories.
    pub(super) elsewhere_bytes: u64,
}

/// The record observes the only memory of a switch.
impl Observer for SwitchRecord {
    #[inline(always)] // Each caller has one kind of event, so one arm remains.
    fn on(&mut self, event: &SwitchEvent<'_>, buffer: &Buffer) {
        self.record(event, buffer, MemoryOffset::default());
    }
}

impl SwitchRecord {
    /// Records a packet event in the memory at `place`.
    #[inline(always)] // Each caller has one kind of event, so one arm remains.
    fn record(&mut self, event: &SwitchEvent<'_>, buffer: &Buffer, place: MemoryOffset) {
        match *event {
            SwitchEvent::Stored { arrival, .. } => self.rise(place, arrival, buffer),
            SwitchEvent::Departed(departure) => self.fall(place, departure.into(), buffer),
            SwitchEvent::Evicted { now, queue, stored, reason } => {
                let stay = now - stored.enqueued_at;
                self.note_eviction(now, stay, evicted(queue, stored, reason, buffer), buffer, place);
            }
            SwitchEvent::PauseChanged { ingress, paused, .. } => self.effects.demand_pause(ingress, paused),
            SwitchEvent::Arriving(_)
            | SwitchEvent::Bypassing(_)
            | SwitchEvent::Departing(_)
            | SwitchEvent::Refused { .. } => {}
        }
    }
}

/// Observer of one of several memories, or of a memory with shadow policies.
pub(super) struct Listener<'a> {
    pub(super) record: &'a mut SwitchRecord,
    pub(super) panel: Option<&'a mut Panel>,
    pub(super) place: MemoryOffset,
}

impl Observer for Listener<'_> {
    fn on(&mut self, event: &SwitchEvent<'_>, buffer: &Buffer) {
        if let Some(panel) = &mut self.panel {
            panel.on(event, buffer);
        }
        if self.record.logs_packets {
            let effects = &mut self.record.effects;
            if let Some(logged) = Logged::new(self.place, event, buffer, effects.log.last()) {
                effects.log(logged);
            }
        }
        self.record.record(event, buffer, self.place);
    }
}
