//! Cisco's Intelligent Buffer (reconstructed): Dynamic Thresholds with fair early drops for
//! elephants and a fast lane for the first packets of flows.
//!
//! Three mechanisms extend Dynamic Thresholds. *ETRAP* separates elephants from mice by the bytes
//! that a flow has sent. *AFD* (approximate fair dropping) drops elephants early, with a
//! probability that grows with the excess over a fair share. A controller adjusts the fair share so
//! that queues stay near a reference length. *DPP* (dynamic packet prioritization) sends the first
//! packets of every flow to queue 0, which the scheduler should serve with strict priority. The
//! scheme protects mice from elephants within a queue. Between queues, only Dynamic Thresholds
//! divide the buffer.
//!
//! Source: AFD by Pan, Breslau, Prabhakar, Shenker, CCR 2003, and Cisco white paper c11-738488.
//! Some constants are from ABM's public artifact. The policy is a loose baseline.

use crate::buffer::{Buffer, QueueId};
use crate::classify::{Classifier, ElephantTrap};
use crate::flows::{FLOW_ENTRIES, FLOW_IDLE, FlowKey, FlowTable, ShortLimit};
use crate::policy::interface::{
    Account, Arrival, Bound, BuildError, DropReason, Hooks, Policy, PolicyInfo, SwitchShape, Tags, Verdict,
};
use crate::policy::parts::common_pool::CommonPool;
use crate::policy::parts::congestion;
use crate::policy::parts::parameters::refuse_beyond_buffer;
use crate::policy::parts::parameters::{ARTIFACT_ALPHAS, alpha};
use crate::weight::Weight;
use bufferlab_params::{Choice, ParamInfo, ParamKind, ParamValue, Params, choices};
use bufferlab_units::{RandomStream, Time};

/// Registry entry of the policy `ib`.
pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "ib",
    aliases: &["intelligent-buffer", "cisco-ib"],
    title: "Intelligent Buffer (reconstructed)",
    summary: "Dynamic Thresholds with approximate fair dropping of elephants and an optional priority queue \
              for the first packets of flows.",
    source: "Cisco white paper c11-738488; Pan, Breslau, Prabhakar, Shenker, CCR 2003 (AFD); details from ABM's public \
             artifact.",
    cost: "O(1) per packet (one set of four flows), O(queues) per AFD interval",
    params: PARAMS,
    build: &build,
};

const PARAMS: &[ParamInfo] = &[
    alpha(&[0.5], Some(&ARTIFACT_ALPHAS), "Factor of the free space, by priority."),
    ParamInfo {
        name: "afd",
        kind: ParamKind::Choice(Afd::WORDS),
        default: ParamValue::word(Afd::PerFlow.word()),
        artifact_default: Some(ParamValue::word(Afd::Swapped.word())),
        doc: "Arrivals that are compared with the fair share.",
    },
    ParamInfo {
        name: "afd_interval",
        kind: ParamKind::Time { min: Time::from_ns(1) },
        default: ParamValue::Time(Time::from_us(50)),
        artifact_default: None,
        doc: "Interval at which arrivals are summed and the fair share is adjusted. The product has profiles \
              of 10, 25 and 50 us.",
    },
    ParamInfo {
        name: "afd_updates",
        kind: ParamKind::Choice(Updates::WORDS),
        default: ParamValue::word(Updates::Timer.word()),
        artifact_default: Some(ParamValue::word(Updates::Arrivals.word())),
        doc: "Time at which arrivals are summed and the fair share is adjusted.",
    },
    ParamInfo {
        name: "reference_queue",
        kind: ParamKind::Bytes { min: 0 },
        default: ParamValue::Bytes(150_000),
        artifact_default: Some(ParamValue::Bytes(100_000)),
        doc: "Q_ref, the target length of the controller. The white paper has 150 KB at 10 Gb/s, the \
              artifact one BDP.",
    },
    ParamInfo {
        name: "gain",
        kind: ParamKind::Ratio { min: 0.0, max: 1_024.0 },
        default: ParamValue::Ratio(1.8),
        artifact_default: None,
        doc: "a1: m_fair falls by a1 (q - Q_ref) in every interval. Must not be less than a2.",
    },
    ParamInfo {
        name: "old_gain",
        kind: ParamKind::Ratio { min: 0.0, max: 1_024.0 },
        default: ParamValue::Ratio(1.7),
        artifact_default: None,
        doc: "a2: m_fair rises by a2 (q_old - Q_ref) in every interval, where q_old is the length an \
              interval ago.",
    },
    ParamInfo {
        name: "fair_share_cap",
        kind: ParamKind::Bytes { min: 0 },
        default: ParamValue::Bytes(0),
        artifact_default: None,
        doc: "Largest m_fair (bytes per interval): an idle queue raises m_fair by (a1 - a2) Q_ref in every \
              interval without bound. 0: derived; for `per_flow` the bytes that the port sends in an \
              interval, otherwise no limit, as in the artifact. The share starts at this limit, at most 4 \
              MB.",
    },
    ParamInfo {
        name: "arrival_factor",
        kind: ParamKind::at_least(1),
        default: ParamValue::Count(1),
        artifact_default: Some(ParamValue::Count(15)),
        doc: "Factor for arrivals before they are compared with the fair share. The artifact uses 15, for a \
              sampling that it does not implement.",
    },
    ParamInfo {
        name: "drop_above",
        kind: ParamKind::Bytes { min: 0 },
        default: ParamValue::Bytes(0),
        artifact_default: Some(ParamValue::Bytes(150 * 1_024)),
        doc: "AFD drops only if the queue is longer than this. The artifact uses 150 KiB, above its \
              reference: at that length its fair share has fallen to 0, and every packet is dropped.",
    },
    ParamInfo {
        name: "elephant_bytes",
        kind: ParamKind::Bytes { min: 0 },
        default: ParamValue::Bytes(1_000_000),
        artifact_default: Some(ParamValue::Bytes(0)),
        doc: "ETRAP: a flow that has sent this many bytes is an elephant; only elephants are dropped early. \
              0: every flow is an elephant, as in the artifact.",
    },
    FLOW_IDLE,
    FLOW_ENTRIES,
    ParamInfo {
        name: "priority_queue",
        kind: ParamKind::Flag,
        default: ParamValue::Flag(false),
        artifact_default: None,
        doc: "DPP: the first packets of every flow join queue 0 of their port, at any priority, and are \
              never dropped early. Serve queue 0 with strict priority. Off in the artifact's scripts.",
    },
    ParamInfo {
        name: "dpp_packets",
        kind: ParamKind::at_least(1),
        default: ParamValue::Count(120),
        artifact_default: Some(ParamValue::Count(71)),
        doc: "DPP: number of a flow's first packets. The artifact includes the present packet and uses 72, \
              one base RTT.",
    },
    ParamInfo {
        name: "short_headroom",
        kind: ParamKind::Bytes { min: 0 },
        default: ParamValue::Bytes(0),
        artifact_default: None,
        doc: "Bytes of the buffer that only mice may use, when the threshold refuses them; taken from the \
              shared pool. Plasticine's evaluation uses such a headroom but does not state its size.",
    },
];

/// Initial fair share in ABM's public artifact (bytes per interval).
const FIRST_FAIR_SHARE: u64 = 4_000_000;

fn build(params: &Params, shape: &SwitchShape) -> Result<Box<dyn Policy>, BuildError> {
    let headroom = params.bytes("short_headroom");
    if headroom >= shape.capacity {
        let message =
            format!("{headroom} B for mice leave nothing of the buffer's {} B to share", shape.capacity);
        return Err(BuildError { param: "short_headroom", message });
    }
    if params.flag("priority_queue") && shape.queues_per_port < 2 {
        let message = "ports of one queue have no second one for the first packets of flows: give them two, or leave it off";
        return Err(BuildError { param: "priority_queue", message: message.to_owned() });
    }
    if params.ratio("old_gain") > params.ratio("gain") {
        let message = "with a2 above a1 the fair share falls while the queue is empty and rises while it is long: choose a2 <= a1";
        return Err(BuildError { param: "old_gain", message: message.to_owned() });
    }
    if params.choice::<Afd>("afd") != Afd::Off {
        if params.ratio("gain") == 0.0 && params.bytes("fair_share_cap") == 0 {
            let message = "with a1 = 0 the fair share never changes: choose a1 above 0, a constant share by fair_share_cap, or afd = \"off\"";
            return Err(BuildError { param: "gain", message: message.to_owned() });
        }
        refuse_beyond_buffer(
            params,
            shape,
            "reference_queue",
            "the controller would never meet its reference; choose less",
        )?;
        refuse_beyond_buffer(
            params,
            shape,
            "drop_above",
            "nothing would ever be dropped early; choose less, or afd = \"off\"",
        )?;
    }
    Ok(Box::new(IntelligentBuffer::new(params, shape)))
}

choices! {
    /// Flow or queue whose arrivals AFD compares with the fair share.
    enum Afd {
        PerFlow = "per_flow": "arrivals of the packet's flow (AFD, white paper)",
        PerQueue = "per_queue": "arrivals of the packet's queue, as the artifact intends",
        Swapped = "swapped":
            "the artifact's behaviour with two swapped arguments: outside priority 0 every packet is dropped \
             while the port's queue 0 (queue 1 when the fair share is 0) is longer than `drop_above`; in \
             priority 0 none is dropped",
        Off = "off": "none: no packet is dropped early",
    }
}

choices! {
    /// Times at which the intervals of approximate fair dropping (AFD) end.
    enum Updates {
        Timer = "timer": "every `afd_interval`, for all queues (AFD, section 3)",
        Arrivals = "arrivals":
            "separately for each port, at the first arrival that is `afd_interval` or more after the port's \
             last update; intervals without packets are skipped (the artifact)",
    }
}

/// Bytes that arrived in the current interval and in the interval before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Arrivals {
    /// Number of the interval in which `current` counts bytes.
    interval: u64,
    current: u64,
    previous: u64,
}

impl Arrivals {
    #[inline]
    fn count(&mut self, interval: u64, size: u32) {
        if self.interval != interval {
            self.previous = if self.interval + 1 == interval { self.current } else { 0 };
            self.current = 0;
            self.interval = interval;
        }
        self.current += u64::from(size);
    }
}

/// State of one flow in the flow table.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    /// Bytes that the flow has sent since the table last forgot the flow.
    sent: u64,
    arrivals: Arrivals,
}

/// State of a queue for approximate fair dropping (AFD).
#[derive(Clone, Copy, Debug)]
struct QueueState {
    /// Bytes per interval that a flow, or the queue, may send without early drops.
    fair_share: u64,
    /// Upper limit of the fair share (bytes per interval).
    cap: u64,
    /// Length of the queue at the last update of its fair share.
    old_length: u64,
    arrivals: Arrivals,
}

/// The policy with Dynamic Thresholds, ETRAP, AFD and DPP.
#[derive(Clone, Debug)]
pub struct IntelligentBuffer {
    alphas: Vec<Weight>,
    afd: Afd,
    interval: Time,
    updates: Updates,
    /// Number of the current interval of each port.
    intervals: Vec<u64>,
    /// Time of the next update of the fair shares, for [`Updates::Timer`].
    next_update: Time,
    /// Start of each port's interval, for [`Updates::Arrivals`]. `None` before the first packet.
    began: Vec<Option<Time>>,
    reference: u64,
    gain: Weight,
    old_gain: Weight,
    arrival_factor: u64,
    drop_above: u64,
    elephant_bytes: u64,
    headroom: u64,
    /// The common pool: the buffer B less the headroom.
    pool: CommonPool,
    flows: FlowTable<Flow>,
    queues: Vec<QueueState>,
    random: RandomStream,
    /// Whether DPP marks packets of short flows with the tag `small`.
    prioritizes: bool,
    /// Elephant trap of DPP, until the switch takes the trap.
    first_packets: Option<ElephantTrap>,
}

impl IntelligentBuffer {
    /// Builds the policy from `params`, which its registry entry declares.
    #[must_use]
    pub fn new(params: &Params, shape: &SwitchShape) -> Self {
        let flow_entries = params.count("flow_entries") as usize;
        let afd: Afd = params.choice("afd");
        let (interval, idle) = (params.time("afd_interval"), params.time("flow_idle"));
        let headroom = params.bytes("short_headroom");
        let state = |queue: usize| {
            let cap = match (params.bytes("fair_share_cap"), afd) {
                (0, Afd::PerFlow) => shape.port_rates[queue / shape.queues_per_port].bytes_in(interval),
                (0, _) => u64::MAX,
                (cap, _) => cap,
            };
            let fair_share = cap.min(FIRST_FAIR_SHARE);
            QueueState { fair_share, cap, old_length: 0, arrivals: Arrivals::default() }
        };
        let prioritizes = params.flag("priority_queue");
        let first = ShortLimit { packets: params.count("dpp_packets"), bytes: 0 };
        Self {
            alphas: congestion::weights(params, "alpha", shape.queues_per_port),
            afd,
            interval,
            updates: params.choice("afd_updates"),
            intervals: vec![1; shape.ports()],
            next_update: interval,
            began: vec![None; shape.ports()],
            reference: params.bytes("reference_queue"),
            gain: Weight::from_f64(params.ratio("gain")),
            old_gain: Weight::from_f64(params.ratio("old_gain")),
            arrival_factor: params.count("arrival_factor"),
            drop_above: params.bytes("drop_above"),
            elephant_bytes: params.bytes("elephant_bytes"),
            headroom,
            pool: CommonPool { bytes: shape.capacity - headroom },
            flows: FlowTable::new(flow_entries, idle),
            queues: (0..shape.queues()).map(state).collect(),
            random: RandomStream::new(shape.seed, "policy/ib", 0),
            prioritizes,
            first_packets: prioritizes.then(|| ElephantTrap::new(flow_entries, idle, first, Some(0))),
        }
    }

    #[inline]
    fn limit(&self, priority: u8, buffer: &Buffer) -> u64 {
        self.alphas[usize::from(priority)].apply(self.pool.remaining(buffer))
    }

    /// Ends the port's interval at an arrival if the interval is over, for [`Updates::Arrivals`].
    #[inline]
    fn begin_interval(&mut self, now: Time, port: u16, buffer: &Buffer) {
        let began = &mut self.began[usize::from(port)];
        let is_over = began.is_some_and(|began| now >= began + self.interval);
        if is_over {
            for priority in 0..buffer.queues_per_port() {
                self.adjust(buffer.queue_of(port, priority as u8), buffer);
            }
            self.intervals[usize::from(port)] += 1;
        }
        let began = &mut self.began[usize::from(port)];
        if is_over || began.is_none() {
            *began = Some(now);
        }
    }

    /// Adjusts the fair share of a queue at the end of an interval.
    fn adjust(&mut self, queue: QueueId, buffer: &Buffer) {
        let (reference, gain, old_gain) = (self.reference, self.gain, self.old_gain);
        let state = &mut self.queues[usize::from(queue.0)];
        let length = buffer.shared_queue_bytes(queue);
        state.fair_share = adjusted(state, length, reference, gain, old_gain);
        state.old_length = length;
    }

    /// Counts an arrival. Returns whether the arrival belongs to a mouse,
    /// and the bytes per interval that AFD compares with the fair share.
    #[inline]
    fn count(&mut self, arrival: &Arrival) -> (bool, u64) {
        let interval = self.intervals[usize::from(arrival.port)];
        let flow = self.flows.touch(arrival.now, FlowKey::from_header(&arrival.header));
        let first = self.prioritizes && arrival.header.tags.contains(Tags::SMALL);
        let mouse = first || (self.elephant_bytes > 0 && flow.sent < self.elephant_bytes);
        flow.sent += u64::from(arrival.header.size);
        flow.arrivals.count(interval, arrival.header.size);
        let arrivals = match self.afd {
            Afd::PerFlow => flow.arrivals,
            _ => {
                let queue = &mut self.queues[usize::from(arrival.queue.0)];
                // The artifact does not count packets that DPP sends to queue 0.
                if !first {
                    queue.arrivals.count(interval, arrival.header.size);
                }
                queue.arrivals
            }
        };
        (mouse, arrivals.previous.saturating_mul(self.arrival_factor))
    }

    /// Whether AFD drops an elephant whose flow or queue sent `arrived` bytes in the last interval.
    /// The probability is max(0, 1 − m_fair / m), drawn among integers.
    fn drops_early(&mut self, arrival: &Arrival, arrived: u64, buffer: &Buffer) -> bool {
        let fair_share = self.queues[usize::from(arrival.queue.0)].fair_share;
        match self.afd {
            Afd::Off => false,
            Afd::PerFlow | Afd::PerQueue => {
                buffer.shared_queue_bytes(arrival.queue) > self.drop_above
                    && arrived > fair_share
                    && self.random.below(arrived) >= fair_share
            }
            Afd::Swapped => {
                // The artifact converts the drop probability to an integer and uses it as a queue
                // number. The integer is 0 unless the probability is exactly 1.
                let watched = u8::from(fair_share == 0 && buffer.queues_per_port() > 1);
                arrival.priority > 0
                    && buffer.shared_queue_bytes(buffer.queue_of(arrival.port, watched)) > self.drop_above
            }
        }
    }
}

/// Fair share ⌊m + a2 (q_old − Q_ref) − a1 (q − Q_ref)⌋ within 0 and `cap`, in fixed point.
fn adjusted(state: &QueueState, length: u64, reference: u64, gain: Weight, old_gain: Weight) -> u64 {
    let scaled =
        |weight: Weight, length: u64| i128::from(weight.0) * (i128::from(length) - i128::from(reference));
    let change = (scaled(old_gain, state.old_length) - scaled(gain, length)) >> 32;
    (i128::from(state.fair_share) + change).clamp(0, i128::from(state.cap)) as u64
}

impl Policy for IntelligentBuffer {
    #[inline]
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        if self.updates == Updates::Arrivals {
            self.begin_interval(arrival.now, arrival.port, buffer);
        }
        let (mouse, arrived) = self.count(arrival);
        if !buffer.fits(arrival.header.size) {
            return Verdict::Drop(DropReason::BufferFull);
        }
        let size = u64::from(arrival.header.size);
        let within_threshold =
            buffer.shared_queue_bytes(arrival.queue) + size <= self.limit(arrival.priority, buffer);
        if !within_threshold || !self.pool.has_room(size, buffer) {
            if mouse && buffer.used(Account::Reserved) + size <= self.headroom {
                return Verdict::Admit(Account::Reserved);
            }
            let reason = if within_threshold { DropReason::BufferFull } else { DropReason::OverThreshold };
            return Verdict::Drop(reason);
        }
        if !mouse && self.drops_early(arrival, arrived, buffer) {
            return Verdict::Drop(DropReason::Early);
        }
        Verdict::Admit(Account::Shared)
    }

    fn hooks(&self) -> Hooks {
        Hooks::NONE
    }

    fn next_timeout(&self) -> Option<Time> {
        (self.afd != Afd::Off && self.updates == Updates::Timer).then_some(self.next_update)
    }

    fn handle_timeout(&mut self, now: Time, buffer: &Buffer) {
        if self.afd == Afd::Off || self.updates == Updates::Arrivals || now < self.next_update {
            return;
        }
        for queue in 0..self.queues.len() {
            self.adjust(QueueId(queue as u16), buffer);
        }
        self.intervals.iter_mut().for_each(|interval| *interval += 1);
        self.next_update = now + self.interval;
    }

    fn take_classifier(&mut self) -> Option<Classifier> {
        let trap = self.first_packets.take()?;
        Some(Classifier::identity(self.alphas.len()).with_trap(trap))
    }

    /// The limit of Dynamic Thresholds. AFD may drop elephants below this limit, and mice may
    /// exceed the limit by their headroom.
    fn threshold(&self, queue: QueueId, _: Tags, buffer: &Buffer) -> Option<u64> {
        let (_, priority) = buffer.port_and_priority(queue);
        Some(self.limit(priority, buffer))
    }

    fn bound(&self, arrival: &Arrival, reason: DropReason, buffer: &Buffer) -> Option<Bound> {
        let usual =
            Bound::usual(arrival, reason, self.threshold(arrival.queue, arrival.header.tags, buffer), buffer);
        usual.or_else(|| {
            let is_full = reason == DropReason::BufferFull;
            self.pool.bound(arrival.header.size.into(), buffer).if_binding().filter(|_| is_full)
        })
    }

    fn probe(&self, queue: QueueId, _: &Buffer, sink: &mut dyn FnMut(&'static str, f64)) {
        sink("fair_share", self.queues[usize::from(queue.0)].fair_share as f64);
    }

    fn boxed_clone(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_controller_follows_the_white_papers_formula_between_zero_and_the_cap() {
        let (gain, old_gain) = (Weight::from_f64(1.8), Weight::from_f64(1.7));
        let after = |fair_share, old_length, length| {
            let state = QueueState { fair_share, cap: 500_000, old_length, arrivals: Arrivals::default() };
            adjusted(&state, length, 100_000, gain, old_gain)
        };
        // At the reference length, the fair share does not change. An empty queue raises the fair
        // share by a tenth of the reference length.
        assert_eq!(after(60_000, 100_000, 100_000), 60_000);
        assert!((69_999..=70_001).contains(&after(60_000, 0, 0)));
        // The change of the fair share is -1.8 x 100 000 + 1.7 x 50 000.
        assert!(after(200_000, 150_000, 200_000).abs_diff(105_000) <= 1);
        assert_eq!((after(60_000, 100_000, 900_000), after(499_000, 0, 0)), (0, 500_000));
    }

    #[test]
    fn arrivals_are_those_of_the_interval_before_and_zero_after_a_pause() {
        let mut arrivals = Arrivals::default();
        arrivals.count(1, 100);
        arrivals.count(1, 50);
        assert_eq!((arrivals.current, arrivals.previous), (150, 0));
        arrivals.count(2, 10);
        assert_eq!((arrivals.current, arrivals.previous), (10, 150));
        arrivals.count(4, 10);
        assert_eq!((arrivals.current, arrivals.previous), (10, 0));
    }
}
