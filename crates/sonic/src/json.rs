//! JSON files: `config_db.json`, rendered parts of a configuration, and dumps with flat keys
//! `TABLE|key`.
//!
//! The reader parses each level of the JSON separately from raw values, which point into the text.
//! So every key has its line, and repeated keys are detected. The reader parses no level below the
//! fields of an entry.

use crate::place::{ConfigPlace, Problem, Refusal, Weight, printable};
use crate::raw::{KEYS_MAX, RawField, RawTables, too_many};
use crate::tables;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Reads the tables of a JSON configuration file and adds them to `raw`.
///
/// # Errors
/// If the text is not a JSON object of tables, is too large, or has a key twice.
pub(crate) fn read(file: &Arc<str>, text: &str, raw: &mut RawTables) -> Result<(), Refusal> {
    let lines = Lines::new(text);
    let document = Document { file, text, lines };
    let value: &RawValue = serde_json::from_str(text).map_err(|error| document.syntax(&error))?;
    for (table, content) in document.object(value, "tables", raw)? {
        match flat_key(&table) {
            // The name is a flat key TABLE|key on the first level, as in a dump of a database.
            Some((table, key)) => document.entry(&table, &key, content, raw)?,
            None if is_chip(&table) => document.several_chips(&table, content, raw),
            None if !content.get().starts_with('{') => document.not_a_table(&table, content, raw),
            None if tables::is_known(&table) => {
                raw.tables.entry(table.clone()).or_default();
                for (key, content) in document.object(content, &table, raw)? {
                    document.entry(&table, &key, content, raw)?;
                }
            }
            None => {
                let entries = document.object(content, &table, raw)?.len();
                *raw.others.entry(table).or_default() += entries;
            }
        }
    }
    Ok(())
}

/// Splits a flat key into table and key: `TABLE|key` of CONFIG_DB and STATE_DB,
/// `TABLE_TABLE:key` of APPL_DB.
fn flat_key(name: &str) -> Option<(String, String)> {
    let (table, key) = match (name.split_once('|'), name.split_once(':')) {
        (Some((table, key)), _) if !table.contains(':') => (table, key.to_owned()),
        (_, Some((table, key))) => (table, key.replace(':', "|")),
        _ => return None,
    };
    // A table of the running state has the configured entries with the values that
    // the switch computes.
    let running =
        table.strip_suffix("_TABLE").filter(|name| name.starts_with("BUFFER_") && tables::is_known(name));
    Some((running.unwrap_or(table).to_owned(), key))
}

/// Whether a name on the first level of the JSON is the name of a chip, not of a table.
fn is_chip(name: &str) -> bool {
    let number = name.strip_prefix("asic");
    name == "localhost"
        || number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

struct Document<'t> {
    file: &'t Arc<str>,
    text: &'t str,
    lines: Lines,
}

impl<'t> Document<'t> {
    fn line(&self, value: &RawValue) -> u32 {
        // A raw JSON value borrows from the text, so the difference of the pointers is the value's
        // offset.
        let offset = (value.get().as_ptr() as usize).wrapping_sub(self.text.as_ptr() as usize);
        self.lines.line(self.text, offset.min(self.text.len()))
    }

    fn syntax(&self, error: &serde_json::Error) -> Refusal {
        let line = u32::try_from(error.line()).unwrap_or(u32::MAX);
        let help = if self.text.trim_start().is_empty() {
            "give a configuration: the file is empty"
        } else {
            "correct the JSON at this line; a template that left something out leaves a comma or a quote"
        };
        Refusal::new(self.file, line, format!("no JSON: {error}"), help)
    }

    /// Returns keys and values of an object, in the order of the file.
    fn object<'v>(
        &self,
        value: &'v RawValue,
        what: &str,
        raw: &mut RawTables,
    ) -> Result<Vec<(String, &'v RawValue)>, Refusal> {
        let line = self.line(value);
        if !value.get().starts_with('{') {
            let message = format!("{}: expected an object, found {}", printable(what), kind(value.get()));
            let help = "a configuration is an object of tables, each an object of entries";
            return Err(Refusal::new(self.file, line, message, help));
        }
        let mut reader = serde_json::Deserializer::from_str(value.get());
        let pairs = reader.deserialize_map(Pairs).map_err(|error| {
            if error.to_string().contains(TOO_MANY) {
                return too_many(self.file, line);
            }
            let line = line.saturating_add(u32::try_from(error.line()).unwrap_or(u32::MAX).saturating_sub(1));
            Refusal::new(self.file, line, format!("no JSON: {error}"), "correct the JSON at this line")
        })?;
        raw.count(self.file, line, pairs.len())?;
        let mut sorted: Vec<_> = pairs.iter().collect();
        sorted.sort_by(|a, b| a.0.cmp(&b.0));
        if let Some(twice) = sorted.windows(2).find(|two| two[0].0 == two[1].0) {
            let (first, second) = (self.line(twice[0].1), self.line(twice[1].1));
            let name = printable(&twice[0].0);
            let message = format!("{}: \"{name}\" appears twice, first in line {first}", printable(what));
            let help = "keep one of them: programs disagree which one counts";
            return Err(Refusal::new(self.file, second, message, help));
        }
        Ok(pairs)
    }

    fn several_chips(&self, chip: &str, value: &RawValue, raw: &mut RawTables) {
        raw.problems.push(Problem {
            weight: Weight::Refused,
            place: ConfigPlace::entry(self.file, self.line(value), chip, ""),
            message: "a configuration of one chip among several".to_owned(),
            help: format!("write what is below \"{chip}\" into a file of its own, such as config_db0.json"),
        });
    }

    fn not_a_table(&self, table: &str, value: &RawValue, raw: &mut RawTables) {
        let place = ConfigPlace::entry(self.file, self.line(value), table, "");
        let weight = if tables::is_known(table) { Weight::Refused } else { Weight::Note };
        let message = format!("expected an object of entries, found {}", kind(value.get()));
        raw.problems.push(Problem { weight, place, message, help: "it is left out".to_owned() });
    }

    fn entry(&self, table: &str, key: &str, value: &RawValue, raw: &mut RawTables) -> Result<(), Refusal> {
        if !tables::is_known(table) {
            *raw.others.entry(table.to_owned()).or_default() += 1;
            return Ok(());
        }
        let place = ConfigPlace::entry(self.file, self.line(value), table, key);
        if !value.get().starts_with('{') {
            raw.problems.push(Problem {
                weight: Weight::Refused,
                place,
                message: format!("expected an object of fields, found {}", kind(value.get())),
                help: format!("write {{ \"field\": \"value\" }} as the other entries of {table} do"),
            });
            return Ok(());
        }
        let mut fields = BTreeMap::new();
        for (name, content) in self.object(value, &place.path(), raw)? {
            let line = self.line(content);
            match scalar(content.get()) {
                Some(text) => {
                    fields.insert(name, RawField { text, line, file: Arc::clone(self.file) });
                }
                None => raw.problems.push(Problem {
                    weight: Weight::Refused,
                    place: place.field(&name, line),
                    message: format!("expected a string, found {}", kind(content.get())),
                    help: "values are strings, also numbers: \"1248\"".to_owned(),
                }),
            }
        }
        raw.add(table, key, place, fields);
        Ok(())
    }
}

/// Returns the text of a scalar value. Numbers and booleans are kept as written; a list of scalars
/// is joined with commas.
fn scalar(text: &str) -> Option<String> {
    match text.as_bytes().first()? {
        b'"' => serde_json::from_str(text).ok(),
        b'[' => {
            let list: Vec<&RawValue> = serde_json::from_str(text).ok()?;
            let parts: Option<Vec<_>> = list.iter().map(|part| flat(part.get())).collect();
            parts.map(|parts| parts.join(","))
        }
        _ => flat(text),
    }
}

fn flat(text: &str) -> Option<String> {
    match text.as_bytes().first()? {
        b'"' => serde_json::from_str(text).ok(),
        b'{' | b'[' | b'n' => None,
        _ => Some(text.to_owned()),
    }
}

fn kind(text: &str) -> &'static str {
    match text.as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "a list",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a truth value",
        Some(b'n') => "null",
        _ => "a number",
    }
}

const TOO_MANY: &str = "too many keys";

/// Collector of the key-value pairs of a JSON object, limited to the pairs that a configuration may
/// have.
struct Pairs;

impl<'de> Visitor<'de> for Pairs {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            if pairs.len() == KEYS_MAX {
                return Err(A::Error::custom(TOO_MANY));
            }
            pairs.push(pair);
        }
        Ok(pairs)
    }
}

/// Finder of the line number for an offset in the text. The finder stores one count per block of
/// the text, which takes little memory even for texts of newlines only.
struct Lines {
    /// Number of newlines before each block of the text.
    marks: Vec<u32>,
}

const BLOCK: usize = 4_096;

impl Lines {
    fn new(text: &str) -> Self {
        let mut marks = vec![0];
        let mut newlines = 0;
        for block in text.as_bytes().chunks(BLOCK) {
            newlines += newlines_in(block);
            marks.push(newlines);
        }
        Self { marks }
    }

    fn line(&self, text: &str, offset: usize) -> u32 {
        let block = offset / BLOCK;
        1 + self.marks[block] + newlines_in(&text.as_bytes()[block * BLOCK..offset])
    }
}

fn newlines_in(bytes: &[u8]) -> u32 {
    bytes.iter().map(|byte| u32::from(*byte == b'\n')).sum()
}
