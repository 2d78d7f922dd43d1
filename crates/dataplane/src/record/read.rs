//! Reads a record of packets, complete or not.

use super::{COMPLETE, PROGRESS_FILE, RECORD_FILE, Recorded, row};
use bufferlab_units::Time;
use std::path::{Path, PathBuf};

/// Error of reading a record of packets.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The record file is missing or not CSV.
    #[error("cannot read {}: {source}", path.display())]
    Csv {
        /// Path of the record file.
        path: PathBuf,
        /// Error that the CSV reader reported.
        source: csv::Error,
    },
    /// A cell of the record has a wrong value.
    #[error("{}:{line}: column `{column}` is \"{found}\", expected {expected}", path.display())]
    Cell {
        /// Path of the record file.
        path: PathBuf,
        /// Number of the line in the file, from 1.
        line: u64,
        /// Name of the column that has the wrong cell.
        column: &'static str,
        /// Text in the wrong cell of the record.
        found: String,
        /// Description of the text that the reader expected.
        expected: &'static str,
    },
}

/// Packets of a record, and the missing part of an incomplete record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Recorded packets in the order of arrival.
    pub rows: Vec<Recorded>,
    /// Missing part of an incomplete record; `None` if the record is complete.
    pub missing: Option<MissingEnd>,
}

/// End of an incomplete record: the switch was killed, or the disk was full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingEnd {
    /// Number of bytes of a truncated last line; 0 if the last line is complete.
    pub cut_bytes: usize,
    /// Time before which every arrived packet has its line in the record. Later packets may lack a
    /// line, although the switch stored these packets.
    pub settled: Time,
}

/// Reads the packets of the record in `folder`. `names` are the ports of the switch. A truncated
/// last line is skipped.
///
/// # Errors
/// [`RecordError`], with file and line.
pub fn read_record(folder: &Path, names: &[String]) -> Result<Record, RecordError> {
    let path = folder.join(RECORD_FILE);
    let content = read_file(&path)?;
    let whole = content.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    let cut_bytes = content.len() - whole;
    let mut rows = if whole == 0 { Vec::new() } else { read_rows(&path, &content[..whole], names)? };
    let settled = settled(&folder.join(PROGRESS_FILE), rows.len() as u64, cut_bytes > 0)?;
    rows.sort_by_key(|row: &Recorded| row.incoming.at);
    Ok(Record { rows, missing: settled.map(|settled| MissingEnd { cut_bytes, settled }) })
}

fn read_file(path: &Path) -> Result<Vec<u8>, RecordError> {
    let broken = |error: std::io::Error| RecordError::Csv { path: path.to_owned(), source: error.into() };
    std::fs::read(path).map_err(broken)
}

fn read_rows(path: &Path, content: &[u8], names: &[String]) -> Result<Vec<Recorded>, RecordError> {
    let broken = |source| RecordError::Csv { path: path.to_owned(), source };
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(content);
    let (mut rows, mut record) = (Vec::new(), csv::StringRecord::new());
    let path = path.to_owned();
    if reader.headers().map_err(broken)?.iter().ne(row::COLUMNS) {
        let found = reader.headers().map_err(broken)?.iter().collect::<Vec<_>>().join(",");
        let expected = "the columns of a record";
        return Err(RecordError::Cell { path, line: 1, column: "time_ps", found, expected });
    }
    while reader.read_record(&mut record).map_err(broken)? {
        let line = record.position().map_or(0, csv::Position::line);
        let row = row::parse(&record, names).map_err(|(column, expected)| RecordError::Cell {
            path: path.clone(),
            line,
            column: row::COLUMNS[column],
            found: record.get(column).unwrap_or_default().to_owned(),
            expected,
        })?;
        rows.push(row);
    }
    Ok(rows)
}

/// Returns the time until which an incomplete record with `lines` lines has all packets. For a
/// truncated record without a progress file, the time is 0. A record without truncation and without
/// a progress file counts as complete.
fn settled(progress: &Path, lines: u64, is_cut: bool) -> Result<Option<Time>, RecordError> {
    if !progress.exists() {
        return Ok(is_cut.then_some(Time::ZERO));
    }
    let content = read_file(progress)?;
    let whole = content.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    let text = String::from_utf8_lossy(&content[..whole]);
    let (mut settled, mut is_complete) = (Time::ZERO, false);
    for (index, line) in text.lines().enumerate().skip(1) {
        let cells: Vec<_> = line.split(',').collect();
        let [packets, until, state] = cells[..] else { return Err(no_mark(progress, index, line)) };
        let number = |cell: &str| cell.parse::<u64>().map_err(|_| no_mark(progress, index, line));
        // Rows of the progress file that count more lines than the record has are ignored: the
        // record was truncated later.
        if number(packets)? <= lines {
            (settled, is_complete) = (Time(number(until)?), state == COMPLETE);
        }
    }
    Ok((is_cut || !is_complete).then_some(settled))
}

fn no_mark(path: &Path, index: usize, line: &str) -> RecordError {
    RecordError::Cell {
        path: path.to_owned(),
        line: index as u64 + 1,
        column: "packets",
        found: line.to_owned(),
        expected: "packets,settled_ps,state",
    }
}
