//! A checked schedule in a compact form in memory.

use crate::node::PackedEdge;
use crate::{Condition, Edge, NodeId, ScheduledCollective, Work};
use bufferlab_units::Time;
use std::collections::BTreeMap;

/// A graph of transfers, computations and barriers without cycles.
///
/// Nodes are numbered from 0. The children of a node are contiguous in memory. So a driver that
/// finishes a node visits the node's children in one pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    pub(crate) ranks: u32,
    pub(crate) works: Vec<Work>,
    pub(crate) starts: Vec<Time>,
    pub(crate) names: Names,
    pub(crate) classes: Vec<String>,
    pub(crate) collectives: Vec<ScheduledCollective>,
    /// First node of each sequence of successive nodes that belong to one collective or to none,
    /// and the index of this collective.
    pub(crate) runs: Vec<(u32, Option<u32>)>,
    pub(crate) delays: Vec<Time>,
    /// Index of the first child edge of every node, followed by the number of all edges.
    pub(crate) first: Vec<u32>,
    pub(crate) children: Vec<PackedEdge>,
    /// Number of parent edges of every node.
    pub(crate) waits: Vec<u32>,
}

impl Schedule {
    /// Number of ranks of the schedule.
    #[must_use]
    pub const fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Number of nodes of the schedule.
    #[must_use]
    pub fn len(&self) -> usize {
        self.works.len()
    }

    /// Whether the schedule has no nodes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.works.is_empty()
    }

    /// Number of edges of the schedule.
    #[must_use]
    pub fn edges(&self) -> usize {
        self.children.len()
    }

    /// Numbers of all nodes of the schedule.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.works.len() as u32).map(NodeId)
    }

    /// Work that the given node represents: a transfer, a computation or a barrier.
    ///
    /// # Panics
    /// If the schedule has no such node. The other methods with a node as argument panic in this
    /// case, too.
    #[must_use]
    pub fn work(&self, node: NodeId) -> Work {
        self.works[node.index()]
    }

    /// Earliest time at which the given node may start, even if its parents allow an earlier start.
    #[must_use]
    pub fn start(&self, node: NodeId) -> Time {
        self.starts[node.index()]
    }

    /// Number of edges for which `node` waits.
    #[must_use]
    pub fn waits(&self, node: NodeId) -> u32 {
        self.waits[node.index()]
    }

    /// Edges to the nodes that wait for `node`.
    pub fn children(&self, node: NodeId) -> impl Iterator<Item = Edge> + '_ {
        self.packed_children(node.0).iter().map(|edge| edge.unpack(&self.delays))
    }

    /// Finds the parents of all nodes in one pass over the edges.
    #[must_use]
    pub fn parents(&self) -> Parents<'_> {
        let mut first = vec![0_u32; self.works.len() + 1];
        for (node, waits) in self.waits.iter().enumerate() {
            first[node + 1] = first[node] + waits;
        }
        let mut next = first.clone();
        let mut edges = vec![PackedEdge::new(0, Condition::Started, 0); self.children.len()];
        for parent in 0..self.works.len() as u32 {
            for edge in self.packed_children(parent) {
                let place = &mut next[edge.node as usize];
                edges[*place as usize] = edge.with_node(parent);
                *place += 1;
            }
        }
        Parents { first, edges, delays: &self.delays }
    }

    /// Name of a node: the given name, or else the number of the node.
    #[must_use]
    pub fn name(&self, node: NodeId) -> String {
        self.names.get(node.0)
    }

    /// Names of the traffic classes of transfers.
    #[must_use]
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// Collectives of the schedule, to which its nodes belong.
    #[must_use]
    pub fn collectives(&self) -> &[ScheduledCollective] {
        &self.collectives
    }

    /// Index in [`Self::collectives`] of the collective to which a node belongs, if any.
    #[must_use]
    pub fn collective(&self, node: NodeId) -> Option<u32> {
        let run = self.runs.partition_point(|(first, _)| *first <= node.0);
        run.checked_sub(1).and_then(|run| self.runs[run].1)
    }

    /// Number of nodes on the longest chain of dependencies, without barriers.
    #[must_use]
    pub fn depth(&self) -> u32 {
        let weight = |node: usize| u64::from(self.works[node] != Work::Barrier);
        u32::try_from(self.longest(weight, |_| 0)).unwrap_or(u32::MAX)
    }

    /// Time of the longest chain of dependencies, with `duration` for each node, and with the
    /// delays of the edges and the earliest starts. The computation assumes that every node waits
    /// for the end of its parents.
    #[must_use]
    pub fn longest_path(&self, duration: impl Fn(Work) -> Time) -> Time {
        let weight = |node: usize| duration(self.works[node]).0;
        let latest = self.starts.iter().max().copied().unwrap_or(Time::ZERO);
        latest.max(Time(self.longest(weight, |edge| edge.unpack(&self.delays).delay.0)))
    }

    /// Largest sum of weights over the nodes and edges of a chain of dependencies.
    fn longest(&self, weight: impl Fn(usize) -> u64, gap: impl Fn(&PackedEdge) -> u64) -> u64 {
        let mut waits = self.waits.clone();
        let mut before = vec![0_u64; self.works.len()];
        let mut ready: Vec<u32> =
            (0..).zip(&waits).filter(|(_, count)| **count == 0).map(|(node, _)| node).collect();
        let mut longest = 0;
        while let Some(node) = ready.pop() {
            let sum = before[node as usize].saturating_add(weight(node as usize));
            longest = longest.max(sum);
            for edge in self.packed_children(node) {
                let child = edge.node as usize;
                before[child] = before[child].max(sum.saturating_add(gap(edge)));
                waits[child] -= 1;
                if waits[child] == 0 {
                    ready.push(edge.node);
                }
            }
        }
        longest
    }

    /// Visits the nodes level by level. The level of a node is the number of nodes on the longest
    /// chain of dependencies before the node.
    pub fn for_each_level(&self, mut visit: impl FnMut(&[NodeId])) {
        let mut waits = self.waits.clone();
        let mut level: Vec<NodeId> = self.nodes().filter(|node| waits[node.index()] == 0).collect();
        let mut next = Vec::new();
        while !level.is_empty() {
            visit(&level);
            for node in level.drain(..) {
                for edge in self.packed_children(node.0) {
                    waits[edge.node as usize] -= 1;
                    if waits[edge.node as usize] == 0 {
                        next.push(NodeId(edge.node));
                    }
                }
            }
            std::mem::swap(&mut level, &mut next);
        }
    }

    pub(crate) fn packed_children(&self, node: u32) -> &[PackedEdge] {
        let node = node as usize;
        &self.children[self.first[node] as usize..self.first[node + 1] as usize]
    }
}

/// Parents of the nodes of a schedule ([`Schedule::parents`]).
#[derive(Clone, Debug)]
pub struct Parents<'a> {
    first: Vec<u32>,
    edges: Vec<PackedEdge>,
    delays: &'a [Time],
}

impl Parents<'_> {
    /// Edges from the parents of `node`, in the order of the parents' numbers.
    pub fn of_node(&self, node: NodeId) -> impl Iterator<Item = Edge> + '_ {
        let range = self.first[node.index()] as usize..self.first[node.index() + 1] as usize;
        self.edges[range].iter().map(|edge| edge.unpack(self.delays))
    }
}

/// Names of nodes. Most schedules are generated and have few names or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Names(BTreeMap<u32, Box<str>>);

impl Names {
    pub(crate) fn set(&mut self, node: u32, name: &str) {
        self.0.insert(node, name.into());
    }

    pub(crate) fn get(&self, node: u32) -> String {
        self.0.get(&node).map_or_else(|| node.to_string(), |name| name.clone().into())
    }
}
