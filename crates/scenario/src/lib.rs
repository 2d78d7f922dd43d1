//! Scenario files: what was written, checked and resolved into what will run.
//!
//! ```text
//!   scenario.toml ─┐ extends                                        ┌─► Scenario   what a driver runs
//!   base.toml ─────┼─► merged tree ─► reader ─► checks ─► Loaded ───┼─► resolved   the same as TOML, complete
//!   --set k=v ─────┘ (with places)       │                          └─► warnings
//!                                        └─► LoadError: every mistake, with file, line, key and advice
//! ```
//!
//! The format is data ([`json_schema`], [`reference()`]): the reader, the JSON Schema for editors and the reference in
//! `docs/scenarios.md` come from one list of keys.

mod context;
mod convert;
mod format;
mod load;
mod model;
mod problem;
mod quantity;
mod read;
mod reader;
mod reference;
mod resolved;
mod schema;
pub mod topology;
mod tree;

pub use load::{Loaded, load, load_text};
pub use model::*;
pub use problem::{LoadError, Problem};
pub use quantity::{
    Dimension, QuantityError, format_rate, format_size, format_time, parse_rate, parse_size, parse_time,
};
pub use read::InputFile;
pub use reference::reference;
pub use schema::json_schema;
