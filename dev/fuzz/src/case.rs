//! A fuzzing case: a base scenario and its changes, as data that a TOML file can store.

use crate::bases::{self, Base, File};
use bufferlab_scenario::{LoadError, Loaded, load_text};
use serde::Deserialize;
use std::path::Path;
use std::{fmt, fs, io};

/// A change of an input file: position, number of replaced bytes, and replacement characters. A
/// character is one byte, up to U+00FF. Positions beyond the end of the file wrap around.
pub type Splice = (u64, u64, String);

/// A fuzzing case: a base scenario and its changes, in order.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Name of the base scenario that the case changes.
    pub base: String,
    /// Changed keys of the scenario: dotted keys, each with the new value as TOML.
    pub set: Vec<(String, String)>,
    /// Changes of the input file that the base scenario reads, in order.
    #[serde(default)]
    pub splices: Vec<Splice>,
}

/// Reason why a file is not a valid case of the fuzzer.
#[derive(Debug)]
pub enum CaseError {
    /// The file is not TOML, or the file has unknown keys.
    Syntax(Box<toml::de::Error>),
    /// The case names a base scenario that does not exist.
    Base(String),
}

impl fmt::Display for CaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(error) => write!(f, "{error}"),
            Self::Base(name) => {
                let known: Vec<_> = bases::BASES.iter().map(|base| base.name).collect();
                write!(f, "there is no base \"{name}\"; known: {}", known.join(", "))
            }
        }
    }
}

impl std::error::Error for CaseError {}

impl Case {
    /// Reads a fuzzing case from the text that [`Self::to_toml`] writes.
    ///
    /// # Errors
    /// Returns [`CaseError`] if the text is not a valid fuzzing case.
    pub fn from_toml(text: &str) -> Result<Self, CaseError> {
        let case: Self = toml::from_str(text).map_err(|error| CaseError::Syntax(Box::new(error)))?;
        if bases::find(&case.base).is_none() { Err(CaseError::Base(case.base)) } else { Ok(case) }
    }

    /// Formats the fuzzing case as TOML text for a file.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let changes: String = self
            .set
            .iter()
            .map(|(key, value)| format!("  [{}, {}],\n", quoted(key), quoted(value)))
            .collect();
        let mut text = format!("base = {}\nset = [\n{changes}]\n", quoted(&self.base));
        if !self.splices.is_empty() {
            let splices: String = self
                .splices
                .iter()
                .map(|(at, remove, insert)| format!("  [{at}, {remove}, {}],\n", quoted(insert)))
                .collect();
            text.push_str(&format!("splices = [\n{splices}]\n"));
        }
        text
    }

    fn base(&self) -> &'static Base {
        bases::find(&self.base).expect("bases were looked up when the case was made")
    }

    /// Writes the case's input file into `folder` and loads the scenario.
    ///
    /// # Errors
    /// If the loader refuses the scenario.
    ///
    /// # Panics
    /// If the base scenario does not exist, which [`Self::from_toml`] excludes, or the file cannot
    /// be written.
    pub fn load(&self, folder: &Path) -> Result<Loaded, LoadError> {
        let base = self.base();
        if let Some(file) = base.file {
            self.lay(folder, file).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        }
        load_text(&folder.join(format!("{}.toml", self.base)), base.text, &self.set)
    }

    fn lay(&self, folder: &Path, file: File) -> io::Result<()> {
        let mut bytes = file.bytes.to_vec();
        for (at, remove, insert) in &self.splices {
            let at = (at % (bytes.len() as u64 + 1)) as usize;
            let end = bytes.len().min(at.saturating_add(*remove as usize));
            // The fuzzer generates only characters up to U+00FF. A stored case may have a character
            // beyond U+00FF. Only the last byte of such a character counts.
            bytes.splice(at..end, insert.chars().map(|c| u32::from(c) as u8));
        }
        fs::write(folder.join(file.name), bytes)
    }
}

/// Writes a text as a quoted TOML string.
fn quoted(text: &str) -> String {
    let escaped: String = text.chars().flat_map(escape).collect();
    format!("\"{escaped}\"")
}

fn escape(c: char) -> Vec<char> {
    match c {
        '"' | '\\' => vec!['\\', c],
        c if c.is_control() => format!("\\u{:04x}", u32::from(c)).chars().collect(),
        c => vec![c],
    }
}
