//! Section that compares runs with real packets with simulated runs: differences, queues, losses
//! and marks.

use super::occupancy::exceedance;
use super::parts::{Body, axis_number, drawn, legend, trace};
use crate::error::ReportError;
use crate::format;
use crate::load::Report;
use crate::real_vs_simulated::{pairs, sentences};
use crate::svg::{Axis, Chart, Series};
use bufferlab_metrics::{HistogramRow, QueueRow, Scope};
use maud::{Markup, html};
use std::collections::BTreeMap;

/// Maximum number of queues in the table of real and simulated queues.
const QUEUES_SHOWN: usize = 8;
const CHARTS: usize = 3;
/// A queue is short if its mean length times this factor is below the longest queue's mean length.
const LEAST: f64 = 100.0;
/// Smallest fraction of time on the vertical axis of the charts of queue lengths.
const FRACTION_MIN: f64 = 1e-4;

/// A queue of a switch, as (port, priority).
type Queue = (u16, u8);

/// Statistics of one queue in all runs of a policy.
#[derive(Default)]
struct QueueStatistics {
    runs: u64,
    arrived: u64,
    lost: u64,
    marked: u64,
    mean_bytes: f64,
    /// Pairs of a queue length (KB, the middle of a bin) and the time with this length (ns).
    bins: Vec<(f64, u64)>,
}

/// Formats the comparison of real and simulated runs; `None` without pairs of such runs.
pub(super) fn section(report: &Report) -> Result<Option<Body>, ReportError> {
    if pairs(report).is_empty() {
        return Ok(None);
    }
    let policies: Vec<&str> =
        pairs(report).into_iter().flat_map(|(real, simulated)| [real, simulated]).collect();
    let mut found: BTreeMap<Queue, BTreeMap<&str, QueueStatistics>> = BTreeMap::new();
    for policy in &policies {
        gather(report, policy, &mut found)?;
    }
    let (queues, mut busiest) = (found.len(), found.into_iter().collect::<Vec<_>>());
    busiest.sort_by(|a, b| mean(&b.1).total_cmp(&mean(&a.1)));
    let longest = busiest.first().map_or(0.0, |first| mean(&first.1));
    // Short queues without losses and marks are not shown.
    busiest.retain(|(_, seen)| {
        mean(seen) * LEAST >= longest || seen.values().any(|seen| seen.lost + seen.marked > 0)
    });
    busiest.truncate(QUEUES_SHOWN);
    let long = busiest.iter().filter(|(_, seen)| mean(seen) * LEAST >= longest).take(CHARTS);
    let long: Vec<_> = long.collect();
    let markup = html! {
        @for sentence in sentences(report) { p { (sentence) } }
        p.soft {
            "Completion times of both are in the distributions below. Here are the queues"
            @if queues > busiest.len() { ", " (busiest.len()) " of " (queues) " that were long, lost or marked" }
            ": how long each was longer than a value, then packets lost and marked."
        }
        (legend(report, trace(report)))
        div.charts { @for (queue, seen) in &long { (chart(report, *queue, seen)) } }
        (table(&policies, &busiest))
    };
    Ok(Some(Body::new(long.len(), markup)))
}

fn gather<'a>(
    report: &'a Report,
    policy: &'a str,
    found: &mut BTreeMap<Queue, BTreeMap<&'a str, QueueStatistics>>,
) -> Result<(), ReportError> {
    for run in report.runs_of(policy) {
        let mut visit = |row: QueueRow| {
            // The table does not compare a queue without arrivals.
            if row.arrived_packets > 0 {
                let seen = found.entry((row.port, row.priority)).or_default().entry(policy).or_default();
                seen.runs += 1;
                seen.arrived += row.arrived_packets;
                seen.lost += row.dropped_packets + row.evicted_packets;
                seen.marked += row.marked_packets;
                seen.mean_bytes += row.mean_bytes;
            }
        };
        run.result.visit(&mut visit)?;
        run.result.visit(|row: HistogramRow| {
            let (Scope::Queue, Some(port), Some(priority)) = (row.scope, row.port, row.priority) else {
                return;
            };
            if let Some(seen) = found.get_mut(&(port, priority)).and_then(|seen| seen.get_mut(policy)) {
                let middle =
                    if row.from_bytes == 0 { 0.0 } else { (row.from_bytes + row.to_bytes) as f64 / 2e3 };
                seen.bins.push((middle, row.time_ns));
            }
        })?;
    }
    Ok(())
}

/// Mean length of a queue (bytes), over all runs and policies.
fn mean(seen: &BTreeMap<&str, QueueStatistics>) -> f64 {
    seen.values().map(|seen| seen.mean_bytes / seen.runs.max(1) as f64).sum()
}

fn name((port, priority): Queue) -> String {
    format!("port {port}, priority {priority}")
}

fn chart(report: &Report, queue: Queue, seen: &BTreeMap<&str, QueueStatistics>) -> Markup {
    let series: Vec<Series> = drawn(report)
        .into_iter()
        .filter_map(|one| {
            let mut bins = seen.get(one.policy)?.bins.clone();
            bins.sort_by(|a, b| a.0.total_cmp(&b.0));
            let points = exceedance(&bins);
            Some(Series { name: one.policy.to_owned(), class: one.class, mark: trace(report), points })
        })
        .collect();
    let longest = series.iter().flat_map(|series| &series.points).map(|point| point.x).fold(0.0, f64::max);
    let chart = Chart {
        title: name(queue),
        x: Axis::linear("length of the queue [KB]", 0.0, longest.max(1.0), axis_number),
        y: Axis::log("fraction of time above", FRACTION_MIN, 1.0, axis_number),
        series,
    };
    chart.markup()
}

fn table(policies: &[&str], busiest: &[(Queue, BTreeMap<&str, QueueStatistics>)]) -> Markup {
    let count =
        |seen: &QueueStatistics, packets: u64| format::mean_count(packets as f64 / seen.runs.max(1) as f64);
    html! {
        div.scroll tabindex="0" {
            table {
                thead { tr { th { "Queue" } th.left { "Packets" } @for policy in policies { th { (policy) } } } }
                tbody {
                    @for (queue, seen) in busiest {
                        @for (row, what) in ["arrived", "lost", "marked"].into_iter().enumerate() {
                            tr {
                                th { @if row == 0 { (name(*queue)) } }
                                td.left { (what) }
                                @for policy in policies {
                                    td {
                                        @match seen.get(policy) {
                                            None => "–",
                                            Some(seen) => (count(seen, [seen.arrived, seen.lost, seen.marked][row])),
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
