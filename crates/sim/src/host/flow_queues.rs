//! Separate queues for the flows at a NIC. The NIC serves the queues in turn, so a flow's window
//! delays only that flow.
//!
//! The NIC serves the queues in the order of FqCoDel (RFC 8290, section 4.1), with a quantum of one
//! packet and without FqCoDel's drops. A flow that begins to wait gets its first turn before all
//! other flows. After its first turn, a flow shares the turns with all other flows. A flow without
//! packets at the time of its next turn leaves the order. The ACKs of a flow are queued as a
//! separate flow.

use crate::ids::{FlowHandle, Id, PacketId};
use std::collections::VecDeque;

/// Key of a flow queue: the flow, and whether the queue contains the flow's ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QueueKey {
    pub(super) flow: FlowHandle,
    pub(super) is_ack: bool,
}

impl QueueKey {
    fn index(self) -> usize {
        2 * self.flow.slot().index() + usize::from(self.is_ack)
    }
}

/// Turn order of the flow queues of a NIC.
#[derive(Clone, Debug, Default)]
pub(super) struct TurnOrder {
    /// Flows that have begun to wait since their last turn.
    new: VecDeque<QueueKey>,
    old: VecDeque<QueueKey>,
    /// Number of packets in all flow queues of the NIC.
    pub(super) waiting: usize,
}

/// Packets of one flow queue, linked through [`FlowQueues::next`].
#[derive(Clone, Copy, Debug)]
struct Line {
    /// Flow of the queue. The field is needed because later flows reuse a slot.
    flow: FlowHandle,
    first: Option<PacketId>,
    last: Option<PacketId>,
    /// Whether the queue is in a NIC's turn order.
    is_listed: bool,
}

/// Flow queues of all NICs.
#[derive(Clone, Debug, Default)]
pub(super) struct FlowQueues {
    lines: Vec<Option<Line>>,
    /// For each packet, the next packet in its queue.
    next: Vec<Option<PacketId>>,
}

impl FlowQueues {
    /// Appends `packet` to the queue of its flow at a NIC.
    pub(super) fn push(&mut self, turns: &mut TurnOrder, key: QueueKey, packet: PacketId) {
        let (index, place) = (key.index(), packet.index());
        if index >= self.lines.len() {
            self.lines.resize(index + 1, None);
        }
        if place >= self.next.len() {
            self.next.resize(place + 1, None);
        }
        let line = match &mut self.lines[index] {
            Some(line) if line.flow == key.flow => line,
            entry => entry.insert(Line { flow: key.flow, first: None, last: None, is_listed: false }),
        };
        self.next[place] = None;
        match line.last.replace(packet) {
            Some(last) => self.next[last.index()] = Some(packet),
            None => line.first = Some(packet),
        }
        if !line.is_listed {
            line.is_listed = true;
            turns.new.push_back(key);
        }
        turns.waiting += 1;
    }

    /// Removes the next packet in the turn order whose priority is not paused, as `held` reports.
    pub(super) fn pop(&mut self, turns: &mut TurnOrder, held: impl Fn(PacketId) -> bool) -> Option<PacketId> {
        if turns.waiting == 0 {
            return None;
        }
        let packet = self.pop_from(turns, true, &held).or_else(|| self.pop_from(turns, false, &held))?;
        if turns.waiting == 0 {
            self.leave(turns);
        }
        Some(packet)
    }

    /// Empties the turn order of a NIC without packets.
    fn leave(&mut self, turns: &mut TurnOrder) {
        for key in turns.new.drain(..).chain(turns.old.drain(..)) {
            if let Some(line) = self.lines[key.index()].as_mut().filter(|line| line.flow == key.flow) {
                line.is_listed = false;
            }
        }
    }

    fn pop_from(
        &mut self,
        turns: &mut TurnOrder,
        from_new: bool,
        held: &impl Fn(PacketId) -> bool,
    ) -> Option<PacketId> {
        let mut position = 0;
        loop {
            let list = if from_new { &mut turns.new } else { &mut turns.old };
            let key = *list.get(position)?;
            let line = self.lines[key.index()].as_mut().filter(|line| line.flow == key.flow);
            let Some(line) = line else {
                // The flow of the queue has ended, so the queue leaves the turn order.
                list.remove(position);
                continue;
            };
            let Some(packet) = line.first else {
                list.remove(position);
                // The host must not treat a flow as new after its first turn.
                if from_new {
                    turns.old.push_back(key);
                } else {
                    line.is_listed = false;
                }
                continue;
            };
            if held(packet) {
                position += 1;
                continue;
            }
            list.remove(position);
            turns.old.push_back(key);
            line.first = self.next[packet.index()];
            if line.first.is_none() {
                line.last = None;
            }
            turns.waiting -= 1;
            return Some(packet);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::FlowSlot;

    fn key(slot: usize, generation: u32) -> QueueKey {
        QueueKey { flow: FlowHandle::new(FlowSlot::from_index(slot), generation), is_ack: false }
    }

    fn sent(queues: &mut FlowQueues, turns: &mut TurnOrder, count: usize) -> Vec<usize> {
        (0..count).map_while(|_| queues.pop(turns, |_| false)).map(Id::index).collect()
    }

    #[test]
    fn new_flows_come_first_once_and_then_all_take_turns() {
        let (mut queues, mut turns) = (FlowQueues::default(), TurnOrder::default());
        for packet in 0..6 {
            queues.push(&mut turns, key(0, 0), PacketId::from_index(packet));
        }
        assert_eq!(sent(&mut queues, &mut turns, 2), [0, 1]);
        // Flow 1 has two packets and finds four packets waiting.
        queues.push(&mut turns, key(1, 0), PacketId::from_index(10));
        queues.push(&mut turns, key(1, 0), PacketId::from_index(11));
        assert_eq!(turns.waiting, 6);
        assert_eq!(sent(&mut queues, &mut turns, 9), [10, 2, 11, 3, 4, 5]);
        assert_eq!(turns.waiting, 0);
    }

    #[test]
    fn what_is_held_is_passed_over_and_keeps_its_place() {
        let (mut queues, mut turns) = (FlowQueues::default(), TurnOrder::default());
        for (slot, packet) in [(0, 0), (0, 1), (1, 2), (1, 3)] {
            queues.push(&mut turns, key(slot, 0), PacketId::from_index(packet));
        }
        let held = |id: PacketId| id.index() < 2;
        assert_eq!(queues.pop(&mut turns, held).map(Id::index), Some(2));
        assert_eq!(queues.pop(&mut turns, held).map(Id::index), Some(3));
        assert_eq!(queues.pop(&mut turns, held), None);
        assert_eq!(sent(&mut queues, &mut turns, 3), [0, 1]);
    }

    #[test]
    fn the_next_flow_of_a_slot_is_new() {
        let (mut queues, mut turns) = (FlowQueues::default(), TurnOrder::default());
        queues.push(&mut turns, key(0, 0), PacketId::from_index(0));
        assert_eq!(sent(&mut queues, &mut turns, 1), [0]);
        let mut elsewhere = TurnOrder::default();
        queues.push(&mut elsewhere, key(0, 1), PacketId::from_index(1));
        assert_eq!(sent(&mut queues, &mut elsewhere, 1), [1]);
        assert_eq!(sent(&mut queues, &mut turns, 1), Vec::<usize>::new());
    }
}
