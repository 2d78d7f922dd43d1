//! Traffic-aware Dynamic Thresholds: every port detects bursts and long-lived overload from its own
//! packets, and changes the limit of its queues.
//!
//! A port is in one of three states. In the *normal* state, the port's limit is `α (B − Q)`.
//! *Absorption* begins when the port's queue grew by `nec` packets without a drop. The limit is
//! then `B / (ports in absorption)`, so that one burst may use the whole buffer. *Evacuation*
//! begins after `dc` drops. The limit is then `B / n`, so that a port with lasting overload frees
//! space for other ports. The scheme protects short bursts from ports with lasting overload. The
//! policy uses no timers, only counters of packets stored, sent and dropped.
//!
//! Source: TDT, Huang, Wang, Cui, ToN 2022, section V.
//! Erratum E-TDT-1 corrects the counter DEC ([`TrafficAware`]).

use crate::buffer::{Buffer, QueueId};
use crate::policy::interface::{
    Arrival, Bound, BuildError, Departure, DropReason, Hooks, Policy, PolicyInfo, SwitchShape, Tags, Verdict,
};
use crate::policy::parts::parameters::factor;
use crate::policy::parts::port_limit::{port_bound, rest_of_port, within_port_limit};
use crate::weight::Weight;
use bufferlab_params::{ParamInfo, ParamKind, ParamValue, Params};

/// Registry entry of the policy `tdt`.
pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "tdt",
    aliases: &["traffic-aware-dynamic-threshold"],
    title: "Traffic-aware Dynamic Threshold",
    summary: "Dynamic Thresholds per port, raised while a port absorbs a burst and lowered while it is overloaded for \
              long.",
    source: "Huang, Wang, Cui, ToN 2022, section V; DEC corrected (erratum E-TDT-1).",
    cost: "O(1)",
    params: PARAMS,
    build: &build,
};

/// Parameter: limit of one of the policy's counters. With 0, the policy derives the limit.
const fn limit(name: &'static str, doc: &'static str) -> ParamInfo {
    ParamInfo {
        name,
        kind: ParamKind::at_least(0),
        default: ParamValue::Count(0),
        artifact_default: None,
        doc,
    }
}

const PARAMS: &[ParamInfo] = &[
    factor(
        "alpha",
        1.0,
        None,
        "Factor of the free space in the normal state. One number, because the limits apply to ports.",
    ),
    ParamInfo {
        name: "packet_bytes",
        kind: ParamKind::Bytes { min: 1 },
        default: ParamValue::Bytes(1_500),
        artifact_default: None,
        doc: "Size of a typical packet. Counters count packets, and their derived limits are multiples of \
              the buffer in such packets (rounded to nearest).",
    },
    ParamInfo {
        name: "burst_rate",
        kind: ParamKind::Ratio { min: 1.001, max: 1_000.0 },
        default: ParamValue::Ratio(2.0),
        artifact_default: None,
        doc: "k: traffic at k times the port's rate or more is a burst. Only used to derive `oc1`. At a rate \
              of exactly k, the order of simultaneous packets decides.",
    },
    limit(
        "nec",
        "NEC: net packets stored, without a drop, that start absorption. 0: B / n packets for n ports.",
    ),
    limit(
        "oc1",
        "OC1: packets sent after which the net count restarts, so that slow growth is no burst. 0: `nec` / (k - 1).",
    ),
    limit(
        "oc2",
        "OC2: packets sent after which absorption always ends. 0: 2 B packets (1334 in the paper's setting, \
         where it says 1344; erratum E-TDT-4).",
    ),
    ParamInfo {
        name: "dec",
        kind: ParamKind::at_least(1),
        default: ParamValue::Count(3),
        artifact_default: None,
        doc: "DEC: packets sent in a row, without an arrival in between, that end absorption or evacuation \
              and reset the count of drops. 3 to 5; more for TCP (TDT section VI-F gives no value).",
    },
    limit("dc", "DC: drops in the normal state that start evacuation. 0: B / 2 packets."),
    ParamInfo {
        name: "lb",
        kind: ParamKind::Bytes { min: 0 },
        default: ParamValue::Bytes(0),
        artifact_default: None,
        doc: "Evacuation ends when the port has fewer bytes than this, and does not start below it. 0: B / \
              (2 n). At 1 B only an empty port ends it.",
    },
    ParamInfo {
        name: "literal_dec",
        kind: ParamKind::Flag,
        default: ParamValue::Flag(false),
        artifact_default: None,
        doc: "DEC as printed: only a stored packet interrupts the row, not a dropped one. Evacuation then \
              ends immediately, which shows erratum E-TDT-1.",
    },
    ParamInfo {
        name: "any_drop_ends_absorption",
        kind: ParamKind::Flag,
        default: ParamValue::Flag(false),
        artifact_default: None,
        doc: "Whether a drop over the port's own limit ends absorption too. The paper names only the overflow of the \
              buffer.",
    },
    ParamInfo {
        name: "keep_drop_count",
        kind: ParamKind::Flag,
        default: ParamValue::Flag(false),
        artifact_default: None,
        doc: "Whether the count of drops survives absorption. The paper does not state this; by default all \
              counters start at 0 in every state.",
    },
];

fn build(params: &Params, shape: &SwitchShape) -> Result<Box<dyn Policy>, BuildError> {
    let (packet, buffer) = (params.bytes("packet_bytes"), shape.capacity);
    if packet > buffer && !params.is_default("packet_bytes") {
        let message =
            format!("a packet of {packet} B is no usual one in a buffer of {buffer} B: choose at most that");
        return Err(BuildError { param: "packet_bytes", message });
    }
    let nec = params.count("nec");
    if nec > (buffer / packet).max(1) {
        let message = format!(
            "{nec} packets of {packet} B are more than the buffer of {buffer} B: no port would ever absorb a burst; \
             choose at most {}, or 0 to derive it",
            (buffer / packet).max(1)
        );
        return Err(BuildError { param: "nec", message });
    }
    let (lb, share) = (params.bytes("lb"), buffer / shape.ports() as u64);
    if lb > share {
        let message = format!(
            "{lb} B are above the limit in evacuation, {buffer} B / {} ports = {share} B: evacuation would end before the \
             queue reached it; choose at most {share} B, or 0 to derive it",
            shape.ports()
        );
        return Err(BuildError { param: "lb", message });
    }
    Ok(Box::new(TrafficAware::new(params, shape)))
}

/// State of a port in TDT. The paper's two output bits are (absorption, evacuation).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum State {
    #[default]
    Normal,
    Absorption,
    Evacuation,
}

/// Limits of TDT's counters (packets), and queue length at which a port stops evacuating (bytes).
#[derive(Clone, Copy, Debug)]
struct Limits {
    nec: u64,
    oc1: u64,
    oc2: u64,
    dec: u64,
    dc: u64,
    lb: u64,
}

impl Limits {
    fn new(params: &Params, shape: &SwitchShape) -> Self {
        let (packet, ports) = (params.bytes("packet_bytes"), shape.ports() as u64);
        // Limits of counters are rounded to whole packets, as in the paper: 1 MB is 667 packets,
        // and a sixteenth of 667 packets is 42.
        let packets = ((shape.capacity + packet / 2) / packet).max(1);
        let given = |name: &str, derived: u64| match params.count(name) {
            0 => derived.max(1),
            count => count,
        };
        let nec = given("nec", (packets + ports / 2) / ports);
        Self {
            nec,
            oc1: given("oc1", (nec as f64 / (params.ratio("burst_rate") - 1.0)).round() as u64),
            oc2: given("oc2", 2 * packets),
            dec: params.count("dec"),
            dc: given("dc", packets / 2),
            lb: match params.bytes("lb") {
                0 => shape.capacity / (2 * ports),
                bytes => bytes,
            },
        }
    }
}

/// TDT's state machine for one port, which is the decision module of the paper.
#[derive(Clone, Copy, Debug, Default)]
struct DecisionModule {
    state: State,
    /// Net number of packets stored since the last drop or restart.
    nec: u64,
    /// Packets that the port sent since the counter `nec` last restarted.
    oc1: u64,
    /// Packets that the port sent in the absorption state.
    oc2: u64,
    /// Packets that the port sent since the last arrival.
    dec: u64,
    /// Number of drops in the normal state of the port.
    dc: u64,
}

/// TDT's thresholds: `α (B − Q)`, `B / n_A` or `B / n` by the port's state,
/// for all queues of a port together.
///
/// According to the paper, DEC counts packets sent "between two enqueued packets".
/// An evacuating port is above its limit and drops every arrival.
/// So no packet is enqueued between three departures, and evacuation ends immediately.
/// In this policy a dropped arrival also resets the counter, unless `literal_dec` is set.
#[derive(Clone, Debug)]
pub struct TrafficAware {
    alpha: Weight,
    limits: Limits,
    literal_dec: bool,
    any_drop_ends_absorption: bool,
    keep_drop_count: bool,
    ports: Vec<DecisionModule>,
    /// Number n_A of ports in the absorption state.
    absorbing: u64,
}

impl TrafficAware {
    /// Builds the policy from `params`, which its registry entry declares.
    #[must_use]
    pub fn new(params: &Params, shape: &SwitchShape) -> Self {
        Self {
            alpha: Weight::from_f64(params.ratio("alpha")),
            limits: Limits::new(params, shape),
            literal_dec: params.flag("literal_dec"),
            any_drop_ends_absorption: params.flag("any_drop_ends_absorption"),
            keep_drop_count: params.flag("keep_drop_count"),
            ports: vec![DecisionModule::default(); shape.ports()],
            absorbing: 0,
        }
    }

    /// Limits in use, given or derived. The first limits are for the counters NEC, OC1, OC2, DEC
    /// and DC (packets). The last limit is the lower bound of an evacuating port (bytes).
    #[must_use]
    pub fn limits(&self) -> [u64; 6] {
        let Limits { nec, oc1, oc2, dec, dc, lb } = self.limits;
        [nec, oc1, oc2, dec, dc, lb]
    }

    /// Limit for all queues of `port` together (bytes).
    #[inline]
    fn port_limit(&self, port: u16, buffer: &Buffer) -> u64 {
        match self.ports[usize::from(port)].state {
            State::Normal => self.alpha.apply(buffer.shared_free()),
            State::Absorption => buffer.shared_capacity() / self.absorbing,
            State::Evacuation => buffer.shared_capacity() / self.ports.len() as u64,
        }
    }

    /// Sets the state of `port` to `state` and all its counters to 0.
    #[cold]
    fn enter(&mut self, port: u16, state: State) {
        let port = &mut self.ports[usize::from(port)];
        self.absorbing += u64::from(state == State::Absorption);
        self.absorbing -= u64::from(port.state == State::Absorption);
        let keeps = self.keep_drop_count && state != State::Evacuation && port.state != State::Evacuation;
        *port = DecisionModule { state, dc: if keeps { port.dc } else { 0 }, ..DecisionModule::default() };
    }
}

impl Policy for TrafficAware {
    #[inline]
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        within_port_limit(arrival, self.port_limit(arrival.port, buffer), buffer)
    }

    fn hooks(&self) -> Hooks {
        Hooks::ENQUEUE.and(Hooks::DEQUEUE).and(Hooks::DROP)
    }

    #[inline]
    fn on_enqueue(&mut self, arrival: &Arrival, _: &Buffer) {
        let port = &mut self.ports[usize::from(arrival.port)];
        port.dec = 0;
        if port.state == State::Normal {
            port.nec += 1;
            if port.nec >= self.limits.nec {
                self.enter(arrival.port, State::Absorption);
            }
        }
    }

    #[inline]
    fn on_dequeue(&mut self, departure: &Departure, buffer: &Buffer) {
        let port = &mut self.ports[usize::from(departure.port)];
        port.dec += 1;
        let underloaded = port.dec >= self.limits.dec;
        let restored = match port.state {
            State::Normal => {
                port.nec = port.nec.saturating_sub(1);
                port.oc1 += 1;
                if port.oc1 >= self.limits.oc1 {
                    (port.nec, port.oc1) = (0, 0);
                }
                if underloaded {
                    port.dc = 0;
                }
                false
            }
            State::Absorption => {
                port.oc2 += 1;
                if underloaded {
                    port.dc = 0;
                }
                underloaded || port.oc2 >= self.limits.oc2
            }
            State::Evacuation => underloaded || buffer.shared_port_bytes(departure.port) < self.limits.lb,
        };
        if restored {
            self.enter(departure.port, State::Normal);
        }
    }

    fn on_drop(&mut self, arrival: &Arrival, reason: DropReason, buffer: &Buffer) {
        let overflow = reason == DropReason::BufferFull;
        let port = &mut self.ports[usize::from(arrival.port)];
        (port.nec, port.oc1) = (0, 0);
        if !self.literal_dec {
            port.dec = 0;
        }
        if port.state == State::Absorption && (overflow || self.any_drop_ends_absorption) {
            self.enter(arrival.port, State::Normal);
        }
        let port = &mut self.ports[usize::from(arrival.port)];
        if port.state != State::Normal {
            return;
        }
        port.dc += 1;
        if port.dc >= self.limits.dc {
            // A port below the lower bound has no excess space to free,
            // because other ports fill the buffer.
            let evacuates = buffer.shared_port_bytes(arrival.port) >= self.limits.lb;
            port.dc = 0;
            if evacuates {
                self.enter(arrival.port, State::Evacuation);
            }
        }
    }

    fn threshold(&self, queue: QueueId, _: Tags, buffer: &Buffer) -> Option<u64> {
        let (port, _) = buffer.port_and_priority(queue);
        Some(rest_of_port(self.port_limit(port, buffer), queue, buffer))
    }

    fn bound(&self, arrival: &Arrival, reason: DropReason, buffer: &Buffer) -> Option<Bound> {
        port_bound(arrival, reason, self.port_limit(arrival.port, buffer), buffer)
    }

    /// Reports `state` of the queue's port: 0 normal, 1 absorption, 2 evacuation.
    fn probe(&self, queue: QueueId, buffer: &Buffer, sink: &mut dyn FnMut(&'static str, f64)) {
        let (index, _) = buffer.port_and_priority(queue);
        let port = &self.ports[usize::from(index)];
        sink("state", f64::from(port.state as u8));
        sink("port_limit_bytes", self.port_limit(index, buffer) as f64);
        sink("absorbing_ports", self.absorbing as f64);
        for (name, count) in
            [("nec", port.nec), ("oc1", port.oc1), ("oc2", port.oc2), ("dec", port.dec), ("dc", port.dc)]
        {
            sink(name, count as f64);
        }
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

    fn shape(capacity: u64, ports: usize) -> SwitchShape {
        let port_rates = vec![BitRate::gbps(1); ports];
        let (profile, max_packet) = (Profile::Paper, 1_500);
        SwitchShape {
            capacity,
            port_rates,
            queues_per_port: 1,
            max_packet,
            profile,
            seed: 0,
            lossless: 0,
            lossless_by_port: Vec::new(),
            foreign_ports: 0,
            accounting: crate::hardware::Accounting::IDEAL,
        }
    }

    fn params(given: &[(&str, ParamValue)]) -> Params {
        let given: Vec<_> = given.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        Params::resolve(PARAMS, Profile::Paper, &given).expect("in domain")
    }

    fn limits(given: &[(&str, ParamValue)], capacity: u64, ports: usize) -> [u64; 6] {
        TrafficAware::new(&params(given), &shape(capacity, ports)).limits()
    }

    #[test]
    fn the_papers_switch_has_the_papers_limits() {
        // TDT section VI-A has the limits 42, 42, 1344, 3 and 333. Twice the buffer is 1334
        // packets, not 1344.
        assert_eq!(limits(&[], 1_000_000, 16), [42, 42, 1_334, 3, 333, 31_250]);
        let paper = [("oc2", ParamValue::Count(1_344))];
        assert_eq!(limits(&paper, 1_000_000, 16)[2], 1_344);
        // Section VI-C of the TDT paper has a buffer of 3 MB, that is 2000 packets.
        assert_eq!(limits(&[], 3_000_000, 16), [125, 125, 4_000, 3, 1_000, 93_750]);
    }

    #[test]
    fn limits_follow_the_packet_size_and_the_burst_rate_and_never_fall_to_zero() {
        let given = [("packet_bytes", ParamValue::Bytes(1)), ("burst_rate", ParamValue::Ratio(5.0))];
        assert_eq!(limits(&given, 64, 4), [16, 4, 128, 3, 32, 8]);
        assert_eq!(limits(&[], 300, 2), [1, 1, 2, 3, 1, 75]);
    }

    #[test]
    fn limits_that_can_never_be_met_are_refused() {
        let refused = |name: &'static str, value| {
            let error = build(&params(&[(name, value)]), &shape(1_000_000, 16)).expect_err("unfit");
            assert_eq!(error.param, name);
            error.message
        };
        let built = |name, value| build(&params(&[(name, value)]), &shape(1_000_000, 16)).map(drop);
        assert!(refused("nec", ParamValue::Count(667)).contains("choose at most 666"));
        assert_eq!(built("nec", ParamValue::Count(666)), Ok(()));
        assert!(refused("lb", ParamValue::Bytes(62_501)).contains("choose at most 62500 B"));
        assert_eq!(built("lb", ParamValue::Bytes(62_500)), Ok(()));
        assert!(refused("packet_bytes", ParamValue::Bytes(1_000_001)).contains("choose at most that"));
        assert_eq!(built("packet_bytes", ParamValue::Bytes(1_000_000)), Ok(()));
    }
}
