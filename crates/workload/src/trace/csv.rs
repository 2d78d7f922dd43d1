//! Reads a packet trace from a CSV file.

use super::{PacketPlace, PacketProblem, RawTrace, TraceError};
use crate::flow_list::{parse_scaled, parse_whole};
use ::csv::{ReaderBuilder, StringRecord, Trim};
use bufferlab_units::quantity::Dimension;
use std::io::Read;
use std::path::Path;

/// Name of a time column, number of decimals that the reader keeps, and picoseconds per unit of the
/// last decimal. A date in seconds would not fit into 64 bits of picoseconds.
const TIMES: [(&str, u32, i128); 4] =
    [("time_ps", 0, 1), ("time_ns", 3, 1), ("time_us", 6, 1), ("time_s", 9, 1_000)];

struct Columns {
    time: (usize, u32, i128),
    src: usize,
    dst: usize,
    size: usize,
    priority: Option<usize>,
}

pub(super) fn read(path: &Path, content: impl Read) -> Result<RawTrace, TraceError> {
    // The line number is the number of line ends so far. The reader adds an end to the last line,
    // unless this line is empty.
    let end: &[u8] = b"\n";
    let mut reader = ReaderBuilder::new()
        .comment(Some(b'#'))
        .trim(Trim::All)
        .flexible(true)
        .from_reader(content.chain(end));
    let damaged = |line: u64, error: ::csv::Error| {
        let place = PacketPlace::Line(line);
        let words = error.to_string();
        let cause = match error.into_kind() {
            ::csv::ErrorKind::Utf8 { .. } => "not UTF-8 text".to_owned(),
            ::csv::ErrorKind::Io(cause) => return TraceError::io(path, cause),
            _ => words,
        };
        TraceError::Damaged { path: path.to_owned(), place, cause }
    };
    let header = reader.headers().map_err(|error| damaged(1, error))?.clone();
    if header.is_empty() {
        return Err(TraceError::Empty { path: path.to_owned() });
    }
    let (columns, ignored_columns) = columns(path, &header)?;
    let (mut trace, mut record) = (RawTrace { ignored_columns, ..RawTrace::default() }, StringRecord::new());
    loop {
        let read = reader.read_record(&mut record);
        // The position of a record is before preceding comments. The position of the reader is
        // after the record.
        let line = reader.position().line().saturating_sub(1).max(2);
        match read {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => return Err(damaged(line, error)),
        }
        let place = PacketPlace::Line(line);
        let packet = packet(&columns, &header, &record).map_err(|problem| TraceError::Packet {
            path: path.to_owned(),
            place,
            problem,
        })?;
        let hosts = [columns.src, columns.dst].map(|column| trace.name(&record[column]));
        trace.add(path, packet.at_ps, hosts, packet.size, packet.priority, place)?;
    }
    Ok(trace)
}

fn columns(path: &Path, header: &StringRecord) -> Result<(Columns, Vec<String>), TraceError> {
    let find = |name: &str| header.iter().position(|column| column == name);
    let missing = |column| TraceError::MissingColumn {
        path: path.to_owned(),
        column,
        found: header.iter().map(|column| format!("`{column}`")).collect::<Vec<_>>().join(", "),
    };
    let time = TIMES.iter().find_map(|(name, decimals, unit)| Some((find(name)?, *decimals, *unit)));
    let columns = Columns {
        time: time.ok_or_else(|| missing("`time_ps`, `time_ns`, `time_us` or `time_s`"))?,
        src: find("src").ok_or_else(|| missing("`src`"))?,
        dst: find("dst").ok_or_else(|| missing("`dst`"))?,
        size: find("size_bytes").ok_or_else(|| missing("`size_bytes`"))?,
        priority: find("priority"),
    };
    let used =
        [Some(columns.time.0), Some(columns.src), Some(columns.dst), Some(columns.size), columns.priority];
    let ignored = header.iter().enumerate().filter(|(index, _)| !used.contains(&Some(*index)));
    Ok((columns, ignored.map(|(_, name)| name.to_owned()).collect()))
}

/// Packet that a line of the CSV file describes, without its addresses.
struct Packet {
    /// Time of the packet since an arbitrary instant of the file (ps).
    at_ps: i128,
    /// Size of the trace packet on the wire (bytes).
    size: u64,
    priority: Option<u8>,
}

fn packet(columns: &Columns, header: &StringRecord, record: &StringRecord) -> Result<Packet, PacketProblem> {
    if record.len() != header.len() {
        return Err(PacketProblem::FieldCount { expected: header.len(), found: record.len() });
    }
    let cell = |column: usize| {
        move |problem| PacketProblem::Cell {
            column: header[column].to_owned(),
            value: record[column].to_owned(),
            problem,
        }
    };
    let (time, decimals, unit_ps) = columns.time;
    let units = parse_scaled(&record[time], decimals).map_err(cell(time))?.units;
    let size = parse_whole(&record[columns.size], Dimension::Size.largest()).map_err(cell(columns.size))?;
    if size == 0 {
        return Err(PacketProblem::NoBytes);
    }
    let priority = match columns.priority {
        Some(column) if !record[column].is_empty() => {
            Some(parse_whole(&record[column], u64::from(u8::MAX)).map_err(cell(column))? as u8)
        }
        _ => None,
    };
    Ok(Packet { at_ps: i128::from(units) * unit_ps, size, priority })
}
