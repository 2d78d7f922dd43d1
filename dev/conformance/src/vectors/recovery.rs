//! Vectors of a TCP sender: arriving ACKs and timeouts, the expected segments, and the expected
//! window, threshold and timer.
//!
//! The files of vectors are `testdata/recovery/*.toml`, one per theme. To test any sender, write a
//! [`TcpSender`] and call [`SenderCase::run`].
//!
//! ```toml
//! [[case]]
//! name = "three segments that were SACKed above a hole make it lost"
//! source = "RFC 6675 section 4, IsLost, with DupThresh = 3"
//! segments = 40
//! tcp = { initial_window = 4 }
//! steps = [
//!   { at_us = 0, sends = ["0..4"] },
//!   { at_us = 100, ack = 0, sack = [1, 3], sends = ["4", "5"] },
//!   { at_us = 110, ack = 0, sack = [1, 4], sends = ["0 again"], threshold = 3, phase = "recovery" },
//! ]
//! ```
//!
//! # Case
//!
//! | key | meaning |
//! |---|---|
//! | `name`, `source` | The claim in plain words; the RFC and its section, or the calculation. |
//! | `segments` | Length of the flow (segments). |
//! | `control` | The congestion control (`"newreno"`), with its default parameters. |
//! | `tcp` | Fields of [`TcpConfig`] that differ from the defaults, by name; times are texts such as `"10 ms"`, `states` is `"rfc"` or `"ns3"`, `last_resort` is `"below-highest-sack"` or `"everything"`. |
//! | `steps` | Steps of the case, in order. |
//!
//! # Step
//!
//! Each step of a case has at most one event. After the event, the runner polls the sender until no
//! more segments are sent, and checks the expectations.
//!
//! | key | meaning |
//! |---|---|
//! | `at_us` | Time of the step, not before the previous step; default: time of the previous step. |
//! | `ack` | An ACK with this number arrives: every segment before this number has arrived. |
//! | `through` | A sequence of ACKs arrives, from `ack` to this number; the sender is polled after each ACK. |
//! | `sack`, `marked` | SACK block of the ACK, first segment and end; whether the ACK echoes a congestion mark. |
//! | `rtt_us` | Round-trip time of the segment that caused the ACK or the SYN-ACK (100). |
//! | `syn_ack` | A SYN-ACK arrives. |
//! | `timeout` | The timer expires, which must be due at this time. |
//! | `at_most` | Largest number of segments that the NIC accepts. |
//! | `sends` | Segments that the sender sends, in order: `"3"`, `"4..8"`, `"2 again"`, `"syn"`, `"syn again"` (nothing). |
//! | `window`, `threshold` | Congestion window and slow-start threshold in segments; a threshold of `inf` means no threshold. |
//! | `in_flight` | The sender's estimate of segments in the network. |
//! | `timer_us` | Time at which the timer is due; `-1` if the timer is off. |
//! | `phase` | Phase of the sender: `"closed"`, `"opening"`, `"open"`, `"recovery"`, `"loss"` or `"reduction"`. |
//! | `done` | Whether every segment has been acknowledged. |

use super::read::{Complaint, Head, LoadError, Mismatch, VectorCase, Written, cases};
use super::tcp::TcpText;
use bufferlab_core::Profile;
use bufferlab_transport::{Ack, Phase, Segment, Sender, TcpConfig, Window, find_congestion_control};
use bufferlab_units::Time;
use serde::Deserialize;
use toml::Spanned;

/// Tolerance of windows and thresholds, which bufferlab computes with floating-point numbers.
const TOLERANCE: f64 = 1e-9;

/// A TCP sender in any implementation. The methods mirror the methods of [`Sender`], which have the
/// detailed documentation.
pub trait TcpSender {
    /// Returns the next segment that the sender sends.
    fn poll_transmit(&mut self, config: &TcpConfig, now: Time) -> Option<Segment>;

    /// Handles the SYN-ACK that echoes `echo`.
    fn handle_syn_ack(&mut self, now: Time, echo: Time);

    /// Handles an ACK that arrives at the sender.
    fn handle_ack(&mut self, config: &TcpConfig, now: Time, ack: &Ack);

    /// Handles the retransmission timer at [`Self::deadline`].
    fn handle_timeout(&mut self, config: &TcpConfig, now: Time) -> bool;

    /// Time at which [`Self::handle_timeout`] must be called; [`Time::MAX`] if the timer is off.
    fn deadline(&self) -> Time;

    /// Current congestion window and slow-start threshold of the sender.
    fn window(&self) -> Window;

    /// Current phase of the TCP sender.
    fn phase(&self) -> Phase;

    /// Sender's estimate of the number of segments in the network.
    fn in_flight(&self) -> u32;

    /// Whether every segment of the flow has been acknowledged.
    fn is_done(&self) -> bool;
}

impl TcpSender for Sender {
    fn poll_transmit(&mut self, config: &TcpConfig, now: Time) -> Option<Segment> {
        Self::poll_transmit(self, config, now)
    }
    fn handle_syn_ack(&mut self, now: Time, echo: Time) {
        Self::handle_syn_ack(self, now, echo);
    }
    fn handle_ack(&mut self, config: &TcpConfig, now: Time, ack: &Ack) {
        Self::handle_ack(self, config, now, ack);
    }
    fn handle_timeout(&mut self, config: &TcpConfig, now: Time) -> bool {
        Self::handle_timeout(self, config, now)
    }
    fn deadline(&self) -> Time {
        Self::deadline(self)
    }
    fn window(&self) -> Window {
        Self::window(self)
    }
    fn phase(&self) -> Phase {
        Self::phase(self)
    }
    fn in_flight(&self) -> u32 {
        Self::in_flight(self)
    }
    fn is_done(&self) -> bool {
        Self::is_done(self)
    }
}

/// A test case of a TCP sender: ACKs and timeouts, and the expected segments and state.
#[derive(Clone, Debug)]
pub struct SenderCase {
    /// Claim that the case tests, and source of the expected numbers.
    pub head: Head,
    /// Length of the tested flow (segments).
    pub segments: u32,
    /// Registry name of the sender's congestion control.
    pub control: String,
    /// TCP parameters of the sender.
    pub config: TcpConfig,
    steps: Vec<Step>,
}

#[derive(Clone, Debug)]
struct Step {
    line: usize,
    at: Option<Time>,
    event: RecoveryInput,
    at_most: u32,
    sends: Vec<Segment>,
    window: Option<f64>,
    threshold: Option<f64>,
    in_flight: Option<u32>,
    timer: Option<Time>,
    phase: Option<Phase>,
    done: Option<bool>,
}

#[derive(Clone, Copy, Debug)]
enum RecoveryInput {
    None,
    /// A sequence of ACKs arrives, with first and last cumulative ACK, SACK block, mark, and
    /// round-trip time.
    Acks(u32, u32, (u32, u32), bool, Time),
    /// A SYN-ACK arrives, with its round-trip time.
    SynAck(Time),
    Timeout,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseText {
    name: String,
    source: String,
    segments: u32,
    control: Option<String>,
    #[serde(default)]
    tcp: TcpText,
    steps: Vec<Spanned<StepText>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepText {
    at_us: Option<u64>,
    ack: Option<u32>,
    through: Option<u32>,
    sack: Option<(u32, u32)>,
    #[serde(default)]
    marked: bool,
    rtt_us: Option<u64>,
    #[serde(default)]
    syn_ack: bool,
    #[serde(default)]
    timeout: bool,
    at_most: Option<u32>,
    #[serde(default)]
    sends: Vec<String>,
    window: Option<f64>,
    threshold: Option<f64>,
    in_flight: Option<u32>,
    timer_us: Option<f64>,
    phase: Option<String>,
    done: Option<bool>,
}

impl VectorCase for SenderCase {
    fn parse(file: &str, text: &str) -> Result<Vec<Self>, LoadError> {
        cases::<CaseText>(file, text)
    }
}

impl Written for CaseText {
    type Case = SenderCase;

    fn claim(&self) -> (&str, &str) {
        (&self.name, &self.source)
    }

    fn resolve(self, head: Head, line_at: &dyn Fn(usize) -> usize) -> Result<SenderCase, Complaint> {
        let here = |what| (head.line, what);
        let control = self.control.unwrap_or_else(|| "newreno".to_owned());
        if find_congestion_control(&control).is_none() {
            return Err(here(format!("no congestion control is called \"{control}\"")));
        }
        if self.segments == 0 {
            return Err(here("a flow has at least one segment".to_owned()));
        }
        let config = self.tcp.config().map_err(here)?;
        let steps = self.steps.into_iter().map(|step| {
            let line = line_at(step.span().start);
            step.into_inner().resolve(line).map_err(|what| (line, what))
        });
        let steps = steps.collect::<Result<_, _>>()?;
        Ok(SenderCase { segments: self.segments, control, config, steps, head })
    }
}

impl StepText {
    fn resolve(self, line: usize) -> Result<Step, String> {
        let rtt = Time::from_us(self.rtt_us.unwrap_or(100));
        let event = match (self.ack, self.syn_ack, self.timeout) {
            (None, false, false) => RecoveryInput::None,
            (Some(ack), false, false) => {
                let last = self.through.unwrap_or(ack);
                if last < ack {
                    return Err(format!("ACKs from {ack} through {last}"));
                }
                RecoveryInput::Acks(ack, last, self.sack.unwrap_or((0, 0)), self.marked, rtt)
            }
            (None, true, false) => RecoveryInput::SynAck(rtt),
            (None, false, true) => RecoveryInput::Timeout,
            _ => return Err("a step is one of ack, syn_ack and timeout".to_owned()),
        };
        if !matches!(event, RecoveryInput::Acks(..))
            && (self.through.is_some() || self.sack.is_some() || self.marked)
        {
            return Err("through, sack and marked belong to an ack".to_owned());
        }
        let mut sends = Vec::new();
        for text in &self.sends {
            let Some(segments) = segments(text) else {
                return Err(format!(
                    "sends \"{text}\"; expected \"3\", \"4..8\", \"2 again\", \"syn\" or \"syn again\""
                ));
            };
            sends.extend(segments);
        }
        Ok(Step {
            line,
            at: self.at_us.map(Time::from_us),
            event,
            at_most: self.at_most.unwrap_or(u32::MAX),
            sends,
            window: self.window,
            threshold: self.threshold,
            in_flight: self.in_flight,
            timer: self.timer_us.map(|at| if at < 0.0 { Time::MAX } else { Time((at * 1e6).round() as u64) }),
            phase: self.phase.as_deref().map(phase).transpose()?,
            done: self.done,
        })
    }
}

/// Every phase of a TCP sender, with the name of the phase in vector files.
const PHASES: [(&str, Phase); 6] = [
    ("closed", Phase::Closed),
    ("opening", Phase::Opening),
    ("open", Phase::Open),
    ("recovery", Phase::Recovery),
    ("loss", Phase::Loss),
    ("reduction", Phase::Reduction),
];

fn phase(name: &str) -> Result<Phase, String> {
    let found = PHASES.iter().find(|(known, _)| *known == name);
    found.map(|(_, phase)| *phase).ok_or_else(|| format!("there is no phase \"{name}\""))
}

/// Parses an entry of the list `sends`, such as `"4..8"` or `"2 again"`.
fn segments(text: &str) -> Option<Vec<Segment>> {
    let (what, retransmission) = match text.strip_suffix(" again") {
        Some(what) => (what, true),
        None => (text, false),
    };
    if what == "syn" {
        return Some(vec![Segment { seq: 0, retransmission, syn: true }]);
    }
    let (first, end) = match what.split_once("..") {
        Some((first, end)) => (first.parse().ok()?, end.parse().ok()?),
        None => (what.parse().ok()?, what.parse::<u32>().ok()?.checked_add(1)?),
    };
    (first < end).then(|| (first..end).map(|seq| Segment { seq, retransmission, syn: false }).collect())
}

/// Formats `segments` like entries of the list `sends`.
fn shown(segments: &[Segment]) -> String {
    let mut texts: Vec<String> = Vec::new();
    let mut rest = segments;
    while let [first, ..] = rest {
        let follows = |(n, segment): &(usize, &Segment)| {
            let seq = first.seq + *n as u32;
            **segment == Segment { seq, ..*first }
        };
        let run = if first.syn { 1 } else { rest.iter().enumerate().take_while(follows).count() };
        let mut text = match (first.syn, run) {
            (true, _) => "syn".to_owned(),
            (false, 1) => first.seq.to_string(),
            (false, run) => format!("{}..{}", first.seq, first.seq as usize + run),
        };
        if first.retransmission {
            text.push_str(" again");
        }
        texts.push(text);
        rest = &rest[run..];
    }
    format!("{texts:?}")
}

impl SenderCase {
    /// Builds bufferlab's TCP sender for the case.
    ///
    /// # Panics
    /// If the congestion control was removed from the registry after the case was read.
    #[must_use]
    pub fn build(&self) -> Sender {
        let control = find_congestion_control(&self.control).expect("checked when the case was read");
        let control =
            control.configure_with(Profile::Paper, &[], &self.config).expect("defaults fit any path");
        Sender::new(&self.config, &control, self.segments)
    }

    /// Drives `sender` through the steps of the case.
    ///
    /// # Errors
    /// The first expectation that the sender does not meet.
    pub fn run(&self, sender: &mut dyn TcpSender) -> Result<(), Mismatch> {
        let mut now = Time::ZERO;
        for (index, step) in self.steps.iter().enumerate() {
            self.step(step, sender, &mut now).map_err(|what| self.head.mismatch(step.line, index, what))?;
        }
        Ok(())
    }

    fn step(&self, step: &Step, sender: &mut dyn TcpSender, now: &mut Time) -> Result<(), String> {
        if let Some(at) = step.at {
            if at < *now {
                return Err(format!("time runs backwards, from {now} to {at}"));
            }
            *now = at;
        }
        let now = *now;
        let mut sent = Vec::new();
        match step.event {
            RecoveryInput::None => self.poll(step, sender, now, &mut sent),
            RecoveryInput::SynAck(rtt) => {
                sender.handle_syn_ack(now, now.saturating_sub(rtt));
                self.poll(step, sender, now, &mut sent);
            }
            RecoveryInput::Timeout if sender.deadline() != now => {
                return Err(format!("the timer is due at {}", sender.deadline()));
            }
            RecoveryInput::Timeout => {
                sender.handle_timeout(&self.config, now);
                self.poll(step, sender, now, &mut sent);
            }
            RecoveryInput::Acks(first, last, sack, marked, rtt) => {
                for cumulative in first..=last {
                    let ack = Ack { cumulative, sack, echo: now.saturating_sub(rtt), marked };
                    sender.handle_ack(&self.config, now, &ack);
                    self.poll(step, sender, now, &mut sent);
                }
            }
        }
        if sent != step.sends {
            return Err(format!("expected it to send {}, it sent {}", shown(&step.sends), shown(&sent)));
        }
        compare(step, sender)
    }

    fn poll(&self, step: &Step, sender: &mut dyn TcpSender, now: Time, sent: &mut Vec<Segment>) {
        while (sent.len() as u32) < step.at_most
            && let Some(segment) = sender.poll_transmit(&self.config, now)
        {
            sent.push(segment);
        }
    }
}

fn compare(step: &Step, sender: &dyn TcpSender) -> Result<(), String> {
    let window = sender.window();
    let numbers =
        [("window", step.window, window.size), ("threshold", step.threshold, window.slow_start_threshold)];
    for (what, expected, found) in numbers {
        let differs = |expected: f64| expected != found && (expected - found).abs() > TOLERANCE;
        if let Some(expected) = expected.filter(|&expected| differs(expected)) {
            return Err(format!("{what}: expected {expected}, found {found}"));
        }
    }
    if let Some(expected) = step.timer.filter(|&expected| expected != sender.deadline()) {
        return Err(format!("timer: expected {expected}, found {}", sender.deadline()));
    }
    if let Some(expected) = step.in_flight.filter(|&expected| expected != sender.in_flight()) {
        return Err(format!("in flight: expected {expected}, found {}", sender.in_flight()));
    }
    if let Some(expected) = step.phase.filter(|&expected| expected != sender.phase()) {
        return Err(format!("phase: expected {expected:?}, found {:?}", sender.phase()));
    }
    match step.done.filter(|&expected| expected != sender.is_done()) {
        Some(expected) => Err(format!("done: expected {expected}")),
        None => Ok(()),
    }
}
