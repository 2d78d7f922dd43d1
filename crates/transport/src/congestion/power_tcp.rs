//! PowerTCP: the window follows the power, which is the product of a queue's voltage and current
//! (Addanki et al., NSDI 2022).

use super::{AckEvent, CongestionControl, CongestionControlInfo, Controller, Starter, Window, rate};
use crate::telemetry::LastReports;
use crate::{CongestionStates, TcpConfig};
use bufferlab_params::{BuildError, Choice, ParamInfo, ParamKind, ParamValue, Params};
use bufferlab_units::Time;

/// Registry entry of PowerTCP.
pub(super) static INFO: CongestionControlInfo = CongestionControlInfo {
    name: "powertcp",
    aliases: &[],
    title: "PowerTCP",
    summary: "Divides the window by the power of the most loaded port: its arrival rate times the sum of queue and pipe.",
    source: "Addanki et al., NSDI 2022, algorithm 1",
    uses_ecn: false,
    wants_telemetry: true,
    owns_window: true,
    starts_at_line_rate: true,
    rdma_only: false,
    params: PARAMS,
    build: &build,
};

const GAMMA: ParamInfo = ParamInfo {
    name: "gamma",
    kind: ParamKind::RatioAbove { min: 0.0, max: 1.0 },
    default: ParamValue::Ratio(0.9),
    artifact_default: None,
    doc: "Gamma, the weight of a new window. Default: section 3.3.",
};
const FLOWS: ParamInfo = ParamInfo {
    name: "flows",
    kind: ParamKind::Count { min: 1, max: u32::MAX as u64 },
    default: ParamValue::Count(10),
    artifact_default: Some(ParamValue::Count(100)),
    doc: "N: the additive increase is one bandwidth-delay product divided by N (section 3.3). Default: our choice; the artifact's.",
};
const FIRST_ACK: ParamInfo = ParamInfo::computed(
    "first_ack",
    ParamKind::Choice(FirstAck::WORDS),
    "`kept`; `zeros` for queue pairs in profile `artifact`",
    "\"kept\"",
    "Baseline for the reports of a flow's first ACK.",
);

const PARAMS: &[ParamInfo] = &[GAMMA, FLOWS, FIRST_ACK];
/// Parameters of θ-PowerTCP, which needs no reports of switches.
pub(super) const PARAMS_WITHOUT_REPORTS: &[ParamInfo] = &[GAMMA, FLOWS];

bufferlab_params::choices! {
    /// Baseline with which the reports of a flow's first ACK are compared.
    #[derive(Default)]
    pub enum FirstAck {
        #[default]
        Kept = "kept": "none; these reports are the baseline of the next ACK",
        Zeros = "zeros": "zeros, as in Reverie's public code, which reads reports that were never set",
    }
}

fn build(params: &Params, config: &TcpConfig) -> Result<Starter, BuildError> {
    let weights = Weights::from_params(params);
    let of_profile = match config.states {
        CongestionStates::Ns3 if !config.whole_segments => FirstAck::Zeros,
        _ => FirstAck::Kept,
    };
    let first_ack = params.given_choice("first_ack").unwrap_or(of_profile);
    Ok(Box::new(move |config, window| {
        CongestionControl::boxed(PowerTcp::new(weights, first_ack, config, window))
    }))
}

/// Parameters of PowerTCP and θ-PowerTCP.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weights {
    pub(super) gamma: f64,
    /// Number N of flows, which divides the additive increase.
    flows: u32,
}

impl Weights {
    pub(super) fn from_params(params: &Params) -> Self {
        Self { gamma: params.ratio("gamma"), flows: params.small_count("flows") }
    }
}

/// Fraction of the base power that is the target of the public ns-3 code.
const ARTIFACT_TARGET: f64 = 0.95;
/// Smallest arrival rate in the public ns-3 code, as a fraction of the link's rate. The code raises
/// smaller arrival rates to this smallest rate.
const ARTIFACT_LEAST_CURRENT: f64 = 0.5;
/// Power up to which the public ns-3 code omits the moving average.
const ARTIFACT_EASY_POWER: f64 = 0.5;

/// State of the congestion control PowerTCP.
#[derive(Clone, Debug)]
pub struct PowerTcp {
    /// Smoothed normalised power Γ. The power is 1 at the target equilibrium without additive
    /// increase.
    power: f64,
    law: PowerLaw,
    last: LastReports,
}

/// Law of the window (Eq. 7), which PowerTCP and θ-PowerTCP share.
#[derive(Clone, Copy, Debug)]
pub(super) struct PowerLaw {
    pub(super) weights: Weights,
    /// Current congestion window (segments).
    window: f64,
    /// Congestion window one round trip ago (segments).
    old: f64,
    /// Segment number above which an acknowledgement renews the old window.
    renewed_at: u32,
}

impl PowerLaw {
    pub(super) fn new(weights: Weights, config: &TcpConfig, window: &mut Window) -> Self {
        let size = rate::begin(config, window);
        Self { weights, window: size, old: size, renewed_at: 0 }
    }

    /// Starts another message of the connection. The message's segments count from 0.
    pub(super) fn begin_message(&mut self) {
        self.renewed_at = 0;
    }

    /// Whether the ACK covers a segment sent after the control recorded the old window.
    pub(super) fn is_due(&self, ack: &AckEvent<'_>) -> bool {
        ack.acknowledged > self.renewed_at
    }

    /// Updates the window by Eq. 7 of the PowerTCP paper: w = γ(w_old/Γ + β) + (1 − γ)w.
    pub(super) fn update(&mut self, config: &TcpConfig, gamma: f64, power: f64) {
        let increase = rate::segments(config, config.line_rate) / f64::from(self.weights.flows);
        let now = match config.states {
            CongestionStates::Rfc => self.window,
            // The public ns-3 code averages with the window of the previous round trip.
            CongestionStates::Ns3 => self.old,
        };
        self.window = gamma * (self.old / power + increase) + (1.0 - gamma) * now;
    }

    /// Leaves window and pace unchanged. A round trip may end without an update of the window.
    pub(super) fn wait(&mut self, ack: &AckEvent<'_>) {
        if self.is_due(ack) {
            self.renewed_at = ack.next;
        }
    }

    /// Sets the window and the pace, and records the window once in each round trip.
    pub(super) fn apply(&mut self, config: &TcpConfig, window: &mut Window, ack: &AckEvent<'_>) {
        self.window = rate::apply(config, window, self.window);
        if self.is_due(ack) {
            self.old = self.window;
            self.renewed_at = ack.next;
        }
    }
}

impl PowerTcp {
    fn new(weights: Weights, first_ack: FirstAck, config: &TcpConfig, window: &mut Window) -> Self {
        let last = match first_ack {
            FirstAck::Kept => LastReports::default(),
            FirstAck::Zeros => LastReports::of_zeros(),
        };
        Self { power: 1.0, law: PowerLaw::new(weights, config, window), last }
    }

    /// Measures the power (PowerTCP Algorithm 1, NormPower). Returns false if no reports could be
    /// compared.
    fn measure(&mut self, config: &TcpConfig, ack: &AckEvent<'_>) -> bool {
        let base = config.base_rtt.as_secs_f64();
        let is_artifact = config.states == CongestionStates::Ns3;
        let (mut most, mut over) = (f64::NEG_INFINITY, 0.0);
        self.last.update(ack.telemetry, |now, before, gap| {
            let gap = gap.as_secs_f64();
            let rate = now.rate.0 as f64 / 8.0;
            let gradient = (f64::from(now.queue_bytes) - f64::from(before.queue_bytes)) / gap;
            let mut current = gradient + (now.sent_bytes - before.sent_bytes) as f64 / gap;
            if is_artifact {
                current = current.max(ARTIFACT_LEAST_CURRENT * rate);
            }
            let voltage = f64::from(now.queue_bytes) + rate * base;
            let power = current * voltage / (rate * rate * base);
            if power > most {
                (most, over) = (power, gap);
            }
        });
        if over == 0.0 {
            return false;
        }
        let weight = f64::min(over / base, 1.0);
        self.power += weight * (most - self.power);
        // A queue that drains faster than its link sends (packets were evicted) has negative
        // power, which would change the sign of the window.
        self.power = self.power.max(f64::MIN_POSITIVE);
        true
    }
}

impl Controller for PowerTcp {
    fn on_ack(&mut self, config: &TcpConfig, window: &mut Window, ack: &AckEvent<'_>) {
        if self.measure(config, ack) {
            let (gamma, power) = match config.states {
                CongestionStates::Rfc => (self.law.weights.gamma, self.power),
                CongestionStates::Ns3 => {
                    let power = self.power / ARTIFACT_TARGET;
                    (if power <= ARTIFACT_EASY_POWER { 1.0 } else { self.law.weights.gamma }, power)
                }
            };
            self.law.update(config, gamma, power);
        }
        self.law.apply(config, window, ack);
    }

    fn begin_message(&mut self, _: Time) {
        self.law.begin_message();
    }

    /// Reports the smoothed normalised power Γ of the most loaded port.
    fn probe(&self, sink: &mut dyn FnMut(&'static str, f64)) {
        sink("power", self.power);
    }
}
