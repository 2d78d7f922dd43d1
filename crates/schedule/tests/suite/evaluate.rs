//! Executes a schedule independently of the simulator: list scheduling on an unloaded network
//! that never blocks.
//!
//! Every rank sends its transfers one at a time, in the order in which the transfers become ready.
//! The rank receives transfers one at a time, in the order of their first bytes. A rank has one
//! network card inside its server, and one between servers.

use bufferlab_schedule::{Condition, Network, Networks, NodeId, Schedule, Transfer, Work};
use bufferlab_units::Time;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Kinds of events. Events of one instant are handled in the order of this list.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Finished,
    Sent,
    Ready,
    FirstByte,
}

struct Executor<'a> {
    schedule: &'a Schedule,
    networks: Networks,
    ranks_per_server: u32,
    events: BinaryHeap<Reverse<(Time, Event, NodeId)>>,
    waits: Vec<u32>,
    ready: Vec<Time>,
    /// Time at which each network card (rank, level, direction) and each processor (rank, lane)
    /// becomes free.
    free: BTreeMap<(u32, u8, u8), Time>,
    finished: usize,
}

/// Returns the time at which the last node of the schedule finishes.
pub(crate) fn evaluate(schedule: &Schedule, networks: Networks, ranks_per_server: u32) -> Time {
    let waits = schedule.nodes().map(|node| schedule.waits(node)).collect();
    let ready = schedule.nodes().map(|node| schedule.start(node)).collect();
    let mut executor = Executor {
        schedule,
        networks,
        ranks_per_server,
        events: BinaryHeap::new(),
        waits,
        ready,
        free: BTreeMap::new(),
        finished: 0,
    };
    for node in schedule.nodes().filter(|node| schedule.waits(*node) == 0) {
        executor.events.push(Reverse((schedule.start(node), Event::Ready, node)));
    }
    let mut end = Time::ZERO;
    while let Some(Reverse((time, event, node))) = executor.events.pop() {
        executor.handle(time, event, node);
        end = time;
    }
    assert_eq!(executor.finished, schedule.len(), "every node finishes");
    end
}

impl Executor<'_> {
    fn handle(&mut self, now: Time, event: Event, node: NodeId) {
        let work = self.schedule.work(node);
        match (event, work) {
            (Event::Ready, Work::Transfer(transfer)) => {
                let (level, network) = self.level(transfer);
                let start =
                    self.occupy((transfer.src, level, 0), now, network.rate.serialization(transfer.bytes));
                self.release(node, Condition::Started, start);
                let length = network.rate.serialization(transfer.bytes);
                self.events.push(Reverse((Time(start.0 + length.0), Event::Sent, node)));
                self.events.push(Reverse((Time(start.0 + network.latency.0), Event::FirstByte, node)));
            }
            (Event::FirstByte, Work::Transfer(transfer)) => {
                let (level, network) = self.level(transfer);
                let length = network.rate.serialization(transfer.bytes);
                let start = self.occupy((transfer.dst, level, 1), now, length);
                self.events.push(Reverse((Time(start.0 + length.0), Event::Finished, node)));
            }
            (Event::Sent, _) => self.release(node, Condition::Sent, now),
            (Event::Ready, Work::Compute { rank, lane, duration }) => {
                let start = self.occupy((rank, lane, 2), now, duration);
                self.release(node, Condition::Started, start);
                self.events.push(Reverse((Time(start.0 + duration.0), Event::Finished, node)));
            }
            (Event::Ready, Work::Barrier) => {
                self.release(node, Condition::Started, now);
                self.events.push(Reverse((now, Event::Finished, node)));
            }
            _ => {
                self.finished += 1;
                self.release(node, Condition::Finished, now);
            }
        }
    }

    /// Level of a transfer (0 inside a server, 1 between servers), and the level's network.
    fn level(&self, transfer: Transfer) -> (u8, Network) {
        let is_inside = transfer.src / self.ranks_per_server == transfer.dst / self.ranks_per_server;
        if is_inside { (0, self.networks.inside) } else { (1, self.networks.across) }
    }

    /// Occupies a network card or processor for `length`, from the earliest free time; returns the
    /// start time.
    fn occupy(&mut self, what: (u32, u8, u8), now: Time, length: Time) -> Time {
        let free = self.free.entry(what).or_insert(Time::ZERO);
        let start = now.max(*free);
        *free = Time(start.0 + length.0);
        start
    }

    fn release(&mut self, parent: NodeId, condition: Condition, now: Time) {
        let children: Vec<_> =
            self.schedule.children(parent).filter(|edge| edge.condition == condition).collect();
        for edge in children {
            let child = edge.node.index();
            self.ready[child] = self.ready[child].max(Time(now.0 + edge.delay.0));
            self.waits[child] -= 1;
            if self.waits[child] == 0 {
                self.events.push(Reverse((self.ready[child], Event::Ready, edge.node)));
            }
        }
    }
}
