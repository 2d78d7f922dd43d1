//! Metrics of a run: a number of its summary, or a statistic over flows, queries or buffer samples.
//!
//! ```toml
//! [metrics]
//! tail = "class.incast.slowdown_p99"
//! small = { flows = ["web_search"], below_bytes = 100_000, of = "slowdown", take = "p99" }
//! absorbed = { queries = ["incast"], of = "dropped_packets", take = "zero_percent" }
//! lossless = { priorities = [3], of = "buffer_percent", take = "p99" }
//! ```

mod labels;

use crate::{Quantity, Take, Tally};
use bufferlab_metrics::{FlowRow, PauseRow, QueryRow};
use bufferlab_report::{Metric as SummaryMetric, Percentile, run_summary, visit_buffer_samples};
use bufferlab_results::RunResult;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name of [`Metric::PauseFrames`] in experiment files and tables.
pub(crate) const PAUSE_FRAMES: &str = "pauses";

/// Definition of a metric that an experiment measures.
#[derive(Clone, Debug, PartialEq)]
pub enum Metric {
    /// A metric from the summary of the simulation run.
    Summary(Box<SummaryMetric>),
    /// Number of pause frames that switches sent: `pauses`.
    PauseFrames,
    /// A statistic over flows, queries or buffer samples.
    Statistic(Statistic),
    /// A number from the run's tables of samples or queues.
    Tally(Tally),
}

/// A statistic over flows, over queries, or over the samples of a buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statistic {
    /// Traffic classes of the included flows; `None` for all classes.
    pub flows: Option<Vec<String>>,
    /// Traffic classes of queries. If set, the statistic is over queries instead of flows.
    pub queries: Option<Vec<String>>,
    /// Priorities of queues. If set, the statistic is over samples of queues instead of flows. The
    /// value of one sample is the sum over the queues of these priorities in the sampled switch.
    /// Only samples of the arrival phase count.
    pub priorities: Option<Vec<u8>>,
    /// Size of the smallest flow that the statistic includes (bytes).
    pub from_bytes: u64,
    /// Flow size from which on the statistic excludes flows (bytes).
    pub below_bytes: Option<u64>,
    /// Quantity of each flow, query or sample, of which the statistic is computed.
    pub of: Quantity,
    /// Statistic over the quantities of all flows or samples, such as a mean or a percentile.
    pub take: Take,
}

impl Metric {
    /// Cache key of the statistic, unique to its definition.
    #[must_use]
    pub fn key(&self) -> String {
        match self {
            Self::Summary(metric) => metric.id.clone(),
            Self::PauseFrames => PAUSE_FRAMES.to_owned(),
            Self::Tally(tally) => tally.key(),
            Self::Statistic(statistic) => {
                if let Some(priorities) = &statistic.priorities {
                    let numbers: Vec<_> = priorities.iter().map(ToString::to_string).collect();
                    let (of, take) = (statistic.of, statistic.take);
                    return format!("priorities[{}].{of:?}.{take:?}", numbers.join("+")).to_lowercase();
                }
                let (kind, classes) = match (&statistic.flows, &statistic.queries) {
                    (_, Some(queries)) => ("queries", queries.join("+")),
                    (flows, None) => ("flows", flows.as_deref().unwrap_or_default().join("+")),
                };
                let below = statistic.below_bytes.map_or_else(String::new, |bytes| bytes.to_string());
                format!(
                    "{kind}[{classes},{}..{below}].{:?}.{:?}",
                    statistic.from_bytes, statistic.of, statistic.take
                )
                .to_lowercase()
            }
        }
    }
}

/// Returns every number of the run's summary and the given `statistics`, by key. Metrics without a
/// value are absent.
///
/// # Errors
/// If a table cannot be read.
pub(crate) fn numbers(
    result: &RunResult,
    statistics: &[&Statistic],
) -> Result<BTreeMap<String, f64>, bufferlab_report::ReportError> {
    let summary = run_summary(result)?;
    let metrics = summary.metrics().into_iter().chain(summary.metrics_by_switch());
    let mut numbers: BTreeMap<String, f64> =
        metrics.filter_map(|value| Some((value.metric.id, value.value?))).collect();
    let pauses = result.load::<PauseRow>()?;
    numbers.insert(PAUSE_FRAMES.to_owned(), pauses.iter().map(|row| row.sent_pauses).sum::<u64>() as f64);
    if statistics.is_empty() {
        return Ok(numbers);
    }
    let classes = &result.manifest().names.classes;
    let wanted = |list: &Option<Vec<String>>, class: u16| {
        list.as_ref()
            .is_none_or(|names| classes.get(usize::from(class)).is_some_and(|name| names.contains(name)))
    };
    let mut values: Vec<Vec<f64>> = vec![Vec::new(); statistics.len()];
    result.visit(|row: FlowRow| {
        for (statistic, values) in statistics.iter().zip(&mut values) {
            let size = statistic.from_bytes..statistic.below_bytes.unwrap_or(u64::MAX);
            if statistic.queries.is_none()
                && statistic.priorities.is_none()
                && wanted(&statistic.flows, row.class)
                && size.contains(&row.size_bytes)
            {
                values.extend(of_flow(&row, statistic.of));
            }
        }
    })?;
    result.visit(|row: QueryRow| {
        for (statistic, values) in statistics.iter().zip(&mut values) {
            if statistic.queries.is_some() && wanted(&statistic.queries, row.class) {
                values.extend(of_query(&row, statistic.of));
            }
        }
    })?;
    if statistics.iter().any(|statistic| statistic.priorities.is_some()) {
        visit_buffer_samples(result, |sample| {
            for (statistic, values) in statistics.iter().zip(&mut values) {
                values.extend(statistic.priorities.as_ref().map(|priorities| sample.percent(priorities)));
            }
        })?;
    }
    for (statistic, values) in statistics.iter().zip(values) {
        if let Some(value) = take(values, statistic.take) {
            numbers.insert(Metric::Statistic((*statistic).clone()).key(), value);
        }
    }
    Ok(numbers)
}

fn of_flow(row: &FlowRow, of: Quantity) -> Option<f64> {
    match of {
        Quantity::Slowdown => row.slowdown,
        Quantity::TimeMs => row.fct_ns.map(|ns| ns as f64 * 1e-6),
        Quantity::DroppedPackets => Some(row.dropped_packets as f64),
        Quantity::SentPackets => Some(row.sent_packets as f64),
        Quantity::RetransmittedPackets => Some(row.retransmitted_packets as f64),
        Quantity::Timeouts => Some(f64::from(row.timeouts)),
        Quantity::Bytes => Some(row.size_bytes as f64),
        Quantity::BufferPercent => None,
    }
}

fn of_query(row: &QueryRow, of: Quantity) -> Option<f64> {
    match of {
        Quantity::Slowdown => row.slowdown,
        Quantity::TimeMs => row.qct_ns.map(|ns| ns as f64 * 1e-6),
        Quantity::DroppedPackets => Some(row.dropped_packets as f64),
        Quantity::Timeouts => Some(f64::from(row.timeouts)),
        Quantity::Bytes => Some(row.request_bytes as f64),
        Quantity::SentPackets | Quantity::RetransmittedPackets | Quantity::BufferPercent => None,
    }
}

fn take(mut values: Vec<f64>, take: Take) -> Option<f64> {
    // The sum of an empty list is -0.0; adding 0.0 makes the sum +0.0.
    let (count, sum) = (values.len() as f64, values.iter().sum::<f64>() + 0.0);
    match take {
        Take::Count => return Some(count),
        Take::Sum => return Some(sum),
        _ if values.is_empty() => return None,
        _ => {}
    }
    values.sort_by(f64::total_cmp);
    match take {
        Take::Mean => Some(sum / count),
        Take::P50 => Percentile::P50.of(&values),
        Take::P99 => Percentile::P99.of(&values),
        Take::P999 => Percentile::P99_9.of(&values),
        Take::Max => values.last().copied(),
        Take::ZeroPercent => {
            Some(values.iter().filter(|value| **value == 0.0).count() as f64 / count * 100.0)
        }
        Take::Count | Take::Sum => unreachable!("answered above"),
    }
}

/// Returns the statistics over flows, queries or samples among `metrics`.
pub(crate) fn statistics(metrics: &BTreeMap<String, Metric>) -> impl Iterator<Item = &Statistic> {
    metrics.values().filter_map(|metric| match metric {
        Metric::Statistic(statistic) => Some(statistic),
        _ => None,
    })
}

/// Returns the metrics from tables of samples or queues (tallies) among `metrics`.
pub(crate) fn tallies(metrics: &BTreeMap<String, Metric>) -> impl Iterator<Item = &Tally> {
    metrics.values().filter_map(|metric| match metric {
        Metric::Tally(tally) => Some(tally),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::metric_from;
    use bufferlab_metrics::{RunSink, RunTotals, Scope, SeriesRow};
    use bufferlab_results::{NameTables, RunHeader, RunWriter};

    #[test]
    fn statistics_are_by_nearest_rank() {
        let hundred: Vec<f64> = (1..=100).map(f64::from).rev().collect();
        assert_eq!(take(hundred.clone(), Take::P99), Some(99.0));
        assert_eq!(take(hundred.clone(), Take::P50), Some(50.0));
        assert_eq!(take(hundred.clone(), Take::P999), Some(100.0));
        assert_eq!(take(hundred.clone(), Take::Mean), Some(50.5));
        assert_eq!(take(vec![0.0, 3.0, 0.0, 1.0], Take::ZeroPercent), Some(50.0));
        assert_eq!(take(Vec::new(), Take::Mean), None);
        assert_eq!(take(Vec::new(), Take::Count), Some(0.0));
        assert_eq!(take(Vec::new(), Take::Sum).map(|sum| sum.to_string()).as_deref(), Some("0"));
    }

    #[test]
    fn a_statistic_has_one_name() {
        let key = |text: &str| metric_from(text).unwrap_or_else(|why| panic!("{why}")).key();
        let small = "{ flows = ['web'], below_bytes = 100_000, of = 'slowdown', take = 'p99_9' }";
        assert_eq!(key(small), "flows[web,0..100000].slowdown.p999");
        assert!(metric_from("{ flows = ['web'], of = 'nothing', take = 'p99' }").is_err());
        let lossless = "{ priorities = [3, 4], of = 'buffer_percent', take = 'p99' }";
        assert_eq!(key(lossless), "priorities[3+4].bufferpercent.p99");
    }

    #[test]
    fn a_statistic_over_priorities_is_over_the_samples() {
        let folder = tempfile::tempdir().expect("a folder");
        let names = NameTables { switches: vec!["s0".to_owned()], ..NameTables::default() };
        let head = RunHeader { duration_ns: 100, names, ..RunHeader::default() };
        let mut writer = RunWriter::create(&folder.path().join("run"), head).expect("writable");
        for (time_ns, bytes) in [(0, 100), (50, 300)] {
            let row = |scope, priority: Option<u8>| SeriesRow {
                time_ns,
                scope,
                port: priority.map(|_| 0),
                priority,
                occupancy_bytes: bytes,
                ..SeriesRow::default()
            };
            writer.series(&row(Scope::Switch, None)).expect("writable");
            writer.series(&row(Scope::Queue, Some(3))).expect("writable");
        }
        let (switches, buffer_bytes) = (vec!["s0".to_owned()], vec![1_000]);
        let totals = RunTotals { switches, buffer_bytes, ..RunTotals::default() };
        writer.finish(&totals, Vec::new(), None).expect("writable");
        let run = RunResult::open(&folder.path().join("run")).expect("readable");
        let of = |priorities: &[u8], take| Statistic {
            flows: None,
            queries: None,
            priorities: Some(priorities.to_vec()),
            from_bytes: 0,
            below_bytes: None,
            of: Quantity::BufferPercent,
            take,
        };
        let wanted =
            [of(&[3], Take::Max), of(&[0, 3], Take::Mean), of(&[1], Take::Max), of(&[3], Take::Count)];
        let found = numbers(&run, &wanted.iter().collect::<Vec<_>>()).expect("readable");
        let found = wanted.map(|one| found.get(&Metric::Statistic(one).key()).copied());
        assert_eq!(found, [Some(30.0), Some(20.0), Some(0.0), Some(2.0)]);
    }

    #[test]
    fn what_a_statistic_cannot_be_of_is_refused() {
        let refused = |text: &str| metric_from(text).expect_err("the metric makes no sense");
        let both = refused("{ flows = ['a'], queries = ['a'], of = 'bytes', take = 'sum' }");
        assert!(both.contains("give one of"), "{both}");
        let flows = refused("{ flows = ['a'], of = 'buffer_percent', take = 'p99' }");
        assert!(flows.contains("of `priorities`"), "{flows}");
        let slow = refused("{ priorities = [1], of = 'slowdown', take = 'p99' }");
        assert!(slow.contains("of `priorities`"), "{slow}");
        let sized = refused("{ priorities = [1], below_bytes = 9, of = 'buffer_percent', take = 'p99' }");
        assert!(sized.contains("have no size"), "{sized}");
    }
}
