//! Tests of the simulator against closed forms and Markov chains from the literature.
//!
//! A packet leaves the buffer when its transmission starts. So the packet in service occupies no
//! place, and the capacity K counts waiting places. Every closed form has its source and the
//! tolerance of a finite run.

use crate::support::{Lab, Rows, flow, near, run_fast, star};
use bufferlab_units::{RandomStream, Time};
use bufferlab_workload::FlowSpec;

/// Size of a packet on the wire (bytes). Packets have no headers, so that a flow of this size
/// is one packet.
const PACKET: u64 = 1_500;
/// Time to send a packet at 1 Gb/s (us).
const SERVICE_US: f64 = 12.0;
/// Number of sending hosts. Each host is ten times as fast as a receiver's port, so
/// arrivals stay Poisson.
const SENDERS: u64 = 40;
/// Transport of flows of one packet, which a clock sends.
const OPEN: &str =
    "congestion_control = \"none\"\nrate = \"10 Gb/s\"\nsegment_bytes = \"1500 B\"\nheader_bytes = \"0 B\"";

/// Topology with receivers h0 and h1 at 1 Gb/s and senders at 10 Gb/s.
fn two_servers() -> String {
    let slow = |host: u32| format!("{{ link = \"h{host}-switch\", rate_ba = \"1 Gb/s\" }}");
    format!("{}\nchange = [{}, {}]", star(SENDERS as u32 + 2, "10 Gb/s", "1 us"), slow(0), slow(1))
}

/// Poisson arrivals of one class at one receiver.
struct Arrivals {
    receiver: u32,
    /// Traffic offered to the receiver's port, as a fraction of the port's rate.
    load: f64,
    /// Draws the payload of a packet from the stream (bytes).
    size: fn(&mut RandomStream) -> u64,
}

fn always(_: &mut RandomStream) -> u64 {
    PACKET
}

/// Draws an exponential size of at least one byte and at most a cell (bytes).
fn exponential(stream: &mut RandomStream) -> u64 {
    (stream.exponential(PACKET as f64).ceil() as u64).clamp(1, 30_000)
}

impl Arrivals {
    fn flows(&self, until: Time, seed: u64) -> Vec<FlowSpec> {
        let mut stream = RandomStream::new(seed, "closed-forms", u64::from(self.receiver));
        let gap = SERVICE_US * 1e6 / self.load;
        let mut now = 0.0;
        let mut flows = Vec::new();
        loop {
            now += stream.exponential(gap);
            if now >= until.0 as f64 {
                return flows;
            }
            let (src, size) = (2 + stream.below(SENDERS) as u32, (self.size)(&mut stream));
            flows.push(flow(src, self.receiver, size, Time(now as u64)));
        }
    }
}

/// Runs the classes' arrivals through a switch, with one transport per class.
fn offered(switch: &str, transports: &[String], arrivals: &[Arrivals], packets: f64) -> Rows {
    let rate: f64 = arrivals.iter().map(|class| class.load / SERVICE_US).sum();
    let until = Time((packets / rate * 1e6) as u64);
    let mut lab = Lab::new(&two_servers(), switch, &transports[0])
        .times(&format!("{} us", until.0 / 1_000_000 + 1), "100 ms");
    for transport in &transports[1..] {
        lab = lab.transport(transport);
    }
    let names = ["a", "b"];
    let list = |(index, class): (usize, &Arrivals)| {
        (index as u32 % transports.len() as u32, names[index], class.flows(until, 7))
    };
    run_fast(&lab.lists(arrivals.iter().enumerate().map(list).collect()))
}

/// Number of packets that a port lost, and number of all packets for the port.
fn losses(rows: &Rows, port: u16, priority: u8) -> (f64, f64) {
    let queue = rows.queue(0, port, priority);
    let lost = (queue.dropped_packets + queue.evicted_packets) as f64;
    let of = |flow: &&bufferlab_metrics::FlowRow| flow.dst_host == u32::from(port);
    (lost, rows.flows.iter().filter(of).count() as f64)
}

/// Loss probability of M/D/1 with `waiting` places in addition to the place in service.
///
/// The formula is from the embedded chain at departures:
/// Gross, Shortle, Thompson, Harris, *Fundamentals of Queueing Theory*, section 5.1.7.
/// If π0 is the probability that a departure leaves an empty system, the loss
/// probability is 1 − 1 / (π0 + ρ).
fn finite_deterministic_loss(load: f64, waiting: usize) -> f64 {
    let arrivals =
        |count: usize| (1..=count).fold(f64::exp(-load), |probability, k| probability * load / k as f64);
    // The loop computes the state probabilities π without normalisation: π_{j+1} follows from the
    // balance of state j, which is linear.
    let mut chain = vec![1.0];
    for state in 0..waiting {
        let known: f64 = (1..=state).map(|from| chain[from] * arrivals(state + 1 - from)).sum();
        let next = (chain[state] - chain[0] * arrivals(state) - known) / arrivals(0);
        chain.push(next);
    }
    let empty = chain[0] / chain.iter().sum::<f64>();
    1.0 - 1.0 / (empty + load)
}

#[test]
fn a_finite_queue_loses_what_the_embedded_chain_of_md1k_says() {
    for (load, places, tolerance) in [(0.8, 4, 0.03), (0.95, 10, 0.04), (1.2, 10, 0.02)] {
        let switch = format!("buffer = \"{} B\"\npolicy = \"cs\"", places * PACKET);
        let arrivals = [Arrivals { receiver: 0, load, size: always }];
        let rows = offered(&switch, &[OPEN.to_owned()], &arrivals, 400_000.0);
        let (lost, all) = losses(&rows, 0, 0);
        let expected = finite_deterministic_loss(load, places as usize);
        near(&format!("load {load}, {places} places"), lost / all, expected, tolerance);
    }
}

#[test]
fn complete_partitioning_is_two_separate_queues() {
    let ports = SENDERS + 2;
    let switch = format!("buffer = \"{} B\"\npolicy = \"cp\"", 6 * PACKET * ports);
    let arrivals = [
        Arrivals { receiver: 0, load: 0.9, size: always },
        Arrivals { receiver: 1, load: 0.6, size: always },
    ];
    let rows = offered(&switch, &[OPEN.to_owned()], &arrivals, 600_000.0);
    for (port, load, tolerance) in [(0, 0.9, 0.05), (1, 0.6, 0.25)] {
        let (lost, all) = losses(&rows, port, 0);
        near(&format!("port {port}"), lost / all, finite_deterministic_loss(load, 6), tolerance);
    }
}

#[test]
fn two_priorities_wait_as_cobham_says() {
    // Cobham 1954 gives W0 = R / (1 − ρ0), W1 = R / ((1 − ρ0) (1 − ρ0 − ρ1)),
    // where R = ρ S / 2 is the mean residual of a deterministic service.
    let switch = "buffer = \"100 MB\"\nqueues_per_port = 2\nscheduler = \"strict_priority\"\npolicy = \"cs\"";
    let transports = [0, 1].map(|priority| format!("{OPEN}\ndata_priority = {priority}"));
    let arrivals = [
        Arrivals { receiver: 0, load: 0.3, size: always },
        Arrivals { receiver: 0, load: 0.5, size: always },
    ];
    let rows = offered(switch, &transports, &arrivals, 400_000.0);
    assert_eq!(rows.switch_losses(), 0);
    let remaining = 0.8 * SERVICE_US / 2.0;
    let expected = [remaining / 0.7, remaining / (0.7 * 0.2)];
    // Time from the first bit at the sender to the last bit at the receiver, without waiting.
    let path_ns = 1_200.0 + 2_000.0 + SERVICE_US * 1e3;
    for (class, expected) in expected.into_iter().enumerate() {
        let waits = rows.flows.iter().filter(|flow| usize::from(flow.class) == class);
        let waits: Vec<f64> = waits.filter_map(|flow| Some(flow.fct_ns? as f64 - path_ns)).collect();
        let mean = waits.iter().sum::<f64>() / waits.len() as f64 / 1e3;
        near(&format!("priority {class} (us)"), mean, expected, 0.03);
    }
}

/// Number of packets that fit in the shared memory of Kamoun and Kleinrock's model.
const PLACES: usize = 12;

/// Stationary loss probabilities of two exponential servers that share [`PLACES`] waiting places.
///
/// The model is Kamoun and Kleinrock's (IEEE Trans. Communications 28 (7), 1980) as a Markov chain
/// solved numerically. A port is idle, or busy with some waiting packets. `admits(q, total)` is the
/// policy: whether a packet may join a queue of q packets while `total` packets wait.
fn shared_memory_losses(loads: [f64; 2], admits: impl Fn(usize, usize) -> bool) -> ([f64; 2], f64) {
    // States of a port: 0 is idle, 1 + q is busy with q waiting packets.
    let waiting = |state: usize| state.saturating_sub(1);
    let states = PLACES + 2;
    let mut chain = vec![vec![0.0; states]; states];
    chain[0][0] = 1.0;
    let fastest = loads[0] + loads[1] + 2.0;
    for _ in 0..20_000 {
        let mut next = vec![vec![0.0; states]; states];
        for a in 0..states {
            for b in 0..states {
                let mass = chain[a][b];
                if mass == 0.0 {
                    continue;
                }
                let total = waiting(a) + waiting(b);
                let mut stay = fastest;
                let mut go = |rate: f64, a: usize, b: usize| {
                    next[a][b] += mass * rate / fastest;
                    stay -= rate;
                };
                if admits(waiting(a), total) {
                    go(loads[0], a + 1, b);
                }
                if admits(waiting(b), total) {
                    go(loads[1], a, b + 1);
                }
                if a > 0 {
                    go(1.0, a - 1, b);
                }
                if b > 0 {
                    go(1.0, a, b - 1);
                }
                next[a][b] += mass * stay / fastest;
            }
        }
        chain = next;
    }
    let mut lost = [0.0; 2];
    let mut held = 0.0;
    for (a, row) in chain.iter().enumerate() {
        for (b, mass) in row.iter().enumerate() {
            let total = waiting(a) + waiting(b);
            lost[0] += if admits(waiting(a), total) { 0.0 } else { *mass };
            lost[1] += if admits(waiting(b), total) { 0.0 } else { *mass };
            held += mass * waiting(a) as f64;
        }
    }
    (lost, held)
}

#[test]
fn shared_memory_loses_what_kamoun_and_kleinrocks_chain_says() {
    // Every packet of any size takes one cell.
    const CELL: u64 = 30_000;
    let transport = OPEN.replace("1500 B", "30000 B");
    let fits = |total: usize| total < PLACES;
    let within = |q: usize, limit: f64| (q + 1) as f64 <= limit;
    type Admits = Box<dyn Fn(usize, usize) -> bool>;
    let dt = |alpha: f64| -> Admits {
        Box::new(move |q, total| fits(total) && within(q, alpha * (PLACES - total) as f64))
    };
    let cases: [(&str, Admits); 5] = [
        ("\"cs\"", Box::new(move |_, total| fits(total))),
        ("{ name = \"smxq\", limit = \"240 KB\" }", Box::new(move |q, total| fits(total) && q < 8)),
        ("{ name = \"dt\", alpha = 0.5 }", dt(0.5)),
        ("{ name = \"dt\", alpha = 1 }", dt(1.0)),
        ("{ name = \"dt\", alpha = 4 }", dt(4.0)),
    ];
    for loads in [[0.9, 0.6], [1.2, 0.3]] {
        for (policy, admits) in &cases {
            let switch = format!(
                "buffer = \"{} B\"\npolicy = {policy}\nhardware = {{ cell = \"{CELL} B\" }}",
                CELL * PLACES as u64
            );
            let arrivals =
                [0, 1].map(|port| Arrivals { receiver: port, load: loads[port as usize], size: exponential });
            let rows = offered(&switch, std::slice::from_ref(&transport), &arrivals, 300_000.0);
            let (expected, held) = shared_memory_losses(loads, admits);
            for port in 0..2_u16 {
                let (lost, all) = losses(&rows, port, 0);
                let expected = expected[usize::from(port)];
                // Losses are bursty: the standard deviation of the number of losses is several
                // times the standard deviation of a Poisson process.
                let tolerance = (4.5 / (expected * all).sqrt()).max(0.05);
                near(&format!("{policy}, loads {loads:?}, port {port}"), lost / all, expected, tolerance);
            }
            let places = rows.queue(0, 0, 0).mean_bytes / CELL as f64;
            let ends = rows.totals.end_ns as f64;
            let busy = rows.flows.iter().map(|flow| flow.start_ns).max().unwrap_or(0) as f64;
            near(&format!("{policy}, loads {loads:?}, places"), places * ends / busy, held, 0.04);
        }
    }
}

#[test]
fn round_robin_gives_max_min_shares_of_constant_demands() {
    // Each test case has the demands of the queues (Gb/s) on a port of 10 Gb/s. Bandwidth that a
    // queue does not use is divided among the other queues.
    for (demands, shares) in
        [(vec![1.0, 4.0, 8.0], vec![1.0, 4.0, 5.0]), (vec![2.0, 2.5, 9.0, 9.0], vec![2.0, 2.5, 2.75, 2.75])]
    {
        let count = demands.len();
        let transport = |index: usize| {
            format!(
                "congestion_control = \"none\"\nrate = \"{} Gb/s\"\nsegment_bytes = \"1500 B\"\nheader_bytes = \"0 B\"\n\
                 data_priority = {index}",
                demands[index]
            )
        };
        let switch = format!(
            "buffer = \"1 MB\"\nqueues_per_port = {count}\nscheduler = \"round_robin\"\npolicy = {{ name = \"dt\", alpha = 0.25 }}"
        );
        let mut lab = Lab::new(&star(count as u32 + 1, "10 Gb/s", "1 us"), &switch, &transport(0));
        for index in 1..count {
            lab = lab.transport(&transport(index));
        }
        let names = ["a", "b", "c", "d"];
        let list = |index: usize| {
            let bytes = (demands[index] * 1e9 / 8.0 * 0.05) as u64;
            (index as u32, names[index], vec![flow(index as u32 + 1, 0, bytes, Time::ZERO)])
        };
        let rows = run_fast(&lab.times("50 ms", "100 ms").lists((0..count).map(list).collect()));
        for (index, share) in shares.iter().enumerate() {
            let queue = rows.queue(0, 0, index as u8);
            let sent = (rows.flows_by_number()[index].sent_packets - queue.dropped_packets) * PACKET;
            near(&format!("queue {index} (Gb/s)"), sent as f64 * 8.0 / 0.05 / 1e9, *share, 0.025);
        }
    }
}

/// Utilisation of the link after the first second, and lost packets per sent packet, of one NewReno
/// flow. The flow's bottleneck of 1 Gb/s has a buffer of `share` times the bandwidth-delay product.
fn one_newreno_flow(share: f64) -> (f64, f64, f64) {
    // The round trip without queues is 2.4 ms, which is 200 packets.
    let product = 200.0 * PACKET as f64;
    let topology = "kind = \"dumbbell\"\nhosts_per_side = 1\nhost_rate = \"10 Gb/s\"\nbottleneck_rate = \"1 Gb/s\"\n\
                    delay = \"1 us\"\nbottleneck_delay = \"1180 us\"";
    let switch = format!(
        "buffer = \"{} B\"\npolicy = \"cp\"\nqueues_per_port = 2",
        (share * product * 2.0 * 2.0).round()
    );
    let transport = "congestion_control = \"newreno\"\nsegment_bytes = \"1446 B\"\nheader_bytes = \"54 B\"\nmin_rto = \"200 ms\"";
    let lab = Lab::new(topology, &switch, transport);
    let at = |seconds: u64| {
        let flows = vec![flow(0, 1, 100_000_000_000, Time::ZERO)];
        run_fast(&lab.clone().times(&format!("{seconds} s"), "0 s").flows(flows))
    };
    let (early, late) = (at(2), at(12));
    let used = |rows: &Rows| rows.link("left", "right").utilisation;
    let utilisation = (used(&late) * 12.0 - used(&early) * 2.0) / 10.0;
    let sent = |rows: &Rows| rows.flows[0].sent_packets as f64;
    let lost = |rows: &Rows| rows.switch_losses() as f64;
    let window = 200.0 * (1.0 + share);
    (utilisation, (lost(&late) - lost(&early)) / (sent(&late) - sent(&early)), window)
}

#[test]
fn one_newreno_flow_uses_and_loses_what_the_sawtooth_says() {
    for share in [0.25, 0.5, 1.0] {
        let (utilisation, loss, window) = one_newreno_flow(share);
        // The window grows by a segment per round trip from W/2 to W = (1 + b) BDP.
        // With a window below BDP, a round trip is constant and the link is partly idle. With a
        // window above BDP, queues lengthen round trips.
        let grown = (1.0 + share) * (1.0 + share);
        let expected =
            if share < 1.0 { 0.375 * grown / ((1.0 - share) / 2.0 + (grown - 1.0) / 2.0) } else { 1.0 };
        near(&format!("b = {share}, utilisation"), utilisation, expected, 0.03);
        // Mathis et al., CCR 1997, predict one loss per 3/8 W² packets.
        near(&format!("b = {share}, loss"), loss, 8.0 / (3.0 * window * window), 0.15);
    }
}

#[test]
fn a_queue_of_dctcp_is_at_most_the_threshold_and_a_packet_for_each_flow() {
    // Alizadeh et al., SIGMETRICS 2011, predict Q_max = K + N in the steady state.
    for flows in [1_u64, 2] {
        let topology = "kind = \"dumbbell\"\nhosts_per_side = 2\nhost_rate = \"40 Gb/s\"\nbottleneck_rate = \"10 Gb/s\"\n\
                        delay = \"10 us\"\nbottleneck_delay = \"20 us\"";
        let switch = format!(
            "buffer = \"10 MB\"\npolicy = \"cs\"\necn = {{ kind = \"step\", threshold = \"{} B\" }}",
            40 * 1_500
        );
        let transport = "congestion_control = \"dctcp\"\nsegment_bytes = \"1446 B\"\nheader_bytes = \"54 B\"";
        let lab = Lab::new(topology, &switch, transport)
            .more("[output]\nsample_interval = \"2 us\"\nsample_switch = \"left\"\nsample_from = \"40 ms\"");
        let list = (0..flows).map(|n| flow(n as u32, n as u32 + 2, 100_000_000_000, Time::from_us(n * 100)));
        let rows = run_fast(&lab.times("100 ms", "0 s").flows(list.collect()));
        let longest =
            rows.series.iter().filter(|row| row.port == Some(2)).map(|row| row.occupancy_bytes).max();
        let packets = longest.expect("samples") as f64 / 1_500.0;
        near(&format!("{flows} flows (packets)"), packets, 40.0 + flows as f64, 0.15);
    }
}

#[test]
fn senders_at_line_rate_into_one_port_are_paused_for_one_minus_one_of_k() {
    for senders in [2_u32, 3, 5] {
        let topology = star(senders + 1, "10 Gb/s", "1 us");
        let switch = "buffer = \"2 MB\"\nqueues_per_port = 2\npolicy = { name = \"sonic-dt\", headroom = \"auto\", alpha = 0.125 }\n\
                      pfc = { priorities = [1] }";
        let transport = "congestion_control = \"none\"\nrate = \"10 Gb/s\"\nsegment_bytes = \"1446 B\"\ndata_priority = 1";
        let bytes = 10_000_000_000 / 8 / 20;
        let list = (1..=senders).map(|host| flow(host, 0, bytes, Time::ZERO)).collect();
        let rows = run_fast(&Lab::new(&topology, switch, transport).times("50 ms", "1 s").flows(list));
        assert_eq!(rows.switch_losses(), 0);
        let paused: u64 =
            rows.pauses.iter().filter(|row| row.priority == 1).map(|row| row.neighbour_paused_ns).sum();
        // All senders get equal service and end together. With k senders, they need k times the
        // time of a single sender.
        let end = f64::from(senders) * 0.05 * 1e9;
        let share = paused as f64 / f64::from(senders) / end;
        near(&format!("{senders} senders"), share, 1.0 - 1.0 / f64::from(senders), 0.1);
    }
}

#[test]
fn hpcc_settles_at_its_target_utilisation_and_the_additive_increase_above() {
    // Li et al., SIGCOMM 2019, section 3.2: a window is steady if W η / U + W_AI = W, so U = η / (1
    // − W_AI / W). In this test W_AI = (1 − η) BDP / N_max and W = BDP / flows.
    let topology = star(5, "25 Gb/s", "5 us");
    let transport = "kind = \"rdma\"\ncongestion_control = { name = \"hpcc\", utilisation = 0.95, flows = 100 }\nsegment_bytes = \"1000 B\"";
    let lab = Lab::new(&topology, "buffer = \"10 MB\"\npolicy = \"cs\"", transport);
    let list = || (1..=4).map(|host| flow(host, 0, 100_000_000_000, Time::ZERO)).collect();
    let at = |milliseconds: u64| {
        let rows = run_fast(&lab.clone().times(&format!("{milliseconds} ms"), "0 s").flows(list()));
        rows.link("switch", "h0").utilisation * milliseconds as f64
    };
    let used = (at(30) - at(10)) / 20.0;
    near("utilisation", used, 0.95 / (1.0 - 0.05 / 100.0 * 4.0), 0.03);
}
