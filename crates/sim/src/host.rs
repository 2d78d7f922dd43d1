//! Hosts: cards, flows with their senders and receivers, connections that stay open.
//!
//! A host handles an event (a flow starts, a packet arrives, a timer fires, its link is idle) and
//! reaches nothing but what is here and its [`Uplink`]. What else an event leads to it leaves in
//! [`Hosts::effects`]. The two ends of a flow lie in one table, because a slot is the flow's name
//! for policies.

mod apart;
pub(crate) mod card;
pub(crate) mod connections;
mod ends;
pub(crate) mod flow;
mod flow_queues;
mod message;
mod rdma;
mod receive;
mod send;
pub(crate) mod slots;
mod streams;
pub(crate) mod transport;

pub(crate) use apart::{FlowNote, Retired};
pub(crate) use flow::FlowAccount;

use crate::ids::{FlowHandle, FlowSlot, HostId, PacketId, Table, TransportId};
use crate::world::Uplink;
use apart::Apart;
use bufferlab_scenario::NicQueueing;
use bufferlab_transport::ControlFailure;
use bufferlab_units::Time;
use bufferlab_workload::FlowSpec;
use card::Card;
use connections::Connections;
use flow::{FlowInfo, FlowSender, Flows};
use flow_queues::{FlowQueues, QueueKey};
use message::Pacing;
use streams::HostStreams;
use transport::{Control, Transport};

/// Most packets that exist at a time, where cards hold packets that are made before they are sent:
/// some 6 GB of data of a usual size, 0.2 GB of memory. No network of switches holds as many, so
/// nearly all of them wait at cards, and a window without bounds would go on until memory is full.
pub(crate) const PACKETS_MAX: usize = 1 << 22;

/// All hosts of a network.
#[derive(Debug)]
pub(crate) struct Hosts {
    cards: Table<HostId, Card>,
    flows: Flows,
    /// By transport of the scenario and kind of host: `transport * kinds + kind`.
    transports: Table<TransportId, Transport>,
    /// Hosts whose links have one rate are of a kind.
    host_kinds: Table<HostId, u8>,
    kinds: usize,
    /// By class of flows: index of its transport.
    class_transports: Vec<u32>,
    nic_queueing: NicQueueing,
    /// With [`NicQueueing::FlowQueues`].
    flow_queues: FlowQueues,
    streams: Table<HostId, HostStreams>,
    /// Every packet draws its path.
    spray: bool,
    pacing: Pacing,
    connections: Connections,
    /// A flow whose congestion control had failed has ended.
    failed: Option<FailedFlow>,
    /// A card would have had to hold more packets than there may be ([`PACKETS_MAX`]): whose, and
    /// since when.
    overfull: Option<(HostId, Time)>,
    /// Where these are the hosts of one part of the network.
    apart: Option<Box<Apart>>,
    pub(crate) effects: Vec<Effect>,
}

/// A flow whose congestion control has failed.
#[derive(Debug)]
pub(crate) struct FailedFlow {
    pub(crate) control: &'static str,
    pub(crate) number: u64,
    pub(crate) spec: FlowSpec,
    pub(crate) failure: ControlFailure,
}

/// What an event at a host leads to beyond the hosts.
#[derive(Debug)]
pub(crate) enum Effect {
    /// A flow has arrived as a whole, and answers this query.
    Answered(u32),
    /// A flow is over, and its slot is free.
    Ended(FlowAccount),
}

/// What hosts are made of.
#[derive(Debug)]
pub(crate) struct HostsConfig {
    pub(crate) seed: u64,
    /// See [`Hosts`].
    pub(crate) transports: Table<TransportId, Transport>,
    /// The kind of every host.
    pub(crate) host_kinds: Table<HostId, u8>,
    /// How many kinds there are.
    pub(crate) kinds: usize,
    /// Names of the classes of flows.
    pub(crate) classes: Vec<String>,
    /// See [`Hosts`].
    pub(crate) class_transports: Vec<u32>,
    pub(crate) nic_queueing: NicQueueing,
    /// Every packet draws its path.
    pub(crate) spray: bool,
}

impl Hosts {
    pub(crate) fn new(config: HostsConfig) -> Self {
        let HostsConfig { seed, transports, host_kinds, kinds, classes, class_transports, .. } = config;
        let mut cards: Table<HostId, _> = host_kinds.iter().map(|_| Card::new()).collect();
        // Cards that hold TCP's packets in a queue make those of queue pairs when they send them.
        let is_rdma = |transport: &Transport| matches!(transport.control, Control::QueuePair(_));
        if config.nic_queueing != NicQueueing::Fair && transports.iter().any(is_rdma) {
            cards.iter_mut().for_each(Card::share);
        }
        if config.nic_queueing == NicQueueing::FlowQueues {
            cards.iter_mut().for_each(|card| card.turns = Some(Box::default()));
        }
        Self {
            streams: (0..).zip(host_kinds.iter()).map(|(host, _)| HostStreams::new(seed, host)).collect(),
            cards,
            flows: Flows::default(),
            transports,
            host_kinds,
            kinds,
            class_transports,
            nic_queueing: config.nic_queueing,
            flow_queues: FlowQueues::default(),
            spray: config.spray,
            pacing: Pacing::new(seed, classes),
            connections: Connections::default(),
            failed: None,
            overfull: None,
            apart: None,
            effects: Vec::new(),
        }
    }

    /// All flows, to look at.
    pub(crate) fn flows(&self) -> &Flows {
        &self.flows
    }

    /// The flow of a packet that exists.
    pub(crate) fn flow(&self, flow: FlowHandle) -> &FlowInfo {
        self.flows.info(flow.slot())
    }

    /// The host that sends a flow.
    #[inline]
    pub(crate) fn source(&self, slot: FlowSlot) -> HostId {
        self.flows.senders[slot].src
    }

    /// The host that receives a flow.
    #[inline]
    pub(crate) fn destination(&self, slot: FlowSlot) -> HostId {
        self.flows.receivers[slot].dst
    }

    /// Packets that exist and wait at cards.
    pub(crate) fn waiting_packets(&self) -> usize {
        self.cards.iter().map(Card::waiting_packets).sum()
    }

    /// What is known of a flow now.
    pub(crate) fn account(&self, slot: FlowSlot) -> FlowAccount {
        let transport = &self.transports[self.flows.senders[slot].transport];
        self.flows.account(slot, transport)
    }

    /// Bytes of a flow that have arrived.
    pub(crate) fn delivered_bytes(&self, slot: FlowSlot) -> u64 {
        let segment = self.transports[self.flows.senders[slot].transport].segment;
        let bytes = u64::from(self.flows.delivered_segments(slot)) * u64::from(segment);
        bytes.min(self.flows.info(slot).spec.size)
    }

    /// Packets of `priority` must wait at the card of `host` (PFC).
    pub(crate) fn pause(&mut self, host: HostId, priority: u8) {
        self.cards[host].pause(priority);
    }

    /// Packets of `priority` may go.
    pub(crate) fn resume(&mut self, host: HostId, priority: u8) {
        self.cards[host].resume(priority, &mut self.flows);
    }

    /// The network has lost a packet. `uplink`: of the host that sends its flow.
    pub(crate) fn handle_loss(&mut self, uplink: &mut Uplink<'_>, id: PacketId) {
        let slot = uplink.packet(id).flow.slot();
        uplink.remove(id);
        if self.is_counted_elsewhere(slot) {
            return self.note_packets(uplink.now(), slot, -1, 1);
        }
        self.flows.info_mut(slot).dropped_packets += 1;
        self.leave_network(uplink, slot);
    }

    /// A packet of the flow has ceased to exist.
    #[inline]
    fn leave_network(&mut self, uplink: &mut Uplink<'_>, slot: FlowSlot) {
        if self.is_counted_elsewhere(slot) {
            return self.note_packets(uplink.now(), slot, -1, 0);
        }
        let flow = &mut self.flows.senders[slot];
        flow.in_network -= 1;
        if flow.sender.is_done() {
            self.retire_if_done(uplink, slot);
        }
    }

    /// A receiver has made a packet of the flow.
    fn enter_network(&mut self, uplink: &Uplink<'_>, slot: FlowSlot) {
        if self.is_counted_elsewhere(slot) {
            return self.note_packets(uplink.now(), slot, 1, 0);
        }
        self.flows.senders[slot].in_network += 1;
    }

    /// Ends the flow when its sender is done and nothing is left that could ask for its slot: no
    /// packet, and no place in its host's turn order, which is a list through the slots.
    fn retire_if_done(&mut self, uplink: &mut Uplink<'_>, slot: FlowSlot) {
        if self.defer_end(uplink.now(), slot) {
            return;
        }
        let flow = &self.flows.senders[slot];
        if flow.sender.is_done() && flow.in_network == 0 && !flow.is_ready {
            self.retire(uplink, slot);
        }
    }

    /// A sender of TCP has just heard that all has arrived: its connection is free for another
    /// message. What is left of the flow in the network, repetitions, does not matter to it, and
    /// the source cannot know of it.
    #[inline]
    fn end_sending(&mut self, uplink: &mut Uplink<'_>, slot: FlowSlot) {
        if self.transports[self.flows.senders[slot].transport].persistent.is_some() {
            if let Some(failed) = self.failure_of(slot) {
                self.failed.get_or_insert(failed);
            }
            self.leave_connection(uplink, slot);
        }
    }

    /// Ends a flow and gives its slot back.
    fn retire(&mut self, uplink: &mut Uplink<'_>, slot: FlowSlot) {
        let account = self.account(slot);
        if let Some(failed) = self.failure_of(slot) {
            self.failed.get_or_insert(failed);
        }
        self.flows.remove(slot, uplink.now());
        self.effects.push(Effect::Ended(account));
    }

    /// The failure of a live flow's congestion control, once.
    fn failure_of(&mut self, slot: FlowSlot) -> Option<FailedFlow> {
        let flow = &mut self.flows.senders[slot];
        let failure = flow.sender.take_failure()?;
        let control = self.transports[flow.transport].control.name();
        let info = self.flows.info(slot);
        Some(FailedFlow { control, number: info.number, spec: info.spec.clone(), failure })
    }

    /// A failed congestion control of a flow that has ended or is alive. The earliest, if there are
    /// several.
    pub(crate) fn take_failure(&mut self) -> Option<FailedFlow> {
        let slots: Vec<_> = self.flows.live_slots().collect();
        let live = slots.into_iter().filter_map(|slot| self.failure_of(slot)).collect::<Vec<_>>();
        self.failed.take().into_iter().chain(live).min_by_key(|failed| failed.failure.now)
    }

    /// A card that would have had to hold more packets than there may be: whose, since when, and
    /// how many wait there.
    pub(crate) fn overfull(&self) -> Option<(HostId, Time, usize)> {
        self.overfull.map(|(host, since)| (host, since, self.cards[host].waiting_packets()))
    }

    /// A packet that exists waits at the card of `host`.
    #[inline]
    fn enqueue(&mut self, host: HostId, flow: FlowHandle, is_ack: bool, packet: PacketId) {
        let card = &mut self.cards[host];
        match &mut card.turns {
            Some(turns) => self.flow_queues.push(turns, QueueKey { flow, is_ack }, packet),
            None => card.queue.push_back(packet),
        }
    }

    /// Takes the first packet that waits at the card of an idle link.
    #[inline]
    fn dequeue(&mut self, host: HostId) -> Option<PacketId> {
        let card = &mut self.cards[host];
        match &mut card.turns {
            Some(turns) => self.flow_queues.pop(turns, |_| false),
            None => card.queue.pop_front(),
        }
    }

    /// The same, of the priorities that are not paused.
    fn dequeue_unpaused(&mut self, uplink: &Uplink<'_>) -> Option<PacketId> {
        let card = &mut self.cards[uplink.host()];
        let paused = card.paused;
        let is_held = |id: PacketId| paused >> uplink.packet(id).priority & 1 != 0;
        match &mut card.turns {
            Some(turns) => self.flow_queues.pop(turns, is_held),
            None => {
                let position = card.queue.iter().position(|&id| !is_held(id))?;
                card.queue.remove(position)
            }
        }
    }

    /// Whether this flow's packets come into being when the card takes them, whatever the order at
    /// the card: a queue pair has no window that could wait in a queue as a whole.
    #[inline]
    fn is_queue_pair(&self, slot: FlowSlot) -> bool {
        matches!(self.flows.senders[slot].sender, FlowSender::Rdma(_))
    }
}
