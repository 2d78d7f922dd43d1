//! The reference of the format as Markdown, for `docs/scenarios.md`.

use crate::format::{
    BURST, CHANGE, ECN, FAULT, HARDWARE, HOST, KeySpec, Kind, LINK, OTHER_BURST, OUTPUT, PFC, PROFILE,
    Presence, ROOT, ROUTE, SCHEDULER_GROUP, SWITCH, SWITCH_OVERRIDE, TOPOLOGY, TRACE_ADDRESS, TRANSPORT,
    TableSpec, WATCHDOG, WORKLOAD,
};
use bufferlab_core::{POLICIES, Profile};
use bufferlab_transport::{CONGESTION_CONTROLS, UNRESPONSIVE};
use bufferlab_workload::BUILTIN_SIZES;
use std::fmt::Write;

/// Every table, key, unit and default of the format; policies and built-in size distributions.
#[must_use]
pub fn reference() -> String {
    let mut text = String::new();
    let tables = [
        &ROOT,
        &TOPOLOGY,
        &LINK,
        &CHANGE,
        &ROUTE,
        &SWITCH,
        &ECN,
        &PROFILE,
        &PFC,
        &WATCHDOG,
        &HARDWARE,
        &SCHEDULER_GROUP,
        &SWITCH_OVERRIDE,
        &TRANSPORT,
        &HOST,
        &WORKLOAD,
        &OTHER_BURST,
        &BURST,
        &TRACE_ADDRESS,
        &FAULT,
        &OUTPUT,
    ];
    for spec in tables {
        table(&mut text, spec);
    }
    policies(&mut text);
    let _ = writeln!(text, "### Congestion controls\n\n| name | what | source |\n|---|---|---|");
    for info in CONGESTION_CONTROLS {
        let _ = writeln!(text, "| `{}` | {}. {} | {} |", info.name, info.title, info.summary, info.source);
    }
    let _ = writeln!(
        text,
        "| `{UNRESPONSIVE}` | Open loop. Packets leave at a rate, whatever becomes of them. | UDP, traffic generators |"
    );
    text.push('\n');
    let _ = writeln!(text, "### Built-in flow sizes\n\n| name | what | source |\n|---|---|---|");
    for sizes in BUILTIN_SIZES {
        let _ = writeln!(text, "| `{}` | {} | {} |", sizes.name, sizes.summary, sizes.source);
    }
    text
}

fn table(text: &mut String, spec: &TableSpec) {
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
        Kind::CongestionControl => "a name (section Congestion controls)".to_owned(),
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

fn policies(text: &mut String) {
    let _ = writeln!(
        text,
        "### Policies\n\nFrom the registry. Where two defaults are given, the second one holds under `profile = \"artifact\"`.\n"
    );
    for info in POLICIES {
        let aliases = match info.aliases {
            [] => String::new(),
            names => format!(
                " (also {})",
                names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
            ),
        };
        let _ = writeln!(
            text,
            "**`{}`**{aliases}: {}. {} {}\n",
            info.name, info.title, info.summary, info.source
        );
        if info.params.is_empty() {
            continue;
        }
        let _ = writeln!(text, "| parameter | value | default | meaning |\n|---|---|---|---|");
        for param in info.params {
            let artifact = param.default_in(Profile::Artifact);
            let artifact = if *artifact == param.default { String::new() } else { format!("; `{artifact}`") };
            let _ = writeln!(
                text,
                "| `{}` | {} | `{}`{artifact} | {} |",
                param.name,
                param.expected().strip_prefix("a ").unwrap_or(&param.expected()),
                param.default,
                param.doc
            );
        }
        text.push('\n');
    }
}
