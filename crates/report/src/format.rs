//! Formats numbers for people.

/// Formats three significant digits, plain: `0.0123`, `1.23`, `12.3`, `123`, `12,345`, `2.1e-7`.
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
        // The first digit of 0.0999 is in the second decimal place: 4 decimals.
        let decimals = (2.0 - size.log10().floor()).clamp(0.0, 7.0) as usize;
        let text = format!("{value:.decimals$}");
        // Rounding may have added a digit: 9.999 is 10.00 with two places.
        if text.len() > decimals + 2 + sign.len() && (1.0..10.0).contains(&size) {
            return format!("{value:.1}");
        }
        text
    }
}

/// A mean with the half-width of its interval, both to the mean's last place: `3.83 ±0.21`.
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

/// Name of a class's queries: `incast queries`, or `queries` if the class name contains the word.
#[must_use]
pub fn queries_of(class: &str) -> String {
    match class {
        "query" | "queries" => "queries".to_owned(),
        _ => format!("{class} queries"),
    }
}

/// A whole number with commas: `1,234,567`.
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

/// A mean of whole numbers: without decimals if whole, otherwise with one decimal below 100.
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

/// Bytes in powers of 1,000: `1.5 MB`.
#[must_use]
pub fn bytes(value: f64) -> String {
    scaled(value, &[(1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1.0, "B")])
}

/// A duration in the largest unit in which it is at least 1: `80 us`.
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

/// A fraction as a change: `+12.3 %`, `−4.0 %`.
#[must_use]
pub fn change(fraction: f64) -> String {
    let percent = fraction * 100.0;
    let text = tenth(percent);
    match text.strip_prefix('-') {
        // A change that rounds to zero has no sign.
        _ if text == "0.0" || text == "-0.0" => "0.0 %".into(),
        Some(size) => format!("−{size} %"),
        None => format!("+{text} %"),
    }
}

/// A number with one decimal below 100, without decimals from 100 upwards.
#[must_use]
pub fn tenth(value: f64) -> String {
    if value.abs() >= 99.95 { number(value) } else { format!("{value:.1}") }
}

/// Position of a value such as `10 Gb/s` (10) on an axis; `None` if it does not begin with a
/// number.
#[must_use]
pub fn leading_number(text: &str) -> Option<f64> {
    let text = text.trim_matches('"').trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || ".-+e".contains(c))).unwrap_or(text.len());
    text[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

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
