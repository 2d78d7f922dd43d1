//! Description of single events, for callers that look at each event of a run.

use super::Simulation;
use crate::SimError;
use crate::engine::Progress;
use crate::ids::{FlowSlot, HostId, Id, SwitchId};
use crate::switch::QueuePlace;
use crate::world::calendar::Kind;
use crate::world::link::End;
use crate::world::packet;
use crate::world::timers::Timer;
use bufferlab_metrics::RunSink;
use bufferlab_units::Time;

/// One event of a run, and its consequences at the event's switch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Time of the event.
    pub time: Time,
    /// Kind of the event: `arrival` at a node, `loss` on a link that went down, `transmission` (the
    /// next waiting packet leaves), `flow` (a flow starts), or the name of a timer.
    pub kind: &'static str,
    /// Name of the host or switch of the event. `None` for an event of the whole run.
    pub node: Option<String>,
    /// Port of the switch: ingress of an arriving packet, egress of a transmission.
    pub port: Option<u16>,
    /// Number of the event's flow, as in the table of flows.
    pub flow: Option<u64>,
    /// Kind of the arriving packet: `data`, `ack`, `syn` or `syn-ack`.
    pub packet: Option<&'static str>,
    /// Size on the wire of the arriving packet (bytes).
    pub bytes: Option<u32>,
    /// Number of packets that the switch refused in the event.
    pub dropped: u64,
    /// Number of packets that the switch stored earlier and removed in the event.
    pub evicted: u64,
    /// Number of packets that the switch marked in the event.
    pub marked: u64,
}

impl Simulation {
    /// Handles the next event like [`Self::step`], and describes it. `None` if no event is left.
    ///
    /// # Errors
    /// Returns the errors of [`Self::run_while`].
    pub fn next_event(
        &mut self,
        sink: &mut dyn RunSink,
        go_on: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<Option<Event>, SimError> {
        let handled = self.events;
        let (mut event, switch) = self.upcoming_event();
        let before = self.losses_and_marks(switch);
        self.step(1, sink, go_on)?;
        if self.events == handled {
            return Ok(None);
        }
        let after = self.losses_and_marks(switch);
        [event.dropped, event.evicted, event.marked] =
            std::array::from_fn(|index| after[index] - before[index]);
        Ok(Some(event))
    }

    /// Describes the event that [`Self::step`] handles next, and returns the event's switch.
    fn upcoming_event(&mut self) -> (Event, Option<SwitchId>) {
        let (timer, start) = (self.world.timers().next_time(), self.demand.next_start());
        let link_event = self.world.next_link_event();
        if link_event.time <= timer.min(start) && link_event.time < Time::MAX {
            return self.upcoming_link_event();
        }
        if timer > start {
            let spec = self.demand.next_flow();
            let node = spec.map(|spec| self.plan.topology.hosts[spec.src as usize].clone());
            let flow = Some(self.hosts.flows().started());
            return (Event { time: start, kind: "flow", node, flow, ..Event::default() }, None);
        }
        match self.world.timers().peek() {
            Some(due) => self.upcoming_timer(timer, due),
            None => (Event::default(), None),
        }
    }

    fn upcoming_link_event(&mut self) -> (Event, Option<SwitchId>) {
        let (time, kind, link) = self.world.peek_link_event();
        let link = &self.world.links()[link];
        if kind == Kind::TransmissionComplete {
            return self.at_node(Event { time, kind: "transmission", ..Event::default() }, link.from);
        }
        let first = link.pipe.packets(self.world.packets()).next().expect("a delivery has its packet");
        let packet = &self.world.packets()[first];
        let event = Event {
            time,
            kind: if link.head_is_lost { "loss" } else { "arrival" },
            flow: Some(self.hosts.flow(packet.flow()).number),
            packet: Some(match packet.flags.kind() {
                packet::Kind::Data => "data",
                packet::Kind::Ack => "ack",
                packet::Kind::Syn => "syn",
                packet::Kind::SynAck => "syn-ack",
            }),
            bytes: Some(packet.header.size),
            ..Event::default()
        };
        self.at_node(event, link.to)
    }

    fn upcoming_timer(&self, time: Time, timer: Timer) -> (Event, Option<SwitchId>) {
        let event = |kind| Event { time, kind, ..Event::default() };
        let at_source = |kind, slot| self.at_flow(event(kind), slot, self.hosts.source(slot));
        let at_switch = |kind, switch: SwitchId| {
            let node = Some(self.plan.topology.switches[switch.index()].clone());
            (Event { node, ..event(kind) }, Some(switch))
        };
        match timer {
            Timer::LinkChange(_) => (event("cable"), None),
            Timer::Pause(_) => (event("pause"), None),
            Timer::Policy(switch) => at_switch("policy", switch),
            Timer::Rate(link) => self.at_node(event("rate-limit"), self.world.links()[link].from),
            Timer::Sender(slot) => at_source("sender", slot),
            Timer::Pace(slot) => at_source("pace", slot),
            Timer::Connection(slot) => at_source("connection", slot),
            Timer::DelayedAck(slot) => self.at_flow(event("delayed-ack"), slot, self.hosts.destination(slot)),
            Timer::Ask(_) | Timer::Request(_) => (event("query"), None),
            Timer::ScheduleRelease | Timer::ScheduleStep(_) | Timer::ScheduleBegin(_) => {
                (event("schedule"), None)
            }
            Timer::PhaseEnd => (event("duration"), None),
            Timer::Sample => (event("sample"), None),
        }
    }

    fn at_flow(&self, event: Event, slot: FlowSlot, host: HostId) -> (Event, Option<SwitchId>) {
        let flows = self.hosts.flows();
        // A timer may expire after the end of its flow.
        let flow = flows.is_live(slot).then(|| flows.info(slot).number);
        self.at_node(Event { flow, ..event }, End::Host(host))
    }

    fn at_node(&self, event: Event, end: End) -> (Event, Option<SwitchId>) {
        let topology = &self.plan.topology;
        match end {
            End::Host(host) => (Event { node: Some(topology.hosts[host.index()].clone()), ..event }, None),
            End::Switch(switch, port) => {
                let node = Some(topology.switches[switch.index()].clone());
                (Event { node, port: Some(port), ..event }, Some(switch))
            }
        }
    }

    /// Numbers of packets that a switch has dropped, evicted and marked so far.
    fn losses_and_marks(&self, switch: Option<SwitchId>) -> [u64; 3] {
        let queues = switch.into_iter().flat_map(|switch| self.switches[switch].queues());
        queues.fold([0; 3], |[dropped, evicted, marked], QueuePlace { slice, local, .. }| {
            let counters = slice.core.counters(local);
            [dropped + counters.dropped, evicted + counters.evicted, marked + counters.marked]
        })
    }
}
