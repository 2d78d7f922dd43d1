//! How large a burst a switch absorbs under each policy, and what the buffer looks like when it comes.

use super::burst_state::BurstState;
use super::{Derivation, Table, bytes, number, seconds};
use crate::forms::dynamic_threshold::even_split;
use crate::forms::traffic_aware::Bursts;
use crate::forms::transient::{NewQueues, OldQueues, Regime, case_1_limit, first_touch};
use crate::forms::{Domain, abm, check, losspass, positive};

/// The policies that are compared, and the bound of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Dynamic Thresholds.
    DynamicThreshold,
    /// Active Buffer Management.
    ActiveBufferManagement,
    /// Plasticine, several queues per port.
    Plasticine,
    /// Enhanced Dynamic Thresholds, the burst's port uncontrolled from its first packet.
    EnhancedDynamicThreshold,
    /// Traffic-aware thresholds, congested ports evacuated before.
    TrafficAware,
    /// LossPass on an even split of the buffer.
    LossPass,
    /// An empty buffer that the burst has for itself.
    Ideal,
}

impl Policy {
    /// All, in the order of the table.
    pub const ALL: [Self; 7] = [
        Self::DynamicThreshold,
        Self::ActiveBufferManagement,
        Self::Plasticine,
        Self::EnhancedDynamicThreshold,
        Self::TrafficAware,
        Self::LossPass,
        Self::Ideal,
    ];

    /// The name, that of the registry of policies where it has one.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::DynamicThreshold => "dt",
            Self::ActiveBufferManagement => "abm",
            Self::Plasticine => "plasticine",
            Self::EnhancedDynamicThreshold => "edt",
            Self::TrafficAware => "tdt",
            Self::LossPass => "losspass",
            Self::Ideal => "ideal",
        }
    }

    /// The omega of a queue with `alpha`, of which `congested` share it, in symbols.
    const fn omega_formula(self) -> &'static str {
        match self {
            Self::ActiveBufferManagement => "alpha / n_p * gamma",
            Self::Plasticine => "alpha / N * gamma",
            _ => "alpha",
        }
    }
}

/// What a burst finds.
#[derive(Clone, Debug, PartialEq)]
pub struct Tolerance {
    /// How long it loses nothing (seconds); infinite if it never does.
    pub lossless_seconds: f64,
    /// What has arrived at each of its queues then (bytes).
    pub arrived_bytes: f64,
    /// What each of its queues holds then (bytes).
    pub stored_bytes: f64,
    /// What others held when it came (bytes); LossPass: at the port of the burst.
    pub held_before_bytes: f64,
    /// How it came about.
    pub derivation: Derivation,
}

/// What one policy absorbs, derived.
///
/// # Errors
/// A state out of range ([`BurstState::check`]); for `tdt` congested queues beside the burst, as it has one queue per port.
pub fn burst_tolerance(state: &BurstState, policy: Policy) -> Domain<Tolerance> {
    state.check()?;
    let mut derivation = Derivation::new(format!("Burst tolerance under {}", policy.name()));
    let ratio = state.rate_ratio();
    derivation.step("buffer", "", "", bytes(state.buffer_bytes), "");
    let filled = state.buffer_seconds();
    let port = super::rate(state.port_rate_bps);
    derivation.step(
        "in port time",
        "B / b",
        format!("{} / {port}", bytes(state.buffer_bytes)),
        seconds(filled),
        "",
    );
    let arriving = super::rate(state.burst.rate_bps);
    derivation.step(
        "arrival r",
        "rate / b",
        format!("{arriving} / {port}"),
        format!("{} b", number(ratio)),
        "",
    );
    let (lossless_seconds, held_before_bytes) = match policy {
        Policy::TrafficAware => traffic_aware(state, &mut derivation)?,
        Policy::LossPass => losspass_port(state, &mut derivation)?,
        Policy::Ideal => (ideal(state, &mut derivation), 0.0),
        _ => thresholds(state, policy, &mut derivation)?,
    };
    let stored_bytes = state.port_bytes((ratio - state.burst.gamma) * lossless_seconds);
    let arrived_bytes = state.port_bytes(ratio * lossless_seconds);
    derivation.answer("lossless for", lossless_seconds, seconds(lossless_seconds));
    let per_queue = if state.burst.count > 1 { " at each queue of the burst" } else { "" };
    derivation.answer("arrived", arrived_bytes, format!("{}{per_queue}", bytes(arrived_bytes)));
    derivation.answer("stored", stored_bytes, format!("{}{per_queue}", bytes(stored_bytes)));
    Ok(Tolerance { lossless_seconds, arrived_bytes, stored_bytes, held_before_bytes, derivation })
}

/// All policies side by side. One that has no answer for this state is shown with the reason.
///
/// # Errors
/// A state out of range ([`BurstState::check`]).
pub fn comparison(state: &BurstState) -> Domain<Derivation> {
    state.check()?;
    let queues = state.congested_queues();
    let title = format!(
        "Burst of {} ({} port rates) to {} queue{}, {queues} queue{} congested on {} port{}",
        super::rate(state.burst.rate_bps),
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
    for policy in Policy::ALL {
        match burst_tolerance(state, policy) {
            Ok(found) => {
                let share = found.stored_bytes * f64::from(state.burst.count) / state.buffer_bytes;
                table.rows.push(vec![
                    policy.name().to_owned(),
                    bytes(found.held_before_bytes),
                    seconds(found.lossless_seconds),
                    bytes(found.arrived_bytes),
                    bytes(found.stored_bytes),
                    format!("{:.1} %", share * 100.0),
                ]);
            }
            Err(error) => {
                let dash = || "-".to_owned();
                table.rows.push(vec![policy.name().to_owned(), dash(), dash(), dash(), dash(), dash()]);
                derivation.note(format!("{}: {error}", policy.name()));
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

/// Omegas before and from the burst on, and drain rates, of every group; the omega of the burst.
fn queues(state: &BurstState, policy: Policy) -> Domain<(Vec<OldQueues>, NewQueues)> {
    let all = state.congested_queues();
    // Congested queues that share the alpha of a priority, and how many the burst adds. Plasticine counts a group of
    // priorities: the low one holds all congested queues.
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

/// Policies whose old queues stand at a threshold: the transient analysis, in units of the port rate.
fn thresholds(state: &BurstState, policy: Policy, derivation: &mut Derivation) -> Domain<(f64, f64)> {
    let (old, new) = queues(state, policy)?;
    let filled = state.buffer_seconds();
    let touch = first_touch(filled, &old, &new)?;
    let sum: f64 = old.iter().map(|q| f64::from(q.count) * q.omega_before).sum();
    for (group, queue) in state.groups.iter().zip(&old) {
        let name = format!("omega of {} queue{}", queue.count, plural(queue.count));
        let numbers = factors(policy, group.alpha, group.gamma_before, queue.omega_before);
        derivation.step(
            &name,
            policy.omega_formula(),
            numbers,
            number(queue.omega_before),
            omega_source(policy),
        );
        if queue.is_affected() {
            let numbers = factors(policy, group.alpha, group.gamma, queue.omega);
            let formula = "from the burst on";
            derivation.step("", formula, numbers, number(queue.omega), omega_source(policy));
        }
    }
    if policy == Policy::EnhancedDynamicThreshold {
        derivation.step("omega of the burst", "", "", "unbounded: only the buffer limits it", "TDT Eq. 2");
    } else {
        let numbers = factors(policy, state.burst.alpha, new.drain_rate, new.omega);
        derivation.step(
            "omega of the burst",
            policy.omega_formula(),
            numbers,
            number(new.omega),
            omega_source(policy),
        );
    }
    derivation.step("S before", "sum of omega", "", number(sum), "ABM Eq. 15");
    let free = filled / (1.0 + sum);
    let free_bytes = state.port_bytes(free);
    let numbers = format!("{} / (1 + {})", bytes(state.buffer_bytes), number(sum));
    derivation.step("free before", "B / (1 + S)", numbers, bytes(free_bytes), "ABM Eq. 16");
    derivation.step("occupied before", "B - free", "", bytes(state.buffer_bytes - free_bytes), "ABM Eq. 15");
    for queue in &old {
        let name = format!("each of {} queue{}", queue.count, plural(queue.count));
        let numbers = format!("{} * {}", number(queue.omega_before), bytes(free_bytes));
        derivation.step(name, "omega * free", numbers, bytes(queue.omega_before * free_bytes), "ABM Eq. 17");
    }
    let limit = case_1_limit(&old, &new)?;
    let regime = match touch.regime {
        _ if old.is_empty() => "no queue was congested",
        Regime::AllFollow => "all that keep their omega follow their falling threshold (case 1)",
        Regime::SomeFollow => "some congested queues cannot follow their threshold",
        Regime::NoneFollows => "no congested queue can follow its threshold (case 2)",
    };
    let limit = if limit == f64::INFINITY { "unbounded".to_owned() } else { format!("{} b", number(limit)) };
    derivation.step(
        "all follow up to r",
        "gamma + (drain of affected + (1 + S) min(gamma/omega)) / n",
        "",
        limit,
        "ABM Eq. 28, E-ABM-4",
    );
    derivation.step("so", "", "", regime, "");
    let slope = format!("{} b", number(touch.occupancy_slope));
    derivation.step(
        "occupancy grows at X",
        "(n (r - gamma) - drain of lagging) / (1 + S of following)",
        "",
        slope,
        "ABM Eqs. 30, 39",
    );
    let growth = number(new.growth());
    let (formula, numbers) = if new.omega == f64::INFINITY {
        ("free / X", format!("{} / {}", seconds(free), number(touch.occupancy_slope)))
    } else {
        (
            "omega free / ((r - gamma) + omega X)",
            format!(
                "{} * {} / ({growth} + {} * {})",
                number(new.omega),
                seconds(free),
                number(new.omega),
                number(touch.occupancy_slope)
            ),
        )
    };
    if touch.rejoined > 0 {
        derivation.note(format!(
            "queues that come down to their new threshold before the first loss: {}; the time is solved piece by piece",
            touch.rejoined
        ));
        derivation.step("first loss t1", "piece by piece", "", seconds(touch.time), "ABM Eqs. 20-23");
    } else {
        derivation.step("first loss t1", formula, numbers, seconds(touch.time), "ABM Eqs. 29, 39");
    }
    let numbers = format!("{growth} * {} * {}", super::rate(state.port_rate_bps), seconds(touch.time));
    derivation.step(
        "stored",
        "(r - gamma) b t1",
        numbers,
        bytes(state.port_bytes(touch.stored)),
        "ABM section 2.3",
    );
    let numbers = format!("{} * {}", super::rate(state.burst.rate_bps), seconds(touch.time));
    derivation.step("arrived", "r b t1", numbers, bytes(state.port_bytes(touch.arrived)), "ABM Eq. 42");
    Ok((touch.time, state.buffer_bytes - free_bytes))
}

/// The numbers of an omega; the count is what the form divided by. Empty where omega is alpha.
fn factors(policy: Policy, alpha: f64, gamma: f64, omega: f64) -> String {
    if !matches!(policy, Policy::ActiveBufferManagement | Policy::Plasticine) {
        return String::new();
    }
    let congested = (alpha * gamma / omega).round();
    format!("{} / {} * {}", number(alpha), number(congested), number(gamma))
}

fn omega_source(policy: Policy) -> &'static str {
    match policy {
        Policy::ActiveBufferManagement => "ABM Eq. 13",
        Policy::Plasticine => "Plasticine Eq. 10",
        _ => "ABM Eq. 5",
    }
}

fn traffic_aware(state: &BurstState, derivation: &mut Derivation) -> Domain<(f64, f64)> {
    let beside = f64::from(state.queues_beside_burst);
    check(beside == 0.0, "queues_beside_burst", beside, "0 (tdt has one queue per port)")?;
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
        super::rate(state.burst.rate_bps - state.port_rate_bps)
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
    let growth = positive("rate", state.burst.rate_bps - state.burst.gamma * state.port_rate_bps)?;
    let time = burst * 8.0 / growth;
    let numbers = format!("{} / {}", bytes(burst), super::rate(growth));
    derivation.step("first loss", "room / ((r - gamma) b)", numbers, seconds(time), "");
    derivation.note(
        "the port's buffer is full, a fraction tau of it with packets of large flows that may be evicted",
    );
    Ok((time, part))
}

fn ideal(state: &BurstState, derivation: &mut Derivation) -> f64 {
    let growth =
        f64::from(state.burst.count) * (state.burst.rate_bps - state.burst.gamma * state.port_rate_bps);
    let time = state.buffer_bytes * 8.0 / growth;
    let numbers = format!("{} / {}", bytes(state.buffer_bytes), super::rate(growth));
    derivation.step("first loss", "B / (n (r - gamma) b)", numbers, seconds(time), "TDT Eq. 5");
    derivation.note("no policy absorbs more: the buffer was empty and is the burst's alone");
    time
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calculators::burst_state::EvenSwitch;

    /// The switch of ABM's figure 5: 1 MB and 1 Gb/s.
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
                    for policy in Policy::ALL {
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
