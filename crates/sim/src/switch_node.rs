//! A switch of the network: the core's pipeline, its links, and what is recorded of it.

use crate::FailedPolicy;
use crate::ids::{LinkId, PacketId};
use bufferlab_core::{
    Admission, Arrival, Buffer, Departure, DropReason, IngressId, Observer, Opinion, Packet, Panel,
    ParamValue, Policy, QueueId, Stored, Switch, SwitchShape, Transmission,
};
use bufferlab_metrics::{DelayHistogram, OccupancyHistogram};
use bufferlab_units::Time;
use std::collections::BTreeMap;

/// One memory of a switch, with the ports that it serves.
#[derive(Debug)]
pub(crate) struct Slice {
    pub(crate) core: Switch<Box<dyn Policy>>,
    /// Number of its first port within the switch.
    pub(crate) first_port: u16,
    /// Number of its first queue within the switch.
    pub(crate) first_queue: u16,
    /// What its policy was told of it when it was built.
    pub(crate) shape: SwitchShape,
    /// The policy's name and parameters.
    pub(crate) policy: (String, Vec<(String, ParamValue)>),
}

impl Slice {
    /// The packet with its egress port counted within the slice.
    fn localised(&self, packet: &Packet) -> Packet {
        Packet { egress_port: packet.egress_port - self.first_port, ..*packet }
    }

    /// Port of the switch, and priority, of a queue of this slice.
    pub(crate) fn port_and_priority(&self, local: QueueId) -> (u16, u8) {
        let (port, priority) = self.core.buffer().port_and_priority(local);
        (self.first_port + port, priority)
    }
}

/// One switch.
#[derive(Debug)]
pub(crate) struct SwitchNode {
    /// Its first memory: nearly always the only one. In every memory ports and queues are counted from zero; all others count over the switch.
    pub(crate) first: Slice,
    /// The other memories.
    pub(crate) more: Vec<Slice>,
    /// Bystanders of each slice, where events are to be explained.
    panels: Vec<Panel>,
    /// One memory and no bystanders: the record listens directly.
    plain: bool,
    /// Ports of each slice; the last one may have fewer.
    pub(crate) ports_per_slice: u16,
    /// Link of port 0; the ports' links follow each other.
    pub(crate) first_link: LinkId,
    /// Bytes of a frame that are not charged.
    pub(crate) uncharged: u32,
    /// A timer for the policy's next timeout is set. If not, an arrival may bring one.
    pub(crate) timer_set: bool,
    pub(crate) record: SwitchRecord,
}

impl SwitchNode {
    /// A switch of these memories, in the order of their ports.
    pub(crate) fn new(slices: Vec<Slice>, ports_per_slice: u16, first_link: LinkId, uncharged: u32) -> Self {
        let queues: usize = slices.iter().map(|slice| slice.core.buffer().queue_ids().count()).sum();
        let ports: u16 = slices.iter().map(|slice| slice.core.buffer().ports()).sum();
        let mut slices = slices.into_iter();
        let first = slices.next().expect("a switch has a memory");
        let more: Vec<_> = slices.collect();
        let plain = more.is_empty();
        let record = SwitchRecord::new(usize::from(ports), queues);
        let timer_set = false;
        let mut node = Self {
            first,
            more,
            panels: Vec::new(),
            plain,
            ports_per_slice,
            first_link,
            uncharged,
            timer_set,
            record,
        };
        node.timer_set = node.poll_timeout().is_some();
        node
    }

    /// From now on all registered policies watch every slice.
    pub(crate) fn watch(&mut self) {
        let panel = |slice: &Slice| Panel::new(&slice.shape, (&slice.policy.0, &slice.policy.1));
        self.panels = self.slices().map(panel).collect();
        self.plain = false;
    }

    /// What bystanders think of the arrival that the slice of `queue` was shown last.
    pub(crate) fn opinions(&self, queue: QueueId) -> &[Opinion] {
        let index = self.slices().take_while(|slice| slice.first_queue <= queue.0).count() - 1;
        self.panels.get(index).map_or(&[], Panel::opinions)
    }

    /// All memories.
    pub(crate) fn slices(&self) -> impl Iterator<Item = &Slice> {
        std::iter::once(&self.first).chain(&self.more)
    }

    /// The slice of `queue`, and the queue's number there.
    pub(crate) fn at(&self, queue: QueueId) -> (&Slice, QueueId) {
        let slice = self.slices().take_while(|slice| slice.first_queue <= queue.0).last();
        let slice = slice.expect("the first begins at 0");
        (slice, QueueId(queue.0 - slice.first_queue))
    }

    /// Port and priority of a queue, both counted over the switch.
    pub(crate) fn port_and_priority(&self, queue: QueueId) -> (u16, u8) {
        let (slice, local) = self.at(queue);
        slice.port_and_priority(local)
    }

    /// All queues of the switch with their slices, ports and priorities.
    pub(crate) fn queues(&self) -> impl Iterator<Item = QueuePlace<'_>> {
        self.slices().flat_map(|slice| {
            let buffer = slice.core.buffer();
            buffer.queue_ids().map(move |local| {
                let (port, priority) = slice.port_and_priority(local);
                QueuePlace { slice, local, queue: QueueId(slice.first_queue + local.0), port, priority }
            })
        })
    }

    /// How many ports it has.
    pub(crate) fn ports(&self) -> u16 {
        self.slices().map(|slice| slice.core.buffer().ports()).sum()
    }

    /// Bytes stored in all slices.
    pub(crate) fn occupancy(&self) -> u64 {
        self.slices().map(|slice| slice.core.buffer().occupancy()).sum()
    }

    /// Bytes of memory in all slices.
    pub(crate) fn capacity(&self) -> u64 {
        self.slices().map(|slice| slice.core.buffer().capacity()).sum()
    }

    /// Slice `index`, and who listens to it, where that is not the record alone.
    #[cold]
    fn slice_with_listener(&mut self, index: usize) -> (&mut Slice, Listener<'_>) {
        let everywhere_bytes = self.occupancy();
        let slice = if index == 0 { &mut self.first } else { &mut self.more[index - 1] };
        let place = Place {
            first_port: slice.first_port,
            first_queue: slice.first_queue,
            elsewhere_bytes: everywhere_bytes - slice.core.buffer().occupancy(),
        };
        let listener = Listener { record: &mut self.record, panel: self.panels.get_mut(index), place };
        (slice, listener)
    }

    /// A packet has arrived.
    #[inline]
    pub(crate) fn handle_arrival(&mut self, now: Time, packet: &Packet) -> Admission {
        if self.plain {
            return self.first.core.handle_arrival(now, packet, &mut self.record);
        }
        let (slice, mut listener) =
            self.slice_with_listener(usize::from(packet.egress_port / self.ports_per_slice));
        slice.core.handle_arrival(now, &slice.localised(packet), &mut listener)
    }

    /// The queue that `packet` asked for, if it was the last arrival.
    pub(crate) fn queue_of(&self, packet: &Packet) -> QueueId {
        let index = usize::from(packet.egress_port / self.ports_per_slice);
        let slice = if index == 0 { &self.first } else { &self.more[index - 1] };
        QueueId(slice.first_queue + slice.core.queue_of(&slice.localised(packet)).0)
    }

    /// What the idle `port` sends next.
    #[inline]
    pub(crate) fn poll_transmit(&mut self, now: Time, port: u16) -> Option<Transmission> {
        if self.plain {
            return self.first.core.poll_transmit(now, port, &mut self.record);
        }
        let (slice, mut listener) = self.slice_with_listener(usize::from(port / self.ports_per_slice));
        let port = port - slice.first_port;
        let sent = slice.core.poll_transmit(now, port, &mut listener)?;
        let queue = QueueId(sent.queue.0 + slice.first_queue);
        Some(Transmission { queue, ..sent })
    }

    /// Whether `port` has a packet that it may send.
    #[inline]
    pub(crate) fn wants_to_send(&self, port: u16) -> bool {
        if self.plain {
            return self.first.core.wants_to_send(port);
        }
        let index = usize::from(port / self.ports_per_slice);
        let slice = if index == 0 { &self.first } else { &self.more[index - 1] };
        slice.core.wants_to_send(port - slice.first_port)
    }

    /// The neighbour behind `port` allows or forbids sending `priority`.
    pub(crate) fn handle_pause(&mut self, port: u16, priority: u8, paused: bool) {
        let (slice, _) = self.slice_with_listener(usize::from(port / self.ports_per_slice));
        slice.core.handle_pause(port - slice.first_port, priority, paused);
    }

    /// Removes all packets of `queue` without sending them: they are in the record then.
    pub(crate) fn flush(&mut self, now: Time, queue: QueueId, reason: DropReason) {
        let (slice, mut listener) = self.slice_with_listener(0);
        slice.core.flush(now, queue, reason, &mut listener);
    }

    /// What is wrong with a policy of this switch, which is called `name`; told once.
    #[cold]
    pub(crate) fn take_failure(&mut self, name: &str) -> Option<FailedPolicy> {
        std::iter::once(&mut self.first).chain(&mut self.more).find_map(|slice| {
            let failure = slice.core.take_failure()?;
            Some(FailedPolicy {
                policy: slice.policy.0.clone(),
                switch: name.to_owned(),
                queue: failure.queue.map(|queue| slice.port_and_priority(queue)),
                time: failure.now,
                failure,
            })
        })
    }

    /// When a policy must be called next.
    #[inline]
    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        let first = self.first.core.poll_timeout();
        if self.more.is_empty() {
            return first;
        }
        self.more.iter().filter_map(|slice| slice.core.poll_timeout()).chain(first).min()
    }

    /// Time has reached [`Self::poll_timeout`].
    pub(crate) fn handle_timeout(&mut self, now: Time) {
        for index in 0..=self.more.len() {
            let (slice, mut listener) = self.slice_with_listener(index);
            if slice.core.poll_timeout().is_some_and(|due| due <= now) {
                slice.core.handle_timeout(now, &mut listener);
            }
        }
    }
}

/// A queue and where it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueuePlace<'a> {
    pub(crate) slice: &'a Slice,
    /// Number within the slice.
    pub(crate) local: QueueId,
    /// Number within the switch.
    pub(crate) queue: QueueId,
    /// Port of the switch.
    pub(crate) port: u16,
    pub(crate) priority: u8,
}

/// A packet that was removed from a queue without being sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evicted {
    pub(crate) queue: QueueId,
    pub(crate) packet: PacketId,
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
        self.evicted.push(Evicted { queue, ..evicted });
    }
}

/// Where a memory is within its switch.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    first_port: u16,
    first_queue: u16,
    /// Bytes in the switch's other memories.
    elsewhere_bytes: u64,
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
        let (packet, size) = (PacketId(stored.packet), stored.size);
        self.note_eviction(now, Evicted { queue, packet, size, reason }, buffer, Place::default());
    }

    fn pause_changed(&mut self, _: Time, ingress: IngressId, paused: bool) {
        self.pauses.push((ingress, paused));
    }
}

/// Listens to one of several memories, or to one that bystanders watch.
struct Listener<'a> {
    record: &'a mut SwitchRecord,
    panel: Option<&'a mut Panel>,
    place: Place,
}

impl Observer for Listener<'_> {
    fn arriving(&mut self, arrival: &Arrival, buffer: &Buffer) {
        if let Some(panel) = &mut self.panel {
            panel.arriving(arrival, buffer);
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
        let (packet, size) = (PacketId(stored.packet), stored.size);
        self.record.note_eviction(now, Evicted { queue, packet, size, reason }, buffer, self.place);
    }

    fn pause_changed(&mut self, now: Time, ingress: IngressId, paused: bool) {
        self.record.pause_changed(now, ingress, paused);
    }
}
