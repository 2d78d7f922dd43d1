//! The registry of buffer policies, as the Python package sees it.

use pyo3::prelude::*;

/// A buffer-management policy that scenarios can name.
#[pyclass(frozen, get_all, module = "bufferlab._bufferlab")]
pub(crate) struct PolicyInfo {
    /// Name of the policy in scenarios.
    name: &'static str,
    /// Other names of the policy that scenarios accept.
    aliases: Vec<&'static str>,
    /// Full name of the policy in words.
    title: &'static str,
    /// Summary of the policy in one sentence.
    summary: &'static str,
    /// Paper or document that defines the policy.
    source: &'static str,
    /// Computing work that the policy needs for each decision.
    cost: &'static str,
    /// Parameters of the policy: name, default in the syntax of scenarios, valid values, meaning.
    parameters: Vec<(&'static str, String, String, &'static str)>,
}

#[pymethods]
impl PolicyInfo {
    fn __repr__(&self) -> String {
        format!("PolicyInfo({}: {})", self.name, self.title)
    }
}

/// Lists every built-in policy, and every custom policy of this process.
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

/// Whether the registry has a policy with this name or alias.
#[pyfunction]
pub(crate) fn is_policy(name: &str) -> bool {
    bufferlab_core::find_policy(name).is_some()
}
