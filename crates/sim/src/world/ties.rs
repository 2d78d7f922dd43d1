//! Which of several events of one instant goes first.
//!
//! The fair order of two events is a function of the instant and of their links alone: who sends
//! over a link knows it, whatever happens elsewhere. The order of insertion is a count of all
//! transmissions of the network, because the simulators that it imitates have one event queue.

use super::calendar::Kind;
use crate::ids::LinkId;
use bufferlab_scenario::TieOrder;
use bufferlab_units::mix;
use std::collections::VecDeque;

/// The order of simultaneous events.
#[derive(Debug)]
pub(crate) struct Ties {
    seed: u64,
    sequences: Option<Box<Sequences>>,
}

/// When the transmissions began that pending events belong to: a count.
#[derive(Debug)]
struct Sequences {
    next: u64,
    /// The last transmission of every link.
    sent: Vec<u64>,
    /// Transmissions whose packets are on their way, by link.
    arriving: Vec<VecDeque<u64>>,
}

impl Ties {
    /// Of a network with so many links.
    pub(crate) fn new(order: TieOrder, seed: u64, links: usize) -> Self {
        let sequences = match order {
            TieOrder::Fair => None,
            TieOrder::Insertion => Some(Box::new(Sequences {
                next: 0,
                sent: vec![0; links],
                arriving: vec![VecDeque::new(); links],
            })),
        };
        Self { seed: mix(seed ^ 0x7469_6573), sequences }
    }

    /// Whether completed transmissions go before deliveries of the same instant, whatever came
    /// first.
    pub(crate) fn by_kind(&self) -> bool {
        self.sequences.is_none()
    }

    /// A transmission begins.
    #[inline]
    pub(crate) fn note_transmission(&mut self, link: LinkId) {
        if let Some(sequences) = &mut self.sequences {
            let index = link.0 as usize;
            sequences.next += 1;
            sequences.sent[index] = sequences.next;
            sequences.arriving[index].push_back(sequences.next);
        }
    }

    /// The first packet on a link has arrived.
    #[inline]
    pub(crate) fn note_delivery(&mut self, link: LinkId) {
        if let Some(sequences) = &mut self.sequences {
            sequences.arriving[link.0 as usize].pop_front();
        }
    }

    /// All packets on a link but the first are lost.
    pub(crate) fn keep_first(&mut self, link: LinkId) {
        if let Some(sequences) = &mut self.sequences {
            sequences.arriving[link.0 as usize].truncate(1);
        }
    }

    /// The order of events at one instant, of which this is the number.
    #[inline]
    pub(crate) fn at(&self, instant: u64) -> Instant<'_> {
        Instant { hash: mix(instant ^ self.seed), sequences: self.sequences.as_deref() }
    }
}

/// The order of events at one instant.
pub(crate) struct Instant<'a> {
    hash: u64,
    sequences: Option<&'a Sequences>,
}

impl Instant<'_> {
    /// Of two events the one with the smaller rank goes first; no two of a kind have the same.
    ///
    /// Fair: a hash, which is a bijection of the link's number. By insertion: when the packet's
    /// transmission began, and its end before its arrival, as a simulator schedules them that has
    /// one event queue and takes events of one instant in the order in which they were inserted.
    #[inline]
    pub(crate) fn rank(&self, kind: Kind, link: LinkId) -> u64 {
        match &self.sequences {
            None => mix(self.hash ^ u64::from(link.0)),
            Some(sequences) => match kind {
                Kind::TransmissionComplete => 2 * sequences.sent[link.0 as usize],
                Kind::Delivery => 2 * sequences.arriving[link.0 as usize].front().unwrap_or(&0) + 1,
            },
        }
    }
}
