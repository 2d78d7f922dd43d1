//! Derivation of an answer: its lines, and their format as plain text.

use std::fmt::{self, Display, Write};

/// A line of a derivation, which is one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Name of the value that the step computes.
    pub name: String,
    /// Formula of the derivation step, in words and symbols.
    pub formula: String,
    /// The step's formula with numbers inserted. Empty if the step computes no value.
    pub substituted: String,
    /// Result of the step with its unit. Empty for a formula whose results are in the table.
    pub result: String,
    /// Paper and equation of the formula, or its standard. Empty for arithmetic.
    pub source: String,
}

/// A table of compared values in a derivation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Headers of the table's columns.
    pub columns: Vec<String>,
    /// Rows of the table, each with one cell per column.
    pub rows: Vec<Vec<String>>,
}

/// A final answer of a derivation.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Name of the derivation's answer, such as "share".
    pub name: String,
    /// Value in the base unit (bytes, seconds, bits/s or a plain number).
    /// An unbounded answer is infinite.
    pub value: f64,
    /// Value of the answer with its unit, as text for people.
    pub text: String,
}

/// Derivation of the answers to an engineering question.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Derivation {
    /// Question that the derivation answers.
    pub title: String,
    /// Steps of the derivation, each with formula and result.
    pub lines: Vec<Line>,
    /// Table of the derivation, if the derivation compares values.
    pub table: Option<Table>,
    /// Final answers of the derivation.
    pub answers: Vec<Answer>,
    /// Conditions under which the answers hold, and warnings about the answers.
    pub notes: Vec<String>,
}

impl Derivation {
    /// An empty derivation for the question with the title `title`.
    #[must_use]
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// Adds a step: the name, the formula, the formula with numbers, the result with its unit, and
    /// the source ([`Line`]).
    pub fn step(
        &mut self,
        name: impl Into<String>,
        formula: impl Into<String>,
        substituted: impl Into<String>,
        result: impl Into<String>,
        source: &str,
    ) {
        let (name, formula, substituted) = (name.into(), formula.into(), substituted.into());
        self.lines.push(Line {
            name,
            formula,
            substituted,
            result: result.into(),
            source: source.to_owned(),
        });
    }

    /// Adds an answer: its name, its value in the base unit, and the value with its unit.
    pub fn answer(&mut self, name: impl Into<String>, value: f64, text: impl Into<String>) {
        self.answers.push(Answer { name: name.into(), value, text: text.into() });
    }

    /// Adds a condition under which the answers hold.
    pub fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// Value of the derivation's answer called `name`.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<f64> {
        self.answers.iter().find(|answer| answer.name == name).map(|answer| answer.value)
    }
}

fn width<'a>(texts: impl Iterator<Item = &'a String>) -> usize {
    texts.map(|text| text.chars().count()).max().unwrap_or(0)
}

impl Table {
    /// An empty table with the column headers `columns`.
    #[must_use]
    pub fn new(columns: &[&str]) -> Self {
        Self { columns: columns.iter().map(|&head| head.to_owned()).collect(), rows: Vec::new() }
    }

    fn write(&self, text: &mut dyn Write) -> fmt::Result {
        let lines = || std::iter::once(&self.columns).chain(&self.rows);
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|column| width(lines().filter_map(|line| line.get(column))))
            .collect();
        // The first column names the row. Columns of numbers are right-aligned.
        let is_number =
            |cell: &String| cell.starts_with(|c: char| c.is_ascii_digit() || c == '-') || cell == "unbounded";
        let right: Vec<bool> = (0..self.columns.len())
            .map(|column| column > 0 && self.rows.iter().filter_map(|row| row.get(column)).all(is_number))
            .collect();
        for line in lines() {
            let cells = line.iter().zip(widths.iter().zip(&right)).map(|(cell, (&width, &right))| {
                if right { format!("{cell:>width$}") } else { format!("{cell:width$}") }
            });
            writeln!(text, "  {}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }
}

impl Display for Table {
    /// Writes plain text: cells are aligned by column, numbers to the right.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}

impl Display for Derivation {
    /// Writes the derivation as plain text: title, steps, table, answers, notes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        writeln!(text, "{}", self.title)?;
        if !self.lines.is_empty() {
            writeln!(text)?;
        }
        let names = width(self.lines.iter().map(|line| &line.name));
        for line in &self.lines {
            let source = if line.source.is_empty() { String::new() } else { format!("   [{}]", line.source) };
            if line.substituted.is_empty() {
                let parts = [line.formula.as_str(), line.result.as_str()];
                let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
                writeln!(text, "  {:names$}  {}{source}", line.name, parts.join(" = "))?;
            } else {
                writeln!(text, "  {:names$}  {}{source}", line.name, line.formula)?;
                writeln!(text, "  {:names$}  = {} = {}", "", line.substituted, line.result)?;
            }
        }
        if let Some(table) = &self.table {
            writeln!(text)?;
            table.write(&mut text)?;
        }
        if !self.answers.is_empty() {
            writeln!(text)?;
        }
        let names = width(self.answers.iter().map(|answer| &answer.name));
        for answer in &self.answers {
            writeln!(text, "{:names$}  {}", answer.name, answer.text)?;
        }
        if !self.notes.is_empty() {
            writeln!(text)?;
        }
        for note in &self.notes {
            writeln!(text, "note: {note}")?;
        }
        f.write_str(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_tables_answers_and_notes_stand_below_each_other() {
        let mut derivation = Derivation::new("How long");
        derivation.step("buffer", "", "", "4 MB", "");
        derivation.step("time", "B/b", "4 MB / 10 Gb/s", "3.2 ms", "arithmetic");
        derivation.table = Some(Table::new(&["k", "alpha"]));
        derivation.table.as_mut().expect("set").rows.push(vec!["-1".to_owned(), "0.5".to_owned()]);
        derivation.answer("time", 3.2e-3, "3.2 ms");
        derivation.note("a condition");
        let expected = "How long\n\n  buffer  4 MB\n  time    B/b   [arithmetic]\n          = 4 MB / 10 Gb/s = 3.2 ms\n\n  \
            k   alpha\n  -1    0.5\n\ntime  3.2 ms\n\nnote: a condition\n";
        assert_eq!(derivation.to_string(), expected);
        assert_eq!(derivation.value("time"), Some(3.2e-3));
        assert_eq!(derivation.value("size"), None);
    }
}
