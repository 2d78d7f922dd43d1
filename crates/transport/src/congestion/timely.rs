//! TIMELY: the rate follows the gradient of the round-trip time (Mittal et al., SIGCOMM 2015).

use super::{AckEvent, CongestionControl, CongestionControlInfo, Controller, Starter, Window, rate};
use crate::{CongestionStates, TcpConfig};
use bufferlab_params::{BuildError, ParamInfo, ParamKind, ParamValue, Params};
use bufferlab_units::{BitRate, Time};

/// Registry entry of TIMELY.
pub(super) static INFO: CongestionControlInfo = CongestionControlInfo {
    name: "timely",
    aliases: &[],
    title: "TIMELY",
    summary: "Raises the rate while the round-trip time falls and cuts it in proportion to its gradient.",
    source: "Mittal et al., SIGCOMM 2015, algorithm 1",
    uses_ecn: false,
    wants_telemetry: false,
    owns_window: true,
    starts_at_line_rate: true,
    rdma_only: false,
    params: PARAMS,
    build: &build,
};

const PARAMS: &[ParamInfo] = &[
    ParamInfo {
        name: "low",
        kind: ParamKind::Time { min: Time(1) },
        default: ParamValue::Time(Time::from_us(50)),
        artifact_default: Some(ParamValue::Time(Time::from_us(200))),
        doc: "T_low, the round trip below which the rate grows whatever the gradient. Default: section 4.3.1; the artifact's.",
    },
    ParamInfo {
        name: "high",
        kind: ParamKind::Time { min: Time(1) },
        default: ParamValue::Time(Time::from_us(500)),
        artifact_default: None,
        doc: "T_high, the round trip above which the rate falls whatever the gradient. Default: section 4.3.1.",
    },
    ParamInfo {
        name: "increment",
        kind: ParamKind::Rate { min: BitRate(1) },
        default: ParamValue::Computed("1/1000 of the line rate (section 6: 10 Mb/s at 10 Gb/s)"),
        artifact_default: Some(ParamValue::Rate(BitRate::mbps(100))),
        doc: "Delta, the additive increase per update.",
    },
    ParamInfo {
        name: "fast_increment",
        kind: ParamKind::Rate { min: BitRate(1) },
        default: ParamValue::Computed("5 times `increment` (section 6: N = 5)"),
        artifact_default: Some(ParamValue::Rate(BitRate::mbps(150))),
        doc: "Additive increase per update during hyperactive increase.",
    },
];

/// Divisor of the line rate for the increase δ, and factor of the hyperactive increase (TIMELY
/// section 6).
const INCREMENT: u64 = 1_000;
const HYPERACTIVE: u64 = 5;

fn build(params: &Params, config: &TcpConfig) -> Result<Starter, BuildError> {
    let (low, high) = (params.time("low"), params.time("high"));
    if low > high {
        let message = format!("expected at most `high`, which is {high}");
        return Err(BuildError { param: "low", message });
    }
    let increment = params.given_rate("increment").unwrap_or(BitRate(config.line_rate.0 / INCREMENT));
    let fast_increment = params.given_rate("fast_increment").unwrap_or(BitRate(increment.0 * HYPERACTIVE));
    let law = Law { low, high, increment, fast_increment };
    Ok(Box::new(move |config, window| CongestionControl::boxed(Timely::new(law, config, window))))
}

/// Parameters of the congestion control TIMELY.
#[derive(Clone, Copy, Debug)]
struct Law {
    /// Round-trip time T_low below which the rate grows.
    low: Time,
    /// Round-trip time T_high above which the rate falls.
    high: Time,
    /// Additive increase δ of the rate.
    increment: BitRate,
    /// Increase of the rate per update in hyperactive increase.
    fast_increment: BitRate,
}

/// Weight α of a new difference of round trips in the average (TIMELY section 5). The weight is
/// 0.875 in HPCC's and ABM's code.
const NEWEST: f64 = 0.875;
/// Factor β of the multiplicative decrease of the rate (TIMELY section 5).
const DECREASE: f64 = 0.8;
/// Number N of rounds without a positive gradient after which hyperactive increase begins (TIMELY
/// section 4.3).
const PATIENCE: u32 = 5;

/// State of the congestion control TIMELY.
#[derive(Clone, Debug)]
pub struct Timely {
    law: Law,
    /// Rate of the flow (bit/s).
    rate: f64,
    /// Smoothed difference of two successive round trips (ps).
    difference: f64,
    /// Round-trip time at the last rate update. Zero before the first update.
    last_rtt: Time,
    /// Number of consecutive updates without a positive gradient of the round trip.
    calm: u32,
    /// Segment number above which an ACK causes the next update.
    updated_at: u32,
    /// Whether the congestion control has computed a rate. From then on, the
    /// rate replaces the first window.
    governs: bool,
}

impl Timely {
    fn new(law: Law, config: &TcpConfig, window: &mut Window) -> Self {
        let mut this = Self {
            law,
            rate: config.line_rate.0 as f64,
            difference: 0.0,
            last_rtt: Time::ZERO,
            calm: 0,
            updated_at: 0,
            governs: config.states == CongestionStates::Rfc,
        };
        this.apply(config, window);
        this
    }

    /// Updates the rate of the flow by Algorithm 1 of the TIMELY paper.
    fn update(&mut self, config: &TcpConfig, rtt: Time) {
        let newest = rtt.0 as f64 - self.last_rtt.0 as f64;
        self.difference = (1.0 - NEWEST) * self.difference + NEWEST * newest;
        let gradient = self.difference / config.base_rtt.0 as f64;
        if rtt < self.law.low {
            self.calm = if config.states == CongestionStates::Ns3 { self.calm + 1 } else { 0 };
            self.rate += self.increment(config);
        } else if rtt > self.law.high {
            self.calm = 0;
            self.rate *= 1.0 - DECREASE * (1.0 - self.law.high.0 as f64 / rtt.0 as f64);
        } else if gradient <= 0.0 {
            self.calm += 1;
            self.rate += self.increment(config);
        } else {
            self.calm = 0;
            self.rate *= (1.0 - DECREASE * gradient).max(0.0);
        }
    }

    /// Increase of the rate: δ, or Nδ after N rounds without a positive gradient of the round trip.
    fn increment(&self, config: &TcpConfig) -> f64 {
        let patience = match config.states {
            CongestionStates::Rfc => PATIENCE,
            // The public ns-3 code counts all rate increases before the current increase.
            CongestionStates::Ns3 => PATIENCE + 1,
        };
        if self.calm >= patience { self.law.fast_increment } else { self.law.increment }.0 as f64
    }

    /// Sets the rate of a flow without a window: only the pace limits the flow.
    fn apply(&mut self, config: &TcpConfig, window: &mut Window) {
        let segments = rate::segments(config, BitRate(self.rate as u64));
        let most = rate::apply(config, window, segments) / rate::segments(config, config.line_rate);
        self.rate = most * config.line_rate.0 as f64;
        // In ns-3 the first window stays until the first update.
        window.size = f64::from(if self.governs { u32::MAX } else { config.initial_window });
    }
}

impl Controller for Timely {
    /// Updates the rate once per round trip, as in HPCC's and ABM's code. The paper updates per
    /// completion event, that is per segment of 16 to 64 KB.
    fn on_ack(&mut self, config: &TcpConfig, window: &mut Window, ack: &AckEvent<'_>) {
        let is_due = ack.acknowledged > self.updated_at;
        let updates = is_due && self.last_rtt != Time::ZERO;
        if updates {
            self.update(config, ack.rtt);
            self.governs = true;
        }
        if is_due {
            self.last_rtt = ack.rtt;
            self.updated_at = ack.next;
        }
        // Between updates, ns-3 keeps the window that a recovery has set.
        if updates || config.states == CongestionStates::Rfc {
            self.apply(config, window);
        }
    }

    fn begin_message(&mut self, _: Time) {
        self.updated_at = 0;
    }

    /// Reports the sending rate of the flow, headers included (b/s).
    fn probe(&self, sink: &mut dyn FnMut(&'static str, f64)) {
        sink("rate", self.rate);
    }
}
