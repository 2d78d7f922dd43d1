//! A switch of the network: the core's pipeline, its links, and what is recorded of it.

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
    /// Port of the switch, and priority, of a queue of this slice.
    pub(crate) fn port_and_priority(&self, local: QueueId) -> (u16, u8) {
        let (port, priority) = self.core.buffer().port_and_priority(local);
        (self.first_port + port, priority)
    }
}

/// One switch.
#[derive(Debug)]
pub(crate) struct SwitchNode {
    /// Its memories: nearly always one. In every memory ports and queues are counted from zero; all others count over the switch.
    pub(crate) slices: Vec<Slice>,
    /// Ports of each slice; the last one may have fewer.
    pub(crate) ports_per_slice: u16,
    /// Link of port 0; the ports' links follow each other.
    pub(crate) first_link: u32,
    /// Bytes of a frame that are not charged.
    pub(crate) uncharged: u32,
    /// A timer for the policy's next timeout is set. If not, an arrival may bring one.
    pub(crate) timer_set: bool,
    pub(crate) record: SwitchRecord,
}

impl SwitchNode {
    /// Index of the slice that serves `port`.
    #[inline]
    fn slice_of(&self, port: u16) -> usize {
        if self.slices.len() == 1 { 0 } else { usize::from(port / self.ports_per_slice) }
    }

    /// The slice of `queue`, and the queue's number there.
    pub(crate) fn at(&self, queue: QueueId) -> (&Slice, QueueId) {
        let slice = self
            .slices
            .iter()
            .rev()
            .find(|slice| slice.first_queue <= queue.0)
            .expect("the first begins at 0");
        (slice, QueueId(queue.0 - slice.first_queue))
    }

    /// Port and priority of a queue, both counted over the switch.
    pub(crate) fn port_and_priority(&self, queue: QueueId) -> (u16, u8) {
        let (slice, local) = self.at(queue);
        slice.port_and_priority(local)
    }

    /// All queues of the switch with their slices, ports and priorities.
    pub(crate) fn queues(&self) -> impl Iterator<Item = QueuePlace<'_>> {
        self.slices.iter().flat_map(|slice| {
            let buffer = slice.core.buffer();
            buffer.queue_ids().map(move |local| {
                let (port, priority) = slice.port_and_priority(local);
                QueuePlace { slice, local, queue: QueueId(slice.first_queue + local.0), port, priority }
            })
        })
    }

    /// Bytes stored in all slices.
    pub(crate) fn occupancy(&self) -> u64 {
        self.slices.iter().map(|slice| slice.core.buffer().occupancy()).sum()
    }

    /// Bytes of memory in all slices.
    pub(crate) fn capacity(&self) -> u64 {
        self.slices.iter().map(|slice| slice.core.buffer().capacity()).sum()
    }

    /// Prepares the record for what slice `index` will tell.
    #[inline]
    fn listen_to(&mut self, index: usize) {
        if self.slices.len() > 1 {
            let own = &self.slices[index];
            self.record.elsewhere_bytes = self.occupancy() - own.core.buffer().occupancy();
            (self.record.first_port, self.record.first_queue) = (own.first_port, own.first_queue);
            self.record.slice = index;
        }
    }

    /// The packet that arrived: its queue, counted over the switch, and what became of it.
    #[inline]
    pub(crate) fn handle_arrival(&mut self, now: Time, packet: &Packet) -> Admission {
        let index = self.slice_of(packet.egress_port);
        self.listen_to(index);
        let slice = &mut self.slices[index];
        let egress_port = packet.egress_port - slice.first_port;
        slice.core.handle_arrival(now, &Packet { egress_port, ..*packet }, &mut self.record)
    }

    /// The queue that `packet` asked for, if it was the last arrival.
    pub(crate) fn queue_of(&self, packet: &Packet) -> QueueId {
        let slice = &self.slices[self.slice_of(packet.egress_port)];
        let egress_port = packet.egress_port - slice.first_port;
        QueueId(slice.first_queue + slice.core.queue_of(&Packet { egress_port, ..*packet }).0)
    }

    /// What the idle `port` sends next, with its queue counted over the switch, and whether more waits behind it.
    #[inline]
    pub(crate) fn poll_transmit(&mut self, now: Time, port: u16) -> Option<(Transmission, bool)> {
        let index = self.slice_of(port);
        self.listen_to(index);
        let slice = &mut self.slices[index];
        let port = port - slice.first_port;
        let sent = slice.core.poll_transmit(now, port, &mut self.record)?;
        let queue = QueueId(sent.queue.0 + slice.first_queue);
        Some((Transmission { queue, ..sent }, slice.core.wants_to_send(port)))
    }

    /// When a policy must be called next.
    #[inline]
    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        if let [only] = &self.slices[..] {
            return only.core.poll_timeout();
        }
        self.slices.iter().filter_map(|slice| slice.core.poll_timeout()).min()
    }

    /// Time has reached [`Self::poll_timeout`].
    pub(crate) fn handle_timeout(&mut self, now: Time) {
        for index in 0..self.slices.len() {
            if self.slices[index].core.poll_timeout().is_some_and(|due| due <= now) {
                self.listen_to(index);
                self.slices[index].core.handle_timeout(now, &mut self.record);
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
    /// By queue, class and reason: packets and bytes.
    pub(crate) drops: BTreeMap<(QueueId, u16, u8), (u64, u64)>,
    /// Evicted since the driver last looked: it owns the packets.
    pub(crate) evicted: Vec<Evicted>,
    /// Pause changes since the driver last looked.
    pub(crate) pauses: Vec<(IngressId, bool)>,
    /// Bystanders of each slice, where events are to be explained.
    pub(crate) panels: Vec<Panel>,
    /// The slice that is telling, its first port and queue, and the bytes stored in all others.
    slice: usize,
    first_port: u16,
    first_queue: u16,
    elsewhere_bytes: u64,
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
            panels: Vec::new(),
            slice: 0,
            first_port: 0,
            first_queue: 0,
            elsewhere_bytes: 0,
        }
    }

    /// What bystanders think of the arrival that was shown last.
    pub(crate) fn opinions(&self) -> &[Opinion] {
        self.panels.get(self.slice).map_or(&[], Panel::opinions)
    }

    pub(crate) fn count_drop(&mut self, queue: QueueId, class: u16, reason: DropReason, size: u32) {
        let entry = self.drops.entry((queue, class, reason as u8)).or_default();
        entry.0 += 1;
        entry.1 += u64::from(size);
    }

    #[inline]
    fn set(&mut self, now: Time, queue: QueueId, port: u16, buffer: &Buffer) {
        self.total.set(now.0, self.elsewhere_bytes + buffer.occupancy());
        self.ports[usize::from(self.first_port + port)].set(now.0, buffer.port_bytes(port));
        self.queues[usize::from(self.first_queue + queue.0)].set(now.0, buffer.queue_bytes(queue));
    }
}

impl Observer for SwitchRecord {
    #[inline]
    fn arriving(&mut self, arrival: &Arrival, buffer: &Buffer) {
        if let Some(panel) = self.panels.get_mut(self.slice) {
            panel.arriving(arrival, buffer);
        }
    }

    #[inline]
    fn stored(&mut self, arrival: &Arrival, id: u32, buffer: &Buffer) {
        if let Some(panel) = self.panels.get_mut(self.slice) {
            panel.stored(arrival, id, buffer);
        }
        self.set(arrival.now, arrival.queue, arrival.port, buffer);
    }

    #[inline]
    fn departing(&mut self, now: Time, buffer: &Buffer) {
        if let Some(panel) = self.panels.get_mut(self.slice) {
            panel.departing(now, buffer);
        }
    }

    #[inline]
    fn departed(&mut self, departure: &Departure, buffer: &Buffer) {
        if let Some(panel) = self.panels.get_mut(self.slice) {
            panel.departed(departure, buffer);
        }
        self.set(departure.now, departure.queue, departure.port, buffer);
        self.last_sojourn = departure.now - departure.enqueued_at;
    }

    fn dropped(&mut self, arrival: &Arrival, id: u32, reason: DropReason, buffer: &Buffer) {
        if let Some(panel) = self.panels.get_mut(self.slice) {
            panel.dropped(arrival, id, reason, buffer);
        }
    }

    fn evicted(&mut self, now: Time, queue: QueueId, stored: &Stored, reason: DropReason, buffer: &Buffer) {
        if let Some(panel) = self.panels.get_mut(self.slice) {
            panel.evicted(now, queue, stored, reason, buffer);
        }
        let (port, _) = buffer.port_and_priority(queue);
        self.set(now, queue, port, buffer);
        let Stored { packet, size, .. } = *stored;
        let queue = QueueId(self.first_queue + queue.0);
        self.evicted.push(Evicted { queue, packet, size, reason });
    }

    fn pause_changed(&mut self, _: Time, ingress: IngressId, paused: bool) {
        self.pauses.push((ingress, paused));
    }
}
