//! Converts parameters of registry entries: keys of a table to [`Params`], and [`Params`] to text.
//! The module also finds the places of faults in parameters.

use crate::context::{Complaint, Context, quoted_list, suggestion};
use crate::convert;
use crate::files::{self, nearby_file, reason};
use crate::limits::MAX_NODES;
use crate::quantity::{format_rate, format_size, format_time, parse_size};
use crate::reader::{Reader, join};
use crate::resolved::{OutTable, OutValue, float, list, quote};
use crate::spec::{Expected, Kind};
use crate::tree::{Item, Origin, Table, Value};
use bufferlab_params::{
    AUTO, Fault, Faults, FileContent, ParamInfo, ParamKind, ParamPlace, ParamValue, Params, Profile,
    TableInfo, Word,
};
use bufferlab_units::{BitRate, Time};
use std::path::Path;

/// Store for the input files that a document names.
pub trait Files {
    /// Stores a file and returns the name that the resolved document uses for the file.
    fn keep(&self, path: &Path, content: &[u8]) -> String;
}

/// Returns the parameters of the registry entry that the table's `kind` names, with the defaults of
/// `profile`. The result is `None` if a parameter is wrong or missing.
pub fn params_of_kind(reader: &Reader<'_>, profile: Profile, files: &dyn Files) -> Option<Params> {
    let infos = reader.params();
    let missing = |info: &ParamInfo, example: &str| reader.report_missing(info.name, example, info.doc);
    let find = |info: &ParamInfo| (reader.path(info.name), reader.item(info.name));
    let given = Converter { context: reader.context, files }.given(infos, find, missing)?;
    Some(complete(infos, profile, &given))
}

/// Values of parameters that the document sets, by name of the parameter.
type Given = Vec<(String, ParamValue)>;

fn complete(infos: &'static [ParamInfo], profile: Profile, given: &Given) -> Params {
    Params::resolve(infos, profile, given)
        .expect("every value was checked, and none that is required is missing")
}

/// Converts items of a document to parameter values and records mistakes.
struct Converter<'a> {
    context: &'a Context,
    files: &'a dyn Files,
}

impl Converter<'_> {
    /// Values of the parameters `infos` that the document sets; `None`
    /// if a value is wrong or missing.
    fn given<'i>(
        &self,
        infos: &'static [ParamInfo],
        find: impl Fn(&ParamInfo) -> (String, Option<&'i Item>),
        missing: impl Fn(&ParamInfo, &str),
    ) -> Option<Given> {
        let (mut given, mut complete) = (Vec::new(), true);
        for info in infos {
            match (find(info), &info.default) {
                ((path, Some(item)), _) => match self.value(&path, item, info) {
                    Some(value) => given.push((info.name.to_owned(), value)),
                    None => complete = false,
                },
                ((_, None), ParamValue::Required(example)) => {
                    missing(info, example);
                    complete = false;
                }
                ((_, None), _) => {}
            }
        }
        complete.then_some(given)
    }

    /// Converts the value of one parameter from TOML.
    fn value(&self, path: &str, item: &Item, info: &'static ParamInfo) -> Option<ParamValue> {
        match info.kind {
            ParamKind::Tables(below) => self.tables(path, item, info, below),
            ParamKind::Nodes { prefix } => self.nodes(path, item, info, prefix),
            ParamKind::Pairs { .. } => self.pairs(path, item, info),
            ParamKind::File => self.file(path, item, self.text(path, item, info)?),
            ParamKind::FlowSizes(known) => self.flow_sizes(path, item, info, known),
            _ => {
                parameter(item, info).map_or_else(|complaint| self.refuse(path, item.origin, complaint), Some)
            }
        }
    }

    fn refuse<T>(&self, path: &str, origin: Origin, complaint: Complaint) -> Option<T> {
        self.context.error(path, origin, complaint);
        None
    }

    fn text<'i>(&self, path: &str, item: &'i Item, info: &'static ParamInfo) -> Option<&'i str> {
        let example = info.example();
        convert::text(item, &expected(info, &example))
            .map_or_else(|complaint| self.refuse(path, item.origin, complaint), Some)
    }

    /// Converts a TOML list of tables to a parameter value. The tables contain further parameters.
    fn tables(
        &self,
        path: &str,
        item: &Item,
        info: &'static ParamInfo,
        below: &'static TableInfo,
    ) -> Option<ParamValue> {
        let example = info.example();
        let elements = match &item.value {
            Value::Array(elements) => elements,
            Value::Table(_) => {
                let complaint = Complaint::new("expected a list of tables, found one table", "one table");
                let help = format!("write the header with two brackets: [[{path}]]");
                return self.refuse(path, item.origin, complaint.help(help));
            }
            _ => return self.refuse(path, item.origin, convert::wrong_kind(item, &expected(info, &example))),
        };
        if elements.is_empty() && matches!(info.default, ParamValue::Required(_)) {
            let complaint = Complaint::new("the list is empty", "expected at least one entry");
            let help = format!("for example {} = {example}", info.name);
            return self.refuse(path, item.origin, complaint.help(help));
        }
        let elements = elements.iter().enumerate();
        let tables: Vec<_> =
            elements.map(|(index, element)| self.table(&format!("{path}.{index}"), element, below)).collect();
        tables.into_iter().collect::<Option<Vec<_>>>().map(ParamValue::Tables)
    }

    fn table(&self, path: &str, item: &Item, below: &'static TableInfo) -> Option<Params> {
        let names: Vec<_> = below.params.iter().map(|param| param.name).collect();
        let Value::Table(table) = &item.value else {
            let found = item.value.kind_in_words();
            let complaint = Complaint::new(
                format!("expected a table, found {found}"),
                format!("expected {}", below.title),
            );
            return self.refuse(path, item.origin, complaint.help(format!("keys: {}", names.join(", "))));
        };
        let mark = self.context.mark();
        let misspelled = self.refuse_unknown_keys(path, table, below, &names);
        let missing = |info: &ParamInfo, example: &str| {
            if misspelled.iter().any(|near| near == info.name) {
                return;
            }
            let complaint = Complaint::new(format!("`{}` is missing", info.name), format!("{path} needs it"));
            let help = format!("add {} = {example}\n{}", info.name, info.doc);
            self.context.error(&join(path, info.name), item.origin, complaint.help(help));
        };
        let find = |info: &ParamInfo| (join(path, info.name), table.get(info.name));
        let given = self.given(below.params, find, missing)?;
        (!self.context.failed_since(mark)).then(|| complete(below.params, Profile::Paper, &given))
    }

    /// Records unknown keys. Returns the known keys that the unknown keys probably misspell.
    fn refuse_unknown_keys(
        &self,
        path: &str,
        table: &Table,
        below: &'static TableInfo,
        names: &[&'static str],
    ) -> Vec<String> {
        let list = format!("keys here: {}", names.join(", "));
        let mut misspelled = Vec::new();
        for entry in table.entries.iter().filter(|entry| !names.contains(&entry.key.as_str())) {
            let help = match suggestion(&entry.key, names.iter().copied()) {
                Some(near) => {
                    let help = format!("did you mean `{near}`?\n{list}");
                    misspelled.push(near);
                    help
                }
                None => list.clone(),
            };
            let complaint = Complaint::new("unknown key", format!("{} has no such key", below.title));
            self.context.error(&join(path, &entry.key), entry.key_origin, complaint.help(help));
        }
        misspelled
    }

    /// Converts a number of nodes, or a list of names of nodes, to a parameter value.
    fn nodes(&self, path: &str, item: &Item, info: &'static ParamInfo, prefix: &str) -> Option<ParamValue> {
        let example = info.example();
        let wanted = expected(info, &example);
        let elements = match &item.value {
            Value::Array(elements) => elements,
            Value::Integer(_) => {
                return match convert::count(item, &wanted, 1, MAX_NODES) {
                    Ok(count) => {
                        Some(ParamValue::Texts((0..count).map(|index| format!("{prefix}{index}")).collect()))
                    }
                    Err(complaint) => self.refuse(path, item.origin, complaint),
                };
            }
            _ => return self.refuse(path, item.origin, convert::wrong_kind(item, &wanted)),
        };
        let mut names = Vec::new();
        for element in elements {
            match convert::text(element, &wanted) {
                Ok(name) if name.is_empty() || name.contains(['*', '?', '/']) => {
                    let message = format!("\"{name}\" cannot be a node's name");
                    let complaint = Complaint::new(message, "expected a name without *, ? and /");
                    let help = "patterns and cable numbers use these characters";
                    return self.refuse(path, element.origin, complaint.help(help));
                }
                Ok(name) => names.push(name.to_owned()),
                Err(complaint) => return self.refuse(path, element.origin, complaint),
            }
        }
        if names.is_empty() {
            let complaint = Complaint::new("the list is empty", "expected at least one name");
            return self.refuse(path, item.origin, complaint);
        }
        Some(ParamValue::Texts(names))
    }

    /// Converts a TOML list of pairs of names to a parameter value.
    fn pairs(&self, path: &str, item: &Item, info: &'static ParamInfo) -> Option<ParamValue> {
        let example = info.example();
        let wanted = expected(info, &example);
        let pair = |element: &Item| -> Result<(String, String), Complaint> {
            match convert::elements(element, &wanted)? {
                [from, to] => {
                    Ok((convert::text(from, &wanted)?.to_owned(), convert::text(to, &wanted)?.to_owned()))
                }
                other => {
                    let message = format!("a pair of {} hosts", other.len());
                    let complaint = Complaint::new(message, "expected two names: [from, to]");
                    Err(complaint.help(format!("for example {} = {}", wanted.name, wanted.example)))
                }
            }
        };
        let elements = match convert::elements(item, &wanted) {
            Ok(elements) => elements,
            Err(complaint) => return self.refuse(path, item.origin, complaint),
        };
        let mut pairs = Vec::new();
        for element in elements {
            match pair(element) {
                Ok(pair) => pairs.push(pair),
                Err(complaint) => return self.refuse(path, element.origin, complaint),
            }
        }
        Some(ParamValue::Pairs(pairs))
    }

    /// Reads the file that a parameter names. The path is relative to the document. A path from the
    /// command line is relative to the current folder.
    fn file(&self, key: &str, item: &Item, written: &str) -> Option<ParamValue> {
        let path = self.context.folder_of(item.origin).join(written);
        match files::read(&path) {
            Ok(content) => {
                let name = self.files.keep(&path, &content);
                Some(ParamValue::File(FileContent { name, path, content: content.into() }))
            }
            Err(error) => {
                let message = format!("cannot read {}: {}", path.display(), reason(&error));
                let help = match nearby_file(&path) {
                    Some(near) => format!("did you mean \"{near}\"?"),
                    None => format!("paths are relative to the {} file", self.context.document()),
                };
                self.refuse(key, item.origin, Complaint::new(message, "this file").help(help))
            }
        }
    }

    /// Converts flow sizes to a parameter value: a known distribution, a file, or one size.
    fn flow_sizes(
        &self,
        path: &str,
        item: &Item,
        info: &'static ParamInfo,
        known: &'static [Word],
    ) -> Option<ParamValue> {
        let written = self.text(path, item, info)?;
        if let Some(word) = known.iter().find(|word| word.name == written) {
            return Some(ParamValue::Choice(word.name.into()));
        }
        match parse_size(written) {
            Ok(0) => {
                let complaint = Complaint::new("a flow of 0 B sends nothing", "expected a size above 0");
                return self.refuse(path, item.origin, complaint);
            }
            Ok(bytes) => return Some(ParamValue::Bytes(bytes)),
            Err(_) => {}
        }
        let looks_like_a_file =
            written.contains(['/', '\\']) || written.ends_with(".csv") || written.ends_with(".txt");
        if looks_like_a_file {
            return self.file(path, item, written);
        }
        let names = || known.iter().map(|word| word.name);
        let list =
            format!("built in: {}; or a CSV file, or one size such as \"100 KB\"", quoted_list(names()));
        let help = match suggestion(written, names()) {
            Some(near) => format!("did you mean \"{near}\"?\n{list}"),
            None => list,
        };
        let complaint = Complaint::new(format!("there is no size distribution \"{written}\""), "not known");
        self.refuse(path, item.origin, complaint.help(help))
    }
}

fn expected<'a>(info: &'static ParamInfo, example: &'a str) -> Expected<'a> {
    Expected { name: info.name, kind: kind_of(info.kind), example }
}

/// Converts the value of a parameter that is neither a list of profiles nor of tables.
///
/// # Errors
/// If the item is not of the parameter's kind, or outside its domain.
///
/// # Panics
/// If the parameter is a list of profiles or of tables.
pub fn parameter(item: &Item, info: &'static ParamInfo) -> Result<ParamValue, Complaint> {
    let example = example(info);
    let wanted = Expected { name: info.name, kind: kind_of(info.kind), example: &example };
    let value = plain_value(item, &wanted)?;
    info.check(&value).map_err(|misfit| {
        Complaint::new(misfit.to_string(), format!("expected {}", info.expected()))
            .help(format!("for example {} = {example}", info.name))
    })?;
    Ok(value)
}

/// Converts a value of a document to a parameter value of the kind in `wanted`, such as a ratio.
fn plain_value(item: &Item, wanted: &Expected<'_>) -> Result<ParamValue, Complaint> {
    Ok(match wanted.kind {
        Kind::Ratio { min, max, open } => ParamValue::Ratio(convert::ratio(item, wanted, min, max, open)?),
        Kind::Ratios { min, max } => {
            let ratio = |item| convert::ratio(item, wanted, min, max, false);
            let list = match &item.value {
                Value::Array(list) => list.iter().map(ratio).collect::<Result<_, _>>()?,
                _ => vec![ratio(item)?],
            };
            ParamValue::RatioPerPriority(list.into())
        }
        Kind::Size { min, max } => ParamValue::Bytes(convert::size(item, wanted, min, max)?),
        Kind::SizePerPort { min } => {
            let size = |item| convert::size(item, wanted, min, u64::MAX);
            match &item.value {
                Value::Array(list) => {
                    ParamValue::BytesPerPort(list.iter().map(size).collect::<Result<Vec<_>, _>>()?.into())
                }
                Value::String(word) if word == AUTO => ParamValue::word(AUTO),
                _ => ParamValue::Bytes(size(item)?),
            }
        }
        Kind::Time { zero } => ParamValue::Time(Time(convert::time(item, wanted, zero)?)),
        Kind::Count { min, max } => ParamValue::Count(convert::count(item, wanted, min, max)?),
        Kind::Flag => ParamValue::Flag(convert::flag(item, wanted)?),
        Kind::Rate => ParamValue::Rate(BitRate(convert::rate(item, wanted)?)),
        Kind::Text => ParamValue::Text(convert::text(item, wanted)?.to_owned().into()),
        Kind::Words(_) => {
            ParamValue::Choice(convert::word(item, wanted, &convert::words_of(&wanted.kind))?.into())
        }
        Kind::Texts => {
            let texts = match &item.value {
                Value::Array(items) => {
                    let texts = items.iter().map(|item| convert::text(item, wanted).map(str::to_owned));
                    texts.collect::<Result<Vec<_>, _>>()?
                }
                _ => vec![convert::text(item, wanted)?.to_owned()],
            };
            ParamValue::Texts(texts)
        }
        Kind::List(element) => {
            let element = Expected { kind: kind_of(*element), ..*wanted };
            let list = convert::elements(item, wanted)?.iter().map(|item| plain_value(item, &element));
            ParamValue::List(list.collect::<Result<Vec<_>, _>>()?.into())
        }
        _ => unreachable!("no parameter of one value has another kind"),
    })
}

/// Returns the kind of value that a document must have for a parameter of this kind.
fn kind_of(kind: ParamKind) -> Kind {
    Kind::for_parameter(kind).expect("profiles are read by the format that declares them")
}

/// An example value of a parameter, in the syntax of documents.
fn example(info: &ParamInfo) -> String {
    if info.default.is_absent() { info.example() } else { write(&info.default) }
}

/// Writes a value in the syntax of documents, without loss.
#[must_use]
pub fn write(value: &ParamValue) -> String {
    match value {
        ParamValue::Ratio(number) => float(*number),
        ParamValue::RatioPerPriority(ratios) if ratios.len() == 1 => float(ratios[0]),
        ParamValue::RatioPerPriority(ratios) => list(ratios.iter().map(|&ratio| float(ratio))),
        ParamValue::Bytes(bytes) => quote(&format_size(*bytes)),
        ParamValue::BytesPerPort(sizes) => list(sizes.iter().map(|&bytes| quote(&format_size(bytes)))),
        ParamValue::Time(span) => quote(&format_time(*span)),
        ParamValue::Rate(rate) => quote(&format_rate(*rate)),
        ParamValue::Count(number) => number.to_string(),
        ParamValue::Flag(flag) => flag.to_string(),
        ParamValue::Choice(word) | ParamValue::Text(word) => quote(word),
        ParamValue::Texts(texts) => list(texts.iter().map(|text| quote(text))),
        ParamValue::Pairs(pairs) => list(pairs.iter().map(|(from, to)| list([quote(from), quote(to)]))),
        ParamValue::File(file) => quote(&file.name),
        ParamValue::Tables(tables) => list(tables.iter().map(|table| {
            let entries = present(table).map(|(name, value)| format!("{name} = {}", write(value)));
            format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
        })),
        ParamValue::List(values) => list(values.iter().map(write)),
        ParamValue::Required(_)
        | ParamValue::Optional
        | ParamValue::OptionalLike(_)
        | ParamValue::Computed(_)
        | ParamValue::Derived(..)
        | ParamValue::Profiles(_) => value.to_string(),
    }
}

/// Returns the names and values of all parameters that have a value.
fn present(params: &Params) -> impl Iterator<Item = (&'static str, &ParamValue)> {
    params.iter().filter(|(_, value)| !value.is_absent())
}

/// Writes parameters to the resolved form of their table.
pub fn write_all(out: &mut OutTable, params: &Params) {
    for (name, value) in present(params) {
        match value {
            ParamValue::Tables(tables) if tables.is_empty() => {}
            ParamValue::Tables(tables) => {
                let table = |params| {
                    let mut table = OutTable::default();
                    write_all(&mut table, params);
                    table
                };
                out.put(name, OutValue::Tables(tables.iter().map(table).collect()));
            }
            _ => out.set(name, write(value)),
        }
    }
}

/// Records the faults that a registry entry found in its parameters.
pub fn report(reader: &Reader<'_>, params: &Params, faults: Faults) {
    for fault in faults.0 {
        let file = fault.line.and_then(|_| match params.value(fault.place.param) {
            ParamValue::File(file) => Some((file, std::str::from_utf8(&file.content).ok()?)),
            _ => None,
        });
        let line = fault.line;
        let (path, origin, complaint) = located(reader, fault);
        match file {
            Some((file, text)) => {
                reader.context.error_in_file(&path, origin, &file.path, text, line, complaint);
            }
            None => reader.context.error(&path, origin, complaint),
        }
    }
}

/// Records the warnings of a registry entry about its parameters.
pub fn warn(reader: &Reader<'_>, warnings: Vec<Fault>) {
    for warning in warnings {
        let (path, origin, complaint) = located(reader, warning);
        reader.context.warn(&path, origin, complaint);
    }
}

fn located(reader: &Reader<'_>, fault: Fault) -> (String, Origin, Complaint) {
    let (path, origin) = find(reader, fault.place);
    let complaint = Complaint::new(fault.message, fault.label).maybe_help(fault.help);
    let also = fault.also.into_iter();
    let complaint =
        also.fold(complaint, |complaint, (place, label)| complaint.also(find(reader, place).1, label));
    (path, origin, complaint)
}

/// Returns the key and the origin of a parameter's `place`. If the document does not set the value,
/// the origin is the surrounding table or list.
fn find(reader: &Reader<'_>, place: ParamPlace) -> (String, Origin) {
    let mut path = reader.path(place.param);
    let Some(item) = reader.item(place.param) else { return (path, reader.origin) };
    let nth = |item: &'_ Item, index: usize| match &item.value {
        Value::Array(list) => list.get(index).cloned(),
        _ => None,
    };
    let Some(element) = place.element.and_then(|index| nth(item, index)) else { return (path, item.origin) };
    let mut origin = element.origin;
    if let (Some(index), Some(key)) = (place.element, place.key) {
        path = join(&path, &format!("{index}.{key}"));
        if let Value::Table(table) = &element.value {
            origin = table.get(key).map_or(origin, |item| item.origin);
        }
    }
    let inner = place.inner.and_then(|index| nth(&element, index));
    (path, inner.map_or(origin, |item| item.origin))
}
