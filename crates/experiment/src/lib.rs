//! Format of experiment files: every table, key and word as data, and the reference and JSON Schema
//! generated from them.
//!
//! `bufferlab-reproduce` reads experiment files by this declaration and runs them. The declaration
//! is a separate crate because documentation needs it without the code that runs experiments.

pub mod format;
mod reference;
mod words;

pub use reference::{json_schema, reference};
pub use words::{OverSeeds, Quantity, QueueCount, Sampled, Take};
