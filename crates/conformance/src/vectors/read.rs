//! What vector files of every kind share: a list of `[[case]]`, and errors that name file and line.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::path::Path;
use toml::Spanned;

/// Why a vector file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// It cannot be read.
    #[error("{file}: {error}")]
    Read {
        /// Path.
        file: String,
        /// Cause.
        error: std::io::Error,
    },
    /// It is not TOML, or a key is unknown or of the wrong type.
    #[error("{file}: {error}")]
    Syntax {
        /// Path.
        file: String,
        /// Cause, with its place.
        error: Box<toml::de::Error>,
    },
    /// A value makes no sense.
    #[error("{file}:{line}: {what}")]
    Meaning {
        /// Path.
        file: String,
        /// Line, from 1.
        line: usize,
        /// What was expected.
        what: String,
    },
}

/// An expectation that was not met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// File and line of the step.
    pub place: String,
    /// Name of the case.
    pub case: String,
    /// Number of the step, from 1.
    pub step: usize,
    /// What was expected and what came.
    pub what: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, case, step, what } = self;
        write!(f, "{place}: case \"{case}\", step {step}: {what}")
    }
}

impl std::error::Error for Mismatch {}

/// What every case says of itself, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The file's name in messages.
    pub file: String,
    /// Line of the case, from 1.
    pub line: usize,
    /// The claim.
    pub name: String,
    /// Where the numbers come from.
    pub source: String,
}

impl Head {
    /// Step `index` (from 0), which stands in `line`, did not meet an expectation.
    pub(super) fn mismatch(&self, line: usize, index: usize, what: String) -> Mismatch {
        Mismatch { place: format!("{}:{line}", self.file), case: self.name.clone(), step: index + 1, what }
    }
}

/// What is wrong with a case, and the line that says it.
pub(super) type Complaint = (usize, String);

/// A case of a vector file that is nothing but a list of cases.
pub trait VectorCase: Sized {
    /// Checks a text that came from `file`.
    ///
    /// # Errors
    /// If it makes no sense; the message names file and line.
    fn parse(file: &str, text: &str) -> Result<Vec<Self>, LoadError>;

    /// Reads and checks a file of cases.
    ///
    /// # Errors
    /// If it cannot be read or makes no sense; the message names file and line.
    fn load(path: &Path) -> Result<Vec<Self>, LoadError> {
        let (file, text) = text(path)?;
        Self::parse(&file, &text)
    }
}

/// A case as written.
pub(super) trait Written: DeserializeOwned {
    /// What it becomes.
    type Case;

    /// Its `name` and `source`.
    fn claim(&self) -> (&str, &str);

    /// Checks it; `line` turns the offset of a span into a line.
    fn resolve(self, head: Head, line: &dyn Fn(usize) -> usize) -> Result<Self::Case, Complaint>;
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileText<W> {
    case: Vec<Spanned<W>>,
}

/// The text of a file.
pub(super) fn text(path: &Path) -> Result<(String, String), LoadError> {
    let file = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => Ok((file, text)),
        Err(error) => Err(LoadError::Read { file, error }),
    }
}

/// The cases of `text`, which came from `file`.
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
