//! Places of configuration values in files, and problems with values.

use bufferlab_units::is_hidden;
use std::fmt;
use std::sync::Arc;

/// Place of a value: a file, its line, and the key of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConfigPlace {
    /// Name of the file, as given by the caller.
    pub file: Arc<str>,
    /// Number of the line, from 1; 0 if the format has no lines.
    pub line: u32,
    /// Name of the table (`BUFFER_PG`), or the kind of file if the format has no tables.
    pub table: Arc<str>,
    /// Key of the entry within the table (`Ethernet0|3-4`).
    pub key: Arc<str>,
    /// Name of the entry's field (`profile`); empty if the place is the whole entry.
    pub field: Arc<str>,
}

impl ConfigPlace {
    /// Creates the place of an entry in a configuration file.
    #[must_use]
    pub fn entry(file: &Arc<str>, line: u32, table: &str, key: &str) -> Self {
        Self { file: Arc::clone(file), line, table: table.into(), key: key.into(), field: "".into() }
    }

    /// Creates the place of the field `field` in this entry.
    #[must_use]
    pub fn field(&self, field: &str, line: u32) -> Self {
        Self { field: field.into(), line, ..self.clone() }
    }

    /// Formats the place as `TABLE|key`; a place of a field ends in `.field`.
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

/// A configuration value with its place in the files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed<T> {
    /// Value that the configuration file has.
    pub value: T,
    /// Place of the value in the configuration files.
    pub place: ConfigPlace,
}

/// Whether the reader omits a value because of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// The reader cannot use the value and omits the value.
    Refused,
    /// The reader did not understand a part of the file, but no value depends on this part.
    Note,
}

/// A configuration value that the reader did not understand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Whether the problem makes the reader omit the value.
    pub weight: Weight,
    /// Place of the value in the configuration files.
    pub place: ConfigPlace,
    /// Text of the error message about the value.
    pub message: String,
    /// Advice to the user on how to correct the value.
    pub help: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.place, self.message, self.help)
    }
}

/// Reason why a file is refused as a whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", at(file, *line))]
pub struct Refusal {
    /// Name of the file, as given by the caller.
    pub file: String,
    /// Number of the line in the file, from 1; 0 for the whole file.
    pub line: u32,
    /// Text of the message about the refused file.
    pub message: String,
    /// Advice to the user on how to correct the file.
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

/// Shortens the text of a file for messages, and removes characters that control a terminal.
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
