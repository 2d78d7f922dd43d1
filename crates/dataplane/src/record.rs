//! Record of a switch: a file with a line for each packet that requested space, and the verdict.
//!
//! The file is a packet trace of the scenario format (`kind = "trace"`), so any policy can be tried
//! on it. The verdicts are in further columns. `bufferlab switch --verify` compares them with the
//! simulator's verdicts.

use crate::driver::Incoming;
use bufferlab_core::{DropReason, Refusal};
use bufferlab_units::Time;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

mod read;
mod row;

pub use read::{MissingEnd, Record, RecordError, read_record};

/// Name of the file with packets in the folder of a record.
pub const RECORD_FILE: &str = "packets.csv";
/// Name of the file of the switch in the folder of a record.
pub const SWITCH_FILE: &str = "switch.toml";
/// Name of the file that states how far a record is written, in the folder of a record.
pub const PROGRESS_FILE: &str = "progress.csv";

/// Fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Sent.
    Sent {
        /// Start of the packet's transmission.
        at: Time,
        /// Whether the switch marked the packet, on arrival or departure.
        marked: bool,
    },
    /// The packet was refused on arrival.
    Refused(Refusal),
    /// The packet was removed from its queue without being sent.
    Evicted {
        /// Time of the removal.
        at: Time,
        /// Reason of the removal.
        reason: DropReason,
    },
}

impl Fate {
    /// Reason of the loss; `None` if the switch sent the packet.
    #[must_use]
    pub const fn loss(self) -> Option<DropReason> {
        match self {
            Self::Sent { .. } => None,
            Self::Refused(Refusal { reason, .. }) | Self::Evicted { reason, .. } => Some(reason),
        }
    }
}

/// A packet that requested space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The recorded arrival.
    pub incoming: Incoming,
    /// Queue of its port in which it requested space.
    pub queue: u8,
    /// Fate of the packet.
    pub fate: Fate,
}

impl Recorded {
    /// Time at which the fate was decided.
    #[must_use]
    pub const fn decided(&self) -> Time {
        match self.fate {
            Fate::Sent { at, .. } | Fate::Evicted { at, .. } => at,
            Fate::Refused(_) => self.incoming.at,
        }
    }

    /// Whether the fate is decided.
    pub(crate) fn is_settled(&self) -> bool {
        !matches!(self.fate, Fate::Sent { at: Time::ZERO, .. })
    }
}

/// Writes a record.
///
/// A record must be readable however its switch ends. Lines therefore reach the file whole, and
/// `mark` periodically notes the time until which no line is missing.
#[derive(Debug)]
pub struct RecordWriter {
    out: BufWriter<File>,
    progress: File,
    names: Vec<String>,
    /// The line being written; its memory is reused.
    line: Vec<u8>,
    /// Number of lines, and number of lines at the last mark.
    packets: u64,
    marked: u64,
    /// The first error; later rows are not written.
    failed: Option<io::Error>,
}

/// State of a completed record.
const COMPLETE: &str = "complete";

impl RecordWriter {
    /// Creates `folder` and a record in it, for a switch with these ports, whose file is `text`.
    ///
    /// # Errors
    /// If the folder or a file cannot be written.
    pub fn create(folder: &Path, names: Vec<String>, text: &str) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        std::fs::write(folder.join(SWITCH_FILE), text)?;
        let mut out = BufWriter::with_capacity(1 << 18, File::create(folder.join(RECORD_FILE))?);
        writeln!(out, "{}", row::COLUMNS.join(","))?;
        out.flush()?;
        let mut progress = File::create(folder.join(PROGRESS_FILE))?;
        progress.write_all(b"packets,settled_ps,state\n")?;
        Ok(Self { out, progress, names, line: Vec::new(), packets: 0, marked: 0, failed: None })
    }

    /// Adds a packet to the record.
    pub(crate) fn write(&mut self, row: &Recorded) {
        if self.failed.is_none() {
            self.failed = self.try_write(row).err();
        }
    }

    fn try_write(&mut self, row: &Recorded) -> io::Result<()> {
        self.line.clear();
        row::write(&mut self.line, row, &self.names)?;
        // One line per call: the buffer passes on its content before a line for which it has no
        // room.
        self.out.write_all(&self.line)?;
        self.packets += 1;
        Ok(())
    }

    /// Flushes all lines. Every packet that arrived before `settled` has its line.
    pub(crate) fn mark(&mut self, settled: Time) {
        if self.failed.is_none() && self.packets > self.marked {
            self.marked = self.packets;
            self.failed = self.try_mark(settled, "running").err();
        }
    }

    fn try_mark(&mut self, settled: Time, state: &str) -> io::Result<()> {
        self.out.flush()?;
        let line = format!("{},{},{state}\n", self.packets, settled.0);
        self.progress.write_all(line.as_bytes())
    }

    /// Ends the record.
    ///
    /// # Errors
    /// The first error of any row.
    pub fn finish(mut self) -> io::Result<()> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.try_mark(Time::MAX, COMPLETE),
        }
    }
}
