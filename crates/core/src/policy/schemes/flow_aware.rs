//! FAB, flow-aware buffer sharing (reconstructed): Dynamic Thresholds with a larger alpha for the
//! first packets of every flow.
//!
//! A flow is short until its packets or bytes reach a limit, and again after some silence. Packets
//! of short flows have the limit `α_high (B − Q)`, and packets of longer flows `α (B − Q)`. The
//! scheme protects short flows and their bursts from long flows in the same queues. FAB ignores
//! congestion and drain rates.
//!
//! The scheme is reconstructed from papers that compare with it and from ABM's public artifact.
//! Source: Apostolaki, Vanbever, Ghobadi, BS 2019.

use crate::buffer::{Buffer, QueueId};
use crate::classify::{Classifier, ElephantTrap};
use crate::flows::{FLOW_ENTRIES, FLOW_IDLE};
use crate::policy::interface::{
    Account, Arrival, BuildError, DropReason, Policy, PolicyInfo, SwitchShape, Tags, Verdict,
};
use crate::policy::parts::congestion;
use crate::policy::parts::parameters::{ARTIFACT_ALPHAS, alpha, factor};
use crate::policy::parts::short_flows::{self, SHORT_BYTES, SHORT_FLOWS, SHORT_PACKETS_OF_FAB};
use crate::weight::Weight;
use bufferlab_params::{ParamInfo, Params};

/// Registry entry of the policy `fab`.
pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "fab",
    aliases: &["flow-aware-buffer"],
    title: "FAB, flow-aware buffer sharing (reconstructed)",
    summary: "Dynamic Thresholds with a larger alpha for the first packets of every flow.",
    source: "Apostolaki, Vanbever, Ghobadi, Workshop on Buffer Sizing 2019; details from ABM's public artifact.",
    cost: "O(1): one set of four flows",
    params: PARAMS,
    build: &build,
};

const PARAMS: &[ParamInfo] = &[
    alpha(&[0.5], Some(&ARTIFACT_ALPHAS), "Factor of the free space for long flows, by priority."),
    factor(
        "short_alpha",
        64.0,
        Some(1_024.0),
        "Factor for short flows, at any priority. The papers do not state it; the artifact uses its alpha of \
         unscheduled packets, and 64 is the default of ABM.",
    ),
    SHORT_FLOWS,
    SHORT_PACKETS_OF_FAB,
    SHORT_BYTES,
    FLOW_IDLE,
    FLOW_ENTRIES,
];

fn build(params: &Params, shape: &SwitchShape) -> Result<Box<dyn Policy>, BuildError> {
    Ok(Box::new(FlowAwareBuffer::new(params, shape, short_flows::trap(params)?)))
}

/// Dynamic Thresholds with two alphas, for short and for long flows.
#[derive(Clone, Debug)]
pub struct FlowAwareBuffer {
    /// Alpha of each priority, for long flows.
    alphas: Vec<Weight>,
    short_alpha: Weight,
    /// Elephant trap of the policy, until the switch takes the trap.
    trap: Option<ElephantTrap>,
}

impl FlowAwareBuffer {
    /// Builds the policy from `params`, which its registry entry declares.
    /// With `trap` the switch finds the short flows itself.
    #[must_use]
    pub fn new(params: &Params, shape: &SwitchShape, trap: Option<ElephantTrap>) -> Self {
        Self {
            alphas: congestion::weights(params, "alpha", shape.queues_per_port),
            short_alpha: Weight::from_f64(params.ratio("short_alpha")),
            trap,
        }
    }

    #[inline]
    fn limit(&self, priority: u8, tags: Tags, buffer: &Buffer) -> u64 {
        let short = tags.contains(Tags::SMALL);
        let alpha = if short { self.short_alpha } else { self.alphas[usize::from(priority)] };
        alpha.apply(buffer.shared_free())
    }
}

impl Policy for FlowAwareBuffer {
    #[inline]
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        if !buffer.fits(arrival.header.size) {
            return Verdict::Drop(DropReason::BufferFull);
        }
        let limit = self.limit(arrival.priority, arrival.header.tags, buffer);
        if buffer.shared_queue_bytes(arrival.queue) + u64::from(arrival.header.size) > limit {
            return Verdict::Drop(DropReason::OverThreshold);
        }
        Verdict::Admit(Account::Shared)
    }

    fn take_classifier(&mut self) -> Option<Classifier> {
        let trap = self.trap.take()?;
        Some(Classifier::identity(self.alphas.len()).with_trap(trap))
    }

    fn threshold(&self, queue: QueueId, tags: Tags, buffer: &Buffer) -> Option<u64> {
        let (_, priority) = buffer.port_and_priority(queue);
        Some(self.limit(priority, tags, buffer))
    }

    fn boxed_clone(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.clone()))
    }
}
