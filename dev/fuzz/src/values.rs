//! Draws random values for scenario keys: mostly within the limits of the key, often at a limit,
//! sometimes beyond a limit.

use bufferlab_document::spec::{KeySpec, Kind, Presence, TableSpec};
use bufferlab_params::{Catalog, ParamInfo, ParamKind, ParamValue, TableInfo};
use bufferlab_units::RandomStream;
use std::fmt::Display;

const TIMES: &[&str] = &[
    "0 s", "1 ps", "1 ns", "83 ns", "1 us", "1.5 us", "20 us", "150 us", "1 ms", "30 ms", "1 s", "100000 s",
];
const SIZES: &[&str] = &[
    "0 B",
    "1 B",
    "63 B",
    "64 B",
    "208 B",
    "999 B",
    "1454 B",
    "1500 B",
    "3 KB",
    "9 KB",
    "25 KB",
    "80 KB",
    "250 KB",
    "1 MB",
    "20 MB",
    "1 GB",
    "100000 GB",
];
const RATES: &[&str] = &[
    "1 b/s",
    "10 Kb/s",
    "1 Mb/s",
    "100 Mb/s",
    "1 Gb/s",
    "9.99 Gb/s",
    "10 Gb/s",
    "25 Gb/s",
    "40 Gb/s",
    "100 Gb/s",
    "800 Gb/s",
    "100 Tb/s",
];
const TEXTS: &[&str] = &[
    "h0",
    "h1",
    "h2",
    "h3",
    "h9",
    "s0",
    "s1",
    "switch",
    "leaf0",
    "leaf1",
    "spine0",
    "t0",
    "dctcp",
    "tcp",
    "rdma",
    "incast",
    "poisson",
    "web_search",
    "data_mining",
    "20 KB",
    "*",
    "h*",
];

/// Source of random values for keys, with a stream of random numbers.
pub(crate) struct Dice<'a>(pub(crate) &'a mut RandomStream);

impl Dice<'_> {
    /// Returns true with the probability 1 / `times`.
    pub(crate) fn one_in(&mut self, times: u64) -> bool {
        self.0.below(times) == 0
    }

    pub(crate) fn pick<'t, T>(&mut self, list: &'t [T]) -> &'t T {
        &list[self.0.below(list.len() as u64) as usize]
    }

    /// Draws a random number up to `max`; all orders of magnitude are equally likely.
    fn up_to(&mut self, max: u64) -> u64 {
        let bits = 64 - max.leading_zeros();
        let bound = 1_u64.checked_shl(self.0.below(u64::from(bits) + 1) as u32).unwrap_or(u64::MAX);
        self.0.below(bound.min(max).saturating_add(1).max(1))
    }

    fn count(&mut self, min: u64, max: u64) -> u64 {
        match self.0.below(8) {
            0 => min,
            1 => max,
            2 => max.saturating_add(1),
            3 => min.saturating_sub(1),
            // The number of objects is small, because more objects would only make a run slow.
            _ => min.saturating_add(self.up_to(max.saturating_sub(min).min(64))),
        }
    }

    fn ratio(&mut self, min: f64, max: f64) -> f64 {
        match self.0.below(8) {
            0 => min,
            1 => max,
            2 => 1.0,
            3 => 0.5,
            4 => min + 1e-9,
            _ => min + self.0.next_f64() * (max - min).min(4.0),
        }
    }
}

fn quoted(text: impl Display) -> String {
    format!("\"{text}\"")
}

fn float(x: f64) -> String {
    format!("{x:?}")
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

/// Draws a random value for a scenario key, as TOML on one line.
pub(crate) fn value(dice: &mut Dice<'_>, key: &KeySpec) -> String {
    if dice.one_in(8) && !key.example.is_empty() { key.example.to_owned() } else { of_kind(dice, key.kind) }
}

fn of_kind(dice: &mut Dice<'_>, kind: Kind) -> String {
    let some = 1 + dice.0.below(3);
    match kind {
        Kind::Text => quoted(dice.pick(TEXTS)),
        Kind::Time { .. } => quoted(dice.pick(TIMES)),
        Kind::Size { .. } => quoted(dice.pick(SIZES)),
        Kind::SizePerPort { .. } => match dice.0.below(3) {
            0 => quoted("auto"),
            1 => quoted(dice.pick(SIZES)),
            _ => list((0..some).map(|_| quoted(dice.pick(SIZES)))),
        },
        Kind::Rate => quoted(dice.pick(RATES)),
        Kind::Count { min, max } => dice.count(min, max).to_string(),
        Kind::Ratio { min, max, .. } => float(dice.ratio(min, max)),
        Kind::Ratios { min, max } => match dice.one_in(2) {
            true => float(dice.ratio(min, max)),
            false => list((0..some).map(|_| float(dice.ratio(min, max)))),
        },
        Kind::Number => float(dice.ratio(-2.0, 1e6)),
        Kind::Flag => dice.one_in(2).to_string(),
        Kind::Words(words) => quoted(dice.pick(words).name),
        Kind::Name(catalog) | Kind::Tag(catalog) => quoted(name(dice, catalog)),
        Kind::Entry(catalog) => entry(dice, catalog),
        Kind::CountOrWord { words, .. } => match dice.one_in(2) {
            true => quoted(dice.pick(words)),
            false => dice.count(1, 1_000).to_string(),
        },
        Kind::WordOrTables { words, table, .. } => match dice.one_in(2) {
            true => quoted(dice.pick(words).name),
            false => list((0..some).map(|_| inline(dice, table))),
        },
        Kind::Table(spec) => inline(dice, spec),
        Kind::Tables(spec) => list((0..some).map(|_| inline(dice, spec))),
        Kind::ParamTables(info) => list((0..some).map(|_| param_table(dice, info))),
        Kind::Texts => list((0..some).map(|_| quoted(dice.pick(TEXTS)))),
        Kind::CountOrNames { .. } => dice.count(1, 12).to_string(),
        Kind::Counts { min, max } => list((0..some).map(|_| dice.count(min, max).to_string())),
        Kind::Pairs { .. } => list((0..some).map(|_| list((0..2).map(|_| quoted(dice.pick(&TEXTS[..5])))))),
        Kind::List(kind) => list((0..some).map(|_| of_param(dice, *kind))),
        Kind::Sizes => list((0..some).map(|_| quoted(dice.pick(SIZES)))),
        Kind::Values { .. } => list((0..some).map(|n| n.to_string())),
        Kind::Settings { .. } => "{}".to_owned(),
        Kind::Named(kind) => format!("{{ a = {} }}", of_kind(dice, *kind)),
        Kind::TextOr { .. } => quoted(dice.pick(TEXTS)),
        Kind::Intervals => list((1..=2 * some).map(|n| format!("\"{} us\"", n * 17))),
    }
}

/// Draws a random value for a parameter of a registry entry. The kind of the parameter is `kind`.
pub(crate) fn of_param(dice: &mut Dice<'_>, kind: ParamKind) -> String {
    match Kind::for_parameter(kind) {
        Some(kind) => of_kind(dice, kind),
        // The scenario format declares the tables of profiles; the declaration of the parameter
        // does not contain the tables.
        None => format!("[{}]", inline(dice, bufferlab_scenario::profile_format())),
    }
}

/// Draws a random value for a required parameter. The value makes a small network with little
/// traffic.
pub(crate) fn modest(dice: &mut Dice<'_>, param: &ParamInfo) -> String {
    match param.kind {
        ParamKind::Count { min, max } => {
            let most = if dice.one_in(2) { 3 } else { 12 };
            (min + dice.0.below(most)).min(max).to_string()
        }
        ParamKind::Rate { .. } => quoted(dice.pick(&RATES[4..10])),
        ParamKind::Time { .. } => quoted(dice.pick(&TIMES[2..7])),
        ParamKind::Bytes { .. } => quoted(dice.pick(&SIZES[7..14])),
        ParamKind::Ratio { .. } | ParamKind::RatioAbove { .. } => quoted(dice.pick(&["0.5", "0.9", "1/4"])),
        ParamKind::File | ParamKind::FlowSizes(_) | ParamKind::Text if !dice.one_in(4) => {
            match param.default {
                ParamValue::Required(example) => example.to_owned(),
                _ => of_param(dice, param.kind),
            }
        }
        _ => of_param(dice, param.kind),
    }
}

fn name(dice: &mut Dice<'_>, catalog: &dyn Catalog) -> &'static str {
    dice.pick(&catalog.cards(false)).name
}

/// Draws a random registry entry (such as a policy) with no parameters or with some parameters.
fn entry(dice: &mut Dice<'_>, catalog: &dyn Catalog) -> String {
    let cards = catalog.cards(false);
    let card = dice.pick(&cards);
    let mut parts = vec![format!("name = {}", quoted(card.name))];
    parts.extend(parameters(dice, card.params));
    if parts.len() == 1 { quoted(card.name) } else { format!("{{ {} }}", parts.join(", ")) }
}

/// Draws the required parameters of a registry entry, and some other parameters.
pub(crate) fn parameters(dice: &mut Dice<'_>, params: &'static [ParamInfo]) -> Vec<String> {
    let mut parts = Vec::new();
    for param in params {
        let must = matches!(param.default, ParamValue::Required(_));
        // The search sets derived parameters more often, because some of these parameters exclude
        // each other.
        let may = if matches!(param.default, ParamValue::Derived(..)) { 3 } else { 6 };
        if must || dice.one_in(may) {
            parts.push(format!("{} = {}", param.name, of_param(dice, param.kind)));
        }
    }
    parts
}

fn param_table(dice: &mut Dice<'_>, info: &'static TableInfo) -> String {
    format!("{{ {} }}", parameters(dice, info.params).join(", "))
}

/// Draws a table of a scenario on one line: the required keys, and some optional keys.
pub(crate) fn inline(dice: &mut Dice<'_>, spec: &'static TableSpec) -> String {
    let mut parts = Vec::new();
    for key in spec.keys {
        if key.presence_is_required() || dice.one_in(4) {
            if let Kind::Tag(catalog) = key.kind {
                let cards = catalog.cards(false);
                let card = dice.pick(&cards);
                parts.push(format!("{} = {}", key.name, quoted(card.name)));
                parts.extend(parameters(dice, card.params));
                continue;
            }
            parts.push(format!("{} = {}", key.name, value(dice, key)));
        }
    }
    if !spec.variants.is_empty() {
        let variant = dice.pick(spec.variants);
        parts.push(format!("kind = {}", quoted(variant.kind)));
        for key in variant.keys {
            if key.presence_is_required() || dice.one_in(4) {
                parts.push(format!("{} = {}", key.name, value(dice, key)));
            }
        }
    }
    format!("{{ {} }}", parts.join(", "))
}

/// Extension trait that states whether a scenario key or a parameter is required.
trait IsRequired {
    fn presence_is_required(&self) -> bool;
}

impl IsRequired for KeySpec {
    fn presence_is_required(&self) -> bool {
        matches!(self.presence, Presence::Required)
    }
}
