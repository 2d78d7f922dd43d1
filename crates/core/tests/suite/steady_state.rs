//! Steady queue lengths under open-loop overload, compared with the papers' fluid formulas. Each
//! port sends one packet per slot.

use bufferlab_core::*;
use bufferlab_units::{BitRate, RandomStream, Time};

const MTU: u64 = 1_500;
/// Serialization time of an MTU at 10 Gb/s: one slot.
const SLOT: Time = Time::from_ns(1_200);
/// Time of 840 slots, a whole number of rounds for ports with 1 to 8 congested queues.
/// So a packet count gives the drain rate without rounding: 840/k packets in an interval.
const WHOLE_ROUNDS: Time = Time::from_us(1_008);

/// A load in which queue p of port i is congested for every p below `congested[i]`.
#[derive(Clone, Debug)]
struct Overload {
    queues_per_port: usize,
    congested: Vec<usize>,
    /// Alpha of the thresholds, by priority.
    alphas: Vec<f64>,
}

impl Overload {
    /// A load of `n` congested queues on as few ports as possible.
    fn spread(n: usize, queues_per_port: usize, alpha: f64) -> Self {
        let ports = n.div_ceil(queues_per_port);
        let congested = (0..ports).map(|port| queues_per_port.min(n - port * queues_per_port)).collect();
        Self { queues_per_port, congested, alphas: vec![alpha; queues_per_port] }
    }

    fn random(seed: u64) -> Self {
        let mut stream = RandomStream::new(seed, "test/overload", 0);
        let queues_per_port = 1 + stream.below(8) as usize;
        let ports = 1 + stream.below(8) as usize;
        let congested = (0..ports).map(|_| 1 + stream.below(queues_per_port as u64) as usize).collect();
        let alphas =
            (0..queues_per_port).map(|_| [0.25, 0.5, 1.0, 2.0, 4.0][stream.below(5) as usize]).collect();
        Self { queues_per_port, congested, alphas }
    }

    /// Queue, priority and drain rate of every congested queue.
    fn queues(&self) -> impl Iterator<Item = (usize, usize, f64)> {
        self.congested.iter().enumerate().flat_map(move |(port, &k)| {
            (0..k).map(move |priority| (port * self.queues_per_port + priority, priority, 1.0 / k as f64))
        })
    }

    /// Number n_p of congested queues of a priority.
    fn congested_of(&self, priority: usize) -> usize {
        self.congested.iter().filter(|&&k| k > priority).count()
    }

    /// Weight omega of every congested queue under ABM (Eq. 13): omega = alpha_p gamma / n_p.
    fn abm_weights(&self) -> Vec<f64> {
        self.queues().map(|(_, p, gamma)| self.alphas[p] * gamma / self.congested_of(p) as f64).collect()
    }

    /// Weight omega of every congested queue under Dynamic Thresholds: omega = alpha_p.
    fn dt_weights(&self) -> Vec<f64> {
        self.queues().map(|(_, p, _)| self.alphas[p]).collect()
    }

    /// Buffer size at which the shortest steady queue has `packets` packets.
    /// With fewer than about ten packets, 0.9 T and T differ by less than a packet. Then ABM does
    /// not count a queue at its threshold T as congested.
    fn capacity(weights: &[f64], packets: u64) -> u64 {
        let smallest = weights.iter().copied().fold(f64::INFINITY, f64::min);
        ((packets * MTU) as f64 * (1.0 + weights.iter().sum::<f64>()) / smallest) as u64
    }

    /// Time-averaged length of every congested queue (bytes).
    ///
    /// In every slot each port sends one packet and gets two packets for its congested queues in
    /// round robin. So each queue receives twice its service rate.
    fn average_lengths(&self, policy: &str, capacity: u64, params: &[(&str, ParamValue)]) -> Vec<f64> {
        let ports = self.congested.len();
        let config =
            SwitchConfig::new(capacity, vec![BitRate::gbps(10); ports]).with_queues(self.queues_per_port);
        let mut params: Vec<_> =
            params.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        params.push(("alpha".to_owned(), ParamValue::RatioPerPriority(self.alphas.clone().into())));
        let mut switch = config.build(policy, &params).expect("it fits");
        let mut next = vec![0; ports];
        let queues: Vec<_> = self.queues().map(|(queue, ..)| QueueId(queue as u16)).collect();
        let mut sums = vec![0_u64; queues.len()];
        // The warm-up is long enough to fill the buffer twice through one port, and for several
        // updates.
        let warm_up = 2 * capacity / MTU + 12 * WHOLE_ROUNDS.0 / SLOT.0;
        let measured = 4 * WHOLE_ROUNDS.0 / SLOT.0;
        let mut now = Time::ZERO;
        for slot in 0..warm_up + measured {
            now += SLOT;
            while let Some(due) = switch.poll_timeout().filter(|&due| due <= now) {
                switch.handle_timeout(due, &mut ());
            }
            for (port, turn) in next.iter_mut().enumerate() {
                let _ = switch.poll_transmit(now, port as u16, &mut ());
                for _ in 0..2 {
                    let priority = *turn as u8;
                    *turn = (*turn + 1) % self.congested[port];
                    let packet = Packet {
                        header: Header { size: MTU as u32, priority, ..Header::default() },
                        egress_port: port as u16,
                        ..Packet::default()
                    };
                    let _ = switch.handle_arrival(now, &packet, &mut ());
                }
            }
            if slot >= warm_up {
                for (sum, &queue) in sums.iter_mut().zip(&queues) {
                    *sum += switch.buffer().queue_bytes(queue);
                }
            }
        }
        switch.verify().expect("the ledger holds");
        sums.iter().map(|&sum| sum as f64 / measured as f64).collect()
    }
}

/// Steady lengths of ABM Eq. 15–17: T_i = B omega_i / (1 + sum omega).
fn steady(capacity: u64, weights: &[f64]) -> Vec<f64> {
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| capacity as f64 * weight / (1.0 + sum)).collect()
}

fn drain_rate(word: &'static str) -> (&'static str, ParamValue) {
    ("drain_rate", ParamValue::Choice(word.into()))
}

fn interval(interval: Time) -> (&'static str, ParamValue) {
    ("update_interval", ParamValue::Time(interval))
}

fn within_a_percent_and_a_packet(lengths: &[f64], expected: &[f64]) -> bool {
    lengths.iter().zip(expected).all(|(q, t)| (q - t).abs() <= 0.01 * t + MTU as f64)
}

/// Layouts of 1 to 32 congested queues on ports of 1 to 8 queues.
fn every_layout() -> impl Iterator<Item = Overload> {
    (1..=32).flat_map(|n| (1..=8).map(move |queues| Overload::spread(n, queues, 0.5)))
}

fn assert_settles(load: &Overload, policy: &str, weights: &[f64], params: &[(&str, ParamValue)]) {
    let capacity = Overload::capacity(weights, 100);
    let (found, expected) = (load.average_lengths(policy, capacity, params), steady(capacity, weights));
    assert!(
        within_a_percent_and_a_packet(&found, &expected),
        "{policy} {params:?}, {load:?}, B = {capacity} B: found {found:.0?}, expected {expected:.0?}"
    );
}

#[test]
fn abm_with_computed_drain_rates_settles_at_its_closed_form() {
    for load in every_layout() {
        assert_settles(&load, "abm", &load.abm_weights(), &[drain_rate("computed")]);
    }
}

#[test]
fn abm_with_measured_drain_rates_settles_at_its_closed_form_when_an_interval_holds_whole_rounds() {
    for load in every_layout() {
        assert_settles(&load, "abm", &load.abm_weights(), &[drain_rate("measured"), interval(WHOLE_ROUNDS)]);
    }
}

#[test]
fn dynamic_thresholds_settle_at_their_closed_form() {
    for load in every_layout() {
        assert_settles(&load, "dt", &load.dt_weights(), &[]);
    }
}

#[test]
fn unequal_alphas_and_ports_settle_at_the_closed_forms() {
    for seed in 0..40 {
        let load = Overload::random(seed);
        assert_settles(&load, "abm", &load.abm_weights(), &[drain_rate("computed")]);
        assert_settles(&load, "dt", &load.dt_weights(), &[]);
    }
}

#[test]
fn abm_on_dynamic_thresholds_settles_at_abms_closed_form() {
    for seed in 200..220 {
        let load = Overload::random(seed);
        let params = [drain_rate("computed"), interval(WHOLE_ROUNDS)];
        assert_settles(&load, "abm-dt", &load.abm_weights(), &params);
    }
}

#[test]
fn abm_on_dynamic_thresholds_that_never_updates_is_dynamic_thresholds() {
    for seed in 200..205 {
        let load = Overload::random(seed);
        assert_settles(&load, "abm-dt", &load.dt_weights(), &[interval(Time::from_ms(100_000))]);
    }
}

/// Checks that the tests of steady lengths can fail: the formula of a policy does not describe
/// another policy.
#[test]
fn neither_closed_form_describes_the_other_policy() {
    let load = Overload::spread(16, 4, 0.5);
    let (abm, dt) = (load.abm_weights(), load.dt_weights());
    let capacity = Overload::capacity(&abm, 100);
    let by_abm = load.average_lengths("abm", capacity, &[drain_rate("computed")]);
    let by_dt = load.average_lengths("dt", capacity, &[]);
    assert!(!within_a_percent_and_a_packet(&by_abm, &steady(capacity, &dt)));
    assert!(!within_a_percent_and_a_packet(&by_dt, &steady(capacity, &abm)));
}

/// Accuracy of measured drain rates at the paper's interval of 80 us. In an interval, 66.7 packets
/// of 1500 B pass at 10 Gb/s. So one of k queues on a port sends 66.7/k packets, rounded to a whole
/// packet. The measured gamma is wrong by up to k/66.7 in one interval. On average the queue
/// lengths are wrong by up to 2.7 %. The other tests of this file accept 1 %.
#[test]
fn measured_drain_rates_at_80_us_are_off_by_two_to_three_percent() {
    let (mut worst, mut exact) = (0.0_f64, 0.0_f64);
    for queues in 1..=8 {
        let load = Overload::spread(queues, queues, 0.5);
        let weights = load.abm_weights();
        // The queues are long, so a packet is 0.2 % of a queue's length.
        let capacity = Overload::capacity(&weights, 500);
        let expected = steady(capacity, &weights);
        let error = |interval_of: Time| {
            let found =
                load.average_lengths("abm", capacity, &[drain_rate("measured"), interval(interval_of)]);
            found.iter().zip(&expected).map(|(q, t)| (q / t - 1.0).abs()).fold(0.0, f64::max)
        };
        worst = worst.max(error(Time::from_us(80)));
        exact = exact.max(error(WHOLE_ROUNDS));
    }
    println!("largest deviation: {worst:.4} at 80 us, {exact:.4} at 1.008 ms");
    assert!((0.02..0.03).contains(&worst), "{worst}");
    assert!(exact < 0.003, "{exact}");
}

/// Alpha, number, bytes and smallest gamma of the congested queues, for every priority with a
/// congested queue.
fn by_priority(load: &Overload, lengths: &[f64]) -> Vec<(f64, f64, f64, f64)> {
    (0..load.queues_per_port)
        .filter(|&p| load.congested_of(p) > 0)
        .map(|p| {
            let own = load.queues().zip(lengths).filter(|((_, priority, _), _)| *priority == p);
            let (total, gamma) = own
                .fold((0.0, 1.0_f64), |(sum, least), ((.., gamma), length)| (sum + length, least.min(gamma)));
            (load.alphas[p], load.congested_of(p) as f64, total, gamma)
        })
        .collect()
}

#[test]
fn no_priority_holds_more_than_theorem_2_allows_or_less_than_the_corrected_theorem_1_promises() {
    for seed in 100..140 {
        let load = Overload::random(seed);
        let capacity = Overload::capacity(&load.abm_weights(), 100);
        let lengths = load.average_lengths("abm", capacity, &[drain_rate("computed")]);
        let (b, priorities) = (capacity as f64, by_priority(&load, &lengths));
        let all_alphas: f64 = priorities.iter().map(|(alpha, ..)| alpha).sum();
        for &(alpha, n, total, gamma) in &priorities {
            // The test allows an error of one packet per queue, because lengths are whole packets.
            let packets = n * MTU as f64;
            let upper = b * alpha / (1.0 + alpha);
            assert!(total <= upper + packets, "seed {seed}: {total:.0} B > {upper:.0} B of Theorem 2");
            // Erratum E-ABM-1: the lower bound must include gamma.
            let lower = b * alpha * gamma / (1.0 + alpha * gamma + all_alphas - alpha);
            assert!(total >= lower - packets, "seed {seed}: {total:.0} B < {lower:.0} B of Theorem 1");
        }
    }
}

#[test]
fn theorem_1_as_printed_promises_more_than_a_priority_gets() {
    // Erratum E-ABM-1: two priorities, alpha 1/2 each, on one port.
    // The paper prints B/4 for each, and the simulated packets give B/6.
    let load = Overload::spread(2, 2, 0.5);
    let capacity = 1_500_000;
    let lengths = load.average_lengths("abm", capacity, &[drain_rate("computed")]);
    for length in lengths {
        let share = length / capacity as f64;
        assert!((share - 1.0 / 6.0).abs() < 0.002, "{share}");
    }
}

#[test]
fn dynamic_thresholds_have_no_bound_per_priority() {
    // Dynamic Thresholds break the bound of ABM's Theorem 2.
    // With 16 congested queues one priority uses 8/9 of the buffer, and under ABM 1/3.
    let load = Overload::spread(16, 1, 0.5);
    let capacity = 3_840_000;
    let share = |policy, params: &[(&str, ParamValue)]| {
        load.average_lengths(policy, capacity, params).iter().sum::<f64>() / capacity as f64
    };
    assert!((share("dt", &[]) - 8.0 / 9.0).abs() < 0.01);
    assert!((share("abm", &[drain_rate("computed")]) - 1.0 / 3.0).abs() < 0.01);
}
