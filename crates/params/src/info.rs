//! What a parameter is: its kind, its range, its default in each reading.

use crate::choice::Word;
use crate::choices;
use crate::value::ParamValue;
use bufferlab_units::{BitRate, Time};

choices! {
    /// How an under-specified detail is read.
    #[derive(Default)]
    pub enum Profile {
        #[default]
        Paper = "paper": "the text of the papers",
        Artifact = "artifact": "the public artifacts of their authors, where they deviate",
    }
}

/// What a parameter's value may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParamKind {
    /// A dimensionless number in `min..=max`.
    Ratio {
        /// Smallest accepted value.
        min: f64,
        /// Largest accepted value.
        max: f64,
    },
    /// A dimensionless number above `min`, up to `max`.
    RatioAbove {
        /// The bound that is not accepted itself.
        min: f64,
        /// Largest accepted value.
        max: f64,
    },
    /// One ratio for every priority, or a list with one ratio per priority (the last one repeats).
    RatioPerPriority {
        /// Smallest accepted value.
        min: f64,
        /// Largest accepted value.
        max: f64,
    },
    /// A number of bytes, at least `min`.
    Bytes {
        /// Smallest accepted value (bytes).
        min: u64,
    },
    /// One number of bytes for every port, or a list with one per port (the last one repeats).
    BytesPerPort {
        /// Smallest accepted value (bytes).
        min: u64,
    },
    /// A span of time, at least `min`.
    Time {
        /// Smallest accepted value.
        min: Time,
    },
    /// A rate, at least `min`.
    Rate {
        /// Smallest accepted value.
        min: BitRate,
    },
    /// A whole number in `min..=max`.
    Count {
        /// Smallest accepted value.
        min: u64,
        /// Largest accepted value.
        max: u64,
    },
    /// `true` or `false`.
    Flag,
    /// One of a few words: [`crate::Choice::WORDS`] of an enumeration.
    Choice(&'static [Word]),
    /// Any text.
    Text,
    /// A list of buffer profiles; of two that name the same queue the later one counts.
    Profiles,
}

impl ParamKind {
    /// A whole number of at least `min`.
    #[must_use]
    pub const fn at_least(min: u64) -> Self {
        Self::Count { min, max: u64::MAX }
    }

    /// The kind in words: "a number from 0.001 to 1024".
    #[must_use]
    pub fn expected(self) -> String {
        match self {
            Self::Ratio { min, max } => format!("a number from {min} to {max}"),
            Self::RatioAbove { min, max } if max == f64::MAX => format!("a number above {min}"),
            Self::RatioAbove { min, max } => format!("a number above {min} and at most {max}"),
            Self::RatioPerPriority { min, max } => {
                format!("a number from {min} to {max}, or a list with one per priority")
            }
            Self::Bytes { .. } => "a size such as \"100 KB\"".to_owned(),
            Self::BytesPerPort { .. } => "a size such as \"100 KB\", or a list with one per port".to_owned(),
            Self::Time { .. } => "a time such as \"80 us\"".to_owned(),
            Self::Rate { .. } => "a rate such as \"10 Gb/s\"".to_owned(),
            Self::Count { min, max: u64::MAX } => format!("a whole number of at least {min}"),
            Self::Count { min, max } => format!("a whole number from {min} to {max}"),
            Self::Flag => "true or false".to_owned(),
            Self::Choice(words) => format!("one of {}", names(words)),
            Self::Text => "a string".to_owned(),
            Self::Profiles => "a list of profiles, each a table".to_owned(),
        }
    }
}

/// The words of a choice, separated by commas.
fn names(words: &[Word]) -> String {
    words.iter().map(|word| word.name).collect::<Vec<_>>().join(", ")
}

/// The description of one parameter.
#[derive(Clone, Debug)]
pub struct ParamInfo {
    /// Name in scenario files and everywhere else.
    pub name: &'static str,
    /// Kind and domain.
    pub kind: ParamKind,
    /// Value when nothing is said.
    pub default: ParamValue,
    /// Value when nothing is said and the scenario's profile is `artifact`, where it differs.
    pub artifact_default: Option<ParamValue>,
    /// What it does, with its symbol and source.
    pub doc: &'static str,
}

impl ParamInfo {
    /// The default under `profile`.
    #[must_use]
    pub fn default_in(&self, profile: Profile) -> &ParamValue {
        match (profile, &self.artifact_default) {
            (Profile::Artifact, Some(value)) => value,
            _ => &self.default,
        }
    }

    /// Checks that `value` has this parameter's kind and lies in its domain.
    ///
    /// # Errors
    /// A sentence that says what was expected.
    pub fn check(&self, value: &ParamValue) -> Result<(), String> {
        let in_range = |x: f64, min: f64, max: f64| {
            if x.is_finite() && (min..=max).contains(&x) {
                Ok(())
            } else {
                Err(format!("expected a number from {min} to {max}, found {x}"))
            }
        };
        match (self.kind, value) {
            (ParamKind::Ratio { min, max }, ParamValue::Ratio(x)) => in_range(*x, min, max),
            (ParamKind::RatioAbove { min, max }, ParamValue::Ratio(x)) => {
                if x.is_finite() && *x > min && *x <= max {
                    Ok(())
                } else {
                    Err(format!("expected {}, found {x}", self.expected()))
                }
            }
            (ParamKind::RatioPerPriority { min, max }, ParamValue::RatioPerPriority(list)) => {
                if list.is_empty() {
                    return Err("expected at least one number, found an empty list".to_owned());
                }
                list.iter().try_for_each(|&x| in_range(x, min, max))
            }
            (ParamKind::Bytes { min } | ParamKind::BytesPerPort { min }, ParamValue::Bytes(n))
                if *n < min =>
            {
                Err(format!("expected at least {min} B, found {n} B"))
            }
            (ParamKind::BytesPerPort { min }, ParamValue::BytesPerPort(list)) => match list.iter().min() {
                None => Err("expected at least one size, found an empty list".to_owned()),
                Some(least) if *least < min => Err(format!("expected at least {min} B, found {least} B")),
                Some(_) => Ok(()),
            },
            (ParamKind::Time { min }, ParamValue::Time(t)) if *t < min => {
                Err(format!("expected at least {min}, found {t}"))
            }
            (ParamKind::Rate { min }, ParamValue::Rate(rate)) if *rate < min => {
                Err(format!("expected at least {min}, found {rate}"))
            }
            (ParamKind::Count { min, max }, ParamValue::Count(n)) if !(min..=max).contains(n) => {
                Err(format!("expected {}, found {n}", self.expected()))
            }
            (ParamKind::Choice(words), ParamValue::Choice(word))
                if !words.iter().any(|known| known.name == word) =>
            {
                Err(format!("expected one of {}, found \"{word}\"", names(words)))
            }
            (ParamKind::Profiles, ParamValue::Profiles(list)) => {
                list.iter().enumerate().try_for_each(|(index, profile)| {
                    profile.check().map_err(|why| format!("profile {index}: {why}"))
                })
            }
            (ParamKind::Bytes { .. } | ParamKind::BytesPerPort { .. }, ParamValue::Bytes(_))
            | (ParamKind::Time { .. }, ParamValue::Time(_))
            | (ParamKind::Rate { .. }, ParamValue::Rate(_))
            | (ParamKind::Count { .. }, ParamValue::Count(_))
            | (ParamKind::Flag, ParamValue::Flag(_))
            | (ParamKind::Choice(_), ParamValue::Choice(_))
            | (ParamKind::Text, ParamValue::Text(_)) => Ok(()),
            _ => Err(format!("expected {}, found {value}", self.expected())),
        }
    }

    /// The kind in words: "a number from 0.001 to 1024".
    #[must_use]
    pub fn expected(&self) -> String {
        self.kind.expected()
    }
}
