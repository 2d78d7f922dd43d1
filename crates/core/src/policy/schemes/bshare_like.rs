//! BShare-like (reconstructed): a limit of the queueing delay, not of the length, with one limit
//! for all queues.
//!
//! A packet is admitted iff its queue, with the packet, drains within a limit D:
//! (q + len)/μ ≤ D, where μ is the queue's drain rate. D is α_p · (B − Q) over the rate
//! of the fastest port, so D shrinks as the buffer fills. D may also be a fixed time. A queue that
//! shares its port, or whose port is slow, gets space in proportion to its drain rate.
//!
//! Only the idea of BShare (2026) is known: thresholds limit queueing delay instead of length.
//! The formula of D, the measurement of μ and the lower bound of μ are reconstructed. With D in
//! proportion to the free space, the threshold is ABM's threshold without the number of congested
//! queues.

use crate::buffer::{Buffer, QueueId};
use crate::policy::interface::{
    Account, Arrival, BuildError, Departure, DropReason, Hooks, Policy, PolicyInfo, SwitchShape, Tags,
    Verdict,
};
use crate::policy::parts::parameters::{alpha, update_interval};
use crate::weight::Weight;
use bufferlab_params::{ParamInfo, ParamKind, ParamValue, Params};
use bufferlab_units::{BitRate, Time};

/// Registry entry of the policy `bshare-like`.
pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "bshare-like",
    aliases: &[],
    title: "BShare-like (reconstructed)",
    summary: "Limits every queue to an equal queueing delay: length over measured drain rate.",
    source: "Reconstructed from the abstract of BShare: Agarwal, Maulana, Addanki, Mostafaei, arXiv 2605.24178, 2026.",
    cost: "O(1) per packet, O(queues) per update interval",
    params: PARAMS,
    build: &build,
};

const PARAMS: &[ParamInfo] = &[
    alpha(
        &[0.5],
        None,
        "The delay limit is alpha_p times the time that the fastest port takes to send as many bytes as are \
         free.",
    ),
    ParamInfo {
        name: "delay_limit",
        kind: ParamKind::Time { min: Time::ZERO },
        default: ParamValue::Time(Time::ZERO),
        artifact_default: None,
        doc: "A fixed delay limit instead of the one from `alpha`. 0: none.",
    },
    update_interval(
        Time::from_us(80),
        "Interval over which drain rates are measured (reconstructed: one base round-trip time).",
    ),
    ParamInfo {
        name: "least_rate",
        kind: ParamKind::Ratio { min: 1e-3, max: 1.0 },
        default: ParamValue::Ratio(0.0625),
        artifact_default: None,
        doc: "A drain rate is at least this share of its port's rate (reconstructed). Otherwise a queue that \
              waits for others could never store a packet.",
    },
];

fn build(params: &Params, shape: &SwitchShape) -> Result<Box<dyn Policy>, BuildError> {
    let delay = params.time("delay_limit");
    let slowest = shape.port_rates.iter().copied().min().unwrap_or(BitRate(1));
    let bytes = slowest.bytes_in(delay);
    if delay > Time::ZERO && bytes < shape.max_packet {
        let message = format!(
            "in {delay} a port of {slowest} sends {bytes} B, less than a packet of {} B: give at least {}",
            shape.max_packet,
            slowest.serialization(shape.max_packet)
        );
        return Err(BuildError { param: "delay_limit", message });
    }
    Ok(Box::new(BshareLike::new(params, shape)))
}

#[derive(Clone, Copy, Debug)]
struct QueueState {
    /// Drain rate μ of the queue as a fraction of the fastest port, since the last update.
    rate: Weight,
    /// Factor α·μ of the queue's threshold. The policy multiplies the free space by the factor.
    factor: Weight,
    /// Bytes that the queue sent since the last update.
    sent: u64,
    /// Whether a packet has waited behind another packet since the last update, so that the
    /// measured drain rate is valid.
    waited: bool,
}

/// The policy that limits the queueing delay.
#[derive(Clone, Debug)]
pub struct BshareLike {
    /// Alpha of the delay limit, by priority.
    alphas: Vec<Weight>,
    /// Bytes that the fastest port sends within the fixed limit of the delay, or 0 without a fixed
    /// limit.
    fixed: u64,
    fastest: BitRate,
    least_rate: Weight,
    /// Rate of each port as a fraction of the fastest port.
    port_rates: Vec<Weight>,
    queues: Vec<QueueState>,
    interval: Time,
    next_update: Time,
}

impl BshareLike {
    /// Builds the policy from `params`, which its registry entry declares and its constructor
    /// checks.
    #[must_use]
    pub fn new(params: &Params, shape: &SwitchShape) -> Self {
        let alphas = params.ratio_per_priority("alpha", shape.queues_per_port);
        let alphas: Vec<_> = alphas.into_iter().map(Weight::from_f64).collect();
        let fastest = shape.port_rates.iter().copied().max().unwrap_or(BitRate(1));
        let port_rates: Vec<_> =
            shape.port_rates.iter().map(|rate| Weight::from_fraction(rate.0, fastest.0)).collect();
        let interval = params.time("update_interval");
        let state = |queue: usize| {
            let rate = port_rates[queue / shape.queues_per_port];
            let factor = alphas[queue % shape.queues_per_port].times(rate);
            QueueState { rate, factor, sent: 0, waited: false }
        };
        Self {
            queues: (0..shape.queues()).map(state).collect(),
            fixed: fastest.bytes_in(params.time("delay_limit")),
            least_rate: Weight::from_f64(params.ratio("least_rate")),
            fastest,
            port_rates,
            alphas,
            interval,
            next_update: interval,
        }
    }

    /// Length limit D·μ of the queue `queue` (bytes).
    #[inline]
    fn limit_of(&self, queue: QueueId, buffer: &Buffer) -> u64 {
        let state = &self.queues[usize::from(queue.0)];
        if self.fixed > 0 { state.rate.apply(self.fixed) } else { state.factor.apply(buffer.shared_free()) }
    }
}

impl Policy for BshareLike {
    #[inline]
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        let bytes = buffer.shared_queue_bytes(arrival.queue);
        self.queues[usize::from(arrival.queue.0)].waited |= bytes > 0;
        if !buffer.fits(arrival.header.size) {
            return Verdict::Drop(DropReason::BufferFull);
        }
        if bytes + u64::from(arrival.header.size) > self.limit_of(arrival.queue, buffer) {
            return Verdict::Drop(DropReason::OverThreshold);
        }
        Verdict::Admit(Account::Shared)
    }

    fn hooks(&self) -> Hooks {
        Hooks::DEQUEUE
    }

    #[inline]
    fn on_dequeue(&mut self, departure: &Departure, _: &Buffer) {
        self.queues[usize::from(departure.queue.0)].sent += u64::from(departure.header.size);
    }

    fn next_timeout(&self) -> Option<Time> {
        Some(self.next_update)
    }

    fn handle_timeout(&mut self, now: Time, buffer: &Buffer) {
        if now < self.next_update {
            return;
        }
        self.next_update = now + self.interval;
        let full = self.fastest.bytes_in(self.interval).max(1);
        for (index, state) in self.queues.iter_mut().enumerate() {
            let queue = QueueId(index as u16);
            let (port, priority) = buffer.port_and_priority(queue);
            let port_rate = self.port_rates[usize::from(port)];
            // If no packet waited, the drain rate is unknown. A new burst then gets the rate of its
            // port.
            state.rate = if state.waited {
                Weight::from_fraction(state.sent, full).clamp(self.least_rate.times(port_rate), port_rate)
            } else {
                port_rate
            };
            state.factor = self.alphas[usize::from(priority)].times(state.rate);
            state.sent = 0;
            state.waited = buffer.queue_packets(queue) > 0;
        }
    }

    fn threshold(&self, queue: QueueId, _: Tags, buffer: &Buffer) -> Option<u64> {
        Some(self.limit_of(queue, buffer))
    }

    fn probe(&self, queue: QueueId, buffer: &Buffer, sink: &mut dyn FnMut(&'static str, f64)) {
        let rate = self.queues[usize::from(queue.0)].rate.as_f64() * self.fastest.0 as f64;
        sink("drain_rate_bps", rate);
        if rate > 0.0 {
            sink("queueing_delay_ns", buffer.shared_queue_bytes(queue) as f64 * 8e9 / rate);
        }
    }

    fn boxed_clone(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.clone()))
    }
}
