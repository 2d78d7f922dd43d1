//! Writes Chrome's trace event format as JSON, which the document "Trace Event Format" describes.
//! Perfetto's viewer and its trace processor read this format.
//!
//! In the trace, the switch is a process and each port is a thread.
//! Times are microseconds with six decimals, which are picoseconds.

use super::each;
use crate::ViewError;
use crate::view::View;
use bufferlab_metrics::{PacketEvent, PacketRow};
use bufferlab_results::RunResult;
use serde_json::{Value, json};
use std::io::Write;

/// Writes the events of the switch that `view` shows, and the ranks of schedules of `run`. Without
/// a view, the trace has only ranks.
pub(super) fn write(view: Option<&View>, run: &RunResult, to: &mut dyn Write) -> Result<(), ViewError> {
    let io = || ViewError::io("write the trace");
    let switch = view.map_or("ranks", View::switch);
    let name = format!("{} {switch}, {}", run.manifest().scenario_name, run.manifest().label());
    writeln!(to, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[").map_err(io())?;
    let head = json!({ "ph": "M", "pid": 1, "tid": 0, "name": "process_name", "args": { "name": name } });
    write!(to, "{head}").map_err(io())?;
    if let Some(view) = view.filter(|view| view.is_recorded()) {
        for port in 0..view.index.shape.ports {
            let thread = json!({ "ph": "M", "pid": 1, "tid": port + 1, "name": "thread_name", "args": { "name": format!("port {port}") } });
            write!(to, ",\n{thread}").map_err(io())?;
        }
        let classes = &view.manifest().names.classes;
        each(view, |row| {
            for event in events(row, classes) {
                write!(to, ",\n{event}").map_err(io())?;
            }
            Ok(())
        })?;
    }
    if super::has_ranks(run) {
        super::ranks::write(run, to)?;
    }
    writeln!(to, "\n]}}").map_err(io())
}

/// Converts a time to microseconds with six decimals, exact to picoseconds for some hours.
pub(super) fn micros(time_ps: u64) -> Value {
    let text = format!("{}.{:06}", time_ps / 1_000_000, time_ps % 1_000_000);
    text.parse::<serde_json::Number>().map_or(Value::Null, Value::Number)
}

fn events(row: &PacketRow, classes: &[String]) -> Vec<Value> {
    let ts = micros(row.time_ps);
    let counter = |name: &str, bytes: u64| json!({ "ph": "C", "pid": 1, "ts": ts, "name": name, "args": { "bytes": bytes } });
    let Some(port) = row.port.filter(|_| !row.event.is_pause()) else {
        // Slices of one ingress queue do not overlap, but slices of two ingress queues may overlap,
        // so slices are asynchronous events.
        let ph = if row.event == PacketEvent::Paused { "b" } else { "e" };
        let name = format!("pause at port {} priority {}", row.ingress_port, row.priority);
        let id = u32::from(row.ingress_port) * 256 + u32::from(row.priority);
        return vec![
            json!({ "ph": ph, "cat": "pause", "id": id, "pid": 1, "tid": row.ingress_port + 1, "ts": ts, "name": name }),
        ];
    };
    let queue = format!("queue {port}.{}", row.priority);
    match row.event {
        PacketEvent::Admitted | PacketEvent::Departed => {
            vec![counter(&queue, row.queue_bytes), counter("buffer", row.occupancy_bytes)]
        }
        _ => {
            let name = format!("{} {}", row.event.name(), row.reason.unwrap_or_default());
            let class = row.class.and_then(|class| classes.get(usize::from(class)));
            let mut list = vec![json!({
                "ph": "i", "s": "t", "pid": 1, "tid": port + 1, "ts": ts, "name": name.trim_end(), "cat": "packet",
                "args": {
                    "flow": row.flow_id, "packet": row.packet, "class": class, "queue": queue, "size_bytes": row.size_bytes,
                    "queue_bytes": row.queue_bytes, "threshold_bytes": row.threshold_bytes, "bound": row.bound,
                    "held_bytes": row.held_bytes, "limit_bytes": row.limit_bytes, "account": row.account,
                },
            })];
            if row.event.leaves() {
                list.extend([counter(&queue, row.queue_bytes), counter("buffer", row.occupancy_bytes)]);
            }
            list
        }
    }
}
