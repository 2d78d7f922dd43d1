//! Occamy: generous Dynamic Thresholds for admission, and later expulsion of packets from queues
//! with too much space.
//!
//! Dynamic Thresholds must keep space free for queues that become active later, because Dynamic
//! Thresholds can only wait until a long queue drains. Occamy admits with a large α, so that little
//! space stays free, and reclaims space actively. Whenever the memory has spare bandwidth, it drops
//! the packet at the head of a queue that is longer than its threshold, in round robin. A token
//! bucket in cell operations measures the spare bandwidth. The scheme helps bursts beside long
//! queues at high utilisation. The cost of Occamy is the loss of admitted packets.
//!
//! Source: Occamy, EuroSys 2025, as implemented in its public artifact.

use crate::buffer::{Buffer, End, QueueId};
use crate::policy::interface::{
    Account, Arrival, BuildError, Departure, DropReason, Hooks, Policy, PolicyInfo, SwitchShape, Tags,
    Verdict,
};
use crate::policy::parts::parameters::alpha;
use crate::weight::Weight;
use bufferlab_params::{Choice, ParamInfo, ParamKind, ParamValue, Params, choices};
use bufferlab_units::Time;

/// Registry entry of the policy `occamy`.
pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "occamy",
    aliases: &["preemptive-buffer-management"],
    title: "Occamy",
    summary: "Dynamic Thresholds with a large alpha; the heads of queues above their threshold are expelled \
              when the memory has spare bandwidth.",
    source: "Occamy, EuroSys 2025, and its public artifact (token bucket, round robin, head drop).",
    cost: "O(1) per decision; O(queues) to find a queue to expel from, only while some queue may be above its \
           threshold",
    params: PARAMS,
    build: &build,
};

const PARAMS: &[ParamInfo] = &[
    alpha(
        &[8.0],
        Some(&[8.0, 8.0, 1.0]),
        "Factor of the free space, by priority, for admission and expulsion. The artifact's prototype uses 8 \
         for its two highest queues and 1 for the others when it serves in strict priority.",
    ),
    ParamInfo {
        name: "cell_bytes",
        kind: ParamKind::Bytes { min: 1 },
        default: ParamValue::Bytes(200),
        artifact_default: None,
        doc: "Cell size. A packet takes one operation for each whole or partial cell.",
    },
    ParamInfo {
        name: "cell_rate",
        kind: ParamKind::at_least(0),
        default: ParamValue::Count(0),
        artifact_default: None,
        doc: "Cell operations per second of the memory; expulsions use those that departures leave. 0: 1.1 \
              times the rate of all ports together (55 million for 8 ports of 10 Gb/s, the artifact's \
              prototype), and twice that for `traffic = \"reads-and-writes\"`.",
    },
    ParamInfo {
        name: "bucket_cells",
        kind: ParamKind::at_least(1),
        default: ParamValue::Count(200),
        artifact_default: None,
        doc: "Maximum number of operations that can accumulate.",
    },
    ParamInfo {
        name: "traffic",
        kind: ParamKind::Choice(Traffic::WORDS),
        default: ParamValue::word(Traffic::Reads.word()),
        artifact_default: None,
        doc: "Traffic that competes with expulsions.",
    },
];

choices! {
    /// Traffic that competes with expulsions for memory bandwidth.
    enum Traffic {
        Reads = "reads": "departures (the artifact)",
        ReadsAndWrites = "reads-and-writes": "departures and stored packets",
    }
}

/// One memory operation in units of the token bucket. In these units, operations per second times
/// picoseconds have no rounding error.
const OPERATION: i128 = 1_000_000_000_000;

/// Largest refill rate and bucket size that the policy accepts. No memory has a larger rate or
/// bucket, and no product with this number overflows.
const LARGEST: u64 = 1_000_000_000_000_000;

fn build(params: &Params, shape: &SwitchShape) -> Result<Box<dyn Policy>, BuildError> {
    for name in ["cell_rate", "bucket_cells"] {
        if params.count(name) > LARGEST {
            let message =
                format!("{} is more than any memory does; choose at most {LARGEST}", params.count(name));
            return Err(BuildError { param: name, message });
        }
    }
    Ok(Box::new(Occamy::new(params, shape)))
}

/// Admits like Dynamic Thresholds. Expels the heads of queues above `α_p (B − Q)` in round robin,
/// while the token bucket has tokens.
///
/// As in Occamy's artifact, the bucket may be below zero: a departure always takes its operations,
/// and an expulsion begins whenever the bucket is not below zero.
#[derive(Clone, Debug)]
pub struct Occamy {
    /// Alpha of the thresholds, by priority.
    alphas: Vec<Weight>,
    smallest_alpha: Weight,
    cell_bytes: u64,
    /// Refill rate of the token bucket (operations per second).
    cell_rate: u64,
    /// Maximum number of tokens in the bucket, in units of 1 / [`OPERATION`].
    bucket: i128,
    charge_writes: bool,
    queues: u16,
    /// Tokens of the bucket at the time `refilled_at`, in units of 1 / [`OPERATION`].
    tokens: i128,
    refilled_at: Time,
    /// Queue at which the next search for a victim begins.
    next: u16,
    /// Whether a queue may be above its threshold. Only storing a packet can bring a queue above
    /// its threshold.
    suspicious: bool,
    /// Time at which the token bucket is back at zero, while an expulsion may be pending.
    retry: Option<Time>,
    /// Packets expelled from each queue, which the policy's probe reports.
    expelled: Vec<u64>,
}

impl Occamy {
    /// Builds the policy from `params`, which its registry entry declares.
    #[must_use]
    pub fn new(params: &Params, shape: &SwitchShape) -> Self {
        let alphas: Vec<_> = params
            .ratio_per_priority("alpha", shape.queues_per_port)
            .into_iter()
            .map(Weight::from_f64)
            .collect();
        let charge_writes = match params.choice("traffic") {
            Traffic::Reads => false,
            Traffic::ReadsAndWrites => true,
        };
        let cell_bytes = params.bytes("cell_bytes");
        let cell_rate = match params.count("cell_rate") {
            0 => {
                let bits: u128 = shape.port_rates.iter().map(|rate| u128::from(rate.0)).sum();
                let sides = if charge_writes { 2 } else { 1 };
                // The refill rate is 1.1 times the line rate in bytes, converted to cells.
                let rate = bits * 11 * sides / (80 * u128::from(cell_bytes));
                rate.clamp(1, u128::from(LARGEST)) as u64
            }
            rate => rate,
        };
        let bucket = i128::from(params.count("bucket_cells")) * OPERATION;
        Self {
            smallest_alpha: alphas.iter().copied().min().unwrap_or_default(),
            alphas,
            cell_bytes,
            cell_rate,
            bucket,
            charge_writes,
            queues: shape.queues() as u16,
            tokens: bucket,
            refilled_at: Time::ZERO,
            next: 0,
            suspicious: false,
            retry: None,
            expelled: vec![0; shape.queues()],
        }
    }

    #[inline]
    fn threshold_of(&self, priority: u8, buffer: &Buffer) -> u64 {
        self.alphas[usize::from(priority)].apply(buffer.shared_free())
    }

    #[inline]
    fn refill(&mut self, now: Time) {
        let span = now.saturating_sub(self.refilled_at);
        let earned = i128::from(self.cell_rate) * i128::from(span.0);
        self.tokens = (self.tokens + earned).min(self.bucket);
        self.refilled_at = now;
    }

    #[inline]
    fn spend(&mut self, size: u32) {
        self.tokens -= i128::from(u64::from(size).div_ceil(self.cell_bytes)) * OPERATION;
    }

    /// Time at which a bucket that was below zero at the last refill is back at zero.
    fn repaid_at(&self) -> Time {
        let missing = (-self.tokens).max(0) as u128;
        let span = missing.div_ceil(u128::from(self.cell_rate));
        self.refilled_at.saturating_add(Time(u64::try_from(span).unwrap_or(u64::MAX)))
    }

    fn first_above_threshold(&self, buffer: &Buffer) -> Option<QueueId> {
        (self.next..self.queues).chain(0..self.next).map(QueueId).find(|&queue| {
            let (_, priority) = buffer.port_and_priority(queue);
            buffer.shared_queue_bytes(queue) > self.threshold_of(priority, buffer)
        })
    }
}

impl Policy for Occamy {
    #[inline]
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        if !buffer.fits(arrival.header.size) {
            return Verdict::Drop(DropReason::BufferFull);
        }
        let length = buffer.shared_queue_bytes(arrival.queue) + u64::from(arrival.header.size);
        if length > self.threshold_of(arrival.priority, buffer) {
            return Verdict::Drop(DropReason::OverThreshold);
        }
        Verdict::Admit(Account::Shared)
    }

    fn hooks(&self) -> Hooks {
        Hooks::ENQUEUE.and(Hooks::DEQUEUE).and(Hooks::EXPEL)
    }

    #[inline]
    fn on_enqueue(&mut self, arrival: &Arrival, _: &Buffer) {
        self.suspicious = true;
        if self.charge_writes {
            self.refill(arrival.now);
            self.spend(arrival.header.size);
        }
    }

    #[inline]
    fn on_dequeue(&mut self, departure: &Departure, _: &Buffer) {
        self.refill(departure.now);
        self.spend(departure.header.size);
    }

    #[inline]
    fn poll_expulsion(&mut self, now: Time, buffer: &Buffer) -> Option<(QueueId, End)> {
        if !self.suspicious {
            return None;
        }
        self.refill(now);
        // All queues together are within the smallest threshold, so no queue is
        // above its own threshold.
        let mut victim = None;
        if buffer.shared_occupancy() > self.smallest_alpha.apply(buffer.shared_free()) {
            if self.tokens < 0 {
                self.retry = Some(self.repaid_at());
                return None;
            }
            victim = self.first_above_threshold(buffer);
        }
        let Some(queue) = victim else {
            (self.suspicious, self.retry) = (false, None);
            return None;
        };
        let head = buffer.peek(queue, End::Head).map_or(0, |stored| stored.header.size);
        self.spend(head);
        self.expelled[usize::from(queue.0)] += 1;
        self.next = (queue.0 + 1) % self.queues;
        Some((queue, End::Head))
    }

    fn next_timeout(&self) -> Option<Time> {
        self.retry
    }

    // The switch asks for expulsions after every timeout, so no other action is needed.

    fn threshold(&self, queue: QueueId, _: Tags, buffer: &Buffer) -> Option<u64> {
        let (_, priority) = buffer.port_and_priority(queue);
        Some(self.threshold_of(priority, buffer))
    }

    /// Reports `tokens` in operations, at the last departure or expulsion.
    fn probe(&self, queue: QueueId, _: &Buffer, sink: &mut dyn FnMut(&'static str, f64)) {
        sink("tokens", self.tokens as f64 / OPERATION as f64);
        sink("expelled", self.expelled[usize::from(queue.0)] as f64);
    }

    fn boxed_clone(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bufferlab_params::Profile;
    use bufferlab_units::BitRate;
    use bufferlab_units::quantity::Dimension;

    fn occamy(given: &[(&str, ParamValue)]) -> Occamy {
        let given: Vec<_> = given.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let params = Params::resolve(PARAMS, Profile::Paper, &given).expect("in domain");
        let shape = SwitchShape {
            capacity: 410_000,
            port_rates: vec![BitRate::gbps(10); 8],
            queues_per_port: 1,
            max_packet: 1_500,
            profile: Profile::Paper,
            seed: 0,
            lossless: 0,
            lossless_by_port: Vec::new(),
            foreign_ports: 0,
            accounting: crate::hardware::Accounting::IDEAL,
        };
        Occamy::new(&params, &shape)
    }

    #[test]
    fn the_derived_rate_is_that_of_the_prototype() {
        assert_eq!(occamy(&[]).cell_rate, 55_000_000);
        let both = [("traffic", ParamValue::Choice("reads-and-writes".into()))];
        assert_eq!(occamy(&both).cell_rate, 110_000_000);
        assert_eq!(occamy(&[("cell_bytes", ParamValue::Bytes(Dimension::Size.largest()))]).cell_rate, 1);
    }

    #[test]
    fn the_bucket_fills_exactly_stops_at_its_size_and_repays_debts() {
        let mut policy = occamy(&[]);
        for _ in 0..26 {
            policy.spend(1_500);
        }
        // The bucket had 200 operations, and 26 packets of 8 cells took 208 operations. At 55
        // million operations per second, the missing 8 operations take 145.45... ns.
        assert_eq!(policy.tokens, -8 * OPERATION);
        assert_eq!(policy.repaid_at(), Time(145_455));
        policy.refill(Time(145_454));
        assert!(policy.tokens < 0);
        assert_eq!(policy.repaid_at(), Time(145_455), "refilling in steps loses nothing");
        policy.refill(Time::from_ms(1));
        assert_eq!(policy.tokens, 200 * OPERATION);
    }
}
