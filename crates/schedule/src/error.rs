//! Errors that make a schedule invalid.

use crate::limits::{EDGES_MAX, NODES_MAX, RANKS_MAX};
use bufferlab_units::printable;

/// Reason why a schedule cannot be executed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// A node names a rank that the schedule does not have.
    #[error("{node} names rank {rank}, but ranks are 0 to {}", ranks.saturating_sub(1))]
    UnknownRank {
        /// Name of the node with the unknown rank.
        node: String,
        /// Number of the unknown rank.
        rank: u32,
        /// Number of ranks of the schedule.
        ranks: u32,
    },
    /// A transfer goes from a rank to the rank itself.
    #[error("{node} sends from rank {rank} to itself; a transfer needs two ranks, so use a computation")]
    ToItself {
        /// Name of the transfer's node.
        node: String,
        /// Rank that is sender and receiver of the transfer.
        rank: u32,
    },
    /// A transfer has a payload of zero bytes.
    #[error("{node} sends nothing; a transfer has at least 1 byte, so use a barrier")]
    Empty {
        /// Name of the transfer's node.
        node: String,
    },
    /// An edge begins or ends at a node that does not exist.
    #[error("an edge names node number {node}, but there are {nodes} nodes; add a node before its edges")]
    UnknownNode {
        /// Number of the node that the schedule does not have.
        node: u32,
        /// Number of nodes in the schedule.
        nodes: usize,
    },
    /// A node waits for the transmission of a parent that is not a transfer.
    #[error("{node} waits until {parent} is sent, but {parent} is no transfer; wait until it is done")]
    NotATransfer {
        /// Name of the node that waits.
        node: String,
        /// Name of the parent that the node waits for.
        parent: String,
    },
    /// A cycle of nodes that wait for one another.
    #[error(
        "these nodes wait for each other and never start: {}{}; remove one of these dependencies",
        chain(cycle),
        behind(*waiting, cycle.len())
    )]
    Cycle {
        /// Names of the nodes of one cycle. Each node waits for the next node, and the last node
        /// waits for the first node.
        cycle: Vec<String>,
        /// Number of all nodes that never start, because of the cycle.
        waiting: usize,
    },
    /// The schedule has more ranks than a run can have hosts.
    #[error("{0} ranks are too many, expected at most {RANKS_MAX}; use a part of the schedule")]
    TooManyRanks(u32),
    /// The schedule has more nodes than the limit.
    #[error("more than {NODES_MAX} nodes of a schedule; use one iteration, or fewer chunks")]
    TooManyNodes,
    /// The schedule has more edges than the limit.
    #[error("more than {EDGES_MAX} edges of a schedule; put a barrier between groups of nodes")]
    TooManyEdges,
    /// The schedule has more classes than fit into 16 bits.
    #[error("more than 65535 classes of transfers; use the class for a few kinds of traffic")]
    TooManyClasses,
}

/// Maximum number of names of nodes in a cycle that a message shows.
const SHOWN: usize = 12;

fn chain(cycle: &[String]) -> String {
    let shown = cycle.iter().take(SHOWN).map(|name| printable(name).into_owned());
    let mut names: Vec<String> = shown.collect();
    if cycle.len() > SHOWN {
        names.push(format!("({} more)", cycle.len() - SHOWN));
    }
    names.extend(cycle.first().map(|name| printable(name).into_owned()));
    names.join(" → ")
}

fn behind(waiting: usize, cycle: usize) -> String {
    match waiting.saturating_sub(cycle) {
        0 => String::new(),
        1 => " (1 more node waits behind them)".to_owned(),
        more => format!(" ({more} more nodes wait behind them)"),
    }
}
