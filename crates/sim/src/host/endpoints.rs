//! Packets that open and close a connection: SYN and SYN-ACK. Flows with full connections also send
//! the ACK that ends the handshake, the receiver's FIN, and the ACK of that FIN.
//!
//! The sender's last segment carries the sender's FIN, as in ns-3. So the receiver sends its own
//! FIN right after the ACK of that segment. A FIN acknowledges the whole flow once more. No host
//! waits for a FIN, so no host repeats a lost FIN.

use super::Hosts;
use super::flow::FlowSender;
use super::send::path_flags;
use crate::ids::{FlowSlot, PacketId};
use crate::world::Uplink;
use crate::world::packet::{Flags, Kind, Packet};
use bufferlab_core::Header;
use bufferlab_transport::Ack;

impl Hosts {
    /// Handles a SYN, or a bare ACK of the connection, at the receiver.
    pub(super) fn receive_syn(&mut self, uplink: &mut Uplink<'_>, id: PacketId, packet: &Packet) {
        if packet.flags.has(Flags::ENDS) {
            uplink.remove(id);
            return self.leave_network(uplink, packet.flow().slot());
        }
        let flow = &self.flows.receivers[packet.flow().slot()];
        let answer = uplink.packet_mut(id);
        let (transport, header) = (&self.transports[flow.transport], packet.header);
        answer.header = Header { size: header.size, flow: header.flow, ..transport.ack };
        answer.flags = path_flags(Kind::SynAck, flow.explicit_path);
        answer.path = flow.path;
        answer.dst = flow.src;
        self.enqueue(uplink.host(), packet.flow(), true, id);
        self.kick(uplink);
    }

    /// Handles a SYN-ACK or a FIN at the sender.
    pub(super) fn receive_syn_ack(&mut self, uplink: &mut Uplink<'_>, id: PacketId, packet: &Packet) {
        let slot = packet.flow().slot();
        if packet.flags.has(Flags::ENDS) {
            return self.receive_fin(uplink, slot, id, packet);
        }
        if self.transports[self.flows.senders[slot].transport].full_connection {
            self.send_bare_ack(uplink, slot, id);
        } else {
            uplink.remove(id);
            self.flows.senders[slot].in_network -= 1;
        }
        let sender = self.flows.senders[slot].sender.tcp().expect("only TCP has a handshake");
        sender.handle_syn_ack(uplink.now(), packet.sent);
        self.offer(uplink, slot);
        self.retire_if_done(uplink, slot);
    }

    /// Sends the receiver's FIN after `ack`, the last ACK of the flow.
    #[cold]
    pub(super) fn send_fin(&mut self, uplink: &mut Uplink<'_>, slot: FlowSlot, ack: &Ack) {
        let flow = &self.flows.receivers[slot];
        let transport = &self.transports[flow.transport];
        let fin = Packet {
            sent: ack.echo,
            header: Header { flow: self.flows.senders[slot].handle.0, ..transport.ack },
            seq: ack.cumulative,
            sack_first: 0,
            path: flow.path,
            sack_count: 0,
            dst: flow.src,
            flags: path_flags(Kind::SynAck, flow.explicit_path).with(Flags::ENDS),
        };
        let id = uplink.create(fin);
        self.enter_network(uplink, slot);
        self.enqueue(uplink.host(), fin.flow(), true, id);
        self.kick(uplink);
    }

    /// Handles a FIN, which may be the first packet to acknowledge all data.
    fn receive_fin(&mut self, uplink: &mut Uplink<'_>, slot: FlowSlot, id: PacketId, packet: &Packet) {
        let flow = &mut self.flows.senders[slot];
        if let FlowSender::Tcp(sender) = &mut flow.sender
            && !sender.is_done()
        {
            let ack = Ack { cumulative: packet.seq, sack: (0, 0), echo: packet.sent, marked: false };
            sender.handle_ack(&self.transports[flow.transport].tcp, uplink.now(), &ack);
            if sender.is_done() {
                self.end_sending(uplink, slot);
            }
        }
        self.send_bare_ack(uplink, slot, id);
    }

    /// Turns packet `id` into an ACK that the flow's sender sends, and that
    /// the receiver does not answer.
    fn send_bare_ack(&mut self, uplink: &mut Uplink<'_>, slot: FlowSlot, id: PacketId) {
        let flow = &self.flows.senders[slot];
        let transport = &self.transports[flow.transport];
        let packet = uplink.packet_mut(id);
        let handle = packet.flow();
        packet.header = Header { flow: handle.0, ..transport.ack };
        packet.flags = path_flags(Kind::Syn, flow.explicit_path).with(Flags::ENDS);
        packet.path = flow.path;
        packet.dst = flow.dst;
        self.enqueue(uplink.host(), handle, false, id);
        self.kick(uplink);
    }
}
