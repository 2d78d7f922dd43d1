//! Effects of an event at a switch on other parts of the simulation.
//!
//! A switch cannot reach hosts, other switches or results. The switch records effects in this
//! module's types, and the engine settles the effects right after the event. The buffers are
//! reused, so that a run allocates no memory for effects.

use super::packets::Logged;
use crate::ids::PacketId;
use bufferlab_core::{DropReason, IngressId, QueueId};
use bufferlab_units::Time;

/// A packet with its size and its egress queue in the switch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueuedPacket {
    pub(crate) packet: PacketId,
    pub(crate) queue: QueueId,
    pub(crate) size: u32,
}

/// An arriving packet that found no space.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refused {
    pub(crate) seen: QueuedPacket,
    pub(crate) reason: DropReason,
    pub(crate) ingress_port: u16,
}

/// A packet that the switch removed from a queue without sending it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evicted {
    pub(crate) queue: QueueId,
    pub(crate) packet: PacketId,
    pub(crate) size: u32,
    pub(crate) reason: DropReason,
    /// Port through which the evicted packet arrived.
    pub(crate) ingress_port: u16,
}

/// Effects of one event at a switch, with at most one arrival.
#[derive(Clone, Debug, Default)]
pub(crate) struct Effects {
    pending: bool,
    /// Arriving packet that the switch stored. Set only if the run explains events.
    pub(crate) stored: Option<QueuedPacket>,
    /// Whether the switch marked the packet that it has just stored.
    pub(crate) marked: bool,
    /// Arriving packet that the switch refused.
    pub(crate) refused: Option<Refused>,
    /// Arriving packet that has no route, and its ingress port.
    pub(crate) unroutable: Option<(PacketId, u16)>,
    /// Time at which the policy's timer must expire.
    pub(crate) timer: Option<Time>,
    /// Evicted packets in the order of their removal.
    pub(crate) evicted: Vec<Evicted>,
    /// Ingress queues whose sender must stop (`true`) or may resume.
    pub(crate) pauses: Vec<(IngressId, bool)>,
    /// Packet events in order. Filled only if the run records packets.
    pub(crate) log: Vec<Logged>,
}

impl Effects {
    /// Whether the event had no effects outside the switch.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        !self.pending
    }

    /// Removes all effects but reuses the memory of their lists.
    pub(crate) fn cleared(mut self) -> Self {
        self.evicted.clear();
        self.pauses.clear();
        self.log.clear();
        Self { evicted: self.evicted, pauses: self.pauses, log: self.log, ..Self::default() }
    }

    pub(super) fn evict(&mut self, evicted: Evicted) {
        self.pending = true;
        self.evicted.push(evicted);
    }

    pub(super) fn demand_pause(&mut self, ingress: IngressId, paused: bool) {
        self.pending = true;
        self.pauses.push((ingress, paused));
    }

    pub(super) fn log(&mut self, logged: Logged) {
        self.pending = true;
        self.log.push(logged);
    }

    #[cold]
    pub(super) fn note_stored(&mut self, seen: QueuedPacket, marked: bool) {
        self.pending = true;
        (self.stored, self.marked) = (Some(seen), marked);
    }

    pub(super) fn refuse(&mut self, refused: Refused) {
        self.pending = true;
        self.refused = Some(refused);
    }

    #[cold]
    pub(crate) fn lose_way(&mut self, packet: PacketId, port: u16) {
        self.pending = true;
        self.unroutable = Some((packet, port));
    }

    #[inline]
    pub(super) fn set_timer(&mut self, at: Time) {
        self.pending = true;
        self.timer = Some(at);
    }
}
