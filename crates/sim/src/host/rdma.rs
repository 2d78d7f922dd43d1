//! RDMA at hosts: receivers turn segments into ACKs and notifications,
//! and queue pairs share a NIC with TCP.

use super::Hosts;
use super::flow::{FlowReceiver, FlowSender};
use super::send::path_flags;
use crate::ids::{FlowSlot, PacketId};
use crate::world::Uplink;
use crate::world::packet::{Flags, Kind, Packet};
use bufferlab_core::{Ecn, Header};
use bufferlab_transport::rdma::RdmaAck;
use bufferlab_units::Time;

/// Bytes by which a congestion notification is longer than an ACK.
/// The notification has 16 reserved bytes instead of the 4 bytes of the acknowledgement header.
const NOTIFICATION_EXTRA_BYTES: u32 = 12;

impl Hosts {
    /// Handles a message segment that arrives at its receiver.
    #[inline(never)]
    pub(super) fn receive_rdma_data(&mut self, uplink: &mut Uplink<'_>, slot: FlowSlot, id: PacketId) {
        let (packet, now) = (*uplink.packet(id), uplink.now());
        let flow = &mut self.flows.receivers[slot];
        let transport = &self.transports[flow.transport];
        let FlowReceiver::Rdma(responder) = &mut flow.receiver else {
            unreachable!("only queue pairs come here")
        };
        let marked = packet.header.ecn == Ecn::Marked;
        let was_complete = responder.is_complete();
        let response = responder.handle_data(&transport.tcp.rdma, now, packet.seq, packet.sent, marked);
        let waits = responder.deadline() != Time::MAX;
        if responder.is_complete() && !was_complete {
            if !transport.ends_at_sender {
                flow.completed = now;
            }
            self.note_arrival(slot);
        }
        if response.notify {
            let id = uplink.create(packet);
            self.enter_network(uplink, slot);
            self.send_control(uplink, slot, id, (Packet::NOTIFICATION, NOTIFICATION_EXTRA_BYTES), false);
        }
        match response.ack {
            Some(ack) => self.send_rdma_ack(uplink, slot, id, &ack),
            None => {
                uplink.remove(id);
                self.leave_network(uplink, slot);
            }
        }
        if waits {
            self.arm_receiver(uplink, slot);
        }
    }

    /// Turns packet `id` into an acknowledgement of the message.
    pub(super) fn send_rdma_ack(
        &mut self,
        uplink: &mut Uplink<'_>,
        slot: FlowSlot,
        id: PacketId,
        ack: &RdmaAck,
    ) {
        let count = u16::try_from(ack.sack.1 - ack.sack.0).unwrap_or(u16::MAX).min(Packet::MOST_SACKED);
        let packet = uplink.packet_mut(id);
        packet.sent = ack.echo;
        packet.seq = ack.cumulative;
        // If a block of received segments is too long for the ACK, the ACK reports the block's end.
        packet.sack_first = ack.sack.1 - u32::from(count);
        let kind = count | if ack.negative { Packet::NEGATIVE } else { 0 };
        self.send_control(uplink, slot, id, (kind, 0), ack.notified);
    }

    /// Sends packet `id` back to the flow's sender as an ACK of the given kind, with extra bytes.
    fn send_control(
        &mut self,
        uplink: &mut Uplink<'_>,
        slot: FlowSlot,
        id: PacketId,
        (kind, extra_bytes): (u16, u32),
        notified: bool,
    ) {
        let flow = &self.flows.receivers[slot];
        let transport = &self.transports[flow.transport];
        let packet = uplink.packet_mut(id);
        packet.sack_count = kind;
        let (handle, size) = (packet.flow(), transport.ack.size + extra_bytes);
        packet.header = Header { size, flow: handle.0, ..transport.ack };
        packet.flags = path_flags(Kind::Ack, flow.explicit_path).with_if(notified, Flags::ECHO);
        packet.path = flow.path;
        packet.dst = flow.src;
        match &mut self.cards[uplink.host()].shared {
            Some(shared) => shared.express.push_back(id),
            None => self.enqueue(uplink.host(), handle, true, id),
        }
        self.kick(uplink);
    }

    /// Handles an acknowledgement or notification at the sender.
    #[inline(never)]
    pub(super) fn receive_rdma_ack(&mut self, uplink: &mut Uplink<'_>, slot: FlowSlot, id: PacketId) {
        let (packet, now) = (*uplink.packet(id), uplink.now());
        uplink.remove(id);
        let flow = &mut self.flows.senders[slot];
        flow.in_network -= 1;
        let FlowSender::Rdma(sender) = &mut flow.sender else { unreachable!("only queue pairs come here") };
        if !sender.is_done() {
            let config = &self.transports[flow.transport].tcp;
            if packet.sack_count & Packet::NOTIFICATION != 0 {
                sender.handle_notification(config, now);
            } else {
                let count = u32::from(packet.sack_count & Packet::MOST_SACKED);
                let ack = RdmaAck {
                    cumulative: packet.seq,
                    sack: (packet.sack_first, packet.sack_first + count),
                    negative: packet.sack_count & Packet::NEGATIVE != 0,
                    echo: packet.sent,
                    notified: packet.flags.has(Flags::ECHO),
                };
                sender.handle_ack_with_telemetry(config, now, &ack, uplink.reports(id));
            }
            if !sender.is_done() {
                return self.offer(uplink, slot);
            }
            let receiver = &mut self.flows.receivers[slot];
            receiver.completed = receiver.completed.min(now);
            self.note_sent(slot);
        }
        self.retire_if_done(uplink, slot);
    }

    /// Next packet of an idle NIC that queue pairs share with TCP. ACKs of queue pairs are first,
    /// then TCP's queue and queue pairs take turns, as in Reverie's public code.
    /// The NIC skips packets of paused priorities.
    #[inline(never)]
    pub(super) fn next_shared(&mut self, uplink: &mut Uplink<'_>) -> Option<PacketId> {
        let card = &mut self.cards[uplink.host()];
        let paused = card.paused;
        let is_paused = |priority: u8| paused >> priority & 1 != 0;
        let shared = card.shared.as_mut()?;
        if let Some(&id) = shared.express.front()
            && !is_paused(uplink.packet(id).header.priority)
        {
            return shared.express.pop_front();
        }
        for _ in 0..2 {
            let card = &mut self.cards[uplink.host()];
            let shared = card.shared.as_mut()?;
            shared.queue_had_turn = !shared.queue_had_turn;
            if !shared.queue_had_turn {
                if let Some(packet) = self.next_of_queue_pairs(uplink) {
                    return Some(packet);
                }
                continue;
            }
            if let Some(packet) = self.dequeue_unpaused(uplink) {
                return Some(packet);
            }
        }
        None
    }

    fn next_of_queue_pairs(&mut self, uplink: &mut Uplink<'_>) -> Option<PacketId> {
        loop {
            let card = &mut self.cards[uplink.host()];
            let slot = card.next_ready(&mut self.flows)?;
            if card.is_paused(self.flows.senders[slot].priority) {
                card.park(slot, &mut self.flows);
                continue;
            }
            if let Some(packet) = self.next_packet(uplink, slot) {
                let flow = &self.flows.senders[slot];
                let transport = &self.transports[flow.transport];
                if flow.sender.wants_to_send(&transport.tcp, uplink.now()) {
                    self.cards[uplink.host()].make_ready(&mut self.flows, slot);
                }
                return Some(packet);
            }
            self.retire_if_done(uplink, slot);
        }
    }
}
