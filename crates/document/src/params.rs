//! Parameters of registered entries: from keys of a table to [`Params`], back to text, and faults to their places.

use crate::context::{Complaint, Context, suggestion};
use crate::convert;
use crate::quantity::{format_rate, format_size, format_time};
use crate::reader::{Reader, join};
use crate::resolved::{OutTable, OutValue, float, list, quote};
use crate::spec::{Kind, Wanted};
use crate::tree::{Item, Origin, Table, Value};
use bufferlab_params::{Fault, Faults, ParamInfo, ParamKind, ParamValue, Params, Place, Profile, TableInfo};
use bufferlab_units::{BitRate, Time};

/// More nodes than this do not fit a machine's memory.
const MAX_NODES: u64 = 1 << 20;

/// The parameters of the entry that the table's `kind` names, with the defaults of `profile`. `None` when one is wrong or missing.
pub fn params_of_kind(reader: &Reader<'_>, profile: Profile) -> Option<Params> {
    let infos = reader.params();
    let missing = |info: &ParamInfo, example: &str| reader.report_missing(info.name, example, info.doc);
    let find = |info: &ParamInfo| (reader.path(info.name), reader.item(info.name));
    let given = given(reader.context, infos, find, missing)?;
    Some(complete(infos, profile, &given))
}

/// What was written, by parameter.
type Given = Vec<(String, ParamValue)>;

/// Converts what was written; everything that is wrong is recorded.
fn given<'a>(
    context: &Context,
    infos: &'static [ParamInfo],
    find: impl Fn(&ParamInfo) -> (String, Option<&'a Item>),
    missing: impl Fn(&ParamInfo, &str),
) -> Option<Given> {
    let (mut given, mut complete) = (Vec::new(), true);
    for info in infos {
        match (find(info), &info.default) {
            ((path, Some(item)), _) => match value(context, &path, item, info) {
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

fn complete(infos: &'static [ParamInfo], profile: Profile, given: &Given) -> Params {
    Params::resolve(infos, profile, given)
        .expect("every value was checked, and none that is required is missing")
}

/// One value; what is wrong with it is recorded.
fn value(context: &Context, path: &str, item: &Item, info: &'static ParamInfo) -> Option<ParamValue> {
    match info.kind {
        ParamKind::Tables(below) => tables(context, path, item, info, below),
        ParamKind::Nodes { prefix } => nodes(context, path, item, info, prefix),
        _ => match parameter(item, info) {
            Ok(value) => Some(value),
            Err(complaint) => {
                context.error(path, item.origin, complaint);
                None
            }
        },
    }
}

/// A list of tables, each with parameters of its own.
fn tables(
    context: &Context,
    path: &str,
    item: &Item,
    info: &'static ParamInfo,
    below: &'static TableInfo,
) -> Option<ParamValue> {
    let example = info.example();
    let wanted = Wanted { name: info.name, kind: Kind::ParamTables(below), example: &example };
    let elements = match &item.value {
        Value::Array(elements) => elements,
        other => {
            let complaint = match other {
                Value::Table(_) => Complaint::new("expected a list of tables, found one table", "one table")
                    .help(format!("write the header with two brackets: [[{path}]]")),
                _ => convert::wrong_kind(item, &wanted),
            };
            context.error(path, item.origin, complaint);
            return None;
        }
    };
    if elements.is_empty() && matches!(info.default, ParamValue::Required(_)) {
        let complaint = Complaint::new("the list is empty", "expected at least one entry");
        context.error(path, item.origin, complaint.help(format!("for example {} = {example}", info.name)));
        return None;
    }
    let read = |(index, element): (usize, &Item)| table(context, &format!("{path}.{index}"), element, below);
    let tables: Vec<_> = elements.iter().enumerate().map(read).collect();
    tables.into_iter().collect::<Option<Vec<_>>>().map(ParamValue::Tables)
}

fn table(context: &Context, path: &str, item: &Item, below: &'static TableInfo) -> Option<Params> {
    let names = || below.params.iter().map(|param| param.name);
    let list = format!("keys here: {}", names().collect::<Vec<_>>().join(", "));
    let Value::Table(table) = &item.value else {
        let found = item.value.kind_in_words();
        let message = format!("expected a table, found {found}");
        let complaint = Complaint::new(message, format!("expected {}", below.title));
        context.error(path, item.origin, complaint.help(list.replace("keys here", "keys")));
        return None;
    };
    let misspelled = refuse_unknown_keys(context, path, table, below, &list);
    let missing = |info: &ParamInfo, example: &str| {
        if misspelled.iter().any(|near| near == info.name) {
            return;
        }
        let complaint = Complaint::new(format!("`{}` is missing", info.name), format!("{path} needs it"));
        let help = format!("add {} = {example}\n{}", info.name, info.doc);
        context.error(&join(path, info.name), item.origin, complaint.help(help));
    };
    let mark = context.mark();
    let find = |info: &ParamInfo| (join(path, info.name), table.get(info.name));
    let given = given(context, below.params, find, missing);
    let given = given.filter(|_| misspelled.is_empty() || !context.failed_since(mark))?;
    Some(complete(below.params, Profile::Paper, &given))
}

/// Answers the keys that were probably meant.
fn refuse_unknown_keys(
    context: &Context,
    path: &str,
    table: &Table,
    below: &'static TableInfo,
    list: &str,
) -> Vec<String> {
    let names = || below.params.iter().map(|param| param.name);
    let mut misspelled = Vec::new();
    for entry in table.entries.iter().filter(|entry| names().all(|name| name != entry.key)) {
        let help = match suggestion(&entry.key, names()) {
            Some(near) => {
                let help = format!("did you mean `{near}`?\n{list}");
                misspelled.push(near);
                help
            }
            None => list.to_owned(),
        };
        let complaint = Complaint::new("unknown key", format!("{} has no such key", below.title));
        context.error(&join(path, &entry.key), entry.key_origin, complaint.help(help));
    }
    misspelled
}

/// So many nodes, or their names.
fn nodes(
    context: &Context,
    path: &str,
    item: &Item,
    info: &'static ParamInfo,
    prefix: &str,
) -> Option<ParamValue> {
    let example = info.example();
    let wanted = Wanted { name: info.name, kind: plain(info.kind), example: &example };
    let refuse = |origin: Origin, complaint: Complaint| {
        context.error(path, origin, complaint);
        None
    };
    let elements = match &item.value {
        Value::Array(elements) => elements,
        Value::Integer(_) => {
            return match convert::count(item, &wanted, 1, MAX_NODES) {
                Ok(count) => {
                    Some(ParamValue::Texts((0..count).map(|index| format!("{prefix}{index}")).collect()))
                }
                Err(complaint) => refuse(item.origin, complaint),
            };
        }
        _ => return refuse(item.origin, convert::wrong_kind(item, &wanted)),
    };
    let mut names = Vec::new();
    for element in elements {
        match convert::text(element, &wanted) {
            Ok(name) if name.is_empty() || name.contains(['*', '?', '/']) => {
                let message = format!("\"{name}\" cannot be a node's name");
                let complaint = Complaint::new(message, "expected a name without *, ? and /");
                let help = "those characters stand for patterns and for cable numbers elsewhere";
                return refuse(element.origin, complaint.help(help));
            }
            Ok(name) => names.push(name.to_owned()),
            Err(complaint) => return refuse(element.origin, complaint),
        }
    }
    if names.is_empty() {
        return refuse(item.origin, Complaint::new("the list is empty", "expected at least one name"));
    }
    Some(ParamValue::Texts(names))
}

/// One value without places below it.
///
/// # Errors
/// If it is not of the parameter's kind, or outside of its domain.
///
/// # Panics
/// If the parameter is a list of profiles or of tables.
pub fn parameter(item: &Item, info: &'static ParamInfo) -> Result<ParamValue, Complaint> {
    let example = example(info);
    let wanted = Wanted { name: info.name, kind: plain(info.kind), example: &example };
    let value = plain_value(item, &wanted)?;
    info.check(&value).map_err(|misfit| {
        Complaint::new(misfit.to_string(), format!("expected {}", info.expected()))
            .help(format!("for example {} = {example}", info.name))
    })?;
    Ok(value)
}

/// A value of one of the kinds that parameters have.
fn plain_value(item: &Item, wanted: &Wanted<'_>) -> Result<ParamValue, Complaint> {
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
        Kind::List(element) => {
            let element = Wanted { kind: plain(*element), ..*wanted };
            let list = convert::elements(item, wanted)?.iter().map(|item| plain_value(item, &element));
            ParamValue::List(list.collect::<Result<Vec<_>, _>>()?.into())
        }
        _ => unreachable!("no parameter of one value has another kind"),
    })
}

/// The format's kind for a parameter's.
fn plain(kind: ParamKind) -> Kind {
    Kind::for_parameter(kind).expect("profiles are read by the format that declares them")
}

/// A value as the file would write it.
fn example(info: &ParamInfo) -> String {
    if info.default.is_absent() { info.example() } else { write(&info.default) }
}

/// A value as the file would write it, exactly.
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

/// The parameters that have a value.
fn present(params: &Params) -> impl Iterator<Item = (&'static str, &ParamValue)> {
    params.iter().filter(|(_, value)| !value.is_absent())
}

/// Writes parameters down in the resolved table.
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

/// Records what an entry found wrong.
pub fn report(reader: &Reader<'_>, faults: Faults) {
    for fault in faults.0 {
        let (path, origin, complaint) = located(reader, fault);
        reader.context.error(&path, origin, complaint);
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

/// Where `place` was written: its key and its origin. What was not written stands where what is around it does.
fn find(reader: &Reader<'_>, place: Place) -> (String, Origin) {
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
