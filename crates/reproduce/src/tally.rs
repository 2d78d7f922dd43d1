//! Metrics from samples and queues of a run instead of its flows.
//!
//! ```toml
//! [metrics]
//! throughput = { goodput = ["iperf"], from_ms = 1_000.0, until_ms = 3_000.0 }
//! fairness = { goodput = ["iperf"], from_ms = 1_000.0, until_ms = 3_000.0, take = "jain" }
//! evicted = { queues = [1], count = "evicted_packets" }
//! missed = { probe = "missed_chances", priority = 1 }
//! ```

use crate::course::{goodputs, jain};
use crate::{GoodputOf, QueueCount};
use bufferlab_metrics::{ProbeRow, ProgressRow, QueueRow};
use bufferlab_results::{ResultsError, RunResult};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A metric from a run's tables of samples or queues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Tally {
    /// Goodput of the flows of some classes between two samples. The scenario needs
    /// `output.sample_flows`.
    Goodput {
        /// Traffic classes of the flows.
        goodput: Vec<String>,
        /// Start of the goodput's interval (ms): the first sample at or after this time is used.
        from_ms: f64,
        /// End of the goodput's interval (ms): the last sample at or before this time is used.
        until_ms: f64,
        /// Statistic of the flows' goodput.
        #[serde(default, skip_serializing_if = "is_sum")]
        take: GoodputOf,
    },
    /// Value of a queue counter, summed over the queues of all switches.
    Queues {
        /// Priorities of the queues that the sum includes.
        queues: Vec<u8>,
        /// Name of the counter to sum over the queues.
        count: QueueCount,
    },
    /// Value of a policy's probe in the last sample, summed over the sampled queues. Such a sum is
    /// meaningful for probes that count events.
    Probe {
        /// Name of the probe, as on the policy's page and in the table `probes`.
        probe: String,
        /// Priority of the included queues; `None` for all priorities. A probe of a port needs one
        /// priority, because every queue of the port reports the probe.
        priority: Option<u8>,
    },
}

/// Whether a goodput is a sum. Serialized sums omit this key, as before the key existed.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_sum(take: &GoodputOf) -> bool {
    *take == GoodputOf::Sum
}

impl Tally {
    /// Cache key of the tally, unique to its definition.
    #[must_use]
    pub fn key(&self) -> String {
        match self {
            Self::Goodput { goodput, from_ms, until_ms, take } => {
                let of = match take {
                    GoodputOf::Sum => String::new(),
                    other => format!(".{}", other.word()),
                };
                format!("goodput[{},{from_ms}..{until_ms}]{of}", goodput.join("+"))
            }
            Self::Queues { queues, count } => {
                let queues: Vec<_> = queues.iter().map(ToString::to_string).collect();
                format!("queues[{}].{count:?}", queues.join("+")).to_lowercase()
            }
            Self::Probe { probe, priority } => {
                let of = priority.map_or_else(String::new, |priority| format!("[{priority}]"));
                format!("probe{of}.{probe}.last")
            }
        }
    }

    /// Computes the value of the metric; `None` if no sample is in range.
    ///
    /// # Errors
    /// If a table cannot be read.
    pub(crate) fn value_in(&self, result: &RunResult) -> Result<Option<f64>, ResultsError> {
        match self {
            Self::Goodput { goodput: classes, from_ms, until_ms, take } => {
                let names = &result.manifest().names.classes;
                let mut rows = Vec::new();
                result.visit(|row: ProgressRow| {
                    let name = names.get(usize::from(row.class));
                    if name.is_some_and(|name| classes.contains(name)) {
                        rows.push(row);
                    }
                })?;
                let (from_ns, until_ns) = (*from_ms * 1e6, *until_ms * 1e6);
                if *take == GoodputOf::Sum {
                    return Ok(goodput(&rows, from_ns, until_ns));
                }
                rows.retain(|row| (from_ns..=until_ns).contains(&(row.time_ns as f64)));
                Ok(fairness(&rows, *take))
            }
            Self::Queues { queues, count } => {
                let mut sum = 0;
                result.visit(|row: QueueRow| {
                    if queues.contains(&row.priority) {
                        sum += match count {
                            QueueCount::ArrivedPackets => row.arrived_packets,
                            QueueCount::DroppedPackets => row.dropped_packets,
                            QueueCount::EvictedPackets => row.evicted_packets,
                            QueueCount::MarkedPackets => row.marked_packets,
                        };
                    }
                })?;
                Ok(Some(sum as f64))
            }
            Self::Probe { probe, priority } => {
                let mut last: BTreeMap<(u32, u16, u8), f64> = BTreeMap::new();
                result.visit(|row: ProbeRow| {
                    if row.name == probe && priority.is_none_or(|priority| priority == row.priority) {
                        last.insert((row.switch, row.port, row.priority), row.value);
                    }
                })?;
                Ok((!last.is_empty()).then(|| last.values().sum()))
            }
        }
    }
}

/// Computes the goodput (Mb/s) of all flows between the first and the last sample in the range. A
/// flow that has not started counts 0 bytes.
fn goodput(rows: &[ProgressRow], from_ns: f64, until_ns: f64) -> Option<f64> {
    let within = |row: &&ProgressRow| (from_ns..=until_ns).contains(&(row.time_ns as f64));
    let (first, last) = (
        rows.iter().filter(within).map(|row| row.time_ns).min()?,
        rows.iter().filter(within).map(|row| row.time_ns).max()?,
    );
    let at = |ns: u64| {
        rows.iter().filter(|row| row.time_ns == ns).map(|row| row.delivered_bytes as f64).sum::<f64>()
    };
    (last > first).then(|| (at(last) - at(first)) * 8e-6 / ((last - first) as f64 * 1e-9))
}

/// Computes the mean or the minimum of Jain's fairness index between successive samples. `None`
/// without two samples of two flows.
fn fairness(rows: &[ProgressRow], take: GoodputOf) -> Option<f64> {
    let indices: Vec<f64> = jain(&goodputs(rows)).points.into_iter().map(|(_, index)| index).collect();
    match take {
        GoodputOf::JainMin => indices.into_iter().reduce(f64::min),
        _ => (!indices.is_empty()).then(|| indices.iter().sum::<f64>() / indices.len() as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::metric_from;

    fn row(flow_id: u64, ms: u64, delivered_bytes: u64) -> ProgressRow {
        ProgressRow { time_ns: ms * 1_000_000, flow_id, delivered_bytes, ..ProgressRow::default() }
    }

    #[test]
    fn goodput_is_of_all_flows_between_the_samples_that_count() {
        let rows = [
            row(0, 0, 0),
            row(0, 10, 125_000),
            row(1, 10, 0),
            row(0, 20, 250_000),
            row(1, 20, 125_000),
            row(0, 30, 9_000_000),
        ];
        assert_eq!(goodput(&rows, 10e6, 25e6), Some(200.0));
        assert_eq!(goodput(&rows, 31e6, 40e6), None);
    }

    #[test]
    fn fairness_is_of_the_flows_between_successive_samples() {
        // Two flows with equal rates, then one flow alone: Jain's index is 1, then 1/2.
        let rows =
            [row(0, 0, 0), row(1, 0, 0), row(0, 10, 90), row(1, 10, 90), row(0, 20, 190), row(1, 20, 90)];
        assert_eq!(fairness(&rows, GoodputOf::Jain), Some(0.75));
        assert_eq!(fairness(&rows, GoodputOf::JainMin), Some(0.5));
        assert_eq!(fairness(&rows[..2], GoodputOf::Jain), None);
    }

    #[test]
    fn a_tally_has_one_name() {
        let key = |text: &str| metric_from(text).ok().map(|metric| metric.key());
        assert_eq!(
            key("{ queues = [0, 1], count = 'evicted_packets' }").as_deref(),
            Some("queues[0+1].evictedpackets")
        );
        assert_eq!(key("{ probe = 'missed_chances' }").as_deref(), Some("probe.missed_chances.last"));
        let goodput = key("{ goodput = ['iperf'], from_ms = 1.0, until_ms = 2.5 }");
        assert_eq!(goodput.as_deref(), Some("goodput[iperf,1..2.5]"));
        let fairness = key("{ goodput = ['iperf'], from_ms = 1.0, until_ms = 2.5, take = 'jain' }");
        assert_eq!(fairness.as_deref(), Some("goodput[iperf,1..2.5].jain"));
        assert_eq!(key("{ queues = [0], count = 'nothing' }"), None);
    }
}
