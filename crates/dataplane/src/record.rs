//! Record of a switch: a file with a line for each packet that requested buffer space. The line has
//! the verdict.
//!
//! The file is a packet trace of the scenario format (`kind = "trace"`), so a user can try any
//! policy on the recorded packets. Additional columns have the verdicts. `bufferlab switch
//! --verify` compares these verdicts with the simulator's verdicts.

use crate::driver::Incoming;
use bufferlab_core::{DropReason, Refusal};
use bufferlab_units::Time;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

mod read;
mod row;

pub use read::{MissingEnd, Record, RecordError, read_record};

/// Name of the file with the packets, in the folder of a record.
pub const RECORD_FILE: &str = "packets.csv";
/// Name of the switch file in the folder of a record.
pub const SWITCH_FILE: &str = "switch.toml";
/// Name of the file with a record's progress, in the folder of the record.
pub const PROGRESS_FILE: &str = "progress.csv";

/// Outcome of a packet that requested space in the packet buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The switch sent the packet.
    Sent {
        /// Time at which the packet's transmission started.
        at: Time,
        /// Whether the switch marked the packet, on arrival or departure.
        marked: bool,
    },
    /// The switch refused the packet on arrival.
    Refused(Refusal),
    /// The switch removed the packet from its queue without sending it.
    Evicted {
        /// Time at which the switch removed the packet.
        at: Time,
        /// Reason why the switch removed the packet.
        reason: DropReason,
    },
}

impl Fate {
    /// Reason for the loss of the packet; `None` if the switch sent it.
    #[must_use]
    pub const fn loss(self) -> Option<DropReason> {
        match self {
            Self::Sent { .. } => None,
            Self::Refused(Refusal { reason, .. }) | Self::Evicted { reason, .. } => Some(reason),
        }
    }
}

/// A recorded packet that requested space in the packet buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Arrival time, header and ports of the packet.
    pub incoming: Incoming,
    /// Number of the queue, within the port, in which the packet requested space.
    pub queue: u8,
    /// Outcome of the packet: sent, refused or evicted.
    pub fate: Fate,
}

impl Recorded {
    /// Time at which the switch sent, refused or evicted the packet.
    #[must_use]
    pub const fn decided(&self) -> Time {
        match self.fate {
            Fate::Sent { at, .. } | Fate::Evicted { at, .. } => at,
            Fate::Refused(_) => self.incoming.at,
        }
    }

    /// Whether the switch has already sent, refused or evicted the packet.
    pub(crate) fn is_settled(&self) -> bool {
        !matches!(self.fate, Fate::Sent { at: Time::ZERO, .. })
    }
}

/// Writer of the record of packets and verdicts.
///
/// A record must be readable even if its switch was killed. So the writer adds only whole lines to
/// the file. The method `mark` periodically notes the time until which no line is missing.
#[derive(Debug)]
pub struct RecordWriter {
    out: BufWriter<File>,
    progress: File,
    names: Vec<String>,
    /// Text of the current line of the record; the writer reuses its memory.
    line: Vec<u8>,
    /// Number of lines in the record; `marked` is this number at the last row of `progress.csv`.
    packets: u64,
    marked: u64,
    /// First error of the record's writer; after an error, it writes no rows.
    failed: Option<io::Error>,
}

/// Word in the progress file of a completed record.
const COMPLETE: &str = "complete";

impl RecordWriter {
    /// Creates `folder` with a record, for a switch with the ports `names` whose file has the text
    /// `text`.
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
        // Each line of the record is written in one call. If the writer's buffer has no room for
        // the line, the writer first writes the content of the buffer to the file.
        self.out.write_all(&self.line)?;
        self.packets += 1;
        Ok(())
    }

    /// Flushes all lines, so that every packet with an arrival before `settled` has its line.
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

    /// Ends the record of packets with its last lines.
    ///
    /// # Errors
    /// The first error of any row of the record.
    pub fn finish(mut self) -> io::Result<()> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.try_mark(Time::MAX, COMPLETE),
        }
    }
}
