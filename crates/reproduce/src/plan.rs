//! Which runs does an experiment need?

use crate::{Axis, Experiment, FailureCause, Overrides, ReproduceError, RunFailure, Runs, Scale, ScaleName};
use bufferlab_core::Profile;
use bufferlab_document::tree::Value;
use bufferlab_lab::{RUNS, SEEDS};
use bufferlab_scenario::{Loaded, Setting};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

/// One run of an experiment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    /// Index of its variant.
    pub variant: usize,
    /// Index of its value on every axis.
    pub places: Vec<usize>,
    /// Offset to the scenario's own seed.
    pub seed: u64,
}

/// The runs of an experiment at a scale.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The experiment.
    pub experiment: Arc<Experiment>,
    /// How much of it.
    pub scale: ScaleName,
    /// Whose reading of what the paper leaves open; `None`: what the scenario says.
    pub profile: Option<Profile>,
    /// In order: places of the axes, variants, seeds.
    pub points: Vec<Point>,
    /// Behind the scenario's own seed and before every point's: another set of seeds.
    pub first_seed: u32,
    /// What else is set, after everything, by variant and places.
    pub extra: BTreeMap<(usize, Vec<usize>), Overrides>,
}

impl Plan {
    /// The runs of `experiment` at `scale`, with `seeds` instead of its own number if given: none
    /// for an analytical figure. `None` if the experiment has no such scale.
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
        })
    }

    /// The plans of `experiments` at `scale`, in the reading of `profile` if given; without those
    /// that do not have that scale or that reading.
    ///
    /// # Errors
    /// If none of them has it.
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

    /// The same runs with other seeds: so many behind the scenario's own.
    #[must_use]
    pub fn from_seed(self, first_seed: u32) -> Self {
        Self { first_seed, ..self }
    }

    /// The same runs in the reading of `profile`: the scenario's key `profile`, and for that of the
    /// artifact what the experiment's `[artifact]` sets.
    #[must_use]
    pub fn under(self, profile: Profile) -> Self {
        Self { profile: Some(profile), ..self }
    }

    /// The profile's name, of all runs: variants change what is compared and nothing else.
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

    /// The folder of what the experiment leaves behind: its name, with `-artifact` in the reading
    /// of the artifact, and with the first of other seeds.
    #[must_use]
    pub fn folder(&self) -> String {
        let reading = if self.profile == Some(Profile::Artifact) { "-artifact" } else { "" };
        let seeds = match self.first_seed {
            0 => String::new(),
            first => format!("-seeds-from-{first}"),
        };
        format!("{}{reading}{seeds}", self.experiment.id)
    }

    /// What runs, and how much of it.
    fn sized(&self) -> (&Runs, &Scale) {
        let runs = self.experiment.runs().and_then(|runs| Some((runs, runs.scale(self.scale)?)));
        runs.expect("a point is one of an experiment that has runs at this scale")
    }

    /// The scenario of a point.
    ///
    /// # Errors
    /// If the experiment sets what the scenario format does not accept.
    ///
    /// # Panics
    /// If the point is not one of [`Self::points`].
    pub fn load(&self, point: &Point) -> Result<Loaded, RunFailure> {
        self.load_with(point, None)
    }

    /// The same, where the scenario's own seed at the point's place may be known already.
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
        // Behind the variants: what the artifact does otherwise, it does for all that are compared.
        overrides.extend(reading.into_iter().flat_map(|reading| reading.set.iter().cloned()));
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

    /// A point in words: `load = 0.2, abm, seed +1`.
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

/// Places of the axes, variants, seeds.
/// The number of runs of an experiment, before any is planned.
///
/// # Errors
/// If one command may not plan as many runs, or as many seeds of each.
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

/// The values of an axis that a scale has, by their indices.
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

/// Loads the points of a plan in its order. Seeds of a place follow each other, so that the
/// scenario's own seed is read with the first of them.
pub(crate) struct Loader<'a> {
    plan: &'a Plan,
    /// The place that was loaded last, and the scenario's own seed there.
    last: Option<(&'a Point, u64)>,
}

impl<'a> Loader<'a> {
    /// Nothing is known yet.
    pub(crate) fn new(plan: &'a Plan) -> Self {
        Self { plan, last: None }
    }

    /// The scenario of a point, as [`Plan::load`].
    pub(crate) fn load(&mut self, point: &'a Point) -> Result<Loaded, RunFailure> {
        let same = |known: &&Point| known.variant == point.variant && known.places == point.places;
        let own_seed = self.last.filter(|(known, _)| same(known)).map(|(_, seed)| seed);
        let loaded = self.plan.load_with(point, own_seed)?;
        self.last = Some((point, loaded.scenario.seed - u64::from(self.plan.first_seed) - point.seed));
        Ok(loaded)
    }
}

/// The name under which the numbers of a run are kept: of the resolved scenario with its inputs,
/// and of the program.
pub(crate) fn fingerprint(loaded: &Loaded) -> String {
    let inputs: Vec<_> =
        loaded.inputs.iter().map(|input| (input.name.clone(), input.content.as_slice())).collect();
    let mut hash = Sha256::new();
    hash.update(bufferlab_results::scenario_hash(&loaded.resolved, &inputs));
    hash.update(env!("CARGO_PKG_VERSION"));
    hash.update(bufferlab_lab::commit().unwrap_or_default());
    // Schemes of a program's own may change without a new version.
    let built = bufferlab_lab::own_code().and_then(|built| built.duration_since(UNIX_EPOCH).ok());
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
        // Backwards, too: what is remembered is of the same place or not used.
        for point in plan.points.iter().chain(plan.points.iter().rev()) {
            let (one, alone) = (loader.load(point), plan.load(point));
            let resolved = |loaded: Result<Loaded, RunFailure>| {
                loaded.map(|loaded| loaded.resolved).map_err(|failure| failure.to_string())
            };
            assert_eq!(resolved(one), resolved(alone), "{}", plan.describe(point));
        }
        assert!(plan.points.iter().any(|point| point.seed == 2));
        // Another set of seeds begins where it is told to, and its folder is its own.
        let (third, other) = (plan.points.iter().find(|point| point.seed == 2), plan.clone().from_seed(2));
        let first = other.points.iter().find(|point| point.seed == 0).expect("a first seed");
        let seed =
            |plan: &Plan, point| plan.load(point).unwrap_or_else(|error| panic!("{error}")).scenario.seed;
        assert_eq!(seed(&other, first), seed(&plan, third.expect("three seeds")));
        assert_eq!(other.folder(), "reverie/fig13-seeds-from-2");
    }
}
