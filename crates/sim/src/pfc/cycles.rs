//! Circles of paused links that wait for each other: when they close, when they open, who is in
//! them.
//!
//! A paused link waits for another if packets that came over it are in a queue that the other's
//! pause holds. A circle closes with a pause that takes effect, or with a packet that comes over a
//! paused link into a held queue; both are looked at when they happen. It opens when one of its
//! pauses ends, or a watchdog intervenes: as long as all its queues are held no packet leaves them.

use super::{Pfc, Target};
use crate::ids::{LinkId, SwitchId, Table};
use crate::switch::SwitchNode;
use crate::world::link::{End, Link};
use bufferlab_core::IngressId;
use bufferlab_metrics::PauseCycleRow;
use bufferlab_units::Time;

/// Links that wait for each other, or did.
#[derive(Clone, Debug)]
pub(super) struct Cycle {
    priority: u8,
    /// In the direction of the traffic; the first is the smallest.
    links: Vec<LinkId>,
    first: Time,
    times: u64,
    /// When it closed last; it is closed since then.
    last: Time,
    since: Option<Time>,
    /// When it opened last.
    ended: Time,
    /// How long it was closed, up to `ended`.
    total: Time,
}

impl Pfc {
    /// `target` holds nothing any more: circles that it was in are open.
    pub(super) fn open_cycles(&mut self, target: Target, now: Time) {
        for cycle in self.cycles.iter_mut().filter(|cycle| cycle.priority == target.priority) {
            if cycle.since.is_some() && cycle.links.contains(&target.link) {
                cycle.open(now);
            }
        }
    }
}

impl Cycle {
    fn open(&mut self, now: Time) {
        if let Some(since) = self.since.take() {
            self.total += now - since;
            self.ended = now;
        }
    }
}

/// What a search for circles sees of the network, of which it changes nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sight<'a> {
    pub(crate) now: Time,
    pub(crate) links: &'a Table<LinkId, Link>,
    pub(crate) switches: &'a Table<SwitchId, SwitchNode>,
}

impl Pfc {
    /// A packet that came through the first of `ports` of `node` was stored for the second, whose
    /// link is held.
    #[cold]
    pub(crate) fn look_for_cycle_through(
        &mut self,
        sight: Sight<'_>,
        node: &SwitchNode,
        ports: (u16, u16),
        priority: u8,
    ) {
        let target = Target { link: self.reverse[node.first_link.at_port(ports.0)], priority };
        if !self.is_held(target.link, priority) {
            return;
        }
        // The second packet of a link that waits for another closes nothing that the first has not
        // closed.
        let buffer = node.first.core.buffer();
        let ingress = IngressId(buffer.queue_of(ports.0, priority).0);
        let queue = buffer.queue_of(ports.1, priority);
        if buffer.packets(queue).filter(|stored| stored.ingress == ingress).nth(1).is_none() {
            self.look_for_cycle(sight, target);
        }
    }

    /// Notes a circle through `target` that has closed just now, if there is one.
    pub(crate) fn look_for_cycle(&mut self, sight: Sight<'_>, target: Target) {
        let Some(links) = self.circle_through(sight, target) else { return };
        let now = sight.now;
        let priority = target.priority;
        match self.cycles.iter_mut().find(|cycle| cycle.links == links && cycle.priority == priority) {
            Some(cycle) if cycle.since.is_some() => {}
            Some(cycle) => {
                (cycle.last, cycle.since) = (now, Some(now));
                cycle.times += 1;
            }
            None => self.cycles.push(Cycle {
                priority,
                links,
                first: now,
                times: 1,
                last: now,
                since: Some(now),
                ended: now,
                total: Time::ZERO,
            }),
        }
    }

    /// A circle of held links through `target`, each with packets that wait for the next, smallest
    /// link first.
    fn circle_through(&self, sight: Sight<'_>, target: Target) -> Option<Vec<LinkId>> {
        let mut path = vec![target.link];
        let mut visited = vec![target.link];
        let mut choices = vec![self.waits_for(sight, target.link, target.priority)];
        while let Some(open) = choices.last_mut() {
            match open.pop() {
                None => {
                    choices.pop();
                    path.pop();
                }
                Some(next) if next == target.link => {
                    let smallest = (0..path.len()).min_by_key(|&at| path[at]).expect("not empty");
                    path.rotate_left(smallest);
                    return Some(path);
                }
                Some(next) if visited.contains(&next) => {}
                Some(next) => {
                    visited.push(next);
                    path.push(next);
                    choices.push(self.waits_for(sight, next, target.priority));
                }
            }
        }
        None
    }

    /// The held links that packets wait for which came over `link`.
    fn waits_for(&self, sight: Sight<'_>, link: LinkId, priority: u8) -> Vec<LinkId> {
        let End::Switch(switch, ingress_port) = sight.links[link].to else { return Vec::new() };
        let node = &sight.switches[switch];
        let buffer = node.first.core.buffer();
        let ingress = IngressId(buffer.queue_of(ingress_port, priority).0);
        let waits = |port: &u16| {
            let queue = buffer.queue_of(*port, priority);
            self.is_held(node.first_link.at_port(*port), priority)
                && buffer.packets(queue).any(|stored| stored.ingress == ingress)
        };
        (0..buffer.ports()).filter(waits).map(|port| node.first_link.at_port(port)).collect()
    }

    /// Rows of all circles, in the order in which they closed for the first time, at the end of the
    /// run.
    pub(super) fn cycle_rows(&self, sight: Sight<'_>) -> Vec<PauseCycleRow> {
        // A packet that a policy evicted may have opened a circle unseen.
        let is_closed = |cycle: &Cycle| {
            let waits = |at: usize| {
                let next = cycle.links[(at + 1) % cycle.links.len()];
                self.waits_for(sight, cycle.links[at], cycle.priority).contains(&next)
            };
            cycle.since.is_some() && (0..cycle.links.len()).all(waits)
        };
        let row = |cycle: &Cycle| {
            let lasts = is_closed(cycle);
            let mut cycle = cycle.clone();
            cycle.open(sight.now);
            PauseCycleRow {
                time_ns: cycle.first.as_ns(),
                priority: cycle.priority,
                members: cycle.links.iter().map(|&link| self.names[link].sender.clone()).collect(),
                times: cycle.times,
                last_ns: cycle.last.as_ns(),
                total_ns: cycle.total.as_ns(),
                ended_ns: (!lasts).then_some(cycle.ended.as_ns()),
            }
        };
        self.cycles.iter().map(row).collect()
    }
}
