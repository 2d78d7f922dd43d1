//! Dynamic Thresholds: limits each queue to α times the free space.

use crate::buffer::{Buffer, QueueId};
use crate::policy::interface::{
    Account, Arrival, BuildError, DropReason, Hooks, Policy, PolicyInfo, SwitchShape, Tags, Verdict,
};
use crate::policy::parts::parameters::{ARTIFACT_ALPHAS, alpha};
use crate::schedule::MAX_QUEUES_PER_PORT;
use crate::weight::Weight;
use bufferlab_params::{ParamInfo, Params};

/// Registry entry of the policy `dt`.
pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "dt",
    aliases: &["dynamic-threshold", "dynamic-thresholds"],
    title: "Dynamic Thresholds",
    summary: "Limits every queue to alpha times the free buffer.",
    source: "Choudhury and Hahne, ToN 1998; ABM Eq. 5, Plasticine Eq. 1, TDT Eq. 1.",
    cost: "O(1)",
    params: PARAMS,
    build: &build,
};

const PARAMS: &[ParamInfo] = &[alpha(
    &[0.5],
    Some(&ARTIFACT_ALPHAS),
    "Factor of the free space, by priority. Switches offer powers of two; above 1 the buffer can be full \
     before a queue reaches its threshold. The artifact's file gives priority 0 (ACKs) 1 and halves from \
     priority 4 on.",
)];

fn build(params: &Params, shape: &SwitchShape) -> Result<Box<dyn Policy>, BuildError> {
    let alphas = params.ratio_per_priority("alpha", shape.queues_per_port);
    Ok(Box::new(DynamicThreshold::new(&alphas)))
}

/// Admits a packet iff q + len ≤ α·(B − Q) and Q + len ≤ B. Q does not include the packet.
#[derive(Clone, Debug)]
pub struct DynamicThreshold {
    /// Alpha of all priorities, if all priorities have one alpha. Then the policy needs no lookup
    /// of an alpha by priority.
    common: Option<Weight>,
    /// Alpha of each priority. Unused priorities have an alpha, too.
    alphas: Box<[Weight; MAX_QUEUES_PER_PORT]>,
}

impl DynamicThreshold {
    /// Dynamic Thresholds with one α per priority.
    #[must_use]
    pub fn new(alphas: &[f64]) -> Self {
        let alpha = |priority: usize| {
            alphas.get(priority).map_or(Weight::default(), |&alpha| Weight::from_f64(alpha))
        };
        let common = alphas.first().filter(|&first| alphas.iter().all(|alpha| alpha == first));
        Self {
            common: common.map(|&alpha| Weight::from_f64(alpha)),
            alphas: Box::new(std::array::from_fn(alpha)),
        }
    }
}

impl DynamicThreshold {
    #[inline(always)] // On the hot path.
    fn alpha(&self, priority: u8) -> Weight {
        self.common.unwrap_or_else(|| self.alphas[usize::from(priority) % MAX_QUEUES_PER_PORT])
    }

    /// Whether q + len ≤ α·(B − Q), where the queue length q is `length`.
    #[inline(always)] // On the hot path.
    fn is_within(&self, arrival: &Arrival, length: u64, buffer: &Buffer) -> bool {
        length + u64::from(arrival.header.size) <= self.alpha(arrival.priority).apply(buffer.shared_free())
    }
}

impl Policy for DynamicThreshold {
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        if !buffer.fits(arrival.header.size) {
            return Verdict::Drop(DropReason::BufferFull);
        }
        if !self.is_within(arrival, buffer.shared_queue_bytes(arrival.queue), buffer) {
            return Verdict::Drop(DropReason::OverThreshold);
        }
        Verdict::Admit(Account::Shared)
    }

    #[inline(always)] // On the hot path.
    fn surely_admits(&self, arrival: &Arrival, buffer: &Buffer) -> bool {
        self.is_within(arrival, buffer.shared_queue_bytes(arrival.queue), buffer)
    }

    fn hooks(&self) -> Hooks {
        Hooks::BYPASS
    }

    #[inline(always)] // On the hot path.
    fn can_bypass(&self, arrival: &Arrival, buffer: &Buffer) -> bool {
        // The queue is empty, and the switch checks that the packet fits into the pool.
        self.is_within(arrival, 0, buffer)
    }

    fn threshold(&self, queue: QueueId, _: Tags, buffer: &Buffer) -> Option<u64> {
        let (_, priority) = buffer.port_and_priority(queue);
        Some(self.alpha(priority).apply(buffer.shared_free()))
    }

    fn boxed_clone(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.clone()))
    }
}
