//! Sending at a host: flows offer segments, the NIC serves flows in turn,
//! and timers release segments that are due.

use super::flow::{FlowSender, SenderSlot};
use super::transport::Transport;
use super::{Hosts, PACKETS_MAX};
use crate::ids::{FlowHandle, FlowSlot, PacketId};
use crate::world::Uplink;
use crate::world::packet::{Flags, Kind, Packet};
use bufferlab_core::{Header, Tags};
use bufferlab_scenario::{NicQueueing, TelemetryScope};
use bufferlab_transport::Segment;
use bufferlab_units::Time;

/// Bytes by which a SYN is longer than a pure ACK: the maximum segment size option (frame of 58 B
/// in the public ns-3 code).
const SYN_EXTRA_BYTES: u32 = 4;

impl Hosts {
    /// Adds the flow to the turn order if the flow can send, and updates the flow's timers.
    #[inline]
    pub(super) fn offer(&mut self, uplink: &mut Uplink<'_>, slot: FlowSlot) {
        let flow = &self.flows.senders[slot];
        let transport = &self.transports[flow.transport];
        debug_assert_eq!(flow.src, uplink.host(), "a flow is sent by its source");
        let may_need_timer = flow.may_need_timer(&transport.tcp, uplink.now());
        // While a flow is in the turn order, its NIC is busy, unless the flow's priority is paused.
        let has_turn = flow.is_ready && self.cards[uplink.host()].paused == 0;
        if !has_turn && flow.sender.wants_to_send(&transport.tcp, uplink.now()) {
            match self.nic_queueing {
                NicQueueing::Fifo | NicQueueing::FlowQueues if !self.is_queue_pair(slot) => {
                    self.queue_window(uplink, slot);
                }
                _ => self.cards[uplink.host()].make_ready(&mut self.flows, slot),
            }
            self.kick(uplink);
        }
        if may_need_timer {
            self.arm_sender(uplink, slot);
        }
    }

    /// Creates all packets that the flow's window allows and queues them at the NIC.
    /// Beyond [`PACKETS_MAX`] the host creates no packet: the run then soon ends with an error.
    fn queue_window(&mut self, uplink: &mut Uplink<'_>, slot: FlowSlot) {
        let flow = self.flows.senders[slot].handle;
        while uplink.packets() < PACKETS_MAX {
            let Some(packet) = self.next_packet(uplink, slot) else { return };
            self.enqueue(uplink.host(), flow, false, packet);
        }
        self.overfull.get_or_insert((uplink.host(), uplink.now()));
    }

    /// Ensures that the timer heap has an entry at or before the sender's deadline. A deadline that
    /// moves to a later time changes no entry until the old entry expires.
    #[inline(never)] // Most packets need no new entry ([`SenderSlot::needs_timer`]).
    fn arm_sender(&mut self, uplink: &mut Uplink<'_>, slot: FlowSlot) {
        let flow = &mut self.flows.senders[slot];
        let transport = &self.transports[flow.transport];
        let wake = flow.sender.wake_at(&transport.tcp, uplink.now());
        if wake < flow.pace_armed {
            flow.pace_armed = wake;
            uplink.set_pace_timer(wake, slot);
        }
        let deadline = flow.sender.deadline(uplink.now());
        if deadline < flow.armed {
            flow.armed = deadline;
            uplink.set_sender_timer(deadline, slot);
        }
    }

    pub(crate) fn handle_sender_timer(&mut self, uplink: &mut Uplink<'_>, slot: FlowSlot) {
        let now = uplink.now();
        let flow = &mut self.flows.senders[slot];
        if flow.armed != now {
            return;
        }
        flow.armed = Time::MAX;
        if !self.flows.is_live(slot) {
            return;
        }
        let flow = &mut self.flows.senders[slot];
        let transport = &self.transports[flow.transport];
        let may_send = match &mut flow.sender {
            FlowSender::Tcp(sender) => sender.handle_timeout(&transport.tcp, now),
            FlowSender::Rdma(sender) => sender.handle_timeout(&transport.tcp, now),
            FlowSender::Paced(_) => true,
        };
        if may_send {
            self.offer(uplink, slot);
        } else {
            self.arm_sender(uplink, slot);
        }
    }

    /// Handles the timer of a paced sender whose next segment is due.
    pub(crate) fn handle_pace_timer(&mut self, uplink: &mut Uplink<'_>, slot: FlowSlot) {
        let flow = &mut self.flows.senders[slot];
        if flow.pace_armed != uplink.now() {
            return;
        }
        flow.pace_armed = Time::MAX;
        if self.flows.is_live(slot) {
            self.offer(uplink, slot);
        }
    }

    /// Starts a transmission if the uplink is idle and a packet waits.
    #[inline]
    pub(crate) fn kick(&mut self, uplink: &mut Uplink<'_>) {
        if uplink.claim() {
            self.send(uplink);
        }
    }

    /// Sends a waiting ACK, or a packet of the next flow in the turn order, over the idle uplink.
    #[inline]
    pub(crate) fn send(&mut self, uplink: &mut Uplink<'_>) {
        let card = &mut self.cards[uplink.host()];
        let next = if card.paused != 0 {
            if card.shared.is_some() { self.next_shared(uplink) } else { self.next_unpaused(uplink) }
        } else {
            match if card.in_burst { None } else { self.dequeue(uplink.host()) } {
                Some(packet) => Some(packet),
                None => self.next_in_turn(uplink),
            }
        };
        if let Some(packet) = next {
            self.transmit(uplink, packet);
        }
    }

    /// Sends `packet` at once if the uplink is idle and nothing waits before the packet. Otherwise
    /// the packet, an ACK of `flow`, waits at the NIC.
    #[inline]
    pub(super) fn send_ack_or_enqueue(
        &mut self,
        uplink: &mut Uplink<'_>,
        flow: FlowHandle,
        packet: PacketId,
    ) {
        if !self.cards[uplink.host()].sends_ack_next() {
            self.enqueue(uplink.host(), flow, true, packet);
            return self.kick(uplink);
        }
        if uplink.claim() {
            self.transmit(uplink, packet);
        } else {
            self.cards[uplink.host()].queue.push_back(packet);
        }
    }

    /// Sends a packet over the idle uplink.
    #[inline(always)] // Inlined where hosts send data, and where they send ACKs.
    fn transmit(&mut self, uplink: &mut Uplink<'_>, packet: PacketId) {
        if self.spray {
            let stream = &mut self.streams[uplink.host()].spray;
            let meta = uplink.packet_mut(packet);
            if !meta.flags.has(Flags::EXPLICIT_PATH) {
                meta.path = stream.next_u64() as u32;
            }
        }
        let more = self.cards[uplink.host()].has_work();
        uplink.transmit(packet, more);
    }

    /// Creates the next packet of the first flow in the turn order.
    #[inline]
    fn next_in_turn(&mut self, uplink: &mut Uplink<'_>) -> Option<PacketId> {
        loop {
            let slot = self.cards[uplink.host()].next_ready(&mut self.flows)?;
            if let Some(packet) = self.next_packet(uplink, slot) {
                let flow = &self.flows.senders[slot];
                let transport = &self.transports[flow.transport];
                if flow.sender.in_burst() {
                    self.cards[uplink.host()].keep_turn(&mut self.flows, slot);
                } else if flow.sender.wants_to_send(&transport.tcp, uplink.now()) {
                    self.cards[uplink.host()].make_ready(&mut self.flows, slot);
                }
                return Some(packet);
            }
            // The flow's last acknowledgement arrived while the flow waited for another turn.
            self.retire_if_done(uplink, slot);
        }
    }

    /// Next packet of an idle NIC among the priorities that are not paused.
    #[cold]
    fn next_unpaused(&mut self, uplink: &mut Uplink<'_>) -> Option<PacketId> {
        if let Some(packet) = self.dequeue_unpaused(uplink) {
            return Some(packet);
        }
        loop {
            let card = &mut self.cards[uplink.host()];
            let slot = card.next_ready(&mut self.flows)?;
            // This check uses the priority of a flow's first data. PIAS may have demoted the next
            // packet, so the priority of the packet is checked after its creation.
            if card.is_paused(self.flows.senders[slot].priority) {
                card.park(slot, &mut self.flows);
                continue;
            }
            let Some(packet) = self.next_packet(uplink, slot) else {
                self.retire_if_done(uplink, slot);
                continue;
            };
            let flow = &self.flows.senders[slot];
            let handle = flow.handle;
            let transport = &self.transports[flow.transport];
            let card = &mut self.cards[uplink.host()];
            if flow.sender.wants_to_send(&transport.tcp, uplink.now()) {
                card.make_ready(&mut self.flows, slot);
            }
            if !card.is_paused(uplink.packet(packet).header.priority) {
                return Some(packet);
            }
            self.enqueue(uplink.host(), handle, false, packet);
        }
    }

    /// Creates the flow's next packet, if its window allows one.
    #[inline]
    pub(super) fn next_packet(&mut self, uplink: &mut Uplink<'_>, slot: FlowSlot) -> Option<PacketId> {
        let flow = &mut self.flows.senders[slot];
        let transport = &self.transports[flow.transport];
        let sent_before = u64::from(flow.sender.counters().sent);
        let segment = flow.sender.poll_transmit(&transport.tcp, uplink.now())?;
        let packet = data_packet(flow, transport, segment, sent_before, uplink.now());
        flow.in_network += 1;
        let id = uplink.create(packet);
        if flow.needs_timer(&transport.tcp, uplink.now()) {
            self.arm_sender(uplink, slot);
        }
        Some(id)
    }
}

#[inline]
fn data_packet(
    flow: &SenderSlot,
    transport: &Transport,
    segment: Segment,
    sent_before: u64,
    now: Time,
) -> Packet {
    let (header, flags) = if segment.syn {
        let size = transport.ack.size + SYN_EXTRA_BYTES;
        (Header { size, flow: flow.handle.0, ..transport.ack }, path_flags(Kind::Syn, flow.explicit_path))
    } else {
        let mut flags = path_flags(Kind::Data, flow.explicit_path);
        if transport.wants_telemetry {
            let is_of_queue = transport.telemetry == TelemetryScope::Queue;
            flags = flags.with(Flags::WANTS_TELEMETRY).with_if(is_of_queue, Flags::OF_ITS_QUEUE);
        }
        (data_header(flow, transport, segment, sent_before), flags)
    };
    Packet {
        sent: now,
        header,
        seq: segment.seq,
        sack_first: 0,
        path: flow.path,
        sack_count: 0,
        dst: flow.dst,
        flags,
    }
}

#[inline]
fn data_header(flow: &SenderSlot, transport: &Transport, segment: Segment, sent_before: u64) -> Header {
    let is_last = segment.seq + 1 == flow.total;
    let payload = if is_last { flow.last_payload } else { transport.segment };
    // The number of bytes that the flow has sent includes retransmissions, as in the public ns-3
    // code.
    let bytes_before = sent_before * u64::from(transport.segment);
    let passed = transport.pias_thresholds.iter().take_while(|&&threshold| bytes_before >= threshold).count();
    let passed = u8::try_from(passed).expect("a port has at most 32 queues");
    let is_tiny = payload <= transport.control_max_payload;
    Header {
        size: payload + transport.header_bytes,
        flow: flow.handle.0,
        tags: Tags::NONE
            .with_if(bytes_before < transport.unscheduled_bytes, Tags::UNSCHEDULED)
            .with_if(segment.retransmission, Tags::RETRANSMISSION)
            .with_if(bytes_before < transport.small_bytes, Tags::SMALL),
        priority: if is_tiny { transport.ack.priority } else { flow.priority + passed },
        ..transport.data
    }
}

#[inline]
pub(super) const fn path_flags(kind: Kind, is_explicit: bool) -> Flags {
    Flags::of_kind(kind).with_if(is_explicit, Flags::EXPLICIT_PATH)
}
