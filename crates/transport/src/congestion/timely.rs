//! TIMELY: rate by the gradient of the round-trip time (Mittal et al., SIGCOMM 2015).

use super::{AckEvent, CongestionControl, CongestionControlInfo, Window, rate};
use crate::{CongestionStates, TcpConfig};
use bufferlab_units::{BitRate, Time};

/// Registry entry.
pub(super) static INFO: CongestionControlInfo = CongestionControlInfo {
    name: "timely",
    title: "TIMELY",
    summary: "Raises the rate while the round-trip time falls and cuts it in proportion to its gradient.",
    source: "Mittal et al., SIGCOMM 2015, algorithm 1",
    uses_ecn: false,
    wants_telemetry: false,
    governs_window: true,
    starts_at_line_rate: true,
    rdma_only: false,
    build: |config, window| CongestionControl::Timely(Box::new(Timely::new(config, window))),
};

/// α: the weight of a new difference of round trips (section 5, EWMA; 0.875 in HPCC's and ABM's code).
const NEWEST: f64 = 0.875;
/// β: the multiplicative decrease (section 5).
const DECREASE: f64 = 0.8;
/// N: hyperactive increase after so many rounds without a positive gradient (section 4.3).
const PATIENCE: u32 = 5;

/// State of TIMELY.
#[derive(Clone, Debug)]
pub struct Timely {
    /// Bits per second.
    rate: f64,
    /// Smoothed difference of two round trips (ps).
    difference: f64,
    /// Round trip of the last update; zero before the first.
    last_rtt: Time,
    /// Updates in a row with a gradient that is not positive.
    calm: u32,
    /// The next update follows when a segment beyond this one is acknowledged.
    updated_at: u32,
    /// It has set a rate of its own.
    governs: bool,
}

impl Timely {
    pub(super) fn new(config: &TcpConfig, window: &mut Window) -> Self {
        let mut this = Self {
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

    /// The rate at which it sends, headers included.
    #[must_use]
    pub fn rate(&self) -> BitRate {
        BitRate(self.rate as u64)
    }

    /// One update per round trip, as in HPCC's and ABM's code: the paper's completion events are segments of 16 to 64 KB.
    /// Another message of the connection: its segments count from 0.
    pub(super) fn begin_message(&mut self) {
        self.updated_at = 0;
    }

    pub(super) fn on_ack(&mut self, config: &TcpConfig, window: &mut Window, ack: &AckEvent<'_>) {
        if ack.acknowledged > self.updated_at {
            if self.last_rtt != Time::ZERO {
                self.update(config, ack.rtt);
                self.governs = true;
            }
            self.last_rtt = ack.rtt;
            self.updated_at = ack.next;
        }
        self.apply(config, window);
    }

    /// Algorithm 1.
    fn update(&mut self, config: &TcpConfig, rtt: Time) {
        let newest = rtt.0 as f64 - self.last_rtt.0 as f64;
        self.difference = (1.0 - NEWEST) * self.difference + NEWEST * newest;
        let gradient = self.difference / config.base_rtt.0 as f64;
        if rtt < config.timely_low {
            self.calm = if config.states == CongestionStates::Ns3 { self.calm + 1 } else { 0 };
            self.rate += self.increment(config);
        } else if rtt > config.timely_high {
            self.calm = 0;
            self.rate *= 1.0 - DECREASE * (1.0 - config.timely_high.0 as f64 / rtt.0 as f64);
        } else if gradient <= 0.0 {
            self.calm += 1;
            self.rate += self.increment(config);
        } else {
            self.calm = 0;
            self.rate *= (1.0 - DECREASE * gradient).max(0.0);
        }
    }

    /// δ, or Nδ after some patience.
    fn increment(&self, config: &TcpConfig) -> f64 {
        let patience = match config.states {
            CongestionStates::Rfc => PATIENCE,
            // The public ns-3 code counts increases before this one, whatever their reason.
            CongestionStates::Ns3 => PATIENCE + 1,
        };
        if self.calm >= patience { config.timely_fast_increment } else { config.timely_increment }.0 as f64
    }

    /// A rate without a window: only the pace holds it back.
    fn apply(&mut self, config: &TcpConfig, window: &mut Window) {
        let segments = rate::segments(config, BitRate(self.rate as u64));
        let most = rate::apply(config, window, segments) / rate::segments(config, config.line_rate);
        self.rate = most * config.line_rate.0 as f64;
        // ns-3 keeps the first window until the first update.
        window.size = f64::from(if self.governs { u32::MAX } else { config.initial_window });
    }
}
