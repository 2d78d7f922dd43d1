//! LossPass: a packet of a microburst replaces a stored packet of a large flow.
//!
//! A port keeps small and large flows in different queues. If a packet of a small flow finds the
//! port's buffer full, the packet evicts the newest packet of the large-flow queue, on two
//! conditions. The evicted packet must be at least as large as the arrival, so that one eviction is
//! enough and the decision is O(1). The large flows must keep their reserve. Large flows can wait
//! for a retransmission. A burst of small flows would lose its last packets and wait for a timeout.

use crate::buffer::{Buffer, End, QueueId, Stored};
use crate::policy::interface::{
    Account, Arrival, Bound, BoundPlace, BuildError, DropReason, Policy, PolicyInfo, SwitchShape, Tags,
    Verdict,
};
use crate::policy::parts::parameters::factor;
use crate::policy::parts::port_limit::port_bound;
use crate::weight::Weight;
use bufferlab_params::{Choice, ParamInfo, ParamKind, ParamValue, Params, choices};

/// Registry entry of the policy `losspass`.
pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "losspass",
    aliases: &["loss-pass"],
    title: "LossPass",
    summary: "Evicts a packet of the port's large-flow queue for an arriving packet of a small flow.",
    source: "LossPass, Algorithm 1, with the errata E-LP-1 to E-LP-3.",
    cost: "O(1), at most one eviction per arrival",
    params: PARAMS,
    build: &build,
};

const PARAMS: &[ParamInfo] = &[
    ParamInfo {
        name: "port_limit",
        kind: ParamKind::Choice(PortBuffer::WORDS),
        default: ParamValue::word(PortBuffer::Dynamic.word()),
        artifact_default: None,
        doc: "Port buffer B of Algorithm 1.",
    },
    factor(
        "alpha",
        1.0,
        None,
        "Factor of the free space for `port_limit = \"dynamic\"`. The paper does not state its value.",
    ),
    ParamInfo {
        name: "port_buffer",
        kind: ParamKind::Bytes { min: 0 },
        default: ParamValue::Bytes(0),
        artifact_default: None,
        doc: "Limit for the queues of a port together, for `port_limit = \"static\"`; 128 KB in the testbed. \
              0: an equal part of the buffer for every port.",
    },
    ParamInfo {
        name: "large_reserve",
        kind: ParamKind::Bytes { min: 0 },
        default: ParamValue::Bytes(0),
        artifact_default: None,
        doc: "B_l: bytes of the port buffer that evictions leave to the large-flow queue. 0 in all experiments but \
              Fig. 8.",
    },
    ParamInfo {
        name: "reserve",
        kind: ParamKind::Choice(Reserve::WORDS),
        default: ParamValue::word(Reserve::WhenFull.word()),
        artifact_default: None,
        doc: "Condition under which `large_reserve` is kept from small flows.",
    },
    ParamInfo {
        name: "victim",
        kind: ParamKind::Choice(Victim::WORDS),
        default: ParamValue::word(Victim::Tail.word()),
        artifact_default: None,
        doc: "Packet of the large-flow queue that is evicted.",
    },
    ParamInfo {
        name: "classes",
        kind: ParamKind::Choice(Classes::WORDS),
        default: ParamValue::word(Classes::Priority.word()),
        artifact_default: None,
        doc: "Packets that may evict.",
    },
    ParamInfo {
        name: "small_priority",
        kind: ParamKind::at_least(0),
        default: ParamValue::Count(0),
        artifact_default: None,
        doc: "Priority (queue of the port) of small flows.",
    },
    ParamInfo {
        name: "large_priority",
        kind: ParamKind::at_least(0),
        default: ParamValue::Count(1),
        artifact_default: None,
        doc: "Priority (queue of the port) of large flows, whose packets may be evicted.",
    },
    ParamInfo {
        name: "printed_line_4",
        kind: ParamKind::Flag,
        default: ParamValue::Flag(false),
        artifact_default: None,
        doc: "Tests line 4 as printed, with `>=` instead of `<=`, which shows erratum E-LP-1: no packet is \
              evicted.",
    },
];

choices! {
    /// Definition of the port buffer B in LossPass's Algorithm 1.
    enum PortBuffer {
        Dynamic = "dynamic":
            "`alpha` times the free space of the shared buffer when a packet arrives (the paper's ns-2 \
             simulations)",
        Static = "static": "`port_buffer` bytes (its testbed)",
    }
}

choices! {
    /// Condition under which small flows must leave large flows their reserve.
    enum Reserve {
        WhenFull = "when-full":
            "the reserve limits evictions only; small flows may use it while the port buffer has room \
             (Algorithm 1)",
        Always = "always": "small flows may never use the reserve",
    }
}

choices! {
    /// The packet of the large-flow queue that the policy evicts.
    enum Victim {
        Tail = "tail": "the packet that arrived last",
        Head = "head": "the packet that would leave next, the variant for singly linked lists (section 4.1)",
    }
}

choices! {
    /// Rule that identifies the packets that may evict other packets.
    enum Classes {
        Priority = "priority": "packets of the queue `small_priority`",
        Tag = "tag":
            "packets with the tag `small` for any queue except the large one; no packet with that tag is a victim",
        Nobody = "none":
            "no packets: two queues with one limit per port, as in Droptail-2Q and PIAS (section 5.2.2: the only difference is the packet enqueueing decision)",
    }
}

fn build(params: &Params, shape: &SwitchShape) -> Result<Box<dyn Policy>, BuildError> {
    let error = |param, message| Err(BuildError { param, message });
    let (small, large) = (params.count("small_priority"), params.count("large_priority"));
    let queues = shape.queues_per_port as u64;
    // A port with one queue has no classes and no evictions.
    // So the defaults of a port with one queue mean that no packet may evict another packet.
    let no_classes = queues == 1 && small == 0 && large <= 1;
    if !no_classes {
        for (param, priority) in [("small_priority", small), ("large_priority", large)] {
            if priority >= queues {
                let message = format!(
                    "there is no priority {priority}: ports have {queues} queues, so choose from 0 to {}",
                    queues - 1
                );
                return error(param, message);
            }
        }
        if small == large {
            let message =
                format!("small and large flows share the queue {small}: give them different queues");
            return error("large_priority", message);
        }
    }
    let port_buffer = params.bytes("port_buffer");
    if port_buffer > shape.capacity {
        let message = format!(
            "{port_buffer} B for a port exceed the buffer of {} B: give at most that",
            shape.capacity
        );
        return error("port_buffer", message);
    }
    let port_buffer = if port_buffer == 0 { shape.capacity / shape.ports() as u64 } else { port_buffer };
    let (largest, of) = match params.choice("port_limit") {
        PortBuffer::Dynamic => (shape.capacity, "whole buffer"),
        PortBuffer::Static if port_buffer < shape.max_packet => {
            let message = format!(
                "a port buffer of {port_buffer} B holds no packet of {} B: enlarge it",
                shape.max_packet
            );
            return error("port_buffer", message);
        }
        PortBuffer::Static => (port_buffer, "port buffer"),
    };
    let reserve = params.bytes("large_reserve");
    if reserve > largest {
        let message = format!("a reserve of {reserve} B exceeds the {of} of {largest} B: give at most that");
        return error("large_reserve", message);
    }
    Ok(Box::new(LossPass::new(params, shape)))
}

#[derive(Clone, Copy, Debug)]
enum PortLimit {
    Static(u64),
    Dynamic(Weight),
}

/// Counters of one port of the switch.
#[derive(Clone, Copy, Debug, Default)]
struct PortCounters {
    /// Arrivals for which the policy evicted a packet.
    evictions: u64,
    /// Arrivals that were dropped because the packet to evict was smaller than the arrival.
    missed_chances: u64,
    /// Arrivals that were dropped to keep the reserve of the large flows.
    kept_reserves: u64,
}

/// The policy LossPass, with a corrected Algorithm 1 of its paper.
#[derive(Clone, Debug)]
pub struct LossPass {
    limit: PortLimit,
    large_reserve: u64,
    reserve_is_hard: bool,
    victim_end: End,
    /// Whether the tag of a packet, and not its queue, identifies small packets.
    by_tag: bool,
    printed_line_4: bool,
    small_priority: u8,
    /// Priority of large flows. `None` if ports have one queue, or if no packet may evict.
    large_priority: Option<u8>,
    ports: Vec<PortCounters>,
}

impl LossPass {
    /// Builds the policy from `params`, which its registry entry declares and its constructor
    /// checks.
    #[must_use]
    pub fn new(params: &Params, shape: &SwitchShape) -> Self {
        let port_buffer = match params.bytes("port_buffer") {
            0 => shape.capacity / shape.ports() as u64,
            bytes => bytes,
        };
        let classes: Classes = params.choice("classes");
        Self {
            limit: match params.choice("port_limit") {
                PortBuffer::Dynamic => PortLimit::Dynamic(Weight::from_f64(params.ratio("alpha"))),
                PortBuffer::Static => PortLimit::Static(port_buffer),
            },
            large_reserve: params.bytes("large_reserve"),
            reserve_is_hard: match params.choice("reserve") {
                Reserve::WhenFull => false,
                Reserve::Always => true,
            },
            victim_end: match params.choice("victim") {
                Victim::Tail => End::Tail,
                Victim::Head => End::Head,
            },
            by_tag: classes == Classes::Tag,
            printed_line_4: params.flag("printed_line_4"),
            small_priority: params.count("small_priority") as u8,
            large_priority: (shape.queues_per_port > 1 && classes != Classes::Nobody)
                .then(|| params.count("large_priority") as u8),
            ports: vec![PortCounters::default(); shape.ports()],
        }
    }

    /// Buffer B of a port in LossPass's Algorithm 1 (bytes).
    #[inline]
    fn port_limit(&self, buffer: &Buffer) -> u64 {
        match self.limit {
            PortLimit::Static(bytes) => bytes,
            PortLimit::Dynamic(alpha) => alpha.apply(buffer.shared_free()),
        }
    }

    /// Whether a packet of `priority` with `tags` may evict other packets, if ports have classes.
    #[inline]
    fn is_small(&self, priority: u8, tags: Tags) -> bool {
        let Some(large) = self.large_priority else { return false };
        if self.by_tag {
            priority != large && tags.contains(Tags::SMALL)
        } else {
            priority == self.small_priority
        }
    }

    fn large_queue(&self, port: u16, buffer: &Buffer) -> Option<QueueId> {
        self.large_priority.map(|priority| buffer.queue_of(port, priority))
    }

    /// Bytes Q_s of the port that are not in its large-flow queue.
    fn small_bytes(&self, port: u16, buffer: &Buffer) -> u64 {
        let large = self.large_queue(port, buffer).map_or(0, |queue| buffer.shared_queue_bytes(queue));
        buffer.shared_port_bytes(port).saturating_sub(large)
    }

    fn victim<'b>(&self, queue: QueueId, buffer: &'b Buffer) -> Option<&'b Stored> {
        // An empty queue has no newest packet (erratum E-LP-3).
        let victim = buffer.peek(queue, self.victim_end)?;
        (!self.by_tag || !victim.header.tags.contains(Tags::SMALL)).then_some(victim)
    }

    /// Frees space for a small `arrival` at a full port buffer: lines 3 to 6 of Algorithm 1.
    #[cold]
    fn make_room(&mut self, arrival: &Arrival, limit: u64, full: DropReason, buffer: &Buffer) -> Verdict {
        let Some(queue) = self.large_queue(arrival.port, buffer) else { return Verdict::Drop(full) };
        let Some(victim) = self.victim(queue, buffer) else { return Verdict::Drop(full) };
        let enough = arrival.header.size <= victim.header.size;
        let grown = self.small_bytes(arrival.port, buffer) + u64::from(arrival.header.size);
        let allowed = limit.saturating_sub(self.large_reserve);
        let counters = &mut self.ports[usize::from(arrival.port)];
        if !enough {
            counters.missed_chances += 1;
            return Verdict::Drop(full);
        }
        // Line 4 of Algorithm 1 is printed with >= (erratum E-LP-1). The printed >= contradicts
        // section 3.2.3. With B_l = 0 the printed condition is true only in a tie.
        let line_4 = if self.printed_line_4 { grown >= allowed } else { grown <= allowed };
        if !line_4 {
            counters.kept_reserves += 1;
            return Verdict::Drop(full);
        }
        counters.evictions += 1;
        Verdict::Evict { victim: queue, end: self.victim_end }
    }
}

impl Policy for LossPass {
    #[inline]
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        if arrival.evictions > 0 {
            // The victim was at least as large as the arrival, so the bytes of the port do not
            // grow. A dynamic limit may have fallen below the port's bytes. The packet is enqueued
            // and not dropped (erratum E-LP-2).
            return Verdict::Admit(Account::Shared);
        }
        let limit = self.port_limit(buffer);
        let size = u64::from(arrival.header.size);
        let small = self.is_small(arrival.priority, arrival.header.tags);
        if small && self.reserve_is_hard {
            let allowed = limit.saturating_sub(self.large_reserve);
            if self.small_bytes(arrival.port, buffer) + size > allowed {
                self.ports[usize::from(arrival.port)].kept_reserves += 1;
                return Verdict::Drop(DropReason::OverThreshold);
            }
        }
        let full = if !buffer.fits(arrival.header.size) {
            DropReason::BufferFull
        } else if buffer.shared_port_bytes(arrival.port) + size > limit {
            DropReason::OverPortLimit
        } else {
            return Verdict::Admit(Account::Shared);
        };
        if small { self.make_room(arrival, limit, full, buffer) } else { Verdict::Drop(full) }
    }

    /// Queue length beyond which a small packet must evict a packet: the port buffer less the bytes
    /// of the port's other queues.
    fn threshold(&self, queue: QueueId, tags: Tags, buffer: &Buffer) -> Option<u64> {
        let (port, priority) = buffer.port_and_priority(queue);
        let (limit, own) = (self.port_limit(buffer), buffer.shared_queue_bytes(queue));
        let mut threshold = limit.saturating_sub(buffer.shared_port_bytes(port).saturating_sub(own));
        if self.reserve_is_hard && self.is_small(priority, tags) {
            let others = self.small_bytes(port, buffer).saturating_sub(own);
            threshold = threshold.min(limit.saturating_sub(self.large_reserve).saturating_sub(others));
        }
        Some(threshold)
    }

    fn bound(&self, arrival: &Arrival, reason: DropReason, buffer: &Buffer) -> Option<Bound> {
        let limit = self.port_limit(buffer);
        if reason != DropReason::OverThreshold {
            return port_bound(arrival, reason, limit, buffer);
        }
        let (held, limit) =
            (self.small_bytes(arrival.port, buffer), limit.saturating_sub(self.large_reserve));
        Bound { place: BoundPlace::SmallFlows(arrival.port), held, size: arrival.header.size.into(), limit }
            .if_binding()
    }

    /// Reports evictions and other counters of the queue's port.
    fn probe(&self, queue: QueueId, buffer: &Buffer, sink: &mut dyn FnMut(&'static str, f64)) {
        let (port, _) = buffer.port_and_priority(queue);
        let counters = self.ports[usize::from(port)];
        sink("port_limit_bytes", self.port_limit(buffer) as f64);
        sink("evictions", counters.evictions as f64);
        sink("missed_chances", counters.missed_chances as f64);
        sink("kept_reserves", counters.kept_reserves as f64);
    }

    fn boxed_clone(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.clone()))
    }
}
