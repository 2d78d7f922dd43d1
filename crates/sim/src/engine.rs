//! The engine of a run: takes events in the order of time, gives each event to its host or switch,
//! and settles the event's effects.
//!
//! Only the engine reaches all other parts of the simulator. The engine gives a host or switch an
//! event together with the state that the host or switch may change ([`crate::world::Uplink`],
//! [`crate::world::Ports`]). The host or switch records effects, and the engine settles these
//! effects before the next event.

pub(crate) mod event;
mod finish;
pub(crate) mod inspection;
pub(crate) mod look_ahead;
mod pauses;
mod settle;
pub(crate) mod steering;
mod stepping;
mod switching;

use crate::SimError;
use crate::demand::Demand;
use crate::host::connections::COMMON;
use crate::host::{FlowStart, Hosts};
use crate::ids::{CableId, FlowSlot, HostId, LinkId, PoolId, ShardId, SwitchId, Table};
use crate::observe::explain::{ExplainRequest, Explainer};
use crate::observe::{Records, View};
use crate::pfc::Pfc;
use crate::shards::Shard;
use crate::switch::SwitchNode;
use crate::world::calendar::Kind;
use crate::world::link::End;
use crate::world::order::Order;
use crate::world::timers::Timer;
use crate::world::{Uplink, World};
use bufferlab_metrics::{RunSink, RunTotals};
use bufferlab_scenario::Topology;
use bufferlab_units::Time;
use bufferlab_workload::FlowSpec;
use stepping::Limit;

/// Progress of a run: simulated time, packet-hops and flows.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Simulated time that the run has reached.
    pub now: Time,
    /// Simulated time at which flows stop arriving.
    pub duration: Time,
    /// Latest simulated time at which the run ends.
    pub end: Time,
    /// Number of times that a packet crossed a link so far.
    pub packet_hops: u64,
    /// Number of flows started so far.
    pub flows_started: u64,
    /// Number of flows that are not finished.
    pub flows_live: u64,
}

/// A network and its traffic, ready to run.
pub struct Simulation {
    pub(crate) world: World,
    pub(crate) hosts: Hosts,
    pub(crate) switches: Table<SwitchId, SwitchNode>,
    /// State of priority flow control. `None` if no switch has lossless priorities.
    pub(crate) pfc: Option<Box<Pfc>>,
    pub(crate) demand: Demand,
    pub(crate) records: Records,
    pub(crate) plan: Plan,
    pub(crate) verify: bool,
    /// Whether the run neither measures delays nor verifies accounting identities. In such a run a
    /// switch may forward a packet without a queue.
    pub(crate) is_plain: bool,
    pub(crate) events: u64,
    /// Whether the timer for the end of the arrival phase has expired.
    pub(crate) arrivals_are_over: bool,
    /// Whether the run has no event left.
    pub(crate) is_finished: bool,
    /// Whether the caller has advanced or changed the run step by step.
    pub(crate) is_stepped: bool,
    /// Time to which the caller has advanced the run, if it is later than the last event.
    pub(crate) clock: Time,
    /// Whether the network is so large that the engine prefetches the data of the next events.
    pub(crate) looks_ahead: bool,
    /// Links that packets of the calendar's next bucket will take, if the engine looks ahead.
    pub(crate) egress_links: Vec<LinkId>,
    /// Shard of the network that this simulation runs, if several threads run the network.
    pub(crate) part: Option<Shard>,
    /// Flows of this shard that have started in the present window. `None` if all shards know all
    /// flows beforehand, because the run has no schedules.
    pub(crate) starts: Option<Vec<(Order, FlowStart)>>,
}

/// Data of a run that are known before the run starts.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    /// Simulated time at which flows stop arriving.
    pub(crate) duration: Time,
    /// Latest simulated time at which the run ends.
    pub(crate) end: Time,
    pub(crate) topology: Topology,
    /// The two links of each cable, one per direction.
    pub(crate) cables: Table<CableId, (LinkId, LinkId)>,
}

impl Simulation {
    /// Whether the run checks every accounting identity after every switch event (slow), instead of
    /// only at the end of the run.
    pub fn set_verify(&mut self, verify: bool) {
        self.verify = verify;
    }

    /// Names of the flow classes, in the order of their indices in rows.
    #[must_use]
    pub fn classes(&self) -> &[String] {
        &self.records.classes
    }

    /// Explains the events that `request` selects. At the end of the run,
    /// [`bufferlab_metrics::RunSink::explanation`] receives the explanations.
    /// Every registered policy runs as a shadow on the switches from now on, which takes time.
    pub fn explain(&mut self, request: ExplainRequest) {
        for node in self.switches.iter_mut() {
            if request.switch.is_none_or(|wanted| wanted == node.id.0) {
                node.watch();
            }
        }
        self.records.explainer = Some(Explainer::new(request));
    }

    /// Runs the simulation to its end and writes rows to `sink`. Calls `progress` at intervals.
    ///
    /// A run that was advanced step by step ([`Self::run_until`]) is completed.
    ///
    /// The run ends when all flows are complete, but no earlier than `duration`. The run ends at
    /// `duration + drain` at the latest.
    ///
    /// # Errors
    /// If the sink fails, a custom policy, marking rule or congestion control fails, or an
    /// accounting identity is broken.
    pub fn run(
        self,
        sink: &mut dyn RunSink,
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<RunTotals, SimError> {
        self.run_while(sink, &mut |at| {
            progress(at);
            true
        })
    }

    /// Runs like [`Self::run`], but stops when `go_on` returns false.
    /// The engine calls `go_on` every 262,144 events, and more often if events take longer.
    ///
    /// # Errors
    /// Returns the errors of [`Self::run`], and [`SimError::Interrupted`] if `go_on` returned
    /// false.
    pub fn run_while(
        mut self,
        sink: &mut dyn RunSink,
        go_on: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<RunTotals, SimError> {
        self.advance(Limit::NONE, sink, go_on)?;
        self.finish(sink)
    }

    /// Handles events until `limit` or until the run is over, which sets `is_finished`.
    fn advance(
        &mut self,
        limit: Limit,
        sink: &mut dyn RunSink,
        go_on: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<(), SimError> {
        let events_per_report = self.events_per_report();
        // The engine reports progress at multiples of `events_per_report` events, wherever the
        // caller pauses the run.
        let mut next_report = (self.events / events_per_report + 1) * events_per_report;
        self.is_plain = !self.verify && !self.records.measures_delays();
        let explains = self.records.explainer.is_some();
        let looks_closely = explains || self.records.output.packets.is_some();
        let last = self.plan.end.min(limit.time);
        while !self.is_finished && self.events < limit.events {
            if explains {
                let next = self.next_rare_event().min(self.world.next_link_event().time);
                self.advance_shadows(next.min(last), go_on)?;
            }
            let most = if looks_closely { self.events + 1 } else { next_report.min(limit.events) };
            self.handle_link_events(last, most)?;
            let (link_event, rare_event) = (self.world.next_link_event().time, self.next_rare_event());
            if self.events < most && rare_event < link_event {
                if rare_event > self.plan.end || self.is_over() {
                    self.is_finished = true;
                } else if rare_event > last {
                    break;
                } else {
                    self.world.advance_to(rare_event);
                    self.handle_rare_event(sink)?;
                }
            } else if self.events < most && link_event > last {
                self.is_finished = link_event > self.plan.end;
                break;
            }
            if looks_closely && !self.is_finished && self.flush_and_check_done(sink)? {
                self.plan.end = self.world.now();
                self.is_finished = true;
            } else if self.events >= next_report {
                next_report = self.events + events_per_report;
                self.check_controls()?;
                self.check_cards()?;
                self.check_demand()?;
                self.check_marking()?;
                if !go_on(&self.progress_of_events()) {
                    return Err(SimError::Interrupted);
                }
            }
        }
        Ok(())
    }

    /// Time of the next event that is not a link event.
    pub(crate) fn next_rare_event(&mut self) -> Time {
        self.demand.next_start().min(self.world.timers().next_time())
    }

    /// Handles link events (nearly all events are link events) until another event is due first,
    /// until `last` (included), or until the run has counted `most` events.
    ///
    /// At one instant the engine handles link events first:
    /// events of a packet precede the timers that examine the packet.
    pub(crate) fn handle_link_events(&mut self, last: Time, most: u64) -> Result<(), SimError> {
        if self.looks_ahead {
            self.handle_link_events_in::<true>(last, most)
        } else {
            self.handle_link_events_in::<false>(last, most)
        }
    }

    /// Handles link events in a large or a small network. The hot loop of a small network does not
    /// pay for prefetches.
    #[inline(never)] // Keeps one copy of each hot loop.
    fn handle_link_events_in<const IS_LARGE: bool>(&mut self, last: Time, most: u64) -> Result<(), SimError> {
        // Link events never start flows, but set timers.
        let last = last.min(self.demand.next_start());
        let mut open = self.world.calendar().open_bucket();
        while self.events < most {
            let next = self.world.next_link_event();
            if IS_LARGE && self.world.calendar().open_bucket() != open {
                open = self.world.calendar().open_bucket();
                self.look_ahead();
            }
            if next.time > last.min(self.world.timers().next_time()) {
                break;
            }
            let (kind, link) = self.world.take_link_event(next);
            self.events += 1;
            self.handle_link_event(kind, link)?;
        }
        Ok(())
    }

    /// Writes the rows of packets and returns whether every requested event has been explained. The
    /// engine calls the method after each event of a run that records packets or explains events.
    #[cold]
    fn flush_and_check_done(&mut self, sink: &mut dyn RunSink) -> Result<bool, SimError> {
        const ROWS: usize = 1_024;
        self.records.flush_packets(ROWS, sink)?;
        Ok(self.records.explainer.as_ref().is_some_and(Explainer::is_satisfied))
    }

    /// Advances the shadow policies, whose timers expire even while the network is silent. The
    /// function splits a long period without events into steps, and reports progress after each
    /// step.
    fn advance_shadows(
        &mut self,
        next_event: Time,
        go_on: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<(), SimError> {
        const STEP: Time = Time::from_ms(10);
        let until = next_event.min(self.plan.end);
        let mut looked = self.world.now() + STEP;
        while looked < until {
            self.switches.iter_mut().for_each(|switch| switch.advance_shadows(looked));
            if !go_on(&self.progress_of_events()) {
                return Err(SimError::Interrupted);
            }
            looked += STEP;
        }
        Ok(())
    }

    /// Number of events between two progress reports, chosen for several reports per second. Some
    /// events visit every queue of a switch, and with verification every event visits all queues.
    /// When losses are explained, thousands of shadow policy timers may precede an event.
    fn events_per_report(&self) -> u64 {
        const OF_SMALL_SWITCHES: u64 = 1 << 18;
        let most_queues =
            self.switches.iter().map(|switch| switch.queues().count() as u64).max().unwrap_or(0);
        let work = most_queues / 1_024 + if self.verify { 4 + most_queues / 32 } else { 0 };
        let work = work + if self.records.explainer.is_some() { 4_095 } else { 0 };
        (OF_SMALL_SWITCHES / (1 + work)).max(1)
    }

    /// Progress of the run at the time of its last event.
    pub(crate) fn progress_of_events(&self) -> Progress {
        Progress {
            now: self.world.now(),
            duration: self.plan.duration,
            end: self.plan.end,
            packet_hops: self.world.packet_hops(),
            flows_started: self.hosts.flows().started(),
            flows_live: self.hosts.flows().live() as u64,
        }
    }

    /// Whether no work is left in the run.
    pub(crate) fn is_over(&self) -> bool {
        self.arrivals_are_over && self.hosts.flows().live() == 0 && self.demand.is_over()
    }

    #[inline(always)] // Inlined into both hot loops.
    fn handle_link_event(&mut self, kind: Kind, link: LinkId) -> Result<(), SimError> {
        match kind {
            Kind::Delivery => match self.world.deliver(link) {
                Ok((End::Switch(switch, port), packet)) => self.receive_at_switch(switch, port, packet),
                Ok((End::Host(host), packet)) => {
                    self.hosts.receive(&mut self.world.uplink(host), packet);
                    self.settle_hosts();
                    Ok(())
                }
                Err(packet) => {
                    self.lose(packet);
                    Ok(())
                }
            },
            Kind::TransmissionComplete => match self.world.complete_transmission(link) {
                Some(End::Switch(switch, port)) => self.send_from_switch(switch, port),
                Some(End::Host(host)) => {
                    self.at_host(host, Hosts::send);
                    Ok(())
                }
                None => Ok(()),
            },
        }
    }

    pub(crate) fn handle_rare_event(&mut self, sink: &mut dyn RunSink) -> Result<(), SimError> {
        self.events += 1;
        if self.world.timers().next_time() <= self.world.now() {
            let timer = self.world.timers().pop().expect("a timer is due");
            self.handle_timer(timer, sink)?;
        } else {
            let flow = self.demand.take_flow();
            self.start_flow(flow, COMMON)?;
        }
        self.flush_rows(self.world.now(), sink)
    }

    /// Writes the rows of flows and queries that ended before `until` to the sink.
    pub(crate) fn flush_rows(&mut self, until: Time, sink: &mut dyn RunSink) -> Result<(), SimError> {
        self.records.flush(until, &self.world, &mut self.demand.queries, sink)?;
        if self.demand.has_schedules() {
            self.demand.flush_schedules(sink)?;
        }
        match &mut self.pfc {
            Some(pfc) if pfc.has_rows() => pfc.flush(sink),
            _ => Ok(()),
        }
    }

    pub(crate) fn handle_timer(&mut self, timer: Timer, sink: &mut dyn RunSink) -> Result<(), SimError> {
        match timer {
            Timer::Sender(slot) => self.at_source(slot, Hosts::handle_sender_timer),
            Timer::Pace(slot) => self.at_source(slot, Hosts::handle_pace_timer),
            Timer::Connection(slot) => self.at_source(slot, Hosts::handle_connection_timer),
            Timer::DelayedAck(slot) => {
                let host = self.hosts.destination(slot);
                self.at_host(host, |hosts, uplink| hosts.handle_delayed_ack_timer(uplink, slot));
            }
            Timer::Policy(switch) => self.handle_policy_timer(switch)?,
            Timer::Rate(link) => {
                if let End::Switch(switch, port) = self.world.links()[link].from {
                    self.serve(switch, port)?;
                }
            }
            Timer::LinkChange(cable) => self.handle_link_change(cable)?,
            Timer::Pause(timer) => self.handle_pause_timer(timer)?,
            Timer::Ask(thread) => self.demand.handle_ask(&mut self.world, thread),
            Timer::Request(thread) => {
                while let Some((spec, pool)) = self.demand.next_answer(&mut self.world, thread) {
                    self.start_flow(spec, pool)?;
                }
            }
            Timer::ScheduleRelease => self.demand.handle_schedule_release(&mut self.world),
            Timer::ScheduleBegin(index) => self.demand.handle_schedule_begin(&mut self.world, index),
            Timer::ScheduleStep(node) => {
                if let Some(spec) = self.demand.handle_schedule_step(&mut self.world, node) {
                    self.start_scheduled_flow(spec, node)?;
                }
            }
            Timer::PhaseEnd => self.close_arrival_phase(),
            Timer::Sample => {
                if let Some(next) = self.records.sample(self.view(), sink)? {
                    self.world.timers().push(next, Timer::Sample);
                }
            }
        }
        Ok(())
    }

    /// Gives a flow's data to the flow's source host.
    /// A transport with persistent connections uses a connection of `pool`.
    pub(crate) fn start_flow(&mut self, spec: FlowSpec, pool: PoolId) -> Result<(), SimError> {
        if self.part.as_ref().is_none_or(|shard| shard.part == ShardId::FIRST) {
            self.demand.queries.note_start(&spec);
        }
        let source = HostId::new(spec.src);
        let slot = self.hosts.start_flow(&mut self.world.uplink(source), spec, pool)?;
        if let (Some(starts), Some(order)) = (&mut self.starts, self.demand.schedules.order()) {
            starts.push((order, self.hosts.describe_start(slot)));
        }
        self.settle_hosts();
        Ok(())
    }

    /// Starts the flow that executes a node of a schedule.
    fn start_scheduled_flow(&mut self, spec: FlowSpec, node: u32) -> Result<(), SimError> {
        let number = self.hosts.flows().started();
        self.start_flow(spec, COMMON)?;
        // The shards of a network number the flow later.
        if self.starts.is_none() {
            self.demand.note_scheduled_flow(node, number);
        }
        Ok(())
    }

    /// Runs `handle` for a flow at its source host and settles the effects of the call.
    fn at_source(&mut self, slot: FlowSlot, handle: impl FnOnce(&mut Hosts, &mut Uplink<'_>, FlowSlot)) {
        let host = self.hosts.source(slot);
        self.at_host(host, |hosts, uplink| handle(hosts, uplink, slot));
    }

    /// Runs `handle` at a host and settles the effects of the call.
    #[inline]
    fn at_host(&mut self, host: HostId, handle: impl FnOnce(&mut Hosts, &mut Uplink<'_>)) {
        handle(&mut self.hosts, &mut self.world.uplink(host));
        self.settle_hosts();
    }

    /// Read-only view of the network for observers.
    fn view(&self) -> View<'_> {
        View {
            world: &self.world,
            hosts: &self.hosts,
            switches: &self.switches,
            topology: &self.plan.topology,
        }
    }
}
