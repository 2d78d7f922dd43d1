//! Plans: the simulation runs that an experiment needs.

use crate::{
    Axis, Experiment, FailureCause, Overrides, ReproduceError, RunFailure, Runs, SEED_SET, Scale, ScaleName,
};
use bufferlab_core::Profile;
use bufferlab_document::tree::Value;
use bufferlab_lab::{RUNS, SEEDS};
use bufferlab_scenario::{Loaded, Setting};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

/// A point of a plan: one simulation run of an experiment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    /// Index of the run's variant in the experiment's list of variants.
    pub variant: usize,
    /// Index of the run's axis value, for every axis of the experiment.
    pub places: Vec<usize>,
    /// Difference between the run's seed and the seed in the scenario.
    pub seed: u64,
}

/// Plan of the runs of an experiment at a scale.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Experiment whose runs the plan lists.
    pub experiment: Arc<Experiment>,
    /// Scale of the runs: quick or paper.
    pub scale: ScaleName,
    /// Profile of the runs (`paper` or `artifact`); `None` for the profile in the scenario.
    pub profile: Option<Profile>,
    /// Runs of the plan, ordered by axis values, variant and seed.
    pub points: Vec<Point>,
    /// Offset of the first seed to the seed in the scenario; the offset selects another set of
    /// seeds.
    pub first_seed: u32,
    /// Additional overrides of scenario keys, by variant and axis values; the plan applies these
    /// overrides last.
    pub extra: BTreeMap<(usize, Vec<usize>), Overrides>,
    /// Statements that the plan covers; if empty, the plan covers all statements of the experiment.
    pub rows: Vec<String>,
}

impl Plan {
    /// Plans the runs of `experiment` at `scale`; `seeds` overrides the number of seeds. An
    /// analytical figure has no runs. The result is `None` if the experiment lacks this scale.
    #[must_use]
    pub fn new(experiment: &Experiment, scale: ScaleName, seeds: Option<u32>) -> Option<Self> {
        let points = match experiment.runs() {
            Some(runs) => points(runs, runs.scale(scale)?, seeds),
            None => Vec::new(),
        };
        Some(Self {
            experiment: Arc::new(experiment.clone()),
            scale,
            profile: None,
            points,
            first_seed: 0,
            extra: BTreeMap::new(),
            rows: Vec::new(),
        })
    }

    /// Plans `experiments` at `scale`, under `profile` if given. Experiments that lack the scale or
    /// the profile are skipped.
    ///
    /// # Errors
    /// If none of the experiments has the scale or the profile.
    pub fn all<'a>(
        experiments: impl IntoIterator<Item = &'a Experiment>,
        scale: ScaleName,
        seeds: Option<u32>,
        profile: Option<Profile>,
    ) -> Result<Vec<Self>, ReproduceError> {
        let artifact = profile == Some(Profile::Artifact);
        let reads = |one: &&Experiment| !artifact || one.runs().is_some_and(|runs| runs.artifact.is_some());
        let all: Vec<_> = experiments.into_iter().collect();
        let read: Vec<_> = all.iter().copied().filter(reads).collect();
        if read.is_empty() && !all.is_empty() {
            return Err(ReproduceError::NoReading);
        }
        let mut runs = 0_u64;
        for one in &read {
            runs = runs.saturating_add(check_runs(one, scale, seeds)?);
            RUNS.check(runs)
                .map_err(|beyond| ReproduceError::TooMany { experiment: one.id.clone(), beyond })?;
        }
        let plans: Vec<_> = read.iter().filter_map(|one| Self::new(one, scale, seeds)).collect();
        if plans.is_empty() && !read.is_empty() {
            return Err(ReproduceError::NoScale(scale.name()));
        }
        Ok(plans.into_iter().map(|plan| Self { profile, ..plan }).collect())
    }

    /// Shifts the seeds of all runs in the plan by `first_seed`.
    #[must_use]
    pub fn from_seed(self, first_seed: u32) -> Self {
        Self { first_seed, ..self }
    }

    /// Shifts the seeds to a different set of seeds; 0 keeps the scenario's seeds.
    #[must_use]
    pub fn from_set(self, set: u32) -> Self {
        let first_seed = self.first_seed.saturating_add(set.saturating_mul(SEED_SET));
        Self { first_seed, ..self }
    }

    /// Changes the profile of all runs: sets the scenario's key `profile`, and for `artifact`
    /// applies the experiment's table `[artifact]`.
    #[must_use]
    pub fn under(self, profile: Profile) -> Self {
        Self { profile: Some(profile), ..self }
    }

    /// Name of the profile of all runs. The profile of the first run is returned, because variants
    /// cannot change the profile.
    #[must_use]
    pub fn profile_name(&self) -> &'static str {
        match self.profile {
            Some(profile) => profile.word(),
            None => {
                let first = self.points.first().and_then(|point| self.load(point).ok());
                first.map_or("unknown", |loaded| loaded.scenario.profile.word())
            }
        }
    }

    /// Name of the folder for the experiment's output. The name is the experiment's name, with the
    /// suffix `-artifact` under that profile, and the first seed if it is not 0.
    #[must_use]
    pub fn folder(&self) -> String {
        let reading = if self.profile == Some(Profile::Artifact) { "-artifact" } else { "" };
        let seeds = match self.first_seed {
            0 => String::new(),
            first => format!("-seeds-from-{first}"),
        };
        let rows = match self.rows.as_slice() {
            [] => String::new(),
            [one] => format!("-{one}"),
            [one, more @ ..] => format!("-{one}-and-{}-more", more.len()),
        };
        format!("{}{rows}{reading}{seeds}", self.experiment.id)
    }

    /// Returns the simulation runs of the experiment and the scale of the plan.
    fn sized(&self) -> (&Runs, &Scale) {
        let runs = self.experiment.runs().and_then(|runs| Some((runs, runs.scale(self.scale)?)));
        runs.expect("a point is one of an experiment that has runs at this scale")
    }

    /// Loads the scenario of one run in the plan.
    ///
    /// # Errors
    /// If the experiment sets a value that the scenario format does not accept.
    ///
    /// # Panics
    /// If the run is not one of [`Self::points`].
    pub fn load(&self, point: &Point) -> Result<Loaded, RunFailure> {
        self.load_with(point, None)
    }

    /// Loads the scenario of a run. If the caller passes the seed of the scenario file, this file
    /// is read only once.
    fn load_with(&self, point: &Point, own_seed: Option<u64>) -> Result<Loaded, RunFailure> {
        let (runs, size) = self.sized();
        let variant = &runs.variants[point.variant];
        let on_axes = runs.axes.iter().zip(&point.places);
        let on_axes = on_axes.filter_map(|(axis, &place)| axis.values[place].scenario.as_ref()).next();
        let reading = runs.artifact.as_ref().filter(|_| self.profile == Some(Profile::Artifact));
        let scenario = variant.scenario.as_ref().or(on_axes);
        let scenario = scenario.or(reading.and_then(|reading| reading.scenario.as_ref()));
        let scenario = scenario.or(size.scenario.as_ref());
        let scenario = scenario.unwrap_or(&runs.scenario);
        let profile =
            self.profile.map(|profile| Setting::new("profile", Value::String(profile.word().to_owned())));
        let mut overrides: Overrides = profile.into_iter().collect();
        overrides.extend(runs.set.iter().chain(&size.set).cloned());
        for (axis, &place) in runs.axes.iter().zip(&point.places) {
            overrides.extend(axis.values[place].set.iter().cloned());
        }
        overrides.extend(variant.set.iter().cloned());
        // The profile is applied after the variants, because the profile affects all variants.
        if let Some(reading) = reading {
            overrides.extend(variant.artifact.iter().chain(&reading.set).cloned());
        }
        overrides
            .extend(self.extra.get(&(point.variant, point.places.clone())).into_iter().flatten().cloned());
        let failed = |error| RunFailure::new(self.describe(point), FailureCause::Scenario(error));
        let seed = u64::from(self.first_seed) + point.seed;
        if seed > 0 {
            let own = match own_seed {
                Some(seed) => seed,
                None => bufferlab_scenario::load_with(scenario, &overrides).map_err(failed)?.scenario.seed,
            };
            overrides.push(Setting::new("seed", Value::Integer(i128::from(own + seed))));
        }
        bufferlab_scenario::load_with(scenario, &overrides).map_err(failed)
    }

    /// Describes one run of the plan: `load = 0.2, abm, seed +1`.
    #[must_use]
    pub fn describe(&self, point: &Point) -> String {
        let (runs, _) = self.sized();
        let places = runs.axes.iter().zip(&point.places);
        let places = places.map(|(axis, &place)| format!("{} = {}, ", axis.name, axis.values[place].label));
        format!(
            "{}: {}{}, seed +{}",
            self.experiment.id,
            places.collect::<String>(),
            runs.variants[point.variant].name,
            u64::from(self.first_seed) + point.seed
        )
    }
}

/// Counts the runs of an experiment, before they are planned, and checks the limits.
///
/// # Errors
/// If the number of runs, or of seeds, exceeds the limit of one command.
pub(crate) fn check_runs(
    experiment: &Experiment,
    scale: ScaleName,
    seeds: Option<u32>,
) -> Result<u64, ReproduceError> {
    let Some((runs, size)) = experiment.runs().and_then(|runs| Some((runs, runs.scale(scale)?))) else {
        return Ok(0);
    };
    let seeds = u64::from(seeds.unwrap_or(size.seeds));
    let places = runs.axes.iter().map(|axis| chosen_places(axis, size).count() as u64);
    let all = places.fold(seeds.saturating_mul(runs.variants.len() as u64), u64::saturating_mul);
    let refused = |beyond| ReproduceError::TooMany { experiment: experiment.id.clone(), beyond };
    SEEDS.check(seeds).and_then(|()| RUNS.check(all)).map_err(refused)?;
    Ok(all)
}

/// Returns the indices of the axis values that run at a scale.
fn chosen_places<'a>(axis: &'a Axis, size: &'a Scale) -> impl Iterator<Item = usize> + 'a {
    let chosen = size.values.get(&axis.name);
    (0..axis.values.len())
        .filter(move |&place| chosen.is_none_or(|labels| labels.contains(&axis.values[place].label)))
}

fn points(runs: &Runs, size: &Scale, seeds: Option<u32>) -> Vec<Point> {
    let mut grid = vec![Vec::new()];
    for axis in &runs.axes {
        let chosen: Vec<usize> = chosen_places(axis, size).collect();
        let with = |places: &Vec<usize>| -> Vec<Vec<usize>> {
            chosen.iter().map(|&place| [&places[..], &[place]].concat()).collect()
        };
        grid = grid.iter().flat_map(with).collect();
    }
    let mut points = Vec::new();
    for places in grid {
        for variant in 0..runs.variants.len() {
            for seed in 0..u64::from(seeds.unwrap_or(size.seeds)) {
                points.push(Point { variant, places: places.clone(), seed });
            }
        }
    }
    points
}

/// Loads the scenarios of a plan's runs in order. Runs that differ only in the seed are adjacent,
/// so the scenario's own seed is read only for the first of these runs.
pub(crate) struct Loader<'a> {
    plan: &'a Plan,
    /// The run whose scenario was loaded last, and the seed of this scenario.
    last: Option<(&'a Point, u64)>,
}

impl<'a> Loader<'a> {
    /// Creates a loader of scenarios that knows no scenario's seed yet.
    pub(crate) fn new(plan: &'a Plan) -> Self {
        Self { plan, last: None }
    }

    /// Loads the scenario of one planned run, like [`Plan::load`].
    pub(crate) fn load(&mut self, point: &'a Point) -> Result<Loaded, RunFailure> {
        let same = |known: &&Point| known.variant == point.variant && known.places == point.places;
        let own_seed = self.last.filter(|(known, _)| same(known)).map(|(_, seed)| seed);
        let loaded = self.plan.load_with(point, own_seed)?;
        self.last = Some((point, loaded.scenario.seed - u64::from(self.plan.first_seed) - point.seed));
        Ok(loaded)
    }
}

/// Cache key of a run: a hash of the resolved scenario, its inputs, and the program.
pub(crate) fn fingerprint(loaded: &Loaded) -> String {
    let inputs: Vec<_> =
        loaded.inputs.iter().map(|input| (input.name.clone(), input.content.as_slice())).collect();
    let mut hash = Sha256::new();
    hash.update(bufferlab_results::scenario_hash(&loaded.resolved, &inputs));
    hash.update(env!("CARGO_PKG_VERSION"));
    hash.update(bufferlab_lab::commit().unwrap_or_default());
    // Custom schemes may change without a new version of the program.
    let built = bufferlab_lab::custom_code().and_then(|built| built.duration_since(UNIX_EPOCH).ok());
    if let Some(built) = built {
        hash.update(built.as_nanos().to_le_bytes());
    }
    format!("{:x}", hash.finalize())[..24].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Registry;

    #[test]
    fn points_loaded_one_after_the_other_are_those_loaded_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let registry = Registry::unpack(folder.path()).unwrap_or_else(|error| panic!("{error}"));
        let wanted = vec!["reverie/fig13".to_owned()];
        let experiment = registry.select(&wanted).unwrap_or_else(|error| panic!("{error}"))[0];
        let plan = Plan::new(experiment, ScaleName::Quick, None).expect("every experiment has this scale");
        let mut loader = Loader::new(&plan);
        // The reverse order also checks that the loader reuses a seed only for equal axis values.
        for point in plan.points.iter().chain(plan.points.iter().rev()) {
            let (one, alone) = (loader.load(point), plan.load(point));
            let resolved = |loaded: Result<Loaded, RunFailure>| {
                loaded.map(|loaded| loaded.resolved).map_err(|failure| failure.to_string())
            };
            assert_eq!(resolved(one), resolved(alone), "{}", plan.describe(point));
        }
        assert!(plan.points.iter().any(|point| point.seed == 2));
        // A second set of seeds starts at the given offset and has a separate output folder.
        let (third, other) = (plan.points.iter().find(|point| point.seed == 2), plan.clone().from_seed(2));
        let first = other.points.iter().find(|point| point.seed == 0).expect("a first seed");
        let seed =
            |plan: &Plan, point| plan.load(point).unwrap_or_else(|error| panic!("{error}")).scenario.seed;
        assert_eq!(seed(&other, first), seed(&plan, third.expect("three seeds")));
        assert_eq!(other.folder(), "reverie/fig13-seeds-from-2");
    }
}
