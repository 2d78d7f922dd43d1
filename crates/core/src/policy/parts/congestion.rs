//! ABM and Plasticine scale alpha by the number of congested queues and the drain rate
//! of each queue.
//!
//! A [`Tracker`] counts the congested queues of every *group* of queues and knows the drain rate of
//! every queue. The tracker updates counts and rates at intervals. Between updates the weight
//! `α·γ/n` of a queue is constant.

use crate::buffer::{Buffer, QueueId};
use crate::policy::interface::{BuildError, Hooks, SwitchShape};
use crate::policy::parts::parameters::refuse_beyond_buffer;
use crate::schedule::MAX_QUEUES_PER_PORT;
use crate::weight::Weight;
use bufferlab_params::{Choice, ParamInfo, ParamKind, ParamValue, Params, choices};
use bufferlab_units::{BitRate, Time};

/// Bytes that a queue must have sent before [`DrainRate::Unbounded`] measures it.
const MEASURED_BYTES: u64 = 2_048;

/// Credit that the round robin of ABM's public code gives for a visit to an empty queue (bytes).
const EMPTY_VISIT_CREDIT: u64 = 1_472;

/// Parameter `congested_share`: a queue is congested above this share of its threshold.
pub(crate) const CONGESTED_SHARE: ParamInfo = ParamInfo {
    name: "congested_share",
    kind: ParamKind::Ratio { min: 1e-3, max: 1.0 },
    default: ParamValue::Ratio(0.9),
    artifact_default: None,
    doc: "Share of its threshold above which a queue is congested, for `congestion = \"threshold\"`.",
};

/// Parameter `drain_rate`, for a control loop without the credits of the paper's artifact.
pub(crate) const fn drain_rate_param(default: DrainRateSource) -> ParamInfo {
    ParamInfo {
        name: "drain_rate",
        kind: ParamKind::Choice(DrainRateSource::WORDS),
        default: ParamValue::word(default.word()),
        artifact_default: None,
        doc: "Drain rate of a queue, as a fraction of the fastest port's rate.",
    }
}

choices! {
    /// Source of drain rates for a control loop without the artifact's credits.
    pub(crate) enum DrainRateSource {
        Measured = "measured":
            "bytes sent in the last interval, if packets waited (otherwise the port's rate); at least the port's rate / queues",
        Computed = "computed": "an equal share of the port's rate for each of its congested queues (round robin)",
    }
}

/// Parameter `congestion` of policies that count a queue as congested or not, or as a fraction.
/// `doc` describes the comparison of the queue length and the time of the comparison.
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
    /// The values of the parameter `congestion`.
    pub(crate) enum CongestionRule {
        Threshold = "threshold":
            "a queue counts as 1 when it reaches `congested_share` of its threshold (the paper)",
        Fraction = "fraction": "a queue counts as min(1, q / `congested_bytes`) (the artifact)",
    }
}

/// Condition for a queue to count as congested, and its weight in the count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Criterion {
    /// A queue is congested if it reaches the given share of its threshold.
    Share(Weight),
    /// A queue is congested if it is longer than the given number of bytes.
    Longer(u64),
    /// The queue counts as the fraction min(1, q / `full`), with the length q at the last arrival.
    Fraction {
        /// Length from which a queue counts fully as congested (bytes).
        full: u64,
        /// Share of the threshold above which the queue competes for its port in the computation
        /// of drain rates.
        share: Weight,
    },
}

/// Source of the drain rate γ of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DrainRate {
    /// The drain rate γ is the constant 1.
    One,
    /// The drain rate γ is computed from the bytes that the queue sent in the last interval.
    Measured,
    /// The drain rate γ is an equal share of the port for each congested queue of the port.
    Computed,
    /// The drain rate γ is computed from the bytes that the queue sent in the last interval. Visits
    /// to the empty queue add the artifact's credits to these bytes.
    Credited,
    /// The drain rate is measured for a queue that is longer than `longer` and has sent more than
    /// 2,048 B. The rate is relative to the queue's own port and has no upper bound: packets of an
    /// ingress queue may leave through several ports. The drain rate at the last port of a switch
    /// is never measured. The reason is that ns-3 counts ports from 1, but updates only ports below
    /// the number of ports. This rule is inferred: only with this rule do the pauses of spine
    /// switches match the artifact's.
    Unbounded {
        /// Length above which the drain rate of a queue is measured (bytes).
        longer: u64,
    },
}

impl Criterion {
    /// The congestion criterion from the parameters of [`congestion_param`].
    pub(crate) fn from_params(params: &Params) -> Self {
        let share = Weight::from_f64(params.ratio(CONGESTED_SHARE.name));
        match params.choice("congestion") {
            CongestionRule::Threshold => Self::Share(share),
            CongestionRule::Fraction => Self::Fraction { full: params.bytes("congested_bytes"), share },
        }
    }
}

impl DrainRate {
    /// The source of the drain rate from the parameter of [`drain_rate_param`].
    pub(crate) fn from_params(params: &Params) -> Self {
        match params.choice("drain_rate") {
            DrainRateSource::Measured => Self::Measured,
            DrainRateSource::Computed => Self::Computed,
        }
    }

    /// Policy hooks needed to measure the drain rate of a queue.
    pub(crate) fn hooks(self) -> Hooks {
        match self {
            Self::One | Self::Computed => Hooks::NONE,
            Self::Measured | Self::Unbounded { .. } => Hooks::DEQUEUE,
            Self::Credited => Hooks::DEQUEUE.and(Hooks::EMPTY_VISIT),
        }
    }
}

/// Settings of a [`Tracker`] of congested queues.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Alpha by priority. The threshold with this alpha decides whether a queue is congested.
    pub(crate) alphas: Vec<Weight>,
    /// Alpha by priority for packets that the policy favours (`unscheduled`, short).
    pub(crate) favoured_alphas: Vec<Weight>,
    /// Number (from 0) of the group in which the congested queues of each priority are counted.
    pub(crate) group_of: Vec<usize>,
    /// Time between two updates of the counts of congested queues and the drain rates.
    pub(crate) interval: Time,
    /// Condition for a queue to count as congested.
    pub(crate) criterion: Criterion,
    /// Source of the drain rate γ.
    pub(crate) drain_rate: DrainRate,
    /// Whether congestion depends on the peak queue length that arrivals found since the last
    /// update, instead of the current queue length.
    pub(crate) watermark: bool,
    /// Whether the tracker rounds the weights α·γ/n to powers of two.
    pub(crate) powers_of_two: bool,
    /// Whether the count n of congested queues changes with every arrival, not only at updates.
    /// Only [`Criterion::Fraction`] supports this.
    pub(crate) immediate: bool,
}

impl Settings {
    fn rounded(&self, weight: Weight) -> Weight {
        if self.powers_of_two { weight.nearest_power_of_two() } else { weight }
    }
}

/// Refuses a `congested_bytes` that no queue can reach, if congestion is counted as a
/// fraction of `congested_bytes`.
pub(crate) fn refuse_unreachable_congestion(params: &Params, shape: &SwitchShape) -> Result<(), BuildError> {
    match params.choice("congestion") {
        CongestionRule::Threshold => Ok(()),
        CongestionRule::Fraction => {
            let what = "no queue would ever count in full; choose less";
            refuse_beyond_buffer(params, shape, "congested_bytes", what)
        }
    }
}

/// Values by priority of the parameter `name`, as weights.
pub(crate) fn weights(params: &Params, name: &str, priorities: usize) -> Vec<Weight> {
    params.ratio_per_priority(name, priorities).into_iter().map(Weight::from_f64).collect()
}

#[derive(Clone, Copy, Debug)]
struct QueueState {
    /// Weight α·γ/n of the queue since the last update.
    weight: Weight,
    /// Weight α·γ/n of the queue with the α of favoured packets.
    favoured_weight: Weight,
    /// Drain rate γ of the queue since the last update.
    gamma: Weight,
    /// Bytes that the queue sent, or got as credits, since the last update.
    sent: u64,
    /// Whether a packet has waited behind another packet since the last update, so that the
    /// measured drain rate is valid.
    waited: bool,
    /// Peak queue length that arrivals found since the last update.
    peak: u64,
    /// Queue length q at the last arrival, but at most `full` of [`Criterion::Fraction`].
    level: u64,
}

/// Length of a queue, as the tracker of congested queues counts it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Length {
    /// Bytes of the shared pool that the queue occupies.
    pub(crate) bytes: u64,
    /// Whether the queue has packets. True even if all its bytes are reserved.
    pub(crate) holds_packets: bool,
}

/// Counts congested queues, tracks drain rates, and stores the weights α·γ/n that follow from the
/// counts and rates.
#[derive(Clone, Debug)]
pub(crate) struct Tracker {
    settings: Settings,
    /// Rate b of the fastest port. Drain rates are fractions of the rate b.
    fastest: BitRate,
    port_rates: Vec<BitRate>,
    queues_per_port: usize,
    queues: Vec<QueueState>,
    /// Number n of congested queues by group at the last update or the last arrival, at least one.
    congested: Vec<Weight>,
    /// Sums of the levels of queues (`Criterion::Fraction`) by group, if n changes with every
    /// arrival.
    levels: Vec<u64>,
    next_update: Time,
}

impl Tracker {
    /// State before the first arrival: the count n is one, and a queue may drain as fast as its
    /// port.
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

    /// Weight α·γ/n of `queue`.
    #[inline]
    pub(crate) fn weight(&self, queue: QueueId, favoured: bool) -> Weight {
        if self.settings.immediate {
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

    /// Records an arrival for `queue`, which contains `bytes` bytes.
    #[inline]
    pub(crate) fn arrived(&mut self, queue: QueueId, bytes: u64) {
        let state = &mut self.queues[usize::from(queue.0)];
        state.waited |= bytes > 0;
        state.peak = state.peak.max(bytes);
        if let Criterion::Fraction { full, .. } = self.settings.criterion {
            let before = std::mem::replace(&mut state.level, bytes.min(full));
            if self.settings.immediate {
                let group = self.settings.group_of[usize::from(queue.0) % self.queues_per_port];
                let sum = &mut self.levels[group];
                *sum = *sum - before + bytes.min(full);
                self.congested[group] = Weight::from_fraction(*sum, full).max(Weight::ONE);
            }
        }
    }

    /// Records that `size` bytes of `queue` left for transmission.
    #[inline]
    pub(crate) fn sent(&mut self, queue: QueueId, size: u32) {
        self.queues[usize::from(queue.0)].sent += u64::from(size);
    }

    /// Records that a round robin skipped the empty `queue`.
    pub(crate) fn passed_empty(&mut self, queue: QueueId) {
        self.queues[usize::from(queue.0)].sent += EMPTY_VISIT_CREDIT;
    }

    /// Time at which the next call of [`Self::update`] is due.
    pub(crate) fn next_update(&self) -> Time {
        self.next_update
    }

    /// Updates the counts n, the drain rates γ and the weights if an update is due. Thresholds are
    /// fractions of the free space `remaining`.
    pub(crate) fn update(&mut self, now: Time, remaining: u64, buffer: &Buffer) {
        let length = |queue: usize| {
            let queue = QueueId(queue as u16);
            Length { bytes: buffer.shared_queue_bytes(queue), holds_packets: buffer.queue_packets(queue) > 0 }
        };
        self.update_from(now, remaining, &length);
    }

    /// Updates like [`Self::update`], with lengths of ingress queues that the caller passes.
    pub(crate) fn update_from(&mut self, now: Time, remaining: u64, length: &dyn Fn(usize) -> Length) {
        if now < self.next_update {
            return;
        }
        // The counts of congested queues and the drain rates both use the thresholds from before
        // the update.
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

    /// Sets the weights α·γ/n of a queue from its drain rate γ and the count n of its group.
    fn set_weights(&mut self, queue: usize) {
        let priority = queue % self.queues_per_port;
        let n = self.congested[self.settings.group_of[priority]];
        let state = &mut self.queues[queue];
        let scale = state.gamma.divided_by(n);
        state.weight = self.settings.rounded(self.settings.alphas[priority].times(scale));
        state.favoured_weight = self.settings.rounded(self.settings.favoured_alphas[priority].times(scale));
    }

    /// Share of each of `n` queues under round robin, at the port of `queue`. The share is a
    /// fraction of b, the rate of the fastest port (ABM section 3.2, footnote 2).
    fn share_of(&self, queue: usize, n: usize) -> Weight {
        let port_rate = self.port_rates[queue / self.queues_per_port];
        Weight::from_fraction(port_rate.0, self.fastest.0 * n as u64)
    }

    /// Drain rate γ of a queue in which no packet waited: a burst may use the whole rate of the
    /// port.
    fn unknown_drain_rate(&self, queue: usize) -> Weight {
        match self.settings.drain_rate {
            // The artifact ignores the rate of the queue's port.
            DrainRate::One | DrainRate::Credited | DrainRate::Unbounded { .. } => Weight::ONE,
            DrainRate::Measured | DrainRate::Computed => self.share_of(queue, 1),
        }
    }

    fn is_congested(&self, queue: usize, remaining: u64, length: &dyn Fn(usize) -> Length) -> bool {
        let length = length(queue).bytes;
        let bytes = if self.settings.watermark { length.max(self.queues[queue].peak) } else { length };
        let reaches = |share: Weight| share.is_reached_by(bytes, self.queues[queue].weight.apply(remaining));
        // An empty queue is never congested, not even with a threshold of 0.
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
            // The tracker has no measurement if no packet waited.
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

    /// Reports γ of `queue` and the number of congested queues in its group, for plots.
    pub(crate) fn probe(&self, queue: QueueId, sink: &mut dyn FnMut(&'static str, f64)) {
        let queue = usize::from(queue.0);
        let group = self.settings.group_of[queue % self.queues_per_port];
        sink("gamma", self.queues[queue].gamma.as_f64());
        sink("congested_queues", self.congested[group].as_f64());
    }
}
