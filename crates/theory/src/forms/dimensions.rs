//! Dimensions of a network: oversubscription, base RTT, bandwidth-delay product,
//! and buffer of a switch.

use super::{Domain, at_least_one, fraction, not_negative, positive};

/// Rate into a leaf divided by the leaf's uplink rate: `hosts·host_rate / (uplinks·uplink_rate)`.
/// `host_rate` and `uplink_rate` are in one unit.
///
/// # Errors
/// If a count is 0, or a rate is not positive.
pub fn oversubscription(hosts: u32, host_rate: f64, uplinks: u32, uplink_rate: f64) -> Domain<f64> {
    let below = at_least_one("hosts", hosts)? * positive("host_rate", host_rate)?;
    Ok(below / (at_least_one("uplinks", uplinks)? * positive("uplink_rate", uplink_rate)?))
}

/// Round trip of an empty network (seconds): `links` traversals of `delay_seconds`,
/// and the time on the wire of `serializations` packets of `packet_bytes`.
///
/// # Errors
/// If `rate_bps` is not positive, or a delay or size is negative.
pub fn base_rtt(
    links: u32,
    delay_seconds: f64,
    serializations: u32,
    packet_bytes: f64,
    rate_bps: f64,
) -> Domain<f64> {
    let propagation = f64::from(links) * not_negative("delay_seconds", delay_seconds)?;
    let wire = not_negative("packet_bytes", packet_bytes)? * 8.0 / positive("rate_bps", rate_bps)?;
    Ok(propagation + f64::from(serializations) * wire)
}

/// Data in flight: rate × time / 8 (bytes).
///
/// # Errors
/// If `rate_bps` is not positive, or a time is negative.
pub fn bandwidth_delay_bytes(rate_bps: f64, rtt_seconds: f64) -> Domain<f64> {
    Ok(positive("rate_bps", rate_bps)? * not_negative("rtt_seconds", rtt_seconds)? / 8.0)
}

/// Buffer of a switch, from the figure per port and Gb/s:
/// `ports · rate_gbps · bytes_per_port_per_gbps` (bytes).
///
/// # Errors
/// If `ports` is 0, or an input is not positive.
pub fn buffer_bytes(ports: u32, rate_gbps: f64, bytes_per_port_per_gbps: f64) -> Domain<f64> {
    let rate = at_least_one("ports", ports)? * positive("rate_gbps", rate_gbps)?;
    Ok(rate * positive("bytes_per_port_per_gbps", bytes_per_port_per_gbps)?)
}

/// The buffer of a switch per port and Gb/s (bytes).
///
/// # Errors
/// Returns the errors of [`buffer_bytes`].
pub fn buffer_per_port_per_gbps(buffer_bytes: f64, ports: u32, rate_gbps: f64) -> Domain<f64> {
    let rate = at_least_one("ports", ports)? * positive("rate_gbps", rate_gbps)?;
    Ok(positive("buffer_bytes", buffer_bytes)? / rate)
}

/// Time in which a port sends `bytes` bytes (seconds).
///
/// # Errors
/// If `rate_bps` is not positive, or a size is negative.
pub fn sending_seconds(bytes: f64, rate_bps: f64) -> Domain<f64> {
    Ok(not_negative("bytes", bytes)? * 8.0 / positive("rate_bps", rate_bps)?)
}

/// Load of a port as a fraction of `rate_bps`. The port has a constant load of `base`,
/// and bursts add `burst_bits` on average in each `interval_seconds`.
///
/// # Errors
/// If `base` is outside 0 to 1, an interval or rate is not positive, or a burst is negative.
pub fn load_with_bursts(base: f64, burst_bits: f64, interval_seconds: f64, rate_bps: f64) -> Domain<f64> {
    let bursts = not_negative("burst_bits", burst_bits)? / positive("interval_seconds", interval_seconds)?;
    Ok(fraction("base", base)? + bursts / positive("rate_bps", rate_bps)?)
}
