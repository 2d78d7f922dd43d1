//! Cycles of paused links that wait for each other: the members of each cycle, and the times at
//! which the cycle forms and ends.
//!
//! A paused link waits for another link if packets from the first link are in a queue that the
//! other link's pause blocks. A cycle forms when a pause takes effect, or when a packet from a
//! paused link enters a blocked queue. The module checks both events when they happen. A cycle ends
//! when one of its pauses ends or a watchdog intervenes. No packet leaves the queues of a cycle
//! while all of them are blocked.

use super::{Pfc, Target};
use crate::ids::{LinkId, SwitchId, Table};
use crate::switch::SwitchNode;
use crate::world::link::{End, Link};
use bufferlab_core::IngressId;
use bufferlab_metrics::PauseCycleRow;
use bufferlab_units::Time;

/// A cycle of links that wait for each other now, or waited for each other earlier.
#[derive(Clone, Debug)]
pub(super) struct Cycle {
    priority: u8,
    /// Links of the cycle in the direction of the traffic, starting with the smallest id.
    links: Vec<LinkId>,
    first: Time,
    times: u64,
    /// Time at which the cycle last formed.
    last: Time,
    since: Option<Time>,
    /// Time at which the cycle last ended.
    ended: Time,
    /// Total time for which the cycle existed, up to the time `ended`.
    total: Time,
}

impl Pfc {
    /// Ends the cycles that contain `target`, which no longer blocks packets.
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

/// Read-only view of the network for the search for cycles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PauseView<'a> {
    pub(crate) now: Time,
    pub(crate) links: &'a Table<LinkId, Link>,
    pub(crate) switches: &'a Table<SwitchId, SwitchNode>,
}

impl Pfc {
    /// Searches for a cycle after `node` stored a packet from the first of `ports` for the second
    /// port, whose link is blocked.
    #[cold]
    pub(crate) fn look_for_cycle_through(
        &mut self,
        view: PauseView<'_>,
        node: &SwitchNode,
        ports: (u16, u16),
        priority: u8,
    ) {
        let target = Target { link: self.reverse[node.first_link.at_port(ports.0)], priority };
        if !self.is_held(target.link, priority) {
            return;
        }
        // Only the first packet from a link that waits for another link can form a cycle; later
        // packets cannot.
        let buffer = node.first.core.buffer();
        let ingress = IngressId(buffer.queue_of(ports.0, priority).0);
        let queue = buffer.queue_of(ports.1, priority);
        if buffer.packets(queue).filter(|stored| stored.ingress == ingress).nth(1).is_none() {
            self.look_for_cycle(view, target);
        }
    }

    /// Records a cycle through `target` if such a cycle has just formed.
    pub(crate) fn look_for_cycle(&mut self, view: PauseView<'_>, target: Target) {
        let Some(links) = self.circle_through(view, target) else { return };
        let now = view.now;
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

    /// Finds a cycle of blocked links through `target`, starting with the smallest id.
    /// Each link has packets that wait for the next link.
    fn circle_through(&self, view: PauseView<'_>, target: Target) -> Option<Vec<LinkId>> {
        let mut path = vec![target.link];
        let mut visited = vec![target.link];
        let mut choices = vec![self.waits_for(view, target.link, target.priority)];
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
                    choices.push(self.waits_for(view, next, target.priority));
                }
            }
        }
        None
    }

    /// Blocked links that packets from `link` wait for.
    fn waits_for(&self, view: PauseView<'_>, link: LinkId, priority: u8) -> Vec<LinkId> {
        let End::Switch(switch, ingress_port) = view.links[link].to else { return Vec::new() };
        let node = &view.switches[switch];
        let buffer = node.first.core.buffer();
        let ingress = IngressId(buffer.queue_of(ingress_port, priority).0);
        let waits = |port: &u16| {
            let queue = buffer.queue_of(*port, priority);
            self.is_held(node.first_link.at_port(*port), priority)
                && buffer.packets(queue).any(|stored| stored.ingress == ingress)
        };
        (0..buffer.ports()).filter(waits).map(|port| node.first_link.at_port(port)).collect()
    }

    /// Rows of all cycles at the end of the run, in the order in which they first formed.
    pub(super) fn cycle_rows(&self, view: PauseView<'_>) -> Vec<PauseCycleRow> {
        // If a policy evicted packets, a cycle of paused links may have ended without a check.
        let is_closed = |cycle: &Cycle| {
            let waits = |at: usize| {
                let next = cycle.links[(at + 1) % cycle.links.len()];
                self.waits_for(view, cycle.links[at], cycle.priority).contains(&next)
            };
            cycle.since.is_some() && (0..cycle.links.len()).all(waits)
        };
        let row = |cycle: &Cycle| {
            let lasts = is_closed(cycle);
            let mut cycle = cycle.clone();
            cycle.open(view.now);
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
