//! Values and defaults of parameters.

use crate::params::Params;
use crate::profiles::BufferProfile;
use bufferlab_units::{BitRate, Time};
use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Value or default value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamValue {
    /// Default of a parameter that must be given.
    /// The value contains an example in the syntax of scenarios.
    Required(&'static str),
    /// Default of a parameter that is computed when the entry is built.
    /// The value describes the rule of the computation.
    Computed(&'static str),
    /// Default like [`Self::Computed`], with an example in the syntax of scenarios.
    Derived(&'static str, &'static str),
    /// Default of an optional parameter, which has no value if the user gives none.
    Optional,
    /// Default like [`Self::Optional`], with an example in the syntax of scenarios.
    OptionalLike(&'static str),
    /// A plain number, the value of [`crate::ParamKind::Ratio`] and [`crate::ParamKind::Measure`].
    Ratio(f64),
    /// A ratio per priority, never empty: see [`crate::ParamKind::RatioPerPriority`].
    RatioPerPriority(Cow<'static, [f64]>),
    /// A number of bytes. For a [`crate::ParamKind::BytesPerPort`], the number applies to every
    /// port.
    Bytes(u64),
    /// Numbers of bytes by port, never empty: see [`crate::ParamKind::BytesPerPort`]. Before the
    /// numbers are computed, the value is the word [`crate::AUTO`].
    BytesPerPort(Cow<'static, [u64]>),
    /// A span of time.
    Time(Time),
    /// A bit rate.
    Rate(BitRate),
    /// A whole number.
    Count(u64),
    /// A Boolean.
    Flag(bool),
    /// One of the words of [`crate::ParamKind::Choice`].
    Choice(Cow<'static, str>),
    /// Any text.
    Text(Cow<'static, str>),
    /// A list of values, never empty: see [`crate::ParamKind::List`].
    List(Cow<'static, [ParamValue]>),
    /// Buffer profiles, possibly none: see [`crate::ParamKind::Profiles`].
    Profiles(Cow<'static, [BufferProfile]>),
    /// Several texts.
    Texts(Vec<String>),
    /// Pairs of names: see [`crate::ParamKind::Pairs`].
    Pairs(Vec<(String, String)>),
    /// Name and content of a file: see [`crate::ParamKind::File`].
    File(FileContent),
    /// Tables with values of all their keys: see [`crate::ParamKind::Tables`].
    Tables(Vec<Params>),
}

/// A file that a parameter names, with its content when the document was read.
/// The program reads the file only once.
#[derive(Clone, Debug)]
pub struct FileContent {
    /// Name of the file's copy in a result folder.
    pub name: String,
    /// Path of the original file, for messages.
    pub path: PathBuf,
    /// Content of the file when the document was read.
    pub content: Arc<[u8]>,
}

/// Compares the names and contents of two files, but not the paths.
impl PartialEq for FileContent {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.content == other.content
    }
}

impl ParamValue {
    /// Creates a value or default that is a word, such as `ParamValue::word(Victim::Tail.word())`.
    #[must_use]
    pub const fn word(word: &'static str) -> Self {
        Self::Choice(Cow::Borrowed(word))
    }

    /// Creates a default with a ratio for every priority.
    #[must_use]
    pub const fn ratios(list: &'static [f64]) -> Self {
        Self::RatioPerPriority(Cow::Borrowed(list))
    }

    /// Whether the user gave no value for the parameter. Defaults without a value are
    /// [`Self::Required`], [`Self::Computed`], [`Self::Derived`], [`Self::Optional`] or
    /// [`Self::OptionalLike`].
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

/// Writes the value in the syntax of a scenario file.
/// Instead of an absent value, the text has the rule of the computation, "required" or "optional".
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
