//! Order of simultaneous events in the calendar.
//!
//! The fair order of two events depends only on the instant and on their links. So every shard of
//! the network can compute this order alone. The order of insertion needs a count of all
//! transmissions of the network, because the imitated simulators have one event queue.

use super::calendar::Kind;
use crate::ids::LinkId;
use bufferlab_scenario::TieOrder;
use bufferlab_units::mix;
use std::collections::VecDeque;

/// Rule for the order of simultaneous events in the calendar.
#[derive(Clone, Debug)]
pub(crate) struct Ties {
    seed: u64,
    sequences: Option<Box<Sequences>>,
}

/// Count of transmissions. Pending events have the order in which their transmissions started.
#[derive(Clone, Debug)]
struct Sequences {
    next: u64,
    /// Number of the last transmission over every link.
    sent: Vec<u64>,
    /// Numbers of the transmissions whose packets are in flight, by link.
    arriving: Vec<VecDeque<u64>>,
}

impl Ties {
    /// Creates the order for a network that has `links` links.
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

    /// Whether completed transmissions are always handled before deliveries of the same instant.
    pub(crate) fn by_kind(&self) -> bool {
        self.sequences.is_none()
    }

    /// Records that a transmission over a link begins.
    #[inline]
    pub(crate) fn note_transmission(&mut self, link: LinkId) {
        if let Some(sequences) = &mut self.sequences {
            let index = link.0 as usize;
            sequences.next += 1;
            sequences.sent[index] = sequences.next;
            sequences.arriving[index].push_back(sequences.next);
        }
    }

    /// Records that the first packet on a link has arrived.
    #[inline]
    pub(crate) fn note_delivery(&mut self, link: LinkId) {
        if let Some(sequences) = &mut self.sequences {
            sequences.arriving[link.0 as usize].pop_front();
        }
    }

    /// Removes the transmission numbers of all packets on a link except the first packet, because
    /// the other packets are lost.
    pub(crate) fn keep_first(&mut self, link: LinkId) {
        if let Some(sequences) = &mut self.sequences {
            sequences.arriving[link.0 as usize].truncate(1);
        }
    }

    /// Order of the simultaneous events at the time `instant`.
    #[inline]
    pub(crate) fn at(&self, instant: u64) -> Instant<'_> {
        Instant { hash: mix(instant ^ self.seed), sequences: self.sequences.as_deref() }
    }
}

/// Order of the simultaneous events at one instant.
pub(crate) struct Instant<'a> {
    hash: u64,
    sequences: Option<&'a Sequences>,
}

impl Instant<'_> {
    /// Rank of an event: the event with the smaller rank is handled first,
    /// and no two events of a kind have equal ranks.
    ///
    /// In the fair order, the rank is a hash, which is a bijection of the link's number. In the
    /// order of insertion, the rank is the start of the packet's transmission, and the end of a
    /// transmission is before the arrival. Simulators with one event queue schedule both events at
    /// the start of a transmission and handle simultaneous events in the order of insertion.
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
