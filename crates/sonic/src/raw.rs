//! A configuration as uninterpreted text: tables, keys and fields with their line numbers.

use crate::keys;
use crate::place::{ConfigPlace, Problem, Refusal, Weight, printable};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Largest number of problems that the reader records. A generator often repeats one mistake in all
/// entries.
pub(crate) const PROBLEMS_MAX: usize = 1_000;

/// Size of the largest configuration file that the reader accepts (bytes).
pub const BYTES_MAX: usize = 64 << 20;
/// Largest number of tables, keys and fields in all files together.
pub const KEYS_MAX: usize = 250_000;
/// Largest value of a size in the configuration (bytes). No switch has more memory, and sums over
/// all ports cannot overflow.
pub(crate) const SIZE_MAX: u64 = 1 << 42;
/// Largest value of a speed (Mb/s), time (ms) or share in the configuration.
pub(crate) const NUMBER_MAX: u64 = 100_000_000;

/// A field of a configuration entry, as unparsed text.
#[derive(Clone, Debug)]
pub(crate) struct RawField {
    pub(crate) text: String,
    pub(crate) line: u32,
    pub(crate) file: Arc<str>,
}

/// An entry of a configuration table, as unparsed text.
#[derive(Clone, Debug)]
pub(crate) struct RawEntry {
    pub(crate) place: ConfigPlace,
    pub(crate) fields: BTreeMap<String, RawField>,
}

/// Tables about buffers from all configuration files, as unparsed text.
#[derive(Clone, Debug, Default)]
pub(crate) struct RawTables {
    pub(crate) tables: BTreeMap<String, BTreeMap<String, RawEntry>>,
    /// Tables without relevance for buffers, with the number of their entries.
    pub(crate) others: BTreeMap<String, usize>,
    pub(crate) problems: Vec<Problem>,
    /// Vendor of the configuration files, if they are not SONiC's.
    pub(crate) vendor: Option<&'static str>,
    /// Alpha of lossless groups, which another file of the vendor contains.
    pub(crate) lossless_alpha: Option<RawField>,
    /// Number of tables, keys and fields that the reader has read so far.
    keys: usize,
}

impl RawTables {
    /// Adds the tables, keys and fields of a file to the count of all files.
    pub(crate) fn count(&mut self, file: &str, line: u32, more: usize) -> Result<(), Refusal> {
        self.keys = self.keys.saturating_add(more);
        if self.keys > KEYS_MAX {
            return Err(too_many(file, line));
        }
        Ok(())
    }

    /// Adds an entry of a table. If several files have the entry, the entry gets the fields of all
    /// these files. If two files differ in a field, the recorded problem names the two files.
    pub(crate) fn add(
        &mut self,
        table: &str,
        key: &str,
        place: ConfigPlace,
        fields: BTreeMap<String, RawField>,
    ) {
        let entries = self.tables.entry(table.to_owned()).or_default();
        let entry = entries
            .entry(key.to_owned())
            .or_insert_with(|| RawEntry { place: place.clone(), fields: BTreeMap::new() });
        for (name, field) in fields {
            match entry.fields.get(&name) {
                // The text NULL means that the switch computes the value. A dump of the running
                // state has the computed value.
                Some(old) if old.text == "NULL" || field.text == "NULL" => {
                    if old.text == "NULL" {
                        entry.fields.insert(name, field);
                    }
                }
                Some(old) if keys::reference(&old.text) != keys::reference(&field.text) => {
                    self.problems.push(Problem {
                        weight: Weight::Refused,
                        place: place.field(&name, field.line),
                        message: format!(
                            "is \"{}\" here and \"{}\" in {}:{}",
                            printable(&field.text),
                            printable(&old.text),
                            old.file,
                            old.line
                        ),
                        help: "give each value in one file; the first one counts".to_owned(),
                    })
                }
                Some(_) => {}
                None => {
                    entry.fields.insert(name, field);
                }
            }
        }
    }
}

pub(crate) fn too_many(file: &str, line: u32) -> Refusal {
    Refusal::new(
        file,
        line,
        format!("more than {KEYS_MAX} tables, keys and fields"),
        "no switch has that many: give the buffer and QoS tables only",
    )
}

/// Returns the text of a file, without a byte order mark.
///
/// # Errors
/// If the file is too large, or not UTF-8.
pub(crate) fn text<'b>(file: &str, bytes: &'b [u8]) -> Result<&'b str, Refusal> {
    if bytes.len() > BYTES_MAX {
        let message = format!("{} bytes; a configuration has {BYTES_MAX} at most", bytes.len());
        return Err(Refusal::new(file, 0, message, "give the buffer and QoS tables only"));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.strip_prefix('\u{feff}').unwrap_or(text)),
        Err(error) => {
            let before = &bytes[..error.valid_up_to()];
            let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
            let message = format!("byte {} is not UTF-8", error.valid_up_to());
            let help = "save the file as UTF-8; archives (.gz) are not read";
            Err(Refusal::new(file, u32::try_from(line).unwrap_or(u32::MAX), message, help))
        }
    }
}
