//! Closed forms of Dynamic Thresholds (Choudhury and Hahne; ABM Eqs. 4–8, Plasticine Eqs. 1–2, TDT
//! Eqs. 1–2).
//!
//! The buffer, thresholds and occupancies are in one unit of size, and rates in that unit per time.

use super::{Domain, above, all_positive, at_least_one, at_most, check, not_negative, positive};

/// Occupancy of the congested queues of a buffer in steady state.
#[derive(Clone, Debug, PartialEq)]
pub struct SteadyState {
    /// Free buffer B − Q (size).
    pub free: f64,
    /// Occupancy Q of all queues together (size).
    pub occupancy: f64,
    /// Occupancy of each queue, which equals the queue's threshold,
    /// in the order of the input (size).
    pub thresholds: Vec<f64>,
}

/// Threshold `alpha · (B − Q)` of a queue (ABM Eq. 5, Plasticine Eq. 1, TDT Eq. 1).
/// The threshold may exceed the free buffer.
///
/// # Errors
/// If `buffer` or `alpha` is not positive, or `occupancy` is outside 0 to `buffer`.
pub fn threshold(alpha: f64, buffer: f64, occupancy: f64) -> Domain<f64> {
    positive("alpha", alpha)?;
    Ok(alpha * free(buffer, occupancy)?)
}

/// Free buffer B − Q (size).
///
/// # Errors
/// Returns the errors of [`threshold`].
pub(crate) fn free(buffer: f64, occupancy: f64) -> Domain<f64> {
    positive("buffer", buffer)?;
    not_negative("occupancy", occupancy)?;
    Ok(buffer - at_most("occupancy", occupancy, buffer, "the buffer")?)
}

/// The lower of two thresholds. A packet must pass buffer management with the threshold
/// `management` and queue management with the threshold `queue_management` (ABM Eq. 4; sizes).
///
/// # Errors
/// If a threshold is below 0.
pub fn effective_threshold(management: f64, queue_management: f64) -> Domain<f64> {
    Ok(not_negative("management", management)?.min(not_negative("queue_management", queue_management)?))
}

/// Rate of change `−alpha · dQ/dt` of a threshold while the occupancy changes at `occupancy_slope`
/// (ABM Eq. 7; rates).
///
/// # Errors
/// If `alpha` is not positive, or `occupancy_slope` is not finite.
pub fn threshold_slope(alpha: f64, occupancy_slope: f64) -> Domain<f64> {
    check(true, "occupancy_slope", occupancy_slope, "a finite rate")?;
    Ok(-positive("alpha", alpha)? * occupancy_slope)
}

/// Steady state of congested queues with the factors `alphas` (Plasticine Eq. 2;
/// ABM Eqs. 15–17 with omega for alpha): `T_i = B·a_i / (1 + Σa)`, `Q = B·Σa / (1 + Σa)`.
/// Without queues, the whole buffer is free.
///
/// # Errors
/// If `buffer` or a factor is not positive.
pub fn steady_state(buffer: f64, alphas: &[f64]) -> Domain<SteadyState> {
    positive("buffer", buffer)?;
    all_positive("alpha", alphas)?;
    let sum: f64 = alphas.iter().sum();
    let free = buffer / (1.0 + sum);
    Ok(SteadyState {
        free,
        occupancy: buffer * sum / (1.0 + sum),
        thresholds: alphas.iter().map(|a| a * free).collect(),
    })
}

/// Congested queues of one priority, with their alpha.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CongestedQueues {
    /// Number of congested queues of the priority.
    pub count: u32,
    /// Alpha of each congested queue of the priority.
    pub alpha: f64,
}

/// Steady-state threshold of one queue with `alpha`, which is one of the `congested` queues:
/// `alpha·B / (1 + Σ n_p·alpha_p)` (ABM Eq. 6; size).
///
/// # Errors
/// If `buffer` or a factor is not positive, or no queue in `congested` has the factor `alpha`.
pub fn steady_threshold(buffer: f64, alpha: f64, congested: &[CongestedQueues]) -> Domain<f64> {
    let among = congested.iter().any(|queues| queues.alpha == alpha && queues.count > 0);
    check(among, "alpha", alpha, "the factor of one of the congested queues")?;
    Ok(alpha * steady_free(buffer, congested)?)
}

/// Buffer that `congested` queues leave free: `B / (1 + Σ n_p·alpha_p)` (ABM Fig. 4; size).
/// The free buffer tends to 0 as the number of queues grows.
///
/// # Errors
/// If `buffer` or a factor is not positive.
pub fn steady_free(buffer: f64, congested: &[CongestedQueues]) -> Domain<f64> {
    positive("buffer", buffer)?;
    congested.iter().try_for_each(|queues| positive("alpha", queues.alpha).map(drop))?;
    let sum: f64 = congested.iter().map(|queues| f64::from(queues.count) * queues.alpha).sum();
    Ok(buffer / (1.0 + sum))
}

/// Fraction `alpha / (1 + alpha)` of the buffer that a single congested queue takes. No queue takes
/// a larger fraction.
///
/// # Errors
/// If `alpha` is not positive.
pub fn share_alone(alpha: f64) -> Domain<f64> {
    Ok(positive("alpha", alpha)? / (1.0 + alpha))
}

/// Alpha with which a single congested queue takes `share` of the buffer: `share / (1 − share)`.
///
/// # Errors
/// If `share` is not between 0 and 1, because no finite alpha takes the whole buffer.
pub fn alpha_for_share(share: f64) -> Domain<f64> {
    let valid = "more than 0, less than 1 (no alpha takes the whole buffer)";
    check(share > 0.0 && share < 1.0, "share", share, valid).map(|share| share / (1.0 - share))
}

/// A burst to one new queue, on a switch in the steady state of Dynamic Thresholds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Burst {
    /// Rate at which the burst arrives at the new queue (rate).
    pub arrival_rate: f64,
    /// Drain rate of the new queue, which is its share of the port (rate).
    pub drain_rate: f64,
    /// Drain rate of all previously congested queues together (rate).
    pub old_drain_rate: f64,
}

/// Part of a burst stored before its first loss if the old queues
/// cannot follow their thresholds (case 2; ABM Eq. 8; size):
/// `alpha·B / [(1 + Σ n_p·alpha_p) · (1 + alpha·((r − mu_i) − mu)/(r − mu_i))]`.
///
/// The result equals ABM Eq. 39 with omega = alpha, and TDT Eqs. 7–8 with one new port.
///
/// # Errors
/// If `buffer` or a factor is not positive, a rate is negative, or the arrival rate is not above
/// the drain rate. Also if `old_drain_rate` is so large that the queues would follow their
/// thresholds. Then case 1 applies and the denominator is not positive.
pub fn burst_stored_case_2(buffer: f64, alpha: f64, before: &[CongestedQueues], burst: Burst) -> Domain<f64> {
    positive("alpha", alpha)?;
    positive("drain_rate", burst.drain_rate)?;
    above("arrival_rate", burst.arrival_rate, burst.drain_rate, "the drain rate")?;
    not_negative("old_drain_rate", burst.old_drain_rate)?;
    let net = burst.arrival_rate - burst.drain_rate;
    let factor = 1.0 + alpha * (net - burst.old_drain_rate) / net;
    let limit = net * (1.0 + 1.0 / alpha);
    check(factor > 0.0, "old_drain_rate", burst.old_drain_rate, format_args!("less than {limit}"))?;
    Ok(alpha * steady_free(buffer, before)? / factor)
}

/// Threshold B/n of a port under Complete Partitioning or Evenly Split (size).
///
/// # Errors
/// If `buffer` is not positive, or `parts` is 0.
pub fn even_split(buffer: f64, parts: u32) -> Domain<f64> {
    Ok(positive("buffer", buffer)? / at_least_one("parts", parts)?)
}
