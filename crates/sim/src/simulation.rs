//! The state of a run and its main loop.

use crate::SimError;
use crate::calendar::{Calendar, Kind};
use crate::closed_loops::ClosedLoops;
use crate::connections::Connections;
use crate::explain::Explainer;
use crate::flow::Flows;
use crate::ids::{CableId, HostId, LinkId, PacketId, SwitchId, Table, TransportId};
use crate::link::{End, Link};
use crate::nic::Nic;
use crate::packet::Slab;
use crate::pfc::Pfc;
use crate::routing::Routes;
use crate::switch_node::SwitchNode;
use crate::telemetry::Telemetry;
use crate::timers::{Timer, Timers};
use bufferlab_metrics::{FlowRow, RunSink, RunTotals};
use bufferlab_scenario::{NicQueueing, OutputSpec, PersistentSpec, Topology};
use bufferlab_transport::{ConfiguredControl, Spacing, TcpConfig};
use bufferlab_units::{RandomStream, Time};
use bufferlab_workload::{FlowSource, FlowSpec, MergeSource};
use std::collections::BTreeMap;

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Simulated time.
    pub now: Time,
    /// When flows stop arriving.
    pub duration: Time,
    /// When the run ends at the latest.
    pub end: Time,
    /// Packets that crossed a link so far.
    pub packet_hops: u64,
    /// Flows started.
    pub flows_started: u64,
    /// Flows alive.
    pub flows_live: u64,
}

/// What decides when a flow's packets are sent.
#[derive(Clone, Debug)]
pub(crate) enum Control {
    /// A congestion control.
    Window(ConfiguredControl),
    /// The same, of a queue pair.
    QueuePair(ConfiguredControl),
    /// The clock: one full segment per `gap` on average.
    Pace { gap: Time, spacing: Spacing },
}

impl Control {
    /// Whether switches must report their queues to its data.
    pub(crate) fn wants_telemetry(&self) -> bool {
        match self {
            Self::Window(control) | Self::QueuePair(control) => control.info().wants_telemetry,
            Self::Pace { .. } => false,
        }
    }
}

/// A transport as hosts of one rate use it.
#[derive(Debug)]
pub(crate) struct Transport {
    pub(crate) tcp: TcpConfig,
    pub(crate) control: Control,
    /// Messages share connections.
    pub(crate) persistent: Option<PersistentSpec>,
    /// Switches must report their queues to its data.
    pub(crate) wants_telemetry: bool,
    pub(crate) segment: u32,
    pub(crate) header: u16,
    pub(crate) ack: u16,
    pub(crate) unscheduled_bytes: u64,
    pub(crate) control_unscheduled: bool,
    pub(crate) ecn_capable: bool,
    /// A flow draws one of them.
    pub(crate) data_priorities: Vec<u8>,
    /// Bytes sent from which on its data is one queue further.
    pub(crate) pias_thresholds: Vec<u64>,
    pub(crate) small_bytes: u64,
    pub(crate) control_priority: u8,
    pub(crate) control_max_payload: u32,
    /// A flow is complete when its sender knows, not when its receiver has the last byte.
    pub(crate) ends_at_sender: bool,
    /// Bytes of every segment that count in the slowdown's ideal beside its payload.
    pub(crate) ideal_header: u32,
}

/// A query in progress.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    pub(crate) class: u16,
    pub(crate) client: u32,
    pub(crate) start: Time,
    pub(crate) started: u32,
    pub(crate) finished: u32,
    /// How many flows it will have, where that is known beforehand.
    pub(crate) expected: Option<u32>,
    pub(crate) bytes: u64,
    pub(crate) last: Time,
    pub(crate) dropped: u64,
    pub(crate) timeouts: u32,
    /// An answer will never be complete: packets of an open-loop flow were lost.
    pub(crate) lossy: bool,
}

/// A network and its traffic, ready to run.
pub struct Simulation {
    pub(crate) now: Time,
    pub(crate) calendar: Calendar,
    pub(crate) packets: Slab,
    pub(crate) telemetry: Telemetry,
    pub(crate) links: Table<LinkId, Link>,
    pub(crate) switches: Table<SwitchId, SwitchNode>,
    pub(crate) nics: Table<HostId, Nic>,
    pub(crate) flows: Flows,
    pub(crate) routes: Routes,
    pub(crate) timers: Timers,
    /// By transport of the scenario and kind of host: `transport * kinds + kind`.
    pub(crate) transports: Table<TransportId, Transport>,
    /// Hosts whose links have one rate are of a kind.
    pub(crate) host_kinds: Table<HostId, u8>,
    pub(crate) kinds: usize,
    pub(crate) nic_queueing: NicQueueing,
    /// `Some`: every packet draws its path.
    pub(crate) spray: Option<RandomStream>,
    pub(crate) path_stream: RandomStream,
    /// Draws queues for flows of transports that have several.
    pub(crate) queue_stream: RandomStream,
    /// Whether queueing delays are recorded.
    pub(crate) measure_delays: bool,
    pub(crate) packet_hops: u64,
    pub(crate) verify: bool,
    /// Flow control, where a switch has lossless priorities.
    pub(crate) pfc: Option<Box<Pfc>>,
    /// Explains events, where that was asked for.
    pub(crate) explainer: Option<Explainer>,
    // From here on: rarely touched.
    pub(crate) seed: u64,
    pub(crate) duration: Time,
    pub(crate) end: Time,
    pub(crate) topology: Topology,
    /// The two links of each.
    pub(crate) cables: Table<CableId, (LinkId, LinkId)>,
    /// The link that leads to each host.
    pub(crate) downlinks: Table<HostId, LinkId>,
    pub(crate) output: OutputSpec,
    pub(crate) source: MergeSource,
    pub(crate) next_flow: Option<FlowSpec>,
    pub(crate) classes: Vec<String>,
    pub(crate) class_transport: Vec<u32>,
    pub(crate) listed_queries: BTreeMap<u32, u32>,
    /// By class: open-loop flows started, which number their random streams.
    pub(crate) paced_flows: Vec<u64>,
    pub(crate) queries: BTreeMap<u32, Query>,
    pub(crate) connections: Connections,
    pub(crate) closed_loops: ClosedLoops,
    pub(crate) finished_flows: Vec<FlowRow>,
    pub(crate) finished_queries: Vec<(u32, Query)>,
    pub(crate) flows_finished: u64,
    pub(crate) events: u64,
}

impl Simulation {
    /// Checks every identity after every switch event (slow), instead of at the end only.
    pub fn set_verify(&mut self, verify: bool) {
        self.verify = verify;
    }

    /// Names of the flow classes, in the order of their indices in rows.
    #[must_use]
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// Runs to the end, writing rows to `sink`; `progress` is called from time to time.
    ///
    /// The run ends when all flows are done, not before `duration`, and at the latest at `duration + drain`.
    ///
    /// # Errors
    /// If the sink fails, or an identity is broken.
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

    /// [`Self::run`], given up when `go_on`, which is asked from time to time (every 262,144 events), says no.
    ///
    /// # Errors
    /// As [`Self::run`]; [`SimError::Interrupted`] if it was given up.
    pub fn run_while(
        mut self,
        sink: &mut dyn RunSink,
        go_on: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<RunTotals, SimError> {
        const EVENTS_PER_REPORT: u64 = 1 << 18;
        let mut next_report = EVENTS_PER_REPORT;
        loop {
            let link_event = self.calendar.next_time();
            let rare_event = self.next_rare_event();
            // At one instant links go first: the events of a packet before the timers that look at them.
            if rare_event < link_event {
                if rare_event > self.end || self.is_over() {
                    break;
                }
                self.now = rare_event;
                self.handle_rare_event(sink)?;
                continue;
            }
            if link_event > self.end {
                break;
            }
            let (time, kind, id) = self.calendar.pop();
            self.now = time;
            self.events += 1;
            match kind {
                Kind::Delivery => self.handle_delivery(id)?,
                Kind::TransmissionComplete => self.handle_transmission_complete(id)?,
            }
            if self.explainer.as_ref().is_some_and(Explainer::is_satisfied) {
                self.end = self.now;
                break;
            }
            if self.events >= next_report {
                next_report = self.events + EVENTS_PER_REPORT;
                if !go_on(&self.progress()) {
                    return Err(SimError::Interrupted);
                }
            }
        }
        self.finish(sink)
    }

    fn progress(&self) -> Progress {
        Progress {
            now: self.now,
            duration: self.duration,
            end: self.end,
            packet_hops: self.packet_hops,
            flows_started: self.flows.started(),
            flows_live: self.flows.live() as u64,
        }
    }

    /// Nothing is left to do.
    pub(crate) fn is_over(&self) -> bool {
        self.now >= self.duration
            && self.flows.live() == 0
            && self.next_flow.is_none()
            && self.closed_loops.are_over()
    }

    #[inline]
    fn next_rare_event(&self) -> Time {
        let flow = self.next_flow.as_ref().map_or(Time::MAX, |flow| flow.start);
        flow.min(self.timers.next_time())
    }

    fn handle_rare_event(&mut self, sink: &mut dyn RunSink) -> Result<(), SimError> {
        self.events += 1;
        if self.timers.next_time() <= self.now {
            let (time, timer) = self.timers.pop().expect("a timer is due");
            match timer {
                Timer::Sender(slot) => self.handle_sender_timer(time, slot),
                Timer::DelayedAck(slot) => self.handle_delayed_ack_timer(time, slot)?,
                Timer::Pace(slot) => self.handle_pace_timer(time, slot),
                Timer::Policy(switch) => self.handle_policy_timer(switch)?,
                Timer::LinkChange(cable) => self.handle_link_change(cable)?,
                Timer::PauseObeyed(key) => self.handle_pause_obeyed(key),
                Timer::ResumeObeyed(key) => self.handle_resume_obeyed(key)?,
                Timer::PauseExpiry(key) => self.handle_pause_expiry(key)?,
                Timer::PauseRefresh(key) => self.handle_pause_refresh(key),
                Timer::Storm(index) => self.handle_storm(index),
                Timer::Watchdog(switch) => self.handle_watchdog(switch)?,
                Timer::Connection(slot) => self.handle_connection_timer(slot),
                Timer::Ask(thread) => self.handle_ask(thread),
                Timer::Request(thread) => self.handle_request(thread)?,
                Timer::PhaseEnd => {
                    self.close_arrival_phase();
                    self.close_unlimited();
                }
                Timer::Sample => self.sample(sink)?,
            }
        } else {
            let flow = self.next_flow.take().expect("a flow is due");
            self.next_flow = self.source.next_flow();
            self.start_flow(flow)?;
        }
        self.flush_rows(sink)
    }

    fn handle_policy_timer(&mut self, switch: SwitchId) -> Result<(), SimError> {
        let node = &mut self.switches[switch];
        node.handle_timeout(self.now);
        node.timer_set = false;
        self.check_policy(switch)?;
        self.set_policy_timer(switch);
        if !self.switches[switch].record.pauses.is_empty() {
            self.send_pauses(switch);
        }
        if !self.switches[switch].record.evicted.is_empty() {
            self.collect_evicted(switch);
            if self.verify {
                self.verify_switch(switch)?;
            }
        }
        Ok(())
    }

    /// Sets a timer for the policy's next timeout, if it has one and no timer is set.
    #[inline]
    pub(crate) fn set_policy_timer(&mut self, switch: SwitchId) {
        let node = &mut self.switches[switch];
        if node.timer_set {
            return;
        }
        if let Some(next) = node.poll_timeout() {
            node.timer_set = true;
            self.timers.push(next, Timer::Policy(switch));
        }
    }

    /// The first packet in a link's pipe has arrived.
    #[inline]
    fn handle_delivery(&mut self, id: LinkId) -> Result<(), SimError> {
        let link = &mut self.links[id];
        let (_, packet) = link.pipe.pop_front().expect("a delivery has its packet");
        let to = link.to;
        if let Some(&(next, _)) = link.pipe.front() {
            self.calendar.push(next, Kind::Delivery, id);
        }
        if link.head_is_lost {
            link.head_is_lost = false;
            link.lost_packets += 1;
            self.lose(packet);
            return Ok(());
        }
        match to {
            End::Switch(switch, port) => self.receive_at_switch(switch, port, packet),
            End::Host(host) => self.receive_at_host(host, packet),
        }
    }

    #[inline]
    fn handle_transmission_complete(&mut self, id: LinkId) -> Result<(), SimError> {
        let link = &mut self.links[id];
        if link.busy_until > self.now {
            // A pause frame went first.
            self.calendar.push(link.busy_until, Kind::TransmissionComplete, id);
            return Ok(());
        }
        link.waiting = false;
        if link.down {
            return Ok(());
        }
        match link.from {
            End::Switch(switch, port) => self.send_from_switch(id, switch, port),
            End::Host(host) => {
                self.send_from_host(host);
                Ok(())
            }
        }
    }

    /// Something waits for link `id`: true if it is idle and may send now; otherwise it will be polled when its transmission is
    /// complete.
    #[inline]
    pub(crate) fn claim(&mut self, id: LinkId) -> bool {
        let link = &mut self.links[id];
        if link.waiting || link.down {
            return false;
        }
        if link.busy_until <= self.now {
            return true;
        }
        link.waiting = true;
        let at = link.busy_until;
        self.calendar.push(at, Kind::TransmissionComplete, id);
        false
    }

    /// Puts a packet on link `id`, which is idle. `more`: something waits behind it.
    #[inline]
    pub(crate) fn transmit(&mut self, id: LinkId, packet: PacketId, more: bool) {
        let meta = &self.packets[packet];
        let marked = meta.flags.has(crate::packet::Flags::MARKED);
        let link = &mut self.links[id];
        let (arrival, alone) = link.transmit(self.now, packet, meta.wire, marked);
        let done = link.busy_until;
        link.waiting = more;
        self.packet_hops += 1;
        if alone {
            self.calendar.push(arrival, Kind::Delivery, id);
        }
        if more {
            self.calendar.push(done, Kind::TransmissionComplete, id);
        }
    }
}
