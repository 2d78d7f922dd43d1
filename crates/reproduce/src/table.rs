//! Reads CSV tables by column names and reports mistakes with file, line and column.

use crate::{ReproduceError, Verdict};
use bufferlab_params::{quoted_list, suggestion};
use csv::StringRecord;
use serde::Serialize;
use std::io;

/// A mistake in a CSV table of the papers' claims.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {}{why}", column.as_ref().map_or_else(String::new, |column| format!("column {column}: ")))]
pub struct TableError {
    /// Name of the table's file.
    pub file: String,
    /// Number of the line with the mistake; the first line has the number 1.
    pub line: u64,
    /// Name of the column with the mistake; `None` if the whole line is wrong.
    pub column: Option<String>,
    /// Description of the mistake in the table, and the expected value.
    pub why: String,
}

/// Type of the rows of a CSV table.
pub(crate) trait CsvRow: Sized {
    /// Names of the columns that the table must have, in any order.
    const COLUMNS: &'static [&'static str];

    /// Reads a row of the table from its cells.
    fn read(cells: &Cells<'_>) -> Result<Self, TableError>;
}

/// Cells of a line in a CSV table.
pub(crate) struct Cells<'a> {
    file: &'a str,
    line: u64,
    header: &'a StringRecord,
    record: &'a StringRecord,
}

impl Cells<'_> {
    /// Creates the error for a cell with a wrong value.
    pub(crate) fn wrong(&self, column: &str, why: String) -> TableError {
        TableError { file: self.file.to_owned(), line: self.line, column: Some(column.to_owned()), why }
    }

    fn cell(&self, column: &str) -> &str {
        let place = self.header.iter().position(|known| known == column);
        place.and_then(|place| self.record.get(place)).unwrap_or_default()
    }

    /// Reads the text in a column of this line.
    pub(crate) fn text(&self, column: &str) -> String {
        self.cell(column).to_owned()
    }

    /// Returns name and value of the columns that are not in the list `known`.
    pub(crate) fn others(&self, known: &[&str]) -> Vec<(String, String)> {
        let pairs = self.header.iter().zip(self.record).filter(|(name, _)| !known.contains(name));
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    /// Reads the whole number in a column of this line.
    pub(crate) fn count(&self, column: &str) -> Result<u64, TableError> {
        let cell = self.cell(column);
        cell.parse().map_err(|_| self.wrong(column, format!("expected a whole number, found \"{cell}\"")))
    }

    /// Reads the floating-point number in a column of this line.
    pub(crate) fn number(&self, column: &str) -> Result<f64, TableError> {
        let cell = self.cell(column);
        cell.parse().map_err(|_| self.wrong(column, format!("expected a number, found \"{cell}\"")))
    }

    /// Reads the verdict in a column of this line.
    pub(crate) fn verdict(&self, column: &str) -> Result<Verdict, TableError> {
        let cell = self.cell(column);
        Verdict::ALL.into_iter().find(|verdict| verdict.name() == cell).ok_or_else(|| {
            let names = || Verdict::ALL.iter().map(|verdict| verdict.name());
            let near =
                suggestion(cell, names()).map_or_else(String::new, |near| format!("did you mean {near}? "));
            self.wrong(
                column,
                format!("there is no verdict \"{cell}\" ({near}known: {})", quoted_list(names())),
            )
        })
    }
}

/// Reads the rows of a table with their line numbers. A file without a header has no rows.
pub(crate) fn lines<T: CsvRow>(file: &str, text: &str) -> Result<Vec<(u64, T)>, TableError> {
    let failed = |error: csv::Error| {
        let line = error.position().map_or(1, csv::Position::line);
        let why = match error.kind() {
            csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                format!(
                    "{len} cells where the header has {expected_len} columns; texts with commas stand in quotes"
                )
            }
            _ => error.to_string(),
        };
        TableError { file: file.to_owned(), line, column: None, why }
    };
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().map_err(failed)?.clone();
    if header.is_empty() {
        return Ok(Vec::new());
    }
    let missing = |column: &&&str| !header.iter().any(|known| known == **column);
    if let Some(column) = T::COLUMNS.iter().find(missing) {
        let foreign = header.iter().filter(|known| !T::COLUMNS.contains(known));
        let why = match suggestion(column, foreign) {
            Some(near) => format!("the header does not have it; it has \"{near}\""),
            None => "the header does not have it".to_owned(),
        };
        return Err(TableError { file: file.to_owned(), line: 1, column: Some((*column).to_owned()), why });
    }
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(failed)?;
        let line = record.position().map_or(1, csv::Position::line);
        rows.push((line, T::read(&Cells { file, line, header: &header, record: &record })?));
    }
    Ok(rows)
}

/// Reads the rows of a CSV table.
pub(crate) fn rows<T: CsvRow>(file: &str, text: &str) -> Result<Vec<T>, TableError> {
    Ok(lines(file, text)?.into_iter().map(|(_, row)| row).collect())
}

/// Formats rows as CSV with a header.
///
/// # Errors
/// If a row cannot be written as CSV.
pub(crate) fn to_csv<'a, T: Serialize + 'a>(
    name: &'static str,
    rows: impl Iterator<Item = &'a T>,
) -> Result<String, ReproduceError> {
    let written = || {
        let mut writer = csv::Writer::from_writer(Vec::new());
        for row in rows {
            writer.serialize(row)?;
        }
        let bytes = writer.into_inner().map_err(|error| error.into_error())?;
        Ok(String::from_utf8(bytes).map_err(io::Error::other)?)
    };
    written().map_err(|source: csv::Error| ReproduceError::Unwritable { name, source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Record;

    const HEADER: &str = "id,verdict,measured,seeds,scale,profile,experiment,note,commit,date";

    fn refused(text: &str) -> String {
        lines::<Record>("claims/verdicts.csv", text).expect_err("the table is wrong").to_string()
    }

    #[test]
    fn a_mistake_is_named_with_file_line_and_column() {
        let good = "ABM-1,PASS,\"1, 2\",3,quick,paper,abm/fig6,,0,2026-01-01";
        let read =
            lines::<Record>("t", &format!("{HEADER}\n{good}\n")).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((read[0].0, read[0].1.measured.as_str(), read[0].1.seeds), (2, "1, 2", 3));
        let verdict = refused(&format!("{HEADER}\n{good}\n{}\n", good.replace("PASS", "PAS")));
        assert!(
            verdict.starts_with("claims/verdicts.csv:3: column verdict: there is no verdict \"PAS\""),
            "{verdict}"
        );
        assert!(verdict.contains("did you mean PASS?"), "{verdict}");
        let seeds = refused(&format!("{HEADER}\n{}\n", good.replace(",3,", ",three,")));
        assert_eq!(seeds, "claims/verdicts.csv:2: column seeds: expected a whole number, found \"three\"");
        let cells = refused(&format!("{HEADER}\n{}\n", good.replace('"', "")));
        assert!(cells.starts_with("claims/verdicts.csv:2: 11 cells where the header has 10"), "{cells}");
        let header = refused(&format!("{}\n{good}\n", HEADER.replace("verdict", "verdct")));
        assert_eq!(
            header,
            "claims/verdicts.csv:1: column verdict: the header does not have it; it has \"verdct\""
        );
    }
}
