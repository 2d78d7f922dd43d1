//! Runs the conformance suite for policies when Python requests it.

use super::{find, given};
use bufferlab_conformance::vectors::VectorFile;
use bufferlab_conformance::{Check, Effort, Finding, Options, check};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// Fields of Python's `Check`: claim, number of scripts, result, reason, counterexample. The result
/// is "holds", "not claimed" or "fails".
type PlainCheck = (String, u64, &'static str, String, Option<String>);

/// Runs the conformance suite for the policy `name`. Returns the result of every claim, and the
/// report as text. The call keeps the interpreter lock, because the policy may be a Python class.
#[pyfunction]
#[pyo3(signature = (name, parameters, length, seeds, other_limits, most_evictions, vectors))]
#[expect(clippy::too_many_arguments, reason = "Python's signature names them")]
pub(crate) fn check_policy(
    py: Python<'_>,
    name: &str,
    parameters: &Bound<'_, PyDict>,
    length: u32,
    seeds: u64,
    other_limits: bool,
    most_evictions: Option<usize>,
    vectors: Option<PathBuf>,
) -> PyResult<(Vec<PlainCheck>, String)> {
    let info = find(py, name)?;
    let vectors = vectors.map(|path| VectorFile::load(&path)).transpose();
    let options = Options {
        params: given(py, info, parameters)?,
        other_limits,
        most_evictions,
        effort: Effort { exhaustive_length: length, random_seeds: 0..seeds },
        vectors: vectors
            .map_err(|error| crate::errors::argument(py, "vectors", &format!("vectors: {error}"), ""))?
            .into_iter()
            .collect(),
    };
    let report = check(info, &options);
    Ok((report.checks.iter().map(plain).collect(), report.to_string()))
}

fn plain(check: &Check) -> PlainCheck {
    let (state, why) = match &check.finding {
        Finding::Holds => ("holds", String::new()),
        Finding::NotClaimed(why) => ("not claimed", (*why).to_owned()),
        Finding::Fails(violation) => ("fails", violation.what.clone()),
        Finding::Differs(what) => ("fails", what.clone()),
    };
    (check.claim.clone(), check.trials, state, why, check.counterexample())
}
