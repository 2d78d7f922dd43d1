//! What is taken of a run's samples and queues, rather than of its flows?
//!
//! ```toml
//! [metrics]
//! throughput = { goodput = ["iperf"], from_ms = 1_000.0, until_ms = 3_000.0 }
//! evicted = { queues = [1], count = "evicted_packets" }
//! missed = { probe = "missed_chances", priority = 1 }
//! ```

use crate::QueueCount;
use bufferlab_metrics::{ProbeRow, ProgressRow, QueueRow};
use bufferlab_results::{ResultsError, RunResult};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A number of the tables of samples or of queues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Tally {
    /// Payload that receivers have got (Mb/s), of all flows of some classes together, between two
    /// samples; needs `output.sample_flows`.
    Goodput {
        /// The classes.
        goodput: Vec<String>,
        /// The first sample at or after this time counts (ms).
        from_ms: f64,
        /// And the last one at or before this (ms).
        until_ms: f64,
    },
    /// A count over the queues of all switches.
    Queues {
        /// Of these priorities.
        queues: Vec<u8>,
        /// What is counted.
        count: QueueCount,
    },
    /// What the policy says of itself: the last sample of every sampled queue, summed; meant for
    /// counters.
    Probe {
        /// Its name, as the policy's page and the table `probes` have it.
        probe: String,
        /// Only queues of this priority: what a policy tells of a port it tells of each of its
        /// queues.
        priority: Option<u8>,
    },
}

impl Tally {
    /// A name that says all of it: under this the number is kept.
    #[must_use]
    pub fn key(&self) -> String {
        match self {
            Self::Goodput { goodput, from_ms, until_ms } => {
                format!("goodput[{},{from_ms}..{until_ms}]", goodput.join("+"))
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

    /// The number; `None` without a sample that counts.
    ///
    /// # Errors
    /// If a table cannot be read.
    pub(crate) fn of(&self, result: &RunResult) -> Result<Option<f64>, ResultsError> {
        match self {
            Self::Goodput { goodput: classes, from_ms, until_ms } => {
                let names = &result.manifest().names.classes;
                let mut rows = Vec::new();
                result.visit(|row: ProgressRow| {
                    let name = names.get(usize::from(row.class));
                    if name.is_some_and(|name| classes.contains(name)) {
                        rows.push(row);
                    }
                })?;
                Ok(goodput(&rows, *from_ms * 1e6, *until_ms * 1e6))
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

/// Mb/s between the first and the last instant at which samples lie, over all flows. A flow that
/// has not started counts nothing before.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::metric_from;

    #[test]
    fn goodput_is_of_all_flows_between_the_samples_that_count() {
        let row = |flow_id, ms: u64, delivered_bytes| ProgressRow {
            time_ns: ms * 1_000_000,
            flow_id,
            delivered_bytes,
            ..ProgressRow::default()
        };
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
    fn a_tally_has_one_name() {
        let key = |text: &str| metric_from(text).ok().map(|metric| metric.key());
        assert_eq!(
            key("{ queues = [0, 1], count = 'evicted_packets' }").as_deref(),
            Some("queues[0+1].evictedpackets")
        );
        assert_eq!(key("{ probe = 'missed_chances' }").as_deref(), Some("probe.missed_chances.last"));
        let goodput = key("{ goodput = ['iperf'], from_ms = 1.0, until_ms = 2.5 }");
        assert_eq!(goodput.as_deref(), Some("goodput[iperf,1..2.5]"));
        assert_eq!(key("{ queues = [0], count = 'nothing' }"), None);
    }
}
