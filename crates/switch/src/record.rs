//! What the switch was asked and what it answered, as a file: one line for each packet that asked for space.
//!
//! The file is a packet trace of the scenario format (`kind = "trace"`), so any policy can be tried on it; the answers
//! stand in further columns, which `bufferlab switch --verify` compares with those of the simulator.

use crate::driver::Incoming;
use bufferlab_core::{DropReason, Ecn};
use bufferlab_units::Time;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Name of the file with packets in the folder of a record.
pub const RECORD_FILE: &str = "packets.csv";
/// Name of the file of the switch in the folder of a record.
pub const SWITCH_FILE: &str = "switch.toml";

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Sent.
    Sent {
        /// When its transmission began.
        at: Time,
        /// Marked by the switch, on arrival or departure.
        marked: bool,
    },
    /// Refused on arrival.
    Dropped(DropReason),
    /// Removed after having been stored.
    Evicted {
        /// When.
        at: Time,
        /// Why.
        reason: DropReason,
    },
}

/// A packet that asked for space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// As it came.
    pub incoming: Incoming,
    /// Queue of its port that it asked for.
    pub queue: u8,
    /// What became of it.
    pub fate: Fate,
}

/// Writes a record.
#[derive(Debug)]
pub struct RecordWriter {
    out: BufWriter<File>,
    names: Vec<String>,
    /// The first error: rows behind it are not written.
    failed: Option<io::Error>,
}

const COLUMNS: &str = "time_ps,src,dst,size_bytes,priority,flow,ecn,queue,fate,reason,marked,at_ps";

impl RecordWriter {
    /// A record in `folder`, which is made, of a switch with these ports, read from `text`.
    ///
    /// # Errors
    /// If the folder or a file cannot be written.
    pub fn create(folder: &Path, names: Vec<String>, text: &str) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        std::fs::write(folder.join(SWITCH_FILE), text)?;
        let mut out = BufWriter::with_capacity(1 << 18, File::create(folder.join(RECORD_FILE))?);
        writeln!(out, "{COLUMNS}")?;
        Ok(Self { out, names, failed: None })
    }

    /// Adds a packet.
    pub(crate) fn write(&mut self, row: &Recorded) {
        if self.failed.is_none() {
            self.failed = self.try_write(row).err();
        }
    }

    fn try_write(&mut self, row: &Recorded) -> io::Result<()> {
        let Incoming { at, ingress, egress, wire, priority, flow, .. } = row.incoming;
        let (src, dst) = (&self.names[usize::from(ingress)], &self.names[usize::from(egress)]);
        let (ecn, queue) = (row.incoming.ecn_word(), row.queue);
        write!(self.out, "{},{src},{dst},{wire},{priority},{flow},{ecn},{queue},", at.0)?;
        match row.fate {
            Fate::Sent { at, marked } => writeln!(self.out, "sent,,{},{}", u8::from(marked), at.0),
            Fate::Dropped(reason) => writeln!(self.out, "dropped,{},0,", reason.name()),
            Fate::Evicted { at, reason } => writeln!(self.out, "evicted,{},0,{}", reason.name(), at.0),
        }
    }

    /// Ends the record.
    ///
    /// # Errors
    /// The first error of all rows.
    pub fn finish(mut self) -> io::Result<()> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.out.flush(),
        }
    }
}

/// Why a record cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// It is no CSV, or not there.
    #[error("cannot read {}: {source}", path.display())]
    Csv {
        /// The file.
        path: PathBuf,
        /// Why.
        source: csv::Error,
    },
    /// A cell is wrong.
    #[error("{}:{line}: column `{column}` is \"{found}\", expected {expected}", path.display())]
    Cell {
        /// The file.
        path: PathBuf,
        /// Its line, from 1.
        line: u64,
        /// The column.
        column: &'static str,
        /// What stands there.
        found: String,
        /// What should.
        expected: &'static str,
    },
}

/// Reads the packets of the record in `folder`, by the times of their arrivals. `names`: ports of the switch.
///
/// # Errors
/// [`RecordError`], with file and line.
pub fn read_record(folder: &Path, names: &[String]) -> Result<Vec<Recorded>, RecordError> {
    let path = folder.join(RECORD_FILE);
    let broken = |source| RecordError::Csv { path: path.clone(), source };
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_path(&path).map_err(broken)?;
    let (mut rows, mut record) = (Vec::new(), csv::StringRecord::new());
    let header: Vec<&str> = COLUMNS.split(',').collect();
    if reader.headers().map_err(broken)?.iter().ne(header.iter().copied()) {
        let found = reader.headers().map_err(broken)?.iter().collect::<Vec<_>>().join(",");
        let expected = "the columns of a record";
        return Err(RecordError::Cell { path, line: 1, column: "time_ps", found, expected });
    }
    while reader.read_record(&mut record).map_err(broken)? {
        let line = record.position().map_or(0, csv::Position::line);
        let row = parse(&record, names).map_err(|(column, expected)| RecordError::Cell {
            path: path.clone(),
            line,
            column: COLUMN_NAMES[column],
            found: record.get(column).unwrap_or_default().to_owned(),
            expected,
        })?;
        rows.push(row);
    }
    rows.sort_by_key(|row: &Recorded| row.incoming.at);
    Ok(rows)
}

const COLUMN_NAMES: [&str; 12] = [
    "time_ps",
    "src",
    "dst",
    "size_bytes",
    "priority",
    "flow",
    "ecn",
    "queue",
    "fate",
    "reason",
    "marked",
    "at_ps",
];

/// A row; the column that is wrong, and what it should hold.
fn parse(record: &csv::StringRecord, names: &[String]) -> Result<Recorded, (usize, &'static str)> {
    fn number<T: std::str::FromStr>(
        record: &csv::StringRecord,
        column: usize,
    ) -> Result<T, (usize, &'static str)> {
        record[column].parse().map_err(|_| (column, "a whole number"))
    }
    let port = |column: usize| {
        let found = names.iter().position(|name| *name == record[column]);
        found.map(|index| index as u16).ok_or((column, "the interface of a port of switch.toml"))
    };
    let incoming = Incoming {
        at: Time(number(record, 0)?),
        ingress: port(1)?,
        egress: port(2)?,
        wire: number(record, 3)?,
        priority: number(record, 4)?,
        flow: number(record, 5)?,
        ecn: match &record[6] {
            "no" => Ecn::NotCapable,
            "capable" => Ecn::Capable,
            "marked" => Ecn::Marked,
            _ => return Err((6, "no, capable or marked")),
        },
    };
    let reason = || {
        let known = DropReason::ALL.iter().find(|reason| reason.name() == &record[9]);
        known.copied().ok_or((9, "the reason of a loss"))
    };
    let fate = match &record[8] {
        "sent" => Fate::Sent { at: Time(number(record, 11)?), marked: number::<u8>(record, 10)? == 1 },
        "dropped" => Fate::Dropped(reason()?),
        "evicted" => Fate::Evicted { at: Time(number(record, 11)?), reason: reason()? },
        _ => return Err((8, "sent, dropped or evicted")),
    };
    Ok(Recorded { incoming, queue: number(record, 7)?, fate })
}
