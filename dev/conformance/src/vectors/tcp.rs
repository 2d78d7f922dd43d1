//! Reads the TCP parameters of a case from a vector file.

use super::values::parse_time;
use bufferlab_transport::{CongestionStates, LastResort, TcpConfig};
use bufferlab_units::Time;
use serde::Deserialize;

/// Key `tcp` of a case, as written in the file: parameters that differ from the defaults.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct TcpText {
    initial_window: Option<u32>,
    first_flight_limit: Option<u32>,
    min_rto: Option<String>,
    initial_rto: Option<String>,
    max_rto: Option<String>,
    duplicate_threshold: Option<u32>,
    limited_transmit: Option<bool>,
    proportional_rate_reduction: Option<bool>,
    last_resort: Option<String>,
    states: Option<String>,
    handshake: Option<bool>,
    burst_segments: Option<u32>,
    ack_every: Option<u32>,
    delayed_ack_timeout: Option<String>,
}

impl TcpText {
    pub(super) fn config(&self) -> Result<TcpConfig, String> {
        let base = TcpConfig::default();
        let time = |text: &Option<String>, default: Time| match text {
            None => Ok(default),
            Some(text) => {
                parse_time(text).ok_or_else(|| format!("\"{text}\"; expected a time such as \"10 ms\""))
            }
        };
        let last_resort = match self.last_resort.as_deref() {
            None => base.last_resort,
            Some("below-highest-sack") => LastResort::BelowHighestSack,
            Some("everything") => LastResort::Everything,
            Some(other) => return Err(format!("there is no last_resort \"{other}\"")),
        };
        let states = match self.states.as_deref() {
            None => base.states,
            Some("rfc") => CongestionStates::Rfc,
            Some("ns3") => CongestionStates::Ns3,
            Some(other) => return Err(format!("there are no states \"{other}\"")),
        };
        Ok(TcpConfig {
            initial_window: self.initial_window.unwrap_or(base.initial_window),
            first_flight_limit: self.first_flight_limit.unwrap_or(base.first_flight_limit),
            min_rto: time(&self.min_rto, base.min_rto)?,
            initial_rto: time(&self.initial_rto, base.initial_rto)?,
            max_rto: time(&self.max_rto, base.max_rto)?,
            duplicate_threshold: self.duplicate_threshold.unwrap_or(base.duplicate_threshold),
            limited_transmit: self.limited_transmit.unwrap_or(base.limited_transmit),
            proportional_rate_reduction: self
                .proportional_rate_reduction
                .unwrap_or(base.proportional_rate_reduction),
            last_resort,
            states,
            handshake: self.handshake.unwrap_or(base.handshake),
            burst_segments: self.burst_segments.unwrap_or(base.burst_segments),
            ack_every: self.ack_every.unwrap_or(base.ack_every),
            delayed_ack_timeout: time(&self.delayed_ack_timeout, base.delayed_ack_timeout)?,
            ..base
        })
    }
}
