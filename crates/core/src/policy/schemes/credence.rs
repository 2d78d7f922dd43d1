//! Credence: FollowLQD with a predictor of the packets that Longest Queue Drop would lose.
//!
//! Credence never evicts. The policy stores a packet within its threshold unless the
//! predictor expects Longest Queue Drop to drop the packet. While all queues are short,
//! Credence stores the packet in any case, so that a bad predictor costs little.
//! With perfect predictions the policy has the worst-case guarantee of Longest Queue Drop.
//! With bad predictions the policy still has the guarantee of Complete Sharing.

use crate::buffer::{Buffer, QueueId};
use crate::policy::interface::{
    Account, Arrival, BuildError, Departure, DropReason, Hooks, Policy, PolicyInfo, SwitchShape, Tags,
    Verdict,
};
use crate::policy::parts::longest::{Longest, TIES, Ties};
use crate::policy::parts::virtual_lqd::{IDLE, VirtualLqd};
use bufferlab_params::{Choice, ParamInfo, ParamKind, ParamValue, Params, choices};
use bufferlab_units::RandomStream;

/// Registry entry of the policy `credence`.
pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "credence",
    aliases: &[],
    title: "Credence",
    summary: "FollowLQD that drops packets if a predictor expects Longest Queue Drop to lose them.",
    source: "Addanki, Pacut and Schmid, NSDI 2024, arXiv 2401.02801.",
    cost: "O(log queues) per packet, and O(queues per port) for every idle port whose threshold is not 0",
    params: PARAMS,
    build: &build,
};

const PARAMS: &[ParamInfo] = &[
    ParamInfo {
        name: "oracle",
        kind: ParamKind::Choice(Predictor::WORDS),
        default: ParamValue::word(Predictor::Lqd.word()),
        artifact_default: None,
        doc: "Predictor of drops. The programming interface can replace it by a table of predictions, one \
              per arrival.",
    },
    ParamInfo {
        name: "error_rate",
        kind: ParamKind::Ratio { min: 0.0, max: 1.0 },
        default: ParamValue::Ratio(0.0),
        artifact_default: None,
        doc: "Probability that a prediction is inverted, drawn for every arrival from a seeded stream.",
    },
    IDLE,
    TIES,
];

fn build(params: &Params, shape: &SwitchShape) -> Result<Box<dyn Policy>, BuildError> {
    Ok(Box::new(Credence::new(params, shape)))
}

choices! {
    /// Predictor of the packets that Longest Queue Drop would drop.
    enum Predictor {
        Lqd = "lqd":
            "a virtual Longest Queue Drop on the same arrivals, which predicts a drop iff it refuses the \
             packet on arrival; later push-outs cannot be known online",
        Keep = "keep": "never a drop",
        Drop = "drop": "always a drop",
    }
}

#[derive(Clone, Debug)]
enum Oracle {
    Lqd,
    Constant(bool),
    /// A prediction (drop or not) for each arrival in order, and the number of arrivals so far.
    Table(Vec<bool>, usize),
}

/// The policy Credence: FollowLQD with a predictor of drops.
#[derive(Clone, Debug)]
pub struct Credence {
    thresholds: VirtualLqd,
    /// Lengths of the real queues, not of the virtual queues.
    lengths: Longest,
    queues: u64,
    oracle: Oracle,
    error_rate: f64,
    errors: RandomStream,
    /// Number of arrivals about which the policy asked the predictor, and number of arrivals that
    /// the predictor expected to be dropped.
    asked: u64,
    predicted: u64,
}

impl Credence {
    /// Builds the policy from `params`, which its registry entry declares.
    #[must_use]
    pub fn new(params: &Params, shape: &SwitchShape) -> Self {
        Self {
            thresholds: VirtualLqd::new(params, shape, "policy/credence"),
            lengths: Longest::new(shape.queues(), Ties::First),
            queues: shape.queues() as u64,
            oracle: match params.choice("oracle") {
                Predictor::Lqd => Oracle::Lqd,
                Predictor::Keep => Oracle::Constant(false),
                Predictor::Drop => Oracle::Constant(true),
            },
            error_rate: params.ratio("error_rate"),
            errors: RandomStream::new(shape.seed, "policy/credence/errors", 0),
            asked: 0,
            predicted: 0,
        }
    }

    /// Predicts `drops[k]` for the k-th arrival, whether the arrival is stored or not. For later
    /// arrivals the policy predicts no drop. With the drops of a run of Longest Queue Drop on the
    /// same arrivals, the list is the perfect oracle of Credence's paper.
    #[must_use]
    pub fn with_predictions(self, drops: Vec<bool>) -> Self {
        Self { oracle: Oracle::Table(drops, 0), ..self }
    }

    /// The prediction for an arrival: `true` for a drop. The policy calls this function once for
    /// every arrival, so that random errors do not depend on the policy's decisions.
    fn predict(&mut self, is_refused_by_lqd: bool) -> bool {
        let prediction = match &mut self.oracle {
            Oracle::Lqd => is_refused_by_lqd,
            Oracle::Constant(answer) => *answer,
            Oracle::Table(drops, arrived) => {
                *arrived += 1;
                drops.get(*arrived - 1).copied().unwrap_or(false)
            }
        };
        prediction ^ (self.error_rate > 0.0 && self.errors.next_f64() < self.error_rate)
    }
}

impl Policy for Credence {
    #[inline]
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        let is_refused_by_lqd = self.thresholds.arrive(arrival, buffer);
        let prediction = self.predict(is_refused_by_lqd);
        if !buffer.fits(arrival.header.size) {
            return Verdict::Drop(DropReason::BufferFull);
        }
        // The condition of the paper: the longest queue is shorter than B/N.
        if self.lengths.bytes(self.lengths.longest()) * self.queues < buffer.shared_capacity() {
            return Verdict::Admit(Account::Shared);
        }
        let length = buffer.shared_queue_bytes(arrival.queue) + u64::from(arrival.header.size);
        if length > self.thresholds.bytes(arrival.queue) {
            return Verdict::Drop(DropReason::OverThreshold);
        }
        self.asked += 1;
        if prediction {
            self.predicted += 1;
            return Verdict::Drop(DropReason::Predicted);
        }
        Verdict::Admit(Account::Shared)
    }

    fn hooks(&self) -> Hooks {
        Hooks::ENQUEUE.and(Hooks::DEQUEUE)
    }

    #[inline]
    fn on_enqueue(&mut self, arrival: &Arrival, buffer: &Buffer) {
        self.lengths.set(arrival.queue, buffer.shared_queue_bytes(arrival.queue));
    }

    #[inline]
    fn on_dequeue(&mut self, departure: &Departure, buffer: &Buffer) {
        self.lengths.set(departure.queue, buffer.shared_queue_bytes(departure.queue));
        self.thresholds.depart(departure, buffer);
    }

    /// Threshold of `queue` at the last arrival or departure. The next arrival first adds its bytes
    /// to the threshold.
    fn threshold(&self, queue: QueueId, _: Tags, _: &Buffer) -> Option<u64> {
        Some(self.thresholds.bytes(queue))
    }

    /// Reports the state of the predictor for the whole switch, whatever the queue.
    fn probe(&self, _: QueueId, _: &Buffer, sink: &mut dyn FnMut(&'static str, f64)) {
        sink("predictions_used", self.asked as f64);
        sink("predicted_drops", self.predicted as f64);
    }

    fn boxed_clone(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.clone()))
    }
}
