//! Shares of lossless and lossy queues in Reverie's single pool, and the response of its low-pass
//! filter (Reverie §3, Eqs. 4–6 and 13–15).
//!
//! All sizes are in one unit. `alpha_lossless` and `alpha_lossy` are the sums of the factors of the
//! active priorities of a class.

use super::dynamic_threshold::free;
use super::{Domain, check, positive};

/// Threshold `alpha/n_p · (b* − q*)` of a queue (Eq. 6; size). A `congested` of 0 counts as 1.
///
/// # Errors
/// If `alpha` or `buffer` is not positive, or `occupancy` is outside 0 to `buffer`.
pub fn threshold(alpha: f64, congested: u32, buffer: f64, occupancy: f64) -> Domain<f64> {
    Ok(positive("alpha", alpha)? / f64::from(congested.max(1)) * free(buffer, occupancy)?)
}

/// Steady-state occupancy of the lossless and the lossy class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shares {
    /// Occupancy `a·b*/(1 + a + a')` of all lossless queues together (Eq. 14; size).
    pub lossless: f64,
    /// Occupancy `a'·b*/(1 + a + a')` of all lossy queues together (Eq. 15; size).
    pub lossy: f64,
    /// Occupancy `(a + a')·b*/(1 + a + a')` of all queues (Eq. 13; size).
    pub occupancy: f64,
}

/// Occupancy of the lossless and the lossy class when queues of both classes are congested (Eqs.
/// 13–15). The two occupancies are in proportion to the factors of the classes (Theorem 1).
///
/// # Errors
/// If an input is not positive.
pub fn shares(buffer: f64, alpha_lossless: f64, alpha_lossy: f64) -> Domain<Shares> {
    positive("buffer", buffer)?;
    positive("alpha_lossless", alpha_lossless)?;
    positive("alpha_lossy", alpha_lossy)?;
    let unit = buffer / (1.0 + alpha_lossless + alpha_lossy);
    Ok(Shares {
        lossless: alpha_lossless * unit,
        lossy: alpha_lossy * unit,
        occupancy: (alpha_lossless + alpha_lossy) * unit,
    })
}

/// Occupancy `a·b*/(1 + a)` of one class if the other class is empty (§3.4; size).
///
/// # Errors
/// If an input is not positive.
pub fn share_alone(buffer: f64, alpha: f64) -> Domain<f64> {
    Ok(positive("buffer", buffer)? * super::dynamic_threshold::share_alone(alpha)?)
}

/// Least and greatest free pool while any class is congested (Theorem 2; size): `b*/(1 + a + a')`
/// to `b*/(1 + min(a, a'))`. With factors of 1 this is a third to a half of the pool (E-REV-7).
///
/// # Errors
/// If an input is not positive.
pub fn idle(buffer: f64, alpha_lossless: f64, alpha_lossy: f64) -> Domain<(f64, f64)> {
    let both = buffer - shares(buffer, alpha_lossless, alpha_lossy)?.occupancy;
    Ok((both, buffer / (1.0 + alpha_lossless.min(alpha_lossy))))
}

fn memory(gamma: f64) -> Domain<f64> {
    check(gamma > 0.0 && gamma < 1.0, "gamma", gamma, "more than 0, less than 1")
}

/// One step `q̂ ← γ·q̂ + (1 − γ)·q` of the low-pass filter (Eq. 5; size).
///
/// # Errors
/// If `gamma` is not between 0 and 1.
pub fn filter(filtered: f64, length: f64, gamma: f64) -> Domain<f64> {
    Ok(memory(gamma)? * filtered + (1.0 - gamma) * length)
}

/// Time constant `−1/ln γ` of Reverie's low-pass filter, as a number of updates.
///
/// # Errors
/// If `gamma` is not between 0 and 1.
pub fn time_constant(gamma: f64) -> Domain<f64> {
    Ok(-1.0 / memory(gamma)?.ln())
}

/// Number of updates for which the filter still admits a queue that jumps from 0 to `ratio`
/// times its threshold: `ln(1 − 1/ratio) / ln γ`. [`f64::INFINITY`] for a ratio of at most 1.
///
/// # Errors
/// If `gamma` is not between 0 and 1, or `ratio` is not positive.
pub fn updates_admitted(gamma: f64, ratio: f64) -> Domain<f64> {
    let gamma = memory(gamma)?;
    positive("ratio", ratio)?;
    Ok(if ratio <= 1.0 { f64::INFINITY } else { (1.0 - 1.0 / ratio).ln() / gamma.ln() })
}

/// Time per update at a port, which is a packet's time on the wire (seconds).
///
/// # Errors
/// If an input is not positive.
pub fn update_seconds(packet_bytes: f64, rate_bps: f64) -> Domain<f64> {
    Ok(positive("packet_bytes", packet_bytes)? * 8.0 / positive("rate_bps", rate_bps)?)
}

/// Weight K of the filtered length's slope in Property 1 (with ν = 1 − γ, E-REV-1; time): `K =
/// Δt/(1 − γ)`. With this K, `q̂(t−Δt) ≤ Γ` iff `q(t) ≤ Γ + K·dq̂/dt`.
///
/// # Errors
/// If `gamma` is not between 0 and 1, or `update_period` is not positive.
pub fn gradient_weight(gamma: f64, update_period: f64) -> Domain<f64> {
    Ok(positive("update_period", update_period)? / (1.0 - memory(gamma)?))
}

/// Variant of `gradient_weight` for the `q̂(t)` that Eq. 4 tests: `K' = γ·Δt/(1 − γ)` (time).
///
/// # Errors
/// Returns the errors of [`gradient_weight`].
pub fn gradient_weight_of_new(gamma: f64, update_period: f64) -> Domain<f64> {
    Ok(gamma * gradient_weight(gamma, update_period)?)
}

/// Weight K of Property 1 as printed, with the filter's γ instead of ν (E-REV-1; time): `Δt/γ`.
///
/// # Errors
/// Returns the errors of [`gradient_weight`].
pub fn gradient_weight_printed(gamma: f64, update_period: f64) -> Domain<f64> {
    Ok(positive("update_period", update_period)? / memory(gamma)?)
}
