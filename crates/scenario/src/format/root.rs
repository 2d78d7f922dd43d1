//! Keys at the root of a scenario file: name and purpose of the experiment, and its duration.

use super::declare::table;
use super::kinds::{SPAN, SPAN_OR_ZERO, TEXT, count};
use super::{FAULT, HOST, Kind, OUTPUT, SWITCH, SWITCH_OVERRIDE, TOPOLOGY, TRANSPORT, WORKLOAD};
use crate::model::{FaultSpec, HostSpec, OutputSpec, SwitchSpec, TieOrder, TransportSpec, WorkloadSpec};
use bufferlab_params::{Choice, Profile};
use bufferlab_topology::Topology;
use bufferlab_units::Time;

table! {
    /// A scenario: network, switches, hosts, traffic and outputs of an experiment.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Scenario read as RootKeys;
    static ROOT = "top level", "What the experiment is, and how long it runs.";
    keys {
        "extends" = hand(TEXT), optional("\"base.toml\""),
            "Another scenario file that this one builds on, relative to this file. Tables are \
            merged key by key, lists are replaced, and this file wins. A table that chooses \
            another `kind` (a policy: another `name`) starts afresh. A chain of such files has at \
            most 32.";
        "name" => name: String = hand(TEXT), computed("the file's name", "\"abm-reduced\""),
            "Short name for folders and titles.";
        "description" => description: String = text(TEXT), default("\"\""),
            "Summary of the scenario for the report.";
        "profile" => profile: Profile = choice(Kind::Words(Profile::WORDS)), default("\"paper\""),
            "How to read details that papers leave open; selects the defaults of policy \
            parameters.";
        "seed" => seed: u64 = count(count(0, i64::MAX as u64)), default("1"),
            "Seed of every random stream of the run.";
        "duration" => duration: Time = time(SPAN), required("\"250 ms\""),
            "New flows start during this time.";
        "drain" => drain: Time = time(SPAN_OR_ZERO), default("\"1 s\""),
            "Longest time that unfinished flows may continue after `duration`. Default: our \
            choice, long enough for several timeouts of 10 ms in a row.";
        "start_jitter" => start_jitter: Time = time(SPAN_OR_ZERO), default("\"0 s\""),
            "Noise: every flow starts later by a random time between zero and this one. Without \
            it, flows of one instant are in step to the picosecond, as no real hosts are. Queries \
            of closed loops (`multi_get`) follow earlier answers and have no noise.";
        "tie_order" => tie_order: TieOrder = choice(Kind::Words(TieOrder::WORDS)), default("\"fair\""),
            "Order of link events at the same instant.";
        "topology" => topology: Topology = hand(Kind::Table(&TOPOLOGY)),
            required("{ kind = \"single_switch\", hosts = 8, rate = \"10 Gb/s\", delay = \"10 us\" }"),
            "Nodes and cables of the network.";
        "switch" = hand(Kind::Table(&SWITCH)), required("{ buffer = \"1 MB\", policy = \"dt\" }"),
            "The configuration of every switch.";
        "switch_override" = hand(Kind::Tables(&SWITCH_OVERRIDE)),
            optional("[{ switches = \"spine*\", buffer = \"768 KB\" }]"),
            "Differences of some switches; a later entry wins over an earlier one.";
        "transport" = hand(Kind::Tables(&TRANSPORT)), required("[{ congestion_control = \"dctcp\" }]"),
            "Transports of the flows; workloads refer to an entry by its name.";
        "host" => host: HostSpec = hand(Kind::Table(&HOST)), computed("its defaults", "{ nic = \"fair\" }"),
            "How hosts send.";
        "workload" = hand(Kind::Tables(&WORKLOAD)),
            required("[{ kind = \"poisson\", sizes = \"web_search\", load = 0.4 }]"),
            "Traffic that the hosts send.";
        "fault" => faults: Vec<FaultSpec> = hand(Kind::Tables(&FAULT)),
            optional("[{ kind = \"pause_storm\", host = \"h0\", priorities = [3], from = \"1 ms\" }]"),
            "Hosts that misbehave.";
        "output" => output: OutputSpec = hand(Kind::Table(&OUTPUT)),
            computed("its defaults", "{ sample_interval = \"30 us\" }"),
            "Series and tables that a run records.";
    }
    also {
        /// Switches of the scenario: one entry per switch of the topology, in the topology's order.
        switches: Vec<SwitchSpec>;
        /// Transports of the scenario; workloads refer to transports by index.
        transports: Vec<TransportSpec>;
        /// Workloads: the traffic that the hosts send.
        workloads: Vec<WorkloadSpec>;
    }
}
