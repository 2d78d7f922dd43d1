//! Tests of bounds on 100,000 random states and more. Each test reports the smallest slack, which
//! is large for a bound that no state approaches.

use super::Tested;
use super::support::{between, some_alpha, some_count};
use crate::forms::dynamic_threshold::{share_alone, steady_state};
use crate::forms::traffic_aware::Bursts;
use crate::forms::transient::{NewQueues, OldQueues};
use crate::forms::{DomainError, abm, plasticine, plasticine_pisa, reverie};
use bufferlab_units::RandomStream;

super::checks! {
    lemma_1_the_omegas_of_a_priority_sum_to_at_most_alpha_and_to_alpha_only_at_full_rate,
    theorems_1_to_3_of_abm_hold_as_corrected_and_1_and_3_fail_as_printed,
    with_several_queues_of_a_priority_on_a_port_the_drain_time_is_not_divided_by_their_number,
    plasticine_bounds_occupancy_shares_and_free_buffer_with_mixed_alphas_in_a_priority,
    the_times_for_high_priority_are_lower_bounds_whatever_the_low_queues,
    edt_is_never_below_dynamic_thresholds_and_equation_14_never_binds,
    property_1_of_reverie_has_no_mismatch_as_corrected_and_many_as_printed,
    theorem_2_of_reverie_bounds_what_is_idle,
    a_shift_stays_within_the_square_root_of_2_and_the_table_is_small,
    a_queue_never_takes_more_than_its_share_alone,
}

const STATES: u32 = 100_000;
const ROUNDING: f64 = 1e-9;

/// Congested queues of a switch. Each port serves its queues by random weights.
/// A priority has at most one queue on a port.
struct Switch {
    alphas: Vec<f64>,
    /// Priority and drain rate gamma of each congested queue.
    queues: Vec<(usize, f64)>,
}

impl Switch {
    fn random(stream: &mut RandomStream) -> Self {
        let priorities = some_count(stream, 1, 4) as usize;
        let ports = some_count(stream, 1, 6);
        let mut queues = Vec::new();
        for _ in 0..ports {
            let active: Vec<usize> = (0..priorities).filter(|_| stream.below(2) == 0).collect();
            let equal = stream.below(4) == 0;
            let weights: Vec<f64> =
                active.iter().map(|_| if equal { 1.0 } else { between(stream, 0.05, 1.0) }).collect();
            let all: f64 = weights.iter().sum();
            queues.extend(active.into_iter().zip(weights).map(|(priority, weight)| (priority, weight / all)));
        }
        if queues.is_empty() {
            queues.push((0, 1.0));
        }
        // A priority without a congested queue does not use the buffer.
        let mut alphas = Vec::new();
        for priority in 0..priorities {
            if queues.iter().any(|q| q.0 == priority) {
                queues.iter_mut().filter(|q| q.0 == priority).for_each(|q| q.0 = alphas.len());
                alphas.push(some_alpha(stream));
            }
        }
        Self { alphas, queues }
    }

    fn count(&self, priority: usize) -> u32 {
        u32::try_from(self.queues.iter().filter(|q| q.0 == priority).count()).expect("few")
    }

    fn gammas(&self, priority: usize) -> Vec<f64> {
        self.queues.iter().filter(|q| q.0 == priority).map(|q| q.1).collect()
    }

    /// Omega (factor of the threshold) of every congested queue.
    fn omegas(&self) -> Result<Vec<f64>, DomainError> {
        self.queues.iter().map(|&(p, gamma)| abm::omega(self.alphas[p], self.count(p), gamma)).collect()
    }
}

/// Claim: ABM-L1-1
#[cfg_attr(test, test)]
fn lemma_1_the_omegas_of_a_priority_sum_to_at_most_alpha_and_to_alpha_only_at_full_rate() -> Tested {
    let mut stream = RandomStream::new(1, "ABM-L1-1", 0);
    let mut at_full_rate = 0;
    for _ in 0..STATES {
        let switch = Switch::random(&mut stream);
        for (priority, &alpha) in switch.alphas.iter().enumerate() {
            let gammas = switch.gammas(priority);
            let sum = abm::omega_sum(alpha, &gammas)?;
            assert!(sum <= alpha * (1.0 + ROUNDING));
            let full = gammas.iter().all(|&gamma| gamma == 1.0);
            assert_eq!(full, sum >= alpha * (1.0 - ROUNDING), "{gammas:?}");
            at_full_rate += u32::from(full);
        }
    }
    assert!(at_full_rate > 1000, "both sides of the equivalence were seen");
    Ok(())
}

/// Claim: ABM-T1-1, ABM-T2-1, ABM-T3-1
#[cfg_attr(test, test)]
fn theorems_1_to_3_of_abm_hold_as_corrected_and_1_and_3_fail_as_printed() -> Tested {
    let mut stream = RandomStream::new(1, "ABM-T1-1", 0);
    // The first variables are extreme ratios: the least occupancy / guarantee, the greatest
    // occupancy / maximum, and the greatest drain time / bound. The last variables count violations
    // of the printed forms.
    let (mut least, mut most, mut longest) = (f64::INFINITY, 0.0_f64, 0.0_f64);
    let (mut against_1, mut against_3) = (0, 0);
    for _ in 0..STATES {
        let switch = Switch::random(&mut stream);
        let state = steady_state(1.0, &switch.omegas()?)?;
        for (priority, &alpha) in switch.alphas.iter().enumerate() {
            let own = || switch.queues.iter().zip(&state.thresholds).filter(|(q, _)| q.0 == priority);
            let held: f64 = own().map(|(_, threshold)| threshold).sum();
            let gamma_min = switch.gammas(priority).into_iter().fold(1.0, f64::min);
            least = least.min(held / abm::guarantee(1.0, &switch.alphas, priority, gamma_min)?);
            most = most.max(held / abm::maximum(1.0, alpha)?);
            against_1 +=
                u32::from(held < abm::guarantee_printed(1.0, &switch.alphas, priority)? * (1.0 - ROUNDING));
            let drain_time = own().map(|(q, threshold)| threshold / q.1).fold(0.0, f64::max);
            let bound = abm::drain_time(1.0, 1.0, &switch.alphas, priority, switch.count(priority))?;
            longest = longest.max(drain_time / bound);
            against_3 += u32::from(drain_time > abm::drain_time_printed(1.0, 1.0, alpha)? * (1.0 + ROUNDING));
        }
    }
    assert!((1.0 - ROUNDING..1.0001).contains(&least), "guarantee: {least}");
    assert!((0.9999..1.0 + ROUNDING).contains(&most), "maximum: {most}");
    assert!((0.9999..1.0 + ROUNDING).contains(&longest), "drain time: {longest}");
    assert!(against_1 > 1000 && against_3 > 1000, "{against_1} {against_3}");
    Ok(())
}

#[cfg_attr(test, test)]
fn with_several_queues_of_a_priority_on_a_port_the_drain_time_is_not_divided_by_their_number() -> Tested {
    let omega = abm::omega(0.5, 4, 0.25)?;
    let drain_time = steady_state(1.0, &[omega; 4])?.thresholds[0] / 0.25;
    assert!(drain_time > abm::drain_time(1.0, 1.0, &[0.5], 0, 4)? * 1.3);
    assert!(drain_time < abm::drain_time(1.0, 1.0, &[0.5], 0, 1)?);
    Ok(())
}

/// Claim: PLA-E4-1, PLA-E4-2, PLA-E14-1, PLA-E21-1
#[cfg_attr(test, test)]
fn plasticine_bounds_occupancy_shares_and_free_buffer_with_mixed_alphas_in_a_priority() -> Tested {
    let mut stream = RandomStream::new(1, "PLA-E4-1", 0);
    let mut fullest = 0.0_f64;
    for _ in 0..STATES {
        let priorities = some_count(&mut stream, 1, 3);
        let (mut largest, mut omegas, mut first) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..priorities {
            let queues: Vec<(f64, f64)> = (0..some_count(&mut stream, 1, 6))
                .map(|_| {
                    (some_alpha(&mut stream), 1.0 - stream.next_f64() * f64::from(stream.below(2) as u32))
                })
                .collect();
            let max = queues.iter().map(|q| q.0).fold(0.0, f64::max);
            let sum = plasticine::omega_sum_of_classes(&queues)?;
            assert!(sum <= max * (1.0 + ROUNDING), "{queues:?}");
            let count = u32::try_from(queues.len()).expect("few");
            first.push((omegas.len(), queues.len(), max));
            for (alpha, gamma) in queues {
                omegas.push((alpha, plasticine::omega(alpha, count, gamma)?));
            }
            largest.push(max);
        }
        let state = steady_state(1.0, &omegas.iter().map(|o| o.1).collect::<Vec<_>>())?;
        assert!(state.free >= plasticine::free_min(1.0, &largest)? * (1.0 - ROUNDING));
        fullest = fullest.max(state.occupancy / plasticine::occupancy_max(1.0, &largest)?);
        for ((alpha, _), threshold) in omegas.iter().zip(&state.thresholds) {
            assert!(*threshold <= plasticine::share_max(*alpha)? * (1.0 + ROUNDING));
        }
        for (start, count, max) in first {
            let held: f64 = state.thresholds[start..start + count].iter().sum();
            assert!(held <= plasticine::share_max(max)? * (1.0 + ROUNDING));
        }
    }
    assert!((0.999..1.0 + ROUNDING).contains(&fullest), "{fullest}");
    let floor = plasticine::free_min(1.0, &[0.5, 20.0])?;
    assert!((floor - 1.0 / 21.5).abs() < 1e-15);
    Ok(())
}

#[cfg_attr(test, test)]
fn the_times_for_high_priority_are_lower_bounds_whatever_the_low_queues() -> Tested {
    // The test compares Eqs. 35 and 40, which have sums of alphas,
    // with Eqs. 34 and 39, which have omegas.
    let mut stream = RandomStream::new(1, "lower bounds", 0);
    let mut compared = 0;
    while compared < STATES {
        let (low, count) = (some_alpha(&mut stream), some_count(&mut stream, 1, 12));
        let gamma = if stream.below(3) == 0 { 1.0 } else { between(&mut stream, 0.05, 1.0) };
        let old = [OldQueues::unchanged(count, abm::omega(low, count, gamma)?, gamma)];
        let new = NewQueues {
            count: some_count(&mut stream, 1, 3),
            omega: some_alpha(&mut stream),
            arrival_rate: between(&mut stream, 1.01, 60.0),
            drain_rate: 1.0,
        };
        let slack = 1.0 + ROUNDING;
        compared += 1;
        if new.arrival_rate <= abm::case_1_limit(&old, &new)? {
            assert!(abm::t1_bound_case_1(1.0, low, &new)? <= abm::t1_case_1(1.0, &old, &new)? * slack);
        } else {
            let drain = f64::from(count) * gamma;
            assert!(abm::t1_bound_case_2(1.0, low, &new, drain)? <= abm::t1_case_2(1.0, &old, &new)? * slack);
        }
    }
    Ok(())
}

/// Claim: TDT-E5-1, TDT-E13-1
#[cfg_attr(test, test)]
fn edt_is_never_below_dynamic_thresholds_and_equation_14_never_binds() -> Tested {
    let mut stream = RandomStream::new(1, "TDT-E5-1", 0);
    let mut case_2 = 0;
    for _ in 0..2 * STATES {
        let bursting = some_count(&mut stream, 1, 8);
        let congested = some_count(&mut stream, 0, 16 - bursting);
        let bursts = Bursts {
            buffer: 1.0,
            ports: 16,
            congested,
            bursting,
            alpha: some_alpha(&mut stream),
            arrival_rate: between(&mut stream, 0.01, 6.0).exp2(),
            port_rate: 1.0,
        };
        let slack = 1.0 + ROUNDING;
        let (dt, edt) = (bursts.dynamic_threshold()?, bursts.enhanced_dynamic_threshold()?);
        assert!(dt <= edt * slack && edt <= bursts.ideal()? * slack, "{bursts:?}");
        if bursts.arrival_rate > bursts.case_1_limit()? {
            case_2 += 1;
            assert!(edt <= bursts.old_queues_empty_printed()? * slack, "{bursts:?}");
        }
    }
    assert!(case_2 > STATES / 2, "{case_2} states of case 2");
    Ok(())
}

/// Claim: REV-P1-1
#[cfg_attr(test, test)]
fn property_1_of_reverie_has_no_mismatch_as_corrected_and_many_as_printed() -> Tested {
    let mut stream = RandomStream::new(1, "REV-P1-1", 0);
    let (mut mismatches, mut printed, mut below) = (0, 0, 0);
    for _ in 0..4 * STATES {
        let (gamma, step) = (between(&mut stream, 0.01, 0.999), between(&mut stream, 0.1, 10.0));
        let (old, length, limit) = (stream.next_f64(), stream.next_f64(), stream.next_f64());
        let new = reverie::filter(old, length, gamma)?;
        let slope = (new - old) / step;
        let equivalent =
            |filtered: f64, weight: f64| (filtered <= limit) == (length <= limit + weight * slope);
        mismatches += u32::from(!equivalent(old, reverie::gradient_weight(gamma, step)?));
        mismatches += u32::from(!equivalent(new, reverie::gradient_weight_of_new(gamma, step)?));
        printed += u32::from(!equivalent(old, reverie::gradient_weight_printed(gamma, step)?));
        below += u32::from(old <= limit);
    }
    assert_eq!(mismatches, 0);
    assert!(printed > STATES / 10, "{printed}");
    assert!(below > STATES && below < 3 * STATES, "both answers were seen");
    Ok(())
}

/// Claim: REV-T2-1
#[cfg_attr(test, test)]
fn theorem_2_of_reverie_bounds_what_is_idle() -> Tested {
    let mut stream = RandomStream::new(1, "REV-T2-1", 0);
    for _ in 0..STATES {
        let (lossless, lossy) = (some_alpha(&mut stream), some_alpha(&mut stream));
        let (low, high) = reverie::idle(1.0, lossless, lossy)?;
        let queues = |stream: &mut RandomStream, alpha: f64| {
            let count = some_count(stream, 1, 8);
            vec![alpha / f64::from(count); count as usize]
        };
        let (a, b) = (queues(&mut stream, lossless), queues(&mut stream, lossy));
        for congested in [a.clone(), b.clone(), [a, b].concat()] {
            let free = steady_state(1.0, &congested)?.free;
            assert!(
                free >= low * (1.0 - ROUNDING) && free <= high * (1.0 + ROUNDING),
                "{lossless} {lossy} {free}"
            );
        }
    }
    Ok(())
}

/// Claim: PLA-HW-3, PLA-HW-4
#[cfg_attr(test, test)]
fn a_shift_stays_within_the_square_root_of_2_and_the_table_is_small() -> Tested {
    let mut stream = RandomStream::new(1, "PLA-HW-3", 0);
    let (mut high, mut one_sided) = (1.0_f64, 1.0_f64);
    for _ in 0..STATES {
        let alpha = between(&mut stream, -7.0, 20.0_f64.log2()).exp2();
        let (queues, ports) = (some_count(&mut stream, 1, 60), some_count(&mut stream, 1, 8));
        let error = plasticine_pisa::shift_error(alpha, queues, ports)?;
        high = high.max(error).max(1.0 / error);
        let exact = plasticine_pisa::ideal_factor(alpha, queues, ports)?;
        one_sided = one_sided.max(exact / exact.log2().floor().exp2());
    }
    assert!((1.41..=2.0_f64.sqrt() + ROUNDING).contains(&high), "{high}");
    assert!((1.9..2.0).contains(&one_sided), "{one_sided}");
    assert!(plasticine_pisa::table_rules(8, 64, 7)? <= 3584);
    Ok(())
}

#[cfg_attr(test, test)]
fn a_queue_never_takes_more_than_its_share_alone() -> Tested {
    let mut stream = RandomStream::new(1, "share alone", 0);
    for _ in 0..STATES {
        let alphas: Vec<f64> = (0..some_count(&mut stream, 1, 8)).map(|_| some_alpha(&mut stream)).collect();
        let state = steady_state(1.0, &alphas)?;
        for (alpha, held) in alphas.iter().zip(state.thresholds) {
            assert!(held <= share_alone(*alpha)? * (1.0 + ROUNDING));
        }
    }
    Ok(())
}
