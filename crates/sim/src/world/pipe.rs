//! The packets on a link, first in, first out.
//!
//! A ring of which the size is a power of two and both counts are short: every packet-hop passes here twice, and a general queue takes half as many
//! instructions again.

use crate::ids::PacketId;
use bufferlab_units::Time;

/// Packets with the times at which they arrive.
#[derive(Debug, Default)]
pub(crate) struct Pipe {
    /// As many as a power of two, or none.
    slots: Box<[Slot]>,
    /// The slot of the first packet is this modulo their number.
    head: u32,
    len: u32,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    arrival: Time,
    packet: PacketId,
}

impl Pipe {
    /// How many packets are in it.
    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Where the packet with this number from the beginning of the ring lies. Without slots: beyond them.
    #[inline(always)]
    fn place(&self, number: u32) -> usize {
        number as usize & self.slots.len().wrapping_sub(1)
    }

    /// Adds a packet that arrives at `arrival`; true if it is the only one.
    #[inline(always)] // Into the places where packets are sent.
    pub(crate) fn push_back(&mut self, arrival: Time, packet: PacketId) -> bool {
        if self.len() == self.slots.len() {
            self.grow();
        }
        let place = self.place(self.head.wrapping_add(self.len));
        self.slots[place] = Slot { arrival, packet };
        self.len += 1;
        self.len == 1
    }

    /// Takes the first packet.
    #[inline(always)] // Into the place where packets are delivered.
    pub(crate) fn pop_front(&mut self) -> Option<PacketId> {
        if self.len == 0 {
            return None;
        }
        let packet = self.slots[self.place(self.head)].packet;
        self.head = self.head.wrapping_add(1);
        self.len -= 1;
        Some(packet)
    }

    /// When the first packet arrives.
    #[inline(always)] // As above.
    pub(crate) fn next_arrival(&self) -> Option<Time> {
        if self.len == 0 { None } else { Some(self.slots[self.place(self.head)].arrival) }
    }

    /// Takes the last packet.
    pub(crate) fn pop_back(&mut self) -> Option<PacketId> {
        self.len = self.len.checked_sub(1)?;
        let place = self.place(self.head.wrapping_add(self.len));
        self.slots.get(place).map(|slot| slot.packet)
    }

    /// Doubles the slots. The packets stand in order from the first slot on then.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let (len, first) = (self.slots.len(), self.place(self.head));
        let filler = Slot { arrival: Time::ZERO, packet: PacketId(0) };
        let in_order = (0..len).map(|index| self.slots[(first + index) % len]);
        let more = std::iter::repeat_n(filler, len.max(4));
        self.slots = in_order.chain(more).collect();
        self.head = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bufferlab_units::RandomStream;
    use std::collections::VecDeque;

    #[test]
    fn a_pipe_does_what_a_queue_of_the_standard_library_does() {
        let mut stream = RandomStream::new(9, "pipe", 0);
        let (mut pipe, mut queue) = (Pipe::default(), VecDeque::new());
        // Close to where the count of taken packets begins anew.
        pipe.head = u32::MAX - 500;
        let mut longest = 0;
        for number in 0..20_000_u32 {
            // Phases in which it fills and empties.
            let fills = (number / 2_000) % 2 == 0;
            match stream.below(10) {
                0 => assert_eq!(pipe.pop_back(), queue.pop_back().map(|(_, packet)| packet)),
                step if (step < 7) == fills => {
                    let alone = pipe.push_back(Time(u64::from(number)), PacketId(number));
                    queue.push_back((Time(u64::from(number)), PacketId(number)));
                    assert_eq!(alone, queue.len() == 1);
                }
                _ => {
                    assert_eq!(pipe.pop_front(), queue.pop_front().map(|(_, packet)| packet));
                }
            }
            assert_eq!(pipe.next_arrival(), queue.front().map(|&(arrival, _)| arrival));
            assert_eq!((pipe.len(), pipe.is_empty()), (queue.len(), queue.is_empty()));
            longest = longest.max(pipe.len());
        }
        assert!(longest > 300, "it grew several times: {longest}");
    }
}
