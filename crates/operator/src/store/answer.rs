//! Receives one answer of a server, with limits on the answer's bytes, elements, nesting and time.
//!
//! This module reads only the frame of an answer (RESP2: `+ - : $ *`). The library parses an answer
//! after it is complete and within the limits.

use super::connection::{Network, StoreConnection, is_pause};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Limits of one answer, and of all answers to one question about a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest time from a request to the server until the end of the answer.
    pub time: Duration,
    /// Largest length of a server's answer (bytes).
    pub bytes: usize,
    /// Largest number of elements of an answer, over all depths.
    pub elements: usize,
    /// Largest depth of nested lists in a server's answer.
    pub nesting: usize,
    /// Largest length of a line in an answer, such as an error message (bytes).
    pub line: usize,
    /// Largest number of steps of a scan of keys.
    pub steps: usize,
    /// Largest length of all answers in one dump of a database (bytes).
    pub dump_bytes: usize,
    /// Longest time for reading the whole configuration, or one sample of all counters.
    pub session: Duration,
}

impl Limits {
    /// Default limits of every command: a hundred times more than a chassis of 512 ports needs.
    pub const DEFAULT: Self = Self {
        time: Duration::from_secs(3),
        bytes: 16 << 20,
        elements: 1 << 18,
        nesting: 4,
        line: 16 << 10,
        steps: 20_000,
        dump_bytes: bufferlab_sonic::BYTES_MAX,
        session: Duration::from_secs(300),
    };
}

/// Reason why the server did not answer a request.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The program could not connect to the server.
    Unreachable(io::Error),
    /// The connection to the server broke. The caller may repeat the request over a new connection.
    Broken(io::Error),
    /// The server's answer was not complete within the time limit.
    Late,
    /// A signal ended the wait for the server's answer.
    Interrupted,
    /// The server's answer exceeds a limit, or does not follow the protocol.
    Nonsense(String),
    /// The server refused the request; the value is the server's error text.
    Refused(String),
}

/// Longest delay until the waiting program notices a signal.
const NAP: Duration = Duration::from_millis(100);
const CHUNK: usize = 16 << 10;

/// Conditions of the wait for a server's answer.
pub(crate) struct Waiting<'a> {
    pub(crate) network: &'a dyn Network,
    pub(crate) limits: &'a Limits,
    /// Time by which the server's answer must be complete, on the network's clock.
    pub(crate) until: Duration,
    /// Flag that a signal sets to end the wait for the server's answer.
    pub(crate) interrupted: Option<&'a AtomicBool>,
}

impl Waiting<'_> {
    /// Returns the longest time that the next send or receive may take.
    fn nap(&self) -> Result<Duration, Trouble> {
        if self.interrupted.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(Trouble::Interrupted);
        }
        let left = self.until.saturating_sub(self.network.now());
        if left.is_zero() { Err(Trouble::Late) } else { Ok(left.min(NAP)) }
    }

    pub(crate) fn send(&self, connection: &mut dyn StoreConnection, mut bytes: &[u8]) -> Result<(), Trouble> {
        while !bytes.is_empty() {
            match connection.send(bytes, self.nap()?) {
                Ok(0) => return Err(Trouble::Broken(io::ErrorKind::WriteZero.into())),
                Ok(sent) => bytes = bytes.get(sent..).unwrap_or_default(),
                Err(error) if is_pause(&error) => {}
                Err(error) => return Err(Trouble::Broken(error)),
            }
        }
        Ok(())
    }

    /// Receives the bytes of exactly one answer from the server.
    pub(crate) fn receive(&self, connection: &mut dyn StoreConnection) -> Result<Vec<u8>, Trouble> {
        let (mut buffer, mut chunk) = (Vec::new(), vec![0; CHUNK]);
        let mut frame = Frame::default();
        loop {
            let count = match connection.receive(&mut chunk, self.nap()?) {
                Ok(0) => return Err(Trouble::Broken(io::ErrorKind::UnexpectedEof.into())),
                Ok(count) => count,
                Err(error) if is_pause(&error) => continue,
                Err(error) => return Err(Trouble::Broken(error)),
            };
            if buffer.len() + count > self.limits.bytes {
                return Err(Trouble::Nonsense(format!("an answer of more than {} B", self.limits.bytes)));
            }
            buffer.extend_from_slice(&chunk[..count]);
            if frame.advance(&buffer, self.limits).map_err(Trouble::Nonsense)? {
                if frame.at < buffer.len() {
                    return Err(Trouble::Nonsense("it sends more than one answer".to_owned()));
                }
                return Ok(buffer);
            }
        }
    }
}

/// Progress of reading the frame of a server's answer.
#[derive(Default)]
struct Frame {
    at: usize,
    elements: usize,
    /// Number of missing elements of each open list of the answer, the outermost list first.
    open: Vec<usize>,
}

impl Frame {
    /// Examines the received bytes, and returns whether the server's answer is complete.
    fn advance(&mut self, buffer: &[u8], limits: &Limits) -> Result<bool, String> {
        loop {
            let rest = &buffer[self.at..];
            let Some(end) = rest.windows(2).take(limits.line).position(|pair| pair == b"\r\n") else {
                if rest.len() > limits.line {
                    return Err(format!("a line of more than {} B", limits.line));
                }
                return Ok(false);
            };
            if self.elements >= limits.elements {
                return Err(format!("an answer of more than {} elements", limits.elements));
            }
            let (kind, text) = (rest[0], rest.get(1..end).unwrap_or_default());
            let length = match kind {
                b'+' | b'-' | b':' => end + 2,
                b'$' => match count(text, limits.bytes)? {
                    None => end + 2,
                    Some(bytes) => {
                        let whole = end + 2 + bytes + 2;
                        let Some(bulk) = rest.get(..whole) else { return Ok(false) };
                        if !bulk.ends_with(b"\r\n") {
                            return Err("a string that is longer than its length".to_owned());
                        }
                        whole
                    }
                },
                b'*' => {
                    let more = count(text, limits.elements)?.unwrap_or(0);
                    if more > 0 {
                        if self.open.len() >= limits.nesting {
                            return Err(format!("lists within lists, more than {} deep", limits.nesting));
                        }
                        self.open.push(more);
                        (self.at, self.elements) = (self.at + end + 2, self.elements + 1);
                        continue;
                    }
                    end + 2
                }
                other => return Err(format!("an answer that begins with byte {other}: is it a Redis?")),
            };
            (self.at, self.elements) = (self.at + length, self.elements + 1);
            if self.is_whole() {
                return Ok(true);
            }
        }
    }

    /// Counts a complete element of the answer, and returns whether the element was the last.
    fn is_whole(&mut self) -> bool {
        while let Some(left) = self.open.last_mut() {
            *left -= 1;
            if *left > 0 {
                return false;
            }
            self.open.pop();
        }
        true
    }
}

/// Parses the length of an element; returns `None` for -1, which means a missing value.
fn count(text: &[u8], most: usize) -> Result<Option<usize>, String> {
    let number: Option<i64> = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    match number {
        Some(-1) => Ok(None),
        Some(number) => match usize::try_from(number) {
            Ok(number) if number <= most => Ok(Some(number)),
            _ => Err(format!("a length of {number}, expected 0 to {most}")),
        },
        None => Err("a length that is no number".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Limits = Limits { bytes: 64, elements: 8, nesting: 2, line: 16, ..Limits::DEFAULT };

    /// Examines the bytes of an answer one by one, and returns whether the answer is complete.
    fn frame(bytes: &[u8]) -> Result<bool, String> {
        let mut frame = Frame::default();
        for end in 1..=bytes.len() {
            if frame.advance(&bytes[..end], &SMALL)? {
                assert_eq!((frame.at, end), (bytes.len(), end), "whole before its end");
                return Ok(true);
            }
        }
        Ok(false)
    }

    #[test]
    fn an_answer_is_whole_with_its_last_byte_however_it_arrives() {
        for answer in [
            "+OK\r\n",
            "-ERR no\r\n",
            ":12\r\n",
            "$-1\r\n",
            "*-1\r\n",
            "*0\r\n",
            "$0\r\n\r\n",
            "$4\r\na\r\nb\r\n",
        ] {
            assert_eq!(frame(answer.as_bytes()), Ok(true), "{answer:?}");
        }
        assert_eq!(frame(b"*2\r\n$1\r\n0\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n"), Ok(true));
        assert_eq!(frame(b"*2\r\n$1\r\n0\r\n*0\r\n"), Ok(true));
        assert_eq!(frame(b"*2\r\n$1\r\n0\r\n"), Ok(false));
    }

    #[test]
    fn what_has_no_end_or_is_too_large_is_refused_by_its_first_bytes() {
        for (answer, why) in [
            ("*2147483647\r\n", "a length of 2147483647"),
            ("$536870912000\r\n", "a length of 536870912000"),
            ("$-5\r\n", "a length of -5"),
            ("$x\r\n", "no number"),
            ("+aaaaaaaaaaaaaaaaaaaaaaaa", "a line of more than 16 B"),
            ("*1\r\n*1\r\n*1\r\n", "more than 2 deep"),
            ("*8\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n", "more than 8 elements"),
            (">2\r\n", "begins with byte 62"),
            ("%1\r\n", "begins with byte 37"),
            ("\r\n", "begins with byte 13"),
            ("$1\r\nab\r\n", "longer than its length"),
        ] {
            assert!(frame(answer.as_bytes()).is_err_and(|error| error.contains(why)), "{answer:?}");
        }
    }
}
