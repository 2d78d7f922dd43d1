//! Tests that marks, drops and shares of the simulated switch equal a small model of SAI's
//! semantics.
//!
//! The model follows `saiwred.h`, `saischeduler.h` and SONiC's tables, and shares no code with the
//! product. A colour that is not enabled has no effect. The probability rises from 0 at the lower
//! threshold to the drop probability at the upper threshold, and is 1 above the upper threshold.
//! WRED drops a packet without ECN where it marks a packet with ECN. STRICT queues come first, the
//! highest number first. WRR shares packets by weight, and DWRR shares bytes by weight.

use crate::support::{model, switch};
use bufferlab_core::{
    Admission, Ecn, Header, Packet, Policy, Scheduler as CoreScheduler, Switch, SwitchConfig,
};
use bufferlab_operator::{Kind, Traffic, scenario};
use bufferlab_scenario::load_text;
use bufferlab_units::Time;
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use std::path::Path;

/// Names of the small switch's ports, and indices of the two ports whose queues are full.
const PORTS: [&str; 4] = ["Ethernet0", "Ethernet4", "Ethernet8", "Ethernet12"];
const LOADED: [usize; 2] = [0, 2];
/// Queues with traffic, each with the size of its packets: whole cells of 256 B.
const QUEUES: [(usize, u64); 4] = [(0, 1_024), (1, 1_024), (3, 512), (4, 1_536)];
/// Number of packets that each port receives, and the gap between packets. The packets arrive at
/// twice the rate of a port.
const PACKETS: u64 = 900_000;
const GAP_PS: u64 = 41_000;

/// QoS of the switch: schedulers and WRED of the queues with traffic.
struct Qos {
    name: &'static str,
    /// Kind and weight of each queue's scheduler, by index of [`QUEUES`].
    schedulers: [(&'static str, u64); 4],
    /// WRED of a port's queue, by index of [`QUEUES`].
    wred: fn(usize, usize) -> Option<Wred>,
    /// Whether every second packet does not support ECN.
    mixed: bool,
    /// Number of packets in one overload of a port. After an overload, the port is idle for 1.6
    /// times the duration of the overload.
    ///
    /// Without drops a queue grows during the whole overload, so overloads are short. With strict
    /// queues at the port, the other queues need long overloads for many rounds of DWRR.
    overload: u64,
}

impl Qos {
    /// Duration of an overload of a port and of the following idle time.
    fn period_ps(&self) -> u64 {
        self.overload * GAP_PS * 26 / 10
    }
}

#[derive(Clone, Copy)]
struct Wred {
    ecn: &'static str,
    enabled: bool,
    thresholds: (u64, u64),
    percent: u64,
}

const MARK: Wred = Wred { ecn: "ecn_all", enabled: true, thresholds: (10_000, 90_000), percent: 40 };
const DROP: Wred = Wred { ecn: "ecn_none", ..MARK };
const DWRR: [(&str, u64); 4] = [("DWRR", 20), ("DWRR", 20), ("DWRR", 30), ("DWRR", 30)];

fn ten() -> [Qos; 10] {
    let weighted = [("WRR", 10), ("WRR", 20), ("WRR", 40), ("WRR", 30)];
    let strict = [("STRICT", 1); 4];
    let both = [("DWRR", 15), ("DWRR", 45), ("DWRR", 40), ("STRICT", 1)];
    let qos = |name, schedulers, wred| Qos { name, schedulers, wred, mixed: false, overload: 600 };
    [
        qos("marks, DWRR", DWRR, |_, _| Some(MARK)),
        qos("marks, WRR", weighted, |_, _| Some(MARK)),
        qos("marks, strict", strict, |_, _| Some(MARK)),
        qos("drops, DWRR", DWRR, |_, _| Some(DROP)),
        Qos { overload: 60_000, ..qos("drops, strict and DWRR", both, |_, _| Some(DROP)) },
        qos("a step that drops, WRR", weighted, |_, _| Some(Wred { thresholds: (40_000, 40_000), ..DROP })),
        Qos {
            overload: 60_000,
            ..qos("probabilities by queue, DWRR", DWRR, |_, queue| {
                Some(Wred { percent: [10, 30, 60, 90][queue], ..DROP })
            })
        },
        qos("profiles by port, WRR", weighted, |port, queue| match (port, queue) {
            (0, 0 | 1) => Some(DROP),
            (0, _) => Some(Wred { percent: 80, ..MARK }),
            (_, 2) => None,
            _ => Some(Wred { thresholds: (30_000, 30_000), ..MARK }),
        }),
        Qos { mixed: true, ..qos("packets without ECN, DWRR", DWRR, |_, _| Some(MARK)) },
        qos("colours without their enable, DWRR", DWRR, |_, queue| {
            Some(Wred { enabled: queue == 0, ..MARK })
        }),
    ]
}

/// Replaces the QoS tables in the text of `qos.json`.
fn tables(text: &str, qos: &Qos) -> String {
    let mut all: Map<String, Value> = serde_json::from_str(text).expect("the example");
    let (mut schedulers, mut profiles, mut queues) = (Map::new(), Map::new(), Map::new());
    for (index, (queue, _)) in QUEUES.iter().enumerate() {
        let (kind, weight) = qos.schedulers[index];
        schedulers.insert(format!("s{queue}"), json!({ "type": kind, "weight": weight.to_string() }));
        for (port, name) in PORTS.iter().enumerate() {
            let mut setting = json!({ "scheduler": format!("s{queue}") });
            if let Some(wred) = (qos.wred)(port, index) {
                let (profile, (min, max)) = (format!("w{port}q{queue}"), wred.thresholds);
                setting["wred_profile"] = profile.clone().into();
                let fields = json!({
                    "ecn": wred.ecn, "wred_green_enable": wred.enabled.to_string(),
                    "green_min_threshold": min.to_string(), "green_max_threshold": max.to_string(),
                    "green_drop_probability": wred.percent.to_string(),
                });
                profiles.insert(profile, fields);
            }
            queues.insert(format!("{name}|{queue}"), setting);
        }
    }
    // Queues without traffic have strict priority, so that these queues do not share rounds with
    // the tested queues.
    schedulers.insert("rest".to_owned(), json!({ "type": "STRICT" }));
    for (name, queue) in PORTS.iter().flat_map(|name| [2, 5, 6, 7].map(|queue| (name, queue))) {
        queues.insert(format!("{name}|{queue}"), json!({ "scheduler": "rest" }));
    }
    all.insert("SCHEDULER".to_owned(), schedulers.into());
    all.insert("WRED_PROFILE".to_owned(), profiles.into());
    all.insert("QUEUE".to_owned(), queues.into());
    serde_json::to_string(&all).expect("a table")
}

/// A sent packet: its queue, its bytes, and whether the packet was marked.
type Sent = (usize, u64, bool);

trait Device {
    /// Offers a packet to the switch, and returns whether the switch stores the packet.
    fn arrive(&mut self, now_ps: u64, port: usize, queue: usize, bytes: u64, ecn: bool) -> bool;
    fn depart(&mut self, now_ps: u64, port: usize) -> Option<Sent>;
}

/// The simulated switch with the scenario that the command `what-if` writes.
struct Simulated(Switch<Box<dyn Policy>>);

impl Simulated {
    fn new(qos: &Qos) -> Self {
        let config = switch(|name, text| if name == "qos.json" { tables(&text, qos) } else { text });
        let model = model(&config, "trident3");
        let text = scenario("sai", &config, &model, &Traffic::new(Kind::RdmaTcp)).expect("the traffic fits");
        let loaded = load_text(Path::new("sai.toml"), &text, &[]).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
        let (spec, rates) = (&loaded.scenario.switches[0], loaded.scenario.topology.switch_port_rates(0));
        let mut config = SwitchConfig {
            queues_per_port: 8,
            scheduler: CoreScheduler::new(&spec.scheduler, 8).expect("complete"),
            hardware: spec.hardware.switch,
            lossless: spec.lossless(),
            seed: 5,
            ..SwitchConfig::new(spec.buffer_bytes, rates)
        };
        config.marker = spec.ecn.as_ref().map(|ecn| ecn.marker(&config.shape()).expect("it fits"));
        Self(config.build(&spec.policy, &spec.policy_params).expect("it fits"))
    }
}

impl Device for Simulated {
    fn arrive(&mut self, now_ps: u64, port: usize, queue: usize, bytes: u64, ecn: bool) -> bool {
        let ecn = if ecn { Ecn::Capable } else { Ecn::NotCapable };
        let header = Header { priority: queue as u8, ecn, ..Header::new(bytes as u32) };
        let ingress_port = (port as u16 + 1 + (now_ps / GAP_PS % 3) as u16) % 4;
        let packet = Packet { id: 0, header, ingress_port, egress_port: port as u16 };
        matches!(self.0.handle_arrival(Time(now_ps), &packet, &mut ()), Admission::Stored { .. })
    }

    fn depart(&mut self, now_ps: u64, port: usize) -> Option<Sent> {
        let sent = self.0.poll_transmit(Time(now_ps), port as u16, &mut ())?;
        Some((usize::from(sent.queue.0) % 8, u64::from(sent.size), sent.marked))
    }
}

/// A small model of a switch with SAI's semantics.
struct Sai<'a> {
    qos: &'a Qos,
    /// Sizes and ECN of stored packets, by port and index of [`QUEUES`].
    stored: [[VecDeque<(u64, bool)>; 4]; 4],
    bytes: [[u64; 4]; 4],
    /// Service that a queue received, divided by the queue's weight.
    virtual_time: [[f64; 4]; 4],
    /// Virtual time at which the last packet of a queue with a weight was sent, by port.
    clock: [f64; 4],
    random: u64,
}

impl<'a> Sai<'a> {
    fn new(qos: &'a Qos) -> Self {
        let (stored, bytes, virtual_time) = Default::default();
        Self { qos, stored, bytes, virtual_time, clock: [0.0; 4], random: 0x9e37_79b9_7f4a_7c15 }
    }

    /// Whether WRED selects a packet for a mark or drop at the given length of the queue.
    fn chooses(&mut self, wred: Wred, length: u64) -> bool {
        let (min, max) = wred.thresholds;
        if !wred.enabled || length <= min {
            return false;
        }
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let random = (self.random >> 11) as f64 / (1_u64 << 53) as f64;
        length > max || random < wred.percent as f64 / 100.0 * (length - min) as f64 / (max - min) as f64
    }
}

impl Device for Sai<'_> {
    fn arrive(&mut self, _: u64, port: usize, queue: usize, bytes: u64, ecn: bool) -> bool {
        let index = QUEUES.iter().position(|one| one.0 == queue).expect("a queue with traffic");
        if let Some(wred) = (self.qos.wred)(port, index)
            && (!ecn || wred.ecn == "ecn_none")
            && self.chooses(wred, self.bytes[port][index])
        {
            return false;
        }
        if self.stored[port][index].is_empty() {
            let own = &mut self.virtual_time[port][index];
            *own = own.max(self.clock[port]);
        }
        self.stored[port][index].push_back((bytes, ecn));
        self.bytes[port][index] += bytes;
        true
    }

    fn depart(&mut self, _: u64, port: usize) -> Option<Sent> {
        let ready: Vec<usize> = (0..4).filter(|&one| !self.stored[port][one].is_empty()).collect();
        let strict = ready.iter().copied().filter(|&one| self.qos.schedulers[one].0 == "STRICT").max();
        let time = |&a: &usize, &b: &usize| self.virtual_time[port][a].total_cmp(&self.virtual_time[port][b]);
        let index = strict.or_else(|| ready.iter().copied().min_by(time))?;
        let (bytes, ecn) = self.stored[port][index].pop_front()?;
        self.bytes[port][index] -= bytes;
        let (kind, weight) = self.qos.schedulers[index];
        if kind != "STRICT" {
            self.clock[port] = self.virtual_time[port][index];
        }
        let service = if kind == "WRR" { 1.0 } else { bytes as f64 };
        self.virtual_time[port][index] += service / weight as f64;
        let marked = match (self.qos.wred)(port, index) {
            Some(wred) if ecn && wred.ecn == "ecn_all" => self.chooses(wred, self.bytes[port][index]),
            _ => false,
        };
        Some((QUEUES[index].0, bytes, marked))
    }
}

/// Marks, drops and bytes of a port by queue; only bytes sent during overloads count.
#[derive(Default, Debug)]
struct Counts {
    marks: [u64; 8],
    drops: [u64; 8],
    bytes: [u64; 8],
}

/// Sends the test's traffic through the switch, and counts marks, drops and bytes.
fn play(device: &mut dyn Device, qos: &Qos) -> [Counts; 4] {
    let period_ps = qos.period_ps();
    let mut counts: [Counts; 4] = Default::default();
    let mut free = [0; 4];
    let mut send = |device: &mut dyn Device, counts: &mut [Counts; 4], port: usize, now: u64| {
        while free[port] <= now {
            let at: u64 = free[port];
            let Some((queue, bytes, marked)) = device.depart(at, port) else {
                free[port] = now;
                break;
            };
            free[port] += bytes * 80;
            counts[port].marks[queue] += u64::from(marked);
            let overloaded = (5_000_000..qos.overload * GAP_PS).contains(&(at % period_ps));
            counts[port].bytes[queue] += if overloaded { bytes } else { 0 };
        }
    };
    for period in 0..PACKETS / qos.overload {
        for number in 0..qos.overload {
            let now = period * period_ps + number * GAP_PS;
            let (queue, bytes) = QUEUES[(number % 4) as usize];
            let ecn = !qos.mixed || (number / 4) % 2 == 0;
            for port in LOADED {
                send(device, &mut counts, port, now);
                let stored = device.arrive(now, port, queue, bytes, ecn);
                counts[port].drops[queue] += u64::from(!stored);
            }
        }
        for port in LOADED {
            send(device, &mut counts, port, (period + 1) * period_ps - 1);
        }
    }
    counts
}

/// Whether two counts differ by at most 1 % of `of`, which is the packets of a queue or the bytes
/// of a port.
fn equal(a: u64, b: u64, of: u64) -> bool {
    a.abs_diff(b) * 100 <= of
}

#[test]
fn marks_drops_and_shares_equal_those_of_sai_for_ten_configurations() {
    for qos in ten() {
        let (mut simulated, mut sai) = (Simulated::new(&qos), Sai::new(&qos));
        let (found, expected) = (play(&mut simulated, &qos), play(&mut sai, &qos));
        for port in LOADED {
            let (found, expected) = (&found[port], &expected[port]);
            let all = |list: &[u64; 8]| list.iter().sum::<u64>();
            for (own, other) in [(&found.marks, &expected.marks), (&found.drops, &expected.drops)] {
                let say = format!("{}, port {port}: {own:?}, SAI {other:?}", qos.name);
                let of_queue = PACKETS / 4;
                assert!(own.iter().zip(other).all(|(a, b)| equal(*a, *b, of_queue)), "{say}");
            }
            let sent = all(&expected.bytes);
            let shares = found.bytes.iter().zip(&expected.bytes);
            let say = format!("{}, port {port}: {found:?}, SAI {expected:?}", qos.name);
            assert!(shares.into_iter().all(|(own, other)| equal(*own, *other, sent)), "{say}");
        }
        let done = |counts: &[Counts; 4]| {
            counts.iter().map(|one| one.marks.iter().chain(&one.drops).sum::<u64>()).sum::<u64>()
        };
        assert!(done(&expected) > 20_000, "{}: {expected:?} is too little to compare", qos.name);
    }
}
