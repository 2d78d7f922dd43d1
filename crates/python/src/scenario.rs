//! Scenario files that Python loads, checks and describes.

use crate::errors::{self, Plain};
use crate::words;
use bufferlab_lab::RunError;
use bufferlab_scenario::{Changes, Variant, VariantName, load_changed};
use bufferlab_sim::Simulation;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;

/// A loaded scenario with the values of all defaults.
#[pyclass(frozen, module = "bufferlab._bufferlab")]
pub(crate) struct Loaded {
    pub(crate) inner: bufferlab_scenario::Loaded,
}

#[pymethods]
impl Loaded {
    /// Name of the scenario, as in its file.
    #[getter]
    fn name(&self) -> &str {
        &self.inner.scenario.name
    }

    /// Purpose of the scenario, as its file describes it.
    #[getter]
    fn description(&self) -> &str {
        &self.inner.scenario.description
    }

    /// Seed of the random streams in the scenario's run.
    #[getter]
    fn seed(&self) -> u64 {
        self.inner.scenario.seed
    }

    /// Duration in which flows of the scenario start (s).
    #[getter]
    fn duration_seconds(&self) -> f64 {
        self.inner.scenario.duration.as_ns() as f64 / 1e9
    }

    /// Name of the policy that the first switch has.
    #[getter]
    fn policy(&self) -> &str {
        self.inner.scenario.switches.first().map_or("", |switch| &switch.policy)
    }

    /// Names of the policies of all switches, without repetitions.
    #[getter]
    fn policies(&self) -> Vec<&str> {
        each_once(self.inner.scenario.switches.iter().map(|switch| switch.policy.as_str()))
    }

    /// Names of the congestion controls that the transports have, without repetitions.
    #[getter]
    fn congestion_controls(&self) -> Vec<&str> {
        let transports = &self.inner.scenario.transports;
        each_once(transports.iter().map(|transport| transport.congestion_control.as_str()))
    }

    /// Names of the marking rules of all switches, without repetitions.
    #[getter]
    fn marking_rules(&self) -> Vec<&str> {
        let rules = self.inner.scenario.switches.iter().filter_map(|switch| switch.ecn.as_ref());
        each_once(rules.map(|ecn| ecn.kind.as_str()))
    }

    /// Names of the classifiers of all switches, without repetitions.
    #[getter]
    fn classifiers(&self) -> Vec<&str> {
        let classifiers = self.inner.scenario.switches.iter().filter_map(|switch| switch.classifier.as_ref());
        each_once(classifiers.map(|classifier| classifier.name.as_str()))
    }

    /// Kind of the topology.
    #[getter]
    fn topology(&self) -> &str {
        &self.inner.scenario.topology.kind
    }

    /// Kinds of all workloads, without repetitions.
    #[getter]
    fn workloads(&self) -> Vec<&str> {
        each_once(self.inner.scenario.workloads.iter().map(|workload| workload.kind.as_str()))
    }

    /// Label and definition of the variant in a comparison; `None` if the scenario is not a
    /// variant.
    #[getter]
    fn variant(&self) -> Option<(String, String)> {
        self.inner.variant.clone().map(|name| (name.label, name.text))
    }

    /// Returns a copy of the scenario that has the name of a variant.
    fn as_variant(&self, label: String, text: String) -> Self {
        let mut inner = self.inner.clone();
        inner.variant = Some(VariantName { label, text });
        Self { inner }
    }

    /// The scenario as TOML with every default written out.
    #[getter]
    fn resolved(&self) -> &str {
        &self.inner.resolved
    }

    /// Names and contents of the files to which the resolved scenario refers.
    #[getter]
    fn inputs<'py>(&self, py: Python<'py>) -> Vec<(&str, Bound<'py, PyBytes>)> {
        let one = |input: &'_ bufferlab_scenario::InputFile| PyBytes::new(py, &input.content);
        self.inner.inputs.iter().map(|input| (input.name.as_str(), one(input))).collect()
    }

    /// Warnings about the scenario's numbers: message, key, file, line, help.
    #[getter]
    fn warnings(&self) -> Vec<Plain> {
        self.inner.warnings.iter().map(errors::plain).collect()
    }

    /// Builds the network once, to find mistakes in the combination of policies and switches.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        let built = py.detach(|| {
            bufferlab_lab::fits(&self.inner.scenario)?;
            Ok(Simulation::new(&self.inner.scenario).map(drop)?)
        });
        built.map_err(|error: RunError| errors::run(py, &error))
    }
}

/// Removes repeated names, and keeps the order in which the names first appear.
fn each_once<'a>(all: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut names = Vec::new();
    for name in all {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Parses the text of a variant; an error names the argument `argument`.
pub(crate) fn variant(py: Python<'_>, argument: &str, text: &str) -> PyResult<Variant> {
    Variant::parse(text).map_err(|mistake| {
        // The error text has the problem, its place, and the advice after "help: ".
        let shown = words::in_python(&mistake.to_string());
        let (message, help) = shown.split_once("help: ").unwrap_or((&shown, ""));
        errors::argument(py, argument, &format!("{argument}: {}", message.trim_end()), help)
    })
}

/// Raises an error if a text is not a valid variant.
#[pyfunction]
pub(crate) fn check_variant(py: Python<'_>, argument: &str, text: &str) -> PyResult<()> {
    variant(py, argument, text).map(drop)
}

/// Loads a scenario from the file `path`, or from `text` as the content of the file. Then applies
/// changed keys (dotted key, TOML value) and the changes of a variant.
#[pyfunction]
#[pyo3(signature = (path, text, overrides, as_variant=None))]
pub(crate) fn load(
    py: Python<'_>,
    path: PathBuf,
    text: Option<&str>,
    overrides: Vec<(String, String)>,
    as_variant: Option<&str>,
) -> PyResult<Loaded> {
    let chosen = as_variant.map(|text| variant(py, "variant", text)).transpose()?;
    let changes = Changes { overrides: &overrides, variant: chosen.as_ref(), then: &[] };
    let loaded = py.detach(|| load_changed(&path, text, &changes));
    match loaded {
        Ok(inner) => Ok(Loaded { inner }),
        Err(error) => Err(errors::scenario(py, &error)),
    }
}

/// Returns the JSON Schema of scenario files.
#[pyfunction]
pub(crate) fn schema() -> String {
    bufferlab_scenario::json_schema().to_string()
}
