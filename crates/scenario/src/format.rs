//! The scenario format as data: every table, key, kind, default and explanation, in one place.
//!
//! The reader looks keys up here (and so knows which ones exist), the JSON Schema and the reference in
//! `docs/scenarios.md` are generated from here, so the three cannot drift apart.

mod flow_control;
mod keys;
mod profiles;

pub(crate) use flow_control::{FAULT, PFC, WATCHDOG};
pub(crate) use keys::{BURST, ECN, HARDWARE, OTHER_BURST, OUTPUT, ROOT, TRACE_ADDRESS, TRANSPORT};
pub(crate) use keys::{
    CHANGE, HOST, LINK, ROUTE, SCHEDULER_GROUP, SWITCH, SWITCH_OVERRIDE, TOPOLOGY, WORKLOAD,
};
pub(crate) use profiles::PROFILE;

use bufferlab_params::{ParamKind, Word};

/// A table of the format.
#[derive(Debug)]
pub(crate) struct TableSpec {
    /// Heading in the reference: `[switch]`.
    pub(crate) title: &'static str,
    /// What it is for.
    pub(crate) doc: &'static str,
    /// Keys that it always accepts.
    pub(crate) keys: &'static [KeySpec],
    /// Keys that depend on the table's `kind`.
    pub(crate) variants: &'static [Variant],
}

/// What `kind` may be, and the keys that come with it.
#[derive(Debug)]
pub(crate) struct Variant {
    pub(crate) kind: &'static str,
    pub(crate) doc: &'static str,
    pub(crate) keys: &'static [KeySpec],
}

/// One key.
#[derive(Debug)]
pub(crate) struct KeySpec {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) presence: Presence,
    /// A value as it would be written, in TOML.
    pub(crate) example: &'static str,
    /// What it does; where its default comes from.
    pub(crate) doc: &'static str,
}

/// Whether a key must be written, and what holds otherwise.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Presence {
    /// Must be written.
    Required,
    /// May be left out: then it says nothing.
    Optional,
    /// This TOML value when left out.
    Default(&'static str),
    /// When left out, a rule decides, here in words.
    Computed(&'static str),
}

/// What a value may be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// Any string.
    Text,
    /// A time with its unit; `zero` says whether 0 is one.
    Time { zero: bool },
    /// A size with its unit, at least `min` bytes.
    Size { min: u64, max: u64 },
    /// One size of at least `min` bytes, or a list with one per port.
    SizePerPort { min: u64 },
    /// A rate with its unit, above 0.
    Rate,
    /// A whole number in `min..=max`.
    Count { min: u64, max: u64 },
    /// A number (or a fraction such as `"1/16"`) in `min..=max`; `open`: above `min`.
    Ratio { min: f64, max: f64, open: bool },
    /// One ratio in `min..=max`, or a list with one per priority.
    Ratios { min: f64, max: f64 },
    /// `true` or `false`.
    Flag,
    /// One of a few words, each with its meaning, without an enumeration behind them.
    Choice(&'static [(&'static str, &'static str)]),
    /// One of a few words: [`bufferlab_params::Choice::WORDS`] of an enumeration.
    Words(&'static [Word]),
    /// A registered congestion control.
    CongestionControl,
    /// A number of segments, `"bdp"` or `"whole"`.
    Window,
    /// A table.
    Table(&'static TableSpec),
    /// A list of tables.
    Tables(&'static TableSpec),
    /// A string or a list of strings.
    Texts,
    /// How many nodes, or a list of their names.
    CountOrNames,
    /// A list of whole numbers, each at most `max`.
    Counts { min: u64, max: u64 },
    /// A list of pairs of hosts' names.
    Pairs,
    /// A list of one value or more (parameters).
    List(&'static ParamKind),
    /// A list of sizes, each at least 1 B.
    Sizes,
    /// An even number of times, ascending: from, until, from, until …
    Intervals,
    /// A name of a policy, or a table with `name` and its parameters.
    Policy,
    /// A name, or a list of groups.
    Scheduler,
}

/// What a value is asked to be, for conversions and their messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) name: &'a str,
    pub(crate) kind: Kind,
    pub(crate) example: &'a str,
}

impl KeySpec {
    pub(crate) fn wanted(&self) -> Wanted<'static> {
        Wanted { name: self.name, kind: self.kind, example: self.example }
    }
}

impl Kind {
    /// "a size such as", for messages.
    pub(crate) fn expected(&self) -> String {
        match *self {
            Self::Text => "a string".to_owned(),
            Self::Time { .. } => "a time".to_owned(),
            Self::Size { .. } => "a size".to_owned(),
            Self::SizePerPort { .. } => "a size, or a list with one per port".to_owned(),
            Self::Rate => "a rate".to_owned(),
            Self::Count { min, max } => format!("a whole number {}", bounds(min, max)),
            Self::Ratio { min, max, open } => ratio_bounds(min, max, open),
            Self::Flag => "true or false".to_owned(),
            Self::Choice(words) => {
                let words: Vec<_> = words.iter().map(|word| format!("\"{}\"", word.0)).collect();
                format!("one of {}", words.join(", "))
            }
            Self::Words(words) => {
                let words: Vec<_> = words.iter().map(|word| format!("\"{}\"", word.name)).collect();
                format!("one of {}", words.join(", "))
            }
            Self::Ratios { min, max } => {
                format!("{}, or a list with one per priority", ratio_bounds(min, max, false))
            }
            Self::CongestionControl => "the name of a congestion control".to_owned(),
            Self::Window => "a number of segments, \"bdp\" or \"whole\"".to_owned(),
            Self::Table(spec) => format!("a table ({})", spec.title),
            Self::Tables(_) => "a list of tables".to_owned(),
            Self::Texts => "a string, or a list of strings".to_owned(),
            Self::CountOrNames => "a number of nodes, or a list of their names".to_owned(),
            Self::Counts { min, max } => format!("a list of whole numbers, each {}", bounds(min, max)),
            Self::Pairs => "a list of pairs of hosts, each as [from, to]".to_owned(),
            Self::List(element) => ParamKind::List(element).expected(),
            Self::Sizes => "a list of sizes".to_owned(),
            Self::Intervals => "a list of times: from, until, from, until …".to_owned(),
            Self::Policy => "the name of a policy, or a table with `name` and its parameters".to_owned(),
            Self::Scheduler => {
                "\"fifo\", \"round_robin\", \"strict_priority\", or a list of groups".to_owned()
            }
        }
    }
}

pub(crate) fn bounds(min: u64, max: u64) -> String {
    match max {
        u64::MAX | 0xffff_ffff => format!("of at least {min}"),
        _ => format!("from {min} to {max}"),
    }
}

pub(crate) fn ratio_bounds(min: f64, max: f64, open: bool) -> String {
    if open {
        format!("a number above {min} and at most {max}")
    } else {
        format!("a number from {min} to {max}")
    }
}

impl TableSpec {
    /// Every key that a table of `kind` accepts, without `kind` itself.
    pub(crate) fn keys_of<'a>(
        &'a self,
        kind: Option<&str>,
    ) -> impl Iterator<Item = &'static KeySpec> + use<'a> {
        let variant = self.variants.iter().find(|variant| Some(variant.kind) == kind);
        self.keys.iter().chain(variant.map_or(&[] as &[_], |variant| variant.keys))
    }
}
