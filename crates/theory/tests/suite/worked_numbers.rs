//! Tests of the worked examples in the notes on the papers' algorithms, number by number.

use bufferlab_theory::forms::plasticine::BurstToAbsorb;
use bufferlab_theory::forms::sonic::Pools;
use bufferlab_theory::forms::traffic_aware::Bursts;
use bufferlab_theory::forms::transient::{NewQueues, OldQueues, Regime, first_touch};
use bufferlab_theory::forms::{
    DomainError, abm, dimensions, dynamic_threshold, losspass, plasticine, plasticine_pisa, reverie,
    traffic_aware,
};
use bufferlab_theory::statements::support::{assert_close, assert_ratio};

type Tested = Result<(), DomainError>;

/// A burst of `rate` port rates to one queue of an empty port.
fn burst(omega: f64, rate: f64) -> NewQueues {
    NewQueues { count: 1, omega, arrival_rate: rate, drain_rate: 1.0 }
}

#[test]
fn dynamic_thresholds_settle_where_plasticine_figures_2_and_5_say() -> Tested {
    let steady = dynamic_threshold::steady_state;
    assert_eq!(steady(60.0, &[1.0])?.thresholds, [30.0]);
    let two = steady(60.0, &[1.0, 2.0])?;
    assert_eq!((two.free, two.thresholds, two.occupancy), (15.0, vec![15.0, 30.0], 45.0));
    assert_eq!(steady(60.0, &[1.0, 1.0, 1.0, 2.0])?.thresholds, [10.0, 10.0, 10.0, 20.0]);
    assert_close(steady(60.0, &[1.0, 1.0, 1.0, 1.0, 1.0, 2.0])?.thresholds[5], 15.0, 1e-12);
    assert_close(steady(60.0, &[1.0, 1.0, 1.0, 1.0, 2.0])?.thresholds[4], 120.0 / 7.0, 1e-12);
    Ok(())
}

#[test]
fn the_first_loss_is_where_the_appendix_finds_it() -> Tested {
    let figure_5b = first_touch(60.0, &[OldQueues::unchanged(5, 1.0, 0.2)], &burst(2.0, 5.0))?;
    assert_close(figure_5b.time, 2.0, 1e-12);
    assert_close(figure_5b.stored, 8.0, 1e-12);
    assert_eq!((figure_5b.lagging, figure_5b.regime), (5, Regime::NoneFollows));
    let own_ports = first_touch(60.0, &[OldQueues::unchanged(5, 1.0, 1.0)], &burst(2.0, 5.0))?;
    assert_close(own_ports.stored, 15.0, 1e-12);
    assert_eq!((own_ports.lagging, own_ports.regime), (0, Regime::AllFollow));
    for (omega, stored) in [(0.2, 24.0), (0.04, 37.5)] {
        let touch = first_touch(60.0, &[OldQueues::unchanged(5, omega, 0.2)], &burst(2.0, 5.0))?;
        assert_close(touch.stored, stored, 1e-12);
    }
    Ok(())
}

#[test]
fn between_the_two_cases_some_queues_follow_and_the_printed_form_is_8_percent_too_optimistic() -> Tested {
    let old = [OldQueues::unchanged(1, 2.0, 1.0), OldQueues::unchanged(1, 0.5, 1.0)];
    let new = burst(1.0, 3.45);
    assert_close(abm::case_1_limit(&old, &new)?, 2.75, 1e-12);
    assert_close(abm::case_1_limit_printed(&old, &new)?, 3.8, 1e-12);
    let touch = first_touch(1.0, &old, &new)?;
    assert_eq!(touch.regime, Regime::SomeFollow);
    assert_close(touch.time, 0.083_624, 5e-7);
    assert_close(abm::t1_unaffected(1.0, 2.5, &new)?, 0.090_703, 5e-7);
    let below = burst(1.0, 2.7225);
    assert_close(first_touch(1.0, &old, &below)?.time, abm::t1_unaffected(1.0, 2.5, &below)?, 1e-12);
    assert_close(first_touch(1.0, &old, &below)?.time, 0.129_01, 1e-5);
    let above = burst(1.0, 8.0);
    assert_close(first_touch(1.0, &old, &above)?.time, 0.023_810, 1e-6);
    assert_close(abm::t1_case_2(1.0, &old, &above)?, 0.023_810, 1e-6);
    Ok(())
}

#[test]
fn plasticine_shares_figure_6_as_equation_3_says() -> Tested {
    let three = plasticine::omega(1.0, 3, 1.0)?;
    let shares = plasticine::steady_state(60.0, &[three, three, three, 2.0])?;
    assert_close(shares.free, 15.0, 1e-12);
    assert_close(shares.thresholds[0], 5.0, 1e-12);
    assert_close(shares.thresholds[3], 30.0, 1e-12);
    let both_factors = plasticine::omega(1.0, 5, 0.2)?;
    assert_close(plasticine::steady_state(60.0, &[both_factors; 5])?.thresholds[0], 2.0, 1e-12);
    let one_factor = plasticine::omega(1.0, 1, 0.2)?;
    assert_close(plasticine::steady_state(60.0, &[one_factor; 5])?.thresholds[0], 6.0, 1e-12);
    Ok(())
}

#[test]
fn thresholds_of_dynamic_thresholds_and_abm_for_1_to_32_queues() -> Tested {
    let expected = [(1, 0.3333, 0.667), (4, 0.1667, 0.333), (16, 0.0556, 0.111), (32, 0.0294, 0.059)];
    for (count, threshold, free) in expected {
        let queues = vec![0.5; count];
        let state = dynamic_threshold::steady_state(1.0, &queues)?;
        assert_close(state.thresholds[0], threshold, 5e-5);
        assert_close(state.free, free, 5e-4);
        let omega = abm::omega(0.5, u32::try_from(count).expect("small"), 1.0)?;
        let state = abm::steady_state(1.0, &vec![omega; count])?;
        assert_close(state.free, 2.0 / 3.0, 1e-12);
        assert_close(state.occupancy, 1.0 / 3.0, 1e-12);
    }
    assert_close(abm::maximum(3.84e6, 0.5)?, 1.28e6, 1e-12);
    assert_ratio(abm::drain_time(3.84e6 * 8.0, 10e9, &[0.5], 0, 1)?, 1.024e-3, 1e-12);
    Ok(())
}

#[test]
fn the_table_of_absorbed_bursts_in_abm_figure_5() -> Tested {
    // The values are the stored data (r - 1)*t1 in KB, for B = 1 MB, C = 1 Gb/s,
    // alpha 0.5 for the old queues and alpha 1024 for the burst.
    let rates = [2.0, 3.0, 5.0, 10.0, 20.0, 40.0];
    let omega = |count, gamma| abm::omega(0.5, count, gamma);
    let rows = [
        (OldQueues::unchanged(1, 0.5, 1.0), [999, 999, 888, 749, 703, 684]),
        (OldQueues::unchanged(4, 0.5, 1.0), [997, 997, 997, 599, 422, 371]),
        (OldQueues::unchanged(16, 0.5, 1.0), [991, 991, 991, 991, 699, 188]),
        (OldQueues::unchanged(4, 0.5, 0.25), [997, 665, 444, 375, 351, 342]),
        (OldQueues::unchanged(8, 0.5, 0.125), [995, 399, 266, 225, 211, 205]),
        (OldQueues::unchanged(4, omega(4, 1.0)?, 1.0), [999, 999, 999, 999, 843, 742]),
        (OldQueues::unchanged(16, omega(16, 1.0)?, 1.0), [999; 6]),
        (OldQueues::unchanged(4, omega(4, 0.25)?, 0.25), [999, 999, 999, 999, 937, 911]),
        (OldQueues::unchanged(8, omega(8, 0.125)?, 0.125), [999, 999, 999, 999, 992, 965]),
    ];
    for (old, stored) in rows {
        for (rate, kilobytes) in rates.into_iter().zip(stored) {
            let touch = first_touch(1000.0, &[old], &burst(1024.0, rate))?;
            assert!((touch.stored - f64::from(kilobytes)).abs() <= 1.0, "{old:?} {rate}: {}", touch.stored);
        }
    }
    for (rate, kilobytes) in rates.into_iter().zip([1997.0, 1498.0, 1110.0, 832.0, 740.0, 701.0]) {
        let touch = first_touch(1000.0, &[OldQueues::unchanged(1, 0.5, 1.0)], &burst(1024.0, rate))?;
        assert!((touch.arrived - kilobytes).abs() <= 1.0, "{rate}: {}", touch.arrived);
    }
    Ok(())
}

#[test]
fn theorem_1_of_abm_on_one_port() -> Tested {
    assert_close(abm::guarantee_printed(1.0, &[0.5, 0.5], 0)?, 0.25, 1e-12);
    assert_close(abm::guarantee(1.0, &[0.5, 0.5], 0, 0.5)?, 1.0 / 7.0, 1e-12);
    let omega = abm::omega(0.5, 1, 0.5)?;
    assert_close(abm::steady_state(1.0, &[omega, omega])?.thresholds[0], 1.0 / 6.0, 1e-12);
    Ok(())
}

#[test]
fn plasticine_factors_for_a_burst() -> Tested {
    for (rate, alpha) in [(2.5, 2.0), (3.0, 1.0), (4.0, 0.5), (5.0, 0.3333), (8.0, 0.1667), (10.0, 0.125)] {
        assert_close(plasticine::alpha_low_without_loss(rate)?, alpha, 5e-5);
    }
    assert_eq!(plasticine::alpha_low_without_loss(2.0)?, f64::INFINITY);
    // A buffer of B = 1 MB equals 8 ms of a port of 1 Gb/s. Each case has the burst's rate and
    // duration (ms), the printed and the tight alpha_low, and alpha_high at alpha_low = 0.5.
    let cases = [
        (5.0, 0.48, 3.1667, 4.5556, 0.493_15),
        (8.0, 0.3, 2.8095, 3.4444, 0.5943),
        (5.0, 1.28, 0.5625, 1.0833, 3.4286),
        (8.0, 0.8, 0.4286, 0.6667, 10.5),
    ];
    for (arrival_rate, duration, printed, tight, high) in cases {
        let burst = BurstToAbsorb { buffer_time: 8.0, arrival_rate, duration };
        assert_close(plasticine::alpha_low_for_burst_printed(burst)?, printed, 5e-4);
        assert_close(plasticine::alpha_low_for_burst(burst)?, tight, 5e-4);
        assert_close(plasticine::alpha_high_for_burst(burst, 0.5)?, high, 5e-4);
        let at_printed =
            plasticine::alpha_high_for_burst(burst, plasticine::alpha_low_for_burst_printed(burst)?)?;
        assert_close(at_printed, arrival_rate - 1.0, 1e-9);
    }
    // The burst is the example of erratum E-PLA-3: r = 5 for 1.6 ms.
    let long = BurstToAbsorb { buffer_time: 8.0, arrival_rate: 5.0, duration: 1.6 };
    assert_close(plasticine::alpha_low_for_burst_printed(long)?, 0.25, 1e-12);
    assert_close(plasticine::alpha_high_for_burst(long, 0.458)?, 9.43, 2e-2);
    Ok(())
}

#[test]
fn plasticine_figure_3_reaches_its_two_corners() -> Tested {
    // One old queue has alpha 1 on a separate port, and the new queue has alpha 2.
    // The first loss is after 6 packet times, with 24 packets in each queue.
    let old = [OldQueues::unchanged(1, 1.0, 1.0)];
    let touch = first_touch(60.0, &old, &burst(2.0, 5.0))?;
    assert_close(touch.time, 6.0, 1e-12);
    assert_close(touch.stored, 24.0, 1e-12);
    assert_eq!(touch.regime, Regime::NoneFollows);
    let path = plasticine::Trajectory::case_2(60.0, &old, &burst(2.0, 5.0))?;
    assert_close(path.draining(1.0, 1.0, 6.0), 24.0, 1e-12);
    // The new queue then follows its threshold, until the old queue meets its own threshold.
    // The steady state is reached after 15 packet times.
    assert_eq!(dynamic_threshold::steady_state(60.0, &[1.0, 2.0])?.thresholds, [15.0, 30.0]);
    assert_close(path.draining(1.0, 1.0, 15.0), 15.0, 1e-12);
    Ok(())
}

fn tdt(congested: u32, arrival_rate: f64) -> Bursts {
    let (buffer, ports, bursting) = (8e6, 16, 1);
    Bursts { buffer, ports, congested, bursting, alpha: 1.0, arrival_rate, port_rate: 1e9 }
}

#[test]
fn tdt_section_6a() -> Tested {
    let all = |bursts: Bursts| -> Result<[f64; 4], DomainError> {
        let times = [bursts.dynamic_threshold()?, bursts.enhanced_dynamic_threshold()?];
        Ok([times[0], times[1], bursts.ideal()?, bursts.traffic_aware()?].map(|seconds| seconds * 1e6))
    };
    let bursts = tdt(2, 8e9);
    assert_close(bursts.case_1_limit()?, 4e9, 1e-12);
    for (found, expected) in all(bursts)?.into_iter().zip([2000.0 / 9.0, 1600.0 / 3.0, 8000.0 / 7.0, 1000.0])
    {
        assert_close(found, expected, 1e-12);
    }
    assert_close(bursts.stored(bursts.dynamic_threshold()?)? / 8e3, 194.44, 1e-4);
    assert_close(bursts.stored(bursts.enhanced_dynamic_threshold()?)? / 8e3, 466.67, 1e-4);
    assert_close(all(tdt(1, 8e9))?[0], 307.7, 2e-4);
    assert_close(all(tdt(1, 8e9))?[1], 666.7, 2e-4);
    assert_close(all(tdt(0, 8e9))?[0], 571.4, 2e-4);
    assert_close(all(tdt(0, 8e9))?[1], 1142.9, 2e-4);
    assert_close(all(tdt(2, 2e9))?[0], 2000.0, 1e-12);
    assert_close(all(tdt(2, 2e9))?[1], 8000.0, 1e-12);
    Ok(())
}

#[test]
fn tdt_parameters_and_delays() -> Tested {
    let parameters = traffic_aware::parameters(667.0, 16, 2.0)?;
    assert_eq!((parameters.net_enqueues.round(), parameters.output_1.round()), (42.0, 42.0));
    assert_eq!((parameters.drops.floor(), parameters.output_2), (333.0, 1334.0));
    assert_close(parameters.lower_bound, 20.8, 5e-3);
    assert_eq!(traffic_aware::output_2_printed(667.0, 16)?, 1344.0);
    assert_close(traffic_aware::fairness(&[1.0, 1.0, 0.5])?, 0.9259, 5e-5);
    // A port of 1 Gb/s takes 333 packets of 1500 B with alpha 1, 42 packets under an even split,
    // and 667 under complete sharing.
    for (packets, milliseconds) in [(333.0, 4.0), (42.0, 0.504), (667.0, 8.004)] {
        assert_close(dimensions::sending_seconds(packets * 1500.0, 1e9)? * 1e3, milliseconds, 5e-3);
    }
    Ok(())
}

#[test]
fn losspass_against_ecn() -> Tested {
    let buffer = 128e3 / 1500.0;
    assert_close(losspass::ecn_burst(buffer, 45.0, 4)?, 36.33, 5e-4);
    assert_close(losspass::burst(buffer, 0.95, 0.0, 0.0)?, 81.07, 5e-4);
    assert_close(losspass::burst(buffer, 1.0, 0.0, 0.0)?, 85.33, 5e-4);
    assert_close(losspass::tau_of_equal_bursts(buffer, 45.0, 4)?, 0.426, 5e-4);
    let packets = |bytes: f64| bytes / 1500.0;
    assert_close(packets(62.5e3), 41.7, 5e-3);
    assert_close(losspass::mark_threshold_dctcp(packets(62.5e3))?, 41.67 / 7.0, 1e-3);
    Ok(())
}

#[test]
fn sonic_pools_of_18_and_14_megabytes() -> Tested {
    let rows = [
        (1, 1, [5.5, 7.0, 5.5, 7.0], Some(1.27)),
        (2, 2, [5.778, 9.333, 2.889, 4.667], Some(1.62)),
        (5, 5, [5.278, 11.667, 1.056, 2.333], Some(2.21)),
        (10, 10, [4.793, 12.727, 0.479, 1.273], Some(2.66)),
        (20, 20, [4.444, 13.333, 0.222, 0.667], Some(3.0)),
        (100, 100, [4.098, 13.861, 0.041, 0.139], Some(3.38)),
        (1, 10, [2.636, 12.727, 2.636, 1.273], Some(4.83)),
        (10, 1, [10.0, 7.0, 1.0, 7.0], Some(0.70)),
        (1, 0, [9.0, 0.0, 9.0, 14.0], None),
    ];
    for (lossless_queues, lossy_queues, expected, ratio) in rows {
        let pools = Pools { lossless_queues, lossy_queues, ..pools_18(14.0) };
        let shares = pools.shares()?;
        let found = [shares.lossless, shares.lossy, shares.pause_threshold, shares.drop_threshold];
        for (found, expected) in found.into_iter().zip(expected) {
            assert!(
                (found - expected).abs() < 6e-4,
                "{lossless_queues}, {lossy_queues}: {found}, {expected}"
            );
        }
        if let Some(ratio) = ratio {
            assert!((shares.lossy / shares.lossless - ratio).abs() < 6e-3);
        }
    }
    assert!(Pools { lossless_queues: 1, ..pools_18(9.0) }.lossy_gets_more()?);
    assert!(!pools_18(9.0).lossy_gets_more()?);
    let few = Pools { lossless_queues: 1, ..pools_18(9.0) }.shares()?;
    assert_close(few.lossless, 4.91, 1e-3);
    assert_close(few.lossy, 8.18, 1e-3);
    Ok(())
}

fn pools_18(egress_lossy_pool: f64) -> Pools {
    Pools {
        ingress_pool: 18.0,
        egress_lossy_pool,
        lossless_queues: 10,
        lossy_queues: 10,
        alpha_lossless: 1.0,
        alpha_lossy: 1.0,
    }
}

#[test]
fn reverie_shares_and_filter() -> Tested {
    let rows = [
        ((1.0, 1.0), (1.0 / 3.0, 1.0 / 3.0), (1.0 / 3.0, 0.5)),
        ((2.0, 1.0), (0.5, 0.25), (0.25, 0.5)),
        ((4.0, 0.5), (0.727, 0.091), (0.182, 0.667)),
    ];
    for ((lossless, lossy), shares, idle) in rows {
        let found = reverie::shares(1.0, lossless, lossy)?;
        assert_close(found.lossless, shares.0, 5e-4);
        assert_close(found.lossy, shares.1, 5e-4);
        let found = reverie::idle(1.0, lossless, lossy)?;
        assert_close(found.0, idle.0, 5e-4);
        assert_close(found.1, idle.1, 5e-4);
    }
    let constants = [(0.4, 1.09), (0.8, 4.48), (0.9, 9.49), (0.99, 99.5), (0.999, 999.5), (0.999_999, 1e6)];
    for (gamma, updates) in constants {
        // The test compares as many digits as the notes about the algorithms give.
        assert_close(reverie::time_constant(gamma)?, updates, 5e-3);
    }
    let update = reverie::update_seconds(1048.0, 25e9)?;
    assert_close(reverie::time_constant(0.999)? * update * 1e6, 335.0, 1e-3);
    for (gamma, updates, microseconds) in
        [(0.999, 692.8, 232.0), (0.99, 69.0, 23.0), (0.999_999, 693_147.0, 0.23e6)]
    {
        let found = reverie::updates_admitted(gamma, 2.0)?;
        assert_close(found, updates, 1e-3);
        assert_close(found * update * 1e6, microseconds, 1.5e-2);
    }
    assert_close(dimensions::sending_seconds(2e6, 25e9)? * 1e6, 640.0, 1e-12);
    Ok(())
}

#[test]
fn the_pipeline_of_plasticine() -> Tested {
    assert_eq!(plasticine_pisa::table_rules(8, 64, 7)?, 3584);
    assert_eq!(plasticine_pisa::passes_of_a_copy(32, 8)?, 256);
    assert_close(plasticine_pisa::staleness(32, 8, 1e-6)? * 1e6, 256.0, 1e-12);
    assert_eq!(plasticine_pisa::shift(0.5, 4, 2)?, 4);
    assert_eq!(plasticine_pisa::shift(16.0, 0, 0)?, -4);
    assert_eq!(plasticine_pisa::shifted_threshold(1000, 4)?, 62);
    assert_eq!(plasticine_pisa::shifted_threshold(u64::MAX / 2, -4)?, u64::MAX);
    Ok(())
}
