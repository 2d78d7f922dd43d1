//! Arrival of packets at a host: a receiver turns data into ACKs,
//! and ACKs let a sender send more data.

use super::flow::{FlowReceiver, FlowSender};
use super::send::path_flags;
use super::{Effect, Hosts};
use crate::ids::{FlowSlot, HostId, PacketId};
use crate::world::Uplink;
use crate::world::packet::{Flags, Kind, Packet};
use bufferlab_core::{Ecn, Header};
use bufferlab_transport::Ack;
use bufferlab_transport::rdma::RdmaAck;
use bufferlab_units::Time;

/// Bytes of a SACK option with one block: 2 bytes of padding, kind, length, two edges.
const SACK_OPTION_BYTES: u32 = 12;

/// Cache lines of a NIC that an arriving packet needs.
const CARD_LINES: usize = 2;
/// Cache lines of a receiver that a data packet needs.
const RECEIVER_LINES: usize = 2;
/// Cache lines of a sender that an ACK needs.
const SENDER_LINES: usize = 4;

/// A delayed ACK that the timer of a receiver sends.
enum DelayedAck {
    Tcp(Ack),
    Rdma(RdmaAck),
}

impl Hosts {
    /// Requests the NIC of a host.
    #[inline]
    pub(crate) fn prefetch_card(&self, host: HostId) {
        self.cards.prefetch(host, CARD_LINES);
    }

    /// Requests the sender or receiver for which `packet` arrives at a host.
    #[inline]
    pub(crate) fn prefetch_flow(&self, packet: &Packet) {
        let slot = packet.flow().slot();
        match packet.flags.kind() {
            Kind::Data => self.flows.receivers.prefetch(slot, RECEIVER_LINES),
            _ => self.flows.senders.prefetch(slot, SENDER_LINES),
        }
    }

    /// Requests the first sender in the turn order of a host's NIC.
    #[inline]
    pub(crate) fn prefetch_sender(&self, host: HostId) {
        self.flows.senders.prefetch(self.cards[host].first_in_turn(), SENDER_LINES);
    }

    /// Handles a packet whose last bit has reached a host.
    #[inline(always)] // Inlined into both hot loops.
    pub(crate) fn receive(&mut self, uplink: &mut Uplink<'_>, id: PacketId) {
        let packet = *uplink.packet(id);
        debug_assert_eq!(packet.dst, uplink.host(), "packets are delivered where they go");
        match packet.flags.kind() {
            Kind::Data => self.receive_data(uplink, id, &packet),
            Kind::Ack => self.receive_ack(uplink, id, &packet),
            Kind::Syn => self.receive_syn(uplink, id, &packet),
            Kind::SynAck => self.receive_syn_ack(uplink, id, &packet),
        }
    }

    #[inline]
    fn receive_data(&mut self, uplink: &mut Uplink<'_>, id: PacketId, packet: &Packet) {
        let (slot, now) = (packet.flow().slot(), uplink.now());
        let flow = &mut self.flows.receivers[slot];
        let transport = &self.transports[flow.transport];
        let marked = packet.header.ecn == Ecn::Marked;
        flow.marked_packets += u64::from(marked);
        let receiver = match &mut flow.receiver {
            FlowReceiver::Tcp(receiver) => receiver,
            FlowReceiver::Rdma(_) => return self.receive_rdma_data(uplink, slot, id),
            FlowReceiver::Counting { missing } => {
                *missing -= 1;
                if *missing == 0 {
                    flow.completed = now;
                }
                uplink.remove(id);
                return self.leave_network(uplink, slot);
            }
        };
        let ack = receiver.handle_data(&transport.tcp, now, packet.seq, packet.sent, marked);
        let waits = receiver.deadline() != Time::MAX;
        let mut ends = false;
        if receiver.is_complete() && flow.completed == Time::MAX {
            flow.completed = now;
            ends = transport.full_connection;
            self.note_arrival(slot);
        }
        match ack {
            Some(ack) => {
                self.send_ack(uplink, slot, id, &ack);
                if ends {
                    self.send_fin(uplink, slot, &ack);
                }
            }
            None => {
                uplink.remove(id);
                self.leave_network(uplink, slot);
            }
        }
        if waits {
            self.arm_receiver(uplink, slot);
        }
    }

    #[inline]
    fn receive_ack(&mut self, uplink: &mut Uplink<'_>, id: PacketId, packet: &Packet) {
        let slot = packet.flow().slot();
        let flow = &mut self.flows.senders[slot];
        let FlowSender::Tcp(sender) = &mut flow.sender else {
            return self.receive_rdma_ack(uplink, slot, id);
        };
        uplink.remove(id);
        flow.in_network -= 1;
        if !sender.is_done() {
            let ack = Ack {
                cumulative: packet.seq,
                sack: (packet.sack_first, packet.sack_first + u32::from(packet.sack_count)),
                echo: packet.sent,
                marked: packet.flags.has(Flags::ECHO),
            };
            let transport = &self.transports[flow.transport];
            sender.handle_ack_with_telemetry(&transport.tcp, uplink.now(), &ack, uplink.reports(id));
            if !sender.is_done() {
                return self.offer(uplink, slot);
            }
            self.end_sending(uplink, slot);
        }
        self.retire_if_done(uplink, slot);
    }

    /// Reports a flow whose bytes have all arrived.
    #[cold]
    pub(super) fn note_arrival(&mut self, slot: FlowSlot) {
        let spec = &self.flows.info(slot).spec;
        self.effects.push(Effect::Arrived { query: spec.query, node: spec.node });
    }

    /// Turns packet `id` into the ACK that a receiver wants to send.
    #[inline]
    fn send_ack(&mut self, uplink: &mut Uplink<'_>, slot: FlowSlot, id: PacketId, ack: &Ack) {
        let flow = &self.flows.receivers[slot];
        let transport = &self.transports[flow.transport];
        // If a block has more than 65,535 received segments, the ACK reports the end of the block,
        // which has the newest segments.
        let count = u16::try_from(ack.sack.1 - ack.sack.0).unwrap_or(u16::MAX);
        let packet = uplink.packet_mut(id);
        packet.sent = ack.echo;
        packet.seq = ack.cumulative;
        packet.sack_first = ack.sack.1 - u32::from(count);
        packet.sack_count = count;
        let handle = packet.flow();
        let size = transport.ack.size + if count > 0 { SACK_OPTION_BYTES } else { 0 };
        packet.header = Header { size, flow: handle.0, ..transport.ack };
        packet.flags = path_flags(Kind::Ack, flow.explicit_path).with_if(ack.marked, Flags::ECHO);
        packet.path = flow.path;
        packet.dst = flow.src;
        if transport.reports_to_acks {
            uplink.go_on_reporting(id, transport.telemetry);
        }
        self.send_ack_or_enqueue(uplink, handle, id);
    }

    pub(crate) fn handle_delayed_ack_timer(&mut self, uplink: &mut Uplink<'_>, slot: FlowSlot) {
        let now = uplink.now();
        let flow = &mut self.flows.receivers[slot];
        if flow.armed != now {
            return;
        }
        flow.armed = Time::MAX;
        let due = match &mut flow.receiver {
            FlowReceiver::Tcp(receiver) => receiver.handle_timeout(now).map(DelayedAck::Tcp),
            FlowReceiver::Rdma(receiver) => receiver.handle_timeout(now).map(DelayedAck::Rdma),
            FlowReceiver::Counting { .. } => None,
        };
        let Some(ack) = due else { return self.arm_receiver(uplink, slot) };
        let template = Packet {
            sent: Time::ZERO,
            header: Header { flow: self.flows.senders[slot].handle.0, ..Header::default() },
            seq: 0,
            sack_first: 0,
            path: 0,
            sack_count: 0,
            dst: flow.src,
            flags: Flags::default(),
        };
        let id = uplink.create(template);
        self.enter_network(uplink, slot);
        match ack {
            DelayedAck::Tcp(ack) => self.send_ack(uplink, slot, id, &ack),
            DelayedAck::Rdma(ack) => self.send_rdma_ack(uplink, slot, id, &ack),
        }
    }

    pub(super) fn arm_receiver(&mut self, uplink: &mut Uplink<'_>, slot: FlowSlot) {
        let flow = &mut self.flows.receivers[slot];
        let deadline = match &flow.receiver {
            FlowReceiver::Tcp(receiver) => receiver.deadline(),
            FlowReceiver::Rdma(receiver) => receiver.deadline(),
            FlowReceiver::Counting { .. } => return,
        };
        if deadline < flow.armed {
            flow.armed = deadline;
            uplink.set_delayed_ack_timer(deadline, slot);
        }
    }
}
