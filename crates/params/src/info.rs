//! Declaration of a parameter: its kind, its range, and its default for each profile.

use crate::choice::{Word, meanings};
use crate::choices;
use crate::value::ParamValue;
use bufferlab_units::quantity::Dimension;
use bufferlab_units::{BitRate, Time};
use std::borrow::Cow;
use std::fmt;

choices! {
    /// Source for details that papers leave open: the text or the public artifacts.
    #[derive(Default)]
    pub enum Profile {
        #[default]
        Paper = "paper": "the text of the papers",
        Artifact = "artifact": "the public artifacts of the papers' authors, where they deviate",
    }
}

/// Word for the value of a [`ParamKind::BytesPerPort`] that is derived from the cables of the
/// ports.
pub const AUTO: &str = "auto";

/// Kind and valid range of a parameter's values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParamKind {
    /// A dimensionless number in `min..=max`.
    Ratio {
        /// Smallest accepted value of the parameter.
        min: f64,
        /// Largest accepted value of the parameter.
        max: f64,
    },
    /// A dimensionless number greater than `min` and at most `max`.
    RatioAbove {
        /// Lower bound of the parameter's value. The bound itself is refused.
        min: f64,
        /// Largest accepted value of the parameter.
        max: f64,
    },
    /// A number in `min..=max` of a unit that has no separate kind: metres, percent, bit times.
    Measure {
        /// Name of the unit in the plural, for documentation and messages.
        unit: &'static str,
        /// Smallest accepted value of the parameter.
        min: f64,
        /// Largest accepted value of the parameter.
        max: f64,
    },
    /// One ratio for every priority, or a list with one ratio per priority. The last ratio also
    /// applies to all further priorities.
    RatioPerPriority {
        /// Smallest value that the parameter accepts for a priority.
        min: f64,
        /// Largest value that the parameter accepts for a priority.
        max: f64,
    },
    /// A number of bytes, at least `min`.
    Bytes {
        /// Smallest number of bytes that the parameter accepts.
        min: u64,
    },
    /// A number of bytes for every port, or a list with one number per port. The last number also
    /// applies to all further ports. The word [`AUTO`] means that the caller derives the value from
    /// cable lengths.
    BytesPerPort {
        /// Smallest number of bytes for a port that the parameter accepts.
        min: u64,
    },
    /// A span of time of at least `min`.
    Time {
        /// Smallest accepted time of the parameter.
        min: Time,
    },
    /// A bit rate of at least `min`.
    Rate {
        /// Smallest accepted rate of the parameter.
        min: BitRate,
    },
    /// A whole number in `min..=max`.
    Count {
        /// Smallest accepted count of the parameter.
        min: u64,
        /// Largest accepted count of the parameter.
        max: u64,
    },
    /// A Boolean: `true` or `false`.
    Flag,
    /// One of a few words: the [`crate::Choice::WORDS`] of an enumeration.
    Choice(&'static [Word]),
    /// The value may be any text.
    Text,
    /// A list of one or more values, all of one parameter kind.
    List(&'static ParamKind),
    /// A list of buffer profiles; the last profile that names a queue applies.
    Profiles,
    /// A list of tables, each with the parameters that the declaration lists.
    Tables(&'static TableInfo),
    /// The value is a text, or a list of texts.
    Texts,
    /// The value is a list of pairs of names. Each pair is written as `[from, to]`.
    Pairs {
        /// Noun in messages for the objects that the names denote, such as "hosts".
        of: &'static str,
    },
    /// The name of a file, relative to the document. The value includes the file's content.
    File,
    /// Flow sizes: the name of a known distribution, one size, or the name of a file
    /// with a distribution.
    FlowSizes(&'static [Word]),
    /// Network nodes: the number of nodes, or a list of node names. If a number is given, the nodes
    /// have the names `prefix0`, `prefix1` …
    Nodes {
        /// Prefix of the names of numbered nodes, such as `h` for `h0`.
        prefix: &'static str,
    },
}

/// Declaration of the tables in a parameter whose value is a list of tables.
#[derive(Debug, PartialEq)]
pub struct TableInfo {
    /// Heading of the table of keys in the reference pages, such as "an entry of topology.links".
    pub title: &'static str,
    /// Description of one table in the parameter's list.
    pub doc: &'static str,
    /// Keys that one table in the parameter's list may have.
    pub params: &'static [ParamInfo],
}

impl ParamKind {
    /// Parameter kind for any rate above zero.
    pub const RATE: Self = Self::Rate { min: BitRate(1) };
    /// Parameter kind for any span of time, zero included.
    pub const DELAY: Self = Self::Time { min: Time::ZERO };
    /// Parameter kind for any span of time above zero.
    pub const SPAN: Self = Self::Time { min: Time(1) };
    /// Parameter kind for any number of bytes above zero.
    pub const SIZE: Self = Self::Bytes { min: 1 };

    /// Parameter kind for a whole number of at least `min`.
    #[must_use]
    pub const fn at_least(min: u64) -> Self {
        Self::Count { min, max: u64::MAX }
    }

    /// Describes the kind of parameter in words, such as "a number from 0.001 to 1024".
    #[must_use]
    pub fn expected(self) -> String {
        match self {
            Self::Ratio { min, max: f64::MAX } => format!("a number of at least {min}"),
            Self::Ratio { min, max } => format!("a number from {min} to {max}"),
            Self::RatioAbove { min, max } if max == f64::MAX => format!("a number above {min}"),
            Self::RatioAbove { min, max } => format!("a number above {min} and at most {max}"),
            Self::Measure { unit, min, max: f64::MAX } => format!("a number of at least {min} ({unit})"),
            Self::Measure { unit, min, max } => format!("a number from {min} to {max} ({unit})"),
            Self::RatioPerPriority { min, max } => {
                format!("a number from {min} to {max}, or a list with one per priority")
            }
            Self::Bytes { .. } => "a size such as \"100 KB\"".to_owned(),
            Self::BytesPerPort { .. } => {
                "a size such as \"100 KB\", a list with one per port, or \"auto\"".to_owned()
            }
            Self::Time { .. } => "a time such as \"80 us\"".to_owned(),
            Self::Rate { .. } => "a rate such as \"10 Gb/s\"".to_owned(),
            // The text omits the maximum of an integer type, because no user exceeds this maximum.
            Self::Count { min, max: u64::MAX | COUNT_32_MAX } => format!("a whole number of at least {min}"),
            Self::Count { min, max } => format!("a whole number from {min} to {max}"),
            Self::Flag => "true or false".to_owned(),
            Self::Choice(words) => format!("one of {}", names(words)),
            Self::Text => "a string".to_owned(),
            Self::List(kind) => format!("a list, each {}", kind.expected()),
            Self::Profiles => "a list of profiles, each a table".to_owned(),
            Self::Tables(_) => "a list of tables".to_owned(),
            Self::Texts => "a string, or a list of strings".to_owned(),
            Self::Pairs { of } => format!("a list of pairs of {of}, each as [from, to]"),
            Self::File | Self::FlowSizes(_) => "a string".to_owned(),
            Self::Nodes { .. } => "a number of nodes, or a list of their names".to_owned(),
        }
    }
}

/// Checks that `amount`, a quantity of `dimension`, is at most the largest accepted quantity.
fn not_beyond(dimension: Dimension, amount: u64, value: &ParamValue) -> Result<(), Misfit> {
    if amount <= dimension.largest() { Ok(()) } else { Err(Misfit::new(dimension.at_most(), value)) }
}

/// Maximum value of a 32-bit count.
const COUNT_32_MAX: u64 = u32::MAX as u64;

/// Lists the words of a choice parameter, separated by commas.
fn names(words: &[Word]) -> String {
    words.iter().map(|word| word.name).collect::<Vec<_>>().join(", ")
}

/// The declaration of one parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct ParamInfo {
    /// Name of the parameter in scenario files and messages.
    pub name: &'static str,
    /// Kind and valid range of the parameter's value.
    pub kind: ParamKind,
    /// Value of the parameter if a document does not give a value.
    pub default: ParamValue,
    /// Value of the parameter in the profile `artifact` if a document gives no value. `None` if
    /// this value equals the default.
    pub artifact_default: Option<ParamValue>,
    /// Effect of the parameter, with its symbol and source.
    /// The words of a choice parameter have separate descriptions.
    pub doc: &'static str,
}

impl ParamInfo {
    /// Declares a parameter that must be given; `example` is a value in the syntax of scenarios.
    #[must_use]
    pub const fn required(
        name: &'static str,
        kind: ParamKind,
        example: &'static str,
        doc: &'static str,
    ) -> Self {
        Self { name, kind, default: ParamValue::Required(example), artifact_default: None, doc }
    }

    /// Declares an optional parameter without a default.
    #[must_use]
    pub const fn optional(
        name: &'static str,
        kind: ParamKind,
        example: &'static str,
        doc: &'static str,
    ) -> Self {
        Self { name, kind, default: ParamValue::OptionalLike(example), artifact_default: None, doc }
    }

    /// Declares a parameter with a computed default, whose rule is described in words.
    #[must_use]
    pub const fn computed(
        name: &'static str,
        kind: ParamKind,
        rule: &'static str,
        example: &'static str,
        doc: &'static str,
    ) -> Self {
        Self { name, kind, default: ParamValue::Derived(rule, example), artifact_default: None, doc }
    }

    /// Declares a parameter with a constant default.
    #[must_use]
    pub const fn with_default(
        name: &'static str,
        kind: ParamKind,
        default: ParamValue,
        doc: &'static str,
    ) -> Self {
        Self { name, kind, default, artifact_default: None, doc }
    }

    /// A value in the syntax of scenarios, for documentation and messages.
    /// The value is the default if the parameter has a default.
    #[must_use]
    pub fn example(&self) -> String {
        match &self.default {
            ParamValue::Required(example)
            | ParamValue::OptionalLike(example)
            | ParamValue::Derived(_, example) => (*example).to_owned(),
            default => default.to_string(),
        }
    }

    /// The default value of the parameter in the profile `profile`.
    #[must_use]
    pub fn default_in(&self, profile: Profile) -> &ParamValue {
        match (profile, &self.artifact_default) {
            (Profile::Artifact, Some(value)) => value,
            _ => &self.default,
        }
    }

    /// Checks that `value` has this parameter's kind and is in its domain.
    ///
    /// # Errors
    /// Returns the value that the parameter expects and the value that was found.
    pub fn check(&self, value: &ParamValue) -> Result<(), Misfit> {
        self.kind.check(value)
    }

    /// Describes the parameter's kind in words, such as "a number from 0.001 to 1024".
    #[must_use]
    pub fn expected(&self) -> String {
        self.kind.expected()
    }

    /// Effect of the parameter and, for a choice, the meanings of its words.
    #[must_use]
    pub fn documentation(&self) -> Cow<'static, str> {
        match self.kind {
            ParamKind::Choice(words) => match meanings(words) {
                meanings if meanings.is_empty() => self.doc.into(),
                meanings => format!("{} {meanings}", self.doc).into(),
            },
            _ => self.doc.into(),
        }
    }
}

/// Error about a value outside the domain of its parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// Index of the wrong profile in a list of profiles.
    pub profile: Option<usize>,
    /// Description of the expected value, such as "at least 1 B".
    pub expected: String,
    /// Description of the wrong value, such as "0 B"; `None` if `expected` is sufficient.
    pub found: Option<String>,
}

impl Misfit {
    pub(crate) fn new(expected: impl Into<String>, found: impl fmt::Display) -> Self {
        Self { profile: None, expected: expected.into(), found: Some(found.to_string()) }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(index) = self.profile {
            write!(f, "profile {index}: ")?;
        }
        write!(f, "expected {}", self.expected)?;
        match &self.found {
            Some(found) => write!(f, ", found {found}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Misfit {}

impl ParamKind {
    /// Checks that `value` fits this kind of parameter: its type and its valid range.
    ///
    /// # Errors
    /// Returns the value that this kind of parameter expects and the value that was found.
    pub fn check(self, value: &ParamValue) -> Result<(), Misfit> {
        match (self, value) {
            (Self::Ratio { .. } | Self::RatioAbove { .. } | Self::Measure { .. }, ParamValue::Ratio(x)) => {
                self.check_number(*x)
            }
            (Self::RatioPerPriority { min, max }, ParamValue::RatioPerPriority(list)) => {
                if list.is_empty() {
                    return Err(Misfit::new("at least one number", "an empty list"));
                }
                list.iter().try_for_each(|&x| Self::Ratio { min, max }.check_number(x))
            }
            (Self::List(kind), ParamValue::List(list)) => match list.is_empty() {
                true => Err(Misfit::new("at least one value", "an empty list")),
                false => list.iter().try_for_each(|value| kind.check(value)),
            },
            (Self::Profiles, ParamValue::Profiles(list)) => {
                list.iter().enumerate().try_for_each(|(index, profile)| {
                    profile.check().map_err(|misfit| Misfit { profile: Some(index), ..misfit })
                })
            }
            (Self::Choice(words), ParamValue::Choice(word))
                if !words.iter().any(|known| known.name == word) =>
            {
                Err(Misfit::new(format!("one of {}", names(words)), format_args!("\"{word}\"")))
            }
            (Self::BytesPerPort { .. }, ParamValue::Choice(word)) if word == AUTO => Ok(()),
            (Self::Flag, ParamValue::Flag(_))
            | (Self::Choice(_), ParamValue::Choice(_))
            | (Self::Text, ParamValue::Text(_))
            | (Self::Nodes { .. } | Self::Texts, ParamValue::Texts(_))
            | (Self::Pairs { .. }, ParamValue::Pairs(_))
            | (Self::File, ParamValue::File(_))
            | (Self::FlowSizes(_), ParamValue::File(_) | ParamValue::Choice(_) | ParamValue::Bytes(_))
            | (Self::Tables(_), ParamValue::Tables(_)) => Ok(()),
            _ => self.check_amount(value),
        }
    }

    /// Checks that a plain number is in the valid range of this kind of parameter.
    fn check_number(self, x: f64) -> Result<(), Misfit> {
        let fits = match self {
            Self::Ratio { min, max } | Self::Measure { min, max, .. } => (min..=max).contains(&x),
            Self::RatioAbove { min, max } => x > min && x <= max,
            _ => false,
        };
        if x.is_finite() && fits { Ok(()) } else { Err(Misfit::new(self.expected(), x)) }
    }

    /// Checks a size, a time, a rate or a count. Refuses any other value as a value of the wrong
    /// kind.
    fn check_amount(self, value: &ParamValue) -> Result<(), Misfit> {
        match (self, value) {
            (Self::Bytes { min } | Self::BytesPerPort { min }, ParamValue::Bytes(n)) if *n < min => {
                Err(Misfit::new(format!("at least {min} B"), format_args!("{n} B")))
            }
            (Self::BytesPerPort { min }, ParamValue::BytesPerPort(list)) => match list.iter().min() {
                None => Err(Misfit::new("at least one size", "an empty list")),
                Some(least) if *least < min => {
                    Err(Misfit::new(format!("at least {min} B"), format_args!("{least} B")))
                }
                Some(_) => {
                    list.iter().try_for_each(|&n| not_beyond(Dimension::Size, n, &ParamValue::Bytes(n)))
                }
            },
            (Self::Time { min }, ParamValue::Time(t)) if *t < min => {
                Err(Misfit::new(format!("at least {min}"), t))
            }
            (Self::Rate { min }, ParamValue::Rate(rate)) if *rate < min => {
                Err(Misfit::new(format!("at least {min}"), rate))
            }
            (Self::Count { min, max }, ParamValue::Count(n)) if !(min..=max).contains(n) => {
                Err(Misfit::new(self.expected(), n))
            }
            (Self::Bytes { .. } | Self::BytesPerPort { .. }, ParamValue::Bytes(n)) => {
                not_beyond(Dimension::Size, *n, value)
            }
            (Self::Time { .. }, ParamValue::Time(time)) => not_beyond(Dimension::Time, time.0, value),
            (Self::Rate { .. }, ParamValue::Rate(rate)) => not_beyond(Dimension::Rate, rate.0, value),
            (Self::Count { .. }, ParamValue::Count(_)) => Ok(()),
            _ => Err(Misfit::new(self.expected(), value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALPHAS: ParamKind = ParamKind::List(&ParamKind::RatioAbove { min: 0.0, max: f64::MAX });

    fn refusal(kind: ParamKind, value: &ParamValue) -> String {
        kind.check(value).expect_err("out of the domain").to_string()
    }

    #[test]
    fn every_element_of_a_list_is_in_the_domain_of_its_kind() {
        let list = |values: &[f64]| {
            ParamValue::List(values.iter().map(|&x| ParamValue::Ratio(x)).collect::<Vec<_>>().into())
        };
        assert_eq!(ALPHAS.check(&list(&[0.5, 8.0])), Ok(()));
        assert_eq!(refusal(ALPHAS, &list(&[0.5, 0.0])), "expected a number above 0, found 0");
        assert_eq!(refusal(ALPHAS, &list(&[])), "expected at least one value, found an empty list");
        let one = refusal(ALPHAS, &ParamValue::Ratio(0.5));
        assert_eq!(one, "expected a list, each a number above 0, found 0.5");
    }

    #[test]
    fn a_measure_says_its_unit() {
        let metres = ParamKind::Measure { unit: "metres", min: 0.0, max: f64::MAX };
        assert_eq!(metres.check(&ParamValue::Ratio(40.0)), Ok(()));
        let message = "expected a number of at least 0 (metres), found -1";
        assert_eq!(refusal(metres, &ParamValue::Ratio(-1.0)), message);
        assert!(metres.check(&ParamValue::Ratio(f64::NAN)).is_err());
    }
}
