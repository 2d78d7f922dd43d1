//! The scenario format as data: every table, key, kind, default and explanation, in one place.
//!
//! The reader looks keys up here (and so knows which ones exist), the JSON Schema and the reference in
//! `docs/scenarios.md` are generated from here, so the three cannot drift apart.

mod catalogs;
mod flow_control;
mod keys;
mod profiles;

pub(crate) use catalogs::{CONGESTION_CONTROL_CATALOG, POLICY_CATALOG};
pub(crate) use flow_control::{FAULT, PFC, WATCHDOG};
pub(crate) use keys::{BURST, ECN, HARDWARE, OTHER_BURST, OUTPUT, ROOT, TRACE_ADDRESS, TRANSPORT};
pub(crate) use keys::{CHANGE, HOST, ROUTE, SCHEDULER_GROUP, SWITCH, SWITCH_OVERRIDE, TOPOLOGY, WORKLOAD};
pub(crate) use profiles::PROFILE;

pub(crate) use bufferlab_document::spec::{KeySpec, Kind, Presence, TableSpec, Variant, Wanted};
use bufferlab_document::tree::Merging;

/// What holds when one scenario extends another, beside its tables.
pub(crate) static MERGING: Merging = Merging {
    alternatives: &[
        &["buffer", "buffer_per_port_per_gbps"],
        &["request", "request_fraction_of_buffer"],
        &["failed", "down"],
    ],
    named: &["policy"],
};
