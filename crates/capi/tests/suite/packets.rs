//! Compares the results of the C interface with the core's results, packet by packet. A C program
//! and this test replay one list of operations and compare digests of all verdicts, victims, marks,
//! departures, pauses, thresholds and lengths.
//!
//! `BUFFERLAB_CAPI_PACKETS` sets the number of packets (10⁵ by default).

use crate::support::{compile, crate_folder, has, run, shared, stdout};
use bufferlab_capi::{NO_REASON, event_code, reason_code};
use bufferlab_core::{
    Admission, Buffer, Ecn, Header, Marker, Observer, Packet, PacketEvent, ParamValue, Policy, QueueId,
    Switch, SwitchConfig, SwitchEvent, Tags,
};
use bufferlab_units::{BitRate, RandomStream, Time, mix};
use std::fmt::Write as _;
use std::path::Path;

const POLICIES: [&str; 10] =
    ["dt", "abm", "plasticine", "losspass", "occamy", "lqd", "tdt", "harmonic", "edt", "credence"];
const PORTS: u16 = 8;
const QUEUES: usize = 4;
const CAPACITY: u64 = 400_000;
const MARK_ABOVE: u64 = 8_000;
const SEED: u64 = 7;

#[derive(Clone, Copy)]
enum Operation {
    Arrive(Packet),
    Depart(u16),
    Pause(u16, u8, bool),
}

/// Returns random operations: overload that alternates with draining, and bursts to a few ports.
fn operations(packets: u32) -> Vec<(u64, Operation)> {
    let mut stream = RandomStream::new(SEED, "capi/operations", 0);
    let mut draw = move |bound: u64| stream.below(bound);
    let (mut list, mut now, mut id) = (Vec::new(), 0_u64, 0_u32);
    let (mut arrivals_of_16, mut busy) = (9, 0);
    while id < packets {
        // Eight ports at 10 Gb/s send a packet of 750 B every 75 ns, the mean gap between arrivals.
        now += draw(150_000);
        if draw(500) == 0 {
            arrivals_of_16 = [2, 6, 9, 13][draw(4) as usize];
            busy = draw(PORTS.into());
        }
        let port = if draw(3) == 0 { draw(PORTS.into()) } else { busy + draw(2) } as u16 % PORTS;
        let operation = if draw(1_000) == 0 {
            Operation::Pause(port, draw(QUEUES as u64) as u8, draw(3) == 0)
        } else if draw(16) < arrivals_of_16 {
            let ecn = [Ecn::Capable, Ecn::Capable, Ecn::NotCapable, Ecn::Marked][draw(4) as usize];
            let header = Header {
                size: 64 + draw(1_437) as u32,
                flow: draw(200) as u32,
                tags: Tags(draw(16) as u16),
                priority: draw(QUEUES as u64) as u8,
                ecn,
            };
            let ingress_port = draw(PORTS.into()) as u16;
            id += 1;
            Operation::Arrive(Packet { id: id - 1, header, ingress_port, egress_port: port })
        } else {
            Operation::Depart(port)
        };
        list.push((now, operation));
    }
    list
}

fn write(operations: &[(u64, Operation)]) -> String {
    let mut text = String::new();
    for (now, operation) in operations {
        let _ = match operation {
            Operation::Arrive(packet) => {
                let Header { size, flow, tags, priority, ecn } = packet.header;
                let (from, to) = (packet.ingress_port, packet.egress_port);
                let (id, tags, ecn) = (packet.id, tags.0, ecn as u8);
                writeln!(text, "A {now} {id} {size} {flow} {from} {to} {tags} {priority} {ecn}")
            }
            Operation::Depart(port) => writeln!(text, "D {now} {port}"),
            Operation::Pause(port, priority, paused) => {
                writeln!(text, "P {now} {port} {priority} {}", u8::from(*paused))
            }
        };
    }
    text
}

struct Totals {
    digest: u64,
    packets: u64,
    drops: u64,
    evictions: u64,
    marks: u64,
    departures: u64,
    pauses: u64,
    timers: u64,
}

impl Totals {
    fn take(&mut self, word: u64) {
        for byte in word.to_le_bytes() {
            self.digest = (self.digest ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}

impl Observer for Totals {
    fn on(&mut self, event: &SwitchEvent<'_>, buffer: &Buffer) {
        match *event {
            SwitchEvent::Evicted { now, queue, stored, reason } => {
                let (port, queue) = buffer.port_and_priority(queue);
                self.evictions += 1;
                let kind = event_code(PacketEvent::Evicted);
                let header = [now.0, kind.into(), port.into(), queue.into()];
                let packet = [stored.packet.into(), stored.header.size.into(), reason_code(reason).into()];
                header.into_iter().chain(packet).for_each(|word| self.take(word));
            }
            SwitchEvent::PauseChanged { now, ingress, paused } => {
                let (port, priority) = buffer.port_and_priority(QueueId(ingress.0));
                self.pauses += 1;
                let kind = if paused { PacketEvent::Paused } else { PacketEvent::Resumed };
                [now.0, event_code(kind).into(), port.into(), priority.into()]
                    .into_iter()
                    .for_each(|word| self.take(word));
            }
            _ => {}
        }
    }
}

/// Computes digest and counts of the core's results. A callback in C runs before its call returns.
/// So C and Rust add the events of a call to the digest before they add the result of the call.
fn replay(mut core: Switch<Box<dyn Policy>>, operations: &[(u64, Operation)]) -> String {
    let mut totals = Totals {
        digest: 0xcbf2_9ce4_8422_2325,
        packets: 0,
        drops: 0,
        evictions: 0,
        marks: 0,
        departures: 0,
        pauses: 0,
        timers: 0,
    };
    for &(now, operation) in operations {
        let now = Time(now);
        while let Some(at) = core.poll_timeout().filter(|&at| at <= now) {
            totals.timers += 1;
            core.handle_timeout(at, &mut totals);
            totals.take(core.buffer().occupancy());
        }
        match operation {
            Operation::Arrive(packet) => arrive(&mut core, now, &packet, &mut totals),
            Operation::Depart(port) => match core.poll_transmit(now, port, &mut totals) {
                None => totals.take(0),
                Some(sent) => {
                    totals.departures += 1;
                    totals.marks += u64::from(sent.marked);
                    let (_, queue) = core.buffer().port_and_priority(sent.queue);
                    let words = [sent.packet.into(), sent.size.into(), queue.into()];
                    let flags = [sent.marked.into(), sent.more.into()];
                    words.into_iter().chain(flags).for_each(|word| totals.take(word));
                }
            },
            Operation::Pause(port, priority, paused) => core.handle_pause(port, priority, paused),
        }
    }
    core.verify().expect("the ledger is right");
    let Totals { digest, packets, drops, evictions, marks, departures, pauses, timers } = totals;
    let stored = core.buffer().occupancy();
    format!(
        "digest {digest:016x} packets {packets} drops {drops} evictions {evictions} marks {marks} departures {departures} \
         pauses {pauses} timers {timers} stored {stored}\n"
    )
}

fn arrive(core: &mut Switch<Box<dyn Policy>>, now: Time, packet: &Packet, totals: &mut Totals) {
    let admission = core.handle_arrival(now, packet, totals);
    let queue = core.queue_of(packet);
    let (_, priority) = core.buffer().port_and_priority(queue);
    let (event, reason, marked) = match admission {
        Admission::Stored { marked } => (PacketEvent::Admitted, NO_REASON, marked),
        Admission::Refused(refusal) => (refusal.outcome, reason_code(refusal.reason), false),
    };
    totals.packets += 1;
    totals.marks += u64::from(marked);
    totals.drops += u64::from(event != PacketEvent::Admitted);
    [event_code(event).into(), reason.into(), marked.into(), priority.into()]
        .into_iter()
        .for_each(|word| totals.take(word));
    if let Some(threshold) = core.threshold(queue, packet.header.tags) {
        totals.take(threshold);
    }
    totals.take(core.buffer().queue_bytes(queue));
}

fn config() -> SwitchConfig {
    let rates = vec![BitRate::gbps(10); PORTS.into()];
    SwitchConfig { max_packet: 1_500, ..SwitchConfig::new(CAPACITY, rates).with_queues(QUEUES) }
}

/// Returns the line that the C program prints for one policy. The policy is given by a scenario
/// text with marks, or by name.
fn c_line(folder: &Path, list: &Path, arguments: &[&str]) -> String {
    let (list, ports) = (list.to_str().expect("UTF-8"), PORTS.to_string());
    let first = [list, &ports, "10000000000"];
    let all: Vec<&str> = first.into_iter().chain(arguments.iter().copied()).collect();
    stdout(&run(&folder.join("replay"), folder, &all))
}

/// Runs the C program for a scenario with `keys` in `[switch]`, and returns its output line.
fn from_scenario(folder: &Path, list: &Path, keys: &str) -> String {
    let text = format!(
        "seed = {SEED}\n[switch]\nbuffer = \"{CAPACITY} B\"\nqueues_per_port = {QUEUES}\n{keys}\n\
         ecn = {{ kind = \"step\", threshold = \"{MARK_ABOVE} B\" }}\n"
    );
    let scenario = folder.join("scenario.toml");
    std::fs::write(&scenario, text).expect("a file");
    c_line(folder, list, &["toml", scenario.to_str().expect("UTF-8")])
}

#[test]
fn verdicts_victims_and_marks_of_ten_policies_are_those_of_the_core() {
    if !has("cc", "the C program against the core") {
        return;
    }
    let given = std::env::var("BUFFERLAB_CAPI_PACKETS").ok();
    let packets = given.map_or(100_000, |text| text.parse().expect("a number of packets"));
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let shared = shared();
    let link: Vec<&str> = shared.iter().map(String::as_str).collect();
    let source = crate_folder().join("tests/c/replay.c");
    let _ = stdout(&compile(&[&source], &link, &folder.join("replay")));
    let operations = operations(packets);
    let list = folder.join("operations");
    std::fs::write(&list, write(&operations)).expect("a file");

    let mut lines = Vec::new();
    let marking =
        SwitchConfig { marker: Some(Marker::step(MARK_ABOVE)), seed: mix(SEED ^ mix(1)), ..config() };
    for policy in POLICIES {
        let rust = replay(marking.build(policy, &[]).expect("a switch"), &operations);
        let c = from_scenario(folder, &list, &format!("policy = \"{policy}\""));
        assert_eq!(c, rust, "{policy} from a scenario's text");
        println!("{policy}: {rust}");
        lines.push(rust);

        let by_name = SwitchConfig { seed: SEED, ..config() };
        let some = &operations[..operations.len().min(50_000)];
        let rust = replay(by_name.build(policy, &[]).expect("a switch"), some);
        let short = folder.join("some");
        std::fs::write(&short, write(some)).expect("a file");
        let (capacity, queues, seed) = (CAPACITY.to_string(), QUEUES.to_string(), SEED.to_string());
        let c = c_line(folder, &short, &["policy", policy, &capacity, &queues, &seed]);
        assert_eq!(c, rust, "{policy} by name");
    }
    let lossless = SwitchConfig { lossless: 1 << 1, ..marking };
    let headroom = [("headroom".to_owned(), ParamValue::Bytes(20_000))];
    let rust = replay(lossless.build("sonic-dt", &headroom).expect("a switch"), &operations);
    let keys = "policy = { name = \"sonic-dt\", headroom = \"20 KB\" }\npfc = { priorities = [1] }";
    assert_eq!(from_scenario(folder, &list, keys), rust, "a lossless priority");
    assert!(!rust.contains(" pauses 0 "), "{rust}");

    let digests: std::collections::BTreeSet<_> = lines.iter().map(|line| &line[..23]).collect();
    assert_eq!(digests.len(), POLICIES.len(), "every policy decides differently: {lines:?}");
    assert!(lines.iter().all(|line| !line.contains(" drops 0 ") && !line.contains(" marks 0 ")));
    assert!(lines.iter().any(|line| !line.contains(" evictions 0 ")));
    assert!(lines.iter().any(|line| !line.contains(" timers 0 ")));
}
