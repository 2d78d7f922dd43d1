//! Vectors of a TCP receiver: the arriving segments, and the expected ACKs.
//!
//! The files of vectors are `testdata/acks/*.toml`. To test any receiver, write a [`TcpReceiver`]
//! and call [`ReceiverCase::run`].
//!
//! ```toml
//! [[case]]
//! name = "a segment out of order is acknowledged at once, with its block"
//! source = "RFC 5681 section 4.2, RFC 2018 section 4"
//! segments = 10
//! tcp = { ack_every = 2 }
//! steps = [
//!   { at_us = 50, data = 0 },
//!   { at_us = 51, data = 2, ack = 1, sack = [2, 3] },
//! ]
//! ```
//!
//! # Case
//!
//! | key | meaning |
//! |---|---|
//! | `name`, `source` | The claim in plain words; the RFC and its section, or the calculation. |
//! | `segments` | Length of the flow (segments). |
//! | `tcp` | Parameters of TCP as in [`super::recovery`]; `ack_every` and `delayed_ack_timeout` are parameters of the receiver. |
//! | `steps` | Steps of the case, in order. |
//!
//! # Step
//!
//! | key | meaning |
//! |---|---|
//! | `at_us` | Time of the step, not before the previous step; default: time of the previous step. |
//! | `data`, `marked` | Number of the arriving segment; whether it has a congestion mark (false). |
//! | `sent_us` | Time at which the segment was sent (50 us before its arrival). |
//! | `timeout` | The timer of the delayed ACK expires, which must be due at this time. |
//! | `ack` | Cumulative number of the receiver's ACK; if absent, the receiver sends no ACK. |
//! | `sack`, `echo_us`, `mark` | SACK block of the ACK (none), the time that the ACK echoes (not checked), and whether the ACK echoes a mark (false). |
//! | `timer_us` | Time at which the delayed ACK is due; `-1` if the timer is off. |
//! | `complete` | Whether every segment has arrived at the receiver. |

use super::read::{Complaint, Head, LoadError, Mismatch, VectorCase, Written, cases};
use super::tcp::TcpText;
use bufferlab_transport::{Ack, Receiver, TcpConfig};
use bufferlab_units::Time;
use serde::Deserialize;
use toml::Spanned;

/// A TCP receiver in any implementation. The methods mirror the methods of [`Receiver`], which have
/// the detailed documentation.
pub trait TcpReceiver {
    /// Handles a data segment that arrives, and returns the ACK if the receiver sends one.
    fn handle_data(
        &mut self,
        config: &TcpConfig,
        now: Time,
        seq: u32,
        sent: Time,
        marked: bool,
    ) -> Option<Ack>;

    /// Handles the timer of the delayed ACK at [`Self::deadline`].
    fn handle_timeout(&mut self, now: Time) -> Option<Ack>;

    /// Time at which [`Self::handle_timeout`] must be called; [`Time::MAX`] if the timer is off.
    fn deadline(&self) -> Time;

    /// Whether every segment of the flow has arrived.
    fn is_complete(&self) -> bool;
}

impl TcpReceiver for Receiver {
    fn handle_data(
        &mut self,
        config: &TcpConfig,
        now: Time,
        seq: u32,
        sent: Time,
        marked: bool,
    ) -> Option<Ack> {
        Self::handle_data(self, config, now, seq, sent, marked)
    }
    fn handle_timeout(&mut self, now: Time) -> Option<Ack> {
        Self::handle_timeout(self, now)
    }
    fn deadline(&self) -> Time {
        Self::deadline(self)
    }
    fn is_complete(&self) -> bool {
        Self::is_complete(self)
    }
}

/// A test case of a TCP receiver: segments that arrive, and the expected ACKs.
#[derive(Clone, Debug)]
pub struct ReceiverCase {
    /// Claim that the case tests, and source of the expected numbers.
    pub head: Head,
    /// Length of the tested flow (segments).
    pub segments: u32,
    /// TCP parameters of the receiver.
    pub config: TcpConfig,
    steps: Vec<Step>,
}

#[derive(Clone, Debug)]
struct Step {
    line: usize,
    at: Option<Time>,
    event: ReceiverInput,
    answer: Option<Answer>,
    timer: Option<Time>,
    complete: Option<bool>,
}

#[derive(Clone, Copy, Debug)]
enum ReceiverInput {
    None,
    /// A data segment arrives, with its number, sending time and mark.
    Data(u32, Option<Time>, bool),
    Timeout,
}

#[derive(Clone, Copy, Debug)]
struct Answer {
    cumulative: u32,
    sack: (u32, u32),
    echo: Option<Time>,
    marked: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseText {
    name: String,
    source: String,
    segments: u32,
    #[serde(default)]
    tcp: TcpText,
    steps: Vec<Spanned<StepText>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepText {
    at_us: Option<u64>,
    data: Option<u32>,
    sent_us: Option<u64>,
    #[serde(default)]
    marked: bool,
    #[serde(default)]
    timeout: bool,
    ack: Option<u32>,
    sack: Option<(u32, u32)>,
    echo_us: Option<u64>,
    #[serde(default)]
    mark: bool,
    timer_us: Option<i64>,
    complete: Option<bool>,
}

impl VectorCase for ReceiverCase {
    fn parse(file: &str, text: &str) -> Result<Vec<Self>, LoadError> {
        cases::<CaseText>(file, text)
    }
}

impl Written for CaseText {
    type Case = ReceiverCase;

    fn claim(&self) -> (&str, &str) {
        (&self.name, &self.source)
    }

    fn resolve(self, head: Head, line_at: &dyn Fn(usize) -> usize) -> Result<ReceiverCase, Complaint> {
        let config = self.tcp.config().map_err(|what| (head.line, what))?;
        let steps = self.steps.into_iter().map(|step| {
            let line = line_at(step.span().start);
            step.into_inner().resolve(line, self.segments).map_err(|what| (line, what))
        });
        let steps = steps.collect::<Result<_, _>>()?;
        Ok(ReceiverCase { segments: self.segments, config, steps, head })
    }
}

impl StepText {
    fn resolve(self, line: usize, segments: u32) -> Result<Step, String> {
        let event = match (self.data, self.timeout) {
            (None, false) => ReceiverInput::None,
            (Some(seq), false) if seq < segments => {
                ReceiverInput::Data(seq, self.sent_us.map(Time::from_us), self.marked)
            }
            (Some(seq), false) => return Err(format!("there is no segment {seq}")),
            (None, true) => ReceiverInput::Timeout,
            (Some(_), true) => return Err("a step is one of data and timeout".to_owned()),
        };
        let answer = match self.ack {
            Some(cumulative) => Some(Answer {
                cumulative,
                sack: self.sack.unwrap_or((0, 0)),
                echo: self.echo_us.map(Time::from_us),
                marked: self.mark,
            }),
            None if self.sack.is_some() || self.echo_us.is_some() || self.mark => {
                return Err("sack, echo_us and mark belong to an ack".to_owned());
            }
            None => None,
        };
        Ok(Step {
            line,
            at: self.at_us.map(Time::from_us),
            event,
            answer,
            timer: self.timer_us.map(|at| u64::try_from(at).map_or(Time::MAX, Time::from_us)),
            complete: self.complete,
        })
    }
}

impl ReceiverCase {
    /// Builds bufferlab's TCP receiver for the case.
    #[must_use]
    pub fn build(&self) -> Receiver {
        Receiver::new(self.segments)
    }

    /// Drives `receiver` through the steps of the case.
    ///
    /// # Errors
    /// The first expectation that the receiver does not meet.
    pub fn run(&self, receiver: &mut dyn TcpReceiver) -> Result<(), Mismatch> {
        let mut now = Time::ZERO;
        for (index, step) in self.steps.iter().enumerate() {
            self.step(step, receiver, &mut now).map_err(|what| self.head.mismatch(step.line, index, what))?;
        }
        Ok(())
    }

    fn step(&self, step: &Step, receiver: &mut dyn TcpReceiver, now: &mut Time) -> Result<(), String> {
        if let Some(at) = step.at {
            if at < *now {
                return Err(format!("time runs backwards, from {now} to {at}"));
            }
            *now = at;
        }
        let now = *now;
        let ack = match step.event {
            ReceiverInput::None => None,
            ReceiverInput::Data(seq, sent, marked) => {
                let sent = sent.unwrap_or(now.saturating_sub(Time::from_us(50)));
                receiver.handle_data(&self.config, now, seq, sent, marked)
            }
            ReceiverInput::Timeout if receiver.deadline() != now => {
                return Err(format!("the timer is due at {}", receiver.deadline()));
            }
            ReceiverInput::Timeout => receiver.handle_timeout(now),
        };
        let agrees = match (&step.answer, &ack) {
            (None, None) => true,
            (Some(expected), Some(found)) => {
                expected.cumulative == found.cumulative
                    && expected.sack == found.sack
                    && expected.marked == found.marked
                    && expected.echo.is_none_or(|echo| echo == found.echo)
            }
            _ => false,
        };
        if !agrees {
            return Err(format!("expected {:?}, found {ack:?}", step.answer));
        }
        if let Some(expected) = step.timer.filter(|&expected| expected != receiver.deadline()) {
            return Err(format!("timer: expected {expected}, found {}", receiver.deadline()));
        }
        match step.complete.filter(|&expected| expected != receiver.is_complete()) {
            Some(expected) => Err(format!("complete: expected {expected}")),
            None => Ok(()),
        }
    }
}
