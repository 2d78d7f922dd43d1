//! Active Buffer Management: Dynamic Thresholds that know how many queues are congested and how fast each
//! one drains.
//!
//! Limits queue i of priority p to `T = α_p · γ_i / n_p · (B − Q)`: n_p is the number of congested queues of
//! the priority, γ_i the queue's drain rate as a fraction of the fastest port. Packets that hosts sent before any
//! feedback (`unscheduled`) use a large α of their own. n_p and γ are refreshed at intervals.

use super::{
    Account, Arrival, BuildError, Departure, DropReason, Hooks, Policy, PolicyInfo, SwitchShape, Tags,
    Verdict,
};
use crate::buffer::{Buffer, QueueId};
use crate::params::{ParamInfo, ParamKind, ParamValue, Params};
use crate::weight::Weight;
use bufferlab_units::{BitRate, Time};
use std::borrow::Cow;

/// Registry entry.
pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "abm",
    aliases: &["active-buffer-management"],
    title: "Active Buffer Management",
    summary: "Dynamic Thresholds divided by the number of congested queues and scaled by the drain rate.",
    source: "Addanki, Apostolaki, Ghobadi, Schmid, Vanbever, SIGCOMM 2022, Eq. 9, 12 and 13.",
    cost: "O(1) per packet, O(queues) per update interval",
    params: PARAMS,
    build,
};

const PARAMS: &[ParamInfo] = &[
    ParamInfo {
        name: "alpha",
        kind: ParamKind::RatioPerPriority { min: 1e-6, max: 65_536.0 },
        default: ParamValue::RatioPerPriority(Cow::Borrowed(&[0.5])),
        artifact_default: Some(ParamValue::RatioPerPriority(Cow::Borrowed(&super::ARTIFACT_ALPHAS))),
        doc: "alpha_p, by priority.",
    },
    ParamInfo {
        name: "unscheduled_alpha",
        kind: ParamKind::Ratio { min: 1e-6, max: 65_536.0 },
        default: ParamValue::Ratio(64.0),
        artifact_default: Some(ParamValue::Ratio(1_024.0)),
        doc: "Takes the place of alpha_p for packets tagged `unscheduled` (ABM section 3.3). The artifact uses 1024.",
    },
    ParamInfo {
        name: "update_interval",
        kind: ParamKind::Time { min: Time::from_ns(1) },
        default: ParamValue::Time(Time::from_us(80)),
        artifact_default: None,
        doc: "How often n_p and the drain rates are refreshed; one base round-trip time in the paper.",
    },
    ParamInfo {
        name: "congestion",
        kind: ParamKind::Choice(&["threshold", "fraction"]),
        default: ParamValue::Choice(Cow::Borrowed("threshold")),
        artifact_default: Some(ParamValue::Choice(Cow::Borrowed("fraction"))),
        doc: "`threshold`: a queue counts as one when it reaches `congested_share` of its threshold (the paper). \
              `fraction`: it counts as min(1, q / `congested_bytes`), seen only when a packet arrives for it (the artifact).",
    },
    ParamInfo {
        name: "congested_share",
        kind: ParamKind::Ratio { min: 1e-3, max: 1.0 },
        default: ParamValue::Ratio(0.9),
        artifact_default: None,
        doc: "Share of its threshold from which a queue is congested, for `congestion = \"threshold\"`.",
    },
    ParamInfo {
        name: "congested_bytes",
        kind: ParamKind::Bytes { min: 1 },
        default: ParamValue::Bytes(28_000),
        artifact_default: None,
        doc: "Length at which a queue counts in full, for `congestion = \"fraction\"`: 20 segments of 1400 B.",
    },
    ParamInfo {
        name: "drain_rate",
        kind: ParamKind::Choice(&["measured", "computed", "credited"]),
        default: ParamValue::Choice(Cow::Borrowed("measured")),
        artifact_default: Some(ParamValue::Choice(Cow::Borrowed("credited"))),
        doc: "`measured`: bytes sent in the last interval, where packets waited; at least the port's rate / queues. \
              `computed`: an equal share of the port's rate for each of its congested queues (round robin). Both are \
              fractions of the fastest port's rate. `credited`: measured, every visit of the round robin to an empty queue adds \
              1472 B, and values below 1/queues or above 1 become 1 (the artifact).",
    },
    ParamInfo {
        name: "headroom_per_port",
        kind: ParamKind::Bytes { min: 0 },
        default: ParamValue::Bytes(0),
        artifact_default: None,
        doc: "Bytes that every port may use before the shared test, taken out of the pool. The paper mentions such a \
              headroom without its size; the artifact's scripts set it to 0.",
    },
];

/// What the artifact's round robin adds for a visit to an empty queue (bytes).
const EMPTY_VISIT_CREDIT: u64 = 1_472;

fn build(params: &Params, shape: &SwitchShape) -> Result<Box<dyn Policy>, BuildError> {
    let headroom = params.bytes("headroom_per_port");
    let reserved = headroom * shape.ports() as u64;
    if reserved >= shape.capacity {
        let message = format!(
            "{} ports × {headroom} B = {reserved} B leave nothing of the buffer's {} B to share",
            shape.ports(),
            shape.capacity
        );
        return Err(BuildError { param: "headroom_per_port", message });
    }
    Ok(Box::new(Abm::new(params, shape)))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Congestion {
    Threshold,
    Fraction,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DrainRate {
    Measured,
    Computed,
    Credited,
}

/// State of one queue.
#[derive(Clone, Copy, Debug)]
struct QueueState {
    /// α_p·γ/n_p, in force since the last update.
    weight: Weight,
    /// The same with the unscheduled α.
    unscheduled_weight: Weight,
    /// γ, in force since the last update.
    gamma: Weight,
    /// Bytes sent, or credited, since the last update.
    sent: u64,
    /// A packet has waited behind another one since the last update: the drain rate is a measurement.
    waited: bool,
    /// min(q, congested_bytes) when a packet last arrived.
    level: u64,
}

/// Active Buffer Management.
#[derive(Clone, Debug)]
pub struct Abm {
    alphas: Vec<Weight>,
    unscheduled_alpha: Weight,
    interval: Time,
    congestion: Congestion,
    congested_share: Weight,
    congested_bytes: u64,
    drain_rate: DrainRate,
    headroom_per_port: u64,
    /// B less all headroom.
    pool: u64,
    /// b: what drain rates are relative to.
    fastest: BitRate,
    port_rates: Vec<BitRate>,
    queues_per_port: usize,
    queues: Vec<QueueState>,
    /// n_p, by priority, as of the last update.
    congested: Vec<Weight>,
    next_update: Time,
}

impl Abm {
    /// `params` as declared by the registry entry.
    #[must_use]
    pub fn new(params: &Params, shape: &SwitchShape) -> Self {
        let alphas: Vec<_> = params
            .ratio_per_priority("alpha", shape.queues_per_port)
            .into_iter()
            .map(Weight::from_f64)
            .collect();
        let unscheduled_alpha = Weight::from_f64(params.ratio("unscheduled_alpha"));
        let interval = params.time("update_interval");
        let headroom_per_port = params.bytes("headroom_per_port");
        let state = |queue: usize| QueueState {
            weight: alphas[queue % shape.queues_per_port],
            unscheduled_weight: unscheduled_alpha,
            gamma: Weight::ONE,
            sent: 0,
            waited: false,
            level: 0,
        };
        Self {
            queues: (0..shape.queues()).map(state).collect(),
            congested: vec![Weight::ONE; shape.queues_per_port],
            alphas,
            unscheduled_alpha,
            interval,
            congestion: match params.choice("congestion") {
                "fraction" => Congestion::Fraction,
                _ => Congestion::Threshold,
            },
            congested_share: Weight::from_f64(params.ratio("congested_share")),
            congested_bytes: params.bytes("congested_bytes"),
            drain_rate: match params.choice("drain_rate") {
                "computed" => DrainRate::Computed,
                "credited" => DrainRate::Credited,
                _ => DrainRate::Measured,
            },
            headroom_per_port,
            pool: shape.capacity - headroom_per_port * shape.ports() as u64,
            fastest: shape.port_rates.iter().copied().max().unwrap_or(BitRate(1)),
            port_rates: shape.port_rates.clone(),
            queues_per_port: shape.queues_per_port,
            next_update: interval,
        }
    }

    /// What the shared pool has left.
    #[inline]
    fn remaining(&self, buffer: &Buffer) -> u64 {
        self.pool.saturating_sub(buffer.used(Account::Shared))
    }

    fn is_congested(&self, queue: QueueId, buffer: &Buffer) -> bool {
        let bytes = buffer.queue_bytes(queue);
        let threshold = self.queues[usize::from(queue.0)].weight.of(self.remaining(buffer));
        // An empty queue is never congested, also not when the threshold is 0.
        bytes > 0 && self.congested_share.is_reached_by(bytes, threshold)
    }

    /// n_p for every priority, at least one.
    fn count_congested(&mut self, buffer: &Buffer) {
        for priority in 0..self.queues_per_port {
            let queues = (priority..self.queues.len()).step_by(self.queues_per_port);
            let n = match self.congestion {
                Congestion::Threshold => {
                    let count = queues.filter(|&q| self.is_congested(QueueId(q as u16), buffer)).count();
                    Weight::from_fraction(count as u64, 1)
                }
                Congestion::Fraction => {
                    Weight::from_fraction(queues.map(|q| self.queues[q].level).sum(), self.congested_bytes)
                }
            };
            self.congested[priority] = n.max(Weight::ONE);
        }
    }

    fn drain_rate_of(&self, queue: usize, buffer: &Buffer) -> Weight {
        let state = &self.queues[queue];
        // What round robin gives one of `n` queues of this port, as a fraction of the fastest port.
        let port_rate = self.port_rates[queue / self.queues_per_port];
        let share_of = |n: usize| Weight::from_fraction(port_rate.0, self.fastest.0 * n as u64);
        let share = share_of(self.queues_per_port);
        // The artifact does not look at the port's rate.
        let even = Weight::from_fraction(1, self.queues_per_port as u64);
        let measured = || {
            let full = self.fastest.bytes_in(self.interval).max(1);
            Weight::from_fraction(state.sent, full)
        };
        match self.drain_rate {
            // Without a queue the drain rate is unknown, and a new burst gets the full one.
            DrainRate::Measured if !state.waited => Weight::ONE,
            DrainRate::Measured => measured().clamp(share, Weight::ONE),
            DrainRate::Credited => match measured() {
                rate if rate < even || rate > Weight::ONE => Weight::ONE,
                rate => rate,
            },
            DrainRate::Computed => {
                let first = queue - queue % self.queues_per_port;
                let congested = |q: &usize| self.is_congested(QueueId(*q as u16), buffer);
                let others =
                    (first..first + self.queues_per_port).filter(|&q| q != queue).filter(congested).count();
                share_of(others + 1)
            }
        }
    }

    fn update_queues(&mut self, buffer: &Buffer) {
        // Drain rates first: the computed ones look at the old thresholds, as the count did.
        for queue in 0..self.queues.len() {
            self.queues[queue].gamma = self.drain_rate_of(queue, buffer);
        }
        for queue in 0..self.queues.len() {
            let priority = queue % self.queues_per_port;
            let state = &mut self.queues[queue];
            let scale = state.gamma.divided_by(self.congested[priority]);
            state.weight = self.alphas[priority].times(scale);
            state.unscheduled_weight = self.unscheduled_alpha.times(scale);
            state.sent = 0;
            state.waited = buffer.queue_packets(QueueId(queue as u16)) > 0;
        }
    }
}

impl Policy for Abm {
    #[inline]
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        let bytes = buffer.queue_bytes(arrival.queue);
        let state = &mut self.queues[usize::from(arrival.queue.0)];
        state.level = bytes.min(self.congested_bytes);
        state.waited |= bytes > 0;
        let weight =
            if arrival.tags.contains(Tags::UNSCHEDULED) { state.unscheduled_weight } else { state.weight };
        if !buffer.fits(arrival.size) {
            return Verdict::Drop(DropReason::BufferFull);
        }
        let size = u64::from(arrival.size);
        if self.headroom_per_port > 0
            && buffer.port_reserved_bytes(arrival.port) + size <= self.headroom_per_port
        {
            return Verdict::Admit(Account::Reserved);
        }
        let remaining = self.remaining(buffer);
        if size > remaining {
            return Verdict::Drop(DropReason::BufferFull);
        }
        if bytes + size > weight.of(remaining) {
            return Verdict::Drop(DropReason::OverThreshold);
        }
        Verdict::Admit(Account::Shared)
    }

    fn hooks(&self) -> Hooks {
        match self.drain_rate {
            DrainRate::Computed => Hooks::NONE,
            DrainRate::Measured => Hooks::DEQUEUE,
            DrainRate::Credited => Hooks::DEQUEUE.and(Hooks::EMPTY_VISIT),
        }
    }

    #[inline]
    fn on_dequeue(&mut self, departure: &Departure, _: &Buffer) {
        self.queues[usize::from(departure.queue.0)].sent += u64::from(departure.size);
    }

    fn on_empty_visit(&mut self, _: Time, queue: QueueId) {
        self.queues[usize::from(queue.0)].sent += EMPTY_VISIT_CREDIT;
    }

    fn next_timeout(&self) -> Option<Time> {
        Some(self.next_update)
    }

    fn handle_timeout(&mut self, now: Time, buffer: &Buffer) {
        if now < self.next_update {
            return;
        }
        self.count_congested(buffer);
        self.update_queues(buffer);
        self.next_update = now + self.interval;
    }

    fn threshold(&self, queue: QueueId, tags: Tags, buffer: &Buffer) -> Option<u64> {
        let state = &self.queues[usize::from(queue.0)];
        let weight = if tags.contains(Tags::UNSCHEDULED) { state.unscheduled_weight } else { state.weight };
        Some(weight.of(self.remaining(buffer)))
    }

    fn probe(&self, queue: QueueId, buffer: &Buffer, sink: &mut dyn FnMut(&'static str, f64)) {
        let (_, priority) = buffer.port_and_priority(queue);
        sink("gamma", self.queues[usize::from(queue.0)].gamma.as_f64());
        sink("congested_queues", self.congested[usize::from(priority)].as_f64());
    }
}
