//! The reference of a format as Markdown.

use crate::spec::{KeySpec, Kind, Presence, TableSpec};
use std::fmt::Write;

/// Appends a section about a table: its keys with their kinds, defaults and explanations.
pub fn table(text: &mut String, spec: &TableSpec) {
    let title = if spec.title.starts_with('[') { format!("`{}`", spec.title) } else { spec.title.to_owned() };
    let _ = writeln!(text, "### {}{}\n\n{}\n", title[..1].to_uppercase(), &title[1..], spec.doc);
    keys(text, spec.keys);
    for variant in spec.variants {
        let _ = writeln!(text, "**`kind = \"{}\"`** {}\n", variant.kind, variant.doc);
        keys(text, variant.keys);
    }
}

fn keys(text: &mut String, keys: &[KeySpec]) {
    if keys.is_empty() {
        return;
    }
    let _ = writeln!(text, "| key | value | default | meaning |\n|---|---|---|---|");
    for key in keys {
        let default = match key.presence {
            Presence::Required => "**required**".to_owned(),
            Presence::Optional => "none".to_owned(),
            Presence::Default(value) => format!("`{value}`"),
            Presence::Computed(rule) => rule.to_owned(),
        };
        let words = match key.kind {
            Kind::Choice(words) => meanings(words.iter().copied()),
            Kind::Words(words) => meanings(words.iter().map(|word| (word.name, word.meaning))),
            _ => String::new(),
        };
        let example = match key.presence {
            Presence::Default(_) => String::new(),
            _ => format!(", `{}`", key.example),
        };
        let _ = writeln!(
            text,
            "| `{}` | {}{example} | {default} | {}{words} |",
            key.name,
            kind(&key.kind),
            key.doc
        );
    }
    text.push('\n');
}

/// What each of a few words chooses, in a sentence behind another one.
fn meanings(words: impl Iterator<Item = (&'static str, &'static str)>) -> String {
    let words: Vec<_> = words.map(|(word, meaning)| format!("`{word}`: {meaning}")).collect();
    format!(" {}.", words.join("; "))
}

fn kind(kind: &Kind) -> String {
    match kind {
        Kind::Choice(_) | Kind::Words(_) => "a word".to_owned(),
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
