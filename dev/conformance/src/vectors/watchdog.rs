//! Vectors of the PFC watchdog: observations of a queue at each poll, and the expected beginnings
//! and ends of storms.
//!
//! Every detection rule has a file `testdata/watchdog/<rule>.toml`. To test any implementation,
//! write a [`Watchdog`] and call [`WatchdogCase::run`].
//!
//! ```toml
//! [[case]]
//! name = "a pause that lasts for the detection time is a storm"
//! source = "hand calculation: 4 polls of 100 us"
//! watchdog = { rule = "mellanox", action = "drop", detection = "400 us", restoration = "300 us", poll = "100 us" }
//! steps = [
//!   { polls = 3, waiting = true, in_pause = true, paused = "100 us", expect = "none" },
//!   { polls = 1, waiting = true, in_pause = true, paused = "100 us", expect = "begins" },
//! ]
//! ```
//!
//! # Case
//!
//! | key | meaning |
//! |---|---|
//! | `name`, `source` | The claim in plain words; the document or the calculation. |
//! | `watchdog` | Settings of the watchdog: `rule`, `action`, and the times `detection`, `restoration` and `poll`. |
//! | `steps` | Steps of the case, in order. |
//!
//! # Step
//!
//! | key | meaning |
//! |---|---|
//! | `polls` | Number of polls (1), each with equal events before it. |
//! | `waiting` | Whether the queue has packets at the poll (false). |
//! | `in_pause` | Whether a pause is in force at the poll (false). |
//! | `sent`, `frames`, `ended` | Numbers since the previous poll (0 each): packets that the queue has sent, pause frames that have arrived, pauses that have ended. |
//! | `paused` | Time since the previous poll for which pauses were in force (`"0 us"`). |
//! | `link_down` | Event in place of a poll: the queue's link goes down and comes back. |
//! | `expect` | Result of the last poll of the step: `"none"`, `"begins"` or `"ends"`; earlier polls must find nothing. |
//! | `storm` | Whether the queue is in a storm after the step. |
//! | `pauses` | Whether pauses are `"obeyed"` or `"ignored"` after the step. |
//! | `packets` | Whether packets are `"kept"` or `"discarded"` after the step. |

use super::read::{Complaint, Head, LoadError, Mismatch, VectorCase, Written, cases};
use super::values::parse_time;
use bufferlab_core::Choice;
use bufferlab_core::watchdog::{
    QueueSample, QueueWatchdog, StormChange, StormCounter, WatchdogAction, WatchdogRule, WatchdogSpec,
};
use bufferlab_units::Time;
use serde::Deserialize;
use toml::Spanned;

/// Interface of a PFC watchdog of one queue, in any implementation.
pub trait Watchdog {
    /// Polls the queue and returns whether a storm begins or ends at this poll.
    fn poll(&mut self, spec: &WatchdogSpec, found: QueueSample) -> Option<StormChange>;

    /// Resets the watchdog, because the queue's link has gone down.
    fn reset(&mut self);

    /// Whether the watchdog sees the queue in a storm.
    fn is_storm(&self) -> bool;
}

impl Watchdog for QueueWatchdog {
    fn poll(&mut self, spec: &WatchdogSpec, found: QueueSample) -> Option<StormChange> {
        Self::poll(self, spec, found)
    }

    fn reset(&mut self) {
        Self::reset(self);
    }

    fn is_storm(&self) -> bool {
        Self::is_storm(self)
    }
}

/// A test case of a PFC watchdog: polls of a queue, and the expected storms.
#[derive(Clone, Debug)]
pub struct WatchdogCase {
    /// Claim that the case tests, and source of the expected numbers.
    pub head: Head,
    /// Settings of the watchdog under test.
    pub spec: WatchdogSpec,
    steps: Vec<Step>,
}

#[derive(Clone, Debug)]
struct Step {
    line: usize,
    event: WatchdogInput,
    storm: Option<bool>,
    pauses_ignored: Option<bool>,
    packets_discarded: Option<bool>,
}

#[derive(Clone, Debug)]
enum WatchdogInput {
    /// Polls of the queue: their number, the events before each poll, and the result
    /// of the last poll.
    Polls(u64, QueueSample, Option<StormChange>),
    LinkDown,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseText {
    name: String,
    source: String,
    watchdog: SpecText,
    steps: Vec<Spanned<StepText>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SpecText {
    rule: String,
    action: String,
    detection: String,
    restoration: String,
    poll: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepText {
    polls: Option<u64>,
    #[serde(default)]
    waiting: bool,
    #[serde(default)]
    in_pause: bool,
    #[serde(default)]
    sent: u64,
    #[serde(default)]
    frames: u64,
    #[serde(default)]
    ended: u64,
    paused: Option<String>,
    #[serde(default)]
    link_down: bool,
    expect: Option<String>,
    storm: Option<bool>,
    pauses: Option<String>,
    packets: Option<String>,
}

fn time(text: &str) -> Result<Time, String> {
    parse_time(text).ok_or_else(|| format!("\"{text}\"; expected a time such as \"100 us\""))
}

/// Converts one of two words in a vector file to false or true.
fn word(found: Option<&str>, no: &str, yes: &str) -> Result<Option<bool>, String> {
    match found {
        None => Ok(None),
        Some(word) if word == no => Ok(Some(false)),
        Some(word) if word == yes => Ok(Some(true)),
        Some(word) => Err(format!("\"{word}\"; expected {no} or {yes}")),
    }
}

impl SpecText {
    fn resolve(&self) -> Result<WatchdogSpec, String> {
        let rule = WatchdogRule::from_word(&self.rule);
        let action = WatchdogAction::from_word(&self.action);
        Ok(WatchdogSpec {
            rule: rule.ok_or_else(|| format!("there is no rule \"{}\"", self.rule))?,
            action: action.ok_or_else(|| format!("there is no action \"{}\"", self.action))?,
            detection: time(&self.detection)?,
            restoration: time(&self.restoration)?,
            poll: time(&self.poll)?,
            counts: StormCounter::Pauses,
        })
    }
}

impl StepText {
    fn resolve(self, line: usize) -> Result<Step, String> {
        let event = match (self.polls, self.link_down) {
            (Some(_), true) => return Err("a step is a number of polls or link_down".to_owned()),
            (None, true) if self.expect.is_some() => return Err("nothing polls: expect nothing".to_owned()),
            (None, true) => WatchdogInput::LinkDown,
            (polls, false) => {
                let sample = QueueSample {
                    is_waiting: self.waiting,
                    is_paused: self.in_pause,
                    sent_packets: self.sent,
                    pause_frames: self.frames,
                    ended_pauses: self.ended,
                    paused: self.paused.as_deref().map_or(Ok(Time::ZERO), time)?,
                    ..QueueSample::default()
                };
                let found = match self.expect.as_deref() {
                    Some("none") => None,
                    Some("begins") => Some(StormChange::Begins),
                    Some("ends") => Some(StormChange::Ends),
                    other => return Err(format!("expect = {other:?}; expected none, begins or ends")),
                };
                match polls.unwrap_or(1) {
                    0 => return Err("polls = 0: the step does nothing".to_owned()),
                    polls => WatchdogInput::Polls(polls, sample, found),
                }
            }
        };
        Ok(Step {
            line,
            event,
            storm: self.storm,
            pauses_ignored: word(self.pauses.as_deref(), "obeyed", "ignored")?,
            packets_discarded: word(self.packets.as_deref(), "kept", "discarded")?,
        })
    }
}

impl VectorCase for WatchdogCase {
    fn parse(file: &str, text: &str) -> Result<Vec<Self>, LoadError> {
        cases::<CaseText>(file, text)
    }
}

impl Written for CaseText {
    type Case = WatchdogCase;

    fn claim(&self) -> (&str, &str) {
        (&self.name, &self.source)
    }

    fn resolve(self, head: Head, line_at: &dyn Fn(usize) -> usize) -> Result<WatchdogCase, Complaint> {
        let spec = self.watchdog.resolve().map_err(|what| (head.line, what))?;
        let steps = self.steps.into_iter().map(|step| {
            let line = line_at(step.span().start);
            step.into_inner().resolve(line).map_err(|what| (line, what))
        });
        Ok(WatchdogCase { head, spec, steps: steps.collect::<Result<_, _>>()? })
    }
}

impl WatchdogCase {
    /// Drives `watchdog` through the steps of the case.
    ///
    /// # Errors
    /// The first expectation that the watchdog does not meet.
    pub fn run(&self, watchdog: &mut dyn Watchdog) -> Result<(), Mismatch> {
        let mut counted = QueueSample::default();
        for (index, step) in self.steps.iter().enumerate() {
            self.step(step, watchdog, &mut counted)
                .map_err(|what| self.head.mismatch(step.line, index, what))?;
        }
        Ok(())
    }

    fn step(
        &self,
        step: &Step,
        watchdog: &mut dyn Watchdog,
        counted: &mut QueueSample,
    ) -> Result<(), String> {
        match &step.event {
            WatchdogInput::LinkDown => watchdog.reset(),
            WatchdogInput::Polls(polls, since, at_last) => {
                for turn in 1..=*polls {
                    *counted = advanced(counted, since);
                    let found = watchdog.poll(&self.spec, *counted);
                    let expected = if turn == *polls { *at_last } else { None };
                    if found != expected {
                        return Err(format!("poll {turn}: expected {expected:?}, found {found:?}"));
                    }
                }
            }
        }
        let storm = watchdog.is_storm();
        let facts = [
            ("a storm holds the queue", step.storm, storm),
            ("pauses are ignored", step.pauses_ignored, storm && self.spec.action.overrides_pauses()),
            ("packets are discarded", step.packets_discarded, storm && self.spec.action.discards()),
        ];
        for (what, expected, found) in facts {
            if expected.is_some_and(|expected| expected != found) {
                return Err(format!("{what}: expected {}, found {found}", !found));
            }
        }
        Ok(())
    }
}

/// Adds the events since the last poll to the counters.
fn advanced(counted: &QueueSample, since: &QueueSample) -> QueueSample {
    QueueSample {
        is_waiting: since.is_waiting,
        is_paused: since.is_paused,
        sent_packets: counted.sent_packets + since.sent_packets,
        pause_frames: counted.pause_frames + since.pause_frames,
        ended_pauses: counted.ended_pauses + since.ended_pauses,
        paused: counted.paused + since.paused,
        ..*counted
    }
}
