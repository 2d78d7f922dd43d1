//! Converts the samples of a run without recorded packets to packet rows, so that one page shows
//! runs with and without recorded packets.

use crate::ViewError;
use crate::index::Shape;
use bufferlab_metrics::{PacketEvent, Scope, SeriesRow};
use bufferlab_results::{PacketBrief, RunResult};
use std::collections::BTreeMap;

/// The samples of `switch` as packet rows, sorted by time.
/// The rows have no size and no class: only lengths and limits are meaningful.
pub(crate) fn rows(run: &RunResult, switch: u32, shape: Shape) -> Result<Vec<PacketBrief>, ViewError> {
    let mut instants: BTreeMap<u64, Instant> = BTreeMap::new();
    run.visit(|row: SeriesRow| {
        if row.switch != switch {
            return;
        }
        let instant = instants.entry(row.time_ns).or_default();
        match (row.scope, row.port, row.priority) {
            (Scope::Switch, ..) => instant.occupancy = row.occupancy_bytes,
            (Scope::Queue, Some(port), Some(priority)) => {
                instant.queues.push((shape.queue(port, priority), row.occupancy_bytes, row.threshold_bytes));
            }
            _ => {}
        }
    })?;
    let mut rows = Vec::new();
    let mut longer: BTreeMap<usize, u64> = BTreeMap::new();
    for (time, instant) in instants {
        let mut next = BTreeMap::new();
        let mut push = |queue: usize, bytes: u64, limit: Option<u64>| {
            let (port, priority) = shape.place(queue);
            rows.push(PacketBrief {
                row: rows.len() as u64,
                time_ps: time * 1_000,
                event: PacketEvent::Admitted,
                ingress_port: 0,
                port: Some(port),
                priority,
                class: None,
                size_bytes: 0,
                queue_bytes: bytes,
                occupancy_bytes: instant.occupancy,
                threshold_bytes: limit,
            });
        };
        for &(queue, bytes, limit) in &instant.queues {
            push(queue, bytes, limit);
            if bytes > 0 {
                next.insert(queue, bytes);
            }
        }
        // The table of samples has no rows of an empty queue.
        for queue in longer.keys().filter(|queue| !next.contains_key(queue)) {
            push(*queue, 0, None);
        }
        longer = next;
    }
    Ok(rows)
}

/// Samples of a switch's buffer and queues at one instant.
#[derive(Debug, Default)]
struct Instant {
    occupancy: u64,
    queues: Vec<(usize, u64, Option<u64>)>,
}
