//! The registry of buffer policies.

use pyo3::prelude::*;

/// A buffer-management policy that scenarios can name.
#[pyclass(frozen, get_all, module = "bufferlab._bufferlab")]
pub(crate) struct PolicyInfo {
    /// Name in scenarios.
    name: &'static str,
    /// Other names that scenarios may use.
    aliases: Vec<&'static str>,
    /// Name in full.
    title: &'static str,
    /// What it does, in a sentence.
    summary: &'static str,
    /// Where it comes from.
    source: &'static str,
    /// Work per decision.
    cost: &'static str,
    /// Parameters: name, default as a scenario writes it, what is expected, what it means.
    parameters: Vec<(&'static str, String, String, &'static str)>,
}

#[pymethods]
impl PolicyInfo {
    fn __repr__(&self) -> String {
        format!("PolicyInfo({}: {})", self.name, self.title)
    }
}

/// Every policy of the registry, and of this process.
#[pyfunction]
pub(crate) fn policies() -> Vec<PolicyInfo> {
    let of = |info: &'static bufferlab_core::PolicyInfo| PolicyInfo {
        name: info.name,
        aliases: info.aliases.to_vec(),
        title: info.title,
        summary: info.summary,
        source: info.source,
        cost: info.cost,
        parameters: info
            .params
            .iter()
            .map(|param| (param.name, param.default.to_string(), param.expected().to_string(), param.doc))
            .collect(),
    };
    bufferlab_core::policies().into_iter().map(of).collect()
}

/// Whether a policy has this name, or another name of it is this.
#[pyfunction]
pub(crate) fn is_policy(name: &str) -> bool {
    bufferlab_core::find_policy(name).is_some()
}
