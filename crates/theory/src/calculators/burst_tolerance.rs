//! Calculator for the largest burst that each policy absorbs, given the state of the buffer when
//! the burst arrives.

mod state;
mod thresholds;

use super::input::{self, ALPHA, BUFFER, PORT_RATE, RATE, TAU, count, param};
use super::{CalculatorInfo, Derivation, Table, bytes, number, rate, seconds};
use crate::forms::dynamic_threshold::even_split;
use crate::forms::traffic_aware::Bursts;
use crate::forms::{Domain, check, losspass};
use bufferlab_params::{Choice, ParamInfo, ParamKind, ParamValue, Params, choices};
use bufferlab_units::BitRate;
use state::{BurstState, QUEUES_MAX};
pub(super) use state::{EvenSwitch, PORTS_MAX};
use thresholds::thresholds;

/// The calculator gives the answers `lossless for`, `arrived` and `stored` for a policy.
/// Without a policy the calculator gives a table of all policies.
pub(super) static INFO: CalculatorInfo = CalculatorInfo {
    name: "burst-tolerance",
    aliases: &[],
    title: "Burst tolerance",
    summary: "Derive the largest burst that each policy absorbs without loss, and the buffer's state when the burst arrives.",
    source: "ABM section 2.3 and Eqs. 5-42, Plasticine Eq. 10, TDT section VI-A, LossPass Eq. 6; for a switch with identical ports.",
    params: PARAMS,
    rules: &[],
    examples: &[
        &[("policy", "abm"), ("ports", "32"), ("queues", "8"), ("congested", "4")],
        &[("ports", "32"), ("queues", "8"), ("congested", "4")],
    ],
    run,
};

const PARAMS: &[ParamInfo] = &[
    param(
        "policy",
        ParamKind::Choice(Policy::WORDS),
        ParamValue::Computed("all of them side by side"),
        "The policy to derive.",
    ),
    BUFFER,
    PORT_RATE,
    param(
        "ports",
        ParamKind::Count { min: 1, max: PORTS_MAX as u64 },
        ParamValue::Count(32),
        "Ports of the switch.",
    ),
    param(
        "queues",
        ParamKind::Count { min: 1, max: QUEUES_MAX as u64 },
        ParamValue::Count(8),
        "Queues of a port.",
    ),
    param("congested", count(0), ParamValue::Count(4), "Ports with congested queues when the burst arrives."),
    param(
        "congested_queues",
        count(1),
        ParamValue::Count(1),
        "Congested queues on each congested port, sharing its rate.",
    ),
    param(
        "priorities",
        count(1),
        ParamValue::Count(1),
        "Number of priorities of the congested queues of a port.",
    ),
    param("alpha", ALPHA, ParamValue::Ratio(0.5), "Alpha of the congested queues."),
    param(
        "rate",
        RATE,
        ParamValue::Rate(BitRate(80_000_000_000)),
        "Arrival rate of the burst at each of its ports.",
    ),
    param("burst_alpha", ALPHA, ParamValue::Ratio(64.0), "Alpha of the burst."),
    param("burst_ports", count(1), ParamValue::Count(1), "Ports that receive a burst, one queue each."),
    param(
        "queues_beside_burst",
        count(0),
        ParamValue::Count(0),
        "Congested queues on the port of the burst.",
    ),
    param(
        "same_priority",
        ParamKind::Flag,
        ParamValue::Flag(false),
        "The burst has the priority of the congested queues instead of a separate priority.",
    ),
    TAU,
];

fn run(params: &Params) -> Domain<Derivation> {
    let switch = EvenSwitch {
        buffer_bytes: input::size(params, "buffer"),
        port_rate_bps: input::rate(params, "port_rate"),
        ports: params.small_count("ports"),
        queues: params.small_count("queues"),
        congested: params.small_count("congested"),
        congested_queues: params.small_count("congested_queues"),
        priorities: params.small_count("priorities"),
        alpha: params.ratio("alpha"),
        burst_ports: params.small_count("burst_ports"),
        queues_beside_burst: params.small_count("queues_beside_burst"),
        burst_alpha: params.ratio("burst_alpha"),
        same_priority: params.flag("same_priority"),
        rate_bps: input::rate(params, "rate"),
        tau: params.ratio("tau"),
    };
    let state = switch.state()?;
    match params.given_choice("policy") {
        Some(policy) => burst_tolerance(&state, policy).map(|found| found.derivation),
        None => comparison(&state),
    }
}

choices! {
    /// The compared policies and the upper bound of all policies, in the order of the table.
    /// Policies have the names of the policy registry.
    pub(super) enum Policy {
        DynamicThreshold = "dt": "Dynamic Thresholds",
        ActiveBufferManagement = "abm": "Active Buffer Management",
        Plasticine = "plasticine": "Plasticine, several queues per port",
        EnhancedDynamicThreshold = "edt":
            "Enhanced Dynamic Thresholds, the burst's port uncontrolled from its first packet",
        TrafficAware = "tdt": "Traffic-aware thresholds, congested ports evacuated before",
        LossPass = "losspass": "LossPass on an even split of the buffer",
        Ideal = "ideal": "an empty buffer that the burst has for itself",
    }
}

/// The largest burst that one policy absorbs without loss.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tolerance {
    /// Time before the first loss (seconds). Infinite if no packet is lost.
    pub(super) lossless_seconds: f64,
    /// Bytes that have arrived at each queue of the burst before the first loss.
    pub(super) arrived_bytes: f64,
    /// Bytes that each queue of the burst stores at the first loss.
    pub(super) stored_bytes: f64,
    /// Bytes that other queues stored when the burst began. For LossPass, only queues at the
    /// burst's port count.
    held_before_bytes: f64,
    /// Derivation of the burst's times and bytes.
    pub(super) derivation: Derivation,
}

/// Burst tolerance of one policy, with its derivation.
///
/// # Errors
/// If a number of the state is out of range ([`BurstState::check`]). For `tdt` and `edt`, also if
/// the burst's port has congested queues, because these policies limit ports.
pub(super) fn burst_tolerance(state: &BurstState, policy: Policy) -> Domain<Tolerance> {
    state.check()?;
    let mut derivation = Derivation::new(format!("Burst tolerance under {}", policy.word()));
    let ratio = state.rate_ratio();
    derivation.step("buffer", "", "", bytes(state.buffer_bytes), "");
    let filled = state.buffer_seconds();
    let port = rate(state.port_rate_bps);
    let numbers = format!("{} / {port}", bytes(state.buffer_bytes));
    derivation.step("in port time", "B / b", numbers, seconds(filled), "");
    let numbers = format!("{} / {port}", rate(state.burst.rate_bps));
    derivation.step("arrival r", "rate / b", numbers, format!("{} b", number(ratio)), "");
    // LossPass sends small flows first, so the burst's queue gets the whole rate of its port.
    let gamma = if policy == Policy::LossPass { 1.0 } else { state.burst.gamma };
    let (lossless_seconds, held_before_bytes) = match policy {
        Policy::TrafficAware => traffic_aware(state, &mut derivation)?,
        Policy::LossPass => losspass_port(state, &mut derivation)?,
        Policy::Ideal => (ideal(state, &mut derivation), 0.0),
        Policy::DynamicThreshold | Policy::ActiveBufferManagement | Policy::Plasticine => {
            thresholds(state, policy, &mut derivation)?
        }
        Policy::EnhancedDynamicThreshold => {
            check_alone(
                state,
                "edt limits ports: its uncontrolled port frees the queues beside the burst, too",
            )?;
            if state.congested_queues() > state.congested_ports {
                derivation.note("edt limits ports: the queues of a congested port have alpha together");
            }
            thresholds(&state.by_port(), policy, &mut derivation)?
        }
    };
    let stored_bytes = state.port_bytes((ratio - gamma) * lossless_seconds);
    let arrived_bytes = state.port_bytes(ratio * lossless_seconds);
    derivation.answer("lossless for", lossless_seconds, seconds(lossless_seconds));
    let per_queue = if state.burst.count > 1 { " at each queue of the burst" } else { "" };
    derivation.answer("arrived", arrived_bytes, format!("{}{per_queue}", bytes(arrived_bytes)));
    derivation.answer("stored", stored_bytes, format!("{}{per_queue}", bytes(stored_bytes)));
    Ok(Tolerance { lossless_seconds, arrived_bytes, stored_bytes, held_before_bytes, derivation })
}

/// A table that compares the burst tolerance of all policies. A policy without an answer for this
/// state is in the table with the reason.
///
/// # Errors
/// If a number of the state is out of range ([`BurstState::check`]).
fn comparison(state: &BurstState) -> Domain<Derivation> {
    state.check()?;
    let queues = state.congested_queues();
    let title = format!(
        "Burst of {} ({} port rates) to {} queue{}, {queues} queue{} congested on {} port{}",
        rate(state.burst.rate_bps),
        number(state.rate_ratio()),
        state.burst.count,
        plural(state.burst.count),
        plural(queues),
        state.congested_ports,
        plural(state.congested_ports),
    );
    let mut derivation = Derivation::new(title);
    let mut table =
        Table::new(&["policy", "held before", "lossless for", "arrived", "stored", "of the buffer"]);
    for &policy in Policy::ALL {
        match burst_tolerance(state, policy) {
            Ok(found) => {
                let share = found.stored_bytes * f64::from(state.burst.count) / state.buffer_bytes;
                table.rows.push(vec![
                    policy.word().to_owned(),
                    bytes(found.held_before_bytes),
                    seconds(found.lossless_seconds),
                    bytes(found.arrived_bytes),
                    bytes(found.stored_bytes),
                    format!("{:.1} %", share * 100.0),
                ]);
            }
            Err(error) => {
                let dash = || "-".to_owned();
                table.rows.push(vec![policy.word().to_owned(), dash(), dash(), dash(), dash(), dash()]);
                derivation.note(format!("{}: {error}", policy.word()));
            }
        }
    }
    derivation.table = Some(table);
    derivation.note("fluid model: packets make a difference of about a packet per queue");
    derivation.note("edt: the port is uncontrolled from the first packet; tdt: congested ports are evacuated before; losspass: an even split of the buffer, the port full, small flows first");
    Ok(derivation)
}

fn plural(count: u32) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// Refuses congested queues on the burst's port, for policies that limit ports.
fn check_alone(state: &BurstState, why: &str) -> Domain<()> {
    let beside = f64::from(state.queues_beside_burst);
    check(beside == 0.0, "queues_beside_burst", beside, format_args!("0 ({why})")).map(drop)
}

fn traffic_aware(state: &BurstState, derivation: &mut Derivation) -> Domain<(f64, f64)> {
    check_alone(state, "tdt has one queue per port")?;
    let bursts = Bursts {
        buffer: state.buffer_seconds(),
        ports: state.ports,
        congested: state.congested_ports,
        bursting: state.burst.count,
        alpha: state.burst.alpha,
        arrival_rate: state.rate_ratio(),
        port_rate: 1.0,
    };
    let part = even_split(state.buffer_bytes, state.ports)?;
    let numbers = format!("{} / {}", bytes(state.buffer_bytes), state.ports);
    derivation.step("an evacuated port keeps", "B / ports", numbers, bytes(part), "TDT section IV");
    let left = state.buffer_bytes - f64::from(state.congested_ports) * part;
    let numbers = format!("{} - {} * {}", bytes(state.buffer_bytes), state.congested_ports, bytes(part));
    derivation.step("left for the burst", "B - N B / ports", numbers, bytes(left), "E-TDT-2");
    let time = bursts.traffic_aware()?;
    let numbers = format!(
        "{} / ({} * {})",
        bytes(left),
        state.burst.count,
        rate(state.burst.rate_bps - state.port_rate_bps)
    );
    derivation.step("first loss", "left / (M (r - 1) b)", numbers, seconds(time), "TDT section VI-A");
    derivation.note("holds once the congested ports are evacuated; before that tdt absorbs as edt does");
    Ok((time, state.buffer_bytes - left))
}

fn losspass_port(state: &BurstState, derivation: &mut Derivation) -> Domain<(f64, f64)> {
    let part = even_split(state.buffer_bytes, state.ports)?;
    let numbers = format!("{} / {}", bytes(state.buffer_bytes), state.ports);
    derivation.step("buffer of the port", "B / ports", numbers, bytes(part), "LossPass section 2.1");
    let burst = losspass::burst(part, state.tau, 0.0, 0.0)?;
    let numbers = format!("{} * {}", bytes(part), number(state.tau));
    derivation.step("room for small flows", "B tau", numbers, bytes(burst), "LossPass Eq. 6");
    let valid = format_args!("more than {} (small flows are sent first)", rate(state.port_rate_bps));
    check(state.burst.rate_bps > state.port_rate_bps, "rate", state.burst.rate_bps, valid)?;
    let growth = state.burst.rate_bps - state.port_rate_bps;
    let time = burst * 8.0 / growth;
    let numbers = format!("{} / {}", bytes(burst), rate(growth));
    derivation.step("first loss", "room / ((r - 1) b)", numbers, seconds(time), "");
    derivation.note(
        "the port's buffer is full, a fraction tau of it with packets of large flows that may be evicted",
    );
    Ok((time, part))
}

fn ideal(state: &BurstState, derivation: &mut Derivation) -> f64 {
    let growth =
        f64::from(state.burst.count) * (state.burst.rate_bps - state.burst.gamma * state.port_rate_bps);
    let time = state.buffer_bytes * 8.0 / growth;
    let numbers = format!("{} / {}", bytes(state.buffer_bytes), rate(growth));
    derivation.step("first loss", "B / (n (r - gamma) b)", numbers, seconds(time), "TDT Eq. 5");
    derivation.note("no policy absorbs more: the buffer was empty and is the burst's alone");
    time
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The switch of ABM's figure 5, with 1 MB and 1 Gb/s.
    fn figure_5(congested: u32, congested_queues: u32, ratio: f64) -> EvenSwitch {
        EvenSwitch {
            buffer_bytes: 1e6,
            port_rate_bps: 1e9,
            ports: 32,
            queues: 8,
            congested,
            congested_queues,
            priorities: 1,
            alpha: 0.5,
            burst_ports: 1,
            queues_beside_burst: 0,
            burst_alpha: 1024.0,
            same_priority: false,
            rate_bps: ratio * 1e9,
            tau: 0.95,
        }
    }

    fn stored_kilobytes(switch: EvenSwitch, policy: Policy) -> Domain<f64> {
        Ok(burst_tolerance(&switch.state()?, policy)?.stored_bytes / 1e3)
    }

    #[test]
    fn the_calculator_draws_figure_5_of_abm() -> Domain<()> {
        use Policy::{ActiveBufferManagement as Abm, DynamicThreshold as Dt, Plasticine};
        for (ports, queues, ratio, policy, expected) in [
            (1, 1, 40.0, Dt, 684.0),
            (16, 1, 40.0, Dt, 188.0),
            (1, 8, 10.0, Dt, 225.0),
            (4, 1, 20.0, Abm, 843.0),
            (1, 8, 40.0, Abm, 965.0),
            (1, 8, 40.0, Plasticine, 965.0),
        ] {
            let found = stored_kilobytes(figure_5(ports, queues, ratio), policy)?;
            assert!((found - expected).abs() <= 1.0, "{ports} {queues} {ratio} {policy:?}: {found}");
        }
        Ok(())
    }

    #[test]
    fn the_calculator_gives_the_times_of_tdt_section_6a() -> Domain<()> {
        let switch = EvenSwitch { ports: 16, alpha: 1.0, burst_alpha: 1.0, ..figure_5(2, 1, 8.0) };
        let state = switch.state()?;
        for (policy, microseconds) in [
            (Policy::DynamicThreshold, 2000.0 / 9.0),
            (Policy::EnhancedDynamicThreshold, 1600.0 / 3.0),
            (Policy::TrafficAware, 1000.0),
            (Policy::Ideal, 8000.0 / 7.0),
        ] {
            let found = burst_tolerance(&state, policy)?.lossless_seconds * 1e6;
            assert!((found - microseconds).abs() < 1e-6, "{policy:?}: {found}");
        }
        Ok(())
    }

    #[test]
    fn no_policy_absorbs_more_than_the_empty_buffer_and_every_answer_is_in_its_derivation() -> Domain<()> {
        for congested in [0, 1, 8, 30] {
            for congested_queues in [1, 3, 8] {
                for same_priority in [false, true] {
                    let switch = figure_5(congested, congested_queues, 7.0);
                    let state = EvenSwitch { same_priority, ..switch }.state()?;
                    let ideal = burst_tolerance(&state, Policy::Ideal)?.stored_bytes;
                    for &policy in Policy::ALL {
                        let found = burst_tolerance(&state, policy)?;
                        assert!(found.stored_bytes <= ideal * (1.0 + 1e-9), "{policy:?} {state:?}");
                        assert_eq!(found.derivation.value("stored"), Some(found.stored_bytes));
                        assert!(found.derivation.to_string().contains(&bytes(found.stored_bytes)));
                    }
                }
            }
        }
        Ok(())
    }

    #[test]
    fn plasticine_counts_all_low_queues_and_abm_those_of_a_priority() -> Domain<()> {
        let apart = EvenSwitch { priorities: 8, ..figure_5(1, 8, 40.0) };
        let abm = stored_kilobytes(apart, Policy::ActiveBufferManagement)?;
        let plasticine = stored_kilobytes(apart, Policy::Plasticine)?;
        assert!((plasticine - 965.0).abs() <= 1.0 && abm < plasticine - 100.0, "{abm} {plasticine}");
        Ok(())
    }

    /// Priorities divide ABM's counts of congested queues. Other policies do not use priorities.
    #[test]
    fn priorities_mean_nothing_to_policies_that_do_not_count_by_them() -> Domain<()> {
        for beside in [0, 2, 5] {
            for &policy in Policy::ALL.iter().filter(|policy| **policy != Policy::ActiveBufferManagement) {
                let answer = |priorities| {
                    let switch = figure_5(4, 5, 20.0);
                    let switch = EvenSwitch { priorities, queues_beside_burst: beside, ..switch };
                    Ok(burst_tolerance(&switch.state()?, policy).ok().map(|found| found.lossless_seconds))
                };
                let one: Option<f64> = answer(1)?;
                for priorities in 2..=5 {
                    let Some(found) = answer(priorities)? else {
                        assert_eq!(one, None, "{policy:?}");
                        continue;
                    };
                    let expected = one.expect("an answer for one priority");
                    assert!((found / expected - 1.0).abs() < 1e-9, "{policy:?}: {found}, {expected}");
                }
            }
        }
        Ok(())
    }

    #[test]
    fn small_flows_of_losspass_are_sent_before_what_stands_beside_them() -> Domain<()> {
        let alone = burst_tolerance(&figure_5(2, 1, 20.0).state()?, Policy::LossPass)?;
        let beside = EvenSwitch { queues_beside_burst: 3, ..figure_5(2, 1, 20.0) }.state()?;
        let found = burst_tolerance(&beside, Policy::LossPass)?;
        assert_eq!(found.lossless_seconds, alone.lossless_seconds);
        assert_eq!(found.stored_bytes, alone.stored_bytes);
        Ok(())
    }

    #[test]
    fn edt_limits_ports_whatever_their_queues() -> Domain<()> {
        let one = burst_tolerance(&figure_5(4, 1, 8.0).state()?, Policy::EnhancedDynamicThreshold)?;
        let many = burst_tolerance(&figure_5(4, 5, 8.0).state()?, Policy::EnhancedDynamicThreshold)?;
        assert_eq!(many.lossless_seconds, one.lossless_seconds);
        let beside = EvenSwitch { queues_beside_burst: 1, ..figure_5(4, 1, 8.0) }.state()?;
        let refused = burst_tolerance(&beside, Policy::EnhancedDynamicThreshold).expect_err("beside");
        assert_eq!(refused.input, "queues_beside_burst");
        Ok(())
    }

    #[test]
    fn a_burst_to_a_busy_port_changes_the_queues_beside_it() -> Domain<()> {
        let state = EvenSwitch { queues_beside_burst: 3, ..figure_5(2, 1, 20.0) }.state()?;
        let found = burst_tolerance(&state, Policy::ActiveBufferManagement)?;
        assert!(found.derivation.to_string().contains("from the burst on"));
        let table = comparison(&state)?.to_string();
        assert!(table.contains("tdt: queues_beside_burst is 3, expected 0"), "{table}");
        Ok(())
    }
}
