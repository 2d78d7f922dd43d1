//! How are the runs of experiments done, and what is kept of them?
//!
//! Of every run the numbers of its summary are kept, under the fingerprint of its resolved scenario: experiments that share a run share its numbers, and a
//! reproduction that was killed goes on where it was. A run's tables are removed once its numbers are kept.

use crate::expression::{ValueError, Values};
use crate::metric::{Statistic, numbers, statistics, tallies};
use crate::plan::{Loader, fingerprint};
use crate::{
    Course, CourseLine, Experiment, FailureCause, Metric, Plan, Point, ReproduceError, RunFailure, Tally,
};
use bufferlab_lab::{Execution, Finished, Job, Watcher, execute_then};
use bufferlab_results::RunResult;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is kept of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Numbers {
    /// By the metric's id; without those that do not exist.
    pub metrics: BTreeMap<String, f64>,
    /// The statistics and courses that were taken, whether or not they have a value.
    pub taken: BTreeSet<String>,
    /// Lines over time, by the course's key.
    #[serde(default)]
    pub courses: BTreeMap<String, Vec<CourseLine>>,
    /// Packets that crossed a link.
    pub packet_hops: u64,
    /// CPU time (s).
    pub cpu_seconds: f64,
}

/// The numbers of an experiment's runs.
#[derive(Clone, Debug)]
pub struct Results {
    /// What ran.
    pub plan: Plan,
    /// In the plan's order; or why a run has none.
    pub runs: Vec<Result<Arc<Numbers>, RunFailure>>,
}

/// Does the runs of `plans` that `folder` does not have yet.
///
/// `board` makes a watcher for as many runs as are to be done.
///
/// # Errors
/// If the folder cannot be written. A run that fails is reported in its place, and the others go on.
pub fn run<W: Watcher>(
    plans: Vec<Plan>,
    folder: &Path,
    how: &Execution,
    board: impl FnOnce(usize) -> W,
) -> Result<(Vec<Results>, W), ReproduceError> {
    let cache = folder.join("runs");
    fs::create_dir_all(&cache).map_err(ReproduceError::io("make", &cache))?;
    // Experiments that share a run may want different numbers of it.
    let mut wanted: BTreeMap<String, usize> = BTreeMap::new();
    let (mut jobs, mut takes): (Vec<Job>, Vec<(String, Wanted<'_>)>) = (Vec::new(), Vec::new());
    let mut keys: Vec<Vec<Result<String, RunFailure>>> = Vec::new();
    for plan in &plans {
        let mut of_plan = Vec::with_capacity(plan.points.len());
        let mut loader = Loader::new(plan);
        for point in &plan.points {
            of_plan.push(loader.load(point).map(|loaded| {
                let key = fingerprint(&loaded);
                if let Some(&job) = wanted.get(&key) {
                    takes[job].1.add(&plan.experiment);
                } else if !has(&cache, &key, &plan.experiment) {
                    wanted.insert(key.clone(), jobs.len());
                    let dir = cache.join(format!("{key}.tables"));
                    let mut own = Wanted::default();
                    own.add(&plan.experiment);
                    takes.push((key.clone(), own));
                    jobs.push(Job { loaded, dir, caveats: Vec::new() });
                }
                key
            }));
        }
        keys.push(of_plan);
    }
    let watcher = board(jobs.len());
    // A run's tables go as soon as its numbers are kept: all of them together would not fit.
    let kept = execute_then(&jobs, how, &watcher, |index, finished| {
        let (key, what) = &takes[index];
        keep(&cache, key, &jobs[index], what, finished?)
    })?;
    let failures: BTreeMap<String, Arc<FailureCause>> = takes
        .iter()
        .zip(kept)
        .filter_map(|((key, _), kept)| kept.err().map(|why| (key.clone(), Arc::new(why))))
        .collect();
    let known = |key: &String| match failures.get(key) {
        Some(why) => Err(Arc::clone(why)),
        None => read(&cache, key)
            .map(Arc::new)
            .ok_or_else(|| Arc::new(FailureCause::Vanished(place(&cache, key)))),
    };
    let results = plans.into_iter().zip(keys).map(|(plan, keys)| {
        let found = |(point, key): (&Point, Result<String, RunFailure>)| {
            known(&key?).map_err(|cause| RunFailure { point: plan.describe(point), cause })
        };
        let runs = plan.points.iter().zip(keys).map(found).collect();
        Results { plan, runs }
    });
    Ok((results.collect(), watcher))
}

/// Keeps the numbers of a finished run, whole or not at all, and removes its tables.
fn keep(
    cache: &Path,
    key: &str,
    job: &Job,
    what: &Wanted<'_>,
    finished: Finished,
) -> Result<(), FailureCause> {
    let result = RunResult::open(&job.dir)?;
    let mut metrics = numbers(&result, &what.statistics)?;
    for tally in &what.tallies {
        let value = tally.of(&result)?;
        metrics.extend(value.map(|value| (tally.key(), value)));
    }
    let mut courses = BTreeMap::new();
    for course in &what.courses {
        courses.insert(course.key(), course.lines(&result)?);
    }
    let mut numbers = Numbers {
        metrics,
        taken: what.keys().collect(),
        courses,
        packet_hops: finished.packet_hops,
        cpu_seconds: finished.cpu_seconds,
    };
    // Another experiment has taken other statistics of the same run: it was the same to the last byte.
    if let Some(before) = read(cache, key) {
        numbers.metrics.extend(before.metrics);
        numbers.taken.extend(before.taken);
        numbers.courses.extend(before.courses);
    }
    let (path, partial) = (place(cache, key), cache.join(format!(".{key}.partial")));
    let text = serde_json::to_string(&numbers)?;
    fs::write(&partial, text)
        .and_then(|()| fs::rename(&partial, &path))
        .and_then(|()| fs::remove_dir_all(&job.dir))
        .map_err(|source| FailureCause::Kept { path, source })
}

/// What experiments want of a run beside its summary.
#[derive(Default)]
struct Wanted<'a> {
    statistics: Vec<&'a Statistic>,
    tallies: Vec<&'a Tally>,
    courses: Vec<&'a Course>,
}

impl<'a> Wanted<'a> {
    /// Adds what `experiment` wants and nobody before it did.
    fn add(&mut self, experiment: &'a Experiment) {
        let Some(runs) = experiment.runs() else { return };
        for statistic in statistics(&runs.metrics) {
            if !self.statistics.contains(&statistic) {
                self.statistics.push(statistic);
            }
        }
        for tally in tallies(&runs.metrics) {
            if !self.tallies.contains(&tally) {
                self.tallies.push(tally);
            }
        }
        for course in &runs.courses {
            if !self.courses.iter().any(|known| known.key() == course.key()) {
                self.courses.push(course);
            }
        }
    }

    /// The names under which all of it is kept.
    fn keys(&self) -> impl Iterator<Item = String> {
        let statistics = self.statistics.iter().map(|&one| Metric::Statistic(one.clone()).key());
        let statistics = statistics.chain(self.tallies.iter().map(|tally| tally.key()));
        statistics.chain(self.courses.iter().map(|course| course.key()))
    }
}

/// Whether the run was done, and all taken of it that `experiment` wants. What was taken stands beside the values: a statistic without a value is no
/// reason to run again.
fn has(cache: &Path, key: &str, experiment: &Experiment) -> bool {
    let Some(numbers) = read(cache, key) else { return false };
    let mut wanted = Wanted::default();
    wanted.add(experiment);
    wanted.keys().all(|name| numbers.taken.contains(&name))
}

fn place(cache: &Path, key: &str) -> PathBuf {
    cache.join(format!("{key}.json"))
}

fn read(cache: &Path, key: &str) -> Option<Numbers> {
    serde_json::from_slice(&fs::read(place(cache, key)).ok()?).ok()
}

impl Results {
    /// The experiment.
    #[must_use]
    pub fn experiment(&self) -> &Experiment {
        &self.plan.experiment
    }

    /// Seeds that every point ran with.
    #[must_use]
    pub fn seeds(&self) -> u64 {
        self.plan.points.iter().map(|point| point.seed + 1).max().unwrap_or(0)
    }

    /// Why runs have no numbers.
    pub fn failures(&self) -> impl Iterator<Item = &RunFailure> {
        self.runs.iter().filter_map(|run| run.as_ref().err())
    }

    /// The values of a metric over the seeds at a point of the grid; without those that do not exist.
    #[must_use]
    pub fn samples(&self, metric: &str, variant: usize, places: &[usize]) -> Vec<f64> {
        let metrics = self.experiment().runs().map(|runs| &runs.metrics);
        let Some(id) = metrics.and_then(|metrics| metrics.get(metric)).map(Metric::key) else {
            return Vec::new();
        };
        let mut samples = Vec::new();
        for (point, run) in self.plan.points.iter().zip(&self.runs) {
            if point.variant == variant && point.places == places {
                samples.extend(run.as_ref().ok().and_then(|numbers| numbers.metrics.get(&id)));
            }
        }
        samples
    }

    /// The lines of a course at a point of the grid, of the first seed's run; none if it failed.
    #[must_use]
    pub fn course(&self, course: &Course, variant: usize, places: &[usize]) -> &[CourseLine] {
        let first = self
            .plan
            .points
            .iter()
            .position(|point| point.seed == 0 && point.variant == variant && point.places == places);
        let numbers = first.and_then(|place| self.runs[place].as_ref().ok());
        numbers.and_then(|numbers| numbers.courses.get(&course.key())).map_or(&[], Vec::as_slice)
    }

    /// The combinations of places that ran.
    #[must_use]
    pub fn grid(&self) -> Vec<Vec<usize>> {
        let mut grid: Vec<Vec<usize>> = Vec::new();
        for point in &self.plan.points {
            if grid.last() != Some(&point.places) {
                grid.push(point.places.clone());
            }
        }
        grid
    }

    /// The runs of some seeds, as means over them, for expressions.
    #[must_use]
    pub fn of_seeds(&self, seeds: &[u64]) -> Arc<dyn Values> {
        let mut runs: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (point, run) in self.plan.points.iter().zip(&self.runs) {
            if seeds.contains(&point.seed) {
                runs.entry((point.variant, point.places.clone())).or_default().push(run.clone());
            }
        }
        Arc::new(Means { experiment: Arc::clone(&self.plan.experiment), runs })
    }
}

/// What is kept of one seed's run, or why there is nothing.
type SeedRun = Result<Arc<Numbers>, RunFailure>;

/// The runs of some seeds.
struct Means {
    experiment: Arc<Experiment>,
    /// By variant and places: those of each seed.
    runs: BTreeMap<(usize, Vec<usize>), Vec<SeedRun>>,
}

impl Values for Means {
    fn value(&self, metric: &str, variant: &str, places: &[String]) -> Result<f64, ValueError> {
        let runs = self.experiment.runs().ok_or_else(|| ValueError::Metric(metric.to_owned()))?;
        let (index, at) = runs.locate(metric, variant, places)?;
        let id = runs.metrics[metric].key();
        let (variant, places) = (variant.to_owned(), places.join(", "));
        let Some(of_seeds) = self.runs.get(&(index, at)) else {
            return Err(ValueError::LeftOut { variant, places });
        };
        let mut sum = 0.0;
        for run in of_seeds {
            let numbers = run.as_ref().map_err(Clone::clone)?;
            let Some(value) = numbers.metrics.get(&id) else {
                return Err(ValueError::Nothing { variant, places, metric: id });
            };
            sum += value;
        }
        Ok(sum / of_seeds.len() as f64)
    }

    fn first_axis(&self) -> Vec<(String, f64)> {
        let Some(axis) = self.experiment.runs().and_then(|runs| runs.axes.first()) else { return Vec::new() };
        let ran: BTreeSet<usize> =
            self.runs.keys().filter_map(|(_, places)| places.first().copied()).collect();
        ran.into_iter().map(|place| (axis.values[place].label.clone(), axis.values[place].x)).collect()
    }
}
