//! Errors without control characters: no text from an input can control the terminal.

use bufferlab_report::format::readable;
use bufferlab_units::{is_hidden, printable};
use miette::{Diagnostic, LabeledSpan, MietteHandler, NamedSource, ReportHandler, Severity, SourceCode};
use std::error::Error;
use std::fmt;

/// Handler of errors that replaces hidden characters in the texts of an error.
pub(crate) struct Shown(pub(crate) MietteHandler);

impl ReportHandler for Shown {
    fn debug(&self, error: &dyn Diagnostic, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.debug(&Copy::of_diagnostic(error), f)
    }
}

/// A copy of an error in which hidden characters are replaced.
struct Copy {
    message: String,
    code: Option<String>,
    severity: Option<Severity>,
    help: Option<String>,
    url: Option<String>,
    labels: Vec<LabeledSpan>,
    source: Option<Box<dyn SourceCode>>,
    related: Vec<Copy>,
    cause: Option<Box<Copy>>,
    /// Whether the cause of the error is a diagnostic, which has a help text.
    is_diagnostic: bool,
}

fn text(part: &dyn fmt::Display) -> String {
    with_sizes(&printable(&part.to_string()))
}

/// Rewrites amounts of bytes, such as `1053866 B`, as readable sizes. Other numbers, such as ports
/// and seeds, stay unchanged. Text in quotes and backticks stays unchanged, too, because users may
/// type this text.
fn with_sizes(text: &str) -> String {
    const UNIT: &str = " B";
    let mut out = String::with_capacity(text.len() + 8);
    let (mut rest, mut quotes) = (text, 0);
    while let Some(at) = rest.find(UNIT) {
        let (before, behind) = rest.split_at(at);
        let number = before.len() - before.chars().rev().take_while(char::is_ascii_digit).count();
        let (before, number) = before.split_at(number);
        quotes += before.matches(['"', '`']).count();
        let begins = before.chars().next_back().is_none_or(|c| " (+-−~".contains(c));
        let ends = !behind[UNIT.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '/');
        out.push_str(before);
        match begins && ends && quotes % 2 == 0 && !number.is_empty() {
            true => out.push_str(&readable(&format!("{number}{UNIT}"))),
            false => out.push_str(&format!("{number}{UNIT}")),
        }
        rest = &behind[UNIT.len()..];
    }
    out + rest
}

impl Copy {
    fn of_error(error: &dyn Error) -> Self {
        Self {
            message: text(&error),
            code: None,
            severity: None,
            help: None,
            url: None,
            labels: Vec::new(),
            source: None,
            related: Vec::new(),
            cause: error.source().map(|cause| Box::new(Self::of_error(cause))),
            is_diagnostic: false,
        }
    }

    fn of_diagnostic(error: &dyn Diagnostic) -> Self {
        let labels: Vec<_> = error.labels().into_iter().flatten().collect();
        let source = error.source_code().and_then(|source| visible(source, labels.first()?));
        let own = error.diagnostic_source().map(Self::of_diagnostic);
        let is_diagnostic = own.is_some();
        Self {
            message: text(&error),
            code: error.code().map(|code| text(&code)),
            severity: error.severity(),
            help: error.help().map(|help| text(&help)),
            url: error.url().map(|url| text(&url)),
            labels: labels.into_iter().map(relabel).collect(),
            source,
            related: error.related().into_iter().flatten().map(Self::of_diagnostic).collect(),
            cause: own.or_else(|| error.source().map(Self::of_error)).map(Box::new),
            is_diagnostic,
        }
    }
}

fn relabel(mut label: LabeledSpan) -> LabeledSpan {
    label.set_label(label.label().map(|label| text(&label)));
    label
}

/// A source text in which visible characters of equal length replace each hidden character, so that
/// places in the source stay valid.
fn visible(source: &dyn SourceCode, label: &LabeledSpan) -> Option<Box<dyn SourceCode>> {
    // The function reads all lines of the source around the label of the error.
    let contents = source.read_span(label.inner(), usize::MAX >> 1, usize::MAX >> 1).ok()?;
    if contents.span().offset() != 0 {
        return None;
    }
    let shown: String = String::from_utf8_lossy(contents.data()).chars().flat_map(stand_in).collect();
    Some(match contents.name() {
        Some(name) => Box::new(NamedSource::new(text(&name), shown)),
        None => Box::new(shown),
    })
}

fn stand_in(character: char) -> impl Iterator<Item = char> {
    let (shown, count) = match character {
        '\n' | '\t' => (character, 1),
        '\r' => (' ', 1),
        hidden if is_hidden(hidden) => match hidden.len_utf8() {
            3 => ('\u{fffd}', 1),
            length => ('?', length),
        },
        other => (other, 1),
    };
    std::iter::repeat_n(shown, count)
}

impl fmt::Display for Copy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for Copy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Copy {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as &(dyn Error + 'static))
    }
}

type Shows<'a> = Option<Box<dyn fmt::Display + 'a>>;

fn shows(text: Option<&String>) -> Shows<'_> {
    text.map(|text| -> Box<dyn fmt::Display> { Box::new(text) })
}

impl Diagnostic for Copy {
    fn code<'a>(&'a self) -> Shows<'a> {
        shows(self.code.as_ref())
    }

    fn severity(&self) -> Option<Severity> {
        self.severity
    }

    fn help<'a>(&'a self) -> Shows<'a> {
        shows(self.help.as_ref())
    }

    fn url<'a>(&'a self) -> Shows<'a> {
        shows(self.url.as_ref())
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source.as_deref()
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        (!self.labels.is_empty())
            .then(|| -> Box<dyn Iterator<Item = _>> { Box::new(self.labels.iter().cloned()) })
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        let all = self.related.iter().map(|one| -> &dyn Diagnostic { one });
        (!self.related.is_empty()).then(|| -> Box<dyn Iterator<Item = _>> { Box::new(all) })
    }

    fn diagnostic_source(&self) -> Option<&dyn Diagnostic> {
        self.cause.as_deref().filter(|_| self.is_diagnostic).map(|cause| -> &dyn Diagnostic { cause })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sizes_get_separators_and_units() {
        for (text, wanted) in [
            ("the queue needs 165432 B of 3156992 B", "the queue needs 165.432 KB of 3,156,992 B"),
            (
                "4 ports × 1053866 B = 4215464 B leave nothing",
                "4 ports × 1,053,866 B = 4,215,464 B leave nothing",
            ),
            ("if it is in bytes: buffer = \"100000 B\"", "if it is in bytes: buffer = \"100000 B\""),
            ("write `100000 B`, not 100000 B", "write `100000 B`, not 100 KB"),
            ("port 50051 is in use, seed 123456", "port 50051 is in use, seed 123456"),
            ("1500 B, x100000 B, 100000 Bytes, 100000 B/s", "1500 B, x100000 B, 100000 Bytes, 100000 B/s"),
            ("200000 to 800000 B", "200000 to 800 KB"),
        ] {
            assert_eq!(with_sizes(text), wanted);
        }
    }
}
