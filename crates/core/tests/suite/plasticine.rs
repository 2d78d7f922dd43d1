//! Simulation of the figures of the Plasticine paper with packets. The buffer has 60 packets, and a
//! port sends one packet per unit of time. Each packet of the figures becomes 100 small packets, so
//! that the resolution is as fine as the paper's numbers.

use bufferlab_core::*;
use bufferlab_units::{BitRate, RandomStream, Time};

/// Size of a packet of the figures (bytes), sent as packets of ten bytes.
const PACKET: u64 = 1_000;
const GRAIN: u32 = 10;
/// Rounds per unit of time. In each round, a port sends one packet of ten bytes (a grain).
const ROUNDS: u64 = PACKET / GRAIN as u64;
/// Time to send a packet of ten bytes (a grain) at 10 Gb/s.
const ROUND: Time = Time::from_ns(8);

/// Ports that send one grain per round, and queues that receive `rate` grains per round.
struct Figure {
    switch: Switch<Box<dyn Policy>>,
    /// Number of each loaded queue, and grains that the queue receives per round.
    load: Vec<(u16, u64)>,
    now: Time,
    /// Refused arrivals of each queue since the last call of [`Self::forget_drops`].
    dropped: Vec<u64>,
    ports: u16,
}

impl Figure {
    fn new(policy: &str, params: &[(&str, ParamValue)], packets: u64, ports: usize, queues: usize) -> Self {
        let params: Vec<_> = params.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let config = SwitchConfig {
            max_packet: u64::from(GRAIN),
            ..SwitchConfig::new(packets * PACKET, vec![BitRate::gbps(10); ports]).with_queues(queues)
        };
        let switch = config.build(policy, &params).expect("it fits");
        let dropped = vec![0; ports * queues];
        Self { switch, load: Vec::new(), now: Time::ZERO, dropped, ports: ports as u16 }
    }

    fn round(&mut self) {
        self.now += ROUND;
        while let Some(due) = self.switch.poll_timeout().filter(|&due| due <= self.now) {
            self.switch.handle_timeout(due, &mut ());
        }
        let queues_per_port = self.switch.buffer().queues_per_port();
        for port in 0..self.ports {
            let _ = self.switch.poll_transmit(self.now, port, &mut ());
            for &(queue, rate) in self.load.iter().filter(|(queue, _)| queue / queues_per_port == port) {
                for _ in 0..rate {
                    let packet = Packet {
                        header: Header {
                            size: GRAIN,
                            priority: (queue % queues_per_port) as u8,
                            ..Header::default()
                        },
                        egress_port: port,
                        ..Packet::default()
                    };
                    if let Admission::Refused(_) = self.switch.handle_arrival(self.now, &packet, &mut ()) {
                        self.dropped[usize::from(queue)] += 1;
                    }
                }
            }
        }
    }

    /// Runs the switch of a figure for `units` units of time.
    fn run(&mut self, units: u64) {
        for _ in 0..units * ROUNDS {
            self.round();
        }
    }

    /// Length of `queue` in packets of Plasticine's figures.
    fn length(&self, queue: u16) -> f64 {
        self.switch.buffer().queue_bytes(QueueId(queue)) as f64 / PACKET as f64
    }

    /// Adds a load of `rate` packets per unit of time to `queue`.
    /// Returns the time of the queue's first drop, and the queue's length at that time.
    fn burst_until_first_drop(&mut self, queue: u16, rate: u64) -> (f64, f64) {
        self.load.push((queue, rate));
        self.dropped.fill(0);
        let mut rounds = 0;
        while self.dropped[usize::from(queue)] == 0 {
            self.round();
            rounds += 1;
            assert!(rounds < 1_000 * ROUNDS, "the burst never meets its threshold");
        }
        (rounds as f64 / ROUNDS as f64, self.length(queue))
    }
}

fn alphas(list: &[f64]) -> (&'static str, ParamValue) {
    ("alpha", ParamValue::RatioPerPriority(list.to_vec().into()))
}

/// Alphas of the paper's figures: the red queue (queue 0 of a port) has alpha 2, the yellow queues
/// (all other queues) have alpha 1.
fn red_and_yellow() -> (&'static str, ParamValue) {
    alphas(&[2.0, 1.0])
}

/// Parameter with which Plasticine updates N and gamma every tenth of a unit of time.
fn prompt() -> (&'static str, ParamValue) {
    ("update_interval", ParamValue::Time(Time::from_ns(80)))
}

fn high(n: u64) -> (&'static str, ParamValue) {
    ("high_priorities", ParamValue::Count(n))
}

#[track_caller]
fn near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "found {found}, expected {expected}");
}

/// Policies under test. The two policies give equal results if every priority has one queue.
const BOTH: [(&str, bool); 2] = [("dt", false), ("plasticine", true)];

fn build(policy: (&str, bool), ports: usize, queues: usize) -> Figure {
    let params = if policy.1 { vec![red_and_yellow(), prompt()] } else { vec![red_and_yellow()] };
    Figure::new(policy.0, &params, 60, ports, queues)
}

#[test]
fn figure_2a_and_2b_are_the_same_under_both_schemes_30_then_15_and_30() {
    for policy in BOTH {
        let mut figure = build(policy, 2, 2);
        figure.load = vec![(1, 2)];
        figure.run(100);
        near(figure.length(1), 30.0, 0.1);
        figure.load.push((2, 3));
        figure.run(100);
        near(figure.length(1), 15.0, 0.1);
        near(figure.length(2), 30.0, 0.1);
    }
}

#[test]
fn figure_2c_dynamic_thresholds_shrink_red_to_20_and_figure_6a_plasticine_keeps_it_at_30() {
    for (policy, yellow, red) in [(BOTH[0], 10.0, 20.0), (BOTH[1], 5.0, 30.0)] {
        let mut figure = build(policy, 4, 2);
        figure.load = vec![(1, 2), (3, 2), (5, 2), (6, 3)];
        figure.run(300);
        for queue in [1, 3, 5] {
            near(figure.length(queue), yellow, 0.1);
        }
        near(figure.length(6), red, 0.1);
    }
}

#[test]
fn red_alone_holds_40() {
    for policy in BOTH {
        let mut figure = build(policy, 1, 2);
        figure.load = vec![(0, 2)];
        figure.run(100);
        near(figure.length(0), 40.0, 0.1);
    }
}

#[test]
fn figure_3_the_burst_meets_its_threshold_at_6_and_the_steady_state_at_15() {
    for policy in BOTH {
        let mut figure = build(policy, 2, 2);
        figure.load = vec![(1, 2)];
        figure.run(100);
        let (t1, stored) = figure.burst_until_first_drop(2, 5);
        near(t1, 6.0, 0.1);
        near(stored, 24.0, 0.2);
        near(figure.length(1), 24.0, 0.2);
        figure.run(9);
        near(figure.length(1), 15.0, 0.2);
        near(figure.length(2), 30.0, 0.2);
    }
}

/// Runs five yellow queues of port 0 and a burst of rate 5 to the red queue of port 1. Returns time
/// and red's length at the first drop, red's steady length, and yellow's lengths before and after
/// the burst.
fn five_to_one(policy: &str, params: &[(&str, ParamValue)]) -> [f64; 5] {
    let mut figure = Figure::new(policy, params, 60, 2, 6);
    figure.load = (1..6).map(|queue| (queue, 1)).collect();
    figure.run(400);
    let before = figure.length(3);
    let (t1, stored) = figure.burst_until_first_drop(6, 5);
    figure.run(400);
    [before, t1, stored, figure.length(6), figure.length(3)]
}

#[test]
fn figure_5_dynamic_thresholds_cut_the_burst_at_8_of_15() {
    // Erratum E-PLA-1: the paper states a steady red length of about 17 packets. With 17 packets,
    // the red length at the first drop would be 9 packets less. The right steady length is 15
    // packets, and the length at the first drop is 7 packets less.
    let [before, t1, stored, red, yellow] = five_to_one("dt", &[red_and_yellow()]);
    near(before, 10.0, 0.1);
    near(t1, 2.0, 0.1);
    near(stored, 8.0, 0.2);
    near(red, 15.0, 0.2);
    near(yellow, 7.5, 0.2);
}

#[test]
fn seventeen_is_the_steady_state_with_four_low_queues_not_with_five() {
    // Erratum E-PLA-1: with four yellow queues, the steady red length is 60 x 2 / (1 + 4 + 2) =
    // 17.14 packets. The red length at the first drop is then 9.6 packets.
    let mut figure = Figure::new("dt", &[red_and_yellow()], 60, 2, 6);
    figure.load = (1..5).map(|queue| (queue, 1)).collect();
    figure.run(400);
    let (_, stored) = figure.burst_until_first_drop(6, 5);
    near(stored, 9.6, 0.2);
    figure.run(400);
    near(figure.length(6), 17.14, 0.2);
}

#[test]
fn figure_5_with_five_ports_dynamic_thresholds_absorb_the_burst() {
    let mut figure = Figure::new("dt", &[red_and_yellow()], 60, 6, 2);
    figure.load = (0..5).map(|port| (2 * port + 1, 2)).collect();
    figure.run(400);
    let (t1, stored) = figure.burst_until_first_drop(10, 5);
    near(t1, 3.75, 0.1);
    near(stored, 15.0, 0.2);
    figure.run(100);
    near(figure.length(10), 15.0, 0.2);
}

#[test]
fn figure_6b_and_6c_by_equation_3_yellow_hold_2_each_and_the_burst_is_absorbed_whole() {
    // Erratum E-PLA-2: the figure shows 6 packets in each queue. The example belongs to the paper's
    // case 1: the first drop coincides with the steady state.
    let [before, t1, stored, red, yellow] = five_to_one("plasticine", &[red_and_yellow(), prompt()]);
    near(before, 2.0, 0.1);
    near(t1, 9.375, 0.2);
    near(stored, 37.5, 0.5);
    near(red, 37.5, 0.5);
    near(yellow, 0.75, 0.1);
}

#[test]
fn figure_6b_and_6c_as_drawn_have_one_of_the_two_factors_6_each_and_24_stored() {
    let [before, t1, stored, red, yellow] = five_to_one("plasticine", &[red_and_yellow(), prompt(), high(6)]);
    near(before, 6.0, 0.1);
    near(t1, 6.0, 0.1);
    near(stored, 24.0, 0.3);
    near(red, 30.0, 0.3);
    near(yellow, 3.0, 0.1);
}

#[test]
fn an_alpha_of_equation_7_absorbs_its_burst_and_a_smaller_one_does_not() {
    // Example of docs/concepts/algorithms.md section 4.4: B = 8 ms of line time, alpha_L = 1/2,
    // rate 5. A burst of .3 B needs alpha_H > .4932, and a burst of .8 B needs 3.4286. B is 400
    // packets in the test: arrivals of .3 B take 24 units of time, arrivals of .8 B take 64.
    for (duration, needed) in [(24, 0.4932), (64, 3.4286)] {
        for (alpha, absorbed) in [(needed * 1.03, true), (needed * 0.97, false)] {
            let params = [alphas(&[alpha, 0.5]), prompt()];
            let mut figure = Figure::new("plasticine", &params, 400, 2, 2);
            figure.load = vec![(1, 2)];
            figure.run(800);
            figure.load.push((2, 5));
            figure.dropped.fill(0);
            figure.run(duration);
            assert_eq!(figure.dropped[2] == 0, absorbed, "alpha_H {alpha}, {duration} units of time");
        }
    }
}

/// One congested queue of the load, with its group and its gamma.
struct Congested {
    queue: u16,
    alpha: f64,
    group: usize,
    gamma: f64,
}

#[test]
fn random_overloads_settle_at_equations_17_to_19_and_within_the_bounds() {
    for seed in 0..30 {
        let mut stream = RandomStream::new(seed, "test/plasticine", 0);
        let queues = 1 + stream.below(6) as usize;
        let ports = 1 + stream.below(5) as usize;
        let high = stream.below(queues as u64 + 1);
        let all: Vec<_> = (0..queues).map(|_| [0.5, 1.0, 2.0, 4.0][stream.below(4) as usize]).collect();
        let mut congested = Vec::new();
        for port in 0..ports {
            let k = 1 + stream.below(queues as u64) as usize;
            congested.extend((0..k).map(|priority| Congested {
                queue: (port * queues + priority) as u16,
                alpha: all[priority],
                group: priority.min(high as usize),
                gamma: 1.0 / k as f64,
            }));
        }
        let in_group = |group: usize| congested.iter().filter(|q| q.group == group).count() as f64;
        let weights: Vec<_> = congested.iter().map(|q| q.alpha * q.gamma / in_group(q.group)).collect();
        let sum: f64 = weights.iter().sum();
        let smallest = weights.iter().copied().fold(f64::INFINITY, f64::min);
        // The shortest steady queue has at least one packet of the figures, that is a hundred
        // grains.
        let packets = ((1.0 + sum) / smallest).ceil() as u64;
        let params = [alphas(&all), prompt(), ("high_priorities", ParamValue::Count(high))];
        let mut figure = Figure::new("plasticine", &params, packets, ports, queues);
        // Arrivals for each queue are at least twice as fast as its service.
        figure.load = congested.iter().map(|q| (q.queue, 2)).collect();
        figure.run(2 * packets + 20);
        for (q, weight) in congested.iter().zip(&weights) {
            let expected = packets as f64 * weight / (1.0 + sum);
            near(figure.length(q.queue), expected, 0.02 * expected + 0.03);
        }
        // Eq. 21 gives the free space for any number of queues,
        // Eq. 14 the maximum bytes of a priority.
        let largest =
            |group| congested.iter().filter(|q| q.group == group).map(|q| q.alpha).fold(0.0, f64::max);
        let free = figure.switch.buffer().shared_free() as f64 / PACKET as f64;
        let bound: f64 = (0..=queues).map(largest).sum();
        let slack = 0.03 * congested.len() as f64;
        assert!(free >= packets as f64 / (1.0 + bound) - slack, "seed {seed}: {free} free");
        for group in 0..=queues {
            let own = congested.iter().filter(|q| q.group == group);
            let held: f64 = own.map(|q| figure.length(q.queue)).sum();
            let alpha = largest(group);
            assert!(
                held <= packets as f64 * alpha / (1.0 + alpha) + slack,
                "seed {seed}, group {group}: {held}"
            );
        }
    }
}

#[test]
fn more_high_priorities_than_queues_are_refused_with_the_reason() {
    let config = SwitchConfig::new(60_000, vec![BitRate::gbps(10); 2]).with_queues(4);
    let error = config.build("plasticine", &[("high_priorities".to_owned(), ParamValue::Count(5))]);
    let error = error.map(|_| ()).expect_err("there are 4").to_string();
    assert_eq!(error, "high_priorities: 5 high priorities on ports of 4 queues; use 0 (one group) to 4");
}

#[test]
fn a_trap_without_a_limit_or_with_too_large_a_table_is_refused_with_the_reason() {
    let config = SwitchConfig::new(60_000, vec![BitRate::gbps(10); 2]);
    let refused = |name: &str, value| {
        let built = config.build("plasticine-single", &[(name.to_owned(), value)]);
        built.map(|_| ()).expect_err("refused").to_string()
    };
    assert!(refused("short_packets", ParamValue::Count(0)).contains("set short_packets or short_bytes"));
    assert!(refused("flow_entries", ParamValue::Count(1 << 30)).contains("16777216"));
}
