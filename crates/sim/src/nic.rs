//! A host's network card: in which order its flows and its ACKs are sent.

use crate::flow::{Flows, NO_SLOT, Slot};
use crate::packet::PacketId;
use std::collections::VecDeque;

/// The queues of a host's uplink. Memory is unlimited, as in the artifacts: no host drops were ever seen there.
#[derive(Debug)]
pub(crate) struct Nic {
    /// Packets that exist already: ACKs and handshakes; with FIFO queueing, data too.
    pub(crate) queue: VecDeque<PacketId>,
    /// ACKs of queue pairs, before everything else; only where the card is shared.
    pub(crate) express: VecDeque<PacketId>,
    /// Queue pairs share the card with a queue of TCP's packets.
    pub(crate) is_shared: bool,
    /// Where it is shared: whether it was the queue's turn.
    pub(crate) queue_is_next: bool,
    /// Flows with something to send, in turn order. Their packets come into being when they are sent, so a large window
    /// costs no memory.
    head: Slot,
    tail: Slot,
    /// Bit p: priority p must not send (PFC).
    pub(crate) paused: u32,
    /// Flows whose turn came while their priority was paused. They still count as ready.
    parked: Vec<Slot>,
    /// The flow at the head is in the middle of a burst, which nothing interrupts.
    pub(crate) in_burst: bool,
}

impl Nic {
    pub(crate) fn new() -> Self {
        Self {
            queue: VecDeque::new(),
            express: VecDeque::new(),
            is_shared: false,
            queue_is_next: false,
            head: NO_SLOT,
            tail: NO_SLOT,
            paused: 0,
            parked: Vec::new(),
            in_burst: false,
        }
    }

    /// Puts a flow at the end of the turn order, unless it is in it.
    #[inline]
    pub(crate) fn make_ready(&mut self, flows: &mut Flows, slot: Slot) {
        let flow = &mut flows.senders[slot as usize];
        if flow.is_ready {
            return;
        }
        flow.is_ready = true;
        flow.next_ready = NO_SLOT;
        if self.tail == NO_SLOT {
            self.head = slot;
        } else {
            flows.senders[self.tail as usize].next_ready = slot;
        }
        self.tail = slot;
    }

    /// The flow whose turn it was goes on with its burst.
    #[cold]
    pub(crate) fn keep_turn(&mut self, flows: &mut Flows, slot: Slot) {
        let flow = &mut flows.senders[slot as usize];
        debug_assert!(!flow.is_ready, "its turn has just been taken");
        flow.is_ready = true;
        flow.next_ready = self.head;
        if self.tail == NO_SLOT {
            self.tail = slot;
        }
        self.head = slot;
        self.in_burst = true;
    }

    /// Takes the flow whose turn it is out of the turn order.
    #[inline]
    pub(crate) fn next_ready(&mut self, flows: &mut Flows) -> Option<Slot> {
        if self.head == NO_SLOT {
            return None;
        }
        let slot = self.head;
        self.in_burst = false;
        let flow = &mut flows.senders[slot as usize];
        flow.is_ready = false;
        self.head = flow.next_ready;
        if self.head == NO_SLOT {
            self.tail = NO_SLOT;
        }
        Some(slot)
    }

    /// Packets of `priority` must wait.
    pub(crate) fn pause(&mut self, priority: u8) {
        self.paused |= 1 << priority;
        self.in_burst = false;
    }

    /// Packets of `priority` may go; flows that waited for it come last.
    pub(crate) fn resume(&mut self, priority: u8, flows: &mut Flows) {
        self.paused &= !(1 << priority);
        for slot in std::mem::take(&mut self.parked) {
            flows.senders[slot as usize].is_ready = false;
            self.make_ready(flows, slot);
        }
    }

    /// The priority of this flow, whose turn it is, is paused.
    pub(crate) fn park(&mut self, slot: Slot, flows: &mut Flows) {
        flows.senders[slot as usize].is_ready = true;
        self.parked.push(slot);
    }

    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        !self.queue.is_empty() || self.head != NO_SLOT || !self.express.is_empty()
    }
}
