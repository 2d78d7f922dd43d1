//! DCQCN: rate by congestion notifications (Zhu et al., SIGCOMM 2015).
//!
//! Alpha, cuts and increases follow timers of microseconds. They are brought up to date when the flow sends or hears something, so a flow needs
//! no timer event: between two such moments nobody sees its rate.

use super::{AckEvent, CongestionControl, CongestionControlInfo, Window};
use crate::TcpConfig;
use bufferlab_units::{BitRate, Time};

/// Registry entry.
pub(super) static INFO: CongestionControlInfo = CongestionControlInfo {
    name: "dcqcn",
    title: "DCQCN",
    summary: "Cuts the rate by congestion notifications and raises it by a timer and a byte counter; RDMA only.",
    source: "Zhu et al., SIGCOMM 2015, section 3; parameter sets by `dcqcn_parameters`",
    uses_ecn: true,
    wants_telemetry: false,
    governs_window: true,
    starts_at_line_rate: true,
    rdma_only: true,
    build: |config, window| CongestionControl::Dcqcn(Box::new(Dcqcn::new(config, window))),
};

/// When DCQCN reacts to notifications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DcqcnReaction {
    /// As in the paper: a notification cuts the rate, then raises alpha, and restarts timers and counters. Notifications within
    /// `decrease_interval` of the last cut have no effect.
    Notification,
    /// As network cards do (and HPCC's and Reverie's public code): timers look whether a notification has come since they last looked. One moves
    /// alpha up or down, the other cuts the rate. The target stays where it was until the rate has been raised once.
    Timer,
}

/// Parameters of DCQCN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DcqcnParameters {
    /// When it reacts.
    pub reaction: DcqcnReaction,
    /// Time without notification after which alpha falls; with [`DcqcnReaction::Timer`] also the time after which it rises.
    pub alpha_interval: Time,
    /// Least time between two cuts.
    pub decrease_interval: Time,
    /// Time between two increases.
    pub increase_interval: Time,
    /// Bytes on the wire between two increases; 0: no byte counter.
    pub increase_bytes: u64,
    /// F: increases that halve the distance to the target before the target itself rises.
    pub fast_recovery: u32,
    /// g, in (0, 1].
    pub gain: f64,
    /// Alpha at the first notification, in (0, 1].
    pub initial_alpha: f64,
    /// R_AI, additive increase of the target.
    pub additive_increase: BitRate,
    /// R_HAI, its hyper increase. With a byte counter multiplied by the number of rounds.
    pub hyper_increase: BitRate,
    /// No rate below this.
    pub min_rate: BitRate,
}

/// A published set of parameters.
#[derive(Debug)]
pub struct DcqcnSet {
    /// Name in scenario files.
    pub name: &'static str,
    /// What it is and where it comes from, in one line.
    pub summary: &'static str,
    /// For a host of this line rate.
    pub build: fn(BitRate) -> DcqcnParameters,
}

/// Every set, for scenario files and documentation.
pub static DCQCN_SETS: &[DcqcnSet] = &[
    DcqcnSet {
        name: "hpcc",
        summary: "HPCC's evaluation, production-like: alpha 1 us, cuts 4 us, increase 300 us; 5 and 50 Mb/s at 25 Gb/s",
        build: hpcc,
    },
    DcqcnSet {
        name: "hpcc-paper",
        summary: "HPCC's evaluation, \"paper\": 50 us, 50 us, 55 us; the same increases",
        build: |rate| DcqcnParameters {
            alpha_interval: Time::from_us(50),
            decrease_interval: Time::from_us(50),
            increase_interval: Time::from_us(55),
            ..hpcc(rate)
        },
    },
    DcqcnSet {
        name: "ns3-rdma",
        summary: "the authors' simulator: 55 us, 50 us, 60 us and 300 MB; 40 and 200 Mb/s",
        build: |rate| DcqcnParameters {
            increase_interval: Time::from_us(60),
            increase_bytes: 300_000_000,
            hyper_increase: BitRate::mbps(200),
            ..paper(rate)
        },
    },
    DcqcnSet {
        name: "paper",
        summary: "SIGCOMM 2015: 55 us, 50 us, 55 us and 10 MB; 40 Mb/s (hyper increase: our choice, 5 times that)",
        build: paper,
    },
    DcqcnSet {
        name: "mellanox",
        summary: "defaults of NVIDIA's cards: 1 us, 4 us, 300 us and 32767 x 64 B; 5 and 50 Mb/s",
        build: |rate| DcqcnParameters {
            increase_bytes: 32_767 * 64,
            gain: 5.0 / 1_024.0,
            initial_alpha: 1_023.0 / 1_024.0,
            additive_increase: BitRate::mbps(5),
            hyper_increase: BitRate::mbps(50),
            ..hpcc(rate)
        },
    },
    DcqcnSet {
        name: "reverie",
        summary: "Reverie's public evaluation: 1 us, 4 us, 900 us; 50 and 100 Mb/s",
        build: |rate| DcqcnParameters {
            increase_interval: Time::from_us(900),
            additive_increase: BitRate::mbps(50),
            hyper_increase: BitRate::mbps(100),
            ..hpcc(rate)
        },
    },
];

/// The set called `name`.
#[must_use]
pub fn find_dcqcn_set(name: &str) -> Option<&'static DcqcnSet> {
    DCQCN_SETS.iter().find(|set| set.name == name)
}

/// Rates of HPCC's evaluation are those at 25 Gb/s, in proportion.
const HPCC_RATE: BitRate = BitRate::gbps(25);
/// What our sets have where their source names no least rate (HPCC's and Reverie's code: 100 Mb/s).
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

/// State of DCQCN.
#[derive(Clone, Debug)]
pub struct Dcqcn {
    /// R_C (bit/s).
    rate: f64,
    /// R_T (bit/s).
    target: f64,
    alpha: f64,
    /// A notification has come at some time: timers run.
    is_notified: bool,
    /// With [`DcqcnReaction::Timer`]: a notification that this timer has not seen yet.
    news_for_alpha: bool,
    news_for_rate: bool,
    alpha_due: Time,
    /// With timers: the next look; else the end of the time in which no cut may follow.
    decrease_due: Time,
    increase_due: Time,
    /// Increases by timer and by byte counter since the last cut.
    timer_stage: u32,
    byte_stage: u32,
    /// Sent since the last increase by byte counter.
    bytes: u64,
}

impl Dcqcn {
    pub(super) fn new(config: &TcpConfig, window: &mut Window) -> Self {
        let rate = config.line_rate.0 as f64;
        let this = Self {
            rate,
            target: rate,
            alpha: config.dcqcn.initial_alpha,
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
        this.apply(config, window);
        this
    }

    /// R_C: the rate at which it sends, headers included.
    #[must_use]
    pub fn rate(&self) -> BitRate {
        BitRate(self.rate as u64)
    }

    /// R_T.
    #[must_use]
    pub fn target(&self) -> BitRate {
        BitRate(self.target as u64)
    }

    /// The estimate of congestion.
    #[must_use]
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    pub(super) fn on_ack(&mut self, config: &TcpConfig, window: &mut Window, ack: &AckEvent<'_>) {
        if ack.marked {
            self.on_notification(config, window, ack.now);
        } else {
            self.advance(config, window, ack.now);
        }
    }

    /// A congestion notification has come.
    pub(super) fn on_notification(&mut self, config: &TcpConfig, window: &mut Window, now: Time) {
        let p = &config.dcqcn;
        self.advance(config, window, now);
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
                self.cut(config, now);
                self.alpha += p.gain * (1.0 - self.alpha);
                self.alpha_due = now + p.alpha_interval;
                self.decrease_due = now + p.decrease_interval;
                self.apply(config, window);
            }
            DcqcnReaction::Notification => {}
        }
    }

    /// A packet of `bytes` on the wire is sent.
    pub(super) fn on_sent(&mut self, config: &TcpConfig, window: &mut Window, bytes: u32) {
        let p = &config.dcqcn;
        if p.increase_bytes == 0 || !self.is_notified {
            return;
        }
        self.bytes += u64::from(bytes);
        if self.bytes >= p.increase_bytes {
            self.bytes -= p.increase_bytes;
            self.increase(config);
            self.byte_stage += 1;
            self.apply(config, window);
        }
    }

    /// Lets the timers run up to `now`.
    pub(super) fn advance(&mut self, config: &TcpConfig, window: &mut Window, now: Time) {
        if !self.is_notified || self.next_due(config) > now {
            return;
        }
        while self.next_due(config) <= now {
            // At one instant alpha comes first, and a cut before an increase.
            let due = self.next_due(config);
            if self.alpha_due == due {
                self.handle_alpha_timer(config, now);
            } else if self.looks_for_news(config) && self.decrease_due == due {
                self.handle_decrease_timer(config, now);
            } else {
                self.increase(config);
                self.timer_stage += 1;
                self.increase_due += config.dcqcn.increase_interval;
            }
        }
        self.apply(config, window);
    }

    fn looks_for_news(&self, config: &TcpConfig) -> bool {
        config.dcqcn.reaction == DcqcnReaction::Timer
    }

    fn next_due(&self, config: &TcpConfig) -> Time {
        let look = if self.looks_for_news(config) { self.decrease_due } else { Time::MAX };
        self.alpha_due.min(look).min(self.increase_due)
    }

    fn handle_alpha_timer(&mut self, config: &TcpConfig, now: Time) {
        let p = &config.dcqcn;
        if std::mem::take(&mut self.news_for_alpha) {
            self.alpha += p.gain * (1.0 - self.alpha);
            self.alpha_due += p.alpha_interval;
            return;
        }
        // Without news one step is like the next; but a cut must find alpha as it is then.
        let until = if self.news_for_rate { now.min(self.decrease_due) } else { now };
        let steps = (until - self.alpha_due).0 / p.alpha_interval.0 + 1;
        self.alpha *= power(1.0 - p.gain, steps);
        self.alpha_due += Time(p.alpha_interval.0 * steps);
    }

    fn handle_decrease_timer(&mut self, config: &TcpConfig, now: Time) {
        let p = &config.dcqcn;
        if std::mem::take(&mut self.news_for_rate) {
            if self.timer_stage > 0 || self.byte_stage > 0 {
                self.target = self.rate;
            }
            let at = self.decrease_due;
            self.cut(config, at);
            self.decrease_due += p.decrease_interval;
        } else {
            let steps = (now - self.decrease_due).0 / p.decrease_interval.0 + 1;
            self.decrease_due += Time(p.decrease_interval.0 * steps);
        }
    }

    fn cut(&mut self, config: &TcpConfig, at: Time) {
        let p = &config.dcqcn;
        self.rate = (self.rate * (1.0 - self.alpha / 2.0)).max(p.min_rate.0 as f64);
        (self.timer_stage, self.byte_stage, self.bytes) = (0, 0, 0);
        self.increase_due = at + p.increase_interval;
    }

    /// An increase by timer or byte counter, whose stage counts up afterwards.
    fn increase(&mut self, config: &TcpConfig) {
        let p = &config.dcqcn;
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

    /// A rate without a window: only the pace holds it back.
    fn apply(&self, config: &TcpConfig, window: &mut Window) {
        window.size = f64::from(u32::MAX);
        // At line rate the card is the limit.
        let is_full = self.rate >= config.line_rate.0 as f64;
        let bits = 8e12 * f64::from(config.segment_wire_bytes + config.uncounted_wire_bytes);
        window.pacing_gap = if is_full { Time::ZERO } else { Time((bits / self.rate) as u64) };
    }
}

/// `base` to the power of `exponent`, with the same rounding on every machine.
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
