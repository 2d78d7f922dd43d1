//! Reads buffer and QoS settings of other vendors into SONiC's tables: Linux devlink-sb, Cumulus
//! Linux, Junos and Arista EOS. The content of a file determines its vendor.
//!
//! Each setting becomes the SONiC field with the same meaning, so that explanations and rules
//! apply unchanged. Settings without such a field are recorded as not understood.

mod cumulus;
mod devlink;
mod eos;
mod junos;

use crate::keys::{PORTS_MAX, port_range};
use crate::place::{ConfigPlace, Problem, Refusal, Weight, printable};
use crate::raw::{PROBLEMS_MAX, RawField, RawTables};
use crate::resolve::LOSSLESS_POOL;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Size of the largest file of another vendor (bytes). A switch of 128 ports has about 1 MB of
/// devlink's JSON.
pub(crate) const BYTES_MAX: usize = 8 << 20;

/// Vendor in whose notation a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vendor {
    Devlink,
    Cumulus,
    Junos,
    Eos,
}

/// Detects the vendor of a text that is no file of SONiC.
pub(crate) fn detect(text: &str) -> Option<Vendor> {
    if devlink::detect(text) {
        Some(Vendor::Devlink)
    } else if text.trim_start().starts_with(['{', '[']) {
        None
    } else if cumulus::detect(text) {
        Some(Vendor::Cumulus)
    } else if junos::detect(text) {
        Some(Vendor::Junos)
    } else {
        eos::detect(text).then_some(Vendor::Eos)
    }
}

/// Reads the text of a vendor into SONiC's tables.
///
/// # Errors
/// If the file is damaged, or names too many ports and values.
pub(crate) fn read(vendor: Vendor, file: &Arc<str>, text: &str, raw: &mut RawTables) -> Result<(), Refusal> {
    let name = match vendor {
        Vendor::Devlink => "devlink",
        Vendor::Cumulus => "Cumulus",
        Vendor::Junos => "Junos",
        Vendor::Eos => "EOS",
    };
    if text.len() > BYTES_MAX {
        let message = format!("{} bytes; a configuration of {name} has {BYTES_MAX} at most", text.len());
        return Err(Refusal::new(file, 0, message, "give the buffer and QoS settings only"));
    }
    raw.vendor = Some(name);
    let mut import = Import { file, raw, name, line: 0, refused: None };
    match vendor {
        Vendor::Devlink => devlink::read(&mut import, text)?,
        Vendor::Cumulus => cumulus::read(&mut import, text),
        Vendor::Junos => junos::read(&mut import, text),
        Vendor::Eos => eos::read(&mut import, text),
    }
    import.refused.map_or(Ok(()), Err)
}

/// Joins settings that a vendor has in several files. Cumulus has alpha and pool of lossless groups
/// in different files. The sizes of some pools are shares of a known memory.
pub(crate) fn complete(raw: &mut RawTables) {
    if raw.vendor.is_none() {
        return;
    }
    let value = |raw: &RawTables, table: &str, key: &str, field: &str| {
        let entry = raw.tables.get(table)?.get(key)?;
        entry.fields.get(field).cloned()
    };
    let memory = value(raw, "BUFFER_MAX_PARAM_TABLE", "global", "mmu_size");
    let memory = memory.and_then(|field| field.text.parse::<u64>().ok());
    for entry in raw.tables.get_mut("BUFFER_POOL").into_iter().flat_map(BTreeMap::values_mut) {
        let share = entry.fields.get("percentage").and_then(|field| field.text.parse::<u64>().ok());
        let (Some(memory), Some(share), None) = (memory, share, entry.fields.get("size")) else { continue };
        let field = &entry.fields["percentage"];
        let size = RawField { text: (memory.saturating_mul(share) / 100).to_string(), ..field.clone() };
        entry.fields.insert("size".to_owned(), size);
    }
    let pool = value(raw, "BUFFER_POOL", LOSSLESS_POOL, "type");
    let alpha = raw.lossless_alpha.clone();
    let profiles = raw.tables.get_mut("BUFFER_PROFILE").into_iter().flatten();
    for (_, entry) in profiles.filter(|(name, _)| name.starts_with(cumulus::PFC_PROFILE)) {
        if let Some(field) = &pool {
            let named = RawField { text: LOSSLESS_POOL.to_owned(), ..field.clone() };
            entry.fields.entry("pool".to_owned()).or_insert(named);
        }
        if let Some(alpha) = &alpha {
            entry.fields.entry("dynamic_th".to_owned()).or_insert_with(|| alpha.clone());
        }
    }
}

/// Writes the settings of a vendor's file into SONiC's tables.
struct Import<'a> {
    file: &'a Arc<str>,
    raw: &'a mut RawTables,
    name: &'static str,
    /// Number of the line that the reader currently reads, from 1.
    line: u32,
    refused: Option<Refusal>,
}

impl Import<'_> {
    /// Sets a field of a table's entry. If the file gives two values, the first value counts and a
    /// problem names both values.
    fn set(&mut self, table: &str, key: &str, field: &str, text: impl Into<String>) {
        if self.refused.is_some() {
            return;
        }
        if let Err(refusal) = self.raw.count(self.file, self.line, 1) {
            self.refused = Some(refusal);
            return;
        }
        let place = ConfigPlace::entry(self.file, self.line, table, key);
        let field_text = RawField { text: text.into(), line: self.line, file: Arc::clone(self.file) };
        self.raw.add(table, key, place, BTreeMap::from([(field.to_owned(), field_text)]));
    }

    /// Sets a field of an entry, unless a more specific statement has already set the field.
    fn set_default(&mut self, table: &str, key: &str, field: &str, text: impl Into<String>) {
        let known = self.raw.tables.get(table).and_then(|entries| entries.get(key));
        if known.is_none_or(|entry| !entry.fields.contains_key(field)) {
            self.set(table, key, field, text);
        }
    }

    /// Splits a list of ports and counts the ports: `swp1-swp4,swp6s0-swp6s3`, `et-0/0/1`,
    /// `Ethernet1-4,7`.
    fn ports(&mut self, text: &str) -> Vec<String> {
        let (mut found, mut prefix) = (Vec::new(), "");
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let digit = part.find(|c: char| c.is_ascii_digit()).unwrap_or(part.len());
            if digit > 0 {
                prefix = &part[..digit];
            }
            let part = if digit == 0 { format!("{prefix}{part}") } else { part.to_owned() };
            match port_range(&part) {
                Some((first, last, stem)) if last - first < PORTS_MAX as u64 => {
                    found.extend((first..=last).map(|number| format!("{stem}{number}")));
                }
                _ => found.push(part),
            }
            found.truncate(PORTS_MAX);
        }
        self.counted(found)
    }

    /// Counts the names and returns them. If the files have too many names and values, returns no
    /// names.
    fn counted(&mut self, names: Vec<String>) -> Vec<String> {
        if self.refused.is_none() {
            self.refused = self.raw.count(self.file, self.line, names.len()).err();
        }
        if self.refused.is_some() { Vec::new() } else { names }
    }

    /// Sets a field for each port and each number of a group or queue, as in `BUFFER_PG|swp1|3`.
    fn set_each(&mut self, table: &str, ports: &[String], numbers: &[u8], field: &str, text: &str) {
        for port in ports {
            for number in numbers {
                self.set(table, &format!("{port}|{number}"), field, text);
            }
        }
    }

    fn problem(&mut self, weight: Weight, text: &str, message: impl Into<String>, help: &str) {
        // The reader shows only the first problems of a file.
        if self.raw.problems.len() > PROBLEMS_MAX {
            return;
        }
        let place = ConfigPlace::entry(self.file, self.line, self.name, &printable(text.trim()));
        self.raw.problems.push(Problem { weight, place, message: message.into(), help: help.to_owned() });
    }

    /// Records a vendor's setting that has no counterpart in SONiC.
    fn not_understood(&mut self, text: &str) {
        self.problem(
            Weight::Note,
            text,
            "this setting has no counterpart here",
            "it is ignored: check in the vendor's manual whether limits depend on it",
        );
    }

    /// Records a vendor's setting whose value has a wrong form.
    fn refuse(&mut self, text: &str, expected: &str) {
        self.problem(
            Weight::Refused,
            text,
            format!("expected {expected}"),
            "correct the value; it is left out",
        );
    }
}

/// Returns the binary exponent of an alpha such as `1/64`, `1` or `8`.
fn exponent(text: &str) -> Option<i32> {
    let power = |text: &str| {
        let number = text.trim().parse::<u32>().ok().filter(|number| number.is_power_of_two())?;
        i32::try_from(number.trailing_zeros()).ok()
    };
    match text.split_once('/') {
        Some(("1", below)) => power(below).map(|exponent| -exponent),
        Some(_) => None,
        None => power(text),
    }
}

/// Parses a speed such as `100g`, `100G` or `100gfull` to Mb/s.
fn speed(text: &str) -> Option<u64> {
    let text = text.to_ascii_lowercase();
    let text = text.strip_suffix("full").unwrap_or(&text);
    let (number, scale) = match (text.strip_suffix('g'), text.strip_suffix('m')) {
        (Some(number), _) => (number, 1_000),
        (_, Some(number)) => (number, 1),
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(scale)
}
