//! What the claims need of a run, and the shipped scenarios with changes: every run is done once, whoever asks for it.

use bufferlab_metrics::{
    DropRow, FlowRow, FlowState, HistogramRow, LinkRow, ProgressRow, QueryRow, QueueRow, RunSink, Scope,
    SeriesRow,
};
use bufferlab_scenario::load;
use bufferlab_sim::Simulation;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

/// The rows of a run, in memory.
#[derive(Debug, Default)]
pub(crate) struct Run {
    classes: Vec<String>,
    flows: Vec<FlowRow>,
    /// Query completion times (ns).
    queries: Vec<u64>,
    /// By flow: instant (ns), payload delivered.
    progress: BTreeMap<u64, Vec<(u64, u64)>>,
    /// Of the first switch: smallest occupancy of a bin (bytes), time in it (ns).
    occupancy: BTreeMap<u64, u64>,
}

impl RunSink for Run {
    fn flow(&mut self, row: &FlowRow) -> io::Result<()> {
        self.flows.push(row.clone());
        Ok(())
    }
    fn query(&mut self, row: &QueryRow) -> io::Result<()> {
        // A query that never ended is the slowest of all.
        self.queries.push(row.qct_ns.unwrap_or(u64::MAX));
        Ok(())
    }
    fn series(&mut self, _: &SeriesRow) -> io::Result<()> {
        Ok(())
    }
    fn histogram(&mut self, row: &HistogramRow) -> io::Result<()> {
        if row.scope == Scope::Switch && row.switch == 0 {
            *self.occupancy.entry(row.from_bytes).or_default() += row.time_ns;
        }
        Ok(())
    }
    fn queue(&mut self, _: &QueueRow) -> io::Result<()> {
        Ok(())
    }
    fn drops(&mut self, _: &DropRow) -> io::Result<()> {
        Ok(())
    }
    fn link(&mut self, _: &LinkRow) -> io::Result<()> {
        Ok(())
    }
    fn progress(&mut self, row: &ProgressRow) -> io::Result<()> {
        self.progress.entry(row.flow_id).or_default().push((row.time_ns, row.delivered_bytes));
        Ok(())
    }
}

impl Run {
    /// The given share of queries was complete after this time (ms).
    pub(crate) fn qct_ms(&self, share: f64) -> f64 {
        quantile(self.queries.iter().map(|qct| *qct as f64 / 1e6).collect(), share)
    }

    /// Queries that were complete after a time (ms).
    pub(crate) fn queries_within(&self, ms: f64) -> f64 {
        let within = self.queries.iter().filter(|qct| **qct as f64 <= ms * 1e6).count();
        within as f64 / self.queries.len() as f64
    }

    /// Goodput of every flow between two instants (s), in Mb/s, in the order of the flows' starts.
    pub(crate) fn goodput(&self, from: f64, until: f64) -> Vec<f64> {
        let at = |samples: &[(u64, u64)], seconds: f64| {
            let instant = (seconds * 1e9).round() as u64;
            samples.iter().find(|sample| sample.0 == instant).map_or(0, |sample| sample.1)
        };
        let megabits = |samples: &Vec<(u64, u64)>| {
            (at(samples, until) as f64 - at(samples, from) as f64) * 8e-6 / (until - from)
        };
        self.progress.values().map(megabits).collect()
    }

    /// Flows that ended, of the named classes (none: all) and of `from` to below `until` bytes.
    fn ended(&self, classes: &[&str], from: u64, until: u64) -> impl Iterator<Item = &FlowRow> {
        let wanted = |row: &FlowRow| {
            classes.is_empty() || classes.contains(&self.classes[usize::from(row.class)].as_str())
        };
        let chosen: Vec<_> =
            self.flows.iter().filter(|row| wanted(row) && (from..until).contains(&row.size_bytes)).collect();
        chosen.into_iter()
    }

    /// The slowdown that 99 % of those flows do not exceed. A flow that the run did not see end counts as infinitely slow.
    pub(crate) fn slowdown_p99(&self, classes: &[&str], from: u64, until: u64) -> f64 {
        let slowdown = |row: &FlowRow| row.slowdown.unwrap_or(f64::INFINITY);
        quantile(self.ended(classes, from, until).map(slowdown).collect(), 0.99)
    }

    /// The FCT (ms) that 99 % of flows of a size do not exceed.
    pub(crate) fn fct_p99_ms(&self, from: u64, until: u64) -> f64 {
        let fct = |row: &FlowRow| row.fct_ns.map_or(f64::INFINITY, |ns| ns as f64 / 1e6);
        quantile(self.ended(&[], from, until).map(fct).collect(), 0.99)
    }

    /// Packets lost, per packet sent, by flows of a size.
    pub(crate) fn loss(&self, from: u64, until: u64) -> f64 {
        let (lost, sent) = self
            .ended(&[], from, until)
            .fold((0, 0), |(lost, sent), row| (lost + row.dropped_packets, sent + row.sent_packets));
        lost as f64 / sent as f64
    }

    /// Flows that the run did not see end.
    pub(crate) fn unfinished(&self) -> usize {
        self.flows.iter().filter(|row| row.state == FlowState::Unfinished).count()
    }

    /// The occupancy (KB) that the first switch exceeds for 1 % of the time.
    pub(crate) fn occupancy_p99_kb(&self) -> f64 {
        let wanted = self.occupancy.values().sum::<u64>() as f64 * 0.99;
        let mut seen = 0.0;
        let bin = self.occupancy.iter().find(|(_, time)| {
            seen += **time as f64;
            seen >= wanted
        });
        *bin.expect("time passed").0 as f64 / 1e3
    }
}

/// The smallest of `values` that a share of them does not exceed.
fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let rank = (values.len() as f64 * share).ceil() as usize;
    values[rank.clamp(1, values.len()) - 1]
}

/// Jain's index of fairness.
pub(crate) fn jain(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().sum();
    sum * sum / (values.len() as f64 * values.iter().map(|x| x * x).sum::<f64>())
}

/// Numbers of a list, with so many decimals.
pub(crate) fn list(values: impl IntoIterator<Item = f64>, decimals: usize) -> String {
    values.into_iter().map(|value| format!("{value:.decimals$}")).collect::<Vec<_>>().join(", ")
}

/// A shipped scenario with changes.
pub(crate) fn run(scenario: &str, changes: &[(&str, &str)]) -> Arc<Run> {
    type Cell = Arc<OnceLock<Arc<Run>>>;
    static RUNS: Mutex<BTreeMap<String, Cell>> = Mutex::new(BTreeMap::new());
    let key = format!("{scenario} {changes:?}");
    let cell = RUNS.lock().expect("no run panics under the lock").entry(key).or_default().clone();
    let simulate = || {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(scenario);
        let changes: Vec<_> =
            changes.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let loaded = load(&path, &changes).unwrap_or_else(|error| panic!("{error}"));
        let mut run = Run::default();
        let simulation = Simulation::new(&loaded.scenario).unwrap_or_else(|error| panic!("{error}"));
        let totals = simulation.run(&mut run, &mut |_| ()).unwrap_or_else(|error| panic!("{error}"));
        run.classes = totals.classes;
        Arc::new(run)
    };
    cell.get_or_init(simulate).clone()
}
