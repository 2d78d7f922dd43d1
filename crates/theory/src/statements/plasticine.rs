//! Statements of the Plasticine paper that closed forms decide. Each function names its statements.

use super::Tested;
use super::support::{assert_close, assert_ratio, between, integrate, some_alpha, some_count};
use crate::forms::plasticine::{self, BurstToAbsorb};
use crate::forms::traffic_aware::Bursts;
use crate::forms::transient::{NewQueues, OldQueues, Regime, first_touch};
use crate::forms::{DomainError, abm, dimensions, dynamic_threshold, plasticine_pisa};
use bufferlab_units::RandomStream;

super::checks! {
    figure_2_red_and_yellow_queues_share_60_packets,
    equation_2_gives_the_occupancy_of_any_set_of_queues,
    figure_5a_five_yellow_queues_hold_10_packets_each,
    figure_5b_the_burst_loses_at_8_packets_of_its_15_and_at_15_when_the_yellow_queues_have_ports_of_their_own,
    five_ports_drain_five_times_as_fast_and_the_burst_reaches_its_steady_share,
    figure_6_plasticine_gives_red_30_and_one_port_2_or_with_one_factor_6_packets_per_queue,
    figure_6c_plasticine_absorbs_24_or_37_5_packets_where_dynamic_thresholds_absorb_8,
    with_one_queue_per_port_a_long_flow_meets_a_lower_threshold_than_a_short_one_in_the_same_queue,
    two_priorities_hold_at_most_what_equation_4_says,
    at_the_bound_of_equation_5_the_first_loss_is_at_the_steady_share_and_above_it_earlier,
    the_printed_bound_on_alpha_low_suffices_and_the_tight_one_is_necessary,
    one_percent_above_the_bound_on_alpha_high_the_burst_is_absorbed_and_one_below_it_is_not,
    the_border_of_the_cases_is_the_same_in_plasticine_abm_and_tdt,
    alphas_of_three_quarters_and_one_take_at_most_43_and_50_percent,
    a_copy_of_all_queue_lengths_takes_a_pass_per_queue_of_the_device,
    a_wide_area_path_of_1_gigabit_and_10_ms_holds_more_than_the_buffer,
}

/// Number of packets in the buffer of the paper.
const PACKETS: f64 = 60.0;

/// A 5:1 incast to an empty port, with alpha 2 and omega 2.
const INCAST: NewQueues = NewQueues { count: 1, omega: 2.0, arrival_rate: 5.0, drain_rate: 1.0 };

/// Claim: PLA-F2a-1, PLA-F2b-1, PLA-F2c-1, PLA-F2d-1
#[cfg_attr(test, test)]
fn figure_2_red_and_yellow_queues_share_60_packets() -> Tested {
    let steady = |alphas: &[f64]| dynamic_threshold::steady_state(PACKETS, alphas);
    let one = steady(&[1.0])?;
    assert_eq!((one.thresholds[0], one.free), (30.0, 30.0));
    let two = steady(&[1.0, 2.0])?;
    assert_eq!((two.thresholds[0], two.thresholds[1], two.free), (15.0, 30.0, 15.0));
    let four = steady(&[1.0, 1.0, 1.0, 2.0])?;
    assert_eq!((four.thresholds[3], four.thresholds[..3].iter().sum(), four.free), (20.0, 30.0, 10.0));
    assert_eq!(steady(&[2.0])?.thresholds, [40.0]);
    Ok(())
}

/// Claim: PLA-E2-1
#[cfg_attr(test, test)]
fn equation_2_gives_the_occupancy_of_any_set_of_queues() -> Tested {
    let mut stream = RandomStream::new(1, "PLA-E2-1", 0);
    for _ in 0..1000 {
        let alphas: Vec<f64> = (0..some_count(&mut stream, 1, 30)).map(|_| some_alpha(&mut stream)).collect();
        let (state, sum) = (dynamic_threshold::steady_state(PACKETS, &alphas)?, alphas.iter().sum::<f64>());
        assert_close(state.occupancy, PACKETS * sum / (1.0 + sum), 1e-12);
        assert_close(state.free + state.thresholds.iter().sum::<f64>(), PACKETS, 1e-9);
    }
    Ok(())
}

/// Claim: PLA-F5a-1
#[cfg_attr(test, test)]
fn figure_5a_five_yellow_queues_hold_10_packets_each() -> Tested {
    let state = dynamic_threshold::steady_state(PACKETS, &[1.0; 5])?;
    assert_eq!((state.thresholds, state.free), (vec![10.0; 5], 10.0));
    Ok(())
}

/// Claim: PLA-F5b-1, PLA-F5b-2 (REFUTED as printed)
#[cfg_attr(test, test)]
fn figure_5b_the_burst_loses_at_8_packets_of_its_15_and_at_15_when_the_yellow_queues_have_ports_of_their_own()
-> Tested {
    let shared = first_touch(PACKETS, &[OldQueues::unchanged(5, 1.0, 0.2)], &INCAST)?;
    assert_close(shared.time, 2.0, 1e-12);
    assert_close(shared.stored, 8.0, 1e-12);
    let steady = |yellow| {
        let alphas = [vec![1.0; yellow], vec![2.0]].concat();
        dynamic_threshold::steady_state(PACKETS, &alphas).map(|state| state.thresholds[yellow])
    };
    assert_close(steady(5)?, 15.0, 1e-12);
    // The printed length 17 belongs to four yellow queues. With four yellow queues, the first loss
    // is not at the time 8.
    assert_close(steady(4)?, 17.142_857, 1e-6);
    let four = first_touch(PACKETS, &[OldQueues::unchanged(4, 1.0, 0.25)], &INCAST)?;
    assert_close(four.stored, 9.6, 1e-12);
    // Case 2 applies, because the incast rate 5 is above the limit of case 1. The queues of one
    // port can follow their thresholds up to the rate 2.2.
    let limit = plasticine::case_1_limit(&[OldQueues::unchanged(5, 1.0, 0.2)], &INCAST)?;
    assert_close(limit, 2.2, 1e-12);
    Ok(())
}

/// Claim: PLA-F5b-3
#[cfg_attr(test, test)]
fn five_ports_drain_five_times_as_fast_and_the_burst_reaches_its_steady_share() -> Tested {
    let shared = [OldQueues::unchanged(5, 1.0, 0.2)];
    let apart = [OldQueues::unchanged(5, 1.0, 1.0)];
    // Case 1 applies, because the incast rate 5 is below the limit 7 of case 1.
    assert_close(plasticine::case_1_limit(&apart, &INCAST)?, 7.0, 1e-12);
    let touch = first_touch(PACKETS, &apart, &INCAST)?;
    assert_close(touch.stored, 15.0, 1e-12);
    assert_eq!(touch.regime, Regime::AllFollow);
    let drain = |old: &[OldQueues; 1]| f64::from(old[0].count) * old[0].drain_rate;
    assert_close(drain(&apart) / drain(&shared), 5.0, 1e-12);
    Ok(())
}

/// Claim: PLA-F6a-1, PLA-F6b-1
#[cfg_attr(test, test)]
fn figure_6_plasticine_gives_red_30_and_one_port_2_or_with_one_factor_6_packets_per_queue() -> Tested {
    let third = plasticine::omega(1.0, 3, 1.0)?;
    let state = plasticine::steady_state(PACKETS, &[third, third, third, 2.0])?;
    assert_close(state.thresholds[..3].iter().sum(), 15.0, 1e-12);
    assert_close(state.thresholds[3], 30.0, 1e-12);
    for (omega, packets) in [(plasticine::omega(1.0, 5, 0.2)?, 2.0), (plasticine::omega(1.0, 5, 1.0)?, 6.0)] {
        assert_close(plasticine::steady_state(PACKETS, &[omega; 5])?.thresholds[0], packets, 1e-12);
    }
    Ok(())
}

/// Claim: PLA-F6c-1
#[cfg_attr(test, test)]
fn figure_6c_plasticine_absorbs_24_or_37_5_packets_where_dynamic_thresholds_absorb_8() -> Tested {
    let stored = |omega| {
        let old = [OldQueues::unchanged(5, omega, 0.2)];
        Ok::<_, DomainError>((first_touch(PACKETS, &old, &INCAST)?, plasticine::case_1_limit(&old, &INCAST)?))
    };
    let (dt, _) = stored(1.0)?;
    let (one_factor, limit) = stored(0.2)?;
    assert_eq!(one_factor.regime, Regime::NoneFollows);
    assert_close(limit, 3.0, 1e-12);
    assert_close(one_factor.stored, 24.0, 1e-12);
    let (equation_3, limit) = stored(plasticine::omega(1.0, 5, 0.2)?)?;
    assert_eq!(equation_3.regime, Regime::AllFollow);
    assert_close(limit, 7.0, 1e-12);
    assert_close(equation_3.stored, 37.5, 1e-12);
    assert!(dt.stored < one_factor.stored);
    Ok(())
}

/// Claim: PLA-E3-2
#[cfg_attr(test, test)]
fn with_one_queue_per_port_a_long_flow_meets_a_lower_threshold_than_a_short_one_in_the_same_queue() -> Tested
{
    let (long, short) = (
        plasticine::single_queue_threshold(0.5, 4, 1000.0, 800.0)?,
        plasticine::single_queue_threshold(20.0, 4, 1000.0, 800.0)?,
    );
    assert_close(long, 25.0, 1e-12);
    assert_close(short, 1000.0, 1e-12);
    let (length, packet) = (30.0, 1.5);
    assert!(length + packet > long && length + packet <= short);
    Ok(())
}

/// Claim: PLA-E4-1, PLA-E4-2, PLA-E21-1
#[cfg_attr(test, test)]
fn two_priorities_hold_at_most_what_equation_4_says() -> Tested {
    assert_close(plasticine::occupancy_max(1.0, &[0.5, 20.0])?, 20.5 / 21.5, 1e-12);
    assert_close(plasticine::free_min(1.0, &[0.5, 20.0])?, 1.0 / 21.5, 1e-12);
    Ok(())
}

/// Claim: PLA-E5-1
#[cfg_attr(test, test)]
fn at_the_bound_of_equation_5_the_first_loss_is_at_the_steady_share_and_above_it_earlier() -> Tested {
    for (rate, alpha) in [(3.0, 1.0), (4.0, 0.5), (5.0, 1.0 / 3.0), (10.0, 0.125)] {
        assert_ratio(plasticine::alpha_low_without_loss(rate)?, alpha, 1e-12);
        let new = NewQueues { arrival_rate: rate, omega: 20.0, ..INCAST };
        let at = |low: f64| {
            let old = [OldQueues::unchanged(1, low, 1.0)];
            let steady = plasticine::steady_state(1.0, &[low, 20.0])?.thresholds[1];
            Ok::<_, DomainError>(first_touch(1.0, &old, &new)?.stored / steady)
        };
        assert_ratio(at(alpha)?, 1.0, 1e-9);
        assert!(at(alpha * 1.05)? < 0.999, "{rate}");
        assert_ratio(at(alpha * 0.95)?, 1.0, 1e-9);
    }
    assert_eq!(plasticine::alpha_low_without_loss(1.5)?, f64::INFINITY);
    Ok(())
}

/// Draws a burst that fits the buffer.
fn some_burst(stream: &mut RandomStream) -> BurstToAbsorb {
    let arrival_rate = between(stream, 2.1, 40.0);
    let duration = between(stream, 0.05, 0.95) / (arrival_rate - 1.0);
    BurstToAbsorb { buffer_time: 1.0, arrival_rate, duration }
}

/// Time without loss for the burst's queue, with one congested low-priority queue of alpha `low`.
fn lossless_for(burst: BurstToAbsorb, low: f64, high: f64) -> Result<f64, DomainError> {
    let new = NewQueues { arrival_rate: burst.arrival_rate, omega: high, ..INCAST };
    Ok(first_touch(burst.buffer_time, &[OldQueues::unchanged(1, low, 1.0)], &new)?.time)
}

/// Claim: PLA-E6-1
#[cfg_attr(test, test)]
fn the_printed_bound_on_alpha_low_suffices_and_the_tight_one_is_necessary() -> Tested {
    let mut stream = RandomStream::new(1, "PLA-E6-1", 0);
    for _ in 0..10_000 {
        let burst = some_burst(&mut stream);
        let (tight, printed) =
            (plasticine::alpha_low_for_burst(burst)?, plasticine::alpha_low_for_burst_printed(burst)?);
        assert!(printed < tight);
        // The test uses a very large alpha_high in place of an unlimited alpha_high.
        assert!(lossless_for(burst, printed, 1e9)? > burst.duration);
        assert!(lossless_for(burst, tight * 0.999, 1e9)? > burst.duration);
        assert!(lossless_for(burst, tight * 1.001, 1e9)? < burst.duration);
    }
    // Erratum E-PLA-3: a burst above the printed bound is still absorbed.
    let burst = BurstToAbsorb { buffer_time: 8.0, arrival_rate: 5.0, duration: 1.6 };
    assert_close(plasticine::alpha_low_for_burst_printed(burst)?, 0.25, 1e-12);
    assert!(lossless_for(burst, 0.458, 9.45)? >= burst.duration);
    Ok(())
}

/// Claim: PLA-E7-1
#[cfg_attr(test, test)]
fn one_percent_above_the_bound_on_alpha_high_the_burst_is_absorbed_and_one_below_it_is_not() -> Tested {
    let mut stream = RandomStream::new(1, "PLA-E7-1", 0);
    let (mut case_1, mut case_2) = (0, 0);
    for number in 0..10_000 {
        let burst = some_burst(&mut stream);
        let low = plasticine::alpha_low_for_burst(burst)? * between(&mut stream, 0.05, 0.98);
        let high = plasticine::alpha_high_for_burst(burst, low)?;
        assert!(lossless_for(burst, low, high * 1.01)? > burst.duration);
        assert!(lossless_for(burst, low, high * 0.99)? < burst.duration);
        if low > plasticine::alpha_low_without_loss(burst.arrival_rate)? {
            case_2 += 1;
            assert_eq!(high, plasticine::alpha_high_for_burst_printed(burst, low)?);
        } else {
            case_1 += 1;
            // The printed form is valid in case 2 only. In case 1 its alpha is too small.
            assert!(plasticine::alpha_high_for_burst_printed(burst, low)? <= high * (1.0 + 1e-9));
        }
        if number % 100 == 0 {
            let new = NewQueues { arrival_rate: burst.arrival_rate, omega: high, ..INCAST };
            let old = [OldQueues::unchanged(1, low, 1.0)];
            assert_ratio(integrate(1.0, &old, &new, burst.duration / 16_000.0), burst.duration, 1e-3);
        }
    }
    assert!(case_1 > 100 && case_2 > 1000, "{case_1} {case_2}");
    for rate in [3.0, 5.0, 8.0] {
        let burst = BurstToAbsorb { buffer_time: 1.0, arrival_rate: rate, duration: 0.3 / rate };
        let printed = plasticine::alpha_low_for_burst_printed(burst)?;
        assert_ratio(plasticine::alpha_high_for_burst(burst, printed)?, rate - 1.0, 1e-9);
    }
    Ok(())
}

/// Claim: PLA-E33-1, TDT-C1-1
#[cfg_attr(test, test)]
fn the_border_of_the_cases_is_the_same_in_plasticine_abm_and_tdt() -> Tested {
    let mut stream = RandomStream::new(1, "PLA-E33-1", 0);
    for _ in 0..1000 {
        let (alpha, congested, bursting) =
            (some_alpha(&mut stream), some_count(&mut stream, 1, 8), some_count(&mut stream, 1, 8));
        let old = [OldQueues::unchanged(congested, alpha, 1.0)];
        let new = NewQueues { count: bursting, omega: alpha, arrival_rate: 2.0, drain_rate: 1.0 };
        let tdt =
            Bursts { buffer: 1.0, ports: 16, congested, bursting, alpha, arrival_rate: 2.0, port_rate: 1.0 };
        let (n, m) = (f64::from(congested), f64::from(bursting));
        let expected = 1.0 + (1.0 + alpha * n) / (alpha * m);
        for limit in [
            tdt.case_1_limit()?,
            abm::case_1_limit(&old, &new)?,
            plasticine::case_1_limit(&old, &new)?,
            plasticine::case_1_limit_printed(&old, &new)?,
        ] {
            assert_ratio(limit, expected, 1e-12);
        }
    }
    Ok(())
}

/// Claim: PLA-A2-1, PLA-A2-2
#[cfg_attr(test, test)]
fn alphas_of_three_quarters_and_one_take_at_most_43_and_50_percent() -> Tested {
    assert_close(plasticine::share_max(0.75)?, 0.428_57, 1e-5);
    assert_eq!(plasticine::share_max(1.0)?, 0.5);
    Ok(())
}

/// Claim: PLA-HW-2
#[cfg_attr(test, test)]
fn a_copy_of_all_queue_lengths_takes_a_pass_per_queue_of_the_device() -> Tested {
    assert_eq!(plasticine_pisa::passes_of_a_copy(32, 8)?, 256);
    assert_eq!(plasticine_pisa::passes_of_a_copy(1, 1)?, 1);
    Ok(())
}

/// Claim: PLA-SET-2
#[cfg_attr(test, test)]
fn a_wide_area_path_of_1_gigabit_and_10_ms_holds_more_than_the_buffer() -> Tested {
    let held = dimensions::bandwidth_delay_bytes(1e9, 10e-3)?;
    assert_close(held, 1.25e6, 1e-12);
    assert!(held > 1e6);
    Ok(())
}
