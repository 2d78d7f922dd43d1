//! The pipeline of one switch: classify, admit, enqueue, mark, schedule, depart.

mod bypass;
mod fork;

use self::bypass::FastPath;
pub use self::fork::build_policy;
use crate::buffer::{Buffer, End, IngressId, LedgerError, QueueId, Stored};
use crate::classify::Classifier;
use crate::event::{Observer, Refusal, SwitchEvent};
use crate::failure::{ClassifierFailure, MarkingFailure, PolicyFailure};
use crate::hardware::Hardware;
use crate::header::{Ecn, Header};
use crate::mark::{Markable, Marker, Moment};
use crate::policy::{
    Account, Arrival, BuildError, Departure, Dispatched, DropReason, Hooks, PauseDemand, PauseLevel, Policy,
    SwitchShape, Tags, Verdict,
};
use crate::schedule::{MAX_QUEUES_PER_PORT, Scheduler, Turns};
use bufferlab_params::{ParamValue, Profile};
use bufferlab_units::{BitRate, Time};

/// A packet that arrives at a switch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packet {
    /// Number of the packet. The driver chooses the number, and the switch returns the number when
    /// the packet departs.
    pub id: u32,
    /// Header of the packet. Its size does not include the cells and the overhead that
    /// the switch adds.
    pub header: Header,
    /// Port through which the packet arrives.
    pub ingress_port: u16,
    /// Port through which the packet leaves. The driver chooses the egress port, because the driver
    /// routes packets.
    pub egress_port: u16,
}

/// Outcome of a packet's arrival at a switch: stored or refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The switch has stored the packet. If `marked` is set, the driver must set the packet's
    /// congestion mark.
    Stored {
        /// Whether the switch marked the packet on arrival.
        marked: bool,
    },
    /// The switch has refused the packet, and the driver still owns the packet.
    Refused(Refusal),
}

impl Admission {
    /// A refusal that drops the packet for `reason`.
    #[must_use]
    pub const fn dropped(reason: DropReason) -> Self {
        Self::Refused(Refusal::dropped(reason))
    }
}

/// A packet whose transmission starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// Number of the packet, chosen by the driver.
    pub packet: u32,
    /// Bytes that the departure releases in the buffer.
    pub size: u32,
    /// Queue that the packet left.
    pub queue: QueueId,
    /// Whether the switch marked the packet on departure, so that the driver must set its
    /// congestion mark. Only packets that arrived [`Ecn::Capable`] and were not marked on arrival
    /// get this mark.
    pub marked: bool,
    /// Whether the port has another packet to send, in a queue that is not paused
    /// ([`Switch::wants_to_send`]).
    pub more: bool,
}

/// Numbers of packets and bytes of one egress queue since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that arrived for the egress queue.
    pub arrived: u64,
    /// Packets that the switch stored in the queue.
    pub enqueued: u64,
    /// Bytes of the stored packets, without padding to whole cells.
    pub enqueued_bytes: u64,
    /// Packets that the switch refused on arrival.
    pub dropped: u64,
    /// Bytes of the packets that the switch refused.
    pub dropped_bytes: u64,
    /// Stored packets that the switch removed without sending them.
    pub evicted: u64,
    /// Packets that the switch sent from the queue.
    pub departed: u64,
    /// Packets that the switch marked, on arrival or departure.
    pub marked: u64,
}

/// Configuration of a switch.
#[derive(Clone, Debug)]
pub struct SwitchConfig {
    /// Size B of the total buffer (bytes).
    pub capacity: u64,
    /// Line rate of every port of the switch.
    pub port_rates: Vec<BitRate>,
    /// Number of queues per port.
    pub queues_per_port: usize,
    /// Largest size that the switch charges for a packet (bytes).
    pub max_packet: u64,
    /// Scheduler, which chooses the queue of a port that sends next.
    pub scheduler: Scheduler,
    /// Classifier, which chooses the queue of an arriving packet, with its initial state. With
    /// `None`, the switch uses the policy's own classifier, or [`Classifier::identity`] if the
    /// policy has none.
    pub classifier: Option<Classifier>,
    /// Rule of ECN marking, with its initial state. With `None`, the switch marks no packets.
    pub marker: Option<Marker>,
    /// Profile that decides details which the papers leave open.
    pub profile: Profile,
    /// Seed of the switch's random streams.
    pub seed: u64,
    /// Deviations of the chip from the ideal switch.
    pub hardware: Hardware,
    /// Number of ports of the chip's other memories, beyond [`Self::port_rates`]. Packets may
    /// arrive through these ports.
    pub foreign_ports: usize,
    /// Lossless priorities: bit p is set if priority p is lossless. Policies that support PFC pause
    /// the senders of lossless priorities.
    pub lossless: u32,
    /// Lossless priorities by port, if ports differ (see [`SwitchShape::lossless_by_port`]). If the
    /// list is empty, `lossless` applies to every port.
    pub lossless_by_port: Vec<u32>,
}

impl SwitchConfig {
    /// A configuration with one queue per port, FIFO, no ECN, and packets up to 9,216 bytes.
    #[must_use]
    pub fn new(capacity: u64, port_rates: Vec<BitRate>) -> Self {
        Self {
            capacity,
            port_rates,
            queues_per_port: 1,
            max_packet: 9_216,
            scheduler: Scheduler::fifo(1),
            classifier: None,
            marker: None,
            profile: Profile::Paper,
            seed: 0,
            hardware: Hardware::IDEAL,
            foreign_ports: 0,
            lossless: 0,
            lossless_by_port: Vec::new(),
        }
    }

    /// Sets the number of queues per port to `queues`. A round robin serves the queues.
    #[must_use]
    pub fn with_queues(self, queues: usize) -> Self {
        Self { queues_per_port: queues, scheduler: Scheduler::round_robin(queues), ..self }
    }

    /// Shape of the switch, for which policies are built.
    #[must_use]
    pub fn shape(&self) -> SwitchShape {
        let reserved = self.hardware.reserves.total(self.port_rates.len(), self.queues_per_port);
        SwitchShape {
            capacity: self.capacity.saturating_sub(reserved),
            port_rates: self.port_rates.clone(),
            queues_per_port: self.queues_per_port,
            max_packet: u64::from(self.hardware.charged(self.max_packet as u32)),
            profile: self.profile,
            seed: self.seed,
            lossless: self.lossless,
            lossless_by_port: self.lossless_by_port.clone(),
            foreign_ports: self.foreign_ports,
            accounting: self.hardware.accounting,
        }
    }

    /// Builds a switch with the registered policy `name` and the given parameters.
    ///
    /// # Errors
    /// If the policy is unknown, a parameter is unknown, out of its domain or unfit for this
    /// switch, or the reserves exceed the memory.
    pub fn build(
        &self,
        name: &str,
        params: &[(String, ParamValue)],
    ) -> Result<Switch<Box<dyn Policy>>, BuildError> {
        Ok(Switch::new(self, self.policy(name, params)?))
    }

    /// Builds a switch as [`Self::build`] does, but with static calls of the most common policies
    /// ([`Dispatched`]).
    ///
    /// # Errors
    /// Returns the errors of [`Self::build`].
    pub fn build_dispatched(
        &self,
        name: &str,
        params: &[(String, ParamValue)],
    ) -> Result<Switch<Dispatched>, BuildError> {
        Ok(Switch::new(self, self.policy(name, params)?.into()))
    }

    fn policy(&self, name: &str, params: &[(String, ParamValue)]) -> Result<Box<dyn Policy>, BuildError> {
        let reserved = self.hardware.reserves.total(self.port_rates.len(), self.queues_per_port);
        if reserved > 0 && reserved + self.max_packet > self.capacity {
            let message = format!("{reserved} B set aside leave no room for a packet in {} B", self.capacity);
            return Err(BuildError { param: "hardware", message });
        }
        let queues = self.queues_per_port;
        if self.lossless.checked_shr(queues as u32).unwrap_or(0) != 0 {
            let message = format!("a lossless priority is beyond the {queues} queues of a port");
            return Err(BuildError { param: "lossless", message });
        }
        let (listed, ports) = (self.lossless_by_port.len(), self.port_rates.len());
        if listed != 0 && listed != ports {
            let message = format!("lossless priorities of {listed} ports, and the switch has {ports}");
            return Err(BuildError { param: "lossless", message });
        }
        if self.lossless != 0 && self.foreign_ports > 0 {
            let message =
                "a memory in slices cannot pause: no slice knows what an ingress queue holds".to_owned();
            return Err(BuildError { param: "lossless", message });
        }
        self.hardware
            .check_accounting(self.port_rates.len(), self.foreign_ports)
            .map_err(|message| BuildError { param: "hardware", message })?;
        build_policy(&self.shape(), &self.hardware, name, params)
    }
}

/// Number of queues of a port whose counters of bypassing packets are in [`Port`].
const NEAR_QUEUES: usize = 2;

/// State of a port: all that a bypassing packet reads and changes at its egress port. The state is
/// one cache line, because in a large network every packet uses a different port.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
struct Port {
    /// Queues of the port with packets: bit p is set if queue p is not empty.
    occupied: u32,
    /// Priorities that a pause (PFC) forbids the port to send: bit p for priority p.
    paused: u32,
    /// Priorities whose packets the PFC watchdog discards at this port: bit p for priority p.
    discard_mask: u32,
    /// Queue at which the round robin continues, if one round robin serves all queues of the port.
    cursor: u8,
    /// Counters of packets that bypassed the port's first queues. [`Switch::far_fast_path`] has the
    /// counters of the port's other queues.
    fast_path: [FastPath; NEAR_QUEUES],
}

const _: () = assert!(size_of::<Port>() == 64, "one cache line");

/// Record of the longest ingress queue of a priority.
#[derive(Clone, Copy, Debug, Default)]
struct PausePeak {
    /// Length of the ingress queue at its peak (bytes).
    bytes: u64,
    /// The ingress queue, and the comparison of its length with the pause threshold at the peak.
    /// `None` for a lossy queue.
    level: Option<(IngressId, PauseLevel)>,
}

/// One switch: its packets and ledger ([`Buffer`]) and its policy `P`.
///
/// The fields that the hot path reads most often are first, and the data of a bypassing packet
/// shares cache lines. In a large network every packet reaches a different switch and waits for
/// each cache line of the switch.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Switch<P> {
    /// Whether packets that find their port idle may bypass the queue ([`Self::bypass`]).
    can_bypass: bool,
    /// Whether the chip is ideal and no watchdog discards packets. The hot path checks this
    /// field first.
    ideal: bool,
    /// Whether the scheduler has state beyond [`Port::cursor`].
    has_turns: bool,
    /// Priorities of which the switch keeps `pause_peaks`: the priorities that are lossless at any
    /// port, until the policy has paused a sender.
    peak_priorities: u32,
    hooks: Hooks,
    /// Whether the switch must call the marker for arrivals, and for departures.
    marks_arrivals: bool,
    marks_departures: bool,
    /// Whether the switch may refuse arrivals without asking the policy: the marking rule may drop
    /// packets, or the classifier may fail.
    refuses_early: bool,
    policy: P,
    classifier: Classifier,
    ports: Vec<Port>,
    buffer: Buffer,
    scheduler: Scheduler,
    turns: Turns,
    /// Counters of all packets that did not bypass their queue, by queue.
    counters: Vec<Counters>,
    /// Counters of bypassing packets by queue, for queues without counters in [`Port`]. Empty if
    /// there are no such queues.
    far_fast_path: Vec<FastPath>,
    /// Marking thresholds by priority (bytes), if the marking rule is DCTCP's step.
    dctcp_thresholds: Option<[u64; MAX_QUEUES_PER_PORT]>,
    marker: Option<Marker>,
    /// Whether each ingress queue has paused its sender.
    paused_ingress: Vec<bool>,
    /// Longest ingress queue of each priority; empty if the policy pauses no sender.
    pause_peaks: Vec<PausePeak>,
    /// Whether any ingress queue has paused its sender.
    has_paused: bool,
    /// Priorities that are lossless at any port.
    lossless: u32,
    /// Priorities of which a stored or sent packet may change a pause.
    pause_priorities: u32,
    /// Empty ingress queues that have paused their senders.
    /// No departure from an empty queue can end its pause.
    pausing_empty: Vec<IngressId>,
    hardware: Hardware,
    /// Next time at which the switch shows policies the pool's current occupancy.
    next_refresh: Time,
    /// First demand of the policy that the switch could not meet.
    first_failure: Option<Box<PolicyFailure>>,
    /// Whether the classifier is the policy's choice: the configuration has no classifier.
    has_policy_classifier: bool,
}

impl<P: Policy> Switch<P> {
    /// A switch whose buffer `policy` manages.
    ///
    /// # Panics
    /// If a queue is in no group of the scheduler: the packets of such a queue would never leave.
    /// If the reserves exceed the memory.
    #[must_use]
    pub fn new(config: &SwitchConfig, mut policy: P) -> Self {
        assert!(
            config.scheduler.covers(config.queues_per_port),
            "the scheduler does not serve all {} queues of a port",
            config.queues_per_port
        );
        let ports = config.port_rates.len();
        let queues = ports * config.queues_per_port;
        let own = policy.take_classifier();
        let classifier = config.classifier.clone().or(own);
        let classifier = classifier.unwrap_or_else(|| Classifier::identity(config.queues_per_port));
        let hardware = config.hardware;
        let ingress_ports = ports + config.foreign_ports;
        let ingress_queues = ingress_ports * config.queues_per_port;
        let hooks = policy.hooks();
        let refuses_early = classifier.is_custom() || config.marker.as_ref().is_some_and(Marker::may_drop);
        let mut switch = Self {
            buffer: Buffer::with_reserves(
                config.capacity,
                ports,
                config.queues_per_port,
                hardware.reserves,
                ingress_ports,
            ),
            hooks,
            policy,
            classifier,
            scheduler: config.scheduler.clone(),
            marks_arrivals: config.marker.as_ref().is_some_and(|marker| marker.marks_at(Moment::Enqueue)),
            dctcp_thresholds: config.marker.as_ref().and_then(Marker::steps_on_arrival),
            marks_departures: config.marker.as_ref().is_some_and(|marker| marker.marks_at(Moment::Dequeue)),
            refuses_early,
            marker: config.marker.clone(),
            ports: vec![Port::default(); ports],
            has_turns: config.scheduler.has_turns(),
            turns: config.scheduler.new_turns(ports),
            far_fast_path: if config.queues_per_port > NEAR_QUEUES {
                vec![FastPath::default(); queues]
            } else {
                Vec::new()
            },
            counters: vec![Counters::default(); queues],
            paused_ingress: vec![false; ingress_queues],
            pause_peaks: Vec::new(),
            has_paused: false,
            peak_priorities: 0,
            lossless: config.lossless,
            pause_priorities: 0,
            pausing_empty: Vec::with_capacity(if hooks.contains(Hooks::PAUSE_REFUSED) {
                ingress_queues
            } else {
                0
            }),
            ideal: false,
            can_bypass: false,
            hardware,
            next_refresh: Time::ZERO,
            first_failure: None,
            has_policy_classifier: config.classifier.is_none(),
        };
        switch.buffer.set_most_unused(hardware.packet_overhead + hardware.cell_bytes.saturating_sub(1));
        switch.set_hooks(hooks);
        switch.size_pause_peaks();
        switch.ideal = switch.is_ideal();
        switch.can_bypass = switch.may_bypass();
        switch
    }

    /// The packet buffer of the switch, with the ledger of its bytes.
    #[inline]
    #[must_use]
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// The policy that manages the buffer.
    #[must_use]
    pub fn policy(&self) -> &P {
        &self.policy
    }

    /// Consumes the switch and returns its policy.
    #[must_use]
    pub fn into_policy(self) -> P {
        self.policy
    }

    /// The queue into which the switch classified `packet`, if `packet` arrived last. Otherwise the
    /// queue that `packet` would join now.
    #[must_use]
    pub fn queue_of(&self, packet: &Packet) -> QueueId {
        let queue = self.classifier.queue(&packet.header);
        self.buffer.queue_of(packet.egress_port, queue)
    }

    /// Packet and byte counters of an egress queue.
    #[must_use]
    pub fn counters(&self, queue: QueueId) -> Counters {
        self.fast_path(queue).added_to(self.counters[usize::from(queue.0)])
    }

    /// Size of the largest packet that bypassed the queue `queue` (bytes). Observers do not see
    /// bypassing packets ([`Self::bypass`]).
    #[must_use]
    pub fn largest_bypassed(&self, queue: QueueId) -> u32 {
        self.fast_path(queue).largest
    }

    /// The marker of the switch. `None` if the switch marks no packets.
    #[must_use]
    pub fn marker(&self) -> Option<&Marker> {
        self.marker.as_ref()
    }

    /// Deviations of the chip from the ideal switch.
    #[must_use]
    pub fn hardware(&self) -> &Hardware {
        &self.hardware
    }

    /// The policy's limit for a packet with `tags` in `queue` (bytes), if the policy has a limit.
    #[must_use]
    pub fn threshold(&self, queue: QueueId, tags: Tags) -> Option<u64> {
        self.policy.threshold(queue, tags, &self.buffer)
    }

    /// Handles the arrival of a packet. If the packet's egress port is idle,
    /// the driver must then call [`Self::poll_transmit`] for the egress port.
    // Rare calls take their arguments by value, so the arrival stays in registers on the common
    // path. Only observers and some policies read the arrival from memory.
    #[inline(always)]
    pub fn handle_arrival<O: Observer>(&mut self, now: Time, packet: &Packet, observer: &mut O) -> Admission {
        if !self.ideal {
            return self.handle_arrival_on_chip(now, *packet, observer);
        }
        let arrival = self.classify(now, packet);
        observer.on(&SwitchEvent::Arriving(&arrival), &self.buffer);
        if self.policy.surely_admits(&arrival, &self.buffer) && self.buffer.fits(arrival.header.size) {
            return self.store(&arrival, packet, Account::Shared, observer);
        }
        match self.policy.admit(&arrival, &self.buffer) {
            Verdict::Admit(account) if self.buffer.fits(arrival.header.size) => {
                self.store(&arrival, packet, account, observer)
            }
            verdict => self.carry_out(verdict, arrival, *packet, observer),
        }
    }

    /// Handles an arrival ([`Self::handle_arrival`]) on a chip that deviates from the ideal switch,
    /// or while a watchdog discards packets.
    #[inline(never)]
    fn handle_arrival_on_chip<O: Observer>(
        &mut self,
        now: Time,
        packet: Packet,
        observer: &mut O,
    ) -> Admission {
        let mut arrival = self.classify(now, &packet);
        self.refresh(now);
        let is_uncharged = self.hardware.is_uncharged(arrival.priority);
        arrival.header.size = if is_uncharged { 0 } else { self.hardware.charged(packet.header.size) };
        if let Some(verdict) = self.decide_without_policy(arrival) {
            observer.on(&SwitchEvent::Bypassing(&arrival), &self.buffer);
            return match verdict {
                Ok(account) => self.store(&arrival, &packet, account, observer),
                Err(reason) => self.refuse(arrival, packet, Refusal::dropped(reason), observer),
            };
        }
        observer.on(&SwitchEvent::Arriving(&arrival), &self.buffer);
        let verdict = self.policy.admit(&arrival, &self.buffer);
        self.carry_out(verdict, arrival, packet, observer)
    }

    /// Carries out the policy's verdict about an arrival. Evicts packets and asks the policy again,
    /// until the policy admits or refuses the arrival.
    #[inline(never)] // Rare, because most verdicts admit the packet.
    fn carry_out<O: Observer>(
        &mut self,
        verdict: Verdict,
        mut arrival: Arrival,
        packet: Packet,
        observer: &mut O,
    ) -> Admission {
        let (now, fault) = (arrival.now, Refusal::dropped(DropReason::PolicyFault));
        let mut verdict = verdict;
        loop {
            match verdict {
                Verdict::Admit(account) if self.buffer.fits(arrival.header.size) => {
                    return self.store(&arrival, &packet, account, observer);
                }
                Verdict::Admit(_) => {
                    let (queue, size) = (arrival.queue, arrival.header.size);
                    self.note(|buffer| PolicyFailure::admitted_beyond(now, queue, size, buffer));
                    return self.refuse(arrival, packet, fault, observer);
                }
                Verdict::Drop(reason) => {
                    return self.refuse(arrival, packet, Refusal::dropped(reason), observer);
                }
                Verdict::Evict { victim, end } => {
                    if !self.remove(now, victim, end, DropReason::PushedOut, observer) {
                        let (queue, before) = (Some(arrival.queue), arrival.evictions);
                        self.note(|buffer| {
                            PolicyFailure::removed_nothing(now, queue, "admit", victim, before, buffer)
                        });
                        return self.refuse(arrival, packet, fault, observer);
                    }
                    arrival.evictions += 1;
                }
            }
            verdict = self.policy.admit(&arrival, &self.buffer);
        }
    }

    /// Records the first demand of a policy that the switch could not meet.
    #[cold]
    fn note(&mut self, failure: impl FnOnce(&Buffer) -> PolicyFailure) {
        if self.first_failure.is_none() {
            self.first_failure = Some(Box::new(failure(&self.buffer)));
        }
    }

    /// The policy's failure: an error inside the policy, or the first demand that the switch could
    /// not meet. The method returns a failure once. A packet refused with
    /// [`DropReason::PolicyFault`] indicates a failure. Hooks and timers fail silently, so drivers
    /// also call this method after [`Self::handle_timeout`] and at the end of the run. The switch
    /// continues after a failure: the switch refused the demand, and its accounts are right.
    #[must_use]
    pub fn take_failure(&mut self) -> Option<PolicyFailure> {
        self.policy.take_failure().or_else(|| self.first_failure.take().map(|failure| *failure))
    }

    /// The failure of a custom marking rule, returned once ([`crate::MarkingRule::take_failure`]).
    /// After a failure the rule marks no packets.
    /// Drivers call this method periodically and at the end of the run.
    #[must_use]
    pub fn take_marking_failure(&mut self) -> Option<MarkingFailure> {
        self.marker.as_mut().and_then(|marker| marker.rule.take_failure())
    }

    /// The first failure of a custom classifier ([`crate::Classify::failure`]). A packet refused
    /// with [`DropReason::PolicyFault`] indicates a failure.
    #[must_use]
    pub fn classifier_failure(&self) -> Option<&ClassifierFailure> {
        self.classifier.failure()
    }

    /// Whether the chip is ideal and no watchdog discards packets, so that the hot path suffices
    /// ([`Self::ideal`]).
    fn is_ideal(&self) -> bool {
        self.hardware == Hardware::IDEAL
            && !self.refuses_early
            && !self.scheduler.limits_rates()
            && self.ports.iter().all(|port| port.discard_mask == 0)
    }

    /// Reason to refuse the arriving packet without asking the policy: the classifier has failed,
    /// or the marking rule drops the packet because the rule cannot mark the packet.
    fn early_refusal(&mut self, arrival: &Arrival) -> Option<DropReason> {
        if self.classifier.failure().is_some() {
            return Some(DropReason::PolicyFault);
        }
        let Arrival { now, header, queue, port, priority, .. } = *arrival;
        let (moment, waited) = (Moment::Enqueue, Time::ZERO);
        let packet = Markable { now, waited, header, moment, queue, port, priority };
        let is_dropped = self.marker.as_mut().is_some_and(|marker| marker.drops(packet, &self.buffer));
        is_dropped.then_some(DropReason::Early)
    }

    /// Decisions made before the policy is called. Reasons are a pause storm, an uncharged
    /// priority, a drop by WRED, a reserve of a queue or port, and a limit of a port.
    #[inline(never)]
    fn decide_without_policy(&mut self, arrival: Arrival) -> Option<Result<Account, DropReason>> {
        if self.is_discarded(&arrival) {
            return Some(Err(DropReason::Watchdog));
        }
        if self.hardware.is_uncharged(arrival.priority) {
            return Some(Ok(Account::Minimum));
        }
        if self.refuses_early
            && let Some(reason) = self.early_refusal(&arrival)
        {
            return Some(Err(reason));
        }
        let port_bytes = self.buffer.port_bytes(arrival.port) + u64::from(arrival.header.size);
        if self.buffer.fits_reserve(arrival.queue, arrival.port, arrival.header.size) {
            Some(Ok(Account::Minimum))
        } else if self.hardware.port_limit.is_some_and(|limit| port_bytes > limit) {
            Some(Err(DropReason::OverPortLimit))
        } else {
            None
        }
    }

    /// Refreshes the copy of the pool that policies read, once per refresh interval. Every change
    /// of the buffer calls this method first, so the pool has not changed since the refresh time.
    fn refresh(&mut self, now: Time) {
        if let Some(interval) = self.hardware.threshold_refresh
            && now >= self.next_refresh
        {
            self.buffer.refresh();
            self.next_refresh = Time((now.0 / interval.0 + 1) * interval.0);
        }
    }

    #[inline(always)] // On the hot path, as its callers.
    fn classify(&mut self, now: Time, packet: &Packet) -> Arrival {
        Self::arrival(&mut self.classifier, &self.buffer, now, packet)
    }

    /// Classifies `packet` and builds its arrival. The function takes only the fields of the switch
    /// that it needs.
    #[inline(always)] // On the hot path.
    fn arrival(classifier: &mut Classifier, buffer: &Buffer, now: Time, packet: &Packet) -> Arrival {
        let (priority, tags) = classifier.classify(now, &packet.header);
        Arrival {
            now,
            header: Header { tags, ..packet.header },
            evictions: 0,
            queue: buffer.queue_of(packet.egress_port, priority),
            port: packet.egress_port,
            ingress: IngressId(buffer.queue_of(packet.ingress_port, priority).0),
            priority,
        }
    }

    #[inline(always)] // Otherwise no generic caller inlines this function, and one caller is hot.
    fn store<O: Observer>(
        &mut self,
        arrival: &Arrival,
        packet: &Packet,
        account: Account,
        observer: &mut O,
    ) -> Admission {
        let Arrival { now, header, queue, port, priority, .. } = *arrival;
        let marked = header.ecn == Ecn::Capable
            && if let Some(steps) = &self.dctcp_thresholds {
                self.buffer.queue_bytes(queue) > steps[usize::from(priority) % MAX_QUEUES_PER_PORT]
            } else {
                self.marks_arrivals && {
                    let (moment, waited) = (Moment::Enqueue, Time::ZERO);
                    self.should_mark(Markable { now, waited, header, moment, queue, port, priority })
                }
            };
        let stored = Stored {
            enqueued_at: now,
            packet: packet.id,
            header: Header { ecn: if marked { Ecn::Marked } else { header.ecn }, ..header },
            ingress: arrival.ingress,
            account,
            unused: self.buffer.unused_units(header.size, packet.header.size),
        };
        self.buffer.store(queue, port, stored);
        self.ports[usize::from(port)].occupied |= 1 << priority;
        let counters = &mut self.counters[usize::from(queue.0)];
        counters.arrived += 1;
        counters.enqueued += 1;
        counters.enqueued_bytes += u64::from(packet.header.size);
        counters.marked += u64::from(marked);
        if self.hooks.contains(Hooks::ENQUEUE) {
            self.policy.on_enqueue(arrival, &self.buffer);
        }
        observer.on(&SwitchEvent::Stored { arrival, id: packet.id }, &self.buffer);
        self.expel(now, observer);
        if self.may_pause(priority) {
            if holds(self.peak_priorities, priority)
                && sets_peak(&self.pause_peaks, &self.buffer, (arrival.ingress, priority), 0)
            {
                self.note_peak(arrival.ingress, arrival.priority);
            }
            self.demand_pauses(now, arrival.ingress, observer);
        }
        Admission::Stored { marked }
    }

    /// Whether the marking rule marks `packet`.
    #[inline(never)]
    fn should_mark(&mut self, packet: Markable) -> bool {
        self.marker.as_mut().is_some_and(|marker| marker.marks(packet, &self.buffer))
    }

    #[cold]
    #[inline(never)]
    fn refuse<O: Observer>(
        &mut self,
        arrival: Arrival,
        packet: Packet,
        refusal: Refusal,
        observer: &mut O,
    ) -> Admission {
        let counters = &mut self.counters[usize::from(arrival.queue.0)];
        counters.arrived += 1;
        counters.dropped += 1;
        counters.dropped_bytes += u64::from(packet.header.size);
        if self.hooks.contains(Hooks::DROP) {
            self.policy.on_drop(&arrival, refusal.reason, &self.buffer);
        }
        let id = packet.id;
        observer.on(&SwitchEvent::Refused { arrival: &arrival, id, refusal }, &self.buffer);
        if self.hooks.contains(Hooks::PAUSE_REFUSED) {
            self.pause_after_refusal(arrival.now, arrival.ingress, observer);
        }
        Admission::Refused(refusal)
    }

    fn pause_after_refusal<O: Observer>(&mut self, now: Time, ingress: IngressId, observer: &mut O) {
        self.demand_pause(now, ingress, observer);
        let pauses_empty =
            self.paused_ingress[usize::from(ingress.0)] && self.buffer.ingress_bytes(ingress) == 0;
        if pauses_empty && !self.pausing_empty.contains(&ingress) {
            self.pausing_empty.push(ingress);
            self.set_hooks(self.hooks.and(Hooks::PAUSE_EMPTY));
        }
    }

    /// Evicts a stored packet of a queue. Returns false if the queue is empty.
    fn remove<O: Observer>(
        &mut self,
        now: Time,
        queue: QueueId,
        end: End,
        reason: DropReason,
        observer: &mut O,
    ) -> bool {
        if usize::from(queue.0) >= self.counters.len() {
            return false;
        }
        let (port, priority) = self.buffer.port_and_priority(queue);
        let Some((stored, is_empty)) = self.buffer.remove(queue, port, end) else { return false };
        if is_empty {
            self.ports[usize::from(port)].occupied &= !(1 << priority);
        }
        self.counters[usize::from(queue.0)].evicted += 1;
        if self.hooks.contains(Hooks::DROP) {
            self.policy.on_evict(now, queue, stored.header.size, &self.buffer);
        }
        observer.on(&SwitchEvent::Evicted { now, queue, stored: &stored, reason }, &self.buffer);
        self.demand_pause(now, stored.ingress, observer);
        true
    }

    /// Removes the next packet of the idle `port` from the buffer. `None` if the port
    /// may send no packet. Call this method again when the transmission is complete.
    /// After `None`, repeat the call when the switch stored a packet for `port`, when a pause
    /// ended, and at the time [`Self::next_send`] if a limited rate delays the packets.
    #[must_use]
    #[inline(always)] // One of two generic instances is hot, and its caller only makes this call.
    pub fn poll_transmit<O: Observer>(
        &mut self,
        now: Time,
        port: u16,
        observer: &mut O,
    ) -> Option<Transmission> {
        let state = self.ports[usize::from(port)];
        let mut ready = state.occupied & !state.paused;
        if ready == 0 {
            return None;
        }
        if !self.ideal {
            ready = self.scheduler.allowed(&self.turns, port, now, ready);
            if ready == 0 {
                return None;
            }
            self.refresh(now);
        }
        observer.on(&SwitchEvent::Departing(now), &self.buffer);
        let first_queue = self.buffer.queue_of(port, 0).0;
        let cursor = &mut self.ports[usize::from(port)].cursor;
        let picked = self.scheduler.pick(&mut self.turns, cursor, port, ready, first_queue, &self.buffer)?;
        let priority = picked.queue;
        let occupied = state.occupied;
        let queue = QueueId(first_queue + u16::from(priority));
        let (stored, is_empty) =
            self.buffer.remove(queue, port, End::Head).expect("an occupied queue has a head");
        if is_empty {
            self.ports[usize::from(port)].occupied &= !(1 << priority);
        }
        if !self.ideal {
            self.scheduler.charge(&mut self.turns, (port, priority), now, self.buffer.frame_bytes(&stored));
        }
        let header = stored.header;
        let marked = self.marks_departures && header.ecn == Ecn::Capable && {
            let (moment, waited) = (Moment::Dequeue, now - stored.enqueued_at);
            self.should_mark(Markable { now, waited, header, moment, queue, port, priority })
        };
        let counters = &mut self.counters[usize::from(queue.0)];
        counters.departed += 1;
        counters.marked += u64::from(marked);
        let departure = Departure {
            now,
            enqueued_at: stored.enqueued_at,
            header,
            queue,
            port,
            ingress: stored.ingress,
            priority,
        };
        if self.hooks.contains(Hooks::EMPTY_VISIT) {
            // The scheduler also skips a paused queue, but that queue is not empty.
            let passed_empty = self.scheduler.passed(port, picked, ready) & !occupied;
            self.tell_empty_visits(now, passed_empty, first_queue);
        }
        if self.hooks.contains(Hooks::DEQUEUE) {
            self.policy.on_dequeue(&departure, &self.buffer);
        }
        observer.on(&SwitchEvent::Departed(&departure), &self.buffer);
        self.expel(now, observer);
        if self.may_pause(priority) {
            self.demand_pauses(now, stored.ingress, observer);
        }
        let more = self.wants_to_send(port);
        Some(Transmission { packet: stored.packet, size: header.size, queue, marked, more })
    }

    #[inline(never)]
    fn tell_empty_visits(&mut self, now: Time, passed_empty: u32, first_queue: u16) {
        let mut rest = passed_empty;
        while rest != 0 {
            let priority = rest.trailing_zeros() as u16;
            self.policy.on_empty_visit(now, QueueId(first_queue + priority));
            rest &= rest - 1;
        }
    }

    #[inline(always)] // On the hot path.
    fn expel<O: Observer>(&mut self, now: Time, observer: &mut O) {
        if self.hooks.contains(Hooks::EXPEL) {
            while let Some((queue, end)) = self.policy.poll_expulsion(now, &self.buffer) {
                if !self.remove(now, queue, end, DropReason::Expelled, observer) {
                    self.note(|buffer| {
                        PolicyFailure::removed_nothing(now, None, "poll_expulsion", queue, 0, buffer)
                    });
                    break;
                }
            }
        }
    }

    /// Sets the hooks of the policy, and the priorities whose packets need the pause hooks.
    fn set_hooks(&mut self, hooks: Hooks) {
        let asks_widely = hooks.meets(Hooks::PAUSE_PORT.and(Hooks::PAUSE_EMPTY));
        self.hooks = hooks;
        self.pause_priorities = match hooks.contains(Hooks::PAUSE) {
            false => 0,
            true if hooks.contains(Hooks::PAUSE_LOSSLESS) && !asks_widely => self.lossless,
            true => u32::MAX,
        };
    }

    /// Whether a stored or sent packet of `priority` may change a pause.
    #[inline(always)] // On the hot path.
    fn may_pause(&self, priority: u8) -> bool {
        holds(self.pause_priorities, priority)
    }

    #[inline(always)] // On the hot path.
    fn demand_pause<O: Observer>(&mut self, now: Time, ingress: IngressId, observer: &mut O) {
        if self.hooks.contains(Hooks::PAUSE) {
            self.demand_pauses(now, ingress, observer);
        }
    }

    #[inline(never)]
    fn demand_pauses<O: Observer>(&mut self, now: Time, ingress: IngressId, observer: &mut O) {
        // Most switches use neither hook, so this one check is enough for them.
        if !self.hooks.meets(Hooks::PAUSE_PORT.and(Hooks::PAUSE_EMPTY)) {
            return self.demand_pause_of(now, ingress, observer);
        }
        if self.hooks.contains(Hooks::PAUSE_EMPTY) {
            self.demand_pauses_of_empty(now, observer);
        }
        let queues = self.buffer.queues_per_port();
        let first = ingress.0 / queues * queues;
        let of_port = self.hooks.contains(Hooks::PAUSE_PORT);
        let asked = if of_port { first..first + queues } else { ingress.0..ingress.0 + 1 };
        for queue in asked {
            self.demand_pause_apart(now, IngressId(queue), observer);
        }
    }

    /// Records how near the longest ingress queue of a priority is to a pause.
    #[cold]
    fn note_peak(&mut self, ingress: IngressId, priority: u8) {
        let level = self.policy.pause_level(ingress, &self.buffer).map(|level| (ingress, level));
        let bytes = self.buffer.ingress_bytes(ingress);
        self.pause_peaks[usize::from(priority)] = PausePeak { bytes, level };
    }

    /// The longest ingress queue of every lossless priority so far, with the comparison of the
    /// queue's peak with the pause threshold. The switch records peaks only until its first pause
    /// ([`Self::has_paused`]).
    pub fn pause_levels_at_peaks(&self) -> impl Iterator<Item = (IngressId, PauseLevel)> + '_ {
        self.pause_peaks.iter().filter_map(|peak| peak.level)
    }

    /// Makes room for the record of peaks if the policy can pause senders. After the first pause
    /// the record has no reader, so the switch stops recording peaks.
    fn size_pause_peaks(&mut self) {
        let pauses = self.hooks.contains(Hooks::PAUSE);
        self.peak_priorities = if pauses && !self.has_paused { self.lossless } else { 0 };
        let priorities = if pauses { self.buffer.queues_per_port() } else { 0 };
        self.pause_peaks.resize(usize::from(priorities), PausePeak::default());
    }

    /// Whether the switch has paused any sender.
    #[must_use]
    pub fn has_paused(&self) -> bool {
        self.has_paused
    }

    /// Asks the policy whether `ingress` pauses its sender. The code is in a separate function, so
    /// that the compiler can inline the single call of most switches.
    #[inline(never)]
    fn demand_pause_apart<O: Observer>(&mut self, now: Time, ingress: IngressId, observer: &mut O) {
        self.demand_pause_of(now, ingress, observer);
    }

    #[cold]
    fn demand_pauses_of_empty<O: Observer>(&mut self, now: Time, observer: &mut O) {
        let mut queues = std::mem::take(&mut self.pausing_empty);
        queues.retain(|&ingress| {
            let is_empty = self.buffer.ingress_bytes(ingress) == 0;
            if is_empty {
                self.demand_pause_apart(now, ingress, observer);
            }
            is_empty && self.paused_ingress[usize::from(ingress.0)]
        });
        if queues.is_empty() {
            self.set_hooks(self.hooks.without(Hooks::PAUSE_EMPTY));
        }
        self.pausing_empty = queues;
    }

    #[inline(always)] // For most packets a single check: no change.
    fn demand_pause_of<O: Observer>(&mut self, now: Time, ingress: IngressId, observer: &mut O) {
        let wanted = match self.policy.pause_demand(now, ingress, &self.buffer) {
            PauseDemand::Keep => return,
            PauseDemand::Pause => true,
            PauseDemand::Resume => false,
        };
        let paused = &mut self.paused_ingress[usize::from(ingress.0)];
        if *paused != wanted {
            *paused = wanted;
            self.has_paused = true;
            self.peak_priorities = 0;
            observer.on(&SwitchEvent::PauseChanged { now, ingress, paused: wanted }, &self.buffer);
        }
    }

    /// Handles a pause frame: the neighbour behind `port` forbids or allows this switch to send
    /// `priority` (PFC). A transmission that has started continues.
    pub fn handle_pause(&mut self, port: u16, priority: u8, paused: bool) {
        let mask = &mut self.ports[usize::from(port)].paused;
        if paused {
            *mask |= 1 << priority;
        } else {
            *mask &= !(1 << priority);
        }
    }

    /// Starts (`true`) or stops discarding packets of `priority` that arrive from `port` or leave
    /// through `port`, whatever the policy's verdict. A PFC watchdog with action *drop* calls this
    /// method during a pause storm. Stored packets stay until [`Self::flush`] removes them.
    pub fn set_discarding(&mut self, port: u16, priority: u8, discarding: bool) {
        let mask = &mut self.ports[usize::from(port)].discard_mask;
        if discarding {
            *mask |= 1 << priority;
        } else {
            *mask &= !(1 << priority);
        }
        self.ideal = self.is_ideal();
        self.can_bypass = self.may_bypass();
    }

    /// Whether a watchdog discards `arrival` because of its egress queue,
    /// or because of the priority at its ingress port.
    fn is_discarded(&self, arrival: &Arrival) -> bool {
        let ingress_port = usize::from(arrival.ingress.0) / usize::from(self.buffer.queues_per_port());
        let to = self.ports[usize::from(arrival.port)].discard_mask;
        // Ports of the chip's other memory slices have no watchdog in this switch.
        let from = self.ports.get(ingress_port).map_or(0, |port| port.discard_mask);
        (to | from) >> arrival.priority & 1 != 0
    }

    /// Evicts all packets of `queue`. The observer sees each eviction, and each sender that may
    /// resume because of an eviction.
    pub fn flush<O: Observer>(&mut self, now: Time, queue: QueueId, reason: DropReason, observer: &mut O) {
        self.refresh(now);
        while self.remove(now, queue, End::Head, reason, observer) {}
    }

    /// Whether `port` has a packet to send, in a queue that is not paused.
    #[inline]
    #[must_use]
    pub fn wants_to_send(&self, port: u16) -> bool {
        let state = &self.ports[usize::from(port)];
        state.occupied & !state.paused != 0
    }

    /// Lets `port` send its next packets at once although its rates are limited, because its link
    /// is down and the driver discards the packets.
    pub fn forget_rates(&mut self, port: u16) {
        self.scheduler.forget_rates(&mut self.turns, port);
    }

    /// Time from which `port` may send a waiting packet although its rates are limited. `None` if
    /// no packet waits that may be sent. The driver calls this method if [`Self::poll_transmit`]
    /// returns no packet, and then calls `poll_transmit` again at this time.
    #[must_use]
    pub fn next_send(&self, port: u16) -> Option<Time> {
        let state = &self.ports[usize::from(port)];
        let ready = state.occupied & !state.paused;
        if ready == 0 { None } else { self.scheduler.next_send(&self.turns, port, ready) }
    }

    /// Time at which the driver must next call [`Self::handle_timeout`]. The driver calls
    /// `poll_timeout` after it built the switch and after every `handle_timeout`. While
    /// `poll_timeout` returns `None`, the driver also calls it after every arrival, because some
    /// timers start with the first packet. An arrival never makes a deadline earlier.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        self.policy.next_timeout()
    }

    /// Handles the deadline of [`Self::poll_timeout`]. Early calls do nothing. If the driver is
    /// late, it repeats the call until the next deadline is later than `now`.
    pub fn handle_timeout<O: Observer>(&mut self, now: Time, observer: &mut O) {
        self.refresh(now);
        let due = self.policy.next_timeout();
        self.policy.handle_timeout(now, &self.buffer);
        // The policy may have set the timer because it must expel packets.
        self.expel(now, observer);
        if let (Some(due), Some(next)) = (due, self.policy.next_timeout())
            && due <= now
            && next <= due
        {
            // The deadline does not advance, so repeated calls would stop simulated time.
            self.note(|_| PolicyFailure::timer_stands(now, due, next));
        }
        if self.hooks.contains(Hooks::PAUSE) {
            for ingress in 0..self.paused_ingress.len() as u16 {
                self.demand_pause(now, IngressId(ingress), observer);
            }
        }
    }

    /// Checks two identities of the switch. First, for every queue, packets in = out + dropped +
    /// evicted + stored. Second, the ledger equals the content of the queues.
    ///
    /// # Errors
    /// Returns the first identity that is broken. A broken identity is a defect of this crate.
    pub fn verify(&self) -> Result<(), LedgerError> {
        for queue in self.buffer.queue_ids() {
            let c = self.counters(queue);
            let stored = self.buffer.queue_packets(queue) as u64;
            if c.arrived != c.enqueued + c.dropped || c.enqueued != c.departed + c.evicted + stored {
                return Err(LedgerError(format!("{queue:?}: {c:?} with {stored} packets stored")));
            }
            let (port, priority) = self.buffer.port_and_priority(queue);
            if (self.ports[usize::from(port)].occupied & (1 << priority) != 0) != (stored != 0) {
                return Err(LedgerError(format!("{queue:?}: the scheduler's view differs from the queue")));
            }
        }
        self.buffer.verify()
    }
}

/// Whether a set of priorities, a bit for each, holds `priority`.
#[inline(always)] // On the hot path.
fn holds(priorities: u32, priority: u8) -> bool {
    priorities >> (priority % 32) & 1 != 0
}

/// Whether the ingress queue `place` with `more` more bytes is longer than any ingress queue of its
/// priority was before. Only for a switch that records peaks.
#[inline(never)] // Out of the hot path of switches that never pause or have paused.
fn sets_peak(peaks: &[PausePeak], buffer: &Buffer, place: (IngressId, u8), more: u32) -> bool {
    let (ingress, priority) = place;
    let length = buffer.ingress_bytes(ingress) + u64::from(more);
    length > peaks[usize::from(priority)].bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mark::{BufferAware, Marking, Step};
    use crate::policy::CompleteSharing;
    use crate::weight::Weight;

    #[test]
    fn on_departure_only_capable_packets_are_marked_and_none_twice() {
        let (step, factor) = (Step::new(3_000), Weight::from_f64(0.5));
        let marker = Marker::new(Marking::BufferAware(BufferAware { step, floor: 0, factor }));
        let config =
            SwitchConfig { marker: Some(marker), ..SwitchConfig::new(10_000, vec![BitRate::gbps(10)]) };
        let mut switch = Switch::new(&config, CompleteSharing);
        for (index, ecn) in [Ecn::Capable, Ecn::NotCapable, Ecn::Marked, Ecn::Capable, Ecn::Capable]
            .into_iter()
            .cycle()
            .take(10)
            .enumerate()
        {
            let packet =
                Packet { header: Header { size: 1_000, ecn, ..Header::default() }, ..Packet::default() };
            let marked = index >= 4 && ecn == Ecn::Capable;
            assert_eq!(switch.handle_arrival(Time::ZERO, &packet, &mut ()), Admission::Stored { marked });
        }
        // Nine packets remain in the queue, then eight, and so on. The marking condition q > (B -
        // q) / 2 is true down to 4000 B.
        let mut marks = || switch.poll_transmit(Time::ZERO, 0, &mut ()).expect("a packet waits").marked;
        let found: Vec<_> = (0..10).map(|_| marks()).collect();
        assert_eq!(found, [true, false, false, true, false, false, false, false, false, false]);
        assert_eq!(switch.counters(QueueId(0)).marked, 4 + 2);
    }

    #[test]
    fn verify_notices_a_packet_that_is_counted_wrong_or_unknown_to_the_scheduler() {
        type Corruption = fn(&mut Switch<CompleteSharing>);
        let corruptions: [Corruption; 6] = [
            |s| s.counters[1].arrived += 1,
            |s| s.counters[1].dropped += 1,
            |s| s.counters[1].departed += 1,
            |s| s.counters[1].evicted += 1,
            |s| s.ports[0].occupied = 0,
            |s| s.ports[1].occupied = 1,
        ];
        let config = SwitchConfig::new(10_000, vec![BitRate::gbps(10); 2]).with_queues(2);
        let mut switch = Switch::new(&config, CompleteSharing);
        let packet =
            Packet { header: Header { size: 1_000, priority: 1, ..Header::default() }, ..Packet::default() };
        for _ in 0..11 {
            let _ = switch.handle_arrival(Time::ZERO, &packet, &mut ());
        }
        let _ = switch.poll_transmit(Time::ZERO, 0, &mut ());
        switch.verify().expect("10 stored, 1 dropped, 1 sent");
        for (index, corrupt) in corruptions.iter().enumerate() {
            let mut broken = switch.clone();
            corrupt(&mut broken);
            assert!(broken.verify().is_err(), "corruption {index}");
        }
    }
}
