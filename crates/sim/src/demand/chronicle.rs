//! Results of schedules: rows of nodes, collectives and ranks, and critical paths.
//!
//! The chronicle reads the notes of [`super::schedules`] about all nodes. A note never changes what
//! happens in the run. So the shards of a network write notes, and one shard applies the notes of
//! all shards in the order of the run.

use super::rank_times::{Collectives, Ranks};
use super::trail::{PathStep, Trail};
use crate::notes::{Cause, Note};
use bufferlab_metrics::{CollectiveRow, NodeKind, PathRow, RankRow, RunSink, ScheduleRow, WaitedFor};
use bufferlab_schedule::{Condition, NodeId, Transfer, Work};
use bufferlab_units::Time;
use bufferlab_workload::ScheduleTraffic;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

/// Results of all schedules of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Chronicle {
    executions: Vec<Execution>,
    /// Schedule nodes that are ready or in progress.
    live: BTreeMap<u32, Live>,
    /// Numbers of the flows that will execute nodes, known before the nodes' notes.
    flows: BTreeMap<u32, u64>,
    rows: Rows,
}

/// Rows of schedule results that are not written to the sink yet.
#[derive(Clone, Debug, Default)]
struct Rows {
    nodes: Vec<ScheduleRow>,
    collectives: Vec<CollectiveRow>,
    ranks: Vec<RankRow>,
    path: Vec<PathRow>,
}

/// Times of a schedule node that is ready or in progress.
#[derive(Clone, Copy, Debug)]
struct Live {
    ready: Time,
    start: Option<Time>,
    after: Option<u32>,
    flow: Option<u64>,
}

/// Results of the current execution of a schedule.
#[derive(Clone, Debug)]
struct Execution {
    traffic: Arc<ScheduleTraffic>,
    /// Number of this schedule's first node in the sequence of all nodes.
    base: u32,
    iteration: u32,
    origin: Time,
    /// Number of schedule nodes that are not done in this execution.
    left: usize,
    trail: Trail,
    ranks: Ranks,
    collectives: Collectives,
}

impl Execution {
    /// Work of the node with this number in the sequence of all nodes.
    fn work(&self, number: u32) -> Work {
        self.traffic.schedule.work(NodeId(number - self.base))
    }

    /// Rows of the critical path of the execution that has ended.
    fn take_path(&mut self, index: u32) -> Vec<PathRow> {
        let path = self.trail.take_path();
        let starts = path.iter().skip(1).map(|(_, step)| step.cause.at);
        let until: Vec<Time> = starts.chain(path.last().map(|(_, step)| step.end)).collect();
        let schedule = &self.traffic.schedule;
        let row = |((place, (node, step)), until): ((u32, &(u32, PathStep)), Time)| {
            let (kind, rank, peer_rank) = match schedule.work(NodeId(*node)) {
                Work::Transfer(Transfer { src, dst, .. }) => (NodeKind::Transfer, src, Some(dst)),
                Work::Compute { rank, .. } => (NodeKind::Compute, rank, None),
                Work::Barrier => unreachable!("a barrier has no step"),
            };
            PathRow {
                schedule: index,
                iteration: self.iteration,
                step: place,
                node: *node,
                kind,
                rank,
                peer_rank,
                collective: schedule.collective(NodeId(*node)),
                flow_id: step.flow,
                waited_for: step.cause.event,
                start_ps: step.cause.at.0,
                end_ps: step.end.0,
                critical_ps: until.0.saturating_sub(step.cause.at.0),
            }
        };
        (0..).zip(&path).zip(until).map(row).collect()
    }

    /// Result row of a schedule node. `None` for a barrier.
    fn row(&self, index: usize, number: u32, live: &Live, end: Option<Time>) -> Option<ScheduleRow> {
        let node = NodeId(number - self.base);
        let (kind, rank, peer_rank, class, size_bytes) = match self.traffic.schedule.work(node) {
            Work::Transfer(Transfer { src, dst, bytes, class }) => {
                let class = self.traffic.classes[usize::from(class)];
                (NodeKind::Transfer, src, Some(dst), Some(class), Some(bytes))
            }
            Work::Compute { rank, .. } => (NodeKind::Compute, rank, None, None, None),
            Work::Barrier => return None,
        };
        Some(ScheduleRow {
            schedule: index as u32,
            iteration: self.iteration,
            node: node.0,
            kind,
            rank,
            peer_rank,
            host: self.traffic.hosts[rank as usize],
            class,
            size_bytes,
            flow_id: live.flow,
            after_node: live.after,
            ready_ps: live.ready.0,
            start_ps: live.start.map(|start| start.0),
            end_ps: end.map(|end| end.0),
        })
    }
}

impl Chronicle {
    /// Adds a schedule whose first node has the number `base`.
    pub(super) fn add(&mut self, traffic: Arc<ScheduleTraffic>, base: u32) {
        self.executions.push(Execution {
            base,
            iteration: 0,
            origin: Time::ZERO,
            left: 0,
            trail: Trail::default(),
            ranks: Ranks::default(),
            collectives: Collectives::new(&traffic.schedule),
            traffic,
        });
    }

    /// Index of the schedule that contains the node with this number.
    fn schedule_of(&self, number: u32) -> usize {
        self.executions.partition_point(|one| one.base <= number) - 1
    }

    /// Announces the number of the flow that executes a node, before the notes about the node.
    pub(super) fn expect_flow(&mut self, number: u32, flow: u64) {
        self.flows.insert(number, flow);
    }

    /// Applies the next note of the run.
    pub(super) fn apply(&mut self, note: Note) {
        match note {
            Note::Begin { index, now } => {
                let one = &mut self.executions[index as usize];
                one.left = one.traffic.schedule.len();
                one.origin = now;
                one.ranks.begin(one.traffic.schedule.ranks(), now);
            }
            Note::Ready { number, at, after, event } => self.make_ready(number, at, (after, event)),
            Note::Start { number, now, start } => {
                let flow = if self.flows.is_empty() { None } else { self.flows.remove(&number) };
                let live = self.live.get_mut(&number).expect("the node is live");
                live.start = Some(start);
                live.flow = live.flow.or(flow);
                let index = self.schedule_of(number);
                let one = &mut self.executions[index];
                one.ranks.start(one.work(number), now);
            }
            Note::Flow { number, flow } => {
                if let Some(live) = self.live.get_mut(&number) {
                    live.flow = Some(flow);
                }
            }
            Note::Delay { number, cause } => {
                let index = self.schedule_of(number);
                let one = &mut self.executions[index];
                one.trail.delay(number - one.base, cause);
            }
            Note::Retain { index, node } => self.executions[index as usize].trail.retain(node),
            Note::Release { index, node } => self.executions[index as usize].trail.release(node),
            Note::End { number, now } => self.end(number, now),
        }
    }

    fn make_ready(&mut self, number: u32, at: Time, (after, event): (Option<u32>, WaitedFor)) {
        let index = self.schedule_of(number);
        let one = &mut self.executions[index];
        if one.work(number) == Work::Barrier {
            one.trail.retain(after);
        } else {
            let node = if event == WaitedFor::Start { None } else { after };
            let ready = NodeId(number - one.base);
            one.trail.add(ready.0, Cause { node, event, at });
            // The sender of a flow may be done after the receiver has the last byte.
            let mut children = one.traffic.schedule.children(ready);
            if children.any(|edge| edge.condition == Condition::Sent) {
                one.trail.retain(Some(ready.0));
            }
        }
        self.live.insert(number, Live { ready: at, start: None, after, flow: None });
    }

    fn end(&mut self, number: u32, now: Time) {
        let index = self.schedule_of(number);
        let live = self.live.remove(&number).expect("a node ends once");
        let one = &mut self.executions[index];
        self.rows.nodes.extend(one.row(index, number, &live, Some(now)));
        let (node, work) = (NodeId(number - one.base), one.work(number));
        if work == Work::Barrier {
            one.trail.release(live.after);
        } else {
            one.trail.end(node.0, now, live.flow);
            one.ranks.end(work, now);
        }
        let numbers = (index as u32, one.iteration);
        if matches!(work, Work::Transfer(_)) {
            let ended = one.collectives.end(numbers, &one.traffic.schedule, node, (live.ready, now));
            self.rows.collectives.extend(ended);
        }
        one.left -= 1;
        if one.left == 0 {
            let span = Time(now.0 - one.origin.0);
            self.rows.ranks.extend(one.ranks.rows(numbers, &one.traffic.hosts, span));
            self.rows.path.extend(one.take_path(index as u32));
            one.iteration += 1;
        }
    }

    /// Writes the rows of nodes, collectives and executions that have ended since the previous
    /// call.
    pub(super) fn flush(&mut self, sink: &mut dyn RunSink) -> io::Result<()> {
        let Rows { nodes, collectives, ranks, path } = &mut self.rows;
        nodes.drain(..).try_for_each(|row| sink.schedule(&row))?;
        collectives.drain(..).try_for_each(|row| sink.collective(&row))?;
        ranks.drain(..).try_for_each(|row| sink.rank(&row))?;
        path.drain(..).try_for_each(|row| sink.path(&row))
    }

    /// Result rows of the schedule nodes that are in progress when the run ends.
    pub(super) fn unfinished(&self) -> impl Iterator<Item = ScheduleRow> + '_ {
        self.live.iter().filter_map(|(&number, live)| {
            let index = self.schedule_of(number);
            self.executions[index].row(index, number, live, None)
        })
    }
}
