//! Generates the files that are derived from the registries and records, and checks that the files
//! are up to date.
//!
//! This module creates whole files, and blocks inside hand-written pages, from the registries.
//! Texts that only tests of other crates can compute are in `parts`.

mod calculators;
mod parts;

pub use self::parts::Parts;
use crate::{notices, read, root};
use bufferlab_core::POLICIES;
use bufferlab_metrics::{Column, ColumnKind, Table};
use bufferlab_pages::{with_block, wrapped};
use bufferlab_transport::CONGESTION_CONTROLS;
use std::fmt::Write;

/// A generated block of a hand-written page: the page, the marker lines, and the block's content.
struct Block {
    path: &'static str,
    begin: &'static str,
    end: &'static str,
    text: fn() -> Result<String, String>,
}

/// All generated blocks inside hand-written pages.
const BLOCKS: &[Block] = &[
    Block {
        path: "docs/reference/scenarios.md",
        begin: "<!-- keys: begin; cargo xtask generate -->\n",
        end: "<!-- keys: end -->\n",
        text: || Ok(bufferlab_scenario::key_index() + "\n"),
    },
    Block {
        path: "docs/reference/experiments.md",
        begin: "<!-- begin generated -->\n",
        end: "<!-- end generated -->\n",
        text: || Ok(bufferlab_experiment::reference()),
    },
    Block {
        path: "docs/reference/scenario-files.md",
        begin: "<!-- scenarios: begin; cargo xtask generate -->\n",
        end: "<!-- scenarios: end -->\n",
        text: scenario_index,
    },
    Block {
        path: "docs/reference/calculators.md",
        begin: "<!-- calculators: begin; cargo xtask generate -->\n",
        end: "<!-- calculators: end -->\n",
        text: || Ok(calculators::reference()),
    },
];

/// Returns the fully generated files: path relative to the root of the repository, and content.
fn files() -> Vec<(&'static str, String)> {
    let mut files = vec![
        ("docs/reference/scenario.schema.json", schema(bufferlab_scenario::json_schema())),
        ("docs/reference/experiment.schema.json", schema(bufferlab_experiment::json_schema())),
        ("docs/reference/policies/README.md", policy_index()),
        ("docs/reference/tables.md", tables()),
        ("python/bufferlab/_calculators.py", calculators::python()),
        ("python/bufferlab/_names.py", python_names()),
    ];
    files.extend(bufferlab_scenario::REFERENCE_PAGES.iter().map(|page| (page.path, page.text())));
    for (_, text) in files.iter_mut().filter(|(path, _)| path.ends_with(".md")) {
        *text = wrapped(text);
    }
    files
}

/// Writes all files derived from the registries, and the documents of `parts`.
///
/// # Errors
/// If a group is unknown, a file cannot be written, a page has lost its markers, or a test fails.
pub fn write(parts: Parts<'_>) -> Result<(), String> {
    parts.check_names()?;
    let derived = derived()?;
    for (path, text) in stale(&derived) {
        std::fs::write(root().join(path), text).map_err(|error| format!("{path}: {error}"))?;
        eprintln!("wrote {path}");
    }
    parts::write(parts)
}

/// Reports generated files that are stale, and the command that updates the stale files.
///
/// # Errors
/// If a generated file is stale.
pub fn check(parts: Parts<'_>) -> Result<(), String> {
    let derived = derived()?;
    let stale: Vec<_> = stale(&derived).into_iter().map(|(path, _)| *path).collect();
    if !stale.is_empty() {
        return Err(format!("stale: {}\nhint: run `cargo xtask generate`", stale.join(", ")));
    }
    parts::check(parts)
}

/// Returns the entries of `files` whose content on disk is stale.
#[must_use]
pub fn stale<'a>(files: &'a [(&'static str, String)]) -> Vec<&'a (&'static str, String)> {
    files.iter().filter(|(path, text)| read(path).as_ref() != Ok(text)).collect()
}

/// Returns all generated files: path relative to the root of the repository, and content.
/// A page with generated blocks is listed as a whole, with the new blocks.
///
/// # Errors
/// If a page cannot be read or has lost its markers.
pub fn derived() -> Result<Vec<(&'static str, String)>, String> {
    let mut pages: Vec<(&'static str, String)> = Vec::new();
    for Block { path, begin, end, text } in BLOCKS {
        let index = match pages.iter().position(|(known, _)| known == path) {
            Some(index) => index,
            None => {
                pages.push((path, read(path)?));
                pages.len() - 1
            }
        };
        let page = with_block(&pages[index].1, begin, end, &wrapped(&format!("\n{}", text()?)));
        pages[index].1 = page.ok_or_else(|| format!("{path}: the line {begin:?} or {end:?} is missing"))?;
    }
    pages.push((notices::FILE, notices::text()?));
    Ok([files(), pages].concat())
}

/// Formats a table of the shipped scenarios with their descriptions.
fn scenario_index() -> Result<String, String> {
    let folder =
        std::fs::read_dir(root().join("scenarios")).map_err(|error| format!("scenarios: {error}"))?;
    let names = folder.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<_> = names.filter(|name| name.ends_with(".toml")).collect();
    names.sort();
    let mut text = "| file | shows |\n|---|---|\n".to_owned();
    for name in names {
        let path = format!("scenarios/{name}");
        let description = description(&read(&path)?).ok_or_else(|| format!("{path}: no description"))?;
        // Writing into a string cannot fail.
        let _ = writeln!(text, "| [`{name}`](../../{path}) | {} |", cell(&description));
    }
    Ok(text + "\n")
}

/// Returns the description of a scenario file, beginning with a capital letter.
fn description(scenario: &str) -> Option<String> {
    let line = scenario.lines().find_map(|line| line.strip_prefix("description = \""))?;
    let mut letters = line.strip_suffix('"')?.chars();
    Some(letters.next()?.to_uppercase().chain(letters).collect())
}

/// Formats a JSON schema with sorted keys.
/// The order of keys in `serde_json` depends on the features that other packages enable.
fn schema(mut schema: serde_json::Value) -> String {
    schema.sort_all_objects();
    format!("{schema:#}\n")
}

fn policy_index() -> String {
    let mut text = "# Policies\n\n\
        <!-- generated from the registry by `cargo xtask generate` -->\n\n\
        `bufferlab policy show NAME` prints the same and the parameters. How to add one: \
        [Add a policy](../../extend/policy.md).\n\n\
        Every policy passes the common suite (`dev/conformance`): it stays within the buffer, conserves \
        packets, keeps the ledger right after every operation, is deterministic and work conserving, admits up \
        to its threshold and not beyond, and refuses packets larger than the buffer.\n\n\
        | name | policy | what it does | work per decision |\n|---|---|---|---|\n"
        .to_owned();
    for info in POLICIES {
        // Writing into a string cannot fail.
        let _ = writeln!(
            text,
            "| [`{0}`]({0}.md) | {1} | {2} | {3} |",
            info.name,
            cell(info.title),
            cell(info.summary),
            cell(info.cost)
        );
    }
    text
}

/// Formats the names of the registries as Python types, for completion in editors.
fn python_names() -> String {
    let literal = |name: &str, doc: &str, names: &mut dyn Iterator<Item = &'static str>| {
        let lines: String = names.map(|name| format!("    \"{name}\",\n")).collect();
        format!("\n{name} = Literal[\n{lines}]\n\"\"\"{doc}\"\"\"\n")
    };
    let policies = literal(
        "PolicyName",
        "The names of buffer policies that `bufferlab policy list` prints.",
        &mut POLICIES.iter().map(|info| info.name),
    );
    let controls = literal(
        "CongestionControlName",
        "The names of congestion controls for `[[transport]]`.",
        &mut CONGESTION_CONTROLS.iter().map(|info| info.name),
    );
    let tables = literal(
        "TableName",
        "The names of a run's tables; `docs/reference/tables.md` has their columns.",
        &mut Table::ALL.iter().map(|table| table.name()),
    );
    format!(
        "\"\"\"The names of the registries. Generated by `cargo xtask generate`.\"\"\"\n\n\
         from __future__ import annotations\n\n\
         from typing import Literal\n\n\
         __all__ = [\"CongestionControlName\", \"PolicyName\", \"TableName\"]\n{policies}{controls}{tables}"
    )
}

/// Formats the generated page that describes every column of every result table.
fn tables() -> String {
    let mut text = "# Tables\n\n\
        <!-- generated from the records in crates/metrics/src/rows.rs by `cargo xtask generate` -->\n\n\
        A run writes one Parquet file per table (`flows.parquet` and so on), also where a table has no rows;\n\
        `packets` only on request.\n\n\
        * The ending of a column's name is its unit. Unit and meaning are also in `manifest.json` and in the\n  \
        metadata of the Parquet files.\n\
        * An `optional` column may have empty cells.\n\
        * A `class`, `switch` or `host` is its name, and a `word` is one of a few; both are dictionaries of strings.\n\
        * Instants count from the start of the run.\n"
        .to_owned();
    for table in Table::ALL {
        // Writing into a string cannot fail.
        let _ = write!(
            text,
            "\n## {}\n\n{}.\n\n| column | type | meaning |\n|---|---|---|\n",
            table.name(),
            table.description()
        );
        for column in table.columns() {
            let (name, kind) = (column.name, column_type(column));
            let _ = writeln!(text, "| `{name}` | {kind} | {} |", cell(column.description));
        }
    }
    text
}

fn column_type(column: &Column) -> String {
    let kind = match column.kind {
        ColumnKind::Class => "class",
        ColumnKind::Switch => "switch",
        ColumnKind::Host => "host",
        ColumnKind::Word => "word",
        ColumnKind::Text => "text",
        number => number.name(),
    };
    let words: Vec<_> = column.words.iter().map(|word| format!("`{word}`")).collect();
    let words = if words.is_empty() { String::new() } else { format!(": {}", words.join(", ")) };
    let optional = if column.nullable { ", optional" } else { "" };
    format!("{kind}{words}{optional}")
}

/// Joins a text to one line, because a cell of a Markdown table cannot be broken.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_has_a_line_for_every_policy() {
        let index = policy_index();
        for info in POLICIES {
            assert!(index.contains(&format!("\n| [`{0}`]({0}.md) | ", info.name)), "{}", info.name);
        }
    }

    #[test]
    fn the_page_of_scenario_files_lists_every_scenario() {
        let index = scenario_index().expect("every scenario has a description");
        assert!(
            index.contains("| [`tdt-fig7.toml`](../../scenarios/tdt-fig7.toml) | TDT Fig. 7: "),
            "{index}"
        );
        assert_eq!(description("name = \"x\"\ndescription = \"a burst\"\n").as_deref(), Some("A burst"));
        assert_eq!(description("name = \"x\"\n"), None);
    }

    #[test]
    fn every_column_of_every_table_is_on_the_page() {
        let page = tables();
        for table in Table::ALL {
            let heading = format!("\n## {}\n", table.name());
            let start = page.find(&heading).expect("the page has a section for every table");
            let section = page[start + 4..].split("\n## ").next().unwrap_or_default();
            for column in table.columns() {
                let line = section.lines().find(|line| line.starts_with(&format!("| `{}` |", column.name)));
                let line = line.unwrap_or_else(|| panic!("{} {}", table.name(), column.name));
                assert!(line.contains(column.description), "{line}");
                assert_eq!(line.contains(", optional |"), column.nullable, "{line}");
                assert!(column.words.iter().all(|word| line.contains(word)), "{line}");
            }
        }
    }

    #[test]
    fn a_cell_is_one_line_without_bars() {
        assert_eq!(cell("a |b|\n  c"), "a \\|b\\| c");
    }
}
