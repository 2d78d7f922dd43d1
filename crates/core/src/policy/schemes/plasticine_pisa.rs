//! Plasticine as implemented by its paper on a programmable (PISA) switch. Shifts compute the
//! thresholds from register arrays that SYNC packets refresh.
//!
//! The ingress pipeline decides before a packet is stored, but cannot see queues.
//! Only the egress pipeline learns a queue's length, from the packets that leave the queue.
//! SYNC packets copy lengths from egress to ingress, one register entry per pass.
//! An ingress decision reads one entry of each array and shifts:
//!
//! ```text
//! s = Shift[alpha, N_Priority, N_Port] = round(-log2(alpha / (N_Priority * N_Port)))
//! T = s >= 0 ? Remaining >> s : Remaining << -s          admit iff T > Qlength[queue]
//! ```
//!
//! Even with fresh registers, thresholds differ from Plasticine's by a factor of up to √2. All
//! registers lag by the waiting time of a packet in its queue, and by a whole round of SYNC passes.
//! Use this policy to measure the cost of the approximation.
//!
//! Source: Plasticine, section 5.

use crate::buffer::{Buffer, QueueId};
use crate::policy::interface::{
    Account, Arrival, Bound, BoundPlace, BuildError, Departure, DropReason, Hooks, Policy, PolicyInfo,
    SwitchShape, Tags, Verdict,
};
use crate::policy::parts::parameters::alpha;
use bufferlab_params::{Choice, ParamInfo, ParamKind, ParamValue, Params, choices};
use bufferlab_units::Time;
use std::collections::VecDeque;

/// Registry entry of the policy `plasticine-pisa`.
pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "plasticine-pisa",
    aliases: &["plasticine-hardware"],
    title: "Plasticine on a programmable switch",
    summary: "Plasticine with shifts, and registers that recirculating packets update: thresholds are stale \
              and accurate to a factor of 1.41.",
    source: "Plasticine, section 5 and Figure 7.",
    cost: "O(1) per packet, O(1) per SYNC pass",
    params: PARAMS,
    build: &build,
};

const PARAMS: &[ParamInfo] = &[
    alpha(&[20.0, 0.5], None, "alpha_c, by class (queue of the port); part of the Shift table."),
    ParamInfo {
        name: "high_priorities",
        kind: ParamKind::at_least(0),
        default: ParamValue::Count(1),
        artifact_default: None,
        doc: "Number of high-priority queues per port, starting with the first; each is a separate group \
              over all ports. The others form one group, the low priority.",
    },
    ParamInfo {
        name: "pass_period",
        kind: ParamKind::Time { min: Time::from_ns(1) },
        default: ParamValue::Time(Time::from_us(1)),
        artifact_default: None,
        doc: "P, the time of one pass of a SYNC packet through egress, recirculation and ingress. A register is as old \
              as the number of queues times P. Not stated in the paper.",
    },
    ParamInfo {
        name: "congested_above",
        kind: ParamKind::Bytes { min: 0 },
        default: ParamValue::Bytes(0),
        artifact_default: None,
        doc: "Length above which SYNC counts a queue as congested for its priority. 0: derived, B / (2 x queues), at \
              least two of the largest packets. Not stated in the paper.",
    },
    ParamInfo {
        name: "active_above",
        kind: ParamKind::Bytes { min: 0 },
        default: ParamValue::Bytes(0),
        artifact_default: None,
        doc: "Length above which SYNC counts a queue as active for its port; the count represents the drain \
              rate. 0: derived, equal to `congested_above`. Not stated in the paper.",
    },
    ParamInfo {
        name: "counted_queues",
        kind: ParamKind::at_least(1),
        default: ParamValue::Count(64),
        artifact_default: None,
        doc: "Largest N_Priority with entries in the Shift table; more congested queues count as this \
              number. The paper states a few tens.",
    },
    ParamInfo {
        name: "egress_length",
        kind: ParamKind::Choice(EgressLength::WORDS),
        default: ParamValue::word(EgressLength::Enqueue.word()),
        artifact_default: None,
        doc: "Length that a departing packet writes to the egress register.",
    },
    ParamInfo {
        name: "zero_when_empty",
        kind: ParamKind::Flag,
        default: ParamValue::Flag(true),
        artifact_default: None,
        doc: "Whether a packet that leaves its queue empty writes 0. Otherwise a drained queue keeps its \
              last length until its next packet, and counts as congested and as stored bytes. The paper does \
              not discuss this case.",
    },
];

choices! {
    /// Length that a departing packet writes to the egress register of its queue.
    enum EgressLength {
        Enqueue = "enqueue": "the length that the packet met when it was stored (enq_qdepth), as old as its \
              wait",
        Dequeue = "dequeue": "the length that remains when the packet leaves (deq_qdepth)",
    }
}

fn build(params: &Params, shape: &SwitchShape) -> Result<Box<dyn Policy>, BuildError> {
    let high = params.count("high_priorities");
    if high > shape.queues_per_port as u64 {
        let queues = shape.queues_per_port;
        let message =
            format!("{high} high priorities on ports of {queues} queues; use 0 (one group) to {queues}");
        return Err(BuildError { param: "high_priorities", message });
    }
    let counted = params.count("counted_queues");
    if counted > 65_535 {
        let message = format!("a Shift table for {counted} congested queues; a switch has at most 65535");
        return Err(BuildError { param: "counted_queues", message });
    }
    for param in ["congested_above", "active_above"] {
        let limit = params.bytes(param);
        if limit >= shape.capacity {
            let message = format!(
                "no queue is longer than {limit} B in a buffer of {} B; use less, or 0 to derive it",
                shape.capacity
            );
            return Err(BuildError { param, message });
        }
    }
    Ok(Box::new(PlasticinePisa::new(params, shape)))
}

/// Entry of the Shift table: s = round(−log2(α / (n_p · n_o))), the power of two nearest by ratio.
///
/// The function needs no logarithm: s is right iff 2^(s − 1/2) ≤ x < 2^(s + 1/2) with x = n_p · n_o
/// / α, that is 2^(2s − 1) ≤ x² < 2^(2s + 1). Products, quotients and comparisons of floats are
/// equal on every machine, but logarithms may differ. `n_p` and `n_o` count as at least one.
#[must_use]
pub fn shift(alpha: f64, congested: u64, active: u64) -> i8 {
    let ratio = congested.max(1) as f64 * active.max(1) as f64 / alpha;
    let square = ratio * ratio;
    // The exponent e is the floor of log2(x²). Half of e, rounded up, is s, because 2s − 1 <= e.
    let exponent = ((square.to_bits() >> 52) as i32) - 1_023;
    (exponent + 1).div_euclid(2) as i8
}

/// The value `remaining`, shifted right by `s` without overflow. A negative `s` shifts left.
#[inline]
const fn shifted(remaining: u64, s: i8) -> u64 {
    if s >= 64 || remaining == 0 {
        0
    } else if s >= 0 {
        remaining >> s
    } else if -(s as i32) <= remaining.leading_zeros() as i32 {
        remaining << -(s as i32)
    } else {
        u64::MAX
    }
}

/// State of the SYNC packet for N_Port or N_Priority: its position and its count.
#[derive(Clone, Copy, Debug, Default)]
struct Counting {
    /// Position of the SYNC packet in the order of the queues that it visits.
    position: usize,
    count: u16,
}

/// Plasticine with the registers and tables of a programmable switch.
#[derive(Clone, Debug)]
pub struct PlasticinePisa {
    capacity: u64,
    queues_per_port: usize,
    /// Group of each priority, the index in the registers `n_priority`.
    group_of: Vec<usize>,
    congested_above: u64,
    active_above: u64,
    enqueue_length: bool,
    zero_when_empty: bool,
    /// Shift of the threshold by priority, number of congested queues and number of active queues.
    shift_table: Vec<i8>,
    counted: usize,
    /// Ingress registers with copies of the queues' lengths.
    lengths: Vec<u64>,
    /// Ingress register with the free bytes, according to the copied lengths.
    remaining: u64,
    /// Ingress registers with the number of active queues of each port.
    n_port: Vec<u16>,
    /// Ingress registers with the number of congested queues of each group.
    n_priority: Vec<u16>,
    /// Egress registers with the length that the last packet of each queue wrote.
    egress: Vec<u64>,
    /// Queue lengths that stored packets found on arrival, by queue, oldest first.
    /// Packets carry the found lengths as metadata.
    met: Vec<VecDeque<u64>>,
    /// Queue that the SYNC packet for lengths reads next, and the sum in the packet's header.
    sync_length: (usize, u64),
    sync_port: Counting,
    sync_priority: Counting,
    /// Queues in the order of the visits of the SYNC packet for priorities: group by group.
    by_group: Vec<usize>,
    pass_period: Time,
    next_pass: Time,
}

impl PlasticinePisa {
    /// Builds the policy from `params`, which its registry entry declares.
    #[must_use]
    pub fn new(params: &Params, shape: &SwitchShape) -> Self {
        let (queues, queues_per_port) = (shape.queues(), shape.queues_per_port);
        let high = params.count("high_priorities") as usize;
        let group_of: Vec<_> = (0..queues_per_port).map(|priority| priority.min(high)).collect();
        let mut by_group: Vec<_> = (0..queues).collect();
        by_group.sort_by_key(|&queue| group_of[queue % queues_per_port]);
        let derived = |given: u64, otherwise: u64| if given > 0 { given } else { otherwise };
        let fair = (shape.capacity / (2 * queues as u64)).max(2 * shape.max_packet);
        let congested_above = derived(params.bytes("congested_above"), fair);
        let counted = (params.count("counted_queues") as usize).min(queues);
        let alphas = params.ratio_per_priority("alpha", queues_per_port);
        let shift_table = alphas.iter().flat_map(|&alpha| {
            (0..=counted)
                .flat_map(move |n| (0..=queues_per_port).map(move |m| shift(alpha, n as u64, m as u64)))
        });
        let pass_period = params.time("pass_period");
        Self {
            capacity: shape.capacity,
            queues_per_port,
            n_priority: vec![0; group_of.iter().max().map_or(0, |last| last + 1)],
            group_of,
            congested_above,
            active_above: derived(params.bytes("active_above"), congested_above),
            enqueue_length: match params.choice("egress_length") {
                EgressLength::Enqueue => true,
                EgressLength::Dequeue => false,
            },
            zero_when_empty: params.flag("zero_when_empty"),
            shift_table: shift_table.collect(),
            counted,
            lengths: vec![0; queues],
            remaining: shape.capacity,
            n_port: vec![0; shape.ports()],
            egress: vec![0; queues],
            met: vec![VecDeque::new(); queues],
            sync_length: (0, 0),
            sync_port: Counting::default(),
            sync_priority: Counting::default(),
            by_group,
            pass_period,
            next_pass: pass_period,
        }
    }

    /// Threshold T that the ingress pipeline computes.
    #[inline]
    fn limit(&self, port: usize, priority: usize) -> u64 {
        let congested = usize::from(self.n_priority[self.group_of[priority]]).min(self.counted);
        let active = usize::from(self.n_port[port]);
        let row = priority * (self.counted + 1) + congested;
        shifted(self.remaining, self.shift_table[row * (self.queues_per_port + 1) + active])
    }

    /// One pass of every SYNC packet. Each packet reads one egress register and writes at most one
    /// ingress register of each array.
    fn pass(&mut self) {
        let (queue, sum) = self.sync_length;
        let length = self.egress[queue];
        self.lengths[queue] = length;
        let sum = sum + length;
        self.sync_length = (queue + 1, sum);
        if queue + 1 == self.egress.len() {
            // The sum may exceed the buffer, because the copied lengths have different ages.
            self.remaining = self.capacity.saturating_sub(sum);
            self.sync_length = (0, 0);
        }

        let Counting { position: queue, mut count } = self.sync_port;
        count += u16::from(self.egress[queue] > self.active_above);
        if (queue + 1) % self.queues_per_port == 0 {
            self.n_port[queue / self.queues_per_port] = count;
            count = 0;
        }
        self.sync_port = Counting { position: (queue + 1) % self.egress.len(), count };

        let Counting { position, mut count } = self.sync_priority;
        let group_at = |position: usize| self.group_of[self.by_group[position] % self.queues_per_port];
        let (group, next) = (group_at(position), (position + 1) % self.by_group.len());
        count += u16::from(self.egress[self.by_group[position]] > self.congested_above);
        if next == 0 || group_at(next) != group {
            self.n_priority[group] = count;
            count = 0;
        }
        self.sync_priority = Counting { position: next, count };
    }
}

impl Policy for PlasticinePisa {
    #[inline]
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        // The traffic manager behind the ingress pipeline has no threshold.
        // Only the size of its memory limits what the traffic manager stores.
        if !buffer.fits(arrival.header.size) {
            return Verdict::Drop(DropReason::BufferFull);
        }
        let limit = self.limit(usize::from(arrival.port), usize::from(arrival.priority));
        // The paper requires a threshold "higher than" the length, without the size of the packet.
        if limit > self.lengths[usize::from(arrival.queue.0)] {
            Verdict::Admit(Account::Shared)
        } else {
            Verdict::Drop(DropReason::OverThreshold)
        }
    }

    fn hooks(&self) -> Hooks {
        if self.enqueue_length { Hooks::ENQUEUE.and(Hooks::DEQUEUE) } else { Hooks::DEQUEUE }
    }

    #[inline]
    fn on_enqueue(&mut self, arrival: &Arrival, buffer: &Buffer) {
        let met = buffer.shared_queue_bytes(arrival.queue).saturating_sub(u64::from(arrival.header.size));
        self.met[usize::from(arrival.queue.0)].push_back(met);
    }

    #[inline]
    fn on_dequeue(&mut self, departure: &Departure, buffer: &Buffer) {
        let left = buffer.shared_queue_bytes(departure.queue);
        let queue = usize::from(departure.queue.0);
        let met = if self.enqueue_length { self.met[queue].pop_front() } else { None };
        self.egress[queue] = if left == 0 && self.zero_when_empty { 0 } else { met.unwrap_or(left) };
    }

    fn next_timeout(&self) -> Option<Time> {
        Some(self.next_pass)
    }

    fn handle_timeout(&mut self, now: Time, _: &Buffer) {
        if now >= self.next_pass {
            self.pass();
            self.next_pass = now + self.pass_period;
        }
    }

    /// Threshold that the ingress pipeline computes. The pipeline compares the threshold with its
    /// copy of the length (`probe`) instead of the current length.
    fn threshold(&self, queue: QueueId, _: Tags, buffer: &Buffer) -> Option<u64> {
        let (port, priority) = buffer.port_and_priority(queue);
        Some(self.limit(usize::from(port), usize::from(priority)))
    }

    fn bound(&self, arrival: &Arrival, reason: DropReason, buffer: &Buffer) -> Option<Bound> {
        let usual = Bound::buffer(arrival, buffer);
        if reason == DropReason::BufferFull {
            return usual.if_binding();
        }
        let limit = self.limit(usize::from(arrival.port), usize::from(arrival.priority));
        let held = self.lengths[usize::from(arrival.queue.0)];
        // The test is "higher than", so a queue at the limit has no space for a single byte.
        Bound { place: BoundPlace::Queue(arrival.queue), held, size: arrival.header.size.into(), limit }
            .if_binding()
    }

    fn probe(&self, queue: QueueId, buffer: &Buffer, sink: &mut dyn FnMut(&'static str, f64)) {
        let (port, priority) = buffer.port_and_priority(queue);
        sink("remaining_register", self.remaining as f64);
        sink("length_register", self.lengths[usize::from(queue.0)] as f64);
        sink("congested_queues", f64::from(self.n_priority[self.group_of[usize::from(priority)]]));
        sink("active_queues", f64::from(self.n_port[usize::from(port)]));
    }

    fn boxed_clone(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifts_are_within_a_factor_of_the_root_of_two_over_the_papers_table() {
        let mut worst = 1.0_f64;
        for alpha in (-7..=4).map(|k| 2.0_f64.powi(k)).chain([0.5, 0.6, 0.8, 3.0, 20.0]) {
            for congested in 0..=60_u64 {
                for active in 0..=8_u64 {
                    let exact = alpha / (congested.max(1) * active.max(1)) as f64;
                    let by_shift = 2.0_f64.powi(-i32::from(shift(alpha, congested, active)));
                    worst = worst.max(by_shift / exact).max(exact / by_shift);
                }
            }
        }
        assert!(worst <= 2.0_f64.sqrt(), "{worst}");
        assert!(worst > 1.41, "the bound is met: {worst}");
    }

    #[test]
    fn the_entry_of_the_table_is_the_rounded_logarithm() {
        for alpha in [0.01, 0.5, 0.7, 1.0, 20.0] {
            for n in 1..=480_u64 {
                let exact = -(alpha / n as f64).log2();
                assert_eq!(f64::from(shift(alpha, n, 1)), exact.round(), "alpha {alpha}, n {n}");
            }
        }
        assert_eq!((shift(1.0, 0, 0), shift(0.5, 4, 2), shift(20.0, 1, 1)), (0, 4, -4));
    }

    #[test]
    fn shifts_saturate() {
        assert_eq!((shifted(100, 2), shifted(100, -2), shifted(0, -127)), (25, 400, 0));
        assert_eq!((shifted(u64::MAX, 64), shifted(1 << 63, -1), shifted(1, -63)), (0, u64::MAX, 1 << 63));
    }
}
