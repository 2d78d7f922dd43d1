//! What has a name and parameters, as data: the one way in for policies, congestion controls,
//! workloads, topologies, schedulers, markers, classifiers and calculators.
//!
//! An **entry** is a static value beside the code that it describes: a name, a title, one line of
//! text, its source and its parameters ([`ParamInfo`]: kind, range, default per profile,
//! documentation). Entries of a kind stand in a list, and the list in a [`Registry`], to which a
//! program may add its own. Everything else reads the registry: the command line, the scenario
//! format with its JSON Schema and reference, error messages, and the Python package.
//!
//! A parameter that is one of a few words is an `enum` declared by [`choices!`], so a word that the
//! data has and the code does not handle fails to compile.

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
pub use fault::{Fault, Faults, Place};
pub use info::{AUTO, Misfit, ParamInfo, ParamKind, Profile, TableInfo};
pub use limit::{Beyond, Limit};
pub use names::{first_names, quoted_list, suggestion};
pub use params::{BuildError, Params, ResolveError};
pub use profiles::{BufferProfile, Direction, ThresholdRule};
pub use registry::{Card, Catalog, Entry, RegisterError, Registry};
pub use value::{FileContent, ParamValue};
