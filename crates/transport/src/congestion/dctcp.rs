//! Data Center TCP: the window is reduced in proportion to the fraction of
//! marked packets (RFC 8257).

use super::{AckEvent, CongestionControl, CongestionControlInfo, CongestionEvent, Starter, Window, new_reno};
use crate::{CongestionStates, TcpConfig};
use bufferlab_params::{BuildError, ParamInfo, ParamKind, ParamValue, Params};

/// Registry entry of DCTCP.
pub(super) static INFO: CongestionControlInfo = CongestionControlInfo {
    name: "dctcp",
    aliases: &[],
    title: "Data Center TCP",
    summary: "Cuts the window by half the smoothed fraction of marked packets, once per round trip.",
    source: "RFC 8257; Alizadeh et al., SIGCOMM 2010",
    uses_ecn: true,
    wants_telemetry: false,
    owns_window: false,
    starts_at_line_rate: false,
    rdma_only: false,
    params: PARAMS,
    build: &build,
};

const PARAMS: &[ParamInfo] = &[
    ParamInfo {
        name: "gain",
        kind: ParamKind::RatioAbove { min: 0.0, max: 1.0 },
        default: ParamValue::Ratio(1.0 / 16.0),
        artifact_default: None,
        doc: "g, the weight of a new sample in alpha. Default: RFC 8257 section 4.2, which calls for 1/16.",
    },
    ParamInfo {
        name: "initial_alpha",
        kind: ParamKind::Ratio { min: 0.0, max: 1.0 },
        default: ParamValue::Ratio(1.0),
        artifact_default: None,
        doc: "Alpha, the smoothed fraction of marked packets, at the start of a flow. Default: RFC 8257 section 3.3.",
    },
];

fn build(params: &Params, _: &TcpConfig) -> Result<Starter, BuildError> {
    let (gain, alpha) = (params.ratio("gain"), params.ratio("initial_alpha"));
    Ok(Box::new(move |_, _| CongestionControl::Dctcp(Dctcp::new(gain, alpha))))
}

/// State of the congestion control DCTCP.
#[derive(Clone, Copy, Debug)]
pub struct Dctcp {
    /// Smoothed fraction α of marked segments.
    alpha: f64,
    /// Weight g of a new sample in the smoothed fraction α.
    gain: f64,
    /// Number of segments delivered in the current observation window.
    delivered: u32,
    /// Number of marked segments among the segments in `delivered`.
    marked: u32,
    /// Segment whose acknowledgement ends the observation window.
    window_end: u32,
}

impl Dctcp {
    fn new(gain: f64, alpha: f64) -> Self {
        Self { alpha, gain, delivered: 0, marked: 0, window_end: 0 }
    }

    /// Smoothed fraction α of marked segments.
    #[must_use]
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Starts another message of the connection. The message's segments count from 0.
    /// The observation window continues across messages.
    pub(super) fn begin_message(&mut self) {
        self.window_end = 0;
    }

    #[inline]
    pub(super) fn on_ack(&mut self, config: &TcpConfig, window: &mut Window, ack: &AckEvent<'_>) {
        self.delivered += ack.delivered;
        if ack.marked {
            self.marked += ack.delivered;
        }
        let window_is_over = match config.states {
            CongestionStates::Rfc => ack.acknowledged > self.window_end,
            // In ns-3 the first ACK begins the first observation window, and each observation
            // window ends one segment earlier.
            CongestionStates::Ns3 if self.window_end == 0 => {
                self.window_end = ack.next;
                ack.acknowledged >= ack.next
            }
            CongestionStates::Ns3 => ack.acknowledged >= self.window_end,
        };
        if window_is_over {
            if self.delivered > 0 {
                let fraction = f64::from(self.marked) / f64::from(self.delivered);
                self.alpha += self.gain * (fraction - self.alpha);
            }
            (self.delivered, self.marked, self.window_end) = (0, 0, ack.next);
        }
        if ack.may_grow {
            new_reno::grow(window, ack.delivered);
        }
    }

    pub(super) fn on_congestion(
        &self,
        config: &TcpConfig,
        window: &mut Window,
        event: CongestionEvent,
        flight: u32,
    ) {
        let scaled = window.size * (1.0 - self.alpha / 2.0);
        if config.states == CongestionStates::Ns3 {
            window.slow_start_threshold = scaled;
            return;
        }
        // RFC 8257 section 3.5: DCTCP reacts to losses like NewReno.
        window.slow_start_threshold = match event {
            CongestionEvent::Mark => scaled,
            CongestionEvent::Loss | CongestionEvent::Timeout => f64::from(flight) / 2.0,
        }
        .max(2.0);
    }
}
