//! Quantities with units as text, such as `"80 us"`, `"3.84 MB"` or `"10 Gb/s"`.
//!
//! Arithmetic is decimal and exact: `3.84 MB` is 3,840,000 bytes.
//! A value finer than the smallest unit (1 ps, 1 B, 1 b/s) is refused, not rounded.

use crate::{BitRate, Time};
use std::fmt;

/// Kind of physical quantity: time, size or rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// A span of time.
    Time,
    /// A number of bytes.
    Size,
    /// A number of bits per second.
    Rate,
}

impl Dimension {
    /// Noun of the dimension with its article: "a time", "a size", "a rate".
    #[must_use]
    pub const fn article(self) -> &'static str {
        match self {
            Self::Time => "a time",
            Self::Size => "a size",
            Self::Rate => "a rate",
        }
    }

    /// Noun of the dimension: "time", "size", "rate".
    #[must_use]
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Size => "size",
            Self::Rate => "rate",
        }
    }

    /// Units that the dimension accepts, as text for messages.
    #[must_use]
    pub const fn units(self) -> &'static str {
        match self {
            Self::Time => "ps, ns, us, ms, s",
            Self::Size => "B, KB, MB, GB (powers of 1000), KiB, MiB, GiB (powers of 1024)",
            Self::Rate => "b/s, Kb/s, Mb/s, Gb/s, Tb/s (bits; also Gbps)",
        }
    }

    /// Regular expression for quantities of the dimension in the JSON Schema.
    #[must_use]
    pub fn pattern(self) -> String {
        let units: Vec<_> = UNITS.iter().filter(|unit| unit.1 == self).map(|unit| unit.0).collect();
        format!("^\\s*[0-9][0-9_]*(\\.[0-9]+)?\\s*({})\\s*$", units.join("|"))
    }

    /// Largest accepted quantity in the base unit: 100,000 s, 100,000 GB, 100 Tb/s. No network
    /// reaches this quantity. A sum of quantities up to this limit over all ports, queues and links
    /// does not overflow 64 bits.
    #[must_use]
    pub const fn largest(self) -> u64 {
        match self {
            Self::Time => 100_000 * 1_000_000_000_000,
            Self::Size => 100_000 * 1_000_000_000,
            Self::Rate => 100 * 1_000_000_000_000,
        }
    }

    /// Largest accepted quantity of the dimension, as text for messages.
    #[must_use]
    pub fn at_most(self) -> String {
        let largest = match self {
            Self::Time => format_time(Time(self.largest())),
            Self::Size => format_size(self.largest()),
            Self::Rate => format_rate(BitRate(self.largest())),
        };
        format!("at most {largest}")
    }

    const fn smallest(self) -> &'static str {
        match self {
            Self::Time => "1 ps",
            Self::Size => "1 B",
            Self::Rate => "1 b/s",
        }
    }
}

/// Units: name, dimension, and scale in the base unit (ps, B, b/s).
const UNITS: &[(&str, Dimension, u128)] = &[
    ("ps", Dimension::Time, 1),
    ("ns", Dimension::Time, 1_000),
    ("us", Dimension::Time, 1_000_000),
    ("µs", Dimension::Time, 1_000_000),
    ("μs", Dimension::Time, 1_000_000),
    ("ms", Dimension::Time, 1_000_000_000),
    ("s", Dimension::Time, 1_000_000_000_000),
    ("B", Dimension::Size, 1),
    ("KB", Dimension::Size, 1_000),
    ("kB", Dimension::Size, 1_000),
    ("MB", Dimension::Size, 1_000_000),
    ("GB", Dimension::Size, 1_000_000_000),
    ("KiB", Dimension::Size, 1 << 10),
    ("MiB", Dimension::Size, 1 << 20),
    ("GiB", Dimension::Size, 1 << 30),
    ("b/s", Dimension::Rate, 1),
    ("Kb/s", Dimension::Rate, 1_000),
    ("kb/s", Dimension::Rate, 1_000),
    ("Mb/s", Dimension::Rate, 1_000_000),
    ("Gb/s", Dimension::Rate, 1_000_000_000),
    ("Tb/s", Dimension::Rate, 1_000_000_000_000),
    ("bps", Dimension::Rate, 1),
    ("Kbps", Dimension::Rate, 1_000),
    ("kbps", Dimension::Rate, 1_000),
    ("Mbps", Dimension::Rate, 1_000_000),
    ("Gbps", Dimension::Rate, 1_000_000_000),
    ("Tbps", Dimension::Rate, 1_000_000_000_000),
    // Other spellings of rates in switches and standards.
    ("M", Dimension::Rate, 1_000_000),
    ("G", Dimension::Rate, 1_000_000_000),
    ("T", Dimension::Rate, 1_000_000_000_000),
    ("GbE", Dimension::Rate, 1_000_000_000),
    ("Mbit/s", Dimension::Rate, 1_000_000),
    ("Gbit/s", Dimension::Rate, 1_000_000_000),
    ("Tbit/s", Dimension::Rate, 1_000_000_000_000),
];

/// Reason why a text is not a quantity of the expected dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuantityError {
    /// The text of the quantity does not begin with a number.
    NotANumber,
    /// The number of the quantity is below zero.
    Negative,
    /// The number of the quantity has no unit.
    MissingUnit,
    /// The unit in the text does not exist.
    UnknownUnit(String),
    /// The unit in the text belongs to another dimension.
    WrongDimension {
        /// Name of the wrong unit in the text.
        unit: String,
        /// Dimension of the wrong unit in the text.
        found: Dimension,
    },
    /// The quantity is finer than the smallest unit.
    TooFine(Dimension),
    /// The quantity exceeds [`Dimension::largest`].
    TooLarge(Dimension),
}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotANumber => f.write_str("this does not start with a number"),
            Self::Negative => f.write_str("the value is negative"),
            Self::MissingUnit => f.write_str("the unit is missing"),
            Self::UnknownUnit(unit) => write!(f, "there is no unit \"{unit}\""),
            Self::WrongDimension { unit, found } => write!(f, "\"{unit}\" is a unit of {}", found.noun()),
            Self::TooFine(dimension) => {
                write!(f, "the value is not a whole multiple of {}", dimension.smallest())
            }
            Self::TooLarge(dimension) => write!(f, "the value is too large; {}", dimension.at_most()),
        }
    }
}

impl std::error::Error for QuantityError {}

/// Parses the text of a time.
///
/// # Errors
/// Returns [`QuantityError`] if the text is not a time.
pub fn parse_time(text: &str) -> Result<Time, QuantityError> {
    parse(text, Dimension::Time).map(Time)
}

/// Parses the text of a size, and returns bytes.
///
/// # Errors
/// Returns [`QuantityError`] if the text is not a size.
pub fn parse_size(text: &str) -> Result<u64, QuantityError> {
    parse(text, Dimension::Size)
}

/// Parses the text of a rate.
///
/// # Errors
/// Returns [`QuantityError`] if the text is not a rate.
pub fn parse_rate(text: &str) -> Result<BitRate, QuantityError> {
    parse(text, Dimension::Rate).map(BitRate)
}

/// Parses a quantity of `dimension`, and returns the quantity in the base unit (ps, B, b/s).
///
/// # Errors
/// Returns [`QuantityError`] if the text is not a quantity of `dimension`.
pub fn parse(text: &str, dimension: Dimension) -> Result<u64, QuantityError> {
    let text = text.trim();
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, unit) = (text[..end].replace('_', ""), text[end..].trim());
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    if whole.is_empty() || fraction.contains('.') || (number.ends_with('.')) {
        return Err(QuantityError::NotANumber);
    }
    if unit.is_empty() {
        return Err(QuantityError::MissingUnit);
    }
    let &(_, found, scale) = UNITS
        .iter()
        .find(|known| known.0 == unit)
        .ok_or_else(|| QuantityError::UnknownUnit(unit.to_owned()))?;
    if found != dimension {
        return Err(QuantityError::WrongDimension { unit: unit.to_owned(), found });
    }
    let fraction = fraction.trim_end_matches('0');
    let mantissa: u128 = match format!("{whole}{fraction}").trim_start_matches('0') {
        "" => 0,
        digits => digits.parse().map_err(|_| QuantityError::TooLarge(dimension))?,
    };
    if negative && mantissa != 0 {
        return Err(QuantityError::Negative);
    }
    let scaled = mantissa.checked_mul(scale).ok_or(QuantityError::TooLarge(dimension))?;
    let divisor = u32::try_from(fraction.len()).ok().and_then(|places| 10_u128.checked_pow(places));
    match divisor {
        Some(divisor) if scaled % divisor == 0 => {
            let value = u64::try_from(scaled / divisor).ok().filter(|value| *value <= dimension.largest());
            value.ok_or(QuantityError::TooLarge(dimension))
        }
        _ => Err(QuantityError::TooFine(dimension)),
    }
}

/// Writes the exact text of a time, in the largest unit that makes the number at least 1.
#[must_use]
pub fn format_time(time: Time) -> String {
    if time == Time::ZERO {
        return "0 s".to_owned();
    }
    decimal(
        time.0,
        &[("s", 1_000_000_000_000), ("ms", 1_000_000_000), ("us", 1_000_000), ("ns", 1_000), ("ps", 1)],
    )
}

/// Writes the exact text of a size in powers of 1000.
/// Below 2 KB, the range of packets, the unit is bytes.
#[must_use]
pub fn format_size(bytes: u64) -> String {
    if bytes < 2_000 {
        return format!("{bytes} B");
    }
    decimal(bytes, &[("GB", 1_000_000_000), ("MB", 1_000_000), ("KB", 1_000), ("B", 1)])
}

/// Writes a rate as exact text with its unit.
#[must_use]
pub fn format_rate(rate: BitRate) -> String {
    let units = [
        ("Tb/s", 1_000_000_000_000),
        ("Gb/s", 1_000_000_000),
        ("Mb/s", 1_000_000),
        ("Kb/s", 1_000),
        ("b/s", 1),
    ];
    decimal(rate.0, &units)
}

fn decimal(value: u64, units: &[(&str, u64)]) -> String {
    let smallest = units[units.len() - 1];
    let &(unit, scale) = units.iter().find(|unit| value >= unit.1).unwrap_or(&smallest);
    let places = scale.ilog10() as usize;
    let fraction = format!("{:0places$}", value % scale);
    let fraction = if scale == 1 { "" } else { fraction.trim_end_matches('0') };
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{}{point}{fraction} {unit}", value / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        assert_eq!(parse_size("3.84 MB"), Ok(3_840_000));
        assert_eq!(parse_size("9.6 KB"), Ok(9_600));
        assert_eq!(parse_size("0.0000001 GB"), Ok(100));
        assert_eq!(parse_size("128KiB"), Ok(131_072));
        assert_eq!(parse_size("0.5 KiB"), Ok(512));
        assert_eq!(parse_time("80 us"), Ok(Time::from_us(80)));
        assert_eq!(parse_time("17.28µs"), Ok(Time(17_280_000)));
        assert_eq!(parse_time("1 s"), Ok(Time::from_ms(1_000)));
        assert_eq!(parse_rate("10Gbps"), Ok(BitRate::gbps(10)));
        assert_eq!(parse_rate("0.995 Gb/s"), Ok(BitRate::mbps(995)));
        for ten in ["10G", "10GbE", "10 GbE", "10 Gbit/s", "10000M"] {
            assert_eq!(parse_rate(ten), Ok(BitRate::gbps(10)), "{ten}");
        }
        assert_eq!(parse_size("1_000 B"), Ok(1_000));
    }

    #[test]
    fn what_is_no_quantity_is_refused_with_its_reason() {
        assert_eq!(parse_size("1500"), Err(QuantityError::MissingUnit));
        assert_eq!(parse_size("-1 KB"), Err(QuantityError::Negative));
        assert_eq!(parse_size("1.0001 KB"), Err(QuantityError::TooFine(Dimension::Size)));
        assert_eq!(parse_time("0.5 ps"), Err(QuantityError::TooFine(Dimension::Time)));
        let found = Dimension::Rate;
        assert_eq!(parse_size("3M"), Err(QuantityError::WrongDimension { unit: "M".into(), found }));
        assert_eq!(parse_size("3 XB"), Err(QuantityError::UnknownUnit("XB".into())));
        assert_eq!(
            parse_size("3 ms"),
            Err(QuantityError::WrongDimension { unit: "ms".into(), found: Dimension::Time })
        );
        for text in ["", "MB", ".5 MB", "1.2.3 MB", "5. MB"] {
            assert_eq!(parse_size(text), Err(QuantityError::NotANumber), "{text}");
        }
        let too_large = |dimension| Err(QuantityError::TooLarge(dimension));
        assert_eq!(parse_time("1000000000000 s"), too_large(Dimension::Time).map(Time));
        assert_eq!(parse_time(&format!("{} s", "9".repeat(50))), too_large(Dimension::Time).map(Time));
        assert_eq!(parse_time("100000 s"), Ok(Time(Dimension::Time.largest())));
        assert_eq!(parse_time("100000.000000000001 s"), too_large(Dimension::Time).map(Time));
        assert_eq!(
            (parse_size("100000 GB").is_ok(), parse_size("100000000000001 B")),
            (true, too_large(Dimension::Size))
        );
        assert_eq!((parse_rate("100 Tb/s").is_ok(), parse_rate("101 Tb/s").is_ok()), (true, false));
        assert_eq!(
            too_large(Dimension::Size).map_err(|error| error.to_string()),
            Err::<u64, _>("the value is too large; at most 100000 GB".to_owned())
        );
        assert_eq!(
            parse_time(&format!("0.{}1 s", "0".repeat(60))),
            Err(QuantityError::TooFine(Dimension::Time))
        );
    }

    #[test]
    fn what_is_too_fine_is_refused_with_the_smallest_step() {
        for (dimension, step) in
            [(Dimension::Time, "1 ps"), (Dimension::Size, "1 B"), (Dimension::Rate, "1 b/s")]
        {
            let message = QuantityError::TooFine(dimension).to_string();
            assert!(message.contains(&format!("whole multiple of {step}")), "{message}");
        }
    }

    #[test]
    fn canonical_texts_read_back_as_the_same_value() {
        for value in
            [0, 1, 999, 1_000, 1_024, 1_163_200, 3_840_000, 17_280_000, 1_000_000_007, 100_000_000_000_000]
        {
            assert_eq!(parse_time(&format_time(Time(value))), Ok(Time(value)));
            assert_eq!(parse_size(&format_size(value)), Ok(value));
            assert_eq!(parse_rate(&format_rate(BitRate(value))), Ok(BitRate(value)));
        }
        assert_eq!(format_size(3_840_000), "3.84 MB");
        assert_eq!(format_time(Time(1_163_200)), "1.1632 us");
        assert_eq!(format_time(Time::ZERO), "0 s");
    }
}
