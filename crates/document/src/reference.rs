//! Generates the reference of a document format as Markdown.

use crate::spec::{KeySpec, Kind, Presence, TableSpec};
use bufferlab_params::{ParamInfo, ParamKind, ParamValue};
use std::fmt::Write;

/// Appends the section of a table: its keys with kinds, defaults and explanations.
/// The section also has the tables that the table's parameters contain.
pub fn table(text: &mut String, spec: &TableSpec) {
    heading(text, spec.title, spec.doc);
    let keys: Vec<_> = spec.keys.iter().filter(|key| !matches!(key.kind, Kind::Tag(_))).collect();
    rows(text, keys.into_iter().map(ReferenceRow::from));
    for variant in spec.variants {
        let _ = writeln!(text, "**`kind = \"{}\"`** {}\n", variant.kind, variant.doc);
        rows(text, variant.keys.iter().map(ReferenceRow::from));
    }
    let cards = spec.cards(false);
    for card in &cards {
        let source =
            if card.source.is_empty() { String::new() } else { format!(" Source: {}.", card.source) };
        let _ = writeln!(text, "**`kind = \"{}\"`** {}{source}\n", card.name, card.summary);
        rows(text, card.params.iter().map(ReferenceRow::from));
    }
    for param in cards.iter().flat_map(|card| card.params) {
        if let ParamKind::Tables(below) = param.kind {
            heading(text, below.title, below.doc);
            rows(text, below.params.iter().map(ReferenceRow::from));
        }
    }
}

fn heading(text: &mut String, title: &str, doc: &str) {
    let title = if title.starts_with('[') { format!("`{title}`") } else { title.to_owned() };
    let _ = writeln!(text, "### {}{}\n\n{doc}\n", title[..1].to_uppercase(), &title[1..]);
}

/// A key or a parameter, as a row of the reference's table.
struct ReferenceRow {
    name: &'static str,
    kind: Kind,
    default: String,
    example: Option<&'static str>,
    doc: &'static str,
}

impl From<&KeySpec> for ReferenceRow {
    fn from(key: &KeySpec) -> Self {
        let default = match key.presence {
            Presence::Required => "**required**".to_owned(),
            Presence::Optional => "none".to_owned(),
            Presence::Default(value) => format!("`{value}`"),
            Presence::Computed(rule) => rule.to_owned(),
        };
        let example = match key.presence {
            Presence::Default(_) => None,
            _ => Some(key.example),
        };
        Self { name: key.name, kind: key.kind, default, example, doc: key.doc }
    }
}

impl From<&ParamInfo> for ReferenceRow {
    fn from(param: &ParamInfo) -> Self {
        let (default, example) = match &param.default {
            ParamValue::Required(example) => ("**required**".to_owned(), Some(*example)),
            ParamValue::OptionalLike(example) => ("none".to_owned(), Some(*example)),
            ParamValue::Optional => ("none".to_owned(), None),
            ParamValue::Derived(rule, example) => ((*rule).to_owned(), Some(*example)),
            ParamValue::Computed(rule) => ((*rule).to_owned(), None),
            value => (format!("`{}`", crate::params::write(value)), None),
        };
        let kind = Kind::for_parameter(param.kind).expect("such a table has no profiles");
        Self { name: param.name, kind, default, example, doc: param.doc }
    }
}

fn rows(text: &mut String, rows: impl ExactSizeIterator<Item = ReferenceRow>) {
    if rows.len() == 0 {
        return;
    }
    let _ = writeln!(text, "| key | value | default | meaning |\n|---|---|---|---|");
    for row in rows {
        let words = match row.kind {
            Kind::Words(words) | Kind::WordOrTables { words, .. } => {
                format!(" {}", bufferlab_params::meanings(words))
            }
            _ => String::new(),
        };
        let example = row.example.map_or_else(String::new, |example| format!(", `{example}`"));
        let (name, default, doc) = (row.name, &row.default, row.doc);
        let _ = writeln!(text, "| `{name}` | {}{example} | {default} | {doc}{words} |", kind(&row.kind));
    }
    text.push('\n');
}

fn kind(kind: &Kind) -> String {
    match kind {
        Kind::Words(_) => "a word".to_owned(),
        Kind::Name(catalog) => {
            let kind = catalog.kind();
            format!("a name (section {}{}s)", kind[..1].to_uppercase(), &kind[1..])
        }
        Kind::Text => "string".to_owned(),
        Kind::Table(_) => "table".to_owned(),
        Kind::Flag => "true, false".to_owned(),
        other => {
            let words = other.expected();
            let words = words.strip_prefix("a ").unwrap_or(&words);
            words.to_owned()
        }
    }
}
