//! Charts of the buffer: over time with the threshold, and how long it was how full.

use super::parts::{axis_number, legend};
use crate::error::ReportError;
use crate::format;
use crate::load::{Report, Run};
use crate::svg::{self, Axis, Chart, Mark, Point, Series};
use bufferlab_metrics::{Scope, SeriesRow};
use maud::{Markup, html};
use std::collections::BTreeMap;

/// Points along the time axis.
const COLUMNS: usize = 320;
/// Smallest fraction of time that the distribution shows.
const FRACTION_MIN: f64 = 1e-4;

/// Small multiples, one per policy: the sampled switch, its fullest queue, and that queue's threshold.
pub(super) fn over_time(report: &Report) -> Result<Option<Markup>, ReportError> {
    let mut found = Vec::new();
    for policy in &report.comparison.policies {
        // The first seed of each policy: with common random numbers they show the same arrivals.
        if let Some(run) = report.runs_of(policy).next()
            && let Some(course) = Course::of(run)?
        {
            found.push((policy, course));
        }
    }
    let Some((_, first)) = found.first() else { return Ok(None) };
    let switch = first.switch.clone();
    // One scale for all, so that heights can be compared.
    let highest = found.iter().map(|(_, course)| course.highest()).fold(0.0, f64::max);
    let earliest = found.iter().map(|(_, course)| course.from_ms).fold(f64::INFINITY, f64::min);
    let latest = found.iter().map(|(_, course)| course.end_ms).fold(0.0, f64::max);
    let charts: Vec<Markup> = found
        .iter()
        .map(|(policy, course)| course.chart(policy, (earliest, latest), highest).markup())
        .collect();
    let seed = report.runs[0].summary.seed;
    let entries = [
        ("total", Mark::Area, "whole switch"),
        ("queue", Mark::Line, "its fullest queue"),
        ("threshold", Mark::Line, "that queue's threshold"),
    ];
    Ok(Some(html! {
        p.soft {
            "Switch " (switch) ", seed " (seed) ", sampled. Each point shows the largest occupancies and the smallest threshold of its interval; "
            "the fullest queue is the one that reached the greatest length."
        }
        ul.legend { @for (class, mark, text) in entries { li { (svg::sample(class, mark)) (text) } } }
        div.charts { @for chart in &charts { (chart) } }
    }))
}

type Queue = (u16, u8);

/// The samples of one run, thinned to the width of a chart.
struct Course {
    switch: String,
    queue: Option<Queue>,
    from_ms: f64,
    end_ms: f64,
    total: Vec<Point>,
    length: Vec<Point>,
    threshold: Vec<Point>,
}

impl Course {
    fn of(run: &Run) -> Result<Option<Self>, ReportError> {
        // First pass: which switch, how long, which queue.
        let mut switch = None;
        let (mut from_ns, mut end_ns) = (u64::MAX, 0);
        let mut longest: BTreeMap<Queue, u64> = BTreeMap::new();
        run.result.visit(|row: SeriesRow| {
            switch.get_or_insert(row.switch);
            (from_ns, end_ns) = (from_ns.min(row.time_ns), end_ns.max(row.time_ns));
            if let (Scope::Queue, Some(port), Some(priority)) = (row.scope, row.port, row.priority) {
                let length = longest.entry((port, priority)).or_default();
                *length = row.occupancy_bytes.max(*length);
            }
        })?;
        let Some(switch) = switch else { return Ok(None) };
        // Of equal ones the first.
        let queue = longest.iter().rev().max_by_key(|(_, length)| **length).map(|(queue, _)| *queue);
        let span_ns = (end_ns - from_ns).max(1);
        let column = |time_ns: u64| {
            (u128::from(time_ns - from_ns) * (COLUMNS as u128 - 1) / u128::from(span_ns)) as usize
        };
        let (mut total, mut length, mut threshold) = ([None; COLUMNS], [None; COLUMNS], [None; COLUMNS]);
        run.result.visit(|row: SeriesRow| {
            if row.switch != switch {
                return;
            }
            let at = column(row.time_ns);
            let raise = |cell: &mut Option<u64>| {
                *cell = Some(cell.map_or(row.occupancy_bytes, |v| v.max(row.occupancy_bytes)))
            };
            match row.scope {
                Scope::Switch => raise(&mut total[at]),
                Scope::Queue if queue == row.port.zip(row.priority) => {
                    raise(&mut length[at]);
                    if let Some(limit) = row.threshold_bytes {
                        threshold[at] = Some(threshold[at].map_or(limit, |v: u64| v.min(limit)));
                    }
                }
                _ => {}
            }
        })?;
        let from_ms = from_ns as f64 * 1e-6;
        let step_ms = span_ns as f64 * 1e-6 / (COLUMNS - 1) as f64;
        let points = |cells: &[Option<u64>]| -> Vec<Point> {
            let cells = cells.iter().enumerate();
            cells
                .filter_map(|(at, value)| {
                    Some(Point::from((from_ms + at as f64 * step_ms, (*value)? as f64)))
                })
                .collect()
        };
        Ok(Some(Self {
            switch: run.result.manifest().names.switches[switch as usize].clone(),
            queue,
            from_ms,
            end_ms: end_ns as f64 * 1e-6,
            total: points(&total),
            length: points(&length),
            threshold: points(&threshold),
        }))
    }

    /// What the chart must hold. A threshold that never binds may lie far above everything: it is cut at twice the
    /// largest occupancy.
    fn highest(&self) -> f64 {
        let most = |points: &[Point]| points.iter().map(|point| point.y).fold(0.0, f64::max);
        let stored = most(&self.total).max(most(&self.length));
        most(&self.threshold).min(stored * 2.0).max(stored)
    }

    fn chart(&self, policy: &str, (from_ms, until_ms): (f64, f64), highest: f64) -> Chart {
        let title = match self.queue {
            Some((port, priority)) => format!("{policy}: queue at port {port}, priority {priority}"),
            None => policy.to_owned(),
        };
        let series = [
            ("whole switch", "total", Mark::Area, &self.total),
            ("fullest queue", "queue", Mark::Line, &self.length),
            ("threshold", "threshold", Mark::Line, &self.threshold),
        ];
        Chart {
            title,
            x: Axis::linear("time [ms]", from_ms, until_ms, axis_number),
            y: Axis::linear("bytes stored", 0.0, highest.max(1.0), format::bytes),
            series: series
                .into_iter()
                .filter(|(_, _, _, points)| !points.is_empty())
                .map(|(name, class, mark, points)| Series {
                    name: name.to_owned(),
                    class: class.to_owned(),
                    mark,
                    points: points.clone(),
                })
                .collect(),
        }
    }
}

/// How long the buffers were fuller than a value, and a table per switch.
pub(super) fn distribution(report: &Report) -> Option<Markup> {
    let series: Vec<Series> = report
        .comparison
        .policies
        .iter()
        .enumerate()
        .map(|(number, policy)| {
            let mut bins: Vec<(f64, u64)> =
                report.runs_of(policy).flat_map(|run| run.samples.occupancy.iter().copied()).collect();
            bins.sort_by(|a, b| a.0.total_cmp(&b.0));
            Series {
                name: policy.clone(),
                class: svg::style_class(number),
                mark: Mark::Line,
                points: exceedance(&bins),
            }
        })
        .collect();
    if series.iter().all(|series| series.points.is_empty()) {
        return None;
    }
    let fullest = series.iter().flat_map(|series| &series.points).map(|point| point.x).fold(0.0, f64::max);
    let chart = Chart {
        title: "All switches, weighed by time".into(),
        x: Axis::linear("buffer in use [% of the buffer]", 0.0, fullest.max(1.0), axis_number),
        y: Axis::log("fraction of time above", FRACTION_MIN, 1.0, axis_number),
        series,
    };
    Some(html! {
        p.soft {
            "Every change of the occupancy is counted with the time that it lasted. The scale is logarithmic: the rare, full moments decide about losses."
        }
        (legend(report, Mark::Line))
        div.charts.few { (chart.markup()) }
        (switch_table(report))
    })
}

/// The fraction of time above each value, up to where it falls below [`FRACTION_MIN`].
fn exceedance(bins: &[(f64, u64)]) -> Vec<Point> {
    let total: u128 = bins.iter().map(|bin| u128::from(bin.1)).sum();
    let mut points: Vec<Point> = Vec::new();
    let mut left = total;
    for &(percent, time) in bins {
        left -= u128::from(time);
        let fraction = left as f64 / total as f64;
        let y = fraction.max(FRACTION_MIN);
        // Bins much finer than a pixel need no points of their own.
        match points.last_mut() {
            Some(last) if percent - last.x < 0.2 => last.y = y,
            _ => points.push(Point::from((percent, y))),
        }
        if fraction <= FRACTION_MIN {
            break;
        }
    }
    points
}

fn switch_table(report: &Report) -> Markup {
    let policies = &report.comparison.policies;
    let switches: Vec<&str> =
        report.runs[0].summary.occupancy.iter().map(|row| row.switch.as_str()).collect();
    let text = |policy: &str, switch: &str| {
        let rows: Vec<_> = report
            .runs_of(policy)
            .flat_map(|run| &run.summary.occupancy)
            .filter(|row| row.switch == switch)
            .collect();
        let mean = |get: fn(&crate::SwitchOccupancy) -> f64| {
            axis_number(rows.iter().map(|row| get(row)).sum::<f64>() / rows.len() as f64)
        };
        let parts = [
            mean(|row| row.mean_percent),
            mean(|row| row.p50_percent),
            mean(|row| row.p99_percent),
            mean(|row| row.max_percent),
        ];
        if rows.is_empty() { "–".to_owned() } else { parts.join(" / ") }
    };
    html! {
        details {
            summary { "Every switch" }
            p.soft { "mean / p50 / p99 / largest, in % of the buffer" @if report.comparison.seeds.len() > 1 { ", mean over seeds" } "." }
            div.scroll tabindex="0" {
                table {
                    thead { tr { th { "Switch" } @for policy in policies { th { (policy) } } } }
                    tbody {
                        @for switch in &switches {
                            tr { th { (switch) } @for policy in policies { td { (text(policy, switch)) } } }
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
    fn exceedance_falls_from_what_is_not_empty_to_nothing() {
        let points = exceedance(&[(0.0, 900), (10.0, 90), (20.0, 10)]);
        let pairs: Vec<_> = points.iter().map(|point| (point.x, (point.y * 1e4).round())).collect();
        assert_eq!(pairs, [(0.0, 1_000.0), (10.0, 100.0), (20.0, 1.0)]);
        assert!(exceedance(&[]).is_empty());
    }
}
