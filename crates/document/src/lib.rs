//! TOML documents by declaration: a format is data.
//! A declaration of the format determines the reader, the JSON Schema and the reference.
//!
//! ```text
//!   file.toml ─► tree ──► reader ──► your value          spec ─► schema     JSON Schema for editors
//!                (values    │ │                            │
//!                and places)│ └────► resolved (TOML)       └───► reference  Markdown
//!                           ▼
//!                        context ──► LoadError: every mistake, with file, line, key and advice
//! ```
//!
//! A format is a set of [`spec::TableSpec`]: tables, their keys, and the kind, range,
//! default and explanation of each key. A [`reader::Reader`] opens one table by its declaration,
//! refuses unknown keys, converts the values and fills in the defaults.
//! A [`context::Context`] collects the mistakes, so one pass shows all mistakes.
//! The [`schema`] and the [`reference`](mod@reference) are generated from the declarations, too.

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
