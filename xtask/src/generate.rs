//! Which files are derived from the registries, and are they fresh?
//!
//! Blocks inside written pages are checked by tests beside what they describe: the parameters in `docs/policies/*.md`
//! in `bufferlab-conformance`, which can also write them, and the keys in `docs/scenarios.md` in `bufferlab-scenario`.
//! Whole files are made, and checked, here.

use crate::{cargo, read, root, run};
use bufferlab_core::POLICIES;
use bufferlab_transport::CONGESTION_CONTROLS;
use std::fmt::Write;

/// The test that rewrites the parameters on the policies' pages when `UPDATE_DOCS` is set, and otherwise fails if they
/// are stale.
const POLICY_PAGES: &[&str] =
    &["test", "--quiet", "-p", "bufferlab-conformance", "--test", "suite", "docs::"];

/// The page that lists the keys of scenario files, and the lines between which they stand.
const SCENARIOS: (&str, &str, &str) =
    ("docs/scenarios.md", "<!-- begin generated -->\n", "<!-- end generated -->\n");

/// The page that lists the shipped scenarios, and the lines between which they stand.
const GUIDE: (&str, &str, &str) =
    ("docs/guide.md", "<!-- scenarios: begin; cargo xtask generate -->\n", "<!-- scenarios: end -->\n");

/// The files that are derived as a whole: path relative to the root, content.
#[must_use]
pub fn files() -> Vec<(&'static str, String)> {
    vec![
        ("docs/scenario.schema.json", schema()),
        ("docs/policies/README.md", policy_index()),
        ("python/bufferlab/_names.py", python_names()),
    ]
}

/// Writes everything that is derived.
///
/// # Errors
/// If a file cannot be written or a page has lost its markers.
pub fn write() -> Result<(), String> {
    for (path, text) in stale(everything()?) {
        std::fs::write(root().join(path), text).map_err(|error| format!("{path}: {error}"))?;
        eprintln!("wrote {path}");
    }
    run(cargo(POLICY_PAGES).env("UPDATE_DOCS", "1"))
}

/// Says what is stale.
///
/// # Errors
/// If anything is.
pub fn check() -> Result<(), String> {
    let stale: Vec<_> = stale(everything()?).into_iter().map(|(path, _)| path).collect();
    if !stale.is_empty() {
        return Err(format!("stale: {}\nhint: run `cargo xtask generate`", stale.join(", ")));
    }
    run(cargo(POLICY_PAGES).env_remove("UPDATE_DOCS"))
}

/// Those of `files` whose content on disk is another.
#[must_use]
pub fn stale(files: Vec<(&'static str, String)>) -> Vec<(&'static str, String)> {
    files.into_iter().filter(|(path, text)| read(path).as_ref() != Ok(text)).collect()
}

fn everything() -> Result<Vec<(&'static str, String)>, String> {
    let blocks = [(SCENARIOS, bufferlab_scenario::reference()), (GUIDE, scenario_index()?)];
    let pages = blocks.map(|((path, begin, end), block)| {
        let page = with_block(&read(path)?, begin, end, &format!("\n{block}"));
        Ok((path, page.ok_or_else(|| format!("{path}: the line {begin:?} or {end:?} is missing"))?))
    });
    Ok([files(), pages.into_iter().collect::<Result<_, String>>()?].concat())
}

/// A table of the shipped scenarios with their descriptions.
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
        let _ = writeln!(text, "| [`{name}`](../{path}) | {} |", cell(&description));
    }
    Ok(text + "\n")
}

/// The description of a scenario, as its file has it.
fn description(scenario: &str) -> Option<String> {
    let line = scenario.lines().find_map(|line| line.strip_prefix("description = \""))?;
    let mut letters = line.strip_suffix('"')?.chars();
    Some(letters.next()?.to_uppercase().chain(letters).collect())
}

/// `page` with `block` between the markers; `None` if it has none.
fn with_block(page: &str, begin: &str, end: &str, block: &str) -> Option<String> {
    let (before, rest) = page.split_once(begin)?;
    let (_, after) = rest.split_once(end)?;
    Some(format!("{before}{begin}{block}{end}{after}"))
}

/// Keys in alphabetical order: whether `serde_json` keeps another one depends on who else is built with it.
fn schema() -> String {
    let mut schema = bufferlab_scenario::json_schema();
    schema.sort_all_objects();
    format!("{schema:#}\n")
}

fn policy_index() -> String {
    let mut text = "# Policies\n\n\
        <!-- generated from the registry by `cargo xtask generate` -->\n\n\
        `bufferlab policy show NAME` prints the same and the parameters. How to add one: \
        [CONTRIBUTING](../../CONTRIBUTING.md#add-a-policy).\n\n\
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

/// The names of the registries as types, so that an editor knows them.
fn python_names() -> String {
    let literal = |name: &str, doc: &str, names: &mut dyn Iterator<Item = &'static str>| {
        let lines: String = names.map(|name| format!("    \"{name}\",\n")).collect();
        format!("\n{name} = Literal[\n{lines}]\n\"\"\"{doc}\"\"\"\n")
    };
    let policies = literal(
        "PolicyName",
        "The buffer policies, as `bufferlab policy list` has them.",
        &mut POLICIES.iter().map(|info| info.name),
    );
    let controls = literal(
        "CongestionControlName",
        "The congestion controls of `[[transport]]`.",
        &mut CONGESTION_CONTROLS.iter().map(|info| info.name),
    );
    format!(
        "\"\"\"The names of the registries. Generated by `cargo xtask generate`.\"\"\"\n\n\
         from __future__ import annotations\n\n\
         from typing import Literal\n\n\
         __all__ = [\"CongestionControlName\", \"PolicyName\"]\n{policies}{controls}"
    )
}

/// One line: a table's cell cannot be broken.
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
    fn the_guide_lists_every_scenario() {
        let index = scenario_index().expect("every scenario has a description");
        assert!(index.contains("| [`tdt-fig7.toml`](../scenarios/tdt-fig7.toml) | TDT Fig. 7: "), "{index}");
        assert_eq!(description("name = \"x\"\ndescription = \"a burst\"\n").as_deref(), Some("A burst"));
        assert_eq!(description("name = \"x\"\n"), None);
    }

    #[test]
    fn a_block_is_replaced_and_lost_markers_are_noticed() {
        assert_eq!(with_block("a<old>z", "<", ">", "new").as_deref(), Some("a<new>z"));
        assert_eq!(with_block("a>z", "<", ">", "new"), None);
        assert_eq!(with_block("a<z", "<", ">", "new"), None);
    }

    #[test]
    fn a_cell_is_one_line_without_bars() {
        assert_eq!(cell("a |b|\n  c"), "a \\|b\\| c");
    }
}
