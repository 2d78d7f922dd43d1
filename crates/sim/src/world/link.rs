//! Links: one direction of a cable, with exact serialization and a pipe of packets on their way.

use super::device::{DeviceQueue, Pending};
use super::packet::{Flags, Packet, Slab};
use super::pipe::Pipe;
use crate::ids::{HostId, PacketId, SwitchId};
use bufferlab_units::{BitRate, Serializer, Time};

/// Where a link ends, packed for the hot path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Host(HostId),
    /// Switch and its port.
    Switch(SwitchId, u16),
}

/// One direction of a cable. Only the head of the pipe is in the calendar.
///
/// The first cache line is what a packet touches on its way, and no packet touches more: in a large
/// network every packet finds another link, and waits for each line.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Link {
    pub(crate) busy_until: Time,
    pub(crate) serializer: Serializer,
    pub(crate) delay: Time,
    /// Packets on their way, and those that the device at its near end holds.
    pub(crate) pipe: Pipe,
    pub(crate) to: End,
    pub(crate) tx_packets: u64,
    pub(crate) tx_bytes: u64,
    /// A transmission-complete event is scheduled: packets wait for this link.
    pub(crate) waiting: bool,
    pub(crate) down: bool,
    /// Something is special about it, or it leads to another part of the network: what most links
    /// do not have, so that they ask once.
    is_special: bool,
    /// The link went down with the head of its pipe on it.
    pub(crate) head_is_lost: bool,
    // Here the second line begins.
    pub(crate) marked_packets: u64,
    pub(crate) from: End,
    /// It leads to another part of the network: its packets go there by mail.
    crosses: bool,
    special: Option<Box<Special>>,
    pub(crate) account: Box<LinkAccount>,
}

const _: () =
    assert!(std::mem::offset_of!(Link, head_is_lost) < 64, "what a packet touches is one cache line");
const _: () = assert!(size_of::<Link>() == 128, "two cache lines");

/// What is known of a link beside what every packet touches.
#[derive(Debug)]
pub(crate) struct LinkAccount {
    pub(crate) rate: BitRate,
    /// `tx_bytes` at the end of the arrival phase.
    pub(crate) phase_bytes: u64,
    /// Bytes that had asked for a switch's port by then.
    pub(crate) phase_offered: Option<u64>,
    pub(crate) lost_packets: u64,
}

/// What most links do not have.
#[derive(Debug, Default)]
struct Special {
    /// Where the switch at the end forwards a packet once it has so many bytes of it (cut-through).
    header_bytes: Option<u32>,
    /// At the near end.
    device: Option<DeviceQueue>,
}

/// A packet that was handed to a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Started {
    /// At the far end.
    pub(crate) arrival: Time,
    /// It is the only one on its way: its delivery must be scheduled.
    pub(crate) alone: bool,
    /// When the next one may be handed over.
    pub(crate) next: Time,
}

impl Link {
    pub(crate) fn new(from: End, to: End, rate: BitRate, delay: Time) -> Self {
        Self {
            busy_until: Time::ZERO,
            serializer: Serializer::new(rate),
            delay,
            pipe: Pipe::default(),
            to,
            tx_packets: 0,
            tx_bytes: 0,
            waiting: false,
            down: false,
            is_special: false,
            head_is_lost: false,
            marked_packets: 0,
            from,
            crosses: false,
            special: None,
            account: Box::new(LinkAccount { rate, phase_bytes: 0, phase_offered: None, lost_packets: 0 }),
        }
    }

    /// The switch at the end forwards a packet once it has so many bytes of it (cut-through);
    /// `None`: all of them.
    pub(crate) fn set_header_bytes(&mut self, bytes: Option<u32>) {
        if bytes.is_some() {
            self.special.get_or_insert_default().header_bytes = bytes;
            self.is_special = true;
        }
    }

    /// The device at the near end queues so many packets; 0: none.
    pub(crate) fn set_device_queue(&mut self, packets: u32) {
        if packets > 0 {
            self.special.get_or_insert_default().device = Some(DeviceQueue::new(packets));
            self.is_special = true;
        }
    }

    /// Whether it leads to another part of the network.
    pub(crate) fn set_crossing(&mut self, crosses: bool) {
        self.crosses = crosses;
        self.is_special = crosses || self.special.is_some();
    }

    /// Whether it leads to another part of the network.
    #[inline(always)] // Into the places where packets are sent.
    pub(crate) fn crosses(&self) -> bool {
        self.is_special && self.crosses
    }

    /// The device at the near end, if it has a queue.
    fn device(&mut self) -> Option<&mut DeviceQueue> {
        self.special.as_mut()?.device.as_mut()
    }

    /// When a packet may be handed over to the busy link: now where its device has room.
    #[inline]
    pub(crate) fn next_place(&mut self, now: Time) -> Time {
        if self.is_special { self.next_place_at_device(now) } else { self.busy_until }
    }

    #[cold]
    fn next_place_at_device(&mut self, now: Time) -> Time {
        let busy_until = self.busy_until;
        self.device().map_or(busy_until, |device| device.next_place(now))
    }

    /// What its device holds that has not begun to leave.
    pub(crate) fn pending(&self, now: Time) -> Pending {
        let device = self.special.as_ref().and_then(|special| special.device.as_ref());
        device.map_or(Pending::default(), |device| device.pending(now))
    }

    /// The link has gone down, and what its device holds is lost: it is busy with what it is
    /// sending, no longer.
    pub(crate) fn empty_device(&mut self, now: Time) {
        if let Some(end) = self.device().and_then(|device| device.empty(now)) {
            self.busy_until = end;
        }
    }

    /// [`Self::start`] on a link with something special; returns when the packet counts as arrived
    /// but for the delay, and when the next one may be handed over.
    #[cold]
    #[inline(never)]
    fn start_specially(&mut self, now: Time, wire: u16, marked: bool) -> (Time, Time) {
        let start = now.max(self.busy_until);
        self.busy_until = start + self.serializer.time(u32::from(wire));
        let Some(special) = &mut self.special else { return (self.busy_until, self.busy_until) };
        let arrived = match special.header_bytes {
            None => self.busy_until,
            Some(header) => start + self.serializer.time(u32::from(wire).min(header)),
        };
        let Some(device) = &mut special.device else { return (arrived, self.busy_until) };
        device.push(now, start, Pending::of(wire, marked));
        (arrived, device.next_place(now))
    }

    /// Puts a packet of `wire` bytes on the link, which is idle or whose device has room.
    #[inline(always)] // Into the places where packets are sent.
    pub(crate) fn transmit(&mut self, now: Time, packets: &mut Slab, packet: PacketId) -> Started {
        let Packet { wire, flags, .. } = packets[packet];
        let (arrival, next) = self.start(now, wire, flags.has(Flags::MARKED));
        let alone = self.pipe.push_back(packets, arrival, packet);
        Started { arrival, alone, next }
    }

    /// The same without the pipe: when the packet arrives, and when the next one may be handed
    /// over.
    #[inline(always)] // As above.
    pub(crate) fn start(&mut self, now: Time, wire: u16, marked: bool) -> (Time, Time) {
        let (arrived, next) = if self.is_special {
            self.start_specially(now, wire, marked)
        } else {
            debug_assert!(now >= self.busy_until, "a link sends one packet at a time");
            self.busy_until = now + self.serializer.time(u32::from(wire));
            (self.busy_until, self.busy_until)
        };
        let arrival = arrived + self.delay;
        self.tx_packets += 1;
        self.tx_bytes += u64::from(wire);
        if marked {
            self.marked_packets += 1;
        }
        (arrival, next)
    }
}
