//! The file of recorded switch operations, and the numbers of operations in the file.

use std::fmt::Write as _;
use std::io::{self, BufWriter, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Numbers of recorded operations, by kind of operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of switches whose operations the file contains.
    pub switches: u64,
    /// Number of recorded packet arrivals.
    pub arrivals: u64,
    /// Number of recorded packet departures.
    pub departures: u64,
    /// Number of recorded control events of the policy, such as a new drain rate.
    pub others: u64,
}

impl Tally {
    /// Number of recorded arrivals, departures and control events.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.arrivals + self.departures + self.others
    }
}

/// A text file with a line of numbers per operation of a switch.
pub struct Sheet {
    out: BufWriter<Box<dyn Write + Send>>,
    line: String,
    tally: Tally,
    /// Number of packet arrivals after which the recording stops.
    most_arrivals: u64,
    /// Number of switches after which the recording stops.
    most_switches: u64,
    failure: Option<io::Error>,
}

impl std::fmt::Debug for Sheet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sheet").field("tally", &self.tally).finish_non_exhaustive()
    }
}

impl Sheet {
    /// Creates an empty file of operations that writes to `out`.
    #[must_use]
    pub fn new(out: Box<dyn Write + Send>) -> Self {
        Self {
            out: BufWriter::new(out),
            line: String::new(),
            tally: Tally::default(),
            most_arrivals: u64::MAX,
            most_switches: u64::MAX,
            failure: None,
        }
    }

    /// Limits the recording to `arrivals` packet arrivals at the first `switches` switches.
    #[must_use]
    pub fn limited(self, arrivals: u64, switches: u64) -> Self {
        Self { most_arrivals: arrivals, most_switches: switches, ..self }
    }

    /// Writes the first line about another switch and returns the switch's number, from 0. Returns
    /// `None` if the file has enough switches.
    pub(crate) fn open_switch(&mut self, fields: &[u64]) -> Option<u64> {
        if self.tally.switches == self.most_switches {
            return None;
        }
        self.tally.switches += 1;
        self.write(0, fields);
        Some(self.tally.switches - 1)
    }

    /// Writes a line about an operation of the last switch in the file.
    pub(crate) fn line(&mut self, kind: u64, fields: &[u64]) {
        if self.is_full() {
            return;
        }
        match kind {
            1 => self.tally.arrivals += 1,
            2 => self.tally.departures += 1,
            _ => self.tally.others += 1,
        }
        self.write(kind, fields);
    }

    fn write(&mut self, kind: u64, fields: &[u64]) {
        self.line.clear();
        let _ = write!(self.line, "{kind:x}");
        for field in fields {
            let _ = write!(self.line, " {field:x}");
        }
        self.line.push('\n');
        if let Err(error) = self.out.write_all(self.line.as_bytes()) {
            self.failure.get_or_insert(error);
        }
    }

    /// Whether the file has as many packet arrivals as the limit allows.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.tally.arrivals >= self.most_arrivals
    }

    /// Numbers of operations that were recorded until now.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Writes all buffered lines of operations to the file.
    ///
    /// # Errors
    /// Returns the error of the first line that could not be written.
    pub fn finish(&mut self) -> io::Result<Tally> {
        self.out.flush()?;
        self.failure.take().map_or(Ok(self.tally), Err)
    }
}

/// A file of operations that the recorders of several switches share. The recorders write in turn.
#[derive(Clone, Debug)]
pub struct SharedSheet(Arc<Mutex<Sheet>>);

impl SharedSheet {
    /// Shares `sheet`.
    #[must_use]
    pub fn new(sheet: Sheet) -> Self {
        Self(Arc::new(Mutex::new(sheet)))
    }

    /// Locks the file of operations while a recorder writes one line.
    pub fn lock(&self) -> MutexGuard<'_, Sheet> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
