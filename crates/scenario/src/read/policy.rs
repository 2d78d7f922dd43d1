//! `switch.policy`: a name or a table, checked against the registry of policies.

use super::profiles;
use crate::context::{Complaint, quoted_list, suggestion};
use crate::convert;
use crate::format::{Kind, PROFILE, Wanted};
use crate::reader::Reader;
use crate::resolved::{OutTable, OutValue, list, quote};
use crate::tree::{Item, Origin, Value, expand_name};
use bufferlab_core::{ParamKind, ParamValue, Params, PolicyInfo, Profile, find_policy, policies};
use bufferlab_document::params::parameter;

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
                let help = format!("{help}\n{}", param.documentation());
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

/// A value as the file would write it, exactly.
fn write(value: &ParamValue) -> String {
    match value {
        ParamValue::Profiles(profiles) => list(profiles.iter().map(profiles::write)),
        other => bufferlab_document::params::write(other),
    }
}
