//! Builder that collects the nodes and edges of a schedule and checks the schedule.

use crate::limits::{EDGES_MAX, NODES_MAX, RANKS_MAX};
use crate::node::PackedEdge;
use crate::order::find_cycle;
use crate::schedule::{Names, Schedule};
use crate::{Condition, Edge, NodeId, ScheduleError, ScheduledCollective, Transfer, Work};
use bufferlab_units::Time;
use std::collections::BTreeMap;

/// Collects nodes and edges, and builds a checked [`Schedule`].
#[derive(Clone, Debug)]
pub struct ScheduleBuilder {
    ranks: u32,
    works: Vec<Work>,
    starts: Vec<Time>,
    names: Names,
    classes: Vec<String>,
    class_index: BTreeMap<String, u16>,
    collectives: Vec<ScheduledCollective>,
    runs: Vec<(u32, Option<u32>)>,
    delays: Vec<Time>,
    delay_index: BTreeMap<Time, u32>,
    /// Parent nodes, with the edges to their children.
    edges: Vec<(u32, PackedEdge)>,
    nodes_max: usize,
    edges_max: usize,
}

impl ScheduleBuilder {
    /// Creates a builder for a schedule of `ranks` ranks, without nodes.
    #[must_use]
    pub fn new(ranks: u32) -> Self {
        Self {
            ranks,
            works: Vec::new(),
            starts: Vec::new(),
            names: Names::default(),
            classes: Vec::new(),
            class_index: BTreeMap::new(),
            collectives: Vec::new(),
            runs: Vec::new(),
            delays: vec![Time::ZERO],
            delay_index: BTreeMap::from([(Time::ZERO, 0)]),
            edges: Vec::new(),
            nodes_max: NODES_MAX,
            edges_max: EDGES_MAX,
        }
    }

    /// Returns the index of a class of transfers; adds an unknown class.
    ///
    /// # Errors
    /// Returns [`ScheduleError::TooManyClasses`] if the index does not fit 16 bits.
    pub fn class(&mut self, name: &str) -> Result<u16, ScheduleError> {
        if let Some(&class) = self.class_index.get(name) {
            return Ok(class);
        }
        let class = u16::try_from(self.classes.len()).map_err(|_| ScheduleError::TooManyClasses)?;
        self.classes.push(name.to_owned());
        self.class_index.insert(name.to_owned(), class);
        Ok(class)
    }

    /// Adds a collective to the schedule. A call of [`Self::assign`] then assigns the next nodes to
    /// the collective.
    pub fn collective(&mut self, collective: ScheduledCollective) -> u32 {
        self.collectives.push(collective);
        self.collectives.len() as u32 - 1
    }

    /// Assigns all nodes that are added from now on to a collective, or to no collective.
    pub fn assign(&mut self, collective: Option<u32>) {
        let first = self.works.len() as u32;
        let before = self.runs.last().and_then(|(_, collective)| *collective);
        match self.runs.last_mut() {
            Some(run) if run.0 == first => run.1 = collective,
            _ if before != collective => self.runs.push((first, collective)),
            _ => {}
        }
    }

    /// Collective to which the next added node will belong.
    pub(crate) fn assigned(&self) -> Option<u32> {
        self.runs.last().and_then(|(_, collective)| *collective)
    }

    /// Adds a node that may start at time zero.
    ///
    /// # Errors
    /// If a rank is unknown, a transfer has no data or goes to its own rank,
    /// or the limit is reached.
    pub fn node(&mut self, work: Work) -> Result<NodeId, ScheduleError> {
        self.check(work)?;
        let id = NodeId(self.works.len() as u32);
        self.works.push(work);
        self.starts.push(Time::ZERO);
        Ok(id)
    }

    /// Gives `node` a name for messages and files. A node without a name has its number as a name.
    pub fn name(&mut self, node: NodeId, name: &str) {
        self.names.set(node.0, name);
    }

    /// Lets `node` start at `start` at the earliest, and after its parents.
    ///
    /// # Errors
    /// Returns [`ScheduleError::UnknownNode`] if the schedule has no such node.
    pub fn not_before(&mut self, node: NodeId, start: Time) -> Result<(), ScheduleError> {
        self.check_id(node)?;
        self.starts[node.index()] = start;
        Ok(())
    }

    /// Lets `child` start after an event of `parent`.
    ///
    /// # Errors
    /// Returns the errors of [`Self::edge`].
    pub fn after(
        &mut self,
        child: NodeId,
        parent: NodeId,
        condition: Condition,
    ) -> Result<(), ScheduleError> {
        self.edge(child, Edge { node: parent, condition, delay: Time::ZERO })
    }

    /// Lets `child` start a delay after an event of the parent in `edge`.
    ///
    /// # Errors
    /// Returns [`ScheduleError::UnknownNode`], [`ScheduleError::NotATransfer`]
    /// or [`ScheduleError::TooManyEdges`].
    pub fn edge(&mut self, child: NodeId, edge: Edge) -> Result<(), ScheduleError> {
        self.check_id(child)?;
        self.check_id(edge.node)?;
        let parent = self.works[edge.node.index()];
        if edge.condition == Condition::Sent && !matches!(parent, Work::Transfer(_)) {
            let (node, parent) = (self.called(child.0), self.called(edge.node.0));
            return Err(ScheduleError::NotATransfer { node, parent });
        }
        if self.edges.len() >= self.edges_max {
            return Err(ScheduleError::TooManyEdges);
        }
        let next = self.delays.len() as u32;
        let delay = *self.delay_index.entry(edge.delay).or_insert(next);
        if delay == next {
            self.delays.push(edge.delay);
        }
        self.edges.push((edge.node.0, PackedEdge::new(child.0, edge.condition, delay)));
        Ok(())
    }

    /// Work of the given node (transfer, computation or barrier); `None` if the schedule has no
    /// such node.
    #[must_use]
    pub fn work(&self, node: NodeId) -> Option<Work> {
        self.works.get(node.index()).copied()
    }

    /// Number of ranks of the schedule.
    #[must_use]
    pub const fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Number of nodes that the schedule has so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.works.len()
    }

    /// Whether the schedule has no nodes yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.works.is_empty()
    }

    /// Builds the schedule from the added nodes and edges.
    ///
    /// # Errors
    /// Returns [`ScheduleError::Cycle`] if nodes wait for each other,
    /// or [`ScheduleError::TooManyRanks`].
    pub fn build(self) -> Result<Schedule, ScheduleError> {
        if self.ranks > RANKS_MAX {
            return Err(ScheduleError::TooManyRanks(self.ranks));
        }
        let schedule = self.pack();
        match find_cycle(&schedule) {
            None => Ok(schedule),
            Some(found) => {
                let cycle = found.cycle.iter().map(|&node| schedule.name(NodeId(node))).collect();
                Err(ScheduleError::Cycle { cycle, waiting: found.waiting })
            }
        }
    }

    /// Sorts the edges by parent. Edges of one parent keep the order in which they were added.
    fn pack(self) -> Schedule {
        let count = self.works.len();
        let mut first = vec![0_u32; count + 1];
        let mut waits = vec![0_u32; count];
        for (parent, edge) in &self.edges {
            first[*parent as usize + 1] += 1;
            waits[edge.node as usize] += 1;
        }
        for node in 0..count {
            first[node + 1] += first[node];
        }
        let mut next = first.clone();
        let mut children = vec![PackedEdge::new(0, Condition::Started, 0); self.edges.len()];
        for (parent, edge) in self.edges {
            let place = &mut next[parent as usize];
            children[*place as usize] = edge;
            *place += 1;
        }
        Schedule {
            ranks: self.ranks,
            works: self.works,
            starts: self.starts,
            names: self.names,
            classes: self.classes,
            collectives: self.collectives,
            runs: self.runs,
            delays: self.delays,
            first,
            children,
            waits,
        }
    }

    fn called(&self, node: u32) -> String {
        self.names.get(node)
    }

    fn check_id(&self, node: NodeId) -> Result<(), ScheduleError> {
        if node.index() < self.works.len() {
            return Ok(());
        }
        Err(ScheduleError::UnknownNode { node: node.0, nodes: self.works.len() })
    }

    fn check(&self, work: Work) -> Result<(), ScheduleError> {
        if self.works.len() >= self.nodes_max {
            return Err(ScheduleError::TooManyNodes);
        }
        let node = || format!("node {}", self.works.len());
        let known = |rank: u32| {
            let unknown = || ScheduleError::UnknownRank { node: node(), rank, ranks: self.ranks };
            if rank < self.ranks { Ok(()) } else { Err(unknown()) }
        };
        match work {
            Work::Transfer(Transfer { src, dst, bytes, .. }) => {
                known(src)?;
                known(dst)?;
                if src == dst {
                    return Err(ScheduleError::ToItself { node: node(), rank: src });
                }
                if bytes == 0 {
                    return Err(ScheduleError::Empty { node: node() });
                }
                Ok(())
            }
            Work::Compute { rank, .. } => known(rank),
            Work::Barrier => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_and_edges_beyond_the_limits_are_refused() {
        let mut builder = ScheduleBuilder { nodes_max: 2, edges_max: 1, ..ScheduleBuilder::new(1) };
        let [first, second] = [(); 2].map(|()| builder.node(Work::Barrier).expect("two fit"));
        assert_eq!(builder.node(Work::Barrier), Err(ScheduleError::TooManyNodes));
        assert_eq!(builder.after(second, first, Condition::Finished), Ok(()));
        assert_eq!(builder.after(second, first, Condition::Finished), Err(ScheduleError::TooManyEdges));
    }
}
