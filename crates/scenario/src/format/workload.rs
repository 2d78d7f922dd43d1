//! Table `[[workload]]`: the traffic that hosts send. The registry of workloads declares the keys
//! that depend on the workload's kind.

use super::Kind;
use super::declare::table;
use super::kinds::TEXT;
use bufferlab_params::Params;
use bufferlab_workload::{WORKLOADS, Workload};
use std::sync::Arc;

table! {
    /// A workload: a class of traffic, and the transport that carries it.
    #[derive(Clone, Debug)]
    pub struct WorkloadSpec read as WorkloadKeys;
    static WORKLOAD = "[[workload]]", "Traffic that the hosts send. All entries run at once.";
    keys {
        "kind" => kind: String = hand(Kind::Tag(&WORKLOADS)), required("\"poisson\""),
            "Kind of the traffic.";
        "class" => class: String = hand(TEXT), computed("the `kind`", "\"web_search\""),
            "Name of its flows in tables and reports.";
        "transport" -> carrier: String = text(TEXT), computed("the only entry", "\"dctcp\""),
            "Name of the [[transport]] that carries it.";
    }
    also {
        /// Index of the transport in [`Scenario::transports`](crate::Scenario::transports).
        transport: u32;
        /// All parameters of the workload's kind, with the values that rules have filled in.
        params: Params;
        /// The workload that generates the traffic.
        workload: Arc<dyn Workload>;
    }
}
