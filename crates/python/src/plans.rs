//! Comparisons and sweeps, which the code of the command line plans.

use crate::errors;
use crate::scenario::{Loaded, variant};
use bufferlab_lab::{Destination, Job, PolicySelection, SweepRequest, Vary, plan_compare, plan_run};
use bufferlab_scenario::{Changes, LoadError, Variant, load_changed};
use bufferlab_units::Time;
use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// A scenario from Python: path, text (`None` means that the file is read), changed keys.
type Source = (PathBuf, Option<String>, Vec<(String, String)>);
/// A planned run: scenario, folder, caveats (id, message, advice).
type PlainJob = (Loaded, PathBuf, Vec<(String, String, String)>);
/// A planned comparison: runs, policies in order, and number of reused runs. Two lists follow:
/// policies that cannot run, each with the reason, and exceptions of variants that cannot run.
type PlainPlan = (Vec<PlainJob>, Vec<String>, usize, Vec<(String, String)>, Vec<Py<PyBaseException>>);

fn loader(
    (path, text, overrides): Source,
) -> impl Fn(Option<&Variant>, &[(String, String)]) -> Result<bufferlab_scenario::Loaded, LoadError> {
    move |variant, then| {
        load_changed(&path, text.as_deref(), &Changes { overrides: &overrides, variant, then })
    }
}

fn plain(job: Job) -> PlainJob {
    let caveats = job.caveats.into_iter().map(|caveat| (caveat.id, caveat.message, caveat.advice));
    (Loaded { inner: job.loaded }, job.dir, caveats.collect())
}

/// Converts the names of policies and the texts of variants to the choices of a comparison.
fn choices(py: Python<'_>, names: &[String], variants: &[String]) -> PyResult<Vec<PolicySelection>> {
    let policy = |name: &String| {
        let known = bufferlab_core::policies();
        let known = known.iter().map(|info| info.name).collect::<Vec<_>>();
        PolicySelection::from_name(name).ok_or_else(|| errors::unknown(py, "policies", "policy", name, known))
    };
    let others = variants.iter().map(|text| variant(py, "variants", text).map(PolicySelection::One));
    names.iter().map(policy).chain(others).collect()
}

fn at_least_one(py: Python<'_>, seeds: u32) -> PyResult<NonZero<u32>> {
    NonZero::new(seeds)
        .ok_or_else(|| errors::argument(py, "seeds", "seeds is 0, expected a whole number, 1 or more", ""))
}

/// Plans a comparison of `policies` and `variants` with `seeds` seeds in the folder `out`. Without
/// policies and variants, plans runs of the scenario, with the variant `run_as` if given. With
/// `go_on`, the plan reuses finished runs, unless the plan has only one run. With `warm_up` (ps),
/// the variants continue from the state of the first variant at this time.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python's signature names them")]
pub(crate) fn plan(
    py: Python<'_>,
    source: Source,
    policies: Vec<String>,
    variants: Vec<String>,
    seeds: u32,
    out: PathBuf,
    replace: bool,
    go_on: bool,
    run_as: Option<&str>,
    warm_up: Option<u64>,
) -> PyResult<PlainPlan> {
    let to = Destination { out: &out, replace };
    let (choices, seeds, load) =
        (choices(py, &policies, &variants)?, at_least_one(py, seeds)?, loader(source));
    let own = run_as.map(|text| variant(py, "variant", text)).transpose()?;
    let plan = if choices.is_empty() {
        let load = |_: Option<&Variant>, then: &[(String, String)]| load(own.as_ref(), then);
        plan_run(&load, seeds, to)
    } else {
        plan_compare(&load, &choices, seeds, warm_up.map(Time), to)
    };
    let mut plan = plan.map_err(|error| errors::plan(py, &error))?;
    let is_single = choices.is_empty() && seeds.get() == 1;
    let finished = if go_on && !is_single { plan.resume() } else { 0 };
    let failed = plan.failed.iter().map(|(_, why)| errors::plan(py, why).into_value(py)).collect();
    Ok((plan.jobs.into_iter().map(plain).collect(), plan.policies, finished, plan.left_out, failed))
}

/// Whether the folder `out` has an undamaged finished run of this scenario. This version of the
/// program and the current custom classes must have produced the run.
#[pyfunction]
pub(crate) fn is_finished(loaded: &Loaded, out: PathBuf) -> bool {
    bufferlab_lab::is_finished(&Job { loaded: loaded.inner.clone(), dir: out, caveats: Vec::new() })
}

/// Splits the text of a varied key's values, such as `0.2,0.4` or `["1 MB", "2 MB"]`.
#[pyfunction]
pub(crate) fn vary_values(py: Python<'_>, text: &str) -> PyResult<Vec<String>> {
    let values = bufferlab_lab::split_values(text);
    let is_empty = values.iter().any(String::is_empty);
    if is_empty {
        Err(errors::argument(py, "vary", &format!("{text}: one of the values is empty"), ""))
    } else {
        Ok(values)
    }
}

/// A context manager that claims a folder of several runs, so that only one process writes to it.
#[pyclass(frozen, module = "bufferlab._bufferlab")]
pub(crate) struct Claim {
    out: PathBuf,
    held: Mutex<Option<bufferlab_results::Claim>>,
}

#[pymethods]
impl Claim {
    #[new]
    fn new(out: PathBuf) -> Self {
        Self { out, held: Mutex::new(None) }
    }

    fn __enter__<'py>(slf: PyRef<'py, Self>, py: Python<'py>) -> PyResult<PyRef<'py, Self>> {
        let claim =
            bufferlab_results::Claim::folder(&slf.out).map_err(|error| errors::results(py, &error))?;
        *slf.held.lock().unwrap_or_else(PoisonError::into_inner) = Some(claim);
        Ok(slf)
    }

    fn __exit__(&self, kind: &Bound<'_, PyAny>, error: &Bound<'_, PyAny>, traceback: &Bound<'_, PyAny>) {
        // `__exit__` returns `None`, so Python raises the exception again.
        let _ = (kind, error, traceback);
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.is_some() {
            // Removes what killed calls left in the folder, as a command does at its end.
            let _ = bufferlab_results::remove_leftovers(&self.out);
        }
        *held = None;
    }
}

/// The plan of a new or resumed sweep.
#[pyclass(frozen, module = "bufferlab._bufferlab")]
pub(crate) struct SweepPlan {
    inner: bufferlab_lab::SweepPlan,
}

#[pymethods]
impl SweepPlan {
    /// Plans the sweep. `vary` has dotted keys of the scenario, with their values as TOML.
    #[new]
    #[expect(clippy::too_many_arguments, reason = "Python's signature names them")]
    fn new(
        py: Python<'_>,
        source: Source,
        vary: Vec<(String, Vec<String>)>,
        policies: Vec<String>,
        variants: Vec<String>,
        seeds: u32,
        out: PathBuf,
        replace: bool,
    ) -> PyResult<Self> {
        let request = SweepRequest {
            scenario_file: source.0.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            vary: vary.into_iter().map(|(key, values)| Vary { key, values }).collect(),
            policies: choices(py, &policies, &variants)?,
            seeds: at_least_one(py, seeds)?,
            out,
            replace,
        };
        let load = loader(source);
        let inner =
            bufferlab_lab::SweepPlan::new(&load, request).map_err(|error| errors::plan(py, &error))?;
        Ok(Self { inner })
    }

    /// Runs of the sweep that are not finished yet.
    #[getter]
    fn jobs(&self) -> Vec<PlainJob> {
        self.inner.jobs.iter().cloned().map(plain).collect()
    }

    /// Names of the sweep's runs that are not finished yet: point, policy and seed.
    #[getter]
    fn places(&self) -> Vec<String> {
        self.inner.jobs.iter().map(|job| self.inner.place(job)).collect()
    }

    /// Number of finished runs that the sweep reuses.
    #[getter]
    fn kept(&self) -> usize {
        self.inner.reused
    }

    /// Points of the sweep that cannot run, each with the reason.
    #[getter]
    fn failed(&self) -> Vec<String> {
        self.inner.failed.clone()
    }

    /// Writes the summary files of all finished runs and returns the headline metrics as text.
    fn finish(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| self.inner.finish())
            .map(|outcome| outcome.text)
            .map_err(|error| errors::plan(py, &error))
    }
}
