//! Statements of the ABM paper that closed forms decide. Each function names its statements.

use super::Tested;
use super::support::{assert_close, assert_ratio, between, integrate, some_alpha, some_count, some_queues};
use crate::forms::abm::{self, BurstPriority};
use crate::forms::dynamic_threshold::{self, Burst, CongestedQueues};
use crate::forms::traffic_aware::Bursts;
use crate::forms::transient::{NewQueues, OldQueues, Regime, Trajectory, first_touch};
use crate::forms::{DomainError, dimensions};
use bufferlab_units::RandomStream;

super::checks! {
    leaves_are_oversubscribed_4_to_1_and_5_to_1,
    eight_links_of_10_us_are_an_rtt_of_80_us,
    buffers_of_leaves_follow_from_the_figure_per_port_and_gigabit,
    the_lower_of_two_thresholds_decides,
    dynamic_thresholds_settle_at_alpha_over_one_plus_all_alphas,
    dynamic_thresholds_leave_less_than_2_percent_free_with_100_queues,
    a_high_alpha_does_not_protect_from_many_low_ones,
    thresholds_fall_alpha_times_as_fast_as_the_occupancy_rises,
    equation_8_is_equation_39_and_tdt_equations_7_and_8,
    the_threshold_of_abm_is_alpha_over_the_congested_queues_times_the_drain_rate,
    the_steady_state_of_abm_is_a_fixed_point,
    theorem_1_as_printed_fails_when_a_port_is_shared_and_holds_with_the_smallest_gamma,
    theorem_3_as_printed_fails_for_unequal_alphas_and_holds_with_the_smallest,
    equation_10_is_a_lower_bound_and_exact_when_every_gamma_is_1,
    equation_11_is_equation_39_with_the_priorities_present_before_the_burst,
    theorem_4_agrees_with_integration_wherever_all_queues_follow,
    theorem_5_agrees_with_integration_wherever_no_queue_follows_and_grows_with_the_ports,
    integration_agrees_with_the_first_loss_between_the_cases_and_beyond_rejoining,
    equation_35_does_not_depend_on_the_number_of_low_queues_and_is_below_equation_34,
    a_threshold_rises_when_the_affected_queues_drain_faster_than_the_burst_fills,
}

/// Claim: ABM-SET-1, PLA-SET-1
#[cfg_attr(test, test)]
fn leaves_are_oversubscribed_4_to_1_and_5_to_1() -> Tested {
    assert_eq!(dimensions::oversubscription(32, 10e9, 8, 10e9)?, 4.0);
    assert_eq!(dimensions::oversubscription(40, 1e9, 8, 1e9)?, 5.0);
    Ok(())
}

/// Claim: ABM-SET-2
#[cfg_attr(test, test)]
fn eight_links_of_10_us_are_an_rtt_of_80_us() -> Tested {
    let rtt = dimensions::base_rtt(8, 10e-6, 0, 0.0, 10e9)?;
    assert_ratio(rtt, 80e-6, 1e-12);
    assert_ratio(100.0 * rtt, 8e-3, 1e-12);
    assert_ratio(1000.0 * rtt, 80e-3, 1e-12);
    Ok(())
}

/// Claim: ABM-SET-3, REV-SET-2
#[cfg_attr(test, test)]
fn buffers_of_leaves_follow_from_the_figure_per_port_and_gigabit() -> Tested {
    assert_close(dimensions::buffer_bytes(40, 10.0, 9.6e3)?, 3.84e6, 1e-12);
    assert_close(dimensions::buffer_bytes(40, 10.0, 9.6 * 1024.0)?, 3_932_160.0, 1e-12);
    assert_close(dimensions::buffer_bytes(20, 25.0, 5.12e3)?, 2.56e6, 1e-12);
    assert_close(dimensions::buffer_bytes(16, 25.0, 5.12e3)?, 2.048e6, 1e-12);
    assert_close(dimensions::buffer_per_port_per_gbps(3.84e6, 40, 10.0)?, 9.6e3, 1e-12);
    Ok(())
}

/// Claim: ABM-E4-1
#[cfg_attr(test, test)]
fn the_lower_of_two_thresholds_decides() -> Tested {
    assert_eq!(dynamic_threshold::effective_threshold(30.0, 20.0)?, 20.0);
    assert_eq!(dynamic_threshold::effective_threshold(10.0, 20.0)?, 10.0);
    assert_eq!(dynamic_threshold::effective_threshold(0.0, 20.0)?, 0.0);
    Ok(())
}

/// Claim: ABM-E6-1
#[cfg_attr(test, test)]
fn dynamic_thresholds_settle_at_alpha_over_one_plus_all_alphas() -> Tested {
    let groups = [CongestedQueues { count: 3, alpha: 0.5 }, CongestedQueues { count: 2, alpha: 2.0 }];
    let each = dynamic_threshold::steady_state(7.0, &[0.5, 0.5, 0.5, 2.0, 2.0])?;
    assert_close(dynamic_threshold::steady_threshold(7.0, 2.0, &groups)?, 2.0 * 7.0 / 6.5, 1e-12);
    assert_close(each.thresholds[4], 2.0 * 7.0 / 6.5, 1e-12);
    assert_close(dynamic_threshold::steady_threshold(7.0, 0.5, &groups)?, each.thresholds[0], 1e-12);
    // The steady state is a fixed point, because every threshold follows from the occupancy.
    assert_close(dynamic_threshold::threshold(2.0, 7.0, each.occupancy)?, each.thresholds[4], 1e-12);
    Ok(())
}

/// Claim: ABM-F4-1
#[cfg_attr(test, test)]
fn dynamic_thresholds_leave_less_than_2_percent_free_with_100_queues() -> Tested {
    let free = |count| dynamic_threshold::steady_free(1.0, &[CongestedQueues { count, alpha: 0.5 }]);
    for count in 1..200 {
        assert!(free(count + 1)? < free(count)?, "{count}");
        assert_close(free(count)?, 1.0 / (1.0 + 0.5 * f64::from(count)), 1e-12);
    }
    assert!(free(100)? < 0.02 && (free(100)? - 0.0196).abs() < 5e-5);
    Ok(())
}

/// Claim: ABM-F4-2, PLA-F4-1
#[cfg_attr(test, test)]
fn a_high_alpha_does_not_protect_from_many_low_ones() -> Tested {
    let mut last = f64::INFINITY;
    for (count, share) in [(0, 0.667), (1, 0.5), (3, 0.333), (10, 0.154), (100, 0.019)] {
        let queues = [CongestedQueues { count: 1, alpha: 2.0 }, CongestedQueues { count, alpha: 1.0 }];
        let high = dynamic_threshold::steady_threshold(1.0, 2.0, &queues)?;
        assert_close(high, share, 6e-4);
        assert_close(high, 2.0 / (1.0 + 2.0 + f64::from(count)), 1e-12);
        assert!(high < last);
        last = high;
    }
    Ok(())
}

/// Claim: ABM-E7-1
#[cfg_attr(test, test)]
fn thresholds_fall_alpha_times_as_fast_as_the_occupancy_rises() -> Tested {
    let mut stream = RandomStream::new(1, "ABM-E7-1", 0);
    for _ in 0..1000 {
        let (alpha, occupancy, slope) = (some_alpha(&mut stream), stream.next_f64() * 0.9, stream.next_f64());
        let at = |time: f64| dynamic_threshold::threshold(alpha, 1.0, occupancy + slope * time);
        let difference = (at(1e-3)? - at(0.0)?) / 1e-3;
        assert_close(difference, dynamic_threshold::threshold_slope(alpha, slope)?, 1e-9);
    }
    Ok(())
}

/// Claim: ABM-E8-1
#[cfg_attr(test, test)]
fn equation_8_is_equation_39_and_tdt_equations_7_and_8() -> Tested {
    let mut stream = RandomStream::new(1, "ABM-E8-1", 0);
    let mut compared = 0;
    while compared < 1000 {
        let (alpha, congested) = (some_alpha(&mut stream), some_count(&mut stream, 1, 15));
        let arrival_rate = between(&mut stream, 1.1, 40.0);
        let tdt =
            Bursts { buffer: 1.0, ports: 16, congested, bursting: 1, alpha, arrival_rate, port_rate: 1.0 };
        if arrival_rate <= tdt.case_1_limit()? {
            continue;
        }
        compared += 1;
        let before = [CongestedQueues { count: congested, alpha }];
        let burst = Burst { arrival_rate, drain_rate: 1.0, old_drain_rate: f64::from(congested) };
        let equation_8 = dynamic_threshold::burst_stored_case_2(1.0, alpha, &before, burst)?;
        let new = NewQueues { count: 1, omega: alpha, arrival_rate, drain_rate: 1.0 };
        let old = [OldQueues::unchanged(congested, alpha, 1.0)];
        assert_ratio(new.growth() * abm::t1_case_2(1.0, &old, &new)?, equation_8, 1e-11);
        assert_ratio(tdt.stored(tdt.dynamic_threshold()?)?, equation_8, 1e-11);
        assert_ratio(first_touch(1.0, &old, &new)?.stored, equation_8, 1e-11);
    }
    Ok(())
}

/// Claim: ABM-E9-1, PLA-E3-1
#[cfg_attr(test, test)]
fn the_threshold_of_abm_is_alpha_over_the_congested_queues_times_the_drain_rate() -> Tested {
    assert_close(abm::threshold(0.5, 4, 0.25, 1000.0, 200.0)?, 25.0, 1e-12);
    assert_eq!(abm::threshold(0.5, 0, 1.0, 1000.0, 200.0)?, abm::threshold(0.5, 1, 1.0, 1000.0, 200.0)?);
    assert_eq!(abm::threshold(0.5, 1, 1.0, 1000.0, 1000.0)?, 0.0);
    for gamma in [0.0, -0.5, 1.01, f64::NAN] {
        assert!(abm::threshold(0.5, 1, gamma, 1000.0, 0.0).is_err(), "{gamma}");
    }
    Ok(())
}

/// Claim: ABM-E15-1
#[cfg_attr(test, test)]
fn the_steady_state_of_abm_is_a_fixed_point() -> Tested {
    let mut stream = RandomStream::new(1, "ABM-E15-1", 0);
    for _ in 0..1000 {
        let omegas: Vec<f64> = (0..some_count(&mut stream, 1, 40)).map(|_| some_alpha(&mut stream)).collect();
        let state = abm::steady_state(3.0, &omegas)?;
        let sum: f64 = omegas.iter().sum();
        assert_ratio(state.occupancy, 3.0 * sum / (1.0 + sum), 1e-9);
        assert_ratio(state.free, 3.0 / (1.0 + sum), 1e-9);
        assert_close(state.thresholds.iter().sum(), state.occupancy, 1e-9);
        for (omega, threshold) in omegas.iter().zip(state.thresholds) {
            assert_close(threshold, omega * (3.0 - state.occupancy), 1e-9);
        }
    }
    Ok(())
}

/// Claim: ABM-T1-1 (REFUTED as printed)
#[cfg_attr(test, test)]
fn theorem_1_as_printed_fails_when_a_port_is_shared_and_holds_with_the_smallest_gamma() -> Tested {
    let omega = abm::omega(0.5, 1, 0.5)?;
    let held = abm::steady_state(1.0, &[omega, omega])?.thresholds[0];
    assert!(held < abm::guarantee_printed(1.0, &[0.5, 0.5], 0)? - 0.08, "{held}");
    assert!(held >= abm::guarantee(1.0, &[0.5, 0.5], 0, 0.5)?);
    // If every gamma is 1, the printed and the corrected form equal the priority's occupancy.
    let held = abm::steady_state(1.0, &[abm::omega(0.5, 1, 1.0)?; 2])?.thresholds[0];
    assert_close(held, abm::guarantee(1.0, &[0.5, 0.5], 0, 1.0)?, 1e-12);
    assert_close(held, abm::guarantee_printed(1.0, &[0.5, 0.5], 0)?, 1e-12);
    Ok(())
}

/// Claim: ABM-T3-1 (REFUTED as printed for unequal alphas)
#[cfg_attr(test, test)]
fn theorem_3_as_printed_fails_for_unequal_alphas_and_holds_with_the_smallest() -> Tested {
    // The two queues of one port are served round robin, so each queue drains at half of the port's
    // rate.
    let omegas = [abm::omega(20.0, 1, 0.5)?, abm::omega(0.5, 1, 0.5)?];
    let drain_time = abm::steady_state(1.0, &omegas)?.thresholds[0] / 0.5;
    assert_close(drain_time, 1.778, 5e-4);
    assert_close(abm::drain_time_printed(1.0, 1.0, 20.0)?, 0.952, 5e-4);
    assert!(drain_time > abm::drain_time_printed(1.0, 1.0, 20.0)?);
    assert!(drain_time <= abm::drain_time(1.0, 1.0, &[20.0, 0.5], 0, 1)?);
    // If the alphas are equal, the printed and the corrected form are equal.
    assert_close(
        abm::drain_time(1.0, 1.0, &[0.5, 0.5], 0, 1)?,
        abm::drain_time_printed(1.0, 1.0, 0.5)?,
        1e-12,
    );
    assert_ratio(abm::drain_time_printed(3.84e6 * 8.0, 10e9, 0.5)?, 1.024e-3, 1e-12);
    Ok(())
}

/// The state of Eq. 10 and 35: one new queue of high priority, and `count` old queues of low
/// priority that share `ports` ports evenly.
fn low_queues(alpha: f64, count: u32, gamma: f64) -> Result<[OldQueues; 1], DomainError> {
    Ok([OldQueues::unchanged(count, abm::omega(alpha, count, gamma)?, gamma)])
}

/// Claim: ABM-E10-1
#[cfg_attr(test, test)]
fn equation_10_is_a_lower_bound_and_exact_when_every_gamma_is_1() -> Tested {
    let mut stream = RandomStream::new(1, "ABM-E10-1", 0);
    for _ in 0..10_000 {
        let (low, high) = (some_alpha(&mut stream), some_alpha(&mut stream));
        let gamma = if stream.below(2) == 0 { 1.0 } else { between(&mut stream, 0.1, 0.99) };
        let old = low_queues(low, some_count(&mut stream, 1, 60), gamma)?;
        let mut new = NewQueues { count: 1, omega: high, arrival_rate: 2.0, drain_rate: 1.0 };
        new.arrival_rate = between(&mut stream, 1.001, abm::case_1_limit(&old, &new)?);
        let stored = first_touch(1.0, &old, &new)?.stored;
        let priority = BurstPriority { alpha: high, congested: 1, gamma: 1.0 };
        let bound = abm::burst_stored_case_1(1.0, priority, &[low, high])?;
        assert!(stored >= bound * (1.0 - 1e-9), "{stored} {bound}");
        assert_eq!(gamma == 1.0, stored <= bound * (1.0 + 1e-9), "{stored} {bound} {gamma}");
    }
    Ok(())
}

/// Claim: ABM-E11-1
#[cfg_attr(test, test)]
fn equation_11_is_equation_39_with_the_priorities_present_before_the_burst() -> Tested {
    let mut stream = RandomStream::new(1, "ABM-E11-1", 0);
    let mut compared = 0;
    while compared < 500 {
        let (low, high) = (some_alpha(&mut stream), some_alpha(&mut stream));
        let count = some_count(&mut stream, 1, 12);
        let old = low_queues(low, count, 1.0)?;
        let arrival_rate = between(&mut stream, 2.0, 60.0);
        let new = NewQueues { count: 1, omega: high, arrival_rate, drain_rate: 1.0 };
        if arrival_rate <= abm::case_1_limit(&old, &new)? {
            continue;
        }
        compared += 1;
        let priority = BurstPriority { alpha: high, congested: 1, gamma: 1.0 };
        let drain = abm::drain_of_ports(count, 1.0)?;
        let equation_11 = abm::burst_stored_case_2(1.0, priority, &[low], &new, drain)?;
        let t1 = abm::t1_case_2(1.0, &old, &new)?;
        assert_ratio(equation_11, t1 * new.growth(), 1e-11);
        assert_ratio(integrate(1.0, &old, &new, t1 / 16_000.0), t1, 1e-3);
        // The sum in Eq. 11 might also include the burst's priority. Then the result would be
        // smaller.
        assert!(abm::burst_stored_case_2(1.0, priority, &[low, high], &new, drain)? < equation_11);
    }
    Ok(())
}

/// Claim: ABM-T4-1, PLA-E39-1
#[cfg_attr(test, test)]
fn theorem_4_agrees_with_integration_wherever_all_queues_follow() -> Tested {
    let mut stream = RandomStream::new(1, "ABM-T4-1", 0);
    let mut compared = 0;
    let mut with_affected = 0;
    while compared < 1000 {
        let old = some_queues(&mut stream, true);
        let mut new = some_new(&mut stream);
        let limit = abm::case_1_limit(&old, &new)?;
        new.arrival_rate = between(&mut stream, new.drain_rate + 0.01, limit.min(50.0));
        let t1 = abm::t1_case_1(1.0, &old, &new)?;
        // Theorem 4 is valid until an affected queue falls to its new threshold.
        let path = Trajectory::case_1(1.0, &old, &new)?;
        let above =
            |q: &OldQueues| path.draining(q.omega_before, q.drain_rate, t1) >= path.threshold(q.omega, t1);
        if t1 == f64::INFINITY || !old.iter().filter(|q| q.is_affected()).all(above) {
            continue;
        }
        compared += 1;
        with_affected += u32::from(old.iter().any(OldQueues::is_affected));
        assert_ratio(path.growing(&new, t1), path.threshold(new.omega, t1), 1e-9);
        let touch = first_touch(1.0, &old, &new)?;
        assert_eq!((touch.regime, touch.rejoined), (Regime::AllFollow, 0));
        assert_ratio(touch.time, t1, 1e-9);
        assert_ratio(integrate(1.0, &old, &new, t1 / 16_000.0), t1, 1e-3);
    }
    assert!(with_affected > 100, "{with_affected} states with affected queues");
    Ok(())
}

fn some_new(stream: &mut RandomStream) -> NewQueues {
    let omega = between(stream, -3.0, 5.0).exp2();
    let drain_rate = between(stream, 0.2, 1.0);
    NewQueues { count: some_count(stream, 1, 3), omega, arrival_rate: drain_rate + 1.0, drain_rate }
}

/// Claim: ABM-T5-1, PLA-E46-1
#[cfg_attr(test, test)]
fn theorem_5_agrees_with_integration_wherever_no_queue_follows_and_grows_with_the_ports() -> Tested {
    let mut stream = RandomStream::new(1, "ABM-T5-1", 0);
    let mut compared = 0;
    while compared < 1000 {
        let old = some_queues(&mut stream, false);
        let mut new = some_new(&mut stream);
        new.arrival_rate = between(&mut stream, 2.0, 100.0);
        let touch = first_touch(1.0, &old, &new)?;
        if touch.regime != Regime::NoneFollows {
            continue;
        }
        compared += 1;
        let t1 = abm::t1_case_2(1.0, &old, &new)?;
        assert_ratio(touch.time, t1, 1e-9);
        assert_ratio(integrate(1.0, &old, &new, t1 / 16_000.0), t1, 1e-3);
    }
    let new = NewQueues { count: 1, omega: 20.0, arrival_rate: 40.0, drain_rate: 1.0 };
    let bound = |ports| abm::t1_bound_case_2(1.0, 0.5, &new, abm::drain_of_ports(ports, 1.0)?);
    for ports in 1..38 {
        assert!(bound(ports + 1)? > bound(ports)?, "{ports}");
    }
    // With the sign of Eq. 41 as printed, more ports would reduce the tolerance.
    let printed = |ports: f64| 20.0 / 1.5 / (39.0 + 20.0 * (ports + 39.0));
    assert!(printed(2.0) < printed(1.0) && printed(1.0) < bound(1)?);
    Ok(())
}

#[cfg_attr(test, test)]
fn integration_agrees_with_the_first_loss_between_the_cases_and_beyond_rejoining() -> Tested {
    let mut stream = RandomStream::new(1, "any mix", 0);
    let (mut mixed, mut rejoined) = (0, 0);
    for _ in 0..1500 {
        let old = some_queues(&mut stream, true);
        let mut new = some_new(&mut stream);
        new.arrival_rate = new.drain_rate + between(&mut stream, 0.05, 20.0);
        let touch = first_touch(1.0, &old, &new)?;
        mixed += u32::from(touch.regime == Regime::SomeFollow);
        rejoined += u32::from(touch.rejoined > 0);
        assert_ratio(integrate(1.0, &old, &new, touch.time / 32_000.0), touch.time, 1e-3);
    }
    assert!(mixed > 100 && rejoined > 100, "{mixed} {rejoined}");
    Ok(())
}

/// Claim: ABM-E34-1
#[cfg_attr(test, test)]
fn equation_35_does_not_depend_on_the_number_of_low_queues_and_is_below_equation_34() -> Tested {
    let new = NewQueues { count: 2, omega: abm::omega(20.0, 2, 1.0)?, arrival_rate: 1.5, drain_rate: 1.0 };
    let bound = abm::t1_bound_case_1(1.0, 0.5, &new)?;
    for count in 1..=64 {
        for gamma in [1.0, 0.5, 0.125] {
            let old = low_queues(0.5, count, gamma)?;
            let sum = abm::omega_sum(0.5, &vec![gamma; count as usize])?;
            let t1 = abm::t1_unaffected(1.0, sum, &new)?;
            assert_ratio(t1, abm::t1_case_1(1.0, &old, &new)?, 1e-9);
            assert!(t1 >= bound * (1.0 - 1e-12), "{count} {gamma}");
            assert_eq!(gamma == 1.0, t1 <= bound * (1.0 + 1e-9));
        }
    }
    Ok(())
}

#[cfg_attr(test, test)]
fn a_threshold_rises_when_the_affected_queues_drain_faster_than_the_burst_fills() -> Tested {
    // Erratum E-ABM-5: the printed "dT/dt <= 0" is false in the tested state.
    let old = [OldQueues { count: 1, omega_before: 2.0, omega: 1.0, drain_rate: 1.0 }];
    let new = NewQueues { count: 1, omega: 1.0, arrival_rate: 1.5, drain_rate: 1.0 };
    assert_close(-Trajectory::case_1(1.0, &old, &new)?.occupancy_slope, 0.5, 1e-12);
    Ok(())
}
