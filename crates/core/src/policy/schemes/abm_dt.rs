//! ABM approximated by a control plane on a switch that only has Dynamic Thresholds.
//!
//! Every interval I the control plane reads the queues' lengths and byte counters and
//! sets `α_i := α_p · γ_i / n_p`. Between two updates the data plane admits packets
//! by `T = α_i (B − Q)`. The scheme is useful if the hardware cannot be changed.
//! The paper finds that intervals of up to 100 round trips give most of ABM's benefit.
//!
//! Source: ABM, sections 3.4 and 4.4.

use crate::buffer::{Buffer, QueueId};
use crate::hardware::{ALPHA_STEPS, AlphaSteps};
use crate::policy::interface::{
    Account, Arrival, BuildError, Departure, DropReason, Hooks, Policy, PolicyInfo, SwitchShape, Tags,
    Verdict,
};
use crate::policy::parts::congestion::{
    self, CONGESTED_SHARE, Criterion, DrainRate, DrainRateSource, Settings, Tracker,
};
use crate::policy::parts::parameters::{ARTIFACT_ALPHAS, alpha, factor, update_interval};
use crate::weight::Weight;
use bufferlab_params::{Choice, ParamInfo, ParamKind, ParamValue, Params, choices};
use bufferlab_units::Time;

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "abm-dt",
    aliases: &["abm-on-dt"],
    title: "ABM approximated on Dynamic Thresholds",
    summary: "Dynamic Thresholds whose alphas a control plane sets periodically by ABM's formula.",
    source: "Addanki, Apostolaki, Ghobadi, Schmid, Vanbever, SIGCOMM 2022, sections 3.4 and 4.4.",
    cost: "O(1) per packet, O(queues) per update interval",
    params: PARAMS,
    build: &build,
};

const PARAMS: &[ParamInfo] = &[
    alpha(&[0.5], Some(&ARTIFACT_ALPHAS), "alpha_p, by priority."),
    update_interval(
        Time::from_us(800),
        "Interval I at which the control plane sets the alphas. The paper tries 1, 10, 100 and 1000 round \
         trips of 80 us.",
    ),
    CONGESTED_SHARE,
    ParamInfo {
        name: "congestion",
        kind: ParamKind::Choice(Length::WORDS),
        default: ParamValue::word(Length::Sample.word()),
        artifact_default: None,
        doc: "Length that the control plane compares with the thresholds.",
    },
    congestion::drain_rate_param(DrainRateSource::Measured),
    ParamInfo {
        name: "unscheduled",
        kind: ParamKind::Flag,
        default: ParamValue::Flag(false),
        artifact_default: Some(ParamValue::Flag(true)),
        doc: "Whether packets tagged `unscheduled` have a separate alpha, also frozen between updates. Not \
              stated in the paper; a switch with one alpha per queue cannot do this. The artifact runs ABM \
              with a longer interval, so there it is on.",
    },
    factor(
        "unscheduled_alpha",
        64.0,
        Some(1_024.0),
        "Replaces alpha_p for packets tagged `unscheduled`, if `unscheduled` is true.",
    ),
    ParamInfo {
        name: ALPHA_STEPS,
        kind: ParamKind::Choice(AlphaSteps::WORDS),
        default: ParamValue::word(AlphaSteps::Exact.word()),
        artifact_default: None,
        doc: "Alphas that the switch supports.",
    },
];

choices! {
    /// Queue length that the control plane compares with the thresholds.
    enum Length {
        Sample = "sample": "the queue's length at the time of the update",
        Watermark = "watermark": "the peak length met by an arrival since the last update",
    }
}

fn build(params: &Params, shape: &SwitchShape) -> Result<Box<dyn Policy>, BuildError> {
    Ok(Box::new(AbmOnDt::new(params, shape)))
}

/// Dynamic Thresholds whose alphas a control plane sets by ABM's formula.
#[derive(Clone, Debug)]
pub struct AbmOnDt {
    tracker: Tracker,
    drain_rate: DrainRate,
    /// Whether unscheduled packets have a separate alpha.
    unscheduled: bool,
}

impl AbmOnDt {
    /// Builds the policy from `params`, which its registry entry declares.
    #[must_use]
    pub fn new(params: &Params, shape: &SwitchShape) -> Self {
        let priorities = shape.queues_per_port;
        let drain_rate = DrainRate::from_params(params);
        let settings = Settings {
            alphas: congestion::weights(params, "alpha", priorities),
            favoured_alphas: vec![Weight::from_f64(params.ratio("unscheduled_alpha")); priorities],
            group_of: (0..priorities).collect(),
            interval: params.time("update_interval"),
            criterion: Criterion::Share(Weight::from_f64(params.ratio("congested_share"))),
            drain_rate,
            watermark: match params.choice("congestion") {
                Length::Sample => false,
                Length::Watermark => true,
            },
            powers_of_two: match params.choice(ALPHA_STEPS) {
                AlphaSteps::Exact => false,
                AlphaSteps::PowersOfTwo => true,
            },
            immediate: false,
        };
        let unscheduled = params.flag("unscheduled");
        Self { tracker: Tracker::new(settings, shape), drain_rate, unscheduled }
    }

    #[inline]
    fn weight(&self, queue: QueueId, tags: Tags) -> Weight {
        self.tracker.weight(queue, self.unscheduled && tags.contains(Tags::UNSCHEDULED))
    }
}

impl Policy for AbmOnDt {
    #[inline]
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        let bytes = buffer.shared_queue_bytes(arrival.queue);
        self.tracker.arrived(arrival.queue, bytes);
        if !buffer.fits(arrival.header.size) {
            return Verdict::Drop(DropReason::BufferFull);
        }
        let limit = self.weight(arrival.queue, arrival.header.tags).apply(buffer.shared_free());
        if bytes + u64::from(arrival.header.size) > limit {
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

    fn threshold(&self, queue: QueueId, tags: Tags, buffer: &Buffer) -> Option<u64> {
        Some(self.weight(queue, tags).apply(buffer.shared_free()))
    }

    fn probe(&self, queue: QueueId, _: &Buffer, sink: &mut dyn FnMut(&'static str, f64)) {
        sink("alpha", self.tracker.weight(queue, false).as_f64());
        self.tracker.probe(queue, sink);
    }

    fn boxed_clone(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.clone()))
    }
}
