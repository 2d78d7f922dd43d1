//! What happens at hosts: flows start, data turns into ACKs, ACKs let more data go, timers expire.

use crate::SimError;
use crate::connections::COMMON;
use crate::flow::{FlowReceiver, FlowSender, ReceiverSlot, SenderSlot};
use crate::ids::{FlowSlot, HostId, Id, PacketId, PoolId, TransportId};
use crate::packet::{Flags, Kind, Packet};
use crate::simulation::{Control, Query, Simulation, Transport};
use crate::timers::Timer;
use bufferlab_scenario::NicQueueing;
use bufferlab_transport::rdma::{QueuePair, RdmaAck, Responder};
use bufferlab_transport::{Ack, PacedSender, Receiver, Segment, Sender, Spacing};
use bufferlab_units::{RandomStream, Time};
use bufferlab_workload::FlowSpec;

/// A SYN carries 4 bytes more than a pure ACK: the maximum segment size option (frame of 58 B in the public ns-3 code).
const SYN_EXTRA_BYTES: u16 = 4;
/// A SACK option with one block: 2 bytes of padding, kind, length, two edges.
const SACK_OPTION_BYTES: u16 = 12;

/// What a receiver's timer has sent.
enum DelayedAck {
    Tcp(Ack),
    Rdma(RdmaAck),
}

impl Simulation {
    /// The application hands a flow's data over.
    pub(crate) fn start_flow(&mut self, spec: FlowSpec) -> Result<(), SimError> {
        self.start_message(spec, COMMON)
    }

    /// The same, over a connection of this pool where the transport keeps connections.
    pub(crate) fn start_message(&mut self, spec: FlowSpec, pool: PoolId) -> Result<(), SimError> {
        let transport_index = self.transport_of(&spec);
        let transport = &self.transports[transport_index];
        let segment = u64::from(transport.segment);
        let (total, last_payload) = if spec.size == FlowSpec::UNLIMITED {
            (u32::MAX, transport.segment)
        } else {
            let total = u32::try_from(spec.size.div_ceil(segment)).map_err(|_| SimError::TooLarge {
                what: "segments of a flow",
                found: spec.size.div_ceil(segment),
                limit: u64::from(u32::MAX),
            })?;
            (total, (spec.size - u64::from(total - 1) * segment) as u32)
        };
        let (sender, receiver) = match &transport.control {
            Control::Window(congestion) => {
                let mut sender = Sender::new(&transport.tcp, congestion, total);
                if spec.open.is_some_and(|open| open < spec.start) {
                    sender.skip_handshake();
                }
                (FlowSender::Tcp(sender), FlowReceiver::Tcp(Receiver::new(total)))
            }
            Control::QueuePair(congestion) => {
                let sender = QueuePair::new(&transport.tcp, congestion, total);
                (FlowSender::Rdma(sender), FlowReceiver::Rdma(Box::new(Responder::new(total))))
            }
            &Control::Pace { gap, spacing } => {
                let stream = pacing_stream(self.seed, &self.classes, &mut self.paced_flows, &spec, spacing);
                let sender = PacedSender::new(spec.start, gap, spacing, total, stream);
                (FlowSender::Paced(sender), FlowReceiver::Counting { missing: total })
            }
        };
        let keeps_connections =
            transport.persistent.is_some() && matches!(transport.control, Control::Window(_));
        let priority = match transport.data_priorities[..] {
            [only] => only,
            ref several => several[self.queue_stream.below(several.len() as u64) as usize],
        };
        // Entropy is drawn for every flow, also where it is not used: the streams of two runs stay in step.
        let entropy = self.path_stream.next_u64();
        let path = spec.data_path.unwrap_or(entropy as u32);
        let ack_path = spec.ack_path.unwrap_or((entropy >> 32) as u32);
        if spec.query != FlowSpec::NO_QUERY {
            self.start_query_flow(&spec);
        }
        let (src, dst) = (HostId::new(spec.src), HostId::new(spec.dst));
        let (explicit, ack_explicit) = (spec.data_path.is_some(), spec.ack_path.is_some());
        let make = |handle| {
            let sender = SenderSlot {
                sender,
                armed: Time::MAX,
                pace_armed: Time::MAX,
                handle,
                next_ready: FlowSlot::NONE,
                is_ready: false,
                transport: transport_index,
                priority,
                explicit_path: explicit,
                src,
                dst,
                last_payload,
                total,
                path,
                in_network: 0,
            };
            let receiver = ReceiverSlot {
                receiver,
                armed: Time::MAX,
                marked_packets: 0,
                completed: Time::MAX,
                src,
                dst,
                transport: transport_index,
                explicit_path: ack_explicit,
                path: ack_path,
            };
            (sender, receiver)
        };
        let slot = self.flows.insert(spec, pool, make).ok_or(SimError::TooLarge {
            what: "flows alive at once",
            found: FlowSlot::COUNT as u64 + 1,
            limit: FlowSlot::COUNT as u64,
        })?;
        if keeps_connections {
            self.take_connection(slot);
        } else {
            self.offer(slot);
        }
        Ok(())
    }

    /// The transport of a flow's class, for hosts such as its source.
    fn transport_of(&self, spec: &FlowSpec) -> TransportId {
        let transport = self.class_transport[usize::from(spec.class)] as usize;
        let kind = usize::from(self.host_kinds[HostId::new(spec.src)]);
        TransportId::from_index(transport * self.kinds + kind)
    }

    fn start_query_flow(&mut self, spec: &FlowSpec) {
        let expected = self.listed_queries.get(&spec.query).copied();
        let query = self.queries.entry(spec.query).or_insert_with(|| Query {
            class: spec.class,
            client: spec.dst,
            start: spec.start,
            started: 0,
            finished: 0,
            expected,
            bytes: 0,
            last: Time::ZERO,
            dropped: 0,
            timeouts: 0,
            lossy: false,
        });
        query.started += 1;
        query.bytes += spec.size;
    }

    /// The flow may have something to send, and its timer may have changed.
    #[inline]
    pub(crate) fn offer(&mut self, slot: FlowSlot) {
        let flow = &mut self.flows.senders[slot];
        let transport = &self.transports[flow.transport];
        let host = flow.src;
        if flow.sender.wants_to_send(&transport.tcp, self.now) {
            match self.nic_queueing {
                NicQueueing::Fifo if !self.is_queue_pair(slot) => {
                    while let Some(packet) = self.next_packet(slot) {
                        self.nics[host].queue.push_back(packet);
                    }
                }
                _ => self.nics[host].make_ready(&mut self.flows, slot),
            }
            self.kick_host(host);
        }
        self.arm_sender(slot);
    }

    /// Makes sure that a timer entry exists at or before the sender's deadline. Entries are lazy: a deadline that moves back costs
    /// nothing until the old entry fires.
    #[inline]
    fn arm_sender(&mut self, slot: FlowSlot) {
        let flow = &mut self.flows.senders[slot];
        let transport = &self.transports[flow.transport];
        let wake = flow.sender.wake_at(&transport.tcp, self.now);
        if wake < flow.pace_armed {
            flow.pace_armed = wake;
            self.timers.push(wake, Timer::Pace(slot));
        }
        let deadline = flow.sender.deadline(self.now);
        if deadline < flow.armed {
            flow.armed = deadline;
            self.timers.push(deadline, Timer::Sender(slot));
        }
    }

    pub(crate) fn handle_sender_timer(&mut self, time: Time, slot: FlowSlot) {
        let flow = &mut self.flows.senders[slot];
        if flow.armed != time {
            return;
        }
        flow.armed = Time::MAX;
        if self.flows.infos[slot].is_none() {
            return;
        }
        let transport = &self.transports[flow.transport];
        let may_send = match &mut flow.sender {
            FlowSender::Tcp(sender) => sender.handle_timeout(&transport.tcp, self.now),
            FlowSender::Rdma(sender) => sender.handle_timeout(&transport.tcp, self.now),
            FlowSender::Paced(_) => true,
        };
        if may_send {
            self.offer(slot);
        } else {
            self.arm_sender(slot);
        }
    }

    /// A paced sender may send again.
    pub(crate) fn handle_pace_timer(&mut self, time: Time, slot: FlowSlot) {
        let flow = &mut self.flows.senders[slot];
        if flow.pace_armed != time {
            return;
        }
        flow.pace_armed = Time::MAX;
        if self.flows.infos[slot].is_some() {
            self.offer(slot);
        }
    }

    pub(crate) fn handle_delayed_ack_timer(&mut self, time: Time, slot: FlowSlot) -> Result<(), SimError> {
        let flow = &mut self.flows.receivers[slot];
        if flow.armed != time {
            return Ok(());
        }
        flow.armed = Time::MAX;
        let due = match &mut flow.receiver {
            FlowReceiver::Tcp(receiver) => receiver.handle_timeout(self.now).map(DelayedAck::Tcp),
            FlowReceiver::Rdma(receiver) => receiver.handle_timeout(self.now).map(DelayedAck::Rdma),
            FlowReceiver::Counting { .. } => None,
        };
        let Some(ack) = due else {
            self.arm_receiver(slot);
            return Ok(());
        };
        let template = Packet {
            sent: Time::ZERO,
            flow: self.flows.senders[slot].handle,
            seq: 0,
            sack_first: 0,
            path: 0,
            wire: 0,
            sack_count: 0,
            dst: self.flows.receivers[slot].src,
            flags: Flags::default(),
            priority: 0,
        };
        let id = self.packets.insert(template);
        self.telemetry.begin(id);
        self.flows.senders[slot].in_network += 1;
        match ack {
            DelayedAck::Tcp(ack) => self.send_ack(slot, id, &ack),
            DelayedAck::Rdma(ack) => self.send_rdma_ack(slot, id, &ack),
        }
        Ok(())
    }

    pub(crate) fn arm_receiver(&mut self, slot: FlowSlot) {
        let flow = &mut self.flows.receivers[slot];
        let deadline = match &flow.receiver {
            FlowReceiver::Tcp(receiver) => receiver.deadline(),
            FlowReceiver::Rdma(receiver) => receiver.deadline(),
            FlowReceiver::Counting { .. } => return,
        };
        if deadline < flow.armed {
            flow.armed = deadline;
            self.timers.push(deadline, Timer::DelayedAck(slot));
        }
    }

    /// Something waits at a host's card.
    #[inline]
    pub(crate) fn kick_host(&mut self, host: HostId) {
        if self.claim(host.uplink()) {
            self.send_from_host(host);
        }
    }

    /// The host's uplink is idle: sends an ACK that waits, or a packet of the flow whose turn it is.
    #[inline]
    pub(crate) fn send_from_host(&mut self, host: HostId) {
        let packet = if self.nics[host].paused != 0 {
            let is_shared = self.nics[host].shared.is_some();
            let next = if is_shared { self.next_shared(host) } else { self.next_unpaused(host) };
            let Some(packet) = next else { return };
            packet
        } else {
            let nic = &mut self.nics[host];
            match if nic.in_burst { None } else { nic.queue.pop_front() } {
                Some(packet) => packet,
                None => loop {
                    let Some(slot) = self.nics[host].next_ready(&mut self.flows) else { return };
                    if let Some(packet) = self.next_packet(slot) {
                        let flow = &self.flows.senders[slot];
                        let transport = &self.transports[flow.transport];
                        if flow.sender.in_burst() {
                            self.nics[host].keep_turn(&mut self.flows, slot);
                        } else if flow.sender.wants_to_send(&transport.tcp, self.now) {
                            self.nics[host].make_ready(&mut self.flows, slot);
                        }
                        break packet;
                    }
                    // Its last acknowledgement came while it waited for another turn.
                    self.retire_if_done(slot);
                },
            }
        };
        if let Some(stream) = &mut self.spray {
            let meta = &mut self.packets[packet];
            if !meta.flags.has(Flags::EXPLICIT_PATH) {
                meta.path = stream.next_u64() as u32;
            }
        }
        let more = self.nics[host].has_work();
        self.transmit(host.uplink(), packet, more);
    }

    /// Makes the flow's next packet, if its window allows one.
    #[inline]
    pub(crate) fn next_packet(&mut self, slot: FlowSlot) -> Option<PacketId> {
        let flow = &mut self.flows.senders[slot];
        let transport = &self.transports[flow.transport];
        let sent_before = u64::from(flow.sender.counters().sent);
        let segment = flow.sender.poll_transmit(&transport.tcp, self.now)?;
        let packet = data_packet(flow, transport, segment, sent_before, self.now);
        flow.in_network += 1;
        let id = self.packets.insert(packet);
        self.telemetry.begin(id);
        self.arm_sender(slot);
        Some(id)
    }

    /// A packet's last bit has reached a host.
    #[inline]
    pub(crate) fn receive_at_host(&mut self, host: HostId, id: PacketId) -> Result<(), SimError> {
        let packet = self.packets[id];
        let slot = packet.flow.slot();
        debug_assert_eq!(packet.dst, host, "packets are delivered where they go");
        match packet.flags.kind() {
            Kind::Data => {
                let flow = &mut self.flows.receivers[slot];
                let transport = &self.transports[flow.transport];
                let marked = packet.flags.has(Flags::MARKED);
                flow.marked_packets += u64::from(marked);
                let receiver = match &mut flow.receiver {
                    FlowReceiver::Tcp(receiver) => receiver,
                    FlowReceiver::Rdma(_) => {
                        self.receive_rdma_data(slot, id);
                        return Ok(());
                    }
                    FlowReceiver::Counting { missing } => {
                        *missing -= 1;
                        if *missing == 0 {
                            flow.completed = self.now;
                        }
                        self.packets.remove(id);
                        self.leave_network(slot);
                        return Ok(());
                    }
                };
                let ack = receiver.handle_data(&transport.tcp, self.now, packet.seq, packet.sent, marked);
                let waits = receiver.deadline() != Time::MAX;
                if receiver.is_complete() && flow.completed == Time::MAX {
                    flow.completed = self.now;
                    if !self.closed_loops.are_over() {
                        let info = self.flows.info(slot);
                        self.note_answer(info.spec.query);
                    }
                }
                match ack {
                    Some(ack) => self.send_ack(slot, id, &ack),
                    None => {
                        self.packets.remove(id);
                        self.leave_network(slot);
                    }
                }
                if waits {
                    self.arm_receiver(slot);
                }
            }
            Kind::Ack => {
                let flow = &mut self.flows.senders[slot];
                let FlowSender::Tcp(sender) = &mut flow.sender else {
                    self.receive_rdma_ack(slot, id);
                    return Ok(());
                };
                self.packets.remove(id);
                flow.in_network -= 1;
                if !sender.is_done() {
                    let ack = Ack {
                        cumulative: packet.seq,
                        sack: (packet.sack_first, packet.sack_first + u32::from(packet.sack_count)),
                        echo: packet.sent,
                        marked: packet.flags.has(Flags::ECHO),
                    };
                    let transport = &self.transports[flow.transport];
                    let reports = self.telemetry.of(id);
                    sender.handle_ack_with_telemetry(&transport.tcp, self.now, &ack, reports);
                    if !sender.is_done() {
                        self.offer(slot);
                        return Ok(());
                    }
                }
                self.retire_if_done(slot);
            }
            Kind::Syn => self.answer_syn(slot, id),
            Kind::SynAck => {
                self.packets.remove(id);
                let flow = &mut self.flows.senders[slot];
                flow.in_network -= 1;
                tcp(&mut flow.sender).handle_syn_ack(self.now, packet.sent);
                self.offer(slot);
                self.retire_if_done(slot);
            }
        }
        Ok(())
    }

    /// Turns packet `id` into the ACK that a receiver wants to send.
    #[inline]
    fn send_ack(&mut self, slot: FlowSlot, id: PacketId, ack: &Ack) {
        let flow = &self.flows.receivers[slot];
        let transport = &self.transports[flow.transport];
        let count = (ack.sack.1 - ack.sack.0).min(u32::from(u16::MAX));
        let packet = &mut self.packets[id];
        packet.sent = ack.echo;
        packet.seq = ack.cumulative;
        // A block beyond 65,535 segments is reported by its end, which is what is new.
        packet.sack_first = ack.sack.1 - count;
        packet.sack_count = count as u16;
        packet.wire = transport.ack + if count > 0 { SACK_OPTION_BYTES } else { 0 };
        packet.flags =
            control_flags(Kind::Ack, transport, flow.explicit_path).with_if(ack.marked, Flags::ECHO);
        packet.priority = transport.control_priority;
        packet.path = flow.path;
        packet.dst = flow.src;
        let host = flow.dst;
        self.nics[host].queue.push_back(id);
        self.kick_host(host);
    }

    fn answer_syn(&mut self, slot: FlowSlot, id: PacketId) {
        let flow = &self.flows.receivers[slot];
        let transport = &self.transports[flow.transport];
        let packet = &mut self.packets[id];
        packet.flags = control_flags(Kind::SynAck, transport, flow.explicit_path);
        packet.path = flow.path;
        packet.dst = flow.src;
        let host = flow.dst;
        self.nics[host].queue.push_back(id);
        self.kick_host(host);
    }

    /// A packet of the flow has ceased to exist.
    #[inline]
    pub(crate) fn leave_network(&mut self, slot: FlowSlot) {
        self.flows.senders[slot].in_network -= 1;
        if self.flows.senders[slot].sender.is_done() {
            self.retire_if_done(slot);
        }
    }

    /// Ends the flow when its sender is done and nothing is left that could ask for its slot: no packet, and no place in its
    /// host's turn order, which is a list through the slots.
    pub(crate) fn retire_if_done(&mut self, slot: FlowSlot) {
        let flow = &self.flows.senders[slot];
        if flow.sender.is_done() && flow.in_network == 0 && !flow.is_ready {
            self.retire(slot);
        }
    }
}

/// The sender of a TCP flow.
#[inline]
fn tcp(sender: &mut FlowSender) -> &mut Sender {
    match sender {
        FlowSender::Tcp(sender) => sender,
        FlowSender::Rdma(_) | FlowSender::Paced(_) => unreachable!("only TCP hears of this kind of packet"),
    }
}

/// The random stream of a paced flow, numbered within its class: other classes leave it alone.
fn pacing_stream(
    seed: u64,
    classes: &[String],
    started: &mut [u64],
    spec: &FlowSpec,
    spacing: Spacing,
) -> RandomStream {
    let class = usize::from(spec.class);
    let number = started[class];
    started[class] += 1;
    match spacing {
        // Nothing is drawn from it, so that a trace of a million packets need not name a million streams.
        Spacing::Constant => RandomStream::new(seed, "", 0),
        Spacing::Exponential => RandomStream::new(seed, &format!("sim/pacing/{}", classes[class]), number),
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
    let (wire, kind, tiny) = if segment.syn {
        (transport.ack + SYN_EXTRA_BYTES, Kind::Syn, true)
    } else {
        let last = segment.seq + 1 == flow.total;
        let payload = if last { flow.last_payload } else { transport.segment };
        (payload as u16 + transport.header, Kind::Data, payload <= transport.control_max_payload)
    };
    // The first bytes of a flow, counted as sent, retransmissions included (as the hosts of the public ns-3 code do).
    let bytes_before = sent_before * u64::from(transport.segment);
    let flags = if segment.syn {
        control_flags(kind, transport, flow.explicit_path)
    } else {
        Flags::of_kind(kind)
            .with_if(transport.ecn_capable, Flags::ECN_CAPABLE)
            .with_if(flow.explicit_path, Flags::EXPLICIT_PATH)
            .with_if(bytes_before < transport.unscheduled_bytes, Flags::UNSCHEDULED)
            .with_if(segment.retransmission, Flags::RETRANSMISSION)
    };
    let mut notes = 0;
    if transport.wants_telemetry && !segment.syn {
        notes |= Packet::WANTS_TELEMETRY;
    }
    if bytes_before < transport.small_bytes && !segment.syn {
        notes |= Packet::SMALL;
    }
    let passed = transport.pias_thresholds.iter().take_while(|&&threshold| bytes_before >= threshold).count();
    Packet {
        sent: now,
        flow: flow.handle,
        seq: segment.seq,
        sack_first: 0,
        path: flow.path,
        wire,
        sack_count: notes,
        dst: flow.dst,
        flags,
        priority: if tiny { transport.control_priority } else { flow.priority + passed as u8 },
    }
}

#[inline]
pub(crate) fn control_flags(kind: Kind, transport: &Transport, explicit_path: bool) -> Flags {
    Flags::of_kind(kind)
        .with_if(transport.ecn_capable, Flags::ECN_CAPABLE)
        .with_if(transport.control_unscheduled, Flags::UNSCHEDULED)
        .with_if(explicit_path, Flags::EXPLICIT_PATH)
}
