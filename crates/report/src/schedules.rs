//! Schedules of a run: iteration times, exposed communication, bandwidth.

use crate::critical_path::{CriticalPath, critical_paths, union};
use crate::error::ReportError;
use crate::statistics::Distribution;
use bufferlab_metrics::{CollectiveRow, NodeKind, RankRow, ScheduleRow, Table};
use bufferlab_results::RunResult;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Statistics of the executions of one schedule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScheduleGroup {
    /// Number of the schedule in the run, from 0.
    pub schedule: u32,
    /// Description of the schedule's workload; empty in results of earlier versions.
    pub name: String,
    /// Number of executions of the schedule in which every node ended.
    pub iterations: u64,
    /// Duration of a schedule's execution, from the first ready node to the end of the last node
    /// (ns).
    pub iteration_ns: Option<Distribution>,
    /// Exposed communication of an execution (ns): the time in which the rank with the longest
    /// computations does not compute.
    pub exposed_ns: Option<Distribution>,
    /// Send rate of the busiest rank: its sent bytes divided by the time of the execution (bit/s).
    /// For a ring or a direct algorithm, the rate is the bus bandwidth of NCCL's convention.
    pub rank_bps: Option<Distribution>,
    /// Bus bandwidth of the collectives (bit/s).
    pub bus_bps: Option<Distribution>,
    /// Time between the ends of the first and of the last rank of an execution (ns).
    pub spread_ns: Option<Distribution>,
    /// Critical path of the slowest execution of the schedule.
    #[serde(skip)]
    pub critical_path: Option<CriticalPath>,
    /// Number of schedule nodes in progress when the run ended. Nodes that wait for another node
    /// are not counted.
    pub unfinished: u64,
    /// The nodes in progress that had waited longest when the run ended.
    pub stuck: Vec<StuckNode>,
}

/// A schedule node in progress when the run ended.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct StuckNode {
    /// Time from which the node was ready to start (ns).
    pub ready_ns: u64,
    /// Number of the node in its schedule.
    pub node: u32,
    /// Rank that sends the transfer or computes.
    pub rank: u32,
    /// Rank that receives the transfer; `None` for a computation.
    pub peer_rank: Option<u32>,
}

/// Number of stuck schedule nodes that a summary lists.
const STUCK: usize = 3;

/// Times, sent bytes and unfinished nodes of one execution of a schedule.
#[derive(Default)]
struct Execution {
    begin_ps: Option<u64>,
    end_ps: u64,
    unfinished: u64,
    sent_bytes: BTreeMap<u32, u64>,
    /// Start and end of every computation (ps), by rank.
    computations: BTreeMap<u32, Vec<(u64, u64)>>,
}

impl Execution {
    fn add(&mut self, row: &ScheduleRow) {
        self.begin_ps = Some(self.begin_ps.map_or(row.ready_ps, |begin| begin.min(row.ready_ps)));
        let (Some(start), Some(end)) = (row.start_ps, row.end_ps) else {
            self.unfinished += 1;
            return;
        };
        self.end_ps = self.end_ps.max(end);
        match row.kind {
            NodeKind::Transfer => {
                *self.sent_bytes.entry(row.rank).or_default() += row.size_bytes.unwrap_or(0);
            }
            NodeKind::Compute => self.computations.entry(row.rank).or_default().push((start, end)),
        }
    }

    /// Length of the execution, from its first ready node to the end of its last node (ps).
    fn span(&self) -> u64 {
        self.end_ps.saturating_sub(self.begin_ps.unwrap_or(self.end_ps))
    }

    /// Longest time in which one rank computes (ps). Computations that overlap count once.
    fn computing(&mut self) -> u64 {
        self.computations.values_mut().map(|intervals| union(intervals)).max().unwrap_or(0)
    }
}

/// Summaries of all schedules; empty without schedules. Executions that began before `from_ns` do
/// not count.
pub(crate) fn schedules(result: &RunResult, from_ns: u64) -> Result<Vec<ScheduleGroup>, ReportError> {
    if result.manifest().rows(Table::Schedule) == 0 {
        return Ok(Vec::new());
    }
    let mut executions: BTreeMap<(u32, u32), Execution> = BTreeMap::new();
    let mut stuck: BTreeMap<u32, Vec<StuckNode>> = BTreeMap::new();
    result.visit(|row: ScheduleRow| {
        executions.entry((row.schedule, row.iteration)).or_default().add(&row);
        if row.end_ps.is_none() {
            let list = stuck.entry(row.schedule).or_default();
            let ready_ns = row.ready_ps / 1_000;
            list.push(StuckNode { ready_ns, node: row.node, rank: row.rank, peer_rank: row.peer_rank });
            list.sort_unstable();
            list.truncate(STUCK);
        }
    })?;
    let mut samples: BTreeMap<u32, ([Vec<f64>; 3], u64)> = BTreeMap::new();
    let mut counted = BTreeSet::new();
    for ((schedule, iteration), mut execution) in executions {
        let ([spans, exposed, rates], unfinished) = samples.entry(schedule).or_default();
        *unfinished += execution.unfinished;
        let is_counted = execution.begin_ps.is_some_and(|begin| begin / 1_000 >= from_ns);
        if is_counted {
            counted.insert((schedule, iteration));
        }
        let span = execution.span();
        if execution.unfinished > 0 || span == 0 || !is_counted {
            continue;
        }
        spans.push(span as f64 * 1e-3);
        exposed.push(span.saturating_sub(execution.computing()) as f64 * 1e-3);
        let most = execution.sent_bytes.values().max().copied().unwrap_or(0);
        if most > 0 {
            rates.push(most as f64 * 8e12 / span as f64);
        }
    }
    let (mut bus, mut spread) = (bus_bandwidths(result, from_ns)?, spreads(result, &counted)?);
    let mut paths = critical_paths(result, &counted)?;
    let mut groups = Vec::with_capacity(samples.len());
    for (schedule, ([mut spans, mut exposed, mut rates], unfinished)) in samples {
        let path = paths.iter().position(|path| path.schedule == schedule);
        groups.push(ScheduleGroup {
            schedule,
            name: result.manifest().names.schedules.get(schedule as usize).cloned().unwrap_or_default(),
            bus_bps: bus.get_mut(&schedule).and_then(|values| Distribution::of(values)),
            spread_ns: spread.get_mut(&schedule).and_then(|values| Distribution::of(values)),
            critical_path: path.map(|path| paths.swap_remove(path)),
            iterations: spans.len() as u64,
            iteration_ns: Distribution::of(&mut spans),
            exposed_ns: Distribution::of(&mut exposed),
            rank_bps: Distribution::of(&mut rates),
            unfinished,
            stuck: stuck.remove(&schedule).unwrap_or_default(),
        });
    }
    Ok(groups)
}

/// Bus bandwidths of the collectives of every schedule (bit/s).
fn bus_bandwidths(result: &RunResult, from_ns: u64) -> Result<BTreeMap<u32, Vec<f64>>, ReportError> {
    let mut values: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    if result.manifest().rows(Table::Collectives) > 0 {
        result.visit(|row: CollectiveRow| {
            if row.start_ps / 1_000 >= from_ns {
                values.entry(row.schedule).or_default().push(row.bus_bps as f64);
            }
        })?;
    }
    Ok(values)
}

/// Times from the end of the first rank to the end of the last rank in the counted executions, by
/// schedule (ns). `counted` has pairs of a schedule and its iteration.
fn spreads(
    result: &RunResult,
    counted: &BTreeSet<(u32, u32)>,
) -> Result<BTreeMap<u32, Vec<f64>>, ReportError> {
    let mut ends: BTreeMap<(u32, u32), (u64, u64)> = BTreeMap::new();
    if result.manifest().rows(Table::Ranks) > 0 {
        result.visit(|row: RankRow| {
            let end = ends.entry((row.schedule, row.iteration)).or_insert((u64::MAX, 0));
            *end = (end.0.min(row.end_ps), end.1.max(row.end_ps));
        })?;
    }
    let mut values: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for ((schedule, _), (first, last)) in
        ends.into_iter().filter(|(execution, _)| counted.contains(execution))
    {
        values.entry(schedule).or_default().push((last - first) as f64 * 1e-3);
    }
    Ok(values)
}

impl ScheduleGroup {
    /// Name of the schedule in headings: the description of its workload without details.
    pub(crate) fn short_name(&self) -> Option<String> {
        let name = self.name.split(", ").next().filter(|name| !name.is_empty())?;
        // The schedule's number distinguishes workloads with equal descriptions.
        let number = if self.schedule > 0 { format!(" (schedule {})", self.schedule) } else { String::new() };
        Some(format!("{name}{number}"))
    }

    /// Name of the schedule in sentences: the short name, or its number without a description.
    pub(crate) fn name_in_sentences(&self) -> String {
        self.short_name().unwrap_or_else(|| format!("schedule {}", self.schedule))
    }

    /// Describes the critical path of the slowest execution in sentences.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let name = self.name_in_sentences();
        self.critical_path.as_ref().map(|path| path.sentences(&name)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(kind: NodeKind, rank: u32, start: u64, end: Option<u64>) -> ScheduleRow {
        ScheduleRow {
            kind,
            rank,
            ready_ps: start,
            start_ps: Some(start),
            end_ps: end,
            size_bytes: Some(1_000),
            ..ScheduleRow::default()
        }
    }

    #[test]
    fn computations_that_overlap_count_once() {
        assert_eq!(union(&mut [(10, 20), (0, 5), (12, 15), (18, 30)]), 25);
        assert_eq!(union(&mut []), 0);
    }

    #[test]
    fn exposed_communication_is_the_time_without_the_longest_computation() {
        let mut execution = Execution::default();
        for row in [
            row(NodeKind::Compute, 0, 100, Some(400)),
            row(NodeKind::Compute, 1, 100, Some(200)),
            row(NodeKind::Transfer, 0, 400, Some(900)),
            row(NodeKind::Transfer, 0, 400, Some(1_100)),
            row(NodeKind::Transfer, 1, 400, Some(700)),
        ] {
            execution.add(&row);
        }
        assert_eq!((execution.span(), execution.computing(), execution.unfinished), (1_000, 300, 0));
        assert_eq!(execution.sent_bytes.values().max(), Some(&2_000));
        execution.add(&row(NodeKind::Transfer, 1, 400, None));
        assert_eq!(execution.unfinished, 1);
    }
}
