//! The scenario format as data: every table, key, kind, default and explanation, in one place.
//!
//! The reader accepts only the keys of these tables. The JSON Schema and the reference in
//! `docs/reference/scenarios.md` are generated from the tables, so they always agree with the
//! reader.

mod catalogs;
mod declare;
mod flow_control;
mod hardware;
mod host;
mod kinds;
mod profiles;
mod root;
mod switch;
mod topology;
mod transport;
mod workload;

pub(crate) use catalogs::{CLASSIFIER_CATALOG, CONGESTION_CONTROL_CATALOG, NO_MARKS, POLICY_CATALOG};
pub(crate) use flow_control::{
    FAULT, PFC, PFC_PORTS, PauseStormKeys, PfcKeys, PfcPortsKeys, WATCHDOG, WatchdogKeys,
};
pub use flow_control::{PauseStormSpec, PfcPortsSpec, PfcSpec};
pub use hardware::HardwareSpec;
pub(crate) use hardware::{HARDWARE, HardwareKeys};
pub(crate) use host::{HOST, HostKeys, OUTPUT, OutputKeys};
pub use host::{HostSpec, OutputSpec};
pub(crate) use kinds::{EXPLAINED_MAX, FRAME_MAX};
pub(crate) use profiles::PROFILE;
pub use root::Scenario;
pub(crate) use root::{ROOT, RootKeys};
pub(crate) use switch::{ECN, EGRESS, EcnKeys, EgressKeys, GroupKeys, OverrideKeys, SCHEDULER_GROUP};
pub use switch::{EcnSpec, EgressSpec, SwitchSpec};
pub(crate) use switch::{SWITCH, SWITCH_OVERRIDE, SwitchKeys};
pub(crate) use topology::{CHANGE, ChangeKeys, ROUTE, RouteKeys, TOPOLOGY, TopologyKeys};
pub use transport::TransportSpec;
pub(crate) use transport::{TRANSPORT, TransportKeys};
pub use workload::WorkloadSpec;
pub(crate) use workload::{WORKLOAD, WorkloadKeys};

use bufferlab_document::context::MovedKey;
pub(crate) use bufferlab_document::spec::{Expected, Kind, TableSpec, Variant};
use bufferlab_document::tree::Merging;

/// Rules for merging a scenario with a scenario that it extends. The rules supplement the
/// declarations of tables.
pub(crate) static MERGING: Merging = Merging {
    alternatives: &[
        &["buffer", "buffer_per_port_per_gbps"],
        &["request", "request_fraction_of_buffer"],
        &["failed", "down"],
    ],
    named: &["policy", "congestion_control"],
};

/// Every table of the scenario format.
pub(crate) static TABLES: &[&TableSpec] = &[
    &ROOT, &TOPOLOGY, &SWITCH, &PFC, &WATCHDOG, &ECN, &HARDWARE, &HOST, &TRANSPORT, &WORKLOAD, &FAULT,
    &OUTPUT,
];

/// Old spellings of scenario keys, with their new spellings.
pub(crate) static MOVED: &[MovedKey] = &[
    transport_key("dctcp_gain", "congestion_control = { name = \"dctcp\", gain = \"1/16\" }"),
    transport_key("dctcp_initial_alpha", "congestion_control = { name = \"dctcp\", initial_alpha = 1.0 }"),
    transport_key("cubic_hystart", "congestion_control = { name = \"cubic\", hystart = \"rfc9406\" }"),
    transport_key("timely_low", "congestion_control = { name = \"timely\", low = \"50 us\" }"),
    transport_key("timely_high", "congestion_control = { name = \"timely\", high = \"500 us\" }"),
    transport_key("timely_increment", "congestion_control = { name = \"timely\", increment = \"10 Mb/s\" }"),
    transport_key(
        "timely_fast_increment",
        "congestion_control = { name = \"timely\", fast_increment = \"50 Mb/s\" }",
    ),
    transport_key("swift_target", "congestion_control = { name = \"swift\", target = \"100 us\" }"),
    transport_key("hpcc_utilisation", "congestion_control = { name = \"hpcc\", utilisation = 0.95 }"),
    transport_key("hpcc_max_stage", "congestion_control = { name = \"hpcc\", max_stage = 5 }"),
    transport_key("hpcc_flows", "congestion_control = { name = \"hpcc\", flows = 100 }"),
    transport_key("powertcp_gamma", "congestion_control = { name = \"powertcp\", gamma = 0.9 }"),
    transport_key("powertcp_flows", "congestion_control = { name = \"powertcp\", flows = 10 }"),
    transport_key("dcqcn_parameters", "congestion_control = { name = \"dcqcn\", parameters = \"hpcc\" }"),
];

const fn transport_key(key: &'static str, now: &'static str) -> MovedKey {
    MovedKey { table: "[[transport]]", key, now }
}
