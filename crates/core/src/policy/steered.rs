//! Dynamic Thresholds whose alphas a controller outside the switch sets, one for each queue.

use super::interface::{Account, Arrival, DropReason, Hooks, Policy, Tags, Verdict};
use crate::buffer::{Buffer, QueueId};
use crate::weight::Weight;

/// Admits a packet iff q + len ≤ α·(B − Q) and Q + len ≤ B, with a separate α for each queue.
///
/// No registry has this policy, because only a simulation that is steered from outside builds it.
/// With equal alphas the policy decides as [`super::DynamicThreshold`].
#[derive(Clone, Debug)]
pub struct SteeredThreshold {
    alphas: Vec<Weight>,
}

impl SteeredThreshold {
    /// The policy with `alphas`, which has one alpha per queue of the memory.
    #[must_use]
    pub fn new(alphas: Vec<Weight>) -> Self {
        Self { alphas }
    }

    /// Sets the alpha of every queue of the memory.
    ///
    /// # Panics
    /// If the number of alphas is not the number of queues.
    pub fn set_alphas(&mut self, alphas: &[Weight]) {
        self.alphas.copy_from_slice(alphas);
    }

    fn limit(&self, queue: QueueId, buffer: &Buffer) -> u64 {
        self.alphas[usize::from(queue.0)].apply(buffer.shared_free())
    }
}

impl Policy for SteeredThreshold {
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        if !buffer.fits(arrival.header.size) {
            return Verdict::Drop(DropReason::BufferFull);
        }
        let length = buffer.shared_queue_bytes(arrival.queue);
        if length + u64::from(arrival.header.size) > self.limit(arrival.queue, buffer) {
            return Verdict::Drop(DropReason::OverThreshold);
        }
        Verdict::Admit(Account::Shared)
    }

    fn hooks(&self) -> Hooks {
        Hooks::BYPASS
    }

    fn can_bypass(&self, arrival: &Arrival, buffer: &Buffer) -> bool {
        let size = arrival.header.size;
        buffer.fits(size) && u64::from(size) <= self.limit(arrival.queue, buffer)
    }

    fn threshold(&self, queue: QueueId, _: Tags, buffer: &Buffer) -> Option<u64> {
        Some(self.limit(queue, buffer))
    }

    fn boxed_clone(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.clone()))
    }
}
