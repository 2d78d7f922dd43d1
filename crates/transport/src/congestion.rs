//! Congestion control: the interface and the registry.

mod cubic;
mod dcqcn;
mod dctcp;
mod ecn_star;
mod hpcc;
mod hystart;
mod new_reno;
mod power_tcp;
mod rate;
mod swift;
mod theta_power_tcp;
mod timely;

use crate::TcpConfig;
use crate::telemetry::HopReport;
use bufferlab_units::Time;

pub use cubic::Cubic;
pub use dcqcn::{DCQCN_SETS, Dcqcn, DcqcnParameters, DcqcnReaction, DcqcnSet, find_dcqcn_set};
pub use dctcp::Dctcp;
pub use hpcc::Hpcc;
pub use hystart::HyStart;
pub use new_reno::NewReno;
pub use power_tcp::PowerTcp;
pub use swift::Swift;
pub use theta_power_tcp::ThetaPowerTcp;
pub use timely::Timely;

/// Every congestion control, for scenario files, schema, documentation and reports.
pub static CONGESTION_CONTROLS: &[&CongestionControlInfo] = &[
    &new_reno::INFO,
    &cubic::INFO,
    &dctcp::INFO,
    &ecn_star::INFO,
    &timely::INFO,
    &swift::INFO,
    &hpcc::INFO,
    &power_tcp::INFO,
    &theta_power_tcp::INFO,
    &dcqcn::INFO,
];

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
    /// Whether every switch on the way must report its queue ([`HopReport`]).
    pub wants_telemetry: bool,
    /// Whether it alone sets the window: losses change it only as far as the control wants, and no proportional rate reduction
    /// takes place. A timeout still leaves one segment until the next ACK.
    pub governs_window: bool,
    /// Whether a flow begins with one bandwidth-delay product in flight, where the scenario does not say otherwise.
    pub starts_at_line_rate: bool,
    /// Whether it needs the notifications of queue pairs. Those take every control that governs its window.
    pub rdma_only: bool,
    /// Its state at the start of a flow; may change the first window.
    pub build: fn(&TcpConfig, &mut Window) -> CongestionControl,
}

/// What a sender may send: a window and, for some, a pace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// The congestion window (segments), at least 1.
    pub size: f64,
    /// Below it the window grows exponentially (segments).
    pub slow_start_threshold: f64,
    /// Least time between two segments; zero: as fast as the card takes them.
    pub pacing_gap: Time,
}

/// What an ACK tells.
#[derive(Clone, Copy, Debug)]
pub struct AckEvent<'a> {
    /// When it came.
    pub now: Time,
    /// The round trip of the segment that caused it: time of arrival less the echoed time of sending (RFC 7323).
    pub rtt: Time,
    /// Segments that it reports as arrived for the first time.
    pub delivered: u32,
    /// It echoes a congestion mark.
    pub marked: bool,
    /// Segments acknowledged cumulatively so far.
    pub acknowledged: u32,
    /// Next new segment.
    pub next: u32,
    /// Segments in the network just before it came.
    pub in_flight: u32,
    /// The window may grow: no recovery, no reduction by a mark is under way, and the window was full at some time in the last
    /// round trip: what held the sender back was neither the application nor the card (RFC 7661, RFC 9438 section 5.8).
    pub may_grow: bool,
    /// What the switches on the way of that segment reported, in their order. Empty unless the control asks for it.
    pub telemetry: &'a [HopReport],
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

/// State of a flow's congestion control. An enum: the hot path branches instead of calling through a pointer. All but the
/// smallest states are boxed, so that flows of NewReno and DCTCP do not carry the space of others.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CongestionControl {
    /// NewReno, and ECN*.
    NewReno(NewReno),
    /// DCTCP.
    Dctcp(Dctcp),
    /// Cubic.
    Cubic(Box<Cubic>),
    /// TIMELY.
    Timely(Box<Timely>),
    /// Swift.
    Swift(Box<Swift>),
    /// HPCC.
    Hpcc(Box<Hpcc>),
    /// PowerTCP.
    PowerTcp(Box<PowerTcp>),
    /// θ-PowerTCP.
    ThetaPowerTcp(Box<ThetaPowerTcp>),
    /// DCQCN.
    Dcqcn(Box<Dcqcn>),
}

impl CongestionControl {
    /// An ACK has come.
    #[inline]
    pub fn on_ack(&mut self, config: &TcpConfig, window: &mut Window, ack: &AckEvent<'_>) {
        match self {
            Self::NewReno(state) => state.on_ack(window, ack),
            Self::Dctcp(state) => state.on_ack(config, window, ack),
            other => other.on_ack_boxed(config, window, ack),
        }
    }

    /// The larger controls, out of the way of the smaller ones.
    #[inline(never)]
    fn on_ack_boxed(&mut self, config: &TcpConfig, window: &mut Window, ack: &AckEvent<'_>) {
        match self {
            Self::NewReno(_) | Self::Dctcp(_) => {}
            Self::Cubic(state) => state.on_ack(config, window, ack),
            Self::Timely(state) => state.on_ack(config, window, ack),
            Self::Swift(state) => state.on_ack(config, window, ack),
            Self::Hpcc(state) => state.on_ack(config, window, ack),
            Self::PowerTcp(state) => state.on_ack(config, window, ack),
            Self::ThetaPowerTcp(state) => state.on_ack(config, window, ack),
            Self::Dcqcn(state) => state.on_ack(config, window, ack),
        }
    }

    /// A congestion notification has come in a frame of its own. Controls that know no such frames ignore it.
    pub fn on_notification(&mut self, config: &TcpConfig, window: &mut Window, now: Time) {
        if let Self::Dcqcn(state) = self {
            state.on_notification(config, window, now);
        }
    }

    /// A packet of `bytes` on the wire is about to be sent: lets time pass and counts it, for controls that care.
    #[inline]
    pub fn on_sent(&mut self, config: &TcpConfig, window: &mut Window, now: Time, bytes: u32) {
        if let Self::Dcqcn(state) = self {
            state.advance(config, window, now);
            state.on_sent(config, window, bytes);
        }
    }

    /// The connection carries another message, whose segments count from 0, after it was `idle` for so long. What was learned of the
    /// path stays; what refers to segments starts over, and idle time does not count as time in which a window grew.
    pub(crate) fn begin_message(&mut self, idle: Time) {
        match self {
            // Queue pairs carry a message each.
            Self::NewReno(_) | Self::Swift(_) | Self::Dcqcn(_) => {}
            Self::Dctcp(state) => state.begin_message(),
            Self::Cubic(state) => state.begin_message(idle),
            Self::Timely(state) => state.begin_message(),
            Self::Hpcc(state) => state.begin_message(),
            Self::PowerTcp(state) => state.begin_message(),
            Self::ThetaPowerTcp(state) => state.begin_message(),
        }
    }

    /// The flow must slow down at `now`, with `flight` segments in the network: sets the slow-start threshold. The caller sets
    /// the window itself, as the recovery demands, unless the control governs its window.
    #[inline]
    pub fn on_congestion(
        &mut self,
        config: &TcpConfig,
        window: &mut Window,
        event: CongestionEvent,
        flight: u32,
        now: Time,
    ) {
        match self {
            Self::NewReno(state) => state.on_congestion(window, event, flight),
            Self::Dctcp(state) => state.on_congestion(config, window, event, flight),
            Self::Cubic(state) => state.on_congestion(config, window, event, flight),
            Self::Swift(state) => state.on_congestion(window, event, now),
            // Their signals are queues, rates and delays; the papers give no answer to a loss.
            Self::Timely(_) | Self::Hpcc(_) | Self::PowerTcp(_) | Self::ThetaPowerTcp(_) | Self::Dcqcn(_) => {
            }
        }
    }
}
