//! Format of experiment files. Every table, key and word of the format is declared as data. The
//! reference page and the JSON Schema are generated from the declaration.
//!
//! `bufferlab-reproduce` reads experiment files by this declaration, and runs the experiments. The
//! declaration is a separate crate, because the documentation needs the declaration without the
//! code that runs experiments.

mod choices;
pub mod format;
mod reference;

pub use choices::{Better, GoodputOf, OverSeeds, Quantity, QueueCount, Sampled, Take};
pub use reference::{json_schema, reference};
