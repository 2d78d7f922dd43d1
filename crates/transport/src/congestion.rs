//! Congestion control: the interface and the registry.

mod dctcp;
mod new_reno;

use crate::TcpConfig;
use bufferlab_units::Time;

pub use dctcp::Dctcp;
pub use new_reno::NewReno;

/// Every congestion control, for scenario files, schema, documentation and reports.
pub static CONGESTION_CONTROLS: &[&CongestionControlInfo] = &[&new_reno::INFO, &dctcp::INFO];

/// The registered congestion control called `name`.
#[must_use]
pub fn find_congestion_control(name: &str) -> Option<&'static CongestionControlInfo> {
    CONGESTION_CONTROLS.iter().copied().find(|info| info.name == name)
}

/// A registry entry.
#[derive(Debug)]
pub struct CongestionControlInfo {
    /// Name in scenario files.
    pub name: &'static str,
    /// Name in full.
    pub title: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// Whether it wants its packets marked rather than dropped.
    pub uses_ecn: bool,
    /// Its state at the start of a flow.
    pub build: fn(&TcpConfig) -> CongestionControl,
}

/// A congestion window and its slow-start threshold, in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// The congestion window, at least 1.
    pub size: f64,
    /// Below it the window grows exponentially.
    pub slow_start_threshold: f64,
}

/// What an ACK tells.
#[derive(Clone, Copy, Debug)]
pub struct AckEvent {
    /// When it came.
    pub now: Time,
    /// Segments that it reports as arrived for the first time.
    pub delivered: u32,
    /// It echoes a congestion mark.
    pub marked: bool,
    /// Segments acknowledged cumulatively so far.
    pub acknowledged: u32,
    /// Next new segment.
    pub next: u32,
    /// The window may grow: no recovery, no reduction by a mark is under way, and the sender was not limited by the
    /// application.
    pub may_grow: bool,
}

/// A reason to slow down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionEvent {
    /// Loss found by SACKs: fast recovery begins.
    Loss,
    /// A congestion mark, at most once per round trip.
    Mark,
    /// The retransmission timer expired.
    Timeout,
}

/// State of a flow's congestion control. An enum: its size is bounded, and the hot path branches instead of calling
/// through a pointer.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum CongestionControl {
    /// NewReno.
    NewReno(NewReno),
    /// DCTCP.
    Dctcp(Dctcp),
}

impl CongestionControl {
    /// An ACK has come.
    #[inline]
    pub fn on_ack(&mut self, config: &TcpConfig, window: &mut Window, ack: &AckEvent) {
        match self {
            Self::NewReno(state) => state.on_ack(window, ack),
            Self::Dctcp(state) => state.on_ack(config, window, ack),
        }
    }

    /// The flow must slow down: sets the slow-start threshold. The caller sets the window itself, as the recovery
    /// demands.
    #[inline]
    pub fn on_congestion(
        &mut self,
        config: &TcpConfig,
        window: &mut Window,
        event: CongestionEvent,
        flight: u32,
    ) {
        match self {
            Self::NewReno(state) => state.on_congestion(window, event, flight),
            Self::Dctcp(state) => state.on_congestion(config, window, event, flight),
        }
    }
}
