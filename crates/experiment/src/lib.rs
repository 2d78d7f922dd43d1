//! What may the file of an experiment say? Every table, key and word as data; its reference and its
//! JSON Schema follow.
//!
//! Meaning is given to it by `bufferlab-reproduce`, which reads files by this declaration and does
//! what they say. The declaration stands apart because documentation needs it without the machinery
//! that runs experiments.

pub mod format;
mod reference;
mod words;

pub use reference::{json_schema, reference};
pub use words::{OverSeeds, Quantity, QueueCount, Sampled, Take};
