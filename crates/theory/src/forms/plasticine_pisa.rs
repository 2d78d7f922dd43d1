//! Cost of Plasticine's match-action pipeline in accuracy, memory and time (Plasticine section 5).

use super::{Domain, at_least_one, check, not_negative, positive};

/// Shift by which the pipeline multiplies the free buffer: `round(−log2(alpha / (n_p·n_port)))`.
/// A negative shift goes to the left. A count of 0 is replaced by 1.
///
/// # Errors
/// If `alpha` is not positive.
pub fn shift(alpha: f64, congested_of_priority: u32, congested_of_port: u32) -> Domain<i32> {
    Ok((-ideal_factor(alpha, congested_of_priority, congested_of_port)?.log2()).round() as i32)
}

/// Factor `alpha / (n_p·n_port)` of the free buffer that the shift approximates.
///
/// # Errors
/// If `alpha` is not positive.
pub fn ideal_factor(alpha: f64, congested_of_priority: u32, congested_of_port: u32) -> Domain<f64> {
    let queues = f64::from(congested_of_priority.max(1)) * f64::from(congested_of_port.max(1));
    Ok(positive("alpha", alpha)? / queues)
}

/// Ratio of the shifted to the exact threshold: `2^(−s) / (alpha/(n_p·n_port))`. A ratio above 1
/// means a threshold that is too high. With a rounded shift the error is within a factor of √2.
/// With a shift that is only rounded down or up, the error is within a factor of 2.
///
/// # Errors
/// If `alpha` is not positive.
pub fn shift_error(alpha: f64, congested_of_priority: u32, congested_of_port: u32) -> Domain<f64> {
    let exact = ideal_factor(alpha, congested_of_priority, congested_of_port)?;
    Ok((-f64::from(shift(alpha, congested_of_priority, congested_of_port)?)).exp2() / exact)
}

/// Number of rules in the table of shifts: one rule for each alpha,
/// congested count of the priority and congested count of the port.
///
/// # Errors
/// If an input is 0.
pub fn table_rules(alphas: u32, congested_max: u32, queues_per_port: u32) -> Domain<u64> {
    at_least_one("alphas", alphas)?;
    at_least_one("congested_max", congested_max)?;
    at_least_one("queues_per_port", queues_per_port)?;
    Ok(u64::from(alphas) * u64::from(congested_max) * u64::from(queues_per_port))
}

/// Number of passes of a SYNC packet that copy every queue length. A pass makes one access per
/// array, so a pass copies the length of one queue.
///
/// # Errors
/// If an input is 0.
pub fn passes_of_a_copy(ports: u32, queues_per_port: u32) -> Domain<u64> {
    at_least_one("ports", ports)?;
    at_least_one("queues_per_port", queues_per_port)?;
    Ok(u64::from(ports) * u64::from(queues_per_port))
}

/// Greatest age of the copied free-buffer value from which a threshold is computed: passes ×
/// period, in the unit of `pass_period`. The paper does not state the period.
///
/// # Errors
/// If an input is 0, or a period is negative.
pub fn staleness(ports: u32, queues_per_port: u32, pass_period: f64) -> Domain<f64> {
    Ok(passes_of_a_copy(ports, queues_per_port)? as f64 * not_negative("pass_period", pass_period)?)
}

/// Threshold that the pipeline computes from `free` bytes, shifted right, or left without overflow.
///
/// # Errors
/// If the shift is 64 bits or more.
pub fn shifted_threshold(free: u64, shift: i32) -> Domain<u64> {
    check(shift.unsigned_abs() < 64, "shift", f64::from(shift), "-63 to 63")?;
    let by = shift.unsigned_abs();
    Ok(if shift >= 0 { free >> by } else { free.saturating_mul(1 << by) })
}
