//! Formats numbers and texts for people.

/// Formats a number with three significant digits: `0.0123`, `1.23`, `12.3`, `123`, `12,345`,
/// `2.1e-7`.
#[must_use]
pub fn number(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return "–".into();
    }
    let sign = if value < 0.0 { "-" } else { "" };
    if size == 0.0 {
        "0".into()
    } else if size < 1e-5 {
        format!("{value:.1e}")
    } else if size >= 99.95 {
        format!("{sign}{}", count(size.round() as u64))
    } else {
        // The first digit of 0.0999 is in the second decimal place, so the number has 4 decimals.
        let decimals = (2.0 - size.log10().floor()).clamp(0.0, 7.0) as usize;
        let text = format!("{value:.decimals$}");
        // Rounding may have added a digit: 9.999 becomes 10.00 with two decimals.
        if text.len() > decimals + 2 + sign.len() && (1.0..10.0).contains(&size) {
            return format!("{value:.1}");
        }
        text
    }
}

/// Splits a text into lines of at most `most` columns, between words. A longer word
/// has a separate line.
#[must_use]
pub fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Formats a mean with the half-width of its interval, both to the mean's last place: `3.83 ±0.21`.
#[must_use]
pub fn estimate(mean: f64, half_width: f64) -> String {
    let text = number(mean);
    if text.contains('e') {
        return format!("{text} ±{}", number(half_width));
    }
    match text.split_once('.') {
        Some((_, decimals)) => format!("{text} ±{half_width:.*}", decimals.len()),
        None if mean == 0.0 => format!("{text} ±{}", number(half_width)),
        None => format!("{text} ±{}", count(half_width.round() as u64)),
    }
}

/// Name for the queries of a class: `incast queries`, or `queries` if the class name
/// contains the word.
#[must_use]
pub fn queries_of(class: &str) -> String {
    match class {
        "query" | "queries" => "queries".to_owned(),
        _ => format!("{class} queries"),
    }
}

/// Formats a whole number with commas: `1,234,567`.
#[must_use]
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a mean of whole numbers: without decimals if whole, otherwise with one
/// decimal below 100.
#[must_use]
pub fn mean_count(value: f64) -> String {
    if value.fract() == 0.0 || value.abs() >= 99.95 {
        let sign = if value < 0.0 { "-" } else { "" };
        format!("{sign}{}", count(value.abs().round() as u64))
    } else if value.abs() < 0.05 {
        number(value)
    } else {
        format!("{value:.1}")
    }
}

/// Formats a number of bytes in powers of 1,000: `1.5 MB`.
#[must_use]
pub fn bytes(value: f64) -> String {
    scaled(value, &[(1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1.0, "B")])
}

/// Formats a duration in the largest unit that gives a value of at least 1: `80 us`.
#[must_use]
pub fn span_ns(ns: u64) -> String {
    scaled(ns as f64, &[(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")])
}

fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let (scale, unit) =
        units.iter().find(|(scale, _)| value.abs() >= *scale).or(units.last()).expect("units are given");
    let text = number(value / scale);
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {unit}")
}

/// Formats a fraction as a change: `+12.3 %`, `−4.0 %`.
#[must_use]
pub fn change(fraction: f64) -> String {
    let percent = fraction * 100.0;
    let text = tenth(percent);
    match text.strip_prefix('-') {
        // A change that rounds to zero is shown without a sign.
        _ if text == "0.0" || text == "-0.0" => "0.0 %".into(),
        Some(size) => format!("−{size} %"),
        None => format!("+{text} %"),
    }
}

/// Formats a number with one decimal below 100, and without decimals from 100 upwards.
#[must_use]
pub fn tenth(value: f64) -> String {
    if value.abs() >= 99.95 { number(value) } else { format!("{value:.1}") }
}

/// Position of a value such as `10 Gb/s` (10) on an axis; `None` if the text does not
/// begin with a number.
#[must_use]
pub fn leading_number(text: &str) -> Option<f64> {
    let text = text.trim_matches('"').trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || ".-+e".contains(c))).unwrap_or(text.len());
    text[..end].parse().ok()
}

/// Fewest digits of a number without a unit that gets commas: a shorter number may name a standard.
const DIGITS: usize = 5;
/// Nouns of counted things, whose numbers get commas from four digits on.
const THINGS: [&str; 9] =
    ["bursts", "cells", "events", "flows", "frames", "operations", "packet-hops", "packets", "queries"];

/// Rewrites the amounts in a text for people. `160500 B` becomes `160.5 KB`, and `1053866 B`
/// becomes `1,053,866 B`. `100000 Mb/s` becomes `100 Gb/s`, and `12345 packets` becomes
/// `12,345 packets`. Every amount stays exact, and columns of a table stay aligned. Text in quotes,
/// names, and numbers next to other signs do not change.
#[must_use]
pub fn readable(text: &str) -> String {
    text.split_inclusive('\n').map(readable_line).collect()
}

fn readable_line(line: &str) -> String {
    let mut out = String::with_capacity(line.len() + 8);
    let (mut rest, mut quoted) = (line, false);
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let before = &rest[..at];
        quoted ^= before.matches('"').count() % 2 == 1;
        out.push_str(before);
        let digits = rest[at..].find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len() - at);
        let (number, behind) = rest[at..].split_at(digits);
        let is_alone = out.chars().next_back().is_none_or(|c| " (+-−~".contains(c));
        let amount = if is_alone && !quoted { amount(number, behind) } else { None };
        match amount {
            Some((shown, unit)) => {
                push_aligned(&mut out, &shown, digits + unit);
                rest = &behind[unit..];
            }
            None => {
                out.push_str(number);
                rest = behind;
            }
        }
    }
    out + rest
}

/// Returns a number in readable form, and the length of the replaced unit. The length is 0 if the
/// unit behind the number remains.
fn amount(number: &str, behind: &str) -> Option<(String, usize)> {
    let value: u64 = number.parse().ok()?;
    let is_unit = |unit: &str| {
        behind
            .strip_prefix(unit)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '/'))
    };
    if is_unit(" B") && value >= 2_000 {
        return Some((exact_bytes(value), " B".len()));
    }
    // The first end of a range has no unit, as in: 200000 to 800000 B.
    if value >= 2_000
        && let Some(rest) = behind.strip_prefix(" to ")
        && rest.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(" B")
    {
        return Some((exact_bytes(value), 0));
    }
    if is_unit(" Mb/s") && value >= 1_000 && value.is_multiple_of(1_000) {
        return Some((format!("{} Gb/s", count(value / 1_000)), " Mb/s".len()));
    }
    let is_counted = behind.trim_start_matches(' ').starts_with(|c: char| c.is_alphabetic())
        && behind.starts_with(' ')
        || behind.trim_end().is_empty()
        || behind.starts_with(')')
        || behind.starts_with(", ");
    let noun = behind.trim_start().split(|c: char| !c.is_alphabetic() && c != '-').next().unwrap_or("");
    let digits = if behind.starts_with(' ') && THINGS.contains(&noun) { 4 } else { DIGITS };
    (number.len() >= digits && !number.starts_with('0') && is_counted).then(|| (count(value), 0))
}

/// Formats a size in KB, MB or GB if three decimals are exact, else in bytes.
fn exact_bytes(value: u64) -> String {
    let exact = bufferlab_units::quantity::format_size(value);
    let decimals = exact.split_once('.').map_or(0, |(_, rest)| rest.find(' ').unwrap_or(0));
    if decimals <= 3 { exact } else { format!("{} B", count(value)) }
}

/// Appends `shown` in place of a text of `length` characters. If the replaced text is
/// right-aligned, the function changes the number of blanks before `shown`.
fn push_aligned(out: &mut String, shown: &str, length: usize) {
    // At the start of a line, up to this number of blanks are an indentation.
    const INDENT: usize = 4;
    let blanks = out.len() - out.trim_end_matches(' ').len();
    if blanks >= 2 && (blanks < out.len() || blanks > INDENT) {
        let width = blanks + length;
        out.truncate(out.len() - blanks);
        let wanted = width.saturating_sub(shown.chars().count()).max(1);
        out.push_str(&" ".repeat(wanted));
    }
    out.push_str(shown);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_in_texts_are_exact_and_readable() {
        for (text, wanted) in [
            ("queue 159000 B + packet 1500 B = 160500 B", "queue 159 KB + packet 1500 B = 160.5 KB"),
            ("limit 160299 B, 1053866 B alone", "limit 160.299 KB, 1,053,866 B alone"),
            ("  shared        3156992 B   9.4 %", "  shared      3,156,992 B   9.4 %"),
            ("headroom      90112 B  of 2", "headroom    90.112 KB  of 2"),
            ("at 100000 Mb/s over 5 m", "at 100 Gb/s over 5 m"),
            ("1659814 operations, 7739 cells", "1,659,814 operations, 7,739 cells"),
            ("suggestion: \"xoff\": \"158476\" or more", "suggestion: \"xoff\": \"158476\" or more"),
            ("pg_lossless_100000_5m (#25395)", "pg_lossless_100000_5m (#25395)"),
            ("12.345678 s, 0.000001 to 1.234567 MB", "12.345678 s, 0.000001 to 1.234567 MB"),
            ("margin +36223 B", "margin +36.223 KB"),
            ("ecn_all from 200000 to 800000 B", "ecn_all from 200 KB to 800 KB"),
            ("  3125 cells: 6 groups", "  3,125 cells: 6 groups"),
            ("         15625  size of a pool", "        15,625  size of a pool"),
        ] {
            assert_eq!(readable(text), wanted);
        }
    }

    #[test]
    fn numbers_have_three_significant_digits() {
        let texts =
            [0.0, 0.01234, 0.5, 1.0, 9.999, 12.34, 99.99, 123.4, 12_345.6, -3.21, 8.9e-5, 2.1e-7].map(number);
        assert_eq!(
            texts,
            [
                "0",
                "0.0123",
                "0.500",
                "1.00",
                "10.0",
                "12.3",
                "100",
                "123",
                "12,346",
                "-3.21",
                "0.0000890",
                "2.1e-7"
            ]
        );
        assert_eq!(number(f64::NAN), "–");
    }

    #[test]
    fn counts_are_whole_and_their_means_have_a_decimal() {
        let texts = [0.0, 2.0, 35.0, 2.4, 123.4, 12_345.0, 0.01].map(mean_count);
        assert_eq!(texts, ["0", "2", "35", "2.4", "123", "12,345", "0.0100"]);
    }

    #[test]
    fn an_interval_has_the_places_of_its_mean() {
        let texts = [(3.83, 0.2083), (0.3634, 0.00554), (276.4, 14.1), (12_345.0, 1_234.5), (0.0, 0.0)]
            .map(|(mean, half)| estimate(mean, half));
        assert_eq!(texts, ["3.83 ±0.21", "0.363 ±0.006", "276 ±14", "12,345 ±1,235", "0 ±0"]);
    }

    #[test]
    fn sizes_spans_and_changes_carry_their_units() {
        assert_eq!(
            (bytes(1_500_000.0), bytes(0.0), bytes(100_000.0)),
            ("1.5 MB".into(), "0 B".into(), "100 KB".into())
        );
        assert_eq!((span_ns(80_000), span_ns(10_000_000)), ("80 us".into(), "10 ms".into()));
        assert_eq!(
            (change(0.1234), change(-0.04), change(-0.00001)),
            ("+12.3 %".into(), "−4.0 %".into(), "0.0 %".into())
        );
        assert_eq!(change(12.0), "+1,200 %");
    }
}
