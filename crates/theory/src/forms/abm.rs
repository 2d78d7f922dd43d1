//! Guarantees and burst tolerance of Active Buffer Management (ABM, SIGCOMM 2022, Eqs. 6–17 and
//! 28–42).
//!
//! All sizes are in one unit, and rates in that unit per time.
//! `gamma` is a queue's drain rate divided by the port rate, in (0, 1].

use super::dynamic_threshold::free;
use super::transient::NewQueues;
use super::{Domain, all_positive, at_least_one, check, not_negative, positive, share};

pub use super::dynamic_threshold::steady_state;
pub use super::transient::{case_1_limit, case_1_limit_printed, t1_case_1, t1_case_2};

/// Factor `alpha · (1/n_p) · gamma` of a queue (ABM Eqs. 12–13, Plasticine Eqs. 9–10).
/// `congested` counts the congested queues of the priority.
/// The value 0 counts as 1, because a queue that receives a packet is about to become congested.
///
/// # Errors
/// If `alpha` is not positive, or `gamma` is not in (0, 1].
pub fn omega(alpha: f64, congested: u32, gamma: f64) -> Domain<f64> {
    Ok(positive("alpha", alpha)? * share("gamma", gamma)? / f64::from(congested.max(1)))
}

/// Threshold `omega · (B − Q)` of a queue (ABM Eq. 9; size).
///
/// # Errors
/// Returns the errors of [`omega`]. Also refuses a `buffer` that is not positive, and an
/// `occupancy` outside 0 to `buffer`.
pub fn threshold(alpha: f64, congested: u32, gamma: f64, buffer: f64, occupancy: f64) -> Domain<f64> {
    Ok(omega(alpha, congested, gamma)? * free(buffer, occupancy)?)
}

/// Sum of omega over the congested queues of a priority, whose normalised drain rates are `gammas`.
/// The sum is alpha times the mean of `gammas`, so at most alpha (Lemma 1, Eq. 14), and equal to
/// alpha iff every gamma is 1. Without queues the sum is 0.
///
/// # Errors
/// Returns the errors of [`omega`].
pub fn omega_sum(alpha: f64, gammas: &[f64]) -> Domain<f64> {
    positive("alpha", alpha)?;
    let congested = u32::try_from(gammas.len()).unwrap_or(u32::MAX);
    gammas.iter().map(|&gamma| omega(alpha, congested, gamma)).sum()
}

/// The alpha of priority `index`. The function checks all alphas first.
fn priority(alphas: &[f64], index: usize) -> Domain<f64> {
    all_positive("alpha", alphas)?;
    let valid = format_args!("less than {}, the number of priorities", alphas.len());
    check(index < alphas.len(), "priority", index as f64, valid)?;
    Ok(alphas[index])
}

/// Least occupancy of all congested queues of a priority together (Theorem 1,
/// corrected, E-ABM-1; size): `B·a_p·g / (1 + a_p·g + Σ_{q≠p} a_q)`.
/// `g` is the smallest gamma of the congested queues of `p`.
///
/// `alphas` has the priorities that use the buffer, and `index` is the index of `p` in `alphas`.
///
/// # Errors
/// If `buffer` or a factor is not positive, `gamma_min` is not in (0, 1], or `index` is out of
/// range.
pub fn guarantee(buffer: f64, alphas: &[f64], index: usize, gamma_min: f64) -> Domain<f64> {
    let alpha = priority(alphas, index)? * share("gamma_min", gamma_min)?;
    let others = alphas.iter().sum::<f64>() - alphas[index];
    Ok(positive("buffer", buffer)? * alpha / (1.0 + alpha + others))
}

/// ABM's Theorem 1 as printed (E-ABM-1): `B·a_p / (1 + Σ a)`. The printed form is true only if
/// every queue of the priority drains at the full port rate.
///
/// # Errors
/// Returns the errors of [`guarantee`].
pub fn guarantee_printed(buffer: f64, alphas: &[f64], index: usize) -> Domain<f64> {
    guarantee(buffer, alphas, index, 1.0)
}

/// Greatest occupancy of all queues of a priority together (Theorem 2; size):
/// `B·a_p / (1 + a_p)`. (The printed proof uses the opposite of Lemma 1, E-ABM-2. The bound is
/// valid because x/(1+x+c) rises with x, and x ≤ a_p.)
///
/// # Errors
/// If `buffer` or `alpha` is not positive.
pub fn maximum(buffer: f64, alpha: f64) -> Domain<f64> {
    Ok(positive("buffer", buffer)? * positive("alpha", alpha)? / (1.0 + alpha))
}

/// Longest time to drain a queue of a priority (Theorem 3, corrected, E-ABM-3; time):
/// `B·a_p / ((1 + a_min)·b·n_p)`. `a_min` is the smallest factor of the active priorities,
/// and `n_p` the number of congested queues of the priority.
///
/// The bound is valid for work-conserving ports whose rate goes to congested queues, with at most
/// one congested queue of a priority on a port. (With k queues of one priority on one port, Σ omega
/// and the reduction of the bound are k times smaller. In this case use `congested` = 1.)
///
/// # Errors
/// If `buffer`, `rate` or a factor is not positive, `index` is out of range, or `congested` is 0.
pub fn drain_time(buffer: f64, rate: f64, alphas: &[f64], index: usize, congested: u32) -> Domain<f64> {
    let alpha = priority(alphas, index)?;
    let smallest = alphas.iter().copied().fold(f64::INFINITY, f64::min);
    let rates = positive("rate", rate)? * at_least_one("congested", congested)?;
    Ok(positive("buffer", buffer)? * alpha / ((1.0 + smallest) * rates))
}

/// ABM's Theorem 3 as printed (E-ABM-3; time): `B·a_p / ((1 + a_p)·b)`. The printed theorem is true
/// if all alphas are equal.
///
/// # Errors
/// If `buffer`, `rate` or `alpha` is not positive.
pub fn drain_time_printed(buffer: f64, rate: f64, alpha: f64) -> Domain<f64> {
    Ok(maximum(buffer, alpha)? / positive("rate", rate)?)
}

/// The priority of the queue that receives a burst.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BurstPriority {
    /// Alpha of the priority (the alpha for unscheduled packets, if the burst consists of
    /// unscheduled packets).
    pub alpha: f64,
    /// Number of congested queues of the priority, including the new queues.
    pub congested: u32,
    /// The drain rate of the new queue divided by the port rate.
    pub gamma: f64,
}

impl BurstPriority {
    fn omega(&self) -> Domain<f64> {
        omega(self.alpha, self.congested, self.gamma)
    }
}

/// Lower bound of the burst stored without loss if the old queues follow their thresholds (Eq. 10;
/// size): `omega·B / (1 + Σ alpha)`. The paper prints "=" instead of "≥" (E-ABM-8).
/// `alphas` has the priorities present with the burst, including the burst's priority.
///
/// # Errors
/// Returns the errors of [`omega`]. Also refuses a `buffer` or a factor that is not positive.
pub fn burst_stored_case_1(buffer: f64, burst: BurstPriority, alphas: &[f64]) -> Domain<f64> {
    all_positive("alpha", alphas)?;
    Ok(burst.omega()? * positive("buffer", buffer)? / (1.0 + alphas.iter().sum::<f64>()))
}

/// Lower bound of the burst stored without loss if no old queue follows its threshold (Eq. 11;
/// size): `omega·B / [(1 + Σ alpha)·(1 + omega·((r−γ) − mu)/(r−γ))]`. The paper prints "=" instead
/// of "≥" (E-ABM-8). `alphas` has the priorities present **before** the burst. `mu` =
/// `old_drain_rate` is the drain rate of all old queues together. The bound equals (r−γ)·t1 of Eq.
/// 39 if every old gamma is 1.
///
/// # Errors
/// Returns the errors of [`burst_stored_case_1`]. Also refuses an arrival rate not above the drain
/// rate, and an `old_drain_rate` with which case 2 is impossible.
pub fn burst_stored_case_2(
    buffer: f64,
    burst: BurstPriority,
    alphas: &[f64],
    new: &NewQueues,
    old_drain_rate: f64,
) -> Domain<f64> {
    let omega = burst.omega()?;
    let time = bound_case_2(buffer, omega, alphas.iter().sum(), new, old_drain_rate)?;
    all_positive("alpha", alphas)?;
    Ok(time * new.growth())
}

/// Time of the first loss if the burst changes no omega (Eq. 34, Plasticine Eq. 40; time):
/// `ω·B / ((r−γ)(1 + S_old + ω·n_new))`.
///
/// The argument `omega_sum_old` is the sum of omega over the old queues.
///
/// # Errors
/// If `buffer` or omega is not positive, `omega_sum_old` is negative, or the arrival rate is not
/// above the drain rate.
pub fn t1_unaffected(buffer: f64, omega_sum_old: f64, new: &NewQueues) -> Domain<f64> {
    positive("buffer", buffer)?;
    not_negative("omega_sum_old", omega_sum_old)?;
    positive("omega", new.omega)?;
    let count = at_least_one("count", new.count)?;
    super::above("arrival_rate", new.arrival_rate, new.drain_rate, "the drain rate")?;
    Ok(new.omega * buffer / (new.growth() * (1.0 + omega_sum_old + new.omega * count)))
}

/// Time within which a burst of high priority loses no packet, for any number of low-priority
/// queues (case 1; Eq. 35, Plasticine Eq. 41; time). The time is a lower bound of t1, but the paper
/// prints "=" (E-ABM-8). The formula is Eq. 34 with `alpha_low` instead of Σ omega.
///
/// # Errors
/// Returns the errors of [`t1_unaffected`]. Also refuses an `alpha_low` that is not positive.
pub fn t1_bound_case_1(buffer: f64, alpha_low: f64, new: &NewQueues) -> Domain<f64> {
    t1_unaffected(buffer, positive("alpha_low", alpha_low)?, new)
}

/// Time for which a burst of high priority loses no packet. No old queue follows its threshold
/// (case 2; Eq. 40, Plasticine Eq. 47; time). The lower bound of t1 is `ω·B / [(1 + a_low)·((r−γ) +
/// ω·(−n·BW + n_new·(r−γ)))]`. The time grows with the old queues' drain rate n·BW (Eq. 41: Σ γ,
/// printed with a minus sign, E-ABM-6). The result is [`f64::INFINITY`] if the old queues drain so
/// fast that the threshold never meets the queue.
///
/// # Errors
/// Returns the errors of [`t1_bound_case_1`]. Also refuses a negative `old_drain_rate`.
pub fn t1_bound_case_2(buffer: f64, alpha_low: f64, new: &NewQueues, old_drain_rate: f64) -> Domain<f64> {
    t1_unaffected(buffer, positive("alpha_low", alpha_low)?, new)?;
    not_negative("old_drain_rate", old_drain_rate)?;
    let closing = closing_case_2(new.omega, new, old_drain_rate);
    let free = buffer / (1.0 + alpha_low);
    Ok(if closing > 0.0 { new.omega * free / closing } else { f64::INFINITY })
}

fn bound_case_2(buffer: f64, omega: f64, alphas: f64, new: &NewQueues, old_drain: f64) -> Domain<f64> {
    let new = NewQueues { omega, ..*new };
    t1_unaffected(buffer, alphas, &new)?;
    not_negative("old_drain_rate", old_drain)?;
    let closing = closing_case_2(omega, &new, old_drain);
    let most = new.growth() * (1.0 / omega + f64::from(new.count));
    check(closing > 0.0, "old_drain_rate", old_drain, format_args!("less than {most}"))?;
    Ok(omega * buffer / ((1.0 + alphas) * closing))
}

/// Rate at which the threshold and the length of a new queue approach each other (case 2).
fn closing_case_2(omega: f64, new: &NewQueues, old_drain_rate: f64) -> f64 {
    new.growth() + omega * (f64::from(new.count) * new.growth() - old_drain_rate)
}

/// Drain rate n·BW of all congested ports (Eq. 41 with a corrected sign, E-ABM-6; rate).
///
/// # Errors
/// If `rate` is not positive.
pub fn drain_of_ports(congested_ports: u32, rate: f64) -> Domain<f64> {
    Ok(f64::from(congested_ports) * positive("rate", rate)?)
}

/// Burst tolerance r·t1, counted as arrivals (Eq. 42, Plasticine Eq. 49; size).
/// Section 2.3 counts stored data, (r − γ)·t1 (E-ABM-9).
///
/// # Errors
/// If an input is negative.
pub fn burst_arrived(arrival_rate: f64, t1: f64) -> Domain<f64> {
    Ok(not_negative("arrival_rate", arrival_rate)? * not_negative("t1", t1)?)
}
