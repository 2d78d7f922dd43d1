//! Declares a format as data: tables, keys, kinds, defaults and explanations.
//!
//! The reader, the JSON Schema and the reference use these declarations, and so agree with each
//! other.

use bufferlab_params::{Card, Catalog, ParamKind, TableInfo, Word};
use bufferlab_units::Time;

/// Declaration of a table in a document format.
#[derive(Debug)]
pub struct TableSpec {
    /// Heading of the table in the reference, such as `[switch]`.
    pub title: &'static str,
    /// Purpose of the table in one sentence.
    pub doc: &'static str,
    /// Keys that the table always accepts. If the table has a key `kind` with [`Kind::Tag`], the
    /// parameters of the named entry are keys, too.
    pub keys: &'static [KeySpec],
    /// Keys that depend on the table's `kind`.
    pub variants: &'static [Variant],
}

/// A value of the key `kind`, and the keys that only tables of this kind have.
#[derive(Debug)]
pub struct Variant {
    /// Value of the key `kind` that selects the variant's keys.
    pub kind: &'static str,
    /// Purpose of this kind of table in one sentence.
    pub doc: &'static str,
    /// Keys that only tables of this kind have.
    pub keys: &'static [KeySpec],
}

/// Declaration of one key in a table.
#[derive(Debug)]
pub struct KeySpec {
    /// Name of the key in a document.
    pub name: &'static str,
    /// Kind of value that the key accepts, such as a size or a time.
    pub kind: Kind,
    /// Whether a document must set the key.
    pub presence: Presence,
    /// An example value of the key, in TOML.
    pub example: &'static str,
    /// Effect of the key, and the source of its default.
    pub doc: &'static str,
}

/// Declares a key that every document must set.
#[must_use]
pub const fn required(name: &'static str, kind: Kind, example: &'static str, doc: &'static str) -> KeySpec {
    KeySpec { name, kind, presence: Presence::Required, example, doc }
}

/// Declares a key that a document may omit.
#[must_use]
pub const fn optional(name: &'static str, kind: Kind, example: &'static str, doc: &'static str) -> KeySpec {
    KeySpec { name, kind, presence: Presence::Optional, example, doc }
}

/// Declares a key with a fixed default.
#[must_use]
pub const fn default(name: &'static str, kind: Kind, value: &'static str, doc: &'static str) -> KeySpec {
    KeySpec { name, kind, presence: Presence::Default(value), example: value, doc }
}

/// Declares a key whose default follows from a rule.
#[must_use]
pub const fn computed(
    name: &'static str,
    kind: Kind,
    rule: &'static str,
    example: &'static str,
    doc: &'static str,
) -> KeySpec {
    KeySpec { name, kind, presence: Presence::Computed(rule), example, doc }
}

/// Whether a document must set a key, and the key's default.
#[derive(Clone, Copy, Debug)]
pub enum Presence {
    /// A document must set the key.
    Required,
    /// A document may omit the key, which has no default.
    Optional,
    /// The key has a default, which is written in TOML.
    Default(&'static str),
    /// The key has a default that follows from a rule, given in words.
    Computed(&'static str),
}

/// The kind of a key's value, with its bounds.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A value that is any string.
    Text,
    /// A value that is a time with its unit.
    Time {
        /// Whether a time of 0 is accepted.
        zero: bool,
    },
    /// A value that is a size with its unit.
    Size {
        /// Smallest size that the key accepts (bytes).
        min: u64,
        /// Largest size that the key accepts (bytes).
        max: u64,
    },
    /// A value that is one size, or a list with one size per port.
    SizePerPort {
        /// Smallest size that the key accepts (bytes).
        min: u64,
    },
    /// A value that is a rate with its unit, above 0.
    Rate,
    /// A value that is a whole number.
    Count {
        /// Smallest whole number that the key accepts.
        min: u64,
        /// Largest whole number that the key accepts.
        max: u64,
    },
    /// A value that is a number, or a fraction such as `"1/16"`.
    Ratio {
        /// Smallest number that the key accepts; with `open` the number must be larger.
        min: f64,
        /// Largest number that the key accepts.
        max: f64,
        /// Whether the number `min` itself is refused.
        open: bool,
    },
    /// A value that is one ratio, or a list with one ratio per priority.
    Ratios {
        /// Smallest ratio that the list may contain.
        min: f64,
        /// Largest ratio that the list may contain.
        max: f64,
    },
    /// A value that is any finite number.
    Number,
    /// A value that is `true` or `false`.
    Flag,
    /// A value that is one of a few words: [`bufferlab_params::Choice::WORDS`] of an enumeration.
    Words(&'static [Word]),
    /// A value that is the name of a registered entry.
    Name(&'static dyn Catalog),
    /// A value that is the name of a registered entry whose parameters are further keys of the
    /// table.
    Tag(&'static dyn Catalog),
    /// A value that is the name of a registered entry, or a table with `name` and its parameters.
    Entry(&'static dyn Catalog),
    /// A value that is a whole number of at least 1, or one of a few words.
    CountOrWord {
        /// Noun for the counted objects in messages: "segments".
        of: &'static str,
        /// Words that the key accepts in addition to numbers.
        words: &'static [&'static str],
    },
    /// A value that is one of a few words, or a list of tables.
    WordOrTables {
        /// Words that the key accepts in addition to tables.
        words: &'static [Word],
        /// Noun for the tables in messages: "groups".
        of: &'static str,
        /// Specification of each table in the list.
        table: &'static TableSpec,
    },
    /// A value that is a table with the specified keys.
    Table(&'static TableSpec),
    /// A value that is a list of tables.
    Tables(&'static TableSpec),
    /// A value that is a list of tables with parameters of an entry.
    ParamTables(&'static TableInfo),
    /// A value that is a string or a list of strings.
    Texts,
    /// A value that is a number of objects, or a list of the objects' names.
    CountOrNames {
        /// Noun for the objects in messages: "nodes".
        of: &'static str,
    },
    /// A value that is a list of whole numbers.
    Counts {
        /// Smallest number that the list may contain.
        min: u64,
        /// Largest number that the list may contain.
        max: u64,
    },
    /// A value that is a list of pairs of names.
    Pairs {
        /// Noun for the names in messages: "hosts".
        of: &'static str,
    },
    /// A value that is a list of one or more values of a parameter.
    List(&'static ParamKind),
    /// A value that is a list of sizes, each at least 1 B.
    Sizes,
    /// A list of texts, numbers, `true` and `false`. With `or`, the list may also contain tables.
    Values {
        /// Specification of a table that the list may contain.
        or: Option<&'static TableSpec>,
    },
    /// A table of dotted keys of another document and their values: [`crate::setting::Setting`].
    Settings {
        /// Noun for the other document in messages: "scenario".
        of: &'static str,
    },
    /// A table whose keys are names that the document chooses, with the kind of the table's values.
    Named(&'static Self),
    /// A value that is a string, or one of a few tables that differ by their keys.
    TextOr {
        /// Meaning of the string: "the id of a metric of the summary".
        text: &'static str,
        /// Tables that the document may have instead of the string.
        tables: &'static [&'static TableSpec],
    },
    /// An even number of ascending times: starts and ends of intervals alternate.
    Intervals,
}

/// The expected value of a key, for conversions and their error messages.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// Name of the key that has the value.
    pub name: &'a str,
    /// Kind of value that the key accepts.
    pub kind: Kind,
    /// An example value of the key.
    pub example: &'a str,
}

impl KeySpec {
    /// The value that the key must have, for messages.
    #[must_use]
    pub const fn expected(&self) -> Expected<'static> {
        Expected { name: self.name, kind: self.kind, example: self.example }
    }
}

impl Kind {
    /// The kind of a parameter's value; `None` for profiles, which are tables declared by a format.
    #[must_use]
    pub fn for_parameter(kind: ParamKind) -> Option<Self> {
        Some(match kind {
            ParamKind::Ratio { min, max } => Self::Ratio { min, max, open: false },
            ParamKind::RatioAbove { min, max } => Self::Ratio { min, max, open: true },
            ParamKind::Measure { min, max, .. } => Self::Ratio { min, max, open: false },
            ParamKind::RatioPerPriority { min, max } => Self::Ratios { min, max },
            ParamKind::Bytes { min } => Self::Size { min, max: u64::MAX },
            ParamKind::BytesPerPort { min } => Self::SizePerPort { min },
            ParamKind::Time { min } => Self::Time { zero: min == Time::ZERO },
            ParamKind::Rate { .. } => Self::Rate,
            ParamKind::Text => Self::Text,
            ParamKind::Count { min, max } => Self::Count { min, max },
            ParamKind::Flag => Self::Flag,
            ParamKind::Choice(words) => Self::Words(words),
            ParamKind::List(element) => Self::List(element),
            ParamKind::Texts => Self::Texts,
            ParamKind::Pairs { of } => Self::Pairs { of },
            ParamKind::File | ParamKind::FlowSizes(_) => Self::Text,
            ParamKind::Nodes { .. } => Self::CountOrNames { of: "nodes" },
            ParamKind::Tables(info) => Self::ParamTables(info),
            ParamKind::Profiles => return None,
        })
    }

    /// Describes the expected value in words for messages, such as "a size".
    #[must_use]
    pub fn expected(&self) -> String {
        match *self {
            Self::Text => "a string".to_owned(),
            Self::Time { .. } => "a time".to_owned(),
            Self::Size { .. } => "a size".to_owned(),
            Self::SizePerPort { .. } => "a size, a list with one per port, or \"auto\"".to_owned(),
            Self::Rate => "a rate".to_owned(),
            Self::Count { min, max } => format!("a whole number {}", bounds(min, max)),
            Self::Ratio { min, max, open } => ratio_bounds(min, max, open),
            Self::Number => "a number".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Words(words) => {
                let words: Vec<_> = words.iter().map(|word| format!("\"{}\"", word.name)).collect();
                format!("one of {}", words.join(", "))
            }
            Self::Ratios { min, max } => {
                format!("{}, or a list with one per priority", ratio_bounds(min, max, false))
            }
            Self::Name(catalog) | Self::Tag(catalog) => format!("the name of a {}", catalog.kind()),
            Self::Entry(catalog) => {
                format!("the name of a {}, or a table with `name` and its parameters", catalog.kind())
            }
            Self::CountOrWord { of, words } => {
                let words: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
                format!("a number of {of}, {}", words.join(" or "))
            }
            Self::WordOrTables { words, of, .. } => {
                let words: Vec<_> = words.iter().map(|word| format!("\"{}\"", word.name)).collect();
                format!("{}, or a list of {of}", words.join(", "))
            }
            Self::Table(spec) => format!("a table ({})", spec.title),
            Self::Tables(_) | Self::ParamTables(_) => "a list of tables".to_owned(),
            Self::Texts => "a string, or a list of strings".to_owned(),
            Self::CountOrNames { of } => format!("a number of {of}, or a list of their names"),
            Self::Counts { min, max } => format!("a list of whole numbers, each {}", bounds(min, max)),
            Self::Pairs { of } => format!("a list of pairs of {of}, each as [from, to]"),
            Self::List(element) => ParamKind::List(element).expected(),
            Self::Sizes => "a list of sizes".to_owned(),
            Self::Values { or: None } => "a list of values".to_owned(),
            Self::Values { or: Some(spec) } => format!("a list of values, or of tables ({})", spec.title),
            Self::Settings { of } => format!("a table of dotted keys of the {of} and their values"),
            Self::Named(kind) => format!("a table of names, each with {}", kind.expected()),
            Self::TextOr { text, tables } => {
                let titles: Vec<_> = tables.iter().map(|spec| spec.title).collect();
                format!("{text}, or a table: {}", titles.join(", "))
            }
            Self::Intervals => "a list of times: from, until, from, until …".to_owned(),
        }
    }
}

/// Describes a range of whole numbers in words, such as "from 1 to 8" or "of at least 1".
pub(crate) fn bounds(min: u64, max: u64) -> String {
    match max {
        u64::MAX | 0xffff_ffff => format!("of at least {min}"),
        _ => format!("from {min} to {max}"),
    }
}

/// Describes a range of ratios in words, such as "a number from 0 to 1".
pub(crate) fn ratio_bounds(min: f64, max: f64, open: bool) -> String {
    if open {
        format!("a number above {min} and at most {max}")
    } else {
        format!("a number from {min} to {max}")
    }
}

impl TableSpec {
    /// Returns the registry whose entries the table's key `kind` names.
    #[must_use]
    pub fn catalog(&self) -> Option<&'static dyn Catalog> {
        self.keys.iter().find_map(|key| match key.kind {
            Kind::Tag(catalog) => Some(catalog),
            _ => None,
        })
    }

    /// Returns the registry entries that the table's `kind` may name, if the table has a registry.
    /// With `own`, the result includes entries that a program has registered.
    #[must_use]
    pub fn cards(&self, own: bool) -> Vec<Card> {
        self.catalog().map_or_else(Vec::new, |catalog| catalog.cards(own))
    }

    /// Every key that a table of the kind `kind` accepts, except `kind` itself.
    pub fn keys_of<'a>(&'a self, kind: Option<&str>) -> impl Iterator<Item = &'static KeySpec> + use<'a> {
        let variant = self.variants.iter().find(|variant| Some(variant.kind) == kind);
        self.keys.iter().chain(variant.map_or(&[] as &[_], |variant| variant.keys))
    }
}
