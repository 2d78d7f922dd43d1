//! Which queues are congested and how fast each one drains: what ABM and Plasticine divide and
//! scale alpha by.
//!
//! A [`Tracker`] counts the congested queues of every *group* of queues and knows the drain rate of
//! every queue. Both are refreshed at intervals; between updates the weight `α·γ/n` of a queue is
//! frozen.

use crate::buffer::{Buffer, QueueId};
use crate::policy::interface::{BuildError, Hooks, SwitchShape};
use crate::policy::parts::parameters::refuse_beyond_buffer;
use crate::schedule::MAX_QUEUES_PER_PORT;
use crate::weight::Weight;
use bufferlab_params::{Choice, ParamInfo, ParamKind, ParamValue, Params, choices};
use bufferlab_units::{BitRate, Time};

/// Bytes that a queue must have sent for [`DrainRate::Unbounded`] to measure it.
const MEASURED_BYTES: u64 = 2_048;

/// What the artifact's round robin adds for a visit to an empty queue (bytes).
const EMPTY_VISIT_CREDIT: u64 = 1_472;

/// The share of its threshold from which a queue is congested; the same in every policy that has
/// it.
pub(crate) const CONGESTED_SHARE: ParamInfo = ParamInfo {
    name: "congested_share",
    kind: ParamKind::Ratio { min: 1e-3, max: 1.0 },
    default: ParamValue::Ratio(0.9),
    artifact_default: None,
    doc: "Share of its threshold from which a queue is congested, for `congestion = \"threshold\"`.",
};

/// The drain rates that a control loop without the artifact's credits can know.
pub(crate) const fn drain_rate_param(default: DrainRateSource) -> ParamInfo {
    ParamInfo {
        name: "drain_rate",
        kind: ParamKind::Choice(DrainRateSource::WORDS),
        default: ParamValue::word(default.word()),
        artifact_default: None,
        doc: "How fast a queue drains, as a fraction of the fastest port's rate.",
    }
}

choices! {
    /// How a control loop without the artifact's credits knows drain rates.
    pub(crate) enum DrainRateSource {
        Measured = "measured":
            "bytes sent in the last interval, where packets waited (elsewhere the port's rate); at least the port's rate / queues",
        Computed = "computed": "an equal share of the port's rate for each of its congested queues (round robin)",
    }
}

/// The parameter `congestion` of policies whose queues count in whole or in part; `doc` says what
/// is compared and when.
pub(crate) const fn congestion_param(doc: &'static str) -> ParamInfo {
    ParamInfo {
        name: "congestion",
        kind: ParamKind::Choice(CongestionRule::WORDS),
        default: ParamValue::word(CongestionRule::Threshold.word()),
        artifact_default: Some(ParamValue::word(CongestionRule::Fraction.word())),
        doc,
    }
}

choices! {
    /// When, and as how much, a queue counts as congested.
    pub(crate) enum CongestionRule {
        Threshold = "threshold":
            "a queue counts as one when it reaches `congested_share` of its threshold (the paper)",
        Fraction = "fraction": "it counts as min(1, q / `congested_bytes`) (the artifact)",
    }
}

/// When a queue counts as congested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Criterion {
    /// It reaches this share of its threshold.
    Share(Weight),
    /// It is longer than so many bytes.
    Longer(u64),
    /// It counts as min(1, q / `full`), as of the last arrival.
    Fraction {
        /// Bytes that count in full.
        full: u64,
        /// Of its threshold: from here it shares its port, when the drain rate is computed.
        share: Weight,
    },
}

/// Where γ comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DrainRate {
    /// Always one.
    One,
    /// Bytes sent in the last interval.
    Measured,
    /// An equal share for each congested queue of the port.
    Computed,
    /// Measured, with the artifact's credits for visits to empty queues.
    Credited,
    /// Measured where a queue is longer than so many bytes and has sent more than 2,048 B, relative
    /// to its own port and without bounds: an ingress queue may leave through several ports. The
    /// last port of a switch is never measured: ns-3 counts ports from 1 and updates those whose
    /// number is below their count (inferred: only so do pauses of spines come out).
    Unbounded {
        /// The length (bytes).
        longer: u64,
    },
}

impl Criterion {
    /// As the parameters of [`congestion_param`] say.
    pub(crate) fn from_params(params: &Params) -> Self {
        let share = Weight::from_f64(params.ratio(CONGESTED_SHARE.name));
        match params.choice("congestion") {
            CongestionRule::Threshold => Self::Share(share),
            CongestionRule::Fraction => Self::Fraction { full: params.bytes("congested_bytes"), share },
        }
    }
}

impl DrainRate {
    /// As the parameter of [`drain_rate_param`] says.
    pub(crate) fn from_params(params: &Params) -> Self {
        match params.choice("drain_rate") {
            DrainRateSource::Measured => Self::Measured,
            DrainRateSource::Computed => Self::Computed,
        }
    }

    /// The events that it needs.
    pub(crate) fn hooks(self) -> Hooks {
        match self {
            Self::One | Self::Computed => Hooks::NONE,
            Self::Measured | Self::Unbounded { .. } => Hooks::DEQUEUE,
            Self::Credited => Hooks::DEQUEUE.and(Hooks::EMPTY_VISIT),
        }
    }
}

/// How a [`Tracker`] works.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// α by priority. Congestion is judged by this threshold.
    pub(crate) alphas: Vec<Weight>,
    /// α by priority for packets that the policy favours (`unscheduled`, short).
    pub(crate) favoured_alphas: Vec<Weight>,
    /// By priority: in which group its queues count. Groups are numbered from 0.
    pub(crate) group_of: Vec<usize>,
    /// Time between updates.
    pub(crate) interval: Time,
    /// When a queue is congested.
    pub(crate) criterion: Criterion,
    /// Where γ comes from.
    pub(crate) drain_rate: DrainRate,
    /// Congestion looks at the longest length that an arrival met since the last update, not at
    /// that of the instant.
    pub(crate) watermark: bool,
    /// Weights are rounded to powers of two.
    pub(crate) powers_of_two: bool,
    /// n follows every arrival at once ([`Criterion::Fraction`] only), not at the next update.
    pub(crate) at_once: bool,
}

impl Settings {
    fn rounded(&self, weight: Weight) -> Weight {
        if self.powers_of_two { weight.nearest_power_of_two() } else { weight }
    }
}

/// Refuses a `congested_bytes` that no queue can reach, where congestion is counted as a fraction
/// of it.
pub(crate) fn refuse_unreachable_congestion(params: &Params, shape: &SwitchShape) -> Result<(), BuildError> {
    match params.choice("congestion") {
        CongestionRule::Threshold => Ok(()),
        CongestionRule::Fraction => {
            let what = "no queue would ever count in full; choose less";
            refuse_beyond_buffer(params, shape, "congested_bytes", what)
        }
    }
}

/// `params`' ratio per priority as weights.
pub(crate) fn weights(params: &Params, name: &str, priorities: usize) -> Vec<Weight> {
    params.ratio_per_priority(name, priorities).into_iter().map(Weight::from_f64).collect()
}

/// State of one queue.
#[derive(Clone, Copy, Debug)]
struct QueueState {
    /// α·γ/n, in force since the last update.
    weight: Weight,
    /// The same with the α of favoured packets.
    favoured_weight: Weight,
    /// γ, in force since the last update.
    gamma: Weight,
    /// Bytes sent, or credited, since the last update.
    sent: u64,
    /// A packet has waited behind another one since the last update: the drain rate is a
    /// measurement.
    waited: bool,
    /// The longest length that an arrival met since the last update.
    peak: u64,
    /// min(q, `full` of [`Criterion::Fraction`]) when a packet last arrived.
    level: u64,
}

/// What a queue holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Length {
    /// Of the shared pool (bytes).
    pub(crate) bytes: u64,
    /// Also where all of it is reserved.
    pub(crate) holds_packets: bool,
}

/// Counts congested queues, knows drain rates, keeps the weights that follow.
#[derive(Clone, Debug)]
pub(crate) struct Tracker {
    settings: Settings,
    /// b: what drain rates are relative to.
    fastest: BitRate,
    port_rates: Vec<BitRate>,
    queues_per_port: usize,
    queues: Vec<QueueState>,
    /// n, by group, as of the last update, or at once; at least one.
    congested: Vec<Weight>,
    /// Sums of levels, by group, where n follows them at once.
    levels: Vec<u64>,
    next_update: Time,
}

impl Tracker {
    /// Before anything has arrived: n is one, and a queue may drain as fast as its port.
    pub(crate) fn new(settings: Settings, shape: &SwitchShape) -> Self {
        let queues_per_port = shape.queues_per_port;
        let groups = settings.group_of.iter().max().map_or(0, |last| last + 1);
        let idle = QueueState {
            weight: Weight::ONE,
            favoured_weight: Weight::ONE,
            gamma: Weight::ONE,
            sent: 0,
            waited: false,
            peak: 0,
            level: 0,
        };
        let mut tracker = Self {
            queues: vec![idle; shape.queues()],
            congested: vec![Weight::ONE; groups],
            levels: vec![0; groups],
            fastest: shape.port_rates.iter().copied().max().unwrap_or(BitRate(1)),
            port_rates: shape.port_rates.clone(),
            queues_per_port,
            next_update: settings.interval,
            settings,
        };
        for queue in 0..tracker.queues.len() {
            tracker.queues[queue].gamma = tracker.unknown_drain_rate(queue);
            tracker.set_weights(queue);
        }
        tracker
    }

    /// α·γ/n of `queue`.
    #[inline]
    pub(crate) fn weight(&self, queue: QueueId, favoured: bool) -> Weight {
        if self.settings.at_once {
            return self.weight_at_once(usize::from(queue.0), favoured);
        }
        let state = &self.queues[usize::from(queue.0)];
        if favoured { state.favoured_weight } else { state.weight }
    }

    fn weight_at_once(&self, queue: usize, favoured: bool) -> Weight {
        let priority = queue % self.queues_per_port;
        let alphas = if favoured { &self.settings.favoured_alphas } else { &self.settings.alphas };
        let n = self.congested[self.settings.group_of[priority]];
        self.settings.rounded(alphas[priority].times(self.queues[queue].gamma.divided_by(n)))
    }

    /// A packet has arrived for `queue`, which holds `bytes`.
    #[inline]
    pub(crate) fn arrived(&mut self, queue: QueueId, bytes: u64) {
        let state = &mut self.queues[usize::from(queue.0)];
        state.waited |= bytes > 0;
        state.peak = state.peak.max(bytes);
        if let Criterion::Fraction { full, .. } = self.settings.criterion {
            let before = std::mem::replace(&mut state.level, bytes.min(full));
            if self.settings.at_once {
                let group = self.settings.group_of[usize::from(queue.0) % self.queues_per_port];
                let sum = &mut self.levels[group];
                *sum = *sum - before + bytes.min(full);
                self.congested[group] = Weight::from_fraction(*sum, full).max(Weight::ONE);
            }
        }
    }

    /// `size` bytes of `queue` left for the wire.
    #[inline]
    pub(crate) fn sent(&mut self, queue: QueueId, size: u32) {
        self.queues[usize::from(queue.0)].sent += u64::from(size);
    }

    /// A round robin passed `queue` because it was empty.
    pub(crate) fn passed_empty(&mut self, queue: QueueId) {
        self.queues[usize::from(queue.0)].sent += EMPTY_VISIT_CREDIT;
    }

    /// When [`Self::update`] is due.
    pub(crate) fn next_update(&self) -> Time {
        self.next_update
    }

    /// Refreshes n, γ and the weights if that is due; `remaining` is what thresholds are fractions
    /// of.
    pub(crate) fn update(&mut self, now: Time, remaining: u64, buffer: &Buffer) {
        let length = |queue: usize| {
            let queue = QueueId(queue as u16);
            Length { bytes: buffer.shared_queue_bytes(queue), holds_packets: buffer.queue_packets(queue) > 0 }
        };
        self.update_from(now, remaining, &length);
    }

    /// The same for queues whose lengths are known to the caller (ingress queues).
    pub(crate) fn update_from(&mut self, now: Time, remaining: u64, length: &dyn Fn(usize) -> Length) {
        if now < self.next_update {
            return;
        }
        // Both look at the thresholds in force before the update.
        self.count_congested(remaining, length);
        for queue in 0..self.queues.len() {
            self.queues[queue].gamma = self.drain_rate_of(queue, remaining, length);
        }
        for queue in 0..self.queues.len() {
            self.set_weights(queue);
            let now_held = length(queue);
            let state = &mut self.queues[queue];
            state.sent = 0;
            state.peak = now_held.bytes;
            state.waited = now_held.holds_packets;
        }
        self.next_update = now + self.settings.interval;
    }

    /// α·γ/n of a queue, from now on.
    fn set_weights(&mut self, queue: usize) {
        let priority = queue % self.queues_per_port;
        let n = self.congested[self.settings.group_of[priority]];
        let state = &mut self.queues[queue];
        let scale = state.gamma.divided_by(n);
        state.weight = self.settings.rounded(self.settings.alphas[priority].times(scale));
        state.favoured_weight = self.settings.rounded(self.settings.favoured_alphas[priority].times(scale));
    }

    /// What round robin gives one of `n` queues of the port of `queue`, as a fraction of the
    /// fastest port (ABM section 3.2, footnote 2: where ports differ, b is the rate of the
    /// fastest).
    fn share_of(&self, queue: usize, n: usize) -> Weight {
        let port_rate = self.port_rates[queue / self.queues_per_port];
        Weight::from_fraction(port_rate.0, self.fastest.0 * n as u64)
    }

    /// γ of a queue in which nothing waited: a burst may have all of its port.
    fn unknown_drain_rate(&self, queue: usize) -> Weight {
        match self.settings.drain_rate {
            // The artifact does not look at the port's rate.
            DrainRate::One | DrainRate::Credited | DrainRate::Unbounded { .. } => Weight::ONE,
            DrainRate::Measured | DrainRate::Computed => self.share_of(queue, 1),
        }
    }

    fn is_congested(&self, queue: usize, remaining: u64, length: &dyn Fn(usize) -> Length) -> bool {
        let length = length(queue).bytes;
        let bytes = if self.settings.watermark { length.max(self.queues[queue].peak) } else { length };
        let reaches = |share: Weight| share.is_reached_by(bytes, self.queues[queue].weight.of(remaining));
        // An empty queue is never congested, also not when the threshold is 0.
        bytes > 0
            && match self.settings.criterion {
                Criterion::Share(share) => reaches(share),
                Criterion::Longer(limit) => bytes > limit,
                Criterion::Fraction { share, .. } => reaches(share),
            }
    }

    fn count_congested(&mut self, remaining: u64, length: &dyn Fn(usize) -> Length) {
        let mut sums = [0_u64; MAX_QUEUES_PER_PORT];
        for queue in 0..self.queues.len() {
            sums[self.settings.group_of[queue % self.queues_per_port]] += match self.settings.criterion {
                Criterion::Fraction { .. } => self.queues[queue].level,
                _ => u64::from(self.is_congested(queue, remaining, length)),
            };
        }
        let whole = if let Criterion::Fraction { full, .. } = self.settings.criterion { full } else { 1 };
        for (n, sum) in self.congested.iter_mut().zip(sums) {
            *n = Weight::from_fraction(sum, whole).max(Weight::ONE);
        }
    }

    fn drain_rate_of(&self, queue: usize, remaining: u64, length: &dyn Fn(usize) -> Length) -> Weight {
        let state = &self.queues[queue];
        let measured = || {
            let full = self.fastest.bytes_in(self.settings.interval).max(1);
            Weight::from_fraction(state.sent, full)
        };
        match self.settings.drain_rate {
            DrainRate::One => self.unknown_drain_rate(queue),
            // Without a queue nothing is measured.
            DrainRate::Measured if !state.waited => self.unknown_drain_rate(queue),
            DrainRate::Measured => {
                measured().clamp(self.share_of(queue, self.queues_per_port), self.share_of(queue, 1))
            }
            DrainRate::Unbounded { .. } if queue / self.queues_per_port + 1 == self.port_rates.len() => {
                self.unknown_drain_rate(queue)
            }
            DrainRate::Unbounded { longer }
                if length(queue).bytes > longer && state.sent > MEASURED_BYTES =>
            {
                let full = self.port_rates[queue / self.queues_per_port].bytes_in(self.settings.interval);
                Weight::from_fraction(state.sent, full.max(1))
            }
            DrainRate::Unbounded { .. } => self.unknown_drain_rate(queue),
            DrainRate::Credited => match measured() {
                rate if rate < Weight::from_fraction(1, self.queues_per_port as u64) => Weight::ONE,
                rate => rate.min(Weight::ONE),
            },
            DrainRate::Computed => {
                let first = queue - queue % self.queues_per_port;
                let own = first..first + self.queues_per_port;
                let congested = |q: &usize| *q != queue && self.is_congested(*q, remaining, length);
                self.share_of(queue, own.filter(congested).count() + 1)
            }
        }
    }

    /// What plots want to know of `queue`.
    pub(crate) fn probe(&self, queue: QueueId, sink: &mut dyn FnMut(&'static str, f64)) {
        let queue = usize::from(queue.0);
        let group = self.settings.group_of[queue % self.queues_per_port];
        sink("gamma", self.queues[queue].gamma.as_f64());
        sink("congested_queues", self.congested[group].as_f64());
    }
}
