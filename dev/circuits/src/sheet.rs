//! The file that records operations, and its statistics.

use std::fmt::Write as _;
use std::io::{self, BufWriter, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Number of operations of a sheet, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of switches.
    pub switches: u64,
    /// Number of arrivals.
    pub arrivals: u64,
    /// Number of departures.
    pub departures: u64,
    /// Number of control events.
    pub others: u64,
}

impl Tally {
    /// Number of arrivals, departures and control events.
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
    /// Recording stops after this number of arrivals.
    most_arrivals: u64,
    /// Recording stops after this number of switches.
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

    /// Begins the part of another switch and returns its number, from 0. `None` if the sheet has
    /// enough switches.
    pub(crate) fn open_switch(&mut self, fields: &[u64]) -> Option<u64> {
        if self.tally.switches == self.most_switches {
            return None;
        }
        self.tally.switches += 1;
        self.write(0, fields);
        Some(self.tally.switches - 1)
    }

    /// Writes a line about the most recent switch.
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

    /// Whether the limit on arrivals is reached.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.tally.arrivals >= self.most_arrivals
    }

    /// Number of operations written up to now.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Writes what is buffered.
    ///
    /// # Errors
    /// The error of the first line that could not be written.
    pub fn finish(&mut self) -> io::Result<Tally> {
        self.out.flush()?;
        self.failure.take().map_or(Ok(self.tally), Err)
    }
}

/// A sheet shared by the recorders of several switches, which write in sequence.
#[derive(Clone, Debug)]
pub struct SharedSheet(Arc<Mutex<Sheet>>);

impl SharedSheet {
    /// Shares `sheet`.
    #[must_use]
    pub fn new(sheet: Sheet) -> Self {
        Self(Arc::new(Mutex::new(sheet)))
    }

    /// Locks the sheet for one line.
    pub fn lock(&self) -> MutexGuard<'_, Sheet> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
