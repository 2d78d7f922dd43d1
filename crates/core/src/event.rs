//! Table of the actions of a switch on packets, and the events that observers see.

use crate::buffer::{Buffer, IngressId, QueueId, Stored};
use crate::policy::{Arrival, Departure, DropReason};
use bufferlab_units::Time;

/// The effect of an event on the content of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The switch stores an arriving packet.
    Stores,
    /// The switch refuses an arriving packet, so the content does not change.
    Refuses,
    /// The switch evicts a stored packet, that is, removes the packet without sending it.
    Removes,
    /// The switch removes a stored packet from its queue and sends the packet.
    Sends,
    /// The switch changes a packet, but not the content of the buffer.
    Marks,
    /// The switch stops or releases the sender behind an ingress queue.
    Signals,
}

macro_rules! packet_events {
    ($($(#[doc = $doc:literal])+ $variant:ident {
        name: $name:literal, verb: $verb:literal, effect: $effect:ident, is_loss: $is_loss:literal, colour: $colour:expr,
    })+) => {
        /// An event of a packet in the buffer of a switch. Result tables, pages, captures and
        /// Python read the data of each event from this enum.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum PacketEvent {
            #[default]
            $($(#[doc = $doc])+ $variant,)+
        }

        impl PacketEvent {
            /// All packet events, in the order of their discriminants.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];
            /// Names of all packet events, in the order of [`Self::ALL`].
            pub const NAMES: &'static [&'static str] = &[$($name,)+];

            /// Name of the event in tables, records, captures and pages.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Verb for the action that causes the event, such as `drop` in Python's
            /// `Verdict.drop`.
            #[must_use]
            pub const fn verb(self) -> &'static str {
                match self { $(Self::$variant => $verb,)+ }
            }

            /// Effect of the event on the content of the buffer.
            #[must_use]
            pub const fn effect(self) -> Effect {
                match self { $(Self::$variant => Effect::$effect,)+ }
            }

            /// Whether the event is the loss of a packet.
            #[must_use]
            pub const fn is_loss(self) -> bool {
                match self { $(Self::$variant => $is_loss,)+ }
            }

            /// Number of the colour in which pages draw the event. `None` if pages do not draw the
            /// event.
            #[must_use]
            pub const fn colour(self) -> Option<u8> {
                match self { $(Self::$variant => $colour,)+ }
            }
        }
    };
}

packet_events! {
    /// The switch stored the packet.
    Admitted { name: "admitted", verb: "admit", effect: Stores, is_loss: false, colour: None, }
    /// The switch refused the packet on arrival.
    Dropped { name: "dropped", verb: "drop", effect: Refuses, is_loss: true, colour: Some(1), }
    /// The switch removed the packet after it had stored it.
    Evicted { name: "evicted", verb: "evict", effect: Removes, is_loss: true, colour: Some(3), }
    /// The packet got a congestion mark in this switch.
    Marked { name: "marked", verb: "mark", effect: Marks, is_loss: false, colour: Some(2), }
    /// The transmission of the packet began.
    Departed { name: "departed", verb: "send", effect: Sends, is_loss: false, colour: None, }
    /// The switch wants the sender behind an ingress queue to stop.
    Paused { name: "paused", verb: "pause", effect: Signals, is_loss: false, colour: Some(0), }
    /// The switch lets the sender behind an ingress queue send again.
    Resumed { name: "resumed", verb: "resume", effect: Signals, is_loss: false, colour: None, }
}

impl PacketEvent {
    /// The packet event called `name`.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|event| event.name() == name)
    }

    /// Whether the event is the outcome of an arrival: the switch stores or refuses the packet.
    #[must_use]
    pub const fn is_arrival(self) -> bool {
        matches!(self.effect(), Effect::Stores | Effect::Refuses)
    }

    /// Whether the event is the refusal of an arriving packet.
    #[must_use]
    pub const fn is_refusal(self) -> bool {
        matches!(self.effect(), Effect::Refuses)
    }

    /// Whether the event removes a stored packet from the buffer, sent or not.
    #[must_use]
    pub const fn leaves(self) -> bool {
        matches!(self.effect(), Effect::Removes | Effect::Sends)
    }

    /// Whether the event concerns the sender behind an ingress queue.
    #[must_use]
    pub const fn is_pause(self) -> bool {
        matches!(self.effect(), Effect::Signals)
    }

    /// Change of the buffer's content by the event for a packet of `size` bytes (bytes).
    #[must_use]
    pub const fn change(self, size: u32) -> i64 {
        match self.effect() {
            Effect::Stores => size as i64,
            Effect::Removes | Effect::Sends => -(size as i64),
            Effect::Refuses | Effect::Marks | Effect::Signals => 0,
        }
    }
}

/// Refusal of an arriving packet: its outcome and its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Event of the refused packet. The event has the effect [`Effect::Refuses`].
    pub outcome: PacketEvent,
    /// Reason of the refusal: the limit that the packet exceeded.
    pub reason: DropReason,
}

impl Refusal {
    /// A refusal that drops the arriving packet for `reason`.
    #[must_use]
    pub const fn dropped(reason: DropReason) -> Self {
        Self { outcome: PacketEvent::Dropped, reason }
    }
}

/// An event in a switch, as the switch reports it to an [`Observer`].
#[derive(Clone, Copy, Debug)]
pub enum SwitchEvent<'a> {
    /// A packet has arrived. The policy has not decided yet, and the buffer does not contain the
    /// packet.
    Arriving(&'a Arrival),
    /// The switch decides about the arrival without asking its policy, because of a reserve, a
    /// limit of the chip or a watchdog.
    Bypassing(&'a Arrival),
    /// The switch is about to send a packet at the given time. The buffer still contains the
    /// packet.
    Departing(Time),
    /// The switch stored the arriving packet, so the buffer contains it.
    Stored {
        /// The packet that the switch stored.
        arrival: &'a Arrival,
        /// Number of the packet, chosen by the driver.
        id: u32,
    },
    /// The switch refused the arriving packet.
    Refused {
        /// The packet that the switch refused.
        arrival: &'a Arrival,
        /// Number of the packet, chosen by the driver.
        id: u32,
        /// Event and reason of the packet's refusal.
        refusal: Refusal,
    },
    /// The switch removed a stored packet without sending it. The buffer no longer contains the
    /// packet.
    Evicted {
        /// Time at which the switch evicted the packet.
        now: Time,
        /// Queue of the evicted packet.
        queue: QueueId,
        /// The evicted packet.
        stored: &'a Stored,
        /// Reason of the eviction.
        reason: DropReason,
    },
    /// The switch began to send a packet. The buffer no longer contains the packet.
    Departed(&'a Departure),
    /// The sender behind `ingress` must stop (`true`) or may resume.
    PauseChanged {
        /// Time at which the sender must stop or may resume.
        now: Time,
        /// Ingress queue whose sender must stop or may resume.
        ingress: IngressId,
        /// Whether the sender behind the ingress queue must stop sending.
        paused: bool,
    },
}

/// Receives the events of a switch as they happen. `()` ignores all events.
///
/// All results come from observers, so the simulator, a real switch and the theory checks record
/// the same events. An observer handles the events that it needs and ignores the rest.
pub trait Observer {
    /// Handles `event`. `buffer` is in the state right after the event.
    fn on(&mut self, event: &SwitchEvent<'_>, buffer: &Buffer);
}

impl Observer for () {
    #[inline(always)] // Inlined, so that events without an observer are never built.
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
