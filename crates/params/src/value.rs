//! Values of parameters.

use crate::params::Params;
use crate::profiles::BufferProfile;
use bufferlab_units::{BitRate, Time};
use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// A parameter's value.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamValue {
    /// As a default only: the value must be given; here is an example, as a scenario file would
    /// write it.
    Required(&'static str),
    /// As a default only: nothing was given, and a rule decides, here in words. What it depends on
    /// is known where the entry is built.
    Computed(&'static str),
    /// As a default only: the same with an example, as a scenario file would write it.
    Derived(&'static str, &'static str),
    /// As a default only: the value may be left out, and then nothing is asked of it.
    Optional,
    /// As a default only: the same with an example, as a scenario file would write it.
    OptionalLike(&'static str),
    /// A plain number: see [`crate::ParamKind::Ratio`] and [`crate::ParamKind::Measure`].
    Ratio(f64),
    /// See [`crate::ParamKind::RatioPerPriority`]; never empty.
    RatioPerPriority(Cow<'static, [f64]>),
    /// Bytes; of a [`crate::ParamKind::BytesPerPort`], of every port.
    Bytes(u64),
    /// See [`crate::ParamKind::BytesPerPort`]; never empty. Not yet computed, it is the word
    /// [`crate::AUTO`].
    BytesPerPort(Cow<'static, [u64]>),
    /// A span.
    Time(Time),
    /// A rate.
    Rate(BitRate),
    /// A whole number.
    Count(u64),
    /// A switch.
    Flag(bool),
    /// One of the words of [`crate::ParamKind::Choice`].
    Choice(Cow<'static, str>),
    /// Any text.
    Text(Cow<'static, str>),
    /// See [`crate::ParamKind::List`]; never empty.
    List(Cow<'static, [ParamValue]>),
    /// See [`crate::ParamKind::Profiles`]; may be empty.
    Profiles(Cow<'static, [BufferProfile]>),
    /// Several texts.
    Texts(Vec<String>),
    /// See [`crate::ParamKind::Pairs`].
    Pairs(Vec<(String, String)>),
    /// See [`crate::ParamKind::File`].
    File(FileContent),
    /// See [`crate::ParamKind::Tables`]; each complete.
    Tables(Vec<Params>),
}

/// A file that a parameter names, as it was when the document was read. Whoever builds from it
/// reads no file system.
#[derive(Clone, Debug)]
pub struct FileContent {
    /// The name under which a result keeps it.
    pub name: String,
    /// Where it was found, for messages.
    pub path: PathBuf,
    /// What it holds.
    pub content: Arc<[u8]>,
}

/// Where it was found does not count.
impl PartialEq for FileContent {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.content == other.content
    }
}

impl ParamValue {
    /// A word, as a default: `ParamValue::word(Victim::Tail.word())`.
    #[must_use]
    pub const fn word(word: &'static str) -> Self {
        Self::Choice(Cow::Borrowed(word))
    }

    /// A ratio for every priority, as a default.
    #[must_use]
    pub const fn ratios(list: &'static [f64]) -> Self {
        Self::RatioPerPriority(Cow::Borrowed(list))
    }

    /// Whether it stands for a value that was not given, as only defaults do: [`Self::Required`],
    /// [`Self::Computed`], [`Self::Derived`], [`Self::Optional`] or [`Self::OptionalLike`].
    #[must_use]
    pub const fn is_absent(&self) -> bool {
        matches!(
            self,
            Self::Required(_)
                | Self::Computed(_)
                | Self::Derived(..)
                | Self::Optional
                | Self::OptionalLike(_)
        )
    }
}

/// The value as a scenario file would write it; of an absent one, its rule, "required" or
/// "optional".
impl fmt::Display for ParamValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Required(_) => f.write_str("required"),
            Self::Computed(rule) | Self::Derived(rule, _) => f.write_str(rule),
            Self::Optional | Self::OptionalLike(_) => f.write_str("optional"),
            Self::Ratio(x) => write!(f, "{x}"),
            Self::RatioPerPriority(list) if list.len() == 1 => write!(f, "{}", list[0]),
            Self::RatioPerPriority(list) => f.debug_list().entries(list.iter()).finish(),
            Self::Bytes(n) => write!(f, "\"{n} B\""),
            Self::BytesPerPort(list) => {
                f.debug_list().entries(list.iter().map(|n| format!("{n} B"))).finish()
            }
            Self::Time(t) => write!(f, "\"{t}\""),
            Self::Rate(rate) => write!(f, "\"{rate}\""),
            Self::Count(n) => write!(f, "{n}"),
            Self::Flag(b) => write!(f, "{b}"),
            Self::Choice(word) | Self::Text(word) => write!(f, "\"{word}\""),
            Self::List(list) => {
                let list: Vec<_> = list.iter().map(ToString::to_string).collect();
                write!(f, "[{}]", list.join(", "))
            }
            Self::Profiles(list) => {
                let list: Vec<_> = list.iter().map(ToString::to_string).collect();
                write!(f, "[{}]", list.join(", "))
            }
            Self::Texts(list) => f.debug_list().entries(list).finish(),
            Self::Pairs(list) => {
                let list: Vec<_> = list.iter().map(|(from, to)| format!("[{from:?}, {to:?}]")).collect();
                write!(f, "[{}]", list.join(", "))
            }
            Self::File(file) => write!(f, "{:?}", file.name),
            Self::Tables(list) => {
                let list: Vec<_> = list.iter().map(|table| format!("{{ {table} }}")).collect();
                write!(f, "[{}]", list.join(", "))
            }
        }
    }
}
