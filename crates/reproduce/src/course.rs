//! Charts over time, from the periodic samples of a simulation run.
//!
//! ```toml
//! [[course]]
//! title = "queues and their threshold"
//! of = ["occupancy", "threshold"]
//! ports = [0, 1, 2]
//! since_ms = 149.5
//! ```
//!
//! The charts show the runs of the first seed, because samples of oscillating queues have no
//! meaningful mean over runs. Runs with a single line share one chart for all variants. A run with
//! several lines has a separate chart.

use crate::Sampled;
use bufferlab_metrics::{ProgressRow, Scope, SeriesRow};
use bufferlab_results::{ResultsError, RunResult};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A chart over time, from the periodic samples of a simulation run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Course {
    /// Caption of the chart over time.
    pub title: String,
    /// Sampled quantities that the chart plots, all in one unit.
    pub of: Vec<Sampled>,
    /// Ports of the sampled switch; the chart has one line for each port. Without ports, the only
    /// line shows the whole switch. Charts of flows ignore the ports.
    pub ports: Vec<u16>,
    /// Start of the chart's time axis (ms); earlier samples are not shown.
    pub since_ms: f64,
}

/// A line of a chart over time, in the form that the cache stores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CourseLine {
    /// Name of the port or flow that the line shows; empty if the chart has only one line.
    pub name: String,
    /// Points of the chart's line: time (ms) and value.
    pub points: Vec<(f64, f64)>,
}

impl Course {
    /// Cache key of the chart's lines: quantities and ports.
    #[must_use]
    pub fn key(&self) -> String {
        let ports: Vec<_> = self.ports.iter().map(ToString::to_string).collect();
        format!("course[{}].{:?}", ports.join("+"), self.of).to_lowercase()
    }

    /// Title of the vertical axis in a chart over time.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        match self.of.first() {
            Some(Sampled::Goodput) => "goodput (Mb/s)",
            Some(Sampled::Jain) => "Jain's index",
            _ => "length (KB)",
        }
    }

    /// Title of the horizontal axis in a chart over time.
    #[must_use]
    pub fn time(&self) -> String {
        if self.since_ms == 0.0 {
            "time (ms)".to_owned()
        } else {
            format!("time since {} ms (ms)", self.since_ms)
        }
    }

    /// Returns the visible points of a chart line, with times relative to the start of the axis.
    pub fn drawn<'a>(&'a self, line: &'a CourseLine) -> impl Iterator<Item = (f64, f64)> + 'a {
        let behind = line.points.iter().filter(|(ms, _)| *ms >= self.since_ms);
        behind.map(|(ms, value)| (ms - self.since_ms, *value))
    }

    /// Computes the lines of the chart over time from the result tables of a run.
    ///
    /// # Errors
    /// If a table cannot be read.
    pub(crate) fn lines(&self, result: &RunResult) -> Result<Vec<CourseLine>, ResultsError> {
        match self.of.first() {
            Some(Sampled::Goodput) => Ok(goodputs(&result.load::<ProgressRow>()?)),
            Some(Sampled::Jain) => Ok(vec![jain(&goodputs(&result.load::<ProgressRow>()?))]),
            _ => self.queues(&result.load::<SeriesRow>()?),
        }
    }

    fn queues(&self, rows: &[SeriesRow]) -> Result<Vec<CourseLine>, ResultsError> {
        let mut lines: BTreeMap<(Sampled, Option<u16>), BTreeMap<u64, u64>> = BTreeMap::new();
        for row in rows {
            let wanted = match row.scope {
                Scope::Switch => self.ports.is_empty(),
                _ => row.port.is_some_and(|port| self.ports.contains(&port)),
            };
            for &of in self.of.iter().filter(|_| wanted) {
                let points = lines.entry((of, row.port)).or_default();
                match of {
                    Sampled::Threshold => {
                        if let Some(limit) = row.threshold_bytes {
                            points.entry(row.time_ns).or_insert(limit);
                        }
                    }
                    _ => *points.entry(row.time_ns).or_default() += row.occupancy_bytes,
                }
            }
        }
        let line = |((of, port), points): ((Sampled, Option<u16>), BTreeMap<u64, u64>)| {
            let port = port.map_or_else(String::new, |port| format!("port {port}"));
            let name = match of {
                Sampled::Threshold => format!("threshold of {port}"),
                _ => port,
            };
            let points = points.into_iter().map(|(ns, bytes)| (ns as f64 * 1e-6, bytes as f64 * 1e-3));
            CourseLine { name, points: points.collect() }
        };
        Ok(lines.into_iter().filter(|(_, points)| !points.is_empty()).map(line).collect())
    }
}

/// Computes every flow's goodput between two samples, plotted at the middle of the interval.
pub(crate) fn goodputs(rows: &[ProgressRow]) -> Vec<CourseLine> {
    let mut flows: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
    for row in rows {
        flows.entry(row.flow_id).or_default().push((row.time_ns, row.delivered_bytes));
    }
    let line = |(flow, samples): (u64, Vec<(u64, u64)>)| {
        let rate = |pair: &[(u64, u64)]| {
            let (from, to) = (pair[0], pair[1]);
            let megabits = (to.1 - from.1) as f64 * 8e-6;
            ((from.0 + to.0) as f64 * 0.5e-6, megabits / ((to.0 - from.0) as f64 * 1e-9))
        };
        CourseLine { name: format!("flow {flow}"), points: samples.windows(2).map(rate).collect() }
    };
    flows.into_iter().map(line).collect()
}

/// Computes Jain's fairness index of the flows' goodputs at every time with at least two flows.
pub(crate) fn jain(flows: &[CourseLine]) -> CourseLine {
    // All flows are sampled at equal times. Times are whole nanoseconds, because floats cannot be
    // elements of an ordered set.
    let instant = |ms: f64| (ms * 1e6).round() as u64;
    let instants: BTreeSet<u64> =
        flows.iter().flat_map(|flow| &flow.points).map(|(ms, _)| instant(*ms)).collect();
    let mut points = Vec::new();
    for ns in instants {
        let at =
            |flow: &CourseLine| flow.points.iter().find(|(ms, _)| instant(*ms) == ns).map(|point| point.1);
        let rates: Vec<f64> = flows.iter().filter_map(at).collect();
        let (sum, squares) = (rates.iter().sum::<f64>(), rates.iter().map(|rate| rate * rate).sum::<f64>());
        if rates.len() > 1 && squares > 0.0 {
            points.push((ns as f64 * 1e-6, sum * sum / (rates.len() as f64 * squares)));
        }
    }
    CourseLine { name: String::new(), points }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::course_from;

    fn progress(flow_id: u64, ms: u64, delivered_bytes: u64) -> ProgressRow {
        ProgressRow { time_ns: ms * 1_000_000, flow_id, delivered_bytes, ..ProgressRow::default() }
    }

    #[test]
    fn goodput_is_what_arrives_between_two_samples_and_jain_compares_flows() {
        let rows = [
            progress(0, 0, 0),
            progress(1, 0, 0),
            progress(0, 1, 125_000),
            progress(1, 1, 125_000),
            progress(0, 2, 375_000),
            progress(1, 2, 125_000),
        ];
        let lines = goodputs(&rows);
        assert_eq!(lines[0].points, [(0.5, 1000.0), (1.5, 2000.0)]);
        assert_eq!(lines[1].points, [(0.5, 1000.0), (1.5, 0.0)]);
        let jain = jain(&lines);
        assert_eq!(jain.points, [(0.5, 1.0), (1.5, 0.5)]);
    }

    #[test]
    fn a_port_is_the_sum_of_its_queues_and_ports_that_nobody_asked_for_are_left_out() {
        let row = |port, priority, occupancy_bytes| SeriesRow {
            time_ns: 2_000_000,
            scope: Scope::Queue,
            port: Some(port),
            priority: Some(priority),
            occupancy_bytes,
            threshold_bytes: Some(9_000),
            ..SeriesRow::default()
        };
        let text = "title = 't'\nof = ['occupancy', 'threshold']\nports = [3]";
        let course = course_from(text).unwrap_or_else(|why| panic!("{why}"));
        let lines = course.queues(&[row(3, 0, 1_000), row(3, 1, 500), row(4, 0, 7_000)]).expect("readable");
        let wanted = |name: &str, kb| CourseLine { name: name.to_owned(), points: vec![(2.0, kb)] };
        assert_eq!(lines, [wanted("port 3", 1.5), wanted("threshold of port 3", 9.0)]);
    }

    #[test]
    fn what_has_no_common_unit_is_refused() {
        let refused = |of: &str| course_from(&format!("title = 't'\nof = {of}")).err();
        assert_eq!(refused("['jain']"), None);
        let why = |of: &str| refused(of).unwrap_or_default();
        assert!(why("['jain', 'occupancy']").contains("stand alone"));
        assert!(why("['threshold']").contains("has no threshold"));
        assert!(why("[]").contains("nothing is drawn"));
    }
}
