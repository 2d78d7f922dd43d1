//! Writes a resolved document as text, with every default, and every quantity in canonical form.

use crate::tree::{Entry, Merging, Value};
use std::fmt::Write;

/// A resolved table, with its keys in the order of the format.
#[derive(Clone, Debug, Default)]
pub struct OutTable {
    entries: Vec<(String, OutValue)>,
}

/// A value of a resolved document.
#[derive(Clone, Debug)]
pub enum OutValue {
    /// A value that is already TOML text.
    Text(String),
    /// A value that is a nested table.
    Table(OutTable),
    /// A value that is a list of tables.
    Tables(Vec<OutTable>),
}

impl OutTable {
    /// Sets `key` to a value, given as TOML text.
    pub fn set(&mut self, key: &str, text: impl Into<String>) {
        self.put(key, OutValue::Text(text.into()));
    }

    /// Replaces the value of `key`, or appends a new key.
    pub fn put(&mut self, key: &str, value: OutValue) {
        match self.entries.iter_mut().find(|entry| entry.0 == key) {
            Some(entry) => entry.1 = value,
            None => self.entries.push((key.to_owned(), value)),
        }
    }

    /// Removes the key `key` and its value from the table.
    pub fn remove(&mut self, key: &str) {
        self.entries.retain(|entry| entry.0 != key);
    }

    /// Copies all entries of `other` into the table.
    pub fn extend(&mut self, other: &Self) {
        for (key, value) in &other.entries {
            self.put(key, value.clone());
        }
    }

    /// Removes the entries that a [`merge`](crate::tree::merge) of `over` on top of this table
    /// would wrongly keep. These are the entries that `over` neither has nor replaces. Returns
    /// whether an entry was removed.
    pub fn keep_common(&mut self, rules: &Merging, over: &Self) -> bool {
        let mut went = false;
        self.entries.retain_mut(|(key, value)| {
            let kept = match (&mut *value, over.get(key)) {
                (OutValue::Table(below), Some(OutValue::Table(above))) => {
                    let tag = if rules.named.contains(&key.as_str()) { "name" } else { "kind" };
                    // If the tables have different kinds, the new table replaces the present table.
                    if below.text(tag) == above.text(tag) || above.text(tag).is_none() {
                        went |= below.keep_common(rules, above);
                    }
                    true
                }
                (_, Some(_)) => true,
                (_, None) => rules.alternatives.iter().any(|group| {
                    group.contains(&key.as_str()) && group.iter().any(|other| over.get(other).is_some())
                }),
            };
            went |= !kept;
            kept
        });
        went
    }

    fn get(&self, key: &str) -> Option<&OutValue> {
        self.entries.iter().find(|entry| entry.0 == key).map(|entry| &entry.1)
    }

    fn text(&self, key: &str) -> Option<&str> {
        match self.get(key) {
            Some(OutValue::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Sorts the keys of the table by the number that `place` returns.
    pub fn sort_by_key(&mut self, place: impl Fn(&str) -> usize) {
        self.entries.sort_by_key(|entry| place(&entry.0));
    }

    /// Writes the table as the root of a TOML document.
    #[must_use]
    pub fn document(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, "");
        text
    }

    fn write(&self, text: &mut String, path: &str) {
        for (key, value) in &self.entries {
            if let OutValue::Text(value) = value {
                let _ = writeln!(text, "{key} = {value}");
            }
        }
        for (key, value) in &self.entries {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            match value {
                OutValue::Text(_) => {}
                OutValue::Table(table) => {
                    let _ = writeln!(text, "\n[{path}]");
                    table.write(text, &path);
                }
                OutValue::Tables(list) => {
                    for table in list {
                        let _ = writeln!(text, "\n[[{path}]]");
                        table.write(text, &path);
                    }
                }
            }
        }
    }
}

/// Formats a text as a TOML basic string.
#[must_use]
pub fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Writes a number as a TOML float that parses to equal bits.
#[must_use]
pub fn float(number: f64) -> String {
    format!("{number:?}")
}

/// Formats a value as TOML on one line.
#[must_use]
pub fn write(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => float(*number),
        Value::Boolean(flag) => flag.to_string(),
        // Documents have no dates, so the value's reader refuses the text of a date.
        Value::Datetime => "a date".to_owned(),
        Value::Array(items) => list(items.iter().map(|item| write(&item.value))),
        Value::Table(table) => {
            let entry = |entry: &Entry| format!("{} = {}", quote(&entry.key), write(&entry.item.value));
            format!("{{ {} }}", table.entries.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
    }
}

/// Formats items as a TOML list, `[a, b]`.
#[must_use]
pub fn list(items: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", items.into_iter().collect::<Vec<_>>().join(", "))
}
