//! Samples of a switch's buffer: bytes by priority at every instant of the arrival phase.

use crate::error::ReportError;
use crate::statistics::Distribution;
use bufferlab_metrics::{Scope, SeriesRow, Table};
use bufferlab_results::RunResult;
use serde::Serialize;
use std::collections::BTreeMap;

/// Contents of a switch's buffer at an instant, by priority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferSample {
    /// Instant of the sample in simulated time (ns).
    pub time_ns: u64,
    /// Index of the sampled switch.
    pub switch: u32,
    /// Size of the switch's buffer (bytes).
    pub buffer_bytes: u64,
    /// Size of all packets stored in the buffer (bytes).
    pub occupancy_bytes: u64,
    /// Size of the stored packets of every priority (bytes), headroom included, summed over the
    /// ports. Priorities without packets are absent.
    pub priorities: BTreeMap<u8, u64>,
}

impl BufferSample {
    /// Sum of the occupancies in `priorities` (% of the switch's buffer).
    #[must_use]
    pub fn percent(&self, priorities: &[u8]) -> f64 {
        let held: u64 = priorities.iter().filter_map(|priority| self.priorities.get(priority)).sum();
        held as f64 / self.buffer_bytes as f64 * 100.0
    }
}

/// Calls `each` with every sample of the arrival phase, in the order of time. The function skips
/// switches with an unknown buffer size. If the scenario chose the ports (`sample_ports`), the
/// function also skips samples that do not cover every byte of the switch.
///
/// # Errors
/// If the table cannot be read.
pub fn visit_buffer_samples(
    result: &RunResult,
    mut each: impl FnMut(&BufferSample),
) -> Result<(), ReportError> {
    let manifest = result.manifest();
    if manifest.rows(Table::Series) == 0 {
        return Ok(());
    }
    let mut close = |sample: BufferSample| {
        let shown: u64 = sample.priorities.values().sum();
        if shown == sample.occupancy_bytes && sample.buffer_bytes > 0 {
            each(&sample);
        }
    };
    // Table rows of one instant are adjacent: first the row of the whole switch, then the rows of
    // its queues.
    let mut open: Option<BufferSample> = None;
    result.visit(|row: SeriesRow| {
        if row.time_ns >= manifest.duration_ns {
            return;
        }
        match (row.scope, row.priority, &mut open) {
            (Scope::Switch, ..) => {
                let buffer_bytes = manifest.totals.buffer_bytes.get(row.switch as usize);
                let next = BufferSample {
                    time_ns: row.time_ns,
                    switch: row.switch,
                    buffer_bytes: buffer_bytes.copied().unwrap_or(0),
                    occupancy_bytes: row.occupancy_bytes,
                    priorities: BTreeMap::new(),
                };
                if let Some(sample) = open.replace(next) {
                    close(sample);
                }
            }
            (Scope::Queue, Some(priority), Some(sample)) => {
                *sample.priorities.entry(priority).or_default() += row.occupancy_bytes;
            }
            _ => {}
        }
    })?;
    open.into_iter().for_each(close);
    Ok(())
}

/// Occupancy of a priority in the sampled switch, over the samples of the arrival phase (% of the
/// buffer, headroom included).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PriorityOccupancy {
    /// Name of the sampled switch.
    pub switch: String,
    /// Priority of the queues in the sampled switch.
    pub priority: u8,
    /// Distribution of the priority's buffer occupancy over the samples of the run (%).
    pub percent: Distribution,
}

/// Computes the buffer occupancy of every priority. The result is empty unless at least two
/// priorities store packets. The occupancy of a single priority equals the switch's occupancy.
pub(crate) fn by_priority(result: &RunResult) -> Result<Vec<PriorityOccupancy>, ReportError> {
    let mut samples = 0;
    let mut held: BTreeMap<(u32, u8), Vec<f64>> = BTreeMap::new();
    visit_buffer_samples(result, |sample| {
        samples += 1;
        for &priority in sample.priorities.keys() {
            held.entry((sample.switch, priority)).or_default().push(sample.percent(&[priority]));
        }
    })?;
    if held.len() < 2 {
        return Ok(Vec::new());
    }
    let names = &result.manifest().names.switches;
    let described = held.into_iter().filter_map(|((switch, priority), mut percents)| {
        // A priority without an entry in a sample stores no packets, so its occupancy is 0 %.
        percents.resize(samples, 0.0);
        let percent = Distribution::of(&mut percents)?;
        Some(PriorityOccupancy { switch: names[switch as usize].clone(), priority, percent })
    });
    Ok(described.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bufferlab_metrics::{RunSink, RunTotals};
    use bufferlab_results::{NameTables, RunHeader, RunWriter};
    use std::path::Path;

    /// A sample: instant, total bytes, and priority and bytes of every sampled queue.
    type Shown<'a> = (u64, u64, &'a [(u8, u64)]);

    /// Writes a run with the given samples of one switch, whose buffer has 1000 bytes.
    fn run(folder: &Path, samples: &[Shown<'_>]) -> RunResult {
        let names = NameTables { switches: vec!["leaf0".to_owned()], ..NameTables::default() };
        let dir = folder.join("run");
        let head = RunHeader { duration_ns: 100, names, ..RunHeader::default() };
        let mut writer = RunWriter::create(&dir, head).expect("writable");
        for &(time_ns, total, queues) in samples {
            let row = |scope, priority, occupancy_bytes| SeriesRow {
                time_ns,
                scope,
                port: (scope == Scope::Queue).then_some(2),
                priority,
                occupancy_bytes,
                ..SeriesRow::default()
            };
            writer.series(&row(Scope::Switch, None, total)).expect("writable");
            for &(priority, bytes) in queues {
                writer.series(&row(Scope::Queue, Some(priority), bytes)).expect("writable");
            }
        }
        let totals = RunTotals {
            switches: vec!["leaf0".to_owned()],
            buffer_bytes: vec![1_000],
            ..RunTotals::default()
        };
        writer.finish(&totals, Vec::new(), None).expect("writable");
        RunResult::open(&dir).expect("readable")
    }

    #[test]
    fn bytes_are_summed_by_priority_over_complete_samples_of_the_arrival_phase() {
        let folder = tempfile::tempdir().expect("a folder");
        let run = run(
            folder.path(),
            &[
                (0, 0, &[]),
                (40, 300, &[(1, 100), (3, 150), (3, 50)]),
                // The sample at 80 ns omits one queue, so the priority of 100 of its 900 bytes is
                // unknown.
                (80, 900, &[(3, 800)]),
                // The last sample is taken after the arrival phase, so the statistics omit this
                // sample.
                (100, 700, &[(3, 700)]),
            ],
        );
        let mut seen = Vec::new();
        visit_buffer_samples(&run, |sample| {
            seen.push((sample.time_ns, sample.percent(&[3]), sample.percent(&[1, 3])))
        })
        .expect("readable");
        assert_eq!(seen, [(0, 0.0, 0.0), (40, 20.0, 30.0)]);
        let priorities = by_priority(&run).expect("readable");
        let maxima: Vec<_> = priorities.iter().map(|one| (one.priority, one.percent.max)).collect();
        assert_eq!(maxima, [(1, 10.0), (3, 20.0)]);
        assert_eq!(priorities[1].percent.mean, 10.0);
    }

    #[test]
    fn one_priority_alone_is_not_told_of() {
        let folder = tempfile::tempdir().expect("a folder");
        let run = run(folder.path(), &[(0, 300, &[(1, 300)])]);
        assert_eq!(by_priority(&run).expect("readable"), []);
    }
}
