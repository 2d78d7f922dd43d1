//! Share of one shard of the network in the schedules. See [`crate::shards`].
//!
//! A rank belongs to the shard of its host. A shard starts the nodes of its ranks, and receives the
//! messages for its ranks. All nodes that wait for a node's event without a message are in the
//! shard of the event ([`super::coupling`]). So a shard can decide about its nodes alone. Only the
//! end of an execution depends on all shards: the shards exchange the numbers of ended nodes.

use crate::ids::{HostId, LinkId, Table};
use crate::notes::{Ended, Note};
use crate::world::World;
use crate::world::order::{Order, Rank};
use crate::world::timers::Timer;
use bufferlab_schedule::{NodeId, Work};
use bufferlab_units::Time;
use bufferlab_workload::ScheduleTraffic;

/// Share of one shard in the schedules of a run.
#[derive(Clone, Debug)]
pub(super) struct Share {
    /// Whether this shard writes the results.
    is_first: bool,
    /// Whether each host belongs to this shard.
    hosts: Table<HostId, bool>,
    /// For each host, the link from its switch to the host.
    downlinks: Table<HostId, LinkId>,
    /// Timer that expires now. `None` during a link event.
    timer: Option<Timer>,
    /// Position of the current event in the order of the run.
    order: Order,
    /// Notes since the previous meeting of the threads.
    pub(super) notes: Vec<(Order, Note)>,
    /// Nodes that have ended since the previous meeting of the threads.
    pub(super) ended: Vec<Ended>,
    /// Time of the last end of a node in any shard.
    pub(super) last: Time,
}

impl Share {
    pub(super) fn new(is_first: bool, hosts: Table<HostId, bool>, downlinks: Table<HostId, LinkId>) -> Self {
        Self {
            is_first,
            hosts,
            downlinks,
            timer: None,
            order: Order::ZERO,
            notes: Vec::new(),
            ended: Vec::new(),
            last: Time::ZERO,
        }
    }

    /// Whether this shard writes the results.
    pub(super) fn is_first(&self) -> bool {
        self.is_first
    }

    /// Sets the timer that expires now. `None` if the next event is a link event.
    pub(super) fn set_timer(&mut self, now: Time, timer: Option<Timer>) {
        self.timer = timer;
        if let Some(timer) = timer {
            self.order = self.order.then(now, Rank::Timer(timer));
        }
    }

    /// Sets the current event to the start of flow number `flow` of the open workloads.
    pub(super) fn set_open_flow(&mut self, now: Time, flow: u64) {
        self.order = self.order.then(now, Rank::Flow(flow));
    }

    /// Position of the current event in the order of the run.
    pub(super) fn order(&self) -> Order {
        self.order
    }

    /// Sets the position of the current event, if it is a link event: `host` receives a packet.
    pub(super) fn set_receiver(&mut self, world: &World, host: u32) {
        if self.timer.is_none() {
            let place = world.place_of_delivery(self.downlinks[HostId::new(host)]);
            self.order = self.order.then(world.now(), Rank::Link(place));
        }
    }

    pub(super) fn note(&mut self, note: Note) {
        self.notes.push((self.order, note));
    }

    /// Counts a node of the schedule with the given index that ends now.
    pub(super) fn note_end(&mut self, index: usize, now: Time) {
        match self.ended.iter_mut().find(|ended| ended.index == index) {
            Some(ended) => (ended.nodes, ended.last) = (ended.nodes + 1, now),
            None => self.ended.push(Ended { index, nodes: 1, last: now }),
        }
    }

    /// Whether a node that waits for no other node belongs to this shard.
    pub(super) fn has_root(&self, traffic: &ScheduleTraffic, node: NodeId) -> bool {
        let mut node = node;
        let rank = loop {
            match traffic.schedule.work(node) {
                Work::Transfer(transfer) => break transfer.src,
                Work::Compute { rank, .. } => break rank,
                // All children of a barrier belong to the barrier's shard.
                Work::Barrier => match traffic.schedule.children(node).next() {
                    Some(edge) => node = edge.node,
                    None => return self.is_first(),
                },
            }
        };
        self.hosts[HostId::new(traffic.hosts[rank as usize])]
    }
}
