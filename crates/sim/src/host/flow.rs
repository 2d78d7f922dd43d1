//! Live flows: their senders, receivers and records, in three parallel tables.
//!
//! A slot is reused when its flow has ended. A flow ends when its sender is done, the network has
//! no packet of the flow, and the flow is in no turn order. The slot becomes free only when the
//! current interval is over. See [`Slots`].

use super::slots::Slots;
use super::transport::{Control, Transport};
use crate::ids::{FlowHandle, FlowSlot, HostId, Id, PoolId, Table, TransportId};
use bufferlab_transport::rdma::{QueuePair, Responder};
use bufferlab_transport::{
    ControlFailure, PacedSender, Receiver, Segment, Sender, SenderCounters, Spacing, TcpConfig,
};
use bufferlab_units::{RandomStream, Time};
use bufferlab_workload::FlowSpec;

/// Sender of a flow. The type is an enum, so that the hot path branches instead of calling through
/// a pointer.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "TCP is the common case, and a slot is reused for either")]
pub(crate) enum FlowSender {
    Tcp(Sender),
    Rdma(QueuePair),
    Paced(PacedSender),
}

impl FlowSender {
    /// Whether the sender can send a segment now (see [`Self::poll_transmit`]).
    #[inline(always)] // Called for every packet and every ACK.
    pub(crate) fn wants_to_send(&self, config: &TcpConfig, now: Time) -> bool {
        match self {
            Self::Tcp(sender) => sender.wants_to_send(config, now),
            Self::Rdma(sender) => sender.wants_to_send(config, now),
            Self::Paced(sender) => sender.wants_to_send(now),
        }
    }

    #[inline]
    pub(crate) fn poll_transmit(&mut self, config: &TcpConfig, now: Time) -> Option<Segment> {
        match self {
            Self::Tcp(sender) => sender.poll_transmit(config, now),
            Self::Rdma(sender) => sender.poll_transmit(config, now),
            Self::Paced(sender) => sender.poll_transmit(now),
        }
    }

    /// Time at which the sender needs its timer. A paced segment that is already due needs no
    /// timer, because its flow is in the NIC's turn order.
    #[inline]
    pub(crate) fn deadline(&self, now: Time) -> Time {
        match self {
            Self::Tcp(sender) => sender.deadline(),
            Self::Rdma(sender) => sender.deadline(),
            Self::Paced(sender) if sender.wants_to_send(now) => Time::MAX,
            Self::Paced(sender) => sender.deadline(),
        }
    }

    /// Time at which a window-based sender that waits for its pace must continue.
    /// [`Time::MAX`] for all other senders.
    #[inline]
    pub(crate) fn wake_at(&self, config: &TcpConfig, now: Time) -> Time {
        match self {
            Self::Tcp(sender) => sender.wake_at(config, now),
            Self::Rdma(sender) => sender.wake_at(config, now),
            Self::Paced(_) => Time::MAX,
        }
    }

    #[inline]
    pub(crate) fn is_done(&self) -> bool {
        match self {
            Self::Tcp(sender) => sender.is_done(),
            Self::Rdma(sender) => sender.is_done(),
            Self::Paced(sender) => sender.is_done(),
        }
    }

    /// Sender of the TCP connection, if the flow is a TCP connection.
    pub(crate) fn tcp(&mut self) -> Option<&mut Sender> {
        match self {
            Self::Tcp(sender) => Some(sender),
            Self::Rdma(_) | Self::Paced(_) => None,
        }
    }

    /// Removes and returns the failure of the flow's congestion control.
    pub(crate) fn take_failure(&mut self) -> Option<ControlFailure> {
        match self {
            Self::Tcp(sender) => sender.take_failure(),
            Self::Rdma(sender) => sender.take_failure(),
            Self::Paced(_) => None,
        }
    }

    /// Whether the sender is in the middle of a burst ([`Sender::in_burst`]).
    #[inline]
    pub(crate) fn in_burst(&self) -> bool {
        match self {
            Self::Tcp(sender) => sender.in_burst(),
            Self::Rdma(_) | Self::Paced(_) => false,
        }
    }

    #[inline]
    pub(crate) fn counters(&self) -> SenderCounters {
        match self {
            Self::Tcp(sender) => sender.counters(),
            Self::Rdma(sender) => sender.counters(),
            Self::Paced(sender) => sender.counters(),
        }
    }
}

/// Receiver of a flow.
#[derive(Clone, Debug)]
pub(crate) enum FlowReceiver {
    Tcp(Receiver),
    /// Responder of a queue pair. The responder is boxed so that a TCP receiver stays small.
    Rdma(Box<Responder>),
    /// Receiver of an open-loop flow, which counts arrivals and sends no acknowledgements. A paced
    /// flow sends every segment once, so the flow is complete when no segment is missing.
    Counting {
        missing: u32,
    },
}

/// State that the sending host reads or writes for every packet.
#[derive(Clone, Debug)]
pub(crate) struct SenderSlot {
    pub(crate) sender: FlowSender,
    /// Time of the timer heap's entry for the sender's timer.
    pub(crate) armed: Time,
    /// Time of the timer heap's entry for the flow's pacing.
    pub(crate) pace_armed: Time,
    pub(crate) handle: FlowHandle,
    /// Next flow in the turn order of the host's NIC.
    pub(crate) next_ready: FlowSlot,
    pub(crate) is_ready: bool,
    pub(crate) transport: TransportId,
    /// Priority of the flow's first data packets.
    pub(crate) priority: u8,
    pub(crate) explicit_path: bool,
    pub(crate) src: HostId,
    pub(crate) dst: HostId,
    /// Payload of the flow's last segment (bytes).
    pub(crate) last_payload: u32,
    pub(crate) total: u32,
    pub(crate) path: u32,
    /// Number of live packets of the flow, in both directions.
    pub(crate) in_network: u32,
}

/// State that the receiving host reads or writes for every packet.
#[derive(Clone, Debug)]
pub(crate) struct ReceiverSlot {
    pub(crate) receiver: FlowReceiver,
    pub(crate) armed: Time,
    pub(crate) marked_packets: u64,
    /// Time at which the last byte was delivered, or acknowledged if a message ends at its sender.
    /// [`Time::MAX`] before that time.
    pub(crate) completed: Time,
    pub(crate) src: HostId,
    pub(crate) dst: HostId,
    pub(crate) transport: TransportId,
    pub(crate) explicit_path: bool,
    pub(crate) path: u32,
}

impl SenderSlot {
    /// Whether the timer heap has no entry yet at or before the sender's deadline or pace.
    #[inline]
    pub(super) fn needs_timer(&self, config: &TcpConfig, now: Time) -> bool {
        self.sender.wake_at(config, now) < self.pace_armed || self.sender.deadline(now) < self.armed
    }

    /// Whether the sender needs a timer ([`Self::needs_timer`]) besides the timers that it needs
    /// when it sends a packet. True for all senders without a TCP window.
    #[inline]
    pub(super) fn may_need_timer(&self, config: &TcpConfig, now: Time) -> bool {
        !matches!(self.sender, FlowSender::Tcp(_)) || self.needs_timer(config, now)
    }

    /// Content of a slot that no flow has used.
    fn placeholder(&self) -> Self {
        let stream = RandomStream::new(0, "", 0);
        let sender = PacedSender::new(Time::ZERO, Time::ZERO, Spacing::Constant, 1, stream);
        Self { sender: FlowSender::Paced(sender), ..*self }
    }
}

impl ReceiverSlot {
    /// Content of a slot that no flow has used.
    fn placeholder(&self) -> Self {
        Self { receiver: FlowReceiver::Counting { missing: 0 }, ..*self }
    }

    /// Completion time of the flow, if it is complete.
    pub(crate) fn completed(&self) -> Option<Time> {
        (self.completed < Time::MAX).then_some(self.completed)
    }

    /// Limits the flow to `total` segments. Returns whether the flow is then complete.
    pub(crate) fn close(&mut self, total: u32) -> bool {
        match &mut self.receiver {
            FlowReceiver::Tcp(receiver) => {
                receiver.close(total);
                receiver.is_complete() && self.completed == Time::MAX
            }
            FlowReceiver::Rdma(_) | FlowReceiver::Counting { .. } => false,
        }
    }
}

/// Data of a flow that are needed at the end of the flow.
#[derive(Clone, Debug)]
pub(crate) struct FlowInfo {
    pub(crate) spec: FlowSpec,
    pub(crate) number: u64,
    pub(crate) dropped_packets: u32,
    /// Connection pool of the flow (`connections.rs`).
    pub(crate) pool: PoolId,
}

impl FlowInfo {
    /// Whether the flow sends until the arrival phase ends.
    pub(crate) fn is_unlimited(&self) -> bool {
        self.spec.size == FlowSpec::UNLIMITED
    }
}

/// Tables of all live flows: senders, receivers and records.
#[derive(Clone, Debug)]
pub(crate) struct Flows {
    pub(crate) senders: Table<FlowSlot, SenderSlot>,
    pub(crate) receivers: Table<FlowSlot, ReceiverSlot>,
    pub(crate) infos: Table<FlowSlot, Option<FlowInfo>>,
    slots: Slots,
    generations: Table<FlowSlot, u32>,
    started: u64,
    peak: usize,
    /// Start times of flows since the last known end of a flow. The table stores start times only
    /// in a network with several shards, which learn the ends of flows late.
    starts: Option<Vec<Time>>,
}

impl Flows {
    pub(super) fn new(slots: Slots) -> Self {
        Self {
            senders: Table::default(),
            receivers: Table::default(),
            infos: Table::default(),
            slots,
            generations: Table::default(),
            started: 0,
            peak: 0,
            starts: None,
        }
    }

    /// Whether every host has its own slots for the flows that it sends.
    pub(super) fn has_slots_by_host(&self) -> bool {
        matches!(self.slots, Slots::ByHost(_))
    }

    /// Number of live flows.
    pub(crate) fn live(&self) -> usize {
        self.slots.used(self.senders.len())
    }

    /// Largest number of flows that were alive at once.
    pub(crate) fn peak(&self) -> usize {
        self.peak
    }

    /// Number of flows that the run has started so far.
    pub(crate) fn started(&self) -> u64 {
        self.started
    }

    /// Takes a slot for a flow that starts now. `None` if all [`FlowSlot::COUNT`] slots are in use.
    pub(crate) fn insert(
        &mut self,
        now: Time,
        spec: FlowSpec,
        pool: PoolId,
        make: impl FnOnce(FlowHandle) -> (SenderSlot, ReceiverSlot),
    ) -> Option<FlowSlot> {
        let free = self.slots.take(now, HostId::new(spec.src));
        if free.map_or(self.infos.len(), Id::index) >= FlowSlot::COUNT {
            return None;
        }
        let info = FlowInfo { spec, number: self.started, dropped_packets: 0, pool };
        self.started += 1;
        let slot = free.unwrap_or_else(|| FlowSlot::from_index(self.infos.len()));
        self.fill(slot, info, make);
        match &mut self.starts {
            Some(starts) => starts.push(now),
            None => self.peak = self.peak.max(self.live()),
        }
        Some(slot)
    }

    /// Puts a flow into its slot, which is free.
    fn fill(
        &mut self,
        slot: FlowSlot,
        info: FlowInfo,
        make: impl FnOnce(FlowHandle) -> (SenderSlot, ReceiverSlot),
    ) {
        if slot.index() < self.infos.len() {
            // A slot that no flow has used has generation `u32::MAX`.
            self.generations[slot] = self.generations[slot].wrapping_add(1);
            let handle = FlowHandle::new(slot, self.generations[slot]);
            (self.senders[slot], self.receivers[slot]) = make(handle);
            self.infos[slot] = Some(info);
            return;
        }
        let (sender, receiver) = make(FlowHandle::new(slot, 0));
        while self.infos.len() < slot.index() {
            self.senders.push(sender.placeholder());
            self.receivers.push(receiver.placeholder());
            self.infos.push(None);
            self.generations.push(u32::MAX);
        }
        self.senders.push(sender);
        self.receivers.push(receiver);
        self.infos.push(Some(info));
        self.generations.push(0);
    }

    /// Adds a flow that starts in another shard, which has chosen the flow's slot.
    pub(super) fn insert_remote(
        &mut self,
        slot: FlowSlot,
        spec: FlowSpec,
        pool: PoolId,
        make: impl FnOnce(FlowHandle) -> (SenderSlot, ReceiverSlot),
    ) {
        if let Some(starts) = &mut self.starts {
            starts.push(spec.start);
        }
        self.slots.note_taken();
        self.fill(slot, FlowInfo { spec, number: u64::MAX, dropped_packets: 0, pool }, make);
    }

    /// Numbers a flow, after all flows with lower numbers.
    pub(super) fn number(&mut self, slot: FlowSlot) -> u64 {
        let number = self.started;
        self.started += 1;
        self.info_mut(slot).number = number;
        number
    }

    /// Revokes the number of the flow that has just started. The shards number the flow later.
    pub(super) fn revoke_number(&mut self) {
        self.started -= 1;
    }

    /// Keeps the start times of flows, so that [`Self::note_peak`] can later count the largest
    /// number of live flows.
    pub(super) fn keep_starts(&mut self) {
        self.starts = Some(Vec::new());
    }

    /// Updates the largest number of live flows. `ends` has the times of all ends of flows since
    /// the previous call. At one instant the function counts ends before starts.
    pub(super) fn note_peak(&mut self, ends: &mut [Time]) {
        let Some(starts) = &mut self.starts else { return };
        // Shards learn the starts of scheduled flows late.
        starts.sort_unstable();
        ends.sort_unstable();
        let now = self.slots.used(self.senders.len());
        let before = now + ends.len() - starts.len();
        for (index, start) in starts.iter().enumerate() {
            let alive = before + index + 1 - ends.partition_point(|end| end <= start);
            self.peak = self.peak.max(alive);
        }
        starts.clear();
    }

    /// Whether the slot contains a live flow. A timer may expire after the end of its flow.
    pub(crate) fn is_live(&self, slot: FlowSlot) -> bool {
        self.infos[slot].is_some()
    }

    /// Information on a live flow, which has a packet, a turn at a NIC, or an unfinished transfer.
    pub(crate) fn info(&self, slot: FlowSlot) -> &FlowInfo {
        self.infos[slot].as_ref().expect("a flow is alive as long as anything is left of it")
    }

    /// Mutable information on a flow that has not ended.
    pub(crate) fn info_mut(&mut self, slot: FlowSlot) -> &mut FlowInfo {
        self.infos[slot].as_mut().expect("a flow is alive as long as anything is left of it")
    }

    /// Removes a flow from the tables and frees its slot.
    pub(crate) fn remove(&mut self, slot: FlowSlot, now: Time) -> FlowInfo {
        self.slots.leave(now, slot, self.senders[slot].src);
        self.infos[slot].take().expect("a flow ends once")
    }

    /// Slots of all live flows, in the order of the slots.
    pub(crate) fn live_slots(&self) -> impl Iterator<Item = FlowSlot> + '_ {
        self.infos.ids().filter(|&slot| self.infos[slot].is_some())
    }

    /// Number of segments of a live flow that have arrived.
    pub(super) fn delivered_segments(&self, slot: FlowSlot) -> u32 {
        match &self.receivers[slot].receiver {
            FlowReceiver::Tcp(receiver) => receiver.delivered(),
            FlowReceiver::Rdma(receiver) => receiver.delivered(),
            FlowReceiver::Counting { missing } => self.senders[slot].total - missing,
        }
    }

    /// Current account (bytes, packets and losses) of a live flow that uses this transport.
    pub(super) fn account(&self, slot: FlowSlot, transport: &Transport) -> FlowAccount {
        let (info, sender, receiver) = (self.info(slot), &self.senders[slot], &self.receivers[slot]);
        let sending = match transport.control {
            Control::Window(_) | Control::QueuePair(_) => None,
            Control::Pace { gap, .. } => Some(Time(gap.0 * u64::from(sender.total))),
        };
        let size = match (info.spec.size, &receiver.receiver) {
            // The flow is still sending, so the bytes that have arrived are its size.
            (FlowSpec::UNLIMITED, FlowReceiver::Tcp(receiver)) => {
                u64::from(receiver.delivered().max(1)) * u64::from(transport.segment)
            }
            (size, _) => size,
        };
        let segments = size.div_ceil(u64::from(transport.segment));
        FlowAccount {
            spec: info.spec.clone(),
            number: info.number,
            size_bytes: size,
            ideal_bytes: size + segments * u64::from(transport.ideal_header),
            sending,
            completed: receiver.completed(),
            is_lossy: sending.is_some() && sender.sender.is_done() && sender.in_network == 0,
            counters: sender.sender.counters(),
            marked_packets: receiver.marked_packets,
            dropped_packets: info.dropped_packets,
        }
    }
}

/// Account (bytes, packets and losses) of a flow at its end, or at the end of the run.
#[derive(Clone, Debug)]
pub(crate) struct FlowAccount {
    pub(crate) spec: FlowSpec,
    pub(crate) number: u64,
    /// Size of the payload (bytes). For a flow without a size: the bytes that have arrived.
    pub(crate) size_bytes: u64,
    /// Bytes that count for the flow's ideal completion time, the base of the slowdown.
    pub(crate) ideal_bytes: u64,
    /// Time for which an open-loop flow sends.
    pub(crate) sending: Option<Time>,
    pub(crate) completed: Option<Time>,
    /// Whether no further packet of an open-loop flow will arrive. An incomplete flow has then lost
    /// packets that no sender repeats.
    pub(crate) is_lossy: bool,
    pub(crate) counters: SenderCounters,
    pub(crate) marked_packets: u64,
    pub(crate) dropped_packets: u32,
}
