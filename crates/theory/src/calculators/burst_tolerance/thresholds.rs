//! Burst tolerance of policies whose old queues are at their threshold,
//! by the transient analysis in units of the port rate.

use super::state::BurstState;
use super::{Policy, plural};
use crate::calculators::{Derivation, bytes, number, rate, seconds};
use crate::forms::transient::{NewQueues, OldQueues, Regime, Touch, case_1_limit, first_touch};
use crate::forms::{Domain, abm};

/// Old queues and new queues of the transient analysis. Every group of old queues has its omega
/// before and during the burst, and its drain rate.
fn queues(state: &BurstState, policy: Policy) -> Domain<(Vec<OldQueues>, NewQueues)> {
    let all = state.congested_queues();
    // The function returns the number of congested queues that share a priority's alpha, and the
    // number of queues that the burst adds. Plasticine counts by group of priorities. All congested
    // queues are in the low group.
    let counted = |priority: u32| match policy {
        Policy::Plasticine => (all, state.burst.priority.map_or(0, |_| state.burst.count)),
        _ if state.burst.priority == Some(priority) => (state.congested_of(priority), state.burst.count),
        _ => (state.congested_of(priority), 0),
    };
    let of_burst = state.burst.priority.map_or(0, |priority| counted(priority).0);
    let by_drain = matches!(policy, Policy::ActiveBufferManagement | Policy::Plasticine);
    let old = state.groups.iter().map(|group| {
        let (before, more) = counted(group.priority);
        let (omega_before, omega) = if by_drain {
            (
                abm::omega(group.alpha, before, group.gamma_before)?,
                abm::omega(group.alpha, before + more, group.gamma)?,
            )
        } else {
            (group.alpha, group.alpha)
        };
        Ok(OldQueues { count: group.count, omega_before, omega, drain_rate: group.gamma })
    });
    let omega = match policy {
        Policy::EnhancedDynamicThreshold => f64::INFINITY,
        _ if by_drain => abm::omega(state.burst.alpha, of_burst + state.burst.count, state.burst.gamma)?,
        _ => state.burst.alpha,
    };
    let new = NewQueues {
        count: state.burst.count,
        omega,
        arrival_rate: state.rate_ratio(),
        drain_rate: state.burst.gamma,
    };
    Ok((old.collect::<Domain<_>>()?, new))
}

/// Time of the first loss (seconds), and bytes that other queues stored when the burst arrived.
pub(super) fn thresholds(
    state: &BurstState,
    policy: Policy,
    derivation: &mut Derivation,
) -> Domain<(f64, f64)> {
    let (old, new) = queues(state, policy)?;
    let filled = state.buffer_seconds();
    let touch = first_touch(filled, &old, &new)?;
    omegas(state, policy, (&old, &new), derivation);
    let sum: f64 = old.iter().map(|q| f64::from(q.count) * q.omega_before).sum();
    let free = filled / (1.0 + sum);
    before(state, &old, (sum, free), derivation);
    let limit = case_1_limit(&old, &new)?;
    regime(old.is_empty(), limit, &touch, derivation);
    first_loss(state, &new, free, &touch, derivation);
    Ok((touch.time, state.buffer_bytes - state.port_bytes(free)))
}

/// Factors of the free buffer (omegas) for every group of queues.
fn omegas(
    state: &BurstState,
    policy: Policy,
    (old, new): (&[OldQueues], &NewQueues),
    derivation: &mut Derivation,
) {
    let (formula, source) = (omega_formula(policy), omega_source(policy));
    for (group, queue) in state.groups.iter().zip(old) {
        let name = format!("omega of {} queue{}", queue.count, plural(queue.count));
        let numbers = factors(policy, group.alpha, group.gamma_before, queue.omega_before);
        derivation.step(&name, formula, numbers, number(queue.omega_before), source);
        if queue.is_affected() {
            let numbers = factors(policy, group.alpha, group.gamma, queue.omega);
            derivation.step("", "from the burst on", numbers, number(queue.omega), source);
        }
    }
    let name = "omega of the burst";
    if policy == Policy::EnhancedDynamicThreshold {
        derivation.step(name, "", "", "unbounded: only the buffer limits it", "TDT Eq. 2");
    } else {
        let numbers = factors(policy, state.burst.alpha, new.drain_rate, new.omega);
        derivation.step(name, formula, numbers, number(new.omega), source);
    }
}

/// Adds the state when the burst arrives to the derivation: the sum of the omegas, and the free
/// buffer. The argument for the free buffer is the time in which a port sends as many bytes
/// (seconds).
fn before(state: &BurstState, old: &[OldQueues], (sum, free): (f64, f64), derivation: &mut Derivation) {
    let (all, free) = (state.buffer_bytes, state.port_bytes(free));
    derivation.step("S before", "sum of omega", "", number(sum), "ABM Eq. 15");
    let numbers = format!("{} / (1 + {})", bytes(all), number(sum));
    derivation.step("free before", "B / (1 + S)", numbers, bytes(free), "ABM Eq. 16");
    derivation.step("occupied before", "B - free", "", bytes(all - free), "ABM Eq. 15");
    for queue in old {
        let name = format!("each of {} queue{}", queue.count, plural(queue.count));
        let numbers = format!("{} * {}", number(queue.omega_before), bytes(free));
        derivation.step(name, "omega * free", numbers, bytes(queue.omega_before * free), "ABM Eq. 17");
    }
}

/// Adds to the derivation which queues follow their falling threshold,
/// and how fast the buffer fills.
fn regime(alone: bool, limit: f64, touch: &Touch, derivation: &mut Derivation) {
    let regime = match touch.regime {
        _ if alone => "no queue was congested",
        Regime::AllFollow => "all that keep their omega follow their falling threshold (case 1)",
        Regime::SomeFollow => "some congested queues cannot follow their threshold",
        Regime::NoneFollows => "no congested queue can follow its threshold (case 2)",
    };
    let limit = if limit == f64::INFINITY { "unbounded".to_owned() } else { format!("{} b", number(limit)) };
    let formula = "gamma + (drain of affected + (1 + S) min(gamma/omega)) / n";
    derivation.step("all follow up to r", formula, "", limit, "ABM Eq. 28, E-ABM-4");
    derivation.step("so", "", "", regime, "");
    let slope = format!("{} b", number(touch.occupancy_slope));
    let formula = "(n (r - gamma) - drain of lagging) / (1 + S of following)";
    derivation.step("occupancy grows at X", formula, "", slope, "ABM Eqs. 30, 39");
}

/// Adds to the derivation the time at which the burst reaches its threshold,
/// and the bytes that arrived before.
fn first_loss(state: &BurstState, new: &NewQueues, free: f64, touch: &Touch, derivation: &mut Derivation) {
    let (growth, time) = (number(new.growth()), seconds(touch.time));
    let (free, slope) = (seconds(free), number(touch.occupancy_slope));
    if touch.rejoined > 0 {
        derivation.note(format!(
            "queues that come down to their new threshold before the first loss: {}; the time is solved piece by piece",
            touch.rejoined
        ));
        derivation.step("first loss t1", "piece by piece", "", &time, "ABM Eqs. 20-23");
    } else if new.omega == f64::INFINITY {
        let numbers = format!("{free} / {slope}");
        derivation.step("first loss t1", "free / X", numbers, &time, "ABM Eqs. 29, 39");
    } else {
        let omega = number(new.omega);
        let numbers = format!("{omega} * {free} / ({growth} + {omega} * {slope})");
        let formula = "omega free / ((r - gamma) + omega X)";
        derivation.step("first loss t1", formula, numbers, &time, "ABM Eqs. 29, 39");
    }
    let numbers = format!("{growth} * {} * {time}", rate(state.port_rate_bps));
    let stored = bytes(state.port_bytes(touch.stored));
    derivation.step("stored", "(r - gamma) b t1", numbers, stored, "ABM section 2.3");
    let numbers = format!("{} * {time}", rate(state.burst.rate_bps));
    derivation.step("arrived", "r b t1", numbers, bytes(state.port_bytes(touch.arrived)), "ABM Eq. 42");
}

/// Formula of omega, the factor of a queue's threshold, in symbols.
const fn omega_formula(policy: Policy) -> &'static str {
    match policy {
        Policy::ActiveBufferManagement => "alpha / n_p * gamma",
        Policy::Plasticine => "alpha / N * gamma",
        Policy::DynamicThreshold
        | Policy::EnhancedDynamicThreshold
        | Policy::TrafficAware
        | Policy::LossPass
        | Policy::Ideal => "alpha",
    }
}

/// The formula of omega with its numbers. The count is derived from omega.
/// The text is empty if omega equals alpha.
fn factors(policy: Policy, alpha: f64, gamma: f64, omega: f64) -> String {
    if !matches!(policy, Policy::ActiveBufferManagement | Policy::Plasticine) {
        return String::new();
    }
    let congested = (alpha * gamma / omega).round();
    format!("{} / {} * {}", number(alpha), number(congested), number(gamma))
}

const fn omega_source(policy: Policy) -> &'static str {
    match policy {
        Policy::ActiveBufferManagement => "ABM Eq. 13",
        Policy::Plasticine => "Plasticine Eq. 10",
        Policy::DynamicThreshold
        | Policy::EnhancedDynamicThreshold
        | Policy::TrafficAware
        | Policy::LossPass
        | Policy::Ideal => "ABM Eq. 5",
    }
}
