//! The file that records operations, and the numbers of its operations.

use std::fmt::Write as _;
use std::io::{self, BufWriter, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Numbers of operations on a sheet, by kind of operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of switches on the sheet.
    pub switches: u64,
    /// Number of packet arrivals on the sheet.
    pub arrivals: u64,
    /// Number of packet departures on the sheet.
    pub departures: u64,
    /// Number of control events on the sheet.
    pub others: u64,
}

impl Tally {
    /// Number of arrivals, departures and control events on the sheet.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.arrivals + self.departures + self.others
    }
}

/// A text file with a line of numbers per operation.
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
    /// Creates an empty sheet that writes to `out`.
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

    /// Limits the sheet to `arrivals` arrivals of the first `switches` switches.
    #[must_use]
    pub fn limited(self, arrivals: u64, switches: u64) -> Self {
        Self { most_arrivals: arrivals, most_switches: switches, ..self }
    }

    /// Begins the lines of another switch on the sheet and returns the switch's number, from 0.
    /// Returns `None` if the sheet has enough switches.
    pub(crate) fn open_switch(&mut self, fields: &[u64]) -> Option<u64> {
        if self.tally.switches == self.most_switches {
            return None;
        }
        self.tally.switches += 1;
        self.write(0, fields);
        Some(self.tally.switches - 1)
    }

    /// Writes a line about the switch that was opened last.
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

    /// Whether the sheet has as many arrivals as its limit allows.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.tally.arrivals >= self.most_arrivals
    }

    /// Numbers of operations written to the sheet up to now.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Writes all buffered lines of the sheet to the file.
    ///
    /// # Errors
    /// Returns the error of the first line that could not be written.
    pub fn finish(&mut self) -> io::Result<Tally> {
        self.out.flush()?;
        self.failure.take().map_or(Ok(self.tally), Err)
    }
}

/// A sheet that the recorders of several switches share. The recorders write in turn.
#[derive(Clone, Debug)]
pub struct SharedSheet(Arc<Mutex<Sheet>>);

impl SharedSheet {
    /// Shares `sheet`.
    #[must_use]
    pub fn new(sheet: Sheet) -> Self {
        Self(Arc::new(Mutex::new(sheet)))
    }

    /// Locks the sheet while a recorder writes one line.
    pub fn lock(&self) -> MutexGuard<'_, Sheet> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
