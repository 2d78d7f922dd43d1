//! Failures that a search of the fuzzer finds, and the result of a fuzzing case.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A failure of bufferlab that a search has found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Kind of the finding, such as `panic`, `identity`, `memory` or `lost result`.
    pub kind: String,
    /// Description of the failure in one line.
    pub what: String,
    /// Command line that repeats the failure.
    pub replay: String,
}

/// Outcomes and findings of one fuzzing case, or of one batch of inputs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Number of tested fuzzing cases by outcome.
    pub outcomes: BTreeMap<String, u64>,
    /// Indices of the options that the fuzzing case combined.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<usize>,
    /// Number of fuzzing cases that ran on several threads.
    #[serde(default)]
    pub divided: u64,
    /// Failures that the fuzzing case or the batch of inputs revealed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}
