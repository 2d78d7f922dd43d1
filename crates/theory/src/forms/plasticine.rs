//! Plasticine's bounds, and its choice of alphas for a burst (Plasticine Eqs. 2–22 and 39–52).
//!
//! The transient analysis is ABM's. This module re-exports the functions for Eqs. 23–47 of the
//! paper. The alphas for a burst are computed in multiples of the port rate: the arrival rate r =
//! `arrival_rate`, and the buffer is the time in which a port sends the buffer's bytes.

use super::dynamic_threshold::free;
use super::{Domain, above, all_positive, check, not_negative, positive};

pub use super::abm::{
    burst_arrived, drain_of_ports, omega, omega_sum, t1_bound_case_1, t1_bound_case_2, t1_unaffected,
    threshold,
};
pub use super::dynamic_threshold::steady_state;
pub use super::transient::{Trajectory, case_1_limit, case_1_limit_printed, t1_case_1, t1_case_2};

/// Threshold of a packet if every port has one queue (section 4.1; size).
/// Gamma is 1, and `congested` counts all congested queues of the buffer.
/// Alpha is the alpha of the packet's class, so a queue has a threshold per class.
///
/// # Errors
/// If `alpha` or `buffer` is not positive, or `occupancy` is outside 0 to `buffer`.
pub fn single_queue_threshold(alpha: f64, congested: u32, buffer: f64, occupancy: f64) -> Domain<f64> {
    Ok(omega(alpha, congested, 1.0)? * free(buffer, occupancy)?)
}

/// Greatest occupancy of all queues together: `B·Σa / (1 + Σa)`, summed over the largest alpha of
/// each priority (Eq. 4, and 20 with 14; size).
///
/// # Errors
/// If `buffer` or a factor is not positive.
pub fn occupancy_max(buffer: f64, alphas_max: &[f64]) -> Domain<f64> {
    Ok(buffer - free_min(buffer, alphas_max)?)
}

/// Least free buffer `B / (1 + Σ_p alpha_max^p)` (Eqs. 20–22; size).
///
/// # Errors
/// Returns the errors of [`occupancy_max`].
pub fn free_min(buffer: f64, alphas_max: &[f64]) -> Domain<f64> {
    all_positive("alpha", alphas_max)?;
    Ok(positive("buffer", buffer)? / (1.0 + alphas_max.iter().sum::<f64>()))
}

/// Greatest fraction `a/(1 + a)` of the buffer for a class or priority (section 4.1).
///
/// # Errors
/// If `alpha` is not positive.
pub fn share_max(alpha: f64) -> Domain<f64> {
    super::dynamic_threshold::share_alone(alpha)
}

/// Sum of omega over a priority whose congested queues belong to several classes,
/// each with its `(alpha, gamma)`. The sum is at most the largest alpha (Eqs. 11–14).
///
/// # Errors
/// Returns the errors of [`omega`].
pub fn omega_sum_of_classes(queues: &[(f64, f64)]) -> Domain<f64> {
    let congested = u32::try_from(queues.len()).unwrap_or(u32::MAX);
    queues.iter().map(|&(alpha, gamma)| omega(alpha, congested, gamma)).sum()
}

/// Largest low-priority alpha with which a burst on an empty port has no transient loss: 1/(r − 2)
/// (Eqs. 5, 48). The arrival rate r = `arrival_rate` is a multiple of the port rate.
/// [`f64::INFINITY`] for r ≤ 2, because then any alpha is low enough.
///
/// # Errors
/// If `arrival_rate` is not above 1, the port rate.
pub fn alpha_low_without_loss(arrival_rate: f64) -> Domain<f64> {
    above("arrival_rate", arrival_rate, 1.0, "the port rate, in port rates")?;
    Ok(if arrival_rate <= 2.0 { f64::INFINITY } else { 1.0 / (arrival_rate - 2.0) })
}

/// A burst that one queue of an empty port must absorb.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BurstToAbsorb {
    /// Time B/b in which a port sends the whole buffer (time).
    pub buffer_time: f64,
    /// Arrival rate r of the burst, as a multiple of the port rate.
    pub arrival_rate: f64,
    /// Duration t of the burst's arrivals, in the unit of `buffer_time`.
    pub duration: f64,
}

impl BurstToAbsorb {
    /// Data (r − 1)·t that is stored at the end of the burst, given as the time in which a port
    /// sends these data.
    #[must_use]
    pub fn stored(&self) -> f64 {
        (self.arrival_rate - 1.0) * self.duration
    }

    /// Refuses a burst that exceeds even an empty buffer.
    fn check(&self) -> Domain<()> {
        positive("buffer_time", self.buffer_time)?;
        positive("duration", self.duration)?;
        above("arrival_rate", self.arrival_rate, 1.0, "the port rate, in port rates")?;
        let most = self.buffer_time / (self.arrival_rate - 1.0);
        let valid = format_args!("less than {most} (then the burst fills the whole buffer)");
        check(self.stored() < self.buffer_time, "duration", self.duration, valid).map(drop)
    }
}

/// Largest low-priority alpha with which a burst can be absorbed, given a large enough
/// high-priority alpha (from Eq. 50, E-PLA-3): `B/((r−2)·t) − 1`. [`f64::INFINITY`] for r ≤ 2.
///
/// In the domain (r−1)t < B, the alpha exceeds 1/(r−2), as case 2 of Eq. 50 requires.
///
/// # Errors
/// If an input is not positive, `arrival_rate` is at most 1, or the burst fills the whole buffer.
pub fn alpha_low_for_burst(burst: BurstToAbsorb) -> Domain<f64> {
    burst.check()?;
    let rate = burst.arrival_rate - 2.0;
    Ok(if rate <= 0.0 { f64::INFINITY } else { burst.buffer_time / (rate * burst.duration) - 1.0 })
}

/// The form `alpha_low_for_burst` as printed (Eqs. 6, 51; E-PLA-3):
/// `B/((r−1)·t) − 1`. This alpha is sufficient, not necessary.
///
/// # Errors
/// Returns the errors of [`alpha_low_for_burst`].
pub fn alpha_low_for_burst_printed(burst: BurstToAbsorb) -> Domain<f64> {
    burst.check()?;
    Ok(burst.buffer_time / burst.stored() - 1.0)
}

/// Smallest high-priority alpha that absorbs a burst while low-priority queues occupy
/// `alpha_low/(1 + alpha_low)` of the buffer. Case 2 uses Eqs. 7 and 52. Case 1, alpha_low ≤
/// 1/(r−2), follows from Eq. 40. The two cases agree at their border. The result is
/// [`f64::INFINITY`] if no alpha absorbs the burst: `alpha_low` is at or above
/// [`alpha_low_for_burst`].
///
/// In the worst case, a single low queue drains while the burst arrives. With more than two
/// priorities, `alpha_low` is the sum of the largest alphas of all other priorities (end of B.5).
///
/// # Errors
/// Returns the errors of [`alpha_low_for_burst`]. Also refuses an `alpha_low` that is not positive.
pub fn alpha_high_for_burst(burst: BurstToAbsorb, alpha_low: f64) -> Domain<f64> {
    burst.check()?;
    positive("alpha_low", alpha_low)?;
    if alpha_low <= alpha_low_without_loss(burst.arrival_rate)? {
        let stored = burst.stored();
        return Ok((1.0 + alpha_low) * stored / (burst.buffer_time - stored));
    }
    alpha_high_for_burst_printed(burst, alpha_low)
}

/// The form `alpha_high_for_burst` as printed (Eqs. 7, 52), valid in case 2 only:
/// `1 / (B/((r−1)·t·(1+aL)) − (r−2)/(r−1))`. [`f64::INFINITY`] if the denominator is not positive.
///
/// # Errors
/// Returns the errors of [`alpha_high_for_burst`].
pub fn alpha_high_for_burst_printed(burst: BurstToAbsorb, alpha_low: f64) -> Domain<f64> {
    burst.check()?;
    positive("alpha_low", alpha_low)?;
    let rate = burst.arrival_rate;
    let room = burst.buffer_time / (burst.stored() * (1.0 + alpha_low)) - (rate - 2.0) / (rate - 1.0);
    Ok(if room > 0.0 { 1.0 / room } else { f64::INFINITY })
}

/// Replacement for `alpha_low` with more than two priorities:
/// the sum of the largest alphas of the other priorities.
///
/// # Errors
/// If a factor is not positive.
pub fn alpha_of_others(alphas_max: &[f64]) -> Domain<f64> {
    all_positive("alpha", alphas_max)?;
    not_negative("alpha", alphas_max.iter().sum())
}
