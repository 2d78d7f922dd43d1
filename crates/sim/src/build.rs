//! Builds the network of a simulation from a scenario.

mod network;
mod switches;

use crate::SimError;
use crate::demand::Demand;
use crate::demand::closed_loops::ClosedLoops;
use crate::demand::queries::Queries;
use crate::demand::schedules::Schedules;
use crate::engine::{Plan, Simulation, look_ahead};
use crate::host::{Hosts, HostsConfig};
use crate::ids::{CableId, Id, SwitchId, Table};
use crate::observe::Records;
use crate::observe::explain::ExplainRequest;
use crate::pfc::Pfc;
use crate::switch::SwitchNode;
use crate::traffic;
use crate::transports::build_transports;
use crate::world::World;
use crate::world::base_rtt::Paths;
use crate::world::routing::Routes;
use crate::world::telemetry::Telemetry;
use crate::world::timers::{Timer, Timers};
use bufferlab_scenario::{Multipath, OutputSpec, Scenario, Topology};
use bufferlab_units::Time;
use network::{Cabling, build_calendar, build_links, downlinks};

impl Simulation {
    /// Builds the network of a scenario.
    ///
    /// # Errors
    /// If a policy or scheduler does not fit its switch, or a traffic process does not fit the
    /// topology. If the network exceeds the engine's limits (65,535 hosts, 131,071 cables,
    /// 4.4 s on a link).
    pub fn new(scenario: &Scenario) -> Result<Self, SimError> {
        let topology = scenario.topology.clone();
        let Cabling { mut links, cables, first_links } = build_links(scenario)?;
        let switches = switches::build_switches(scenario, &first_links)?;
        let mut timers = first_timers(scenario, &switches);
        let is_down = |index: usize| is_down_at_start(&topology, index);
        for (cable, &(ab, ba)) in cables.entries() {
            let down = is_down(cable.index());
            (links[ab].down, links[ba].down) = (down, down);
        }
        let traffic = traffic::start(scenario)?;
        let (replayed, class_transports) = traffic::carriages(scenario, &traffic);
        let schedules = Schedules::new(traffic.schedules);
        let classes: Vec<String> = traffic.classes.into_iter().map(|class| class.name).collect();
        let routes = Routes::new(&topology, scenario.seed, |index| !is_down(index));
        routes.check(&topology)?;
        let host_count = u32::try_from(topology.hosts.len()).expect("the limit on hosts was checked");
        let paths = Paths {
            links: links.as_slice(),
            first_links: first_links.as_slice(),
            routes: &routes,
            hosts: host_count,
        };
        let (transports, host_kinds, kinds) = build_transports(scenario, &replayed, &paths)?;
        let telemetry = Telemetry::new(transports.iter().any(|transport| transport.wants_telemetry));
        let hosts = Hosts::new(HostsConfig {
            seed: scenario.seed,
            transports: transports.into(),
            host_kinds: host_kinds.into(),
            kinds,
            classes: classes.clone(),
            class_transports,
            nic_queueing: scenario.host.nic,
            spray: topology.multipath == Multipath::Spray,
            slots_by_host: schedules.have_slots_by_host(topology.hosts.len()),
        });
        let downlinks = downlinks(&links, topology.hosts.len());
        let pfc = Pfc::new(scenario, &links, &cables, &mut timers);
        let calendar = build_calendar(scenario, &links);
        let mut world = World::new(calendar, links, routes, timers, telemetry);
        let dependent = (ClosedLoops::new(traffic.closed_loops), schedules);
        let noise = (scenario.start_jitter, scenario.seed);
        let mut demand = Demand::new(traffic.source, Queries::new(traffic.listed_queries), dependent, noise);
        demand.start_dependent_traffic(&mut world);
        let records = Records::new(scenario.output.clone(), classes, scenario.duration, downlinks, &switches);
        let end = scenario.duration + scenario.drain;
        let plan = Plan { seed: scenario.seed, duration: scenario.duration, end, topology, cables };
        let mut simulation = Self {
            looks_ahead: look_ahead::is_worthwhile(world.links()),
            world,
            hosts,
            switches,
            pfc,
            demand,
            records,
            plan,
            verify: false,
            is_plain: false,
            events: 0,
            arrivals_are_over: false,
            is_finished: false,
            is_stepped: false,
            clock: Time::ZERO,
            egress_links: Vec::new(),
            part: None,
            starts: None,
        };
        simulation.look_closely(&scenario.output);
        Ok(simulation)
    }

    /// Turns on the recording of single packets and the explanation of packet losses.
    fn look_closely(&mut self, output: &OutputSpec) {
        if let Some(recorded) = output.packets {
            let nodes = self.switches.iter_mut().filter(|node| recorded.contains(node.id.0));
            nodes.for_each(SwitchNode::log_packets);
        }
        if let Some(count) = output.explain_losses {
            self.explain(ExplainRequest::losses(count));
        }
    }
}

/// Whether a cable is down when the run begins.
fn is_down_at_start(topology: &Topology, index: usize) -> bool {
    topology.links[index].down.iter().any(|&(from, _)| from == Time::ZERO)
}

/// Sets all timers that are known before the run: timers of policies, cables that fail or recover,
/// the end of the arrival phase, samples.
fn first_timers(scenario: &Scenario, switches: &Table<SwitchId, SwitchNode>) -> Timers {
    let mut timers = Timers::default();
    for node in switches.iter() {
        // A policy without a timer may set a timer at its first packet. The engine then reads the
        // policy's timer again.
        if let Some(first) = node.poll_timeout() {
            timers.push(first, Timer::Policy(node.id));
        }
    }
    for (index, cable) in scenario.topology.links.iter().enumerate() {
        for &(from, until) in &cable.down {
            for at in [from, until] {
                if at != Time::ZERO && at != Time::MAX {
                    timers.push(at, Timer::LinkChange(CableId::from_index(index)));
                }
            }
        }
    }
    timers.push(scenario.duration, Timer::PhaseEnd);
    if scenario.output.sample_interval > Time::ZERO {
        timers.push(scenario.output.sample_from, Timer::Sample);
    }
    timers
}

pub(crate) fn check_size(what: &'static str, found: usize, limit: usize) -> Result<(), SimError> {
    if found <= limit {
        Ok(())
    } else {
        Err(SimError::TooLarge { what, found: found as u64, limit: limit as u64 })
    }
}
