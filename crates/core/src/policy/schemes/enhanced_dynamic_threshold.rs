//! Enhanced Dynamic Threshold (reconstructed): a port whose queue begins to grow is exempt from the
//! dynamic threshold for a while.
//!
//! A *controlled* port may use `α (B − Q)`, an *uncontrolled* port `B / (uncontrolled ports)`.
//! A port becomes uncontrolled when `c2` net packets are stored within `tm1` and no
//! packet is dropped. A port is controlled again when `c1` packets leave in a row,
//! when `tm2` expires, or when the buffer overflows. The scheme helps short bursts,
//! but does not limit the space of overloaded ports.
//!
//! The original paper (Shan, Jiang, Ren, INFOCOM 2015; TPDS 2017) was not available.
//! The rules are reconstructed from their description in the TDT paper.

use crate::buffer::{Buffer, QueueId};
use crate::policy::interface::{
    Arrival, Bound, BuildError, Departure, DropReason, Hooks, Policy, PolicyInfo, SwitchShape, Tags, Verdict,
};
use crate::policy::parts::parameters::factor;
use crate::policy::parts::port_limit::{port_bound, rest_of_port, within_port_limit};
use crate::weight::Weight;
use bufferlab_params::{ParamInfo, ParamKind, ParamValue, Params};
use bufferlab_units::{BitRate, Time};

/// Registry entry of the policy `edt`.
pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "edt",
    aliases: &["enhanced-dynamic-threshold"],
    title: "Enhanced Dynamic Threshold (reconstructed)",
    summary: "Dynamic Thresholds per port that let a port with a starting burst use the whole buffer (reconstructed).",
    source: "Shan, Jiang, Ren, INFOCOM 2015, as far as TDT (ToN 2022, sections II, III and VI) describes \
             the scheme: reconstructed.",
    cost: "O(1)",
    params: PARAMS,
    build: &build,
};

const PARAMS: &[ParamInfo] = &[
    factor(
        "alpha",
        1.0,
        None,
        "Factor of the free space for controlled ports. One number, because the limits apply to ports.",
    ),
    ParamInfo {
        name: "c1",
        kind: ParamKind::at_least(1),
        default: ParamValue::Count(3),
        artifact_default: None,
        doc: "C1: number of packets sent in a row, with none stored in between, that ends a burst.",
    },
    ParamInfo {
        name: "c2",
        kind: ParamKind::at_least(1),
        default: ParamValue::Count(8),
        artifact_default: None,
        doc: "C2: net packets stored (stored less sent) within one window of `tm1`, without a drop, that \
              start a burst.",
    },
    ParamInfo {
        name: "tm1",
        kind: ParamKind::Time { min: Time::ZERO },
        default: ParamValue::Time(Time::ZERO),
        artifact_default: None,
        doc: "TM1: window in which the growth is counted; the first packet stored after its end starts a new \
              one. 0: the time in which the fastest port sends 262500 B, which is TDT's 2.1 ms at 1 Gb/s (no \
              paper states how it scales).",
    },
    ParamInfo {
        name: "tm2",
        kind: ParamKind::Time { min: Time::from_ns(1) },
        default: ParamValue::Time(Time::from_ms(10)),
        artifact_default: None,
        doc: "TM2: maximum time without control. Checked when a packet of the port is stored, sent or dropped.",
    },
];

/// Smallest Ethernet frame without its check sequence (bytes), rounded.
const SMALLEST_PACKET: u64 = 64;
/// Bytes that a port of 1 Gb/s sends in 2.1 ms.
const WINDOW_BYTES: u64 = 262_500;

fn build(params: &Params, shape: &SwitchShape) -> Result<Box<dyn Policy>, BuildError> {
    let (c2, buffer) = (params.count("c2"), shape.capacity);
    if c2.saturating_mul(SMALLEST_PACKET) > buffer && !params.is_default("c2") {
        let message = format!(
            "{c2} packets do not fit into {buffer} B: no port would ever be uncontrolled; choose fewer (TDT: 8)"
        );
        return Err(BuildError { param: "c2", message });
    }
    Ok(Box::new(EnhancedDynamicThreshold::new(params, shape)))
}

#[derive(Clone, Copy, Debug, Default)]
struct PortState {
    /// Time at which the port became uncontrolled. `None` if the port is controlled.
    uncontrolled_since: Option<Time>,
    /// Net number of packets that the port stored in the window `tm1`.
    growth: u64,
    window_start: Time,
    /// Packets that the port sent since a packet was last stored.
    sent_in_a_row: u64,
}

/// EDT's thresholds (reconstructed) for all queues of a port together: `α (B − Q)` or `B / n_U`.
#[derive(Clone, Debug)]
pub struct EnhancedDynamicThreshold {
    alpha: Weight,
    c1: u64,
    c2: u64,
    tm1: Time,
    tm2: Time,
    ports: Vec<PortState>,
    /// Number n_U of uncontrolled ports.
    uncontrolled: u64,
}

impl EnhancedDynamicThreshold {
    /// Builds the policy from `params`, which its registry entry declares.
    #[must_use]
    pub fn new(params: &Params, shape: &SwitchShape) -> Self {
        let fastest = shape.port_rates.iter().copied().max().unwrap_or(BitRate::gbps(1));
        Self {
            alpha: Weight::from_f64(params.ratio("alpha")),
            c1: params.count("c1"),
            c2: params.count("c2"),
            tm1: match params.time("tm1") {
                Time::ZERO => fastest.serialization(WINDOW_BYTES),
                time => time,
            },
            tm2: params.time("tm2"),
            ports: vec![PortState::default(); shape.ports()],
            uncontrolled: 0,
        }
    }

    /// Limit for all queues of `port` together (bytes).
    #[inline]
    fn port_limit(&self, port: u16, buffer: &Buffer) -> u64 {
        match self.ports[usize::from(port)].uncontrolled_since {
            None => self.alpha.apply(buffer.shared_free()),
            Some(_) => buffer.shared_capacity() / self.uncontrolled,
        }
    }

    #[cold]
    fn free(&mut self, port: u16, now: Time) {
        let port = &mut self.ports[usize::from(port)];
        (port.uncontrolled_since, port.growth) = (Some(now), 0);
        self.uncontrolled += 1;
    }

    #[inline]
    fn control(&mut self, port: u16) {
        let port = &mut self.ports[usize::from(port)];
        port.growth = 0;
        self.uncontrolled -= u64::from(port.uncontrolled_since.take().is_some());
    }

    /// Ends the uncontrolled state of `port` when TM2 expires.
    /// The port's next packet detects the end, because there is no timer.
    #[inline]
    fn end_if_too_long(&mut self, port: u16, now: Time) {
        let since = self.ports[usize::from(port)].uncontrolled_since;
        if since.is_some_and(|since| now.saturating_sub(since) > self.tm2) {
            self.control(port);
        }
    }
}

impl Policy for EnhancedDynamicThreshold {
    #[inline]
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        within_port_limit(arrival, self.port_limit(arrival.port, buffer), buffer)
    }

    fn hooks(&self) -> Hooks {
        Hooks::ENQUEUE.and(Hooks::DEQUEUE).and(Hooks::DROP)
    }

    #[inline]
    fn on_enqueue(&mut self, arrival: &Arrival, _: &Buffer) {
        let now = arrival.now;
        self.end_if_too_long(arrival.port, now);
        let (tm1, c2) = (self.tm1, self.c2);
        let port = &mut self.ports[usize::from(arrival.port)];
        port.sent_in_a_row = 0;
        if port.uncontrolled_since.is_some() {
            return;
        }
        if now.saturating_sub(port.window_start) > tm1 {
            (port.growth, port.window_start) = (0, now);
        }
        port.growth += 1;
        if port.growth >= c2 {
            self.free(arrival.port, now);
        }
    }

    #[inline]
    fn on_dequeue(&mut self, departure: &Departure, _: &Buffer) {
        let port = &mut self.ports[usize::from(departure.port)];
        port.sent_in_a_row += 1;
        port.growth = port.growth.saturating_sub(1);
        if port.sent_in_a_row >= self.c1 {
            self.control(departure.port);
        }
        self.end_if_too_long(departure.port, departure.now);
    }

    fn on_drop(&mut self, arrival: &Arrival, reason: DropReason, _: &Buffer) {
        self.ports[usize::from(arrival.port)].growth = 0;
        if reason == DropReason::BufferFull {
            self.control(arrival.port);
        }
        self.end_if_too_long(arrival.port, arrival.now);
    }

    fn threshold(&self, queue: QueueId, _: Tags, buffer: &Buffer) -> Option<u64> {
        let (port, _) = buffer.port_and_priority(queue);
        Some(rest_of_port(self.port_limit(port, buffer), queue, buffer))
    }

    fn bound(&self, arrival: &Arrival, reason: DropReason, buffer: &Buffer) -> Option<Bound> {
        port_bound(arrival, reason, self.port_limit(arrival.port, buffer), buffer)
    }

    /// Reports `state` of the queue's port: 0 controlled, 1 uncontrolled.
    fn probe(&self, queue: QueueId, buffer: &Buffer, sink: &mut dyn FnMut(&'static str, f64)) {
        let (index, _) = buffer.port_and_priority(queue);
        let port = &self.ports[usize::from(index)];
        sink("state", f64::from(u8::from(port.uncontrolled_since.is_some())));
        sink("port_limit_bytes", self.port_limit(index, buffer) as f64);
        sink("uncontrolled_ports", self.uncontrolled as f64);
        sink("c1", port.sent_in_a_row as f64);
        sink("c2", port.growth as f64);
    }

    fn boxed_clone(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.clone()))
    }
}
