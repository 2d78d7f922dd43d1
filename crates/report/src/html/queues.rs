//! Section on the sampled queues over time, their limits and the policy's state of their ports.
//! Every policy has a separate chart.

use super::parts::{Body, axis_number, one_each};
use crate::error::ReportError;
use crate::format;
use crate::load::{Report, Run};
use crate::svg::{self, Axis, Chart, Mark, Point, Segment, Series, Strip};
use bufferlab_metrics::{ProbeRow, Scope, SeriesRow};
use maud::{Markup, html};
use std::collections::BTreeMap;

/// Maximum number of queues in a chart over time.
const QUEUES_SHOWN: usize = 4;
/// Maximum number of points of a line along the time axis.
const COLUMNS: usize = 320;
/// Name of the probe with the policy's state of a queue's port; 0 is the normal state.
const STATE: &str = "state";

/// A queue of a switch, as (port, priority).
type Queue = (u16, u8);

/// Draws the longest of the sampled queues of every policy; `None` without samples.
pub(super) fn over_time(report: &Report) -> Result<Option<Body>, ReportError> {
    // Each entry has the variant's label, the registry name of its policy, and its samples.
    let mut found: Vec<(&String, &str, Sampled)> = Vec::new();
    for policy in &report.comparison.policies {
        // Charts show the first seed of every policy: with common random numbers these runs have
        // identical arrivals.
        if let Some(run) = report.runs_of(policy).next()
            && let Some(sampled) = Sampled::from_run(run)?
        {
            found.push((policy, &run.summary.policy.name, sampled));
        }
    }
    if found.is_empty() {
        return Ok(None);
    }
    // A queue has the same colour in the charts of all policies.
    let mut names: Vec<Queue> =
        found.iter().flat_map(|(.., sampled)| sampled.lines.keys().copied()).collect();
    names.sort_unstable();
    names.dedup();
    let style = |queue: &Queue| svg::style_class(names.iter().position(|name| name == queue).unwrap_or(0));
    let highest = found.iter().map(|(.., sampled)| sampled.highest()).fold(1.0, f64::max);
    let from = found.iter().map(|(.., sampled)| sampled.from_ms).fold(f64::INFINITY, f64::min);
    let until = found.iter().map(|(.., sampled)| sampled.until_ms).fold(0.0, f64::max);
    let has_limits = found.iter().any(|(.., sampled)| sampled.lines.values().any(|line| line.has_limit()));
    let has_states = found.iter().any(|(.., sampled)| sampled.lines.values().any(|line| line.has_state()));
    let charts: Vec<(&str, Markup)> = found
        .iter()
        .map(|(label, policy, sampled)| {
            (label.as_str(), sampled.chart((label, policy), (from, until), highest, &style))
        })
        .collect();
    let markup = html! {
        p.soft {
            "The longest of the sampled queues, at most " (QUEUES_SHOWN) " per policy, seed " (report.runs[0].summary.seed) "."
            @if has_limits { " Dashed: the limit of the queue, drawn up to the size of the buffer." }
            @if has_states { " Bars below a chart: when the policy treats the queue's port in another way than normally." }
        }
        ul.legend {
            @for name in &names { li { (svg::sample(&format!("solid {}", style(name)), Mark::Line)) (queue_name(*name)) } }
            @if has_limits { li { (svg::sample("limit total", Mark::Line)) "limit" } }
        }
        (one_each(report, &charts))
    };
    Ok(Some(Body::new(charts.len(), markup)))
}

fn queue_name((port, priority): Queue) -> String {
    if priority == 0 { format!("port {port}") } else { format!("port {port}, priority {priority}") }
}

/// Name of a policy's state. The number of the state comes from a probe.
fn state_name(policy: &str, state: u8) -> String {
    match (policy, state) {
        ("tdt", 1) => "absorption".to_owned(),
        ("tdt", 2) => "evacuation".to_owned(),
        ("edt", 1) => "uncontrolled".to_owned(),
        _ => format!("state {state}"),
    }
}

/// Samples of a queue in one column of a chart.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    /// Largest length of the queue in this column of the chart (bytes).
    length: u64,
    /// Last limit of the queue in this column of the chart (bytes).
    limit: Option<u64>,
    /// Last state of the queue's port in this column of the chart.
    state: Option<u8>,
}

/// Samples of one queue over time, one element per column of the chart.
#[derive(Clone, Debug)]
struct Line(Vec<Cell>);

impl Line {
    fn has_limit(&self) -> bool {
        self.0.iter().any(|cell| cell.limit.is_some())
    }

    fn has_state(&self) -> bool {
        self.0.iter().any(|cell| cell.state.is_some_and(|state| state > 0))
    }
}

/// The sampled queues of one run, thinned to the width of a chart.
struct Sampled {
    from_ms: f64,
    until_ms: f64,
    step_ms: f64,
    buffer: u64,
    lines: BTreeMap<Queue, Line>,
}

impl Sampled {
    fn from_run(run: &Run) -> Result<Option<Self>, ReportError> {
        let manifest = run.result.manifest();
        let (mut from, mut until, mut switch) = (u64::MAX, 0, 0);
        let mut longest: BTreeMap<Queue, u64> = BTreeMap::new();
        run.result.visit(|row: SeriesRow| {
            (from, until) = (from.min(row.time_ns), until.max(row.time_ns));
            if let (Scope::Queue, Some(queue)) = (row.scope, row.port.zip(row.priority)) {
                switch = row.switch as usize;
                let length = longest.entry(queue).or_default();
                *length = row.occupancy_bytes.max(*length);
            }
        })?;
        let mut ranked: Vec<_> = longest.into_iter().filter(|(_, length)| *length > 0).collect();
        ranked.sort_by_key(|(queue, length)| (std::cmp::Reverse(*length), *queue));
        ranked.truncate(QUEUES_SHOWN);
        if ranked.is_empty() {
            return Ok(None);
        }
        let span = (until - from).max(1);
        // Use at most one column per sample, so that each column has a sample unless the queue was
        // empty.
        let samples = span / manifest.sample_interval_ns.max(1) + 1;
        let columns = (samples as usize).clamp(2, COLUMNS);
        let column = |time_ns: u64| {
            let at = u128::from(time_ns - from) * (columns as u128 - 1);
            (at / u128::from(span)) as usize
        };
        let mut lines: BTreeMap<Queue, Line> =
            ranked.iter().map(|(queue, _)| (*queue, Line(vec![Cell::default(); columns]))).collect();
        run.result.visit(|row: SeriesRow| {
            if let (Scope::Queue, Some(queue)) = (row.scope, row.port.zip(row.priority))
                && let Some(line) = lines.get_mut(&queue)
            {
                let cell = &mut line.0[column(row.time_ns)];
                cell.length = row.occupancy_bytes.max(cell.length);
                cell.limit = row.threshold_bytes.or(cell.limit);
            }
        })?;
        run.result.visit(|row: ProbeRow| {
            if row.name == STATE
                && (from..=until).contains(&row.time_ns)
                && let Some(line) = lines.get_mut(&(row.port, row.priority))
            {
                line.0[column(row.time_ns)].state = Some(row.value as u8);
            }
        })?;
        let buffer = manifest.totals.buffer_bytes.get(switch).copied().unwrap_or(u64::MAX);
        let (from_ms, until_ms) = (from as f64 * 1e-6, until as f64 * 1e-6);
        let step_ms = span as f64 * 1e-6 / (columns - 1) as f64;
        Ok(Some(Self { from_ms, until_ms, step_ms, buffer, lines }))
    }

    /// Upper end of the vertical axis: the longest queue, or the highest limit up to
    /// the buffer's size.
    fn highest(&self) -> f64 {
        let cells = self.lines.values().flat_map(|line| &line.0);
        let top = |cell: &Cell| cell.length.max(cell.limit.unwrap_or(0).min(self.buffer));
        cells.map(top).max().unwrap_or(0) as f64
    }

    fn chart(
        &self,
        (label, policy): (&str, &str),
        (from_ms, until_ms): (f64, f64),
        highest: f64,
        style: &dyn Fn(&Queue) -> String,
    ) -> Markup {
        let points = |line: &Line, value: &dyn Fn(&Cell) -> Option<u64>| self.steps(line, value);
        let limit = |cell: &Cell| cell.limit.map(|limit| limit.min(self.buffer));
        let mut series = Vec::new();
        for (queue, line) in self.lines.iter().filter(|(_, line)| line.has_limit()) {
            series.push(Series {
                name: format!("limit of {}", queue_name(*queue)),
                class: format!("limit {}", style(queue)),
                mark: Mark::Line,
                points: points(line, &limit),
            });
        }
        for (queue, line) in &self.lines {
            series.push(Series {
                name: queue_name(*queue),
                class: format!("solid {}", style(queue)),
                mark: Mark::Line,
                points: points(line, &|cell| Some(cell.length)),
            });
        }
        let strips: Vec<Strip> = self
            .lines
            .iter()
            .filter(|(_, line)| line.has_state())
            .map(|(queue, line)| Strip {
                name: queue_name(*queue),
                class: style(queue),
                segments: self.segments(policy, line),
            })
            .collect();
        let chart = Chart {
            title: label.to_owned(),
            x: Axis::linear("time [ms]", from_ms, until_ms, axis_number),
            y: Axis::linear("bytes stored", 0.0, highest, format::bytes),
            series,
        };
        chart.markup_with(&strips)
    }

    /// Returns the corners of a line of steps. A value is valid for its column, and the line has a
    /// gap at a missing value.
    fn steps(&self, line: &Line, value: &dyn Fn(&Cell) -> Option<u64>) -> Vec<Point> {
        let at = |column: usize| (self.from_ms + column as f64 * self.step_ms).min(self.until_ms);
        let mut points: Vec<Point> = Vec::new();
        let mut before = None;
        for (column, cell) in line.0.iter().enumerate() {
            let found = value(cell);
            match (found, points.last_mut()) {
                (Some(_), Some(last)) if found == before => last.x = at(column + 1),
                (Some(value), _) => {
                    let first = Point { lifted: before.is_none(), ..Point::from((at(column), value as f64)) };
                    points.extend([first, Point::from((at(column + 1), value as f64))]);
                }
                (None, _) => {}
            }
            before = found;
        }
        points
    }

    /// Returns runs of consecutive columns with one state, except the normal state. A column
    /// without a sample continues the state of the previous column.
    fn segments(&self, policy: &str, line: &Line) -> Vec<Segment> {
        let at = |column: usize| self.from_ms + column as f64 * self.step_ms;
        let mut segments: Vec<Segment> = Vec::new();
        let mut last = 0;
        for (column, cell) in line.0.iter().enumerate() {
            let state = cell.state.unwrap_or(last);
            match segments.last_mut() {
                Some(segment) if state == last && state > 0 => segment.to = at(column + 1),
                _ if state > 0 => segments.push(Segment {
                    from: at(column),
                    to: at(column + 1),
                    name: state_name(policy, state),
                    hollow: state > 1,
                }),
                _ => {}
            }
            last = state;
        }
        segments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_steps_with_gaps_where_nothing_is_known() {
        let cells = [Some(5), Some(5), None, Some(7), Some(9)].map(|limit| Cell { limit, ..Cell::default() });
        let sampled =
            Sampled { from_ms: 0.0, until_ms: 4.0, step_ms: 1.0, buffer: 1, lines: BTreeMap::new() };
        let points = sampled.steps(&Line(cells.to_vec()), &|cell| cell.limit);
        let corners: Vec<_> = points.iter().map(|point| (point.x, point.y, point.lifted)).collect();
        let wanted = [
            (0.0, 5.0, true),
            (2.0, 5.0, false),
            (3.0, 7.0, true),
            (4.0, 7.0, false),
            (4.0, 9.0, false),
            (4.0, 9.0, false),
        ];
        assert_eq!(corners, wanted);
    }

    #[test]
    fn states_become_bars_and_the_normal_one_none() {
        let states = [Some(0), Some(1), None, Some(1), Some(2), Some(0), Some(0), Some(2)];
        let line = Line(states.map(|state| Cell { state, ..Cell::default() }).to_vec());
        let sampled =
            Sampled { from_ms: 10.0, until_ms: 17.0, step_ms: 1.0, buffer: 1, lines: BTreeMap::new() };
        let found: Vec<_> =
            sampled.segments("tdt", &line).into_iter().map(|s| (s.from, s.to, s.name, s.hollow)).collect();
        let wanted = [
            (11.0, 14.0, "absorption", false),
            (14.0, 15.0, "evacuation", true),
            (17.0, 18.0, "evacuation", true),
        ];
        assert_eq!(found, wanted.map(|(from, to, name, hollow)| (from, to, name.to_owned(), hollow)));
    }
}
