//! Scenario files: the crate reads the text of an experiment, checks the text, and resolves the
//! text to a runnable scenario.
//!
//! ```text
//!   scenario.toml ─┐ extends                                        ┌─► Scenario   what a driver runs
//!   base.toml ─────┼─► merged tree ─► reader ─► checks ─► Loaded ───┼─► resolved   the scenario as TOML
//!   --set k=v ─────┘ (with places)       │                          └─► warnings
//!                                        └─► LoadError: every mistake, with file, line, key and advice
//! ```
//!
//! `bufferlab-document` reads a document by its declaration. This crate has the declaration of
//! scenarios, and the checks that compare several values.
//!
//! The format is data ([`json_schema`], [`REFERENCE_PAGES`]). The reader, the JSON Schema for
//! editors and the reference in `docs/reference/scenarios` come from one list of keys.

mod assign;
mod format;
mod headroom;
mod limits;
mod load;
mod model;
mod parameter;
mod read;
mod reference;
mod schema;
mod variant;
use bufferlab_document::{context, convert, files, quantity, reader, resolved, tree};

pub use bufferlab_core::ParamValue;
pub use bufferlab_document::call::{Mistake, between_commas};
pub use bufferlab_document::quantity::{
    Dimension, QuantityError, format_rate, format_size, format_time, parse_rate, parse_size, parse_time,
};
pub use bufferlab_document::setting::Setting;
pub use bufferlab_document::{LoadError, Problem};
pub use bufferlab_topology::{
    GraphProblem, Port, TOPOLOGIES, TopologyInfo, register_topology, replace_topology,
};
pub use bufferlab_workload::{LoadReference, Queries, WORKLOADS, Workload, WorkloadInfo, register_workload};
pub use limits::{EXPLAINED, LIMITS};
pub use load::{
    COMMAND_LINE, Changes, Loaded, VariantName, WarmUp, load, load_changed, load_text, load_text_with,
    load_with,
};
pub use model::*;
pub use parameter::{ParameterTextError, format_parameter, parse_parameter};
pub use read::InputFile;
pub use reference::{REFERENCE_PAGES, ReferencePage, key_index};
pub use schema::json_schema;
pub use variant::{A_VARIANT, Variant};

/// Whether this process has registered custom policies, marking rules, classifiers, congestion
/// controls, workloads or topologies.
#[must_use]
pub fn has_custom_entries() -> bool {
    let none = bufferlab_core::custom_policies().is_empty()
        && bufferlab_core::MARKERS.custom().is_empty()
        && bufferlab_core::CLASSIFIERS.custom().is_empty()
        && bufferlab_transport::CONTROLS.custom().is_empty()
        && WORKLOADS.custom().is_empty()
        && TOPOLOGIES.custom().is_empty();
    !none
}

/// Returns the format as data: its root table, from which all other tables are reached.
#[must_use]
pub fn format() -> &'static bufferlab_document::spec::TableSpec {
    &format::ROOT
}

/// Returns the table of a buffer profile as data. The parameter `profiles` of a policy is a
/// list of such tables.
#[must_use]
pub fn profile_format() -> &'static bufferlab_document::spec::TableSpec {
    &format::PROFILE
}
