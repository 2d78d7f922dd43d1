//! Scenario files: what was written, checked and resolved into what will run.

mod model;

pub use model::*;
