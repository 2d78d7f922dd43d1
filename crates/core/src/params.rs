//! Parameters of policies: declared once, as data, and read by everything.
//!
//! A policy lists its parameters as [`ParamInfo`]s. The scenario reader, its JSON Schema, `policy
//! show`, the documentation and the constructors all read that list, so a parameter is described in
//! one place.

use crate::profiles::BufferProfile;
use bufferlab_units::Time;
use std::borrow::Cow;
use std::fmt;

/// How an under-specified detail is read (`DESIGN.md` section 4, decision 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Profile {
    /// The text of the paper.
    #[default]
    Paper,
    /// The public artifact of its authors, where it deviates.
    Artifact,
}

impl Profile {
    /// The name used in scenario files and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Artifact => "artifact",
        }
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
    /// A whole number, at least `min`.
    Count {
        /// Smallest accepted value.
        min: u64,
    },
    /// `true` or `false`.
    Flag,
    /// One of a few words.
    Choice(&'static [&'static str]),
    /// A list of buffer profiles; of two that name the same queue the later one counts.
    Profiles,
}

/// A parameter's value.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamValue {
    /// See [`ParamKind::Ratio`].
    Ratio(f64),
    /// See [`ParamKind::RatioPerPriority`]; never empty.
    RatioPerPriority(Cow<'static, [f64]>),
    /// Bytes; of a [`ParamKind::BytesPerPort`], of every port.
    Bytes(u64),
    /// See [`ParamKind::BytesPerPort`]; never empty.
    BytesPerPort(Cow<'static, [u64]>),
    /// A span.
    Time(Time),
    /// A whole number.
    Count(u64),
    /// A switch.
    Flag(bool),
    /// One of the words of [`ParamKind::Choice`].
    Choice(Cow<'static, str>),
    /// See [`ParamKind::Profiles`]; may be empty.
    Profiles(Cow<'static, [BufferProfile]>),
}

/// The value as a scenario file would write it.
impl fmt::Display for ParamValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ratio(x) => write!(f, "{x}"),
            Self::RatioPerPriority(list) if list.len() == 1 => write!(f, "{}", list[0]),
            Self::RatioPerPriority(list) => f.debug_list().entries(list.iter()).finish(),
            Self::Bytes(n) => write!(f, "\"{n} B\""),
            Self::BytesPerPort(list) => {
                f.debug_list().entries(list.iter().map(|n| format!("{n} B"))).finish()
            }
            Self::Time(t) => write!(f, "\"{t}\""),
            Self::Count(n) => write!(f, "{n}"),
            Self::Flag(b) => write!(f, "{b}"),
            Self::Choice(word) => write!(f, "\"{word}\""),
            Self::Profiles(list) => {
                let list: Vec<_> = list.iter().map(ToString::to_string).collect();
                write!(f, "[{}]", list.join(", "))
            }
        }
    }
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
            (ParamKind::Count { min }, ParamValue::Count(n)) if *n < min => {
                Err(format!("expected a whole number of at least {min}, found {n}"))
            }
            (ParamKind::Choice(words), ParamValue::Choice(word)) if !words.contains(&word.as_ref()) => {
                Err(format!("expected one of {}, found \"{word}\"", words.join(", ")))
            }
            (ParamKind::Profiles, ParamValue::Profiles(list)) => {
                list.iter().enumerate().try_for_each(|(index, profile)| {
                    profile.check().map_err(|why| format!("profile {index}: {why}"))
                })
            }
            (ParamKind::Bytes { .. } | ParamKind::BytesPerPort { .. }, ParamValue::Bytes(_))
            | (ParamKind::Time { .. }, ParamValue::Time(_))
            | (ParamKind::Count { .. }, ParamValue::Count(_))
            | (ParamKind::Flag, ParamValue::Flag(_))
            | (ParamKind::Choice(_), ParamValue::Choice(_)) => Ok(()),
            _ => Err(format!("expected {}, found {value}", self.expected())),
        }
    }

    /// The kind in words: "a number from 0.001 to 1024".
    #[must_use]
    pub fn expected(&self) -> String {
        match self.kind {
            ParamKind::Ratio { min, max } => format!("a number from {min} to {max}"),
            ParamKind::RatioPerPriority { min, max } => {
                format!("a number from {min} to {max}, or a list with one per priority")
            }
            ParamKind::Bytes { .. } => "a size such as \"100 KB\"".to_owned(),
            ParamKind::BytesPerPort { .. } => {
                "a size such as \"100 KB\", or a list with one per port".to_owned()
            }
            ParamKind::Time { .. } => "a time such as \"80 us\"".to_owned(),
            ParamKind::Count { min } => format!("a whole number of at least {min}"),
            ParamKind::Flag => "true or false".to_owned(),
            ParamKind::Choice(words) => format!("one of {}", words.join(", ")),
            ParamKind::Profiles => "a list of profiles, each a table".to_owned(),
        }
    }
}

/// A complete set of parameters for one policy: every declared one has a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    values: Vec<(&'static str, ParamValue)>,
    /// By value: whether it is the default of the profile.
    defaults: Vec<bool>,
}

impl Params {
    /// The defaults of `infos` under `profile`, overridden by `given`.
    ///
    /// # Errors
    /// The index in `given` of the first entry that names no parameter or leaves its domain, and
    /// what was expected.
    pub fn resolve(
        infos: &'static [ParamInfo],
        profile: Profile,
        given: &[(String, ParamValue)],
    ) -> Result<Self, (usize, String)> {
        let mut values: Vec<_> =
            infos.iter().map(|info| (info.name, info.default_in(profile).clone())).collect();
        for (index, (name, value)) in given.iter().enumerate() {
            let position = infos.iter().position(|info| info.name == name).ok_or_else(|| {
                let known: Vec<_> = infos.iter().map(|info| info.name).collect();
                (index, format!("unknown parameter \"{name}\"; known: {}", known.join(", ")))
            })?;
            infos[position].check(value).map_err(|why| (index, why))?;
            values[position].1 = value.clone();
        }
        let defaults = infos.iter().zip(&values).map(|(info, (_, value))| value == info.default_in(profile));
        Ok(Self { defaults: defaults.collect(), values })
    }

    /// Whether the value of `name` is the default: a default that does not suit an unusual switch is no mistake of the user, a chosen value is.
    ///
    /// # Panics
    /// If no such parameter is declared.
    #[must_use]
    pub fn is_default(&self, name: &str) -> bool {
        let at = self.values.iter().position(|(known, _)| *known == name);
        self.defaults[at.unwrap_or_else(|| panic!("policy asks for the undeclared parameter {name}"))]
    }

    /// The same parameters with other values, each made from name and value; kinds must stay.
    pub(crate) fn map(self, change: impl Fn(&'static str, &ParamValue) -> ParamValue) -> Self {
        let values = self.values.iter().map(|(name, value)| (*name, change(name, value))).collect();
        Self { values, ..self }
    }

    /// All values in the order of declaration.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &ParamValue)> {
        self.values.iter().map(|(name, value)| (*name, value))
    }

    fn get(&self, name: &str) -> &ParamValue {
        let found = self.values.iter().find(|(known, _)| *known == name);
        &found.unwrap_or_else(|| panic!("policy asks for the undeclared parameter {name}")).1
    }

    /// A [`ParamKind::Ratio`].
    ///
    /// # Panics
    /// If the policy did not declare `name` with this kind; the same holds for the other getters.
    #[must_use]
    pub fn ratio(&self, name: &str) -> f64 {
        match self.get(name) {
            ParamValue::Ratio(x) => *x,
            other => panic!("{name} is not a ratio: {other}"),
        }
    }

    /// A [`ParamKind::RatioPerPriority`] for `priorities` priorities; the last entry repeats.
    #[must_use]
    pub fn ratio_per_priority(&self, name: &str, priorities: usize) -> Vec<f64> {
        match self.get(name) {
            ParamValue::RatioPerPriority(list) => {
                (0..priorities).map(|p| list[p.min(list.len() - 1)]).collect()
            }
            other => panic!("{name} is not a ratio per priority: {other}"),
        }
    }

    /// A [`ParamKind::Bytes`].
    #[must_use]
    pub fn bytes(&self, name: &str) -> u64 {
        match self.get(name) {
            ParamValue::Bytes(n) => *n,
            other => panic!("{name} is not a size: {other}"),
        }
    }

    /// A [`ParamKind::BytesPerPort`] for `ports` ports; the last entry repeats.
    #[must_use]
    pub fn bytes_per_port(&self, name: &str, ports: usize) -> Vec<u64> {
        match self.get(name) {
            ParamValue::Bytes(n) => vec![*n; ports],
            ParamValue::BytesPerPort(list) => (0..ports).map(|port| list[port.min(list.len() - 1)]).collect(),
            other => panic!("{name} is not a size per port: {other}"),
        }
    }

    /// A [`ParamKind::Profiles`].
    #[must_use]
    pub fn profiles(&self, name: &str) -> &[BufferProfile] {
        match self.get(name) {
            ParamValue::Profiles(list) => list,
            other => panic!("{name} is not a list of profiles: {other}"),
        }
    }

    /// A [`ParamKind::Time`].
    #[must_use]
    pub fn time(&self, name: &str) -> Time {
        match self.get(name) {
            ParamValue::Time(t) => *t,
            other => panic!("{name} is not a time: {other}"),
        }
    }

    /// A [`ParamKind::Count`].
    #[must_use]
    pub fn count(&self, name: &str) -> u64 {
        match self.get(name) {
            ParamValue::Count(n) => *n,
            other => panic!("{name} is not a count: {other}"),
        }
    }

    /// A [`ParamKind::Flag`].
    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        match self.get(name) {
            ParamValue::Flag(b) => *b,
            other => panic!("{name} is not a flag: {other}"),
        }
    }

    /// A [`ParamKind::Choice`].
    #[must_use]
    pub fn choice(&self, name: &str) -> &str {
        match self.get(name) {
            ParamValue::Choice(word) => word,
            other => panic!("{name} is not a choice: {other}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::POLICIES;

    fn infos(policy: &str) -> &'static [ParamInfo] {
        crate::registry::find_policy(policy).expect("registered").params
    }

    fn resolve(name: &str, value: ParamValue) -> Result<Params, (usize, String)> {
        Params::resolve(infos("abm"), Profile::Paper, &[(name.to_owned(), value)])
    }

    #[test]
    fn every_default_lies_in_its_domain() {
        for info in POLICIES {
            for param in info.params {
                for profile in [Profile::Paper, Profile::Artifact] {
                    let checked = param.check(param.default_in(profile));
                    assert_eq!(checked, Ok(()), "{} {} {}", info.name, param.name, profile.name());
                }
            }
        }
    }

    #[test]
    fn names_and_aliases_of_policies_and_parameters_are_unique() {
        let names = POLICIES.iter().flat_map(|info| std::iter::once(&info.name).chain(info.aliases));
        let mut names: Vec<_> = names.collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        for info in POLICIES {
            for (index, param) in info.params.iter().enumerate() {
                assert!(info.params[..index].iter().all(|other| other.name != param.name), "{}", param.name);
            }
        }
    }

    #[test]
    fn values_outside_their_domain_or_of_another_kind_are_refused() {
        for (name, value, message) in [
            ("unscheduled_alpha", ParamValue::Ratio(f64::NAN), "found NaN"),
            ("unscheduled_alpha", ParamValue::Ratio(0.0), "expected a number from"),
            ("unscheduled_alpha", ParamValue::Count(3), "expected a number from"),
            ("alpha", ParamValue::RatioPerPriority(Cow::Borrowed(&[])), "found an empty list"),
            ("alpha", ParamValue::RatioPerPriority(Cow::Borrowed(&[1.0, -1.0])), "found -1"),
            ("update_interval", ParamValue::Time(Time::ZERO), "expected at least 1 ns"),
            ("congestion", ParamValue::Choice("treshold".into()), "expected one of threshold, fraction"),
            ("alfa", ParamValue::Ratio(1.0), "unknown parameter \"alfa\"; known: alpha"),
        ] {
            let (index, error) = resolve(name, value).expect_err(message);
            assert_eq!(index, 0);
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn a_size_per_port_is_one_for_all_or_a_list_whose_last_entry_repeats() {
        let resolve = |value: ParamValue| {
            Params::resolve(infos("sonic-dt"), Profile::Paper, &[("headroom".to_owned(), value)])
        };
        let list = |list: &'static [u64]| ParamValue::BytesPerPort(Cow::Borrowed(list));
        let sizes = |value| resolve(value).expect("in domain").bytes_per_port("headroom", 3);
        assert_eq!((sizes(ParamValue::Bytes(7)), sizes(list(&[9, 8]))), (vec![7; 3], vec![9, 8, 8]));
        assert_eq!(list(&[9, 8]).to_string(), "[\"9 B\", \"8 B\"]");
        assert!(resolve(list(&[])).is_err_and(|(_, why)| why.contains("empty list")));
    }

    #[test]
    fn a_list_by_priority_repeats_its_last_entry_and_profiles_have_their_own_defaults() {
        let given = ParamValue::RatioPerPriority(Cow::Borrowed(&[1.0, 0.5]));
        let params = resolve("alpha", given).expect("in domain");
        assert_eq!(params.ratio_per_priority("alpha", 4), [1.0, 0.5, 0.5, 0.5]);
        assert_eq!(params.ratio("unscheduled_alpha"), 64.0);
        let artifact = Params::resolve(infos("abm"), Profile::Artifact, &[]).expect("defaults");
        assert_eq!(artifact.ratio("unscheduled_alpha"), 1_024.0);
        assert_eq!(artifact.choice("drain_rate"), "credited");
    }
}
