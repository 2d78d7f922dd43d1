//! Declaration of a calculator: the entry of the registry and the calls of the calculator.

use super::Derivation;
use crate::forms::{Domain, DomainError};
use bufferlab_params::{ParamInfo, ParamKind, ParamValue, Params, Profile, ResolveError, entry};
use std::fmt;

entry! {
    /// A calculator that answers an engineering question.
    #[derive(Clone, Copy)]
    pub struct CalculatorInfo("calculator") {
        /// Rules for the parameters that a user may give together.
        pub rules: &'static [Rule],
        /// Calls that the documentation shows with their output. A call is a list of pairs: a
        /// parameter and the text of its value.
        pub examples: &'static [&'static [(&'static str, &'static str)]],
        /// Computes the answer. A [`DomainError`] names a parameter, its value in the base unit (a
        /// list's element), and the valid range.
        pub run: fn(&Params) -> Domain<Derivation>,
    }
}

impl CalculatorInfo {
    /// Name of a parameter's option on the command line, without dashes.
    /// In every calculator `rate` is the rate of the link, so the rate of a burst is `burst-rate`.
    #[must_use]
    pub fn option(&self, parameter: &str) -> String {
        let name = match parameter {
            "port_rate" => "rate",
            "rate" if self.param("port_rate").is_some() => "burst_rate",
            other => other,
        };
        name.replace('_', "-")
    }

    /// The answer for the values `given`. The other parameters have their defaults.
    ///
    /// # Errors
    /// If a parameter is unknown, or if a value is missing, of the wrong kind or outside its
    /// domain. Also if the values break a [`Rule`], or if the theory has no answer for an input.
    pub fn calculate(&self, given: &[(String, ParamValue)]) -> Result<Derivation, CalculatorError> {
        Ok((self.run)(&self.resolve(given)?)?)
    }

    /// Values of all parameters: values in `given`, and defaults for all other parameters.
    ///
    /// # Errors
    /// Returns the errors of [`Self::calculate`], except the error for inputs that the theory does
    /// not cover.
    pub fn resolve(&self, given: &[(String, ParamValue)]) -> Result<Params, CalculatorError> {
        for (name, value) in given {
            if let Some(info) = self.param(name) {
                in_domain(info, value)?;
            }
        }
        let params = Params::resolve(self.params, Profile::Paper, given)?;
        if let Some(rule) = self.rules.iter().find(|rule| !rule.holds(&params)) {
            return Err(CalculatorError::Rule(*rule));
        }
        Ok(params)
    }

    /// The parameter of the calculator called `name`.
    #[must_use]
    pub fn param(&self, name: &str) -> Option<&'static ParamInfo> {
        self.params.iter().find(|param| param.name == name)
    }
}

/// Refuses a number outside its parameter's domain, as the closed forms would do.
/// [`Params::resolve`] checks other values.
fn in_domain(info: &'static ParamInfo, value: &ParamValue) -> Domain<()> {
    let refuse = |kind: ParamKind, value: &ParamValue| match (kind.check(value), base(value)) {
        (Err(misfit), Some(number)) => Err(DomainError::new(info.name, number, misfit.expected)),
        _ => Ok(()),
    };
    match (info.kind, value) {
        (ParamKind::List(kind), ParamValue::List(list)) => {
            list.iter().try_for_each(|value| refuse(*kind, value))
        }
        (kind, value) => refuse(kind, value),
    }
}

/// A number in its base unit: bytes, bits per second, seconds, or the unit of its kind.
fn base(value: &ParamValue) -> Option<f64> {
    match value {
        ParamValue::Ratio(x) => Some(*x),
        ParamValue::Bytes(n) | ParamValue::Count(n) => Some(*n as f64),
        ParamValue::Rate(rate) => Some(rate.0 as f64),
        ParamValue::Time(time) => Some(time.as_secs_f64()),
        _ => None,
    }
}

/// A rule about parameters that belong together.
/// The parameters of a rule have the default [`ParamValue::Optional`] or [`ParamValue::Computed`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The user must give exactly one of the listed parameters.
    OneOf(&'static [&'static str]),
    /// The user must give all of the listed parameters or none.
    Together(&'static [&'static str]),
    /// The user must give the second parameter if the first is given.
    Needs(&'static str, &'static str),
}

impl Rule {
    /// Whether `params` satisfy this rule about parameters.
    #[must_use]
    pub fn holds(&self, params: &Params) -> bool {
        let given = |names: &[&str]| names.iter().filter(|name| params.has(name)).count();
        match self {
            Self::OneOf(names) => given(names) == 1,
            Self::Together(names) => [0, names.len()].contains(&given(names)),
            Self::Needs(name, other) => !params.has(name) || params.has(other),
        }
    }
}

/// Writes the rule as text that follows "the calculator takes".
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joined = |names: &[&str], word: &str| {
            names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(word)
        };
        match self {
            Self::OneOf(names) => f.write_str(&joined(names, " or ")),
            Self::Together(names) => write!(f, "{} together", joined(names, " and ")),
            Self::Needs(name, other) => write!(f, "`{name}` only together with `{other}`"),
        }
    }
}

/// Reason why a calculator has no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CalculatorError {
    /// A value matches no parameter, or a required value is missing.
    #[error(transparent)]
    Parameter(#[from] ResolveError),
    /// The values break a rule: some values exclude each other, or a value is missing.
    #[error("the calculator takes {0}")]
    Rule(Rule),
    /// The theory does not cover a value of the input.
    #[error(transparent)]
    Domain(#[from] DomainError),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calculators::CALCULATORS;
    use crate::calculators::input::{given, param};

    const RATIO: ParamKind = ParamKind::RatioAbove { min: 0.0, max: f64::MAX };

    static HALF: CalculatorInfo = CalculatorInfo {
        name: "half",
        aliases: &[],
        title: "Half",
        summary: "Half of a number.",
        source: "Arithmetic.",
        params: &[
            param("number", RATIO, ParamValue::Optional, "What to halve."),
            param("double", RATIO, ParamValue::Optional, "Twice the number, instead."),
            param("digits", ParamKind::at_least(1), ParamValue::Optional, "Of the double."),
        ],
        rules: &[Rule::OneOf(&["number", "double"]), Rule::Needs("digits", "double")],
        examples: &[],
        run: |params| {
            let mut derivation = Derivation::new("Half");
            let double = params.given_ratio("double");
            let value =
                params.given_ratio("number").unwrap_or_else(|| double.unwrap_or_default() / 2.0) / 2.0;
            derivation.answer("half", value, value.to_string());
            Ok(derivation)
        },
    };

    #[test]
    fn a_calculator_is_its_entry() -> Result<(), CalculatorError> {
        assert_eq!(HALF.calculate(&given(&[("number", ParamValue::Ratio(3.0))]))?.value("half"), Some(1.5));
        Ok(())
    }

    #[test]
    fn values_outside_their_domain_and_values_that_do_not_go_together_are_refused() {
        let refusal = |values: &[(&str, ParamValue)]| HALF.calculate(&given(values)).expect_err("refused");
        let number = |x| ("number", ParamValue::Ratio(x));
        let message = "number is -1, expected a number above 0";
        assert_eq!(refusal(&[number(-1.0)]).to_string(), message);
        let digits = ("digits", ParamValue::Count(3));
        for (values, message) in [
            (vec![], "the calculator takes `number` or `double`"),
            (
                vec![number(1.0), ("double", ParamValue::Ratio(1.0))],
                "the calculator takes `number` or `double`",
            ),
            (vec![number(1.0), digits], "the calculator takes `digits` only together with `double`"),
            (vec![("third", ParamValue::Ratio(1.0))], "third: unknown parameter \"third\""),
            (vec![("number", ParamValue::Flag(true))], "number: expected a number above 0, found true"),
        ] {
            let found = refusal(&values).to_string();
            assert!(found.starts_with(message), "{found}");
        }
    }

    /// The registry and the documentation rely on the tested properties of an entry.
    #[test]
    fn every_entry_is_in_order() {
        let mut names = Vec::new();
        for info in CALCULATORS.built_in() {
            assert!(!info.summary.contains('\n') && info.summary.ends_with('.'), "{}", info.name);
            assert!(!info.source.is_empty() && !info.examples.is_empty(), "{}", info.name);
            names.extend([&[info.name], info.aliases].concat());
            for param in info.params {
                let place = format!("{} {}", info.name, param.name);
                assert!(param.doc.ends_with('.') && !param.doc.contains('\n'), "{place}");
                assert!(param.default.is_absent() || param.check(&param.default).is_ok(), "{place}");
            }
            for rule in info.rules {
                let names = match rule {
                    Rule::OneOf(names) | Rule::Together(names) => names.to_vec(),
                    Rule::Needs(name, other) => vec![*name, *other],
                };
                assert!(names.iter().all(|name| info.param(name).is_some()), "{} {rule}", info.name);
            }
        }
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }
}
