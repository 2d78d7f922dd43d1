//! What an event of a switch leads to beyond the switch.
//!
//! A switch cannot reach hosts, other switches or results: it leaves here what should happen to
//! them, and the engine settles it right after the event. The buffers are used again, so that a run
//! allocates nothing for it.

use super::packets::Logged;
use crate::ids::PacketId;
use bufferlab_core::{DropReason, IngressId, QueueId};
use bufferlab_units::Time;

/// A packet at a queue of the switch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) packet: PacketId,
    pub(crate) queue: QueueId,
    pub(crate) size: u32,
}

/// A packet that found no space.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refused {
    pub(crate) seen: Seen,
    pub(crate) reason: DropReason,
    pub(crate) ingress_port: u16,
}

/// A packet that was removed from a queue without being sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evicted {
    pub(crate) queue: QueueId,
    pub(crate) packet: PacketId,
    pub(crate) size: u32,
    pub(crate) reason: DropReason,
    /// Through which it had come.
    pub(crate) ingress_port: u16,
}

/// What is to be settled. Of one event, so there is one arrival at most.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    pending: bool,
    /// The arrival was stored. Noted only where events are explained.
    pub(crate) stored: Option<Seen>,
    /// It was marked, too.
    pub(crate) marked: bool,
    /// The arrival found no space.
    pub(crate) refused: Option<Refused>,
    /// The arrival, through this port, has nowhere to go.
    pub(crate) unroutable: Option<(PacketId, u16)>,
    /// The policy's timer is to be set.
    pub(crate) timer: Option<Time>,
    /// In the order of their removal.
    pub(crate) evicted: Vec<Evicted>,
    /// The sender behind an ingress queue must stop, or may go on.
    pub(crate) pauses: Vec<(IngressId, bool)>,
    /// What happened to packets in order. Noted only where packets are recorded.
    pub(crate) log: Vec<Logged>,
}

impl Effects {
    /// Nothing is to be settled.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        !self.pending
    }

    /// The same buffers, with nothing in them.
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
    pub(super) fn note_stored(&mut self, seen: Seen, marked: bool) {
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
