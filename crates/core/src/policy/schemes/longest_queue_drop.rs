//! Longest Queue Drop: accepts every packet, and drops from the longest queue when the buffer is
//! full.
//!
//! Longest Queue Drop is the upper reference among practical policies. It refuses no packet while
//! the buffer has space, and no queue keeps space at the expense of shorter queues. The policy must
//! evict stored packets, and few chips can evict. Policies that never evict are compared with
//! Longest Queue Drop.

use crate::buffer::{Buffer, End, QueueId};
use crate::policy::interface::{
    Account, Arrival, BuildError, Departure, DropReason, Hooks, Policy, PolicyInfo, SwitchShape, Tags,
    Verdict,
};
use crate::policy::parts::longest::{Longest, TIES, Ties};
use bufferlab_params::{ParamInfo, Params};
use bufferlab_units::Time;

/// Registry entry of the policy `lqd`.
pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "lqd",
    aliases: &["longest-queue-drop", "push-out"],
    title: "Longest Queue Drop",
    summary: "Accepts every packet while there is space; when the buffer is full, pushes out the tail of the \
              longest queue.",
    source: "Wei, Coyle and Hsiao (push-out), GLOBECOM 1991; competitive analysis: Hahne, Kesselman and Mansour, SPAA \
             2001.",
    cost: "O(log queues) per packet stored, sent or evicted",
    params: PARAMS,
    build: &build,
};

const PARAMS: &[ParamInfo] = &[TIES];

fn build(params: &Params, shape: &SwitchShape) -> Result<Box<dyn Policy>, BuildError> {
    Ok(Box::new(LongestQueueDrop::new(params, shape)))
}

/// The policy that evicts from the longest queue, measured in bytes.
#[derive(Clone, Debug)]
pub struct LongestQueueDrop {
    lengths: Longest,
}

impl LongestQueueDrop {
    /// Builds the policy from `params`, which its registry entry declares.
    #[must_use]
    pub fn new(params: &Params, shape: &SwitchShape) -> Self {
        let ties = Ties::new(params, shape.seed, "policy/lqd");
        Self { lengths: Longest::new(shape.queues(), ties) }
    }

    #[cold]
    fn make_room(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        let size = u64::from(arrival.header.size);
        if size > buffer.shared_capacity() {
            return Verdict::Drop(DropReason::BufferFull);
        }
        let victim = self.lengths.longest_other_than(arrival.queue);
        if arrival.evictions == 0 {
            let with_packet = buffer.shared_queue_bytes(arrival.queue) + size;
            if victim == arrival.queue || self.lengths.would_lead(arrival.queue, with_packet, victim) {
                return Verdict::Drop(DropReason::BufferFull);
            }
            // The policy chooses the victim once. Several packets of the victim may be evicted.
            // If the policy dropped the arriving packet in between, the evictions would be useless.
            // The victim's queue alone has at least `size` bytes.
        }
        Verdict::Evict { victim, end: End::Tail }
    }
}

impl Policy for LongestQueueDrop {
    #[inline]
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        if buffer.fits(arrival.header.size) {
            Verdict::Admit(Account::Shared)
        } else {
            self.make_room(arrival, buffer)
        }
    }

    fn hooks(&self) -> Hooks {
        Hooks::ENQUEUE.and(Hooks::DEQUEUE).and(Hooks::DROP)
    }

    #[inline]
    fn on_enqueue(&mut self, arrival: &Arrival, buffer: &Buffer) {
        self.lengths.set(arrival.queue, buffer.shared_queue_bytes(arrival.queue));
    }

    #[inline]
    fn on_dequeue(&mut self, departure: &Departure, buffer: &Buffer) {
        self.lengths.set(departure.queue, buffer.shared_queue_bytes(departure.queue));
    }

    fn on_evict(&mut self, _: Time, queue: QueueId, _: u32, buffer: &Buffer) {
        self.lengths.set(queue, buffer.shared_queue_bytes(queue));
    }

    /// Current maximum length of the queue. The queue can fill the free space,
    /// and grow by push-out up to the longest other queue.
    fn threshold(&self, queue: QueueId, _: Tags, buffer: &Buffer) -> Option<u64> {
        let into_free = buffer.shared_queue_bytes(queue) + buffer.shared_free();
        let others = self.lengths.longest_other_than(queue);
        Some(if others == queue { into_free } else { into_free.max(self.lengths.bytes(others)) })
    }

    fn probe(&self, _: QueueId, _: &Buffer, sink: &mut dyn FnMut(&'static str, f64)) {
        sink("longest_bytes", self.lengths.bytes(self.lengths.longest()) as f64);
    }

    fn boxed_clone(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.clone()))
    }
}
