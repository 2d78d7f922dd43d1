//! Common parts of all vector files: a list of `[[case]]`, and errors with file and line.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::path::Path;
use toml::Spanned;

/// Reason why a vector file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The vector file cannot be read.
    #[error("{file}: {error}")]
    Read {
        /// Path of the vector file.
        file: String,
        /// Error of the operating system.
        error: std::io::Error,
    },
    /// The vector file is not TOML, or a key is unknown or of the wrong type.
    #[error("{file}: {error}")]
    Syntax {
        /// Path of the vector file.
        file: String,
        /// Error of the TOML parser, with its position.
        error: Box<toml::de::Error>,
    },
    /// A value in the vector file is invalid.
    #[error("{file}:{line}: {what}")]
    Meaning {
        /// Path of the vector file.
        file: String,
        /// Number of the line with the invalid value, from 1.
        line: usize,
        /// Description of the invalid value and of the expected value.
        what: String,
    },
}

/// An expectation of a case that a device did not meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// File and line of the step whose expectation the device did not meet.
    pub place: String,
    /// Name of the case in the vector file.
    pub case: String,
    /// Number of the step in the test case, from 1.
    pub step: usize,
    /// Expected and actual result of the step, as text.
    pub what: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, case, step, what } = self;
        write!(f, "{place}: case \"{case}\", step {step}: {what}")
    }
}

impl std::error::Error for Mismatch {}

/// Name, source and position of a test case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Name of the vector file, for messages.
    pub file: String,
    /// Number of the case's line in the file, from 1.
    pub line: usize,
    /// Claim that the case tests, in plain words.
    pub name: String,
    /// Source of the expected numbers: a document or a calculation.
    pub source: String,
}

impl Head {
    /// Creates the mismatch for step `index` (from 0) at `line` of the file.
    pub(super) fn mismatch(&self, line: usize, index: usize, what: String) -> Mismatch {
        Mismatch { place: format!("{}:{line}", self.file), case: self.name.clone(), step: index + 1, what }
    }
}

/// Line number of a mistake in a case, and its description.
pub(super) type Complaint = (usize, String);

/// A case of a vector file that consists of cases only.
pub trait VectorCase: Sized {
    /// Reads the cases in the text of the vector file `file`.
    ///
    /// # Errors
    /// If the text is invalid; the message names file and line.
    fn parse(file: &str, text: &str) -> Result<Vec<Self>, LoadError>;

    /// Reads a vector file and checks its cases.
    ///
    /// # Errors
    /// If the file cannot be read or is invalid; the message names file and line.
    fn load(path: &Path) -> Result<Vec<Self>, LoadError> {
        let (file, text) = text(path)?;
        Self::parse(&file, &text)
    }
}

/// Text form of a case, before the check of its values.
pub(super) trait Written: DeserializeOwned {
    /// Type of the case after the check of its values.
    type Case;

    /// Returns the values of `name` and `source` of the case.
    fn claim(&self) -> (&str, &str);

    /// Checks and converts the case. The function `line` converts the offset of a span to a line.
    fn resolve(self, head: Head, line: &dyn Fn(usize) -> usize) -> Result<Self::Case, Complaint>;
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileText<W> {
    case: Vec<Spanned<W>>,
}

/// Reads the name and text of a vector file.
pub(super) fn text(path: &Path) -> Result<(String, String), LoadError> {
    let file = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => Ok((file, text)),
        Err(error) => Err(LoadError::Read { file, error }),
    }
}

/// Reads the cases in the text of the vector file `file`.
pub(super) fn cases<W: Written>(file: &str, text: &str) -> Result<Vec<W::Case>, LoadError> {
    let parsed: FileText<W> = toml::from_str(text)
        .map_err(|error| LoadError::Syntax { file: file.to_owned(), error: Box::new(error) })?;
    let line_at = |offset: usize| text[..offset].matches('\n').count() + 1;
    let mut names: Vec<String> = Vec::new();
    let mut cases = Vec::new();
    for spanned in parsed.case {
        let line = line_at(spanned.span().start);
        let refuse = |(line, what)| LoadError::Meaning { file: file.to_owned(), line, what };
        let written = spanned.into_inner();
        let (name, source) = written.claim();
        if source.trim().is_empty() {
            return Err(refuse((line, format!("\"{name}\" has no source"))));
        }
        if names.iter().any(|other| other == name) {
            return Err(refuse((line, format!("two cases are called \"{name}\""))));
        }
        let head = Head { file: file.to_owned(), line, name: name.to_owned(), source: source.to_owned() };
        names.push(name.to_owned());
        cases.push(written.resolve(head, &line_at).map_err(refuse)?);
    }
    Ok(cases)
}
