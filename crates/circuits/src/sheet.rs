//! The file that operations are written to, and how many there were.

use std::fmt::Write as _;
use std::io::{self, BufWriter, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many operations a sheet holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Switches.
    pub switches: u64,
    /// Packets that arrived.
    pub arrivals: u64,
    /// Packets that left.
    pub departures: u64,
    /// Control events.
    pub others: u64,
}

impl Tally {
    /// Arrivals, departures and the others.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.arrivals + self.departures + self.others
    }
}

/// Lines of numbers, written as they come.
pub struct Sheet {
    out: BufWriter<Box<dyn Write + Send>>,
    line: String,
    tally: Tally,
    /// Nothing is written after so many arrivals.
    most_arrivals: u64,
    /// Nothing is written of switches after the first so many.
    most_switches: u64,
    failure: Option<io::Error>,
}

impl std::fmt::Debug for Sheet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sheet").field("tally", &self.tally).finish_non_exhaustive()
    }
}

impl Sheet {
    /// An empty sheet that goes to `out`.
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

    /// The same, closed after `arrivals` of the first `switches`.
    #[must_use]
    pub fn limited(self, arrivals: u64, switches: u64) -> Self {
        Self { most_arrivals: arrivals, most_switches: switches, ..self }
    }

    /// Opens the part of another switch; its number, from 0, or `None` if the sheet holds enough of
    /// them.
    pub(crate) fn open_switch(&mut self, fields: &[u64]) -> Option<u64> {
        if self.tally.switches == self.most_switches {
            return None;
        }
        self.tally.switches += 1;
        self.write(0, fields);
        Some(self.tally.switches - 1)
    }

    /// A line about the switch that was opened last.
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

    /// Whether it holds as many arrivals as it may.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.tally.arrivals >= self.most_arrivals
    }

    /// What it holds.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Writes the rest.
    ///
    /// # Errors
    /// The first line that could not be written.
    pub fn finish(&mut self) -> io::Result<Tally> {
        self.out.flush()?;
        self.failure.take().map_or(Ok(self.tally), Err)
    }
}

/// A sheet that the recorders of several switches write to, one after another.
#[derive(Clone, Debug)]
pub struct SharedSheet(Arc<Mutex<Sheet>>);

impl SharedSheet {
    /// Shares `sheet`.
    #[must_use]
    pub fn new(sheet: Sheet) -> Self {
        Self(Arc::new(Mutex::new(sheet)))
    }

    /// The sheet, for one line.
    pub fn lock(&self) -> MutexGuard<'_, Sheet> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
