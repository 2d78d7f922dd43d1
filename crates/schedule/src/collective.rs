//! Collectives: their expansion into transfers, and closed forms of their time
//! on an unloaded network.
//!
//! In the comments of this module, S is [`Collective::bytes`] and n is the number of ranks of the
//! group. Positions in the group are numbered from 0, and position 0 is the root of a broadcast.

mod direct;
mod expansion;
mod halving;
mod hierarchical;
mod ideal;
mod ring;
mod scheduled;
mod tree;
mod words;

pub use ideal::{Network, Networks, ideal_time};
pub use scheduled::ScheduledCollective;

use crate::{NodeId, ScheduleBuilder, ScheduleError};
use expansion::Expansion;
use std::fmt;

/// Operation of a collective: the data that each rank has before and after the collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// Every rank has a vector of S bytes and receives the sum of all vectors.
    AllReduce,
    /// Every rank has S/n bytes and receives the parts of all other ranks.
    AllGather,
    /// Every rank has a vector of S bytes and receives its part, S/n bytes, of the sum.
    ReduceScatter,
    /// Every rank has S bytes, and sends a different part of S/n bytes to each rank.
    AllToAll,
    /// The first rank of the group has S bytes, and every other rank receives these bytes.
    Broadcast,
    /// The stages of a pipeline: a rank sends S bytes to the next rank when S bytes have arrived
    /// from the previous rank. Chunks are micro-batches, S bytes in total.
    Pipeline,
}

impl Operation {
    /// List of all operations of collectives.
    pub const ALL: [Self; 6] = [
        Self::AllReduce,
        Self::AllGather,
        Self::ReduceScatter,
        Self::AllToAll,
        Self::Broadcast,
        Self::Pipeline,
    ];

    /// Name of the operation in files and options.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all_reduce",
            Self::AllGather => "all_gather",
            Self::ReduceScatter => "reduce_scatter",
            Self::AllToAll => "all_to_all",
            Self::Broadcast => "broadcast",
            Self::Pipeline => "pipeline",
        }
    }
}

/// Algorithm that executes a collective: the order and the partners of the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Algorithm {
    /// Algorithm that sends messages to the next rank of a ring. On a ring, a broadcast is a chain
    /// and an all-to-all is a rotation.
    Ring,
    /// Algorithm that sends messages along one binary tree of ranks.
    Tree,
    /// Algorithm with two binary trees of ranks, which carry half of the data each. A rank is
    /// inside one tree and a leaf of the other tree.
    DoubleBinaryTree,
    /// Algorithm in which every rank exchanges data with partners at distances n/2, n/4 … 1, or in
    /// the reverse order.
    HalvingDoubling,
    /// Algorithm that sends messages to all ranks at one time.
    Direct,
    /// Algorithm that first sends messages inside the servers, then between ranks of equal
    /// position.
    Hierarchical,
}

impl Algorithm {
    /// List of all algorithms for collectives.
    pub const ALL: [Self; 6] = [
        Self::Ring,
        Self::Tree,
        Self::DoubleBinaryTree,
        Self::HalvingDoubling,
        Self::Direct,
        Self::Hierarchical,
    ];

    /// Name of the algorithm in files and options.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::Tree => "tree",
            Self::DoubleBinaryTree => "double_binary_tree",
            Self::HalvingDoubling => "halving_doubling",
            Self::Direct => "direct",
            Self::Hierarchical => "hierarchical",
        }
    }

    /// Whether the algorithm can execute `operation`.
    #[must_use]
    pub const fn executes(self, operation: Operation) -> bool {
        match self {
            Self::Ring | Self::Direct => true,
            Self::Tree => matches!(operation, Operation::AllReduce | Operation::Broadcast),
            Self::DoubleBinaryTree => matches!(operation, Operation::AllReduce),
            Self::HalvingDoubling | Self::Hierarchical => !matches!(operation, Operation::Pipeline),
        }
    }

    /// Whether the algorithm divides `operation` into chunks and channels.
    #[must_use]
    pub const fn divides(self, operation: Operation) -> bool {
        match self {
            Self::Ring => !matches!(operation, Operation::AllToAll),
            Self::Tree | Self::DoubleBinaryTree => true,
            Self::Direct => matches!(operation, Operation::Pipeline),
            Self::HalvingDoubling | Self::Hierarchical => false,
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A collective among a group of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collective<'a> {
    /// Operation of the collective, such as all-reduce.
    pub operation: Operation,
    /// Algorithm that executes the collective.
    pub algorithm: Algorithm,
    /// Size S of the data (bytes): see [`Operation`].
    pub bytes: u64,
    /// Ranks of the group in the order of the ring or tree; ranks of one server are neighbours.
    pub group: &'a [u32],
    /// Number of parts of every message. A rank sends the parts one after the other. The number is
    /// at least 1.
    pub chunks: u32,
    /// Number of copies of the algorithm, each with a part of the data; at least 1. In odd channels
    /// of a ring, messages go to the previous rank.
    pub channels: u32,
    /// Number of ranks of a server, for the hierarchical algorithm.
    pub ranks_per_server: u32,
    /// Index of the traffic class of the collective's transfers.
    pub class: u16,
}

impl<'a> Collective<'a> {
    /// Creates a collective in one chunk on one channel, with one rank per server.
    #[must_use]
    pub const fn new(operation: Operation, algorithm: Algorithm, bytes: u64, group: &'a [u32]) -> Self {
        Self { operation, algorithm, bytes, group, chunks: 1, channels: 1, ranks_per_server: 1, class: 0 }
    }

    /// Number of ranks in the group.
    #[must_use]
    pub const fn n(&self) -> u32 {
        self.group.len() as u32
    }

    /// Checks that the algorithm can execute the collective.
    ///
    /// # Errors
    /// Returns the reason why the algorithm cannot execute the collective.
    pub fn check(&self) -> Result<(), CollectiveError> {
        let Self { operation, algorithm, .. } = *self;
        let n = self.n();
        if !algorithm.executes(operation) {
            return Err(CollectiveError::NoSuchPair { operation, algorithm });
        }
        if self.group.is_empty() || self.bytes == 0 || self.chunks == 0 || self.channels == 0 {
            return Err(CollectiveError::Nothing);
        }
        let mut sorted = self.group.to_vec();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(CollectiveError::Twice(pair[0]));
        }
        if algorithm == Algorithm::HalvingDoubling && !n.is_power_of_two() {
            return Err(CollectiveError::NoPowerOfTwo(n));
        }
        if !algorithm.divides(operation) && (self.chunks > 1 || self.channels > 1) {
            return Err(CollectiveError::Undivided { operation, algorithm });
        }
        let servers = self.ranks_per_server;
        if algorithm == Algorithm::Hierarchical && (servers == 0 || !n.is_multiple_of(servers)) {
            return Err(CollectiveError::Servers { ranks: n, ranks_per_server: servers });
        }
        Ok(())
    }
}

/// Reason why a collective cannot be expanded to transfers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CollectiveError {
    /// The algorithm cannot execute the operation of the collective.
    #[error("{algorithm} does not execute {operation}; expected {}", algorithms(*operation))]
    NoSuchPair {
        /// Operation of the collective, such as all-reduce.
        operation: Operation,
        /// Algorithm of the collective.
        algorithm: Algorithm,
    },
    /// The collective has a group without ranks, a size of zero, no chunk or no channel.
    #[error("a collective needs at least 1 rank, 1 byte, 1 chunk and 1 channel")]
    Nothing,
    /// The group of the collective lists a rank twice.
    #[error("rank {0} is in the group twice; name every rank once")]
    Twice(u32),
    /// The number of ranks is not a power of two, which halving-doubling needs.
    #[error("halving_doubling needs a power of two, found {0} ranks; use ring, or a group of {before} ranks", before = .0.next_power_of_two() / 2)]
    NoPowerOfTwo(u32),
    /// The collective has chunks or channels, but the algorithm does not divide messages.
    #[error("{algorithm} has no chunks and channels for {operation}; set both to 1")]
    Undivided {
        /// Operation of the collective, such as all-reduce.
        operation: Operation,
        /// Algorithm of the collective.
        algorithm: Algorithm,
    },
    /// The group is not a whole number of servers.
    #[error("{ranks} ranks do not fill servers of {ranks_per_server} ranks; choose a divisor of {ranks}")]
    Servers {
        /// Number of ranks of the group.
        ranks: u32,
        /// Number of ranks in each server.
        ranks_per_server: u32,
    },
    /// Error of the schedule, which refuses the collective's transfers.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
}

fn algorithms(operation: Operation) -> String {
    let fitting = Algorithm::ALL.iter().filter(|algorithm| algorithm.executes(operation));
    fitting.map(|algorithm| algorithm.name()).collect::<Vec<_>>().join(", ")
}

/// Adds the transfers of a collective to the schedule of `builder`.
///
/// `entry` has a node for every position of the group. The first transfers of a rank wait until its
/// node is done. With an empty `entry`, all ranks may start at time zero. The result has a node for
/// every position: a barrier that opens when the rank has received all its data. If a rank receives
/// no data, its barrier opens when its data is sent.
///
/// A message part of less than one byte is sent as one byte.
///
/// # Errors
/// Returns [`CollectiveError`]; the builder may then have a part of the transfers.
///
/// # Panics
/// If `entry` is neither empty nor as long as the group.
pub fn expand(
    builder: &mut ScheduleBuilder,
    collective: &Collective<'_>,
    entry: &[NodeId],
) -> Result<Vec<NodeId>, CollectiveError> {
    collective.check()?;
    assert!(entry.is_empty() || entry.len() == collective.group.len(), "a node for every rank of the group");
    // The nodes of all phases of a hierarchical collective belong to the whole collective.
    if builder.assigned().is_some() {
        return expand_parts(builder, collective, entry);
    }
    let Collective { operation, algorithm, bytes, .. } = *collective;
    let number =
        builder.collective(ScheduledCollective { operation, algorithm, bytes, ranks: collective.n() });
    builder.assign(Some(number));
    let ends = expand_parts(builder, collective, entry);
    builder.assign(None);
    ends
}

/// Adds the transfers of a collective to the builder's current collective.
fn expand_parts(
    builder: &mut ScheduleBuilder,
    collective: &Collective<'_>,
    entry: &[NodeId],
) -> Result<Vec<NodeId>, CollectiveError> {
    if collective.algorithm == Algorithm::Hierarchical {
        return hierarchical::expand(builder, collective, entry);
    }
    let mut expansion = Expansion::new(builder, collective, entry);
    if collective.n() > 1 {
        match collective.algorithm {
            Algorithm::Ring => ring::expand(&mut expansion, collective)?,
            Algorithm::Tree => tree::expand(&mut expansion, collective)?,
            Algorithm::DoubleBinaryTree => tree::expand_double(&mut expansion, collective)?,
            Algorithm::HalvingDoubling => halving::expand(&mut expansion, collective)?,
            Algorithm::Direct | Algorithm::Hierarchical => direct::expand(&mut expansion, collective)?,
        }
    }
    Ok(expansion.finish()?)
}
