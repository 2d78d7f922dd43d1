//! Parsers for values in vector files: tags, parameters, times.

use bufferlab_core::{Ecn, ParamInfo, ParamKind, ParamValue, Params, Profile, TableInfo, Tags};
use bufferlab_units::{BitRate, Time};

/// Parses a list of tag names to a set of packet tags.
pub(super) fn tags(names: &[String]) -> Result<Tags, String> {
    names.iter().try_fold(Tags::NONE, |set, name| {
        Ok(set.with(match name.as_str() {
            "unscheduled" => Tags::UNSCHEDULED,
            "small" => Tags::SMALL,
            "control" => Tags::CONTROL,
            "retransmission" => Tags::RETRANSMISSION,
            "lossless" => Tags::LOSSLESS,
            other => return Err(format!("there is no tag \"{other}\"")),
        }))
    })
}

/// Parses the name of a packet's ECN state.
pub(super) fn ecn(name: &str) -> Result<Ecn, String> {
    match name {
        "capable" => Ok(Ecn::Capable),
        "marked" => Ok(Ecn::Marked),
        "not-capable" => Ok(Ecn::NotCapable),
        other => Err(format!("ecn = \"{other}\"; expected capable, marked or not-capable")),
    }
}

/// Reads the parameters that a file gives for `entry`, in their order. Error messages
/// begin with `prefix`.
pub(super) fn given(
    prefix: &str,
    (entry, params): (&str, &[ParamInfo]),
    written: &toml::Table,
) -> Result<Vec<(String, ParamValue)>, String> {
    let value = |(name, value): (&String, &toml::Value)| {
        let param = params.iter().find(|param| param.name == name.as_str());
        let param = param.ok_or_else(|| format!("{prefix}{entry} has no parameter \"{name}\""))?;
        let value = param_value(param, value).map_err(|what| format!("{prefix}{name}: {what}"))?;
        Ok((name.clone(), value))
    };
    written.iter().map(value).collect()
}

/// Converts a parameter's value to the kind that the registry declares, and checks its domain.
fn param_value(info: &ParamInfo, value: &toml::Value) -> Result<ParamValue, String> {
    let found =
        value_of(info.kind, value).ok_or_else(|| format!("expected {}, found {value:?}", info.expected()))?;
    info.check(&found).map_err(|misfit| misfit.to_string())?;
    Ok(found)
}

fn value_of(kind: ParamKind, value: &toml::Value) -> Option<ParamValue> {
    let number = |value: &toml::Value| match value {
        toml::Value::Float(x) => Some(*x),
        toml::Value::Integer(n) => Some(*n as f64),
        _ => None,
    };
    let count = |value: &toml::Value| value.as_integer().and_then(|n| u64::try_from(n).ok());
    match kind {
        ParamKind::Ratio { .. } | ParamKind::RatioAbove { .. } | ParamKind::Measure { .. } => {
            number(value).map(ParamValue::Ratio)
        }
        ParamKind::RatioPerPriority { .. } => match value.as_array() {
            Some(list) => list.iter().map(number).collect::<Option<Vec<_>>>(),
            None => number(value).map(|x| vec![x]),
        }
        .map(|list| ParamValue::RatioPerPriority(list.into())),
        ParamKind::Bytes { .. } => count(value).map(ParamValue::Bytes),
        ParamKind::BytesPerPort { .. } => match value.as_array() {
            Some(list) => list
                .iter()
                .map(count)
                .collect::<Option<Vec<_>>>()
                .map(|list| ParamValue::BytesPerPort(list.into())),
            None => count(value).map(ParamValue::Bytes),
        },
        ParamKind::Time { .. } => value.as_str().and_then(parse_time).map(ParamValue::Time),
        ParamKind::Count { .. } => count(value).map(ParamValue::Count),
        ParamKind::Flag => value.as_bool().map(ParamValue::Flag),
        ParamKind::List(element) => {
            let list = value.as_array()?.iter().map(|value| value_of(*element, value));
            list.collect::<Option<Vec<_>>>().map(|list| ParamValue::List(list.into()))
        }
        ParamKind::Profiles => value
            .as_array()
            .and_then(|list| list.iter().map(super::profiles::profile).collect::<Option<Vec<_>>>())
            .map(|list| ParamValue::Profiles(list.into())),
        ParamKind::Rate { .. } => value.as_str().and_then(parse_rate).map(ParamValue::Rate),
        ParamKind::Text => value.as_str().map(|text| ParamValue::Text(text.to_owned().into())),
        ParamKind::Choice(_) => value.as_str().map(|word| ParamValue::Choice(word.to_owned().into())),
        ParamKind::Tables(below) => {
            let tables = value.as_array()?.iter().map(|table| params(below, table));
            tables.collect::<Option<Vec<_>>>().map(ParamValue::Tables)
        }
        // No policy or marking rule has a parameter of this kind.
        ParamKind::Nodes { .. }
        | ParamKind::Texts
        | ParamKind::Pairs { .. }
        | ParamKind::File
        | ParamKind::FlowSizes(_) => None,
    }
}

/// Converts a TOML table to the parameters that `below` declares.
fn params(below: &'static TableInfo, written: &toml::Value) -> Option<Params> {
    let mut given = Vec::new();
    for (name, value) in written.as_table()? {
        let param = below.params.iter().find(|param| param.name == name.as_str())?;
        given.push((name.clone(), value_of(param.kind, value)?));
    }
    Params::resolve(below.params, Profile::Paper, &given).ok()
}

/// Parses a rate, a whole number with its unit: `"10 Gb/s"`.
pub(super) fn parse_rate(text: &str) -> Option<BitRate> {
    let (number, unit) = text.split_once(' ')?;
    let scale = match unit {
        "b/s" => 1,
        "Kb/s" => 1_000,
        "Mb/s" => 1_000_000,
        "Gb/s" => 1_000_000_000,
        _ => return None,
    };
    Some(BitRate(scale * number.parse::<u64>().ok()?))
}

/// Parses a time, a whole number with its unit: `"80 us"`.
pub(super) fn parse_time(text: &str) -> Option<Time> {
    let (number, unit) = text.split_once(' ')?;
    let scale = match unit {
        "ps" => Time(1),
        "ns" => Time::from_ns(1),
        "us" => Time::from_us(1),
        "ms" => Time::from_ms(1),
        _ => return None,
    };
    Some(scale * number.parse().ok()?)
}
