//! Which runs does an experiment need?

use crate::{Experiment, Overrides, ScaleName};
use bufferlab_core::Profile;
use bufferlab_scenario::Loaded;
use sha2::{Digest, Sha256};
use std::sync::Arc;

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
}

impl Plan {
    /// The runs of `experiment` at `scale`, with `seeds` instead of its own number if given.
    #[must_use]
    pub fn new(experiment: &Experiment, scale: ScaleName, seeds: Option<u32>) -> Self {
        let size = experiment.scale(scale);
        let mut grid = vec![Vec::new()];
        for axis in &experiment.axes {
            let chosen = size.values.get(&axis.name);
            let chosen: Vec<usize> = (0..axis.values.len())
                .filter(|&place| chosen.is_none_or(|labels| labels.contains(&axis.values[place].label)))
                .collect();
            let with = |places: &Vec<usize>| -> Vec<Vec<usize>> {
                chosen.iter().map(|&place| [&places[..], &[place]].concat()).collect()
            };
            grid = grid.iter().flat_map(with).collect();
        }
        let mut points = Vec::new();
        for places in grid {
            for variant in 0..experiment.variants.len() {
                for seed in 0..u64::from(seeds.unwrap_or(size.seeds)) {
                    points.push(Point { variant, places: places.clone(), seed });
                }
            }
        }
        Self { experiment: Arc::new(experiment.clone()), scale, profile: None, points }
    }

    /// The same runs in the reading of `profile`: the scenario's key `profile`, and for that of the artifact what the experiment's `[artifact]` sets.
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

    /// The folder of what the experiment leaves behind: its name, with `-artifact` in the reading of the artifact.
    #[must_use]
    pub fn folder(&self) -> String {
        match self.profile {
            Some(Profile::Artifact) => format!("{}-artifact", self.experiment.id),
            _ => self.experiment.id.clone(),
        }
    }

    /// The scenario of a point.
    ///
    /// # Errors
    /// If the experiment sets what the scenario format does not accept.
    pub fn load(&self, point: &Point) -> Result<Loaded, String> {
        self.load_with(point, None)
    }

    /// The same, where the scenario's own seed at the point's place may be known already.
    fn load_with(&self, point: &Point, own_seed: Option<u64>) -> Result<Loaded, String> {
        let experiment = &self.experiment;
        let size = experiment.scale(self.scale);
        let variant = &experiment.variants[point.variant];
        let on_axes = experiment.axes.iter().zip(&point.places);
        let on_axes = on_axes.filter_map(|(axis, &place)| axis.values[place].scenario.as_ref()).next();
        let reading = experiment.artifact.as_ref().filter(|_| self.profile == Some(Profile::Artifact));
        let scenario = variant.scenario.as_ref().or(on_axes);
        let scenario = scenario.or(reading.and_then(|reading| reading.scenario.as_ref()));
        let scenario = scenario.or(size.scenario.as_ref());
        let scenario = scenario.unwrap_or(&experiment.scenario);
        let profile = self.profile.map(|profile| ("profile".to_owned(), format!("\"{}\"", profile.word())));
        let mut overrides: Overrides = profile.into_iter().collect();
        overrides.extend(experiment.set.iter().chain(&size.set).cloned());
        for (axis, &place) in experiment.axes.iter().zip(&point.places) {
            overrides.extend(axis.values[place].set.iter().cloned());
        }
        overrides.extend(variant.set.iter().cloned());
        // Behind the variants: what the artifact does otherwise, it does for all that are compared.
        overrides.extend(reading.into_iter().flat_map(|reading| reading.set.iter().cloned()));
        let failed =
            |error: bufferlab_scenario::LoadError| format!("{}: {}", self.describe(point), in_words(&error));
        if point.seed > 0 {
            let own = match own_seed {
                Some(seed) => seed,
                None => bufferlab_scenario::load(scenario, &overrides).map_err(failed)?.scenario.seed,
            };
            overrides.push(("seed".to_owned(), (own + point.seed).to_string()));
        }
        bufferlab_scenario::load(scenario, &overrides).map_err(failed)
    }

    /// A point in words: `load = 0.2, abm, seed +1`.
    #[must_use]
    pub fn describe(&self, point: &Point) -> String {
        let experiment = &self.experiment;
        let places = experiment.axes.iter().zip(&point.places);
        let places = places.map(|(axis, &place)| format!("{} = {}, ", axis.name, axis.values[place].label));
        format!(
            "{}: {}{}, seed +{}",
            experiment.id,
            places.collect::<String>(),
            experiment.variants[point.variant].name,
            point.seed
        )
    }
}

/// Loads the points of a plan in its order. Seeds of a place follow each other, so that the scenario's own seed is read with the first of them.
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
    pub(crate) fn load(&mut self, point: &'a Point) -> Result<Loaded, String> {
        let same = |known: &&Point| known.variant == point.variant && known.places == point.places;
        let own_seed = self.last.filter(|(known, _)| same(known)).map(|(_, seed)| seed);
        let loaded = self.plan.load_with(point, own_seed)?;
        self.last = Some((point, loaded.scenario.seed - point.seed));
        Ok(loaded)
    }
}

fn in_words(error: &bufferlab_scenario::LoadError) -> String {
    error.problems().iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// The name under which the numbers of a run are kept: of the resolved scenario with its inputs, and of the program.
pub(crate) fn fingerprint(loaded: &Loaded) -> String {
    let inputs: Vec<_> =
        loaded.inputs.iter().map(|input| (input.name.clone(), input.content.as_slice())).collect();
    let mut hash = Sha256::new();
    hash.update(bufferlab_results::scenario_hash(&loaded.resolved, &inputs));
    hash.update(env!("CARGO_PKG_VERSION"));
    hash.update(bufferlab_lab::commit().unwrap_or_default());
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
        let plan = Plan::new(experiment, ScaleName::Quick, None);
        let mut loader = Loader::new(&plan);
        // Backwards, too: what is remembered is of the same place or not used.
        for point in plan.points.iter().chain(plan.points.iter().rev()) {
            let (one, alone) = (loader.load(point), plan.load(point));
            let resolved = |loaded: Result<Loaded, String>| loaded.map(|loaded| loaded.resolved);
            assert_eq!(resolved(one), resolved(alone), "{}", plan.describe(point));
        }
        assert!(plan.points.iter().any(|point| point.seed == 2));
    }
}
