//! Critical path of the slowest execution of a schedule: which transfers the execution waited for,
//! in which queues their packets were, and the first pause or loss.

use crate::error::ReportError;
use crate::format;
use bufferlab_metrics::{FlowRow, NodeKind, PacketEvent, PacketRow, PathRow, PauseSpanRow, Table};
use bufferlab_results::{NameTables, RunResult};
use schemars::{JsonSchema, Schema, schema_for};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Critical path of one execution of a schedule.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CriticalPath {
    /// Number of the schedule in the run, from 0.
    pub schedule: u32,
    /// Number of the schedule's execution, from 0.
    pub iteration: u32,
    /// Nodes of the critical path, from the first to the last node.
    pub steps: Vec<CriticalStep>,
    /// Whether the packets of the path were recorded. If not, queues and losses are unknown.
    pub has_packets: bool,
}

/// A node of a critical path.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CriticalStep {
    /// Number of the node in its schedule.
    pub node: u32,
    /// Kind of the node: `transfer` or `compute`.
    pub kind: &'static str,
    /// Rank that sends the transfer or computes.
    pub rank: u32,
    /// Rank that receives the transfer; `None` for a computation.
    pub peer_rank: Option<u32>,
    /// Sending and receiving host of a transfer that crosses the simulated network.
    pub hosts: Option<(String, String)>,
    /// Event that the node waited for: `start`, `node`, `processor` or `scale-up`.
    pub waited_for: &'static str,
    /// Number of the node whose end the step waited for; `None` if the step waited for no node.
    pub after_node: Option<u32>,
    /// Time at which the node starts (ns).
    pub start_ns: f64,
    /// Time at which the node ends (ns).
    pub end_ns: f64,
    /// Length of the critical path's part that belongs to the node (ns).
    pub critical_ns: f64,
    /// Queue that stored packets of the transfer for the longest time.
    pub queue: Option<QueueTime>,
    /// First pause or packet loss during the transfer.
    pub first: Option<FirstEvent>,
}

/// Time in which a queue has packets of a transfer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct QueueTime {
    /// Name of the queue's switch.
    pub switch: String,
    /// Egress port of the queue.
    pub port: u16,
    /// Priority of the queue.
    pub priority: u8,
    /// Time in which the queue has at least one packet of the transfer (ns).
    pub busy_ns: f64,
}

/// First pause or packet loss of a transfer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FirstEvent {
    /// Time of the pause or loss (ns).
    pub time_ns: f64,
    /// Description of the pause or loss.
    pub what: String,
}

/// Critical paths of the schedules of one run. `format_version` increases when a field changes its
/// meaning or is removed; new fields do not increase it.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "bufferlab critical paths")]
struct CriticalPathsFile<'a> {
    /// Name of the file format: `bufferlab-critical-paths`.
    format: &'static str,
    /// Version of the file format: 1.
    format_version: u32,
    /// Critical path of the slowest execution of every schedule, or of the chosen execution.
    critical_paths: &'a [CriticalPath],
}

/// Formats critical paths as a JSON document that follows [`critical_paths_schema`].
///
/// # Errors
/// If JSON cannot represent a number.
pub fn critical_paths_json(paths: &[CriticalPath]) -> serde_json::Result<String> {
    let file =
        CriticalPathsFile { format: "bufferlab-critical-paths", format_version: 1, critical_paths: paths };
    Ok(serde_json::to_string_pretty(&file)? + "\n")
}

/// Returns the JSON schema of [`critical_paths_json`].
#[must_use]
pub fn critical_paths_schema() -> Schema {
    schema_for!(CriticalPathsFile<'_>)
}

/// Queueing times, first loss and switches of the packets of one flow.
#[derive(Clone, Debug, Default)]
struct FlowTrace {
    /// Times (from, to) of packets in queues (switch, port, priority), in picoseconds.
    stays: BTreeMap<(u32, u16, u8), Vec<(u64, u64)>>,
    loss: Option<(u64, String)>,
    switches: BTreeSet<u32>,
}

/// Whether a pause overlaps the time of a step of the critical path.
fn overlaps(pause: &PauseSpanRow, step: &PathRow) -> bool {
    let end = pause.end_ns.map_or(u64::MAX, |end| end.saturating_mul(1_000));
    pause.start_ns.saturating_mul(1_000) < step.end_ps && end > step.start_ps
}

/// Collects the events of the flows of a critical path.
#[derive(Clone, Debug)]
pub struct PathTracer {
    path: Vec<PathRow>,
    flows: BTreeMap<u64, FlowTrace>,
    names: NameTables,
    hosts: BTreeMap<u64, (u32, u32)>,
    pauses: Vec<PauseSpanRow>,
    has_packets: bool,
}

impl PathTracer {
    /// Creates a collector for the given rows: the critical path of one execution.
    #[must_use]
    pub fn new(path: Vec<PathRow>, names: NameTables) -> Self {
        let flows = path.iter().filter_map(|row| Some((row.flow_id?, FlowTrace::default()))).collect();
        Self { path, flows, names, hosts: BTreeMap::new(), pauses: Vec::new(), has_packets: false }
    }

    /// Records the hosts of a flow if the critical path contains the flow.
    pub fn flow(&mut self, row: &FlowRow) {
        if self.flows.contains_key(&row.flow_id) {
            self.hosts.insert(row.flow_id, (row.src_host, row.dst_host));
        }
    }

    /// Records a pause that overlaps a step of the critical path.
    pub fn pause(&mut self, row: &PauseSpanRow) {
        if self.path.iter().any(|step| overlaps(row, step)) {
            self.pauses.push(row.clone());
        }
    }

    /// Adds an event of a packet of the run.
    pub fn packet(&mut self, row: &PacketRow) {
        self.has_packets = true;
        // ACKs travel in the direction opposite to the transfer, so their events are ignored.
        if row.kind.is_some_and(|kind| kind != "data") {
            return;
        }
        let Some(trace) = row.flow_id.and_then(|flow| self.flows.get_mut(&flow)) else { return };
        let Some(port) = row.port else { return };
        trace.switches.insert(row.switch);
        match row.event {
            PacketEvent::Departed => {
                let stored = row.stored_ps.unwrap_or(0);
                let stays = trace.stays.entry((row.switch, port, row.priority)).or_default();
                stays.push((row.time_ps.saturating_sub(stored), row.time_ps));
            }
            PacketEvent::Dropped | PacketEvent::Evicted if trace.loss.is_none() => {
                let switch = name_of(&self.names.switches, row.switch);
                let what = format!("packet {} at port {port} of {switch}", row.event.name());
                trace.loss = Some((row.time_ps, what));
            }
            _ => {}
        }
    }

    /// Returns the critical path; `None` if the path has no step.
    #[must_use]
    pub fn finish(mut self) -> Option<CriticalPath> {
        let first = self.path.first()?;
        let (schedule, iteration) = (first.schedule, first.iteration);
        let mut steps = Vec::with_capacity(self.path.len());
        let mut before = None;
        for row in std::mem::take(&mut self.path) {
            steps.push(self.step(&row, before));
            before = Some(row.node);
        }
        Some(CriticalPath { schedule, iteration, steps, has_packets: self.has_packets })
    }

    fn step(&self, row: &PathRow, before: Option<u32>) -> CriticalStep {
        let flow =
            row.flow_id.and_then(|flow| Some((self.hosts.get(&flow).copied()?, self.flows.get(&flow)?)));
        let host = |host: u32| name_of(&self.names.hosts, host);
        CriticalStep {
            node: row.node,
            kind: row.kind.name(),
            rank: row.rank,
            peer_rank: row.peer_rank,
            hosts: flow.map(|((src, dst), _)| (host(src), host(dst))),
            waited_for: row.waited_for.name(),
            after_node: before,
            start_ns: ns(row.start_ps),
            end_ns: ns(row.end_ps),
            critical_ns: ns(row.critical_ps),
            queue: flow.and_then(|(_, trace)| self.queue(row, trace)),
            first: flow.and_then(|((src, _), trace)| self.first(row, src, trace)),
        }
    }

    /// Queue that stored packets of the flow for the longest part of the node's time on the
    /// critical path.
    fn queue(&self, row: &PathRow, trace: &FlowTrace) -> Option<QueueTime> {
        let until = row.start_ps + row.critical_ps;
        let busy = |stays: &Vec<(u64, u64)>| {
            let clip = |&(from, to): &(u64, u64)| (from.max(row.start_ps), to.min(until));
            let mut stays: Vec<_> = stays.iter().map(clip).filter(|(from, to)| from < to).collect();
            union(&mut stays)
        };
        let queues = trace.stays.iter().map(|(queue, stays)| (busy(stays), *queue));
        let (busy, (switch, port, priority)) = queues.max_by_key(|(busy, _)| *busy)?;
        let switch = name_of(&self.names.switches, switch);
        (busy > 0).then(|| QueueTime { switch, port, priority, busy_ns: ns(busy) })
    }

    /// First packet loss of the flow, or first pause of its sender or between switches of its path.
    fn first(&self, row: &PathRow, src: u32, trace: &FlowTrace) -> Option<FirstEvent> {
        let sender = name_of(&self.names.hosts, src);
        let switches: Vec<_> =
            trace.switches.iter().map(|&switch| name_of(&self.names.switches, switch)).collect();
        let on_path = |pause: &&PauseSpanRow| {
            let is_switch = |name: &String| switches.contains(name);
            // If packets were not recorded, the flow's switches are unknown, and only pauses of the
            // sender count.
            let is_paused = pause.paused == sender || (is_switch(&pause.paused) && is_switch(&pause.by));
            is_paused && overlaps(pause, row)
        };
        let pause = self.pauses.iter().filter(on_path).min_by_key(|pause| pause.start_ns);
        let pause = pause.map(|pause| {
            // A pause may begin before the transfer starts; the time shown is then the transfer's
            // start.
            let time = pause.start_ns.saturating_mul(1_000).max(row.start_ps);
            (time, format!("pause of {} by {}", pause.paused, pause.by))
        });
        let (time, what) = pause.into_iter().chain(trace.loss.clone()).min()?;
        Some(FirstEvent { time_ns: ns(time), what })
    }
}

/// Returns the total length of the union of time intervals (start, end).
pub(crate) fn union(intervals: &mut [(u64, u64)]) -> u64 {
    intervals.sort_unstable();
    let (mut total, mut until) = (0, 0);
    for &mut (start, end) in intervals {
        total += end.saturating_sub(start.max(until));
        until = until.max(end);
    }
    total
}

fn ns(ps: u64) -> f64 {
    ps as f64 * 1e-3
}

fn name_of(names: &[String], index: u32) -> String {
    names.get(index as usize).cloned().unwrap_or_else(|| index.to_string())
}

/// Rows of the critical path of the slowest execution of every schedule. If `iteration` has a
/// number, the function considers only executions with this number.
#[must_use]
pub fn slowest(rows: Vec<PathRow>, iteration: Option<u32>) -> Vec<Vec<PathRow>> {
    let mut executions: BTreeMap<(u32, u32), Vec<PathRow>> = BTreeMap::new();
    for row in rows.into_iter().filter(|row| iteration.is_none_or(|one| one == row.iteration)) {
        executions.entry((row.schedule, row.iteration)).or_default().push(row);
    }
    let mut slowest: BTreeMap<u32, (u64, Vec<PathRow>)> = BTreeMap::new();
    for ((schedule, _), path) in executions {
        let time = path.iter().map(|row| row.critical_ps).sum();
        if slowest.get(&schedule).is_none_or(|(most, _)| time > *most) {
            slowest.insert(schedule, (time, path));
        }
    }
    slowest.into_values().map(|(_, path)| path).collect()
}

/// Returns the critical path of the slowest execution of every schedule; empty without schedules.
/// Only the executions in `counted` (schedule, iteration) are considered.
pub(crate) fn critical_paths(
    result: &RunResult,
    counted: &BTreeSet<(u32, u32)>,
) -> Result<Vec<CriticalPath>, ReportError> {
    let manifest = result.manifest();
    if manifest.rows(Table::CriticalPath) == 0 {
        return Ok(Vec::new());
    }
    let mut rows: Vec<PathRow> = result.load()?;
    rows.retain(|row| counted.contains(&(row.schedule, row.iteration)));
    let mut tracers: Vec<_> =
        slowest(rows, None).into_iter().map(|path| PathTracer::new(path, manifest.names.clone())).collect();
    result.visit(|row: FlowRow| tracers.iter_mut().for_each(|tracer| tracer.flow(&row)))?;
    result.visit(|row: PauseSpanRow| tracers.iter_mut().for_each(|tracer| tracer.pause(&row)))?;
    if manifest.rows(Table::Packets) > 0 {
        result.visit(|row: PacketRow| tracers.iter_mut().for_each(|tracer| tracer.packet(&row)))?;
    }
    Ok(tracers.into_iter().filter_map(PathTracer::finish).collect())
}

impl CriticalStep {
    /// Name of the node's work: `rank 5 to rank 6 (h5 to h6)` or `computation of rank 5`.
    #[must_use]
    pub fn work(&self) -> String {
        let Some(peer) = self.peer_rank else { return format!("computation of rank {}", self.rank) };
        match &self.hosts {
            Some((src, dst)) => format!("rank {} to rank {peer} ({src} to {dst})", self.rank),
            None => format!("rank {} to rank {peer}", self.rank),
        }
    }

    /// Describes the event that the node waited for, such as `node 17` or `processor, node 17`.
    #[must_use]
    pub fn waited(&self) -> String {
        match self.after_node {
            Some(node) if self.waited_for == "node" => format!("node {node}"),
            Some(node) => format!("{}, node {node}", self.waited_for),
            None => self.waited_for.to_owned(),
        }
    }
}

impl CriticalPath {
    /// Length of the critical path (ns).
    #[must_use]
    pub fn time_ns(&self) -> f64 {
        self.steps.iter().map(|step| step.critical_ns).sum()
    }

    /// Describes the critical path in sentences. `name` is the description of the workload.
    #[must_use]
    pub fn sentences(&self, name: &str) -> Vec<String> {
        let time = |ns: f64| format::span_ns(ns.round() as u64);
        let transfer = NodeKind::Transfer.name();
        let of = |kind: &str| self.steps.iter().filter(|step| step.kind == kind).count();
        let sum = |kind: &str| -> f64 {
            self.steps.iter().filter(|step| step.kind == kind).map(|step| step.critical_ns).sum()
        };
        let (transfers, computations) = (of(transfer), self.steps.len() - of(transfer));
        let mut list = vec![format!(
            "The slowest iteration of {name} (number {}) takes {}. Its critical path has {transfers} transfers ({}) and \
             {computations} computations ({}).",
            self.iteration,
            time(self.time_ns()),
            time(sum(transfer)),
            time(sum(NodeKind::Compute.name()))
        )];
        if let Some(step) = self.longest_transfer() {
            let mut text = format!(
                "The iteration waits longest, {}, for the transfer from {}",
                time(step.critical_ns),
                step.work()
            );
            if let Some(queue) = &step.queue {
                text += &format!(
                    "; for {} of it, packets are in the queue of port {}, priority {}, of {}",
                    time(queue.busy_ns),
                    queue.port,
                    queue.priority,
                    queue.switch
                );
            }
            list.push(text + ".");
        }
        match self.first_event() {
            Some(text) => list.push(text),
            None if self.has_packets => list.push("No pause and no loss is on the path.".to_owned()),
            None => list.push(Self::HINT.to_owned()),
        }
        list
    }

    /// Command that completes a critical path without packets.
    pub(crate) const HINT: &str =
        "`bufferlab explain --critical-path` finds queues, pauses and losses on the path.";

    /// Transfer for which the execution waits longest. If several transfers are equally long, the
    /// first of them counts.
    fn longest_transfer(&self) -> Option<&CriticalStep> {
        let transfers = self.steps.iter().rev().filter(|step| step.kind == NodeKind::Transfer.name());
        transfers.max_by(|a, b| a.critical_ns.total_cmp(&b.critical_ns))
    }

    /// Sentence about the first pause or loss on the path, if any.
    fn first_event(&self) -> Option<String> {
        let events = self.steps.iter().filter_map(|step| step.first.as_ref());
        let first = events.min_by(|a, b| a.time_ns.total_cmp(&b.time_ns))?;
        let time = format::span_ns(first.time_ns.round() as u64);
        Some(format!("First pause or loss on the path: {} at {time}.", first.what))
    }

    /// Describes the path in one sentence, for a comparison of several policies.
    pub(crate) fn short_sentence(&self) -> String {
        let time = |ns: f64| format::span_ns(ns.round() as u64);
        let mut text = format!("slowest iteration {}", time(self.time_ns()));
        if let Some(step) = self.longest_transfer() {
            text += &format!(", longest wait {} for {}", time(step.critical_ns), step.work());
        }
        text += ".";
        match self.first_event() {
            Some(event) => format!("{text} {event}"),
            None => text,
        }
    }

    /// Formats the critical path as a table for a terminal.
    #[must_use]
    pub fn table(&self) -> String {
        let header = [
            "node",
            "work",
            "waited for",
            "start [us]",
            "end [us]",
            "critical [us]",
            "queue",
            "first pause or loss",
        ];
        let mut rows = vec![header.map(str::to_owned)];
        for step in &self.steps {
            let queue = step.queue.as_ref().map(|queue| {
                let busy = queue.busy_ns * 1e-3;
                format!("{} port {} priority {}: {busy:.1} us", queue.switch, queue.port, queue.priority)
            });
            let first =
                step.first.as_ref().map(|first| format!("{} at {:.1} us", first.what, first.time_ns * 1e-3));
            let us = |ns: f64| format!("{:.3}", ns * 1e-3);
            rows.push([
                step.node.to_string(),
                step.work(),
                step.waited(),
                us(step.start_ns),
                us(step.end_ns),
                us(step.critical_ns),
                queue.unwrap_or_default(),
                first.unwrap_or_default(),
            ]);
        }
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..header.len()).map(width).collect();
        let line = |row: &[String; 8]| {
            let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| match column {
                0 | 3..=5 => format!("{cell:>width$}"),
                _ => format!("{cell:<width$}"),
            });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
        };
        rows.iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bufferlab_metrics::WaitedFor;

    fn names() -> NameTables {
        let list = |prefix: &str| (0..3).map(|index| format!("{prefix}{index}")).collect();
        NameTables { switches: list("s"), hosts: list("h"), ..NameTables::default() }
    }

    fn path() -> Vec<PathRow> {
        let first = PathRow {
            node: 4,
            rank: 1,
            kind: NodeKind::Compute,
            end_ps: 1_000_000,
            critical_ps: 1_000_000,
            ..PathRow::default()
        };
        let second = PathRow {
            node: 7,
            step: 1,
            rank: 1,
            kind: NodeKind::Transfer,
            peer_rank: Some(2),
            flow_id: Some(3),
            waited_for: WaitedFor::Node,
            start_ps: 1_000_000,
            end_ps: 9_000_000,
            critical_ps: 8_000_000,
            ..PathRow::default()
        };
        vec![first, second]
    }

    fn tracer() -> PathTracer {
        let mut tracer = PathTracer::new(path(), names());
        tracer.flow(&FlowRow { flow_id: 3, src_host: 1, dst_host: 2, ..FlowRow::default() });
        tracer
    }

    fn packet(event: PacketEvent, flow: u64, time_ps: u64, stored_ps: u64) -> PacketRow {
        PacketRow {
            event,
            time_ps,
            switch: 1,
            port: Some(6),
            flow_id: Some(flow),
            stored_ps: Some(stored_ps),
            ..PacketRow::default()
        }
    }

    #[test]
    fn the_queue_counts_the_union_of_the_stays_of_the_flow() {
        let mut tracer = tracer();
        // The queue has two overlapping time spans with the flow's packets, and one span that
        // begins before the transfer. The fourth span belongs to another flow.
        for (flow, time, stored) in [(3, 2, 4), (3, 5, 2), (3, 6, 2), (9, 9, 9)] {
            tracer.packet(&packet(PacketEvent::Departed, flow, time * 1_000_000, stored * 1_000_000));
        }
        tracer.packet(&packet(PacketEvent::Dropped, 3, 4_000_000, 0));
        let path = tracer.finish().expect("two steps");
        let queue = path.steps[1].queue.as_ref().expect("the flow was in a queue");
        assert_eq!((queue.switch.as_str(), queue.port, queue.busy_ns), ("s1", 6, 4_000.0));
        let text = path.sentences("a step").join(" ");
        assert!(
            text.contains("waits longest, 8 us, for the transfer from rank 1 to rank 2 (h1 to h2)"),
            "{text}"
        );
        assert!(text.contains("packet dropped at port 6 of s1 at 4 us"), "{text}");
        assert!(path.table().contains("node 4"), "{}", path.table());
        let short = path.short_sentence();
        assert!(
            short.starts_with(
                "slowest iteration 9 us, longest wait 8 us for rank 1 to rank 2 (h1 to h2). First"
            ),
            "{short}"
        );
    }

    #[test]
    fn a_pause_of_another_host_is_not_on_the_path() {
        let pause = |paused: &str, start_ns: u64| PauseSpanRow {
            by: "s1".to_owned(),
            paused: paused.to_owned(),
            start_ns,
            end_ns: Some(start_ns + 100),
            ..PauseSpanRow::default()
        };
        let mut tracer = tracer();
        for row in [pause("h0", 2_000), pause("h1", 3_000), pause("h1", 20_000)] {
            tracer.pause(&row);
        }
        let path = tracer.finish().expect("two steps");
        let first = path.steps[1].first.as_ref().expect("a pause");
        assert_eq!((first.time_ns, first.what.as_str()), (3_000.0, "pause of h1 by s1"));
    }

    #[test]
    fn the_slowest_iteration_of_each_schedule_is_chosen() {
        let row = |schedule, iteration, critical_ps| PathRow {
            schedule,
            iteration,
            critical_ps,
            ..PathRow::default()
        };
        let rows = vec![row(0, 0, 5), row(0, 0, 5), row(0, 1, 9), row(1, 0, 1)];
        let chosen = |iteration| {
            slowest(rows.clone(), iteration).iter().map(|path| path[0].iteration).collect::<Vec<_>>()
        };
        assert_eq!(chosen(None), [0, 0]);
        assert_eq!(chosen(Some(1)), [1]);
    }
}
