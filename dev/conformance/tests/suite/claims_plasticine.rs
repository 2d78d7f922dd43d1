//! Claims of Plasticine's Figures 2 to 6, checked packet by packet. The buffer has 60 packets, and
//! a port sends one packet per unit of time. Each packet of the figures is sent as 100 small
//! packets, so that rounding to whole packets does not matter.

use crate::support::circuit;
use bufferlab_conformance::claims;
use bufferlab_conformance::claims::{Finding, assert_findings};
use bufferlab_conformance::open_loop::{OpenLoop, Source};
use bufferlab_core::{ParamValue, SwitchConfig};
use bufferlab_units::{BitRate, Time};

const LINE: BitRate = BitRate::gbps(10);
/// Size of the packets in Plasticine's figures (bytes).
const PACKET: u64 = 1_000;
/// Size of the small packets that represent a packet of the figures (bytes).
const GRAIN: u32 = 10;

/// Converts a number of time units to a time; a port sends one packet per unit.
fn units(count: f64) -> Time {
    Time((LINE.serialization(PACKET).0 as f64 * count).round() as u64)
}

/// A switch with a buffer of 60 packets. Queue 0 of a port is red (alpha 2), the other queues are
/// yellow (alpha 1).
struct Figure {
    bench: OpenLoop,
    queues_per_port: u16,
}

impl Figure {
    fn new(scheme: Scheme, ports: usize, queues: usize) -> Self {
        let config = SwitchConfig {
            max_packet: u64::from(GRAIN),
            ..SwitchConfig::new(60 * PACKET, vec![LINE; ports]).with_queues(queues)
        };
        let alpha = ("alpha", ParamValue::RatioPerPriority(vec![2.0, 1.0].into()));
        // The policy updates its counters N and gamma ten times per packet time of the paper's
        // figures.
        let prompt = ("update_interval", ParamValue::Time(Time::from_ns(80)));
        let groups = |high| ("high_priorities", ParamValue::Count(high));
        let (policy, params) = match scheme {
            Scheme::Dt => ("dt", vec![alpha]),
            Scheme::Equation3 => ("plasticine", vec![alpha, prompt, groups(1)]),
            Scheme::OneFactor => ("plasticine", vec![alpha, prompt, groups(queues as u64)]),
        };
        let bench = OpenLoop::new(&config, policy, &params, &[]).expect("it fits");
        Self { bench, queues_per_port: queues as u16 }
    }

    /// Sends `rate` packets per unit of time to `queue`, starting now. Sources start at slightly
    /// different times, so that the order of simultaneous packets does not matter.
    fn load(&mut self, queue: u16, rate: u64) {
        let (port, priority) = (queue / self.queues_per_port, (queue % self.queues_per_port) as u8);
        let rate = BitRate(LINE.0 * rate);
        let start = self.bench.now + Time(u64::from(queue) * 37);
        self.bench.add(Source { port, priority, rate, packet: GRAIN, start, end: Time::MAX });
    }

    fn run(&mut self, count: f64) {
        let end = self.bench.now + units(count);
        self.bench.run_until(end);
    }

    /// Current length of a queue (packets).
    fn length(&self, queue: u16) -> f64 {
        self.bench.bytes(queue) as f64 / PACKET as f64
    }

    fn free(&self) -> f64 {
        self.bench.switch.buffer().shared_free() as f64 / PACKET as f64
    }

    /// Sends a burst to `queue`. Returns the time of the burst's first drop (units) and the queue's
    /// length at this time (packets).
    fn burst(&mut self, queue: u16, rate: u64) -> (f64, f64) {
        let start = self.bench.now;
        self.load(queue, rate);
        let lost = self.bench.queues[usize::from(queue)].losses.len();
        while self.bench.queues[usize::from(queue)].losses.len() == lost {
            assert!(self.bench.step(start + units(1_000.0)), "the burst never meets its threshold");
        }
        ((self.bench.now - start).as_secs_f64() / units(1.0).as_secs_f64(), self.length(queue))
    }
}

#[derive(Clone, Copy, Debug)]
enum Scheme {
    Dt,
    /// Both factors of Plasticine's Equation 3 apply, because all yellow queues of a port have one
    /// priority.
    Equation3,
    /// Only the factor for the drain rate applies, because every queue of a port has a separate
    /// priority.
    OneFactor,
}

/// Sends a 5:1 burst to the red queue of port 1, while port 0 has five yellow queues. Returns the
/// length of a yellow queue before the burst, then the time and the queue length at the first drop.
/// The last two values are the final lengths of the red and of a yellow queue.
fn five_to_one(scheme: Scheme) -> [f64; 5] {
    let mut figure = Figure::new(scheme, 2, 6);
    (1..6).for_each(|queue| figure.load(queue, 1));
    figure.run(400.0);
    let before = figure.length(3);
    let (time, stored) = figure.burst(6, 5);
    figure.run(400.0);
    [before, time, stored, figure.length(6), figure.length(3)]
}

fn near(found: f64, expected: f64, tolerance: f64) -> bool {
    (found - expected).abs() <= tolerance
}

claims! {
    Holds "PLA-HW-1" pla_hw_1_the_circuit_has_the_arrays_and_tables_of_the_figure ("four register arrays, two match-action tables") {
        let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../rtl/src/plasticine_pisa.sv"));
        let text = text.expect("the circuit is there");
        // In an array declaration of the circuit, a range follows the name.
        let arrays: Vec<&str> = text.lines().filter_map(|line| {
            let (declared, size) = line.trim().strip_prefix("logic ")?.rsplit_once('[')?;
            size.starts_with("2**").then(|| declared.rsplit(' ').next()).flatten()
        }).collect();
        let (built, figure) = (circuit("plasticine"), ["n_priority", "n_port", "shifts", "lengths", "egress"]);
        let (operations, differences) = built.compared();
        let met = arrays == figure && text.contains("remaining_register") && differences == 0 && built.is_proved();
        Finding::new(met, format!(
            "the circuit of {} stages: N_Priority, N_Port, Qlength and its copy at egress as arrays, Remaining as a register, Shift as a table; {operations} operations, {differences} unlike the policy's. Routing stands in front of it", built.clocks))
    }

    Holds "PLA-F2a-1" pla_f2a_1_one_yellow_queue_holds_half ("queue 30, remaining 30") {
        let mut figure = Figure::new(Scheme::Dt, 2, 2);
        figure.load(1, 2);
        figure.run(100.0);
        Finding::new(near(figure.length(1), 30.0, 0.2) && near(figure.free(), 30.0, 0.2), format!("{:.2}; {:.2}", figure.length(1), figure.free()))
    }

    Holds "PLA-F2b-1" pla_f2b_1_a_red_queue_halves_it ("yellow 15, red 30, remaining 15") {
        let mut figure = Figure::new(Scheme::Dt, 2, 2);
        figure.load(1, 2);
        figure.load(2, 3);
        figure.run(200.0);
        let found = [figure.length(1), figure.length(2), figure.free()];
        let met = near(found[0], 15.0, 0.2) && near(found[1], 30.0, 0.2) && near(found[2], 15.0, 0.2);
        Finding::new(met, format!("{:.2}; {:.2}; {:.2}", found[0], found[1], found[2]))
    }

    Holds "PLA-F2c-1" pla_f2c_1_three_yellow_queues_take_a_third_from_red ("red 20, yellow 30 in total, remaining 10") {
        let mut figure = Figure::new(Scheme::Dt, 4, 2);
        [1, 3, 5].into_iter().for_each(|queue| figure.load(queue, 2));
        figure.load(6, 3);
        figure.run(300.0);
        let yellow: f64 = [1, 3, 5].into_iter().map(|queue| figure.length(queue)).sum();
        let met = near(figure.length(6), 20.0, 0.2) && near(yellow, 30.0, 0.4) && near(figure.free(), 10.0, 0.2);
        Finding::new(met, format!("{:.2}; {yellow:.2}; {:.2}", figure.length(6), figure.free()))
    }

    Holds "PLA-F2d-1" pla_f2d_1_red_alone_holds_two_thirds ("40") {
        let mut figure = Figure::new(Scheme::Dt, 1, 2);
        figure.load(0, 2);
        figure.run(200.0);
        Finding::new(near(figure.length(0), 40.0, 0.2), format!("{:.2}", figure.length(0)))
    }

    Holds "PLA-F3-1" pla_f3_1_yellow_drains_above_its_threshold_while_red_drops ("Q1 above its threshold until t2, Q2 drops from t1 to t2 (rate not stated; 5)") {
        let mut figure = Figure::new(Scheme::Dt, 2, 2);
        figure.load(1, 2);
        figure.run(100.0);
        let (t1, stored) = figure.burst(2, 5);
        let above = figure.bench.bytes(1) > figure.bench.threshold(1).unwrap_or(u64::MAX);
        let start = figure.bench.now;
        let lost = figure.bench.queues[2].losses.len();
        // At time t2 of the paper's figure, the yellow queue has drained to its threshold.
        while figure.bench.bytes(1) > figure.bench.threshold(1).unwrap_or(u64::MAX) && figure.bench.step(Time::MAX) {}
        let t2 = t1 + (figure.bench.now - start).as_secs_f64() / units(1.0).as_secs_f64();
        let drops = figure.bench.queues[2].losses.len() > lost;
        let (yellow, red) = (figure.length(1), figure.length(2));
        let met = near(t1, 6.0, 0.1) && near(stored, 24.0, 0.3) && above && drops && near(t2, 15.0, 0.2) && near(yellow, 15.0, 0.3) && near(red, 30.0, 0.3);
        Finding::new(met, format!("t1 = {t1:.2} with Q2 = {stored:.2}, t2 = {t2:.2} with Q1 = {yellow:.2}, Q2 = {red:.2}; closed form 6, 24, 15, 15, 30"))
    }

    Holds "PLA-F4-1" pla_f4_1_the_share_of_one_red_queue_falls_with_the_number_of_yellow_ones ("falls towards 0 (alphas not stated; 2 and 1)") {
        let share = |yellow: u16| {
            let mut figure = Figure::new(Scheme::Dt, 1 + usize::from(yellow), 2);
            figure.load(0, 3);
            (1..=yellow).for_each(|port| figure.load(2 * port + 1, 2));
            figure.run(150.0);
            figure.length(0) / 60.0
        };
        let counts = [0, 1, 2, 4, 8, 16, 32];
        let found = counts.map(share);
        let met = counts.iter().zip(found).all(|(n, found)| near(found, 2.0 / (3.0 + f64::from(*n)), 0.01));
        let list: Vec<String> = found.iter().map(|share| format!("{share:.3}")).collect();
        Finding::new(met, format!("{} of the buffer beside 0, 1, 2, 4, 8, 16, 32 yellow queues: aH/(1 + aH + n aL) within 0.01", list.join(", ")))
    }

    Holds "PLA-F5a-1" pla_f5a_1_five_yellow_queues_of_a_port_hold_ten_each ("10 per queue, remaining 10") {
        let mut figure = Figure::new(Scheme::Dt, 2, 6);
        (1..6).for_each(|queue| figure.load(queue, 1));
        figure.run(400.0);
        let met = (1..6).all(|queue| near(figure.length(queue), 10.0, 0.3)) && near(figure.free(), 10.0, 0.3);
        Finding::new(met, format!("{:.2}; {:.2}", figure.length(1), figure.free()))
    }

    Holds "PLA-F5b-1" pla_f5b_1_dt_cuts_the_burst_at_eight_packets ("8 packets queued at the first drop") {
        let [_, time, stored, ..] = five_to_one(Scheme::Dt);
        Finding::new(near(time, 2.0, 0.1) && near(stored, 8.0, 0.3), format!("{stored:.2} after {time:.2} packet times"))
    }

    Refuted "PLA-F5b-2" pla_f5b_2_the_steady_share_of_the_burst_queue_is_15_and_17_belongs_to_four_yellow_queues ("about 17, 9 more than at the first drop") {
        let [_, _, stored, red, _] = five_to_one(Scheme::Dt);
        let mut four = Figure::new(Scheme::Dt, 2, 6);
        (1..5).for_each(|queue| four.load(queue, 1));
        four.run(400.0);
        let (_, stored_four) = four.burst(6, 5);
        four.run(400.0);
        let met = near(red, 15.0, 0.3) && near(four.length(6), 17.14, 0.3) && near(stored_four, 9.6, 0.3);
        Finding::new(met, format!("{red:.2}, {:.2} more; with four yellow queues {:.2}, and then the first drop is at {stored_four:.2}", red - stored, four.length(6)))
    }

    Holds "PLA-F5b-3" pla_f5b_3_with_the_yellow_queues_on_five_ports_the_burst_is_absorbed ("absorbed; steady state 5x faster") {
        let mut figure = Figure::new(Scheme::Dt, 6, 2);
        (0..5).for_each(|port| figure.load(2 * port + 1, 2));
        figure.run(400.0);
        let (time, stored) = figure.burst(10, 5);
        figure.run(100.0);
        Finding::new(near(stored, 15.0, 0.3) && near(figure.length(10), 15.0, 0.3), format!("first drop at {stored:.2}, the steady share, after {time:.2} packet times (one port: yellow drains 5 times slower)"))
    }

    Holds "PLA-F6a-1" pla_f6a_1_plasticine_keeps_red_at_30_beside_three_yellow_queues ("yellow 15 (5 each), red 30") {
        let mut figure = Figure::new(Scheme::Equation3, 4, 2);
        [1, 3, 5].into_iter().for_each(|queue| figure.load(queue, 2));
        figure.load(6, 3);
        figure.run(300.0);
        let yellow = [1, 3, 5].map(|queue| figure.length(queue));
        let met = yellow.iter().all(|length| near(*length, 5.0, 0.2)) && near(figure.length(6), 30.0, 0.3);
        Finding::new(met, format!("{:.2} each; {:.2}", yellow[0], figure.length(6)))
    }

    Refuted "PLA-F6b-1" pla_f6b_1_five_yellow_queues_of_a_port_hold_two_each_by_equation_3_and_six_by_one_factor ("6 per yellow queue") {
        let (both, one) = (five_to_one(Scheme::Equation3)[0], five_to_one(Scheme::OneFactor)[0]);
        Finding::new(near(both, 2.0, 0.2) && near(one, 6.0, 0.2), format!("Eq. 3: {both:.2}; with the drain rate only, as the figure must have been made: {one:.2}"))
    }

    Holds "PLA-F6c-1" pla_f6c_1_plasticine_absorbs_three_times_what_dt_does ("the burst fully absorbed (8 under DT)") {
        let [_, _, dt, ..] = five_to_one(Scheme::Dt);
        let [_, _, both, steady, _] = five_to_one(Scheme::Equation3);
        let [_, _, one, ..] = five_to_one(Scheme::OneFactor);
        let met = near(both, 37.5, 0.6) && near(steady, 37.5, 0.6) && one >= 23.7 && near(dt, 8.0, 0.3);
        Finding::new(met, format!("{both:.2} packets before the first drop by Eq. 3, its steady share; {one:.2} with one factor; {dt:.2} under DT"))
    }
}

#[test]
fn the_recorded_findings_are_todays() {
    assert_findings("plasticine", CLAIMS);
}
