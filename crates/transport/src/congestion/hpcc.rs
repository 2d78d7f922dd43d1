//! HPCC: High Precision Congestion Control (Li et al., SIGCOMM 2019).

use super::{AckEvent, CongestionControl, CongestionControlInfo, Window, rate};
use crate::TcpConfig;
use crate::telemetry::LastReports;

/// Registry entry.
pub(super) static INFO: CongestionControlInfo = CongestionControlInfo {
    name: "hpcc",
    title: "HPCC",
    summary: "Keeps the most loaded link at 95 % by what every switch reports of its queue and rate.",
    source: "Li et al., SIGCOMM 2019, algorithm 1",
    uses_ecn: false,
    wants_telemetry: true,
    governs_window: true,
    starts_at_line_rate: true,
    rdma_only: false,
    build: |config, window| CongestionControl::Hpcc(Box::new(Hpcc::new(config, window))),
};

/// State of HPCC.
#[derive(Clone, Debug)]
pub struct Hpcc {
    /// U: the smoothed utilisation of the most loaded link.
    utilisation: f64,
    /// W_c: the window that all reactions within a round trip refer to (segments).
    reference: f64,
    /// Round trips of additive increase in a row.
    stage: u32,
    /// The reference is renewed when a segment beyond this one is acknowledged.
    renewed_at: u32,
    last: LastReports,
}

impl Hpcc {
    pub(super) fn new(config: &TcpConfig, window: &mut Window) -> Self {
        let reference = rate::begin(config, window);
        // A flow starts at line rate: until it hears otherwise, its link is full.
        Self { utilisation: 1.0, reference, stage: 0, renewed_at: 0, last: LastReports::default() }
    }

    /// U, the smoothed utilisation of the most loaded link: its rate and its queue, relative to rate and bandwidth-delay product.
    #[must_use]
    pub fn utilisation(&self) -> f64 {
        self.utilisation
    }

    /// Another message of the connection: its segments count from 0.
    pub(super) fn begin_message(&mut self) {
        self.renewed_at = 0;
    }

    pub(super) fn on_ack(&mut self, config: &TcpConfig, window: &mut Window, ack: &AckEvent<'_>) {
        let wanted = match self.measure(config, ack) {
            true => self.next_window(config, ack),
            false => self.reference,
        };
        let applied = rate::apply(config, window, wanted);
        if ack.acknowledged > self.renewed_at {
            self.reference = applied;
            self.renewed_at = ack.next;
        }
    }

    /// Algorithm 1, MeasureInflight; false if nothing could be compared.
    fn measure(&mut self, config: &TcpConfig, ack: &AckEvent<'_>) -> bool {
        let base = config.base_rtt.as_secs_f64();
        let (mut most, mut over) = (0.0, 0.0);
        self.last.update(ack.telemetry, |now, before, gap| {
            let gap = gap.as_secs_f64();
            let rate = now.rate.0 as f64 / 8.0;
            let queue = f64::from(now.queue_bytes.min(before.queue_bytes)) / (rate * base);
            let sending = (now.sent_bytes - before.sent_bytes) as f64 / gap / rate;
            if queue + sending > most {
                (most, over) = (queue + sending, gap);
            }
        });
        let weight = f64::min(over / base, 1.0);
        self.utilisation += weight * (most - self.utilisation);
        over > 0.0
    }

    /// Algorithm 1, ComputeWind: W from the reference, and the stage that the next round trip begins with.
    fn next_window(&mut self, config: &TcpConfig, ack: &AckEvent<'_>) -> f64 {
        let initial = rate::segments(config, config.line_rate);
        let increase = initial * (1.0 - config.hpcc_utilisation) / f64::from(config.hpcc_flows);
        let renews = ack.acknowledged > self.renewed_at;
        if self.utilisation >= config.hpcc_utilisation || self.stage >= config.hpcc_max_stage {
            if renews {
                self.stage = 0;
            }
            self.reference * config.hpcc_utilisation / self.utilisation + increase
        } else {
            if renews {
                self.stage += 1;
            }
            self.reference + increase
        }
    }
}
