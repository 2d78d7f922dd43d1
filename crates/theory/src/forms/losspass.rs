//! Closed forms for the burst of small flows that LossPass absorbs,
//! compared with ECN (LossPass Eqs. 3–6, section 3 and Algorithm 1).
//!
//! All sizes are in one unit, packets or bytes. `flows` is the number N of flows.

use super::{Domain, at_least_one, at_most, check, fraction, not_negative, positive};

/// Length of the queue of N synchronised flows with the window `window`, on a path with
/// `bandwidth_delay` in flight: `N·w − C·RTT`, at least 0 (Eqs. 1–3; size).
///
/// # Errors
/// If `flows` is 0, or a size is negative.
pub fn queue_of_flows(flows: u32, window: f64, bandwidth_delay: f64) -> Domain<f64> {
    let in_flight = at_least_one("flows", flows)? * not_negative("window", window)?;
    Ok((in_flight - not_negative("bandwidth_delay", bandwidth_delay)?).max(0.0))
}

/// Longest queue of N synchronised flows that ECN marks above the threshold K = `mark_threshold`:
/// K + N (Eq. 4; packets).
///
/// # Errors
/// If `flows` is 0, or K is negative.
pub fn ecn_queue_max(mark_threshold: f64, flows: u32) -> Domain<f64> {
    Ok(not_negative("mark_threshold", mark_threshold)? + at_least_one("flows", flows)?)
}

/// Largest burst that fits above the queue of N flows that ECN marks: `B − (K + N)` (Eq. 5;
/// packets). If the queue of these flows alone may fill the buffer, the result is 0, and the
/// printed form is negative.
///
/// # Errors
/// If `buffer` is not positive. Also returns the errors of [`ecn_queue_max`].
pub fn ecn_burst(buffer: f64, mark_threshold: f64, flows: u32) -> Domain<f64> {
    Ok((positive("buffer", buffer)? - ecn_queue_max(mark_threshold, flows)?).max(0.0))
}

/// Largest burst that LossPass absorbs when packets of large flows are the fraction
/// `tau` of a full buffer: `B·τ` (Eq. 6; size). With a reserve for large flows,
/// small flows also get at most `B − B_l − Q_s`.
///
/// # Errors
/// If `buffer` is not positive, `tau` is outside 0 to 1, or a reserve or queue is negative or
/// larger than the buffer.
pub fn burst(buffer: f64, tau: f64, reserve_large: f64, queue_small: f64) -> Domain<f64> {
    let all = burst_printed(buffer, tau)?;
    at_most("reserve_large", not_negative("reserve_large", reserve_large)?, buffer, "the buffer")?;
    at_most("queue_small", not_negative("queue_small", queue_small)?, buffer, "the buffer")?;
    Ok(all.min(buffer - reserve_large - queue_small).max(0.0))
}

/// Largest burst by Eq. 6 as printed: `B·τ`, without a reserve (size).
///
/// # Errors
/// If `buffer` is not positive, or `tau` is outside 0 to 1.
pub fn burst_printed(buffer: f64, tau: f64) -> Domain<f64> {
    Ok(positive("buffer", buffer)? * fraction("tau", tau)?)
}

/// The τ above which LossPass absorbs more than ECN:
/// `1 − (K + N)/B`, at least 0 (from Eqs. 5 and 6).
///
/// # Errors
/// Returns the errors of [`ecn_burst`].
pub fn tau_of_equal_bursts(buffer: f64, mark_threshold: f64, flows: u32) -> Domain<f64> {
    Ok(ecn_burst(buffer, mark_threshold, flows)? / buffer)
}

/// State of a port when a packet of a small flow arrives at a full buffer (sizes).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FullPort {
    /// Size B of the port's buffer.
    pub buffer: f64,
    /// Bytes Q_s that small flows have in the buffer.
    pub queue_small: f64,
    /// Reserve B_l for large flows.
    pub reserve_large: f64,
    /// Size of the arriving packet of a small flow.
    pub packet: f64,
}

/// Whether line 4 of Algorithm 1 lets the packet evict another packet:
/// `len + Q_s ≤ B − B_l` (corrected, E-LP-1).
#[must_use]
pub fn may_evict(port: FullPort) -> bool {
    port.packet + port.queue_small <= port.buffer - port.reserve_large
}

/// Whether line 4 as printed, with "≥", lets the packet evict another packet (E-LP-1).
/// Without a reserve, a packet may never evict a victim at least as large,
/// unless small flows fill the buffer exactly.
#[must_use]
pub fn may_evict_printed(port: FullPort) -> bool {
    port.packet + port.queue_small >= port.buffer - port.reserve_large
}

/// Number of evictions for one arriving packet if every evicted packet had `victim` bytes (section
/// 3.2.2): ⌈len / victim⌉.
///
/// # Errors
/// If an input is 0.
pub fn evictions_needed(packet_bytes: u32, victim_bytes: u32) -> Domain<u32> {
    at_least_one("packet_bytes", packet_bytes)?;
    at_least_one("victim_bytes", victim_bytes)?;
    Ok(packet_bytes.div_ceil(victim_bytes))
}

/// Cycles that LossPass adds to a pipeline of `pipeline_cycles`, as a fraction (section 4.1). Two
/// look-ups and three cycles of the arbiter are 5 of 800 cycles.
///
/// # Errors
/// If `pipeline_cycles` is 0.
pub fn added_latency(lookup_cycles: u32, arbiter_cycles: u32, pipeline_cycles: u32) -> Domain<f64> {
    let added = f64::from(lookup_cycles) + f64::from(arbiter_cycles);
    Ok(added / at_least_one("pipeline_cycles", pipeline_cycles)?)
}

/// Marking threshold that keeps a link busy under DCTCP: K > C·RTT/7 (RFC 8257).
/// The result has the unit of `bandwidth_delay`.
///
/// # Errors
/// If `bandwidth_delay` is not positive.
pub fn mark_threshold_dctcp(bandwidth_delay: f64) -> Domain<f64> {
    Ok(positive("bandwidth_delay", bandwidth_delay)? / 7.0)
}

/// Marking threshold that keeps a link busy if senders halve their window on a mark (ECN*):
/// K = C·RTT.
///
/// # Errors
/// If `bandwidth_delay` is not positive.
pub fn mark_threshold_halving(bandwidth_delay: f64) -> Domain<f64> {
    positive("bandwidth_delay", bandwidth_delay)
}

/// Largest K with which the queue of N flows leaves space for a burst:
/// `B − N − burst` (Eq. 5 solved for K; packets).
///
/// # Errors
/// If `buffer` is not positive, `flows` is 0, or the burst is larger than `B − N`.
pub fn mark_threshold_for_burst(buffer: f64, flows: u32, burst: f64) -> Domain<f64> {
    let most = positive("buffer", buffer)? - at_least_one("flows", flows)?;
    check(
        burst >= 0.0 && burst <= most,
        "burst",
        burst,
        format_args!("0 to {most} (the buffer less a packet per flow)"),
    )?;
    Ok(most - burst)
}
