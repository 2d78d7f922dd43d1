//! Results of runs that the claims need: shipped scenarios with changes.
//! Each run is executed once, and all claims share its result.

use bufferlab_metrics::{
    DropRow, FlowRow, HistogramRow, LinkRow, ProgressRow, QueryRow, QueueRow, RunSink, SeriesRow,
};
use bufferlab_scenario::load;
use bufferlab_sim::Simulation;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

/// Progress of the flows of a run, stored in memory.
#[derive(Debug, Default)]
pub(crate) struct Run {
    /// Progress of each flow: pairs of an instant (ns) and the payload delivered up to this instant
    /// (bytes).
    progress: BTreeMap<u64, Vec<(u64, u64)>>,
}

impl RunSink for Run {
    fn flow(&mut self, _: &FlowRow) -> io::Result<()> {
        Ok(())
    }
    fn query(&mut self, _: &QueryRow) -> io::Result<()> {
        Ok(())
    }
    fn series(&mut self, _: &SeriesRow) -> io::Result<()> {
        Ok(())
    }
    fn histogram(&mut self, _: &HistogramRow) -> io::Result<()> {
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
    /// Goodput of every flow between two instants (Mb/s), in the order of the flows' starts.
    /// `from` and `until` are in seconds.
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
}

/// Jain's index of fairness of the values in a list.
pub(crate) fn jain(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().sum();
    sum * sum / (values.len() as f64 * values.iter().map(|x| x * x).sum::<f64>())
}

/// Formats the numbers of a list with the given number of decimals.
pub(crate) fn list(values: impl IntoIterator<Item = f64>, decimals: usize) -> String {
    values.into_iter().map(|value| format!("{value:.decimals$}")).collect::<Vec<_>>().join(", ")
}

/// Runs a shipped scenario with the given changes and returns its results.
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
        simulation.run(&mut run, &mut |_| ()).unwrap_or_else(|error| panic!("{error}"));
        Arc::new(run)
    };
    cell.get_or_init(simulate).clone()
}
