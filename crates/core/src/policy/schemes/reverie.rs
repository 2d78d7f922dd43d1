//! Reverie: one pool for lossless and lossy traffic, with thresholds on low-pass filtered lengths.
//!
//! Lossless queues are counted at ingress, lossy queues at egress, and every packet once.
//! A packet is admitted iff its queue's filtered length `q̂ ≤ Γ = α_p / n_p (b* − q*)`. Beyond Γ,
//! the switch drops a lossy packet. A lossless packet beyond Γ pauses its sender and uses headroom.

use crate::buffer::{Buffer, IngressId, QueueId};
use crate::policy::interface::{
    Account, Arrival, Bound, BoundPlace, BuildError, Departure, DropReason, Hooks, PauseDemand, PauseLevel,
    Policy, PolicyInfo, SwitchShape, Tags, Verdict,
};
use crate::policy::parts::congestion;
use crate::policy::parts::congestion::CongestionRule;
use crate::policy::parts::decay::Decay;
use crate::policy::parts::lossless::{
    self, HEADROOM, HEADROOM_POOL, HEADROOM_UNTIL, Lossless, PauseWith, Standing, XON, XON_OFFSET, pause_with,
};
use crate::policy::parts::parameters::{alpha, factor};
use crate::policy::parts::queue_profiles::{PROFILES, refuse};
use crate::policy::parts::slices::Slices;
use crate::weight::Weight;
use bufferlab_params::{Choice, ParamInfo, ParamKind, ParamValue, Params, choices};
use bufferlab_units::Time;

/// Registry entry of the policy `reverie`.
pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "reverie",
    aliases: &[],
    title: "Reverie",
    summary: "One pool for lossless and lossy queues, admitted by low-pass filtered queue lengths.",
    source: "Addanki, Bai, Schmid, Apostolaki, NSDI 2024, Eq. 4-6.",
    cost: "O(1)",
    params: PARAMS,
    build: &build,
};

const PARAMS: &[ParamInfo] = &[
    alpha(&[1.0], None, "alpha_p, by priority, lossless or lossy."),
    ParamInfo {
        name: "unscheduled",
        kind: ParamKind::Flag,
        default: ParamValue::Flag(false),
        artifact_default: Some(ParamValue::Flag(true)),
        doc: "Whether lossy packets tagged `unscheduled` have a separate alpha (the artifact; the paper has \
              no such rule).",
    },
    factor(
        "unscheduled_alpha",
        1_024.0,
        None,
        "Replaces alpha for packets tagged `unscheduled`, if `unscheduled` is true.",
    ),
    ParamInfo {
        name: "gamma",
        kind: ParamKind::Ratio { min: 0.0, max: 0.999_999_9 },
        default: ParamValue::Ratio(0.999),
        artifact_default: None,
        doc: "Weight of the past in the filter, per update: q^ := gamma q^ + (1 - gamma) q. 0: no filter.",
    },
    ParamInfo {
        name: "filter",
        kind: ParamKind::Choice(Updates::WORDS),
        default: ParamValue::word(Updates::Time.word()),
        artifact_default: Some(ParamValue::word(Updates::Departures.word())),
        doc: "Events that update the filter.",
    },
    artifact_rule(
        "headroom_counts",
        "Whether the length of a lossless queue includes its headroom (the artifact); otherwise it covers only bytes in the pool.",
    ),
    artifact_rule(
        "size_counts",
        "Whether the size of a lossy packet counts in its test, q^ + len <= Gamma (the artifact); otherwise \
         Equation 4, q^ <= Gamma.",
    ),
    artifact_rule(
        "lossless_skips_pool",
        "Whether a lossless packet that passes its test may exceed the pool, not the buffer (the artifact); \
         otherwise a full pool sends it to headroom.",
    ),
    artifact_rule(
        "whole_bytes",
        "Whether q^ and Gamma are rounded to whole bytes before they are compared, q^ up and Gamma down (the \
         artifact); otherwise they are compared exactly.",
    ),
    congestion::congestion_param(
        "Condition for a queue to count in n_p: q is the filtered length q^ and the threshold is Gamma, both \
         as of the queue's last update.",
    ),
    congestion::CONGESTED_SHARE,
    ParamInfo {
        name: "congested_bytes",
        kind: ParamKind::Bytes { min: 1 },
        default: ParamValue::Bytes(20_480),
        artifact_default: None,
        doc: "Filtered length at which a queue counts in full, for `congestion = \"fraction\"`.",
    },
    HEADROOM,
    HEADROOM_POOL,
    XON,
    XON_OFFSET,
    HEADROOM_UNTIL,
    pause_with(PauseWith::Exceeding),
    PROFILES,
];

/// A flag that is off if the policy follows the paper, and on if the policy follows the artifact.
const fn artifact_rule(name: &'static str, doc: &'static str) -> ParamInfo {
    ParamInfo {
        name,
        kind: ParamKind::Flag,
        default: ParamValue::Flag(false),
        artifact_default: Some(ParamValue::Flag(true)),
        doc,
    }
}

choices! {
    /// Events that update the low-pass filter of a queue's length.
    enum Updates {
        Events = "events":
            "every packet that is stored, leaves or is refused (the paper states only t - dt)",
        Time = "time":
            "time, also without events; a step is the time of the largest packet at the rate of the queue's \
             port. \"t - dt denotes the previous time instance\", and Property 1 compares with the gradient \
             in time",
        Departures = "departures":
            "only packets that leave; the filtered length never exceeds the length itself (the artifact)",
    }
}

fn build(params: &Params, shape: &SwitchShape) -> Result<Box<dyn Policy>, BuildError> {
    congestion::refuse_unreachable_congestion(params, shape)?;
    Ok(Box::new(Reverie::new(params, shape)?))
}

/// State of the low-pass filter of one queue.
#[derive(Clone, Copy, Debug, Default)]
struct Filter {
    /// Filtered length q̂ in 2⁻³² bytes.
    length: u64,
    /// Contribution of the queue to the sum from which n_p is computed.
    level: u64,
    /// Length of the queue since its last event (bytes), and the time up to which the filter has
    /// followed this length. Only [`Updates::Time`] uses the pair.
    held: u64,
    at: Time,
}

/// Time steps of the low-pass filter, which only [`Updates::Time`] uses.
#[derive(Clone, Debug)]
struct Clock {
    decay: Decay,
    /// Length of a time step of the filter, by port.
    steps: Vec<Time>,
}

/// Rules in which Reverie's public code deviates from the paper. Each rule is a parameter, and the
/// profile `artifact` sets every rule.
#[derive(Clone, Copy, Debug)]
struct Rules {
    /// Only departures update the filter, which never exceeds the
    /// queue's length ([`Updates::Departures`]).
    departures_only: bool,
    /// The length of a lossless queue includes its headroom.
    headroom_counts: bool,
    /// The test of a lossy packet includes the packet's size.
    size_counts: bool,
    /// A lossless packet that passes the policy's test may exceed the pool.
    lossless_skips_pool: bool,
    /// The policy compares whole bytes, as a program with integer variables does.
    whole_bytes: bool,
}

impl Rules {
    fn new(params: &Params) -> Self {
        Self {
            departures_only: params.choice::<Updates>("filter") == Updates::Departures,
            headroom_counts: params.flag("headroom_counts"),
            size_counts: params.flag("size_counts"),
            lossless_skips_pool: params.flag("lossless_skips_pool"),
            whole_bytes: params.flag("whole_bytes"),
        }
    }
}

/// The policy Reverie for lossless and lossy queues.
#[derive(Clone, Debug)]
pub struct Reverie {
    lossless: Lossless,
    /// Size b* of the shared pool of each memory slice (bytes).
    pools: Vec<u64>,
    /// Bytes of each queue by memory slice, if the switch has more than one slice.
    slices: Option<Slices>,
    gamma: Weight,
    rules: Rules,
    clock: Option<Clock>,
    congested_share: Weight,
    /// Queue length from which a queue counts fully as congested, if shorter queues count as
    /// fractions.
    full: Option<u64>,
    queues_per_port: usize,
    /// Number of egress queues of the switch.
    queues: usize,
    /// Low-pass filters by memory slice: first of egress queues (lossy), then of ingress queues
    /// (lossless).
    filters: Vec<Filter>,
    /// Alpha of the thresholds, by priority.
    alphas: Vec<Weight>,
    /// Sum of the `level` of all queues' filters, by slice and priority.
    levels: Vec<u64>,
    /// Current factor α/n of the thresholds, by slice and priority.
    weights: Vec<Weight>,
    /// Separate alpha of lossy packets tagged `unscheduled`, and this alpha divided by n, by slice
    /// and priority. `None` if these packets have the alpha of their priority.
    unscheduled: Option<(Weight, Vec<Weight>)>,
}

impl Reverie {
    /// Builds the policy from `params`, which its registry entry declares.
    ///
    /// # Errors
    /// Returns the parameter that leaves no space in the buffer.
    pub fn new(params: &Params, shape: &SwitchShape) -> Result<Self, BuildError> {
        refuse(params, |profile| {
            let has = profile.threshold.is_some() || profile.reserved.is_some();
            has.then_some("reverie has one pool without reserves and an `alpha` of every priority: a profile may have headroom, xon and xon_offset")
        })?;
        // A lossy queue's filter follows its egress length, which must not
        // include lossless packets.
        if (0..shape.ports()).any(|port| shape.lossless_at(port) != shape.lossless) {
            let message = "reverie counts a lossy queue as a whole: a priority must be lossless on all ports or on none; use sonic-dt";
            return Err(BuildError { param: "headroom", message: message.to_owned() });
        }
        if shape.accounting.threshold_bits > 0 {
            let message = "reverie compares with fractions of a byte: leave out hardware.threshold_bits, or use sonic-dt";
            return Err(BuildError { param: "hardware", message: message.to_owned() });
        }
        let lossless = Lossless::new(params, shape)?;
        let slices = shape.slices();
        let updates: Updates = params.choice("filter");
        let alphas = congestion::weights(params, "alpha", shape.queues_per_port);
        Ok(Self {
            pools: lossless
                .pools()
                .iter()
                .map(|headroom| (shape.capacity / slices as u64).saturating_sub(*headroom))
                .collect(),
            slices: (slices > 1).then(|| Slices::new(shape)),
            lossless,
            gamma: Weight::from_f64(params.ratio("gamma")),
            rules: Rules::new(params),
            // The filter does not depend on time if gamma is 0.
            clock: (updates == Updates::Time && params.ratio("gamma") > 0.0).then(|| Clock {
                decay: Decay::new(params.ratio("gamma")),
                steps: shape
                    .port_rates
                    .iter()
                    .map(|rate| rate.serialization(shape.max_packet.max(1)))
                    .collect(),
            }),
            congested_share: Weight::from_f64(params.ratio("congested_share")),
            full: match params.choice("congestion") {
                CongestionRule::Threshold => None,
                CongestionRule::Fraction => Some(params.bytes("congested_bytes")),
            },
            queues_per_port: shape.queues_per_port,
            queues: shape.queues(),
            filters: vec![Filter::default(); slices * shape.queues() + shape.ingress_queues()],
            levels: vec![0; slices * shape.queues_per_port],
            weights: alphas.repeat(slices),
            unscheduled: params.flag("unscheduled").then(|| {
                let alpha = Weight::from_f64(params.ratio("unscheduled_alpha"));
                (alpha, vec![alpha; slices * shape.queues_per_port])
            }),
            alphas,
        })
    }

    /// Threshold Γ (Eq. 6) of a priority in a slice (bytes).
    #[must_use]
    pub fn limit(&self, slice: usize, priority: u8, buffer: &Buffer) -> u64 {
        self.weights[self.in_slice(slice, priority)].apply(self.free(slice, buffer))
    }

    /// Index of the entry of a slice and a priority in arrays by slice and priority.
    #[inline]
    fn in_slice(&self, slice: usize, priority: u8) -> usize {
        slice * self.queues_per_port + usize::from(priority)
    }

    /// Factor α/n for a packet of a priority. Favoured lossy packets have a different factor.
    #[inline]
    fn weight_of(&self, slice: usize, priority: u8, is_lossless: bool, tags: Tags) -> Weight {
        let place = self.in_slice(slice, priority);
        match &self.unscheduled {
            Some((_, weights)) if tags.contains(Tags::UNSCHEDULED) && !is_lossless => weights[place],
            _ => self.weights[place],
        }
    }

    /// Threshold Γ for a packet of a priority in a slice (bytes).
    fn limit_of(&self, slice: usize, priority: u8, is_lossless: bool, tags: Tags, buffer: &Buffer) -> u64 {
        self.weight_of(slice, priority, is_lossless, tags).apply(self.free(slice, buffer))
    }

    /// Free space b* − q* of a slice's pool.
    fn free(&self, slice: usize, buffer: &Buffer) -> u64 {
        let held = match &self.slices {
            None => lossless::pool_occupancy(buffer),
            Some(slices) => slices.held(slice).pool,
        };
        self.pools[slice].saturating_sub(held)
    }

    /// Current occupancy q* of a slice's pool, even if thresholds lag.
    fn held(&self, slice: usize, buffer: &Buffer) -> u64 {
        match &self.slices {
            None => lossless::pool_held(buffer),
            Some(slices) => slices.held(slice).pool,
        }
    }

    /// Headroom in use in a memory slice (bytes).
    fn headroom_used(&self, slice: usize, buffer: &Buffer) -> u64 {
        match &self.slices {
            None => buffer.used(Account::Headroom),
            Some(slices) => slices.held(slice).headroom,
        }
    }

    #[inline(never)] // Rare: most packets satisfy Eq. 4.
    fn admit_beyond(
        &mut self,
        arrival: &Arrival,
        place: usize,
        (weight, free): (Weight, u64),
        buffer: &Buffer,
    ) -> Verdict {
        let slice = self.lossless.slice_of(arrival.ingress);
        let filtered = self.comparable(place, weight, free);
        let with_it = self.standing(slice, filtered, weight.apply(free), buffer);
        self.lossless.admit_beyond(arrival, with_it, buffer)
    }

    #[inline(never)] // Rare: lossless packets only.
    fn pause_if_reached(&mut self, arrival: &Arrival, place: usize, buffer: &Buffer) {
        let slice = self.lossless.slice_of(arrival.ingress);
        let weight = self.weights[self.in_slice(slice, arrival.priority)];
        let free = self.free(slice, buffer);
        let filtered = self.comparable(place, weight, free);
        if filtered >= weight.apply(free) {
            self.lossless.reach(arrival.ingress, filtered);
        }
    }

    #[inline(never)] // Rare: few ingress queues pause.
    fn demand_while_paused(&mut self, ingress: IngressId, place: usize, buffer: &Buffer) -> PauseDemand {
        let priority = (usize::from(ingress.0) % self.queues_per_port) as u8;
        let slice = self.lossless.slice_of(ingress);
        let weight = self.weights[self.in_slice(slice, priority)];
        let free = self.free(slice, buffer);
        let filtered = self.comparable(place, weight, free);
        let standing = self.standing(slice, filtered, weight.apply(free), buffer);
        self.lossless.demand(ingress, standing, buffer)
    }

    /// Length, threshold and free space for a decision about a lossless queue with the filtered
    /// length `length`.
    fn standing(&self, slice: usize, length: u64, limit: u64, buffer: &Buffer) -> Standing {
        let room = self.pools[slice].saturating_sub(self.held(slice, buffer));
        Standing { length, limit, room, used: self.headroom_used(slice, buffer) }
    }

    /// Filtered length q̂ (Eq. 5) of a lossy queue in all slices together (bytes).
    #[must_use]
    pub fn filtered_lossy(&self, queue: QueueId) -> f64 {
        let of_slice = |slice: usize| self.filters[slice * self.queues + usize::from(queue.0)].length;
        (0..self.pools.len()).map(|slice| Weight(of_slice(slice)).as_f64()).sum()
    }

    /// Index of the first filter of an ingress queue.
    #[inline]
    fn first_lossless(&self) -> usize {
        self.pools.len() * self.queues
    }

    /// Filtered length q̂ (Eq. 5) of a lossless queue (bytes).
    #[must_use]
    pub fn filtered_lossless(&self, ingress: IngressId) -> f64 {
        Weight(self.filters[self.first_lossless() + usize::from(ingress.0)].length).as_f64()
    }

    /// Number of congested queues n_p of a priority in a slice.
    #[must_use]
    pub fn congested_queues(&self, slice: usize, priority: u8) -> f64 {
        (self.levels[self.in_slice(slice, priority)] as f64 / self.full.unwrap_or(1) as f64).max(1.0)
    }

    /// Index of the filter of a packet's queue, and the length of that queue.
    #[inline]
    fn place(&self, queue: QueueId, ingress: IngressId, buffer: &Buffer) -> (usize, u64) {
        if !self.lossless.is_lossless(ingress) {
            let slice = self.lossless.slice_of(ingress);
            let length = match &self.slices {
                None => buffer.shared_queue_bytes(queue),
                Some(slices) => slices.lossy(slice, queue),
            };
            return (slice * self.queues + usize::from(queue.0), length);
        }
        let length = if self.rules.headroom_counts {
            buffer.ingress_bytes(ingress)
        } else {
            lossless::outside_headroom(ingress, buffer)
        };
        (self.first_lossless() + usize::from(ingress.0), length)
    }

    /// Updates the filter at the index `place` to the present time. Only [`Updates::Time`] needs
    /// this function.
    #[inline]
    fn follow(&mut self, place: usize, now: Time) {
        let Some(clock) = &self.clock else { return };
        let ports = clock.steps.len();
        let filter = &mut self.filters[place];
        let step = clock.steps[place / self.queues_per_port % ports];
        let (length, taken) = clock.decay.follow(filter.length, filter.held, now - filter.at, step);
        (filter.length, filter.at) = (length, filter.at + taken);
    }

    /// Filtered length of the queue at `place` after an event that leaves `length` bytes in the
    /// queue.
    #[inline]
    fn moved(&mut self, place: usize, length: u64, now: Time) -> u64 {
        if self.clock.is_some() {
            self.follow(place, now);
            self.filters[place].held = length;
            return self.filters[place].length;
        }
        let filter = self.filters[place].length;
        let (past, present) = (u128::from(self.gamma.0), u128::from(Weight::ONE.0 - self.gamma.0));
        let next = (past * u128::from(filter) + present * (u128::from(length) << 32)) >> 32;
        let next = u64::try_from(next).unwrap_or(u64::MAX);
        if self.rules.departures_only { next.min(length << 32) } else { next }
    }

    /// Records an event of the queue at `place`, of `priority` in `slice`.
    /// After the event, the queue has `length` bytes.
    fn observe(
        &mut self,
        (place, length): (usize, u64),
        (slice, priority): (usize, u8),
        now: Time,
        buffer: &Buffer,
    ) {
        let next = self.moved(place, length, now);
        let bytes = next >> 32;
        let level = match self.full {
            // With [`Updates::Time`], the filter of an idle queue fades without events.
            Some(_) if self.clock.is_some() && length == 0 => 0,
            Some(full) => bytes.min(full),
            None => {
                let limit = self.limit(slice, priority, buffer);
                u64::from(length > 0 && self.congested_share.is_reached_by(bytes, limit))
            }
        };
        let before = self.filters[place].level;
        let filter = &mut self.filters[place];
        (filter.length, filter.level) = (next, level);
        if level != before {
            let at = self.in_slice(slice, priority);
            let priority = usize::from(priority);
            let sum = &mut self.levels[at];
            *sum = *sum + level - before;
            let n = Weight::from_fraction(*sum, self.full.unwrap_or(1)).max(Weight::ONE);
            self.weights[at] = self.alphas[priority].divided_by(n);
            if let Some((alpha, weights)) = &mut self.unscheduled {
                weights[at] = alpha.divided_by(n);
            }
        }
    }

    /// Filtered length q̂ less the fraction of a byte in Γ, rounded up. This number exceeds ⌊Γ⌋ by
    /// k bytes iff q̂ exceeds Γ by more than k − 1 bytes. [`Rules::whole_bytes`] rounds q̂ and Γ.
    #[inline]
    fn comparable(&self, place: usize, weight: Weight, free: u64) -> u64 {
        let beyond =
            if self.rules.whole_bytes { 0 } else { weight.0.wrapping_mul(free) & u64::from(u32::MAX) };
        self.filters[place].length.saturating_sub(beyond).div_ceil(1 << 32)
    }

    /// Whether the queue passes the test of Eq. 4. The test is exact to the filter's 2⁻³² bytes
    /// unless [`Rules`] state otherwise. The test never includes the size of a lossless packet.
    #[inline]
    fn is_within(&self, place: usize, size: u64, is_lossless: bool, (weight, free): (Weight, u64)) -> bool {
        let bytes = self.comparable(place, weight, free);
        bytes + if self.rules.size_counts && !is_lossless { size } else { 0 } <= weight.apply(free)
    }
}

impl Reverie {
    /// Recounts the bytes of a packet's ingress queue and egress queue after a change.
    #[inline]
    fn recount(&mut self, queue: QueueId, ingress: IngressId, buffer: &Buffer) {
        if let Some(slices) = &mut self.slices {
            slices.recount(queue, ingress, self.lossless.is_lossless(ingress), buffer);
        }
    }
}

impl Policy for Reverie {
    #[inline]
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        let size = u64::from(arrival.header.size);
        let (place, _) = self.place(arrival.queue, arrival.ingress, buffer);
        self.follow(place, arrival.now);
        let is_lossless = self.lossless.is_lossless(arrival.ingress);
        let slice = self.lossless.slice_of(arrival.ingress);
        let (weight, free) = (
            self.weight_of(slice, arrival.priority, is_lossless, arrival.header.tags),
            self.free(slice, buffer),
        );
        let within = self.is_within(place, size, is_lossless, (weight, free));
        let has_pool = is_lossless && self.rules.lossless_skips_pool;
        let has_pool = has_pool || self.held(slice, buffer) + size <= self.pools[slice];
        let fits = has_pool && buffer.fits(arrival.header.size);
        if is_lossless {
            if within && fits && self.lossless.uses_pool(arrival.ingress, buffer) {
                return Verdict::Admit(Account::Shared);
            }
            self.admit_beyond(arrival, place, (weight, free), buffer)
        } else if !fits {
            Verdict::Drop(DropReason::BufferFull)
        } else if within {
            Verdict::Admit(Account::Shared)
        } else {
            Verdict::Drop(DropReason::OverThreshold)
        }
    }

    fn hooks(&self) -> Hooks {
        let hooks = Hooks::DEQUEUE.and(self.lossless.hooks());
        let needs_all = !self.rules.departures_only || self.slices.is_some() || self.lossless.pauses_early();
        if needs_all { hooks.and(Hooks::ENQUEUE).and(Hooks::DROP) } else { hooks }
    }

    fn supports_accounting(&self) -> bool {
        true
    }

    #[inline]
    fn on_enqueue(&mut self, arrival: &Arrival, buffer: &Buffer) {
        self.recount(arrival.queue, arrival.ingress, buffer);
        let seen = self.place(arrival.queue, arrival.ingress, buffer);
        let slice = self.lossless.slice_of(arrival.ingress);
        if !self.rules.departures_only {
            self.observe(seen, (slice, arrival.priority), arrival.now, buffer);
        }
        if self.lossless.may_reach(arrival.ingress) {
            self.pause_if_reached(arrival, seen.0, buffer);
        }
    }

    #[inline]
    fn on_dequeue(&mut self, departure: &Departure, buffer: &Buffer) {
        self.recount(departure.queue, departure.ingress, buffer);
        let seen = self.place(departure.queue, departure.ingress, buffer);
        let slice = self.lossless.slice_of(departure.ingress);
        self.observe(seen, (slice, departure.priority), departure.now, buffer);
    }

    // A refusal of a packet also updates the filter. Otherwise an empty queue with a large q̂ could
    // never store a packet.
    fn on_drop(&mut self, arrival: &Arrival, _: DropReason, buffer: &Buffer) {
        if self.rules.departures_only {
            return;
        }
        let seen = self.place(arrival.queue, arrival.ingress, buffer);
        let slice = self.lossless.slice_of(arrival.ingress);
        self.observe(seen, (slice, arrival.priority), arrival.now, buffer);
    }

    // Another policy evicted the packet, so its ingress queue is unknown.
    fn on_evict(&mut self, _: Time, queue: QueueId, _: u32, buffer: &Buffer) {
        for id in buffer.queue_ids() {
            self.recount(queue, IngressId(id.0), buffer);
        }
    }

    fn pause_demand(&mut self, now: Time, ingress: IngressId, buffer: &Buffer) -> PauseDemand {
        if !self.lossless.is_lossless(ingress) {
            return PauseDemand::Keep;
        }
        let place = self.first_lossless() + usize::from(ingress.0);
        self.follow(place, now);
        if !self.lossless.is_paused(ingress) {
            return PauseDemand::Resume;
        }
        self.demand_while_paused(ingress, place, buffer)
    }

    fn threshold(&self, queue: QueueId, tags: Tags, buffer: &Buffer) -> Option<u64> {
        let (_, priority) = buffer.port_and_priority(queue);
        let lossless = self.lossless.is_lossless(IngressId(queue.0));
        let of_slice = |slice| self.limit_of(slice, priority, lossless, tags, buffer);
        Some((0..self.pools.len()).map(of_slice).fold(0, u64::saturating_add))
    }

    fn pause_level(&self, ingress: IngressId, buffer: &Buffer) -> Option<PauseLevel> {
        if !self.lossless.is_lossless(ingress) {
            return None;
        }
        let (_, priority) = buffer.port_and_priority(QueueId(ingress.0));
        let limit = self.limit_of(self.lossless.slice_of(ingress), priority, true, Tags::NONE, buffer);
        let length = self.filters[self.first_lossless() + usize::from(ingress.0)].length;
        Some(PauseLevel { held: length.div_ceil(1 << 32), limit })
    }

    fn bound(&self, arrival: &Arrival, reason: DropReason, buffer: &Buffer) -> Option<Bound> {
        let size = u64::from(arrival.header.size);
        let slice = self.lossless.slice_of(arrival.ingress);
        match reason {
            DropReason::BufferFull => {
                let (held, limit) = (self.held(slice, buffer), self.pools[slice]);
                let pool = Bound { place: BoundPlace::IngressPool, held, size, limit };
                pool.if_binding().or_else(|| Bound::buffer(arrival, buffer).if_binding())
            }
            DropReason::OverThreshold => {
                let (place, _) = self.place(arrival.queue, arrival.ingress, buffer);
                let limit = self.limit_of(slice, arrival.priority, false, arrival.header.tags, buffer);
                let held = self.filters[place].length.div_ceil(1 << 32);
                let size = if self.rules.size_counts { size } else { 0 };
                Bound { place: BoundPlace::FilteredQueue(arrival.queue), held, size, limit }.if_binding()
            }
            _ => self.lossless.bound(arrival, reason, self.headroom_used(slice, buffer), buffer),
        }
    }

    fn probe(&self, queue: QueueId, buffer: &Buffer, sink: &mut dyn FnMut(&'static str, f64)) {
        let (_, priority) = buffer.port_and_priority(queue);
        let ingress = IngressId(queue.0);
        sink("congested_queues", self.congested_queues(self.lossless.slice_of(ingress), priority));
        if self.lossless.is_lossless(ingress) {
            sink("filtered_bytes", self.filtered_lossless(ingress));
            sink("ingress_bytes", lossless::outside_headroom(ingress, buffer) as f64);
            sink("headroom_bytes", buffer.ingress_headroom_bytes(ingress) as f64);
            sink("pausing", f64::from(u8::from(self.lossless.is_paused(ingress))));
        } else {
            sink("filtered_bytes", self.filtered_lossy(queue));
        }
    }

    fn boxed_clone(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.clone()))
    }
}
