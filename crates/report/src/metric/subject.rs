//! Subjects of metrics (flows, queries, switches …), with their names and their part of an id.

use super::table::Scope;
use crate::bursts::BurstBin;
use crate::format;

/// Subject of a metric: flows, queries, switches …
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The metric is about all flows together.
    All,
    /// The metric is about flows outside queries, below a size (bytes) if a run is known.
    Short(Option<u64>),
    /// The metric is about the flows of a traffic class.
    Flows(String),
    /// The metric is about the queries of a traffic class.
    Queries(String),
    /// The metric is about the executions of one schedule: the schedule's number, and the name of
    /// its workload if known.
    Schedule(String, Option<String>),
    /// The metric is about the bursts of a traffic class without congestion control.
    OpenLoop(String),
    /// The metric is about the packets of a traffic class.
    Packets(String),
    /// The metric is about all ports of the switches.
    Ports,
    /// The metric is about all switches together.
    Switches,
    /// The metric is about one switch, given by the switch's name.
    Switch(String),
    /// The metric is about all links together.
    Links,
    /// The metric is about flow control by pauses.
    Pauses,
}

impl Subject {
    /// First part of the subject's metric ids, as a pattern; `{}` is a class or a switch.
    pub(super) const fn pattern(&self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Short(_) => "short",
            Self::Flows(_) | Self::Queries(_) | Self::OpenLoop(_) | Self::Packets(_) => "class.{}",
            Self::Schedule(..) => "schedule.{}",
            Self::Ports => "ports",
            Self::Switches => "switches",
            Self::Switch(_) => "switch.{}",
            Self::Links => "links",
            Self::Pauses => "pauses",
        }
    }

    /// Name of the class or switch that replaces `{}`.
    pub(super) fn part(&self) -> Option<&str> {
        match self {
            Self::Flows(name) | Self::Queries(name) | Self::OpenLoop(name) | Self::Packets(name) => {
                Some(name)
            }
            Self::Switch(name) | Self::Schedule(name, _) => Some(name),
            _ => None,
        }
    }

    /// First part of the subject's metric ids: `class.incast`.
    pub(super) fn prefix(&self) -> String {
        self.pattern().replace("{}", self.part().unwrap_or_default())
    }

    /// Heading of the subject in reports.
    pub(crate) fn heading(&self) -> String {
        match self {
            Self::Short(Some(bytes)) => {
                format!("{} (< {}, no query)", self.name(), format::bytes(*bytes as f64))
            }
            Self::OpenLoop(_) => format!("{} (open loop)", self.name()),
            _ => self.name(),
        }
    }

    /// Name of the subject in a sentence.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::All => "all flows".to_owned(),
            Self::Short(_) => "short flows".to_owned(),
            Self::Flows(class) => format!("{class} flows"),
            Self::Queries(class) => format::queries_of(class),
            Self::OpenLoop(class) => class.clone(),
            Self::Packets(class) => format!("{class} packets"),
            Self::Schedule(number, name) => name.clone().unwrap_or_else(|| format!("schedule {number}")),
            Self::Switch(switch) => switch.clone(),
            Self::Ports | Self::Switches | Self::Links | Self::Pauses => self.prefix(),
        }
    }

    /// Short name of the subject after a quantity that already names flows, queries or packets.
    pub(super) fn short_name(&self) -> String {
        match self {
            Self::Schedule(..) => self.name(),
            _ => self.part().map_or_else(|| self.name(), str::to_owned),
        }
    }

    /// Whether the subject is the whole run, so that sentences need not name it.
    pub(crate) const fn is_whole_run(&self) -> bool {
        matches!(self, Self::All | Self::Ports | Self::Switches | Self::Pauses)
    }
}

impl Scope {
    /// Returns the subjects of the scope, given the name for a class or switch.
    pub(super) fn subjects(self, name: &str) -> Vec<Subject> {
        let name = name.to_owned();
        match self {
            Self::Flows => vec![Subject::All, Subject::Short(None), Subject::Flows(name)],
            Self::Queries => vec![Subject::Queries(name)],
            Self::Schedules => vec![Subject::Schedule(name, None)],
            Self::Bursts | Self::BurstBins | Self::BurstPackets => vec![Subject::OpenLoop(name)],
            Self::Delays => vec![Subject::Packets(name)],
            Self::Ports => vec![Subject::Ports],
            Self::Switches | Self::Losses | Self::Buffers | Self::Priorities => vec![Subject::Switches],
            Self::Links => vec![Subject::Links],
            Self::Pauses | Self::PausesByRole | Self::PausesByPriority | Self::Headroom => {
                vec![Subject::Pauses]
            }
            Self::SwitchBuffers => vec![Subject::Switch(name)],
        }
    }

    /// Converts the texts that replace `{}` in metric ids into the texts that replace `{}` in
    /// metric labels. The result is `None` if no metric id has these texts.
    pub(super) fn words_of(self, keys: &[String]) -> Option<Vec<String>> {
        match self {
            Self::BurstBins => keys
                .iter()
                .map(|key| BurstBin::all().find(|bin| bin.key() == *key).map(|bin| bin.label()))
                .collect(),
            _ => Some(keys.to_vec()),
        }
    }
}

/// Returns the parts of `text` at the places of `{}` in `pattern`; `None` if `text` does not match
/// the pattern.
pub(super) fn placeholders(pattern: &str, text: &str) -> Option<Vec<String>> {
    let mut literals = pattern.split("{}");
    let mut rest = text.strip_prefix(literals.next()?)?;
    let mut literals = literals.peekable();
    let mut found = Vec::new();
    while let Some(literal) = literals.next() {
        let end =
            if literals.peek().is_some() { rest.find(literal)? } else { rest.strip_suffix(literal)?.len() };
        if end == 0 {
            return None;
        }
        found.push(rest[..end].to_owned());
        rest = &rest[end + literal.len()..];
    }
    rest.is_empty().then_some(found)
}

/// Replaces each `{}` of `pattern` by an element of `parts`, in order.
pub(crate) fn fill<T: AsRef<str>>(pattern: &str, parts: &[T]) -> String {
    parts.iter().fold(pattern.to_owned(), |text, part| text.replacen("{}", part.as_ref(), 1))
}
