//! Failures that a search finds, and the result of a case.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Kind of the finding: `panic`, `identity`, `memory`, `lost result` …
    pub kind: String,
    /// Description of the failure in one line.
    pub what: String,
    /// Command that repeats the failure.
    pub replay: String,
}

/// Result of one case or one batch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Number of cases by outcome.
    pub outcomes: BTreeMap<String, u64>,
    /// Numbers of the options that ran together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<usize>,
    /// Number of cases that several threads shared.
    #[serde(default)]
    pub divided: u64,
    /// Failures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}
