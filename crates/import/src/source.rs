//! Text of an imported file, with the place of every word.

use crate::limits::BYTES;
use crate::{ImportError, Notices};
use bufferlab_params::Limit;
use flate2::read::MultiGzDecoder;
use std::borrow::Cow;
use std::io::Read;
use std::path::Path;

/// Returns the content of a file, and unpacks gzipped content.
///
/// # Errors
/// If the file exceeds the limit, or its gzip stream is damaged.
pub(crate) fn unpacked<'a>(path: &Path, content: &'a [u8]) -> Result<Cow<'a, [u8]>, ImportError> {
    let too_large = || too_many(path, BYTES, "more");
    if content.len() as u64 > BYTES.most {
        return Err(too_large());
    }
    if !content.starts_with(&[0x1f, 0x8b]) {
        return Ok(Cow::Borrowed(content));
    }
    let mut bytes = Vec::new();
    let read = MultiGzDecoder::new(content).take(BYTES.most + 1).read_to_end(&mut bytes);
    let damaged =
        |cause| ImportError::in_file(path, format!("damaged gzip stream: {cause}"), "copy the file again");
    read.map_err(damaged)?;
    if bytes.len() as u64 > BYTES.most { Err(too_large()) } else { Ok(Cow::Owned(bytes)) }
}

/// Creates the error for a quantity that exceeds its limit.
pub(crate) fn too_many(path: &Path, limit: Limit, found: impl std::fmt::Display) -> ImportError {
    let problem = format!("{found} {}, expected at most {}", limit.name, limit.most);
    ImportError::in_file(path, problem, "use a smaller file")
}

/// Text file that an import reads.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) path: &'a Path,
    text: &'a str,
}

/// A line of an imported text file.
#[derive(Clone, Copy)]
pub(crate) struct Line<'a> {
    pub(crate) source: Source<'a>,
    /// Number of the line in the file, from 1.
    pub(crate) number: u64,
    pub(crate) text: &'a str,
}

/// A word of an imported text file, with its line and column.
#[derive(Clone, Copy)]
pub(crate) struct Word<'a> {
    pub(crate) line: Line<'a>,
    pub(crate) text: &'a str,
}

impl<'a> Source<'a> {
    /// Reads `content` as text, without a byte-order mark.
    ///
    /// # Errors
    /// If the content is not UTF-8.
    pub(crate) fn new(path: &'a Path, content: &'a [u8]) -> Result<Self, ImportError> {
        let text = str::from_utf8(content).map_err(|error| {
            let line = 1 + content[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
            ImportError {
                line: Some(line as u64),
                ..ImportError::in_file(path, "not UTF-8 text", "save the file as UTF-8")
            }
        })?;
        Ok(Self { path, text: text.trim_start_matches('\u{feff}') })
    }

    pub(crate) fn text(self) -> &'a str {
        self.text
    }

    /// All lines of the file, without their line ends.
    pub(crate) fn lines(self) -> impl Iterator<Item = Line<'a>> + Clone {
        (1..).zip(self.text.lines()).map(move |(number, text)| Line { source: self, number, text })
    }

    /// All words of the file, which white space separates.
    pub(crate) fn words(self) -> impl Iterator<Item = Word<'a>> + Clone {
        self.lines().flat_map(Line::words)
    }

    pub(crate) fn error(self, problem: impl Into<String>, advice: impl Into<String>) -> ImportError {
        ImportError::in_file(self.path, problem, advice)
    }

    /// Adds a notice if the lines of the file end in CR LF.
    pub(crate) fn notice_line_ends(self, notices: &mut Notices) {
        if self.text.contains('\r') {
            notices.assume("lines end in CR LF; the CR is ignored");
        }
    }
}

impl<'a> Line<'a> {
    pub(crate) fn words(self) -> impl Iterator<Item = Word<'a>> + Clone {
        self.text.split_whitespace().map(move |text| Word { line: self, text })
    }

    pub(crate) fn error(self, problem: impl Into<String>, advice: impl Into<String>) -> ImportError {
        ImportError { line: Some(self.number), ..self.source.error(problem, advice) }
    }
}

impl Word<'_> {
    pub(crate) fn error(self, problem: impl Into<String>, advice: impl Into<String>) -> ImportError {
        // The text of a line is a part of the file's text. So the difference of the addresses of
        // both texts is the offset of the line in the file.
        let offset = (self.text.as_ptr() as usize).saturating_sub(self.line.text.as_ptr() as usize);
        let column = self.line.text.get(..offset).map_or(offset, |before| before.chars().count());
        ImportError { column: Some(column as u64 + 1), ..self.line.error(problem, advice) }
    }

    /// Creates the error for a word that is not `expected`.
    pub(crate) fn unexpected(self, expected: &str) -> ImportError {
        self.error(format!("\"{}\" is unexpected", short(self.text)), format!("expected {expected}"))
    }

    /// Parses the word as a whole number from 0 to `most`.
    pub(crate) fn whole(self, what: &str, most: u64) -> Result<u64, ImportError> {
        let number = self.text.parse().ok().filter(|number| *number <= most);
        let expected = || match most {
            u64::MAX => format!("{what}, a whole number"),
            _ => format!("{what}, a whole number up to {most}"),
        };
        number.ok_or_else(|| self.unexpected(&expected()))
    }

    /// Reads a number that is not negative, with or without decimals.
    pub(crate) fn real(self, what: &str) -> Result<f64, ImportError> {
        let number = self.text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
        number.ok_or_else(|| self.unexpected(&format!("{what}, a number from 0")))
    }
}

/// The first characters of a text, for quoting in a message.
pub(crate) fn short(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(60) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}
