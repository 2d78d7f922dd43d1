//! Errors of schedules.

use crate::limits::{EDGES_MAX, NODES_MAX, RANKS_MAX};
use bufferlab_units::printable;

/// A schedule that cannot be executed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// A rank that the schedule does not have.
    #[error("{node} names rank {rank}, but ranks are 0 to {}", ranks.saturating_sub(1))]
    UnknownRank {
        /// Name of the node.
        node: String,
        /// The unknown rank.
        rank: u32,
        /// Number of ranks.
        ranks: u32,
    },
    /// A transfer from a rank to itself.
    #[error("{node} sends from rank {rank} to itself; a transfer needs two ranks, so use a computation")]
    ToItself {
        /// Name of the node.
        node: String,
        /// The rank.
        rank: u32,
    },
    /// A transfer without data.
    #[error("{node} sends nothing; a transfer has at least 1 byte, so use a barrier")]
    Empty {
        /// Name of the node.
        node: String,
    },
    /// An edge from or to a node that does not exist.
    #[error("an edge names node number {node}, but there are {nodes} nodes; add a node before its edges")]
    UnknownNode {
        /// Number of the node that the schedule does not have.
        node: u32,
        /// Number of nodes in the schedule.
        nodes: usize,
    },
    /// A wait for the transmission of something other than a transfer.
    #[error("{node} waits until {parent} is sent, but {parent} is no transfer; wait until it is done")]
    NotATransfer {
        /// Name of the waiting node.
        node: String,
        /// Name of the parent that the node waits for.
        parent: String,
    },
    /// Nodes that wait for each other.
    #[error(
        "these nodes wait for each other and never start: {}{}; remove one of these dependencies",
        chain(cycle),
        behind(*waiting, cycle.len())
    )]
    Cycle {
        /// Names of the nodes of one cycle; each waits for the next, the last for the first.
        cycle: Vec<String>,
        /// Number of all nodes that never start.
        waiting: usize,
    },
    /// More ranks than a run has hosts.
    #[error("{0} ranks are too many, expected at most {RANKS_MAX}; use a part of the schedule")]
    TooManyRanks(u32),
    /// More nodes than the limit.
    #[error("more than {NODES_MAX} nodes of a schedule; use one iteration, or fewer chunks")]
    TooManyNodes,
    /// More edges than the limit.
    #[error("more than {EDGES_MAX} edges of a schedule; put a barrier between groups of nodes")]
    TooManyEdges,
    /// More classes than fit into 16 bits.
    #[error("more than 65535 classes of transfers; use the class for a few kinds of traffic")]
    TooManyClasses,
}

/// Number of names of a cycle that a message shows.
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
