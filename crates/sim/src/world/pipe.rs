//! Packets on a link in first-in, first-out order, as a list that links the slots of the packets.
//!
//! A separate ring buffer would need one more cache line at both ends of every link,
//! and in a large network every packet uses a different link.

use super::packet::Slab;
use crate::ids::PacketId;
use bufferlab_units::Time;

/// Invalid packet id, which an empty pipe has as its first and last packet.
const NONE: PacketId = PacketId(u32::MAX);

/// Packets in flight on a link, with their arrival times.
#[derive(Clone, Debug)]
pub(crate) struct Pipe {
    /// First packet of the pipe. [`NONE`] if the pipe is empty.
    first: PacketId,
    last: PacketId,
}

impl Default for Pipe {
    fn default() -> Self {
        Self { first: NONE, last: NONE }
    }
}

impl Pipe {
    pub(crate) fn is_empty(&self) -> bool {
        self.first == NONE
    }

    /// The first packet of the pipe. The id is invalid if the pipe is empty.
    #[inline]
    pub(crate) fn first(&self) -> PacketId {
        self.first
    }

    /// The last packet of the pipe. The id is invalid if no packet was ever in the pipe.
    #[inline]
    pub(crate) fn last(&self) -> PacketId {
        self.last
    }

    /// Adds a packet that arrives at `arrival`. Returns whether the packet is the only packet of
    /// the pipe.
    #[inline(always)] // Inlined where packets are sent.
    pub(crate) fn push_back(&mut self, packets: &mut Slab, arrival: Time, packet: PacketId) -> bool {
        let last = std::mem::replace(&mut self.last, packet);
        if self.first == NONE {
            self.first = packet;
            return true;
        }
        let slot = packets.slot(last);
        (slot.behind, slot.behind_arrives) = (packet, arrival);
        false
    }

    /// Removes and returns the first packet, with the arrival time of the next packet, if any.
    #[inline(always)] // Inlined where packets are delivered.
    pub(crate) fn pop_front(&mut self, packets: &mut Slab) -> Option<(PacketId, Option<Time>)> {
        let packet = self.first;
        if packet == NONE {
            return None;
        }
        if packet == self.last {
            self.first = NONE;
            return Some((packet, None));
        }
        let slot = packets.slot(packet);
        self.first = slot.behind;
        Some((packet, Some(slot.behind_arrives)))
    }

    /// All packets of the pipe from the first to the last.
    pub(crate) fn packets(&self, slab: &Slab) -> impl Iterator<Item = PacketId> {
        let first = Some(self.first).filter(|&first| first != NONE);
        std::iter::successors(first, |&packet| (packet != self.last).then(|| slab.behind(packet)))
    }

    /// Removes all packets except the first, and returns the removed packets in order.
    pub(crate) fn keep_first(&mut self, slab: &Slab) -> Vec<PacketId> {
        let others = self.packets(slab).skip(1).collect();
        self.last = self.first;
        others
    }
}

#[cfg(test)]
mod tests {
    use super::super::packet::{Flags, Packet};
    use super::*;
    use crate::ids::HostId;
    use bufferlab_core::Header;
    use bufferlab_units::RandomStream;
    use std::collections::VecDeque;

    fn packet() -> Packet {
        Packet {
            sent: Time::ZERO,
            header: Header::default(),
            seq: 0,
            sack_first: 0,
            path: 0,
            sack_count: 0,
            dst: HostId(0),
            flags: Flags(0),
        }
    }

    #[test]
    fn a_pipe_does_what_a_queue_of_the_standard_library_does() {
        let mut stream = RandomStream::new(9, "pipe", 0);
        let mut slab = Slab::default();
        // Two pipes use one table of packets, so that the slots of both pipes are mixed.
        let mut pipes = [(); 2].map(|()| (Pipe::default(), VecDeque::new()));
        let mut longest = 0;
        for number in 0..20_000_u64 {
            // Phases in which the pipes fill alternate with phases in which the pipes empty.
            let fills = (number / 2_000) % 2 == 0;
            let (pipe, queue) = &mut pipes[stream.below(2) as usize];
            match stream.below(40) {
                0 if number % 50 == 0 => {
                    let others = pipe.keep_first(&slab);
                    assert!(others.iter().eq(queue.iter().skip(1).map(|(_, packet)| packet)));
                    others.into_iter().for_each(|packet| slab.remove(packet));
                    queue.truncate(1);
                }
                step if (step < 28) == fills => {
                    let packet = slab.insert(packet());
                    let alone = pipe.push_back(&mut slab, Time(number), packet);
                    queue.push_back((Time(number), packet));
                    assert_eq!(alone, queue.len() == 1);
                }
                _ => {
                    let expected = queue.pop_front().map(|(_, packet)| packet);
                    let behind = queue.front().map(|&(arrival, _)| arrival);
                    let found = pipe.pop_front(&mut slab);
                    assert_eq!(found, expected.map(|packet| (packet, behind)));
                    found.into_iter().for_each(|(packet, _)| slab.remove(packet));
                }
            }
            assert!(pipe.packets(&slab).eq(queue.iter().map(|&(_, packet)| packet)));
            assert_eq!(pipe.is_empty(), queue.is_empty());
            longest = longest.max(queue.len());
        }
        assert!(longest > 50, "it was long at times: {longest}");
    }
}
