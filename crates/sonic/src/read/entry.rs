//! Reads the fields of an entry by type. Each field is taken at most once, so that the remaining
//! fields can be reported as unknown.

use crate::keys;
use crate::place::{ConfigPlace, Placed, Problem, Weight, printable};
use crate::raw::{NUMBER_MAX, RawEntry, RawField, SIZE_MAX};
use bufferlab_params::suggestion;
use std::collections::BTreeSet;

pub(super) struct Entry<'a> {
    raw: &'a RawEntry,
    taken: BTreeSet<&'a str>,
    /// Names of the fields that the reader asked for, including fields that the entry lacks.
    asked: BTreeSet<String>,
    problems: &'a mut Vec<Problem>,
}

impl<'a> Entry<'a> {
    pub(super) fn new(raw: &'a RawEntry, problems: &'a mut Vec<Problem>) -> Self {
        Self { raw, taken: BTreeSet::new(), asked: BTreeSet::new(), problems }
    }

    pub(super) fn place(&self) -> ConfigPlace {
        self.raw.place.clone()
    }

    fn field_place(&self, name: &str, field: &RawField) -> ConfigPlace {
        ConfigPlace { file: field.file.clone(), ..self.raw.place.field(name, field.line) }
    }

    fn take(&mut self, name: &str) -> Option<(&'a RawField, ConfigPlace)> {
        self.asked.insert(name.to_owned());
        let (key, field) = self.raw.fields.get_key_value(name)?;
        self.taken.insert(key);
        Some((field, self.field_place(name, field)))
    }

    /// Records a mistake in the entry's key instead of a field.
    pub(super) fn refuse_key(&mut self, message: String, help: &str) {
        let place = self.raw.place.clone();
        self.taken.extend(self.raw.fields.keys().map(String::as_str));
        self.problems.push(Problem { weight: Weight::Refused, place, message, help: help.to_owned() });
    }

    /// Reads a field with a parser; the parser's error names the expected form of the field.
    pub(super) fn parse<T>(
        &mut self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<Placed<T>> {
        let (field, place) = self.take(name)?;
        match parse(field.text.trim()) {
            Ok(value) => Some(Placed { value, place }),
            Err(expected) => {
                let message = format!("\"{}\": {expected}", printable(&field.text));
                let help = "correct the value; it is left out".to_owned();
                self.problems.push(Problem { weight: Weight::Refused, place, message, help });
                None
            }
        }
    }

    pub(super) fn text(&mut self, name: &str) -> Option<Placed<String>> {
        self.parse(name, |text| Ok(text.to_owned()))
    }

    pub(super) fn number(&mut self, name: &str, unit: &str) -> Option<Placed<u64>> {
        self.below(name, unit, NUMBER_MAX)
    }

    pub(super) fn bytes(&mut self, name: &str) -> Option<Placed<u64>> {
        self.below(name, "bytes", SIZE_MAX)
    }

    fn below(&mut self, name: &str, unit: &str, max: u64) -> Option<Placed<u64>> {
        self.parse(name, |text| {
            let number = text.parse::<u64>().ok().filter(|number| *number <= max);
            number.ok_or_else(|| format!("expected a whole number up to {max} ({unit})"))
        })
    }

    pub(super) fn exponent(&mut self, name: &str) -> Option<Placed<i8>> {
        self.parse(name, |text| {
            let exponent = text.parse::<i8>().ok().filter(|exponent| (-8..=8).contains(exponent));
            exponent.ok_or_else(|| "expected an exponent of alpha from -8 to 8".to_owned())
        })
    }

    pub(super) fn truth(&mut self, name: &str) -> Option<Placed<bool>> {
        self.parse(name, |text| match text.to_ascii_lowercase().as_str() {
            "true" | "on" | "up" | "enable" | "enabled" => Ok(true),
            "false" | "off" | "down" | "disable" | "disabled" => Ok(false),
            _ => Err("expected true or false (on or off, up or down)".to_owned()),
        })
    }

    /// Reads a field that is a name, in the old or the new spelling of references.
    pub(super) fn reference(&mut self, name: &str) -> Option<Placed<String>> {
        self.parse(name, |text| match keys::reference(text) {
            "" => Err("expected a name".to_owned()),
            name => Ok(name.to_owned()),
        })
    }

    /// Reads a field of names separated by commas, with brackets around each name
    /// or around the list.
    pub(super) fn references(&mut self, name: &str) -> Option<Placed<Vec<String>>> {
        self.parse(name, |text| {
            let parts: Vec<_> = text.split(',').map(|part| keys::reference(bare(part)).to_owned()).collect();
            if parts.iter().any(String::is_empty) {
                Err("expected names with commas".to_owned())
            } else {
                Ok(parts)
            }
        })
    }

    /// Reads a field with a list of priorities such as `3,4`; the list may be empty.
    pub(super) fn priorities(&mut self, name: &str) -> Option<Placed<BTreeSet<u8>>> {
        self.parse(name, |text| match text {
            "" => Ok(BTreeSet::new()),
            text => keys::indices(text, 7).map(|list| list.into_iter().collect()),
        })
    }

    /// Returns all fields that the reader has not taken, as name, text and place.
    pub(super) fn rest(&mut self) -> Vec<(&'a str, &'a str, ConfigPlace)> {
        let raw = self.raw;
        let names: Vec<_> = raw.fields.keys().filter(|name| !self.taken.contains(name.as_str())).collect();
        names
            .into_iter()
            .filter_map(|name| {
                let (field, place) = self.take(name)?;
                Some((name.as_str(), field.text.as_str(), place))
            })
            .collect()
    }

    pub(super) fn refuse(&mut self, place: ConfigPlace, message: String, help: &str) {
        self.problems.push(Problem { weight: Weight::Refused, place, message, help: help.to_owned() });
    }

    /// Marks the fields `names` as read, because they are not about buffers.
    pub(super) fn skip(&mut self, names: &[&str]) {
        for name in names {
            let _ = self.take(name);
        }
    }

    /// Records the fields that the reader has not taken as problems.
    pub(super) fn finish(mut self) {
        let known = std::mem::take(&mut self.asked);
        for (name, text, place) in self.rest() {
            // Databases mark entries without fields with the name NULL.
            if name == "NULL" {
                continue;
            }
            let message =
                format!("the field {} (\"{}\") is not understood", printable(name), printable(text));
            let help = match suggestion(name, known.iter().map(String::as_str)) {
                Some(near) if !self.raw.fields.contains_key(near.as_str()) => {
                    format!("did you mean \"{near}\"?")
                }
                _ => "check its spelling; nothing here depends on it".to_owned(),
            };
            self.problems.push(Problem { weight: Weight::Note, place, message, help });
        }
    }
}

/// Returns an item of the list `[a,b]` without the outer bracket.
fn bare(part: &str) -> &str {
    let part = part.trim();
    match (part.starts_with('['), part.ends_with(']')) {
        (true, false) => &part[1..],
        (false, true) => &part[..part.len() - 1],
        _ => part,
    }
}
