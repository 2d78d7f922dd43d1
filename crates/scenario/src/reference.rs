//! The reference of the format as Markdown, for `docs/reference/scenarios.md`.

use crate::format::{
    CHANGE, CLASSIFIER_CATALOG, CONGESTION_CONTROL_CATALOG, ECN, FAULT, HARDWARE, HOST, OUTPUT, PFC,
    POLICY_CATALOG, PROFILE, ROOT, ROUTE, SCHEDULER_GROUP, SWITCH, SWITCH_OVERRIDE, TOPOLOGY, TRANSPORT,
    WATCHDOG, WORKLOAD,
};
use bufferlab_document::reference::table;
use bufferlab_params::{Catalog, ParamValue, Profile};
use bufferlab_workload::BUILTIN_SIZES;
use std::fmt::Write;

/// Every table, key, unit and default of the format; policies and built-in size distributions.
#[must_use]
pub fn reference() -> String {
    let mut text = String::new();
    let tables = [
        &ROOT,
        &TOPOLOGY,
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
        &FAULT,
        &OUTPUT,
    ];
    for spec in tables {
        table(&mut text, spec);
    }
    entries(&mut text, "Policies", POLICY_CATALOG);
    entries(&mut text, "Classifiers", CLASSIFIER_CATALOG);
    entries(&mut text, "Congestion controls", CONGESTION_CONTROL_CATALOG);
    let _ = writeln!(text, "### Built-in flow sizes\n\n| name | what | source |\n|---|---|---|");
    for sizes in BUILTIN_SIZES {
        let _ = writeln!(text, "| `{}` | {} | {} |", sizes.name, sizes.summary, sizes.source);
    }
    text
}

/// The entries of a registry with their parameters.
fn entries(text: &mut String, title: &str, catalog: &dyn Catalog) {
    let _ = writeln!(
        text,
        "### {title}\n\nFrom the registry. Where two defaults are given, the second one holds under `profile = \"artifact\"`.\n"
    );
    for card in catalog.cards(false) {
        let aliases: Vec<_> = card.aliases.iter().map(|name| format!("`{name}`")).collect();
        let aliases =
            if aliases.is_empty() { String::new() } else { format!(" (also {})", aliases.join(", ")) };
        let _ = writeln!(
            text,
            "**`{}`**{aliases}: {}. {} {}\n",
            card.name, card.title, card.summary, card.source
        );
        if card.params.is_empty() {
            continue;
        }
        let _ = writeln!(text, "| parameter | value | default | meaning |\n|---|---|---|---|");
        for param in card.params {
            let artifact = param.default_in(Profile::Artifact);
            let artifact =
                if *artifact == param.default { String::new() } else { format!("; {}", default(artifact)) };
            let _ = writeln!(
                text,
                "| `{}` | {} | {}{artifact} | {} |",
                param.name,
                param.expected().strip_prefix("a ").unwrap_or(&param.expected()),
                default(&param.default),
                param.documentation()
            );
        }
        text.push('\n');
    }
}

/// A default as the table shows it.
fn default(value: &ParamValue) -> String {
    match value {
        ParamValue::Required(_) => "**required**".to_owned(),
        ParamValue::Computed(rule) | ParamValue::Derived(rule, _) => (*rule).to_owned(),
        ParamValue::Optional | ParamValue::OptionalLike(_) => "none".to_owned(),
        value => format!("`{value}`"),
    }
}
