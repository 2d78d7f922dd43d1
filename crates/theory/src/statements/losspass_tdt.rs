//! Statements of the LossPass and TDT papers that closed forms decide. Each function names its
//! statements.

use super::Tested;
use super::support::{assert_close, assert_ratio, between, integrate, some_alpha, some_count};
use crate::forms::losspass::{self, FullPort};
use crate::forms::traffic_aware::{self, Bursts, PortState};
use crate::forms::transient::{NewQueues, OldQueues, first_touch};
use crate::forms::{dimensions, dynamic_threshold};
use bufferlab_units::RandomStream;

super::checks! {
    line_4_as_printed_never_evicts_and_as_corrected_always_does_when_no_reserve_forbids_it,
    a_full_packet_would_need_24_of_the_smallest_as_victims,
    five_cycles_of_800_are_five_eighths_of_a_percent,
    sixteen_mebibytes_over_four_units_of_eight_ports_are_512_kib_per_port,
    what_flows_have_in_flight_beyond_the_path_stands_in_the_queue,
    ecn_leaves_the_buffer_less_threshold_and_a_packet_per_flow,
    losspass_absorbs_more_than_ecn_iff_the_large_flows_hold_enough,
    a_trident_2_port_holds_more_than_its_path,
    thresholds_of_controlled_uncontrolled_and_evacuated_ports,
    the_closed_forms_of_section_3_agree_with_the_general_solution_and_with_integration,
    section_6a_dynamic_thresholds_absorb_222_and_edt_533_microseconds,
    section_6a_evacuated_ports_keep_their_part_so_tdt_absorbs_1_00_not_1_14_milliseconds,
    section_6a_the_parameters_are_those_of_667_packets_but_for_oc2,
    at_k_port_rates_net_enqueues_and_outputs_reach_their_thresholds_together,
    the_largest_burst_of_twice_the_port_rate_is_twice_the_buffer,
    an_even_split_of_1_megabyte_is_half_a_millisecond_of_a_port,
    jains_index_is_1_for_equals_and_1_over_n_for_one_who_has_all,
    a_fifth_of_background_and_a_burst_in_20_milliseconds_are_a_load_of_30_percent,
}

/// Claim: LP-ALG-1 (REFUTED as printed)
#[cfg_attr(test, test)]
fn line_4_as_printed_never_evicts_and_as_corrected_always_does_when_no_reserve_forbids_it() -> Tested {
    let mut stream = RandomStream::new(1, "LP-ALG-1", 0);
    let mut cases = 0;
    while cases < 100_000 {
        let buffer = 10_000;
        let (packet, victim) = (64 + stream.below(1437), 64 + stream.below(1437));
        let queue_small = stream.below(buffer);
        let queue_large = stream.below(buffer - queue_small + 1);
        let full = packet + queue_small + queue_large > buffer;
        if !full || packet > victim || victim > queue_large {
            continue;
        }
        cases += 1;
        let [buffer, queue_small, packet] = [buffer, queue_small, packet].map(|bytes| bytes as f64);
        let port = FullPort { buffer, queue_small, reserve_large: 0.0, packet };
        assert!(losspass::may_evict(port), "{port:?}");
        let exactly = packet + queue_small == buffer;
        assert_eq!(losspass::may_evict_printed(port), exactly, "{port:?}");
    }
    // Small flows get at most B - B_l, so large flows keep their reserve.
    let port = FullPort { buffer: 100.0, queue_small: 60.0, reserve_large: 30.0, packet: 15.0 };
    assert!(!losspass::may_evict(port) && losspass::may_evict_printed(port));
    assert!(losspass::may_evict(FullPort { packet: 10.0, ..port }));
    Ok(())
}

/// Claim: LP-ALG-4
#[cfg_attr(test, test)]
fn a_full_packet_would_need_24_of_the_smallest_as_victims() -> Tested {
    assert_eq!(losspass::evictions_needed(1500, 64)?, 24);
    Ok(())
}

/// Claim: LP-HW-1, LP-HW-2
#[cfg_attr(test, test)]
fn five_cycles_of_800_are_five_eighths_of_a_percent() -> Tested {
    assert_close(losspass::added_latency(2, 3, 1)?, 5.0, 1e-12);
    assert_close(losspass::added_latency(2, 3, 800)? * 100.0, 0.625, 1e-12);
    Ok(())
}

/// Claim: LP-S21-1
#[cfg_attr(test, test)]
fn sixteen_mebibytes_over_four_units_of_eight_ports_are_512_kib_per_port() -> Tested {
    assert_eq!(dynamic_threshold::even_split(16.0 * 1024.0 * 1024.0, 4 * 8)?, 512.0 * 1024.0);
    Ok(())
}

/// Claim: LP-E3-1
#[cfg_attr(test, test)]
fn what_flows_have_in_flight_beyond_the_path_stands_in_the_queue() -> Tested {
    assert_close(losspass::queue_of_flows(4, 20.0, 41.7)?, 38.3, 1e-12);
    assert_eq!(losspass::queue_of_flows(4, 10.0, 41.7)?, 0.0);
    Ok(())
}

/// Claim: LP-E4-1 (only the formula; tests with packets check the behaviour of flows), LP-E5-1
#[cfg_attr(test, test)]
fn ecn_leaves_the_buffer_less_threshold_and_a_packet_per_flow() -> Tested {
    assert_eq!(losspass::ecn_queue_max(45.0, 4)?, 49.0);
    assert_close(losspass::ecn_burst(128e3 / 1500.0, 45.0, 4)?, 36.333, 1e-4);
    assert_eq!(losspass::ecn_burst(40.0, 45.0, 4)?, 0.0);
    for burst in [0.0, 10.0, 36.0] {
        let threshold = losspass::mark_threshold_for_burst(85.0, 4, burst)?;
        assert_close(losspass::ecn_burst(85.0, threshold, 4)?, burst, 1e-12);
    }
    Ok(())
}

/// Claim: LP-E6-1, LP-E6-2
#[cfg_attr(test, test)]
fn losspass_absorbs_more_than_ecn_iff_the_large_flows_hold_enough() -> Tested {
    let buffer = 128e3 / 1500.0;
    assert_close(losspass::burst(buffer, 0.95, 0.0, 0.0)?, buffer * 0.95, 1e-12);
    assert!(losspass::burst(buffer, 0.95, 0.0, 0.0)? > losspass::ecn_burst(buffer, 45.0, 4)?);
    assert_close(losspass::tau_of_equal_bursts(buffer, 45.0, 4)?, 0.426, 5e-4);
    let mut stream = RandomStream::new(1, "LP-E6-2", 0);
    for _ in 0..100_000 {
        let (tau, threshold, flows) =
            (stream.next_f64(), between(&mut stream, 0.0, 80.0), some_count(&mut stream, 1, 5));
        let more = losspass::burst_printed(buffer, tau)? > losspass::ecn_burst(buffer, threshold, flows)?;
        assert_eq!(more, buffer * (1.0 - tau) < threshold + f64::from(flows), "{tau} {threshold} {flows}");
    }
    // A reserve reduces the space for small flows.
    assert_close(losspass::burst(100.0, 0.95, 20.0, 10.0)?, 70.0, 1e-12);
    Ok(())
}

/// Claim: LP-SET-1
#[cfg_attr(test, test)]
fn a_trident_2_port_holds_more_than_its_path() -> Tested {
    let path = dimensions::bandwidth_delay_bytes(10e9, 100e-6)?;
    assert_close(path, 125e3, 1e-12);
    assert!(192e3 > path);
    Ok(())
}

/// Scenario of section VI-A (bits): 16 ports of 1 Gb/s and 1 MB. Two ports are overloaded, and a
/// third port receives a burst of 8 Gb/s.
const SECTION_6A: Bursts = Bursts {
    buffer: 8e6,
    ports: 16,
    congested: 2,
    bursting: 1,
    alpha: 1.0,
    arrival_rate: 8e9,
    port_rate: 1e9,
};

/// Claim: TDT-E1-1, TDT-E2-1
#[cfg_attr(test, test)]
fn thresholds_of_controlled_uncontrolled_and_evacuated_ports() -> Tested {
    let threshold = |state, ports| traffic_aware::threshold(state, 2.0, 600.0, 450.0, ports);
    assert_eq!(threshold(PortState::Normal, 0)?, 300.0);
    assert_eq!(threshold(PortState::Absorption, 3)?, 200.0);
    assert_eq!(threshold(PortState::Evacuation, 16)?, 37.5);
    assert!(threshold(PortState::Absorption, 0).is_err());
    Ok(())
}

/// Draws random bursts and overloads on a switch of 16 ports.
fn some_bursts(stream: &mut RandomStream) -> Bursts {
    let bursting = some_count(stream, 1, 8);
    Bursts {
        buffer: 1.0,
        ports: 16,
        congested: some_count(stream, 1, 16 - bursting),
        bursting,
        alpha: some_alpha(stream),
        arrival_rate: between(stream, 1.05, 20.0),
        port_rate: 1.0,
    }
}

/// Claim: TDT-C1-1, TDT-E3-1, TDT-E7-1, TDT-E13-1
#[cfg_attr(test, test)]
fn the_closed_forms_of_section_3_agree_with_the_general_solution_and_with_integration() -> Tested {
    let mut stream = RandomStream::new(1, "TDT-E3-1", 0);
    let (mut case_1, mut case_2) = (0, 0);
    for number in 0..10_000 {
        let bursts = some_bursts(&mut stream);
        let old = [OldQueues::unchanged(bursts.congested, bursts.alpha, 1.0)];
        let new = NewQueues {
            count: bursts.bursting,
            omega: bursts.alpha,
            arrival_rate: bursts.arrival_rate,
            drain_rate: 1.0,
        };
        let dt = bursts.dynamic_threshold()?;
        assert_ratio(dt, first_touch(1.0, &old, &new)?.time, 1e-9);
        // Under EDT, only the physical buffer limits the burst.
        let unlimited = NewQueues { omega: f64::INFINITY, ..new };
        assert_ratio(bursts.enhanced_dynamic_threshold()?, first_touch(1.0, &old, &unlimited)?.time, 1e-9);
        if number % 40 == 0 {
            // The first-order integration converges slowly with large sums of alpha.
            assert_ratio(integrate(1.0, &old, &new, dt / 128_000.0), dt, 1e-3);
        }
        let (n, m, a) = (f64::from(bursts.congested), f64::from(bursts.bursting), bursts.alpha);
        if bursts.arrival_rate <= bursts.case_1_limit()? {
            case_1 += 1;
            assert_ratio(bursts.stored(dt)?, a / (1.0 + a * (m + n)), 1e-12);
        } else {
            case_2 += 1;
            let closing = (1.0 + a * m) * new.growth() - a * n;
            assert_ratio(dt, a / ((1.0 + a * n) * closing), 1e-12);
        }
    }
    assert!(case_1 > 500 && case_2 > 500, "{case_1} {case_2}");
    Ok(())
}

/// Claim: TDT-V6A-1, TDT-V6A-2, TDT-V6A-4
#[cfg_attr(test, test)]
fn section_6a_dynamic_thresholds_absorb_222_and_edt_533_microseconds() -> Tested {
    let (dt, edt) = (SECTION_6A.dynamic_threshold()?, SECTION_6A.enhanced_dynamic_threshold()?);
    assert_ratio(dt, 2e-3 / 9.0, 1e-12);
    assert_ratio(edt, 1.6e-3 / 3.0, 1e-12);
    assert_close(SECTION_6A.stored(dt)? / 8e6, 0.1944, 5e-5);
    assert_close(SECTION_6A.stored(edt)? / 8e6, 0.4667, 5e-5);
    Ok(())
}

/// Claim: TDT-V6A-3 (REFUTED for TDT itself)
#[cfg_attr(test, test)]
fn section_6a_evacuated_ports_keep_their_part_so_tdt_absorbs_1_00_not_1_14_milliseconds() -> Tested {
    assert_ratio(SECTION_6A.ideal()?, 8e-3 / 7.0, 1e-12);
    assert_ratio(SECTION_6A.traffic_aware_printed()?, 8e-3 / 7.0, 1e-12);
    assert_ratio(SECTION_6A.traffic_aware()?, 1e-3, 1e-12);
    // If the printed time were right, the buffer would contain the burst and the packets of both
    // evacuated ports. The burst and these packets are larger than the buffer.
    let burst = SECTION_6A.stored(SECTION_6A.traffic_aware_printed()?)?;
    let evacuated = 2.0 * dynamic_threshold::even_split(SECTION_6A.buffer, 16)?;
    assert!(burst + evacuated > SECTION_6A.buffer * 1.12);
    let burst = SECTION_6A.stored(SECTION_6A.traffic_aware()?)?;
    assert_close(burst + evacuated, SECTION_6A.buffer, 1e-12);
    Ok(())
}

/// Claim: TDT-V6A-5, TDT-V6A-6
#[cfg_attr(test, test)]
fn section_6a_the_parameters_are_those_of_667_packets_but_for_oc2() -> Tested {
    let packets = (1e6_f64 / 1500.0).round();
    assert_eq!(packets, 667.0);
    let parameters = traffic_aware::parameters(packets, 16, 2.0)?;
    let found = [parameters.net_enqueues.round(), parameters.dequeues, parameters.drops.floor()];
    assert_eq!(found, [42.0, 3.0, 333.0]);
    assert_eq!(parameters.output_1.round(), 42.0);
    assert_eq!((parameters.output_2, traffic_aware::output_2_printed(packets, 16)?), (1334.0, 1344.0));
    Ok(())
}

/// Claim: TDT-PAR-1
#[cfg_attr(test, test)]
fn at_k_port_rates_net_enqueues_and_outputs_reach_their_thresholds_together() -> Tested {
    for ratio in [1.25, 2.0, 3.0, 8.0] {
        let parameters = traffic_aware::parameters(667.0, 16, ratio)?;
        // The values are the times until the counts of net enqueues and of outputs reach their
        // limits, in packet times of the port.
        let (enqueues, outputs) = (parameters.net_enqueues / (ratio - 1.0), parameters.output_1);
        assert_ratio(enqueues, outputs, 1e-12);
    }
    let at_2 = traffic_aware::parameters(667.0, 16, 2.0)?;
    assert_eq!(at_2.output_1, 667.0 / 16.0);
    Ok(())
}

/// Claim: TDT-PAR-2
#[cfg_attr(test, test)]
fn the_largest_burst_of_twice_the_port_rate_is_twice_the_buffer() -> Tested {
    let bursts = Bursts { congested: 0, arrival_rate: 2e9, ..SECTION_6A };
    let arrived = bursts.arrival_rate * bursts.ideal()?;
    assert_ratio(arrived / bursts.buffer, 2.0, 1e-12);
    // The whole burst leaves before the queue is empty again, and OC2 counts departures.
    assert_eq!(traffic_aware::parameters(667.0, 16, 2.0)?.output_2 / 667.0, 2.0);
    Ok(())
}

/// Claim: TDT-PAR-3
#[cfg_attr(test, test)]
fn an_even_split_of_1_megabyte_is_half_a_millisecond_of_a_port() -> Tested {
    let part = dynamic_threshold::even_split(1e6, 16)?;
    assert_ratio(dimensions::sending_seconds(part, 1e9)?, 500e-6, 1e-12);
    Ok(())
}

/// Claim: TDT-E15-1
#[cfg_attr(test, test)]
fn jains_index_is_1_for_equals_and_1_over_n_for_one_who_has_all() -> Tested {
    assert_close(traffic_aware::fairness(&[1.0, 1.0, 0.5])?, 25.0 / 27.0, 1e-12);
    assert_close(traffic_aware::fairness(&[3.0; 7])?, 1.0, 1e-12);
    assert_close(traffic_aware::fairness(&[0.0, 0.0, 0.0, 9.0])?, 0.25, 1e-12);
    assert!(traffic_aware::fairness(&[]).is_err() && traffic_aware::fairness(&[0.0]).is_err());
    Ok(())
}

/// Claim: TDT-S6B-1
#[cfg_attr(test, test)]
fn a_fifth_of_background_and_a_burst_in_20_milliseconds_are_a_load_of_30_percent() -> Tested {
    assert_close(dimensions::load_with_bursts(0.2, 8e9 * 250e-6, 20e-3, 1e9)?, 0.3, 1e-12);
    Ok(())
}
