//! `switch.policy`: a name or a table, checked against the registry of policies.

use super::profiles;
use crate::context::{Complaint, quoted_list, suggestion};
use crate::convert;
use crate::format::{Kind, PROFILE, Wanted};
use crate::quantity::{format_rate, format_size, format_time};
use crate::reader::Reader;
use crate::resolved::{OutTable, OutValue, float, list, quote};
use crate::tree::{Item, Origin, Value, expand_name};
use bufferlab_core::{ParamInfo, ParamKind, ParamValue, Params, PolicyInfo, Profile, find_policy, policies};
use bufferlab_units::{BitRate, Time};

/// A policy with all of its parameters.
#[derive(Clone, Debug)]
pub(crate) struct PolicyChoice {
    pub(crate) info: &'static PolicyInfo,
    pub(crate) params: Params,
    /// Where the policy and the parameters that were given stand.
    pub(crate) origin: Origin,
    pub(crate) origins: Vec<(String, Origin)>,
}

impl PolicyChoice {
    /// All parameters, by the registry's names; without profiles where there are none.
    pub(crate) fn values(&self) -> Vec<(String, ParamValue)> {
        let said = self.params.iter().filter(|(_, value)| !is_empty(value));
        said.map(|(name, value)| (name.to_owned(), value.clone())).collect()
    }

    /// Where `param` was written, else the policy.
    pub(crate) fn place(&self, param: &str) -> Origin {
        self.origins.iter().find(|(name, _)| name == param).map_or(self.origin, |(_, origin)| *origin)
    }
}

pub(crate) fn read(switch: &mut Reader<'_>, profile: Profile) -> Option<PolicyChoice> {
    let mut item = switch.value_of("policy")?.into_owned();
    expand_name(&mut item);
    let Value::Table(table) = &item.value else {
        let wanted = switch.spec_of("policy").wanted();
        switch.error("policy", convert::wrong_kind(&item, &wanted));
        return None;
    };
    let Some(name) = table.get("name") else {
        let complaint = Complaint::new("`name` is missing", "which policy is this?");
        let help = format!("add name = \"dt\"; known: {}", quoted_list(names()));
        switch.error("policy", complaint.help(help));
        return None;
    };
    let info = find(switch, name)?;
    let (mut given, mut origins) = (Vec::new(), Vec::new());
    let mark = switch.context.mark();
    for entry in table.entries.iter().filter(|entry| entry.key != "name") {
        let path = format!("{}.{}", switch.path("policy"), entry.key);
        let Some(param) = info.params.iter().find(|param| param.name == entry.key) else {
            switch.context.error(&path, entry.key_origin, unknown_parameter(info, &entry.key));
            continue;
        };
        if param.kind == ParamKind::Profiles {
            if let Some(value) = profiles::read(switch.context, &path, &entry.item) {
                given.push((entry.key.clone(), value));
                origins.push((entry.key.clone(), entry.item.origin));
            }
            continue;
        }
        match parameter(&entry.item, param) {
            Ok(value) => {
                given.push((entry.key.clone(), value));
                origins.push((entry.key.clone(), entry.item.origin));
            }
            Err(complaint) => {
                let help = complaint.help.clone().unwrap_or_default();
                let help = format!("{help}\n{}", param.doc);
                switch.context.error(&path, entry.item.origin, complaint.help(help.trim_start()));
            }
        }
    }
    if switch.context.failed_since(mark) {
        return None;
    }
    let params = match Params::resolve(info.params, profile, &given) {
        Ok(params) => params,
        Err(error) => {
            let origin = error.given.map_or(name.origin, |index| origins[index].1);
            let path = format!("{}.{}", switch.path("policy"), error.name);
            switch.context.error(&path, origin, Complaint::new(error.message, "this value"));
            return None;
        }
    };
    let mut out = OutTable::default();
    out.set("name", quote(info.name));
    for (name, value) in params.iter() {
        if !is_empty(value) {
            out.set(name, write(value));
        }
    }
    switch.out.put("policy", OutValue::Table(out));
    Some(PolicyChoice { info, params, origin: name.origin, origins })
}

/// An empty list of profiles says nothing.
fn is_empty(value: &ParamValue) -> bool {
    matches!(value, ParamValue::Profiles(list) if list.is_empty())
}

fn names() -> impl Iterator<Item = &'static str> + Clone {
    policies().into_iter().map(|info| info.name)
}

fn find(switch: &Reader<'_>, name: &Item) -> Option<&'static PolicyInfo> {
    let key = switch.path("policy");
    let Value::String(written) = &name.value else {
        let wanted = Wanted { name: "name", kind: Kind::Text, example: "\"dt\"" };
        switch.context.error(&key, name.origin, convert::wrong_kind(name, &wanted));
        return None;
    };
    let found = find_policy(written);
    if found.is_none() {
        let all = policies();
        let all = all.iter().flat_map(|info| std::iter::once(info.name).chain(info.aliases.iter().copied()));
        // The list grows with the registry: with a suggestion it would only be in the way.
        let help = match suggestion(written, all) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!("known: {}", quoted_list(names())),
        };
        let complaint = Complaint::new(format!("unknown policy \"{written}\""), "no such policy");
        switch.context.error(&key, name.origin, complaint.help(help));
    }
    found
}

fn unknown_parameter(info: &PolicyInfo, written: &str) -> Complaint {
    let known: Vec<_> = info.params.iter().map(|param| param.name).collect();
    let list = match known.as_slice() {
        [] => format!("the policy \"{}\" has no parameters", info.name),
        _ => format!("parameters of \"{}\": {}", info.name, known.join(", ")),
    };
    let help = match suggestion(written, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?\n{list}"),
        None => list,
    };
    Complaint::new("unknown parameter", format!("\"{}\" has no such parameter", info.name)).help(help)
}

/// The format's kind for a parameter's, for reading and for the schema.
pub(crate) fn kind_of_parameter(kind: ParamKind) -> Kind {
    Kind::for_parameter(kind).unwrap_or(Kind::Tables(&PROFILE))
}

fn parameter(item: &Item, info: &'static ParamInfo) -> Result<ParamValue, Complaint> {
    let example = write(&info.default);
    let value =
        value(item, &Wanted { name: info.name, kind: kind_of_parameter(info.kind), example: &example })?;
    info.check(&value).map_err(|misfit| {
        Complaint::new(misfit.to_string(), format!("expected {}", info.expected()))
            .help(format!("for example {} = {example}", info.name))
    })?;
    Ok(value)
}

/// A value of one of the kinds that parameters have.
fn value(item: &Item, wanted: &Wanted<'_>) -> Result<ParamValue, Complaint> {
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
            let element = Wanted { kind: kind_of_parameter(*element), ..*wanted };
            let list = convert::elements(item, wanted)?.iter().map(|item| value(item, &element));
            ParamValue::List(list.collect::<Result<Vec<_>, _>>()?.into())
        }
        _ => unreachable!("no parameter has another kind"),
    })
}

/// A value as the file would write it, exactly.
fn write(value: &ParamValue) -> String {
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
        ParamValue::Required(example) => (*example).to_owned(),
        ParamValue::Computed(rule) => (*rule).to_owned(),
        ParamValue::Optional => String::new(),
        ParamValue::List(values) => list(values.iter().map(write)),
        ParamValue::Profiles(profiles) => list(profiles.iter().map(profiles::write)),
    }
}
