//! The table of live packets, with a list of free slots. Each packet has a cache line,
//! with its link in the list of a pipe.

use crate::ids::{FlowHandle, HostId, PacketId, Table};
use bufferlab_core::Header;
use bufferlab_units::Time;

/// Kind of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Data,
    Ack,
    Syn,
    SynAck,
}

/// Kind and flags of a packet, for hosts and the network.
/// Switches and policies read [`Header::tags`] instead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags(pub(crate) u8);

impl Flags {
    /// Flag of an ACK that echoes a congestion mark.
    pub(crate) const ECHO: Self = Self(1 << 2);
    /// Flag: `path` contains explicit choices, one byte per branching switch. The lowest byte is
    /// the choice of the next switch.
    pub(crate) const EXPLICIT_PATH: Self = Self(1 << 3);
    /// Flag of a data packet: switches must add telemetry reports.
    pub(crate) const WANTS_TELEMETRY: Self = Self(1 << 4);
    /// Flag of data with [`Self::WANTS_TELEMETRY`]: switches report the packet's own queue,
    /// not all queues of its port.
    pub(crate) const OF_ITS_QUEUE: Self = Self(1 << 5);
    /// Flag of a SYN: the packet is a bare ACK that needs no answer. Flag of a SYN-ACK: the packet
    /// is a FIN.
    pub(crate) const ENDS: Self = Self(1 << 6);

    pub(crate) const fn of_kind(kind: Kind) -> Self {
        Self(match kind {
            Kind::Data => 0,
            Kind::Ack => 1,
            Kind::Syn => 2,
            Kind::SynAck => 3,
        })
    }

    #[inline]
    pub(crate) const fn kind(self) -> Kind {
        match self.0 & 3 {
            0 => Kind::Data,
            1 => Kind::Ack,
            2 => Kind::Syn,
            _ => Kind::SynAck,
        }
    }

    #[inline]
    pub(crate) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    #[inline]
    pub(crate) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[inline]
    pub(crate) const fn with_if(self, condition: bool, other: Self) -> Self {
        if condition { self.with(other) } else { self }
    }
}

/// A packet in the network. The receiver changes a data packet to its ACK in the same slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// Time at which the data was sent. An ACK echoes this time.
    pub(crate) sent: Time,
    /// Header of the packet. The size in the header is the size on the wire (bytes).
    pub(crate) header: Header,
    /// Segment number of data, or cumulative acknowledgement of an ACK.
    pub(crate) seq: u32,
    /// First segment of the SACK block in an ACK.
    pub(crate) sack_first: u32,
    /// Entropy for the choice among paths, or explicit path choices.
    pub(crate) path: u32,
    /// In an ACK: number of segments in the SACK block, and for a queue pair the kind of ACK.
    pub(crate) sack_count: u16,
    /// Host to which the packet is sent.
    pub(crate) dst: HostId,
    pub(crate) flags: Flags,
}

impl Packet {
    /// Flag of a queue pair's ACK in `sack_count`: negative acknowledgement.
    pub(crate) const NEGATIVE: u16 = 1 << 15;
    /// Flag of a queue pair's ACK in `sack_count`: congestion notification, not an acknowledgement.
    pub(crate) const NOTIFICATION: u16 = 1 << 14;
    /// The longest SACK block of a queue pair (segments).
    pub(crate) const MOST_SACKED: u16 = (1 << 14) - 1;

    /// Handle of the flow to which the packet belongs.
    #[inline]
    pub(crate) const fn flow(&self) -> FlowHandle {
        FlowHandle(self.header.flow)
    }
}

/// Entry of the table of packets: a packet, and the packet behind it on the link. An entry is one
/// cache line, the only line that the packet needs on its way.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Slot {
    pub(super) packet: Packet,
    /// Next packet on the link. Valid unless this packet is the last packet on the link.
    pub(super) behind: PacketId,
    /// Arrival time of the next packet in the pipe. With this copy, the next packet's own cache
    /// line is read later.
    pub(super) behind_arrives: Time,
}

const _: () = assert!(size_of::<Slot>() == 64, "a cache line");

/// Table of all live packets of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slab {
    slots: Table<PacketId, Slot>,
    free: Vec<PacketId>,
}

impl Slab {
    #[inline]
    pub(crate) fn insert(&mut self, packet: Packet) -> PacketId {
        match self.free.pop() {
            Some(id) => {
                self.slots[id].packet = packet;
                id
            }
            None => self.slots.push(Slot { packet, behind: PacketId(0), behind_arrives: Time::ZERO }),
        }
    }

    /// Next packet on the link after `id`, which must not be the last packet on the link.
    pub(super) fn behind(&self, id: PacketId) -> PacketId {
        self.slots[id].behind
    }

    /// Slot of a packet, with the next packet of the pipe.
    #[inline(always)] // Inlined into the hot path.
    pub(super) fn slot(&mut self, id: PacketId) -> &mut Slot {
        &mut self.slots[id]
    }

    /// Requests the cache line of a packet. Accepts any id.
    #[inline]
    pub(crate) fn prefetch(&self, id: PacketId) {
        self.slots.prefetch(id, 1);
    }

    #[inline]
    pub(crate) fn remove(&mut self, id: PacketId) {
        self.free.push(id);
    }

    /// Number of live packets.
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Largest number of packets alive at once. The number equals the number of slots, because the
    /// table reuses slots before it creates new slots.
    pub(crate) fn peak(&self) -> usize {
        self.slots.len()
    }
}

impl std::ops::Index<PacketId> for Slab {
    type Output = Packet;
    #[inline]
    fn index(&self, id: PacketId) -> &Packet {
        &self.slots[id].packet
    }
}

impl std::ops::IndexMut<PacketId> for Slab {
    #[inline]
    fn index_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.slots[id].packet
    }
}
