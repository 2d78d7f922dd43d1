//! Figures and tables of the papers, and the verdicts on their statements.

use crate::errors;
use crate::runs::{Relay, attend};
use bufferlab_core::Profile;
use bufferlab_lab::Execution;
use bufferlab_reproduce::{Experiment, Plan, Registry, ReproduceError, ScaleName, conclude, run};
use pyo3::prelude::*;
use std::num::NonZero;
use std::path::{Path, PathBuf};

/// Number of a statement, verdict, what was measured, what to know.
type PlainVerdict = (String, String, String, Option<String>);
/// Experiment, figure, title, folder, verdicts, failed runs.
type PlainExperiment = (String, String, String, PathBuf, Vec<PlainVerdict>, Vec<String>);

/// Name, figure, title, numbers of the statements that it judges.
type PlainEntry = (String, String, String, Vec<String>);

/// What is to be repeated, and how.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Wanted {
    names: Vec<String>,
    out: PathBuf,
    registry: Option<PathBuf>,
    paper_scale: bool,
    profile: Option<String>,
    seeds: Option<u32>,
    threads: usize,
}

/// The experiments of the papers: name, figure, title, statements that they judge.
#[pyfunction]
pub(crate) fn experiments(py: Python<'_>, folder: PathBuf) -> PyResult<Vec<PlainEntry>> {
    let registry = Registry::unpack(&folder).map_err(|error| failed(py, &error))?;
    let claims = |one: &Experiment| one.claims().iter().map(|claim| claim.id.clone()).collect();
    let one = |one: &Experiment| (one.id.clone(), one.figure.clone(), one.title.clone(), claims(one));
    Ok(registry.experiments.iter().map(one).collect())
}

/// Writes the scenarios that come with the package into `folder`; answers their files.
#[pyfunction]
pub(crate) fn unpack_scenarios(py: Python<'_>, folder: PathBuf) -> PyResult<Vec<PathBuf>> {
    py.detach(|| bufferlab_reproduce::unpack_scenarios(&folder)).map_err(|error| failed(py, &error))
}

/// Repeats experiments: the folders of the command line, and the verdicts.
#[pyfunction]
#[pyo3(signature = (wanted, progress))]
pub(crate) fn reproduce(
    py: Python<'_>,
    wanted: Wanted,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<PlainExperiment>> {
    let relay = Relay::empty();
    let done = attend(py, &relay, progress.as_ref(), || carry_out(&wanted, &relay))?;
    done.map_err(|error| failed(py, &error))
}

/// A `ScenarioError` with every mistake of the experiments, or a `ResultsError`.
fn failed(py: Python<'_>, error: &ReproduceError) -> PyErr {
    match error {
        ReproduceError::Experiment(error) => errors::scenario(py, error),
        other => errors::with_help(py, "ResultsError", &other.to_string(), other.hint()),
    }
}

fn carry_out(wanted: &Wanted, relay: &Relay) -> Result<Vec<PlainExperiment>, ReproduceError> {
    let out: &Path = &wanted.out;
    let registry = match &wanted.registry {
        Some(folder) => Registry::load(folder)?,
        None => Registry::unpack(&out.join("registry"))?,
    };
    let scale = if wanted.paper_scale { ScaleName::Paper } else { ScaleName::Quick };
    let profile = wanted.profile.as_deref().map(|name| match name {
        "artifact" => Profile::Artifact,
        _ => Profile::Paper,
    });
    let plans = Plan::all(registry.select(&wanted.names)?, scale, wanted.seeds, profile)?;
    let how = Execution { threads: NonZero::new(wanted.threads), verify: false };
    let (results, _) = run(plans, out, &how, |runs| {
        relay.expect(runs);
        relay
    })?;
    let found = conclude(&registry, &results, out, None)?;
    let mut all = Vec::with_capacity(results.len());
    for (result, verdicts) in results.iter().zip(&found.judged) {
        let experiment = result.experiment();
        let folder = out.join(result.plan.folder());
        let plain = verdicts.iter().map(|judged| {
            (judged.id.clone(), judged.verdict.to_string(), judged.measured(), judged.note.clone())
        });
        let failures = result.failures().map(ToString::to_string).collect();
        let (id, figure, title) = (&experiment.id, &experiment.figure, &experiment.title);
        all.push((id.clone(), figure.clone(), title.clone(), folder, plain.collect(), failures));
    }
    Ok(all)
}
