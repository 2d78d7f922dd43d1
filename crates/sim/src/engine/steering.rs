//! Changes that the caller makes to a run between two steps.
//!
//! A change happens at the time that the caller has reached, after all events of this instant.

use super::Simulation;
use crate::SimError;
use crate::host::connections::COMMON;
use crate::ids::{CableId, Id, SwitchId};
use crate::world::calendar::Calendar;
use crate::world::link::Link;
use crate::world::timers::Timer;
use bufferlab_core::{BuildError, ParamValue};
use bufferlab_units::{BitRate, Time};
use bufferlab_workload::FlowSpec;

/// A flow that the caller starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewFlow {
    /// Number of the host that sends the flow.
    pub src: u32,
    /// Number of the host that receives the flow.
    pub dst: u32,
    /// Payload of the flow (bytes), at least 1.
    pub size: u64,
    /// Index of the flow's class in [`Simulation::classes`]. The class selects the transport.
    pub class: u16,
}

impl Simulation {
    /// Replaces the policy of a switch by a new policy, or by the old policy with other parameters.
    /// The new policy learns of the stored packets as new arrivals, and has no other history. A run
    /// and its copy then reach equal states.
    ///
    /// # Errors
    /// If the network has no such switch, or the policy does not fit the switch. The run is
    /// unchanged.
    pub fn set_policy(
        &mut self,
        switch: usize,
        name: &str,
        params: &[(String, ParamValue)],
    ) -> Result<(), SimError> {
        let id = self.switch_id(switch)?;
        let policies = self.switches[id].build_policies(name, params);
        let policies = policies.map_err(|source| self.misfit(id, source))?;
        self.begin_change()?;
        let policy = (name.to_owned(), params.to_vec());
        self.switches[id].replace_policies(self.world.now(), policies, &policy);
        self.world.timers().remove(Timer::Policy(id));
        self.switches[id].arm_timer();
        self.settle(id)
    }

    /// Sets alpha of every queue of a switch, in the order of ports and priorities. Dynamic
    /// Thresholds with these alphas ([`bufferlab_core::SteeredThreshold`]) replace any other policy
    /// of the switch. A chip that supports only certain alphas rounds each given alpha.
    ///
    /// # Errors
    /// If the network has no such switch, the switch has lossless priorities, or the number of
    /// alphas or an alpha is wrong. The run is unchanged.
    pub fn set_alphas(&mut self, switch: usize, alphas: &[f64]) -> Result<(), SimError> {
        let id = self.switch_id(switch)?;
        let (queues, given) = (self.switches[id].queues().count(), alphas.len());
        let message = if given != queues {
            Some(format!("{given} alphas for {queues} queues"))
        } else if let Some(alpha) = alphas.iter().find(|alpha| !(alpha.is_finite() && **alpha >= 0.0)) {
            Some(format!("alpha is {alpha}; expected a number of at least 0"))
        } else if self.switches[id].slices().any(|slice| slice.shape.lossless != 0) {
            Some("alphas by queue have no headroom, and the switch has lossless priorities".to_owned())
        } else {
            None
        };
        if let Some(message) = message {
            return Err(self.misfit(id, BuildError { param: "alpha", message }));
        }
        self.begin_change()?;
        if !self.switches[id].set_alphas(alphas) {
            let now = self.world.now();
            self.switches[id].steer(now, alphas);
            self.world.timers().remove(Timer::Policy(id));
            self.switches[id].arm_timer();
            self.settle(id)?;
        }
        Ok(())
    }

    /// Starts a flow now. Returns its number in the table of flows.
    ///
    /// # Errors
    /// If a host or the class does not exist, the hosts are equal, the size is invalid, or the
    /// arrival phase of the run is over.
    pub fn start_flow_now(&mut self, flow: NewFlow) -> Result<u64, SimError> {
        let NewFlow { src, dst, size, class } = flow;
        let (hosts, classes) = (self.plan.topology.hosts.len(), self.records.classes.len());
        let message = if src as usize >= hosts || dst as usize >= hosts {
            format!("a flow from host {src} to host {dst}; there are {hosts} hosts, numbered from 0")
        } else if src == dst {
            format!("a flow from host {src} to itself")
        } else if size == 0 || size == FlowSpec::UNLIMITED {
            format!("a flow of {size} bytes; expected at least 1")
        } else if usize::from(class) >= classes {
            format!("a flow of class {class}; there are {classes} classes, numbered from 0")
        } else if self.arrivals_are_over {
            format!("a flow at {}; flows start before {}", self.now(), self.plan.duration)
        } else {
            self.begin_change()?;
            let number = self.hosts.flows().started();
            self.start_flow(flow_now(self.world.now(), flow), COMMON)?;
            return Ok(number);
        };
        Err(SimError::Refused(message))
    }

    /// Sets a cable down (`up` is false) or up from now on. A cable that is set down stays down
    /// until a call sets the cable up. Later failures in the scenario's `down` times still take
    /// place. Returns whether the cable changed its state.
    ///
    /// # Errors
    /// If the network has no such cable, or a host would be without a route that the scenario
    /// prescribes.
    pub fn set_cable(&mut self, cable: usize, up: bool) -> Result<bool, SimError> {
        let cables = self.plan.topology.links.len();
        if cable >= cables {
            let message = format!("cable {cable}; there are {cables} cables, numbered from 0");
            return Err(SimError::Refused(message));
        }
        self.begin_change()?;
        let now = self.world.now();
        let down = &mut self.plan.topology.links[cable].down;
        let covers = |&(from, until): &(Time, Time)| from <= now && now < until;
        let is_up = !down.iter().any(covers);
        if is_up == up {
            return Ok(false);
        }
        let before = down.clone();
        if up {
            down.iter_mut().filter(|span| covers(span)).for_each(|span| span.1 = now);
        } else {
            down.push((now, Time::MAX));
        }
        let changed = self.compute_routes().and_then(|()| self.switch_cable(CableId::from_index(cable)));
        if changed.is_err() {
            self.plan.topology.links[cable].down = before;
        }
        changed.map(|()| true)
    }

    /// Sets the rate of a cable in both directions. A transmission that has begun keeps its rate.
    /// Telemetry reports the new rate. Policies, transports and the tables of results refer to the
    /// rate in the scenario.
    ///
    /// # Errors
    /// If the network has no such cable, a switch cuts through, or the rate is 0, above 100 Tb/s
    /// or so low that a packet would take more than four seconds. The run is unchanged.
    pub fn set_rate(&mut self, cable: usize, rate: BitRate) -> Result<(), SimError> {
        const RATE_MAX: BitRate = BitRate(100_000_000_000_000);
        let cables = self.plan.topology.links.len();
        let message = if cable >= cables {
            format!("cable {cable}; there are {cables} cables, numbered from 0")
        } else if self.world.links().iter().any(Link::cuts_through) {
            "another rate in a network whose switches cut through, because a port could run out of bits"
                .to_owned()
        } else if rate.0 == 0 || rate > RATE_MAX {
            format!("a rate of {rate}; expected a rate above 0 and at most {RATE_MAX}")
        } else {
            let (there, back) = self.plan.cables[CableId::from_index(cable)];
            let longest = rate.serialization(u64::from(u16::MAX)) + self.world.links()[there].delay;
            if longest <= Calendar::MAX_REACH {
                self.begin_change()?;
                for link in [there, back] {
                    self.world.links_mut()[link].set_rate(rate);
                }
                return Ok(());
            }
            format!("a rate of {rate}; a packet would take more than {}", Calendar::MAX_REACH)
        };
        Err(SimError::Refused(message))
    }

    /// Moves the engine's time to the caller's time, at which a change takes place.
    fn begin_change(&mut self) -> Result<(), SimError> {
        if self.is_finished {
            return Err(SimError::Refused("a change after the end of the run".to_owned()));
        }
        self.is_stepped = true;
        self.world.advance_to(self.now());
        Ok(())
    }

    fn switch_id(&self, switch: usize) -> Result<SwitchId, SimError> {
        let switches = self.switches.ids().count();
        if switch < switches {
            return Ok(SwitchId::from_index(switch));
        }
        Err(SimError::Refused(format!("switch {switch}; there are {switches} switches, numbered from 0")))
    }

    fn misfit(&self, id: SwitchId, source: BuildError) -> SimError {
        SimError::Policy { switch: self.plan.topology.switches[id.index()].clone(), source }
    }
}

fn flow_now(now: Time, flow: NewFlow) -> FlowSpec {
    FlowSpec {
        start: now,
        src: flow.src,
        dst: flow.dst,
        size: flow.size,
        class: flow.class,
        query: FlowSpec::NO_QUERY,
        open: None,
        data_path: None,
        ack_path: None,
        node: FlowSpec::NO_NODE,
    }
}
