//! Data Center TCP: reduce in proportion to the fraction of marked packets (RFC 8257).

use super::{AckEvent, CongestionControl, CongestionControlInfo, CongestionEvent, Window, new_reno};
use crate::{CongestionStates, TcpConfig};

/// Registry entry.
pub(super) static INFO: CongestionControlInfo = CongestionControlInfo {
    name: "dctcp",
    title: "Data Center TCP",
    summary: "Cuts the window by half the smoothed fraction of marked packets, once per round trip.",
    source: "RFC 8257; Alizadeh et al., SIGCOMM 2010",
    uses_ecn: true,
    wants_telemetry: false,
    governs_window: false,
    starts_at_line_rate: false,
    rdma_only: false,
    build: |config, _| CongestionControl::Dctcp(Dctcp::new(config)),
};

/// State of DCTCP.
#[derive(Clone, Copy, Debug)]
pub struct Dctcp {
    /// α: smoothed fraction of marked segments.
    alpha: f64,
    /// Segments delivered in the current observation window.
    delivered: u32,
    /// Those of them that were marked.
    marked: u32,
    /// The observation window ends when this segment is acknowledged.
    window_end: u32,
}

impl Dctcp {
    pub(super) fn new(config: &TcpConfig) -> Self {
        Self { alpha: config.dctcp_initial_alpha, delivered: 0, marked: 0, window_end: 0 }
    }

    /// α, the smoothed fraction of marked segments.
    #[must_use]
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    #[inline]
    /// Another message of the connection: its segments count from 0. The window of observation goes on over both.
    pub(super) fn begin_message(&mut self) {
        self.window_end = 0;
    }

    pub(super) fn on_ack(&mut self, config: &TcpConfig, window: &mut Window, ack: &AckEvent<'_>) {
        self.delivered += ack.delivered;
        if ack.marked {
            self.marked += ack.delivered;
        }
        let window_is_over = match config.states {
            CongestionStates::Rfc => ack.acknowledged > self.window_end,
            // ns-3 begins the first window with the first ACK and ends each one segment earlier.
            CongestionStates::Ns3 if self.window_end == 0 => {
                self.window_end = ack.next;
                ack.acknowledged >= ack.next
            }
            CongestionStates::Ns3 => ack.acknowledged >= self.window_end,
        };
        if window_is_over {
            if self.delivered > 0 {
                let fraction = f64::from(self.marked) / f64::from(self.delivered);
                self.alpha += config.dctcp_gain * (fraction - self.alpha);
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
        // RFC 8257 section 3.5: losses are answered as in NewReno.
        window.slow_start_threshold = match event {
            CongestionEvent::Mark => scaled,
            CongestionEvent::Loss | CongestionEvent::Timeout => f64::from(flight) / 2.0,
        }
        .max(2.0);
    }
}
