//! Conversion of decimal text into whole units without floating point.

use super::CellProblem;

/// Number in units of 10^−`decimals`, and whether the number is exact. A number that is not exact
/// is rounded to the nearest unit, halves up.
pub(crate) struct Scaled {
    pub(crate) units: u64,
    pub(crate) exact: bool,
}

/// Reads a decimal number in the notations of spreadsheets and data frames: `12`, `12.5`, `1.25e3`.
pub(crate) fn parse_scaled(text: &str, decimals: u32) -> Result<Scaled, CellProblem> {
    let negative = text.starts_with('-');
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => {
            (mantissa, exponent.parse::<i32>().map_err(|_| CellProblem::NotANumber)?)
        }
        None => (unsigned, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut digits = whole.bytes().chain(fraction.bytes()).peekable();
    if digits.peek().is_none() {
        return Err(CellProblem::NotANumber);
    }
    // The first `whole_digits` digits form whole units. The digits after them are rounded.
    let whole_digits = whole.len() as i64 + i64::from(exponent) + i64::from(decimals);
    let (mut units, mut exact, mut round_up) = (0_u64, true, false);
    let mut position = 0_i64;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return Err(CellProblem::NotANumber);
        }
        let digit = digit - b'0';
        if position < whole_digits {
            units = append(units, digit)?;
        } else {
            exact &= digit == 0;
            round_up |= position == whole_digits && digit >= 5;
        }
        position += 1;
    }
    while position < whole_digits && units != 0 {
        units = append(units, 0)?;
        position += 1;
    }
    // The text "-0.0" is zero, so the parser accepts this text.
    if negative && (units != 0 || !exact) {
        return Err(CellProblem::Negative);
    }
    let units = units.checked_add(u64::from(round_up)).ok_or(CellProblem::TooLarge)?;
    Ok(Scaled { units, exact })
}

/// Reads a whole number up to `max`; `12.0` is whole.
pub(crate) fn parse_whole(text: &str, max: u64) -> Result<u64, CellProblem> {
    let Scaled { units, exact } = parse_scaled(text, 0)?;
    if !exact {
        return Err(CellProblem::NotWhole);
    }
    if units > max {
        return Err(CellProblem::TooLarge);
    }
    Ok(units)
}

fn append(units: u64, digit: u8) -> Result<u64, CellProblem> {
    let shifted = units.checked_mul(10).ok_or(CellProblem::TooLarge)?;
    shifted.checked_add(u64::from(digit)).ok_or(CellProblem::TooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact_to_the_unit() {
        for (text, units, exact) in [
            ("0", 0, true),
            ("1103378669", 1_103_378_669_000, true),
            ("1103378669.125", 1_103_378_669_125, true),
            ("1103378669.0", 1_103_378_669_000, true),
            ("9007199254740993", 9_007_199_254_740_993_000, true),
            ("0.0005", 1, false),
            ("0.00049", 0, false),
            ("1.9995", 2_000, false),
            ("1.1e9", 1_100_000_000_000, true),
            ("1.1E+3", 1_100_000, true),
            ("25e-4", 3, false),
            ("5e-9", 0, false),
            ("0e999999999", 0, true),
            (".5", 500, true),
            ("5.", 5_000, true),
            ("+7", 7_000, true),
            ("-0.0", 0, true),
        ] {
            let found = parse_scaled(text, 3).unwrap_or_else(|problem| panic!("{text}: {problem}"));
            assert_eq!((found.units, found.exact), (units, exact), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_number_is_refused() {
        use CellProblem::{Negative, NotANumber, TooLarge};
        for (text, problem) in [
            ("", NotANumber),
            (".", NotANumber),
            ("abc", NotANumber),
            ("1,5", NotANumber),
            ("0x10", NotANumber),
            ("1 000", NotANumber),
            ("nan", NotANumber),
            ("-x", NotANumber),
            ("--1", NotANumber),
            ("1e", NotANumber),
            ("1e5.5", NotANumber),
            ("-1", Negative),
            ("-1e-9", Negative),
            ("18446744073709551616", TooLarge),
            ("1e30", TooLarge),
            ("1e2147483647", TooLarge),
        ] {
            let found = parse_scaled(text, 0).map(|scaled| scaled.units);
            assert_eq!(found, Err(problem), "{text}");
        }
        assert_eq!(parse_whole("1.5", 9), Err(CellProblem::NotWhole));
        assert_eq!(parse_whole("10", 9), Err(CellProblem::TooLarge));
        assert_eq!(parse_whole("9.00", 9), Ok(9));
    }
}
