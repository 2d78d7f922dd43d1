//! Reads and checks a schedule in CSV format.

use super::{COLUMNS, DEFAULT_CLASS, ScheduleTextError};
use crate::limits::RANKS_MAX;
use crate::{
    Condition, Edge, NodeId, Schedule, ScheduleBuilder, ScheduleError, ScheduledCollective, Transfer, Work,
};
use bufferlab_units::Time;
use csv::StringRecord;
use std::collections::BTreeMap;
use std::path::Path;

/// Reads a schedule from the `content` of the file at `path`, which only messages use.
///
/// `ranks` is the number of ranks that the network has. With `None`, the file may use any rank, and
/// the schedule has as many ranks as the file uses.
///
/// # Errors
/// Returns [`ScheduleTextError`] with the line and the column.
pub fn parse_schedule(
    path: &Path,
    content: &[u8],
    ranks: Option<u32>,
) -> Result<Schedule, ScheduleTextError> {
    let csv_error = |cause| ScheduleTextError::Csv { path: path.to_owned(), cause };
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).trim(csv::Trim::All).from_reader(content);
    let header = Header::read(path, reader.headers().map_err(csv_error)?)?;
    let mut rows = Vec::new();
    let mut names = BTreeMap::new();
    for record in reader.into_records() {
        let row = Row { path, header: &header, record: record.map_err(csv_error)? };
        let name = row.name()?;
        if let Some(first) = names.insert(name.to_owned(), rows.len() as u32) {
            let line = row_line(&rows, first);
            return Err(
                row.cell("node", format!("\"{name}\" is the node of line {line}, too; rename one of them"))
            );
        }
        rows.push(row);
    }
    let ranks = match ranks {
        Some(ranks) => ranks,
        None => count_ranks(&rows)?,
    };
    let mut builder = ScheduleBuilder::new(ranks);
    let mut collectives = BTreeMap::new();
    for row in &rows {
        let work = row.work(&mut builder)?;
        let collective = row.collective(&mut collectives, &mut builder)?;
        builder.assign(collective);
        let node = builder.node(work).map_err(|cause| row.refuse(cause))?;
        if row.name()? != node.0.to_string() {
            builder.name(node, row.name()?);
        }
        let start = row.time("start_ns")?.unwrap_or(Time::ZERO);
        builder.not_before(node, start).map_err(|cause| row.refuse(cause))?;
    }
    for (child, row) in (0..).zip(&rows) {
        for word in row.get("after").split_whitespace() {
            let edge = row.edge(word, &names, &rows)?;
            builder.edge(NodeId(child), edge).map_err(|cause| row.refuse(cause))?;
        }
    }
    builder.build().map_err(|cause| ScheduleTextError::Schedule { path: path.to_owned(), line: None, cause })
}

/// Number of ranks of the file: the largest rank plus one.
fn count_ranks(rows: &[Row<'_>]) -> Result<u32, ScheduleTextError> {
    let mut ranks = 0;
    for row in rows {
        for column in ["src", "dst"] {
            if !row.get(column).is_empty() {
                ranks = ranks.max(row.rank(column)? + 1);
            }
        }
    }
    Ok(ranks)
}

fn row_line(rows: &[Row<'_>], row: u32) -> u64 {
    rows.get(row as usize).map_or(0, Row::line)
}

/// Position of every known column in the file's header.
struct Header([Option<usize>; COLUMNS.len()]);

impl Header {
    fn read(path: &Path, record: &StringRecord) -> Result<Self, ScheduleTextError> {
        let problem = |problem| ScheduleTextError::Column { path: path.to_owned(), problem };
        let mut places = [None; COLUMNS.len()];
        for (place, name) in record.iter().enumerate() {
            let column = COLUMNS.iter().position(|known| *known == name);
            let column = column.ok_or_else(|| problem(format!("unknown column `{name}`")))?;
            if places[column].replace(place).is_some() {
                return Err(problem(format!("column `{name}` appears twice")));
            }
        }
        for required in ["node", "kind", "after"] {
            if places[Self::index(required)].is_none() {
                return Err(problem(format!("no column `{required}`")));
            }
        }
        Ok(Self(places))
    }

    fn index(column: &str) -> usize {
        COLUMNS.iter().position(|known| *known == column).expect("the name is one of COLUMNS")
    }
}

/// A line of the schedule file, with the path and the header for messages.
struct Row<'a> {
    path: &'a Path,
    header: &'a Header,
    record: StringRecord,
}

impl Row<'_> {
    fn line(&self) -> u64 {
        self.record.position().map_or(0, csv::Position::line)
    }

    fn get(&self, column: &str) -> &str {
        self.header.0[Header::index(column)].and_then(|place| self.record.get(place)).unwrap_or_default()
    }

    fn cell(&self, column: &'static str, problem: String) -> ScheduleTextError {
        ScheduleTextError::Cell { path: self.path.to_owned(), line: self.line(), column, problem }
    }

    fn refuse(&self, cause: ScheduleError) -> ScheduleTextError {
        ScheduleTextError::Schedule { path: self.path.to_owned(), line: Some(self.line()), cause }
    }

    fn name(&self) -> Result<&str, ScheduleTextError> {
        let name = self.get("node");
        let is_name = !name.is_empty() && !name.contains([':', '+']) && !name.contains(char::is_whitespace);
        let problem = || format!("\"{name}\" is no name; expected a word without spaces, `:` and `+`");
        is_name.then_some(name).ok_or_else(|| self.cell("node", problem()))
    }

    fn number(&self, column: &'static str, most: u64) -> Result<u64, ScheduleTextError> {
        let text = self.get(column);
        let number = text.parse().ok().filter(|number| *number <= most);
        let problem = || format!("\"{text}\" is no value; expected a whole number up to {most}");
        number.ok_or_else(|| self.cell(column, problem()))
    }

    fn rank(&self, column: &'static str) -> Result<u32, ScheduleTextError> {
        self.number(column, u64::from(RANKS_MAX) - 1).map(|rank| rank as u32)
    }

    /// Reads a time in nanoseconds with at most three decimals; `None` if the field is empty.
    fn time(&self, column: &'static str) -> Result<Option<Time>, ScheduleTextError> {
        let text = self.get(column);
        if text.is_empty() {
            return Ok(None);
        }
        let problem = || format!("\"{text}\" is no time; expected nanoseconds with at most three decimals");
        picoseconds(text).map(Some).ok_or_else(|| self.cell(column, problem()))
    }

    fn work(&self, builder: &mut ScheduleBuilder) -> Result<Work, ScheduleTextError> {
        match self.get("kind") {
            "transfer" => {
                let class = Some(self.get("class")).filter(|class| !class.is_empty());
                let class =
                    builder.class(class.unwrap_or(DEFAULT_CLASS)).map_err(|cause| self.refuse(cause))?;
                let (src, dst) = (self.rank("src")?, self.rank("dst")?);
                Ok(Work::Transfer(Transfer { src, dst, bytes: self.number("size_bytes", u64::MAX)?, class }))
            }
            "compute" => {
                let lane =
                    if self.get("lane").is_empty() { 0 } else { self.number("lane", u64::from(u8::MAX))? };
                let duration = self.time("duration_ns")?;
                let missing = || self.cell("duration_ns", "a computation needs a time; 0 is one".to_owned());
                Ok(Work::Compute {
                    rank: self.rank("src")?,
                    lane: lane as u8,
                    duration: duration.ok_or_else(missing)?,
                })
            }
            "barrier" => Ok(Work::Barrier),
            other => {
                let problem = format!("\"{other}\" is no kind; expected `transfer`, `compute` or `barrier`");
                Err(self.cell("kind", problem))
            }
        }
    }

    /// Reads the collective of the row, and adds a new collective to the builder.
    fn collective<'a>(
        &'a self,
        known: &mut BTreeMap<&'a str, u32>,
        builder: &mut ScheduleBuilder,
    ) -> Result<Option<u32>, ScheduleTextError> {
        let text = self.get("collective");
        if text.is_empty() {
            return Ok(None);
        }
        if let Some(number) = known.get(text) {
            return Ok(Some(*number));
        }
        let collective = text
            .split_once(':')
            .and_then(|(number, rest)| number.parse::<u32>().ok().and(ScheduledCollective::parse(rest)));
        let problem =
            || format!("\"{text}\" is no collective; expected one such as 0:all_reduce:ring:65536:8");
        let number = builder.collective(collective.ok_or_else(|| self.cell("collective", problem()))?);
        known.insert(text, number);
        Ok(Some(number))
    }

    /// Reads an edge in the form `NODE[:CONDITION][+NANOSECONDS]`.
    fn edge(
        &self,
        word: &str,
        names: &BTreeMap<String, u32>,
        rows: &[Row<'_>],
    ) -> Result<Edge, ScheduleTextError> {
        let (rest, delay) = word.split_once('+').map_or((word, "0"), |(rest, delay)| (rest, delay));
        let (name, condition) = rest.split_once(':').map_or((rest, None), |(name, word)| (name, Some(word)));
        let Some(&parent) = names.get(name) else {
            let problem = format!("there is no node \"{name}\"; expected a name of the column `node`");
            return Err(self.cell("after", problem));
        };
        let is_transfer = rows[parent as usize].get("kind") == "transfer";
        let condition = match (condition, is_transfer) {
            (Some("started"), _) => Condition::Started,
            (Some("sent"), true) => Condition::Sent,
            (None, _) | (Some("received"), true) | (Some("done"), false) => Condition::Finished,
            (Some(other), _) => {
                let words =
                    if is_transfer { "`started`, `sent` or `received`" } else { "`started` or `done`" };
                let problem = format!("\"{name}\" is never \"{other}\"; expected {words}");
                return Err(self.cell("after", problem));
            }
        };
        let problem = || format!("\"{delay}\" is no delay; expected nanoseconds with at most three decimals");
        let delay = picoseconds(delay).ok_or_else(|| self.cell("after", problem()))?;
        Ok(Edge { node: NodeId(parent), condition, delay })
    }
}

/// Reads a number of nanoseconds with at most three decimals.
fn picoseconds(text: &str) -> Option<Time> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !are_digits(whole) || !are_digits(decimals) || decimals.len() > 3 {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    let decimals: u64 = format!("{decimals:0<3}").parse().ok()?;
    whole.checked_mul(1_000)?.checked_add(decimals).map(Time)
}
