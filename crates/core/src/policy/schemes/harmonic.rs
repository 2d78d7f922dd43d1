//! Harmonic: the i-th longest queue gets a share of the buffer in proportion to 1/i.
//!
//! Few queues may be long, and a newly active queue always finds space. Harmonic never evicts.
//! Harmonic's worst-case guarantee (2 + ln n) is the best known for policies that never evict.
//! H_n = 1 + 1/2 + … + 1/n.

use crate::buffer::{Buffer, QueueId};
use crate::policy::interface::{
    Account, Arrival, BuildError, Departure, DropReason, Hooks, Policy, PolicyInfo, SwitchShape, Tags,
    Verdict,
};
use bufferlab_params::{Choice, ParamInfo, ParamKind, ParamValue, Params, choices};

/// Registry entry of the policy `harmonic`.
pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "harmonic",
    aliases: &[],
    title: "Harmonic",
    summary: "Limits the i-th longest queue to B/(i H_n), or the i longest queues together to the sum of \
              these limits.",
    source: "Kesselman and Mansour, TCS 2004; Addanki et al., arXiv 2511.06514.",
    cost: "O(queues) per packet",
    params: PARAMS,
    build: &build,
};

const PARAMS: &[ParamInfo] = &[ParamInfo {
    name: "limit",
    kind: ParamKind::Choice(Limit::WORDS),
    default: ParamValue::word(Limit::Rank.word()),
    artifact_default: None,
    doc: "Quantity that is limited; sources quote both variants.",
}];

fn build(params: &Params, shape: &SwitchShape) -> Result<Box<dyn Policy>, BuildError> {
    Ok(Box::new(Harmonic::new(params, shape)))
}

choices! {
    /// Queue lengths that the policy limits: of single queues, or of several queues together.
    enum Limit {
        Rank = "rank": "for every i, the i-th longest queue has at most B/(i H_n)",
        Sum = "sum":
            "for every i, the i longest queues together have at most B/H_n + B/(2 H_n) + ... + B/(i H_n), which admits more",
    }
}

/// Harmonic policy: the limit of a queue depends on its rank by length.
#[derive(Clone, Debug)]
pub struct Harmonic {
    limit: Limit,
    /// Shares B/(i·H_n) for i = 1, 2, …, n, rounded down (bytes).
    shares: Vec<u64>,
    /// Queues in the order of their lengths, longest first.
    order: Vec<QueueId>,
    /// Position of each queue in the order of lengths `order`.
    place: Vec<u16>,
}

impl Harmonic {
    /// Builds the policy from `params`, which its registry entry declares. n is the number of
    /// queues.
    #[must_use]
    pub fn new(params: &Params, shape: &SwitchShape) -> Self {
        let n = shape.queues();
        let harmonic_number: f64 = (1..=n).map(|i| 1.0 / i as f64).sum();
        // Sums and quotients of IEEE numbers are equal on every machine. The added billionth of a
        // byte keeps an exact quotient from being rounded down to the byte below.
        let share = |i: usize| (shape.capacity as f64 / (i as f64 * harmonic_number) + 1e-9) as u64;
        Self {
            limit: params.choice("limit"),
            shares: (1..=n).map(share).collect(),
            order: (0..n as u16).map(QueueId).collect(),
            place: (0..n as u16).collect(),
        }
    }

    /// Maximum length of `queue` at which all inequalities of the policy are true. A larger length
    /// breaks an inequality, and a smaller length breaks none.
    fn limit_of(&self, queue: QueueId, buffer: &Buffer) -> u64 {
        let others =
            self.order.iter().filter(|&&other| other != queue).map(|&other| buffer.shared_queue_bytes(other));
        match self.limit {
            // The i-th inequality forbids more than i − 1 queues longer than share i. The
            // inequality limits the queue only if i − 1 other queues already are longer than share
            // i. That is, the (i − 1)-th longest of the other queues is longer than share i.
            Limit::Rank => {
                let mut limit = self.shares[0];
                for (&share, other) in self.shares[1..].iter().zip(others) {
                    if other > share {
                        limit = share;
                    }
                }
                limit
            }
            // The queue and the i − 1 longest other queues together may use the sum of the first i
            // shares. If the queue is not among the i longest queues, the inequality is true in any
            // case.
            Limit::Sum => {
                let (mut allowed, mut held) = (self.shares[0], 0);
                let mut limit = allowed;
                for (&share, other) in self.shares[1..].iter().zip(others) {
                    allowed += share;
                    held += other;
                    limit = limit.min(allowed.saturating_sub(held));
                }
                limit
            }
        }
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.order.swap(one, other);
        self.place[usize::from(self.order[one].0)] = one as u16;
        self.place[usize::from(self.order[other].0)] = other as u16;
    }

    /// Moves `queue` to its new position in the order of lengths after its length changed.
    fn reorder(&mut self, queue: QueueId, buffer: &Buffer) {
        let bytes = buffer.shared_queue_bytes(queue);
        let mut place = usize::from(self.place[usize::from(queue.0)]);
        while place > 0 && buffer.shared_queue_bytes(self.order[place - 1]) < bytes {
            self.swap(place - 1, place);
            place -= 1;
        }
        while place + 1 < self.order.len() && buffer.shared_queue_bytes(self.order[place + 1]) > bytes {
            self.swap(place, place + 1);
            place += 1;
        }
    }
}

impl Policy for Harmonic {
    #[inline]
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        if !buffer.fits(arrival.header.size) {
            return Verdict::Drop(DropReason::BufferFull);
        }
        let length = buffer.shared_queue_bytes(arrival.queue) + u64::from(arrival.header.size);
        if length > self.limit_of(arrival.queue, buffer) {
            return Verdict::Drop(DropReason::OverThreshold);
        }
        Verdict::Admit(Account::Shared)
    }

    fn hooks(&self) -> Hooks {
        Hooks::ENQUEUE.and(Hooks::DEQUEUE)
    }

    #[inline]
    fn on_enqueue(&mut self, arrival: &Arrival, buffer: &Buffer) {
        self.reorder(arrival.queue, buffer);
    }

    #[inline]
    fn on_dequeue(&mut self, departure: &Departure, buffer: &Buffer) {
        self.reorder(departure.queue, buffer);
    }

    fn threshold(&self, queue: QueueId, _: Tags, buffer: &Buffer) -> Option<u64> {
        Some(self.limit_of(queue, buffer))
    }

    /// Reports the rank of the queue among all queues by length, 1 for the longest queue.
    fn probe(&self, queue: QueueId, _: &Buffer, sink: &mut dyn FnMut(&'static str, f64)) {
        sink("rank", f64::from(self.place[usize::from(queue.0)]) + 1.0);
    }

    fn boxed_clone(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.clone()))
    }
}
