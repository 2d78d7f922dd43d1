//! Plasticine: Dynamic Thresholds divided by the number of congested queues of the *priority*,
//! scaled by the drain rate.
//!
//! Queue i of class c has the limit `T = α_c · γ_i / N_p · (B − Q)` (Eq. 3).
//! A priority is a group of classes: a high priority is one class (one queue of every port), the
//! low priority has all other classes. N_p is the number of congested queues of the whole group.
//! γ_i is the drain rate of the queue as a fraction of the fastest port.
//! So the bytes of a priority are bounded for any number of queues and classes, and space is left
//! for bursts. The bound protects a high-priority burst from low-priority queues of other ports.
//!
//! With one queue per port (section 4.1), γ is 1, N counts all congested queues, and α depends on
//! the packet: packets of short flows have a larger α in the same queue. A mark of the host or an
//! elephant trap identifies short flows.
//!
//! Source: Plasticine, Eq. 3 and section 4.1. The module counts queues and measures drain rates as
//! ABM does, but ABM groups queues by their number within the port.

use crate::buffer::{Buffer, QueueId};
use crate::classify::{Classifier, ElephantTrap};
use crate::flows::{FLOW_ENTRIES, FLOW_IDLE};
use crate::policy::interface::{
    Account, Arrival, BuildError, Departure, DropReason, Hooks, Policy, PolicyInfo, SwitchShape, Tags,
    Verdict,
};
use crate::policy::parts::congestion::{
    self, CONGESTED_SHARE, Criterion, DrainRate, DrainRateSource, Settings, Tracker,
};
use crate::policy::parts::parameters::refuse_beyond_buffer;
use crate::policy::parts::parameters::{alpha, factor, update_interval};
use crate::policy::parts::short_flows::{self, SHORT_BYTES, SHORT_FLOWS, SHORT_PACKETS};
use crate::weight::Weight;
use bufferlab_params::{Choice, ParamInfo, ParamKind, ParamValue, Params, choices};
use bufferlab_units::Time;

/// Registry entry of Plasticine for several queues per port.
pub(super) static MULTI_QUEUE: PolicyInfo = PolicyInfo {
    name: "plasticine",
    aliases: &["plasticine-multi"],
    title: "Plasticine",
    summary: "Dynamic Thresholds divided by the congested queues of the priority group and scaled by the drain rate.",
    source: "Plasticine, Eq. 3 and section 4.1.",
    cost: "O(1) per packet, O(queues) per update interval",
    params: MULTI_PARAMS,
    build: &|params, shape| {
        let high = params.count("high_priorities");
        if high > shape.queues_per_port as u64 {
            let queues = shape.queues_per_port;
            let message =
                format!("{high} high priorities on ports of {queues} queues; use 0 (one group) to {queues}");
            return Err(BuildError { param: "high_priorities", message });
        }
        check(params, shape)?;
        Ok(Box::new(Plasticine::multi_queue(params, shape)))
    },
};

/// Registry entry of Plasticine for one queue per port.
pub(super) static SINGLE_QUEUE: PolicyInfo = PolicyInfo {
    name: "plasticine-single",
    aliases: &["plasticine-single-queue"],
    title: "Plasticine on a single queue per port",
    summary: "Two thresholds on one queue, for short and for long flows, divided by all congested queues of the \
              buffer.",
    source: "Plasticine, section 4.1 (\"Plasticine on a single queue per port\").",
    cost: "O(1) per packet, O(queues) per update interval",
    params: SINGLE_PARAMS,
    build: &|params, shape| {
        check(params, shape)?;
        Ok(Box::new(Plasticine::single_queue(params, shape, short_flows::trap(params)?)))
    },
};

const UPDATE_INTERVAL: ParamInfo = update_interval(
    Time::from_us(10),
    "Interval at which N and the drain rates are updated. The paper's N(t) is instantaneous; its hardware \
     needs some time (`plasticine-pisa`).",
);

const CONGESTION: ParamInfo = ParamInfo {
    name: "congestion",
    kind: ParamKind::Choice(Congestion::WORDS),
    default: ParamValue::word(Congestion::Threshold.word()),
    artifact_default: None,
    doc: "Condition for a queue to be congested (\"controlled\"), which the paper does not state.",
};

choices! {
    /// Condition for a queue to count as congested.
    enum Congestion {
        Threshold = "threshold": "when the queue reaches `congested_share` of its threshold, as in ABM",
        Bytes = "bytes": "when the queue is longer than `congested_bytes`, as in the paper's hardware",
    }
}

const CONGESTED_BYTES: ParamInfo = ParamInfo {
    name: "congested_bytes",
    kind: ParamKind::Bytes { min: 0 },
    default: ParamValue::Bytes(28_000),
    artifact_default: None,
    doc: "Length above which a queue is congested, for `congestion = \"bytes\"`.",
};

const MULTI_PARAMS: &[ParamInfo] = &[
    alpha(
        &[20.0, 0.5],
        None,
        "alpha_c, by class (queue of the port). The paper's evaluation: 20 for high, 0.5 for low priority.",
    ),
    ParamInfo {
        name: "high_priorities",
        kind: ParamKind::at_least(0),
        default: ParamValue::Count(1),
        artifact_default: None,
        doc: "Number of high-priority queues per port, starting with the first; each is a separate group \
              over all ports. The others form one group, the low priority. 0: all queues are one group. All \
              queues of a port: every queue is a separate priority, as in ABM.",
    },
    UPDATE_INTERVAL,
    CONGESTION,
    CONGESTED_SHARE,
    CONGESTED_BYTES,
    congestion::drain_rate_param(DrainRateSource::Computed),
];

const SINGLE_PARAMS: &[ParamInfo] = &[
    alpha(&[0.5], None, "alpha of long flows (alpha_L), by queue of the port."),
    factor(
        "short_alpha",
        20.0,
        None,
        "alpha of short flows (alpha_H): packets tagged `small`. The paper's sentence swaps the two (erratum E-PLA-7).",
    ),
    SHORT_FLOWS,
    // The paper does not state the number of packets up to which a flow is short.
    SHORT_PACKETS,
    SHORT_BYTES,
    FLOW_IDLE,
    FLOW_ENTRIES,
    UPDATE_INTERVAL,
    CONGESTION,
    CONGESTED_SHARE,
    CONGESTED_BYTES,
];

fn check(params: &Params, shape: &SwitchShape) -> Result<(), BuildError> {
    match params.choice(CONGESTION.name) {
        Congestion::Threshold => Ok(()),
        Congestion::Bytes => {
            let what = "no queue would ever be congested; choose less";
            refuse_beyond_buffer(params, shape, "congested_bytes", what)
        }
    }
}

fn criterion(params: &Params) -> Criterion {
    match params.choice(CONGESTION.name) {
        Congestion::Threshold => Criterion::Share(Weight::from_f64(params.ratio("congested_share"))),
        Congestion::Bytes => Criterion::Longer(params.bytes("congested_bytes")),
    }
}

/// The policy Plasticine, for several queues per port or for one queue per port.
#[derive(Clone, Debug)]
pub struct Plasticine {
    tracker: Tracker,
    drain_rate: DrainRate,
    /// Tags of packets whose threshold uses the α of short flows. `None` with several queues per
    /// port.
    short: Option<Tags>,
    /// Elephant trap of the policy, until the switch takes the trap.
    trap: Option<ElephantTrap>,
    queues_per_port: usize,
}

impl Plasticine {
    /// Builds the policy from `params`, which the registry entry `plasticine` declares.
    #[must_use]
    pub fn multi_queue(params: &Params, shape: &SwitchShape) -> Self {
        let priorities = shape.queues_per_port;
        let alphas = congestion::weights(params, "alpha", priorities);
        let high = (params.count("high_priorities") as usize).min(priorities);
        let drain_rate = DrainRate::from_params(params);
        let settings = Settings {
            favoured_alphas: alphas.clone(),
            alphas,
            group_of: (0..priorities).map(|priority| priority.min(high)).collect(),
            interval: params.time("update_interval"),
            criterion: criterion(params),
            drain_rate,
            watermark: false,
            powers_of_two: false,
            immediate: false,
        };
        let tracker = Tracker::new(settings, shape);
        Self { tracker, drain_rate, short: None, trap: None, queues_per_port: priorities }
    }

    /// Builds the policy from `params`, which the registry entry `plasticine-single` declares.
    /// With `trap` the switch finds the short flows itself.
    #[must_use]
    pub fn single_queue(params: &Params, shape: &SwitchShape, trap: Option<ElephantTrap>) -> Self {
        let priorities = shape.queues_per_port;
        let settings = Settings {
            // The threshold of long flows decides about congestion,
            // because no queue of long flows gets near the threshold of short flows.
            alphas: congestion::weights(params, "alpha", priorities),
            favoured_alphas: vec![Weight::from_f64(params.ratio("short_alpha")); priorities],
            group_of: vec![0; priorities],
            interval: params.time("update_interval"),
            criterion: criterion(params),
            drain_rate: DrainRate::One,
            watermark: false,
            powers_of_two: false,
            immediate: false,
        };
        Self {
            tracker: Tracker::new(settings, shape),
            drain_rate: DrainRate::One,
            short: Some(Tags::SMALL),
            trap,
            queues_per_port: priorities,
        }
    }

    #[inline]
    fn is_favoured(&self, tags: Tags) -> bool {
        self.short.is_some_and(|short| tags.contains(short))
    }
}

impl Policy for Plasticine {
    #[inline]
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        let bytes = buffer.shared_queue_bytes(arrival.queue);
        self.tracker.arrived(arrival.queue, bytes);
        if !buffer.fits(arrival.header.size) {
            return Verdict::Drop(DropReason::BufferFull);
        }
        let weight = self.tracker.weight(arrival.queue, self.is_favoured(arrival.header.tags));
        if bytes + u64::from(arrival.header.size) > weight.apply(buffer.shared_free()) {
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

    fn next_timeout(&self) -> Option<Time> {
        Some(self.tracker.next_update())
    }

    fn handle_timeout(&mut self, now: Time, buffer: &Buffer) {
        self.tracker.update(now, buffer.shared_free(), buffer);
    }

    fn take_classifier(&mut self) -> Option<Classifier> {
        let trap = self.trap.take()?;
        Some(Classifier::identity(self.queues_per_port).with_trap(trap))
    }

    fn threshold(&self, queue: QueueId, tags: Tags, buffer: &Buffer) -> Option<u64> {
        Some(self.tracker.weight(queue, self.is_favoured(tags)).apply(buffer.shared_free()))
    }

    fn probe(&self, queue: QueueId, _: &Buffer, sink: &mut dyn FnMut(&'static str, f64)) {
        self.tracker.probe(queue, sink);
    }

    fn boxed_clone(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.clone()))
    }
}
