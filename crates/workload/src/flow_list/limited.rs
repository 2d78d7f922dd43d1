//! How long may a line be? A file without line ends (a few megabytes, gzipped, may be gigabytes) is refused before
//! it is in memory.

use std::io::{self, Read};

/// Most bytes of a line: some hundred times what a flow needs.
pub const LINE_BYTES_MAX: usize = 65_536;

/// A line went on for too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} has more than {LINE_BYTES_MAX} bytes")]
pub(super) struct LineTooLong {
    /// Its number, from 1.
    pub(super) line: u64,
}

/// Passes bytes on and ends with an error that holds a [`LineTooLong`] where a line has more than [`LINE_BYTES_MAX`].
pub(super) struct LimitedLines<R> {
    inner: R,
    /// Of the line that is being read: its number, and how much of it was.
    line: u64,
    length: usize,
}

impl<R: Read> LimitedLines<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner, line: 1, length: 0 }
    }
}

impl<R: Read> Read for LimitedLines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        let mut parts = buffer[..read].split(|&byte| byte == b'\n').peekable();
        while let Some(part) = parts.next() {
            self.length += part.len();
            if self.length > LINE_BYTES_MAX {
                return Err(io::Error::new(io::ErrorKind::InvalidData, LineTooLong { line: self.line }));
            }
            if parts.peek().is_some() {
                self.line += 1;
                self.length = 0;
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
        read.map_err(|error| {
            error.get_ref().and_then(|why| why.downcast_ref::<LineTooLong>()).expect("why").line
        })
    }

    #[test]
    fn lines_may_be_as_long_as_the_limit_and_no_longer() {
        let line = "x".repeat(LINE_BYTES_MAX);
        let text = format!("a\n\n{line}\n{line}");
        assert_eq!(outcome(text.as_bytes()), Ok(text.len()));
        assert_eq!(outcome(format!("{text}x\nb").as_bytes()), Err(4));
        assert_eq!(outcome(b""), Ok(0));
    }
}
