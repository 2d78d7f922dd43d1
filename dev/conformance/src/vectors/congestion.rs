//! Vectors of congestion controls: the effect of an ACK, a mark, a loss, switch telemetry or a
//! congestion notification on a flow's window and pace.
//!
//! Every congestion control has a file `testdata/congestion/<name>.toml`. To test a custom
//! congestion control, write a [`Controller`] and call [`ControlCase::run`].
//!
//! ```toml
//! [[case]]
//! name = "a mark cuts the window by half of alpha"
//! source = "RFC 8257 section 3.3, step 9: 100 (1 - 0.5/2)"
//! control = "dctcp"
//! params = { initial_alpha = 0.5 }
//! first_window = 100
//! steps = [
//!   { congestion = "mark", flight = 100, window = 75, threshold = 75 },
//! ]
//! ```
//!
//! # Case
//!
//! | key | meaning |
//! |---|---|
//! | `name`, `source` | The claim in plain words; the RFC or paper and its section, or the calculation. |
//! | `control`, `params` | Registry name of the congestion control; parameters that differ from the defaults. Times and rates are texts such as `"80 us"` and `"10 Gb/s"`. |
//! | `profile` | `"paper"` (default) or `"artifact"`, which also selects the congestion states of ns-3. |
//! | `path` | `line_rate` (`"10 Gb/s"`), `base_rtt` (`"80 us"`) and `segment`, the bytes of a full segment on the wire (1000): a bandwidth-delay product of 100 segments. |
//! | `first_window` | First window of the flow, in segments (100). |
//! | `steps` | Steps of the case, in order. |
//!
//! # Step
//!
//! Each step of a case has at most one event, then expectations.
//!
//! | key | meaning |
//! |---|---|
//! | `at_us` | Time of the step, not before the previous step; default: time of the previous step. |
//! | `ack` | An ACK newly acknowledges this number of segments. |
//! | `rtt_us`, `marked`, `may_grow` | Round-trip time of the ACK (the base round trip), whether the ACK echoes a mark (false), whether the window may grow (true). |
//! | `round` | Whether the ACK begins a round, as the first ACK of a segment sent after the previous round began (false). |
//! | `acknowledged`, `next` | Alternative to `round`: number of segments acknowledged so far, and number of the next new segment; `next` stays in effect. |
//! | `telemetry` | Reports of the switches along the path, in order: `[{ port, at_us, queue, sent, rate }]`, bytes in the queue and bytes that the port has sent; default of `rate`: the line rate. |
//! | `congestion` | `"loss"`, `"mark"` or `"timeout"`, with `flight` segments in the network. For a congestion control that does not govern its window, the window is then the threshold; after a timeout, one segment. |
//! | `notification` | A congestion notification arrives in a separate frame. |
//! | `sent` | The NIC sends a packet of this size (bytes). |
//! | `repeat` | Number of repetitions of the event (1). |
//! | `window`, `threshold` | Window and slow-start threshold in segments; `inf` means no threshold. |
//! | `paced_window` | Base round trip divided by the gap between two segments: the effective window of a congestion control that sets a rate. `inf` means that there is no gap. |
//! | `probes` | Internal state by the names of the congestion control's probes. |
//! | `tolerance` | Accepted relative deviation (0.00001). |

use super::read::{Complaint, Head, LoadError, Mismatch, VectorCase, Written, cases};
use super::values::{given, parse_rate, parse_time};
use bufferlab_core::{ParamValue, Profile};
use bufferlab_transport::{
    AckEvent, CongestionControl, CongestionControlInfo, CongestionEvent, CongestionStates, Controller,
    HopReport, TcpConfig, Window, find_congestion_control,
};
use bufferlab_units::{BitRate, Time};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

/// Relative tolerance of windows and rates, because gaps between packets are rounded to whole
/// picoseconds.
const TOLERANCE: f64 = 1e-5;
/// Number of segments per round, unless a step gives another number.
const ROUND: u32 = 1_000;

/// A test case of a congestion control: events, and the expected window and pace.
#[derive(Clone, Debug)]
pub struct ControlCase {
    /// Claim that the case tests, and source of the expected numbers.
    pub head: Head,
    /// Congestion control under test.
    pub control: &'static CongestionControlInfo,
    /// Parameters of the congestion control that differ from the defaults.
    pub params: Vec<(String, ParamValue)>,
    /// Profile (`paper` or `artifact`) for details that the paper does not define.
    pub profile: Profile,
    /// Parameters of the flow's transport and path.
    pub config: TcpConfig,
    steps: Vec<Step>,
}

#[derive(Clone, Debug)]
struct Step {
    line: usize,
    at: Option<Time>,
    event: ControlInput,
    repeat: u64,
    window: Option<f64>,
    threshold: Option<f64>,
    paced_window: Option<f64>,
    probes: BTreeMap<String, f64>,
    tolerance: f64,
}

#[derive(Clone, Debug)]
enum ControlInput {
    None,
    Ack(AckText),
    Congestion(CongestionEvent, u32),
    Notification,
    Sent(u32),
}

#[derive(Clone, Debug)]
struct AckText {
    delivered: u32,
    rtt: Option<Time>,
    marked: bool,
    may_grow: bool,
    round: bool,
    acknowledged: Option<u32>,
    next: Option<u32>,
    telemetry: Vec<HopReport>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseText {
    name: String,
    source: String,
    control: String,
    #[serde(default)]
    params: toml::Table,
    profile: Option<String>,
    #[serde(default)]
    path: PathText,
    first_window: Option<u32>,
    steps: Vec<Spanned<StepText>>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct PathText {
    line_rate: Option<String>,
    base_rtt: Option<String>,
    segment: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReportText {
    port: u32,
    at_us: f64,
    queue: u32,
    sent: u64,
    rate: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepText {
    at_us: Option<f64>,
    ack: Option<u32>,
    rtt_us: Option<f64>,
    #[serde(default)]
    marked: bool,
    may_grow: Option<bool>,
    #[serde(default)]
    round: bool,
    acknowledged: Option<u32>,
    next: Option<u32>,
    #[serde(default)]
    telemetry: Vec<ReportText>,
    congestion: Option<String>,
    flight: Option<u32>,
    #[serde(default)]
    notification: bool,
    sent: Option<u32>,
    repeat: Option<u64>,
    window: Option<f64>,
    threshold: Option<f64>,
    paced_window: Option<f64>,
    #[serde(default)]
    probes: BTreeMap<String, f64>,
    tolerance: Option<f64>,
}

impl VectorCase for ControlCase {
    fn parse(file: &str, text: &str) -> Result<Vec<Self>, LoadError> {
        cases::<CaseText>(file, text)
    }
}

impl Written for CaseText {
    type Case = ControlCase;

    fn claim(&self) -> (&str, &str) {
        (&self.name, &self.source)
    }

    fn resolve(self, head: Head, line_at: &dyn Fn(usize) -> usize) -> Result<ControlCase, Complaint> {
        let here = |what: String| (head.line, what);
        let control = find_congestion_control(&self.control)
            .ok_or_else(|| here(format!("no congestion control is called \"{}\"", self.control)))?;
        let (profile, states) = match self.profile.as_deref() {
            None | Some("paper") => (Profile::Paper, CongestionStates::Rfc),
            Some("artifact") => (Profile::Artifact, CongestionStates::Ns3),
            Some(other) => return Err(here(format!("profile \"{other}\"; expected paper or artifact"))),
        };
        let params = given("", (control.name, control.params), &self.params).map_err(here)?;
        let config = TcpConfig {
            states,
            initial_window: self.first_window.unwrap_or(100),
            ..self.path.config().map_err(here)?
        };
        control
            .configure_with(profile, &params, &config)
            .map_err(|error| here(format!("{}: {error}", control.name)))?;
        let steps = self.steps.into_iter().map(|step| {
            let line = line_at(step.span().start);
            step.into_inner().resolve(line, config.line_rate).map_err(|what| (line, what))
        });
        let steps = steps.collect::<Result<_, _>>()?;
        Ok(ControlCase { control, params, profile, config, steps, head })
    }
}

impl PathText {
    fn config(&self) -> Result<TcpConfig, String> {
        Ok(TcpConfig {
            line_rate: self.line_rate.as_deref().map_or(Ok(BitRate::gbps(10)), rate)?,
            base_rtt: match self.base_rtt.as_deref() {
                None => Time::from_us(80),
                Some(text) => parse_time(text)
                    .ok_or_else(|| format!("\"{text}\"; expected a time such as \"80 us\""))?,
            },
            segment_wire_bytes: self.segment.unwrap_or(1_000),
            ..TcpConfig::default()
        })
    }
}

fn rate(text: &str) -> Result<BitRate, String> {
    parse_rate(text).ok_or_else(|| format!("\"{text}\"; expected a rate such as \"10 Gb/s\""))
}

fn micros(value: f64) -> Time {
    Time((value * 1e6).round() as u64)
}

impl StepText {
    fn resolve(self, line: usize, line_rate: BitRate) -> Result<Step, String> {
        let events = [self.ack.is_some(), self.congestion.is_some(), self.notification, self.sent.is_some()];
        if events.into_iter().filter(|&is_there| is_there).count() > 1 {
            return Err("a step is one of ack, congestion, notification and sent".to_owned());
        }
        let of_ack = self.rtt_us.is_some()
            || self.marked
            || self.may_grow.is_some()
            || self.round
            || self.acknowledged.is_some()
            || self.next.is_some()
            || !self.telemetry.is_empty();
        if of_ack && self.ack.is_none() {
            return Err(
                "rtt_us, marked, may_grow, round, acknowledged, next and telemetry belong to an ack".into()
            );
        }
        if self.congestion.is_some() != self.flight.is_some() {
            return Err("congestion and flight belong together".to_owned());
        }
        let event = match (self.ack, self.congestion.as_deref(), self.sent) {
            (Some(delivered), ..) => ControlInput::Ack(AckText {
                delivered,
                rtt: self.rtt_us.map(micros),
                marked: self.marked,
                may_grow: self.may_grow.unwrap_or(true),
                round: self.round,
                acknowledged: self.acknowledged,
                next: self.next,
                telemetry: reports(&self.telemetry, line_rate)?,
            }),
            (_, Some(name), _) => {
                let event = match name {
                    "loss" => CongestionEvent::Loss,
                    "mark" => CongestionEvent::Mark,
                    "timeout" => CongestionEvent::Timeout,
                    other => return Err(format!("congestion = \"{other}\"; expected loss, mark or timeout")),
                };
                ControlInput::Congestion(event, self.flight.unwrap_or_default())
            }
            (_, _, Some(bytes)) => ControlInput::Sent(bytes),
            _ if self.notification => ControlInput::Notification,
            _ => ControlInput::None,
        };
        Ok(Step {
            line,
            at: self.at_us.map(micros),
            event,
            repeat: self.repeat.unwrap_or(1),
            window: self.window,
            threshold: self.threshold,
            paced_window: self.paced_window,
            probes: self.probes,
            tolerance: self.tolerance.unwrap_or(TOLERANCE),
        })
    }
}

fn reports(list: &[ReportText], line_rate: BitRate) -> Result<Vec<HopReport>, String> {
    let report = |text: &ReportText| {
        Ok(HopReport {
            queue_bytes: text.queue,
            port: text.port,
            sent_bytes: text.sent,
            at: micros(text.at_us),
            rate: text.rate.as_deref().map_or(Ok(line_rate), rate)?,
        })
    };
    list.iter().map(report).collect()
}

/// Flow that calls the congestion control of a case.
struct Flow<'a> {
    config: &'a TcpConfig,
    control: CongestionControl,
    governs: bool,
    window: Window,
    now: Time,
    acknowledged: u32,
    next: u32,
}

impl ControlCase {
    /// Runs the case with the registered congestion control.
    ///
    /// # Errors
    /// The first expectation that the control does not meet.
    pub fn run_registered(&self) -> Result<(), Mismatch> {
        let configured = self.control.configure_with(self.profile, &self.params, &self.config);
        let configured =
            configured.map_err(|error| self.head.mismatch(self.head.line, 0, error.to_string()))?;
        self.play(|config, window| configured.start(config, window))
    }

    /// Runs the case with another implementation of the congestion control. `build` receives the
    /// flow's configuration and first window.
    ///
    /// # Errors
    /// The first expectation that the control does not meet.
    pub fn run<C: Controller + 'static>(
        &self,
        build: impl FnOnce(&TcpConfig, &mut Window) -> C,
    ) -> Result<(), Mismatch> {
        self.play(|config, window| CongestionControl::boxed(build(config, window)))
    }

    fn play(&self, build: impl FnOnce(&TcpConfig, &mut Window) -> CongestionControl) -> Result<(), Mismatch> {
        let size = f64::from(self.config.initial_window);
        let mut window = Window { size, slow_start_threshold: f64::INFINITY, pacing_gap: Time::ZERO };
        let control = build(&self.config, &mut window);
        let governs = self.control.owns_window;
        let config = &self.config;
        let mut flow =
            Flow { config, control, governs, window, now: Time::ZERO, acknowledged: 0, next: ROUND };
        for (index, step) in self.steps.iter().enumerate() {
            let result = flow.step(step).and_then(|()| flow.compare(step));
            result.map_err(|what| self.head.mismatch(step.line, index, what))?;
        }
        Ok(())
    }
}

impl Flow<'_> {
    fn step(&mut self, step: &Step) -> Result<(), String> {
        if let Some(at) = step.at {
            if at < self.now {
                return Err(format!("time runs backwards, from {} to {at}", self.now));
            }
            self.now = at;
        }
        for _ in 0..step.repeat {
            match &step.event {
                ControlInput::None => {}
                ControlInput::Ack(ack) => self.ack(ack),
                ControlInput::Congestion(event, flight) => {
                    self.control.on_congestion(self.config, &mut self.window, *event, *flight, self.now);
                    if *event == CongestionEvent::Timeout {
                        self.window.size = 1.0;
                    } else if !self.governs {
                        self.window.size = self.window.slow_start_threshold;
                    }
                }
                ControlInput::Notification => {
                    self.control.on_notification(self.config, &mut self.window, self.now)
                }
                ControlInput::Sent(bytes) => {
                    self.control.on_sent(self.config, &mut self.window, self.now, *bytes)
                }
            }
        }
        Ok(())
    }

    fn ack(&mut self, ack: &AckText) {
        let in_flight = self.next.saturating_sub(self.acknowledged);
        self.acknowledged += ack.delivered;
        if ack.round {
            self.acknowledged = self.next + 1;
            self.next += ROUND;
        }
        self.acknowledged = ack.acknowledged.unwrap_or(self.acknowledged);
        self.next = ack.next.unwrap_or(self.next);
        let event = AckEvent {
            now: self.now,
            rtt: ack.rtt.unwrap_or(self.config.base_rtt),
            delivered: ack.delivered,
            marked: ack.marked,
            acknowledged: self.acknowledged,
            next: self.next,
            in_flight,
            may_grow: ack.may_grow,
            telemetry: &ack.telemetry,
        };
        self.control.on_ack(self.config, &mut self.window, &event);
    }

    fn compare(&self, step: &Step) -> Result<(), String> {
        let paced = self.config.base_rtt.0 as f64 / self.window.pacing_gap.0 as f64;
        let numbers = [
            ("window", step.window, self.window.size),
            ("threshold", step.threshold, self.window.slow_start_threshold),
            ("paced window", step.paced_window, paced),
        ];
        let near = |expected: f64, found: f64| {
            expected == found || (expected - found).abs() <= step.tolerance * expected.abs()
        };
        for (what, expected, found) in numbers {
            if let Some(expected) = expected.filter(|&expected| !near(expected, found)) {
                return Err(format!("{what}: expected {expected}, found {found}"));
            }
        }
        for (name, expected) in &step.probes {
            let found = self.control.probed(name);
            if found.is_none_or(|found| !near(*expected, found)) {
                let found = found.map_or_else(|| "no such probe".to_owned(), |found| found.to_string());
                return Err(format!("{name}: expected {expected}, found {found}"));
            }
        }
        Ok(())
    }
}
