//! Reads and checks a vector file, and converts its text to runnable cases.

use super::marker::{ClassifierText, MarkText, MarkerText};
use super::read::{Complaint, Head, LoadError, Written, cases, text};
use super::values::{ecn, given, tags};
use crate::device::SwitchDevice;
use bufferlab_core::{
    BuildError, Choice, DropReason, Ecn, ParamValue, Policy, Profile, Scheduler, SchedulerName, SwitchConfig,
    Tags, find_policy,
};
use bufferlab_units::{BitRate, Time};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use toml::Spanned;

/// Golden vectors of one policy, read from a file.
#[derive(Clone, Debug)]
pub struct VectorFile {
    /// Name of the vector file, for messages.
    pub file: String,
    /// Cases of the policy in the order of the file.
    pub cases: Vec<Case>,
}

/// A test case for a buffer policy: a switch, and steps with expectations.
#[derive(Clone, Debug)]
pub struct Case {
    /// Name of the vector file, for messages.
    pub file: String,
    /// Number of the case's line in the file, from 1.
    pub line: usize,
    /// Claim that the case tests, in plain words.
    pub name: String,
    /// Source of the expected numbers: a paper or a calculation.
    pub source: String,
    /// Registry name of the tested policy.
    pub policy: String,
    /// Parameters of the policy that differ from the defaults.
    pub params: Vec<(String, ParamValue)>,
    /// Configuration of the switch on which the case runs.
    pub config: SwitchConfig,
    /// Steps of the test case: events and expectations.
    pub steps: Vec<Step>,
}

/// Event that a step of a case applies to the switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VectorEvent {
    /// No event: the step only advances time, or does nothing.
    None,
    /// A packet arrives at the switch.
    Arrive {
        /// Index of the arriving packet's queue.
        queue: u16,
        /// Size of the arriving packet (bytes).
        size: u32,
        /// Tags of the arriving packet.
        tags: Tags,
        /// Number of the arriving packet's flow.
        flow: u32,
        /// ECN state of the arriving packet. With `None`, the packet is ECN-capable if the case
        /// marks packets.
        ecn: Option<Ecn>,
    },
    /// A port of the switch sends a packet.
    Depart {
        /// Index of the port that sends a packet.
        port: u16,
    },
    /// Rounds of departures and arrivals fill the queues.
    Fill {
        /// Queues of the arriving packets in order; a queue may repeat.
        queues: Vec<u16>,
        /// Size of every arriving packet (bytes).
        size: u32,
        /// Tags of every arriving packet.
        tags: Tags,
        /// Number of the flow of all arriving packets.
        flow: u32,
        /// Ports that send one packet in each round.
        drain: Vec<u16>,
        /// Number of rounds of departures and arrivals.
        rounds: u64,
        /// Time that passes before each round of departures and arrivals.
        round: Time,
    },
}

/// A step of a test case: an event and expectations.
#[derive(Clone, Debug)]
pub struct Step {
    /// Number of the step's line in the file, from 1.
    pub line: usize,
    /// Time of the step; `None` for the time of the previous step.
    pub at: Option<Time>,
    /// Event that the step applies to the switch.
    pub event: VectorEvent,
    /// Number of times that the step applies its event.
    pub repeat: u64,
    /// Name of the verdict that the event must have.
    pub expect: Option<String>,
    /// Expected queue of the departing packet.
    pub from: Option<u16>,
    /// Smallest and largest number of packets that the step marks.
    pub marks: Option<(u64, u64)>,
    /// Expected length of every queue after the step (bytes).
    pub lengths: Option<Vec<u64>>,
    /// Expected length after the step of every queue in `fill` (bytes).
    pub each: Option<u64>,
    /// Expected occupancy of the buffer after the step (bytes).
    pub occupancy: Option<u64>,
    /// Expected threshold of every queue after the step (bytes).
    pub thresholds: Option<Vec<u64>>,
    /// Expected limits of every queue for unscheduled packets (bytes).
    pub unscheduled_thresholds: Option<Vec<u64>>,
    /// Queues that must lose a stored packet, in order; `None` checks no evictions.
    pub evicts: Option<Vec<u16>>,
    /// Expected values of the policy's probes after the step.
    pub probes: Vec<Probes>,
    /// Expected limits of every queue for packets of short flows (bytes).
    pub small_thresholds: Option<Vec<u64>>,
    /// Accepted deviation of lengths, occupancy and thresholds (bytes).
    pub tolerance: u64,
}

/// Expected values of the policy's probes for one queue.
#[derive(Clone, Debug)]
pub struct Probes {
    /// Index of the queue whose probes are checked.
    pub queue: u16,
    /// Name and expected value of each probe of the queue.
    pub values: Vec<(String, f64)>,
}

/// Buffer and ports of a case's switch, as written in the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BufferSpec {
    /// Size B of the switch's buffer (bytes).
    pub capacity: u64,
    /// Number of ports of the switch.
    pub ports: usize,
    /// Number of queues of each port.
    #[serde(default = "one")]
    pub queues: usize,
    /// Rate of every port (Gb/s). If empty, every port has 10 Gb/s.
    #[serde(default)]
    pub rates_gbps: Vec<u64>,
    /// Size of the largest packet that the policy must expect (bytes).
    #[serde(default = "mtu")]
    pub max_packet: u64,
    /// Lossless priorities of the switch. All packets of a case arrive at port 0.
    #[serde(default)]
    pub lossless: Vec<u8>,
}

const fn one() -> usize {
    1
}

const fn once() -> u64 {
    1
}

const fn mtu() -> u64 {
    1_500
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseText {
    name: String,
    source: String,
    policy: String,
    #[serde(default)]
    params: toml::Table,
    #[serde(default)]
    profile: Option<String>,
    buffer: BufferSpec,
    #[serde(default)]
    scheduler: Option<String>,
    #[serde(default)]
    mark_above: Option<MarkText>,
    marker: Option<MarkerText>,
    classifier: Option<ClassifierText>,
    steps: Vec<Spanned<StepText>>,
}

/// An expected number, or the smallest and the largest accepted number.
#[derive(Deserialize)]
#[serde(untagged)]
enum RangeText {
    Exactly(u64),
    Between(u64, u64),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepText {
    at_ns: Option<u64>,
    arrive: Option<u16>,
    depart: Option<u16>,
    fill: Option<Vec<u16>>,
    size: Option<u32>,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    flow: u32,
    ecn: Option<String>,
    #[serde(default)]
    drain: Vec<u16>,
    rounds: Option<u64>,
    round_ns: Option<u64>,
    #[serde(default = "once")]
    repeat: u64,
    expect: Option<String>,
    from: Option<u16>,
    marks: Option<RangeText>,
    lengths: Option<Vec<u64>>,
    each: Option<u64>,
    occupancy: Option<u64>,
    thresholds: Option<Vec<u64>>,
    unscheduled_thresholds: Option<Vec<u64>>,
    evicts: Option<Vec<u16>>,
    #[serde(default)]
    probes: Vec<ProbesText>,
    small_thresholds: Option<Vec<u64>>,
    #[serde(default)]
    tolerance: u64,
}

#[derive(Deserialize)]
struct ProbesText {
    queue: u16,
    #[serde(flatten)]
    values: BTreeMap<String, f64>,
}

impl VectorFile {
    /// Reads and checks a vector file.
    ///
    /// # Errors
    /// If the file cannot be read or is invalid; the message names file and line.
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        let (file, text) = text(path)?;
        Self::parse(&file, &text)
    }

    /// Checks the text of the vector file `file`.
    ///
    /// # Errors
    /// If the text is invalid; the message names file and line.
    pub fn parse(file: &str, text: &str) -> Result<Self, LoadError> {
        Ok(Self { file: file.to_owned(), cases: cases::<CaseText>(file, text)? })
    }
}

impl Written for CaseText {
    type Case = Case;

    fn claim(&self) -> (&str, &str) {
        (&self.name, &self.source)
    }

    fn resolve(self, head: Head, line_at: &dyn Fn(usize) -> usize) -> Result<Case, Complaint> {
        let Head { file, line, name, source } = head;
        let here = |what: String| (line, what);
        let info = find_policy(&self.policy)
            .ok_or_else(|| here(format!("no policy is called \"{}\"", self.policy)))?;
        let profile = match self.profile.as_deref() {
            None | Some("paper") => Profile::Paper,
            Some("artifact") => Profile::Artifact,
            Some(other) => return Err(here(format!("profile \"{other}\"; expected paper or artifact"))),
        };
        let params = given("", (info.name, info.params), &self.params).map_err(here)?;
        let config = switch_config(&self, profile).map_err(here)?;
        let queues = config.port_rates.len() * config.queues_per_port;
        let steps = self.steps.into_iter().map(|spanned| {
            let line = line_at(spanned.span().start);
            resolve_step(line, spanned.into_inner(), config.port_rates.len(), queues)
                .map_err(|what| (line, what))
        });
        let steps = steps.collect::<Result<_, _>>()?;
        Ok(Case { file, line, name, source, policy: self.policy, params, config, steps })
    }
}

impl Case {
    /// Builds the core's switch for this case.
    ///
    /// # Errors
    /// If the policy does not fit the switch.
    pub fn build(&self) -> Result<SwitchDevice<Box<dyn Policy>>, BuildError> {
        Ok(SwitchDevice::new(self.config.build(&self.policy, &self.params)?))
    }
}

fn switch_config(written: &CaseText, profile: Profile) -> Result<SwitchConfig, String> {
    let BufferSpec { capacity, ports, queues, rates_gbps, max_packet, lossless } = &written.buffer;
    let rates = match rates_gbps.len() {
        0 => vec![BitRate::gbps(10); *ports],
        n if n == *ports => rates_gbps.iter().map(|&rate| BitRate::gbps(rate)).collect(),
        n => return Err(format!("{n} rates for {ports} ports")),
    };
    if *ports == 0 || *queues == 0 || *queues > 32 || rates.iter().any(|rate| rate.0 == 0) {
        return Err("expected at least one port, 1 to 32 queues per port and rates above 0".to_owned());
    }
    let scheduler = match written.scheduler.as_deref().map(|name| (name, SchedulerName::from_word(name))) {
        None => Scheduler::round_robin(*queues),
        Some((_, Some(name))) => Scheduler::named(name, *queues),
        Some((name, None)) => {
            let known: Vec<_> = SchedulerName::WORDS.iter().map(|word| word.name).collect();
            return Err(format!("no scheduler is called \"{name}\"; known: {}", known.join(", ")));
        }
    };
    let config = SwitchConfig {
        queues_per_port: *queues,
        max_packet: *max_packet,
        scheduler,
        profile,
        lossless: lossless
            .iter()
            .fold(0, |mask, &priority| mask | 1_u32.checked_shl(priority.into()).unwrap_or(0)),
        ..SwitchConfig::new(*capacity, rates)
    };
    let marker = match (&written.mark_above, &written.marker) {
        (None, None) => None,
        (Some(above), None) => Some(above.marker(*queues)?),
        (None, Some(marker)) => Some(marker.marker(profile, &config.shape())?),
        (Some(_), Some(_)) => return Err("expected mark_above or marker, found both".to_owned()),
    };
    let classifier = written.classifier.as_ref().map(|text| text.classifier(profile, *queues)).transpose()?;
    Ok(SwitchConfig { marker, classifier, ..config })
}

/// Checks that an index is below `count`, the number of ports or queues.
fn existing(what: &str, index: u16, count: usize) -> Result<u16, String> {
    if usize::from(index) < count { Ok(index) } else { Err(format!("there is no {what} {index}")) }
}

/// Converts the text of a step in the file to an event.
fn resolve_event(written: &mut StepText, ports: usize, queues: usize) -> Result<VectorEvent, String> {
    let (tags, flow) = (tags(&written.tags)?, written.flow);
    let ecn = written.ecn.as_deref().map(ecn).transpose()?;
    let size = written.size.ok_or_else(|| "the packet has no size".to_owned());
    match (written.arrive, written.depart, written.fill.take()) {
        (None, None, None) => Ok(VectorEvent::None),
        (Some(queue), None, None) => {
            Ok(VectorEvent::Arrive { queue: existing("queue", queue, queues)?, size: size?, tags, flow, ecn })
        }
        (None, Some(port), None) => Ok(VectorEvent::Depart { port: existing("port", port, ports)? }),
        (None, None, Some(filled)) => {
            for &queue in &filled {
                existing("queue", queue, queues)?;
            }
            for &port in &written.drain {
                existing("port", port, ports)?;
            }
            let size = if filled.is_empty() { 0 } else { size? };
            let rounds = written.rounds.ok_or("a fill needs its number of rounds")?;
            let round = Time::from_ns(written.round_ns.unwrap_or(0));
            let drain = std::mem::take(&mut written.drain);
            Ok(VectorEvent::Fill { queues: filled, size, tags, flow, drain, rounds, round })
        }
        _ => Err("a step is one of arrive, depart and fill".to_owned()),
    }
}

/// Rejects a verdict that is impossible for the event, and an event without its required verdict.
fn check_verdict(event: &VectorEvent, expect: Option<&str>) -> Result<(), String> {
    let verdicts: Vec<&str> = match event {
        VectorEvent::Arrive { .. } => {
            let reasons = DropReason::ALL.iter().map(|reason| reason.name());
            ["admit", "admit-marked"].into_iter().chain(reasons).collect()
        }
        VectorEvent::Depart { .. } => vec!["sent", "sent-marked", "idle"],
        VectorEvent::None | VectorEvent::Fill { .. } => vec![],
    };
    match expect {
        Some(expect) if !verdicts.contains(&expect) => {
            Err(format!("expect = \"{expect}\"; this event ends in one of: {}", verdicts.join(", ")))
        }
        None if !verdicts.is_empty() => {
            Err(format!("the verdict is missing; this event ends in one of: {}", verdicts.join(", ")))
        }
        _ => Ok(()),
    }
}

fn resolve_step(line: usize, mut written: StepText, ports: usize, queues: usize) -> Result<Step, String> {
    let event = resolve_event(&mut written, ports, queues)?;
    check_verdict(&event, written.expect.as_deref())?;
    let lists =
        [&written.lengths, &written.thresholds, &written.unscheduled_thresholds, &written.small_thresholds];
    for list in lists.into_iter().flatten() {
        if list.len() != queues {
            return Err(format!("{} values for {queues} queues", list.len()));
        }
    }
    let mut probes = Vec::with_capacity(written.probes.len());
    for ProbesText { queue, values } in written.probes {
        let queue = existing("queue", queue, queues)?;
        probes.push(Probes { queue, values: values.into_iter().collect() });
    }
    for &queue in written.evicts.iter().flatten() {
        existing("queue", queue, queues)?;
    }
    // For a policy that evicts packets, a `fill` step would need a long list of evictions. So a
    // `fill` step without the key `evicts` checks no evictions.
    let evicts = match event {
        VectorEvent::Fill { .. } => written.evicts,
        _ => Some(written.evicts.unwrap_or_default()),
    };
    Ok(Step {
        line,
        at: written.at_ns.map(Time::from_ns),
        event,
        repeat: written.repeat,
        expect: written.expect,
        from: written.from,
        marks: written.marks.map(|marks| match marks {
            RangeText::Exactly(count) => (count, count),
            RangeText::Between(least, most) => (least, most),
        }),
        lengths: written.lengths,
        each: written.each,
        occupancy: written.occupancy,
        thresholds: written.thresholds,
        unscheduled_thresholds: written.unscheduled_thresholds,
        evicts,
        probes,
        small_thresholds: written.small_thresholds,
        tolerance: written.tolerance,
    })
}
