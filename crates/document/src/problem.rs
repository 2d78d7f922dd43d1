//! Errors and warnings about a document, with place and advice for the user.

use miette::{Diagnostic, LabeledSpan, NamedSource, Severity, SourceCode};
use std::fmt;
use std::sync::Arc;

/// One error or warning about a document.
///
/// The [`Diagnostic`] of a problem has the source text and spans,
/// so a graphical handler can draw the wrong line.
#[derive(Clone, Debug)]
pub struct Problem {
    pub(crate) severity: Severity,
    pub(crate) key: String,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
    pub(crate) source: Option<NamedSource<Arc<str>>>,
    pub(crate) labels: Vec<LabeledSpan>,
    /// Number of problems that this entry represents; above 1 for problems that are not listed.
    pub(crate) stands_for: usize,
    pub(crate) unknown: Option<&'static str>,
}

impl Problem {
    /// The dotted key of the problem, such as `switch.policy`; empty if no key is at fault.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Headline of the problem, without the name of the key.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Advice to the user about the problem.
    #[must_use]
    pub fn help_text(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// The kind of the unknown name (`policy`); `None` for other problems.
    #[must_use]
    pub const fn unknown(&self) -> Option<&'static str> {
        self.unknown
    }

    /// Whether the document can be used despite the problem.
    #[must_use]
    pub fn is_warning(&self) -> bool {
        self.severity == Severity::Warning
    }

    /// The file of the problem, or "set on the command line".
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        self.source.as_ref().map(NamedSource::name)
    }

    /// The line of the problem in [`Self::file`], from 1.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        let offset = self.labels.first()?.offset();
        let text = self.source.as_ref()?.inner();
        Some(1 + text[..offset.min(text.len())].bytes().filter(|&byte| byte == b'\n').count())
    }
}

impl Problem {
    /// File, line, key, message and advice on one line, for output that cannot draw the place.
    #[must_use]
    pub fn in_one_line(&self) -> String {
        let place = match (self.file(), self.line()) {
            (Some(file), Some(line)) => format!("{file}:{line}: "),
            (Some(file), None) => format!("{file}: "),
            _ => String::new(),
        };
        let help = self.help.iter().flat_map(|help| help.lines().next());
        let help: String = help.map(|help| format!(" ({help})")).collect();
        format!("{place}{self}{help}")
    }
}

/// Writes `key: message`, the first line of a rendered error.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

impl Diagnostic for Problem {
    fn severity(&self) -> Option<Severity> {
        Some(self.severity)
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source.as_ref().map(|source| source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        if self.labels.is_empty() { None } else { Some(Box::new(self.labels.iter().cloned())) }
    }
}

/// The reason why a document does not load: all errors of one pass, sorted by place.
#[derive(Clone, Debug)]
pub struct LoadError {
    document: String,
    problems: Vec<Problem>,
}

impl LoadError {
    /// Creates the reason why `document` (its path) does not load.
    ///
    /// # Panics
    /// If `problems` is empty.
    #[must_use]
    pub fn new(document: &str, problems: Vec<Problem>) -> Self {
        assert!(!problems.is_empty(), "a document that does not load comes with a reason");
        Self { document: document.to_owned(), problems }
    }

    /// Errors of the document, at least one.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Formats every error on a separate line, for output without excerpts of the file.
    #[must_use]
    pub fn in_lines(&self) -> String {
        self.problems.iter().map(Problem::in_one_line).collect::<Vec<_>>().join("\n")
    }

    /// Number of errors, including errors that are not listed separately.
    fn count(&self) -> usize {
        self.problems.iter().map(|problem| problem.stands_for).sum()
    }

    fn only(&self) -> Option<&Problem> {
        match self.problems.as_slice() {
            [problem] => Some(problem),
            _ => None,
        }
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.only() {
            Some(problem) => problem.fmt(f),
            None => write!(f, "{} has {} errors", self.document, self.count()),
        }
    }
}

impl std::error::Error for LoadError {}

/// Shows a single problem directly, and several problems below a headline.
impl Diagnostic for LoadError {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.only().and_then(Diagnostic::help)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.only().and_then(Diagnostic::source_code)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.only().and_then(Diagnostic::labels)
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        match self.only() {
            Some(_) => None,
            None => Some(Box::new(self.problems.iter().map(|problem| problem as &dyn Diagnostic))),
        }
    }
}
