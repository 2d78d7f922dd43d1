//! Active Buffer Management: Dynamic Thresholds scaled by the number of congested queues and by
//! each queue's drain rate.
//!
//! Queue i of priority p has the limit `T = α_p · γ_i / n_p · (B − Q)`.
//! n_p is the number of congested queues of the priority.
//! γ_i is the queue's drain rate as a fraction of the fastest port. Packets that hosts sent before
//! any feedback (`unscheduled`) use a separate, large α. The policy updates n_p and γ at intervals.

use crate::buffer::{Buffer, QueueId};
use crate::hardware::AlphaSteps;
use crate::policy::interface::{
    Account, Arrival, Bound, BuildError, Departure, DropReason, Hooks, Policy, PolicyInfo, SwitchShape, Tags,
    Verdict,
};
use crate::policy::parts::common_pool::CommonPool;
use crate::policy::parts::congestion::{self, Criterion, DrainRate, Settings, Tracker};
use crate::policy::parts::parameters::{ARTIFACT_ALPHAS, alpha, factor, update_interval};
use crate::weight::Weight;
use bufferlab_params::{Choice, ParamInfo, ParamKind, ParamValue, Params, choices};
use bufferlab_units::Time;

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "abm",
    aliases: &["active-buffer-management"],
    title: "Active Buffer Management",
    summary: "Dynamic Thresholds divided by the number of congested queues and scaled by the drain rate.",
    source: "Addanki, Apostolaki, Ghobadi, Schmid, Vanbever, SIGCOMM 2022, Eq. 9, 12 and 13.",
    cost: "O(1) per packet, O(queues) per update interval",
    params: PARAMS,
    build: &build,
};

const PARAMS: &[ParamInfo] = &[
    alpha(&[0.5], Some(&ARTIFACT_ALPHAS), "alpha_p, by priority."),
    factor(
        "unscheduled_alpha",
        64.0,
        Some(1_024.0),
        "Replaces alpha_p for packets tagged `unscheduled` (ABM section 3.3). The artifact uses 1024.",
    ),
    update_interval(
        Time::from_us(80),
        "Interval at which n_p and the drain rates are updated; one base round-trip time in the paper.",
    ),
    congestion::congestion_param(
        "Condition for a queue to count in n_p; its fraction changes only when a packet arrives for it.",
    ),
    congestion::CONGESTED_SHARE,
    ParamInfo {
        name: "congested_bytes",
        kind: ParamKind::Bytes { min: 1 },
        default: ParamValue::Bytes(28_000),
        artifact_default: None,
        doc: "Length at which a queue counts in full, for `congestion = \"fraction\"`: 20 segments of 1400 B.",
    },
    ParamInfo {
        name: "drain_rate",
        kind: ParamKind::Choice(DrainRates::WORDS),
        default: ParamValue::word(DrainRates::Measured.word()),
        artifact_default: Some(ParamValue::word(DrainRates::Credited.word())),
        doc: "Drain rate of a queue, as a fraction of the fastest port's rate.",
    },
    ParamInfo {
        name: "headroom_per_port",
        kind: ParamKind::Bytes { min: 0 },
        default: ParamValue::Bytes(0),
        artifact_default: None,
        doc: "Bytes that every port may use before the shared test, taken from the pool. The paper mentions \
              such a headroom but not its size; the artifact's scripts set it to 0.",
    },
    ParamInfo {
        name: "factor_steps",
        kind: ParamKind::Choice(AlphaSteps::WORDS),
        default: ParamValue::word(AlphaSteps::Exact.word()),
        artifact_default: None,
        doc: "Supported factors alpha gamma / n of the free space: a circuit that shifts supports only \
              powers of two (`rtl/src/abm_threshold.sv`).",
    },
];

choices! {
    /// Source of the drain rates that the policy ABM uses.
    enum DrainRates {
        Measured = "measured":
            "bytes sent in the last interval, if packets waited (otherwise the port's rate); at least the port's rate / queues",
        Computed = "computed": "an equal share of the port's rate for each of its congested queues (round robin)",
        Credited = "credited":
            "measured; every round-robin visit to an empty queue adds 1472 B, and values below 1/queues or \
             above 1 become 1 (the artifact)",
    }
}

fn build(params: &Params, shape: &SwitchShape) -> Result<Box<dyn Policy>, BuildError> {
    let headroom = params.bytes("headroom_per_port");
    let reserved = headroom.saturating_mul(shape.ports() as u64);
    if reserved >= shape.capacity {
        let message = format!(
            "{} ports × {headroom} B = {reserved} B leave nothing of the buffer's {} B to share",
            shape.ports(),
            shape.capacity
        );
        return Err(BuildError { param: "headroom_per_port", message });
    }
    congestion::refuse_unreachable_congestion(params, shape)?;
    Ok(Box::new(Abm::new(params, shape)))
}

/// The policy Active Buffer Management.
#[derive(Clone, Debug)]
pub struct Abm {
    tracker: Tracker,
    drain_rate: DrainRate,
    headroom_per_port: u64,
    /// The common pool: the buffer B less all headroom.
    pool: CommonPool,
}

impl Abm {
    /// Builds the policy from `params`, which its registry entry declares.
    #[must_use]
    pub fn new(params: &Params, shape: &SwitchShape) -> Self {
        let priorities = shape.queues_per_port;
        let drain_rate = match params.choice("drain_rate") {
            DrainRates::Measured => DrainRate::Measured,
            DrainRates::Computed => DrainRate::Computed,
            DrainRates::Credited => DrainRate::Credited,
        };
        let headroom_per_port = params.bytes("headroom_per_port");
        let settings = Settings {
            alphas: congestion::weights(params, "alpha", priorities),
            favoured_alphas: vec![Weight::from_f64(params.ratio("unscheduled_alpha")); priorities],
            // Packets of priority p join queue p of every port.
            group_of: (0..priorities).collect(),
            interval: params.time("update_interval"),
            criterion: Criterion::from_params(params),
            drain_rate,
            watermark: false,
            powers_of_two: matches!(params.choice("factor_steps"), AlphaSteps::PowersOfTwo),
            immediate: false,
        };
        Self {
            tracker: Tracker::new(settings, shape),
            drain_rate,
            headroom_per_port,
            pool: CommonPool { bytes: shape.capacity - headroom_per_port * shape.ports() as u64 },
        }
    }
}

impl Policy for Abm {
    #[inline]
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        let bytes = buffer.shared_queue_bytes(arrival.queue);
        self.tracker.arrived(arrival.queue, bytes);
        if !buffer.fits(arrival.header.size) {
            return Verdict::Drop(DropReason::BufferFull);
        }
        let size = u64::from(arrival.header.size);
        if self.headroom_per_port > 0
            && buffer.port_reserved_bytes(arrival.port) + size <= self.headroom_per_port
        {
            return Verdict::Admit(Account::Reserved);
        }
        let remaining = self.pool.remaining(buffer);
        if !self.pool.has_room(size, buffer) {
            return Verdict::Drop(DropReason::BufferFull);
        }
        let weight = self.tracker.weight(arrival.queue, arrival.header.tags.contains(Tags::UNSCHEDULED));
        if bytes + size > weight.apply(remaining) {
            return Verdict::Drop(DropReason::OverThreshold);
        }
        Verdict::Admit(Account::Shared)
    }

    fn hooks(&self) -> Hooks {
        self.drain_rate.hooks()
    }

    #[inline]
    fn on_dequeue(&mut self, departure: &Departure, _: &Buffer) {
        self.tracker.sent(departure.queue, departure.header.size);
    }

    fn on_empty_visit(&mut self, _: Time, queue: QueueId) {
        self.tracker.passed_empty(queue);
    }

    fn next_timeout(&self) -> Option<Time> {
        Some(self.tracker.next_update())
    }

    fn handle_timeout(&mut self, now: Time, buffer: &Buffer) {
        self.tracker.update(now, self.pool.remaining(buffer), buffer);
    }

    fn threshold(&self, queue: QueueId, tags: Tags, buffer: &Buffer) -> Option<u64> {
        let weight = self.tracker.weight(queue, tags.contains(Tags::UNSCHEDULED));
        Some(weight.apply(self.pool.remaining(buffer)))
    }

    fn bound(&self, arrival: &Arrival, reason: DropReason, buffer: &Buffer) -> Option<Bound> {
        let usual =
            Bound::usual(arrival, reason, self.threshold(arrival.queue, arrival.header.tags, buffer), buffer);
        usual.or_else(|| self.pool.bound(arrival.header.size.into(), buffer).if_binding())
    }

    fn probe(&self, queue: QueueId, _: &Buffer, sink: &mut dyn FnMut(&'static str, f64)) {
        self.tracker.probe(queue, sink);
    }

    fn boxed_clone(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.clone()))
    }
}
