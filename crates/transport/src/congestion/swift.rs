//! Swift: the window follows the delay's distance from a target (Kumar et al., SIGCOMM 2020).

use super::{
    AckEvent, CongestionControl, CongestionControlInfo, CongestionEvent, Controller, Starter, Window,
};
use crate::TcpConfig;
use bufferlab_params::{BuildError, ParamInfo, ParamKind, ParamValue, Params};
use bufferlab_units::Time;

/// Registry entry of Swift.
pub(super) static INFO: CongestionControlInfo = CongestionControlInfo {
    name: "swift",
    aliases: &[],
    title: "Swift",
    summary: "Additive increase below a target delay, decrease in proportion to the excess above it; paces windows below one packet.",
    source: "Kumar et al., SIGCOMM 2020, algorithm 1; constants of the public htsim code, which calls them guesses",
    uses_ecn: false,
    wants_telemetry: false,
    owns_window: true,
    starts_at_line_rate: false,
    rdma_only: false,
    params: PARAMS,
    build: &build,
};

const PARAMS: &[ParamInfo] = &[ParamInfo {
    name: "target",
    kind: ParamKind::Time { min: Time(1) },
    default: ParamValue::Computed("5/4 of `base_rtt`"),
    artifact_default: None,
    doc: "Base target delay. Default: our choice, because the paper's 25 us suit only its network.",
}];

/// Default of Swift's target delay, as a multiple of the base round trip.
const TARGET: (u64, u64) = (5, 4);

fn build(params: &Params, config: &TcpConfig) -> Result<Starter, BuildError> {
    let computed = Time(config.base_rtt.0 * TARGET.0 / TARGET.1);
    let target = params.given_time("target").unwrap_or(computed);
    Ok(Box::new(move |config, window| CongestionControl::boxed(Swift::new(target, config, window))))
}

/// Additive increase ai (segments per round trip).
const INCREASE: f64 = 1.0;
/// Weight β of the relative excess of the delay, (delay − target) / delay.
const DECREASE: f64 = 0.8;
/// Largest single decrease max_mdf of the window.
const DEEPEST: f64 = 0.5;
/// Windows fs_min and fs_max between which the target delay scales (segments).
const SCALING: (f64, f64) = (0.1, 100.0);
/// Range fs_range of the target delay as a multiple of the base target.
const SCALING_RANGE: f64 = 5.0;
/// Smallest window (segments). The value is a choice of bufferlab, because the paper states no
/// smallest window.
const SMALLEST: f64 = 0.001;
/// Number of consecutive timeouts that reset the window to the smallest (RETX_RESET_THRESHOLD).
const TIMEOUTS_TO_RESET: u32 = 5;

/// State of the congestion control Swift.
#[derive(Clone, Debug)]
pub struct Swift {
    /// Window of the flow (segments). The window may be less than one segment.
    window: f64,
    /// Base target delay, before the scaling by the window.
    base_target: Time,
    last_decrease: Time,
    last_rtt: Time,
    timeouts: u32,
}

impl Swift {
    fn new(base_target: Time, config: &TcpConfig, window: &mut Window) -> Self {
        let mut this = Self {
            base_target,
            window: f64::from(config.initial_window).min(window.size.max(1.0)),
            last_decrease: Time::ZERO,
            last_rtt: config.base_rtt,
            timeouts: 0,
        };
        this.apply(window);
        this
    }

    /// Target delay of Swift: the base target, plus an amount that is larger for smaller windows.
    /// With one target for all windows, many small flows would compete for a queue that cannot be
    /// kept short (section 3.5 of the Swift paper). The paper's addition per hop is omitted,
    /// because the base target includes the path's base round trip.
    fn target(&self) -> Time {
        let range = SCALING_RANGE * self.base_target.0 as f64;
        let (least, most) = SCALING;
        let slope = range / (1.0 / least.sqrt() - 1.0 / most.sqrt());
        let more = (slope / self.window.sqrt() - slope / most.sqrt()).clamp(0.0, range);
        self.base_target + Time(more as u64)
    }

    /// Whether Swift may decrease the window: at most one decrease per round trip.
    fn may_decrease(&self, now: Time) -> bool {
        now.saturating_sub(self.last_decrease) >= self.last_rtt
    }

    fn decrease(&mut self, factor: f64, now: Time) {
        self.window *= factor;
        self.last_decrease = now;
    }

    fn apply(&mut self, window: &mut Window) {
        self.window = self.window.max(SMALLEST);
        window.size = self.window.max(1.0);
        window.pacing_gap =
            if self.window < 1.0 { Time((self.last_rtt.0 as f64 / self.window) as u64) } else { Time::ZERO };
    }
}

impl Controller for Swift {
    fn on_ack(&mut self, _: &TcpConfig, window: &mut Window, ack: &AckEvent<'_>) {
        self.timeouts = 0;
        self.last_rtt = ack.rtt;
        let target = self.target();
        let acked = f64::from(ack.delivered);
        if ack.rtt < target {
            if ack.may_grow {
                self.window +=
                    if self.window >= 1.0 { INCREASE * acked / self.window } else { INCREASE * acked };
            }
        } else if self.may_decrease(ack.now) {
            let excess = (ack.rtt - target).0 as f64 / ack.rtt.0 as f64;
            self.decrease((1.0 - DECREASE * excess).max(1.0 - DEEPEST), ack.now);
        }
        self.apply(window);
    }

    fn on_congestion(
        &mut self,
        _: &TcpConfig,
        window: &mut Window,
        event: CongestionEvent,
        _: u32,
        now: Time,
    ) {
        match event {
            // Swift does not react to congestion marks.
            CongestionEvent::Mark => return,
            CongestionEvent::Timeout if self.timeouts + 1 >= TIMEOUTS_TO_RESET => self.window = SMALLEST,
            CongestionEvent::Loss | CongestionEvent::Timeout if self.may_decrease(now) => {
                self.decrease(1.0 - DEEPEST, now);
            }
            _ => {}
        }
        self.timeouts += u32::from(event == CongestionEvent::Timeout);
        self.apply(window);
    }

    /// Reports the window (segments), which is below 1 if the flow is paced,
    /// and the target delay (ps).
    fn probe(&self, sink: &mut dyn FnMut(&'static str, f64)) {
        sink("window", self.window);
        sink("target", self.target().0 as f64);
    }
}
