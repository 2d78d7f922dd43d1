//! What happens at hosts that speak RDMA: segments turn into ACKs and notifications, and queue pairs share a card with TCP.

use crate::flow::{FlowReceiver, FlowSender};
use crate::hosts::control_flags;
use crate::ids::{FlowSlot, HostId, PacketId};
use crate::packet::{Flags, Kind, Packet};
use crate::simulation::{Control, Simulation};
use bufferlab_scenario::NicQueueing;
use bufferlab_transport::rdma::RdmaAck;
use bufferlab_units::Time;

/// A congestion notification is longer than an ACK: 16 reserved bytes in place of the 4 of its acknowledgement header.
const NOTIFICATION_EXTRA_BYTES: u16 = 12;

impl Simulation {
    /// Whether this flow's packets come into being when the card takes them, whatever the order at the card: a queue pair has no window that could
    /// wait in a queue as a whole.
    #[inline]
    pub(crate) fn is_queue_pair(&self, slot: FlowSlot) -> bool {
        matches!(self.flows.senders[slot].sender, FlowSender::Rdma(_))
    }

    /// Whether cards hold TCP's packets in a queue and make those of queue pairs when they send them.
    pub(crate) fn shares_cards(&self) -> bool {
        let is_rdma = |control: &Control| matches!(control, Control::QueuePair(_));
        self.nic_queueing == NicQueueing::Fifo && self.transports.iter().any(|t| is_rdma(&t.control))
    }

    /// A segment of a message has arrived.
    #[inline(never)]
    pub(crate) fn receive_rdma_data(&mut self, slot: FlowSlot, id: PacketId) {
        let packet = self.packets[id];
        let flow = &mut self.flows.receivers[slot];
        let transport = &self.transports[flow.transport];
        let FlowReceiver::Rdma(responder) = &mut flow.receiver else {
            unreachable!("only queue pairs come here")
        };
        let marked = packet.flags.has(Flags::MARKED);
        let was_complete = responder.is_complete();
        let response = responder.handle_data(&transport.tcp.rdma, self.now, packet.seq, packet.sent, marked);
        let waits = responder.deadline() != Time::MAX;
        if responder.is_complete() && !was_complete {
            if !transport.ends_at_sender {
                flow.completed = self.now;
            }
            if !self.closed_loops.are_over() {
                let info = self.flows.info(slot);
                self.note_answer(info.spec.query);
            }
        }
        if response.notify {
            let id = self.packets.insert(packet);
            self.telemetry.begin(id);
            self.flows.senders[slot].in_network += 1;
            self.send_control(slot, id, Packet::NOTIFICATION, NOTIFICATION_EXTRA_BYTES, false);
        }
        match response.ack {
            Some(ack) => self.send_rdma_ack(slot, id, &ack),
            None => {
                self.packets.remove(id);
                self.leave_network(slot);
            }
        }
        if waits {
            self.arm_receiver(slot);
        }
    }

    /// Turns packet `id` into an acknowledgement of the message.
    pub(crate) fn send_rdma_ack(&mut self, slot: FlowSlot, id: PacketId, ack: &RdmaAck) {
        let count = (ack.sack.1 - ack.sack.0).min(u32::from(Packet::MOST_SACKED));
        let packet = &mut self.packets[id];
        packet.sent = ack.echo;
        packet.seq = ack.cumulative;
        // A longer block is reported by its end, which is what is new.
        packet.sack_first = ack.sack.1 - count;
        let kind = count as u16 | if ack.negative { Packet::NEGATIVE } else { 0 };
        self.send_control(slot, id, kind, 0, ack.notified);
    }

    /// Sends `id` back to the flow's sender.
    fn send_control(&mut self, slot: FlowSlot, id: PacketId, kind: u16, extra_bytes: u16, notified: bool) {
        let flow = &self.flows.receivers[slot];
        let transport = &self.transports[flow.transport];
        let packet = &mut self.packets[id];
        packet.sack_count = kind;
        packet.wire = transport.ack + extra_bytes;
        packet.flags = control_flags(Kind::Ack, transport, flow.explicit_path).with_if(notified, Flags::ECHO);
        packet.priority = transport.control_priority;
        packet.path = flow.path;
        packet.dst = flow.src;
        let host = flow.dst;
        let nic = &mut self.nics[host];
        match &mut nic.shared {
            Some(shared) => shared.express.push_back(id),
            None => nic.queue.push_back(id),
        }
        self.kick_host(host);
    }

    /// An acknowledgement or notification has come back.
    #[inline(never)]
    pub(crate) fn receive_rdma_ack(&mut self, slot: FlowSlot, id: PacketId) {
        let packet = self.packets[id];
        self.packets.remove(id);
        let flow = &mut self.flows.senders[slot];
        flow.in_network -= 1;
        let FlowSender::Rdma(sender) = &mut flow.sender else { unreachable!("only queue pairs come here") };
        if !sender.is_done() {
            let config = &self.transports[flow.transport].tcp;
            if packet.sack_count & Packet::NOTIFICATION != 0 {
                sender.handle_notification(config, self.now);
            } else {
                let count = u32::from(packet.sack_count & Packet::MOST_SACKED);
                let ack = RdmaAck {
                    cumulative: packet.seq,
                    sack: (packet.sack_first, packet.sack_first + count),
                    negative: packet.sack_count & Packet::NEGATIVE != 0,
                    echo: packet.sent,
                    notified: packet.flags.has(Flags::ECHO),
                };
                sender.handle_ack_with_telemetry(config, self.now, &ack, self.telemetry.of(id));
            }
            if !sender.is_done() {
                self.offer(slot);
                return;
            }
            let receiver = &mut self.flows.receivers[slot];
            receiver.completed = receiver.completed.min(self.now);
        }
        self.retire_if_done(slot);
    }

    /// What an idle card sends that queue pairs share with TCP: their ACKs first, then TCP's queue and queue pairs in turn, as hosts of Reverie's
    /// public code do. What is paused is left out.
    #[inline(never)]
    pub(crate) fn next_shared(&mut self, host: HostId) -> Option<PacketId> {
        let paused = self.nics[host].paused;
        let is_paused = |priority: u8| paused >> priority & 1 != 0;
        let shared = self.nics[host].shared.as_mut()?;
        if let Some(&id) = shared.express.front()
            && !is_paused(self.packets[id].priority)
        {
            return shared.express.pop_front();
        }
        for _ in 0..2 {
            let shared = self.nics[host].shared.as_mut()?;
            shared.queue_had_turn = !shared.queue_had_turn;
            if !shared.queue_had_turn {
                if let Some(packet) = self.next_of_queue_pairs(host) {
                    return Some(packet);
                }
                continue;
            }
            let waits = self.nics[host].queue.iter().position(|&id| !is_paused(self.packets[id].priority));
            if let Some(position) = waits {
                return self.nics[host].queue.remove(position);
            }
        }
        None
    }

    fn next_of_queue_pairs(&mut self, host: HostId) -> Option<PacketId> {
        loop {
            let slot = self.nics[host].next_ready(&mut self.flows)?;
            let priority = self.flows.senders[slot].priority;
            if self.nics[host].paused >> priority & 1 != 0 {
                self.nics[host].park(slot, &mut self.flows);
                continue;
            }
            if let Some(packet) = self.next_packet(slot) {
                let flow = &self.flows.senders[slot];
                let transport = &self.transports[flow.transport];
                if flow.sender.wants_to_send(&transport.tcp, self.now) {
                    self.nics[host].make_ready(&mut self.flows, slot);
                }
                return Some(packet);
            }
            self.retire_if_done(slot);
        }
    }
}
