//! ABM on SONiC's buffer model. The policy multiplies the thresholds of `sonic-dt` by γ/n, at
//! ingress for lossless queues and at egress for lossy queues.
//!
//! Packets tagged `unscheduled` use a large α, even lossless packets.
//! So the pause of a queue depends on the arriving packet (Reverie's issue 3).

use crate::buffer::{Buffer, IngressId, QueueId};
use crate::hardware::Accounting;
use crate::policy::interface::{
    Arrival, Bound, BuildError, Departure, DropReason, Hooks, PauseDemand, PauseLevel, Policy, PolicyInfo,
    SwitchShape, Tags, Verdict,
};
use crate::policy::parts::congestion::{
    self, CongestionRule, Criterion, DrainRate, Length, Settings, Tracker,
};
use crate::policy::parts::dynamic_headroom::HEADROOM_MODE;
use crate::policy::parts::lossless::{
    HEADROOM, HEADROOM_POOL, HEADROOM_UNTIL, PauseWith, XON, XON_OFFSET, pause_with,
};
use crate::policy::parts::parameters::{factor, update_interval};
use crate::policy::parts::pools::Pools;
use crate::policy::parts::queue_profiles::{PROFILES, refuse};
use crate::policy::parts::sonic;
use crate::weight::Weight;
use bufferlab_params::{Choice, ParamInfo, ParamKind, ParamValue, Params, choices};
use bufferlab_units::Time;

/// Registry entry of the policy `sonic-abm`.
pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "sonic-abm",
    aliases: &[],
    title: "Active Buffer Management on SONiC",
    summary: "SONiC's four pools with ABM's thresholds: divided by congested queues and scaled by drain rates.",
    source: "Addanki, Bai, Schmid, Apostolaki, NSDI 2024, section 4.1: the baseline of Reverie.",
    cost: "O(1) per packet, O(queues) per update interval",
    params: PARAMS,
    build: &build,
};

const PARAMS: &[ParamInfo] = &[
    sonic::ALPHA,
    factor(
        "unscheduled_alpha",
        64.0,
        Some(1_024.0),
        "Replaces alpha for packets tagged `unscheduled`, lossless and lossy. The artifact uses 1024.",
    ),
    update_interval(Time::from_us(80), "Interval at which n_p and the drain rates are updated."),
    congestion::congestion_param(
        "Condition for a queue to count in n_p; its fraction changes only when a packet arrives for it.",
    ),
    congestion::CONGESTED_SHARE,
    ParamInfo {
        name: "congested_bytes",
        kind: ParamKind::Bytes { min: 1 },
        default: ParamValue::Bytes(20_480),
        artifact_default: None,
        doc: "Length at which a queue counts in full, for `congestion = \"fraction\"`.",
    },
    ParamInfo {
        name: "congestion_update",
        kind: ParamKind::Choice(CongestionUpdate::WORDS),
        default: ParamValue::word(CongestionUpdate::Interval.word()),
        artifact_default: Some(ParamValue::word(CongestionUpdate::Arrival.word())),
        doc: "Time at which n_p follows the fractions of queues, for `congestion = \"fraction\"`.",
    },
    ParamInfo {
        name: "drain_rate",
        kind: ParamKind::Choice(SonicDrainRate::WORDS),
        default: ParamValue::word(SonicDrainRate::Measured.word()),
        artifact_default: Some(ParamValue::word(SonicDrainRate::Unbounded.word())),
        doc: "Drain rate of a queue, as a fraction of the fastest port's rate.",
    },
    sonic::INGRESS_POOL,
    sonic::LOSSY_POOL,
    HEADROOM,
    HEADROOM_POOL,
    HEADROOM_MODE,
    XON,
    XON_OFFSET,
    HEADROOM_UNTIL,
    pause_with(PauseWith::Reaching),
    sonic::RESERVED,
    sonic::LOSSY_INGRESS_ALPHA,
    sonic::LOSSLESS_EGRESS_ALPHA,
    PROFILES,
];

choices! {
    /// Time at which the policy updates the number of congested queues.
    enum CongestionUpdate {
        Interval = "interval": "once per `update_interval`",
        Arrival = "arrival": "with every packet that arrives (the artifact)",
    }
}

choices! {
    /// Source of the drain rates that the policy uses.
    enum SonicDrainRate {
        Measured = "measured":
            "bytes sent in the last interval, if packets waited (otherwise the port's rate); at least the port's rate / queues",
        Computed = "computed": "an equal share of the port's rate for each of its congested queues (round robin)",
        Unbounded = "unbounded":
            "bytes sent in the last interval relative to the queue's own port, possibly above 1, if the \
             queue is longer than `congested_bytes` and has sent more than 2,048 B; otherwise, and at the \
             last port of the switch, 1 (the artifact)",
    }
}

fn build(params: &Params, shape: &SwitchShape) -> Result<Box<dyn Policy>, BuildError> {
    congestion::refuse_unreachable_congestion(params, shape)?;
    Ok(Box::new(SonicAbm::new(params, shape)?))
}

fn is_immediate(params: &Params) -> bool {
    matches!(params.choice("congestion"), CongestionRule::Fraction)
        && matches!(params.choice("congestion_update"), CongestionUpdate::Arrival)
}

/// The policy Active Buffer Management on SONiC's buffer model.
#[derive(Clone, Debug)]
pub struct SonicAbm {
    pools: Pools,
    /// Trackers of congested ingress queues, one per memory slice. These trackers count only
    /// lossless queues.
    ingress: Vec<Tracker>,
    /// Trackers of congested egress queues, one per memory slice, with the queues' bytes in that
    /// slice. These trackers count only lossy queues.
    egress: Vec<Tracker>,
    /// Whether the congestion count n changes with every arrival.
    immediate: bool,
    accounting: Accounting,
}

impl SonicAbm {
    /// Builds the policy from `params`, which its registry entry declares.
    ///
    /// # Errors
    /// Returns the parameter that leaves no space in the buffer.
    pub fn new(params: &Params, shape: &SwitchShape) -> Result<Self, BuildError> {
        refuse(params, |profile| {
            let has = profile.threshold.is_some();
            has.then_some("the thresholds of sonic-abm follow from `alpha` and who is congested: leave its threshold out, or use sonic-dt")
        })?;
        let priorities = shape.queues_per_port;
        let settings = Settings {
            alphas: congestion::weights(params, "alpha", priorities),
            favoured_alphas: vec![Weight::from_f64(params.ratio("unscheduled_alpha")); priorities],
            group_of: (0..priorities).collect(),
            interval: params.time("update_interval"),
            criterion: Criterion::from_params(params),
            drain_rate: match params.choice("drain_rate") {
                SonicDrainRate::Measured => DrainRate::Measured,
                SonicDrainRate::Computed => DrainRate::Computed,
                SonicDrainRate::Unbounded => DrainRate::Unbounded { longer: params.bytes("congested_bytes") },
            },
            watermark: false,
            powers_of_two: false,
            immediate: is_immediate(params),
        };
        let tracker = || Tracker::new(settings.clone(), shape);
        Ok(Self {
            pools: Pools::new(params, shape)?,
            ingress: (0..shape.slices()).map(|_| tracker()).collect(),
            egress: (0..shape.slices()).map(|_| tracker()).collect(),
            immediate: is_immediate(params),
            accounting: shape.accounting,
        })
    }

    fn pause_threshold(&self, ingress: IngressId, tags: Tags, buffer: &Buffer) -> u64 {
        let slice = self.pools.slice_of(ingress);
        let weight = self.ingress[slice].weight(QueueId(ingress.0), tags.contains(Tags::UNSCHEDULED));
        self.accounting.expressible(weight.apply(self.pools.ingress_free(slice, buffer)))
    }

    fn drop_threshold(&self, slice: usize, queue: QueueId, tags: Tags) -> u64 {
        let weight = self.egress[slice].weight(queue, tags.contains(Tags::UNSCHEDULED));
        self.accounting.expressible(weight.apply(self.pools.lossy_free(slice)))
    }
}

/// Length by which an ingress queue counts as congested (bytes): its bytes in the pool.
/// In the artifact the length includes headroom.
fn counted_length(pools: &Pools, immediate: bool, ingress: IngressId, buffer: &Buffer) -> u64 {
    if immediate { buffer.ingress_bytes(ingress) } else { pools.ingress_length(ingress, buffer) }
}

impl Policy for SonicAbm {
    #[inline]
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        let slice = self.pools.slice_of(arrival.ingress);
        if self.pools.lossless.is_lossless(arrival.ingress) {
            let mut length = counted_length(&self.pools, self.immediate, arrival.ingress, buffer);
            if self.immediate {
                // The artifact tests congestion after counting the arriving packet.
                length += u64::from(arrival.header.size);
            }
            self.ingress[slice].arrived(QueueId(arrival.ingress.0), length);
            let limit = self.pause_threshold(arrival.ingress, arrival.header.tags, buffer);
            self.pools.admit_lossless(arrival, limit, buffer)
        } else {
            let length = self.pools.lossy_length(slice, arrival.queue, buffer);
            self.egress[slice].arrived(arrival.queue, length);
            let limit = self.drop_threshold(slice, arrival.queue, arrival.header.tags);
            self.pools.admit_lossy(arrival, limit, buffer)
        }
    }

    fn hooks(&self) -> Hooks {
        self.pools.hooks()
    }

    #[inline]
    fn on_enqueue(&mut self, arrival: &Arrival, buffer: &Buffer) {
        self.pools.recount(arrival.queue, arrival.ingress, buffer);
        if self.pools.lossless.may_reach(arrival.ingress) {
            let limit = self.pause_threshold(arrival.ingress, arrival.header.tags, buffer);
            self.pools.pause_if_reached(arrival.ingress, limit, buffer);
        }
    }

    #[inline]
    fn on_dequeue(&mut self, departure: &Departure, buffer: &Buffer) {
        self.pools.recount(departure.queue, departure.ingress, buffer);
        let slice = self.pools.slice_of(departure.ingress);
        if self.pools.lossless.is_lossless(departure.ingress) {
            self.ingress[slice].sent(QueueId(departure.ingress.0), departure.header.size);
        } else {
            self.egress[slice].sent(departure.queue, departure.header.size);
        }
    }

    fn on_evict(&mut self, _: Time, queue: QueueId, _: u32, buffer: &Buffer) {
        self.pools.recount_all(queue, buffer);
    }

    fn next_timeout(&self) -> Option<Time> {
        Some(self.egress[0].next_update())
    }

    fn handle_timeout(&mut self, now: Time, buffer: &Buffer) {
        let Self { pools, ingress, egress, immediate, .. } = self;
        let absent = Length { bytes: 0, holds_packets: false };
        for (slice, (ingress, egress)) in ingress.iter_mut().zip(egress).enumerate() {
            let at_ingress = |queue: usize| {
                let id = IngressId(queue as u16);
                let holds_packets = buffer.ingress_bytes(id) > 0;
                let bytes = counted_length(pools, *immediate, id, buffer);
                let counts = pools.lossless.is_lossless(id) && pools.slice_of(id) == slice;
                if counts { Length { bytes, holds_packets } } else { absent }
            };
            ingress.update_from(now, pools.ingress_free(slice, buffer), &at_ingress);
            let at_egress = |queue: usize| {
                let id = QueueId(queue as u16);
                let holds_packets = buffer.queue_packets(id) > 0;
                let bytes = pools.lossy_length(slice, id, buffer);
                if pools.takes_lossy(id) { Length { bytes, holds_packets } } else { absent }
            };
            egress.update_from(now, pools.lossy_free(slice), &at_egress);
        }
    }

    fn pause_demand(&mut self, _: Time, ingress: IngressId, buffer: &Buffer) -> PauseDemand {
        if !self.pools.lossless.is_lossless(ingress) {
            return PauseDemand::Keep;
        }
        if self.immediate && self.pools.lossless.may_resume(ingress, buffer) {
            let length = counted_length(&self.pools, self.immediate, ingress, buffer);
            self.ingress[self.pools.slice_of(ingress)].arrived(QueueId(ingress.0), length);
        }
        // Threshold for a packet that is not favoured, because the next packet is unknown.
        let limit = self.pause_threshold(ingress, Tags::NONE, buffer);
        self.pools.demand(ingress, limit, buffer)
    }

    fn threshold(&self, queue: QueueId, tags: Tags, buffer: &Buffer) -> Option<u64> {
        let lossy = self.pools.takes_lossy(queue);
        let limit = |slice| self.drop_threshold(slice, queue, tags);
        lossy.then(|| self.pools.lossy_limit(queue, &limit, buffer))
    }

    fn supports_accounting(&self) -> bool {
        true
    }

    fn pause_level(&self, ingress: IngressId, buffer: &Buffer) -> Option<PauseLevel> {
        // The groups of a tracker for lossless queues have no lossy priority.
        if !self.pools.lossless.is_lossless(ingress) {
            return None;
        }
        self.pools.pause_level(ingress, self.pause_threshold(ingress, Tags::NONE, buffer), buffer)
    }

    fn bound(&self, arrival: &Arrival, reason: DropReason, buffer: &Buffer) -> Option<Bound> {
        let slice = self.pools.slice_of(arrival.ingress);
        let limit = self.drop_threshold(slice, arrival.queue, arrival.header.tags);
        self.pools.bound(arrival, reason, limit, buffer)
    }

    fn probe(&self, queue: QueueId, buffer: &Buffer, sink: &mut dyn FnMut(&'static str, f64)) {
        let ingress = IngressId(queue.0);
        let trackers = if self.pools.lossless.is_lossless(ingress) { &self.ingress } else { &self.egress };
        trackers[self.pools.slice_of(ingress)].probe(queue, sink);
        self.pools.probe(queue, self.pause_threshold(IngressId(queue.0), Tags::NONE, buffer), buffer, sink);
    }

    fn boxed_clone(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.clone()))
    }
}
