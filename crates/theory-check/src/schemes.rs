//! Switches whose thresholds equal closed-form formulas, because their policies react without
//! delay.

use crate::bench::{Bench, PortQueue};
use bufferlab_core::{ParamValue, Scheduler, SwitchConfig};
use bufferlab_units::{BitRate, Time};

/// Minimum number of packets in a buffer. With fewer packets, one packet would be a large fraction
/// of every quantity.
pub(crate) const FEWEST_PACKETS: u64 = 500;
/// Maximum number of packets in a buffer, which limits the duration of replays.
const MOST_PACKETS: u64 = 20_000;
/// Largest buffer of a replay (bytes). A larger buffer would need packets of an impossible size.
const LARGEST_BUFFER: u64 = 1 << 44;
/// Longest time in which a port may send the whole buffer (s), because simulated time has a limit.
const LONGEST_SECONDS: f64 = 1e4;

/// Returns the size of a packet (bytes) for a buffer of `buffer` bytes. The buffer has as many
/// packets as a replay of about a second allows. Each packet costs `cost_each` arrivals and offers.
///
/// # Errors
/// If the buffer cannot be replayed; the error is the reason.
pub(crate) fn packet_size(buffer: u64, cost_each: f64) -> Result<u32, String> {
    const COST: f64 = 4e6;
    let affordable = (COST / cost_each.max(1.0)) as u64;
    let packets = affordable.min(MOST_PACKETS);
    if packets < FEWEST_PACKETS {
        return Err(
            "more queues than can be replayed in a second: a smaller switch shows the same".to_owned()
        );
    }
    if !(FEWEST_PACKETS..=LARGEST_BUFFER).contains(&buffer) {
        return Err(format!("a buffer of {buffer} B: expected {FEWEST_PACKETS} B to {LARGEST_BUFFER} B"));
    }
    Ok(u32::try_from((buffer / packets).max(1)).expect("below the largest packet"))
}

/// Rejects rates so low that simulated time would overflow.
///
/// # Errors
/// If the rate cannot be replayed; the error is the reason.
pub(crate) fn check_rate(buffer: u64, rate: BitRate) -> Result<(), String> {
    let seconds = buffer as f64 * 8.0 / rate.0 as f64;
    if seconds > LONGEST_SECONDS {
        return Err(format!("sending the buffer takes {seconds:.0} s: expected at most {LONGEST_SECONDS} s"));
    }
    Ok(())
}

/// Converts alphas to a parameter value that has one ratio per priority.
pub(crate) fn ratios(alphas: &[f64]) -> ParamValue {
    ParamValue::RatioPerPriority(alphas.to_vec().into())
}

/// Converts a word to a parameter value.
pub(crate) fn word(word: &'static str) -> ParamValue {
    ParamValue::Choice(word.into())
}

/// Returns the configuration of a switch with round-robin scheduling.
pub(crate) fn switch(buffer: u64, rates: Vec<BitRate>, queues: usize) -> SwitchConfig {
    SwitchConfig::new(buffer, rates).with_queues(queues)
}

/// Returns the configuration of a switch with strict priorities, which serves the first queue
/// first.
pub(crate) fn strict(buffer: u64, rates: Vec<BitRate>, queues: usize) -> SwitchConfig {
    SwitchConfig { scheduler: Scheduler::strict_priority(queues), ..switch(buffer, rates, queues) }
}

/// Creates a switch under ABM in the paper's model: every queue that is not empty is congested, and
/// drain rates follow from port rates. Packets tagged `unscheduled` have the alpha
/// `unscheduled_alpha`.
pub(crate) fn abm(
    config: &SwitchConfig,
    alphas: &[f64],
    unscheduled_alpha: f64,
    interval: Time,
    packet: u32,
) -> Result<Bench, String> {
    let params = [
        ("alpha", ratios(alphas)),
        ("unscheduled_alpha", ParamValue::Ratio(unscheduled_alpha)),
        ("update_interval", ParamValue::Time(interval)),
        ("congestion", word("fraction")),
        ("congested_bytes", ParamValue::Bytes(1)),
        ("congested_share", ParamValue::Ratio(1e-3)),
        ("drain_rate", word("computed")),
    ];
    Bench::new(config, "abm", &params, packet)
}

/// Keeps the queues in `full` at their limits and waits until these queues are steady.
///
/// # Errors
/// If the queues never become steady.
pub(crate) fn settled(mut bench: Bench, full: &[PortQueue]) -> Result<Bench, String> {
    full.iter().for_each(|&place| bench.keep_full(place));
    bench.settle()?;
    Ok(bench)
}
