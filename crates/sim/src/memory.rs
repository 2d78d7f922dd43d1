//! Estimate of the memory that a scenario takes before its first packet.
//!
//! The scenario alone shows the memory that input can multiply without a packet being sent: queues,
//! routes, flow tables, lists. Front ends compare the sum with the available memory before the
//! construction of the network. Live packets and flows take further memory during a run, up to the
//! limits of [`crate::LIMITS`].

use bufferlab_core::flow_tables_bytes;
use bufferlab_scenario::{Node, Scenario, SwitchSpec};
use bufferlab_workload::FLOW_BYTES;
use std::collections::BTreeSet;

/// Memory of a queue of a switch: ledger, counters, histogram of occupancy,
/// and the state of the largest policy (bytes).
const QUEUE: u64 = 300;
/// Memory of the state of an ingress queue (bytes).
const INGRESS_QUEUE: u64 = 48;
/// Memory of the flow control of an ingress queue (bytes).
const PAUSED_QUEUE: u64 = 400;
/// Memory of a port with its link, its name and its records (bytes).
const PORT: u64 = 500;
/// Memory of a host with its link, its streams and its names (bytes).
const HOST: u64 = 600;
/// Memory of a switch without its ports, or of one slice of a switch (bytes).
const MEMORY: u64 = 4_096;
/// Memory of an empty histogram of delays, per queue and flow class (bytes).
const DELAYS: u64 = 24;
/// Memory of all registered policies as shadows, per queue (bytes).
const WATCHED_QUEUE: u64 = 6_000;
/// Memory of the flow tables of all registered policies with their defaults (bytes).
const WATCHED_TABLES: u64 = 3 << 20;
/// Fixed memory of every run (bytes): calendar, timers, buffers of rows.
const RUN: u64 = 200_000;

/// Estimate of the memory that a scenario takes before its first packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryEstimate {
    parts: Vec<MemoryPart>,
}

/// One entry of a [`MemoryEstimate`]: the memory that one kind of data takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryPart {
    /// Name of the part of the memory, such as "flow tables of policies".
    pub what: &'static str,
    /// Scenario keys that reduce this part of the memory, for messages.
    pub keys: &'static str,
    /// Size of the part of the memory (bytes).
    pub bytes: u64,
}

impl MemoryEstimate {
    /// Estimates the memory that a scenario takes, without building the network.
    #[must_use]
    pub fn new(scenario: &Scenario) -> Self {
        let part = |what, keys, bytes| MemoryPart { what, keys, bytes };
        let mut parts = vec![
            part("routes", "the size of the topology", routes(scenario)),
            part("hosts", "the number of hosts", scenario.topology.hosts.len() as u64 * HOST),
            part("lists of flows and traces", "`file` of the workload", listed(scenario)),
            part("the run itself", "nothing", RUN),
        ];
        let (mut queues, mut tables, mut watched) = (0, 0, 0);
        for (spec, ports) in scenario.switches.iter().zip(ports(scenario)) {
            let of = SwitchMemory::new(spec, ports, scenario);
            queues += of.queues;
            tables += of.tables;
            if scenario.output.explain_losses.is_some() {
                watched += of.watched;
            }
        }
        parts.push(part("queues of switches", "`queues_per_port`, slices, the number of ports", queues));
        parts.push(part("tables of flows", "`flow_entries`, the number of switches", tables));
        parts.push(part("policies that explain", "`output.explain_losses`", watched));
        parts.retain(|part| part.bytes > 0);
        parts.sort_by_key(|part| std::cmp::Reverse(part.bytes));
        Self { parts }
    }

    /// Estimated memory of the whole scenario (bytes).
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.parts.iter().fold(0, |sum, part| sum.saturating_add(part.bytes))
    }

    /// Entries of the memory estimate, the largest first.
    #[must_use]
    pub fn parts(&self) -> &[MemoryPart] {
        &self.parts
    }
}

/// Number of ports of every switch, counted in one pass over the cables.
fn ports(scenario: &Scenario) -> Vec<u64> {
    let mut ports = vec![0; scenario.topology.switches.len()];
    for cable in &scenario.topology.links {
        for node in [cable.a, cable.b] {
            if let Node::Switch(switch) = node {
                ports[switch as usize] += 1;
            }
        }
    }
    ports
}

/// Memory of the routes: a table by switch and destination, and a table of delays by pairs
/// of racks (bytes).
fn routes(scenario: &Scenario) -> u64 {
    let topology = &scenario.topology;
    let mut racks = BTreeSet::new();
    for cable in &topology.links {
        match (cable.a, cable.b) {
            (Node::Host(_), Node::Switch(switch)) | (Node::Switch(switch), Node::Host(_)) => {
                racks.insert(switch);
            }
            _ => {}
        }
    }
    let racks = racks.len() as u64;
    let prescribed: usize = topology.routes.iter().map(|route| route.to.len()).sum();
    let destinations = (racks + prescribed as u64).min(topology.hosts.len() as u64 + 1);
    4 * topology.switches.len() as u64 * destinations + 8 * racks * racks
}

/// Memory of flow lists: the scenario's copy, plus two copies while the run sorts
/// the flows (bytes).
fn listed(scenario: &Scenario) -> u64 {
    let flows = scenario.workloads.iter().map(|spec| spec.workload.listed_flows() as u64).sum::<u64>();
    3 * flows * FLOW_BYTES as u64
}

/// Estimated memory of one switch (bytes).
struct SwitchMemory {
    queues: u64,
    tables: u64,
    watched: u64,
}

impl SwitchMemory {
    fn new(spec: &SwitchSpec, ports: u64, scenario: &Scenario) -> Self {
        let slices = u64::from(spec.hardware.slices).clamp(1, ports.max(1));
        let per_port = u64::from(spec.queues_per_port);
        let (queues, classes) = (ports * per_port, scenario.workloads.len() as u64);
        let delays = if scenario.output.delays { queues * classes * DELAYS } else { 0 };
        let own = flow_tables_bytes(spec.policy_params.iter().map(|(name, value)| (name.as_str(), value)));
        let classifier =
            spec.classifier.as_ref().map_or(0, |classifier| flow_tables_bytes(classifier.params.iter()));
        // The classifier's description counts once more than the slices, because the scenario has
        // another copy.
        let tables = slices * own + (slices + 1) * classifier;
        let pauses = if spec.pfc.is_some() { queues * PAUSED_QUEUE } else { 0 };
        let ledger = queues * QUEUE + slices * (queues * INGRESS_QUEUE + MEMORY) + ports * PORT;
        Self {
            queues: ledger + delays + pauses,
            tables,
            watched: tables + slices * WATCHED_TABLES + queues * WATCHED_QUEUE,
        }
    }
}
