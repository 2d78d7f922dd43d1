//! Converts a value of a document to the type that its key needs.
//! A value of another type gives a complaint that names the expected type.

use crate::context::{Complaint, quoted_list, suggestion};
use crate::quantity::{self, Dimension, QuantityError};
use crate::spec::{Expected, Kind, bounds, ratio_bounds};
use crate::tree::{Item, Value};
use bufferlab_params::Choice;
use bufferlab_units::is_hidden;

/// Creates the complaint that the kind of `item` differs from the kind that `spec` expects.
pub fn wrong_kind(item: &Item, spec: &Expected<'_>) -> Complaint {
    let found = item.value.kind_in_words();
    Complaint::new(format!("expected {}, found {found}", spec.kind.expected()), format!("this is {found}"))
        .help(format!("for example: {} = {}", spec.name, spec.example))
}

/// Converts a value of a document to a string.
///
/// # Errors
/// If the item is not a string, or contains a hidden character.
pub fn text<'a>(item: &'a Item, spec: &Expected<'_>) -> Result<&'a str, Complaint> {
    match &item.value {
        Value::String(text) => match text.chars().find(|&c| is_hidden(c) && c != '\n' && c != '\t') {
            None => Ok(text),
            Some(character) => Err(Complaint::new(
                format!("the text has a hidden character, U+{:04X}", u32::from(character)),
                "expected text that is shown as it is",
            )
            .help("leave it out: control characters and marks of writing direction change how a terminal or page shows the text around them")),
        },
        _ => Err(wrong_kind(item, spec)),
    }
}

/// Converts a value of a document to a quantity in the base unit of its dimension.
///
/// # Errors
/// If the item is not a quantity of this dimension.
pub fn quantity(item: &Item, spec: &Expected<'_>, dimension: Dimension) -> Result<u64, Complaint> {
    let what = dimension.article();
    let label = format!("expected {what} with its unit");
    // The default of a time may be zero, but zero is not a useful example of a time.
    let value = if spec.example.starts_with("\"0 ") && dimension == Dimension::Time {
        "\"10 us\""
    } else {
        spec.example
    };
    let example = format!("{} = {value}", spec.name);
    let written = match &item.value {
        Value::String(text) => text,
        Value::Integer(number) if dimension == Dimension::Size && *number > 0 => {
            return Err(Complaint::new("the unit is missing", label).help(format!(
                "if it is in bytes: {} = \"{number} B\"\n{}",
                spec.name,
                units(dimension)
            )));
        }
        Value::Integer(_) | Value::Float(_) => {
            return Err(Complaint::new("the unit is missing", label).help(format!(
                "write the number and its unit in quotes, for example {example}\n{}",
                units(dimension)
            )));
        }
        _ => return Err(wrong_kind(item, spec)),
    };
    quantity::parse(written, dimension).map_err(|why| {
        let complaint = Complaint::new(why.to_string(), label.clone());
        match why {
            QuantityError::MissingUnit => {
                complaint.help(format!("for example {example}\n{}", units(dimension)))
            }
            QuantityError::UnknownUnit(unit) => unknown_unit(&unit, dimension, complaint),
            QuantityError::WrongDimension { .. } => {
                Complaint::new(format!("expected {what}, but {why}"), label)
                    .help(format!("for example {example}\n{}", units(dimension)))
            }
            QuantityError::Negative => {
                let label = if dimension == Dimension::Rate {
                    "expected a rate above 0".to_owned()
                } else {
                    format!("expected {what} of at least 0")
                };
                Complaint::new(why.to_string(), label).help(format!("for example {example}"))
            }
            _ => complaint.help(format!("for example {example}")),
        }
    })
}

fn units(dimension: Dimension) -> String {
    format!("units of {}: {}", dimension.noun(), dimension.units())
}

fn unknown_unit(unit: &str, dimension: Dimension, complaint: Complaint) -> Complaint {
    let units = units(dimension);
    let bits = unit.contains("b") && !unit.contains('B') && dimension == Dimension::Size;
    let bytes = unit.contains('B') && dimension == Dimension::Rate;
    let comma = unit.strip_prefix(',').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    complaint.help(if comma {
        format!("write a decimal point, not a comma\n{units}")
    } else if bits {
        format!("sizes are in bytes: a capital B\n{units}")
    } else if bytes {
        format!("rates are in bits per second: a small b\n{units}")
    } else {
        units
    })
}

/// Converts a value of a document to a size within bounds.
///
/// # Errors
/// If the item is not a size, or is out of bounds.
pub fn size(item: &Item, spec: &Expected<'_>, min: u64, max: u64) -> Result<u64, Complaint> {
    let bytes = quantity(item, spec, Dimension::Size)?;
    let shown = quantity::format_size;
    if bytes < min {
        return Err(Complaint::new(
            format!("the size is too small: {}", shown(bytes)),
            format!("expected at least {}", shown(min)),
        )
        .help(format!("for example {} = {}", spec.name, spec.example)));
    }
    if bytes > max {
        return Err(Complaint::new(
            format!("the size is too large: {}", shown(bytes)),
            format!("expected at most {}", shown(max)),
        )
        .help(format!("for example {} = {}", spec.name, spec.example)));
    }
    Ok(bytes)
}

/// Converts a value of a document to a time; accepts zero only if `zero` is true.
///
/// # Errors
/// If the item is not a time, or is zero although `zero` is false.
pub fn time(item: &Item, spec: &Expected<'_>, zero: bool) -> Result<u64, Complaint> {
    match quantity(item, spec, Dimension::Time)? {
        0 if !zero => Err(Complaint::new("the time is zero", "expected a time above 0")
            .help(format!("for example {} = {}", spec.name, spec.example))),
        span => Ok(span),
    }
}

/// Converts a value of a document to a rate above 0.
///
/// # Errors
/// If the item is not a rate above 0.
pub fn rate(item: &Item, spec: &Expected<'_>) -> Result<u64, Complaint> {
    match quantity(item, spec, Dimension::Rate)? {
        0 => Err(Complaint::new("the rate is zero", "expected a rate above 0").help(
            "a cable that carries nothing is written as a failure: [[topology.change]] with failed = true",
        )),
        rate => Ok(rate),
    }
}

/// Converts a value of a document to a whole number within bounds.
///
/// # Errors
/// If the item is not a whole number, or is out of bounds.
pub fn count(item: &Item, spec: &Expected<'_>, min: u64, max: u64) -> Result<u64, Complaint> {
    let number = match item.value {
        Value::Integer(number) => number,
        Value::Float(number) => {
            let complaint = Complaint::new(
                format!("{number} is not a whole number"),
                format!("expected a whole number {}", bounds(min, max)),
            );
            return Err(complaint.help(format!("for example {} = {}", spec.name, spec.example)));
        }
        _ => return Err(wrong_kind(item, spec)),
    };
    match u64::try_from(number) {
        Ok(number) if (min..=max).contains(&number) => Ok(number),
        _ => Err(Complaint::new(
            format!("{number} is out of range"),
            format!("expected a whole number {}", bounds(min, max)),
        )
        .help(format!("for example {} = {}", spec.name, spec.example))),
    }
}

/// Converts a value of a document to a number; accepts a fraction in a string.
#[must_use]
pub fn number(item: &Item) -> Option<f64> {
    match &item.value {
        Value::Integer(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        Value::String(text) => match text.split_once('/') {
            Some((top, bottom)) => {
                let (top, bottom) = (top.trim().parse::<f64>().ok()?, bottom.trim().parse::<f64>().ok()?);
                Some(top / bottom)
            }
            None => text.trim().parse().ok(),
        },
        _ => None,
    }
    .filter(|number| number.is_finite())
}

/// Converts a value of a document to a ratio within bounds.
///
/// # Errors
/// If the item is not a number, or is out of bounds.
pub fn ratio(item: &Item, spec: &Expected<'_>, min: f64, max: f64, open: bool) -> Result<f64, Complaint> {
    let number = number(item).ok_or_else(|| wrong_kind(item, spec))?;
    if number > max || number < min || (open && number <= min) {
        let percent = max <= 1.0 && (2.0..=100.0).contains(&number);
        let help = if percent {
            let share = format!("{:.6}", number / 100.0);
            let share = share.trim_end_matches('0').trim_end_matches('.');
            format!("{number} % is written {} = {share}", spec.name)
        } else {
            format!("for example {} = {}", spec.name, spec.example)
        };
        let label = format!("expected {}", ratio_bounds(min, max, open));
        return Err(Complaint::new(format!("{number} is out of range"), label).help(help));
    }
    Ok(number)
}

/// Converts a value of a document to a boolean, `true` or `false`.
///
/// # Errors
/// If the item is not a boolean.
pub fn flag(item: &Item, spec: &Expected<'_>) -> Result<bool, Complaint> {
    match item.value {
        Value::Boolean(flag) => Ok(flag),
        _ => Err(wrong_kind(item, spec)),
    }
}

/// Converts a value of a document to a value of an enumeration.
///
/// # Errors
/// If the item is not one of the enumeration's words.
///
/// # Panics
/// If the key is declared with the words of another enumeration.
pub fn choice<T: Choice>(item: &Item, spec: &Expected<'_>) -> Result<T, Complaint> {
    let declared = words_of(&spec.kind);
    let word = word(item, spec, &declared)?;
    Ok(T::from_word(word)
        .unwrap_or_else(|| panic!("{} is declared with the words of another choice: {word}", spec.name)))
}

/// Converts a value of a document to one of the known words.
///
/// # Errors
/// If the item is not one of the known words.
pub fn word(item: &Item, spec: &Expected<'_>, words: &[&'static str]) -> Result<&'static str, Complaint> {
    let written = text(item, spec)?;
    if let Some(word) = words.iter().find(|word| **word == written) {
        return Ok(word);
    }
    let growing = matches!(spec.kind, Kind::Name(_));
    let help = match suggestion(written, words.iter().copied()) {
        Some(near) if growing => format!("did you mean \"{near}\"?"),
        Some(near) => format!("did you mean \"{near}\"? known: {}", quoted_list(words.iter().copied())),
        None => format!("known: {}", quoted_list(words.iter().copied())),
    };
    Err(Complaint::new(
        format!("\"{written}\" is not known here"),
        format!("expected {}", spec.kind.expected()),
    )
    .help(help))
}

/// Returns the elements of a document's value that is a list.
///
/// # Errors
/// If the item is not a list.
pub fn elements<'a>(item: &'a Item, spec: &Expected<'_>) -> Result<&'a [Item], Complaint> {
    match &item.value {
        Value::Array(list) => Ok(list),
        _ => Err(wrong_kind(item, spec)),
    }
}

/// Returns the words that a value of the kind may be: words of an enumeration, or names of a
/// registry.
#[must_use]
pub fn words_of(kind: &Kind) -> Vec<&'static str> {
    match kind {
        Kind::Words(words) | Kind::WordOrTables { words, .. } => words.iter().map(|word| word.name).collect(),
        Kind::Name(catalog) => catalog.cards(true).iter().map(|card| card.name).collect(),
        _ => Vec::new(),
    }
}
