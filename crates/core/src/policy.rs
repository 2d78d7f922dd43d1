//! Buffer-management policies: the interface and the registry.
//!
//! A policy decides who may occupy the shared buffer. It never sees a clock, a socket, a random
//! source or a packet's bytes: everything that it may use is in the arguments, so the simulator, the
//! theory checks and a real switch run the same code.
//!
//! To add one to bufferlab, write a file in `policy/` and add its `INFO` to [`POLICIES`] (`CONTRIBUTING.md`). A program's own policies
//! stay in the program: [`crate::register_policy`].

mod abm;
mod abm_dt;
mod bshare_like;
mod complete_sharing;
mod congestion;
mod credence;
mod dynamic_headroom;
mod dynamic_threshold;
mod enhanced_dynamic_threshold;
mod flow_aware;
mod follow_lqd;
mod harmonic;
mod intelligent_buffer;
mod l2bm_like;
mod longest;
mod longest_queue_drop;
mod lossless;
mod losspass;
mod maximum_queue;
mod occamy;
mod plasticine;
mod plasticine_pisa;
mod queue_profiles;
mod reverie;
mod short_flows;
mod sonic;
mod sonic_abm;
mod sonic_dt;
mod static_partition;
mod traffic_aware;
mod virtual_lqd;

use crate::buffer::{Buffer, End, IngressId, QueueId};
use crate::classify::Classifier;
use crate::failure::PolicyFailure;
use bufferlab_params::{ParamInfo, ParamValue, Params, Profile, Registry};

pub use bufferlab_params::BuildError;
use bufferlab_units::{BitRate, Time};
use std::fmt;

pub use abm::Abm;
pub use abm_dt::AbmOnDt;
pub use bshare_like::BshareLike;
pub use complete_sharing::CompleteSharing;
pub use credence::Credence;
pub use dynamic_threshold::DynamicThreshold;
pub use enhanced_dynamic_threshold::EnhancedDynamicThreshold;
pub use flow_aware::FlowAwareBuffer;
pub use follow_lqd::FollowLqd;
pub use harmonic::Harmonic;
pub use intelligent_buffer::IntelligentBuffer;
pub use l2bm_like::L2bmLike;
pub use longest_queue_drop::LongestQueueDrop;
pub use losspass::LossPass;
pub use occamy::Occamy;
pub use plasticine::Plasticine;
pub use plasticine_pisa::{PlasticinePisa, shift};
pub use reverie::Reverie;
pub use sonic_abm::SonicAbm;
pub use sonic_dt::SonicDt;
pub use static_partition::StaticPartition;
pub use traffic_aware::TrafficAware;

/// Every policy of bufferlab: the one list behind the command line, the scenario schema, the
/// documentation, the reports and the conformance tests. What a program brings along joins it in [`crate::policies`].
pub static POLICIES: &[&PolicyInfo] = &[
    &complete_sharing::INFO,
    &static_partition::COMPLETE_PARTITIONING,
    &static_partition::EVENLY_SPLIT,
    &dynamic_threshold::INFO,
    &abm::INFO,
    &enhanced_dynamic_threshold::INFO,
    &traffic_aware::INFO,
    &occamy::INFO,
    &losspass::INFO,
    &longest_queue_drop::INFO,
    &harmonic::INFO,
    &follow_lqd::INFO,
    &credence::INFO,
    &l2bm_like::INFO,
    &bshare_like::INFO,
    &abm_dt::INFO,
    &flow_aware::INFO,
    &intelligent_buffer::INFO,
    &plasticine::MULTI_QUEUE,
    &plasticine::SINGLE_QUEUE,
    &plasticine_pisa::INFO,
    &maximum_queue::INFO,
    &sonic_dt::INFO,
    &reverie::INFO,
    &sonic_abm::INFO,
];

bufferlab_params::entry!(PolicyInfo, "policy");

/// [`POLICIES`], and what a program brings along.
pub static REGISTRY: Registry<PolicyInfo> = Registry::new(POLICIES);

/// α by priority in the `alphas` file of the public ns-3 artifact (`docs/algorithms.md` section 10, row 12).
const ARTIFACT_ALPHAS: [f64; 8] = [1.0, 0.5, 0.5, 0.5, 0.125, 0.0625, 0.03125, 0.015625];

/// What a limit of a whole port leaves to `queue`: the limit less what the port's other queues hold.
fn rest_of_port(limit: u64, queue: QueueId, buffer: &Buffer) -> u64 {
    let (port, _) = buffer.port_and_priority(queue);
    limit.saturating_sub(buffer.shared_port_bytes(port).saturating_sub(buffer.shared_queue_bytes(queue)))
}

/// The test of a policy that limits ports: admit iff the port stays within `limit` with the packet, and the packet fits into the pool.
#[inline]
fn within_port_limit(arrival: &Arrival, limit: u64, buffer: &Buffer) -> Verdict {
    if !buffer.fits(arrival.size) {
        return Verdict::Drop(DropReason::BufferFull);
    }
    if buffer.shared_port_bytes(arrival.port) + u64::from(arrival.size) > limit {
        return Verdict::Drop(DropReason::OverPortLimit);
    }
    Verdict::Admit(Account::Shared)
}

/// Builds a policy for a switch. It may hold state of its own: what a program brings along is not always a plain function.
pub type PolicyConstructor =
    &'static (dyn Fn(&Params, &SwitchShape) -> Result<Box<dyn Policy>, BuildError> + Send + Sync);

/// A registry entry: of this crate in [`POLICIES`], of a program's own through [`crate::register_policy`].
pub struct PolicyInfo {
    /// Short name: scenario files, columns, reports (`dt`).
    pub name: &'static str,
    /// Other accepted names (`dynamic-threshold`).
    pub aliases: &'static [&'static str],
    /// Name in full.
    pub title: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Where it comes from: authors, venue, equation.
    pub source: &'static str,
    /// Work per decision, and of what: "O(1)".
    pub cost: &'static str,
    /// Its parameters.
    pub params: &'static [ParamInfo],
    /// The constructor. `Params` is complete and every value is in its domain; the constructor
    /// refuses only what depends on the switch.
    pub build: PolicyConstructor,
}

impl fmt::Debug for PolicyInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PolicyInfo").field("name", &self.name).finish_non_exhaustive()
    }
}

impl PolicyInfo {
    /// Builds the policy for a switch, after the checks that hold for every policy.
    ///
    /// # Errors
    /// The parameter that does not fit the switch.
    pub fn construct(&self, params: &Params, shape: &SwitchShape) -> Result<Box<dyn Policy>, BuildError> {
        for (param, value) in params.iter() {
            if let ParamValue::RatioPerPriority(list) = value
                && list.len() > shape.queues_per_port
                && !params.is_default(param)
            {
                let (found, queues) = (list.len(), shape.queues_per_port);
                let message = format!(
                    "{found} values, one for each priority, are more than queues_per_port = {queues}: give at most {queues}"
                );
                return Err(BuildError { param, message });
            }
            if let ParamValue::BytesPerPort(list) = value
                && list.len() > shape.ports()
            {
                let (found, ports) = (list.len(), shape.ports());
                let message = format!("{found} values, one for each port, and the switch has {ports} ports");
                return Err(BuildError { param, message });
            }
            if let ParamValue::Profiles(list) = value
                && let Some(message) = list.iter().enumerate().find_map(|(index, profile)| {
                    let port = profile.ports.iter().find(|&&port| usize::from(port) >= shape.ports());
                    let beyond = |&&priority: &&u8| usize::from(priority) >= shape.queues_per_port;
                    let (ports, queues) = (shape.ports(), shape.queues_per_port);
                    port.map(|port| {
                        format!(
                            "profile {index} is for port {port}, and the switch has {ports}, numbered from 0"
                        )
                    })
                    .or_else(|| {
                        let priority = profile.priorities.iter().find(beyond)?;
                        Some(format!(
                            "profile {index} is for priority {priority}, and queues_per_port is {queues}"
                        ))
                    })
                })
            {
                return Err(BuildError { param, message });
            }
        }
        (self.build)(params, shape)
    }
}

/// A limit in bytes that was chosen and that nothing in the buffer ever exceeds is a mistake.
fn refuse_beyond_buffer(
    params: &Params,
    shape: &SwitchShape,
    param: &'static str,
    what: &str,
) -> Result<(), BuildError> {
    let (bytes, buffer) = (params.bytes(param), shape.capacity);
    if bytes < buffer || params.is_default(param) {
        return Ok(());
    }
    Err(BuildError {
        param,
        message: format!("no queue is longer than {bytes} B in a buffer of {buffer} B: {what}"),
    })
}

/// What a policy may know of the switch when it is built.
#[derive(Clone, Debug)]
pub struct SwitchShape {
    /// The shared buffer B (bytes): what is set aside for queues and ports is not part of it.
    pub capacity: u64,
    /// Rate of every port.
    pub port_rates: Vec<BitRate>,
    /// Queues (priorities) per port.
    pub queues_per_port: usize,
    /// Largest packet that will be charged (bytes).
    pub max_packet: u64,
    /// The reading of under-specified details.
    pub profile: Profile,
    /// Seed for a policy that draws random numbers.
    pub seed: u64,
    /// Bit p: priority p is lossless (PFC).
    pub lossless: u32,
    /// The same by port, where ports differ: what of `lossless` holds for packets that arrive there. Empty: all of it everywhere.
    pub lossless_by_port: Vec<u32>,
}

impl SwitchShape {
    /// Number of ports.
    #[must_use]
    pub fn ports(&self) -> usize {
        self.port_rates.len()
    }

    /// Bit p: packets of priority p that arrive at `port` are lossless.
    #[must_use]
    pub fn lossless_at(&self, port: usize) -> u32 {
        self.lossless_by_port.get(port).map_or(self.lossless, |mask| self.lossless & mask)
    }

    /// Number of lossless ingress queues.
    #[must_use]
    pub fn lossless_queues(&self) -> u64 {
        (0..self.ports()).map(|port| u64::from(self.lossless_at(port).count_ones())).sum()
    }

    /// Number of egress queues: ports × queues per port.
    #[must_use]
    pub fn queues(&self) -> usize {
        self.ports() * self.queues_per_port
    }
}

/// Marks on a packet that a policy may look at: a set of flags.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct Tags(pub u8);

impl Tags {
    /// No mark.
    pub const NONE: Self = Self(0);
    /// Sent in the first round-trip time of its flow, before any feedback (ABM, Reverie).
    pub const UNSCHEDULED: Self = Self(1);
    /// Belongs to a short flow, or to the first bytes of any flow (PIAS, FAB, LossPass).
    pub const SMALL: Self = Self(1 << 1);
    /// Carries no data (ACK, handshake).
    pub const CONTROL: Self = Self(1 << 2);
    /// A retransmission.
    pub const RETRANSMISSION: Self = Self(1 << 3);
    /// Of a lossless class: may pause its sender but must not be dropped by a threshold.
    pub const LOSSLESS: Self = Self(1 << 4);

    /// The switch's own note on a stored packet: ECN-capable and not marked so far. It is no business of policies.
    pub(crate) const MARKABLE: Self = Self(1 << 7);

    /// Whether all flags of `other` are set.
    #[inline]
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both sets together.
    #[inline]
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// This set less `other`.
    #[inline]
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl Tags {
    /// Names of the flags that are set.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        const NAMES: [&str; 5] = ["unscheduled", "small", "control", "retransmission", "lossless"];
        NAMES.into_iter().enumerate().filter(move |(bit, _)| self.0 & (1 << bit) != 0).map(|(_, name)| name)
    }
}

impl fmt::Debug for Tags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

/// One packet asking for space, after classification.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// When.
    pub now: Time,
    /// The egress queue that it wants to join.
    pub queue: QueueId,
    /// Egress port of `queue`.
    pub port: u16,
    /// Priority (queue within the port, 0 is the first).
    pub priority: u8,
    /// Marks set by hosts and classifiers.
    pub tags: Tags,
    /// Bytes that it would occupy.
    pub size: u32,
    /// Its flow, stable over the flow's life.
    pub flow: u32,
    /// The ingress queue (arrival port × priority) that it is charged to.
    pub ingress: IngressId,
    /// Stored packets that have been evicted for it so far: the policy is asked again after each.
    pub evictions: u32,
}

/// A packet that leaves its queue for the wire.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// When its transmission starts.
    pub now: Time,
    /// The queue that it leaves.
    pub queue: QueueId,
    /// Egress port of `queue`.
    pub port: u16,
    /// Priority.
    pub priority: u8,
    /// Bytes released.
    pub size: u32,
    /// Its flow.
    pub flow: u32,
    /// The ingress queue that it was charged to.
    pub ingress: IngressId,
    /// When it had been admitted.
    pub enqueued_at: Time,
}

/// Which account of the ledger an admitted packet is charged to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Account {
    /// The shared pool: what the thresholds divide.
    Shared,
    /// Space set aside for the packet's egress port or queue.
    Reserved,
    /// Headroom of the packet's ingress queue (lossless classes). It is given back first, whichever packet of that ingress queue leaves.
    Headroom,
    /// What the switch itself sets aside for every queue and port ([`crate::Reserves`]): the policy was not asked.
    Minimum,
}

/// A policy's answer.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Store it and charge this account.
    Admit(Account),
    /// Refuse it.
    Drop(DropReason),
    /// Drop one stored packet of `victim` first, then ask again.
    Evict {
        /// The queue to shorten.
        victim: QueueId,
        /// From which end.
        end: End,
    },
}

macro_rules! drop_reasons {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// Why a packet was lost: which limit bound.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum DropReason { $($(#[$doc])* $variant,)* }

        impl DropReason {
            /// Every reason, in the order of their discriminants.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name in tables, vectors and reports.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

drop_reasons! {
    /// The whole buffer has no room: Q + len > B.
    BufferFull = "buffer-full",
    /// The queue would exceed its threshold: q + len > T.
    OverThreshold = "over-threshold",
    /// A limit of the port bound.
    OverPortLimit = "over-port-limit",
    /// A limit of the ingress queue bound.
    OverIngressLimit = "over-ingress-limit",
    /// A lossless packet found its headroom full: a configuration error.
    HeadroomFull = "headroom-full",
    /// Dropped early with a probability (AFD, RED).
    Early = "early",
    /// A predictor said that it would be lost anyway (Credence).
    Predicted = "predicted",
    /// Evicted for another arrival (push-out, LossPass).
    PushedOut = "pushed-out",
    /// Expelled although nothing arrived (Occamy).
    Expelled = "expelled",
    /// Arrived for a link that is down, or was on it.
    LinkDown = "link-down",
    /// The policy failed or asked for something impossible: a defect of the policy, see [`crate::Switch::take_failure`].
    PolicyFault = "policy-fault",
    /// Discarded by the PFC watchdog while its queue was stormed by pauses.
    Watchdog = "pfc-watchdog",
}

/// What a policy wants of the sender behind an ingress queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseDemand {
    /// As it is.
    Keep,
    /// Stop sending this priority.
    Pause,
    /// Go on.
    Resume,
}

/// Which optional hooks a policy wants called: what it does not ask for costs nothing per packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Hooks(u8);

impl Hooks {
    /// Only [`Policy::admit`].
    pub const NONE: Self = Self(0);
    /// [`Policy::on_enqueue`].
    pub const ENQUEUE: Self = Self(1);
    /// [`Policy::on_dequeue`].
    pub const DEQUEUE: Self = Self(1 << 1);
    /// [`Policy::on_drop`] and [`Policy::on_evict`].
    pub const DROP: Self = Self(1 << 2);
    /// [`Policy::on_empty_visit`].
    pub const EMPTY_VISIT: Self = Self(1 << 3);
    /// [`Policy::poll_expulsion`].
    pub const EXPEL: Self = Self(1 << 4);
    /// [`Policy::pause_demand`].
    pub const PAUSE: Self = Self(1 << 5);
    /// [`Policy::pause_demand`] of every ingress queue of a port whenever that of one is asked for.
    pub const PAUSE_PORT: Self = Self(1 << 6);

    /// Both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of `other` are wanted.
    #[inline]
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Decides who may occupy a shared buffer.
///
/// Called by [`crate::Switch`], which owns packets and ledger; a policy owns judgement only. `buffer`
/// always shows the state *before* the event that is reported, except where a hook says otherwise.
///
/// Calls are dynamic: one registry serves the command line and Python, and policies may come
/// from other crates. `benches/policies.rs` in `bufferlab-conformance` measures the price against the statically
/// dispatched form ([`crate::Switch`] is generic).
pub trait Policy: fmt::Debug + Send {
    /// Decides on one arrival. Called again after each eviction that it asked for ([`Arrival::evictions`]); nothing may be remembered for that
    /// from one call to the next, because [`crate::Panel`] asks policies whose evictions never happen.
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict;

    /// The optional hooks that this policy needs.
    fn hooks(&self) -> Hooks {
        Hooks::NONE
    }

    /// `arrival` was stored; `buffer` already contains it.
    fn on_enqueue(&mut self, _arrival: &Arrival, _buffer: &Buffer) {}

    /// A packet left for the wire; `buffer` no longer contains it.
    fn on_dequeue(&mut self, _departure: &Departure, _buffer: &Buffer) {}

    /// `arrival` was refused.
    fn on_drop(&mut self, _arrival: &Arrival, _reason: DropReason, _buffer: &Buffer) {}

    /// A stored packet of `size` bytes was evicted or expelled; `buffer` no longer contains it.
    fn on_evict(&mut self, _now: Time, _queue: QueueId, _size: u32, _buffer: &Buffer) {}

    /// A round-robin scheduler passed `queue` because it was empty.
    fn on_empty_visit(&mut self, _now: Time, _queue: QueueId) {}

    /// When [`Self::handle_timeout`] wants to be called next. Polled when the switch is built, after every
    /// `handle_timeout`, and after every arrival for as long as the answer is `None`; so an arrival may start
    /// the first timer but must not make a deadline earlier.
    fn next_timeout(&self) -> Option<Time> {
        None
    }

    /// Time has reached [`Self::next_timeout`]. Early calls do nothing; a call that is late advances the
    /// deadline, and is repeated until it lies ahead of `now`.
    fn handle_timeout(&mut self, _now: Time, _buffer: &Buffer) {}

    /// A queue to shorten now although nothing has arrived. Polled after a packet was stored or left and after
    /// [`Self::handle_timeout`], until it answers `None`.
    fn poll_expulsion(&mut self, _now: Time, _buffer: &Buffer) -> Option<(QueueId, End)> {
        None
    }

    /// What the sender behind `ingress` shall do. Polled after a packet of that ingress queue was
    /// stored or left.
    fn pause_demand(&mut self, _now: Time, _ingress: IngressId, _buffer: &Buffer) -> PauseDemand {
        PauseDemand::Keep
    }

    /// The classifier that comes with the scheme: an elephant trap, a redirection of short flows. `None`: priority p joins queue p.
    /// Taken once, when the switch is built; [`crate::Switch::set_classifier`] replaces it.
    fn take_classifier(&mut self) -> Option<Classifier> {
        None
    }

    /// The limit in force for a packet with `tags` in `queue` (bytes): a packet is admitted iff the queue's
    /// length with it stays within the limit, and the packet fits into the memory. `None` where the policy has
    /// no such notion. For traces, reports and `explain`; never called in the hot path.
    fn threshold(&self, _queue: QueueId, _tags: Tags, _buffer: &Buffer) -> Option<u64> {
        None
    }

    /// An error inside the policy, once: what makes every later verdict meaningless. A policy that has one says so by refusing with
    /// [`DropReason::PolicyFault`]; whoever drives the switch then asks, and asks again when the run ends, because hooks can fail, too.
    fn take_failure(&mut self) -> Option<PolicyFailure> {
        None
    }

    /// Internal state worth plotting for `queue`: counters, states, shares. Never in the hot path.
    fn probe(&self, _queue: QueueId, _buffer: &Buffer, _sink: &mut dyn FnMut(&'static str, f64)) {}
}

impl Policy for Box<dyn Policy> {
    #[inline]
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        (**self).admit(arrival, buffer)
    }
    fn hooks(&self) -> Hooks {
        (**self).hooks()
    }
    #[inline]
    fn on_enqueue(&mut self, arrival: &Arrival, buffer: &Buffer) {
        (**self).on_enqueue(arrival, buffer);
    }
    #[inline]
    fn on_dequeue(&mut self, departure: &Departure, buffer: &Buffer) {
        (**self).on_dequeue(departure, buffer);
    }
    fn on_drop(&mut self, arrival: &Arrival, reason: DropReason, buffer: &Buffer) {
        (**self).on_drop(arrival, reason, buffer);
    }
    fn on_evict(&mut self, now: Time, queue: QueueId, size: u32, buffer: &Buffer) {
        (**self).on_evict(now, queue, size, buffer);
    }
    fn on_empty_visit(&mut self, now: Time, queue: QueueId) {
        (**self).on_empty_visit(now, queue);
    }
    fn next_timeout(&self) -> Option<Time> {
        (**self).next_timeout()
    }
    fn handle_timeout(&mut self, now: Time, buffer: &Buffer) {
        (**self).handle_timeout(now, buffer);
    }
    fn poll_expulsion(&mut self, now: Time, buffer: &Buffer) -> Option<(QueueId, End)> {
        (**self).poll_expulsion(now, buffer)
    }
    fn pause_demand(&mut self, now: Time, ingress: IngressId, buffer: &Buffer) -> PauseDemand {
        (**self).pause_demand(now, ingress, buffer)
    }
    fn take_classifier(&mut self) -> Option<Classifier> {
        (**self).take_classifier()
    }
    fn threshold(&self, queue: QueueId, tags: Tags, buffer: &Buffer) -> Option<u64> {
        (**self).threshold(queue, tags, buffer)
    }
    fn take_failure(&mut self) -> Option<PolicyFailure> {
        (**self).take_failure()
    }
    fn probe(&self, queue: QueueId, buffer: &Buffer, sink: &mut dyn FnMut(&'static str, f64)) {
        (**self).probe(queue, buffer, sink);
    }
}
