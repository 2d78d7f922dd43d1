//! θ-PowerTCP: PowerTCP without help from switches. The control uses the round-trip time and its
//! gradient (Addanki et al., NSDI 2022).

use super::power_tcp::{PARAMS_WITHOUT_REPORTS, PowerLaw, Weights};
use super::{AckEvent, CongestionControl, CongestionControlInfo, Controller, Starter, Window};
use crate::{CongestionStates, TcpConfig};
use bufferlab_params::{BuildError, Params};
use bufferlab_units::Time;

/// Registry entry of θ-PowerTCP.
pub(super) static INFO: CongestionControlInfo = CongestionControlInfo {
    name: "theta-powertcp",
    aliases: &[],
    title: "θ-PowerTCP",
    summary: "PowerTCP without switch reports: by the round-trip time and its gradient, once per round trip.",
    source: "Addanki et al., NSDI 2022, Eq. 8 and algorithm 2",
    uses_ecn: false,
    wants_telemetry: false,
    owns_window: true,
    starts_at_line_rate: true,
    rdma_only: false,
    params: PARAMS_WITHOUT_REPORTS,
    build: &build,
};

fn build(params: &Params, _: &TcpConfig) -> Result<Starter, BuildError> {
    let weights = Weights::from_params(params);
    Ok(Box::new(move |config, window| CongestionControl::boxed(ThetaPowerTcp::new(weights, config, window))))
}

/// Constants of the public ns-3 code: least current, and γ for power above and below half of the
/// base power.
const ARTIFACT_LEAST_CURRENT: f64 = 0.5;
const ARTIFACT_GAMMA: f64 = 0.7;
const ARTIFACT_EASY_GAMMA: f64 = 0.9;

/// State of the congestion control θ-PowerTCP.
#[derive(Clone, Debug)]
pub struct ThetaPowerTcp {
    /// Smoothed normalised power Γ of the flow.
    power: f64,
    law: PowerLaw,
    /// Round-trip time and arrival time of the previous ACK.
    last: Option<(Time, Time)>,
}

impl ThetaPowerTcp {
    fn new(weights: Weights, config: &TcpConfig, window: &mut Window) -> Self {
        Self { power: 1.0, law: PowerLaw::new(weights, config, window), last: None }
    }

    /// Measures the power (Algorithm 2, NormPower): Γ = (dθ/dt + 1)·θ/τ, smoothed over τ. Returns
    /// false for the first round-trip sample and if no time has passed since the previous sample.
    fn measure(&mut self, config: &TcpConfig, ack: &AckEvent<'_>) -> bool {
        let Some((before, at)) = self.last else {
            self.last = Some((ack.rtt, ack.now));
            return false;
        };
        if ack.now == at {
            return false;
        }
        self.last = Some((ack.rtt, ack.now));
        let base = config.base_rtt.as_secs_f64();
        let mut gap = (ack.now - at).as_secs_f64();
        if config.states == CongestionStates::Ns3 {
            gap = gap.min(base);
        }
        let gradient = (ack.rtt.as_secs_f64() - before.as_secs_f64()) / gap;
        let mut current = gradient + 1.0;
        if config.states == CongestionStates::Ns3 {
            current = current.max(ARTIFACT_LEAST_CURRENT);
        }
        let weight = f64::min(gap / base, 1.0);
        self.power += weight * (current * ack.rtt.as_secs_f64() / base - self.power);
        // If ACKs were delayed together, the round trip shrinks faster than time passes.
        self.power = self.power.max(f64::MIN_POSITIVE);
        true
    }
}

impl Controller for ThetaPowerTcp {
    fn on_ack(&mut self, config: &TcpConfig, window: &mut Window, ack: &AckEvent<'_>) {
        let is_artifact = config.states == CongestionStates::Ns3;
        // The θ-PowerTCP paper measures the power at every ACK and updates the window once per
        // round trip. The public ns-3 code measures and updates once per round trip.
        let measures = !is_artifact || self.law.is_due(ack);
        let updates = measures && self.measure(config, ack) && self.law.is_due(ack);
        if updates {
            let gamma = match config.states {
                CongestionStates::Rfc => self.law.weights.gamma,
                CongestionStates::Ns3 if self.power < 0.5 => ARTIFACT_EASY_GAMMA,
                CongestionStates::Ns3 => ARTIFACT_GAMMA,
            };
            self.law.update(config, gamma, self.power);
        }
        if updates || !is_artifact {
            self.law.apply(config, window, ack);
        } else {
            // The first window stays until the first update. Between two updates, only a recovery
            // changes the window.
            self.law.wait(ack);
        }
    }

    /// Resets the gradient, because the gradient compares only round trips of one message.
    fn begin_message(&mut self, _: Time) {
        self.law.begin_message();
        self.last = None;
    }

    /// Reports the smoothed normalised power Γ of the flow.
    fn probe(&self, sink: &mut dyn FnMut(&'static str, f64)) {
        sink("power", self.power);
    }
}
