//! Tests of the fluid integrator against the closed forms of dynamic thresholds,
//! in every regime and for any state.

use crate::fluid_support::{
    Burst, Old, between, first_drop, first_drop_case_1, first_drop_case_2, near, scene, steady,
};
use bufferlab_theory::fluid::{Fluid, Law, Shape, Source};
use bufferlab_units::RandomStream;

/// Draws up to 12 old queues on up to 6 ports, with ABM's weights `α γ / n` or DT's weights α.
fn random_state(stream: &mut RandomStream, by_drain_rate: bool) -> (f64, Vec<Old>, Burst) {
    let mut old = Vec::new();
    for _ in 0..1 + stream.below(6) {
        let k = 1 + stream.below(2) as usize;
        for _ in 0..k {
            let gamma = 1.0 / k as f64;
            let alpha = between(stream, 0.1, 4.0);
            old.push((
                if by_drain_rate { alpha * gamma / (1 + stream.below(4)) as f64 } else { alpha },
                gamma,
            ));
        }
    }
    let burst = Burst {
        weight: between(stream, 0.1, 30.0),
        rate: 1.0 + between(stream, 0.05, 30.0),
        count: 1 + stream.below(2) as usize,
    };
    (between(stream, 0.5, 1e6), old, burst)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Regime {
    AllFollow,
    AllLag,
    Mixed,
}

/// Checks a thousand states of a regime in which a closed form is valid:
/// no old queue empties before the first drop.
fn check(regime: Regime, by_drain_rate: bool) {
    let name = format!("test/fluid/{regime:?}/{by_drain_rate}");
    let mut stream = RandomStream::new(1, &name, 0);
    let (mut checked, mut worst) = (0, 0.0_f64);
    while checked < 1_000 {
        let (buffer, old, burst) = random_state(&mut stream, by_drain_rate);
        let (expected, lagging) = first_drop(buffer, &old, burst);
        let found_regime = match lagging.len() {
            0 => Regime::AllFollow,
            n if n == old.len() => Regime::AllLag,
            _ => Regime::Mixed,
        };
        let (rest, _) = steady(buffer, &old.iter().map(|old| old.0).collect::<Vec<_>>());
        let empties = lagging.iter().any(|(weight, gamma)| weight * rest < gamma * expected);
        if found_regime != regime || empties {
            continue;
        }
        checked += 1;
        let (fluid, queue) = scene(buffer, &old, burst, expected * 4.0);
        let run = fluid.run_to_first_refusal(queue, expected * 4.0).expect("it runs");
        let found = run.first_refusal(queue).expect("it drops");
        worst = worst.max((found.time / expected - 1.0).abs());
        assert!(near(found.time, expected, 1e-3), "{found:?}, {expected}: {buffer} {old:?} {burst:?}");
        assert!(near(found.stored, (burst.rate - 1.0) * expected, 1e-3));
        assert!(near(found.arrived, burst.rate * expected, 1e-3));
        let printed = match regime {
            Regime::AllFollow => first_drop_case_1(buffer, &old, burst),
            Regime::AllLag => first_drop_case_2(buffer, &old, burst),
            Regime::Mixed => continue,
        };
        assert!(near(expected, printed, 1e-9), "the general form contains the papers' two");
    }
    println!("{regime:?}: largest deviation {worst:.1e}");
    assert!(worst < 1e-9, "the integrator is exact, not only close: {worst}");
}

#[test]
fn dynamic_thresholds_with_all_old_queues_following_drop_first_where_eq_34_says() {
    check(Regime::AllFollow, false);
}

#[test]
fn dynamic_thresholds_with_all_old_queues_lagging_drop_first_where_eq_39_says() {
    check(Regime::AllLag, false);
}

#[test]
fn dynamic_thresholds_with_some_old_queues_lagging_drop_first_where_the_general_algorithm_says() {
    check(Regime::Mixed, false);
}

#[test]
fn frozen_abm_weights_agree_in_every_regime() {
    for regime in [Regime::AllFollow, Regime::AllLag, Regime::Mixed] {
        check(regime, true);
    }
}

/// Erratum E-ABM-4: with old queues of weights 2 and 0.5, the printed limit between the paper's two
/// cases is a burst rate of 3.8. The printed limit assigns the rate 3.45 to case 1, although one
/// queue cannot follow its threshold.
#[test]
fn between_the_papers_two_cases_there_is_a_third_where_the_printed_form_is_eight_percent_too_optimistic() {
    let old = [(2.0, 1.0), (0.5, 1.0)];
    let first = |rate| {
        let burst = Burst { weight: 1.0, rate, count: 1 };
        let (fluid, queue) = scene(1.0, &old, burst, 1.0);
        let run = fluid.run(1.0).expect("it runs");
        (run.first_refusal(queue).expect("it drops").time, burst)
    };
    let (found, burst) = first(3.45);
    assert!(near(found, 0.083_624, 1e-5), "{found}");
    assert!(near(first_drop_case_1(1.0, &old, burst), 0.090_703, 1e-5));
    // The printed form is right for burst rates up to 2.75, above which one queue cannot follow its
    // threshold.
    let (found, burst) = first(2.7225);
    assert!(near(found, 0.129_01, 1e-4) && near(found, first_drop_case_1(1.0, &old, burst), 1e-9));
    let (found, burst) = first(8.0);
    assert!(near(found, 0.023_810, 1e-4) && near(found, first_drop_case_2(1.0, &old, burst), 1e-9));
}

/// Erratum E-ABM-5: dT/dt > 0 is possible if queues drain faster than the burst fills the buffer.
#[test]
fn a_threshold_rises_during_a_burst_when_an_old_queue_drains_faster_than_the_burst_fills() {
    let shape = Shape::new(1.0, vec![1.0; 2], 1).expect("in domain");
    let law = Law::dynamic_threshold(&shape, &[1.0]).expect("in domain");
    let run = Fluid::new(shape, law)
        .and_then(|fluid| fluid.starting_with(&[0.5, 0.0]))
        .and_then(|fluid| fluid.with(Source { queue: 1, rate: 1.5, start: 0.0, end: 1.0 }))
        .and_then(|fluid| fluid.run(0.2))
        .expect("it runs");
    assert!(near((run.limit(1, 0.1) - run.limit(1, 0.0)) / 0.1, 0.5, 1e-9));
}

#[test]
fn overloaded_queues_settle_at_their_closed_form_from_any_start() {
    let mut stream = RandomStream::new(3, "test/fluid/steady", 0);
    for _ in 0..1_000 {
        let queues = 1 + stream.below(16) as usize;
        let shape = Shape::new(1.0, vec![1.0; queues], 1).expect("in domain");
        let alphas: Vec<f64> = (0..queues).map(|_| between(&mut stream, 0.05, 8.0)).collect();
        let mut lengths: Vec<f64> = (0..queues).map(|_| stream.next_f64()).collect();
        let scale = stream.next_f64() / lengths.iter().sum::<f64>();
        lengths.iter_mut().for_each(|length| *length *= scale);
        let law = Law::dynamic_threshold_by_queue(&shape, alphas.clone()).expect("in domain");
        let mut fluid = Fluid::new(shape, law).expect("it fits").starting_with(&lengths).expect("it fits");
        for queue in 0..queues {
            let rate = 1.0 + between(&mut stream, 0.1, 20.0);
            fluid = fluid.with(Source { queue, rate, start: 0.0, end: f64::INFINITY }).expect("in domain");
        }
        let run = fluid.run(40.0).expect("it runs");
        for (queue, limit) in steady(1.0, &alphas).1.into_iter().enumerate() {
            assert!(near(run.length(queue, 40.0), limit, 1e-6), "{} {limit}", run.length(queue, 40.0));
        }
    }
}

#[test]
fn what_arrives_is_served_refused_or_stored_whatever_happens() {
    let mut stream = RandomStream::new(4, "test/fluid/conservation", 0);
    for round in 0..300 {
        let shape = Shape::new(1.0, vec![1.0, 2.0, 0.5], 2).expect("in domain");
        let law = match round % 5 {
            0 => Law::complete_sharing(&shape),
            1 => Law::complete_partitioning(&shape),
            2 => Law::evenly_split(&shape),
            3 => Law::dynamic_threshold(&shape, &[8.0, 0.5]).expect("in domain"),
            _ => Law::dynamic_threshold(&shape, &[0.5, 2.0]).expect("in domain"),
        };
        let mut fluid = Fluid::new(shape, law).expect("it fits");
        for _ in 0..30 {
            let (start, length) = (2.0 * stream.next_f64(), between(&mut stream, 0.01, 1.0));
            let (queue, rate) = (stream.below(6) as usize, between(&mut stream, 0.1, 8.0));
            fluid = fluid.with(Source { queue, rate, start, end: start + length }).expect("in domain");
        }
        let run = fluid.run(3.0).expect("it runs");
        for queue in 0..6 {
            let out = run.served()[queue] + run.refused(queue, 3.0) + run.length(queue, 3.0);
            assert!((run.arrived()[queue] - out).abs() < 1e-9, "round {round}");
        }
        for at in run.breakpoints() {
            let held: f64 = at.lengths.iter().sum();
            assert!(held <= 1.0 + 1e-9 && at.lengths.iter().all(|&length| length >= 0.0), "{at:?}");
        }
    }
}

/// A full buffer under Complete Sharing stays full. Arrivals share the space that becomes free,
/// in proportion to their rates.
#[test]
fn complete_sharing_fills_the_buffer_and_stays_full() {
    let shape = Shape::new(1.0, vec![1.0; 2], 1).expect("in domain");
    let law = Law::complete_sharing(&shape);
    let run = Fluid::new(shape, law)
        .and_then(|fluid| fluid.with(Source { queue: 0, rate: 2.0, start: 0.0, end: 10.0 }))
        .and_then(|fluid| fluid.with(Source { queue: 1, rate: 4.0, start: 0.0, end: 10.0 }))
        .and_then(|fluid| fluid.run(20.0))
        .expect("it runs");
    // The queues grow at the rates 1 and 3, so the buffer is full at time 1/4.
    let first = run.first_refusal(1).expect("it drops");
    assert!(near(first.time, 0.25, 1e-9) && near(first.stored, 0.75, 1e-9));
    assert!(near(run.occupancy(5.0), 1.0, 1e-9));
    // The queues' arrivals share two free units of space per unit of time in the ratio 2 : 4. So
    // the slow queue loses a third of a unit per unit of time until it is empty.
    assert!(near(run.length(0, 0.25 + 0.3), 0.25 - 0.3 / 3.0, 1e-9));
    assert_eq!(run.length(0, 20.0), 0.0);
}

#[test]
fn an_underloaded_queue_leaves_its_share_of_the_port_to_the_others() {
    let shape = Shape::new(1.0, vec![1.0], 3).expect("in domain");
    let law = Law::complete_sharing(&shape);
    let run = Fluid::new(shape, law)
        .and_then(|fluid| fluid.with(Source { queue: 0, rate: 0.2, start: 0.0, end: 1.0 }))
        .and_then(|fluid| fluid.with(Source { queue: 1, rate: 0.6, start: 0.0, end: 1.0 }))
        .and_then(|fluid| fluid.with(Source { queue: 2, rate: 0.9, start: 0.0, end: 1.0 }))
        .and_then(|fluid| fluid.run(1.0))
        .expect("it runs");
    assert_eq!(run.length(0, 1.0), 0.0);
    assert!(near(run.length(1, 1.0), 0.2, 1e-9) && near(run.length(2, 1.0), 0.5, 1e-9));
}

/// Simulates the rules of a law in small time steps, without any code of the integrator. Ports
/// serve their backlogged queues equally.
fn in_small_steps(
    alphas: &[f64],
    queues_per_port: usize,
    sources: &[Source],
    end: f64,
    step: f64,
) -> Vec<f64> {
    let mut lengths = vec![0.0_f64; alphas.len()];
    for tick in 0..(end / step).round() as usize {
        let time = tick as f64 * step;
        let total: f64 = lengths.iter().sum();
        let free = 1.0 - total;
        let mut arriving = vec![0.0; alphas.len()];
        for source in sources.iter().filter(|source| source.start <= time && time < source.end) {
            arriving[source.queue] += source.rate * step;
        }
        for (queue, &amount) in arriving.iter().enumerate() {
            if lengths[queue] + amount <= alphas[queue] * free {
                lengths[queue] += amount;
            }
        }
        for port in lengths.chunks_mut(queues_per_port) {
            let mut rest = step;
            // The loop offers unused shares of short queues to the port's backlogged queues.
            for _ in 0..queues_per_port {
                let waiting = port.iter().filter(|&&length| length > 0.0).count();
                if waiting == 0 || rest <= 0.0 {
                    break;
                }
                let share = rest / waiting as f64;
                for length in port.iter_mut().filter(|length| **length > 0.0) {
                    let sent = length.min(share);
                    *length -= sent;
                    rest -= sent;
                }
            }
        }
    }
    lengths
}

#[test]
fn random_traffic_goes_where_small_steps_go() {
    let mut stream = RandomStream::new(6, "test/fluid/steps", 0);
    for round in 0..40 {
        let alphas_of_port = [between(&mut stream, 0.2, 4.0), between(&mut stream, 0.2, 4.0)];
        let shape = Shape::new(1.0, vec![1.0; 3], 2).expect("in domain");
        let law = Law::dynamic_threshold(&shape, &alphas_of_port).expect("in domain");
        let sources: Vec<_> = (0..14)
            .map(|_| {
                let (start, length) = (0.8 * stream.next_f64(), between(&mut stream, 0.05, 0.8));
                let (queue, rate) = (stream.below(6) as usize, between(&mut stream, 0.2, 6.0));
                Source { queue, rate, start, end: start + length }
            })
            .collect();
        let mut fluid = Fluid::new(shape, law).expect("it fits");
        for &source in &sources {
            fluid = fluid.with(source).expect("in domain");
        }
        let run = fluid.run(1.0).expect("it runs");
        let alphas: Vec<f64> = (0..6).map(|queue| alphas_of_port[queue % 2]).collect();
        let stepped = in_small_steps(&alphas, 2, &sources, 1.0, 1e-5);
        for (queue, &length) in stepped.iter().enumerate() {
            // The tolerance is several times the arrivals of the fastest sources in one step.
            assert!(
                (run.length(queue, 1.0) - length).abs() < 1e-3,
                "round {round}: {} {length}",
                run.length(queue, 1.0)
            );
        }
    }
}
