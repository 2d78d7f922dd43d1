//! Table of the outcomes of packets in a switch, and the events that observers see.

use crate::buffer::{Buffer, IngressId, QueueId, Stored};
use crate::policy::{Arrival, Departure, DropReason};
use bufferlab_units::Time;

/// The effect of an outcome on the content of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Stores an arriving packet.
    Stores,
    /// Refuses an arriving packet, so the content does not change.
    Refuses,
    /// Removes a stored packet without sending it.
    Removes,
    /// Removes a stored packet and sends it.
    Sends,
    /// Changes a packet, but not the content of the buffer.
    Marks,
    /// Stops or releases the sender behind an ingress queue.
    Signals,
}

macro_rules! packet_events {
    ($($(#[doc = $doc:literal])+ $variant:ident {
        name: $name:literal, verb: $verb:literal, effect: $effect:ident, is_loss: $is_loss:literal, colour: $colour:expr,
    })+) => {
        /// An outcome or another event of a packet in a switch's buffer. The table of events has
        /// all data that result tables, pages, captures and Python need for each event.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum PacketEvent {
            #[default]
            $($(#[doc = $doc])+ $variant,)+
        }

        impl PacketEvent {
            /// All events, in the order of their discriminants.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];
            /// Names of all events, in the order of [`Self::ALL`].
            pub const NAMES: &'static [&'static str] = &[$($name,)+];

            /// Name in tables, records, captures and pages.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Verb for the action of a policy or a switch, as in `Verdict.drop` of Python.
            #[must_use]
            pub const fn verb(self) -> &'static str {
                match self { $(Self::$variant => $verb,)+ }
            }

            /// Effect of the event on the content of the buffer.
            #[must_use]
            pub const fn effect(self) -> Effect {
                match self { $(Self::$variant => Effect::$effect,)+ }
            }

            /// Whether the switch has lost the packet.
            #[must_use]
            pub const fn is_loss(self) -> bool {
                match self { $(Self::$variant => $is_loss,)+ }
            }

            /// Number of the colour in which pages draw the event; `None`: pages do not draw it.
            #[must_use]
            pub const fn colour(self) -> Option<u8> {
                match self { $(Self::$variant => $colour,)+ }
            }
        }
    };
}

packet_events! {
    /// The packet was stored.
    Admitted { name: "admitted", verb: "admit", effect: Stores, is_loss: false, colour: None, }
    /// The packet was refused on arrival.
    Dropped { name: "dropped", verb: "drop", effect: Refuses, is_loss: true, colour: Some(1), }
    /// The packet was removed after it had been stored.
    Evicted { name: "evicted", verb: "evict", effect: Removes, is_loss: true, colour: Some(3), }
    /// The packet got a congestion mark in this switch.
    Marked { name: "marked", verb: "mark", effect: Marks, is_loss: false, colour: Some(2), }
    /// The transmission of the packet began.
    Departed { name: "departed", verb: "send", effect: Sends, is_loss: false, colour: None, }
    /// The switch wants the sender behind an ingress queue to stop.
    Paused { name: "paused", verb: "pause", effect: Signals, is_loss: false, colour: Some(0), }
    /// The switch lets the sender behind an ingress queue resume.
    Resumed { name: "resumed", verb: "resume", effect: Signals, is_loss: false, colour: None, }
}

impl PacketEvent {
    /// The event with this name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|event| event.name() == name)
    }

    /// Whether the event decides an arrival: the switch stores or refuses the packet.
    #[must_use]
    pub const fn is_arrival(self) -> bool {
        matches!(self.effect(), Effect::Stores | Effect::Refuses)
    }

    /// Whether the event refuses an arrival.
    #[must_use]
    pub const fn is_refusal(self) -> bool {
        matches!(self.effect(), Effect::Refuses)
    }

    /// Whether a stored packet leaves the buffer, sent or not.
    #[must_use]
    pub const fn leaves(self) -> bool {
        matches!(self.effect(), Effect::Removes | Effect::Sends)
    }

    /// Whether the event concerns the sender behind an ingress queue.
    #[must_use]
    pub const fn is_pause(self) -> bool {
        matches!(self.effect(), Effect::Signals)
    }

    /// Change of the content of the buffer by a packet of `size` bytes (bytes).
    #[must_use]
    pub const fn change(self, size: u32) -> i64 {
        match self.effect() {
            Effect::Stores => size as i64,
            Effect::Removes | Effect::Sends => -(size as i64),
            Effect::Refuses | Effect::Marks | Effect::Signals => 0,
        }
    }
}

/// Outcome and reason of an arrival that is not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Kind of the refusal: an event with [`Effect::Refuses`].
    pub outcome: PacketEvent,
    /// Reason: the limit that refused the packet.
    pub reason: DropReason,
}

impl Refusal {
    /// A refusal that drops the packet for `reason`.
    #[must_use]
    pub const fn dropped(reason: DropReason) -> Self {
        Self { outcome: PacketEvent::Dropped, reason }
    }
}

/// An event in a switch, as its [`Observer`] sees it.
#[derive(Clone, Copy, Debug)]
pub enum SwitchEvent<'a> {
    /// A packet has arrived. The policy has not decided yet, and the buffer does not contain the
    /// packet.
    Arriving(&'a Arrival),
    /// The arrival is decided without the policy: by the reserves or limits of a chip, or by a
    /// watchdog.
    Bypassing(&'a Arrival),
    /// A packet is about to be transmitted at this instant; the buffer still contains it.
    Departing(Time),
    /// The arrival was stored; the buffer contains it.
    Stored {
        /// The packet that arrives.
        arrival: &'a Arrival,
        /// Packet number, chosen by the driver.
        id: u32,
    },
    /// The arrival was refused.
    Refused {
        /// The packet that arrives.
        arrival: &'a Arrival,
        /// Packet number, chosen by the driver.
        id: u32,
        /// Outcome and reason of the refusal.
        refusal: Refusal,
    },
    /// A stored packet was removed without being sent; the buffer no longer contains it.
    Evicted {
        /// Time of the eviction.
        now: Time,
        /// Queue of the packet.
        queue: QueueId,
        /// The removed packet.
        stored: &'a Stored,
        /// Reason of the removal.
        reason: DropReason,
    },
    /// A packet has left for transmission; the buffer no longer contains it.
    Departed(&'a Departure),
    /// The sender behind `ingress` must stop (`true`) or may resume.
    PauseChanged {
        /// Time of the pause or resume.
        now: Time,
        /// The ingress queue.
        ingress: IngressId,
        /// Whether the sender must stop.
        paused: bool,
    },
}

/// Receives the events of a switch as they happen. `()` ignores all events.
///
/// All results come from observers, so the simulator, a real switch and the theory checks record
/// the same events. An observer matches the events that it needs.
pub trait Observer {
    /// Handles `event`; `buffer` is in the state right after it.
    fn on(&mut self, event: &SwitchEvent<'_>, buffer: &Buffer);
}

impl Observer for () {
    #[inline(always)] // So that events without an observer are never built.
    fn on(&mut self, _: &SwitchEvent<'_>, _: &Buffer) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_events_is_consistent() {
        for (index, &event) in PacketEvent::ALL.iter().enumerate() {
            assert_eq!(event as usize, index);
            assert_eq!(PacketEvent::NAMES[index], event.name());
            assert_eq!(
                PacketEvent::find(event.name()),
                Some(event),
                "two events are called {}",
                event.name()
            );
            let keeps = matches!(event.effect(), Effect::Stores | Effect::Sends | Effect::Signals);
            assert!(!(keeps && event.is_loss()), "{} loses nothing", event.name());
        }
    }
}
