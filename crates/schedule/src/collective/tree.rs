//! Tree collectives on the binary trees of NCCL (`ncclGetBtree`, `ncclGetDtree`), chunk by chunk.

use super::expansion::{Expansion, Message, part};
use super::{Collective, Operation};
use crate::{NodeId, ScheduleError};

/// A tree over the positions of a group of ranks.
struct Tree {
    /// Parent of every position in the tree; `None` for the root.
    parent: Vec<Option<u32>>,
    /// Children of every position in the tree.
    children: Vec<Vec<u32>>,
    /// Positions of the tree in an order in which parents precede their children.
    order: Vec<u32>,
}

impl Tree {
    /// Creates NCCL's binary tree with root 0. `position` renames the nodes of the tree.
    ///
    /// The lowest set bit of a node is the node's height: odd nodes are leaves. The lowest set bit
    /// of the parent node is one bit higher. If n is a power of two, the tree below the root's only
    /// child is complete.
    fn new(n: u32, position: impl Fn(u32) -> u32) -> Self {
        let mut parent = vec![None; n as usize];
        let mut children = vec![Vec::new(); n as usize];
        for node in 1..n {
            let bit = node & node.wrapping_neg();
            let above = (node ^ bit) | (bit << 1);
            let above = if above >= n { node ^ bit } else { above };
            parent[position(node) as usize] = Some(position(above));
            children[position(above) as usize].push(position(node));
        }
        // Children are sorted in both trees. So no rank receives as a node of one tree and as a
        // leaf of the other tree at one time.
        children.iter_mut().for_each(|list: &mut Vec<u32>| list.sort_unstable());
        let mut order = vec![position(0)];
        let mut at = 0;
        while at < order.len() {
            order.extend_from_slice(&children[order[at] as usize]);
            at += 1;
        }
        Self { parent, children, order }
    }
}

/// Expands a collective on one binary tree.
///
/// In an all-reduce, partial sums move up. A node sends a chunk upwards when this chunk has arrived
/// from all children. Then the root sends the sums down. A broadcast only sends data down.
pub(super) fn expand(
    expansion: &mut Expansion<'_>,
    collective: &Collective<'_>,
) -> Result<(), ScheduleError> {
    let tree = Tree::new(collective.n(), |node| node);
    over(expansion, collective, &tree, collective.bytes)
}

/// Expands an all-reduce on two binary trees with half of the data each.
///
/// The second tree is the mirror image of the first tree. For an odd n, the second tree is the
/// first tree moved by one position. So a rank with children in one tree has no children in the
/// other tree.
pub(super) fn expand_double(
    expansion: &mut Expansion<'_>,
    collective: &Collective<'_>,
) -> Result<(), ScheduleError> {
    let n = collective.n();
    let first = Tree::new(n, |node| node);
    let second = Tree::new(n, |node| if n.is_multiple_of(2) { n - 1 - node } else { (node + 1) % n });
    over(expansion, collective, &first, part(collective.bytes, 2, 0))?;
    over(expansion, collective, &second, part(collective.bytes, 2, 1))
}

fn over(
    expansion: &mut Expansion<'_>,
    collective: &Collective<'_>,
    tree: &Tree,
    bytes: u64,
) -> Result<(), ScheduleError> {
    let lanes = collective.chunks * collective.channels;
    for lane in 0..lanes {
        let bytes = part(bytes, lanes, lane);
        let mut sums = Vec::new();
        if collective.operation == Operation::AllReduce {
            sums = up(expansion, tree, bytes)?;
        }
        down(expansion, tree, bytes, sums)?;
    }
    Ok(())
}

/// Sends partial sums to the root. Returns the messages that the root received.
fn up(expansion: &mut Expansion<'_>, tree: &Tree, bytes: u64) -> Result<Vec<NodeId>, ScheduleError> {
    let mut received: Vec<Vec<NodeId>> = vec![Vec::new(); tree.parent.len()];
    for &from in tree.order.iter().rev() {
        if let Some(to) = tree.parent[from as usize] {
            let node = expansion.send(Message { from, to, bytes }, &received[from as usize])?;
            received[to as usize].push(node);
        }
    }
    Ok(received.swap_remove(tree.order[0] as usize))
}

/// Sends the data of the root to all leaves, after the root has received `sums`.
fn down(
    expansion: &mut Expansion<'_>,
    tree: &Tree,
    bytes: u64,
    sums: Vec<NodeId>,
) -> Result<(), ScheduleError> {
    let mut received: Vec<Vec<NodeId>> = vec![Vec::new(); tree.parent.len()];
    received[tree.order[0] as usize] = sums;
    for &from in &tree.order {
        for &to in &tree.children[from as usize] {
            let message = Message { from, to, bytes };
            let node = expansion.send(message, &received[from as usize])?;
            expansion.last(node, message);
            received[to as usize] = vec![node];
        }
    }
    Ok(())
}
