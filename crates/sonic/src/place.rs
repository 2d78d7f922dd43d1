//! Places of values, and problems with values.

use bufferlab_units::is_hidden;
use std::fmt;
use std::sync::Arc;

/// A file, a line of it, and the key of a configuration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConfigPlace {
    /// The file's name, as given by the caller.
    pub file: Arc<str>,
    /// Line from 1; 0 if the format has no lines.
    pub line: u32,
    /// Table (`BUFFER_PG`), or the kind of file if the format has no tables.
    pub table: Arc<str>,
    /// Key within the table (`Ethernet0|3-4`).
    pub key: Arc<str>,
    /// Field of the entry (`profile`); empty for the entry itself.
    pub field: Arc<str>,
}

impl ConfigPlace {
    /// The place of an entry.
    #[must_use]
    pub fn entry(file: &Arc<str>, line: u32, table: &str, key: &str) -> Self {
        Self { file: Arc::clone(file), line, table: table.into(), key: key.into(), field: "".into() }
    }

    /// The place of a field of this entry.
    #[must_use]
    pub fn field(&self, field: &str, line: u32) -> Self {
        Self { field: field.into(), line, ..self.clone() }
    }

    /// `TABLE|key`, with `.field` if the place is a field.
    #[must_use]
    pub fn path(&self) -> String {
        let mut path = self.table.to_string();
        for (mark, part) in [("|", &self.key), (".", &self.field)] {
            if !part.is_empty() {
                path.push_str(mark);
                path.push_str(&printable(part));
            }
        }
        path
    }
}

impl fmt::Display for ConfigPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.path()),
            line => write!(f, "{}:{line}: {}", self.file, self.path()),
        }
    }
}

/// A value with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed<T> {
    /// Value at the place.
    pub value: T,
    /// The place of the value.
    pub place: ConfigPlace,
}

/// Whether a problem removes a value from the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// The value cannot be used and is left out.
    Refused,
    /// A part was not understood, but no value depends on it.
    Note,
}

/// A value that was not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Whether the reader omits the value.
    pub weight: Weight,
    /// Place of the value.
    pub place: ConfigPlace,
    /// Error message.
    pub message: String,
    /// Advice.
    pub help: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.place, self.message, self.help)
    }
}

/// The reason why a file is refused as a whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", at(file, *line))]
pub struct Refusal {
    /// The file's name, as given by the caller.
    pub file: String,
    /// Line from 1; 0 for the whole file.
    pub line: u32,
    /// Error message.
    pub message: String,
    /// Advice.
    pub help: String,
}

impl Refusal {
    pub(crate) fn new(file: &str, line: u32, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, message: message.into(), help: help.into() }
    }
}

fn at(file: &str, line: u32) -> String {
    if line == 0 { file.to_owned() } else { format!("{file}:{line}") }
}

/// Text of a file for messages: short, and without characters that control a terminal.
pub(crate) fn printable(text: &str) -> String {
    const LONGEST: usize = 80;
    let mut shown: String =
        text.chars().take(LONGEST).map(|c| if is_hidden(c) { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push_str("...");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_names_file_line_table_key_and_field() {
        let entry = ConfigPlace::entry(&"a.json".into(), 3, "BUFFER_PG", "Ethernet0|3-4");
        assert_eq!(entry.to_string(), "a.json:3: BUFFER_PG|Ethernet0|3-4");
        assert_eq!(entry.field("profile", 4).to_string(), "a.json:4: BUFFER_PG|Ethernet0|3-4.profile");
        assert_eq!(ConfigPlace { line: 0, ..entry }.to_string(), "a.json: BUFFER_PG|Ethernet0|3-4");
    }

    #[test]
    fn what_a_file_holds_cannot_control_a_terminal_or_fill_it() {
        assert_eq!(printable("a\u{1b}[31m\u{202e}"), "a\u{fffd}[31m\u{fffd}");
        assert_eq!(printable(&"x".repeat(500)).len(), 83);
    }
}
