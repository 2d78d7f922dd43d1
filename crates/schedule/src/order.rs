//! Finds a cycle of nodes that wait for one another.

use crate::{NodeId, Schedule};

/// A cycle of nodes, and the number of nodes that never start because of cycles.
pub(crate) struct Found {
    /// Nodes of a cycle. Each node waits for the next node, and the last node waits for the first.
    pub(crate) cycle: Vec<u32>,
    /// Number of all nodes that never start, because of cycles.
    pub(crate) waiting: usize,
}

/// Finds a cycle: removes nodes that can start, until no other node can start.
pub(crate) fn find_cycle(schedule: &Schedule) -> Option<Found> {
    let mut waits = schedule.waits.clone();
    let mut ready: Vec<u32> =
        (0..).zip(&waits).filter(|(_, count)| **count == 0).map(|(node, _)| node).collect();
    let mut done = 0;
    while let Some(node) = ready.pop() {
        done += 1;
        for edge in schedule.packed_children(node) {
            let count = &mut waits[edge.node as usize];
            *count -= 1;
            if *count == 0 {
                ready.push(edge.node);
            }
        }
    }
    let waiting = waits.len() - done;
    (waiting > 0).then(|| Found { cycle: cycle_among(schedule, &waits), waiting })
}

/// Walks from a waiting node to a waiting parent until a node repeats.
fn cycle_among(schedule: &Schedule, waits: &[u32]) -> Vec<u32> {
    let parents = schedule.parents();
    let waiting_parent = |node: u32| {
        let found =
            parents.of_node(NodeId(node)).map(|edge| edge.node).find(|parent| waits[parent.index()] > 0);
        found.expect("a node that waits has a parent that waits").0
    };
    let first = waits.iter().position(|count| *count > 0).expect("a node waits") as u32;
    let mut place = vec![u32::MAX; waits.len()];
    let mut path = Vec::new();
    let mut node = first;
    while place[node as usize] == u32::MAX {
        place[node as usize] = path.len() as u32;
        path.push(node);
        node = waiting_parent(node);
    }
    path.split_off(place[node as usize] as usize)
}
