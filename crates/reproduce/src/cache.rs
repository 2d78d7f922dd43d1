//! Cache of the numbers that experiments need from simulation runs. The fingerprint of the run's
//! scenario is the name of the cache file.

use crate::metric::{Statistic, numbers, statistics, tallies};
use crate::{Course, CourseLine, Experiment, FailureCause, Metric, ReproduceError, Tally};
use bufferlab_lab::{Finished, Job};
use bufferlab_results::{RunResult, write_whole};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Results of a simulation run that the cache stores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Numbers {
    /// Values of the run's metrics by the metric's id; metrics without a value are absent.
    pub metrics: BTreeMap<String, f64>,
    /// Keys of the computed statistics and of the charts over time, including keys without a value.
    pub taken: BTreeSet<String>,
    /// Lines of charts over time, by the chart's key.
    #[serde(default)]
    pub courses: BTreeMap<String, Vec<CourseLine>>,
    /// Number of packet-hops in the run: a packet that crosses n links counts n times.
    pub packet_hops: u64,
    /// CPU time that the simulation run took (s).
    pub cpu_seconds: f64,
}

/// Numbers that experiments need from a run in addition to its summary. The list of numbers can be
/// sent as JSON to the machine of the run, where the result tables are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Wanted {
    statistics: Vec<Statistic>,
    tallies: Vec<Tally>,
    courses: Vec<Course>,
}

impl Wanted {
    /// Lists the numbers that an experiment needs from its simulation runs.
    #[must_use]
    pub fn for_experiment(experiment: &Experiment) -> Self {
        let mut wanted = Self::default();
        wanted.add(experiment);
        wanted
    }

    /// Adds the numbers that `experiment` needs to the list of numbers.
    pub(crate) fn add(&mut self, experiment: &Experiment) {
        fn add<'a, T: Clone + PartialEq + 'a>(to: &mut Vec<T>, more: impl Iterator<Item = &'a T>) {
            for one in more {
                if !to.contains(one) {
                    to.push(one.clone());
                }
            }
        }
        let Some(runs) = experiment.runs() else { return };
        add(&mut self.statistics, statistics(&runs.metrics));
        add(&mut self.tallies, tallies(&runs.metrics));
        for course in &runs.courses {
            if !self.courses.iter().any(|known| known.key() == course.key()) {
                self.courses.push(course.clone());
            }
        }
    }

    /// Keys under which the cache stores the requested statistics, tallies and charts over time.
    fn keys(&self) -> impl Iterator<Item = String> {
        let statistics = self.statistics.iter().map(|one| Metric::Statistic(one.clone()).key());
        let statistics = statistics.chain(self.tallies.iter().map(Tally::key));
        statistics.chain(self.courses.iter().map(Course::key))
    }

    /// Computes the requested numbers of a finished run from the run's result tables.
    ///
    /// # Errors
    /// If the tables cannot be read.
    pub fn take(&self, job: &Job, finished: Finished) -> Result<Numbers, FailureCause> {
        let result = RunResult::open(&job.dir)?;
        let statistics: Vec<&Statistic> = self.statistics.iter().collect();
        let mut metrics = numbers(&result, &statistics)?;
        for tally in &self.tallies {
            let value = tally.value_in(&result)?;
            metrics.extend(value.map(|value| (tally.key(), value)));
        }
        let mut courses = BTreeMap::new();
        for course in &self.courses {
            courses.insert(course.key(), course.lines(&result)?);
        }
        Ok(Numbers {
            metrics,
            taken: self.keys().collect(),
            courses,
            packet_hops: finished.packet_hops,
            cpu_seconds: finished.cpu_seconds,
        })
    }
}

/// Folder with the cached results of runs.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// Opens the cache of the runs' numbers in a folder of results.
    ///
    /// # Errors
    /// If the folder cannot be created.
    pub fn open_in(results: &Path) -> Result<Self, ReproduceError> {
        let folder = results.join("runs");
        fs::create_dir_all(&folder).map_err(ReproduceError::io("make", &folder))?;
        Ok(Self { folder })
    }

    /// Whether the cache has all numbers of a run that `experiment` needs. A cached statistic
    /// without a value also counts, so that no run is repeated for this statistic.
    pub(crate) fn has(&self, key: &str, experiment: &Experiment) -> bool {
        let Some(numbers) = self.read(key) else { return false };
        Wanted::for_experiment(experiment).keys().all(|name| numbers.taken.contains(&name))
    }

    /// Folder of a run's result tables, which exists until the run's numbers are cached.
    pub(crate) fn tables(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.tables"))
    }

    /// Path of the cache file with the numbers of a run.
    pub(crate) fn place(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.json"))
    }

    pub(crate) fn read(&self, key: &str) -> Option<Numbers> {
        serde_json::from_slice(&fs::read(self.place(key)).ok()?).ok()
    }

    /// Removes the cached numbers for which `unwanted` is true, so that their runs execute again.
    ///
    /// # Errors
    /// If the folder cannot be read, or a file cannot be removed.
    pub fn forget(&self, unwanted: impl Fn(&Numbers) -> bool) -> Result<(), ReproduceError> {
        let failed = || ReproduceError::io("read", &self.folder);
        for entry in fs::read_dir(&self.folder).map_err(failed())? {
            let path = entry.map_err(failed())?.path();
            let key = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            if path.extension() == Some("json".as_ref())
                && self.read(key).is_some_and(|numbers| unwanted(&numbers))
            {
                fs::remove_file(&path).map_err(ReproduceError::io("remove", &path))?;
            }
        }
        Ok(())
    }

    /// Stores numbers of a run atomically, and keeps the numbers that the cache already has.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn keep(&self, key: &str, mut numbers: Numbers) -> Result<(), FailureCause> {
        // A different experiment may have cached other statistics of this run. A statistic in both
        // caches has equal values, because equal runs have identical results.
        if let Some(before) = self.read(key) {
            numbers.metrics.extend(before.metrics);
            numbers.taken.extend(before.taken);
            numbers.courses.extend(before.courses);
        }
        let (path, text) = (self.place(key), serde_json::to_string(&numbers)?);
        write_whole(&path, text).map_err(|source| FailureCause::Kept { path, source })
    }
}
