//! How are the runs of experiments done, and what is kept of them?
//!
//! Of every run the numbers of its summary are kept, under the fingerprint of its resolved
//! scenario: experiments that share a run share its numbers, and a reproduction that was killed
//! goes on where it was. A run's tables are removed once its numbers are kept.

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
/// If the folder cannot be written. A run that fails is reported in its place, and the others go
/// on.
pub fn run<W: Watcher>(
    plans: Vec<Plan>,
    folder: &Path,
    how: &Execution,
    board: impl FnOnce(usize) -> W,
) -> Result<(Vec<Results>, W), ReproduceError> {
    let cache = Cache::of(folder)?;
    let prepared = Prepared::new(&plans, &cache);
    let watcher = board(prepared.missing.len());
    let jobs: Vec<&Job> = prepared.missing.iter().map(|missing| &missing.job).collect();
    // A run's tables go as soon as its numbers are kept: all of them together would not fit.
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

/// A run that is to be done, wherever it is done: what runs, and what is taken of it.
#[derive(Clone, Debug)]
pub struct Missing {
    /// Under this its numbers are kept.
    pub key: String,
    /// What runs; its folder is for its tables.
    pub job: Job,
    /// What is taken of the tables.
    pub wanted: Wanted,
}

/// The runs of `plans` that `folder` does not have yet, each once.
///
/// # Errors
/// If the folder cannot be written.
pub fn missing(plans: &[Plan], folder: &Path) -> Result<Vec<Missing>, ReproduceError> {
    Ok(Prepared::new(plans, &Cache::of(folder)?).missing)
}

/// What `folder` has of the runs of `plans`: [`run()`] without doing any. `failures` says by their
/// keys why runs that were to be done elsewhere have not come.
///
/// # Errors
/// If the folder cannot be read.
pub fn gather(
    plans: Vec<Plan>,
    folder: &Path,
    failures: BTreeMap<String, String>,
) -> Result<Vec<Results>, ReproduceError> {
    let cache = Cache::of(folder)?;
    let prepared = Prepared::new(&plans, &cache);
    let failures =
        failures.into_iter().map(|(key, why)| (key, Arc::new(FailureCause::Elsewhere(why)))).collect();
    Ok(prepared.gather(plans, &cache, &failures))
}

/// Which runs plans consist of, and which of them are to be done.
struct Prepared {
    missing: Vec<Missing>,
    /// Of every plan in the order of its points: under which key the numbers are, or why there are
    /// none.
    keys: Vec<Vec<Result<String, RunFailure>>>,
}

impl Prepared {
    fn new(plans: &[Plan], cache: &Cache) -> Self {
        // Experiments that share a run may want different numbers of it.
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
                        let wanted = Wanted::of(&plan.experiment);
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

    /// The values of a metric over the seeds at a point of the grid; without those that do not
    /// exist.
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
