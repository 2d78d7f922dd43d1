//! Summary of a run: statistics of its flows, queries, switches, links and pauses.

use crate::buffer_sample::{self, PriorityOccupancy};
use crate::bursts::{self, BurstGroup, Bursts, DelayGroup, PortShare, jain};
use crate::error::ReportError;
use crate::metric::Subject;
use crate::pauses::{self, Deadlock, Pauses};
use crate::samples::{FlowSample, RunSamples};
use crate::schedules::{self, ScheduleGroup};
use crate::statistics::Distribution;
use bufferlab_metrics::{DropRow, FlowRow, FlowState, HistogramRow, LinkRow, QueryRow, QueueRow, Scope};
use bufferlab_results::{Manifest, PolicyHead, QueueNearPause, RunCaveat, RunResult};
use serde::Serialize;
use std::collections::BTreeMap;

/// Summary of a run: statistics of its flows, queries, switches, links and pauses.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunSummary {
    /// Name and parameters of the run's policy.
    pub policy: PolicyHead,
    /// Seed of the run.
    pub seed: u64,
    /// Name of the run's scenario.
    pub scenario_name: String,
    /// Profile of the scenario: `paper` or `artifact`.
    pub profile: String,
    /// Version of the program that executed the run.
    pub bufferlab_version: String,
    /// Source revision of the program that executed the run.
    pub git_commit: Option<String>,
    /// Length of the arrival phase (ns): flows start in `0..duration`.
    pub duration_ns: u64,
    /// Time for remaining flows after the arrival phase (ns).
    pub drain_ns: u64,
    /// Simulated time at the end of the run (ns).
    pub end_ns: u64,
    /// Number of packet-hops of the run: packets that crossed a link.
    pub packet_hops: u64,
    /// Groups of flows: all flows, short flows, then each class.
    pub groups: Vec<FlowGroup>,
    /// Queries of the run, by class; empty without queries.
    pub queries: Vec<QueryGroup>,
    /// Statistics of the executions of schedules; empty without schedules.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub schedules: Vec<ScheduleGroup>,
    /// Open-loop flows, by class; empty if every flow has congestion control.
    pub bursts: Vec<BurstGroup>,
    /// Queueing delays by traffic class; empty if the run did not measure delays.
    pub delays: Vec<DelayGroup>,
    /// Offered traffic and throughput of every switch port with offered traffic.
    pub ports: Vec<PortShare>,
    /// Losses and marks in all switches.
    pub switching: Switching,
    /// Buffer occupancy of every switch.
    pub occupancy: Vec<SwitchOccupancy>,
    /// Occupancy of the sampled switch's buffer by priority. The list is empty if only one priority
    /// is used, or without samples.
    pub priorities: Vec<PriorityOccupancy>,
    /// Utilisation of the network's links, by role of the link.
    pub links: Vec<LinkRole>,
    /// Pauses by priority flow control (PFC); `None` without lossless priorities.
    pub pauses: Option<Pauses>,
    /// Lossless ingress queue that was nearest to a pause, if no sender was paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest_pause: Option<QueueNearPause>,
    /// Cycles of switches that waited for each other at the end of the run.
    pub deadlocks: Vec<Deadlock>,
    /// Caveats that the run's driver (such as the simulator) recorded.
    pub run_caveats: Vec<RunCaveat>,
}

/// Group of flows that are summarised together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum GroupKey {
    /// The group contains all flows of the run.
    All,
    /// The group has flows below a size that belong to no query.
    Short {
        /// Flow size below which flows belong to the group (bytes).
        below_bytes: u64,
    },
    /// The group contains the flows of a traffic class.
    Class {
        /// Name of the traffic class.
        name: String,
    },
}

impl GroupKey {
    /// Returns the subject of the metrics of this group of flows.
    pub(crate) fn subject(&self) -> Subject {
        match self {
            Self::All => Subject::All,
            Self::Short { below_bytes } => Subject::Short(Some(*below_bytes)),
            Self::Class { name } => Subject::Flows(name.clone()),
        }
    }

    /// Returns the name of the group of flows in reports.
    #[must_use]
    pub fn label(&self) -> String {
        self.subject().heading()
    }
}

/// Statistics of a group of flows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowGroup {
    /// Key that identifies the group of flows.
    pub group: GroupKey,
    /// Number of flows in the group.
    pub flows: u64,
    /// Number of flows that were unfinished when the run ended; distributions exclude these flows.
    pub unfinished: u64,
    /// Number of flows without congestion control. The distributions of their class include these
    /// flows; the distributions of all flows and of short flows do not.
    pub open_loop: u64,
    /// Number of open-loop flows that lost packets. Such flows end but never complete.
    pub lossy: u64,
    /// Slowdown of finished flows: flow completion time divided by the ideal time.
    pub slowdown: Option<Distribution>,
    /// Distribution of the completion times of finished flows (ns).
    pub fct_ns: Option<Distribution>,
    /// Goodput of finished flows: payload divided by the simulated time (bit/s).
    pub goodput_bps: f64,
    /// Number of data packets that the flows sent, retransmissions included.
    pub sent_packets: u64,
    /// Number of retransmitted data packets.
    pub retransmitted_packets: u64,
    /// Number of retransmission timeouts of the flows.
    pub timeouts: u64,
    /// Number of data packets that arrived with a congestion mark.
    pub marked_packets: u64,
    /// Number of the flows' packets that switches lost.
    pub dropped_packets: u64,
}

/// Statistics of the queries of a traffic class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueryGroup {
    /// Traffic class of the queries.
    pub class: String,
    /// Number of queries of the class.
    pub queries: u64,
    /// Number of queries without a complete answer when the run ended.
    pub unfinished: u64,
    /// Distribution of the completion times of finished queries (ns).
    pub qct_ns: Option<Distribution>,
    /// Slowdown of finished queries: query completion time divided by the ideal time.
    pub slowdown: Option<Distribution>,
    /// Number of the queries' packets that switches lost.
    pub dropped_packets: u64,
    /// Number of retransmission timeouts of the queries' flows.
    pub timeouts: u64,
}

/// Losses and marks in all switches of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Switching {
    /// Number of packets that arrived for admission, counted at every switch.
    pub arrived_packets: u64,
    /// Number of lost packets: refused, evicted or expelled by switches.
    pub lost_packets: u64,
    /// Size of the lost packets, as charged to the buffer (bytes).
    pub lost_bytes: u64,
    /// Number of ACKs among the lost packets.
    pub lost_acks: u64,
    /// Number of packets that switches marked.
    pub marked_packets: u64,
    /// Lost packets by reason, the most frequent first.
    pub lost_by_reason: Vec<(String, u64)>,
    /// Lost packets by class, in the order of the classes.
    pub lost_by_class: Vec<(String, u64)>,
    /// Lost packets by queue, the most frequent first; queues without a loss are omitted.
    pub lost_by_queue: Vec<QueueLoss>,
}

impl Switching {
    /// Lost packets divided by arrivals at switches; 0 without arrivals.
    #[must_use]
    pub fn lost_fraction(&self) -> f64 {
        fraction(self.lost_packets, self.arrived_packets)
    }

    /// Marked packets divided by arrivals at switches; 0 without arrivals.
    #[must_use]
    pub fn marked_fraction(&self) -> f64 {
        fraction(self.marked_packets, self.arrived_packets)
    }
}

/// Losses of one queue of a switch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct QueueLoss {
    /// Name of the switch.
    pub switch: String,
    /// Number of the queue's egress port.
    pub port: u16,
    /// Priority of the queue.
    pub priority: u8,
    /// Number of packets that the queue lost.
    pub lost_packets: u64,
}

/// Occupancy of a switch's buffer in percent of the buffer, weighted by time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SwitchOccupancy {
    /// Name of the switch with the buffer.
    pub switch: String,
    /// Size of the switch's buffer (bytes).
    pub buffer_bytes: u64,
    /// Mean occupancy, computed from the middles of the histogram's bins. The error
    /// is at most 0.8 %.
    pub mean_percent: f64,
    /// Median of the occupancy over time (upper edge of the bin).
    pub p50_percent: f64,
    /// 99th percentile of the occupancy over time.
    pub p99_percent: f64,
    /// Largest buffer occupancy of the switch during the run.
    pub max_percent: f64,
}

/// Utilisation and losses of the links of a role.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkRole {
    /// Role of the links: `host-up`, `host-down`, `up`, `down`, `peer`.
    pub role: String,
    /// Number of link directions with this role.
    pub links: u64,
    /// Mean utilisation over the arrival phase (%), with equal weights for all links.
    pub mean_percent: f64,
    /// Utilisation of the busiest link (%).
    pub max_percent: f64,
    /// Number of packets lost because a link was down.
    pub lost_packets: u64,
}

fn fraction(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

impl RunSummary {
    /// Summarises a run from the tables of `result`.
    ///
    /// # Errors
    /// If a table cannot be read.
    pub fn from_result(result: &RunResult) -> Result<Self, ReportError> {
        Ok(summarise(result, 0)?.0)
    }

    /// Jain's index over the switches' ports, of throughput over possible throughput. `None`
    /// without offered traffic.
    #[must_use]
    pub fn jain(&self) -> Option<f64> {
        jain(&self.ports.iter().filter_map(PortShare::share).collect::<Vec<_>>())
    }

    /// Returns the statistics of all flows of the run.
    #[must_use]
    pub fn all(&self) -> &FlowGroup {
        &self.groups[0]
    }
}

/// Computes the numbers of a run, and its samples for charts, in one pass over the tables. Flows
/// and queries that started before `from_ns` do not count.
pub(crate) fn summarise(result: &RunResult, from_ns: u64) -> Result<(RunSummary, RunSamples), ReportError> {
    let manifest = result.manifest();
    let (groups, bursts, flows) = flow_groups(result, from_ns)?;
    let (delays, delay_bins) = bursts::delays(result)?;
    let (occupancy, above) = occupancy(result)?;
    let (queries, qct_ns) = query_groups(result, from_ns)?;
    let links = links(result)?;
    let summary = RunSummary {
        policy: manifest.policy.clone(),
        seed: manifest.seed,
        scenario_name: manifest.scenario_name.clone(),
        profile: manifest.profile.clone(),
        bufferlab_version: manifest.bufferlab_version.clone(),
        git_commit: manifest.git_commit.clone(),
        duration_ns: manifest.duration_ns,
        drain_ns: manifest.drain_ns,
        end_ns: manifest.totals.end_ns,
        packet_hops: manifest.totals.packet_hops,
        groups,
        queries,
        schedules: schedules::schedules(result, from_ns)?,
        bursts,
        delays,
        ports: bursts::ports(result)?,
        switching: switching(result)?,
        occupancy,
        priorities: buffer_sample::by_priority(result)?,
        pauses: pauses::totals(result, &links)?,
        nearest_pause: result.manifest().totals.nearest_pause.clone(),
        links,
        deadlocks: pauses::deadlocks(result)?,
        run_caveats: manifest.caveats.clone(),
    };
    Ok((summary, RunSamples { flows, qct_ns, occupancy: above, delays: delay_bins }))
}

/// Accumulator of the flows that a [`FlowGroup`] summarises.
struct Gathering {
    totals: FlowGroup,
    slowdowns: Vec<f64>,
    fcts: Vec<f64>,
    finished_bytes: u64,
}

impl Gathering {
    fn new(group: GroupKey) -> Self {
        let totals = FlowGroup {
            group,
            flows: 0,
            unfinished: 0,
            open_loop: 0,
            lossy: 0,
            slowdown: None,
            fct_ns: None,
            goodput_bps: 0.0,
            sent_packets: 0,
            retransmitted_packets: 0,
            timeouts: 0,
            marked_packets: 0,
            dropped_packets: 0,
        };
        Self { totals, slowdowns: Vec::new(), fcts: Vec::new(), finished_bytes: 0 }
    }

    fn add(&mut self, row: &FlowRow) {
        let totals = &mut self.totals;
        totals.flows += 1;
        totals.sent_packets += row.sent_packets;
        totals.retransmitted_packets += row.retransmitted_packets;
        totals.timeouts += u64::from(row.timeouts);
        totals.marked_packets += row.marked_packets;
        totals.dropped_packets += row.dropped_packets;
        let open_loop = row.sending_ns.is_some();
        totals.open_loop += u64::from(open_loop);
        totals.lossy += u64::from(row.state == FlowState::Lossy);
        totals.unfinished += u64::from(row.state == FlowState::Unfinished);
        if let (Some(fct), Some(slowdown)) = (row.fct_ns, row.slowdown) {
            self.finished_bytes += row.size_bytes;
            // An open-loop flow has a configured duration, which does not show how fast
            // other flows complete.
            if !open_loop || matches!(totals.group, GroupKey::Class { .. }) {
                self.fcts.push(fct as f64);
                self.slowdowns.push(slowdown);
            }
        }
    }

    fn finish(mut self, end_ns: u64) -> FlowGroup {
        self.totals.slowdown = Distribution::of(&mut self.slowdowns);
        self.totals.fct_ns = Distribution::of(&mut self.fcts);
        if end_ns > 0 {
            self.totals.goodput_bps = self.finished_bytes as f64 * 8e9 / end_ns as f64;
        }
        self.totals
    }
}

/// Groups of flows, open-loop flows by class, and samples for charts.
type Flows = (Vec<FlowGroup>, Vec<BurstGroup>, Vec<FlowSample>);

fn flow_groups(result: &RunResult, from_ns: u64) -> Result<Flows, ReportError> {
    let Manifest { names, short_flow_bytes, totals, duration_ns, .. } = result.manifest();
    let mut all = Gathering::new(GroupKey::All);
    let mut short = Gathering::new(GroupKey::Short { below_bytes: *short_flow_bytes });
    let mut classes: Vec<Gathering> =
        names.classes.iter().map(|name| Gathering::new(GroupKey::Class { name: name.clone() })).collect();
    let mut bursts: Vec<Bursts> = names.classes.iter().map(|_| Bursts::default()).collect();
    let mut samples = Vec::new();
    result.visit(|row: FlowRow| {
        if row.start_ns < from_ns {
            return;
        }
        all.add(&row);
        bursts[usize::from(row.class)].add(&row);
        classes[usize::from(row.class)].add(&row);
        let open_loop = row.sending_ns.is_some();
        let is_short = !open_loop && row.query_id.is_none() && row.size_bytes < *short_flow_bytes;
        if is_short {
            short.add(&row);
        }
        if let Some(slowdown) = row.slowdown.filter(|_| !open_loop) {
            samples.push(FlowSample {
                slowdown: slowdown as f32,
                class: row.class,
                size_bin: crate::samples::size_bin(row.size_bytes),
                short: is_short,
                of_query: row.query_id.is_some(),
            });
        }
    })?;
    let groups = [all, short]
        .into_iter()
        .chain(classes)
        .map(|group| group.finish(totals.end_ns.saturating_sub(from_ns)))
        .collect();
    let bursts = names.classes.iter().zip(bursts);
    let bursts = bursts.filter_map(|(class, bursts)| bursts.finish(class.clone(), *duration_ns)).collect();
    Ok((groups, bursts, samples))
}

/// Statistics of every query class, and the class's sorted completion times.
type Queries = (Vec<QueryGroup>, Vec<(String, Vec<f64>)>);

fn query_groups(result: &RunResult, from_ns: u64) -> Result<Queries, ReportError> {
    #[derive(Default)]
    struct Answers {
        queries: u64,
        qcts: Vec<f64>,
        slowdowns: Vec<f64>,
        dropped: u64,
        timeouts: u64,
    }
    let mut classes: BTreeMap<u16, Answers> = BTreeMap::new();
    result.visit(|row: QueryRow| {
        if row.start_ns < from_ns {
            return;
        }
        let answers = classes.entry(row.class).or_default();
        answers.queries += 1;
        answers.dropped += row.dropped_packets;
        answers.timeouts += u64::from(row.timeouts);
        if let (Some(qct), Some(slowdown)) = (row.qct_ns, row.slowdown) {
            answers.qcts.push(qct as f64);
            answers.slowdowns.push(slowdown);
        }
    })?;
    let (mut groups, mut samples) = (Vec::new(), Vec::new());
    for (class, mut answers) in classes {
        let class = result.manifest().names.classes[usize::from(class)].clone();
        groups.push(QueryGroup {
            class: class.clone(),
            queries: answers.queries,
            unfinished: answers.queries - answers.qcts.len() as u64,
            qct_ns: Distribution::of(&mut answers.qcts),
            slowdown: Distribution::of(&mut answers.slowdowns),
            dropped_packets: answers.dropped,
            timeouts: answers.timeouts,
        });
        samples.push((class, answers.qcts));
    }
    Ok((groups, samples))
}

fn switching(result: &RunResult) -> Result<Switching, ReportError> {
    let names = &result.manifest().names;
    let mut sum = Switching { lost_acks: result.manifest().totals.lost_acks, ..Switching::default() };
    result.visit(|row: QueueRow| {
        sum.arrived_packets += row.arrived_packets;
        sum.marked_packets += row.marked_packets;
    })?;
    let mut reasons: BTreeMap<&'static str, u64> = BTreeMap::new();
    let mut classes: Vec<(String, u64)> = names.classes.iter().map(|name| (name.clone(), 0)).collect();
    let mut queues: BTreeMap<(u32, u16, u8), u64> = BTreeMap::new();
    result.visit(|row: DropRow| {
        sum.lost_packets += row.packets;
        sum.lost_bytes += row.bytes;
        *reasons.entry(row.reason).or_default() += row.packets;
        classes[usize::from(row.class)].1 += row.packets;
        *queues.entry((row.switch, row.port, row.priority)).or_default() += row.packets;
    })?;
    sum.lost_by_reason = reasons.into_iter().map(|(reason, packets)| (reason.to_owned(), packets)).collect();
    sum.lost_by_reason.sort_by_key(|(_, packets)| std::cmp::Reverse(*packets));
    sum.lost_by_class = classes;
    let queues = queues.into_iter().filter(|(_, packets)| *packets > 0);
    sum.lost_by_queue = queues
        .map(|((switch, port, priority), lost_packets)| QueueLoss {
            switch: names.switches[switch as usize].clone(),
            port,
            priority,
            lost_packets,
        })
        .collect();
    sum.lost_by_queue.sort_by_key(|queue| std::cmp::Reverse(queue.lost_packets));
    Ok(sum)
}

/// Buffer occupancy of every switch. The second list has the time (ns) at every occupancy (% of the
/// buffer) over all switches, ascending.
type Occupancies = (Vec<SwitchOccupancy>, Vec<(f64, u64)>);

fn occupancy(result: &RunResult) -> Result<Occupancies, ReportError> {
    let Manifest { names, totals, .. } = result.manifest();
    let mut bins: BTreeMap<u32, Vec<(u64, u64, u64)>> = BTreeMap::new();
    result.visit(|row: HistogramRow| {
        if row.scope == Scope::Switch {
            bins.entry(row.switch).or_default().push((row.from_bytes, row.to_bytes, row.time_ns));
        }
    })?;
    let (mut switches, mut joint) = (Vec::new(), Vec::new());
    for (switch, mut bins) in bins {
        bins.sort_unstable();
        // Without a known buffer size, no percentage can be computed.
        let Some(&buffer) = totals.buffer_bytes.get(switch as usize).filter(|bytes| **bytes > 0) else {
            continue;
        };
        let percent = |bytes: f64| bytes.min(buffer as f64) / buffer as f64 * 100.0;
        let time: u128 = bins.iter().map(|bin| u128::from(bin.2)).sum();
        if time == 0 {
            continue;
        }
        let middle =
            |&(from, to, _): &(u64, u64, u64)| if from == 0 { 0.0 } else { (from + to) as f64 / 2.0 };
        let mean = bins.iter().map(|bin| middle(bin) * bin.2 as f64).sum::<f64>() / time as f64;
        // The function computes quantiles by nearest rank in time. Thousandths are whole numbers,
        // so the comparison with the rank is exact.
        let quantile = |thousandths: u128| {
            let mut seen = 0;
            let at = bins.iter().find(|bin| {
                seen += u128::from(bin.2);
                seen * 1_000 >= time * thousandths
            });
            // The lowest bin contains the times at which the buffer was (almost) empty.
            at.map_or(0.0, |&(from, to, _)| if from == 0 { 0.0 } else { percent(to as f64) })
        };
        switches.push(SwitchOccupancy {
            switch: names.switches[switch as usize].clone(),
            buffer_bytes: buffer,
            mean_percent: percent(mean),
            p50_percent: quantile(500),
            p99_percent: quantile(990),
            max_percent: quantile(1_000),
        });
        joint.extend(bins.iter().map(|bin| (percent(middle(bin)), bin.2)));
    }
    joint.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok((switches, joint))
}

fn links(result: &RunResult) -> Result<Vec<LinkRole>, ReportError> {
    let mut roles: BTreeMap<&'static str, LinkRole> = BTreeMap::new();
    result.visit(|row: LinkRow| {
        let role = roles.entry(row.role).or_insert_with(|| LinkRole {
            role: row.role.to_owned(),
            links: 0,
            mean_percent: 0.0,
            max_percent: 0.0,
            lost_packets: 0,
        });
        role.links += 1;
        role.mean_percent += row.utilisation * 100.0;
        role.max_percent = role.max_percent.max(row.utilisation * 100.0);
        role.lost_packets += row.lost_packets;
    })?;
    let mut roles: Vec<LinkRole> = roles.into_values().collect();
    for role in &mut roles {
        role.mean_percent /= role.links as f64;
    }
    // The links are in order from the hosts to the core.
    let rank =
        |role: &LinkRole| ["host-up", "up", "peer", "down", "host-down"].iter().position(|r| *r == role.role);
    roles.sort_by_key(|role| rank(role).unwrap_or(usize::MAX));
    Ok(roles)
}
