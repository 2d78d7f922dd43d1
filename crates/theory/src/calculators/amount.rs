//! Formats numbers for people, with four significant digits and the unit that needs the fewest
//! digits.

/// A plain number with four significant digits; "unbounded" for infinity.
#[must_use]
pub fn number(value: f64) -> String {
    if value == f64::INFINITY {
        return "unbounded".to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    // The exponent is the power of ten after rounding to four digits,
    // because 9999.6 then has five digits.
    let exponent = format!("{:.3e}", value.abs()).split_once('e').and_then(|(_, e)| e.parse::<i32>().ok());
    let exponent = exponent.unwrap_or(0);
    if !(-4..9).contains(&exponent) {
        let text = format!("{value:.3e}");
        let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{power}", trim(mantissa));
    }
    let places = usize::try_from(3 - exponent).unwrap_or(0);
    let text = format!("{value:.places$}");
    trim(&text).to_owned()
}

fn trim(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    if value == f64::INFINITY {
        return number(value);
    }
    let last = units[units.len() - 1];
    // The comparison allows half a unit of the fourth digit, so that 999.96 KB is printed as 1 MB.
    let fits = |unit: &&(f64, &str)| value.abs() * (1.0 + 5e-5) >= unit.0;
    let (scale, unit) = *units.iter().find(fits).unwrap_or(&last);
    format!("{} {unit}", number(value / scale))
}

/// Formats a size in bytes as text, in powers of 1000.
///
/// Sizes below a millionth of a byte are the rounding errors of differences, and print as 0 B.
#[must_use]
pub fn bytes(value: f64) -> String {
    let value = if value.abs() < 1e-6 { 0.0 } else { value };
    scaled(value, &[(1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1.0, "B")])
}

/// Formats a rate in bits per second as text with a unit.
#[must_use]
pub fn rate(value: f64) -> String {
    scaled(value, &[(1e12, "Tb/s"), (1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "Kb/s"), (1.0, "b/s")])
}

/// Formats a time in seconds as text with a unit.
#[must_use]
pub fn seconds(value: f64) -> String {
    if value == 0.0 {
        return "0 s".to_owned();
    }
    scaled(value, &[(1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits_and_no_more_zeros_than_needed() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (0.5, "0.5"),
            (2.0 / 3.0, "0.6667"),
            (-1.25, "-1.25"),
            (1234.5, "1234"),
            (99_999.6, "100000"),
            (9.9999, "10"),
            (0.000_123_456, "0.0001235"),
            (1e-9, "1e-9"),
            (1.234_56e12, "1.235e12"),
            (f64::INFINITY, "unbounded"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn units_keep_numbers_short() {
        assert_eq!(bytes(3_840_000.0), "3.84 MB");
        assert_eq!(bytes(-9.313e-10), "0 B");
        assert_eq!(bytes(999_999.0), "1 MB");
        assert_eq!(bytes(64.0), "64 B");
        assert_eq!(rate(10e9), "10 Gb/s");
        assert_eq!(seconds(222.222e-6), "222.2 us");
        assert_eq!(seconds(1.024e-3), "1.024 ms");
        assert_eq!(seconds(0.0), "0 s");
        assert_eq!(seconds(f64::INFINITY), "unbounded");
    }
}
