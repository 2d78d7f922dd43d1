//! Tests that marks, drops and shares of the simulated switch equal a small model of SAI's
//! semantics.
//!
//! The model is written from `saiwred.h`, `saischeduler.h` and SONiC's tables, and shares no code
//! with the product. A colour without its enable does nothing. The probability rises from 0 at the
//! lower threshold to the drop probability at the upper threshold, and is 1 above. WRED drops a
//! packet without ECN where it marks a packet with ECN. STRICT queues come first, the highest
//! number first. WRR shares packets by weight, and DWRR shares bytes by weight. A peak rate is a
//! bucket of `pbs` bytes that fills at the rate `pir`. Thresholds count cells, and schedulers
//! bytes.

use crate::support::{model, switch};
use bufferlab_core::{Admission, Ecn, Header, Packet, Policy, Switch, SwitchConfig};
use bufferlab_operator::{Kind, Traffic, scenario};
use bufferlab_scenario::load_text;
use bufferlab_units::Time;
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use std::path::Path;

/// Names of the small switch's ports, and indices of the two ports whose queues are full.
const PORTS: [&str; 4] = ["Ethernet0", "Ethernet4", "Ethernet8", "Ethernet12"];
const LOADED: [usize; 2] = [0, 2];
/// Numbers of the queues that receive traffic.
const QUEUES: [usize; 4] = [0, 1, 3, 4];
/// Sizes of packets in whole cells, by index of [`QUEUES`].
const WHOLE: [u64; 4] = [1_024, 1_024, 512, 1_536];
/// Sizes of packets that fill no whole cells. With these sizes, a round of DWRR differs more from
/// exact weighted shares, so overloads must have many rounds.
const BROKEN: [u64; 4] = [1_000, 1_024, 600, 1_400];
/// Size of a memory cell of the chip (bytes).
const CELL: u64 = 256;
/// Number of packets that each port receives, and the gap between packets (ps). The gap gives twice
/// the rate of a port.
const PACKETS: u64 = 900_000;
const GAP_PS: u64 = 41_000;

/// QoS of the switch: schedulers and WRED of the queues with traffic.
struct Qos {
    name: &'static str,
    /// Scheduler kind and weight of the queues of a port, by index of [`QUEUES`].
    schedulers: fn(usize) -> [(&'static str, u64); 4],
    /// Peak rate of a queue of a port, by index of [`QUEUES`].
    rates: fn(usize, usize) -> Option<Rate>,
    /// Peak rate of a whole port.
    port_rate: fn(usize) -> Option<Rate>,
    /// WRED settings of a queue of a port, by index of [`QUEUES`].
    wred: fn(usize, usize) -> Option<Wred>,
    /// Sizes of packets, by index of [`QUEUES`].
    sizes: [u64; 4],
    /// Whether every second packet supports no ECN.
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

/// A peak rate (bytes per second), and the burst size above the peak rate (bytes).
#[derive(Clone, Copy)]
struct Rate {
    pir: u64,
    pbs: u64,
}

const MARK: Wred = Wred { ecn: "ecn_all", enabled: true, thresholds: (10_000, 90_000), percent: 40 };
const DROP: Wred = Wred { ecn: "ecn_none", ..MARK };
const DWRR: [(&str, u64); 4] = [("DWRR", 20), ("DWRR", 20), ("DWRR", 30), ("DWRR", 30)];

const WRR: [(&str, u64); 4] = [("WRR", 10), ("WRR", 20), ("WRR", 40), ("WRR", 30)];
const STRICT: [(&str, u64); 4] = [("STRICT", 1); 4];
const BOTH: [(&str, u64); 4] = [("DWRR", 15), ("DWRR", 45), ("DWRR", 40), ("STRICT", 1)];

fn all() -> [Qos; 14] {
    let qos = |name, schedulers, wred| Qos {
        name,
        schedulers,
        rates: |_, _| None,
        port_rate: |_| None,
        wred,
        sizes: WHOLE,
        mixed: false,
        overload: 600,
    };
    let dropping = |name, schedulers| Qos {
        overload: 60_000,
        sizes: BROKEN,
        ..qos(name, schedulers, |_, _| Some(DROP))
    };
    [
        qos("marks, DWRR", |_| DWRR, |_, _| Some(MARK)),
        qos("marks, WRR", |_| WRR, |_, _| Some(MARK)),
        qos("marks, strict", |_| STRICT, |_, _| Some(MARK)),
        qos("drops, DWRR", |_| DWRR, |_, _| Some(DROP)),
        dropping("drops, strict and DWRR", |_| BOTH),
        qos("a step that drops, WRR", |_| WRR, |_, _| Some(Wred { thresholds: (40_000, 40_000), ..DROP })),
        dropping("drops, schedulers by port", |port| if port == 0 { DWRR } else { BOTH }),
        dropping("drops, strict and WRR by port", |port| if port == 0 { WRR } else { STRICT }),
        Qos {
            rates: |port, queue| match (port, queue) {
                (0, 3) => Some(Rate { pir: 1_250_000_000, pbs: 8_192 }),
                (_, 1) => Some(Rate { pir: 500_000_000, pbs: 20_000 }),
                _ => None,
            },
            ..dropping("drops, rates of queues, strict and DWRR", |_| BOTH)
        },
        Qos {
            port_rate: |port| (port == 2).then_some(Rate { pir: 5_000_000_000, pbs: 100_000 }),
            ..dropping("drops, rate of a port, DWRR", |_| DWRR)
        },
        Qos {
            overload: 60_000,
            ..qos(
                "probabilities by queue, DWRR",
                |_| DWRR,
                |_, queue| Some(Wred { percent: [10, 30, 60, 90][queue], ..DROP }),
            )
        },
        qos(
            "profiles by port, WRR",
            |_| WRR,
            |port, queue| match (port, queue) {
                (0, 0 | 1) => Some(DROP),
                (0, _) => Some(Wred { percent: 80, ..MARK }),
                (_, 2) => None,
                _ => Some(Wred { thresholds: (30_000, 30_000), ..MARK }),
            },
        ),
        Qos { mixed: true, ..qos("packets without ECN, DWRR", |_| DWRR, |_, _| Some(MARK)) },
        qos(
            "colours without their enable, DWRR",
            |_| DWRR,
            |_, queue| Some(Wred { enabled: queue == 0, ..MARK }),
        ),
    ]
}

/// Adds a peak rate to a scheduler.
fn limit(scheduler: &mut Value, rate: Option<Rate>) {
    if let Some(Rate { pir, pbs }) = rate {
        scheduler["pir"] = pir.to_string().into();
        scheduler["pbs"] = pbs.to_string().into();
        scheduler["meter_type"] = "bytes".into();
    }
}

/// Returns the tables of `qos.json` with the tested schedulers and marking profiles.
fn tables(text: &str, qos: &Qos) -> String {
    let mut all: Map<String, Value> = serde_json::from_str(text).expect("the example");
    let (mut schedulers, mut profiles, mut queues) = (Map::new(), Map::new(), Map::new());
    for (index, queue) in QUEUES.iter().enumerate() {
        for (port, name) in PORTS.iter().enumerate() {
            let (kind, weight) = (qos.schedulers)(port)[index];
            let mut scheduler = json!({ "type": kind, "weight": weight.to_string() });
            limit(&mut scheduler, (qos.rates)(port, index));
            schedulers.insert(format!("s{port}q{queue}"), scheduler);
            let mut setting = json!({ "scheduler": format!("s{port}q{queue}") });
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
    for (port, name) in PORTS.iter().enumerate().filter(|(port, _)| (qos.port_rate)(*port).is_some()) {
        let mut scheduler = json!({ "type": "DWRR" });
        limit(&mut scheduler, (qos.port_rate)(port));
        schedulers.insert(format!("p{port}"), scheduler);
        all["PORT_QOS_MAP"][*name]["scheduler"] = format!("p{port}").into();
    }
    // Queues without traffic have strict priority, so that they do not share rounds with the tested
    // queues.
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
    /// Earliest time at which the peak rates let the port send a waiting packet (ps).
    fn next(&self, port: usize) -> Option<u64>;
}

/// The simulated switch with the scenario that `what-if` writes, and the sizes of packets by index
/// of
/// [`QUEUES`].
struct Simulated(Switch<Box<dyn Policy>>, [u64; 4]);

impl Simulated {
    fn new(qos: &Qos) -> Self {
        let config = switch(|name, text| if name == "qos.json" { tables(&text, qos) } else { text });
        let model = model(&config, "trident3");
        let text = scenario("sai", &config, &model, &Traffic::new(Kind::RdmaTcp)).expect("the traffic fits");
        let loaded = load_text(Path::new("sai.toml"), &text, &[]).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
        let (spec, rates) = (&loaded.scenario.switches[0], loaded.scenario.topology.switch_port_rates(0));
        let mut config = SwitchConfig {
            queues_per_port: 8,
            scheduler: spec.scheduler_of(&(0..PORTS.len())).expect("complete"),
            hardware: spec.hardware.switch,
            lossless: spec.lossless(),
            seed: 5,
            ..SwitchConfig::new(spec.buffer_bytes, rates)
        };
        config.marker = spec.ecn.as_ref().map(|ecn| ecn.marker(&config.shape()).expect("it fits"));
        Self(config.build(&spec.policy, &spec.policy_params).expect("it fits"), qos.sizes)
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
        let queue = usize::from(sent.queue.0) % 8;
        let index = QUEUES.iter().position(|one| *one == queue).expect("a queue with traffic");
        let bytes = self.1[index];
        assert_eq!(u64::from(sent.size), bytes.next_multiple_of(CELL), "the memory counts cells");
        Some((queue, bytes, sent.marked))
    }

    fn next(&self, port: usize) -> Option<u64> {
        self.0.next_send(port as u16).map(|time| time.0)
    }
}

/// A token bucket that releases packets while its content is not negative.
#[derive(Clone, Copy)]
struct Bucket {
    rate: Rate,
    /// Content of the token bucket (bytes) at the time `at_ps`.
    content: f64,
    at_ps: u64,
}

impl Bucket {
    fn new(rate: Rate) -> Self {
        Self { rate, content: rate.pbs as f64, at_ps: 0 }
    }

    fn per_ps(&self) -> f64 {
        self.rate.pir as f64 * 1e-12
    }

    /// Earliest time at which the token bucket releases a packet (ps).
    fn next(&self) -> u64 {
        self.at_ps + (-self.content / self.per_ps()).max(0.0).ceil() as u64
    }

    fn take(&mut self, now_ps: u64, bytes: u64) {
        let filled = self.content + (now_ps - self.at_ps) as f64 * self.per_ps();
        self.content = filled.min(self.rate.pbs as f64) - bytes as f64;
        self.at_ps = now_ps;
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
    /// Token buckets for the peak rates of queues, and of ports.
    buckets: ([[Option<Bucket>; 4]; 4], [Option<Bucket>; 4]),
    random: u64,
}

impl<'a> Sai<'a> {
    fn new(qos: &'a Qos) -> Self {
        let (stored, bytes, virtual_time) = Default::default();
        let of_queue = |port, queue| (qos.rates)(port, queue).map(Bucket::new);
        let of_queues = std::array::from_fn(|port| std::array::from_fn(|queue| of_queue(port, queue)));
        let buckets = (of_queues, std::array::from_fn(|port| (qos.port_rate)(port).map(Bucket::new)));
        let random = 0x9e37_79b9_7f4a_7c15;
        Self { qos, stored, bytes, virtual_time, clock: [0.0; 4], buckets, random }
    }

    /// Earliest time at which the peak rates of the queue and of its port let the queue send (ps).
    fn from(&self, port: usize, index: usize) -> u64 {
        let both = [self.buckets.0[port][index], self.buckets.1[port]];
        both.iter().flatten().map(Bucket::next).max().unwrap_or(0)
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
        let index = QUEUES.iter().position(|one| *one == queue).expect("a queue with traffic");
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
        self.bytes[port][index] += bytes.next_multiple_of(CELL);
        true
    }

    fn next(&self, port: usize) -> Option<u64> {
        (0..4).filter(|&one| !self.stored[port][one].is_empty()).map(|one| self.from(port, one)).min()
    }

    fn depart(&mut self, now_ps: u64, port: usize) -> Option<Sent> {
        let may = |&one: &usize| !self.stored[port][one].is_empty() && self.from(port, one) <= now_ps;
        let ready: Vec<usize> = (0..4).filter(may).collect();
        let schedulers = (self.qos.schedulers)(port);
        let strict = ready.iter().copied().filter(|&one| schedulers[one].0 == "STRICT").max();
        let time = |&a: &usize, &b: &usize| self.virtual_time[port][a].total_cmp(&self.virtual_time[port][b]);
        let index = strict.or_else(|| ready.iter().copied().min_by(time))?;
        let (bytes, ecn) = self.stored[port][index].pop_front()?;
        self.bytes[port][index] -= bytes.next_multiple_of(CELL);
        let both = [&mut self.buckets.0[port][index], &mut self.buckets.1[port]];
        both.into_iter().flatten().for_each(|bucket| bucket.take(now_ps, bytes));
        let (kind, weight) = schedulers[index];
        if kind != "STRICT" {
            self.clock[port] = self.virtual_time[port][index];
        }
        let service = if kind == "WRR" { 1.0 } else { bytes as f64 };
        self.virtual_time[port][index] += service / weight as f64;
        let marked = match (self.qos.wred)(port, index) {
            Some(wred) if ecn && wred.ecn == "ecn_all" => self.chooses(wred, self.bytes[port][index]),
            _ => false,
        };
        Some((QUEUES[index], bytes, marked))
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
                match device.next(port).filter(|next| *next > at && *next <= now) {
                    Some(next) => free[port] = next,
                    None => {
                        free[port] = now;
                        break;
                    }
                }
                continue;
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
            let index = (number % 4) as usize;
            let (queue, bytes) = (QUEUES[index], qos.sizes[index]);
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
fn marks_drops_shares_and_rates_equal_those_of_sai_for_fourteen_configurations() {
    for qos in all() {
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
