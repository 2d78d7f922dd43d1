//! L2BM-like (reconstructed): Dynamic Thresholds that give less space to queues with long sojourn
//! times.
//!
//! T = α_p · w_i · (B − Q) with w_i = min_j s_j / s_i. Here s_i is the recent mean sojourn time of
//! queue i, and the minimum is over all queues with a packet. A queue that drains well keeps the
//! threshold of Dynamic Thresholds. A queue behind a bottleneck or a pause gets a lower threshold.
//!
//! Only the idea of L2BM (ICDCS 2023) is known: a weight multiplies the dynamic threshold.
//! The weight falls with the queue's recent mean sojourn time relative to the other queues.
//! The form of w, its lower bound, the average and its update times are reconstructed. This policy
//! applies the weight to egress queues. L2BM sets the thresholds at which ingress queues pause.

use crate::buffer::{Buffer, End, QueueId};
use crate::policy::interface::{
    Account, Arrival, BuildError, Departure, DropReason, Hooks, Policy, PolicyInfo, SwitchShape, Tags,
    Verdict,
};
use crate::policy::parts::parameters::{alpha, update_interval};
use crate::weight::Weight;
use bufferlab_params::{ParamInfo, ParamKind, ParamValue, Params};
use bufferlab_units::Time;

/// Registry entry of the policy `l2bm-like`.
pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "l2bm-like",
    aliases: &[],
    title: "L2BM-like (reconstructed)",
    summary: "Dynamic Thresholds times a weight that falls with a queue's mean sojourn time relative to other queues.",
    source: "Reconstructed from the abstract of L2BM: Liu, Han, Xue, Li, Li, ICDCS 2023.",
    cost: "O(1) per packet, O(queues) per update interval",
    params: PARAMS,
    build: &build,
};

const PARAMS: &[ParamInfo] = &[
    alpha(&[0.5], None, "Factor of the free space, by priority, before the weight."),
    update_interval(
        Time::from_us(80),
        "Interval at which the weights are computed (reconstructed: one base round-trip time).",
    ),
    ParamInfo {
        name: "gain",
        kind: ParamKind::Ratio { min: 1e-6, max: 1.0 },
        default: ParamValue::Ratio(0.125),
        artifact_default: None,
        doc: "Weight of a new sojourn time in a queue's moving average (reconstructed).",
    },
    ParamInfo {
        name: "least_weight",
        kind: ParamKind::Ratio { min: 1e-3, max: 1.0 },
        default: ParamValue::Ratio(0.0625),
        artifact_default: None,
        doc: "Lower limit of the weights (reconstructed). Otherwise a queue that does not drain could never \
              store a packet.",
    },
];

fn build(params: &Params, shape: &SwitchShape) -> Result<Box<dyn Policy>, BuildError> {
    Ok(Box::new(L2bmLike::new(params, shape)))
}

#[derive(Clone, Copy, Debug)]
struct QueueState {
    /// Moving average of the queue's sojourn times. Zero if no packet has left since an update
    /// found the queue empty.
    sojourn: Time,
    /// Weight w of the queue that the last update computed.
    weight: Weight,
    /// Factor α·w of the queue's threshold. The policy multiplies the free space by the factor.
    factor: Weight,
}

/// Dynamic Thresholds that are scaled by the sojourn times of packets.
#[derive(Clone, Debug)]
pub struct L2bmLike {
    /// Alpha of the thresholds, by priority.
    alphas: Vec<Weight>,
    gain: Weight,
    least_weight: Weight,
    /// Time to send the largest packet, by port. Shorter sojourn times are raised to this time.
    shortest: Vec<Time>,
    queues: Vec<QueueState>,
    interval: Time,
    next_update: Time,
}

impl L2bmLike {
    /// Builds the policy from `params`, which its registry entry declares.
    #[must_use]
    pub fn new(params: &Params, shape: &SwitchShape) -> Self {
        let alphas = params.ratio_per_priority("alpha", shape.queues_per_port);
        let alphas: Vec<_> = alphas.into_iter().map(Weight::from_f64).collect();
        let interval = params.time("update_interval");
        let state = |queue: usize| QueueState {
            sojourn: Time::ZERO,
            weight: Weight::ONE,
            factor: alphas[queue % shape.queues_per_port],
        };
        Self {
            queues: (0..shape.queues()).map(state).collect(),
            gain: Weight::from_f64(params.ratio("gain")),
            least_weight: Weight::from_f64(params.ratio("least_weight")),
            shortest: shape.port_rates.iter().map(|rate| rate.serialization(shape.max_packet)).collect(),
            alphas,
            interval,
            next_update: interval,
        }
    }

    /// Sojourn time s of a queue with a packet. The time includes the age of the packet at the
    /// head, so that a queue that does not drain gets a long sojourn time.
    fn sojourn_of(&self, queue: QueueId, now: Time, buffer: &Buffer) -> Option<Time> {
        let head = buffer.peek(queue, End::Head)?;
        let (port, _) = buffer.port_and_priority(queue);
        let age = now.saturating_sub(head.enqueued_at);
        Some(self.queues[usize::from(queue.0)].sojourn.max(age).max(self.shortest[usize::from(port)]))
    }
}

impl Policy for L2bmLike {
    #[inline]
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        if !buffer.fits(arrival.header.size) {
            return Verdict::Drop(DropReason::BufferFull);
        }
        let limit = self.queues[usize::from(arrival.queue.0)].factor.apply(buffer.shared_free());
        if buffer.shared_queue_bytes(arrival.queue) + u64::from(arrival.header.size) > limit {
            return Verdict::Drop(DropReason::OverThreshold);
        }
        Verdict::Admit(Account::Shared)
    }

    fn hooks(&self) -> Hooks {
        Hooks::DEQUEUE
    }

    #[inline]
    fn on_dequeue(&mut self, departure: &Departure, _: &Buffer) {
        let sample = departure.now.saturating_sub(departure.enqueued_at).0;
        let average = &mut self.queues[usize::from(departure.queue.0)].sojourn.0;
        *average = match *average {
            0 => sample,
            old => old - self.gain.apply(old) + self.gain.apply(sample),
        };
    }

    fn next_timeout(&self) -> Option<Time> {
        Some(self.next_update)
    }

    fn handle_timeout(&mut self, now: Time, buffer: &Buffer) {
        if now < self.next_update {
            return;
        }
        self.next_update = now + self.interval;
        let least = buffer.queue_ids().filter_map(|queue| self.sojourn_of(queue, now, buffer)).min();
        for queue in buffer.queue_ids() {
            let (_, priority) = buffer.port_and_priority(queue);
            let own = self.sojourn_of(queue, now, buffer);
            let state = &mut self.queues[usize::from(queue.0)];
            state.weight = match (least, own) {
                (Some(least), Some(own)) => Weight::from_fraction(least.0, own.0).max(self.least_weight),
                _ => {
                    // An idle queue has no recent average, so the policy forgets the old average.
                    state.sojourn = Time::ZERO;
                    Weight::ONE
                }
            };
            state.factor = self.alphas[usize::from(priority)].times(state.weight);
        }
    }

    fn threshold(&self, queue: QueueId, _: Tags, buffer: &Buffer) -> Option<u64> {
        Some(self.queues[usize::from(queue.0)].factor.apply(buffer.shared_free()))
    }

    fn probe(&self, queue: QueueId, _: &Buffer, sink: &mut dyn FnMut(&'static str, f64)) {
        let state = self.queues[usize::from(queue.0)];
        sink("weight", state.weight.as_f64());
        sink("mean_sojourn_ns", state.sojourn.0 as f64 / 1_000.0);
    }

    fn boxed_clone(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.clone()))
    }
}
