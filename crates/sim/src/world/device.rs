//! Queue of a port's device: packets that have left the buffer, or a host's queues,
//! but have not begun transmission.
//!
//! A device sends packets in the order of their arrival, over a link of one rate. So the
//! transmission start of every packet is known at its arrival at the device. The link's pipe
//! contains the packets with their arrival times. The device stores only the start times of waiting
//! packets.

use bufferlab_units::Time;
use std::collections::VecDeque;

/// Numbers of packets, bytes and marked packets that wait in a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pending {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    pub(crate) marked: u64,
}

impl Pending {
    /// Numbers of packets, bytes and marked packets for one packet of `wire` bytes.
    pub(super) fn for_packet(wire: u32, marked: bool) -> Self {
        Self { packets: 1, bytes: u64::from(wire), marked: u64::from(marked) }
    }
}

/// First-in, first-out queue of a device. The limit of the queue is a number of packets in addition
/// to the packet being sent.
#[derive(Clone, Debug)]
pub(super) struct DeviceQueue {
    limit: usize,
    /// Time at which the transmission of each packet starts, with the packet's
    /// bytes and mark, in sending order.
    waiting: VecDeque<(Time, Pending)>,
}

impl DeviceQueue {
    /// Creates a queue for `packets` packets (at least one).
    pub(super) fn new(packets: u32) -> Self {
        debug_assert!(packets > 0, "a device without a queue has none");
        Self { limit: packets as usize, waiting: VecDeque::new() }
    }

    /// Removes packets whose transmission has begun from the device queue.
    fn settle(&mut self, now: Time) {
        while self.waiting.front().is_some_and(|&(start, _)| start <= now) {
            self.waiting.pop_front();
        }
    }

    /// Time at which the device has space for a packet: now or later.
    pub(super) fn next_place(&mut self, now: Time) -> Time {
        self.settle(now);
        match self.waiting.front() {
            Some(&(first, _)) if self.waiting.len() >= self.limit => first,
            _ => now,
        }
    }

    /// Adds a packet whose transmission begins at `start`.
    pub(super) fn push(&mut self, now: Time, start: Time, packet: Pending) {
        self.settle(now);
        debug_assert!(self.waiting.len() < self.limit, "a device takes no more than fits");
        if start > now {
            self.waiting.push_back((start, packet));
        }
    }

    /// Numbers of packets, bytes and marked packets that wait in the device.
    pub(super) fn pending(&self, now: Time) -> Pending {
        let waiting = self.waiting.iter().filter(|(start, _)| *start > now);
        waiting.fold(Pending::default(), |sum, (_, one)| Pending {
            packets: sum.packets + one.packets,
            bytes: sum.bytes + one.bytes,
            marked: sum.marked + one.marked,
        })
    }

    /// Drops all waiting packets. Returns the end of the current transmission if a packet waited
    /// for this transmission.
    pub(super) fn empty(&mut self, now: Time) -> Option<Time> {
        self.settle(now);
        let end = self.waiting.front().map(|&(start, _)| start);
        self.waiting.clear();
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_again_when_the_first_one_begins_to_leave() {
        let mut device = DeviceQueue::new(2);
        let (packet, at) = (Pending::for_packet(1_500, false), Time::from_us);
        device.push(at(0), at(0), packet);
        assert_eq!((device.next_place(at(0)), device.pending(at(0)).packets), (at(0), 0), "it is being sent");
        device.push(at(0), at(1), packet);
        device.push(at(0), at(2), Pending::for_packet(100, true));
        assert_eq!(device.next_place(at(0)), at(1));
        assert_eq!(device.pending(at(0)), Pending { packets: 2, bytes: 1_600, marked: 1 });
        assert_eq!(device.pending(at(1)), Pending { packets: 1, bytes: 100, marked: 1 });
        assert_eq!(device.next_place(at(1)), at(1));
        device.push(at(1), at(3), packet);
        assert_eq!(device.empty(at(1)), Some(at(2)));
        assert_eq!((device.empty(at(1)), device.pending(at(1))), (None, Pending::default()));
    }
}
