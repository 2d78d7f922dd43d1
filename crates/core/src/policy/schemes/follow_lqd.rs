//! FollowLQD: limits every queue to the queue's length under Longest Queue Drop, but never evicts.
//!
//! Thresholds imitate the queues of Longest Queue Drop on the same arrivals.
//! If Longest Queue Drop would have cut a queue to free space for others,
//! FollowLQD refuses further packets of that queue. FollowLQD never removes stored packets.

use crate::buffer::{Buffer, QueueId};
use crate::policy::interface::{
    Account, Arrival, BuildError, Departure, DropReason, Hooks, Policy, PolicyInfo, SwitchShape, Tags,
    Verdict,
};
use crate::policy::parts::longest::TIES;
use crate::policy::parts::virtual_lqd::{IDLE, VirtualLqd};
use bufferlab_params::{ParamInfo, Params};

/// Registry entry of the policy `followlqd`.
pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "followlqd",
    aliases: &["follow-lqd"],
    title: "FollowLQD",
    summary: "Limits every queue to the length that it would have under Longest Queue Drop.",
    source: "Addanki, Pacut and Schmid (Credence), NSDI 2024, arXiv 2401.02801.",
    cost: "O(log queues) per packet, and O(queues per port) for every idle port whose threshold is not 0",
    params: PARAMS,
    build: &build,
};

const PARAMS: &[ParamInfo] = &[IDLE, TIES];

fn build(params: &Params, shape: &SwitchShape) -> Result<Box<dyn Policy>, BuildError> {
    Ok(Box::new(FollowLqd::new(params, shape)))
}

/// Admits a packet iff q + len ≤ T, where T is the virtual length with the packet, and Q + len ≤ B.
#[derive(Clone, Debug)]
pub struct FollowLqd {
    thresholds: VirtualLqd,
}

impl FollowLqd {
    /// Builds the policy from `params`, which its registry entry declares.
    #[must_use]
    pub fn new(params: &Params, shape: &SwitchShape) -> Self {
        Self { thresholds: VirtualLqd::new(params, shape, "policy/followlqd") }
    }
}

impl Policy for FollowLqd {
    #[inline]
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        let _ = self.thresholds.arrive(arrival, buffer);
        if !buffer.fits(arrival.header.size) {
            return Verdict::Drop(DropReason::BufferFull);
        }
        let length = buffer.shared_queue_bytes(arrival.queue) + u64::from(arrival.header.size);
        if length > self.thresholds.bytes(arrival.queue) {
            return Verdict::Drop(DropReason::OverThreshold);
        }
        Verdict::Admit(Account::Shared)
    }

    fn hooks(&self) -> Hooks {
        Hooks::DEQUEUE
    }

    #[inline]
    fn on_dequeue(&mut self, departure: &Departure, buffer: &Buffer) {
        self.thresholds.depart(departure, buffer);
    }

    /// Threshold of `queue` at the last arrival or departure. The next arrival first adds its bytes
    /// to the threshold.
    fn threshold(&self, queue: QueueId, _: Tags, _: &Buffer) -> Option<u64> {
        Some(self.thresholds.bytes(queue))
    }

    fn boxed_clone(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.clone()))
    }
}
