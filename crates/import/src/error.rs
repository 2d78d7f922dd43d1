//! Errors of imports, with their place and with advice.

use bufferlab_units::printable;
use std::fmt;
use std::path::{Path, PathBuf};

/// Error about a file that cannot be imported. The message has the place, the problem and advice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportError {
    /// Path of the file; `None` if several files together are the cause.
    pub path: Option<PathBuf>,
    /// Number of the line in the file, from 1.
    pub line: Option<u64>,
    /// Column in the line, counted in characters from 1.
    pub column: Option<u64>,
    /// Description of the problem in the imported file.
    pub problem: String,
    /// Description of the expected content, or of the action that helps.
    pub advice: String,
}

impl ImportError {
    /// Creates an error about a file, without a line.
    pub(crate) fn in_file(path: &Path, problem: impl Into<String>, advice: impl Into<String>) -> Self {
        let (problem, advice) = (problem.into(), advice.into());
        Self { path: Some(path.to_owned()), line: None, column: None, problem, advice }
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{}", printable(&path.display().to_string()))?;
        }
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        if let Some(column) = self.column {
            write!(f, ", column {column}")?;
        }
        let separator = if self.path.is_some() { ": " } else { "" };
        write!(f, "{separator}{}; {}", printable(&self.problem), printable(&self.advice))
    }
}

impl std::error::Error for ImportError {}
