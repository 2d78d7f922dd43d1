//! Domains of the closed forms, and the error for values outside a domain.

use std::fmt;

/// An input for which a closed form is not defined.
///
/// The error has the name of the argument (or field), its value, and the valid values.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{input} is {value}, expected {valid}")]
pub struct DomainError {
    /// Name of the argument or field that is out of its domain.
    pub input: &'static str,
    /// Value of the input, in the unit of the input.
    pub value: f64,
    /// Valid values of the input, in words and in its unit.
    pub valid: String,
}

impl DomainError {
    /// An error: the input `input` has the value `value`, where `valid` was expected.
    #[must_use]
    pub fn new(input: &'static str, value: f64, valid: impl fmt::Display) -> Self {
        Self { input, value, valid: valid.to_string() }
    }
}

/// Result of a closed form, or the error of an input out of range.
pub type Domain<T> = Result<T, DomainError>;

/// Refuses `value` unless `holds` is true. Infinite and undefined values are always refused.
pub(crate) fn check(holds: bool, input: &'static str, value: f64, valid: impl fmt::Display) -> Domain<f64> {
    if value.is_finite() && holds { Ok(value) } else { Err(DomainError::new(input, value, valid)) }
}

/// Checks that the value of an input is more than 0.
pub(crate) fn positive(input: &'static str, value: f64) -> Domain<f64> {
    check(value > 0.0, input, value, "more than 0")
}

/// Checks that the value of an input is at least 0.
pub(crate) fn not_negative(input: &'static str, value: f64) -> Domain<f64> {
    check(value >= 0.0, input, value, "0 or more")
}

/// Checks that the value of an input is from 0 to 1, with 0 and 1 included.
pub(crate) fn fraction(input: &'static str, value: f64) -> Domain<f64> {
    check((0.0..=1.0).contains(&value), input, value, "0 to 1")
}

/// Checks for a value above 0 and at most 1, such as the normalised drain rate of a served queue.
pub(crate) fn share(input: &'static str, value: f64) -> Domain<f64> {
    check(value > 0.0 && value <= 1.0, input, value, "more than 0, at most 1")
}

/// Checks that the count of an input is at least 1.
pub(crate) fn at_least_one(input: &'static str, value: u32) -> Domain<f64> {
    check(value >= 1, input, f64::from(value), "1 or more")
}

/// Checks that a value is above `limit`, which the error calls `what`.
pub(crate) fn above(input: &'static str, value: f64, limit: f64, what: &str) -> Domain<f64> {
    check(value > limit, input, value, format_args!("more than {limit} ({what})"))
}

/// Checks that all values of an input list are above 0.
pub(crate) fn all_positive(input: &'static str, values: &[f64]) -> Domain<()> {
    values.iter().try_for_each(|&value| positive(input, value).map(drop))
}

/// Checks that a value is at most `limit`, which the error calls `what`.
pub(crate) fn at_most(input: &'static str, value: f64, limit: f64, what: &str) -> Domain<f64> {
    check(value <= limit, input, value, format_args!("at most {limit} ({what})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_out_of_range_is_named_with_its_value_and_what_was_expected() {
        let error = positive("alpha", -1.0).expect_err("negative");
        assert_eq!(error.to_string(), "alpha is -1, expected more than 0");
        let error = above("arrival_rate", 1.0, 1.0, "the drain rate").expect_err("equal");
        assert_eq!(error.to_string(), "arrival_rate is 1, expected more than 1 (the drain rate)");
        assert!(positive("alpha", f64::NAN).is_err() && positive("alpha", f64::INFINITY).is_err());
        assert!(fraction("tau", 1.01).is_err() && fraction("tau", 1.0).is_ok());
    }
}
