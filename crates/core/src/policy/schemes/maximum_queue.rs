//! Sharing with maximum queue lengths: every queue may use the buffer up to a fixed length.

use crate::buffer::{Buffer, QueueId};
use crate::policy::interface::{
    Account, Arrival, BuildError, DropReason, Policy, PolicyInfo, SwitchShape, Tags, Verdict,
};
use bufferlab_params::{ParamInfo, ParamKind, ParamValue, Params};

/// Registry entry of the policy `smxq`.
pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "smxq",
    aliases: &["maximum-queue-length", "static-threshold"],
    title: "Sharing with Maximum Queue Lengths",
    summary: "Limits every queue to a fixed length; the lengths may add up to more than the buffer.",
    source: "Irland, 1978 (the square-root rule), and Kamoun and Kleinrock, 1980, in IEEE Transactions on \
             Communications. T is constant.",
    cost: "O(1)",
    params: PARAMS,
    build: &build,
};

const PARAMS: &[ParamInfo] = &[ParamInfo {
    name: "limit",
    kind: ParamKind::Bytes { min: 0 },
    default: ParamValue::Bytes(0),
    artifact_default: None,
    doc: "T: maximum length of a queue. 0: Irland's square-root rule, B / √N with N the number of queues.",
}];

fn build(params: &Params, shape: &SwitchShape) -> Result<Box<dyn Policy>, BuildError> {
    let (queues, capacity) = (shape.queues() as u64, shape.capacity);
    let limit = match params.bytes("limit") {
        // Integer arithmetic computes ⌊B / √N⌋ = ⌊√(B² / N)⌋.
        0 => (u128::from(capacity) * u128::from(capacity) / u128::from(queues)).isqrt() as u64,
        bytes => bytes,
    };
    if limit > capacity {
        let message =
            format!("a queue may hold {limit} B, and the buffer has {capacity} B: choose at most that");
        return Err(BuildError { param: "limit", message });
    }
    if limit < shape.max_packet {
        let message = format!(
            "a queue may hold {limit} B, less than a packet of {} B: raise the limit or the buffer",
            shape.max_packet
        );
        return Err(BuildError { param: "limit", message });
    }
    Ok(Box::new(MaximumQueue { limit }))
}

/// Admits a packet iff q + len ≤ T and Q + len ≤ B, with one constant T.
#[derive(Clone, Copy, Debug)]
struct MaximumQueue {
    /// Limit T of the length of every queue (bytes).
    limit: u64,
}

impl Policy for MaximumQueue {
    #[inline]
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        if !buffer.fits(arrival.header.size) {
            return Verdict::Drop(DropReason::BufferFull);
        }
        if buffer.shared_queue_bytes(arrival.queue) + u64::from(arrival.header.size) > self.limit {
            return Verdict::Drop(DropReason::OverThreshold);
        }
        Verdict::Admit(Account::Shared)
    }

    fn threshold(&self, _: QueueId, _: Tags, _: &Buffer) -> Option<u64> {
        Some(self.limit)
    }

    fn boxed_clone(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(*self))
    }
}
