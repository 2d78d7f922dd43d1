//! Tests of the completion time of a single flow on an empty network,
//! compared with closed forms to the nanosecond.
//!
//! A path is a chain of hops, each with a rate and a delay. Every hop stores and forwards.
//! `s(b)` is the serialization time of b bytes on the wire. With equal rates, n packets
//! sent back to back arrive at `(n − 1)·s(full) + Σ delays + (hops − 1)·s(full) + s(last)`:
//! the last packet waits for a full packet at every hop.

use crate::support::{Lab, Rows, flow, run, run_fast, star};
use bufferlab_units::{BitRate, Time};

/// Defaults of a transport, repeated in these tests on purpose (bytes).
const SEGMENT: u64 = 1_400;
const FULL: u64 = 1_454;
const HEADER: u64 = 54;
const ACK: u64 = 54;
/// Size of SYN and SYN-ACK (bytes): an acknowledgement with the option for the segment size.
const SYN: u64 = 58;

#[derive(Clone, Copy)]
struct Hop {
    rate: BitRate,
    delay: Time,
}

fn hops(count: usize, gbps: u64, delay_us: u64) -> Vec<Hop> {
    vec![Hop { rate: BitRate::gbps(gbps), delay: Time::from_us(delay_us) }; count]
}

/// Time of a single packet over a path (ps). Each hop of the path serializes the packet again.
fn alone(path: &[Hop], bytes: u64) -> u64 {
    path.iter().map(|hop| hop.rate.serialization(bytes).0 + hop.delay.0).sum()
}

/// Number of segments of a flow, and size of its last frame (bytes).
fn frames(size: u64) -> (u64, u64) {
    let count = size.div_ceil(SEGMENT);
    (count, size - (count - 1) * SEGMENT + HEADER)
}

/// Time from the first bit of the first packet to the last bit of the last packet (ps),
/// for `count` packets sent back to back over hops of one rate.
fn train(path: &[Hop], count: u64, last: u64) -> u64 {
    if count == 1 {
        return alone(path, last);
    }
    let full = path[0].rate.serialization(FULL).0;
    let delays: u64 = path.iter().map(|hop| hop.delay.0).sum();
    (count - 1) * full + delays + (path.len() as u64 - 1) * full + path[0].rate.serialization(last).0
}

/// Time of slow start without loss over hops of one rate (ps). Round r has W·2^r packets. Round r
/// begins when the first acknowledgement of round r − 1 arrives, or when that round's packets have
/// left, whichever is later. Within a round, two packets follow every acknowledgement, so the
/// packets leave back to back.
fn slow_start(path: &[Hop], size: u64, window: u64, handshake: bool) -> u64 {
    let round_trip = alone(path, FULL) + alone(path, ACK);
    let full = path[0].rate.serialization(FULL).0;
    let (count, last) = frames(size);
    let (mut start, mut left, mut round) = (if handshake { 2 * alone(path, SYN) } else { 0 }, count, window);
    let mut follows = false;
    while left > round {
        follows = round * full > round_trip;
        start += round_trip.max(round * full);
        left -= round;
        round *= 2;
    }
    // If the last packet begins a round of slow start, no packet precedes this packet, unless the
    // rounds follow each other without a gap.
    let extra = if left == 1 && follows {
        (path.len() as u64 - 1) * (full - path[0].rate.serialization(last).0)
    } else {
        0
    };
    start + train(path, left, last) + extra
}

struct Network {
    topology: String,
    hosts: u32,
    /// Destinations of host 0, with the number of hops to each.
    pairs: Vec<(u32, usize)>,
}

fn networks(gbps: u64, delay_us: u64) -> Vec<Network> {
    let rates = |keys: &str| {
        keys.replace("RATE", &format!("\"{gbps} Gb/s\"")).replace("DELAY", &format!("\"{delay_us} us\""))
    };
    vec![
        Network {
            topology: star(3, &format!("{gbps} Gb/s"), &format!("{delay_us} us")),
            hosts: 3,
            pairs: vec![(2, 2)],
        },
        Network {
            topology: rates(
                "kind = \"leaf_spine\"\nleaves = 2\nhosts_per_leaf = 2\nspines = 2\nlinks_per_pair = 2\nhost_rate = RATE\n\
                 delay = DELAY",
            ),
            hosts: 4,
            pairs: vec![(1, 2), (3, 4)],
        },
        Network {
            topology: rates("kind = \"fat_tree\"\nk = 4\nrate = RATE\ndelay = DELAY"),
            hosts: 16,
            pairs: vec![(1, 2), (3, 4), (15, 6)],
        },
    ]
}

fn transport(control: &str, window: &str, handshake: bool) -> String {
    format!("congestion_control = \"{control}\"\ninitial_window = {window}\nhandshake = {handshake}")
}

const SWITCH: &str = "buffer = \"1 MB\"\npolicy = \"dt\"\necn = { kind = \"step\", threshold = \"91 KB\" }";

/// Completion time of one flow that starts at an odd picosecond (ns).
fn measured(network: &Network, transport: &str, dst: u32, size: u64) -> (u64, Rows) {
    assert!(dst < network.hosts);
    let lab = Lab::new(&network.topology, SWITCH, transport);
    let scenario = lab.flows(vec![flow(0, dst, size, Time(1_234_567_891))]);
    let rows = if size < 1_000_000 { run(&scenario) } else { run_fast(&scenario) };
    let row = rows.flow(0);
    assert_eq!((row.timeouts, row.retransmitted_packets, row.dropped_packets), (0, 0, 0));
    assert_eq!(row.sent_packets, frames(size).0);
    (row.fct_ns.expect("it finishes"), rows)
}

#[test]
fn a_flow_that_fits_its_first_window_takes_exactly_its_serialization_and_delays() {
    for network in networks(10, 10).into_iter().chain(networks(100, 1)) {
        for &(dst, length) in &network.pairs {
            let gbps = if network.topology.contains("100 Gb/s") { 100 } else { 10 };
            let path = hops(length, gbps, if gbps == 100 { 1 } else { 10 });
            for size in [1, 53, 1_399, 1_400, 1_401, 5_000, 14_000, 77_000, 1_000_000] {
                for (window, segments) in [("1", 1), ("10", 10), ("55", 55), ("\"whole\"", u64::MAX)] {
                    for handshake in [false, true] {
                        let (count, last) = frames(size);
                        if count > segments {
                            continue;
                        }
                        let opening = if handshake { 2 * alone(&path, SYN) } else { 0 };
                        let expected = Time(opening + train(&path, count, last)).as_ns();
                        let (fct, rows) =
                            measured(&network, &transport("dctcp", window, handshake), dst, size);
                        assert_eq!(
                            fct, expected,
                            "{size} B over {length} hops of {gbps} Gb/s, window {window}, handshake {handshake}"
                        );
                        // The slowdown divides by the ideal time: the propagation in both
                        // directions, and the payload at the host's rate.
                        let propagation = 2 * path.iter().map(|hop| hop.delay.0).sum::<u64>();
                        let ideal = propagation as f64 / 1e3 + size as f64 * 8.0 / gbps as f64;
                        let found = rows.flow(0).ideal_ns;
                        assert!((found - ideal).abs() < 1e-6, "{found}, expected {ideal}");
                    }
                }
            }
        }
    }
}

#[test]
fn slow_start_takes_its_rounds() {
    for network in networks(10, 10) {
        for &(dst, length) in &network.pairs {
            let path = hops(length, 10, 10);
            for size in [1_401, 30_000, 100_000, 1_000_000, 10_000_000] {
                for window in [1, 2, 10, 55] {
                    for (control, handshake) in
                        [("newreno", false), ("dctcp", true), ("cubic", false), ("ecn-star", true)]
                    {
                        let (count, _) = frames(size);
                        if count <= window {
                            continue;
                        }
                        let expected = Time(slow_start(&path, size, window, handshake)).as_ns();
                        let keys = transport(control, &window.to_string(), handshake);
                        let (fct, _) = measured(&network, &keys, dst, size);
                        assert_eq!(fct, expected, "{size} B over {length} hops, {control}, window {window}");
                    }
                }
            }
        }
    }
}

#[test]
fn an_early_opened_connection_needs_no_handshake() {
    let network = &networks(10, 10)[0];
    let lab = Lab::new(&network.topology, SWITCH, &transport("newreno", "10", true));
    let mut early = flow(0, 2, 5_000, Time::from_us(300));
    early.open = Some(Time::from_us(100));
    let mut late = flow(0, 2, 5_000, Time::from_us(900));
    late.open = Some(late.start);
    let rows = run(&lab.flows(vec![early, late]));
    let path = hops(2, 10, 10);
    let (count, last) = frames(5_000);
    let data = train(&path, count, last);
    assert_eq!(rows.flow(0).fct_ns, Some(Time(data).as_ns()));
    assert_eq!(rows.flow(1).fct_ns, Some(Time(2 * alone(&path, SYN) + data).as_ns()));
}

/// Arrival time of the last bit of the last frame of `frames`, over hops of any rates (ps). Packet
/// i leaves hop j when it has arrived at the hop and packet i − 1 has left (Lindley's recursion).
fn tandem(path: &[Hop], frames: &[u64]) -> u64 {
    let mut free = vec![0; path.len()];
    let mut arrival = 0;
    for &bytes in frames {
        arrival = 0;
        for (hop, free) in path.iter().zip(&mut free) {
            *free = arrival.max(*free) + hop.rate.serialization(bytes).0;
            arrival = *free + hop.delay.0;
        }
    }
    arrival
}

#[test]
fn hops_of_different_rates_are_exact_too() {
    // At the rates of these links, a byte takes a fractional number of picoseconds, which is
    // rounded up for each packet.
    for (host, fabric, down) in
        [("10 Gb/s", "40 Gb/s", 10_000), ("25 Gb/s", "10 Gb/s", 3_000), ("7 Gb/s", "3 Gb/s", 995)]
    {
        let topology = format!(
            "kind = \"leaf_spine\"\nleaves = 2\nhosts_per_leaf = 1\nspines = 1\nhost_rate = \"{host}\"\n\
             fabric_rate = \"{fabric}\"\ndelay = \"1500 ns\"\nfabric_delay = \"3 us\"\n\
             change = [{{ link = \"leaf1-h1\", rate_ab = \"{down} Mb/s\" }}]"
        );
        let rate = |text: &str| BitRate::gbps(text.trim_end_matches(" Gb/s").parse().expect("a number"));
        let (edge, core) = (Time::from_ns(1_500), Time::from_us(3));
        let path = [
            Hop { rate: rate(host), delay: edge },
            Hop { rate: rate(fabric), delay: core },
            Hop { rate: rate(fabric), delay: core },
            Hop { rate: BitRate::mbps(down), delay: edge },
        ];
        let network = Network { topology, hosts: 2, pairs: vec![(1, 4)] };
        for size in [1, 1_401, 20_000, 300_001] {
            let (count, last) = frames(size);
            let mut sizes = vec![FULL; count as usize - 1];
            sizes.push(last);
            let expected = Time(tandem(&path, &sizes)).as_ns();
            let (fct, _) = measured(&network, &transport("newreno", "\"whole\"", false), 1, size);
            assert_eq!(fct, expected, "{size} B over {host}, {fabric}, {down} Mb/s");
        }
    }
}

#[test]
fn delayed_acknowledgements_cost_their_timeout_where_nothing_else_comes() {
    // The window allows one segment, but the receiver waits for a second segment.
    // So each segment except the last costs a timeout.
    let keys = "congestion_control = \"newreno\"\ninitial_window = 1\nhandshake = false\nack_every = 4\n\
                delayed_ack_timeout = \"200 us\"";
    let network = &networks(10, 10)[0];
    let path = hops(2, 10, 10);
    let (fct, _) = measured(network, keys, 2, 2 * SEGMENT);
    let expected = alone(&path, FULL) + Time::from_us(200).0 + alone(&path, ACK) + alone(&path, FULL);
    assert_eq!(fct, Time(expected).as_ns());
}

#[test]
fn flows_that_start_at_line_rate_stay_there_when_alone() {
    for network in networks(10, 10) {
        // The longest path determines the base round trip, so flows on shorter paths
        // have more window than they need.
        for &(dst, length) in &network.pairs {
            let path = hops(length, 10, 10);
            for size in [1, 1_401, 30_000, 100_000, 300_001, 10_000_000] {
                let (count, last) = frames(size);
                let expected = Time(2 * alone(&path, SYN) + train(&path, count, last)).as_ns();
                for control in ["powertcp", "theta-powertcp", "timely"] {
                    let (fct, _) = measured(&network, &transport(control, "\"bdp\"", true), dst, size);
                    assert_eq!(fct, expected, "{size} B over {length} hops, {control}");
                }
            }
        }
    }
}

fn assert_within_2_percent(found_ns: u64, expected_ps: u64, what: &str) {
    let ratio = found_ns as f64 * 1e3 / expected_ps as f64;
    assert!((0.98..1.02).contains(&ratio), "{what}: {found_ns} ns, {ratio} of what was expected");
}

#[test]
fn hpcc_leaves_five_percent_of_an_empty_network_idle() {
    for network in networks(10, 10) {
        let longest = network.pairs.iter().map(|pair| pair.1).max().expect("a pair");
        for &(dst, length) in network.pairs.iter().filter(|pair| pair.1 == longest) {
            let path = hops(length, 10, 10);
            let (base, full) = (alone(&path, FULL) + alone(&path, ACK), path[0].rate.serialization(FULL).0);
            for size in [1, 30_000, 100_000, 300_001, 1_000_000, 10_000_000] {
                let (count, last) = frames(size);
                // The flow sends for one round trip at line rate until the first report has
                // returned. Then the flow has the window W with W = eta BDP + W_AI.
                let first = count.min(base / full);
                let rest = (count - first) as f64 * full as f64 * (1.0 / (0.95 + 0.05 / 100.0) - 1.0);
                let expected = train(&path, count, last) + rest as u64;
                let (fct, _) = measured(&network, &transport("hpcc", "\"bdp\"", false), dst, size);
                assert_within_2_percent(fct, expected, &format!("{size} B over {length} hops"));
            }
        }
    }
}

#[test]
fn swift_adds_one_segment_per_round_trip_up_to_the_rate_of_its_card() {
    for network in networks(10, 10) {
        for &(dst, length) in &network.pairs {
            let path = hops(length, 10, 10);
            let (base, full) = (alone(&path, FULL) + alone(&path, ACK), path[0].rate.serialization(FULL).0);
            for size in [1, 30_000, 100_000, 300_001, 1_000_000, 10_000_000] {
                let (mut left, last) = frames(size);
                let (mut window, mut sent, mut start) = (10.0_f64, 10, 0);
                while left > sent && sent * full < base {
                    (left, start) = (left - sent, start + base);
                    // Each of `sent` ACKs adds 1/W to the window W, so W² grows by 2 per ACK. The
                    // sender sends as many additional whole segments as the window has grown.
                    let grown = (window * window + 2.0 * sent as f64).sqrt();
                    (sent, window) = (sent + grown as u64 - window as u64, grown);
                }
                let expected = start + train(&path, left, last);
                let (fct, _) = measured(&network, &transport("swift", "10", false), dst, size);
                assert_within_2_percent(fct, expected, &format!("{size} B over {length} hops"));
            }
        }
    }
}
