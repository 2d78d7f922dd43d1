//! Executes the simulation runs of experiments and caches their numbers.
//!
//! The cache stores the summary of every run under the fingerprint of its resolved scenario.
//! Experiments with a common run share its numbers, and a killed reproduction resumes. A run's
//! tables are removed once its numbers are cached.

use crate::cache::Cache;
use crate::expression::{ValueError, Values};
use crate::plan::{Loader, fingerprint};
use crate::{
    Course, CourseLine, Experiment, FailureCause, Metric, Numbers, Plan, Point, ReproduceError, RunFailure,
    Wanted,
};
use bufferlab_lab::{Execution, Job, Watcher, caught, execute_then};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// Results of all simulation runs of an experiment.
#[derive(Clone, Debug)]
pub struct Results {
    /// Plan of the experiment that lists the executed runs.
    pub plan: Plan,
    /// Numbers of each run in the plan's order, or the reason for a failed run.
    pub runs: Vec<Result<Arc<Numbers>, RunFailure>>,
}

/// Executes the runs of `plans` whose numbers are missing in `folder`.
///
/// The function `board` creates a watcher for the given number of runs.
///
/// # Errors
/// If the folder cannot be written. A failed run is part of the results, and the
/// other runs continue.
pub fn run<W: Watcher>(
    plans: Vec<Plan>,
    folder: &Path,
    how: &Execution,
    board: impl FnOnce(usize) -> W,
) -> Result<(Vec<Results>, W), ReproduceError> {
    let cache = Cache::open_in(folder)?;
    let prepared = Prepared::new(&plans, &cache);
    let watcher = board(prepared.missing.len());
    let jobs: Vec<&Job> = prepared.missing.iter().map(|missing| &missing.job).collect();
    // Remove a run's tables as soon as its numbers are cached; the tables of all runs would not fit
    // on disk.
    let kept = execute_then(&jobs, how, &watcher, |index, finished| {
        let missing = &prepared.missing[index];
        let finished = finished?;
        cache.keep(&missing.key, caught(|| missing.wanted.take(&missing.job, finished))??)?;
        fs::remove_dir_all(&missing.job.dir)
            .map_err(|source| FailureCause::Kept { path: missing.job.dir.clone(), source })
    })?;
    let failures = prepared
        .missing
        .iter()
        .zip(kept)
        .filter_map(|(missing, kept)| kept.err().map(|why| (missing.key.clone(), Arc::new(why))));
    let failures = failures.collect();
    Ok((prepared.gather(plans, &cache, &failures), watcher))
}

/// A run whose numbers are missing in the cache; any machine can execute it.
#[derive(Clone, Debug)]
pub struct Missing {
    /// Key of the run's numbers in the cache.
    pub key: String,
    /// Scenario of the run, and the folder for the run's tables.
    pub job: Job,
    /// Numbers to compute from the result tables of the run.
    pub wanted: Wanted,
}

/// Returns the runs of `plans` whose numbers are missing in `folder`, each once.
///
/// # Errors
/// If the folder cannot be written.
pub fn missing(plans: &[Plan], folder: &Path) -> Result<Vec<Missing>, ReproduceError> {
    Ok(Prepared::new(plans, &Cache::open_in(folder)?).missing)
}

/// Collects the cached results of `plans`, like [`run()`] but without executing a run. `failures`
/// has the reason, by cache key, for each run that another machine could not finish.
///
/// # Errors
/// If the folder cannot be read.
pub fn gather(
    plans: Vec<Plan>,
    folder: &Path,
    failures: BTreeMap<String, String>,
) -> Result<Vec<Results>, ReproduceError> {
    let cache = Cache::open_in(folder)?;
    let prepared = Prepared::new(&plans, &cache);
    let failures =
        failures.into_iter().map(|(key, why)| (key, Arc::new(FailureCause::Elsewhere(why)))).collect();
    Ok(prepared.gather(plans, &cache, &failures))
}

/// Runs of some plans, and the runs whose numbers the cache lacks.
struct Prepared {
    missing: Vec<Missing>,
    /// Cache keys of the runs, for every plan in the order of its points. A run whose scenario
    /// cannot be loaded has a failure instead.
    keys: Vec<Vec<Result<String, RunFailure>>>,
}

impl Prepared {
    fn new(plans: &[Plan], cache: &Cache) -> Self {
        // Experiments that share a run may need different numbers of this run.
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        let (mut missing, mut keys) = (Vec::<Missing>::new(), Vec::with_capacity(plans.len()));
        for plan in plans {
            let mut of_plan = Vec::with_capacity(plan.points.len());
            let mut loader = Loader::new(plan);
            for point in &plan.points {
                of_plan.push(loader.load(point).map(|loaded| {
                    let key = fingerprint(&loaded);
                    if let Some(&place) = places.get(&key) {
                        missing[place].wanted.add(&plan.experiment);
                    } else if !cache.has(&key, &plan.experiment) {
                        places.insert(key.clone(), missing.len());
                        let job = Job { loaded, dir: cache.tables(&key), caveats: Vec::new() };
                        let wanted = Wanted::for_experiment(&plan.experiment);
                        missing.push(Missing { key: key.clone(), job, wanted });
                    }
                    key
                }));
            }
            keys.push(of_plan);
        }
        Self { missing, keys }
    }

    fn gather(
        self,
        plans: Vec<Plan>,
        cache: &Cache,
        failures: &BTreeMap<String, Arc<FailureCause>>,
    ) -> Vec<Results> {
        let known = |key: &String| match failures.get(key) {
            Some(why) => Err(Arc::clone(why)),
            None => cache
                .read(key)
                .map(Arc::new)
                .ok_or_else(|| Arc::new(FailureCause::Vanished(cache.place(key)))),
        };
        let results = plans.into_iter().zip(self.keys).map(|(plan, keys)| {
            let found = |(point, key): (&Point, Result<String, RunFailure>)| {
                known(&key?).map_err(|cause| RunFailure { point: plan.describe(point), cause })
            };
            let runs = plan.points.iter().zip(keys).map(found).collect();
            Results { plan, runs }
        });
        results.collect()
    }
}

impl Results {
    /// Returns the experiment whose runs gave the results.
    #[must_use]
    pub fn experiment(&self) -> &Experiment {
        &self.plan.experiment
    }

    /// Number of seeds for each variant and combination of axis values.
    #[must_use]
    pub fn seeds(&self) -> u64 {
        self.plan.points.iter().map(|point| point.seed + 1).max().unwrap_or(0)
    }

    /// Returns the failures of the runs that have no numbers.
    pub fn failures(&self) -> impl Iterator<Item = &RunFailure> {
        self.runs.iter().filter_map(|run| run.as_ref().err())
    }

    /// Returns the values of a metric over the seeds, for a variant at some axis values. Seeds
    /// without a value are skipped.
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

    /// Returns the lines of a chart over time for a variant at some axis values, from the first
    /// seed's run. The list is empty if the run of the first seed failed.
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

    /// Returns the combinations of axis values that ran, with one index per axis.
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

    /// Returns a source of metric values for expressions: means over some seeds.
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

/// Cached numbers of one seed's run, or the reason why the run failed.
type SeedRun = Result<Arc<Numbers>, RunFailure>;

/// Runs of several seeds, for the means of metrics over the seeds.
struct Means {
    experiment: Arc<Experiment>,
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
