//! Hierarchical collectives: messages inside the servers first, then between servers.

use super::{Algorithm, Collective, CollectiveError, Operation};
use crate::{NodeId, ScheduleBuilder};

/// Expands a collective in phases, with m ranks per server and N = n/m servers.
///
/// * All-reduce: ring reduce-scatter of S inside each server. Then a ring all-reduce of S/m among
///   the ranks of equal position in their servers. Then a ring all-gather of S inside each server.
/// * Reduce-scatter: a ring reduce-scatter of S inside each server, then of S/m between servers.
///   All-gather: a ring all-gather of S/m between servers, then of S inside each server.
/// * All-to-all: direct messages of S/m inside each server put all data for a position on the
///   rank of that position. Then direct messages of S/N go between servers.
/// * Broadcast: a chain over the first ranks of the servers, then a chain inside each server.
///
/// A rank begins a phase when it has received all data of the previous phase.
pub(super) fn expand(
    builder: &mut ScheduleBuilder,
    collective: &Collective<'_>,
    entry: &[NodeId],
) -> Result<Vec<NodeId>, CollectiveError> {
    let mut plan = Plan { builder, collective, nodes: entry.to_vec() };
    let bytes = collective.bytes;
    let part = bytes / u64::from(collective.ranks_per_server);
    let ring = Algorithm::Ring;
    match collective.operation {
        Operation::AllReduce => {
            plan.inside(Operation::ReduceScatter, ring, bytes)?;
            plan.across(Operation::AllReduce, ring, part)?;
            plan.inside(Operation::AllGather, ring, bytes)?;
        }
        Operation::ReduceScatter => {
            plan.inside(Operation::ReduceScatter, ring, bytes)?;
            plan.across(Operation::ReduceScatter, ring, part)?;
        }
        Operation::AllGather => {
            plan.across(Operation::AllGather, ring, part)?;
            plan.inside(Operation::AllGather, ring, bytes)?;
        }
        Operation::AllToAll => {
            plan.inside(Operation::AllToAll, Algorithm::Direct, bytes)?;
            plan.across(Operation::AllToAll, Algorithm::Direct, bytes)?;
        }
        Operation::Broadcast | Operation::Pipeline => {
            plan.first_across(bytes)?;
            plan.inside(Operation::Broadcast, ring, bytes)?;
        }
    }
    Ok(plan.nodes)
}

/// A collective whose transfers are being added to a schedule. Every position has the node after
/// which the position's next phase may start.
struct Plan<'a> {
    builder: &'a mut ScheduleBuilder,
    collective: &'a Collective<'a>,
    nodes: Vec<NodeId>,
}

impl Plan<'_> {
    fn inside(
        &mut self,
        operation: Operation,
        algorithm: Algorithm,
        bytes: u64,
    ) -> Result<(), CollectiveError> {
        let (size, n) = (self.collective.ranks_per_server, self.collective.n());
        let groups = (0..n / size).map(|server| (server * size..(server + 1) * size).collect());
        self.phase(operation, algorithm, bytes, groups)
    }

    fn across(
        &mut self,
        operation: Operation,
        algorithm: Algorithm,
        bytes: u64,
    ) -> Result<(), CollectiveError> {
        let (size, n) = (self.collective.ranks_per_server, self.collective.n());
        let groups = (0..size).map(|place| (place..n).step_by(size as usize).collect());
        self.phase(operation, algorithm, bytes, groups)
    }

    /// Broadcasts data among the first ranks of the servers.
    fn first_across(&mut self, bytes: u64) -> Result<(), CollectiveError> {
        let (size, n) = (self.collective.ranks_per_server, self.collective.n());
        let firsts = (0..n).step_by(size as usize).collect();
        self.phase(Operation::Broadcast, Algorithm::Ring, bytes, std::iter::once(firsts))
    }

    /// Expands a collective in each of `groups`, which are lists of positions.
    fn phase(
        &mut self,
        operation: Operation,
        algorithm: Algorithm,
        bytes: u64,
        groups: impl Iterator<Item = Vec<u32>>,
    ) -> Result<(), CollectiveError> {
        let all = self.collective.group.len();
        // A position that is in no group of this phase keeps its node.
        let mut next = self.nodes.clone();
        if next.is_empty() {
            for _ in 0..all {
                next.push(self.builder.node(crate::Work::Barrier)?);
            }
            self.nodes.clone_from(&next);
        }
        for positions in groups {
            let ranks: Vec<_> =
                positions.iter().map(|&place| self.collective.group[place as usize]).collect();
            let entry: Vec<_> = positions.iter().map(|&place| self.nodes[place as usize]).collect();
            let part = Collective {
                class: self.collective.class,
                ..Collective::new(operation, algorithm, bytes.max(1), &ranks)
            };
            let ends = super::expand(self.builder, &part, &entry)?;
            for (place, end) in positions.into_iter().zip(ends) {
                next[place as usize] = end;
            }
        }
        self.nodes = next;
        Ok(())
    }
}
