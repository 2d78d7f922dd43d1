//! DCQCN: a control that sets the rate by congestion notifications (Zhu et al., SIGCOMM 2015).
//!
//! Alpha, rate cuts and rate increases follow timers of microseconds. The control updates alpha and
//! the rate when the flow sends or receives a packet, so a flow needs no timer events. Between two
//! packets, the flow's rate has no effect.

use super::{AckEvent, CongestionControl, CongestionControlInfo, Controller, Starter, Window};
use crate::TcpConfig;
use bufferlab_params::{BuildError, Choice, ParamInfo, ParamKind, ParamValue, Params};
use bufferlab_units::{BitRate, Time};

/// Registry entry of DCQCN.
pub(super) static INFO: CongestionControlInfo = CongestionControlInfo {
    name: "dcqcn",
    aliases: &[],
    title: "DCQCN",
    summary: "Cuts the rate by congestion notifications and raises it by a timer and a byte counter; RDMA only.",
    source: "Zhu et al., SIGCOMM 2015, section 3; published sets of parameters by `parameters`",
    uses_ecn: true,
    wants_telemetry: false,
    owns_window: true,
    starts_at_line_rate: true,
    rdma_only: true,
    params: PARAMS,
    build: &build,
};

/// Default of a parameter whose value the chosen parameter set determines.
const BY_SET: ParamValue = ParamValue::Computed("the value of the set");

const fn by_set(name: &'static str, kind: ParamKind, doc: &'static str) -> ParamInfo {
    ParamInfo { name, kind, default: BY_SET, artifact_default: None, doc }
}

const SPAN: ParamKind = ParamKind::Time { min: Time(1) };
const RATE: ParamKind = ParamKind::Rate { min: BitRate(1) };
const SHARE: ParamKind = ParamKind::RatioAbove { min: 0.0, max: 1.0 };

const PARAMS: &[ParamInfo] = &[
    ParamInfo {
        name: "parameters",
        kind: ParamKind::Choice(DcqcnSet::WORDS),
        default: ParamValue::word("hpcc"),
        artifact_default: Some(ParamValue::word("reverie")),
        doc: "Published set of parameters; other parameters override single values.",
    },
    by_set("reaction", ParamKind::Choice(DcqcnReaction::WORDS), "Reaction to notifications."),
    by_set(
        "alpha_interval",
        SPAN,
        "Time without notification after which alpha falls. With timers also the time after a notification at which alpha rises.",
    ),
    by_set("decrease_interval", SPAN, "Least time between two cuts."),
    by_set("increase_interval", SPAN, "Time between two increases."),
    by_set(
        "increase_bytes",
        ParamKind::Bytes { min: 0 },
        "Bytes on the wire between two increases; 0 B for no byte counter.",
    ),
    by_set(
        "fast_recovery",
        ParamKind::Count { min: 0, max: u32::MAX as u64 },
        "F, the number of increases that halve the distance to the target before the target itself rises.",
    ),
    by_set("gain", SHARE, "g, the weight of a notification in alpha."),
    by_set("initial_alpha", SHARE, "Alpha at the first notification."),
    by_set("additive_increase", RATE, "R_AI, the additive increase of the target."),
    by_set(
        "hyper_increase",
        RATE,
        "R_HAI, the hyper increase of the target. With a byte counter, this increase is multiplied by the number of rounds.",
    ),
    by_set("min_rate", RATE, "Smallest rate."),
];

fn build(params: &Params, config: &TcpConfig) -> Result<Starter, BuildError> {
    let set = params.choice::<DcqcnSet>("parameters").parameters(config.line_rate);
    let time = |name, of_set| params.given_time(name).unwrap_or(of_set);
    let rate = |name, of_set| params.given_rate(name).unwrap_or(of_set);
    let ratio = |name, of_set| params.given_ratio(name).unwrap_or(of_set);
    let parameters = DcqcnParameters {
        reaction: params.given_choice("reaction").unwrap_or(set.reaction),
        alpha_interval: time("alpha_interval", set.alpha_interval),
        decrease_interval: time("decrease_interval", set.decrease_interval),
        increase_interval: time("increase_interval", set.increase_interval),
        increase_bytes: params.given_bytes("increase_bytes").unwrap_or(set.increase_bytes),
        fast_recovery: match params.has("fast_recovery") {
            true => params.small_count("fast_recovery"),
            false => set.fast_recovery,
        },
        gain: ratio("gain", set.gain),
        initial_alpha: ratio("initial_alpha", set.initial_alpha),
        additive_increase: rate("additive_increase", set.additive_increase),
        hyper_increase: rate("hyper_increase", set.hyper_increase),
        min_rate: rate("min_rate", set.min_rate),
    };
    Ok(Box::new(move |config, window| CongestionControl::boxed(Dcqcn::new(parameters, config, window))))
}

bufferlab_params::choices! {
    /// Reaction of DCQCN to a congestion notification.
    pub enum DcqcnReaction {
        Notification = "notification": "as in the paper: a notification cuts the rate, raises alpha, and restarts timers and counters; it has no effect within `decrease_interval` of the last cut",
        Timer = "timer": "as NICs and HPCC's and Reverie's public code do: one timer moves alpha, another cuts the rate, depending on notifications since the timer last ran; a cut keeps the target until the rate has been raised once",
    }
}

/// Parameters of the congestion control DCQCN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DcqcnParameters {
    /// Reaction of the flow to a congestion notification.
    pub reaction: DcqcnReaction,
    /// Time without notification after which alpha falls. With [`DcqcnReaction::Timer`], alpha also
    /// rises this time after a notification.
    pub alpha_interval: Time,
    /// Least time between two cuts of the rate.
    pub decrease_interval: Time,
    /// Time between two increases of the flow's rate by the timer.
    pub increase_interval: Time,
    /// Bytes on the wire between two increases of the rate. With 0, there is no byte counter.
    pub increase_bytes: u64,
    /// Number F of rate increases that halve the distance to the target rate. Then the target rate
    /// rises.
    pub fast_recovery: u32,
    /// Weight g of a notification in alpha, in (0, 1].
    pub gain: f64,
    /// Initial value of alpha, at the first notification, in (0, 1].
    pub initial_alpha: f64,
    /// Additive increase R_AI of the target rate.
    pub additive_increase: BitRate,
    /// Hyper increase R_HAI of the target rate. With a byte counter, the increase is multiplied by
    /// the number of rounds.
    pub hyper_increase: BitRate,
    /// Smallest rate of a flow with DCQCN.
    pub min_rate: BitRate,
}

bufferlab_params::choices! {
    /// DCQCN parameter sets that papers and code have published.
    #[derive(Default)]
    pub enum DcqcnSet {
        #[default]
        Hpcc = "hpcc": "HPCC's evaluation, production-like: alpha 1 us, cuts 4 us, increase 300 us; 5 and 50 Mb/s at 25 Gb/s",
        HpccPaper = "hpcc-paper": "HPCC's evaluation, \"paper\": 50 us, 50 us, 55 us; the same increases",
        Ns3Rdma = "ns3-rdma": "the authors' simulator: 55 us, 50 us, 60 us and 300 MB; 40 and 200 Mb/s",
        Paper = "paper": "SIGCOMM 2015: 55 us, 50 us, 55 us and 10 MB; 40 Mb/s (hyper increase: our choice, 5 times that)",
        Mellanox = "mellanox": "defaults of NVIDIA's cards: 1 us, 4 us, 300 us and 32767 x 64 B; 5 and 50 Mb/s",
        Reverie = "reverie": "Reverie's public evaluation: 1 us, 4 us, 900 us; 50 and 100 Mb/s",
    }
}

impl DcqcnSet {
    /// Values of a published parameter set for a host of this line rate.
    #[must_use]
    pub fn parameters(self, line_rate: BitRate) -> DcqcnParameters {
        match self {
            Self::Hpcc => hpcc(line_rate),
            Self::HpccPaper => DcqcnParameters {
                alpha_interval: Time::from_us(50),
                decrease_interval: Time::from_us(50),
                increase_interval: Time::from_us(55),
                ..hpcc(line_rate)
            },
            Self::Ns3Rdma => DcqcnParameters {
                increase_interval: Time::from_us(60),
                increase_bytes: 300_000_000,
                hyper_increase: BitRate::mbps(200),
                ..paper(line_rate)
            },
            Self::Paper => paper(line_rate),
            Self::Mellanox => DcqcnParameters {
                increase_bytes: 32_767 * 64,
                gain: 5.0 / 1_024.0,
                initial_alpha: 1_023.0 / 1_024.0,
                additive_increase: BitRate::mbps(5),
                hyper_increase: BitRate::mbps(50),
                ..hpcc(line_rate)
            },
            Self::Reverie => DcqcnParameters {
                increase_interval: Time::from_us(900),
                additive_increase: BitRate::mbps(50),
                hyper_increase: BitRate::mbps(100),
                ..hpcc(line_rate)
            },
        }
    }
}

/// Line rate for which HPCC's parameters are given. For other line rates, the parameters are scaled
/// in proportion.
const HPCC_RATE: BitRate = BitRate::gbps(25);
/// Least rate of a flow in parameter sets whose source states no least rate (100 Mb/s
/// in HPCC's and Reverie's code).
const MIN_RATE: BitRate = BitRate::mbps(100);

fn hpcc(line_rate: BitRate) -> DcqcnParameters {
    let scaled = |rate: BitRate| {
        BitRate((u128::from(rate.0) * u128::from(line_rate.0) / u128::from(HPCC_RATE.0)).max(1) as u64)
    };
    DcqcnParameters {
        reaction: DcqcnReaction::Timer,
        alpha_interval: Time::from_us(1),
        decrease_interval: Time::from_us(4),
        increase_interval: Time::from_us(300),
        increase_bytes: 0,
        fast_recovery: 1,
        gain: 1.0 / 256.0,
        initial_alpha: 1.0,
        additive_increase: scaled(BitRate::mbps(5)),
        hyper_increase: scaled(BitRate::mbps(50)),
        min_rate: MIN_RATE.min(line_rate),
    }
}

fn paper(line_rate: BitRate) -> DcqcnParameters {
    DcqcnParameters {
        reaction: DcqcnReaction::Notification,
        alpha_interval: Time::from_us(55),
        decrease_interval: Time::from_us(50),
        increase_interval: Time::from_us(55),
        increase_bytes: 10_000_000,
        fast_recovery: 5,
        gain: 1.0 / 256.0,
        initial_alpha: 1.0,
        additive_increase: BitRate::mbps(40),
        hyper_increase: BitRate::mbps(200),
        min_rate: MIN_RATE.min(line_rate),
    }
}

/// State of the congestion control DCQCN, with its parameters.
#[derive(Clone, Debug)]
pub struct Dcqcn {
    parameters: DcqcnParameters,
    state: State,
}

#[derive(Clone, Debug)]
struct State {
    /// Current rate R_C of the flow (bit/s).
    rate: f64,
    /// Target rate R_T of the flow (bit/s).
    target: f64,
    alpha: f64,
    /// Whether a notification has arrived. The timers run after the first notification.
    is_notified: bool,
    /// Whether the alpha timer still has to process a notification ([`DcqcnReaction::Timer`]).
    news_for_alpha: bool,
    news_for_rate: bool,
    alpha_due: Time,
    /// Next time at which the decrease timer expires. If the reaction uses no timers, end of the
    /// time in which no further rate cut may follow.
    decrease_due: Time,
    increase_due: Time,
    /// Number of rate increases by the timer since the last rate cut. `byte_stage` counts rate
    /// increases by the byte counter.
    timer_stage: u32,
    byte_stage: u32,
    /// Bytes sent since the last rate increase that the byte counter caused.
    bytes: u64,
}

impl Dcqcn {
    fn new(parameters: DcqcnParameters, config: &TcpConfig, window: &mut Window) -> Self {
        let rate = config.line_rate.0 as f64;
        let state = State {
            rate,
            target: rate,
            alpha: parameters.initial_alpha,
            is_notified: false,
            news_for_alpha: false,
            news_for_rate: false,
            alpha_due: Time::MAX,
            decrease_due: Time::ZERO,
            increase_due: Time::MAX,
            timer_stage: 0,
            byte_stage: 0,
            bytes: 0,
        };
        state.apply(config, window);
        Self { parameters, state }
    }
}

impl Controller for Dcqcn {
    fn on_ack(&mut self, config: &TcpConfig, window: &mut Window, ack: &AckEvent<'_>) {
        if ack.marked {
            self.state.on_notification(&self.parameters, config, window, ack.now);
        } else {
            self.state.advance(&self.parameters, config, window, ack.now);
        }
    }

    fn on_notification(&mut self, config: &TcpConfig, window: &mut Window, now: Time) {
        self.state.on_notification(&self.parameters, config, window, now);
    }

    fn on_sent(&mut self, config: &TcpConfig, window: &mut Window, now: Time, bytes: u32) {
        self.state.advance(&self.parameters, config, window, now);
        self.state.on_sent(&self.parameters, config, window, bytes);
    }

    /// Reports the rates R_C and R_T (b/s), and the estimate of congestion.
    fn probe(&self, sink: &mut dyn FnMut(&'static str, f64)) {
        sink("rate", self.state.rate);
        sink("target", self.state.target);
        sink("alpha", self.state.alpha);
    }
}

impl State {
    /// Reacts to a congestion notification as the parameter `reaction` prescribes.
    fn on_notification(&mut self, p: &DcqcnParameters, config: &TcpConfig, window: &mut Window, now: Time) {
        self.advance(p, config, window, now);
        match p.reaction {
            DcqcnReaction::Timer if self.is_notified => {
                (self.news_for_alpha, self.news_for_rate) = (true, true);
            }
            DcqcnReaction::Timer => {
                self.is_notified = true;
                self.news_for_rate = true;
                self.alpha_due = now + p.alpha_interval;
                self.decrease_due = now + p.decrease_interval;
            }
            DcqcnReaction::Notification if now >= self.decrease_due => {
                self.is_notified = true;
                self.target = self.rate;
                self.cut(p, now);
                self.alpha += p.gain * (1.0 - self.alpha);
                self.alpha_due = now + p.alpha_interval;
                self.decrease_due = now + p.decrease_interval;
                self.apply(config, window);
            }
            DcqcnReaction::Notification => {}
        }
    }

    /// Counts a sent packet of `bytes` bytes on the wire.
    fn on_sent(&mut self, p: &DcqcnParameters, config: &TcpConfig, window: &mut Window, bytes: u32) {
        if p.increase_bytes == 0 || !self.is_notified {
            return;
        }
        self.bytes += u64::from(bytes);
        if self.bytes >= p.increase_bytes {
            self.bytes -= p.increase_bytes;
            self.increase(p, config);
            self.byte_stage += 1;
            self.apply(config, window);
        }
    }

    /// Executes all expirations of DCQCN's timers up to the time `now`.
    fn advance(&mut self, p: &DcqcnParameters, config: &TcpConfig, window: &mut Window, now: Time) {
        if !self.is_notified || self.next_due(p) > now {
            return;
        }
        while self.next_due(p) <= now {
            // At one instant, DCQCN handles the alpha timer first, and handles a rate cut before a
            // rate increase.
            let due = self.next_due(p);
            if self.alpha_due == due {
                self.handle_alpha_timer(p, now);
            } else if looks_for_news(p) && self.decrease_due == due {
                self.handle_decrease_timer(p, now);
            } else {
                self.increase(p, config);
                self.timer_stage += 1;
                self.increase_due += p.increase_interval;
            }
        }
        self.apply(config, window);
    }

    fn next_due(&self, p: &DcqcnParameters) -> Time {
        let look = if looks_for_news(p) { self.decrease_due } else { Time::MAX };
        self.alpha_due.min(look).min(self.increase_due)
    }

    fn handle_alpha_timer(&mut self, p: &DcqcnParameters, now: Time) {
        if std::mem::take(&mut self.news_for_alpha) {
            self.alpha += p.gain * (1.0 - self.alpha);
            self.alpha_due += p.alpha_interval;
            return;
        }
        // Without notifications, alpha falls by one factor per step, so one product applies all
        // steps. A rate cut, however, must use the value of alpha at the time of the cut.
        let until = if self.news_for_rate { now.min(self.decrease_due) } else { now };
        let steps = (until - self.alpha_due).0 / p.alpha_interval.0 + 1;
        self.alpha *= power(1.0 - p.gain, steps);
        self.alpha_due += Time(p.alpha_interval.0 * steps);
    }

    fn handle_decrease_timer(&mut self, p: &DcqcnParameters, now: Time) {
        if std::mem::take(&mut self.news_for_rate) {
            if self.timer_stage > 0 || self.byte_stage > 0 {
                self.target = self.rate;
            }
            let at = self.decrease_due;
            self.cut(p, at);
            self.decrease_due += p.decrease_interval;
        } else {
            let steps = (now - self.decrease_due).0 / p.decrease_interval.0 + 1;
            self.decrease_due += Time(p.decrease_interval.0 * steps);
        }
    }

    fn cut(&mut self, p: &DcqcnParameters, at: Time) {
        self.rate = (self.rate * (1.0 - self.alpha / 2.0)).max(p.min_rate.0 as f64);
        (self.timer_stage, self.byte_stage, self.bytes) = (0, 0, 0);
        self.increase_due = at + p.increase_interval;
    }

    /// Applies a rate increase by the timer or the byte counter. The caller then increments the
    /// stage of the timer or byte counter.
    fn increase(&mut self, p: &DcqcnParameters, config: &TcpConfig) {
        let (timer, bytes) = (self.timer_stage, self.byte_stage);
        let (most, least) =
            if p.increase_bytes == 0 { (timer, timer) } else { (timer.max(bytes), timer.min(bytes)) };
        if most >= p.fast_recovery {
            let step = if least > p.fast_recovery {
                let round = if p.increase_bytes == 0 { 1 } else { least - p.fast_recovery };
                p.hyper_increase.0 as f64 * f64::from(round)
            } else {
                p.additive_increase.0 as f64
            };
            self.target = (self.target + step).min(config.line_rate.0 as f64);
        }
        self.rate = (self.rate + self.target) / 2.0;
    }

    /// Sets the rate of a flow without a window: only the pace limits the flow.
    fn apply(&self, config: &TcpConfig, window: &mut Window) {
        window.size = f64::from(u32::MAX);
        // At line rate the NIC limits the rate, so the flow needs no pace.
        let is_full = self.rate >= config.line_rate.0 as f64;
        let bits = 8e12 * f64::from(config.segment_wire_bytes + config.uncounted_wire_bytes);
        window.pacing_gap = if is_full { Time::ZERO } else { Time((bits / self.rate) as u64) };
    }
}

/// Whether the reaction to notifications waits for a timer.
fn looks_for_news(p: &DcqcnParameters) -> bool {
    p.reaction == DcqcnReaction::Timer
}

/// `base` to the power of `exponent`, rounded identically on every machine.
fn power(base: f64, exponent: u64) -> f64 {
    let (mut result, mut square, mut left) = (1.0, base, exponent);
    while left > 0 {
        if left & 1 == 1 {
            result *= square;
        }
        square *= square;
        left >>= 1;
    }
    result
}
