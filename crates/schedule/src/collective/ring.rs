//! Ring collectives: every message goes to the next position.

use super::expansion::{Expansion, Message, part};
use super::{Collective, Operation};
use crate::{Condition, NodeId, ScheduleError};

/// Expands a collective on a ring.
///
/// * All-reduce: 2(n − 1) steps. In each step, every rank sends S/n bytes to the next rank:
///   first partial sums, then results.
///   A message waits for the message that its sender received one step earlier.
/// * All-gather and reduce-scatter: n − 1 steps like the steps of the all-reduce.
/// * Broadcast and pipeline: a chain from the first to the last position, chunk by chunk.
/// * All-to-all: n − 1 rotations. In rotation k, every rank sends S/n bytes to the rank k positions
///   ahead. Before rotation k, every rank has sent and received the messages of the previous
///   rotation.
pub(super) fn expand(
    expansion: &mut Expansion<'_>,
    collective: &Collective<'_>,
) -> Result<(), ScheduleError> {
    let n = collective.n();
    match collective.operation {
        Operation::AllReduce => steps(expansion, collective, 2 * (n - 1)),
        Operation::AllGather | Operation::ReduceScatter => steps(expansion, collective, n - 1),
        Operation::Broadcast | Operation::Pipeline => chain(expansion, collective),
        Operation::AllToAll => rotations(expansion, collective),
    }
}

fn steps(
    expansion: &mut Expansion<'_>,
    collective: &Collective<'_>,
    steps: u32,
) -> Result<(), ScheduleError> {
    let Collective { bytes, chunks, channels, .. } = *collective;
    let n = collective.n();
    let lanes = chunks * channels;
    // For every lane, the message that each position received in the previous step.
    let mut previous: Vec<Vec<NodeId>> = vec![Vec::new(); lanes as usize];
    for step in 0..steps {
        for lane in 0..lanes {
            let is_backwards = lane / chunks % 2 == 1;
            let mut received = vec![NodeId(0); n as usize];
            for from in 0..n {
                let to = if is_backwards { (from + n - 1) % n } else { (from + 1) % n };
                // In each step, a rank sends the segment that it received in the previous step. The
                // number of this segment falls by one per step along the ring.
                let segment = (from + 2 * n - step % n) % n;
                let message = Message { from, to, bytes: part(part(bytes, n, segment), lanes, lane) };
                let after = previous[lane as usize].get(from as usize).copied();
                let node = expansion.send(message, after.as_slice())?;
                received[to as usize] = node;
                if step + 1 == steps {
                    expansion.last(node, message);
                }
            }
            previous[lane as usize] = received;
        }
    }
    Ok(())
}

/// Adds a chain from the first to the last position. Each chunk follows the previous chunk.
pub(super) fn chain(expansion: &mut Expansion<'_>, collective: &Collective<'_>) -> Result<(), ScheduleError> {
    let Collective { bytes, chunks, channels, .. } = *collective;
    let lanes = chunks * channels;
    let mut previous: Vec<Option<NodeId>> = vec![None; lanes as usize];
    for from in 0..collective.n() - 1 {
        for lane in 0..lanes {
            let message = Message { from, to: from + 1, bytes: part(bytes, lanes, lane) };
            let node = expansion.send(message, previous[lane as usize].as_slice())?;
            expansion.last(node, message);
            previous[lane as usize] = Some(node);
        }
    }
    Ok(())
}

fn rotations(expansion: &mut Expansion<'_>, collective: &Collective<'_>) -> Result<(), ScheduleError> {
    let n = collective.n();
    let mut sent: Vec<NodeId> = Vec::new();
    let mut received: Vec<NodeId> = Vec::new();
    for distance in 1..n {
        let (mut sends, mut receives) = (Vec::new(), vec![NodeId(0); n as usize]);
        for from in 0..n {
            let to = (from + distance) % n;
            let message = Message { from, to, bytes: part(collective.bytes, n, to) };
            let node = expansion.send(message, received.get(from as usize).copied().as_slice())?;
            if let Some(&own) = sent.get(from as usize) {
                expansion.after(node, own, Condition::Sent)?;
            }
            sends.push(node);
            receives[to as usize] = node;
            expansion.last(node, message);
        }
        (sent, received) = (sends, receives);
    }
    Ok(())
}
