//! A switch of the network: the core's pipeline, the links of the switch's ports, and the switch's
//! record.
//!
//! A switch handles one event at a time and reaches only its own state and its [`Ports`]. The
//! switch records all other effects of an event (lost packets, pauses, a timer) in its `Effects`.

mod effects;
mod exchange;
mod packets;
mod record;
mod slice;

pub(crate) use effects::{Evicted, QueuedPacket, Refused};
pub(crate) use packets::Logged;
pub(crate) use slice::{QueuePlace, Slice};

use crate::ids::{LinkId, PacketId, SwitchId};
use crate::world::Ports;
use crate::{FailedMarking, FailedPolicy};
use bufferlab_core::ClassifierFailure;
use bufferlab_core::{
    Admission, DropReason, Ecn, Header, IngressId, Opinion, Packet, Panel, PauseLevel, QueueId, Refusal,
    Transmission,
};
use bufferlab_metrics::PacketEvent;
use bufferlab_scenario::TelemetryScope;
use bufferlab_transport::HopReport;
use bufferlab_units::Time;
use record::{Listener, MemoryOffset, SwitchRecord};
use std::collections::BTreeSet;

/// Links of the ports of a switch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PortLinks {
    /// Link of port 0. The links of the switch's other ports follow in order.
    pub(crate) first: LinkId,
    /// Bytes of a frame that the buffer does not charge.
    pub(crate) uncharged: u32,
}

/// A packet that has just left a queue of the switch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) packet: PacketId,
    pub(crate) queue: QueueId,
}

/// One switch of the network. The fields that every packet needs are first and share cache lines,
/// up to the first fields of the first memory.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct SwitchNode {
    /// Link of port 0. The links of the switch's other ports follow in order.
    pub(crate) first_link: LinkId,
    /// Bytes of a frame that the buffer does not charge.
    pub(crate) uncharged: u32,
    /// Whether the switch has one memory and no shadow policies. Then the record observes
    /// the memory directly.
    single_memory: bool,
    /// Whether a timer for the policy's next timeout is set, or the policy never needs a timer.
    /// If false, an arrival may set a timer.
    timer_set: bool,
    /// Whether shadow policies observe the switch, from the first packet on.
    is_watched: bool,
    pub(crate) id: SwitchId,
    /// First memory of the switch. Most switches have no other memory. Each memory numbers its
    /// ports and queues from zero. All other code numbers ports and queues over the whole switch.
    pub(crate) first: Slice,
    pub(crate) record: SwitchRecord,
    /// Memories of all slices of the switch except the first slice.
    more: Vec<Slice>,
    /// Index of the memory that serves each port.
    slice_of_port: Vec<u16>,
    /// Shadow policies of each slice, if the run explains events.
    panels: Vec<Panel>,
    /// Timers of rate limits that have not expired: expiry time and port of each timer.
    rate_timers: BTreeSet<(Time, u16)>,
}

impl SwitchNode {
    /// Builds a switch of the given memories, in the order of their ports.
    pub(crate) fn new(id: SwitchId, slices: Vec<Slice>, links: PortLinks) -> Self {
        let queues: usize = slices.iter().map(|slice| slice.core.buffer().queue_ids().count()).sum();
        let ports: u16 = slices.iter().map(|slice| slice.core.buffer().ports()).sum();
        let ports_of = |(number, slice): (usize, &Slice)| {
            std::iter::repeat_n(number as u16, usize::from(slice.core.buffer().ports()))
        };
        let slice_of_port = slices.iter().enumerate().flat_map(ports_of).collect();
        let mut slices = slices.into_iter();
        let first = slices.next().expect("a switch has a memory");
        let more: Vec<_> = slices.collect();
        let mut node = Self {
            id,
            first,
            single_memory: more.is_empty(),
            more,
            slice_of_port,
            panels: Vec::new(),
            rate_timers: BTreeSet::new(),
            is_watched: false,
            first_link: links.first,
            uncharged: links.uncharged,
            timer_set: false,
            record: SwitchRecord::new(usize::from(ports), queues),
        };
        node.timer_set = node.is_timeless() || node.poll_timeout().is_some();
        node
    }

    /// Whether no policy of the switch ever needs a timer.
    fn is_timeless(&self) -> bool {
        self.slices().all(|slice| slice.core.policy().is_timeless())
    }

    /// Runs all registered policies as shadows of every slice from now on.
    pub(crate) fn watch(&mut self) {
        self.is_watched = true;
        self.single_memory = false;
    }

    /// Creates the shadow policies when the first packet arrives, because a switch without packets
    /// needs none. Then the function runs the earlier timers of these policies. All memories of the
    /// switch were empty until that time.
    #[cold]
    fn start_shadows(&mut self) {
        let panel = |slice: &Slice| {
            Panel::new(&slice.shape, slice.core.hardware(), (&slice.policy.0, &slice.policy.1))
        };
        self.panels = self.slices().map(panel).collect();
    }

    /// Logs every event of every packet among the effects from now on.
    pub(crate) fn log_packets(&mut self) {
        self.record.logs_packets = true;
        self.single_memory = false;
    }

    /// Logs the mark of the packet that the switch stored or sent last.
    #[cold]
    fn log_mark(&mut self, event: PacketEvent) {
        let log = &mut self.record.effects.log;
        if let Some(logged) = log.iter().rev().find(|logged| logged.event == event) {
            let mark = Logged { event: PacketEvent::Marked, account: None, stay: None, ..*logged };
            log.push(mark);
        }
    }

    /// Changes the logged departure to an eviction:
    /// the packet's link is down, so the packet is never sent.
    #[cold]
    fn log_as_lost(&mut self) {
        let log = &mut self.record.effects.log;
        if let Some(logged) = log.iter_mut().rev().find(|logged| logged.event == PacketEvent::Departed) {
            (logged.event, logged.reason) = (PacketEvent::Evicted, Some(DropReason::LinkDown));
        }
    }

    /// Runs the timers of the shadow policies up to `now`. No event of the switch is earlier.
    /// Creates the shadow policies if no packet has arrived. Without this call, the first packet
    /// would run all expired timers at one time.
    pub(crate) fn advance_shadows(&mut self, now: Time) {
        if self.is_watched && self.panels.is_empty() {
            self.start_shadows();
        }
        let slices = std::iter::once(&self.first).chain(&self.more);
        for (panel, slice) in self.panels.iter_mut().zip(slices) {
            panel.catch_up(now, slice.core.buffer());
        }
    }

    /// Verdicts of the shadow policies on the latest arrival at the slice of `queue`.
    pub(crate) fn opinions(&self, queue: QueueId) -> &[Opinion] {
        let index = self.slices().take_while(|slice| slice.first_queue <= queue.0).count() - 1;
        self.panels.get(index).map_or(&[], Panel::opinions)
    }

    /// Policies that cannot be shadow policies of the slice of `queue`, with the reasons.
    pub(crate) fn absent(&self, queue: QueueId) -> &[(&'static str, String)] {
        let index = self.slices().take_while(|slice| slice.first_queue <= queue.0).count() - 1;
        self.panels.get(index).map_or(&[], Panel::absent)
    }

    /// All memories of the switch, in the order of their ports.
    pub(crate) fn slices(&self) -> impl Iterator<Item = &Slice> {
        std::iter::once(&self.first).chain(&self.more)
    }

    /// Index of the memory that serves an egress port.
    #[inline]
    fn slice_of(&self, port: u16) -> usize {
        usize::from(self.slice_of_port[usize::from(port)])
    }

    /// Slice (memory) that contains `queue`, and the queue's number within this slice.
    pub(crate) fn at(&self, queue: QueueId) -> (&Slice, QueueId) {
        let slice = self.slices().take_while(|slice| slice.first_queue <= queue.0).last();
        let slice = slice.expect("the first begins at 0");
        (slice, QueueId(queue.0 - slice.first_queue))
    }

    /// Port and priority of a queue. The queue and the port are numbered over the switch.
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

    /// Number of ports of the switch.
    pub(crate) fn ports(&self) -> u16 {
        self.slices().map(|slice| slice.core.buffer().ports()).sum()
    }

    /// Bytes stored in all slices of the switch.
    pub(crate) fn occupancy(&self) -> u64 {
        self.slices().map(|slice| slice.core.buffer().occupancy()).sum()
    }

    /// Size of the memory of all slices together (bytes).
    pub(crate) fn capacity(&self) -> u64 {
        self.slices().map(|slice| slice.core.buffer().capacity()).sum()
    }

    /// Returns slice `index` with its observer, for a switch with
    /// several slices or shadow policies.
    #[cold]
    fn slice_with_listener(&mut self, index: usize) -> (&mut Slice, Listener<'_>) {
        let everywhere_bytes = self.occupancy();
        let slice = if index == 0 { &mut self.first } else { &mut self.more[index - 1] };
        let place = MemoryOffset {
            first_port: slice.first_port,
            first_queue: slice.first_queue,
            elsewhere_bytes: everywhere_bytes - slice.core.buffer().occupancy(),
        };
        let listener = Listener { record: &mut self.record, panel: self.panels.get_mut(index), place };
        (slice, listener)
    }

    /// Closes the record of the switch at the end of the run.
    pub(crate) fn close(&mut self, end: Time) {
        for index in 0..=self.more.len() {
            let (slice, listener) = self.slice_with_listener(index);
            let place = listener.place;
            listener.record.close(place, end, &slice.core);
        }
    }

    /// Requests the data of `port` that [`Self::bypass`] needs.
    #[inline]
    pub(crate) fn prefetch_port(&self, port: u16) {
        self.first.core.prefetch_port(port);
    }

    /// Forwards a packet at once if the policy lets the packet bypass the queue of the idle
    /// egress port. If the function returns false, the switch is unchanged, and the caller
    /// must call `receive`.
    #[inline(always)] // Inlined into the hot path; see [`bufferlab_core::Switch::bypass`].
    pub(crate) fn bypass(
        &mut self,
        ports: &mut Ports<'_>,
        (ingress_port, egress_port): (u16, u16),
        id: PacketId,
        header: Header,
    ) -> bool {
        // A policy may start a timer with its first packet, so that packet cannot bypass the queue.
        if !self.single_memory || !self.timer_set {
            return false;
        }
        let now = ports.now();
        let packet = self.as_the_core_sees(header, id, ingress_port, egress_port);
        let Some(queue) = self.first.core.bypass(now, &packet) else { return false };
        if ports.wants_reports() {
            let Packet { id: packet, header, .. } = packet;
            let size = header.size;
            self.report_hop(
                ports,
                egress_port,
                Transmission { packet, size, queue, marked: false, more: false },
            );
        }
        ports.transmit(egress_port, id, header, false);
        true
    }

    /// Converts a packet between two ports of the switch to the core's type.
    #[inline(always)] // The compiler drops unused fields.
    fn as_the_core_sees(&self, header: Header, id: PacketId, ingress_port: u16, egress_port: u16) -> Packet {
        let header = Header { size: header.size - self.uncharged, ..header };
        Packet { id: id.0, header, ingress_port, egress_port }
    }

    /// Handles a packet whose last bit has reached `ingress_port`. The packet's route leads to
    /// `egress_port`. Returns whether the switch stored the packet.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        ports: &mut Ports<'_>,
        ingress_port: u16,
        egress_port: u16,
        id: PacketId,
    ) -> bool {
        if !self.single_memory {
            return self.receive_in_slice(ports, ingress_port, egress_port, id);
        }
        let now = ports.now();
        let packet = self.as_the_core_sees(ports.packet(id).header, id, ingress_port, egress_port);
        let admission = self.first.core.handle_arrival(now, &packet, &mut self.record);
        self.want_timer();
        match admission {
            Admission::Stored { marked } => {
                if marked {
                    ports.packet_mut(id).header.ecn = Ecn::Marked;
                }
                true
            }
            Admission::Refused(refusal) => {
                let packet = self.as_the_core_sees(ports.packet(id).header, id, ingress_port, egress_port);
                self.note_refusal(packet, refusal);
                false
            }
        }
    }

    /// Receives a packet like [`Self::receive`], for a switch with
    /// several slices or shadow policies.
    #[inline(never)]
    fn receive_in_slice(
        &mut self,
        ports: &mut Ports<'_>,
        ingress_port: u16,
        egress_port: u16,
        id: PacketId,
    ) -> bool {
        if self.is_watched && self.panels.is_empty() {
            self.start_shadows();
        }
        let packet = self.as_the_core_sees(ports.packet(id).header, id, ingress_port, egress_port);
        let (slice, mut listener) = self.slice_with_listener(self.slice_of(egress_port));
        let admission = slice.core.handle_arrival(ports.now(), &slice.localised(&packet), &mut listener);
        self.want_timer();
        match admission {
            Admission::Stored { marked } => {
                if marked {
                    ports.packet_mut(id).header.ecn = Ecn::Marked;
                    if self.record.logs_packets {
                        self.log_mark(PacketEvent::Admitted);
                    }
                }
                if !self.panels.is_empty() {
                    self.record.effects.note_stored(self.seen(packet), marked);
                }
                true
            }
            Admission::Refused(refusal) => {
                self.note_refusal(packet, refusal);
                false
            }
        }
    }

    /// Records the refusal of the last arrival in the effects.
    #[cold]
    #[inline(never)]
    fn note_refusal(&mut self, packet: Packet, refusal: Refusal) {
        let refused =
            Refused { seen: self.seen(packet), reason: refusal.reason, ingress_port: packet.ingress_port };
        self.record.effects.refuse(refused);
    }

    /// Describes the last arrival `packet` with its egress queue.
    #[cold]
    #[inline(never)]
    fn seen(&self, packet: Packet) -> QueuedPacket {
        QueuedPacket { packet: PacketId(packet.id), queue: self.queue_of(&packet), size: packet.header.size }
    }

    /// Sends the packet that the scheduler chooses over the idle link of `port`,
    /// and returns the packet.
    #[inline(always)] // Inlined into the only place where switches send.
    pub(crate) fn send(&mut self, ports: &mut Ports<'_>, port: u16) -> Option<Sent> {
        let sent = self.poll_transmit(ports.now(), port)?;
        let id = PacketId(sent.packet);
        if sent.marked {
            ports.packet_mut(id).header.ecn = Ecn::Marked;
            if self.record.logs_packets {
                self.log_mark(PacketEvent::Departed);
            }
        }
        if ports.wants_reports() {
            self.report_hop(ports, port, sent);
        }
        let header = ports.packet(id).header;
        ports.transmit(port, id, header, sent.more);
        Some(Sent { packet: id, queue: sent.queue })
    }

    /// Adds telemetry about its queue and port to a departing packet that requests telemetry.
    #[cold]
    fn report_hop(&mut self, ports: &mut Ports<'_>, port: u16, sent: Transmission) {
        let id = PacketId(sent.packet);
        let Some(scope) = ports.wanted_report(id) else { return };
        let (slice, queue) = self.at(sent.queue);
        let left_behind = match scope {
            TelemetryScope::Queue => slice.core.buffer().queue_bytes(queue),
            TelemetryScope::Port => slice.core.buffer().port_bytes(port - slice.first_port),
        };
        let (link, rate, sent_bytes) = ports.sent_through(port);
        let queue_bytes = u32::try_from(left_behind).unwrap_or(u32::MAX);
        ports.report(id, HopReport { queue_bytes, port: link.0, sent_bytes, at: ports.now(), rate });
    }

    /// Removes the next packet for `port` from its queue.
    /// The link is down, so the packet is never sent.
    pub(crate) fn discard_next(&mut self, now: Time, port: u16) -> Option<PacketId> {
        let (slice, _) = self.slice_with_listener(self.slice_of(port));
        slice.core.forget_rates(port - slice.first_port);
        let sent = self.poll_slice(now, port)?;
        self.log_as_lost();
        Some(PacketId(sent.packet))
    }

    /// Requests a timer for the policy, if the policy has a timeout and no timer is set.
    #[inline]
    fn want_timer(&mut self) {
        if !self.timer_set {
            self.ask_for_timer();
        }
    }

    #[inline(never)]
    fn ask_for_timer(&mut self) {
        if let Some(next) = self.poll_timeout() {
            self.timer_set = true;
            self.record.effects.set_timer(next);
        }
    }

    /// Handles an expired timer of the buffer policies of the switch.
    pub(crate) fn handle_policy_timer(&mut self, now: Time) {
        self.handle_timeout(now);
        self.timer_set = false;
        self.want_timer();
    }

    /// Overrides the pauses of `priority` at `port` for a watchdog. With `discard` the call also
    /// removes the packets stored for the queue and refuses new packets.
    pub(crate) fn override_pauses(&mut self, now: Time, port: u16, priority: u8, discard: bool) {
        self.handle_pause(port, priority, false);
        if discard {
            self.first.core.set_discarding(port, priority, true);
            let queue = self.first.core.buffer().queue_of(port, priority);
            self.flush(now, queue, DropReason::Watchdog);
        }
    }

    /// Ends the override: the port obeys pauses of `priority` again.
    pub(crate) fn obey_pauses(&mut self, port: u16, priority: u8, is_paused: bool) {
        self.first.core.set_discarding(port, priority, false);
        self.handle_pause(port, priority, is_paused);
    }

    /// Egress queue of `packet`, which must be the last packet that arrived.
    fn queue_of(&self, packet: &Packet) -> QueueId {
        let index = self.slice_of(packet.egress_port);
        let slice = if index == 0 { &self.first } else { &self.more[index - 1] };
        QueueId(slice.first_queue + slice.core.queue_of(&slice.localised(packet)).0)
    }

    /// Removes the next packet that the idle `port` sends from its queue.
    #[inline(always)]
    fn poll_transmit(&mut self, now: Time, port: u16) -> Option<Transmission> {
        if self.single_memory {
            return self.first.core.poll_transmit(now, port, &mut self.record);
        }
        self.poll_slice(now, port)
    }

    #[inline(never)]
    fn poll_slice(&mut self, now: Time, port: u16) -> Option<Transmission> {
        let (slice, mut listener) = self.slice_with_listener(self.slice_of(port));
        let port = port - slice.first_port;
        let sent = slice.core.poll_transmit(now, port, &mut listener)?;
        for logged in &mut listener.record.effects.log {
            // If a departure ends pauses, the log entries of these pauses also name the departing
            // packet.
            logged.packet = logged.packet.or(Some(PacketId(sent.packet)));
        }
        let queue = QueueId(sent.queue.0 + slice.first_queue);
        Some(Transmission { queue, ..sent })
    }

    /// Applies a pause or resume of `priority` by the neighbour behind `port`.
    pub(crate) fn handle_pause(&mut self, port: u16, priority: u8, paused: bool) {
        let (slice, _) = self.slice_with_listener(self.slice_of(port));
        slice.core.handle_pause(port - slice.first_port, priority, paused);
    }

    /// Time at which a rate limit lets `port` send again, if a timer for this time is not set yet.
    /// The driver sets the timer.
    pub(crate) fn note_rate_timer(&mut self, port: u16, now: Time) -> Option<Time> {
        let slice = self.slices().nth(self.slice_of(port))?;
        let at = slice.core.next_send(port - slice.first_port)?;
        while self.rate_timers.first().is_some_and(|(expired, _)| *expired <= now) {
            self.rate_timers.pop_first();
        }
        (at > now && self.rate_timers.insert((at, port))).then_some(at)
    }

    /// Peak headroom occupancy of packets of `priority` from `port`.
    pub(crate) fn headroom_peak(&self, port: u16, priority: u8) -> u64 {
        let peak = |slice: &Slice| {
            let buffer = slice.core.buffer();
            buffer.ingress_headroom_peak(IngressId(buffer.queue_of(port, priority).0))
        };
        self.slices().map(peak).max().unwrap_or(0)
    }

    /// Whether the switch has paused a sender at any of its ports.
    pub(crate) fn has_paused(&self) -> bool {
        self.slices().any(|slice| slice.core.has_paused())
    }

    /// Compares the longest ingress queue of every lossless priority and slice, at its peak, with
    /// the pause threshold. Each comparison has the queue's port and priority.
    pub(crate) fn pause_levels(&self) -> impl Iterator<Item = (PauseLevel, (u16, u8))> + '_ {
        self.slices().flat_map(|slice| {
            let place = |ingress: IngressId| slice.core.buffer().port_and_priority(QueueId(ingress.0));
            slice.core.pause_levels_at_peaks().map(move |(ingress, level)| (level, place(ingress)))
        })
    }

    /// Removes all packets of `queue` without sending them. The switch's record then counts these
    /// packets.
    fn flush(&mut self, now: Time, queue: QueueId, reason: DropReason) {
        let (slice, mut listener) = self.slice_with_listener(0);
        slice.core.flush(now, queue, reason, &mut listener);
    }

    /// Removes and returns the failure of a policy of this switch. `name` is the switch's name.
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

    /// Removes and returns the failure of a marking rule of this switch. `name` is the switch's
    /// name.
    #[cold]
    pub(crate) fn take_marking_failure(&mut self, name: &str) -> Option<FailedMarking> {
        std::iter::once(&mut self.first).chain(&mut self.more).find_map(|slice| {
            let failure = slice.core.take_marking_failure()?;
            Some(FailedMarking {
                rule: slice.marking.clone().unwrap_or_default(),
                switch: name.to_owned(),
                queue: slice.port_and_priority(failure.queue),
                time: failure.now,
                failure,
            })
        })
    }

    /// The first failure of a classifier of this switch, with the name of the classifier. A
    /// policy's classifier has the policy's name.
    #[cold]
    pub(crate) fn classifier_failure(&self) -> Option<(&str, &ClassifierFailure)> {
        self.slices().find_map(|slice| {
            let name = slice.classifier.as_ref().unwrap_or(&slice.policy.0);
            Some((name.as_str(), slice.core.classifier_failure()?))
        })
    }

    /// Time at which the switch must next call a policy.
    #[inline]
    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        let first = self.first.core.poll_timeout();
        if self.more.is_empty() {
            return first;
        }
        self.more.iter().filter_map(|slice| slice.core.poll_timeout()).chain(first).min()
    }

    /// Calls the policies whose timeout ([`Self::poll_timeout`]) has been reached.
    fn handle_timeout(&mut self, now: Time) {
        for index in 0..=self.more.len() {
            let (slice, mut listener) = self.slice_with_listener(index);
            if slice.core.poll_timeout().is_some_and(|due| due <= now) {
                slice.core.handle_timeout(now, &mut listener);
            }
        }
    }
}
