//! Results of a replay: stated and measured values, and the difference that packet sizes explain.

use bufferlab_theory::calculators::{Table, bytes, number, seconds};
use std::fmt::{self, Display, Write};

/// Relation between the value that a replay measures and the value that a calculator states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The measured value equals the stated value, up to the allowed difference.
    Equal,
    /// The measured value is at least the stated value, up to the allowed difference.
    AtLeast,
    /// The measured value is at most the stated value, up to the allowed difference.
    AtMost,
}

/// The unit of a quantity that a check compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Values of the quantity are in bytes.
    Bytes,
    /// Values of the quantity are in seconds.
    Seconds,
    /// Values of the quantity are numbers of packets.
    Packets,
    /// Values of the quantity are numbers without a unit.
    Number,
}

impl Unit {
    fn text(self, value: f64) -> String {
        match self {
            Self::Bytes => bytes(value),
            Self::Seconds => seconds(value),
            Self::Packets => format!("{} packets", number(value)),
            Self::Number => number(value),
        }
    }
}

/// Check of one quantity: the value that the calculator states, and the value that the replay
/// measures.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// Name of the checked quantity, such as "drain time 0".
    pub quantity: String,
    /// Value that the calculator states (in the unit of the field `unit`).
    pub stated: f64,
    /// Value of the quantity that the replay measured with packets.
    pub measured: f64,
    /// Relation that must hold between the measured and the stated value.
    pub relation: Relation,
    /// Largest difference of stated and measured value that whole packets explain.
    pub bound: f64,
    /// Unit of the stated value, the measured value and the allowed difference.
    pub unit: Unit,
}

impl Check {
    /// Creates a check that the stated and the measured value are equal up to `bound`.
    #[must_use]
    pub fn equal(
        quantity: impl Into<String>,
        (stated, measured): (f64, f64),
        bound: f64,
        unit: Unit,
    ) -> Self {
        Self { quantity: quantity.into(), stated, measured, relation: Relation::Equal, bound, unit }
    }

    /// Returns this check with the relation `relation` instead of equality.
    #[must_use]
    pub fn with(self, relation: Relation) -> Self {
        Self { relation, ..self }
    }

    /// Returns the measured value minus the stated value.
    #[must_use]
    pub fn difference(&self) -> f64 {
        // If the stated and the measured value are infinite, their difference is zero.
        if self.measured == self.stated { 0.0 } else { self.measured - self.stated }
    }

    /// Returns the measured minus the stated value, relative to the stated value; 0 if a required
    /// inequality is true.
    #[must_use]
    pub fn relative(&self) -> f64 {
        let difference = self.difference();
        let counts = match self.relation {
            Relation::Equal => true,
            Relation::AtLeast => difference < 0.0,
            Relation::AtMost => difference > 0.0,
        };
        if counts && self.stated != 0.0 { difference / self.stated } else { 0.0 }
    }

    /// Whether the measured and the stated value satisfy the required relation.
    /// Differences that floating-point rounding explains are ignored.
    #[must_use]
    pub fn holds(&self) -> bool {
        let bound = self.bound + 1e-9 * self.stated.abs().min(f64::MAX);
        match self.relation {
            Relation::Equal => self.difference().abs() <= bound,
            Relation::AtLeast => self.difference() >= -bound,
            Relation::AtMost => self.difference() <= bound,
        }
    }
}

/// One replayed run, or several runs of one kind, with their checks.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// Description of the replayed run in words, for the user.
    pub what: String,
    /// Explanation of the allowed differences: why measured values may differ from stated values.
    pub bound: String,
    /// Checks of the quantities that the replayed run measured.
    pub checks: Vec<Check>,
}

/// Results of the replays of a calculator's answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verification {
    /// Replays of the calculator's answer.
    pub replays: Vec<Replay>,
    /// Answers of the calculator without a replay, each with the reason.
    pub left_out: Vec<String>,
}

impl Verification {
    /// Creates a verification with one replay.
    #[must_use]
    pub fn single(what: impl Into<String>, bound: impl Into<String>, checks: Vec<Check>) -> Self {
        let mut verification = Self::default();
        verification.add(what, bound, checks);
        verification
    }

    /// Creates a verification without replays, which gives the reason `reason`.
    #[must_use]
    pub fn nothing(reason: impl Into<String>) -> Self {
        Self { replays: Vec::new(), left_out: vec![reason.into()] }
    }

    /// Adds a replay to the verification.
    pub fn add(&mut self, what: impl Into<String>, bound: impl Into<String>, checks: Vec<Check>) {
        self.replays.push(Replay { what: what.into(), bound: bound.into(), checks });
    }

    /// Returns the checks of quantities from all replays.
    pub fn checks(&self) -> impl Iterator<Item = &Check> {
        self.replays.iter().flat_map(|replay| &replay.checks)
    }

    /// Whether every replayed quantity agrees with the calculator.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.checks().all(Check::holds)
    }
}

impl Display for Verification {
    /// Writes a table for each replay, the allowed differences, and the answers without a replay.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        for replay in &self.replays {
            writeln!(text, "packets: {}", replay.what)?;
            let mut table = Table::new(&["quantity", "stated", "measured", "difference", "bound", ""]);
            for check in &replay.checks {
                let stated = check.unit.text(check.stated);
                let stated = match check.relation {
                    Relation::Equal => stated,
                    Relation::AtLeast => format!("at least {stated}"),
                    Relation::AtMost => format!("at most {stated}"),
                };
                table.rows.push(vec![
                    check.quantity.clone(),
                    stated,
                    check.unit.text(check.measured),
                    check.unit.text(check.difference()),
                    check.unit.text(check.bound),
                    if check.holds() { "holds" } else { "DIFFERS" }.to_owned(),
                ]);
            }
            writeln!(text, "\n{table}\nbound: {}\n", replay.bound)?;
        }
        for reason in &self.left_out {
            writeln!(text, "not replayed: {reason}")?;
        }
        f.write_str(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_beyond_the_bound_is_one_and_an_inequality_has_one_side() {
        let check = |measured| Check::equal("size", (100.0, measured), 5.0, Unit::Bytes);
        assert!(check(105.0).holds() && check(95.0).holds() && !check(105.1).holds() && !check(94.9).holds());
        let least = |measured| check(measured).with(Relation::AtLeast);
        assert!(least(1e9).holds() && least(95.0).holds() && !least(94.9).holds());
        let most = |measured| check(measured).with(Relation::AtMost);
        assert!(most(0.0).holds() && most(105.0).holds() && !most(105.1).holds());
        assert_eq!((most(0.0).relative(), check(90.0).relative()), (0.0, -0.1));
        let endless = Check::equal("size", (f64::INFINITY, f64::INFINITY), 0.0, Unit::Bytes);
        assert!(endless.holds() && !check(f64::INFINITY).holds());
    }

    #[test]
    fn what_differs_is_said_in_words() {
        let checks = vec![Check::equal("size", (100.0, 106.0), 5.0, Unit::Bytes)];
        let mut found = Verification::single("a run", "a packet", checks);
        found.left_out.push("the rest".to_owned());
        let text = found.to_string();
        assert!(!found.holds() && text.contains("DIFFERS") && text.contains("6 B"), "{text}");
        assert!(text.contains("bound: a packet") && text.contains("not replayed: the rest"), "{text}");
    }
}
