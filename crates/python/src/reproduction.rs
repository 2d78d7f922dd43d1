//! Reproduces figures and tables of the papers, with verdicts on the papers' statements.

use crate::errors;
use crate::runs::{Relay, attend};
use crate::scenario::Loaded;
use bufferlab_core::Profile;
use bufferlab_lab::{Execution, Job, execute_one};
use bufferlab_reproduce::{
    Cache, Experiment, FailureCause, Judged, Missing, Plan, Registry, ReproduceError, Results, ScaleName,
    conclude, gather, missing, run, verdicts_json,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::num::NonZero;
use std::path::{Path, PathBuf};

/// A verdict on a statement: id of the statement, verdict, measured values, remark.
type PlainVerdict = (String, String, String, Option<String>);
/// A judged experiment: name, figure, title, folder, verdicts on statements, failed runs.
type PlainExperiment = (String, String, String, PathBuf, Vec<PlainVerdict>, Vec<String>);

/// The judged experiments, and the JSON text of `bufferlab reproduce --json`.
type PlainReproduction = (Vec<PlainExperiment>, String);

/// An experiment of a paper: name, figure, title, ids of the judged statements.
type PlainEntry = (String, String, String, Vec<String>);

/// The experiments that the caller wants to reproduce, and the options of the reproduction.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Wanted {
    names: Vec<String>,
    out: PathBuf,
    registry: Option<PathBuf>,
    paper_scale: bool,
    profile: Option<String>,
    seeds: Option<u32>,
    first_seed: u32,
    threads: usize,
}

/// Lists the experiments of the papers with names, figures, titles and judged statements.
#[pyfunction]
pub(crate) fn experiments(py: Python<'_>, folder: PathBuf) -> PyResult<Vec<PlainEntry>> {
    let registry = Registry::unpack(&folder).map_err(|error| failed(py, &error))?;
    let claims = |one: &Experiment| one.claims().iter().map(|claim| claim.id.clone()).collect();
    let one = |one: &Experiment| (one.id.clone(), one.figure.clone(), one.title.clone(), claims(one));
    Ok(registry.experiments.iter().map(one).collect())
}

/// Writes the scenarios of the package to `folder` and returns the paths of their files.
#[pyfunction]
pub(crate) fn unpack_scenarios(py: Python<'_>, folder: PathBuf) -> PyResult<Vec<PathBuf>> {
    py.detach(|| bufferlab_reproduce::unpack_scenarios(&folder)).map_err(|error| failed(py, &error))
}

/// Runs experiments into the folders that the command line uses. Returns the verdicts on the
/// papers' statements, also as JSON.
#[pyfunction]
#[pyo3(signature = (wanted, progress))]
pub(crate) fn reproduce(
    py: Python<'_>,
    wanted: Wanted,
    progress: Option<Py<PyAny>>,
) -> PyResult<PlainReproduction> {
    let relay = Relay::empty();
    let done = attend(py, &relay, progress.as_ref(), || carry_out(&wanted, &relay))?;
    done.map_err(|error| failed(py, &error))
}

/// Converts an error of a reproduction to a Python exception. Mistakes in experiments become one
/// `ScenarioError`, other errors a `ResultsError`.
fn failed(py: Python<'_>, error: &ReproduceError) -> PyErr {
    match error {
        ReproduceError::Experiment(error) => errors::scenario(py, error),
        other => errors::with_help(py, "ResultsError", &other.to_string(), other.hint()),
    }
}

/// The plan of a new or resumed reproduction. The caller executes the runs on any machine, and
/// stores the numbers of each run when they arrive.
#[pyclass(frozen, module = "bufferlab._bufferlab")]
pub(crate) struct ReproductionPlan {
    registry: Registry,
    plans: Vec<Plan>,
    out: PathBuf,
    cache: Cache,
    missing: Vec<Missing>,
}

#[pymethods]
impl ReproductionPlan {
    #[new]
    fn new(py: Python<'_>, wanted: Wanted) -> PyResult<Self> {
        let plan = || {
            let (registry, plans) = wanted.plans()?;
            let (missing, cache) = (missing(&plans, &wanted.out)?, Cache::open_in(&wanted.out)?);
            Ok(Self { registry, plans, out: wanted.out.clone(), cache, missing })
        };
        py.detach(plan).map_err(|error| failed(py, &error))
    }

    /// The missing runs of the plan. Each run has a scenario, and a list (JSON) of the numbers to
    /// record.
    #[getter]
    fn jobs(&self) -> PyResult<Vec<(Loaded, String)>> {
        let one = |missing: &Missing| {
            let wanted = serde_json::to_string(&missing.wanted)
                .map_err(|error| PyValueError::new_err(error.to_string()))?;
            Ok((Loaded { inner: missing.job.loaded.clone() }, wanted))
        };
        self.missing.iter().map(one).collect()
    }

    /// Stores the measured numbers of the plan's run with the index `index`.
    fn keep(&self, py: Python<'_>, index: usize, numbers: &[u8]) -> PyResult<()> {
        let numbers = serde_json::from_slice(numbers).map_err(|why| foreign(py, &why))?;
        let key = self.missing.get(index).map(|missing| missing.key.as_str());
        let key = key.ok_or_else(|| PyValueError::new_err(format!("there is no run {index}")))?;
        self.cache.keep(key, numbers).map_err(|why| lost(py, &why))
    }

    /// Judges the statements from the finished runs and writes all outputs. `failures` has the
    /// index of every failed run with the reason.
    fn finish(&self, py: Python<'_>, failures: Vec<(usize, String)>) -> PyResult<PlainReproduction> {
        let of_key = |(index, why): (usize, String)| Some((self.missing.get(index)?.key.clone(), why));
        let failures = failures.into_iter().filter_map(of_key).collect();
        let finish = || {
            let results = gather(self.plans.clone(), &self.out, failures)?;
            conclusion(&self.registry, &results, &self.out)
        };
        py.detach(finish).map_err(|error| failed(py, &error))
    }
}

/// Executes a run in `folder` and returns the numbers that `wanted` selects, as JSON. The caller
/// does not need the run's tables afterwards.
#[pyfunction]
pub(crate) fn take(
    py: Python<'_>,
    loaded: PyRef<'_, Loaded>,
    wanted: &str,
    folder: PathBuf,
) -> PyResult<Vec<u8>> {
    let wanted: bufferlab_reproduce::Wanted =
        serde_json::from_str(wanted).map_err(|why| foreign(py, &why))?;
    let job = Job { loaded: loaded.inner.clone(), dir: folder, caveats: Vec::new() };
    let finished = py.detach(|| execute_one(&job, false, &mut |_| true));
    let finished = finished.map_err(|error| errors::run(py, &error))?;
    let numbers = py.detach(|| wanted.take(&job, finished)).map_err(|why| lost(py, &why))?;
    serde_json::to_vec(&numbers).map_err(|why| foreign(py, &why))
}

/// Creates the error for JSON from a worker that has a different version of the program.
fn foreign(py: Python<'_>, why: &serde_json::Error) -> PyErr {
    errors::with_help(py, "ResultsError", &why.to_string(), "install the same wheel on every worker")
}

/// Creates the error for a run whose tables cannot be read, or whose numbers cannot be stored.
fn lost(py: Python<'_>, why: &FailureCause) -> PyErr {
    let help = "make room in the folder that it names, or make it writable, and repeat: only what is missing will run";
    errors::with_help(py, "ResultsError", &why.to_string(), help)
}

impl Wanted {
    /// Returns the registry of experiments, and the plans of the requested experiments.
    fn plans(&self) -> Result<(Registry, Vec<Plan>), ReproduceError> {
        let registry = match &self.registry {
            Some(folder) => Registry::load(folder)?,
            None => Registry::unpack(&self.out.join("registry"))?,
        };
        let scale = if self.paper_scale { ScaleName::Paper } else { ScaleName::Quick };
        let profile = self.profile.as_deref().map(|name| match name {
            "artifact" => Profile::Artifact,
            _ => Profile::Paper,
        });
        let plans = Plan::all(registry.select(&self.names)?, scale, self.seeds, profile)?;
        let plans = plans.into_iter().map(|plan| plan.from_seed(self.first_seed)).collect();
        Ok((registry, plans))
    }
}

fn carry_out(wanted: &Wanted, relay: &Relay) -> Result<PlainReproduction, ReproduceError> {
    let (registry, plans) = wanted.plans()?;
    let how =
        Execution { jobs: NonZero::new(wanted.threads), threads: Some(NonZero::<usize>::MIN), verify: false };
    let (results, _) = run(plans, &wanted.out, &how, |runs| {
        relay.expect(runs);
        relay
    })?;
    conclusion(&registry, &results, &wanted.out)
}

/// Judges the statements, writes all outputs, and converts the verdicts to plain values.
fn conclusion(
    registry: &Registry,
    results: &[Results],
    out: &Path,
) -> Result<PlainReproduction, ReproduceError> {
    let found = conclude(registry, results, out, None)?;
    let one = |(result, verdicts): (&Results, &Vec<Judged>)| {
        let experiment = result.experiment();
        let plain = verdicts.iter().map(|judged| {
            (judged.id.clone(), judged.verdict.to_string(), judged.measured(), judged.note.clone())
        });
        let failures = result.failures().map(ToString::to_string).collect();
        let (id, figure, title) = (&experiment.id, &experiment.figure, &experiment.title);
        (id.clone(), figure.clone(), title.clone(), out.join(result.plan.folder()), plain.collect(), failures)
    };
    Ok((results.iter().zip(&found.judged).map(one).collect(), verdicts_json(results, &found, &[])))
}
