//! Tests of RDMA in the network: closed forms without load, repair of losses, fair shares, queue
//! lengths of congestion controls, and no loss of lossless priorities.

use crate::support::{Lab, Rows, flow, run, run_fast, star};
use bufferlab_metrics::QueueRow;
use bufferlab_scenario::Scenario;
use bufferlab_units::{BitRate, Time};

const PAYLOAD: u64 = 1_000;
const HEADER: u64 = 48;
const ACK: u64 = 60;
const RATE: BitRate = BitRate::gbps(25);
const DELAY: Time = Time::from_us(2);

/// RDMA transport with the frame sizes of Reverie's evaluation.
fn rdma(keys: &str) -> String {
    format!(
        "kind = \"rdma\"\nsegment_bytes = \"{PAYLOAD} B\"\nheader_bytes = \"{HEADER} B\"\nack_bytes = \"{ACK} B\"\n\
         data_priority = 0\n{keys}"
    )
}

/// Topology of two racks of four hosts. Each cable has 25 Gb/s and a delay of 2 us.
const RACKS: &str = "kind = \"leaf_spine\"\nleaves = 2\nhosts_per_leaf = 4\nspines = 2\nhost_rate = \"25 Gb/s\"\ndelay = \"2 us\"";

fn serialization(bytes: u64) -> u64 {
    RATE.serialization(bytes).0
}

/// Completion time of a message without load (ps). Segments leave back to back at line rate,
/// the last segment waits for a full segment at every hop, then the last ACK returns alone.
fn unloaded(hops: u64, size: u64, at_sender: bool) -> u64 {
    let (full, count) = (serialization(PAYLOAD + HEADER), size.div_ceil(PAYLOAD));
    let last = serialization(size - (count - 1) * PAYLOAD + HEADER);
    let there = match count {
        1 => hops * last,
        _ => (count - 1) * full + (hops - 1) * full + last,
    };
    // If the last segment is shorter than an ACK, the ACK of this segment waits at the NIC for the
    // previous ACK.
    let waits = if count == 1 { 0 } else { serialization(ACK).saturating_sub(last) };
    let back = if at_sender { waits + hops * (serialization(ACK) + DELAY.0) } else { 0 };
    there + hops * DELAY.0 + back
}

#[test]
fn an_unloaded_message_takes_the_closed_form_at_either_end() {
    for (dst, hops) in [(1, 2), (5, 4)] {
        for control in ["dcqcn", "timely"] {
            for size in [1, 999, 1_000, 1_001, 54_000, 93_750, 1_000_000, 3_333_333] {
                for (end, at_sender) in [("sender", true), ("receiver", false)] {
                    let keys = format!("congestion_control = \"{control}\"\ncompletion = \"{end}\"");
                    let ecn = "ecn = { kind = \"red\", kmin = \"100 KB\", kmax = \"400 KB\", pmax = 0.2 }";
                    let switch = format!("buffer = \"1 MB\"\npolicy = \"dt\"\n{ecn}");
                    let lab = Lab::new(RACKS, &switch, &rdma(&keys));
                    let rows = run(&lab.flows(vec![flow(0, dst, size, Time(1_234_567))]));
                    // Completion times are rounded to whole nanoseconds.
                    let expected = (unloaded(hops, size, at_sender) + 500) / 1_000;
                    let found = rows.flows[0].fct_ns.expect("finished");
                    assert_eq!(found, expected, "{control}, {size} B over {hops} hops, at the {end}");
                    assert_eq!(rows.flows[0].sent_packets, size.div_ceil(PAYLOAD));
                }
            }
        }
    }
    // Reverie states a round trip of 17.28 us: 8 cables and a payload of 1000 B four times.
    assert_eq!(8 * DELAY.0 + 4 * serialization(PAYLOAD), Time::from_ns(17_280).0);
}

#[test]
fn controls_by_telemetry_send_their_first_window_at_line_rate() {
    for control in ["hpcc", "powertcp", "theta-powertcp"] {
        let lab = Lab::new(
            RACKS,
            "buffer = \"1 MB\"\npolicy = \"dt\"",
            &rdma(&format!("congestion_control = \"{control}\"")),
        );
        let rows = run(&lab.flows(vec![flow(0, 5, 50_000, Time::ZERO)]));
        let expected = (unloaded(4, 50_000, true) + 500) / 1_000;
        assert_eq!(rows.flows[0].fct_ns, Some(expected), "{control}");
    }
}

#[test]
fn an_ideal_with_headers_gives_an_unloaded_message_a_slowdown_of_one() {
    let output = "[output]\nbase_rtt = \"17.28 us\"\n";
    let slowdown = |keys: &str| {
        let lab = Lab::new(RACKS, "buffer = \"1 MB\"\npolicy = \"dt\"", &rdma(keys)).more(output);
        run(&lab.flows(vec![flow(0, 5, 3_000_000, Time::ZERO)])).flows[0].slowdown.expect("finished")
    };
    let control = "congestion_control = \"timely\"\n";
    let plain = slowdown(control);
    let fair = slowdown(&format!("{control}ideal_header_bytes = \"48 B\""));
    assert!((plain / fair - 1.048).abs() < 0.002, "{plain} {fair}");
    // The round trip of 17.28 us counts four payloads. The network has three frames one way,
    // and four ACKs on the way back.
    assert!((0.999..1.001).contains(&fair), "{fair}");
}

#[test]
fn either_recovery_ends_a_lossy_incast_with_every_byte_delivered_once() {
    for (recovery, thrifty) in [("go-back-n", false), ("selective-repeat", true)] {
        for control in ["dcqcn", "hpcc", "timely", "swift"] {
            let keys = format!(
                "congestion_control = \"{control}\"\nrecovery = \"{recovery}\"\nretransmission_timeout = \"200 us\""
            );
            let ecn = "ecn = { kind = \"red\", kmin = \"10 KB\", kmax = \"40 KB\", pmax = 0.2 }";
            let switch = format!("buffer = \"60 KB\"\npolicy = \"cs\"\n{ecn}");
            let lab = Lab::new(&star(17, "25 Gb/s", "2 us"), &switch, &rdma(&keys));
            let flows =
                (0..16).map(|src| flow(src, 16, 200_500, Time::from_ns(u64::from(src) * 100))).collect();
            let rows = run(&lab.flows(flows));
            assert!(rows.all_finished() && rows.switch_losses() > 0, "{recovery}, {control}");
            for flow in &rows.flows {
                assert_eq!(flow.sent_packets - flow.retransmitted_packets, 201, "{recovery}, {control}");
            }
            let repeated: u64 = rows.flows.iter().map(|flow| flow.retransmitted_packets).sum();
            let lost = rows.switch_losses();
            if thrifty {
                assert!(repeated <= lost + lost / 2, "{control}: {repeated} for {lost}");
            } else {
                assert!(repeated >= lost / 2, "{control}: {repeated} for {lost}");
            }
        }
    }
}

/// Endless messages from `count` hosts to the last host of a star, started at intervals of 1 ms.
fn contenders(keys: &str, switch: &str, count: u32, milliseconds: u64) -> Rows {
    let lab = Lab::new(&star(count + 1, "25 Gb/s", "2 us"), switch, &rdma(keys));
    let start = |src: u32| Time::from_us(1_003 * u64::from(src));
    let flows = (0..count).map(|src| flow(src, count, 100_000_000_000, start(src))).collect();
    run_fast(&lab.times(&format!("{milliseconds} ms"), "0 s").flows(flows))
}

/// Jain's index of the bytes sent between two instants (ms), and the utilisation of the last link.
fn fairness(keys: &str, switch: &str, count: u32, from: u64, to: u64) -> (f64, f64) {
    let (early, late) = (contenders(keys, switch, count, from), contenders(keys, switch, count, to));
    let sent = |rows: &Rows| -> Vec<f64> {
        rows.flows_by_number().iter().map(|flow| flow.sent_packets as f64).collect()
    };
    let shares: Vec<f64> = sent(&late).iter().zip(sent(&early)).map(|(late, early)| late - early).collect();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    let used = |rows: &Rows, time: u64| rows.link("switch", &format!("h{count}")).utilisation * time as f64;
    let sum: f64 = shares.iter().sum();
    (sum * sum / (f64::from(count) * squares), (used(&late, to) - used(&early, from)) / (to - from) as f64)
}

#[test]
fn dcqcn_flows_converge_to_fair_shares() {
    let red = |kmin: u32, kmax: u32, pmax: f64| {
        format!(
            "buffer = \"4 MB\"\npolicy = \"cs\"\n\
             ecn = {{ kind = \"red\", kmin = \"{kmin} KB\", kmax = \"{kmax} KB\", pmax = {pmax}, at = \"dequeue\" }}"
        )
    };
    for (set, ecn) in [("paper", red(5, 200, 0.01)), ("hpcc-paper", red(100, 400, 0.2))] {
        for count in [2, 4, 8] {
            let keys = format!("congestion_control = {{ name = \"dcqcn\", parameters = \"{set}\" }}");
            let (jain, used) = fairness(&keys, &ecn, count, 100, 200);
            println!("{set}, {count} flows: Jain {jain:.4}, utilisation {used:.4}");
            assert!(jain > 0.95, "{set}, {count} flows: Jain {jain}");
            assert!(used > 0.9, "{set}, {count} flows: {used}");
        }
    }
}

/// Results of two endless flows of frames of 1,454 B over a dumbbell of 10 Gb/s,
/// as in `transports.rs`.
fn dumbbell(control: &str, milliseconds: u64) -> Rows {
    let topology = "kind = \"dumbbell\"\nhosts_per_side = 2\nhost_rate = \"10 Gb/s\"\nbottleneck_rate = \"10 Gb/s\"\n\
                    delay = \"10 us\"\nbottleneck_delay = \"20 us\"";
    let lab = Lab::new(
        topology,
        "buffer = \"2 MB\"\npolicy = \"cs\"",
        &format!("kind = \"rdma\"\ncongestion_control = \"{control}\""),
    );
    let flows =
        vec![flow(0, 2, 100_000_000_000, Time::ZERO), flow(1, 3, 100_000_000_000, Time::from_us(5_003))];
    run_fast(&lab.times(&format!("{milliseconds} ms"), "0 s").flows(flows))
}

/// Jain's index, the utilisation and the mean queue (bytes) of the bottleneck between
/// two instants (ms).
fn promises(control: &str, from: u64, to: u64) -> (f64, f64, f64) {
    let (early, late) = (dumbbell(control, from), dumbbell(control, to));
    let queue = |rows: &Rows| -> QueueRow { rows.queue(0, 2, 0).clone() };
    let mean = |early: f64, late: f64| (late * to as f64 - early * from as f64) / (to - from) as f64;
    let sent = |rows: &Rows| -> Vec<f64> {
        rows.flows_by_number().iter().map(|flow| flow.sent_packets as f64).collect()
    };
    let shares: Vec<f64> = sent(&late).iter().zip(sent(&early)).map(|(late, early)| late - early).collect();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    let used = |rows: &Rows| rows.link("left", "right").utilisation;
    assert_eq!(queue(&late).dropped_packets, 0, "{control}");
    (
        shares.iter().sum::<f64>().powi(2) / (2.0 * squares),
        mean(used(&early), used(&late)),
        mean(queue(&early).mean_bytes, queue(&late).mean_bytes),
    )
}

#[test]
fn hpcc_powertcp_and_timely_keep_their_queues_over_rdma() {
    /// Bandwidth-delay product (bytes): 80 us of propagation, three frames and three ACKs (us),
    /// at 1,250 B per us.
    const BDP: f64 = (80.0 + 3.0 * 1.1632 + 3.0 * 0.0432) * 1_250.0;
    let (jain, used, queue) = promises("hpcc", 60, 160);
    assert!(
        jain > 0.95 && (used / 0.951 - 1.0).abs() < 0.005 && queue < 1_454.0,
        "hpcc: {jain} {used} {queue}"
    );
    for control in ["powertcp", "theta-powertcp"] {
        let (jain, used, queue) = promises(control, 40, 120);
        // The expected queue is the sum of the additive increases. Each additive increase is a
        // tenth of a bandwidth-delay product.
        let expected = 2.0 * BDP / 10.0;
        assert!((queue / expected - 1.0).abs() < 0.05, "{control}: {queue}, expected {expected}");
        assert!(jain > 0.95 && used > 0.999, "{control}: {jain} {used}");
    }
    let (jain, used, queue) = promises("timely", 200, 500);
    assert!(jain > 0.95 && used > 0.85 && queue < 500.0 * 1_250.0 - BDP, "timely: {jain} {used} {queue}");
}

/// Scenario with RDMA and TCP between two racks: an incast of each, and long flows of each.
fn mixed(policy: &str, headroom: u64, seed: u64) -> Scenario {
    let switch = format!(
        "buffer = \"900 KB\"\nqueues_per_port = 4\nscheduler = [{{ queues = [0] }}, {{ queues = [1, 2, 3], discipline = \"round_robin\" }}]\n\
         policy = {{ name = \"{policy}\", headroom = \"{headroom} B\" }}\npfc = {{ priorities = [3] }}\n\
         ecn = {{ kind = \"red\", kmin = \"50 KB\", kmax = \"200 KB\", pmax = 0.2, at = \"dequeue\", priorities = [3] }}"
    );
    let over =
        |keys: &str| rdma(keys).replace("data_priority = 0", "data_priority = 3\ncontrol_priority = 3");
    let lab = Lab::new(RACKS, &switch, &over("congestion_control = { name = \"dcqcn\", parameters = \"reverie\" }\nretransmission_timeout = \"0 s\""))
        .transport("congestion_control = \"cubic\"\nsegment_bytes = \"1000 B\"\ninitial_window = 60\nmin_rto = \"1 ms\"\ndata_priority = 1")
        .seed(seed);
    let mut messages: Vec<_> = (0..12)
        .map(|k| flow(k % 4, 4 + (k / 3) % 2, 400_000, Time::from_us(20 * u64::from(k / 4))))
        .collect();
    messages.extend((4..8).map(|src| flow(src, 0, 1_000_000, Time::from_us(300))));
    let tcp = (0..16).map(|k| flow(k % 4, 4 + k / 4 % 2, 300_000, Time::from_us(100))).collect();
    lab.lists(vec![(0, "rdma", messages), (1, "tcp", tcp)])
}

#[test]
fn lossless_messages_lose_nothing_beside_tcp_with_headroom_by_the_formula() {
    // The headroom is 2 m + 64 + C (2 d + reaction)/8 (docs/concepts/lossless.md), plus one packet
    // of m bytes because the port is sending.
    let largest = 1_054;
    let headroom = 3 * largest + 64 + RATE.bytes_in(Time(2 * DELAY.0));
    for policy in ["sonic-dt", "sonic-abm", "reverie"] {
        let mut paused = 0;
        for seed in 1..4 {
            let rows = run(&mixed(policy, headroom, seed));
            assert!(rows.all_finished(), "{policy}, seed {seed}");
            let lossless: u64 =
                rows.queues.iter().filter(|row| row.priority == 3).map(|row| row.dropped_packets).sum();
            assert_eq!(lossless, 0, "{policy}, seed {seed}");
            assert!(
                rows.flows.iter().filter(|flow| flow.class == 0).all(|flow| flow.retransmitted_packets == 0)
            );
            paused += rows.pauses.iter().map(|row| row.sent_pauses).sum::<u64>();
        }
        assert!(paused > 0, "{policy}: nothing was paused, so nothing was put to the test");
    }
    // With hardly any headroom the test's traffic loses lossless packets, so the test for losses
    // can fail.
    let rows = run_fast(&mixed("sonic-dt", largest, 1));
    let lossless: u64 =
        rows.queues.iter().filter(|row| row.priority == 3).map(|row| row.dropped_packets).sum();
    assert!(lossless > 0, "one packet of headroom is enough?");
}

#[test]
fn queue_pairs_take_turns_with_a_queue_of_tcps_packets() {
    let topology = star(3, "25 Gb/s", "2 us");
    let lab = Lab::new(&topology, "buffer = \"10 MB\"\npolicy = \"cs\"", &rdma("congestion_control = \"timely\""))
        .transport("congestion_control = \"newreno\"\nsegment_bytes = \"994 B\"\ninitial_window = \"whole\"\nhandshake = false")
        .more("[host]\nnic = \"fifo\"\n");
    // Both messages of the test have a thousand frames of 1048 B.
    // The frames alternate, so that both messages end together.
    let rows = run(&lab.lists(vec![
        (0, "rdma", vec![flow(0, 1, 1_000_000, Time::ZERO)]),
        (1, "tcp", vec![flow(0, 2, 994_000, Time::ZERO)]),
    ]));
    let end = |class: u16| rows.flows.iter().find(|flow| flow.class == class).and_then(|flow| flow.fct_ns);
    let (rdma, tcp) = (end(0).expect("finished"), end(1).expect("finished"));
    let alone = 2_000 * serialization(1_048) / 1_000;
    for fct in [rdma, tcp] {
        assert!(fct > alone && fct < alone + 10_000, "{rdma} {tcp} {alone}");
    }
}

#[test]
fn notifications_are_frames_of_their_own_or_ride_on_acks() {
    let sent = |notification: &str| {
        let keys = format!("congestion_control = \"dcqcn\"\nnotification = \"{notification}\"");
        let switch = "buffer = \"10 MB\"\npolicy = \"cs\"\necn = { kind = \"step\", threshold = \"0 B\" }";
        let lab = Lab::new(&star(3, "25 Gb/s", "2 us"), switch, &rdma(&keys));
        // Two senders at once build a queue, and the switch marks packets.
        let rows =
            run(&lab.flows(vec![flow(0, 2, 1_000_000, Time::ZERO), flow(1, 2, 1_000_000, Time::ZERO)]));
        assert!(rows.flows.iter().all(|flow| flow.marked_packets > 0));
        let link = rows.link("h2", "switch").clone();
        (link.tx_packets, link.tx_bytes, rows.totals.end_ns)
    };
    let (packets, bytes, _) = sent("acks");
    assert_eq!((packets, bytes), (2_000, 2_000 * ACK));
    let (packets, bytes, end_ns) = sent("frames");
    let notifications = packets - 2_000;
    assert_eq!(bytes, 2_000 * ACK + notifications * (ACK + 12));
    assert!(
        notifications >= 2 && notifications <= 2 * (end_ns / 50_000 + 1),
        "{notifications} in {end_ns} ns"
    );
}

#[test]
fn closed_loops_go_on_by_messages() {
    for (end, recovery) in [("sender", "go-back-n"), ("receiver", "selective-repeat")] {
        let keys = format!(
            "congestion_control = \"timely\"\ncompletion = \"{end}\"\nrecovery = \"{recovery}\"\nack_every = 4"
        );
        let lab = Lab::new(&star(6, "25 Gb/s", "2 us"), "buffer = \"10 MB\"\npolicy = \"cs\"", &rdma(&keys));
        let gets = "[[workload]]\nkind = \"multi_get\"\nclients = \"h0\"\nservers = [\"h1\", \"h2\", \"h3\", \"h4\"]\nthreads = 2\n\
                    item = \"32 KB\"\nqueries = 40";
        let rows = run(&lab.times("50 ms", "50 ms").workloads(gets));
        assert_eq!((rows.queries.len(), rows.flows.len(), rows.all_finished()), (40, 160, true));
    }
}
