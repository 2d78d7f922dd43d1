//! The parameters of one registry entry, completely set and checked.

use crate::choice::Choice;
use crate::info::{ParamInfo, Profile};
use crate::profiles::BufferProfile;
use crate::value::{FileContent, ParamValue};
use bufferlab_units::{BitRate, Time};
use std::fmt;

/// Error about a parameter that does not fit the switch, transport or network being built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildError {
    /// Name of the parameter that does not fit the switch, transport or network.
    pub param: &'static str,
    /// Expected value of the parameter, and advice.
    pub message: String,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.param, self.message)
    }
}

impl std::error::Error for BuildError {}

/// Error about a given value that is not a valid parameter of the entry, or about a missing value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolveError {
    /// Index of the wrong value among the values that the user gave. `None` if a value is missing.
    pub given: Option<usize>,
    /// Name of the parameter with the wrong or missing value.
    pub name: String,
    /// Description of the parameter's expected value.
    pub message: String,
}

impl fmt::Display for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.message)
    }
}

impl std::error::Error for ResolveError {}

/// Complete parameters of one registry entry, such as a policy. Every declared parameter has a
/// value, or is absent if the parameter's default allows absence.
#[derive(Clone, Debug, Default)]
pub struct Params {
    values: Vec<(&'static str, ParamValue)>,
    /// Declared default of each parameter, used when the value is absent.
    absent: Vec<ParamValue>,
    /// Whether each parameter has the default value of the profile.
    defaults: Vec<bool>,
}

/// Compares the values of the parameters. Whether a value is a default does not matter.
impl PartialEq for Params {
    fn eq(&self, other: &Self) -> bool {
        self.values == other.values
    }
}

/// Writes `name = value` for all present values, in the syntax of an inline table.
impl fmt::Display for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let given = self.values.iter().filter(|(_, value)| !value.is_absent());
        for (index, (name, value)) in given.enumerate() {
            write!(f, "{}{name} = {value}", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl Params {
    /// Sets the parameters `infos` to their defaults under `profile`, overridden by `given`.
    ///
    /// # Errors
    /// Returns the first given value that names no parameter or is outside its domain.
    /// If all given values are valid, returns the first required parameter that is missing.
    pub fn resolve(
        infos: &'static [ParamInfo],
        profile: Profile,
        given: &[(String, ParamValue)],
    ) -> Result<Self, ResolveError> {
        let mut values: Vec<_> =
            infos.iter().map(|info| (info.name, info.default_in(profile).clone())).collect();
        for (index, (name, value)) in given.iter().enumerate() {
            let refuse = |message| ResolveError { given: Some(index), name: name.clone(), message };
            let position = infos.iter().position(|info| info.name == name).ok_or_else(|| {
                let known: Vec<_> = infos.iter().map(|info| info.name).collect();
                refuse(format!("unknown parameter \"{name}\"; known: {}", known.join(", ")))
            })?;
            infos[position].check(value).map_err(|misfit| refuse(misfit.to_string()))?;
            values[position].1 = value.clone();
        }
        if let Some((name, ParamValue::Required(example))) =
            values.iter().find(|(_, value)| matches!(value, ParamValue::Required(_)))
        {
            let message = format!("`{name}` is missing; for example {name} = {example}");
            return Err(ResolveError { given: None, name: (*name).to_owned(), message });
        }
        let defaults = infos.iter().zip(&values).map(|(info, (_, value))| value == info.default_in(profile));
        let absent = infos.iter().map(|info| info.default_in(profile).clone());
        Ok(Self { defaults: defaults.collect(), absent: absent.collect(), values })
    }

    /// Whether the value of the parameter `name` is its default. If a default does not suit an
    /// unusual switch, the user made no mistake. A value that the user gave and that does not suit
    /// the switch is a mistake.
    ///
    /// # Panics
    /// If no parameter called `name` is declared.
    #[must_use]
    pub fn is_default(&self, name: &str) -> bool {
        self.defaults[self.position(name)]
    }

    /// Whether the parameter `name` has a value: given, default or computed.
    ///
    /// # Panics
    /// If no parameter called `name` is declared.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        !self.get(name).is_absent()
    }

    /// Sets the parameter `name` to a computed value of the declared kind.
    ///
    /// # Panics
    /// If no parameter called `name` is declared.
    pub fn set(&mut self, name: &str, value: ParamValue) {
        let position = self.position(name);
        self.values[position].1 = value;
    }

    /// Removes the given value of the parameter `name`, so that the parameter counts as not given.
    ///
    /// # Panics
    /// If no parameter called `name` is declared.
    pub fn unset(&mut self, name: &str) {
        let position = self.position(name);
        self.values[position].1 = self.absent[position].clone();
    }

    /// Value of the time parameter `name`. If no value was given, the function sets the value
    /// `computed`.
    ///
    /// # Panics
    /// If the parameter is not declared or has a different kind, as in [`Self::ratio`]. The methods
    /// `rate_or`, `count_or` and `choice_or` panic in these cases, too.
    pub fn time_or(&mut self, name: &str, computed: Time) -> Time {
        self.fill(name, ParamValue::Time(computed));
        self.time(name)
    }

    /// Value of the rate parameter `name`. If no value was given, the function sets the value
    /// `computed`.
    pub fn rate_or(&mut self, name: &str, computed: BitRate) -> BitRate {
        self.fill(name, ParamValue::Rate(computed));
        self.rate(name)
    }

    /// Value of the count parameter `name`. If no value was given, the function sets the value
    /// `computed`.
    pub fn count_or(&mut self, name: &str, computed: u64) -> u64 {
        self.fill(name, ParamValue::Count(computed));
        self.count(name)
    }

    /// Value of the choice parameter `name`. If no value was given, the function sets the value
    /// `computed`.
    pub fn choice_or<T: Choice>(&mut self, name: &str, computed: T) -> T {
        self.fill(name, ParamValue::Choice(computed.word().into()));
        self.choice(name)
    }

    /// The tables of the parameter `name`, mutable; empty if the parameter was not given.
    pub fn tables_mut(&mut self, name: &str) -> &mut [Self] {
        let position = self.position(name);
        match &mut self.values[position].1 {
            ParamValue::Tables(tables) => tables,
            absent if absent.is_absent() => &mut [],
            other => panic!("{name} is not a list of tables: {other}"),
        }
    }

    fn fill(&mut self, name: &str, value: ParamValue) {
        if !self.has(name) {
            self.set(name, value);
        }
    }

    fn position(&self, name: &str) -> usize {
        let position = self.values.iter().position(|(known, _)| *known == name);
        position.unwrap_or_else(|| panic!("an entry asks for the undeclared parameter {name}"))
    }

    /// Replaces the value of every parameter by the result of `change` for its name and value. The
    /// kind of a value must not change.
    #[must_use]
    pub fn map(self, change: impl Fn(&'static str, &ParamValue) -> ParamValue) -> Self {
        let values = self.values.iter().map(|(name, value)| (*name, change(name, value))).collect();
        Self { values, ..self }
    }

    /// All parameters with their values, in the order of declaration.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &ParamValue)> {
        self.values.iter().map(|(name, value)| (*name, value))
    }

    fn get(&self, name: &str) -> &ParamValue {
        &self.values[self.position(name)].1
    }

    /// The value of a [`crate::ParamKind::Ratio`], [`crate::ParamKind::RatioAbove`]
    /// or [`crate::ParamKind::Measure`].
    ///
    /// # Panics
    /// If the entry did not declare `name` with this kind; the getters for all other kinds panic in
    /// this case, too.
    #[must_use]
    pub fn ratio(&self, name: &str) -> f64 {
        match self.get(name) {
            ParamValue::Ratio(x) => *x,
            other => panic!("{name} is not a ratio: {other}"),
        }
    }

    /// The ratios of a [`crate::ParamKind::RatioPerPriority`] for `priorities` priorities. If the
    /// list is shorter, its last ratio applies to all further priorities.
    #[must_use]
    pub fn ratio_per_priority(&self, name: &str, priorities: usize) -> Vec<f64> {
        match self.get(name) {
            ParamValue::RatioPerPriority(list) => {
                (0..priorities).map(|p| list[p.min(list.len() - 1)]).collect()
            }
            other => panic!("{name} is not a ratio per priority: {other}"),
        }
    }

    /// The value of the parameter `name` of the kind [`crate::ParamKind::Bytes`].
    #[must_use]
    pub fn bytes(&self, name: &str) -> u64 {
        match self.get(name) {
            ParamValue::Bytes(n) => *n,
            other => panic!("{name} is not a size: {other}"),
        }
    }

    /// The numbers of bytes of a [`crate::ParamKind::BytesPerPort`] for `ports` ports. If the list
    /// is shorter, its last number applies to all further ports.
    #[must_use]
    pub fn bytes_per_port(&self, name: &str, ports: usize) -> Vec<u64> {
        match self.get(name) {
            ParamValue::Bytes(n) => vec![*n; ports],
            ParamValue::BytesPerPort(list) => (0..ports).map(|port| list[port.min(list.len() - 1)]).collect(),
            other => panic!("{name} is not a size per port: {other}"),
        }
    }

    /// The value of a [`crate::ParamKind::List`] of plain numbers.
    #[must_use]
    pub fn ratios(&self, name: &str) -> Vec<f64> {
        self.elements(name, |value| match value {
            ParamValue::Ratio(x) => *x,
            other => panic!("{name} is not a list of ratios: it has {other}"),
        })
    }

    /// The value of a [`crate::ParamKind::List`] of counts.
    #[must_use]
    pub fn counts(&self, name: &str) -> Vec<u64> {
        self.elements(name, |value| match value {
            ParamValue::Count(n) => *n,
            other => panic!("{name} is not a list of counts: it has {other}"),
        })
    }

    /// The value of a [`crate::ParamKind::List`] of sizes (bytes).
    #[must_use]
    pub fn sizes(&self, name: &str) -> Vec<u64> {
        self.elements(name, |value| match value {
            ParamValue::Bytes(n) => *n,
            other => panic!("{name} is not a list of sizes: it has {other}"),
        })
    }

    fn elements<T>(&self, name: &str, element: impl Fn(&ParamValue) -> T) -> Vec<T> {
        match self.get(name) {
            ParamValue::List(list) => list.iter().map(element).collect(),
            other => panic!("{name} is not a list: {other}"),
        }
    }

    /// The value of the parameter `name` of the kind [`crate::ParamKind::Profiles`].
    #[must_use]
    pub fn profiles(&self, name: &str) -> &[BufferProfile] {
        match self.get(name) {
            ParamValue::Profiles(list) => list,
            other => panic!("{name} is not a list of profiles: {other}"),
        }
    }

    /// The value of the parameter `name` of the kind [`crate::ParamKind::Time`].
    #[must_use]
    pub fn time(&self, name: &str) -> Time {
        match self.get(name) {
            ParamValue::Time(t) => *t,
            other => panic!("{name} is not a time: {other}"),
        }
    }

    /// The value of the parameter `name` of the kind [`crate::ParamKind::Count`].
    #[must_use]
    pub fn count(&self, name: &str) -> u64 {
        match self.get(name) {
            ParamValue::Count(n) => *n,
            other => panic!("{name} is not a count: {other}"),
        }
    }

    /// The value of an optional parameter that is a plain number; `None` if no number was given.
    #[must_use]
    pub fn given_ratio(&self, name: &str) -> Option<f64> {
        self.has(name).then(|| self.ratio(name))
    }

    /// The value of an optional [`crate::ParamKind::Bytes`]; `None` if no size was given.
    #[must_use]
    pub fn given_bytes(&self, name: &str) -> Option<u64> {
        self.has(name).then(|| self.bytes(name))
    }

    /// The value of an optional [`crate::ParamKind::Choice`]; `None` if no word was given.
    #[must_use]
    pub fn given_choice<T: Choice>(&self, name: &str) -> Option<T> {
        self.has(name).then(|| self.choice(name))
    }

    /// The value of a [`crate::ParamKind::Time`] whose default is [`ParamValue::Computed`]; `None`
    /// if no time was given.
    #[must_use]
    pub fn given_time(&self, name: &str) -> Option<Time> {
        self.has(name).then(|| self.time(name))
    }

    /// The value of the parameter `name` of the kind [`crate::ParamKind::Rate`].
    #[must_use]
    pub fn rate(&self, name: &str) -> BitRate {
        match self.get(name) {
            ParamValue::Rate(rate) => *rate,
            other => panic!("{name} is not a rate: {other}"),
        }
    }

    /// The value of a [`crate::ParamKind::Rate`] whose default is [`ParamValue::Computed`]; `None`
    /// if no rate was given.
    #[must_use]
    pub fn given_rate(&self, name: &str) -> Option<BitRate> {
        self.has(name).then(|| self.rate(name))
    }

    /// The value of a [`crate::ParamKind::Count`] whose default is [`ParamValue::Computed`]; `None`
    /// if no count was given.
    #[must_use]
    pub fn given_count(&self, name: &str) -> Option<u64> {
        self.has(name).then(|| self.count(name))
    }

    /// The value of a [`crate::ParamKind::Count`] that is declared to fit 32 bits.
    #[must_use]
    pub fn small_count(&self, name: &str) -> u32 {
        u32::try_from(self.count(name)).expect("the parameter's range fits 32 bits")
    }

    /// The value of the parameter `name` of the kind [`crate::ParamKind::Text`].
    #[must_use]
    pub fn text(&self, name: &str) -> &str {
        match self.get(name) {
            ParamValue::Text(text) => text,
            other => panic!("{name} is not a text: {other}"),
        }
    }

    /// The value of a parameter with a list of texts, such as a [`crate::ParamKind::Nodes`].
    #[must_use]
    pub fn texts(&self, name: &str) -> &[String] {
        match self.get(name) {
            ParamValue::Texts(texts) => texts,
            other => panic!("{name} is not a list of texts: {other}"),
        }
    }

    /// The value of an optional [`crate::ParamKind::Texts`]; `None` if no text was given.
    #[must_use]
    pub fn given_texts(&self, name: &str) -> Option<&[String]> {
        self.has(name).then(|| self.texts(name))
    }

    /// The value of the parameter `name` of the kind [`crate::ParamKind::Pairs`].
    #[must_use]
    pub fn pairs(&self, name: &str) -> &[(String, String)] {
        match self.get(name) {
            ParamValue::Pairs(pairs) => pairs,
            other => panic!("{name} is not a list of pairs: {other}"),
        }
    }

    /// The value of the parameter `name` of the kind [`crate::ParamKind::File`].
    #[must_use]
    pub fn file(&self, name: &str) -> &FileContent {
        match self.get(name) {
            ParamValue::File(file) => file,
            other => panic!("{name} is not a file: {other}"),
        }
    }

    /// The value of the parameter `name`, which may be of any kind.
    ///
    /// # Panics
    /// If no parameter called `name` is declared.
    #[must_use]
    pub fn value(&self, name: &str) -> &ParamValue {
        self.get(name)
    }

    /// The value of a [`crate::ParamKind::Tables`]; empty if no table was given.
    #[must_use]
    pub fn tables(&self, name: &str) -> &[Self] {
        match self.get(name) {
            ParamValue::Tables(tables) => tables,
            absent if absent.is_absent() => &[],
            other => panic!("{name} is not a list of tables: {other}"),
        }
    }

    /// The value of the parameter `name` of the kind [`crate::ParamKind::Flag`].
    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        match self.get(name) {
            ParamValue::Flag(b) => *b,
            other => panic!("{name} is not a flag: {other}"),
        }
    }

    /// The value of a [`crate::ParamKind::Choice`] as a value of the declared enumeration.
    #[must_use]
    pub fn choice<T: Choice>(&self, name: &str) -> T {
        match self.get(name) {
            ParamValue::Choice(word) => T::from_word(word)
                .unwrap_or_else(|| panic!("{name} is declared with the words of another choice: {word}")),
            other => panic!("{name} is not a choice: {other}"),
        }
    }
}
