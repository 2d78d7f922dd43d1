//! A case: a base and changes of it, as data that can be written down and read again.

use crate::bases;
use bufferlab_scenario::{LoadError, Loaded, load_text};
use serde::Deserialize;
use std::fmt;
use std::path::Path;

/// A scenario: a base, and what is changed of it, in order.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Name of the base.
    pub base: String,
    /// Dotted keys with their values as TOML.
    pub set: Vec<(String, String)>,
}

/// Why a file holds no case.
#[derive(Debug)]
pub enum CaseError {
    /// It is not TOML, or has other keys.
    Syntax(Box<toml::de::Error>),
    /// There is no such base.
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
    /// Reads what [`Self::to_toml`] wrote.
    ///
    /// # Errors
    /// [`CaseError`].
    pub fn from_toml(text: &str) -> Result<Self, CaseError> {
        let case: Self = toml::from_str(text).map_err(|error| CaseError::Syntax(Box::new(error)))?;
        if bases::find(&case.base).is_none() { Err(CaseError::Base(case.base)) } else { Ok(case) }
    }

    /// The case as a file.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let changes: String = self
            .set
            .iter()
            .map(|(key, value)| format!("  [{}, {}],\n", quoted(key), quoted(value)))
            .collect();
        format!("base = {}\nset = [\n{changes}]\n", quoted(&self.base))
    }

    /// The scenario.
    ///
    /// # Errors
    /// If the loader refuses it.
    ///
    /// # Panics
    /// If the base does not exist, which [`Self::from_toml`] excludes.
    pub fn load(&self) -> Result<Loaded, LoadError> {
        let base = bases::find(&self.base).expect("bases were looked up when the case was made");
        load_text(Path::new(&format!("{}.toml", self.base)), base.text, &self.set)
    }
}

/// A TOML string.
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
