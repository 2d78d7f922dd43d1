//! Reads keys whose value is an entry of a registry, with parameters: `policy = "dt"`,
//! `congestion_control = { name = "swift", target = "100 us" }`.

use super::profiles;
use crate::context::{Complaint, quoted_list, suggestion};
use crate::convert;
use crate::format::{Expected, Kind, PROFILE};
use crate::reader::Reader;
use crate::resolved::{OutTable, OutValue, list, quote};
use crate::tree::{Item, Origin, Table, Value, expand_name};
use bufferlab_document::call::call;
use bufferlab_document::params::parameter;
use bufferlab_params::{Card, Entry, ParamKind, ParamValue, Params, Profile, Registry};

/// A chosen registry entry with all of its parameters.
#[derive(Debug)]
pub(crate) struct Chosen<E: Entry> {
    pub(crate) info: &'static E,
    pub(crate) params: Params,
    /// Place in the scenario file where the registry entry is chosen.
    pub(crate) origin: Origin,
    pub(crate) origins: Vec<(String, Origin)>,
}

impl<E: Entry> Clone for Chosen<E> {
    fn clone(&self) -> Self {
        let (info, params, origin, origins) =
            (self.info, self.params.clone(), self.origin, self.origins.clone());
        Self { info, params, origin, origins }
    }
}

impl<E: Entry> Chosen<E> {
    /// Returns all parameters with a value, by the registry's names.
    pub(crate) fn values(&self) -> Vec<(String, ParamValue)> {
        let said = self.params.iter().filter(|(_, value)| says_something(value));
        said.map(|(name, value)| (name.to_owned(), value.clone())).collect()
    }

    /// Returns the place of `param` in the file, or else the place of the entry.
    pub(crate) fn place(&self, param: &str) -> Origin {
        self.origins.iter().find(|(name, _)| name == param).map_or(self.origin, |(_, origin)| *origin)
    }
}

/// Value of a key that names a registry entry.
#[derive(Debug)]
pub(crate) enum Named<E: Entry> {
    /// The key names an entry of the registry.
    Entry(Chosen<E>),
    /// The key has a word that stands for no registry entry, such as `none`.
    Word(&'static str),
}

/// Reads the registry entry that the key `key` names.
pub(crate) fn read<E: Entry>(
    reader: &mut Reader<'_>,
    key: &'static str,
    registry: &'static Registry<E>,
    profile: Profile,
) -> Option<Chosen<E>> {
    match read_or_word(reader, key, registry, &[], profile)? {
        Named::Entry(chosen) => Some(chosen),
        Named::Word(word) => unreachable!("{key} is declared without the word {word}"),
    }
}

/// Reads the entry that `key` chooses in `registry`, or one of `words`, which select no entry.
pub(crate) fn read_or_word<E: Entry>(
    reader: &mut Reader<'_>,
    key: &'static str,
    registry: &'static Registry<E>,
    words: &[&'static str],
    profile: Profile,
) -> Option<Named<E>> {
    let mut item = reader.value_of(key)?.into_owned();
    expand_name(&mut item);
    let Value::Table(table) = &item.value else {
        let wanted = reader.spec_of(key).expected();
        reader.error(key, convert::wrong_kind(&item, &wanted));
        return None;
    };
    let Some(name) = table.get("name") else {
        let complaint = Complaint::new("`name` is missing", format!("which {} is this?", E::KIND));
        let example = registry.names().next().unwrap_or_default();
        let help = format!("add name = \"{example}\"; known: {}", quoted_list(registry.names()));
        reader.error(key, complaint.help(help));
        return None;
    };
    let info = match find(reader, key, name, registry, words)? {
        Found::Entry(info) => info,
        Found::Word(word) => {
            if has_parameters(reader, key, word, table) {
                return None;
            }
            reader.out.set(key, quote(word));
            return Some(Named::Word(word));
        }
    };
    let (given, origins) = read_parameters::<E>(reader, key, &info.card(), table)?;
    let params = match Params::resolve(info.card().params, profile, &given) {
        Ok(params) => params,
        Err(error) => {
            let origin = error.given.map_or(name.origin, |index| origins[index].1);
            let path = format!("{}.{}", reader.path(key), error.name);
            reader.context.error(&path, origin, Complaint::new(error.message, "this value"));
            return None;
        }
    };
    let mut out = OutTable::default();
    out.set("name", quote(info.card().name));
    for (name, value) in params.iter().filter(|(_, value)| says_something(value)) {
        out.set(name, write(value));
    }
    reader.out.put(key, OutValue::Table(out));
    Some(Named::Entry(Chosen { info, params, origin: name.origin, origins }))
}

/// Names and values of parameters, and the places of the parameters in the file.
type Given = (Vec<(String, ParamValue)>, Vec<(String, Origin)>);

/// Reads the parameters in `table`. The result is `None` if a parameter is invalid, after all
/// parameters have been checked.
fn read_parameters<E: Entry>(
    reader: &Reader<'_>,
    key: &'static str,
    card: &Card,
    table: &Table,
) -> Option<Given> {
    let (mut given, mut origins) = (Vec::new(), Vec::new());
    let mark = reader.context.mark();
    for entry in table.entries.iter().filter(|entry| entry.key != "name") {
        let path = format!("{}.{}", reader.path(key), entry.key);
        let Some(param) = card.params.iter().find(|param| param.name == entry.key) else {
            reader.context.error(&path, entry.key_origin, unknown_parameter(E::KIND, card, &entry.key));
            continue;
        };
        let value = if param.kind == ParamKind::Profiles {
            profiles::read(reader.context, &path, &entry.item)
        } else {
            match parameter(&entry.item, param) {
                Ok(value) => Some(value),
                Err(complaint) => {
                    let help = complaint.help.clone().unwrap_or_default();
                    let help = format!("{help}\n{}", param.documentation());
                    reader.context.error(&path, entry.item.origin, complaint.help(help.trim_start()));
                    None
                }
            }
        };
        if let Some(value) = value {
            given.push((entry.key.clone(), value));
            origins.push((entry.key.clone(), entry.item.origin));
        }
    }
    (!reader.context.failed_since(mark)).then_some((given, origins))
}

/// Whether the file has parameters for a word that stands for no registry entry, such as `none`.
/// The function rejects the first of these parameters.
fn has_parameters(reader: &Reader<'_>, key: &'static str, word: &str, table: &Table) -> bool {
    let Some(entry) = table.entries.iter().find(|entry| entry.key != "name") else { return false };
    let path = format!("{}.{}", reader.path(key), entry.key);
    let complaint = Complaint::new("unknown parameter", format!("\"{word}\" has no parameters"));
    reader.context.error(&path, entry.key_origin, complaint.help(format!("remove `{}`", entry.key)));
    true
}

/// Whether a resolved scenario states the value of a parameter. The resolved scenario omits empty
/// lists of profiles, and values that a rule computes later.
fn says_something(value: &ParamValue) -> bool {
    !value.is_absent() && !matches!(value, ParamValue::Profiles(list) if list.is_empty())
}

enum Found<E: Entry> {
    Entry(&'static E),
    Word(&'static str),
}

fn find<E: Entry>(
    reader: &mut Reader<'_>,
    key: &'static str,
    name: &Item,
    registry: &'static Registry<E>,
    words: &[&'static str],
) -> Option<Found<E>> {
    let path = reader.path(key);
    let Value::String(written) = &name.value else {
        let wanted = Expected { name: "name", kind: Kind::Text, example: "\"dt\"" };
        reader.context.error(&path, name.origin, convert::wrong_kind(name, &wanted));
        return None;
    };
    if let Some(word) = words.iter().find(|word| *word == written) {
        return Some(Found::Word(word));
    }
    let found = registry.find(written);
    if found.is_none()
        && let Some(complaint) = malformed_call(written, registry)
    {
        reader.context.error(&path, name.origin, complaint);
        return None;
    }
    if found.is_none() {
        let all: Vec<Card> = registry.all().iter().map(|entry| entry.card()).collect();
        let words = words.iter().copied();
        let all = all.iter().flat_map(Card::names).chain(words.clone());
        // The list of known names grows with the registry, so a message with a suggestion omits the
        // list.
        let help = match suggestion(written, all) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!("known: {}", quoted_list(registry.names().chain(words))),
        };
        let complaint =
            Complaint::new(format!("unknown {} \"{written}\"", E::KIND), format!("no such {}", E::KIND));
        reader.context.unknown(E::KIND, &path, name.origin, complaint.help(help));
    }
    found.map(Found::Entry)
}

/// Returns a complaint about a known name with malformed parameters: `dt(alpha=1`, `dt 0.5`.
fn malformed_call<E: Entry>(written: &str, registry: &'static Registry<E>) -> Option<Complaint> {
    let end = written.find(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '_'))?;
    let entry = registry.find(&written[..end])?;
    let card = entry.card();
    let example = match card.params.first() {
        Some(first) => format!("{}({}={})", card.name, first.name, first.example()),
        None => card.name.to_owned(),
    };
    let (message, label) = match call(written) {
        Err(mistake) => (mistake.message, mistake.help),
        Ok(_) => ("parameters go into brackets".to_owned(), format!("expected {}(key=value, …)", card.name)),
    };
    Some(Complaint::new(format!("\"{written}\": {message}"), label).help(format!("for example {example}")))
}

fn unknown_parameter(kind: &str, card: &Card, written: &str) -> Complaint {
    let known: Vec<_> = card.params.iter().map(|param| param.name).collect();
    let list = match known.as_slice() {
        [] => format!("the {kind} \"{}\" has no parameters", card.name),
        _ => format!("parameters of \"{}\": {}", card.name, known.join(", ")),
    };
    let help = match suggestion(written, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?\n{list}"),
        None => list,
    };
    Complaint::new("unknown parameter", format!("\"{}\" has no such parameter", card.name)).help(help)
}

/// Returns the kind of value that a scenario key has for a parameter of the kind `kind`.
pub(crate) fn kind_of_parameter(kind: ParamKind) -> Kind {
    Kind::for_parameter(kind).unwrap_or(Kind::Tables(&PROFILE))
}

/// Writes a value in the notation of scenario files, without loss.
pub(super) fn write(value: &ParamValue) -> String {
    match value {
        ParamValue::Profiles(profiles) => list(profiles.iter().map(profiles::write)),
        other => bufferlab_document::params::write(other),
    }
}
