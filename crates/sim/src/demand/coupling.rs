//! Groups of hosts whose ranks depend on each other without a message through the network.
//!
//! A message takes at least the delay of a cable, and all other dependencies take effect at once.
//! So all hosts of a group must be in one shard of the network.

use super::schedules::Schedules;
use crate::ids::FlowSlot;
use bufferlab_schedule::{Condition, NodeId, Work};
use bufferlab_workload::ScheduleTraffic;

/// Sets of items that are merged step by step. Each set has its smallest item as its name.
#[derive(Clone, Debug)]
struct Sets(Vec<u32>);

impl Sets {
    fn new(items: usize) -> Self {
        Self((0..items as u32).collect())
    }

    fn name(&mut self, item: u32) -> u32 {
        let mut item = item;
        while self.0[item as usize] != item {
            let parent = self.0[item as usize];
            self.0[item as usize] = self.0[parent as usize];
            item = parent;
        }
        item
    }

    fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.name(one), self.name(other));
        self.0[one.max(other) as usize] = one.min(other);
    }
}

impl Schedules {
    /// For each of `hosts` hosts, the first host of its group.
    pub(crate) fn groups(&self, hosts: usize) -> Vec<u32> {
        let mut groups = Sets::new(hosts);
        for traffic in self.traffic() {
            join_hosts(&mut groups, traffic, hosts as u32);
        }
        (0..hosts as u32).map(|host| groups.name(host)).collect()
    }
}

impl Schedules {
    /// Whether every host has its own slots for flows, so that several threads can run the network.
    /// Hosts then have equally many slots. So no host may send far more messages at once than the
    /// mean of the hosts, and no host may need more slots than it has.
    pub(crate) fn have_slots_by_host(&self, hosts: usize) -> bool {
        /// Number of slots that every host needs for other flows.
        const SPARE: usize = 256;
        if !self.exist() || hosts == 0 {
            return false;
        }
        let mut widths = vec![0; hosts];
        for traffic in self.traffic() {
            add_widths(&mut widths, traffic);
        }
        let (most, sum) = (widths.iter().max().copied().unwrap_or(0), widths.iter().sum::<usize>());
        SPARE.max(4 * most) * hosts <= FlowSlot::COUNT && most * hosts <= 65_536_usize.max(16 * sum)
    }
}

/// Adds to `widths`, for every host, the largest number of messages at one depth of the graph: an
/// estimate of the number of messages that the host sends at once.
fn add_widths(widths: &mut [usize], traffic: &ScheduleTraffic) {
    let mut now = vec![0_usize; widths.len()];
    let mut most = now.clone();
    traffic.schedule.for_each_level(|nodes| {
        for &node in nodes {
            if let Work::Transfer(transfer) = traffic.schedule.work(node) {
                let host = traffic.hosts[transfer.src as usize] as usize;
                now[host] += 1;
                most[host] = most[host].max(now[host]);
            }
        }
        for &node in nodes {
            if let Work::Transfer(transfer) = traffic.schedule.work(node) {
                now[traffic.hosts[transfer.src as usize] as usize] = 0;
            }
        }
    });
    widths.iter_mut().zip(most).for_each(|(width, most)| *width += most);
}

/// Joins the hosts of ranks that `traffic` couples.
fn join_hosts(groups: &mut Sets, traffic: &ScheduleTraffic, hosts: u32) {
    let schedule = &traffic.schedule;
    let host = |rank: u32| traffic.hosts[rank as usize];
    // The hosts, followed by the schedule's nodes. Only barriers have no host.
    let mut sets = Sets::new(hosts as usize + schedule.len());
    for node in schedule.nodes() {
        let (starts, ends) = match schedule.work(node) {
            Work::Transfer(transfer) => (host(transfer.src), host(transfer.dst)),
            Work::Compute { rank, .. } => (host(rank), host(rank)),
            Work::Barrier => (hosts + node.0, hosts + node.0),
        };
        if let (Work::Transfer(transfer), Some(inside)) = (schedule.work(node), traffic.scale_up)
            && transfer.src / inside.ranks_per_server == transfer.dst / inside.ranks_per_server
        {
            sets.join(starts, ends);
        }
        for edge in schedule.children(node) {
            let event = if edge.condition == Condition::Finished { ends } else { starts };
            sets.join(event, place_of(traffic, hosts, edge.node));
        }
    }
    for host in 0..hosts {
        groups.join(host, sets.name(host));
    }
}

/// Host that starts a node, or the item of a barrier.
fn place_of(traffic: &ScheduleTraffic, hosts: u32, node: NodeId) -> u32 {
    match traffic.schedule.work(node) {
        Work::Transfer(transfer) => traffic.hosts[transfer.src as usize],
        Work::Compute { rank, .. } => traffic.hosts[rank as usize],
        Work::Barrier => hosts + node.0,
    }
}
