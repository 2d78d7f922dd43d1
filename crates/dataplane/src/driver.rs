//! Driver of a switch, which decides about packets. The driver's inputs are arrivals with their
//! times. Its outputs are verdicts, marks and departures. The driver has no clock and no sockets.

use bufferlab_core::{
    Admission, Buffer, BuildError, DropReason, Header, Observer, Packet, Policy, PolicyFailure, QueueId,
    Refusal, Switch, SwitchConfig, SwitchEvent,
};
use bufferlab_scenario::Scenario;
use bufferlab_units::{Serializer, Time, mix};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Minimum time between two arrivals, so that no two packets arrive at the same time.
const APART: Time = Time::from_ns(1);

/// A packet that arrives at the switch's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// Time at which the packet's last bit arrives.
    pub at: Time,
    /// Header of the packet. The size in this header is the bytes on the wire, with preamble, check
    /// sequence and gap.
    pub header: Header,
    /// Number of the port at which the packet arrived.
    pub ingress: u16,
    /// Number of the port through which the packet leaves.
    pub egress: u16,
}

/// A packet that leaves the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departing {
    /// Identifier that the caller chose for the packet.
    pub id: u32,
    /// Number of the port through which the packet leaves.
    pub port: u16,
    /// Time at which the first bit of the packet departs. From this time, the packet is no longer
    /// in the buffer.
    pub starts: Time,
    /// Time at which the packet's last bit departs: the neighbour may have the packet at this time.
    pub ends: Time,
    /// Whether the switch marked the packet on departure.
    pub marked: bool,
}

/// Core switch of `bufferlab-core` with any policy.
pub type Core = Switch<Box<dyn Policy>>;

/// Receiver of the decisions about packets, in the order of time. `core` and `buffer` have the
/// state immediately after the event.
pub trait PacketEvents {
    /// The switch stored packet `id` in `queue`. `marked` is true if the switch marked the packet
    /// on arrival.
    fn stored(&mut self, id: u32, queue: QueueId, marked: bool, core: &Core);
    /// The switch refused packet `id`, which requested space in `queue`.
    fn refused(&mut self, id: u32, queue: QueueId, refusal: Refusal, core: &Core);
    /// The switch removed packet `id` from `queue` without sending it.
    fn evicted(&mut self, id: u32, queue: QueueId, at: Time, reason: DropReason, buffer: &Buffer);
    /// The switch sent the packet that `departing` describes.
    fn sent(&mut self, departing: Departing, core: &Core);
}

/// Observer of the core switch that forwards evictions.
struct Listener<'a, W>(&'a mut W);

impl<W: PacketEvents> Observer for Listener<'_, W> {
    fn on(&mut self, event: &SwitchEvent<'_>, buffer: &Buffer) {
        if let SwitchEvent::Evicted { now, queue, stored, reason } = *event {
            self.0.evicted(stored.packet, queue, now, reason, buffer);
        }
    }
}

struct EgressPort {
    serializer: Serializer,
    /// Whether the port is sending; [`Driver::ends`] has the end of the transmission.
    is_busy: bool,
}

/// Driver of the core switch, with a virtual clock for every port.
///
/// If several events have one time, ends of transmissions come first, in the order of their starts.
/// The arrival is next, and timers of the policy are last. With `tie_order = "insertion"` the
/// simulator uses this order, so the simulator gives equal verdicts for a replayed record.
pub struct Driver {
    core: Core,
    ports: Vec<EgressPort>,
    /// Ends of transmissions: time, number of the transmission, number of the port.
    ends: BinaryHeap<Reverse<(Time, u64, u16)>>,
    transmissions: u64,
    /// Number of bytes on the wire, by packet identifier.
    wire_bytes: Vec<u32>,
    /// Number of bytes of a frame that the buffer does not charge.
    uncharged: u32,
    /// Time at which the policy's next timer is due.
    timer: Option<Time>,
    /// Earliest time of the next arrival; decisions before this time are final.
    earliest: Time,
    /// Time until which decisions are final; `None` if the driver has decided nothing.
    decided: Option<Time>,
    late: u64,
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Driver").field("earliest", &self.earliest).finish_non_exhaustive()
    }
}

/// Builds the core of the first switch of `scenario`, with the simulator's initial state.
///
/// # Errors
/// If policy, scheduler, classifier or marking rule do not fit the switch.
pub fn core_of(scenario: &Scenario) -> Result<Core, BuildError> {
    let spec = &scenario.switches[0];
    let queues_per_port = usize::from(spec.queues_per_port);
    let largest = scenario.transports.iter().map(|t| u64::from(t.segment_bytes + t.header_bytes)).max();
    if spec.limits_rates() {
        let message = "a switch for real packets cannot limit rates: leave out rate".to_owned();
        return Err(BuildError { param: "egress", message });
    }
    let rates = scenario.topology.switch_port_rates(0);
    let scheduler = spec.scheduler_of(&(0..rates.len()));
    let mut config = SwitchConfig {
        queues_per_port,
        max_packet: largest.unwrap_or(1_500) - u64::from(spec.uncharged_bytes),
        scheduler: scheduler
            .map_err(|error| BuildError { param: "scheduler", message: error.to_string() })?,
        profile: scenario.profile,
        // The simulator derives the seed of its first switch with this formula, too.
        seed: mix(scenario.seed ^ mix(1)),
        hardware: spec.hardware.switch,
        ..SwitchConfig::new(spec.buffer_bytes, rates)
    };
    if let Some(classifier) = &spec.classifier {
        config.classifier = Some(classifier.classifier(queues_per_port)?);
    }
    if let Some(ecn) = &spec.ecn {
        config.marker = Some(ecn.marker(&config.shape())?);
    }
    config.build(&spec.policy, &spec.policy_params)
}

impl Driver {
    /// Creates a driver for the first switch of `scenario`.
    ///
    /// # Errors
    /// Returns the errors of [`core_of`].
    pub fn new(scenario: &Scenario) -> Result<Self, BuildError> {
        let core = core_of(scenario)?;
        let port = |rate| EgressPort { serializer: Serializer::new(rate), is_busy: false };
        Ok(Self {
            timer: core.poll_timeout(),
            core,
            ports: scenario.topology.switch_port_rates(0).into_iter().map(port).collect(),
            ends: BinaryHeap::new(),
            transmissions: 0,
            wire_bytes: Vec::new(),
            uncharged: scenario.switches[0].uncharged_bytes,
            earliest: Time::ZERO,
            decided: None,
            late: 0,
        })
    }

    /// Core switch that decides about frames.
    #[must_use]
    pub const fn core(&self) -> &Core {
        &self.core
    }

    /// Earliest time that the next arrival can have, because decisions before this time are final.
    #[must_use]
    pub const fn earliest(&self) -> Time {
        self.earliest
    }

    /// Number of arrivals that came after a decision about an equal or a later time.
    #[must_use]
    pub const fn late(&self) -> u64 {
        self.late
    }

    /// Returns a failure of the policy once; later calls return `None`.
    #[must_use]
    pub fn take_failure(&mut self) -> Option<PolicyFailure> {
        self.core.take_failure()
    }

    /// Time at which the next transmission of a port ends.
    #[must_use]
    pub fn next_end(&self) -> Option<Time> {
        self.ends.peek().map(|Reverse((at, ..))| *at)
    }

    /// Handles the arrival of packet `id`, after all earlier events. Returns the time at which the
    /// packet counts as arrived. This time is later than `incoming.at` if later decisions are
    /// already final.
    pub fn arrive<W: PacketEvents>(&mut self, id: u32, incoming: &Incoming, events: &mut W) -> Time {
        let at = incoming.at.max(self.earliest);
        // Two arrivals with equal times are not late: they are copies of one frame, or frames of
        // two ports with equal timestamps.
        self.late += u64::from(self.decided.is_some_and(|decided| incoming.at <= decided));
        self.run(at, false, events);
        self.earliest = at + APART;
        let index = id as usize;
        if index >= self.wire_bytes.len() {
            self.wire_bytes.resize(index + 1, 0);
        }
        self.wire_bytes[index] = incoming.header.size;
        let packet = Packet {
            id,
            header: Header { size: incoming.header.size - self.uncharged, ..incoming.header },
            ingress_port: incoming.ingress,
            egress_port: incoming.egress,
        };
        let admission = self.core.handle_arrival(at, &packet, &mut Listener(events));
        if self.timer.is_none() {
            self.timer = self.core.poll_timeout();
        }
        let queue = self.core.queue_of(&packet);
        match admission {
            Admission::Refused(refusal) => events.refused(id, queue, refusal, &self.core),
            Admission::Stored { marked } => {
                events.stored(id, queue, marked, &self.core);
                if !self.ports[usize::from(incoming.egress)].is_busy {
                    self.send(at, incoming.egress, events);
                }
            }
        }
        at
    }

    /// Advances the time to `until`. After this call, no arrival may have an earlier time.
    pub fn advance<W: PacketEvents>(&mut self, until: Time, events: &mut W) {
        self.run(until, true, events);
        self.decided = self.decided.max(Some(until));
        // The time of an arrival must be a whole number of nanoseconds.
        self.earliest = self.earliest.max(Time((until.0 / APART.0 + 1) * APART.0));
    }

    /// Sends all packets that are stored in the switch.
    pub fn finish<W: PacketEvents>(&mut self, events: &mut W) {
        while let Some(end) = self.next_end() {
            self.advance(end, events);
        }
    }

    /// Handles ends of transmissions until `until`, and timers before `until`. With `with_timers`,
    /// the driver also handles timers at `until`.
    fn run<W: PacketEvents>(&mut self, until: Time, with_timers: bool, events: &mut W) {
        loop {
            let timer = self.timer.filter(|&at| at < until || (with_timers && at == until));
            match (self.next_end().filter(|&at| at <= until), timer) {
                (Some(end), timer) if timer.is_none_or(|timer| end <= timer) => {
                    let Some(Reverse((at, _, port))) = self.ends.pop() else { return };
                    self.ports[usize::from(port)].is_busy = false;
                    self.send(at, port, events);
                }
                (_, Some(at)) => {
                    self.core.handle_timeout(at, &mut Listener(events));
                    self.timer = self.core.poll_timeout();
                }
                (_, None) => return,
            }
        }
    }

    /// Sends the packet that the scheduler of the idle `port` chooses.
    fn send<W: PacketEvents>(&mut self, now: Time, port: u16, events: &mut W) {
        let Some(sent) = self.core.poll_transmit(now, port, &mut Listener(events)) else { return };
        let state = &mut self.ports[usize::from(port)];
        let ends = now + state.serializer.time(self.wire_bytes[sent.packet as usize]);
        state.is_busy = true;
        self.transmissions += 1;
        self.ends.push(Reverse((ends, self.transmissions, port)));
        let departing = Departing { id: sent.packet, port, starts: now, ends, marked: sent.marked };
        events.sent(departing, &self.core);
    }
}
