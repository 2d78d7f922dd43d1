//! Limits of the user's input, as data. Checks, messages and the page of limits use one
//! declaration.

use std::fmt;

/// Maximum of a quantity in the user's input, such as the number of seeds.
///
/// Crates list their maxima in constants `LIMITS`, and `docs/reference/limits.md` shows the
/// maxima of all crates. A test of the command line requires a case just above each maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Name of the limited quantity in the plural, such as "seeds".
    pub name: &'static str,
    /// The largest accepted amount of the limited quantity.
    pub most: u64,
    /// Unit of [`Self::most`]; empty if the quantity is a number of objects.
    pub unit: &'static str,
    /// Place of the quantity in the input: a key, an option, a file.
    pub place: &'static str,
    /// Effect of an amount above the limit.
    pub effect: &'static str,
}

impl Limit {
    /// Refuses the amount `found` if the amount exceeds the limit.
    ///
    /// # Errors
    /// Returns [`Beyond`], with the limit and the amount `found`.
    pub fn check(self, found: u64) -> Result<(), Beyond> {
        if found <= self.most { Ok(()) } else { Err(Beyond { limit: self, found }) }
    }
}

/// Error about a quantity that exceeds its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beyond {
    /// The limit that the quantity in the input exceeds.
    pub limit: Limit,
    /// Amount of the limited quantity in the input.
    pub found: u64,
}

impl fmt::Display for Beyond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { limit: Limit { name, most, unit, .. }, found } = self;
        let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
        write!(f, "{found}{unit} are too many {name}, expected at most {most}")
    }
}

impl std::error::Error for Beyond {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_accepts_its_value_and_names_itself_above_it() {
        let limit = Limit { name: "seeds", most: 10, unit: "", place: "`--seeds`", effect: "an error" };
        assert_eq!(limit.check(10), Ok(()));
        let beyond = limit.check(11).expect_err("too many").to_string();
        assert_eq!(beyond, "11 are too many seeds, expected at most 10");
    }
}
