//! Code shared by controls whose window is a rate times the base round trip.

use super::Window;
use crate::{CongestionStates, TcpConfig};
use bufferlab_units::{BitRate, Time};

/// Smallest rate of a flow in the public artifacts.
const ARTIFACT_FLOOR: BitRate = BitRate::mbps(100);
/// Smallest rate of a flow as a fraction of the line rate, for controls without a public artifact.
/// The value is a choice of bufferlab, because the papers name no smallest rate. A flow that waits
/// for seconds between two packets gets no feedback from the network.
const FLOOR: f64 = 0.001;

/// Converts `rate` times the base round trip to segments.
pub(super) fn segments(config: &TcpConfig, rate: BitRate) -> f64 {
    rate.0 as f64 * config.base_rtt.as_secs_f64() / (8.0 * f64::from(config.segment_wire_bytes))
}

/// Sets a window of W segments, sent at the rate W per base round trip. W is at most one
/// bandwidth-delay product of the sender's link.
pub(super) fn apply(config: &TcpConfig, window: &mut Window, wanted: f64) -> f64 {
    let most = segments(config, config.line_rate);
    let least = match config.states {
        CongestionStates::Rfc => most * FLOOR,
        CongestionStates::Ns3 => segments(config, ARTIFACT_FLOOR),
    };
    let size = wanted.min(most).max(least.min(most));
    window.size = match config.states {
        // HPCC sends while fewer than W bytes are in flight, so the last segment may exceed W.
        CongestionStates::Rfc => size.ceil().max(1.0),
        // TCP of ns-3 sends a segment only if the whole segment fits. RDMA of ns-3 sends while
        // fewer than W bytes are in flight, as HPCC does.
        CongestionStates::Ns3 if config.whole_segments => size.floor().max(1.0),
        CongestionStates::Ns3 => size.ceil().max(1.0),
    };
    let counted = f64::from(config.segment_wire_bytes);
    let excess = (counted + f64::from(config.uncounted_wire_bytes)) / counted;
    window.pacing_gap = Time((config.base_rtt.0 as f64 / size * excess) as u64);
    size
}

/// Sets the first window to the scenario's window, but at most to one bandwidth-delay product. In
/// ns-3 a flow begins at line rate, and the scenario's window limits the flow until the congestion
/// control sets a window.
pub(super) fn begin(config: &TcpConfig, window: &mut Window) -> f64 {
    match config.states {
        CongestionStates::Rfc => apply(config, window, f64::from(config.initial_window)),
        CongestionStates::Ns3 => {
            let initial = window.size;
            let size = apply(config, window, f64::INFINITY);
            window.size = initial;
            size
        }
    }
}
