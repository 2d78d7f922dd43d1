//! Cubic: the window is a cubic function of the time since the last reduction (RFC 9438).

use super::hystart::SlowStart;
use super::{
    AckEvent, CongestionControl, CongestionControlInfo, CongestionEvent, Controller, HyStart, Starter, Window,
};
use crate::{CongestionStates, TcpConfig};
use bufferlab_params::{BuildError, Choice, ParamInfo, ParamKind, ParamValue, Params};
use bufferlab_units::Time;

/// Registry entry of Cubic.
pub(super) static INFO: CongestionControlInfo = CongestionControlInfo {
    name: "cubic",
    aliases: &[],
    title: "TCP Cubic",
    summary: "Grows as a cubic function of the time since the last loss, at least as fast as NewReno.",
    source: "RFC 9438; slow start: RFC 9406, or Ha and Rhee 2011 as in ns-3",
    uses_ecn: false,
    wants_telemetry: false,
    owns_window: false,
    starts_at_line_rate: false,
    rdma_only: false,
    params: PARAMS,
    build: &build,
};

const PARAMS: &[ParamInfo] = &[ParamInfo {
    name: "hystart",
    kind: ParamKind::Choice(HyStart::WORDS),
    default: ParamValue::word("rfc9406"),
    artifact_default: Some(ParamValue::word("classic")),
    doc: "Rule that ends slow start before the first loss.",
}];

fn build(params: &Params, _: &TcpConfig) -> Result<Starter, BuildError> {
    let hystart = params.choice("hystart");
    Ok(Box::new(move |_, _| CongestionControl::boxed(Cubic::new(hystart))))
}

/// Constants C (segments per s³) and β of RFC 9438 section 5.
const SCALE: f64 = 0.4;
const DECREASE: f64 = 0.7;
/// Constant α_cubic = 3 (1 − β)/(1 + β). With this constant, the Reno-friendly window equals
/// NewReno's window on average (RFC 9438 section 4.3).
const FRIENDLY: f64 = 3.0 * (1.0 - DECREASE) / (1.0 + DECREASE);
/// Largest factor by which the window grows in a round trip (RFC 9438 section 4.4).
const STEEPEST: f64 = 1.5;
/// Largest number of ACKs per segment of growth in ns-3, before any loss and after
/// a timeout (CntClamp).
const ARTIFACT_SLOWEST: f64 = 20.0;
/// Number of windows after which ns-3 grows the window by one segment on the plateau.
/// `ARTIFACT_FASTEST` is the least number of ACKs per segment of growth.
const ARTIFACT_FLAT: f64 = 100.0;
const ARTIFACT_FASTEST: f64 = 2.0;

/// Round-trip time from timestamps in whole milliseconds, as in ns-3. Zero milliseconds count as
/// one microsecond. So in a data center the first train of ACKs ends slow start.
fn rtt_by_timestamps(now: Time, rtt: Time) -> Time {
    const TICK: Time = Time::from_ms(1);
    match now.0 / TICK.0 - now.saturating_sub(rtt).0 / TICK.0 {
        0 => Time::from_us(1),
        ticks => Time(ticks * TICK.0),
    }
}

/// State of the congestion control Cubic.
#[derive(Clone, Debug)]
pub struct Cubic {
    /// Window W_max at which the cubic function is flat (segments).
    /// Zero before the first reduction.
    plateau: f64,
    /// Time K from the last reduction to the plateau (s).
    flat_at: f64,
    /// Start time of congestion avoidance. The start moves later by the time in which the window
    /// could not grow.
    epoch: Option<Time>,
    /// Estimate W_est of the window of NewReno on this path (segments).
    friendly: f64,
    /// Window cwnd_prior before the last reduction (segments).
    prior: f64,
    after_timeout: bool,
    last_ack: Time,
    /// State of the first slow start. `None` after a loss or a mark has ended the slow start.
    slow_start: Option<SlowStart>,
    hystart: HyStart,
}

impl Cubic {
    fn new(hystart: HyStart) -> Self {
        Self {
            plateau: 0.0,
            flat_at: 0.0,
            epoch: None,
            friendly: 0.0,
            prior: 0.0,
            after_timeout: false,
            last_ack: Time::ZERO,
            slow_start: Some(SlowStart::new(hystart)),
            hystart,
        }
    }

    fn on_timed_ack(&mut self, config: &TcpConfig, window: &mut Window, ack: &AckEvent<'_>) {
        let passed = ack.now.saturating_sub(self.last_ack);
        self.last_ack = ack.now;
        if !ack.may_grow {
            // Time in which the window may not grow does not count as growth
            // time (RFC 9438 section 4.2).
            self.epoch = self.epoch.map(|epoch| epoch + passed);
            return;
        }
        let acked = f64::from(ack.delivered);
        if window.size < window.slow_start_threshold {
            match &mut self.slow_start {
                None => window.size += acked,
                Some(slow_start) => match slow_start.growth(window.size, ack) {
                    Some(growth) => window.size += acked * growth,
                    None => window.slow_start_threshold = window.size,
                },
            }
            return;
        }
        self.avoid_congestion(config, window, ack, acked);
    }

    /// Grows the window in congestion avoidance (RFC 9438 sections 4.2 to 4.5).
    fn avoid_congestion(&mut self, config: &TcpConfig, window: &mut Window, ack: &AckEvent<'_>, acked: f64) {
        let epoch = match self.epoch {
            Some(epoch) => epoch,
            None => self.begin_epoch(window.size, ack.now),
        };
        let elapsed = ack.now.saturating_sub(epoch).as_secs_f64();
        if config.states == CongestionStates::Ns3 {
            self.friendly += FRIENDLY * acked / window.size;
            window.size += acked / self.acks_per_segment_ns3(window.size, elapsed + ack.rtt.as_secs_f64());
            return;
        }
        let slope = if self.friendly >= self.prior { 1.0 } else { FRIENDLY };
        self.friendly += slope * acked / window.size;
        let target = self.at(elapsed + ack.rtt.as_secs_f64()).clamp(window.size, STEEPEST * window.size);
        let growth = (target - window.size) / window.size * acked;
        window.size = if self.at(elapsed) < self.friendly {
            // In the Reno-friendly region, the window equals NewReno's window.
            self.friendly.max(window.size)
        } else {
            window.size + growth
        };
    }

    /// Number of acknowledged segments after which ns-3 increases a window of `size` by one.
    fn acks_per_segment_ns3(&self, size: f64, seconds: f64) -> f64 {
        let until = |wanted: f64| if wanted > size { size / (wanted - size) } else { f64::INFINITY };
        let slowest = if self.prior == 0.0 { ARTIFACT_SLOWEST } else { ARTIFACT_FLAT * size };
        until(self.at(seconds)).min(slowest).min(until(self.friendly)).max(ARTIFACT_FASTEST)
    }

    fn begin_epoch(&mut self, size: f64, now: Time) -> Time {
        self.epoch = Some(now);
        self.friendly = size;
        if self.after_timeout || size >= self.plateau {
            // RFC 9438 section 4.8 applies, or the flow had no reduction yet, or the window is
            // beyond the plateau. From now on the cubic curve is convex.
            (self.plateau, self.flat_at) = (size, 0.0);
        } else {
            self.flat_at = ((self.plateau - size) / SCALE).cbrt();
        }
        self.after_timeout = false;
        now
    }

    /// Window W_cubic(t) by the cubic function (RFC 9438 Eq. 1).
    fn at(&self, seconds: f64) -> f64 {
        SCALE * (seconds - self.flat_at).powi(3) + self.plateau
    }
}

impl Controller for Cubic {
    fn on_ack(&mut self, config: &TcpConfig, window: &mut Window, ack: &AckEvent<'_>) {
        match config.states {
            CongestionStates::Rfc => self.on_timed_ack(config, window, ack),
            CongestionStates::Ns3 => {
                let rtt = rtt_by_timestamps(ack.now, ack.rtt);
                self.on_timed_ack(config, window, &AckEvent { rtt, ..*ack });
            }
        }
    }

    fn on_congestion(
        &mut self,
        config: &TcpConfig,
        window: &mut Window,
        event: CongestionEvent,
        flight: u32,
        _: Time,
    ) {
        // Fast convergence (RFC 9438 section 4.7): after a second reduction below the first
        // plateau, the flow leaves space for other flows.
        self.plateau =
            if window.size < self.plateau { window.size * (1.0 + DECREASE) / 2.0 } else { window.size };
        self.prior = window.size;
        self.epoch = None;
        self.after_timeout = event == CongestionEvent::Timeout;
        let is_artifact = config.states == CongestionStates::Ns3;
        if is_artifact && self.after_timeout {
            // After a timeout, ns-3 resets all state of Cubic (CubicReset).
            (self.plateau, self.prior) = (0.0, 0.0);
        }
        // After a loss, RFC 9438 section 4.6 reduces the flight size, as RFC 5681 does. Instead,
        // ns-3 reduces the window.
        let base =
            if event == CongestionEvent::Mark || is_artifact { window.size } else { f64::from(flight) };
        window.slow_start_threshold = (base * DECREASE).max(2.0);
        self.slow_start = match (is_artifact, event, self.hystart) {
            // After a timeout ns-3 starts slow start again.
            // RFC 9406 covers only the first slow start.
            (true, CongestionEvent::Timeout, kind @ HyStart::Classic) => Some(SlowStart::new(kind)),
            _ => None,
        };
    }

    /// Excludes the time between two messages from the growth time (RFC 9438 section 5.8).
    fn begin_message(&mut self, idle: Time) {
        self.epoch = self.epoch.map(|epoch| epoch + idle);
        self.last_ack += idle;
        if let Some(slow_start) = &mut self.slow_start {
            slow_start.begin_message(idle);
        }
    }

    /// Reports W_max (segments), and K, the time from the last reduction to W_max (s).
    fn probe(&self, sink: &mut dyn FnMut(&'static str, f64)) {
        sink("plateau", self.plateau);
        sink("flat_at", self.flat_at);
    }
}
