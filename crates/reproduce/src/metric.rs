//! What number is taken of a run? One of its summary, or a statistic over some of its flows or queries.
//!
//! ```toml
//! [metrics]
//! tail = "class.incast.slowdown_p99"
//! small = { flows = ["web_search"], below_bytes = 100_000, of = "slowdown", take = "p99" }
//! absorbed = { queries = ["incast"], of = "dropped_packets", take = "zero_percent" }
//! ```

use crate::Tally;
use bufferlab_metrics::{FlowRow, PauseRow, QueryRow};
use bufferlab_report::{Percentile, run_summary};
use bufferlab_results::RunResult;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Where a number comes from.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a metric: the id of one of the summary's as a string, or { flows or queries = [classes], from_bytes, below_bytes, \
                 of = slowdown | time_ms | dropped_packets | sent_packets | retransmitted_packets | timeouts | bytes, \
                 take = mean | p50 | p99 | p99_9 | max | sum | count | zero_percent }, or { goodput = [classes], from_ms, until_ms }, \
                 { queues = [priorities], count }, { probe }"
)]
pub enum Metric {
    /// The summary's, by its id: `comparison.csv` of a report lists them; or `pauses`, the pause frames that switches sent.
    Summary(String),
    /// A statistic over flows or queries.
    Statistic(Statistic),
    /// A number of the tables of samples or of queues.
    Tally(Tally),
}

/// A statistic over flows or queries.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statistic {
    /// Classes of the flows; none: all classes.
    pub flows: Option<Vec<String>>,
    /// Classes of the queries, instead of flows.
    pub queries: Option<Vec<String>>,
    /// Only flows of at least so many bytes.
    #[serde(default)]
    pub from_bytes: u64,
    /// Only flows of fewer bytes.
    pub below_bytes: Option<u64>,
    /// What is looked at.
    pub of: Quantity,
    /// What is taken of it.
    pub take: Take,
}

/// What is looked at, of a flow or a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Completion time over its ideal; of finished ones.
    Slowdown,
    /// Completion time (ms); of finished ones.
    TimeMs,
    /// Packets lost.
    DroppedPackets,
    /// Packets sent; flows only.
    SentPackets,
    /// Packets sent again; flows only.
    RetransmittedPackets,
    /// Timeouts.
    Timeouts,
    /// Bytes.
    Bytes,
}

/// What is taken of many values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Take {
    /// The mean.
    Mean,
    /// The median, by nearest rank as all percentiles.
    P50,
    /// The 99th percentile.
    P99,
    /// The 99.9th percentile.
    #[serde(rename = "p99_9")]
    P999,
    /// The largest.
    Max,
    /// The sum.
    Sum,
    /// How many there are.
    Count,
    /// Which part of them is zero (%).
    ZeroPercent,
}

impl Metric {
    /// A name that says all of it: under this the number is kept.
    #[must_use]
    pub fn key(&self) -> String {
        match self {
            Self::Summary(id) => id.clone(),
            Self::Tally(tally) => tally.key(),
            Self::Statistic(statistic) => {
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

    /// What no type can say.
    pub(crate) fn check(&self) -> Result<(), String> {
        let Self::Statistic(statistic) = self else { return Ok(()) };
        if statistic.flows.is_some() && statistic.queries.is_some() {
            return Err("give `flows` or `queries`, not both".to_owned());
        }
        let of_flows = matches!(statistic.of, Quantity::SentPackets | Quantity::RetransmittedPackets);
        if statistic.queries.is_some() && of_flows {
            return Err("queries have no packets of their own: take their class' flows".to_owned());
        }
        Ok(())
    }
}

/// Every number of the summary, and `statistics`, under their keys; without those that do not exist.
///
/// # Errors
/// If a table cannot be read.
pub(crate) fn numbers(
    result: &RunResult,
    statistics: &[&Statistic],
) -> Result<BTreeMap<String, f64>, bufferlab_report::ReportError> {
    let summary = run_summary(result)?;
    let metrics = summary.metrics().into_iter();
    let mut numbers: BTreeMap<String, f64> =
        metrics.filter_map(|value| Some((value.metric.id, value.value?))).collect();
    for switch in &summary.occupancy {
        let mut of = |part: &str, value: f64| {
            numbers.insert(format!("switch.{}.buffer_{part}_percent", switch.switch), value)
        };
        of("mean", switch.mean_percent);
        of("p99", switch.p99_percent);
    }
    let pauses = result.load::<PauseRow>()?;
    numbers.insert("pauses".to_owned(), pauses.iter().map(|row| row.sent_pauses as f64).sum());
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
    }
}

fn of_query(row: &QueryRow, of: Quantity) -> Option<f64> {
    match of {
        Quantity::Slowdown => row.slowdown,
        Quantity::TimeMs => row.qct_ns.map(|ns| ns as f64 * 1e-6),
        Quantity::DroppedPackets => Some(row.dropped_packets as f64),
        Quantity::Timeouts => Some(f64::from(row.timeouts)),
        Quantity::Bytes => Some(row.request_bytes as f64),
        Quantity::SentPackets | Quantity::RetransmittedPackets => None,
    }
}

fn take(mut values: Vec<f64>, take: Take) -> Option<f64> {
    let (count, sum) = (values.len() as f64, values.iter().sum::<f64>());
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

/// The statistics among `metrics`.
pub(crate) fn statistics(metrics: &BTreeMap<String, Metric>) -> impl Iterator<Item = &Statistic> {
    metrics.values().filter_map(|metric| match metric {
        Metric::Statistic(statistic) => Some(statistic),
        Metric::Summary(_) | Metric::Tally(_) => None,
    })
}

/// The tallies among `metrics`.
pub(crate) fn tallies(metrics: &BTreeMap<String, Metric>) -> impl Iterator<Item = &Tally> {
    metrics.values().filter_map(|metric| match metric {
        Metric::Tally(tally) => Some(tally),
        Metric::Summary(_) | Metric::Statistic(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
    }

    #[test]
    fn a_statistic_has_one_name() {
        let read =
            |text: &str| toml::from_str::<BTreeMap<String, Metric>>(text).map(|mut all| all.remove("m"));
        let small = read("m = { flows = ['web'], below_bytes = 100_000, of = 'slowdown', take = 'p99_9' }");
        let key = small.expect("the metric is written well").map(|metric| metric.key());
        assert_eq!(key.as_deref(), Some("flows[web,0..100000].slowdown.p999"));
        assert!(read("m = { flows = ['web'], of = 'nothing', take = 'p99' }").is_err());
    }
}
