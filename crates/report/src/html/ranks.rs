//! Section on schedules: ranks over time, the critical path, collectives and stragglers.

use super::parts::{Body, axis_number};
use crate::critical_path::CriticalPath;
use crate::error::ReportError;
use crate::format;
use crate::load::{Report, Run};
use crate::svg::{Axis, Segment, Timeline, TimelineRow};
use bufferlab_metrics::{CollectiveRow, NodeKind, RankRow, ScheduleRow, Table};
use maud::{Markup, html};
use std::collections::BTreeMap;

/// Maximum number of ranks in the figure, and of rows in each table.
const SHOWN: usize = 32;
/// Bars with a gap below this fraction of the iteration are drawn as one bar.
const RESOLUTION: u64 = 1_200;

/// Formats the schedules in the first run of every policy that executes schedules; `None` if no run
/// does.
pub(super) fn section(report: &Report) -> Result<Option<Body>, ReportError> {
    let mut parts = Vec::new();
    for policy in &report.comparison.policies {
        if let Some(run) = report.runs_of(policy).next()
            && run.result.manifest().rows(Table::CriticalPath) > 0
        {
            parts.push(one(run)?);
        }
    }
    if parts.is_empty() {
        return Ok(None);
    }
    Ok(Some(Body::wide(parts.len(), html! { @for part in &parts { (part) } })))
}

fn one(run: &Run) -> Result<Markup, ReportError> {
    let mut ranks: Vec<RankRow> = Vec::new();
    let mut collectives: Vec<CollectiveRow> = Vec::new();
    if run.result.manifest().rows(Table::Ranks) > 0 {
        ranks = run.result.load()?;
    }
    if run.result.manifest().rows(Table::Collectives) > 0 {
        collectives = run.result.load()?;
    }
    let mut parts = Vec::new();
    for group in &run.summary.schedules {
        let Some(path) = &group.critical_path else { continue };
        let is_of = |schedule: u32, iteration: u32| (schedule, iteration) == (path.schedule, path.iteration);
        let here: Vec<_> = ranks.iter().filter(|row| is_of(row.schedule, row.iteration)).collect();
        let of_schedule: Vec<_> = collectives.iter().filter(|row| row.schedule == path.schedule).collect();
        parts.push(html! {
            h3 { (run.label) ", seed " (run.summary.seed) ": " (group.name) }
            (timeline(run, path)?.markup())
            (path_table(path))
            (rank_table(&here))
            (collective_table(&of_schedule))
        });
    }
    Ok(html! { @for part in &parts { (part) } })
}

/// Bars of a rank in the timeline: computations and transfers, each as (start, end).
type Bars = [Vec<(u64, u64)>; 2];

fn timeline(run: &Run, path: &CriticalPath) -> Result<Timeline, ReportError> {
    let mut ranks: BTreeMap<u32, Bars> = BTreeMap::new();
    let mut span = (u64::MAX, 0);
    run.result.visit(|row: ScheduleRow| {
        let (Some(start), Some(end)) = (row.start_ps, row.end_ps) else { return };
        if (row.schedule, row.iteration) != (path.schedule, path.iteration) {
            return;
        }
        span = (span.0.min(row.ready_ps), span.1.max(end));
        let kind = usize::from(row.kind == NodeKind::Transfer);
        for rank in std::iter::once(row.rank).chain(row.peer_rank) {
            ranks.entry(rank).or_default()[kind].push((start, end));
        }
    })?;
    let us = |ps: u64| ps.saturating_sub(span.0) as f64 * 1e-6;
    let gap = span.1.saturating_sub(span.0) / RESOLUTION;
    let segment = |(from, to): (u64, u64), hollow: bool| {
        let what = if hollow { "communicates" } else { "computes" };
        let name = format!("{what}, {:.1} to {:.1} us", us(from), us(to));
        Segment { from: us(from), to: us(to), name, hollow }
    };
    let rows = ranks.into_iter().take(SHOWN).map(|(rank, [computations, transfers])| {
        let computations = merged(computations, gap);
        let transfers = without(&merged(transfers, gap), &computations);
        let mut segments: Vec<_> = computations.into_iter().map(|bar| segment(bar, false)).collect();
        segments.extend(transfers.into_iter().map(|bar| segment(bar, true)));
        TimelineRow { name: format!("rank {rank}"), depth: 0, class: "s0".into(), segments }
    });
    let x = Axis::linear("time [us]", 0.0, us(span.1), axis_number);
    let title = format!(
        "Ranks in iteration {}, the slowest: filled bars compute, outlined bars only communicate, and gaps wait",
        path.iteration
    );
    Ok(Timeline { title, x, rows: rows.collect() })
}

/// Merges the bars of a timeline whose gaps are at most `gap`.
fn merged(mut bars: Vec<(u64, u64)>, gap: u64) -> Vec<(u64, u64)> {
    bars.sort_unstable();
    let mut all: Vec<(u64, u64)> = Vec::new();
    for (start, end) in bars {
        match all.last_mut() {
            Some(last) if start <= last.1 + gap => last.1 = last.1.max(end),
            _ => all.push((start, end)),
        }
    }
    all
}

/// Returns the parts of the time intervals `bars` that are outside the intervals `others`. Each
/// list is sorted and free of overlaps.
fn without(bars: &[(u64, u64)], others: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut all = Vec::new();
    for &(begin, end) in bars {
        let mut start = begin;
        for &(from, to) in others.iter().filter(|(from, to)| *to > begin && *from < end) {
            if from > start {
                all.push((start, from));
            }
            start = start.max(to);
        }
        if start < end {
            all.push((start, end));
        }
    }
    all
}

fn path_table(path: &CriticalPath) -> Markup {
    let mut steps: Vec<_> = path.steps.iter().collect();
    let hidden = steps.len().saturating_sub(SHOWN);
    if hidden > 0 {
        steps.sort_by(|a, b| b.critical_ns.total_cmp(&a.critical_ns));
        steps.truncate(SHOWN);
        steps.sort_by(|a, b| a.start_ns.total_cmp(&b.start_ns));
    }
    let time = |ns: f64| format::span_ns(ns.round() as u64);
    html! {
        p.soft {
            "Critical path: each node waited for the node before it. The critical times add up to the iteration."
            @if hidden > 0 { " The longest " (SHOWN) " of " (path.steps.len()) " nodes; the table critical_path has all." }
        }
        div.scroll tabindex="0" {
            table {
                thead { tr {
                    th { "Node" } th.left { "Work" } th.left { "Waited for" } th { "Start" } th { "End" } th { "Critical" }
                    th.left { "Longest queue" } th.left { "First pause or loss" }
                } }
                tbody {
                    @for step in &steps {
                        tr {
                            th { (step.node) }
                            td.left { (step.work()) }
                            td.left { (step.waited()) }
                            td { (time(step.start_ns)) }
                            td { (time(step.end_ns)) }
                            td { (time(step.critical_ns)) }
                            td.left { @if let Some(queue) = &step.queue { (queue.switch) " port " (queue.port) " priority " (queue.priority) ": " (time(queue.busy_ns)) } }
                            td.left { @if let Some(first) = &step.first { (first.what) " at " (time(first.time_ns)) } }
                        }
                    }
                }
            }
        }
    }
}

fn rank_table(ranks: &[&RankRow]) -> Markup {
    let first = ranks.iter().map(|row| row.end_ps).min().unwrap_or(0);
    let mut slowest: Vec<_> = ranks.to_vec();
    slowest.sort_by_key(|row| (std::cmp::Reverse(row.end_ps), row.rank));
    let time = |ps: u64| format::span_ns(ps / 1_000);
    html! {
        p.soft {
            "Ranks, the last one to end first. Exposed: the rank communicates and does not compute."
            @if slowest.len() > SHOWN { " The first " (SHOWN) " of " (slowest.len()) " ranks." }
        }
        div.scroll tabindex="0" {
            table {
                thead { tr { th { "Rank" } th { "Ends after the first" } th { "Computes" } th { "Exposed" } th { "Waits" } } }
                tbody {
                    @for row in slowest.iter().take(SHOWN) {
                        tr {
                            th { (row.rank) }
                            td { (time(row.end_ps - first)) }
                            td { (time(row.compute_ps)) }
                            td { (time(row.exposed_ps)) }
                            td { (time(row.idle_ps)) }
                        }
                    }
                }
            }
        }
    }
}

/// Collectives of equal operation, algorithm, group size and size share a row.
fn collective_table(collectives: &[&CollectiveRow]) -> Markup {
    let mut kinds: BTreeMap<(&str, &str, u32, u64), Vec<&CollectiveRow>> = BTreeMap::new();
    for row in collectives {
        kinds.entry((row.operation, row.algorithm, row.ranks, row.size_bytes)).or_default().push(row);
    }
    let mean = |rows: &[&CollectiveRow], of: fn(&CollectiveRow) -> u64| {
        rows.iter().map(|row| of(row) as f64).sum::<f64>() / rows.len() as f64
    };
    html! {
        @if !kinds.is_empty() {
            p.soft { "Collectives of all iterations, by kind. Bandwidths as nccl-tests defines them, means." }
            div.scroll tabindex="0" {
                table {
                    thead { tr {
                        th.left { "Operation" } th.left { "Algorithm" } th { "Ranks" } th { "Size" } th { "Number" } th { "Mean time" }
                        th { "Algorithm bandwidth [Gb/s]" } th { "Bus bandwidth [Gb/s]" }
                    } }
                    tbody {
                        @for ((operation, algorithm, ranks, size), rows) in kinds.iter().take(SHOWN) {
                            tr {
                                th.left { (operation) }
                                td.left { (algorithm) }
                                td { (ranks) }
                                td { (format::bytes(*size as f64)) }
                                td { (format::count(rows.len() as u64)) }
                                td { (format::span_ns(mean(rows, |row| row.end_ps - row.start_ps) as u64 / 1_000)) }
                                td { (format::number(mean(rows, |row| row.algorithm_bps) * 1e-9)) }
                                td { (format::number(mean(rows, |row| row.bus_bps) * 1e-9)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn communication_is_exposed_where_the_rank_does_not_compute() {
        let transfers = merged(vec![(40, 60), (0, 10), (12, 30)], 2);
        assert_eq!(transfers, [(0, 30), (40, 60)]);
        let exposed = without(&transfers, &[(5, 8), (20, 45), (70, 80)]);
        assert_eq!(exposed, [(0, 5), (8, 20), (45, 60)]);
    }
}
