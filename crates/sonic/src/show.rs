//! Reads the output of `show buffer configuration`, `show buffer information` and `mmuconfig -l`.
//!
//! The output consists of blocks. A block has a title (`Pool: NAME`, `Profile: NAME`,
//! `Lossless traffic pattern:`), a line of hyphens, rows of two columns, and a line of hyphens.

use crate::place::{ConfigPlace, Problem, Refusal, Weight, printable};
use crate::raw::{RawEntry, RawField, RawTables};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Whether the text is the output of `show buffer` or `mmuconfig -l`.
pub(crate) fn detect(text: &str) -> bool {
    text.lines().any(|line| title(line).is_some())
}

/// Returns the configuration table and the key for the title of an output block.
fn title(line: &str) -> Option<(&'static str, &str)> {
    let line = line.trim_end();
    if line == "Lossless traffic pattern:" {
        return Some(("", ""));
    }
    let (kind, name) = line.split_once(": ")?;
    let table = match kind {
        "Pool" => "BUFFER_POOL",
        "Profile" => "BUFFER_PROFILE",
        _ => return None,
    };
    let name = name.trim();
    (!name.is_empty() && !name.contains(' ')).then_some((table, name))
}

fn is_rule(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && line.chars().all(|c| c == '-' || c == ' ')
}

/// Reads the output of `show buffer` or `mmuconfig -l`. Lines outside the blocks are recorded as
/// problems, except prompts, totals and empty lines.
pub(crate) fn read(file: &Arc<str>, text: &str, raw: &mut RawTables) -> Result<(), Refusal> {
    let mut open: Option<RawEntry> = None;
    for (line, content) in (1..).zip(text.lines()) {
        raw.count(file, line, 1)?;
        if let Some((table, key)) = title(content) {
            close(open.take(), raw);
            let place = ConfigPlace::entry(file, line, table, key);
            open = Some(RawEntry { place, fields: BTreeMap::new() });
        } else if content.trim().is_empty() || is_rule(content) || is_frame(content) {
            // Empty lines and lines of hyphens begin and end the blocks of the output.
        } else {
            let mut words = content.split_whitespace();
            match (&mut open, words.next(), words.next(), words.next()) {
                (Some(entry), Some(name), Some(text), None) => {
                    let field = RawField { text: text.to_owned(), line, file: Arc::clone(file) };
                    entry.fields.insert(name.to_owned(), field);
                }
                _ => raw.problems.push(Problem {
                    weight: Weight::Note,
                    place: ConfigPlace::entry(file, line, "show buffer", ""),
                    message: format!("\"{}\" belongs to no pool or profile", printable(content.trim())),
                    help: "it is left out; the rest is read".to_owned(),
                }),
            }
        }
    }
    close(open, raw);
    Ok(())
}

/// Whether a line is a prompt, or a total that the option `-vv` prints.
fn is_frame(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("Total ") || line.contains("$ ") || line.starts_with("# ")
}

/// Adds a block of the output to the configuration tables. Rows below "Lossless traffic pattern"
/// belong to two tables.
fn close(entry: Option<RawEntry>, raw: &mut RawTables) {
    let Some(RawEntry { place, fields }) = entry else { return };
    if !place.table.is_empty() {
        let (table, key) = (place.table.to_string(), place.key.to_string());
        raw.add(&table, &key, place, fields);
        return;
    }
    let (pattern, default): (BTreeMap<_, _>, BTreeMap<_, _>) =
        fields.into_iter().partition(|(name, _)| matches!(name.as_str(), "mtu" | "small_packet_percentage"));
    let both = [("LOSSLESS_TRAFFIC_PATTERN", pattern), ("DEFAULT_LOSSLESS_BUFFER_PARAMETER", default)];
    for (table, fields) in both.into_iter().filter(|(_, fields)| !fields.is_empty()) {
        let place = ConfigPlace::entry(&place.file, place.line, table, "AZURE");
        raw.add(table, "AZURE", place, fields);
    }
}
