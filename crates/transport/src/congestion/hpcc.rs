//! HPCC: High Precision Congestion Control (Li et al., SIGCOMM 2019).

use super::{AckEvent, CongestionControl, CongestionControlInfo, Controller, Starter, Window, rate};
use crate::TcpConfig;
use crate::telemetry::LastReports;
use bufferlab_params::{BuildError, ParamInfo, ParamKind, ParamValue, Params};
use bufferlab_units::Time;

/// Registry entry of HPCC.
pub(super) static INFO: CongestionControlInfo = CongestionControlInfo {
    name: "hpcc",
    aliases: &[],
    title: "HPCC",
    summary: "Keeps the most loaded link at 95 % by reports of every switch on its queue and rate.",
    source: "Li et al., SIGCOMM 2019, algorithm 1",
    uses_ecn: false,
    wants_telemetry: true,
    owns_window: true,
    starts_at_line_rate: true,
    rdma_only: false,
    params: PARAMS,
    build: &build,
};

const PARAMS: &[ParamInfo] = &[
    ParamInfo {
        name: "utilisation",
        kind: ParamKind::RatioAbove { min: 0.0, max: 1.0 },
        default: ParamValue::Ratio(0.95),
        artifact_default: None,
        doc: "Eta, the target utilisation. Default: section 5.1.",
    },
    ParamInfo {
        name: "max_stage",
        kind: ParamKind::Count { min: 0, max: u32::MAX as u64 },
        default: ParamValue::Count(5),
        artifact_default: None,
        doc: "maxStage, the number of round trips of additive increase before a multiplicative adjustment. Default: section 5.1.",
    },
    ParamInfo {
        name: "flows",
        kind: ParamKind::Count { min: 1, max: u32::MAX as u64 },
        default: ParamValue::Count(100),
        artifact_default: None,
        doc: "N: the additive increase is the first window times (1 - eta)/N (section 3.3). Default: our choice for many flows.",
    },
];

fn build(params: &Params, _: &TcpConfig) -> Result<Starter, BuildError> {
    let law = Law {
        target: params.ratio("utilisation"),
        max_stage: params.small_count("max_stage"),
        flows: params.small_count("flows"),
    };
    Ok(Box::new(move |config, window| CongestionControl::boxed(Hpcc::new(law, config, window))))
}

/// Parameters of the congestion control HPCC.
#[derive(Clone, Copy, Debug)]
struct Law {
    /// Target utilisation eta of the links.
    target: f64,
    max_stage: u32,
    /// Number N of flows, which divides the additive increase.
    flows: u32,
}

/// State of the congestion control HPCC.
#[derive(Clone, Debug)]
pub struct Hpcc {
    law: Law,
    /// Smoothed utilisation U of the most loaded link.
    utilisation: f64,
    /// Window W_c to which all reactions in a round trip refer (segments).
    reference: f64,
    /// Number of consecutive round trips of additive increase.
    stage: u32,
    /// Segment number above which an acknowledgement renews the reference window.
    renewed_at: u32,
    last: LastReports,
}

impl Hpcc {
    fn new(law: Law, config: &TcpConfig, window: &mut Window) -> Self {
        let reference = rate::begin(config, window);
        // A flow starts at line rate, so its link counts as fully utilised before the first
        // reports.
        Self { law, utilisation: 1.0, reference, stage: 0, renewed_at: 0, last: LastReports::default() }
    }

    /// Measures the utilisation of the path (HPCC Algorithm 1, MeasureInflight).
    /// Returns false if no telemetry reports could be compared.
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

    /// Computes the window W from the reference window, and the stage at the start of the next
    /// round trip (HPCC Algorithm 1, ComputeWind).
    fn next_window(&mut self, config: &TcpConfig, ack: &AckEvent<'_>) -> f64 {
        let initial = rate::segments(config, config.line_rate);
        let increase = initial * (1.0 - self.law.target) / f64::from(self.law.flows);
        let renews = ack.acknowledged > self.renewed_at;
        if self.utilisation >= self.law.target || self.stage >= self.law.max_stage {
            if renews {
                self.stage = 0;
            }
            self.reference * self.law.target / self.utilisation + increase
        } else {
            if renews {
                self.stage += 1;
            }
            self.reference + increase
        }
    }
}

impl Controller for Hpcc {
    fn on_ack(&mut self, config: &TcpConfig, window: &mut Window, ack: &AckEvent<'_>) {
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

    /// Starts another message of the connection. The message's segments count from 0.
    fn begin_message(&mut self, _: Time) {
        self.renewed_at = 0;
    }

    /// Reports the smoothed utilisation U of the most loaded link. U adds the link's rate relative
    /// to the line rate and its queue relative to the bandwidth-delay product.
    fn probe(&self, sink: &mut dyn FnMut(&'static str, f64)) {
        sink("utilisation", self.utilisation);
    }
}
