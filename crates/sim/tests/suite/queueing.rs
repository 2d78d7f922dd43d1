//! Tests that compare queues with queueing theory.

use crate::support::{Lab, Rows, flow, run, run_fast, star};
use bufferlab_metrics::Scope;
use bufferlab_units::{BitRate, RandomStream, Time};
use bufferlab_workload::FlowSpec;

const FRAME: u64 = 1_454;

#[test]
fn a_link_is_used_as_much_as_traffic_is_offered() {
    for load in [0.2, 0.5] {
        let lab = Lab::new(
            "kind = \"leaf_spine\"\nleaves = 2\nhosts_per_leaf = 4\nspines = 2\nhost_rate = \"10 Gb/s\"\n\
             fabric_rate = \"20 Gb/s\"\ndelay = \"1 us\"",
            "buffer = \"100 MB\"\npolicy = \"cs\"",
            "congestion_control = \"newreno\"\nhandshake = false\ninitial_window = \"whole\"\nmin_rto = \"1 s\"\n\
             initial_rto = \"1 s\"",
        );
        let rows = run_fast(&lab.times("100 ms", "1 s").workloads(&format!(
            "[[workload]]\nkind = \"poisson\"\nsizes = \"7 KB\"\nload = {load}\nload_of = \"leaf_uplinks\""
        )));
        // A flow has five frames of 1400 + 54 B one way and five frames of 54 B the other way.
        let expected = load * (5.0 * 1_508.0) / 7_000.0;
        let flows = load * 10e9 / (8.0 * 7_000.0) * 8.0 * 0.1;
        for (role, links) in [("host-up", 8), ("host-down", 8), ("up", 4), ("down", 4)] {
            let of_role: Vec<_> = rows.links.iter().filter(|link| link.role == role).collect();
            assert_eq!(of_role.len(), links);
            let mean = of_role.iter().map(|link| link.utilisation).sum::<f64>() / links as f64;
            // The number of flows has a Poisson distribution.
            let relative = 4.0 / f64::sqrt(flows) + 1e-3;
            assert!(
                (mean / expected - 1.0).abs() < relative,
                "{role}: {mean}, expected {expected} ± {relative}"
            );
        }
        assert!((rows.totals.flows as f64 - flows).abs() < 4.0 * flows.sqrt(), "{} flows", rows.totals.flows);
        // No packet is sent twice, so the number of flows determines the bytes on the wire exactly.
        let bytes: u64 = rows.links.iter().filter(|link| link.role == "up").map(|link| link.tx_bytes).sum();
        assert_eq!(bytes, rows.totals.flows * 5 * 1_508);
    }
}

/// Results of single packets for host 0 at Poisson times, from hosts that send ten times as fast as
/// host 0's port drains.
fn single_packets(load: f64, packets: usize, seed: u64) -> Rows {
    let topology = format!(
        "{}\nchange = [{{ link = \"h0-switch\", rate_ba = \"10 Gb/s\" }}]",
        star(65, "100 Gb/s", "1 us")
    );
    let lab = Lab::new(
        &topology,
        "buffer = \"100 MB\"\npolicy = \"cs\"",
        "congestion_control = \"newreno\"\nhandshake = false",
    );
    let mut stream = RandomStream::new(seed, "queueing", 0);
    let service = BitRate::gbps(10).serialization(FRAME);
    let mut now = Time::ZERO;
    let mut next = || {
        now += Time(stream.exponential(service.0 as f64 / load) as u64);
        flow(1 + stream.below(64) as u32, 0, 1_400, now)
    };
    let flows: Vec<_> = (0..packets).map(|_| next()).collect();
    let duration = format!("{} ns", flows[packets - 1].start.as_ns() + 1);
    run_fast(&lab.times(&duration, "100 ms").flows(flows))
}

#[test]
fn packets_wait_as_long_as_the_pollaczek_khinchine_formula_says() {
    let service_ns = BitRate::gbps(10).serialization(FRAME).0 as f64 * 1e-3;
    // Time from the sender's first bit to the receiver's last bit, without waiting.
    let path_ns = service_ns * 1.1 + 2_000.0;
    for (load, packets, tolerance) in [(0.5, 40_000, 0.05), (0.8, 150_000, 0.08)] {
        let rows = single_packets(load, packets, 5);
        assert!(rows.all_finished() && rows.switch_losses() == 0);
        // In M/D/1 the mean wait is ρ / (2 (1 − ρ)) service times. By Little's law, the mean number
        // of packets in the queue is ρ times this mean wait.
        let expected = load / (2.0 * (1.0 - load));
        let waits =
            rows.flows.iter().map(|flow| (flow.fct_ns.expect("it arrives") as f64 - path_ns) / service_ns);
        let mean = waits.clone().sum::<f64>() / packets as f64;
        assert!((mean / expected - 1.0).abs() < tolerance, "load {load}: wait {mean}, expected {expected}");
        assert!(waits.clone().all(|wait| wait > -0.001), "nothing travels faster than light");
        // A packet in transmission does not occupy the buffer.
        let queue = rows.queue(0, 0, 0);
        let length = queue.mean_bytes / FRAME as f64;
        assert!(
            (length / (load * mean) - 1.0).abs() < 0.02,
            "load {load}: {length} packets, Little: {}",
            load * mean
        );
        // An arrival meets a busy link with probability ρ (Poisson arrivals see time averages).
        let delayed = waits.filter(|&wait| wait > 0.002).count() as f64 / packets as f64;
        assert!((delayed - load).abs() < 0.02, "load {load}: {delayed} of all packets wait");
        let empty: u64 = rows
            .histogram(Scope::Queue, 0, Some(0), Some(0))
            .iter()
            .filter(|bin| bin.from_bytes == 0)
            .map(|bin| bin.time_ns)
            .sum();
        // In M/D/1, at most one packet is in the system with probability (1 − ρ) e^ρ. A single
        // packet is on the wire, not in the queue.
        let expected = (1.0 - load) * f64::exp(load);
        let found = empty as f64 / rows.totals.end_ns as f64;
        assert!(
            (found - expected).abs() < 0.02,
            "load {load}: the queue is empty for {found}, expected {expected}"
        );
    }
}

/// Results of many hosts that fill the port of host 0 with packets of priority 1. Host 1 sends
/// single packets of priority 0 to host 0.
fn with_and_without_priority(scheduler: &str) -> Rows {
    let lab = Lab::new(
        &star(6, "10 Gb/s", "1 us"),
        &format!("buffer = \"100 MB\"\nqueues_per_port = 2\nscheduler = {scheduler}\npolicy = \"cs\""),
        "congestion_control = \"newreno\"\nhandshake = false\ndata_priority = 0",
    )
    .transport(
        "congestion_control = \"newreno\"\nhandshake = false\ninitial_window = \"whole\"\ndata_priority = 1\n\
         min_rto = \"1 s\"\ninitial_rto = \"1 s\"",
    );
    let urgent = |n: u64| flow(1, 0, 1_400, Time(3_000_000 + n * 12_345_678));
    let bulk = |n: u64| flow(2 + (n % 4) as u32, 0, 4_000_000, Time::from_us(n));
    run(&lab
        .lists(vec![(0, "urgent", (0..500).map(urgent).collect()), (1, "bulk", (0..4).map(bulk).collect())]))
}

/// Completion times (ms) of two flows to host 0 with the given sizes (bytes), each in a separate
/// queue. Hosts send all packets at time zero, when the buckets of all rate limits are full.
fn completed(switch: &str, sizes: [u64; 2]) -> [f64; 2] {
    let sender = |priority: u8| {
        format!(
            "congestion_control = \"newreno\"\nhandshake = false\ninitial_window = \"whole\"\n\
             data_priority = {priority}\nmin_rto = \"1 s\"\ninitial_rto = \"1 s\""
        )
    };
    let lab = Lab::new(
        &star(3, "10 Gb/s", "1 us"),
        &format!("buffer = \"100 MB\"\nqueues_per_port = 2\npolicy = \"cs\"\n{switch}"),
        &sender(0),
    )
    .transport(&sender(1));
    let bulk = |host: u32| vec![flow(host, 0, sizes[host as usize - 1], Time::ZERO)];
    let lab = lab.times("2 ms", "100 ms");
    let rows = run(&lab.lists(vec![(0, "first", bulk(1)), (1, "second", bulk(2))]));
    [0, 1].map(|class| {
        let flow = rows.flows.iter().find(|flow| flow.class == class).expect("a flow of the class");
        flow.fct_ns.expect("it arrives") as f64 * 1e-6
    })
}

#[test]
fn limited_rates_and_schedulers_of_single_ports_are_exact() {
    // A frame has 1454 B for 1400 B of payload. A packet needs less than 8 us through an idle
    // network.
    let near = |found: f64, expected: f64| (found - expected).abs() < 2e-3 * expected + 8e-3;
    let at_gbps = |payload: f64, rate: f64| payload * 1_454.0 / 1_400.0 * 8e-6 / rate;
    let (mega, three_to_one) = ([1_000_000; 2], [3_000_000, 1_000_000]);
    let scheduler = "scheduler = [{ queues = [0, 1], discipline = \"deficit_round_robin\", quanta = [\"4500 B\", \"1500 B\"] }]";
    let alike = completed(scheduler, three_to_one);
    assert!(alike.iter().all(|time| near(*time, at_gbps(4e6, 10.0))), "{alike:?}");
    let of_queue = completed("egress = [{ ports = [0], queues = [1], rate = \"1 Gb/s\" }]", mega);
    assert!(near(of_queue[1], at_gbps(1e6, 1.0)), "{of_queue:?}");
    let limited = format!("egress = [{{ rate = \"2 Gb/s\", burst = \"100 KB\" }}]\n{scheduler}");
    let of_port = completed(&limited, three_to_one);
    let expected = at_gbps(4e6 - 1e5 * 1_400.0 / 1_454.0, 2.0);
    assert!(of_port.iter().all(|time| near(*time, expected)), "{of_port:?}, {expected}");
    let strict = "egress = [{ ports = [0], scheduler = \"strict_priority\" }]\nscheduler = \"fifo\"";
    let in_turn = completed(strict, mega);
    assert!(near(in_turn[0], at_gbps(1e6, 10.0)) && near(in_turn[1], at_gbps(2e6, 10.0)), "{in_turn:?}");
    let others = "egress = [{ ports = [1, 2], scheduler = \"strict_priority\" }]";
    let elsewhere = completed(&format!("{others}\n{scheduler}"), three_to_one);
    assert!(elsewhere.iter().all(|time| near(*time, at_gbps(4e6, 10.0))), "{elsewhere:?}");
    let each = "egress = [{ scheduler = \"strict_priority\" }, { queues = [0, 1], rate = \"3 Gb/s\" }]";
    let both = completed(each, mega);
    assert!(both.iter().all(|time| near(*time, at_gbps(1e6, 3.0))), "{both:?}");
}

#[test]
fn strict_priority_lets_an_urgent_packet_wait_for_one_packet_at_most() {
    let frame = BitRate::gbps(10).serialization(FRAME).0;
    let alone = Time(2 * frame + 2_000_000).as_ns();
    let rows = with_and_without_priority("\"strict_priority\"");
    let urgent: Vec<_> = rows.flows.iter().filter(|flow| flow.class == 0).collect();
    assert_eq!((urgent.len(), rows.all_finished()), (500, true));
    let waits: Vec<_> = urgent.iter().map(|flow| flow.fct_ns.expect("it arrives") - alone).collect();
    let longest = *waits.iter().max().expect("there are some");
    // The transmission of the packet on the wire is not interrupted. Rounding to nanoseconds adds 1
    // ns.
    assert!(longest <= Time(frame).as_ns() + 1, "{longest} ns");
    let mean = waits.iter().sum::<u64>() as f64 / waits.len() as f64;
    assert!((mean / (frame as f64 / 2e3) - 1.0).abs() < 0.1, "half a packet on average: {mean} ns");
    // The bulk traffic has filled its queue, and the port is never idle.
    assert!(rows.queue(0, 0, 1).max_bytes > 8_000_000 && rows.queue(0, 0, 0).max_bytes <= FRAME);
    let fifo = with_and_without_priority("\"fifo\"");
    let late = fifo.flows.iter().filter(|flow| flow.class == 0 && flow.fct_ns > Some(1_000_000)).count();
    assert!(late > 450, "in one queue by order of arrival, urgent packets wait like all others: {late}");
}

/// Completion times of flows from several hosts to host 0, one flow of `bytes` per host (ns).
/// Each flow has a separate queue, and all flows start at once.
fn shares(scheduler: &str, bytes: &[u64], segment_bytes: &[u64]) -> Vec<u64> {
    let transport = |index: usize| {
        format!(
            "congestion_control = \"newreno\"\nhandshake = false\ninitial_window = \"whole\"\nsegment_bytes = \"{} B\"\n\
             data_priority = {index}\nmin_rto = \"1 s\"\ninitial_rto = \"1 s\"",
            segment_bytes[index]
        )
    };
    let count = bytes.len();
    let switch =
        format!("buffer = \"100 MB\"\nqueues_per_port = {count}\nscheduler = {scheduler}\npolicy = \"cs\"");
    let mut lab = Lab::new(&star(count as u32 + 1, "10 Gb/s", "1 us"), &switch, &transport(0));
    for index in 1..count {
        lab = lab.transport(&transport(index));
    }
    let names = ["a", "b", "c"];
    let list = |index: usize| -> (u32, &str, Vec<FlowSpec>) {
        (index as u32, names[index], vec![flow(index as u32 + 1, 0, bytes[index], Time::ZERO)])
    };
    let rows = run(&lab.lists((0..count).map(list).collect()));
    assert_eq!(rows.switch_losses(), 0);
    let by_class =
        |class: u16| rows.flows.iter().find(|flow| flow.class == class).and_then(|flow| flow.fct_ns);
    (0..count as u16).map(|class| by_class(class).expect("it finishes")).collect()
}

/// Transmission time of `bytes` at 10 Gb/s (ns).
fn wire_ns(bytes: f64) -> f64 {
    bytes * 0.8
}

fn assert_near(found: u64, expected_ns: f64, what: &str) {
    // A tolerance of ten packets covers effects at the start and end of the flows.
    assert!(
        (found as f64 - expected_ns).abs() < wire_ns(10.0 * 1_454.0),
        "{what}: {found}, expected {expected_ns}"
    );
}

#[test]
fn deficit_round_robin_shares_a_port_by_its_quanta_whatever_the_packets_sizes() {
    let scheduler = "[{ queues = [0, 1, 2], discipline = \"deficit_round_robin\", quanta = [\"9 KB\", \"3 KB\", \"3 KB\"] }]";
    // Queue 1 sends small packets. Queues of equal quanta get equal bytes on the wire.
    let segments = [1_400, 346, 1_400];
    let sizes = [2_100_000, 1_038_000, 2_100_000];
    let wire: Vec<f64> =
        (0..3).map(|i| sizes[i] as f64 * (segments[i] + 54) as f64 / segments[i] as f64).collect();
    let times = shares(scheduler, &sizes, &segments);
    // While all three flows wait, their shares of the port are 3/5, 1/5 and 1/5.
    let first = wire[0] * 5.0 / 3.0;
    assert_near(times[0], wire_ns(first), "three fifths");
    // After the end of the first flow, the other two flows have half of the rate each.
    let second = first + 2.0 * (wire[1] - first / 5.0);
    assert_near(times[1], wire_ns(second), "a fifth, then half");
    assert_near(times[2], wire_ns(wire.iter().sum()), "the rest");
}

#[test]
fn weighted_round_robin_shares_a_port_by_packets() {
    let scheduler = "[{ queues = [0, 1], discipline = \"weighted_round_robin\", weights = [1, 4] }]";
    let times = shares(scheduler, &[1_400_000, 1_400_000], &[1_400, 1_400]);
    assert_near(times[1], wire_ns(1_250.0 * 1_454.0), "four fifths");
    assert_near(times[0], wire_ns(2_000.0 * 1_454.0), "the rest");
}

#[test]
fn round_robin_takes_packets_in_turn_and_fifo_in_order_of_arrival() {
    let times = shares("\"round_robin\"", &[700_000, 1_400_000], &[1_400, 1_400]);
    assert_near(times[0], wire_ns(1_000.0 * 1_454.0), "half of the packets until it ends");
    assert_near(times[1], wire_ns(1_500.0 * 1_454.0), "the rest");
    // Under round robin, small packets that alternate with large packets get few bytes. Under FIFO,
    // both flows get the rate at which they send.
    let times = shares("\"round_robin\"", &[346_000, 4_200_000], &[346, 1_400]);
    assert_near(times[0], wire_ns(1_000.0 * (400.0 + 1_454.0)), "a thousand turns");
    let times = shares("\"fifo\"", &[346_000 * 4, 4_200_000], &[346, 1_400]);
    // Both flows arrive at 10 Gb/s, so FIFO serves an equal number of bytes of both flows.
    assert_near(times[0], wire_ns(2.0 * 4_000.0 * 400.0), "as it came");
}

#[test]
fn groups_are_served_strictly_one_after_the_other() {
    let scheduler = "[{ queues = [2] }, { queues = [0, 1], discipline = \"round_robin\" }]";
    let times = shares(scheduler, &[700_000, 700_000, 700_000], &[1_400, 1_400, 1_400]);
    assert_near(times[2], wire_ns(500.0 * 1_454.0), "the highest group alone");
    assert_near(times[0], wire_ns(1_500.0 * 1_454.0), "then the others in turn");
    assert_near(times[1], wire_ns(1_500.0 * 1_454.0), "then the others in turn");
}
