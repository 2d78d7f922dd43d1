//! Values of parameters as text outside of scenario files, as on the command line.

use crate::quantity::{
    Dimension, QuantityError, format_rate, format_size, format_time, parse_rate, parse_size, parse_time,
};
use bufferlab_params::{AUTO, ParamKind, ParamValue, Word};
use std::fmt;

/// Reason why a text is not a value of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParameterTextError {
    /// The parameter's text is not a quantity of the parameter's dimension.
    Quantity(QuantityError, Dimension),
    /// The parameter's text is not a number.
    Number,
    /// The parameter's text is not a whole number.
    Count,
    /// The parameter's text is neither `true` nor `false`.
    Flag,
    /// The parameter's text is none of the words that the parameter allows.
    Word(&'static [Word]),
    /// A parameter whose values are tables, which only scenario files can have.
    Table,
}

impl fmt::Display for ParameterTextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Quantity(error, dimension) => {
                let example = match dimension {
                    Dimension::Time => "80 us",
                    Dimension::Size => "4 MB",
                    Dimension::Rate => "10 Gb/s",
                };
                let (what, units) = (dimension.article(), dimension.units());
                write!(f, "{error}; expected {what} such as \"{example}\", in {units}")
            }
            Self::Number => f.write_str("expected a number"),
            Self::Count => f.write_str("expected a whole number"),
            Self::Flag => f.write_str("expected true or false"),
            Self::Word(words) => write!(f, "expected {}", ParamKind::Choice(words).expected()),
            Self::Table => f.write_str("this can only be written in a scenario file"),
        }
    }
}

impl std::error::Error for ParameterTextError {}

/// Parses a value of `kind`. Quantities have a unit, fractions are written as `1/16`, and commas
/// separate list elements. Upper and lower case of words are equal. [`ParamKind::check`] checks the
/// range of the value.
///
/// # Errors
/// [`ParameterTextError`] if the text is not a value of the kind.
pub fn parse_parameter(kind: ParamKind, text: &str) -> Result<ParamValue, ParameterTextError> {
    use ParameterTextError as Error;
    let text = text.trim();
    Ok(match kind {
        ParamKind::Ratio { .. } | ParamKind::RatioAbove { .. } | ParamKind::Measure { .. } => {
            ParamValue::Ratio(number(text).ok_or(Error::Number)?)
        }
        ParamKind::RatioPerPriority { .. } => {
            let list: Option<Vec<_>> = text.split(',').map(number).collect();
            ParamValue::RatioPerPriority(list.ok_or(Error::Number)?.into())
        }
        ParamKind::Bytes { .. } => ParamValue::Bytes(size(text)?),
        ParamKind::BytesPerPort { .. } if text == AUTO => ParamValue::word(AUTO),
        ParamKind::BytesPerPort { .. } => {
            let list = text.split(',').map(size).collect::<Result<Vec<_>, _>>()?;
            ParamValue::BytesPerPort(list.into())
        }
        ParamKind::Time { .. } => {
            ParamValue::Time(parse_time(text).map_err(|error| Error::Quantity(error, Dimension::Time))?)
        }
        ParamKind::Rate { .. } => {
            ParamValue::Rate(parse_rate(text).map_err(|error| Error::Quantity(error, Dimension::Rate))?)
        }
        ParamKind::Count { .. } => ParamValue::Count(text.parse().map_err(|_| Error::Count)?),
        ParamKind::Flag => ParamValue::Flag(text.parse().map_err(|_| Error::Flag)?),
        ParamKind::Choice(words) => {
            let word = words.iter().find(|word| word.name.eq_ignore_ascii_case(text));
            ParamValue::Choice(word.ok_or(Error::Word(words))?.name.into())
        }
        ParamKind::Text => ParamValue::Text(text.to_owned().into()),
        ParamKind::List(element) => {
            let list = text.split(',').map(|text| parse_parameter(*element, text));
            ParamValue::List(list.collect::<Result<Vec<_>, _>>()?.into())
        }
        ParamKind::Profiles
        | ParamKind::Tables(_)
        | ParamKind::Texts
        | ParamKind::Pairs { .. }
        | ParamKind::Nodes { .. }
        | ParamKind::File
        | ParamKind::FlowSizes(_) => return Err(Error::Table),
    })
}

fn size(text: &str) -> Result<u64, ParameterTextError> {
    parse_size(text).map_err(|error| ParameterTextError::Quantity(error, Dimension::Size))
}

/// Parses a number such as `0.5`, or a fraction such as `1/16`.
fn number(text: &str) -> Option<f64> {
    match text.split_once('/') {
        Some((top, bottom)) => Some(top.trim().parse::<f64>().ok()? / bottom.trim().parse::<f64>().ok()?),
        None => text.trim().parse().ok(),
    }
}

/// Formats a value for [`parse_parameter`]. A default that a rule computes is formatted as the
/// words of its rule.
#[must_use]
pub fn format_parameter(value: &ParamValue) -> String {
    let joined = |texts: Vec<String>| texts.join(",");
    match value {
        ParamValue::Bytes(bytes) => format_size(*bytes),
        ParamValue::BytesPerPort(list) => joined(list.iter().map(|bytes| format_size(*bytes)).collect()),
        ParamValue::Time(time) => format_time(*time),
        ParamValue::Rate(rate) => format_rate(*rate),
        ParamValue::RatioPerPriority(list) => joined(list.iter().map(ToString::to_string).collect()),
        ParamValue::List(list) => joined(list.iter().map(format_parameter).collect()),
        ParamValue::Choice(word) | ParamValue::Text(word) => word.clone().into_owned(),
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bufferlab_units::{BitRate, Time};

    const RATIO: ParamKind = ParamKind::Ratio { min: 0.0, max: 1.0 };
    const POLICIES: &[Word] = &[Word { name: "dt", meaning: "" }, Word { name: "abm", meaning: "" }];

    #[test]
    fn a_value_is_read_back_from_the_text_that_shows_it() {
        let list = vec![ParamValue::Ratio(0.5), ParamValue::Ratio(8.0)];
        for (kind, value, text) in [
            (RATIO, ParamValue::Ratio(0.0625), "0.0625"),
            (ParamKind::Bytes { min: 0 }, ParamValue::Bytes(4_000_000), "4 MB"),
            (ParamKind::Time { min: Time::ZERO }, ParamValue::Time(Time::from_us(80)), "80 us"),
            (ParamKind::Rate { min: BitRate(0) }, ParamValue::Rate(BitRate::gbps(10)), "10 Gb/s"),
            (ParamKind::at_least(0), ParamValue::Count(4), "4"),
            (ParamKind::Flag, ParamValue::Flag(true), "true"),
            (ParamKind::Choice(POLICIES), ParamValue::Choice("abm".into()), "abm"),
            (ParamKind::List(&RATIO), ParamValue::List(list.into()), "0.5,8"),
        ] {
            assert_eq!(format_parameter(&value), text);
            assert_eq!(parse_parameter(kind, text), Ok(value));
        }
        assert_eq!(parse_parameter(RATIO, "1/16"), Ok(ParamValue::Ratio(0.0625)));
        let word = parse_parameter(ParamKind::Choice(POLICIES), "DT");
        assert_eq!(word, Ok(ParamValue::Choice("dt".into())));
    }

    #[test]
    fn a_text_of_another_kind_is_refused_with_what_was_expected() {
        for (kind, text, message) in [
            (
                ParamKind::Time { min: Time::ZERO },
                "5",
                "the unit is missing; expected a time such as \"80 us\", in ps, ns, us, ms, s",
            ),
            (RATIO, "half", "expected a number"),
            (ParamKind::at_least(1), "1.5", "expected a whole number"),
            (ParamKind::List(&RATIO), "0.5,", "expected a number"),
            (ParamKind::Choice(POLICIES), "cs", "expected one of dt, abm"),
        ] {
            assert_eq!(parse_parameter(kind, text).expect_err(text).to_string(), message);
        }
    }
}
