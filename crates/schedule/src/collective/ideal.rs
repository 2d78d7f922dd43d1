//! Closed forms of the time of collectives on an unloaded network.

use super::{Algorithm, Collective, Operation};
use bufferlab_units::{BitRate, Time};

/// An unloaded network that never blocks. Every rank sends and receives at `rate`. The last byte of
/// a message arrives `latency` after its transmission. Reductions take no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// Time from the end of a transmission until the end of its reception.
    pub latency: Time,
    /// Rate of each rank for sending, and for receiving.
    pub rate: BitRate,
}

/// Networks inside and between servers, for hierarchical collectives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Networks {
    /// Network that connects the ranks inside a server.
    pub inside: Network,
    /// Network between servers. Algorithms without a hierarchy use only this network.
    pub across: Network,
}

/// Returns the time of `collective` on an unloaded network, from the start of all ranks to the
/// last reception. `None` if the collective is refused, or if no closed form is known.
///
/// With x(b) = b/rate, L = latency, s = S/n, k = chunks × channels, and h = S/k:
///
/// | collective | time |
/// |---|---|
/// | ring, steps t = 2(n − 1) or n − 1, q = x(s/k) | (t − 1)·max(k·q, q + L) + k·q + L |
/// | chain (broadcast, pipeline) | (n − 2)·(x(h) + L) + k·x(h) + L |
/// | rotation (all-to-all) | (n − 1)·(x(s) + L) |
/// | direct exchange (all-reduce: twice) | (n − 1)·x(s) + L |
/// | direct broadcast | (n − 1)·x(S) + L |
/// | halving-doubling (all-reduce, broadcast: twice) | (n − 1)·x(s) + log2 n·L |
/// | halving-doubling all-to-all | log2 n·(x(S/2) + L) |
/// | tree broadcast, n = 2^d | x(h) + L + (d − 1)·(2x(h) + L) + c·(k − 1)·x(h) |
/// | tree all-reduce, n = 2^d, k = 1 | 2·(x(S) + L + (d − 1)·(2x(S) + L)) |
/// | double binary tree, n = 2^d, k = 1 | as tree, with S/2 for S |
/// | hierarchical | the sum of its phases |
///
/// *Ring*: a lane begins a step at the later of two times: q after the previous lane began the
/// step, and q + L after the lane began its previous step.
///
/// *Tree*: a node with two children receives, or sends, two messages one after the other.
/// The slower message determines the time. The root has one child.
/// So the factor c is 1 for two ranks, and 2 otherwise.
///
/// The closed forms are exact if n, chunks and channels divide S.
#[must_use]
pub fn ideal_time(collective: &Collective<'_>, networks: &Networks) -> Option<Time> {
    collective.check().ok()?;
    let n = u64::from(collective.n());
    if n == 1 {
        return Some(Time::ZERO);
    }
    if collective.algorithm == Algorithm::Hierarchical {
        return hierarchical(collective, networks);
    }
    let Network { latency: Time(latency), rate } = networks.across;
    let x = |bytes: u64| rate.serialization(bytes).0;
    let lanes = u64::from(collective.chunks) * u64::from(collective.channels);
    let (bytes, part) = (collective.bytes, collective.bytes / n);
    let chain = || (n - 2) * (x(bytes / lanes) + latency) + lanes * x(bytes / lanes) + latency;
    let ring = |steps: u64| {
        let lane = x(part / lanes);
        (steps - 1) * (lanes * lane).max(lane + latency) + lanes * lane + latency
    };
    let exchange = (n - 1) * x(part) + latency;
    let halving = (n - 1) * x(part) + u64::from(n.ilog2()) * latency;
    let time = match (collective.algorithm, collective.operation) {
        (Algorithm::Ring, Operation::AllReduce) => ring(2 * (n - 1)),
        (Algorithm::Ring, Operation::AllGather | Operation::ReduceScatter) => ring(n - 1),
        (Algorithm::Ring, Operation::Broadcast) | (_, Operation::Pipeline) => chain(),
        (Algorithm::Ring, Operation::AllToAll) => (n - 1) * (x(part) + latency),
        (Algorithm::Direct, Operation::AllReduce) => 2 * exchange,
        (Algorithm::Direct, Operation::Broadcast) => (n - 1) * x(bytes) + latency,
        (Algorithm::Direct, _) => exchange,
        (Algorithm::HalvingDoubling, Operation::AllReduce | Operation::Broadcast) => 2 * halving,
        (Algorithm::HalvingDoubling, Operation::AllToAll) => u64::from(n.ilog2()) * (x(bytes / 2) + latency),
        (Algorithm::HalvingDoubling, _) => halving,
        (Algorithm::Tree, Operation::Broadcast) => {
            tree(n, x(bytes / lanes), latency)? + (lanes - 1) * x(bytes / lanes) * n.min(3).div_ceil(2)
        }
        (Algorithm::Tree, _) if lanes == 1 => 2 * tree(n, x(bytes), latency)?,
        (Algorithm::DoubleBinaryTree, _) if lanes == 1 => 2 * tree(n, x(bytes / 2), latency)?,
        _ => return None,
    };
    Some(Time(time))
}

/// Time from the root to the leaves (or back) of a binary tree whose number of nodes is a power of
/// two.
fn tree(n: u64, message: u64, latency: u64) -> Option<u64> {
    let below = u64::from(n.ilog2()) - 1;
    n.is_power_of_two().then_some(message + latency + below * (2 * message + latency))
}

fn hierarchical(collective: &Collective<'_>, networks: &Networks) -> Option<Time> {
    let size = collective.ranks_per_server as usize;
    let (inside, across) = (&collective.group[..size], collective.group.len() / size);
    let across = &collective.group[..across];
    let time = |operation, algorithm, bytes, group, network| {
        let phase = Collective::new(operation, algorithm, bytes, group);
        Some(ideal_time(&phase, &Networks { inside: network, across: network })?.0)
    };
    let (bytes, part) = (collective.bytes, collective.bytes / size as u64);
    let (ring, direct) = (Algorithm::Ring, Algorithm::Direct);
    let within = |operation, algorithm| time(operation, algorithm, bytes, inside, networks.inside);
    let between = |operation, algorithm, bytes| time(operation, algorithm, bytes, across, networks.across);
    let all = match collective.operation {
        Operation::AllReduce => {
            within(Operation::ReduceScatter, ring)?
                + between(Operation::AllReduce, ring, part)?
                + within(Operation::AllGather, ring)?
        }
        operation @ (Operation::ReduceScatter | Operation::AllGather) => {
            within(operation, ring)? + between(operation, ring, part)?
        }
        Operation::AllToAll => {
            within(Operation::AllToAll, direct)? + between(Operation::AllToAll, direct, bytes)?
        }
        Operation::Broadcast | Operation::Pipeline => {
            within(Operation::Broadcast, ring)? + between(Operation::Broadcast, ring, bytes)?
        }
    };
    Some(Time(all))
}
