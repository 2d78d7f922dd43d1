//! Reads a flow list and checks its columns and fields for mistakes.

use super::limited::{LimitedLines, LineTooLong, unpacked};
use super::number::{parse_scaled, parse_whole};
use super::{CellProblem, DEFAULT_CLASS, FlowListError, hidden_in};
use crate::FlowSpec;
use crate::limits::FLOWS_MAX;
use bufferlab_units::Time;
use bufferlab_units::quantity::Dimension;
use csv::StringRecord;
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// Content of a flow list file: flows, classes and ignored columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowList {
    /// Flows, ordered by start; flows with equal starts keep the order of their lines.
    pub flows: Vec<FlowSpec>,
    /// Class names by [`FlowSpec::class`], in the order of their first appearance in the file.
    pub classes: Vec<String>,
    /// Ignored columns, in the order of the file. These columns deserve a warning, because a
    /// misspelt column `query` would be ignored.
    pub ignored_columns: Vec<String>,
}

/// Reads a flow list: a CSV file with a header, plain or gzipped.
///
/// | column | meaning |
/// |---|---|
/// | `src`, `dst` | host number (from 0) or host name |
/// | `size_bytes` | payload, at least 1 |
/// | `start_ns` or `start_ps` | time at which the data is handed over; decimals count to the picosecond |
/// | `class` | optional: name of the traffic class; `flow` if missing or empty |
/// | `query` | optional: number of the query that the flow answers; empty for none |
/// | `conn_open_ns`, `open_ns` or `open_ps` | optional: time at which the connection opens; with the flow if empty or equal to the start |
/// | `data_path`, `ack_path` | optional: choices (0..=255) at the branching switches, first one first, separated by `/`; the topology's rule if empty |
///
/// The reader ignores and reports other columns. Lines that begin with `#` are comments.
///
/// `hosts` is the number of hosts of the topology, and `host_names` are their names. The list of
/// names may be empty if hosts have only numbers. The content decides whether a file is gzipped,
/// not the file name.
///
/// # Errors
/// [`FlowListError`], with file, line, column, the expected value and advice.
pub fn read_flow_list(path: &Path, hosts: usize, host_names: &[String]) -> Result<FlowList, FlowListError> {
    let content = std::fs::read(path).map_err(|cause| FlowListError::Io { path: path.to_owned(), cause })?;
    parse_flow_list(path, &content, hosts, host_names)
}

/// Reads a flow list from given content, like [`read_flow_list`]; `path` is for messages.
///
/// # Errors
/// Returns the errors of [`read_flow_list`].
pub fn parse_flow_list(
    path: &Path,
    content: &[u8],
    hosts: usize,
    host_names: &[String],
) -> Result<FlowList, FlowListError> {
    Reader::new(path, content, hosts, host_names).read(FLOWS_MAX)
}

/// Decompresses a file if necessary and returns its text.
fn open(content: &[u8]) -> Box<dyn Read + '_> {
    Box::new(LimitedLines::new(unpacked(content)))
}

/// Memory of a flow that waits for its start (bytes).
pub const FLOW_BYTES: usize = size_of::<FlowSpec>();

/// First byte of a comment line in a flow list.
const COMMENT: u8 = b'#';

/// Positions of the columns in a flow list.
struct Columns {
    names: StringRecord,
    src: usize,
    dst: usize,
    size: usize,
    start: TimeColumn,
    class: Option<usize>,
    query: Option<usize>,
    open: Option<TimeColumn>,
    data_path: Option<usize>,
    ack_path: Option<usize>,
}

#[derive(Clone, Copy)]
struct TimeColumn {
    index: usize,
    /// Number of decimal digits between the column's unit and a picosecond.
    decimals: u32,
}

impl Columns {
    /// Finds the columns in a header; also returns the names of unknown columns.
    fn find(path: &Path, names: StringRecord) -> Result<(Self, Vec<String>), FlowListError> {
        let found: Vec<String> = names.iter().map(str::to_owned).collect();
        if let Some(twice) = (1..found.len()).find(|&index| found[..index].contains(&found[index])) {
            return Err(FlowListError::DuplicateColumn {
                path: path.to_owned(),
                column: found[twice].clone(),
            });
        }
        let mut used = vec![false; found.len()];
        let mut find = |name: &str| {
            let index = found.iter().position(|other| other == name)?;
            used[index] = true;
            Some(index)
        };
        let missing =
            |column| FlowListError::MissingColumn { path: path.to_owned(), column, found: found.clone() };
        let ps = |index| TimeColumn { index, decimals: 0 };
        let ns = |index| TimeColumn { index, decimals: 3 };
        let columns = Self {
            names,
            src: find("src").ok_or_else(|| missing("src"))?,
            dst: find("dst").ok_or_else(|| missing("dst"))?,
            size: find("size_bytes").ok_or_else(|| missing("size_bytes"))?,
            // If several columns give one time, the most precise column is used. The other columns
            // count as ignored.
            start: (find("start_ps").map(ps))
                .or_else(|| find("start_ns").map(ns))
                .ok_or_else(|| missing("start_ns"))?,
            class: find("class"),
            query: find("query"),
            open: (find("open_ps").map(ps))
                .or_else(|| find("conn_open_ns").map(ns))
                .or_else(|| find("open_ns").map(ns)),
            data_path: find("data_path"),
            ack_path: find("ack_path"),
        };
        let ignored = found.iter().zip(used).filter(|(_, used)| !used).map(|(name, _)| name.clone());
        Ok((columns, ignored.collect()))
    }
}

struct Reader<'a> {
    path: &'a Path,
    content: &'a [u8],
    hosts: usize,
    host_names: &'a [String],
    host_by_name: BTreeMap<&'a str, u32>,
    classes: Vec<String>,
    class_by_name: BTreeMap<String, u16>,
}

/// Problem with a field (column index), before file and line are known.
type Fault = (usize, CellProblem);

impl<'a> Reader<'a> {
    fn new(path: &'a Path, content: &'a [u8], hosts: usize, host_names: &'a [String]) -> Self {
        let host_by_name = (0..).zip(host_names).map(|(host, name)| (name.as_str(), host)).collect();
        let (classes, class_by_name) = (Vec::new(), BTreeMap::new());
        Self { path, content, hosts, host_names, host_by_name, classes, class_by_name }
    }

    /// Reads a flow list of at most `most` flows.
    fn read(mut self, most: usize) -> Result<FlowList, FlowListError> {
        let path = self.path;
        let text = open(self.content);
        // The reader is `flexible`, so that this function reports a wrong number of fields, with
        // advice.
        let mut reader = csv::ReaderBuilder::new()
            .comment(Some(COMMENT))
            .trim(csv::Trim::All)
            .flexible(true)
            .from_reader(text);
        let header = reader.headers().map_err(|error| self.csv_error(error))?.clone();
        if header.is_empty() {
            return Err(FlowListError::Empty { path: path.to_owned() });
        }
        let (columns, ignored_columns) = Columns::find(path, header)?;
        let mut flows = Vec::new();
        let mut record = StringRecord::new();
        while reader.read_record(&mut record).map_err(|error| self.csv_error(error))? {
            let (expected, found) = (columns.names.len(), record.len());
            if found != expected {
                let line = self.line(record.position());
                return Err(FlowListError::FieldCount { path: path.to_owned(), line, expected, found });
            }
            let flow = self.flow(&columns, &record).map_err(|(column, problem)| FlowListError::Cell {
                path: path.to_owned(),
                line: self.line(record.position()),
                column: columns.names[column].to_owned(),
                value: record[column].to_owned(),
                problem,
            })?;
            if flows.len() == most {
                let line = self.line(record.position());
                return Err(FlowListError::TooManyFlows { path: path.to_owned(), line, most });
            }
            flows.push(flow);
        }
        if flows.is_empty() {
            return Err(FlowListError::Empty { path: path.to_owned() });
        }
        flows.sort_by_key(|flow| flow.start);
        Ok(FlowList { flows, classes: self.classes, ignored_columns })
    }

    fn csv_error(&self, error: csv::Error) -> FlowListError {
        let path = self.path.to_owned();
        match error.kind() {
            csv::ErrorKind::Utf8 { pos, .. } => {
                FlowListError::NotUtf8 { path, line: self.line(pos.as_ref()) }
            }
            csv::ErrorKind::Io(cause) => match LineTooLong::find_in(cause) {
                Some(LineTooLong { line }) => FlowListError::LineTooLong { path, line },
                None => FlowListError::Io { path, cause: error.into() },
            },
            _ => FlowListError::Io { path, cause: error.into() },
        }
    }

    /// Line number of the record at `position`. The position of the CSV reader is before blank
    /// lines and comments, so this function reads the file again to skip these lines.
    fn line(&self, position: Option<&csv::Position>) -> u64 {
        let Some(position) = position else { return 1 };
        let skipped = || -> io::Result<u64> {
            let mut text = BufReader::new(open(self.content));
            io::copy(&mut text.by_ref().take(position.byte()), &mut io::sink())?;
            let mut skipped = 0;
            for content in text.split(b'\n') {
                let content = content?;
                let blank = matches!(content[..], [] | [b'\r']);
                if !blank && content[0] != COMMENT {
                    break;
                }
                skipped += 1;
            }
            Ok(skipped)
        };
        // If the file cannot be read a second time, the line number is approximate.
        position.line() + skipped().unwrap_or(0)
    }

    fn flow(&mut self, columns: &Columns, record: &StringRecord) -> Result<FlowSpec, Fault> {
        let at = |column: usize| move |problem| (column, problem);
        let src = self.host(&record[columns.src]).map_err(at(columns.src))?;
        let dst = self.host(&record[columns.dst]).map_err(at(columns.dst))?;
        if src == dst {
            return Err((columns.dst, CellProblem::ToItself));
        }
        let size = parse_whole(&record[columns.size], Dimension::Size.largest()).map_err(at(columns.size))?;
        if size == 0 {
            return Err((columns.size, CellProblem::EmptyFlow));
        }
        let start = time(columns.start, record)?;
        let open = match columns.open {
            Some(column) if !record[column.index].is_empty() => Some(time(column, record)?),
            _ => None,
        };
        if let (Some(open), Some(column)) = (open, columns.open)
            && open > start
        {
            return Err((column.index, CellProblem::OpenAfterStart));
        }
        let query = match columns.query {
            Some(column) if !record[column].is_empty() => {
                let largest = u64::from(FlowSpec::NO_QUERY) - 1;
                parse_whole(&record[column], largest).map_err(at(column))? as u32
            }
            _ => FlowSpec::NO_QUERY,
        };
        let class_name = columns.class.map_or(DEFAULT_CLASS, |column| &record[column]);
        // A list without the column `class` has only one class, so the call cannot fail.
        let class = self.class(class_name).map_err(at(columns.class.unwrap_or(columns.src)))?;
        let route = |column: Option<usize>| match column {
            Some(column) if !record[column].is_empty() => {
                choices(&record[column]).map(Some).map_err(at(column))
            }
            _ => Ok(None),
        };
        Ok(FlowSpec {
            start,
            src,
            dst,
            size,
            class,
            query,
            // If a line gives no time, the connection opens when its flow starts.
            open: open.filter(|&open| open < start),
            data_path: route(columns.data_path)?,
            ack_path: route(columns.ack_path)?,
            node: FlowSpec::NO_NODE,
        })
    }

    /// Finds the host with the name or number `text`.
    fn host(&self, text: &str) -> Result<u32, CellProblem> {
        let number = parse_whole(text, u64::from(u32::MAX)).ok().map(|number| number as u32);
        let number = number.filter(|&number| (number as usize) < self.hosts);
        match (self.host_by_name.get(text).copied(), number) {
            (Some(named), Some(number)) if named != number => Err(CellProblem::AmbiguousHost),
            (Some(host), _) | (None, Some(host)) => Ok(host),
            (None, None) => Err(CellProblem::UnknownHost { known: self.known_hosts() }),
        }
    }

    fn known_hosts(&self) -> String {
        let numbers = match self.hosts {
            0 => return "missing: the topology has none".to_owned(),
            hosts => format!("the numbers 0 to {}", hosts - 1),
        };
        match self.host_names {
            [] => numbers,
            [only] => format!("{numbers}, or the name `{only}`"),
            [first, .., last] => format!("{numbers}, or their names `{first}` to `{last}`"),
        }
    }

    /// Returns the index of the class called `name`.
    fn class(&mut self, name: &str) -> Result<u16, CellProblem> {
        let name = if name.is_empty() { DEFAULT_CLASS } else { name };
        if let Some(&class) = self.class_by_name.get(name) {
            return Ok(class);
        }
        if let Some(character) = hidden_in(name) {
            return Err(CellProblem::Hidden { code: u32::from(character) });
        }
        if self.classes.len() >= usize::from(u16::MAX) {
            return Err(CellProblem::TooManyClasses);
        }
        let class = self.classes.len() as u16;
        self.classes.push(name.to_owned());
        self.class_by_name.insert(name.to_owned(), class);
        Ok(class)
    }
}

fn time(column: TimeColumn, record: &StringRecord) -> Result<Time, Fault> {
    let scaled = parse_scaled(&record[column.index], column.decimals).map(|scaled| scaled.units);
    let bounded = scaled.and_then(|ps| match ps <= Dimension::Time.largest() {
        true => Ok(Time(ps)),
        false => Err(CellProblem::TooLarge),
    });
    bounded.map_err(|problem| (column.index, problem))
}

/// Packs text such as `3/1` for [`FlowSpec::data_path`]: the lowest byte of the result contains the
/// first choice.
fn choices(text: &str) -> Result<u32, CellProblem> {
    let mut bytes = [0; 4];
    let mut given = text.split('/');
    for (byte, choice) in bytes.iter_mut().zip(&mut given) {
        *byte = choice.trim().parse().map_err(|_| CellProblem::NotAPath)?;
    }
    if given.next().is_some() { Err(CellProblem::NotAPath) } else { Ok(u32::from_le_bytes(bytes)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_more_flows_than_the_limit_is_refused_with_line_count_and_memory() {
        let text = "src,dst,size_bytes,start_ns\n# three of them\n0,1,1,0\n0,1,1,0\n0,1,1,0\n";
        let read = |most| Reader::new(Path::new("f.csv"), text.as_bytes(), 2, &[]).read(most);
        assert_eq!(read(3).expect("as many as may be").flows.len(), 3);
        let said = read(2).expect_err("one more").to_string();
        assert!(said.starts_with("flow list f.csv, line 5: more than 2 flows"), "{said}");
        assert!(said.contains(&format!("{FLOW_BYTES} bytes")), "{said}");
    }
}
