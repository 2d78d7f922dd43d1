//! Compares bufferlab under the profile `artifact` with the public ns-3 artifacts, metric by
//! metric, on equal flows and paths.
//!
//! ```text
//!   scenarios/artifact-*.toml --> engine --> Outcome  --+
//!                                                       +--> Comparison --> docs/evidence/validation.md
//!   testdata/reference/*      --> Expected, flows     --+        |
//!                                                                +--> surprises: the test fails
//! ```
//!
//! A metric outside its tolerance must be listed in [`explained::EXPLAINED`] under a heading of
//! `docs/evidence/validation.md`. The test also fails if a listed metric agrees with ns-3. A change
//! of a tolerance therefore needs a change of the list.

pub mod by_size;
mod cases;
mod compare;
pub mod document;
pub mod explained;
pub mod lossless;
pub mod measure;
pub mod ranges;
pub mod reference;
mod row;

pub use cases::{CASES, Case};
pub use compare::{Comparison, Scatter, TOLERANCE_WITH_DROPS, TOLERANCE_WITHOUT_DROPS};
pub use row::ComparedMetric;

use std::path::PathBuf;

/// Reason why a comparison with the ns-3 reference could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ValidationError {
    /// The simulator rejected the scenario, or the run failed.
    #[error(transparent)]
    Simulation(#[from] Box<bufferlab_sim::SimError>),
    /// The scenario does not replay a flow list, so the ns-3 reference has no run to compare.
    #[error("the scenario replays no flow list")]
    NoFlowList,
    /// The scenario file of a case could not be loaded.
    #[error("{0}")]
    Scenario(String),
    /// A file of the ns-3 reference could not be read.
    #[error("cannot read {path}")]
    Io {
        /// Path of the unreadable file.
        path: PathBuf,
        /// Error that the operating system reported for the file.
        source: std::io::Error,
    },
    /// A table of the ns-3 reference could not be read.
    #[error("cannot read {path}")]
    Csv {
        /// Path of the unreadable table.
        path: PathBuf,
        /// Error that the CSV reader reported for the table.
        source: csv::Error,
    },
    /// A cell of the ns-3 reference's table has an unexpected value.
    #[error("column {column} holds {text:?}, which is no number")]
    Cell {
        /// Name of the column with the unexpected cell.
        column: String,
        /// Text of the unexpected cell.
        text: String,
    },
    /// A flow finished in bufferlab but not in the ns-3 reference, or the other way round.
    #[error("{ours} flows of ours and {theirs} of theirs finished, or they are not the same")]
    OtherFlows {
        /// Number of flows that finished in bufferlab.
        ours: usize,
        /// Number of flows that finished in the ns-3 reference.
        theirs: usize,
    },
    /// The ns-3 reference lacks the run or the column with this name.
    #[error("the reference has no {0}")]
    NoReference(String),
}
