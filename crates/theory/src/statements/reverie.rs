//! Statements of the Reverie paper that closed forms decide. Each function names its statements.

use super::Tested;
use super::support::{assert_close, assert_ratio, some_alpha, some_count};
use crate::forms::sonic::{self, Occupancies, PoolSizes, Pools};
use crate::forms::{dimensions, dynamic_threshold, reverie};
use bufferlab_units::RandomStream;

super::checks! {
    eight_links_of_2_us_and_four_packets_at_25_gigabit_are_17_28_us_and_54_kilobytes,
    a_threshold_is_alpha_times_what_is_free_in_the_pool_of_the_queue,
    pools_that_break_a_heuristic_are_refused_with_its_number,
    the_shares_of_sonic_satisfy_all_thresholds_at_once,
    figure_4_lossy_queues_end_up_with_three_and_a_half_times_as_much,
    twice_the_lossy_pool_avoids_issue_1_only_in_the_limit_of_many_queues,
    figure_5a_the_pause_threshold_falls_with_lossless_and_with_lossy_queues,
    figure_5b_the_drop_threshold_depends_on_lossy_queues_only,
    a_step_reaches_1_minus_1_over_e_after_the_time_constant,
    the_threshold_of_reverie_divides_by_the_congested_queues_and_never_by_0,
    reverie_divides_the_pool_as_the_factors_and_is_the_steady_state_of_one_pool,
    a_third_to_a_half_of_reveries_pool_is_idle_at_equal_factors,
}

/// Pools of Reverie's figure 4 (MB).
fn pools(lossless_queues: u32, lossy_queues: u32) -> Pools {
    Pools {
        ingress_pool: 18.0,
        egress_lossy_pool: 14.0,
        lossless_queues,
        lossy_queues,
        alpha_lossless: 1.0,
        alpha_lossy: 1.0,
    }
}

/// Claim: REV-SET-1
#[cfg_attr(test, test)]
fn eight_links_of_2_us_and_four_packets_at_25_gigabit_are_17_28_us_and_54_kilobytes() -> Tested {
    let rtt = dimensions::base_rtt(8, 2e-6, 4, 1000.0, 25e9)?;
    assert_ratio(rtt, 17.28e-6, 1e-12);
    assert_close(dimensions::bandwidth_delay_bytes(25e9, rtt)?, 54e3, 1e-12);
    assert_eq!(dimensions::oversubscription(16, 25e9, 4, 25e9)?, 4.0);
    Ok(())
}

/// Claim: REV-E1-1
#[cfg_attr(test, test)]
fn a_threshold_is_alpha_times_what_is_free_in_the_pool_of_the_queue() -> Tested {
    let sizes = PoolSizes {
        buffer: 20.0,
        ingress_pool: 18.0,
        headroom_pool: 2.0,
        egress_lossless_pool: 20.0,
        egress_lossy_pool: 14.0,
    };
    let occupancies = Occupancies { ingress: 8.0, egress_lossless: 3.0, egress_lossy: 5.0 };
    let free = sonic::thresholds(sizes, occupancies)?;
    assert_eq!((free.ingress, free.egress_lossless, free.egress_lossy), (10.0, 17.0, 9.0));
    for (alpha, pool, occupancy, threshold) in
        [(0.5, 18.0, 8.0, 5.0), (8.0, 18.0, 8.0, 80.0), (16.0, 20.0, 3.0, 272.0), (1.0, 14.0, 5.0, 9.0)]
    {
        assert_eq!(sonic::threshold(alpha, pool, occupancy)?, threshold);
    }
    Ok(())
}

/// Claim: REV-H1-1
#[cfg_attr(test, test)]
fn pools_that_break_a_heuristic_are_refused_with_its_number() -> Tested {
    let good = PoolSizes {
        buffer: 20.0,
        ingress_pool: 18.0,
        headroom_pool: 2.0,
        egress_lossless_pool: 20.0,
        egress_lossy_pool: 14.0,
    };
    // A buffer of exactly the size of the pools is allowed. The printed "<" excludes this size.
    sonic::check_pools(good)?;
    let broken = [
        (PoolSizes { ingress_pool: 18.1, ..good }, "ingress_pool", "heuristic 1"),
        (PoolSizes { egress_lossless_pool: 19.0, ..good }, "egress_lossless_pool", "heuristic 2"),
        (PoolSizes { egress_lossy_pool: 18.5, ..good }, "egress_lossy_pool", "heuristic 3"),
    ];
    for (sizes, input, heuristic) in broken {
        let error = sonic::check_pools(sizes).expect_err("broken");
        assert_eq!(error.input, input);
        assert!(error.valid.contains(heuristic), "{error}");
    }
    Ok(())
}

/// Claim: REV-E10-1, REV-E11-1
#[cfg_attr(test, test)]
fn the_shares_of_sonic_satisfy_all_thresholds_at_once() -> Tested {
    let mut stream = RandomStream::new(1, "REV-E11-1", 0);
    for _ in 0..10_000 {
        let (n, m) = (some_count(&mut stream, 1, 50), some_count(&mut stream, 0, 50));
        let (alpha_lossless, alpha_lossy) = (some_alpha(&mut stream), some_alpha(&mut stream));
        let pools = Pools { alpha_lossless, alpha_lossy, ..pools(n, m) };
        let shares = pools.shares()?;
        // The variables are the occupancy of a pool, and the thresholds that follow from this
        // occupancy.
        let ingress = shares.lossless + shares.lossy;
        let pause = sonic::threshold(alpha_lossless, 18.0, ingress)?;
        let drop = sonic::threshold(alpha_lossy, 14.0, shares.lossy)?;
        assert_ratio(shares.pause_threshold, pause, 1e-9);
        assert_ratio(shares.drop_threshold, drop, 1e-9);
        assert_close(f64::from(n) * pause, shares.lossless, 1e-9);
        assert_close(f64::from(m) * drop, shares.lossy, 1e-9);
    }
    let ten = pools(10, 10).shares()?;
    assert_close(ten.lossless, 4.793, 1e-3);
    assert_close(ten.lossy, 12.727, 1e-3);
    Ok(())
}

/// Claim: REV-F4-1
#[cfg_attr(test, test)]
fn figure_4_lossy_queues_end_up_with_three_and_a_half_times_as_much() -> Tested {
    let ratio = |count| pools(count, count).shares().map(|shares| shares.lossy / shares.lossless);
    for (count, expected) in [(1, 1.27), (10, 2.66), (20, 3.0)] {
        assert!((ratio(count)? - expected).abs() < 6e-3, "{count}");
    }
    let many = pools(1_000_000, 1_000_000).shares()?;
    assert_close(many.lossless, 4.0, 1e-5);
    assert_close(many.lossy, 14.0, 1e-5);
    assert_close(ratio(1_000_000)?, 3.5, 1e-5);
    Ok(())
}

/// Claim: REV-F4-2
#[cfg_attr(test, test)]
fn twice_the_lossy_pool_avoids_issue_1_only_in_the_limit_of_many_queues() -> Tested {
    let with = |ingress_pool, n, m| Pools { ingress_pool, ..pools(n, m) };
    let many = 1_000_000;
    assert!(with(27.9, many, many).lossy_gets_more()? && !with(28.1, many, many).lossy_gets_more()?);
    assert!(with(27.9, 1, 1).lossy_gets_more_printed() && !with(28.0, 1, 1).lossy_gets_more_printed());
    // For few queues, the printed condition is wrong in both directions (E-REV-6). In the first
    // case it is true and must be false, in the second case it is false and must be true.
    assert!(!pools(10, 1).lossy_gets_more()? && pools(10, 1).lossy_gets_more_printed());
    let half = Pools { egress_lossy_pool: 9.0, ..pools(1, 10) };
    assert!(half.lossy_gets_more()? && !half.lossy_gets_more_printed());
    let shares = pools(10, 1).shares()?;
    assert_close(shares.lossy / shares.lossless, 0.7, 1e-9);
    Ok(())
}

/// Claim: REV-F5a-1
#[cfg_attr(test, test)]
fn figure_5a_the_pause_threshold_falls_with_lossless_and_with_lossy_queues() -> Tested {
    let pause = |n, m| pools(n, m).shares().map(|shares| shares.pause_threshold);
    for (n, m, expected) in [(1, 1, 5.5), (10, 1, 1.0), (1, 10, 2.636), (10, 10, 0.479)] {
        assert_close(pause(n, m)?, expected, 1e-3);
    }
    for n in 1..40 {
        for m in 0..40 {
            assert!(pause(n + 1, m)? < pause(n, m)? && pause(n, m + 1)? < pause(n, m)?);
        }
    }
    Ok(())
}

/// Claim: REV-F5b-1
#[cfg_attr(test, test)]
fn figure_5b_the_drop_threshold_depends_on_lossy_queues_only() -> Tested {
    let drop = |n, m| pools(n, m).shares().map(|shares| shares.drop_threshold);
    for m in 1..40 {
        assert_close(drop(1, m)?, 14.0 / (1.0 + f64::from(m)), 1e-12);
        assert_eq!(drop(1, m)?, drop(100, m)?);
    }
    assert_close(drop(3, 1)?, 7.0, 1e-12);
    assert_close(drop(3, 10)?, 1.273, 1e-3);
    Ok(())
}

/// Claim: REV-E5-1
#[cfg_attr(test, test)]
fn a_step_reaches_1_minus_1_over_e_after_the_time_constant() -> Tested {
    let constants =
        [(0.4, 1.09), (0.8, 4.48), (0.9, 9.49), (0.99, 99.5), (0.999, 999.5), (0.999_999, 999_999.5)];
    for (gamma, expected) in constants {
        let updates = reverie::time_constant(gamma)?;
        assert!((updates - expected).abs() < 6e-3, "{gamma}: {updates}");
        // One time constant after the step the filtered length has reached 1 - 1/e of the step.
        assert_close(gamma.powf(updates), (-1.0_f64).exp(), 1e-9);
    }
    let mut filtered = 0.0;
    for _ in 0..693 {
        assert!(filtered < 0.5);
        filtered = reverie::filter(filtered, 1.0, 0.999)?;
    }
    assert!(filtered >= 0.5, "a queue of twice its threshold is refused after 693 updates");
    assert_close(reverie::updates_admitted(0.999, 2.0)?.ceil(), 693.0, 1e-12);
    Ok(())
}

/// Claim: REV-E6-1
#[cfg_attr(test, test)]
fn the_threshold_of_reverie_divides_by_the_congested_queues_and_never_by_0() -> Tested {
    assert_eq!(reverie::threshold(2.0, 4, 100.0, 60.0)?, 20.0);
    assert_eq!(reverie::threshold(2.0, 0, 100.0, 60.0)?, reverie::threshold(2.0, 1, 100.0, 60.0)?);
    Ok(())
}

/// Claim: REV-T1-1, REV-T1-2, REV-E13-1, REV-T2-2
#[cfg_attr(test, test)]
fn reverie_divides_the_pool_as_the_factors_and_is_the_steady_state_of_one_pool() -> Tested {
    let mut stream = RandomStream::new(1, "REV-T1-1", 0);
    for _ in 0..10_000 {
        let (lossless, lossy) = (some_alpha(&mut stream), some_alpha(&mut stream));
        let shares = reverie::shares(5.0, lossless, lossy)?;
        assert_ratio(shares.lossless / shares.lossy, lossless / lossy, 1e-9);
        assert_ratio(shares.lossless + shares.lossy, shares.occupancy, 1e-9);
        assert_eq!(lossless > lossy, shares.lossless > shares.lossy);
        let state = dynamic_threshold::steady_state(5.0, &[lossless, lossy])?;
        assert_ratio(state.thresholds[0], shares.lossless, 1e-9);
        assert_ratio(state.occupancy, shares.occupancy, 1e-9);
        assert_ratio(reverie::share_alone(5.0, lossy)?, 5.0 * lossy / (1.0 + lossy), 1e-12);
    }
    let equal = reverie::shares(1.0, 1.0, 1.0)?;
    assert_close(equal.occupancy, 2.0 / 3.0, 1e-12);
    assert_close(equal.lossless, 1.0 / 3.0, 1e-12);
    Ok(())
}

/// Claim: REV-T2-1
#[cfg_attr(test, test)]
fn a_third_to_a_half_of_reveries_pool_is_idle_at_equal_factors() -> Tested {
    let (low, high) = reverie::idle(1.0, 1.0, 1.0)?;
    assert_close(low, 1.0 / 3.0, 1e-12);
    assert_close(high, 0.5, 1e-12);
    Ok(())
}
