//! Flow control in a shard of the network. See [`crate::shards`].
//!
//! A pause is demanded at one end of a link and obeyed at the other end. So each end of a link has
//! its own fields of [`PauseState`]. Only the shard that contains an end changes the fields of this
//! end. A pause frame reaches another shard as a timer
//! ([`World::set_far_timer`](crate::world::World::set_far_timer)).
//!
//! Shards learn the end of the run late, but pause timers also expire in an empty network: frames
//! are repeated, pauses expire, storms end. So a shard keeps a journal of an interval's changes,
//! and undoes the changes that a run on one thread would not reach.

use super::watchdog::Storm;
use super::{PauseState, Pfc, Target};
use crate::ids::{LinkId, ShardId, Table};
use crate::shards::{Partition, Shard};
use crate::world::link::Link;
use crate::world::timers::{Moment, PauseTimer};
use bufferlab_metrics::{PauseSpanRow, WatchdogRow};
use std::vec::Drain;

/// Changes of flow control, in the order of time.
#[derive(Clone, Debug, Default)]
pub(super) struct Journal {
    /// Moments at which timers expired, each with the number of changes before that moment.
    marks: Vec<(Moment, usize)>,
    changes: Vec<Change>,
}

#[derive(Clone, Debug)]
enum Change {
    /// Index of a pause state, and the state before its change.
    State(usize, PauseState),
    /// Index of a watchdog, and the watchdog's storm before its change.
    Storm(usize, Option<Box<Storm>>),
}

impl Journal {
    #[cold]
    pub(super) fn note_state(&mut self, at: usize, state: PauseState) {
        self.changes.push(Change::State(at, state));
    }
}

impl Pfc {
    /// Restricts flow control to one shard of the network.
    pub(crate) fn become_shard(&mut self) {
        self.journal = Some(Box::default());
    }

    /// Whether a pause timer that exists in every shard belongs to `shard`.
    pub(crate) fn is_in(&self, shard: &Shard, timer: PauseTimer) -> bool {
        match timer {
            PauseTimer::Watchdog(switch) => shard.has_switch(switch),
            PauseTimer::Storm(storm) => shard.has_host(self.storms[storm].host),
            // All other pause timers exist only in the shard that needs them.
            _ => true,
        }
    }

    /// Marks the position in the journal at which a timer expires.
    pub(crate) fn note_timer(&mut self, moment: Moment) {
        let Some(journal) = &mut self.journal else { return };
        let changes = journal.changes.len();
        journal.marks.push((moment, changes));
    }

    /// Records the storm of `target` before the storm changes.
    pub(super) fn note_storm(&mut self, target: Target) {
        let at = self.at(target);
        if let Some(journal) = &mut self.journal {
            journal.changes.push(Change::Storm(at, self.watches[at].storm.clone().map(Box::new)));
        }
    }

    /// Undoes the changes of timers that expired after `end`.
    pub(crate) fn undo_after(&mut self, end: Moment) {
        let Some(journal) = &mut self.journal else { return };
        let late = journal.marks.partition_point(|(moment, _)| *moment <= end);
        // No packet is left after the end of the run, so all later changes are changes of timers.
        let Some(&(_, first)) = journal.marks.get(late) else { return };
        for change in journal.changes.drain(first..).rev() {
            match change {
                Change::State(at, state) => self.states[at] = state,
                Change::Storm(at, storm) => self.watches[at].storm = storm.map(|storm| *storm),
            }
        }
        journal.marks.truncate(late);
    }

    /// Removes all changes from the journal. The shard can then no longer undo these changes.
    pub(crate) fn clear_journal(&mut self) {
        if let Some(journal) = &mut self.journal {
            journal.marks.clear();
            journal.changes.clear();
        }
    }

    /// Removes and returns the rows of pauses and storms that have ended since the previous call.
    pub(crate) fn take_rows(&mut self) -> (Drain<'_, PauseSpanRow>, Drain<'_, WatchdogRow>) {
        (self.spans.drain(..), self.storm_rows.drain(..))
    }

    /// Adopts the pause states at the ends of links that are in shard `part`.
    pub(crate) fn adopt(
        &mut self,
        (part, partition): (ShardId, &Partition),
        links: &Table<LinkId, Link>,
        other: &mut Self,
    ) {
        for (id, link) in links.entries() {
            for target in self.targets(id) {
                let at = self.at(target);
                if partition.part(link.from) == part {
                    self.states[at].adopt_sender(&other.states[at]);
                    if !self.watches.is_empty() {
                        std::mem::swap(&mut self.watches[at], &mut other.watches[at]);
                    }
                }
                if partition.part(link.to) == part {
                    self.states[at].adopt_receiver(&other.states[at]);
                }
            }
        }
    }
}

impl PauseState {
    /// Adopts the fields of the pause state that the sender of the link changes.
    fn adopt_sender(&mut self, other: &Self) {
        let receiver = *self;
        *self = *other;
        self.adopt_receiver(&receiver);
    }

    /// Adopts the fields of the pause state that the receiver of the link changes. The duration of
    /// pauses and the generation of the link are known at both ends of the link.
    fn adopt_receiver(&mut self, other: &Self) {
        let &Self { demanded, demanded_total, told, repeat, sent_pauses, sent_resumes, .. } = other;
        let &Self { duration, lost_packets, refresh, .. } = other;
        *self = Self {
            demanded,
            demanded_total,
            told,
            repeat,
            sent_pauses,
            sent_resumes,
            duration,
            lost_packets,
            refresh,
            ..*self
        };
    }
}
