//! Links: one direction of a cable, with exact serialization and a pipe of packets in flight.

use super::device::{DeviceQueue, Pending};
use super::packet::Slab;
use super::pipe::Pipe;
use crate::ids::{HostId, PacketId, SwitchId};
use bufferlab_core::{Ecn, Header};
use bufferlab_units::{BitRate, Serializer, Time};

/// End of a link, in a compact form for the hot path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Host(HostId),
    /// A switch, and the number of the switch's port.
    Switch(SwitchId, u16),
}

/// One direction of a cable. The calendar contains only the first packet of the pipe.
///
/// The first cache line has all fields that a packet needs on its way. In a large network
/// successive packets use different links, so each cache line of a link is a cache miss.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Link {
    pub(crate) busy_until: Time,
    pub(crate) serializer: Serializer,
    pub(crate) delay: Time,
    /// Packets in flight on the link, and packets in the device at the link's near end.
    pub(crate) pipe: Pipe,
    pub(crate) to: End,
    pub(crate) tx_packets: u64,
    pub(crate) tx_bytes: u64,
    /// Whether a transmission-complete event is scheduled, because packets wait for this link.
    pub(crate) waiting: bool,
    pub(crate) down: bool,
    /// Whether the link has rare properties or leads to another shard of the network. For most
    /// links this is false, so one check is enough.
    is_special: bool,
    /// Whether the link went down while the first packet of its pipe was in flight.
    pub(crate) head_is_lost: bool,
    // The second cache line of a link begins with this field.
    pub(crate) marked_packets: u64,
    pub(crate) from: End,
    /// Whether the link leads to another shard of the network. Mailboxes transport the link's
    /// packets.
    crosses: bool,
    special: Option<Box<Special>>,
    pub(crate) account: Box<LinkAccount>,
}

const _: () =
    assert!(std::mem::offset_of!(Link, head_is_lost) < 64, "what a packet touches is one cache line");
const _: () = assert!(size_of::<Link>() == 128, "two cache lines");

/// Data of a link that only some packets or reports need.
#[derive(Clone, Debug)]
pub(crate) struct LinkAccount {
    /// Present rate of the link.
    pub(crate) rate: BitRate,
    /// Rate of the link in the scenario. Ideal completion times and utilisations refer to this
    /// rate.
    pub(crate) nominal_rate: BitRate,
    /// Value of `tx_bytes` at the end of the arrival phase.
    pub(crate) phase_bytes: u64,
    /// Bytes offered to a switch's port until the end of the arrival phase.
    pub(crate) phase_offered: Option<u64>,
    pub(crate) lost_packets: u64,
}

/// Properties that few links have: cut-through and a device queue.
#[derive(Clone, Debug, Default)]
struct Special {
    /// Bytes of a packet after which the switch at the far end forwards the packet (cut-through).
    header_bytes: Option<u32>,
    /// Queue of the device at the near end of the link.
    device: Option<DeviceQueue>,
}

/// A packet that a link has accepted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Started {
    /// Time at which the packet arrives at the far end of the link.
    pub(crate) arrival: Time,
    /// Whether the packet is the only packet in flight, so that its delivery must be scheduled.
    pub(crate) alone: bool,
    /// Time at which the link accepts the next packet.
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
            account: Box::new(LinkAccount {
                rate,
                nominal_rate: rate,
                phase_bytes: 0,
                phase_offered: None,
                lost_packets: 0,
            }),
        }
    }

    /// Sets the rate of all transmissions that begin from now on.
    pub(crate) fn set_rate(&mut self, rate: BitRate) {
        self.serializer = Serializer::new(rate);
        self.account.rate = rate;
    }

    /// Whether the switch at the far end forwards packets before their last bit (cut-through).
    pub(crate) fn cuts_through(&self) -> bool {
        self.special.as_ref().is_some_and(|special| special.header_bytes.is_some())
    }

    /// Sets the bytes of a packet after which the switch at the far end forwards the packet
    /// (cut-through). `None` for the whole packet.
    pub(crate) fn set_header_bytes(&mut self, bytes: Option<u32>) {
        if bytes.is_some() {
            self.special.get_or_insert_default().header_bytes = bytes;
            self.is_special = true;
        }
    }

    /// Sets the capacity of the device queue at the near end of the link (packets). Zero means that
    /// the link has no device queue.
    pub(crate) fn set_device_queue(&mut self, packets: u32) {
        if packets > 0 {
            self.special.get_or_insert_default().device = Some(DeviceQueue::new(packets));
            self.is_special = true;
        }
    }

    /// Sets whether the link leads to another shard of the network.
    pub(crate) fn set_crossing(&mut self, crosses: bool) {
        self.crosses = crosses;
        self.is_special = crosses || self.special.is_some();
    }

    /// Whether the link leads to another shard of the network.
    #[inline(always)] // Inlined where packets are sent.
    pub(crate) fn crosses(&self) -> bool {
        self.is_special && self.crosses
    }

    /// The device at the near end of the link, if the device has a queue.
    fn device(&mut self) -> Option<&mut DeviceQueue> {
        self.special.as_mut()?.device.as_mut()
    }

    /// Time at which the busy link accepts a packet: now if its device has space.
    #[inline]
    pub(crate) fn next_place(&mut self, now: Time) -> Time {
        if self.is_special { self.next_place_at_device(now) } else { self.busy_until }
    }

    #[cold]
    fn next_place_at_device(&mut self, now: Time) -> Time {
        let busy_until = self.busy_until;
        self.device().map_or(busy_until, |device| device.next_place(now))
    }

    /// Numbers of packets, bytes and marked packets that wait in the link's device.
    pub(crate) fn pending(&self, now: Time) -> Pending {
        let device = self.special.as_ref().and_then(|special| special.device.as_ref());
        device.map_or(Pending::default(), |device| device.pending(now))
    }

    /// Drops the packets in the device of a link that has gone down. Then only the current
    /// transmission keeps the link busy.
    pub(crate) fn empty_device(&mut self, now: Time) {
        if let Some(end) = self.device().and_then(|device| device.empty(now)) {
            self.busy_until = end;
        }
    }

    /// Starts a transmission like [`Self::start`], on a link with rare properties. Returns the
    /// arrival time without the delay, and the time at which the link accepts the next packet.
    #[cold]
    #[inline(never)]
    fn start_specially(&mut self, now: Time, wire: u32, marked: bool) -> (Time, Time) {
        let start = now.max(self.busy_until);
        self.busy_until = start + self.serializer.time(wire);
        let Some(special) = &mut self.special else { return (self.busy_until, self.busy_until) };
        let arrived = match special.header_bytes {
            None => self.busy_until,
            Some(header) => start + self.serializer.time(wire.min(header)),
        };
        let Some(device) = &mut special.device else { return (arrived, self.busy_until) };
        device.push(now, start, Pending::for_packet(wire, marked));
        (arrived, device.next_place(now))
    }

    /// Puts a packet with the header `header` on the link, which is idle or whose device has space.
    #[inline(always)] // Inlined where packets are sent.
    pub(crate) fn transmit(
        &mut self,
        now: Time,
        packets: &mut Slab,
        packet: PacketId,
        header: Header,
    ) -> Started {
        let (arrival, next) = self.start(now, header.size, header.ecn == Ecn::Marked);
        let alone = self.pipe.push_back(packets, arrival, packet);
        Started { arrival, alone, next }
    }

    /// Starts a transmission without the pipe. Returns the arrival time,
    /// and the time at which the link accepts the next packet.
    #[inline(always)] // Inlined where packets are sent.
    pub(crate) fn start(&mut self, now: Time, wire: u32, marked: bool) -> (Time, Time) {
        let (arrived, next) = if self.is_special {
            self.start_specially(now, wire, marked)
        } else {
            debug_assert!(now >= self.busy_until, "a link sends one packet at a time");
            self.busy_until = now + self.serializer.time(wire);
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
