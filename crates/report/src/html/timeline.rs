//! Section on the buffer over time: a sampled switch, its fullest queue and that queue's threshold,
//! as steps.
//!
//! A sampled value is valid until the next sample. Unless the scenario chose the ports, samples
//! have rows only for queues that are not empty. So a queue without a row is empty, and its
//! threshold is unknown.

use super::parts::{Body, axis_number, one_each};
use crate::error::ReportError;
use crate::format;
use crate::load::{Report, Run};
use crate::svg::{self, Axis, Chart, Mark, Point, Series};
use bufferlab_metrics::{Scope, SeriesRow};
use maud::{Markup, html};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Number of columns along the time axis: about one per unit of the drawing.
const COLUMNS: usize = 320;

/// Draws one small chart per policy; `None` if no switch was sampled.
pub(super) fn over_time(report: &Report) -> Result<Option<Body>, ReportError> {
    // Charts show the first seed of every policy: with common random numbers these runs have
    // identical arrivals.
    let shown: Vec<(&str, &Run)> = report
        .comparison
        .policies
        .iter()
        .filter_map(|policy| Some((policy.as_str(), report.runs_of(policy).next()?)))
        .collect();
    let extents =
        shown.iter().map(|(_, run)| Extent::from_run(run)).collect::<Result<Vec<_>, ReportError>>()?;
    let runs: Vec<&Run> = shown.iter().map(|(_, run)| *run).collect();
    let Some(choice) = Choice::among(&runs, &extents) else { return Ok(None) };
    let mut timelines = Vec::new();
    for ((policy, run), extent) in shown.iter().zip(&extents) {
        if extent.queues.contains_key(&choice.switch) {
            timelines.push((*policy, Timeline::from_run(run, choice.switch, extent)?));
        }
    }
    let frame = Frame::around(&timelines, choice.buffer_bytes);
    let chart = |policy: &str, timeline: &Timeline| timeline.chart(policy, &choice.name, &frame).markup();
    let charts: Vec<(&str, Markup)> =
        timelines.iter().map(|(policy, timeline)| (*policy, chart(policy, timeline))).collect();
    let seed = report.runs[0].summary.seed;
    let markup = html! {
        p.soft { (choice.sentence()) " Seed " (seed) ". "
            "A sampled value holds until the next sample; where samples are denser than the drawing, the largest occupancies and the smallest threshold are shown. "
            "The fullest queue is the one that reached the greatest length; a threshold is known while its queue holds something. "
            @if choice.buffer_bytes > 0 { (frame.sentence(choice.buffer_bytes)) }
        }
        ul.legend { @for (class, mark, text) in legend(&timelines) { li { (svg::sample(class, mark)) (text) } } }
        (one_each(report, &charts))
    };
    Ok(Some(Body::new(charts.len(), markup)))
}

/// Returns the entries of the chart's legend, each with CSS class, line style and name. If only
/// some policies have a threshold, the entry of the threshold names these policies.
fn legend(timelines: &[(&str, Timeline)]) -> Vec<(&'static str, Mark, String)> {
    let mut entries = vec![("total", Mark::Area, "whole switch".to_owned())];
    if timelines.iter().any(|(_, timeline)| timeline.queue.is_some()) {
        entries.push(("queue", Mark::Line, "its fullest queue".to_owned()));
    }
    let limited: Vec<&str> = timelines
        .iter()
        .filter(|(_, timeline)| !timeline.threshold.is_empty())
        .map(|(policy, _)| *policy)
        .collect();
    if limited.len() == timelines.len() {
        entries.push(("threshold", Mark::Line, "that queue's threshold".to_owned()));
    } else if !limited.is_empty() {
        entries.push(("threshold", Mark::Line, format!("that queue's threshold ({})", limited.join(", "))));
    }
    entries
}

/// A queue of a switch, as (port, priority).
type Queue = (u16, u8);

/// Sampling times of a run, and the greatest sampled length of every queue, by switch.
struct Extent {
    from_ns: u64,
    end_ns: u64,
    queues: BTreeMap<u32, BTreeMap<Queue, u64>>,
}

impl Extent {
    fn from_run(run: &Run) -> Result<Self, ReportError> {
        let mut extent = Self { from_ns: u64::MAX, end_ns: 0, queues: BTreeMap::new() };
        run.result.visit(|row: SeriesRow| {
            extent.from_ns = extent.from_ns.min(row.time_ns);
            extent.end_ns = extent.end_ns.max(row.time_ns);
            let queues = extent.queues.entry(row.switch).or_default();
            if let (Scope::Queue, Some(port), Some(priority)) = (row.scope, row.port, row.priority) {
                let length = queues.entry((port, priority)).or_default();
                *length = row.occupancy_bytes.max(*length);
            }
        })?;
        Ok(extent)
    }

    /// Returns the longest queue of the switch. If several queues are equally long, the first queue
    /// is returned.
    fn fullest(&self, switch: u32) -> Option<Queue> {
        let queues = self.queues.get(&switch)?;
        queues.iter().rev().max_by_key(|(_, length)| **length).map(|(queue, _)| *queue)
    }
}

/// Switch that the charts show, with the reason for this choice.
struct Choice {
    switch: u32,
    name: String,
    buffer_bytes: u64,
    lost_packets: u64,
    /// Number of switches whose buffers were sampled.
    sampled: usize,
    /// Name and number of lost packets of another switch, which has no samples but lost more
    /// packets than the chosen switch.
    elsewhere: Option<(String, u64)>,
}

impl Choice {
    /// Chooses the sampled switch that lost most packets in the runs. If no switch lost packets,
    /// the switch with the highest occupancy is chosen. Of several equal switches, the first switch
    /// is chosen.
    fn among(runs: &[&Run], extents: &[Extent]) -> Option<Self> {
        let sampled: BTreeSet<u32> =
            extents.iter().flat_map(|extent| extent.queues.keys().copied()).collect();
        let manifest = runs.first()?.result.manifest();
        let names = &manifest.names.switches;
        let name = |switch: u32| names.get(switch as usize).map_or("", String::as_str);
        let mut lost: BTreeMap<&str, u64> = BTreeMap::new();
        for queue in runs.iter().flat_map(|run| &run.summary.switching.lost_by_queue) {
            *lost.entry(&queue.switch).or_default() += queue.lost_packets;
        }
        let packets = |switch: u32| lost.get(name(switch)).copied().unwrap_or(0);
        let fullest = |switch: u32| {
            let rows = runs.iter().flat_map(|run| &run.summary.occupancy);
            rows.filter(|row| row.switch == name(switch)).map(|row| row.max_percent).fold(0.0, f64::max)
        };
        let switch = sampled.iter().copied().max_by(|&a, &b| {
            packets(a)
                .cmp(&packets(b))
                .then(fullest(a).total_cmp(&fullest(b)))
                .then(Reverse(a).cmp(&Reverse(b)))
        })?;
        let unseen = |other: &str| !sampled.iter().any(|&switch| name(switch) == other);
        let elsewhere = lost.iter().filter(|(other, _)| unseen(other)).max_by_key(|(_, packets)| **packets);
        Some(Self {
            switch,
            name: name(switch).to_owned(),
            buffer_bytes: manifest.totals.buffer_bytes.get(switch as usize).copied().unwrap_or(0),
            lost_packets: packets(switch),
            sampled: sampled.len(),
            elsewhere: elsewhere
                .filter(|(_, lost)| **lost > packets(switch))
                .map(|(other, lost)| ((*other).to_owned(), *lost)),
        })
    }

    /// Describes the choice of the switch, its reason, and losses at a switch without samples.
    fn sentence(&self) -> Markup {
        let packets = |count: u64| {
            format!("{} {}", format::count(count), if count == 1 { "packet" } else { "packets" })
        };
        html! {
            @if self.sampled == 1 { "The sampled switch" }
            @else if self.lost_packets > 0 { "The sampled switch with most losses" }
            @else { "The fullest sampled switch" }
            ", " code { (self.name) } ", lost "
            @if self.lost_packets > 0 { (packets(self.lost_packets)) } @else { "nothing" }
            " in the runs shown."
            @if let Some((other, lost)) = &self.elsewhere {
                " " strong { "Most losses are not seen here" } ": " (other) " lost " (packets(*lost))
                " and was not sampled. To see it, set " code { "output.sample_switch = \"" (other) "\"" } "."
            }
        }
    }
}

/// Scales that all charts share, so that heights can be compared.
struct Frame {
    from_ms: f64,
    until_ms: f64,
    /// Largest value on the vertical axis (bytes).
    top: f64,
    /// Whether the vertical axis ends at the buffer's size.
    whole_buffer: bool,
}

impl Frame {
    fn around(timelines: &[(&str, Timeline)], buffer_bytes: u64) -> Self {
        let all = || timelines.iter().map(|(_, timeline)| timeline);
        let highest = all().map(Timeline::highest).fold(0.0, f64::max);
        let buffer = buffer_bytes as f64;
        // For a nearly empty buffer the axis ends lower, so that details are visible. The chart
        // draws nothing beyond the end of the axis.
        let whole_buffer = buffer > 0.0 && highest * 2.0 >= buffer;
        Self {
            from_ms: all().map(|timeline| timeline.from_ms).fold(f64::INFINITY, f64::min),
            until_ms: all().map(|timeline| timeline.end_ms).fold(0.0, f64::max),
            top: if whole_buffer { buffer } else { highest.max(1.0) },
            whole_buffer,
        }
    }

    /// Describes the largest value on the vertical axis in a sentence.
    fn sentence(&self, buffer_bytes: u64) -> String {
        let buffer = format::bytes(buffer_bytes as f64);
        if self.whole_buffer {
            format!(
                "The vertical axis ends at the buffer ({buffer}); thresholds above it never bind and lie on its edge."
            )
        } else {
            format!("The buffer ({buffer}) lies above the charts, and so may thresholds that never bind.")
        }
    }

    fn bytes_axis(&self) -> Axis {
        let axis = if self.whole_buffer { Axis::linear_to } else { Axis::linear };
        axis("bytes stored", 0.0, self.top, format::bytes)
    }
}

/// The samples of one run, thinned to the width of a chart.
struct Timeline {
    queue: Option<Queue>,
    from_ms: f64,
    end_ms: f64,
    total: Vec<Point>,
    length: Vec<Point>,
    threshold: Vec<Point>,
}

impl Timeline {
    fn from_run(run: &Run, switch: u32, extent: &Extent) -> Result<Self, ReportError> {
        let queue = extent.fullest(switch);
        let (from_ns, end_ns) = (extent.from_ns, extent.end_ns);
        let span_ns = (end_ns - from_ns).max(1);
        let column = |time_ns: u64| {
            let at = u128::from(time_ns - from_ns) * COLUMNS as u128 / u128::from(span_ns);
            (at as usize).min(COLUMNS - 1)
        };
        let (mut total, mut length, mut threshold) =
            (Steps::new(u64::max), Steps::new(u64::max), Steps::new(u64::min));
        // Table rows of one instant are adjacent: first the row of the whole switch, then the rows
        // of its queues. So the next row of the whole switch begins a new instant.
        let mut open: Option<(usize, Option<SeriesRow>)> = None;
        let mut close = |(at, row): (usize, Option<SeriesRow>)| {
            length.set(at, Some(row.as_ref().map_or(0, |row| row.occupancy_bytes)));
            threshold.set(at, row.and_then(|row| row.threshold_bytes));
        };
        run.result.visit(|row: SeriesRow| {
            if row.switch != switch {
                return;
            }
            match row.scope {
                Scope::Switch => {
                    let at = column(row.time_ns);
                    total.set(at, Some(row.occupancy_bytes));
                    open.replace((at, None)).into_iter().for_each(&mut close);
                }
                Scope::Queue if queue.is_some() && queue == row.port.zip(row.priority) => {
                    if let Some((_, held)) = &mut open {
                        *held = Some(row);
                    }
                }
                _ => {}
            }
        })?;
        open.into_iter().for_each(close);
        let from_ms = from_ns as f64 * 1e-6;
        let step_ms = span_ns as f64 * 1e-6 / COLUMNS as f64;
        let points = |steps: &Steps| steps.points(from_ms, step_ms);
        Ok(Self {
            queue,
            from_ms,
            end_ms: end_ns as f64 * 1e-6,
            total: points(&total),
            length: if queue.is_some() { points(&length) } else { Vec::new() },
            threshold: points(&threshold),
        })
    }

    /// Highest value that the chart shows. A threshold that never limits a queue may be far higher,
    /// so the chart cuts the threshold at twice the greatest occupancy.
    fn highest(&self) -> f64 {
        let most = |points: &[Point]| points.iter().map(|point| point.y).fold(0.0, f64::max);
        let stored = most(&self.total).max(most(&self.length));
        most(&self.threshold).min(stored * 2.0).max(stored)
    }

    fn chart(&self, policy: &str, switch: &str, frame: &Frame) -> Chart {
        let title = match self.queue {
            Some((port, priority)) => {
                format!("{policy}: {switch}, queue at port {port}, priority {priority}")
            }
            None => format!("{policy}: {switch}"),
        };
        let series = [
            ("whole switch", "total", Mark::Area, &self.total),
            ("fullest queue", "queue", Mark::Line, &self.length),
            ("threshold", "threshold", Mark::Line, &self.threshold),
        ];
        Chart {
            title,
            x: Axis::linear("time [ms]", frame.from_ms, frame.until_ms, axis_number),
            y: frame.bytes_axis(),
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

/// A step function over time. A value is valid until the next value is set. The value `None` means
/// that the value is unknown or missing.
struct Steps {
    /// Function that selects one of two values in a column of the chart: the larger or the smaller.
    of_two: fn(u64, u64) -> u64,
    cells: Vec<Option<u64>>,
    held: Option<u64>,
    /// Number of chart columns that have values so far.
    reached: usize,
}

impl Steps {
    fn new(of_two: fn(u64, u64) -> u64) -> Self {
        Self { of_two, cells: vec![None; COLUMNS], held: None, reached: 0 }
    }

    fn merge(&mut self, column: usize, value: Option<u64>) {
        let cell = &mut self.cells[column];
        *cell = match (*cell, value) {
            (Some(a), Some(b)) => Some((self.of_two)(a, b)),
            (a, b) => a.or(b),
        };
    }

    /// Sets the value of the step function from an instant in `column` on. Columns never decrease.
    fn set(&mut self, column: usize, value: Option<u64>) {
        // The previous value is still valid at the start of the column.
        while self.reached < column {
            self.reached += 1;
            self.merge(self.reached, self.held);
        }
        self.held = value;
        self.merge(column, value);
    }

    /// Returns the corners of the step function: the first column begins at `from`, and each column
    /// has the width `width`.
    fn points(&self, from: f64, width: f64) -> Vec<Point> {
        let mut points: Vec<Point> = Vec::new();
        let mut before = None;
        for (column, &cell) in self.cells.iter().enumerate() {
            let (start, end) = (from + column as f64 * width, from + (column + 1) as f64 * width);
            match (before, cell) {
                (Some(held), Some(value)) if held == value => {
                    if let Some(last) = points.last_mut() {
                        last.x = end;
                    }
                }
                (_, Some(value)) => {
                    let first = Point { lifted: before.is_none(), ..Point::from((start, value as f64)) };
                    points.extend([first, Point::from((end, value as f64))]);
                }
                (_, None) => {}
            }
            before = cell;
        }
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corners(steps: &Steps) -> Vec<(f64, f64, bool)> {
        steps.points(0.0, 1.0).iter().map(|point| (point.x, point.y, point.lifted)).collect()
    }

    #[test]
    fn a_value_holds_until_the_next_sample() {
        let mut steps = Steps::new(u64::max);
        steps.set(0, Some(100));
        steps.set(5, Some(0));
        steps.set(COLUMNS - 1, Some(0));
        let end = COLUMNS as f64;
        // The value of the step function fell within column 5, so the column shows the larger
        // value.
        let wanted = [(0.0, 100.0, true), (6.0, 100.0, false), (6.0, 0.0, false), (end, 0.0, false)];
        assert_eq!(corners(&steps), wanted);
    }

    #[test]
    fn where_nothing_is_known_the_line_has_a_gap() {
        let mut steps = Steps::new(u64::min);
        steps.set(0, Some(9));
        steps.set(2, None);
        steps.set(10, Some(5));
        steps.set(10, Some(7));
        steps.set(12, None);
        steps.set(COLUMNS - 1, None);
        let wanted = [
            (0.0, 9.0, true),
            (3.0, 9.0, false),
            (10.0, 5.0, true),
            (11.0, 5.0, false),
            (11.0, 7.0, false),
            (13.0, 7.0, false),
        ];
        assert_eq!(corners(&steps), wanted);
    }
}
