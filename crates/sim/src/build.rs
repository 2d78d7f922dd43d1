//! From a scenario to a network.

use crate::SimError;
use crate::base_rtt::Paths;
use crate::calendar::Calendar;
use crate::closed_loops::ClosedLoops;
use crate::connections::Connections;
use crate::explain::ExplainRequest;
use crate::flow::Flows;
use crate::ids::{CableId, HostId, Id, LinkId, SwitchId, Table};
use crate::link::{End, Link};
use crate::nic::Nic;
use crate::packet::Slab;
use crate::pfc::Pfc;
use crate::routing::Routes;
use crate::simulation::Simulation;
use crate::switch_node::{Slice, SwitchNode};
use crate::telemetry::Telemetry;
use crate::timers::{Timer, Timers};
use crate::traffic::Traffic;
use crate::transports::build_transports;
use bufferlab_core::{Group, MarkerConfig, Scheduler, SharedBufferCondition, SwitchConfig, Weight};
use bufferlab_metrics::DelayHistogram;
use bufferlab_scenario::{Discipline, EcnSpec, Multipath, Node, Scenario, SwitchSpec, Topology};
use bufferlab_units::{BitRate, RandomStream, Time, mix};
use bufferlab_workload::FlowSource;
use std::collections::BTreeMap;

impl Simulation {
    /// Builds the network of a scenario.
    ///
    /// # Errors
    /// If a policy or scheduler does not fit its switch, a traffic process does not fit the topology, or the network exceeds
    /// the engine's limits (65,535 hosts, 131,071 cables, 4.4 s on a link).
    pub fn new(scenario: &Scenario) -> Result<Self, SimError> {
        let topology = scenario.topology.clone();
        check_size("hosts", topology.hosts.len(), usize::from(u16::MAX))?;
        check_size("cables", topology.links.len(), Calendar::MAX_LINK as usize / 2)?;
        let (mut links, cables, first_links) = build_links(&topology);
        for link in links.iter_mut() {
            if let End::Switch(switch, _) = link.to {
                link.header_bytes = cut_through(scenario, switch, link.rate);
            }
        }
        let reach = links.iter().map(|link| link.delay + link.rate.serialization(u64::from(u16::MAX))).max();
        check_size(
            "picoseconds that a packet is on a link",
            reach.unwrap_or_default().0 as usize,
            Calendar::MAX_REACH.0 as usize,
        )?;
        let mut switches = Table::<SwitchId, _>::default();
        for (index, spec) in scenario.switches.iter().enumerate() {
            switches.push(build_switch(scenario, index, spec, first_links[index])?);
        }
        let mut timers = Timers::default();
        for (switch, node) in switches.entries() {
            // Policies without a timer yet may set one with their first packet: they are asked again then.
            if let Some(first) = node.poll_timeout() {
                timers.push(first, Timer::Policy(switch));
            }
        }
        let mut down_now = vec![false; topology.links.len()];
        for (index, cable) in topology.links.iter().enumerate() {
            for &(from, until) in &cable.down {
                if from == Time::ZERO {
                    down_now[index] = true;
                } else {
                    timers.push(from, Timer::LinkChange(CableId::from_index(index)));
                }
                if until != Time::MAX {
                    timers.push(until, Timer::LinkChange(CableId::from_index(index)));
                }
            }
        }
        timers.push(scenario.duration, Timer::PhaseEnd);
        if scenario.output.sample_interval > Time::ZERO {
            timers.push(scenario.output.sample_from, Timer::Sample);
        }
        let mut traffic = Traffic::new(scenario)?;
        let next_flow = traffic.source.next_flow();
        let routes = Routes::new(&topology, scenario.seed, |index| !down_now[index]);
        routes.check(&topology)?;
        let hosts = topology.hosts.len() as u32;
        let paths = Paths { links: links.as_slice(), first_links: &first_links, routes: &routes, hosts };
        let (transports, host_kinds, kinds) = build_transports(scenario, &traffic.replayed, &paths)?;
        let classes = traffic.classes.len();
        if scenario.output.delays {
            for node in switches.iter_mut() {
                let queues = node.record.queues.len();
                node.record.delays = vec![DelayHistogram::default(); queues * classes];
            }
        }
        let mut downlinks: Table<HostId, LinkId> = vec![LinkId(0); topology.hosts.len()].into();
        for (id, link) in links.entries() {
            if let End::Host(host) = link.to {
                downlinks[host] = id;
            }
        }
        let pfc = Pfc::new(scenario, &links, &cables, &mut timers);
        let mut simulation = Self {
            now: Time::ZERO,
            calendar: build_calendar(scenario.seed, &links),
            packets: Slab::default(),
            telemetry: Telemetry::new(transports.iter().any(|transport| transport.wants_telemetry)),
            nics: topology.hosts.iter().map(|_| Nic::new()).collect(),
            flows: Flows::default(),
            routes,
            timers,
            transports: transports.into(),
            host_kinds: host_kinds.into(),
            kinds,
            nic_queueing: scenario.host.nic,
            spray: (topology.multipath == Multipath::Spray)
                .then(|| RandomStream::new(scenario.seed, "sim/spray", 0)),
            path_stream: RandomStream::new(scenario.seed, "sim/paths", 0),
            queue_stream: RandomStream::new(scenario.seed, "sim/queues", 0),
            measure_delays: scenario.output.delays,
            packet_hops: 0,
            verify: false,
            pfc,
            explainer: None,
            seed: scenario.seed,
            duration: scenario.duration,
            end: scenario.duration + scenario.drain,
            cables,
            downlinks,
            output: scenario.output.clone(),
            source: traffic.source,
            next_flow,
            classes: traffic.classes,
            class_transport: traffic.transports,
            listed_queries: traffic.listed_queries,
            paced_flows: vec![0; classes],
            queries: BTreeMap::new(),
            connections: Connections::default(),
            closed_loops: ClosedLoops::new(traffic.closed_loops),
            finished_flows: Vec::new(),
            finished_queries: Vec::new(),
            flows_finished: 0,
            events: 0,
            links,
            switches,
            topology,
        };
        simulation.start_closed_loops();
        if simulation.shares_cards() {
            simulation.nics.iter_mut().for_each(Nic::share);
        }
        if let Some(count) = scenario.output.explain_losses {
            simulation.explain(ExplainRequest::losses(count));
        }
        for (index, down) in down_now.into_iter().enumerate() {
            let (ab, ba) = simulation.cables[CableId::from_index(index)];
            simulation.links[ab].down = down;
            simulation.links[ba].down = down;
        }
        Ok(simulation)
    }
}

/// Bytes after which a packet on a link of this rate counts as arrived at the switch, if it forwards before it has all of it. A port that is
/// faster than the link would run dry in the middle of a packet: then the whole packet is awaited.
fn cut_through(scenario: &Scenario, switch: SwitchId, rate: BitRate) -> Option<u32> {
    let fastest = scenario.topology.switch_port_rates(switch.0).into_iter().max()?;
    scenario.switches[switch.index()].hardware.cut_through_bytes.filter(|_| fastest <= rate)
}

pub(crate) fn check_size(what: &'static str, found: usize, limit: usize) -> Result<(), SimError> {
    if found <= limit {
        Ok(())
    } else {
        Err(SimError::TooLarge { what, found: found as u64, limit: limit as u64 })
    }
}

/// Links in the engine's order, the two links of every cable, and the first link of every switch.
fn build_links(topology: &Topology) -> (Table<LinkId, Link>, Table<CableId, (LinkId, LinkId)>, Vec<LinkId>) {
    let mut next_port = vec![0_u16; topology.switches.len()];
    // Ends with port numbers: a switch's ports follow the order of its cables.
    let mut end_of = |node: Node| match node {
        Node::Host(host) => End::Host(HostId::new(host)),
        Node::Switch(switch) => {
            let port = &mut next_port[switch as usize];
            *port += 1;
            End::Switch(SwitchId(switch), *port - 1)
        }
    };
    let ends: Vec<_> = topology.links.iter().map(|cable| (end_of(cable.a), end_of(cable.b))).collect();
    let mut first_links = Vec::with_capacity(next_port.len());
    let mut count = topology.hosts.len() as u32;
    for ports in &next_port {
        first_links.push(LinkId(count));
        count += u32::from(*ports);
    }
    let number = |end: End| match end {
        End::Host(host) => host.uplink(),
        End::Switch(switch, port) => first_links[switch.index()].at_port(port),
    };
    let mut links: Vec<Option<Link>> = (0..count).map(|_| None).collect();
    let mut cables = Table::default();
    for (cable, (a, b)) in topology.links.iter().zip(ends) {
        let (ab, ba) = (number(a), number(b));
        links[ab.index()] = Some(Link::new(a, b, cable.rate_ab, cable.delay));
        links[ba.index()] = Some(Link::new(b, a, cable.rate_ba, cable.delay));
        cables.push((ab, ba));
    }
    let links = links.into_iter().map(|link| link.expect("every port and host has its cable")).collect();
    (links, cables, first_links)
}

fn build_switch(
    scenario: &Scenario,
    index: usize,
    spec: &SwitchSpec,
    first_link: LinkId,
) -> Result<SwitchNode, SimError> {
    let name = || scenario.topology.switches[index].clone();
    let queues_per_port = usize::from(spec.queues_per_port);
    let largest = scenario.transports.iter().map(|t| u64::from(t.segment_bytes + t.header_bytes)).max();
    let port_rates = scenario.topology.switch_port_rates(index as u32);
    let ports = port_rates.len();
    let ports_per_slice = ports.div_ceil(usize::from(spec.hardware.slices)).max(1);
    let mut slices = Vec::with_capacity(usize::from(spec.hardware.slices));
    for (number, rates) in port_rates.chunks(ports_per_slice).enumerate() {
        let config = SwitchConfig {
            capacity: spec.buffer_bytes / u64::from(spec.hardware.slices),
            port_rates: rates.to_vec(),
            queues_per_port,
            max_packet: largest.unwrap_or(1_500) - u64::from(spec.uncharged_bytes),
            scheduler: build_scheduler(spec)
                .map_err(|source| SimError::Scheduler { switch: name(), source })?,
            marker: spec.ecn.as_ref().map(build_marker),
            profile: scenario.profile,
            seed: mix(scenario.seed ^ mix(index as u64 + 1) ^ mix_slice(number)),
            hardware: spec.hardware.switch,
            foreign_ports: ports - rates.len(),
            lossless: spec.lossless(),
            lossless_by_port: spec.pfc.as_ref().map_or_else(Vec::new, |pfc| pfc.masks_by_port(rates.len())),
        };
        let core = config
            .build(&spec.policy, &spec.policy_params)
            .map_err(|source| SimError::Policy { switch: name(), source })?;
        let first_port = number * ports_per_slice;
        slices.push(Slice {
            core,
            first_port: first_port as u16,
            first_queue: (first_port * queues_per_port) as u16,
            shape: config.shape(),
            policy: (spec.policy.clone(), spec.policy_params.clone()),
        });
    }
    Ok(SwitchNode::new(slices, ports_per_slice as u16, first_link, spec.uncharged_bytes))
}

/// The first slice draws like the only one of a switch.
fn mix_slice(number: usize) -> u64 {
    if number == 0 { 0 } else { mix(number as u64) }
}

fn build_scheduler(spec: &SwitchSpec) -> Result<Scheduler, bufferlab_core::ScheduleError> {
    let discipline = |discipline: &Discipline| match discipline {
        Discipline::Fifo => bufferlab_core::Discipline::Fifo,
        Discipline::RoundRobin => bufferlab_core::Discipline::RoundRobin,
        Discipline::WeightedRoundRobin { weights } => {
            bufferlab_core::Discipline::WeightedRoundRobin(weights.clone())
        }
        Discipline::DeficitRoundRobin { quanta } => {
            bufferlab_core::Discipline::DeficitRoundRobin(quanta.clone())
        }
    };
    let groups: Vec<_> = spec
        .scheduler
        .groups
        .iter()
        .map(|group| Group { queues: group.queues.clone(), discipline: discipline(&group.discipline) })
        .collect();
    Scheduler::new(&groups, usize::from(spec.queues_per_port))
}

fn build_marker(spec: &EcnSpec) -> MarkerConfig {
    MarkerConfig {
        kmin: spec.kmin_bytes,
        kmax: spec.kmax_bytes,
        pmax: spec.pmax,
        scope: spec.scope,
        at: spec.at,
        priorities: match &spec.priorities {
            None => u32::MAX,
            Some(list) => list.iter().fold(0, |mask, priority| mask | 1 << priority),
        },
        shared: spec.shared.map(|shared| SharedBufferCondition {
            floor: shared.floor_bytes,
            factor: Weight::from_f64(shared.share * shared.alpha),
        }),
        by_priority: spec.by_priority_bytes.iter().map(|&k| (k, k)).collect(),
    }
}

/// Chooses the calendar's buckets from the network: about two events each when half of all capacity is used, and a ring that
/// reaches beyond the longest transmission and propagation.
fn build_calendar(seed: u64, links: &Table<LinkId, Link>) -> Calendar {
    const FRAME_BYTES: u64 = 1_500;
    let per_second: f64 = links.iter().map(|link| link.rate.0 as f64 / (8.0 * FRAME_BYTES as f64)).sum();
    let width_ps = (2e12 / per_second).clamp(256.0, 1e9);
    let width_bits = width_ps.log2().round() as u32;
    let reach = links.iter().map(|link| link.delay + link.rate.serialization(FRAME_BYTES)).max();
    let buckets = (reach.unwrap_or(Time::from_us(10)).0 >> width_bits) * 2;
    let bucket_bits = buckets.max(1).ilog2() + 1;
    Calendar::new(seed, width_bits, bucket_bits.clamp(9, 15))
}
