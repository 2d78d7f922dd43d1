//! Tests that a form refuses an input outside its domain by name, and that no form returns NaN.

use bufferlab_theory::calculators::CALCULATORS;
use bufferlab_theory::forms::plasticine::BurstToAbsorb;
use bufferlab_theory::forms::sonic::Pools;
use bufferlab_theory::forms::traffic_aware::Bursts;
use bufferlab_theory::forms::transient::{NewQueues, OldQueues, first_touch};
use bufferlab_theory::forms::{
    Domain, abm, dimensions, dynamic_threshold, losspass, plasticine, plasticine_pisa, reverie, traffic_aware,
};
use std::fmt::Debug;

#[track_caller]
fn refused<T: Debug>(input: &str, found: Domain<T>) {
    match found {
        Ok(value) => panic!("{input} was accepted: {value:?}"),
        Err(error) => {
            assert_eq!(error.input, input, "{error}");
            assert!(error.to_string().contains(&error.valid) && !error.valid.is_empty());
        }
    }
}

const BURST: NewQueues = NewQueues { count: 1, omega: 1.0, arrival_rate: 2.0, drain_rate: 1.0 };

#[test]
fn a_buffer_of_nothing_a_negative_alpha_and_a_full_buffer_exceeded_are_refused() {
    refused("buffer", dynamic_threshold::threshold(1.0, 0.0, 0.0));
    refused("alpha", dynamic_threshold::threshold(-1.0, 1.0, 0.0));
    refused("occupancy", dynamic_threshold::threshold(1.0, 1.0, 1.5));
    refused("alpha", dynamic_threshold::steady_state(1.0, &[1.0, 0.0]));
    refused("buffer", abm::maximum(f64::NAN, 1.0));
    refused("gamma", abm::omega(1.0, 1, 0.0));
    refused("gamma_min", abm::guarantee(1.0, &[1.0], 0, 1.5));
    refused("priority", abm::guarantee(1.0, &[1.0], 1, 1.0));
    refused("rate", abm::drain_time(1.0, 0.0, &[1.0], 0, 1));
    refused("share", dynamic_threshold::alpha_for_share(1.0));
    refused("alpha", reverie::threshold(f64::INFINITY, 1, 1.0, 0.0));
    refused("gamma", reverie::time_constant(1.0));
}

#[test]
fn a_burst_that_the_port_can_send_is_no_burst() {
    let slow = NewQueues { arrival_rate: 1.0, ..BURST };
    refused("arrival_rate", first_touch(1.0, &[], &slow));
    refused("arrival_rate", abm::t1_case_1(1.0, &[], &slow));
    refused("arrival_rate", abm::t1_case_2(1.0, &[], &slow));
    refused("arrival_rate", abm::t1_unaffected(1.0, 0.0, &slow));
    refused("arrival_rate", plasticine::alpha_low_without_loss(1.0));
    refused("count", first_touch(1.0, &[], &NewQueues { count: 0, ..BURST }));
    let rising = OldQueues { count: 1, omega_before: 0.5, omega: 1.0, drain_rate: 1.0 };
    refused("omega_before", first_touch(1.0, &[rising], &BURST));
    // For a value at the limit of its domain, the error states the valid values.
    let error = first_touch(1.0, &[], &slow).expect_err("too slow");
    assert_eq!(error.to_string(), "arrival_rate is 1, expected more than 1 (the drain rate)");
}

#[test]
fn a_burst_larger_than_the_buffer_has_no_alpha() {
    let burst = BurstToAbsorb { buffer_time: 1.0, arrival_rate: 5.0, duration: 0.25 };
    refused("duration", plasticine::alpha_low_for_burst(burst));
    refused("duration", plasticine::alpha_high_for_burst(burst, 0.5));
    let fits = BurstToAbsorb { duration: 0.2, ..burst };
    refused("alpha_low", plasticine::alpha_high_for_burst(fits, 0.0));
    assert_eq!(plasticine::alpha_high_for_burst(fits, 10.0), Ok(f64::INFINITY));
}

#[test]
fn more_congested_ports_than_there_are_are_refused() {
    let bursts = Bursts {
        buffer: 1.0,
        ports: 16,
        congested: 15,
        bursting: 1,
        alpha: 1.0,
        arrival_rate: 8.0,
        port_rate: 1.0,
    };
    assert!(bursts.dynamic_threshold().is_ok());
    let many = Bursts { congested: 16, ..bursts };
    for found in
        [many.dynamic_threshold(), many.enhanced_dynamic_threshold(), many.ideal(), many.traffic_aware()]
    {
        refused("congested", found);
    }
    refused("bursting", Bursts { bursting: 0, ..bursts }.ideal());
    refused("arrival_rate", Bursts { arrival_rate: 1.0, ..bursts }.ideal());
    refused("burst_ratio", traffic_aware::parameters(667.0, 16, 1.0));
}

#[test]
fn a_fraction_is_between_0_and_1_and_a_pool_fits_the_pool_that_holds_it() {
    refused("tau", losspass::burst(1.0, 1.1, 0.0, 0.0));
    refused("tau", losspass::burst(1.0, -0.1, 0.0, 0.0));
    refused("reserve_large", losspass::burst(1.0, 0.5, 2.0, 0.0));
    refused("burst", losspass::mark_threshold_for_burst(10.0, 4, 7.0));
    let pools = Pools {
        ingress_pool: 1.0,
        egress_lossy_pool: 2.0,
        lossless_queues: 1,
        lossy_queues: 1,
        alpha_lossless: 1.0,
        alpha_lossy: 1.0,
    };
    refused("egress_lossy_pool", pools.shares());
    refused("uplinks", dimensions::oversubscription(1, 1.0, 0, 1.0));
    refused("shift", plasticine_pisa::shifted_threshold(1, 64));
}

#[test]
fn what_has_no_bound_is_infinite() {
    // Without old queues, no queue has a threshold to follow. No threshold limits a burst if the
    // old queues drain faster than the burst fills the buffer.
    assert_eq!(abm::case_1_limit(&[], &BURST), Ok(f64::INFINITY));
    let fast = [OldQueues { count: 8, omega_before: 1.0, omega: 0.5, drain_rate: 1.0 }];
    assert_eq!(abm::t1_case_1(1.0, &fast, &BURST), Ok(f64::INFINITY));
    // The exact solution continues after the old queues reach their thresholds, and finds the loss.
    let touch = first_touch(1.0, &fast, &BURST).expect("in the domain");
    assert!(touch.time.is_finite() && touch.rejoined == 8, "{touch:?}");
}

#[test]
fn every_built_in_entry_keeps_the_rules_of_own_ones() {
    assert_eq!(CALCULATORS.verify(), Ok(()));
}
