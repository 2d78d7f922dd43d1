//! A custom buffer policy: with n busy queues, each of them may store `share · B / √n`.
//!
//! The limit of a queue is between the whole buffer (complete sharing) and an equal part for each
//! queue (`B/n`). Bursts to a few queues find room, and every queue can store packets.

use bufferlab_core::{
    Account, Arrival, Buffer, DropReason, ParamInfo, ParamKind, ParamValue, Policy, PolicyInfo, QueueId,
    RegisterError, Tags, Verdict, Weight, register_policy,
};

/// The custom policy `root-share`: each of n busy queues may store `share · B / √n`.
#[derive(Debug)]
struct RootShare {
    share: Weight,
}

impl Policy for RootShare {
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        let length = buffer.shared_queue_bytes(arrival.queue) + u64::from(arrival.header.size);
        if !buffer.fits(arrival.header.size) {
            return Verdict::Drop(DropReason::BufferFull);
        }
        if self.threshold(arrival.queue, arrival.header.tags, buffer).is_some_and(|limit| length > limit) {
            return Verdict::Drop(DropReason::OverThreshold);
        }
        Verdict::Admit(Account::Shared)
    }

    fn threshold(&self, queue: QueueId, _: Tags, buffer: &Buffer) -> Option<u64> {
        let busy = |other: &QueueId| *other == queue || buffer.queue_packets(*other) > 0;
        let queues = buffer.queue_ids().filter(busy).count() as u128;
        // The square root √(B²/n) is an integer, rounded down, so that verdicts are equal on every
        // machine.
        let share = (u128::from(buffer.shared_capacity()).pow(2) / queues).isqrt();
        Some(self.share.apply(share as u64))
    }
}

/// Registers the policy. Then every scenario of this process can have
/// `policy = { name = "root-share", share = 0.5 }`.
///
/// # Errors
/// If the name is already registered.
pub fn register() -> Result<&'static PolicyInfo, RegisterError> {
    register_policy(PolicyInfo {
        name: "root-share",
        aliases: &[],
        title: "Root Share",
        summary: "With n busy queues, each may hold the buffer divided by the root of n.",
        source: "A custom policy.",
        cost: "O(queues)",
        params: PARAMS,
        build: &|params, _| Ok(Box::new(RootShare { share: Weight::from_f64(params.ratio("share")) })),
    })
}

const PARAMS: &[ParamInfo] = &[ParamInfo {
    name: "share",
    kind: ParamKind::Ratio { min: 0.0, max: 1.0 },
    default: ParamValue::Ratio(0.75),
    artifact_default: None,
    doc: "Part of the buffer that a lone queue may hold.",
}];
