//! Reference of the format as Markdown: the pages in `docs/reference/scenarios` and the index in
//! `docs/reference/scenarios.md`.

use crate::format::{
    CHANGE, CLASSIFIER_CATALOG, CONGESTION_CONTROL_CATALOG, ECN, EGRESS, FAULT, HARDWARE, HOST, OUTPUT, PFC,
    PFC_PORTS, POLICY_CATALOG, PROFILE, ROOT, ROUTE, SCHEDULER_GROUP, SWITCH, SWITCH_OVERRIDE, TOPOLOGY,
    TRANSPORT, WATCHDOG, WORKLOAD,
};
use bufferlab_document::reference::table;
use bufferlab_document::spec::TableSpec;
use bufferlab_params::{Catalog, ParamKind, ParamValue, Profile};
use bufferlab_workload::BUILTIN_SIZES;
use std::collections::BTreeSet;
use std::fmt::Write;

/// A page of the reference of scenario keys.
#[derive(Clone, Copy, Debug)]
pub struct ReferencePage {
    /// Path of the page relative to the root of the repository.
    pub path: &'static str,
    title: &'static str,
    intro: &'static str,
    tables: &'static [&'static TableSpec],
    registries: &'static [(&'static str, &'static dyn Catalog)],
    has_sizes: bool,
}

/// Pages of the scenario reference: every table, key, unit and default of the format. Parameters of
/// policies are on the pages of the policies.
pub static REFERENCE_PAGES: &[ReferencePage] = &[
    ReferencePage {
        path: "docs/reference/scenarios/run.md",
        title: "Scenario keys: run, faults and output",
        intro: "Keys at the top of the file, failures during the run, and what a run records.",
        tables: &[&ROOT, &FAULT, &OUTPUT],
        registries: &[],
        has_sizes: false,
    },
    ReferencePage {
        path: "docs/reference/scenarios/topology.md",
        title: "Scenario keys: topology",
        intro: "The network: its kind, changes to single links, and routes.",
        tables: &[&TOPOLOGY, &CHANGE, &ROUTE],
        registries: &[],
        has_sizes: false,
    },
    ReferencePage {
        path: "docs/reference/scenarios/switch.md",
        title: "Scenario keys: switch",
        intro: "Buffer, marking, flow control, chip, scheduler and classifier. The parameters of \
                policies are on [separate pages](../policies/README.md).",
        tables: &[
            &SWITCH,
            &ECN,
            &PROFILE,
            &PFC,
            &PFC_PORTS,
            &WATCHDOG,
            &HARDWARE,
            &SCHEDULER_GROUP,
            &EGRESS,
            &SWITCH_OVERRIDE,
        ],
        registries: &[("Classifiers", CLASSIFIER_CATALOG)],
        has_sizes: false,
    },
    ReferencePage {
        path: "docs/reference/scenarios/transport.md",
        title: "Scenario keys: transport and hosts",
        intro: "Transports, their congestion controls, and the hosts' cards.",
        tables: &[&TRANSPORT, &HOST],
        registries: &[("Congestion controls", CONGESTION_CONTROL_CATALOG)],
        has_sizes: false,
    },
    ReferencePage {
        path: "docs/reference/scenarios/workload.md",
        title: "Scenario keys: workload",
        intro: "Traffic: flows, queries, bursts and traces, and the built-in distributions of flow sizes.",
        tables: &[&WORKLOAD],
        registries: &[],
        has_sizes: true,
    },
];

impl ReferencePage {
    /// Returns the text of the reference page as Markdown.
    #[must_use]
    pub fn text(&self) -> String {
        let mut sections = String::new();
        for spec in self.tables {
            table(&mut sections, spec);
        }
        for (title, catalog) in self.registries {
            entries(&mut sections, title, *catalog);
        }
        if self.has_sizes {
            let _ = writeln!(sections, "### {SIZES}\n\n| name | what | source |\n|---|---|---|");
            for sizes in BUILTIN_SIZES {
                let _ = writeln!(sections, "| `{}` | {} | {} |", sizes.name, sizes.summary, sizes.source);
            }
        }
        // On a separate page, headings of sections are one level higher.
        let sections = sections.replace("### ", "## ");
        format!(
            "# {}\n\n<!-- generated from crates/scenario/src/format and the registries by `cargo xtask generate` -->\n\n\
             {} [Rules for values, variants and files](../scenarios.md).\n\n{}\n",
            self.title,
            self.intro,
            sections.trim_end()
        )
    }

    /// Returns the target of a link to the page from `docs/reference/scenarios.md`.
    fn link(&self) -> &'static str {
        self.path.trim_start_matches("docs/reference/")
    }
}

const SIZES: &str = "Built-in flow sizes";

/// Formats a Markdown table that lists every TOML table of scenario files with its keys and its
/// page.
#[must_use]
pub fn key_index() -> String {
    let mut text = String::from("| table | keys |\n|---|---|\n");
    for page in REFERENCE_PAGES {
        for spec in page.tables {
            row(&mut text, page, spec.title, keys(spec));
            for below in spec.cards(false).iter().flat_map(|card| card.params) {
                if let ParamKind::Tables(below) = below.kind {
                    row(&mut text, page, below.title, below.params.iter().map(|param| param.name).collect());
                }
            }
        }
        for (title, catalog) in page.registries {
            row(&mut text, page, title, catalog.cards(false).iter().map(|card| card.name).collect());
        }
        if page.has_sizes {
            row(&mut text, page, SIZES, BUILTIN_SIZES.iter().map(|sizes| sizes.name).collect());
        }
    }
    let policies = POLICY_CATALOG.cards(false);
    let policies: Vec<_> =
        policies.iter().map(|card| format!("[`{0}`](policies/{0}.md)", card.name)).collect();
    let _ = writeln!(text, "| [Policies](policies/README.md) | {} |", policies.join(", "));
    text
}

/// Writes a row of the table [`key_index`], which lists the keys of all pages.
fn row(text: &mut String, page: &ReferencePage, title: &str, keys: Vec<&str>) {
    let anchor: String = title
        .to_lowercase()
        .replace(' ', "-")
        .chars()
        .filter(|letter| letter.is_alphanumeric() || matches!(letter, '-' | '_'))
        .collect();
    let keys: Vec<_> = keys.iter().map(|key| format!("`{key}`")).collect();
    let _ = writeln!(
        text,
        "| [{}]({}#{anchor}) | {} |",
        title.replace(['[', ']'], ""),
        page.link(),
        keys.join(", ")
    );
}

/// Returns the keys of a table, including the keys of its kinds, without duplicates.
fn keys(spec: &TableSpec) -> Vec<&'static str> {
    let variants = spec.variants.iter().flat_map(|variant| variant.keys);
    let mut names: Vec<_> = spec.keys.iter().chain(variants).map(|key| key.name).collect();
    names.extend(spec.cards(false).iter().flat_map(|card| card.params).map(|param| param.name));
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(*name));
    names
}

/// Writes the entries of a registry with their parameters.
fn entries(text: &mut String, title: &str, catalog: &dyn Catalog) {
    let _ = writeln!(
        text,
        "### {title}\n\nEntries of the registry. If there are two defaults, the second applies with `profile = \"artifact\"`.\n"
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

/// Formats the default of a parameter for a table.
fn default(value: &ParamValue) -> String {
    match value {
        ParamValue::Required(_) => "**required**".to_owned(),
        ParamValue::Computed(rule) | ParamValue::Derived(rule, _) => (*rule).to_owned(),
        ParamValue::Optional | ParamValue::OptionalLike(_) => "none".to_owned(),
        value => format!("`{value}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_has_every_key_and_a_page_explains_it() {
        let index = key_index();
        for page in REFERENCE_PAGES {
            let text = page.text();
            for key in page.tables.iter().flat_map(|spec| keys(spec)) {
                assert!(index.contains(&format!("`{key}`")), "{key} is not in the index");
                assert!(text.contains(&format!("`{key}`")) || key == "kind", "{key} is not in {}", page.path);
            }
        }
    }
}
