//! Does the `artifact` profile behave as the public ns-3 artifacts do? Number by number, on the
//! same flows and paths.
//!
//! ```text
//!   scenarios/artifact-*.toml --> engine --> Outcome  --+
//!                                                       +--> Comparison --> docs/evidence/validation.md
//!   testdata/reference/*      --> Expected, flows     --+        |
//!                                                                +--> surprises: the test fails
//! ```
//!
//! A row outside its tolerance must be listed in [`explained::EXPLAINED`] under a heading of
//! `docs/evidence/validation.md`; a row that is listed without need fails as well. So nothing is
//! loosened silently.

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
pub use row::Row;

use std::path::PathBuf;

/// Why a comparison could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ValidationError {
    /// The engine refused or failed.
    #[error(transparent)]
    Simulation(#[from] Box<bufferlab_sim::SimError>),
    /// A scenario that does not replay a flow list has no counterpart in the reference.
    #[error("the scenario replays no flow list")]
    NoFlowList,
    /// A scenario does not load.
    #[error("{0}")]
    Scenario(String),
    /// A file cannot be read.
    #[error("cannot read {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A table cannot be read.
    #[error("cannot read {path}")]
    Csv {
        /// The file.
        path: PathBuf,
        /// Why.
        source: csv::Error,
    },
    /// A cell is not what it should be.
    #[error("column {column} holds {text:?}, which is no number")]
    Cell {
        /// The column.
        column: String,
        /// What stands there.
        text: String,
    },
    /// The two sides did not finish the same flows.
    #[error("{ours} flows of ours and {theirs} of theirs finished, or they are not the same")]
    OtherFlows {
        /// Flows that finished here.
        ours: usize,
        /// Flows that finished there.
        theirs: usize,
    },
    /// The reference has no such run or column.
    #[error("the reference has no {0}")]
    NoReference(String),
}
