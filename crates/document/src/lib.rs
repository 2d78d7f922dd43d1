//! TOML documents by declaration: what may be written is data, and everything else follows from it.
//!
//! ```text
//!   file.toml ─► tree ──► reader ──► your value          spec ─► schema     JSON Schema for editors
//!                (values    │ │                            │
//!                and places)│ └────► resolved (TOML)       └───► reference  Markdown
//!                           ▼
//!                        context ──► LoadError: every mistake, with file, line, key and advice
//! ```
//!
//! A format is a set of [`spec::TableSpec`]: tables, their keys, and of every key its kind, range,
//! default and explanation. A [`reader::Reader`] opens one table by its declaration, refuses
//! unknown keys, converts what was written and fills in what was not. Mistakes are collected in a
//! [`context::Context`], so that one pass shows all of them. The [`schema`] and the
//! [`reference`](mod@reference) are generated from the same declarations.

pub mod call;
pub mod context;
pub mod convert;
pub mod files;
pub mod limits;
pub mod params;
mod problem;
pub mod reader;
pub mod reference;
pub mod resolved;
pub mod schema;
pub mod setting;
pub mod spec;
pub mod tree;

pub use bufferlab_units::quantity;
pub use problem::{LoadError, Problem};
