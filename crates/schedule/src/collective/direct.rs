//! Direct collectives: every rank sends messages to all other ranks at one time.

use super::expansion::{Expansion, Message, part};
use super::{Collective, Operation, ring};
use crate::{NodeId, ScheduleError};

/// Expands a collective by direct messages.
///
/// * All-gather, reduce-scatter and all-to-all: every rank sends S/n bytes to each other rank
///   at one time, first to the next position. So no two ranks send to one rank first.
/// * All-reduce: a direct reduce-scatter. A rank that has all parts of its sum starts the
///   all-gather.
/// * Broadcast: the root sends S bytes to every other rank at one time.
/// * Pipeline: the chain of [`ring::expand`].
pub(super) fn expand(
    expansion: &mut Expansion<'_>,
    collective: &Collective<'_>,
) -> Result<(), ScheduleError> {
    match collective.operation {
        Operation::AllGather | Operation::ReduceScatter | Operation::AllToAll => {
            exchange(expansion, collective, &[], true).map(drop)
        }
        Operation::AllReduce => {
            let received = exchange(expansion, collective, &[], false)?;
            let mut scattered = Vec::with_capacity(received.len());
            for parts in &received {
                scattered.push(expansion.join(parts)?);
            }
            exchange(expansion, collective, &scattered, true).map(drop)
        }
        Operation::Broadcast => {
            for to in 1..collective.n() {
                let message = Message { from: 0, to, bytes: collective.bytes };
                let node = expansion.send(message, &[])?;
                expansion.last(node, message);
            }
            Ok(())
        }
        Operation::Pipeline => ring::chain(expansion, collective),
    }
}

/// Adds messages of S/n bytes between all pairs; returns the messages that each position receives.
fn exchange(
    expansion: &mut Expansion<'_>,
    collective: &Collective<'_>,
    after: &[NodeId],
    is_last: bool,
) -> Result<Vec<Vec<NodeId>>, ScheduleError> {
    let n = collective.n();
    let mut received = vec![Vec::new(); n as usize];
    for distance in 1..n {
        for from in 0..n {
            let to = (from + distance) % n;
            let owner = if collective.operation == Operation::AllGather { from } else { to };
            let message = Message { from, to, bytes: part(collective.bytes, n, owner) };
            let node = expansion.send(message, after.get(from as usize).copied().as_slice())?;
            received[to as usize].push(node);
            if is_last {
                expansion.last(node, message);
            }
        }
    }
    Ok(received)
}
