//! Trace events of the ranks of schedules. Every rank is a process of the trace, and its
//! computations and transfers are slices. Slices may overlap, so slices are asynchronous events.

use super::perfetto::micros;
use crate::ViewError;
use bufferlab_metrics::{NodeKind, PathRow, ScheduleRow, Table};
use bufferlab_results::RunResult;
use serde_json::json;
use std::collections::BTreeSet;
use std::io::Write;

/// Number of the first process; the switch has smaller numbers.
const FIRST: u64 = 100;
/// Maximum number of ranks of a schedule in the trace.
const RANKS: u64 = 1 << 16;

/// Writes the events of all ranks. The trace already has an event, so each new event follows a
/// comma.
pub(super) fn write(run: &RunResult, to: &mut dyn Write) -> Result<(), ViewError> {
    let io = || ViewError::io("write the trace");
    let (names, mut known, mut critical) = (&run.manifest().names, BTreeSet::new(), BTreeSet::new());
    if run.manifest().rows(Table::CriticalPath) > 0 {
        run.visit(|row: PathRow| {
            critical.insert((row.schedule, row.iteration, row.node));
        })?;
    }
    let (mut outcome, mut id) = (Ok(()), 0_u64);
    run.visit(|row: ScheduleRow| {
        let (Some(start), Some(end)) = (row.start_ps, row.end_ps) else { return };
        let pid = FIRST + u64::from(row.schedule) * RANKS + u64::from(row.rank);
        let mut events = Vec::new();
        if known.insert(pid) {
            let host = names.hosts.get(row.host as usize).map_or("", String::as_str);
            let schedule = names.schedules.get(row.schedule as usize).map_or("schedule", String::as_str);
            let name = format!("rank {} ({host}), {schedule}", row.rank);
            events.push(json!({ "ph": "M", "pid": pid, "tid": 0, "name": "process_name", "args": { "name": name } }));
        }
        id += 1;
        let (cat, name) = match row.peer_rank {
            Some(peer) => ("transfer", format!("to rank {peer}")),
            None => (NodeKind::Compute.name(), "compute".to_owned()),
        };
        let is_critical = critical.contains(&(row.schedule, row.iteration, row.node));
        for (ph, ts) in [("b", start), ("e", end)] {
            events.push(json!({
                "ph": ph, "cat": cat, "id": id, "pid": pid, "tid": 0, "ts": micros(ts), "name": name,
                "args": {
                    "node": row.node, "iteration": row.iteration, "size_bytes": row.size_bytes, "flow": row.flow_id,
                    "after_node": row.after_node, "critical": is_critical,
                },
            }));
        }
        for event in events {
            if outcome.is_ok() {
                outcome = write!(to, ",\n{event}").map_err(io());
            }
        }
    })?;
    outcome
}
