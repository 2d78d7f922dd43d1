//! Reads configuration tables that have columns instead of JSON: `pg_profile_lookup.ini` and
//! `port_config.ini`.

use crate::config::LookupRow;
use crate::place::{ConfigPlace, Problem, Refusal, Weight, printable};
use crate::raw::{NUMBER_MAX, RawField, RawTables, SIZE_MAX};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Content of a configuration table that is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Columns {
    /// The table is a lookup table with the columns speed, cable, size and others.
    Lookup,
    /// The table lists ports, with the columns name, lanes and others.
    Ports,
}

/// Detects the content of a table by its first row. A table without rows is detected by
/// its header or name.
pub(crate) fn detect(name: &str, text: &str) -> Option<Columns> {
    let Some((_, first)) = rows(text).next() else {
        let header = |mark: &str| text.lines().any(|line| line.starts_with('#') && line.contains(mark));
        let lookup = name.contains("pg_profile_lookup") || header("speed");
        let ports = name.contains("port_config") || header("lanes");
        return if ports { Some(Columns::Ports) } else { lookup.then_some(Columns::Lookup) };
    };
    let words: Vec<_> = first.split_whitespace().collect();
    let is_number = |word: &str| word.parse::<u64>().is_ok();
    match words[..] {
        [speed, cable, ..] if is_number(speed) && metres(cable).is_some() => Some(Columns::Lookup),
        [name, lanes, ..] if name.starts_with(|c: char| c.is_ascii_alphabetic()) => {
            lanes.split(',').all(is_number).then_some(Columns::Ports)
        }
        _ => None,
    }
}

/// Returns rows with their line numbers, without comments and empty lines.
fn rows(text: &str) -> impl Iterator<Item = (u32, &str)> {
    let content = |line: &'_ str| line.find('#').unwrap_or(line.len());
    let numbered = (1..).zip(text.lines().map(move |line| &line[..content(line)]));
    numbered.filter(|(_, line)| !line.trim().is_empty())
}

/// Length of the longest cable (metres): half of the earth's circumference.
const METRES_MAX: f64 = 2e7;

/// Parses a length such as `5m`, `300M` or `0.5m` to metres.
pub(crate) fn metres(text: &str) -> Option<f64> {
    let number = text.trim().strip_suffix(['m', 'M'])?.trim().parse::<f64>().ok()?;
    (0.0..=METRES_MAX).contains(&number).then_some(number)
}

/// Reads the lookup table `pg_profile_lookup.ini`.
pub(crate) fn lookup(file: &Arc<str>, text: &str, raw: &mut RawTables) -> Result<Vec<LookupRow>, Refusal> {
    let mut found: Vec<LookupRow> = Vec::new();
    for (line, row) in rows(text) {
        raw.count(file, line, 7)?;
        let words: Vec<_> = row.split_whitespace().collect();
        let key = words.iter().take(2).copied().collect::<Vec<_>>().join(" ");
        let place = ConfigPlace::entry(file, line, "pg_profile_lookup", &key);
        let problem = |message: String, help: &str| Problem {
            weight: Weight::Refused,
            place: place.clone(),
            message,
            help: help.to_owned(),
        };
        match row_of(&words, &place) {
            Ok(row) => {
                let same = |old: &&mut LookupRow| {
                    (old.speed_mbps, old.cable_metres) == (row.speed_mbps, row.cable_metres)
                };
                match found.iter_mut().find(same) {
                    Some(old) => {
                        // The switch reads rows into a map by speed and cable, so the last row with
                        // a speed and cable counts.
                        let equal = LookupRow { place: old.place.clone(), ..row.clone() } == *old;
                        let message =
                            format!("a second row of this speed and cable, after line {}", old.place.line);
                        let help = "keep one of them; the last one holds";
                        let weight = if equal { Weight::Note } else { Weight::Refused };
                        raw.problems.push(Problem { weight, ..problem(message, help) });
                        *old = row;
                    }
                    None => found.push(row),
                }
            }
            Err(message) => raw.problems.push(problem(
                message,
                "write speed (Mb/s), cable (such as 5m), size, xon, xoff, threshold and, if need be, xon_offset",
            )),
        }
    }
    Ok(found)
}

fn row_of(words: &[&str], place: &ConfigPlace) -> Result<LookupRow, String> {
    let (count, expected) = (words.len(), "expected six or seven columns");
    let (&[speed, cable, size, xon, xoff, threshold], rest) =
        words.split_first_chunk::<6>().ok_or(format!("{count} columns; {expected}"))?;
    let offset = match rest {
        [] => None,
        [offset] => Some(bytes(offset)?),
        _ => return Err(format!("{count} columns; {expected}")),
    };
    let cable_metres =
        metres(cable).ok_or_else(|| format!("\"{}\" is not a cable length", printable(cable)))?;
    let threshold =
        threshold.parse::<i64>().ok().filter(|threshold| threshold.unsigned_abs() <= SIZE_MAX).ok_or_else(
            || format!("\"{}\" is neither an exponent of alpha nor bytes", printable(threshold)),
        )?;
    Ok(LookupRow {
        place: place.clone(),
        speed_mbps: below(speed, NUMBER_MAX, "Mb/s")?,
        cable_metres,
        size: bytes(size)?,
        xon: bytes(xon)?,
        xoff: bytes(xoff)?,
        threshold,
        xon_offset: offset,
    })
}

fn bytes(text: &str) -> Result<u64, String> {
    below(text, SIZE_MAX, "bytes")
}

fn below(text: &str, max: u64, unit: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| *number <= max);
    number.ok_or_else(|| format!("\"{}\" is not a whole number up to {max} ({unit})", printable(text)))
}

/// Columns of `port_config.ini` if no comment of the file names the columns.
const PORT_COLUMNS: &[&str] = &["name", "lanes", "alias", "index", "speed"];

/// Reads `port_config.ini` as the table `PORT`.
pub(crate) fn ports(file: &Arc<str>, text: &str, raw: &mut RawTables) -> Result<(), Refusal> {
    let header = text.lines().filter_map(|line| line.trim_start().strip_prefix('#'));
    let named: Vec<&str> = header
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .find(|words| words.first() == Some(&"name") && words.contains(&"lanes"))
        .unwrap_or_else(|| PORT_COLUMNS.to_vec());
    for (line, row) in rows(text) {
        raw.count(file, line, 1 + named.len())?;
        let words: Vec<_> = row.split_whitespace().collect();
        let place = ConfigPlace::entry(file, line, "PORT", words[0]);
        if words.len() > named.len() {
            raw.problems.push(Problem {
                weight: Weight::Refused,
                place: place.clone(),
                message: format!("{} columns, but the header names {}", words.len(), named.len()),
                help: format!("name all columns in a first line: # {}", named.join(" ")),
            });
        }
        let fields: BTreeMap<_, _> = named
            .iter()
            .zip(&words)
            .skip(1)
            .map(|(name, text)| {
                let field = RawField { text: (*text).to_owned(), line, file: Arc::clone(file) };
                ((*name).to_owned(), field)
            })
            .collect();
        raw.add("PORT", words[0], place, fields);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<LookupRow>, Vec<String>) {
        let mut raw = RawTables::default();
        let rows = lookup(&"p.ini".into(), text, &mut raw).expect("few rows");
        (rows, raw.problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn rows_have_six_or_seven_columns() {
        let (rows, problems) = read(
            "# speed cable size xon xoff threshold\n10000 5m 1248 0 35776 -3 2288 # a comment\n\n40000 300m 1 2 3 0\n",
        );
        assert_eq!(problems, [""; 0]);
        assert_eq!(
            (rows[0].speed_mbps, rows[0].cable_metres, rows[0].xon_offset),
            (10_000, 5.0, Some(2_288))
        );
        assert_eq!((rows[0].threshold, rows[1].xoff, rows[1].xon_offset), (-3, 3, None));
    }

    #[test]
    fn a_row_that_is_not_understood_is_named_with_its_line() {
        for row in ["10000 5m 1 2 3", "10000 5m 1 2 3 4 5 6", "10000 5 1 2 3 4", "10000 5m x 2 3 4"] {
            let (rows, problems) = read(&format!("40000 5m 1 2 3 0\n{row}\n"));
            assert_eq!((rows.len(), problems.len()), (1, 1), "{row}");
            assert!(problems[0].starts_with("p.ini:2: pg_profile_lookup|10000 5"), "{problems:?}");
        }
        let (rows, problems) = read("40000 5m 1 2 3 0\n40000 5m 1 2 4 0\n");
        assert!(rows.len() == 1 && rows[0].xoff == 4 && problems[0].contains("after line 1"), "{problems:?}");
    }

    #[test]
    fn tables_are_told_apart_by_their_rows() {
        assert_eq!(detect("a", "# x\n10000 5m 1 2 3 4\n"), Some(Columns::Lookup));
        assert_eq!(detect("a", "Ethernet0 1,2 alias 1\n"), Some(Columns::Ports));
        assert_eq!(detect("a", "some words\n"), None);
        assert_eq!(detect("a", "# speed cable size\n"), Some(Columns::Lookup));
        assert_eq!(detect("port_config.ini", ""), Some(Columns::Ports));
    }
}
