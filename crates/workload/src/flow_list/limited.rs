//! Limits for reading a file of lines. A file without line ends could fill the memory, because a
//! few compressed megabytes may unpack to gigabytes. The reader refuses such a file before it takes
//! the memory.

use crate::limits::{LINE_BYTES_MAX, UNPACKED};
use std::io::{self, Read};

/// A line of a file that is longer than the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} has more than {LINE_BYTES_MAX} bytes")]
pub(crate) struct LineTooLong {
    /// Number of the line that is too long, from 1.
    pub(crate) line: u64,
}

impl LineTooLong {
    /// Returns the line that an error of [`LimitedLines`] is about.
    pub(crate) fn find_in(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }
}

/// Decompresses a file if necessary, and returns its text up to the limit [`UNPACKED`].
pub(crate) fn unpacked(content: &[u8]) -> Box<dyn Read + '_> {
    if content.starts_with(&[0x1f, 0x8b]) {
        Box::new(LimitedBytes::new(flate2::bufread::MultiGzDecoder::new(content), UNPACKED.most))
    } else {
        Box::new(content)
    }
}

/// Reader that passes bytes on, and returns an error after too many bytes.
struct LimitedBytes<R> {
    inner: R,
    left: u64,
}

impl<R: Read> LimitedBytes<R> {
    fn new(inner: R, most: u64) -> Self {
        Self { inner, left: most }
    }
}

impl<R: Read> Read for LimitedBytes<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        match self.left.checked_sub(read as u64) {
            Some(left) => self.left = left,
            None => {
                let message = format!("it unpacks to more than {} bytes", UNPACKED.most);
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
        }
        Ok(read)
    }
}

/// Reader that limits the length of lines. The reader returns an error with a [`LineTooLong`] if a
/// line has more than [`LINE_BYTES_MAX`] bytes. Line ends within quotes belong to a field and do
/// not end the line.
pub(crate) struct LimitedLines<R> {
    inner: R,
    /// Number of the current line; `length` is the number of bytes that were read of this line.
    line: u64,
    length: usize,
    place: CsvState,
}

/// Parser state: position of the next byte in a line of CSV.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CsvState {
    LineStart,
    FieldStart,
    Field,
    Quotes,
    /// The reader has just read a quote within a quoted field. If another quote follows, both
    /// quotes are one quote of the field.
    QuotesEnd,
    Comment,
}

impl<R: Read> LimitedLines<R> {
    pub(crate) fn new(inner: R) -> Self {
        Self { inner, line: 1, length: 0, place: CsvState::LineStart }
    }

    fn take(&mut self, byte: u8) {
        self.length += 1;
        if byte == b'\n' {
            self.line += 1;
            if self.place != CsvState::Quotes {
                (self.length, self.place) = (0, CsvState::LineStart);
            }
            return;
        }
        self.place = match (self.place, byte) {
            (CsvState::Comment, _) | (CsvState::LineStart, b'#') => CsvState::Comment,
            (CsvState::Quotes, b'"') => CsvState::QuotesEnd,
            (CsvState::Quotes, _) => CsvState::Quotes,
            (CsvState::LineStart | CsvState::FieldStart | CsvState::QuotesEnd, b'"') => CsvState::Quotes,
            (_, b',') => CsvState::FieldStart,
            _ => CsvState::Field,
        };
    }
}

impl<R: Read> Read for LimitedLines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        for &byte in &buffer[..read] {
            self.take(byte);
            if self.length > LINE_BYTES_MAX + usize::from(self.place == CsvState::LineStart) {
                return Err(io::Error::new(io::ErrorKind::InvalidData, LineTooLong { line: self.line }));
            }
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(text: &[u8]) -> Result<usize, u64> {
        let mut all = Vec::new();
        let read = LimitedLines::new(text).read_to_end(&mut all);
        read.map_err(|error| LineTooLong::find_in(&error).expect("why").line)
    }

    #[test]
    fn lines_may_be_as_long_as_the_limit_and_no_longer() {
        let line = "x".repeat(LINE_BYTES_MAX);
        let text = format!("a\n\n{line}\n{line}");
        assert_eq!(outcome(text.as_bytes()), Ok(text.len()));
        assert_eq!(outcome(format!("{text}x\nb").as_bytes()), Err(4));
        assert_eq!(outcome(b""), Ok(0));
    }

    #[test]
    fn line_ends_within_quotes_end_no_line() {
        let lines = "y\n".repeat(LINE_BYTES_MAX);
        assert_eq!(outcome(lines.as_bytes()), Ok(lines.len()));
        // A quote in a comment or within a field opens no quotes. Two successive quotes do not end
        // a quoted field.
        for harmless in ["# a \"\n", "a\"b,c\n", "\"a\",\"b\"\"\"\n"] {
            assert_eq!(
                outcome(format!("{harmless}{lines}").as_bytes()),
                Ok(harmless.len() + lines.len()),
                "{harmless}"
            );
        }
        for open in ["\"", "a,\"", "\"a\"\""] {
            assert!(outcome(format!("{open}{lines}").as_bytes()).is_err(), "{open}");
        }
    }

    #[test]
    fn bytes_end_at_their_limit() {
        let read = |most: u64| io::copy(&mut LimitedBytes::new(&[7; 100][..], most), &mut io::sink());
        assert_eq!(read(100).expect("as many"), 100);
        assert!(
            read(99).expect_err("too many").to_string().contains("unpacks to more than 4000000000 bytes")
        );
    }
}
