//! Collects the problems found while a document is read, and the texts that contain the problems.

use crate::problem::{LoadError, Problem};
use crate::spec::TableSpec;
use crate::tree::Origin;
pub use bufferlab_params::{first_names, quoted_list, suggestion};
use bufferlab_units::printable;
use miette::{LabeledSpan, NamedSource, Severity};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// A text that contains values: a file, or one value of the command line.
#[derive(Clone, Debug)]
pub struct Source {
    /// Name of the source text in messages.
    name: Arc<str>,
    text: Arc<str>,
    /// Folder to which paths in the text are relative.
    folder: Arc<Path>,
}

impl Source {
    /// Name of the source in messages: a path, or a description such as "set on the command line".
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// A key that has moved to another spelling or table.
#[derive(Clone, Copy, Debug)]
pub struct MovedKey {
    /// Title of the moved key's former table, such as `[[transport]]`.
    pub table: &'static str,
    /// Former name of the moved key.
    pub key: &'static str,
    /// Present spelling of the moved key, as an example.
    pub now: &'static str,
}

/// Sources of a document, and the problems found in the document so far.
#[derive(Debug)]
pub struct Context {
    document: &'static str,
    moved: &'static [MovedKey],
    /// Every table of the document's format, to find the table to which an unknown key belongs.
    tables: &'static [&'static TableSpec],
    sources: Vec<Source>,
    found: RefCell<Found>,
}

/// Maximum number of stored errors, and of stored warnings. Further problems are only counted.
const MOST_KEPT: usize = 200;

/// Problems of a document that have been found so far, and their numbers.
#[derive(Debug)]
struct Found {
    problems: Vec<(Origin, Problem)>,
    /// Messages recorded so far, each with its place. The reader may read a table several times,
    /// once per set of overrides, but records each message once.
    said: BTreeSet<(Origin, String)>,
    errors: usize,
    warnings: usize,
}

/// A moment in the reading of a document, given by the number of problems recorded before the
/// moment.
#[must_use]
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    problems: usize,
    errors: usize,
}

/// A problem of a document without the key and the place of the problem.
#[must_use]
#[derive(Clone, Debug)]
pub struct Complaint {
    /// Headline of the complaint, without the name of the key.
    pub message: String,
    /// Text shown at the place of the problem in the file.
    pub label: String,
    /// Advice to the user about the problem.
    pub help: Option<String>,
    /// Further places in the source that belong to the problem.
    pub also: Vec<(Origin, String)>,
}

impl Complaint {
    /// Creates a complaint. `message` is the headline, `label` is shown at the place in the file.
    pub fn new(message: impl Into<String>, label: impl Into<String>) -> Self {
        Self { message: message.into(), label: label.into(), help: None, also: Vec::new() }
    }

    /// Adds advice to the complaint about a document.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds advice to the complaint, if `help` has a text.
    pub fn maybe_help(mut self, help: Option<String>) -> Self {
        self.help = help.or(self.help);
        self
    }

    /// Adds another place in the source to the complaint.
    pub fn also(mut self, origin: Origin, label: impl Into<String>) -> Self {
        self.also.push((origin, label.into()));
        self
    }
}

impl Context {
    /// Creates the context of a kind of document. Messages call the document `document`, such as
    /// "scenario".
    #[must_use]
    pub const fn new(document: &'static str) -> Self {
        Self { document, moved: &[], tables: &[], sources: Vec::new(), found: RefCell::new(Found::new()) }
    }

    /// Sets the moved keys. If an unknown key is a moved key, the advice gives its new spelling.
    #[must_use]
    pub const fn with_moved_keys(mut self, moved: &'static [MovedKey]) -> Self {
        self.moved = moved;
        self
    }

    /// Sets the tables of the document. If an unknown key belongs to another table, the advice
    /// names the other table.
    #[must_use]
    pub const fn with_tables(mut self, tables: &'static [&'static TableSpec]) -> Self {
        self.tables = tables;
        self
    }

    /// Advice for an unknown `key` of the table called `title`: the table that declares the key.
    #[must_use]
    pub fn elsewhere(&self, title: &str, key: &str) -> Option<String> {
        let others = || self.tables.iter().filter(|table| table.title != title);
        let last = |title: &'static str| title.trim_matches(['[', ']']).rsplit('.').next();
        if let Some(table) = others().find(|table| last(table.title) == Some(key)) {
            return Some(format!("did you mean {}?", table.title));
        }
        let has = |table: &&&TableSpec| {
            let keys = table.variants.iter().flat_map(|variant| variant.keys).chain(table.keys);
            keys.into_iter().any(|known| known.name == key)
        };
        let mut owners = others().filter(has);
        let owner = owners.next()?;
        // If several tables have the key, the advice cannot recommend one table.
        owners.next().is_none().then(|| format!("`{key}` belongs in {}", owner.title))
    }

    /// The new spelling of `key` in the table called `title`, if the key has moved.
    #[must_use]
    pub fn moved(&self, title: &str, key: &str) -> Option<&'static str> {
        self.moved.iter().find(|moved| moved.table == title && moved.key == key).map(|moved| moved.now)
    }

    /// Kind of the document in messages, such as "scenario".
    #[must_use]
    pub const fn document(&self) -> &'static str {
        self.document
    }

    /// Adds a source to the context and returns the source's index.
    pub fn add_source(&mut self, name: &str, text: &str, folder: &Path) -> u32 {
        self.sources.push(Source { name: name.into(), text: text.into(), folder: folder.into() });
        (self.sources.len() - 1) as u32
    }

    /// Returns the source text that contains the place `origin`; `None` if `origin` is in no
    /// source.
    #[must_use]
    pub fn source_of(&self, origin: Origin) -> Option<&Source> {
        self.sources.get(origin.source as usize)
    }

    /// Adds a source of another context, unless this context has the source already. Returns the
    /// source's index.
    pub fn adopt(&mut self, source: &Source) -> u32 {
        let known = self.sources.iter().position(|known| Arc::ptr_eq(&known.text, &source.text));
        known.unwrap_or_else(|| {
            self.sources.push(source.clone());
            self.sources.len() - 1
        }) as u32
    }

    /// The folder to which paths written at `origin` are relative.
    #[must_use]
    pub fn folder_of(&self, origin: Origin) -> &Path {
        self.sources.get(origin.source as usize).map_or(Path::new(""), |source| &source.folder)
    }

    /// Records an error in a file that the document names. `origin` is the place of the name
    /// in the document, and `line` (from 1) is the wrong line of the file.
    pub fn error_in_file(
        &self,
        key: &str,
        origin: Origin,
        path: &Path,
        text: &str,
        line: Option<usize>,
        complaint: Complaint,
    ) {
        let Complaint { message, label, help, .. } = complaint;
        let start: usize =
            text.split_inclusive('\n').take(line.unwrap_or(1).saturating_sub(1)).map(str::len).sum();
        let length = text[start..].lines().next().map_or(0, str::len);
        let labels = vec![LabeledSpan::new_primary_with_span(Some(label), (start, length))];
        let source = Some(NamedSource::new(path.display().to_string(), text.into()));
        let problem = Problem {
            severity: Severity::Error,
            key: printable(key).into_owned(),
            message,
            help,
            source,
            labels,
            stands_for: 1,
            unknown: None,
        };
        self.found.borrow_mut().push(origin, problem);
    }

    /// Records an error of `key` at the place `origin` of a source.
    pub fn error(&self, key: &str, origin: Origin, complaint: Complaint) {
        self.record((Severity::Error, None), key, origin, complaint);
    }

    /// Records an error of `key`: the value is an unknown name of a `kind`, such as a policy.
    pub fn unknown(&self, kind: &'static str, key: &str, origin: Origin, complaint: Complaint) {
        self.record((Severity::Error, Some(kind)), key, origin, complaint);
    }

    /// Records a warning about `key` at the place `origin` of a source.
    pub fn warn(&self, key: &str, origin: Origin, complaint: Complaint) {
        self.record((Severity::Warning, None), key, origin, complaint);
    }

    fn record(
        &self,
        (severity, unknown): (Severity, Option<&'static str>),
        key: &str,
        origin: Origin,
        complaint: Complaint,
    ) {
        let Complaint { message, label, help, also } = complaint;
        let (message, label) = (printable(&message).into_owned(), printable(&label).into_owned());
        let help = help.map(|help| printable(&help).into_owned());
        let source = self.sources.get(origin.source as usize);
        let mut labels = Vec::new();
        let mut drawn = None;
        if let Some(source) = source {
            // A line that is too long to draw is cut to the part around the mistake.
            let (text, start, length) = excerpt(&source.text, origin).map_or_else(
                || {
                    let length = origin.end.saturating_sub(origin.start);
                    (Arc::clone(&source.text), origin.start, length)
                },
                |(text, start, length)| (text.into(), start, length),
            );
            labels.push(LabeledSpan::new_primary_with_span(Some(label), (start, length)));
            if Arc::ptr_eq(&text, &source.text) {
                for (place, text) in also.into_iter().filter(|place| place.0.source == origin.source) {
                    labels
                        .push(LabeledSpan::new_with_span(Some(text), (place.start, place.end - place.start)));
                }
            }
            drawn = Some(NamedSource::new(&source.name, text));
        }
        let key = printable(key).into_owned();
        let problem = Problem { severity, key, message, help, source: drawn, labels, stands_for: 1, unknown };
        self.keep(origin, problem);
    }

    fn keep(&self, origin: Origin, problem: Problem) {
        self.found.borrow_mut().keep(origin, problem);
    }

    /// Returns the number of problems recorded so far. The caller uses the number to detect later
    /// problems.
    pub fn mark(&self) -> Mark {
        let found = self.found.borrow();
        Mark { problems: found.problems.len(), errors: found.errors }
    }

    /// Whether the context has recorded an error since `mark`.
    #[must_use]
    pub fn failed_since(&self, mark: Mark) -> bool {
        self.found.borrow().errors > mark.errors
    }

    /// Renames the keys of the problems recorded since `mark`.
    pub fn rename_since(&self, mark: Mark, rename: impl Fn(&str, Origin) -> Option<String>) {
        for (origin, problem) in &mut self.found.borrow_mut().problems[mark.problems..] {
            if let Some(key) = rename(&problem.key, *origin) {
                problem.key = key;
            }
        }
    }

    /// All problems as errors and warnings, each sorted by source and place.
    /// A last entry gives the number of problems that the context did not keep.
    #[must_use]
    pub fn into_problems(self) -> (Vec<Problem>, Vec<Problem>) {
        let Found { mut problems, errors, warnings, .. } = self.found.into_inner();
        problems.sort_by_key(|(origin, _)| (origin.source, origin.start));
        let kept = problems.into_iter().map(|(_, problem)| problem);
        let (mut kept_errors, mut kept_warnings): (Vec<_>, Vec<_>) =
            kept.partition(|problem| !problem.is_warning());
        kept_errors.extend(more(Severity::Error, errors, "errors"));
        kept_warnings.extend(more(Severity::Warning, warnings, "warnings"));
        (kept_errors, kept_warnings)
    }

    /// The recorded errors, as the reason why the document called `name` does not load.
    #[must_use]
    pub fn into_error(self, name: &str) -> LoadError {
        LoadError::new(name, self.into_problems().0)
    }
}

impl Found {
    const fn new() -> Self {
        Self { problems: Vec::new(), said: BTreeSet::new(), errors: 0, warnings: 0 }
    }

    fn keep(&mut self, origin: Origin, problem: Problem) {
        if self.said.insert((origin, problem.message.clone())) {
            self.push(origin, problem);
        }
    }

    fn push(&mut self, origin: Origin, problem: Problem) {
        let count = if problem.is_warning() { &mut self.warnings } else { &mut self.errors };
        *count += 1;
        if *count <= MOST_KEPT {
            self.problems.push((origin, problem));
        }
    }
}

/// Creates the entry that gives the number of problems beyond the maximum number of stored
/// problems.
fn more(severity: Severity, count: usize, what: &str) -> Option<Problem> {
    let left_out = count.checked_sub(MOST_KEPT).filter(|&left_out| left_out > 0)?;
    Some(Problem {
        severity,
        key: String::new(),
        message: format!("{left_out} {what} more are not shown"),
        help: Some("fix those above first: many of the others may have the same cause".to_owned()),
        source: None,
        labels: Vec::new(),
        stands_for: left_out,
        unknown: None,
    })
}

/// Maximum length of a line that is drawn whole (bytes).
/// A longer line is cut to a tenth of this length around the mistake.
const LINE_DRAWN_MAX: usize = 1_000;

/// Cuts the source line with `origin` if the line is too long. Returns the shortened text, the
/// start of the mistake and the length of the mistake (bytes). Empty lines before the text preserve
/// the line number.
fn excerpt(text: &str, origin: Origin) -> Option<(String, usize, usize)> {
    let (start, end) = (origin.start.min(text.len()), origin.end.min(text.len()));
    let first = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let last = text[start..].find('\n').map_or(text.len(), |at| start + at);
    if last - first <= LINE_DRAWN_MAX {
        return None;
    }
    let near = |mut at: usize| {
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let from = near(start.saturating_sub(LINE_DRAWN_MAX / 20).max(first));
    let until = near((from + LINE_DRAWN_MAX / 10).min(last));
    let mut shown = "\n".repeat(text[..first].matches('\n').count());
    shown.push_str(if from > first { "… " } else { "" });
    let offset = shown.len() + (start - from);
    shown.push_str(&text[from..until]);
    shown.push_str(if until < last { " …" } else { "" });
    let length = (end.max(start) - start).min(until - start);
    Some((shown, offset, length))
}
