//! Recursive halving and doubling: every rank exchanges data with one partner per step. The number
//! of ranks is a power of two.

use super::expansion::{Expansion, Message};
use super::{Collective, Operation};
use crate::{Condition, NodeId, ScheduleError};

/// Expands a collective by recursive halving and doubling, with log2 n steps per phase.
///
/// * Reduce-scatter: step k (from 1) exchanges S/2^k bytes with the rank at distance n/2^k.
/// * All-gather, in reverse: step k exchanges S·2^(k−1)/n bytes at distance 2^(k−1).
/// * All-reduce: a reduce-scatter, then an all-gather.
/// * All-to-all: step k exchanges S/2 bytes at distance n/2^k, the data for the other half of
///   ranks.
/// * Broadcast: the root scatters halves along a binomial tree, then all ranks gather the parts.
///
/// A message waits for the message that its sender received in the previous step.
pub(super) fn expand(
    expansion: &mut Expansion<'_>,
    collective: &Collective<'_>,
) -> Result<(), ScheduleError> {
    let (n, bytes) = (collective.n(), collective.bytes);
    let steps = n.ilog2();
    // For each step of the halving: the distance between partners, and the number of bytes that
    // each partner sends.
    let halving = (1..=steps).map(|step| (n >> step, bytes >> step));
    let doubling =
        || (0..steps).map(|step| (1 << step, (u128::from(bytes) * (1 << step) / u128::from(n)) as u64));
    match collective.operation {
        Operation::AllReduce => exchanges(expansion, n, Vec::new(), halving.chain(doubling())),
        Operation::ReduceScatter => exchanges(expansion, n, Vec::new(), halving),
        Operation::AllGather => exchanges(expansion, n, Vec::new(), doubling()),
        Operation::AllToAll => {
            exchanges(expansion, n, Vec::new(), halving.map(|(distance, _)| (distance, bytes / 2)))
        }
        Operation::Broadcast | Operation::Pipeline => {
            let scattered = scatter(expansion, collective)?;
            exchanges(expansion, n, scattered, doubling())
        }
    }
}

/// Adds exchanges between pairs of positions. In the first step, a message waits for its sender's
/// list in `received`. In later steps, a message waits for the message of the previous step.
///
/// A message also waits until the sender's previous message has started. So each message waits for
/// all messages that the sender received before the start of the previous message.
fn exchanges(
    expansion: &mut Expansion<'_>,
    n: u32,
    mut received: Vec<Vec<NodeId>>,
    steps: impl Iterator<Item = (u32, u64)>,
) -> Result<(), ScheduleError> {
    let mut sent: Vec<NodeId> = Vec::new();
    for (distance, bytes) in steps {
        let (mut receives, mut sends) = (vec![Vec::new(); n as usize], Vec::new());
        for from in 0..n {
            let message = Message { from, to: from ^ distance, bytes };
            let after = received.get(from as usize).map(Vec::as_slice).unwrap_or_default();
            let node = expansion.send(message, after)?;
            if let Some(&own) = sent.get(from as usize) {
                expansion.after(node, own, Condition::Started)?;
            }
            expansion.last(node, message);
            receives[message.to as usize].push(node);
            sends.push(node);
        }
        (received, sent) = (receives, sends);
    }
    Ok(())
}

/// Sends halves of the root's data along a binomial tree. Returns the message of each position.
fn scatter(
    expansion: &mut Expansion<'_>,
    collective: &Collective<'_>,
) -> Result<Vec<Vec<NodeId>>, ScheduleError> {
    let n = collective.n();
    let mut received: Vec<Vec<NodeId>> = vec![Vec::new(); n as usize];
    for step in 1..=n.ilog2() {
        let distance = n >> step;
        for from in (0..n).step_by(2 * distance as usize) {
            let message = Message { from, to: from + distance, bytes: collective.bytes >> step };
            let node = expansion.send(message, &received[from as usize].clone())?;
            expansion.last(node, message);
            received[message.to as usize].push(node);
        }
    }
    Ok(received)
}
