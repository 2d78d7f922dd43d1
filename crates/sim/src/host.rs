//! Hosts: their NICs, their flows with senders and receivers, and persistent connections.
//!
//! A host handles an event: a flow starts, a packet arrives, a timer expires, or the host's link is
//! idle. The host reaches only the state in this module and its [`Uplink`]. The host records all
//! other effects in [`Hosts::effects`]. The sender and the receiver of a flow share one slot,
//! because policies identify the flow by its slot.

pub(crate) mod card;
pub(crate) mod connections;
mod cross_shard;
mod endpoints;
pub(crate) mod flow;
mod flow_queues;
mod message;
mod rdma;
mod receive;
mod send;
pub(crate) mod slots;
mod streams;
pub(crate) mod transport;

pub(crate) use cross_shard::{FlowNote, FlowStart, Retired};
pub(crate) use flow::FlowAccount;

use crate::ids::{FlowHandle, FlowSlot, HostId, PacketId, Table, TransportId};
use crate::world::Uplink;
use bufferlab_scenario::NicQueueing;
use bufferlab_transport::ControlFailure;
use bufferlab_units::Time;
use bufferlab_workload::FlowSpec;
use card::Card;
use connections::Connections;
use cross_shard::RemoteFlows;
use flow::{FlowInfo, FlowSender, Flows};
use flow_queues::{FlowQueues, QueueKey};
use message::Pacing;
use slots::{FreeSlots, Slots};
use streams::HostStreams;
use transport::{Control, Transport};

/// Largest number of packets alive at once if NICs queue packets before sending. This number of
/// packets of usual size has some 6 GB of data and takes 0.2 GB of memory. No network of switches
/// stores as many packets, so nearly all packets wait at NICs. Without the limit, an unbounded
/// window would fill the memory.
pub(crate) const PACKETS_MAX: usize = 1 << 22;

/// All hosts of a network, with their flows and NICs.
#[derive(Clone, Debug)]
pub(crate) struct Hosts {
    cards: Table<HostId, Card>,
    flows: Flows,
    /// Settings of transport `t` of the scenario for hosts of kind `k`, at index `t * kinds + k`.
    transports: Table<TransportId, Transport>,
    /// Kind of every host. Hosts of one kind have links of one rate.
    host_kinds: Table<HostId, u8>,
    kinds: usize,
    /// Index of the transport of every flow class.
    class_transports: Vec<u32>,
    nic_queueing: NicQueueing,
    /// Separate queues for flows, which the NIC uses with [`NicQueueing::FlowQueues`].
    flow_queues: FlowQueues,
    streams: Table<HostId, HostStreams>,
    /// Whether every packet draws its path at random.
    spray: bool,
    pacing: Pacing,
    connections: Connections,
    /// First failed congestion control of a flow that is over.
    failed: Option<FailedFlow>,
    /// First host whose NIC would have exceeded [`PACKETS_MAX`], with the time of the excess.
    overfull: Option<(HostId, Time)>,
    /// State that the hosts of one shard keep for the other shards, if several threads run the
    /// network.
    remote: Option<Box<RemoteFlows>>,
    pub(crate) effects: Vec<Effect>,
}

/// A flow whose congestion control has failed.
#[derive(Clone, Debug)]
pub(crate) struct FailedFlow {
    pub(crate) control: &'static str,
    pub(crate) number: u64,
    pub(crate) spec: FlowSpec,
    pub(crate) failure: ControlFailure,
}

/// Effect of an event at a host on another part of the simulation.
#[derive(Clone, Debug)]
pub(crate) enum Effect {
    /// All bytes of a flow have arrived at its receiver.
    Arrived {
        /// Number of the query that the flow answers.
        query: u32,
        /// Number of the schedule node that the flow executes.
        node: u32,
    },
    /// The sender of a flow needs no more acknowledgement. The flow executes the schedule node with
    /// this number.
    Sent(u32),
    /// A flow is over, and its slot is free.
    Ended(FlowAccount),
}

/// Configuration from which the hosts are built.
#[derive(Debug)]
pub(crate) struct HostsConfig {
    pub(crate) seed: u64,
    /// Settings of all transports, indexed by transport id.
    pub(crate) transports: Table<TransportId, Transport>,
    /// Kind of every host, by host number.
    pub(crate) host_kinds: Table<HostId, u8>,
    /// Number of different kinds of hosts.
    pub(crate) kinds: usize,
    /// Names of the flow classes.
    pub(crate) classes: Vec<String>,
    /// Index of the transport of every flow class.
    pub(crate) class_transports: Vec<u32>,
    pub(crate) nic_queueing: NicQueueing,
    /// Whether every packet draws its path at random.
    pub(crate) spray: bool,
    /// Whether every host has its own slots for the flows that it sends.
    pub(crate) slots_by_host: bool,
}

impl Hosts {
    pub(crate) fn new(config: HostsConfig) -> Self {
        let HostsConfig { seed, transports, host_kinds, kinds, classes, class_transports, .. } = config;
        let mut cards: Table<HostId, _> = host_kinds.iter().map(|_| Card::new()).collect();
        // NICs that queue TCP's packets create each packet of a queue pair at the time of sending.
        let is_rdma = |transport: &Transport| matches!(transport.control, Control::QueuePair(_));
        if config.nic_queueing != NicQueueing::Fair && transports.iter().any(is_rdma) {
            cards.iter_mut().for_each(Card::share);
        }
        if config.nic_queueing == NicQueueing::FlowQueues {
            cards.iter_mut().for_each(|card| card.turns = Some(Box::default()));
        }
        let slots = match config.slots_by_host {
            true => Slots::by_host(cards.len()),
            false => Slots::Shared(FreeSlots::default()),
        };
        Self {
            streams: (0..).zip(host_kinds.iter()).map(|(host, _)| HostStreams::new(seed, host)).collect(),
            cards,
            flows: Flows::new(slots),
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
            remote: None,
            effects: Vec::new(),
        }
    }

    /// Read-only access to the tables of all live flows.
    pub(crate) fn flows(&self) -> &Flows {
        &self.flows
    }

    /// Record of the flow to which a live packet belongs.
    pub(crate) fn flow(&self, flow: FlowHandle) -> &FlowInfo {
        self.flows.info(flow.slot())
    }

    /// Bytes on the wire of a full segment of a flow.
    pub(crate) fn segment_wire_bytes(&self, slot: FlowSlot) -> u32 {
        let transport = &self.transports[self.flows.senders[slot].transport];
        transport.segment + transport.header_bytes
    }

    /// Host that sends a flow.
    #[inline]
    pub(crate) fn source(&self, slot: FlowSlot) -> HostId {
        self.flows.senders[slot].src
    }

    /// Host that receives a flow.
    #[inline]
    pub(crate) fn destination(&self, slot: FlowSlot) -> HostId {
        self.flows.receivers[slot].dst
    }

    /// Number of packets that wait at NICs.
    pub(crate) fn waiting_packets(&self) -> usize {
        self.cards.iter().map(Card::waiting_packets).sum()
    }

    /// Account of a flow (bytes, packets and losses) at the present time.
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

    /// Pauses packets of `priority` at the NIC of `host` (PFC).
    pub(crate) fn pause(&mut self, host: HostId, priority: u8) {
        self.cards[host].pause(priority);
    }

    /// Allows the NIC of `host` to send packets of `priority` again.
    pub(crate) fn resume(&mut self, host: HostId, priority: u8) {
        self.cards[host].resume(priority, &mut self.flows);
    }

    /// Handles a packet that the network has lost.
    /// `uplink` is the uplink of the host that sends the packet's flow.
    pub(crate) fn handle_loss(&mut self, uplink: &mut Uplink<'_>, id: PacketId) {
        let slot = uplink.packet(id).flow().slot();
        uplink.remove(id);
        if self.is_counted_elsewhere(slot) {
            return self.note_packets(uplink.now(), slot, -1, 1);
        }
        self.flows.info_mut(slot).dropped_packets += 1;
        self.leave_network(uplink, slot);
    }

    /// Counts a packet of the flow as gone from the network.
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

    /// Counts a packet that the flow's receiver has created.
    fn enter_network(&mut self, uplink: &Uplink<'_>, slot: FlowSlot) {
        if self.is_counted_elsewhere(slot) {
            return self.note_packets(uplink.now(), slot, 1, 0);
        }
        self.flows.senders[slot].in_network += 1;
    }

    /// Ends the flow if its sender is done and neither a packet nor the turn order of its host
    /// refers to the flow's slot. The turn order is a linked list of slots.
    fn retire_if_done(&mut self, uplink: &mut Uplink<'_>, slot: FlowSlot) {
        if self.defer_end(uplink.now(), slot) {
            return;
        }
        let flow = &self.flows.senders[slot];
        if flow.sender.is_done() && flow.in_network == 0 && !flow.is_ready {
            self.retire(uplink, slot);
        }
    }

    /// Frees the connection of a TCP sender that knows of the arrival of all data.
    /// Retransmissions still in the network do not matter to the connection, and the source
    /// cannot know of these packets.
    #[inline]
    fn end_sending(&mut self, uplink: &mut Uplink<'_>, slot: FlowSlot) {
        self.note_sent(slot);
        if self.transports[self.flows.senders[slot].transport].persistent.is_some() {
            if let Some(failed) = self.failure_of(slot) {
                self.failed.get_or_insert(failed);
            }
            self.leave_connection(uplink, slot);
        }
    }

    /// Reports that the flow's sender is done, if a schedule waits for this event.
    pub(super) fn note_sent(&mut self, slot: FlowSlot) {
        let node = self.flows.info(slot).spec.node;
        if node != FlowSpec::NO_NODE {
            self.effects.push(Effect::Sent(node));
        }
    }

    /// Ends a flow and frees its slot.
    fn retire(&mut self, uplink: &mut Uplink<'_>, slot: FlowSlot) {
        let account = self.account(slot);
        if let Some(failed) = self.failure_of(slot) {
            self.failed.get_or_insert(failed);
        }
        self.flows.remove(slot, uplink.now());
        self.effects.push(Effect::Ended(account));
    }

    /// Whether every host has its own slots for the flows that it sends.
    pub(crate) fn has_slots_by_host(&self) -> bool {
        self.flows.has_slots_by_host()
    }

    /// Whether a transport sends packets at a pace, without acknowledgements.
    pub(crate) fn have_paced_flows(&self) -> bool {
        self.transports.iter().any(|transport| matches!(transport.control, Control::Pace { .. }))
    }

    /// Number and description of the flow with this handle. `None` if the flow has ended.
    pub(crate) fn flow_of(&self, flow: FlowHandle) -> Option<(u64, &FlowSpec)> {
        let is_it = |slot: &FlowSlot| self.flows.senders[*slot].handle == flow;
        let slot = self.flows.live_slots().find(is_it)?;
        let info = self.flows.info(slot);
        Some((info.number, &info.spec))
    }

    /// Removes and returns the failure of a live flow's congestion control.
    fn failure_of(&mut self, slot: FlowSlot) -> Option<FailedFlow> {
        let flow = &mut self.flows.senders[slot];
        let failure = flow.sender.take_failure()?;
        let control = self.transports[flow.transport].control.name();
        let info = self.flows.info(slot);
        Some(FailedFlow { control, number: info.number, spec: info.spec.clone(), failure })
    }

    /// Earliest failure of a congestion control, among all flows, ended or alive.
    pub(crate) fn take_failure(&mut self) -> Option<FailedFlow> {
        let slots: Vec<_> = self.flows.live_slots().collect();
        let live = slots.into_iter().filter_map(|slot| self.failure_of(slot)).collect::<Vec<_>>();
        self.failed.take().into_iter().chain(live).min_by_key(|failed| failed.failure.now)
    }

    /// NIC that would have exceeded the limit of packets: its host, the time, and the number of
    /// packets that wait at the NIC.
    pub(crate) fn overfull(&self) -> Option<(HostId, Time, usize)> {
        self.overfull.map(|(host, since)| (host, since, self.cards[host].waiting_packets()))
    }

    /// Appends a live packet to the queue of the NIC of `host`.
    #[inline]
    fn enqueue(&mut self, host: HostId, flow: FlowHandle, is_ack: bool, packet: PacketId) {
        let card = &mut self.cards[host];
        match &mut card.turns {
            Some(turns) => self.flow_queues.push(turns, QueueKey { flow, is_ack }, packet),
            None => card.queue.push_back(packet),
        }
    }

    /// Takes the first packet that waits at the NIC of an idle link.
    #[inline]
    fn dequeue(&mut self, host: HostId) -> Option<PacketId> {
        let card = &mut self.cards[host];
        match &mut card.turns {
            Some(turns) => self.flow_queues.pop(turns, |_| false),
            None => card.queue.pop_front(),
        }
    }

    /// Takes the first waiting packet of the NIC in a priority that is not paused.
    fn dequeue_unpaused(&mut self, uplink: &Uplink<'_>) -> Option<PacketId> {
        let card = &mut self.cards[uplink.host()];
        let paused = card.paused;
        let is_held = |id: PacketId| paused >> uplink.packet(id).header.priority & 1 != 0;
        match &mut card.turns {
            Some(turns) => self.flow_queues.pop(turns, is_held),
            None => {
                let position = card.queue.iter().position(|&id| !is_held(id))?;
                card.queue.remove(position)
            }
        }
    }

    /// Whether the flow is a queue pair. A NIC creates each packet of a queue pair at the time of
    /// sending. A queue pair has no window that a NIC could queue as a whole.
    #[inline]
    fn is_queue_pair(&self, slot: FlowSlot) -> bool {
        matches!(self.flows.senders[slot].sender, FlowSender::Rdma(_))
    }
}
