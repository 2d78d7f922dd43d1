//! Registry entries with names and parameters, as data: policies, congestion controls,
//! workloads, topologies, schedulers, markers, classifiers and calculators.
//!
//! An **entry** is a static value beside the code that the entry describes: a name, a title, a
//! summary in one line, a source and parameters ([`ParamInfo`]: kind, range, default per profile,
//! documentation). Entries of a kind are in a [`Registry`], to which a program may add custom
//! entries. All other code reads the registry: the command line, the scenario format with its JSON
//! Schema and reference, error messages, and the Python package.
//!
//! A parameter that is one of a few words is an `enum` that [`choices!`] declares.
//! So a word that the code does not handle is an error of the compiler.

mod chips;
mod choice;
mod fault;
mod info;
mod limit;
mod names;
mod params;
pub mod profiles;
mod registry;
mod value;

pub use chips::{ChipFacts, ChipFamily};
pub use choice::{Choice, Word, meanings};
pub use fault::{Fault, Faults, ParamPlace};
pub use info::{AUTO, Misfit, ParamInfo, ParamKind, Profile, TableInfo};
pub use limit::{Beyond, Limit};
pub use names::{first_names, quoted_list, suggestion};
pub use params::{BuildError, Params, ResolveError};
pub use profiles::{BufferProfile, Direction, ThresholdRule};
pub use registry::{Card, Catalog, Entry, RegisterError, Registry};
pub use value::{FileContent, ParamValue};
