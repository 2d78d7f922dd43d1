//! Metrics of bufferlab's run, with the definitions of the ns-3 artifact.
//!
//! The definitions of the metrics equal the ns-3 artifact's definitions, so all differences are due
//! to the simulators. Percentiles have no interpolation. Occupancy is sampled, not a time-weighted
//! mean. Losses and marks are counted by tier.

use crate::ValidationError;
use bufferlab_metrics::{DropRow, FlowRow, LinkRow, PauseRow, QueueRow, RunSink, Scope, SeriesRow};
use bufferlab_scenario::{Node, Queries, Scenario, Topology, WorkloadSpec};
use bufferlab_sim::Simulation;
use std::collections::BTreeMap;
use std::io;

/// Size below which a flow is short: 100 KB, the bandwidth-delay product of the network (bytes).
pub const SHORT_FLOW_BYTES: u64 = 100_000;

/// A finished flow of bufferlab or of the ns-3 reference.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Number of the host that sends the flow.
    pub src: u32,
    /// Number of the host that receives the flow.
    pub dst: u32,
    /// Payload of the flow (bytes).
    pub size_bytes: u64,
    /// Time at which the application handed over the flow's data (ns).
    pub start_ns: u64,
    /// Time from the flow's start until the receiver has its last byte (ns).
    pub fct_ns: u64,
    /// Completion time (FCT) divided by the ns-3 artifact's ideal FCT. The ideal FCT is the base
    /// round-trip time plus the payload (RDMA: with headers) at the host's rate.
    pub slowdown: f64,
    /// Whether the flow is part of an incast.
    pub incast: bool,
    /// Name of the flow's workload class.
    pub class: String,
    /// Number of retransmission timeouts of the flow; `None` for the ns-3 reference, which does not
    /// count timeouts.
    pub timeouts: Option<u32>,
}

/// Tier of a switch port: leaf to host, leaf to spine, or spine. The ns-3 reference counts drops
/// and marks by tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// Ports of a leaf switch towards its hosts.
    LeafDown,
    /// Ports of a leaf switch towards the spines.
    LeafUp,
    /// Ports of a spine switch.
    Spine,
}

/// Numbers of dropped or marked packets, by the tier of the port at which the packets were counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByTier {
    /// Number of counted packets at ports from leaves to hosts.
    pub leaf_down: u64,
    /// Number of counted packets at ports from leaves to spines.
    pub leaf_up: u64,
    /// Number of counted packets at ports of spines.
    pub spine: u64,
}

impl ByTier {
    /// Number of counted packets at the ports of every leaf and spine.
    pub(crate) fn all(&self) -> u64 {
        self.leaf_down + self.leaf_up + self.spine
    }

    fn add(&mut self, tier: Tier, packets: u64) {
        match tier {
            Tier::LeafDown => self.leaf_down += packets,
            Tier::LeafUp => self.leaf_up += packets,
            Tier::Spine => self.spine += packets,
        }
    }
}

/// Results of bufferlab's run for the comparison with the ns-3 reference.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Finished flows, in the order of their completion.
    pub flows: Vec<Flow>,
    /// Number of flows that had not finished when the run ended. The ns-3 reference omits
    /// unfinished flows.
    pub unfinished: u64,
    /// Number of lost packets, by tier of the switch port.
    pub drops: ByTier,
    /// Number of RDMA packets that were lost at any switch.
    pub lossless_drops: u64,
    /// Number of pause frames that leaves sent.
    pub pauses_of_leaves: u64,
    /// Number of pause frames that spines sent.
    pub pauses_of_spines: u64,
    /// Number of packets that switches marked, by tier of the switch port.
    pub marks: ByTier,
    /// Number of packets that reached hosts with a mark from any switch.
    pub marked_to_hosts: u64,
    /// Samples of the occupancy of switch leaf 0: time (ns) and percentage of its buffer.
    pub occupancy: Vec<(u64, f64)>,
    /// Samples of leaf 0's occupancy by priority and time (ns); no samples while queues are empty.
    pub occupancy_by_priority: BTreeMap<(u8, u64), f64>,
    /// Number of packets sent on links; a packet counts once per link that it crosses.
    pub transmissions: u64,
}

impl Outcome {
    /// Runs `scenario` and collects the metrics of the run.
    ///
    /// # Errors
    /// If the scenario does not fit the simulator, or the run's packet counts are inconsistent.
    pub fn measure(scenario: &Scenario) -> Result<Self, ValidationError> {
        let simulation = Simulation::new(scenario).map_err(Box::new)?;
        let is_list = |spec: &WorkloadSpec| spec.workload.queries() == Queries::Listed;
        if !scenario.workloads.iter().any(is_list) {
            return Err(ValidationError::NoFlowList);
        }
        let mut recorder = Recorder {
            classes: simulation.classes().to_vec(),
            tiers: port_tiers(&scenario.topology),
            buffer_bytes: scenario.switches[scenario.output.sample_switch as usize].buffer_bytes,
            outcome: Self::default(),
        };
        simulation.run(&mut recorder, &mut |_| {}).map_err(Box::new)?;
        Ok(recorder.outcome)
    }

    /// Returns the occupancy samples (percent of the buffer) at `from`,
    /// `from + step` … before `until`, sorted by occupancy. All times are in ns.
    #[must_use]
    pub fn occupancy_at(&self, from: u64, step: u64, until: u64) -> Vec<f64> {
        let wanted = |time: u64| time >= from && time < until && (time - from).is_multiple_of(step);
        let samples = self.occupancy.iter().filter(|(time, _)| wanted(*time));
        let mut values: Vec<_> = samples.map(|(_, percent)| *percent).collect();
        values.sort_by(f64::total_cmp);
        values
    }
}

impl Outcome {
    /// Returns the occupancy samples of the queues of a priority, like [`Self::occupancy_at`].
    #[must_use]
    pub fn occupancy_of(&self, priority: u8, from: u64, step: u64, until: u64) -> Vec<f64> {
        let at = |time: u64| self.occupancy_by_priority.get(&(priority, time)).copied().unwrap_or(0.0);
        let mut values: Vec<_> = (from..until).step_by(step as usize).map(at).collect();
        values.sort_by(f64::total_cmp);
        values
    }
}

/// Returns the sorted slowdowns of the flows that `select` chooses.
pub fn slowdowns(flows: &[Flow], select: impl Fn(&Flow) -> bool) -> Vec<f64> {
    let mut values: Vec<_> = flows.iter().filter(|flow| select(flow)).map(|flow| flow.slowdown).collect();
    values.sort_by(f64::total_cmp);
    values
}

/// Returns the percentile as the ns-3 artifact defines it: element ⌊n·p⌋ − 1 of the ascending
/// values, but at least the first element. The result is `None` without values.
#[must_use]
pub fn percentile(sorted: &[f64], p: f64) -> Option<f64> {
    let index = (sorted.len() as f64 * p) as usize;
    sorted.get(index.max(1) - 1).copied()
}

/// Arithmetic mean of a list of values; `None` if the list is empty.
#[must_use]
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the tier of every port, by switch and port. A switch numbers its ports in the order of
/// its cables.
fn port_tiers(topology: &Topology) -> Vec<Vec<Tier>> {
    let mut tiers = vec![Vec::new(); topology.switches.len()];
    for link in &topology.links {
        for (here, there) in [(link.a, link.b), (link.b, link.a)] {
            if let Node::Switch(switch) = here {
                let tier = match there {
                    _ if topology.tiers[switch as usize] > 0 => Tier::Spine,
                    Node::Host(_) => Tier::LeafDown,
                    Node::Switch(_) => Tier::LeafUp,
                };
                tiers[switch as usize].push(tier);
            }
        }
    }
    tiers
}

struct Recorder {
    classes: Vec<String>,
    tiers: Vec<Vec<Tier>>,
    buffer_bytes: u64,
    outcome: Outcome,
}

impl Recorder {
    fn class(&self, class: u16) -> &str {
        &self.classes[usize::from(class)]
    }

    fn tier(&self, switch: u32, port: u16) -> Tier {
        self.tiers[switch as usize][usize::from(port)]
    }
}

impl RunSink for Recorder {
    fn flow(&mut self, row: &FlowRow) -> io::Result<()> {
        match (row.fct_ns, row.slowdown) {
            (Some(fct_ns), Some(slowdown)) => self.outcome.flows.push(Flow {
                src: row.src_host,
                dst: row.dst_host,
                size_bytes: row.size_bytes,
                start_ns: row.start_ns,
                fct_ns,
                slowdown,
                incast: self.class(row.class).ends_with("incast"),
                class: self.class(row.class).to_owned(),
                timeouts: Some(row.timeouts),
            }),
            _ => self.outcome.unfinished += 1,
        }
        Ok(())
    }

    fn series(&mut self, row: &SeriesRow) -> io::Result<()> {
        let percent = row.occupancy_bytes as f64 * 100.0 / self.buffer_bytes as f64;
        match (row.scope, row.priority) {
            (Scope::Switch, _) => self.outcome.occupancy.push((row.time_ns, percent)),
            (_, Some(priority)) => {
                *self.outcome.occupancy_by_priority.entry((priority, row.time_ns)).or_insert(0.0) += percent;
            }
            _ => {}
        }
        Ok(())
    }

    fn queue(&mut self, row: &QueueRow) -> io::Result<()> {
        let tier = self.tier(row.switch, row.port);
        self.outcome.marks.add(tier, row.marked_packets);
        Ok(())
    }

    fn drops(&mut self, row: &DropRow) -> io::Result<()> {
        let tier = self.tier(row.switch, row.port);
        self.outcome.drops.add(tier, row.packets);
        if self.class(row.class).starts_with("rdma") {
            self.outcome.lossless_drops += row.packets;
        }
        Ok(())
    }

    fn pause(&mut self, row: &PauseRow) -> io::Result<()> {
        match self.tier(row.switch, row.port) {
            Tier::LeafDown | Tier::LeafUp => self.outcome.pauses_of_leaves += row.sent_pauses,
            Tier::Spine => self.outcome.pauses_of_spines += row.sent_pauses,
        }
        Ok(())
    }

    fn link(&mut self, row: &LinkRow) -> io::Result<()> {
        self.outcome.transmissions += row.tx_packets;
        if row.role == "host-down" {
            self.outcome.marked_to_hosts += row.marked_packets;
        }
        Ok(())
    }
}
