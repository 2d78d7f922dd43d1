//! A host's NIC: the order in which its flows and ACKs are sent.

use super::flow::Flows;
use super::flow_queues::TurnOrder;
use crate::ids::{FlowSlot, PacketId};
use std::collections::VecDeque;

/// Queues of a host's uplink. The queues have unlimited memory, as in the artifacts of the papers,
/// in which hosts drop no packet.
#[derive(Clone, Debug)]
pub(crate) struct Card {
    /// Packets that wait in first-in, first-out order: ACKs and handshakes, and with FIFO queueing
    /// also data.
    pub(crate) queue: VecDeque<PacketId>,
    /// First flow in the turn order of flows that can send. The NIC creates each packet of these
    /// flows at the time of sending, so a large window takes no memory.
    head: FlowSlot,
    tail: FlowSlot,
    /// Bits of the NIC: bit p forbids packets of priority p (PFC), and bit [`Self::SHARED`] marks a
    /// NIC with the field `shared`. All bits are usually zero.
    pub(crate) paused: u64,
    /// Turn order of the NIC's flow queues, if the NIC has a queue per flow instead of `queue`.
    pub(super) turns: Option<Box<TurnOrder>>,
    /// State of a NIC that RDMA queue pairs share with TCP.
    pub(crate) shared: Option<Box<SharedCard>>,
    /// Flows whose turn came while their priority was paused. These parked flows still count as
    /// ready.
    parked: Vec<FlowSlot>,
    /// Whether the first flow in turn is in the middle of a burst, which must not be interrupted.
    pub(crate) in_burst: bool,
}

/// State of a NIC that RDMA queue pairs share with a queue of TCP's packets.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedCard {
    /// ACKs of queue pairs, which the NIC sends before all other packets.
    pub(crate) express: VecDeque<PacketId>,
    /// Whether the queue of TCP had the previous turn.
    pub(crate) queue_had_turn: bool,
}

impl Card {
    /// Bit of `paused` that marks a shared NIC, so that the common case needs only one check.
    const SHARED: u64 = 1 << 63;

    /// Lets RDMA queue pairs share the NIC with a queue of TCP's packets from now on.
    pub(crate) fn share(&mut self) {
        self.paused |= Self::SHARED;
        self.shared = Some(Box::default());
    }

    /// First flow in the turn order of flows that can send. The id is invalid if there is no flow.
    #[inline]
    pub(super) fn first_in_turn(&self) -> FlowSlot {
        self.head
    }

    /// Number of packets that wait at the NIC.
    pub(crate) fn waiting_packets(&self) -> usize {
        self.queue.len()
            + self.turns.as_ref().map_or(0, |turns| turns.waiting)
            + self.shared.as_ref().map_or(0, |shared| shared.express.len())
    }

    pub(crate) fn new() -> Self {
        Self {
            queue: VecDeque::new(),
            head: FlowSlot::NONE,
            tail: FlowSlot::NONE,
            paused: 0,
            turns: None,
            shared: None,
            parked: Vec::new(),
            in_burst: false,
        }
    }

    /// Puts a flow at the end of the turn order, unless the flow is already in the order.
    #[inline]
    pub(crate) fn make_ready(&mut self, flows: &mut Flows, slot: FlowSlot) {
        let flow = &mut flows.senders[slot];
        if flow.is_ready {
            return;
        }
        flow.is_ready = true;
        flow.next_ready = FlowSlot::NONE;
        if self.tail == FlowSlot::NONE {
            self.head = slot;
        } else {
            flows.senders[self.tail].next_ready = slot;
        }
        self.tail = slot;
    }

    /// Keeps a flow at the head of the turn order, because its burst continues.
    #[cold]
    pub(crate) fn keep_turn(&mut self, flows: &mut Flows, slot: FlowSlot) {
        let flow = &mut flows.senders[slot];
        debug_assert!(!flow.is_ready, "its turn has just been taken");
        flow.is_ready = true;
        flow.next_ready = self.head;
        if self.tail == FlowSlot::NONE {
            self.tail = slot;
        }
        self.head = slot;
        self.in_burst = true;
    }

    /// Removes the next flow from the turn order and returns the flow's slot.
    #[inline]
    pub(crate) fn next_ready(&mut self, flows: &mut Flows) -> Option<FlowSlot> {
        if self.head == FlowSlot::NONE {
            return None;
        }
        let slot = self.head;
        self.in_burst = false;
        let flow = &mut flows.senders[slot];
        flow.is_ready = false;
        self.head = flow.next_ready;
        if self.head == FlowSlot::NONE {
            self.tail = FlowSlot::NONE;
        }
        Some(slot)
    }

    /// Whether a pause forbids the NIC to send `priority`.
    #[inline]
    pub(crate) fn is_paused(&self, priority: u8) -> bool {
        self.paused >> priority & 1 != 0
    }

    /// Forbids the NIC to send packets of `priority`.
    pub(crate) fn pause(&mut self, priority: u8) {
        self.paused |= 1 << priority;
        self.in_burst = false;
    }

    /// Ends the pause of `priority`. Parked flows go to the end of the turn order.
    pub(crate) fn resume(&mut self, priority: u8, flows: &mut Flows) {
        self.paused &= !(1 << priority);
        for slot in std::mem::take(&mut self.parked) {
            flows.senders[slot].is_ready = false;
            self.make_ready(flows, slot);
        }
    }

    /// Parks the flow that is next in turn, because its priority is paused.
    pub(crate) fn park(&mut self, slot: FlowSlot, flows: &mut Flows) {
        flows.senders[slot].is_ready = true;
        self.parked.push(slot);
    }

    /// Whether an ACK that arrives now would be the next packet of the NIC.
    #[inline]
    pub(super) fn sends_ack_next(&self) -> bool {
        self.queue.is_empty() && self.paused == 0 && !self.in_burst && self.turns.is_none()
    }

    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        !self.queue.is_empty()
            || self.head != FlowSlot::NONE
            || self.turns.as_ref().is_some_and(|turns| turns.waiting > 0)
            || self.paused != 0 && self.waiting_packets() > 0
    }
}
