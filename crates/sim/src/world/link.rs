//! Links: one direction of a cable, with exact serialization and a pipe of packets on their way.

use crate::ids::{HostId, PacketId, SwitchId};
use bufferlab_units::{BitRate, Serializer, Time};
use std::collections::VecDeque;

/// Where a link ends, packed for the hot path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Host(HostId),
    /// Switch and its port.
    Switch(SwitchId, u16),
}

/// One direction of a cable. Only the head of the pipe is in the calendar.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) busy_until: Time,
    pub(crate) serializer: Serializer,
    pub(crate) delay: Time,
    /// Where the switch at the end forwards a packet once it has so many bytes of it (cut-through).
    pub(crate) header_bytes: Option<u32>,
    pub(crate) pipe: VecDeque<(Time, PacketId)>,
    pub(crate) to: End,
    /// A transmission-complete event is scheduled: packets wait for this link.
    pub(crate) waiting: bool,
    pub(crate) down: bool,
    /// The link went down with the head of its pipe on it.
    pub(crate) head_is_lost: bool,
    pub(crate) tx_packets: u64,
    pub(crate) tx_bytes: u64,
    pub(crate) marked_packets: u64,
    // Cold from here on.
    pub(crate) from: End,
    pub(crate) rate: BitRate,
    /// `tx_bytes` at the end of the arrival phase.
    pub(crate) phase_bytes: u64,
    /// Bytes that had asked for a switch's port by then.
    pub(crate) phase_offered: Option<u64>,
    pub(crate) lost_packets: u64,
}

impl Link {
    pub(crate) fn new(from: End, to: End, rate: BitRate, delay: Time) -> Self {
        Self {
            busy_until: Time::ZERO,
            serializer: Serializer::new(rate),
            delay,
            header_bytes: None,
            pipe: VecDeque::new(),
            to,
            waiting: false,
            down: false,
            head_is_lost: false,
            tx_packets: 0,
            tx_bytes: 0,
            marked_packets: 0,
            from,
            rate,
            phase_bytes: 0,
            phase_offered: None,
            lost_packets: 0,
        }
    }

    /// Puts a packet of `wire` bytes on the idle link; returns when it arrives, and whether it is the only one on its
    /// way (its delivery must then be scheduled).
    #[inline]
    pub(crate) fn transmit(&mut self, now: Time, packet: PacketId, wire: u16, marked: bool) -> (Time, bool) {
        debug_assert!(now >= self.busy_until, "a link sends one packet at a time");
        self.busy_until = now + self.serializer.time(u32::from(wire));
        let arrived = match self.header_bytes {
            None => self.busy_until,
            Some(header) => now + self.serializer.time(u32::from(wire).min(header)),
        };
        let arrival = arrived + self.delay;
        self.tx_packets += 1;
        self.tx_bytes += u64::from(wire);
        self.marked_packets += u64::from(marked);
        self.pipe.push_back((arrival, packet));
        (arrival, self.pipe.len() == 1)
    }
}
