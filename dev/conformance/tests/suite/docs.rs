//! Tests that every policy has a page in docs, and that the page agrees with the registry.
//!
//! `cargo xtask generate` rewrites the generated blocks.

use bufferlab_core::{POLICIES, ParamInfo, PolicyInfo, find_policy};
use bufferlab_pages::{assert_all, check_block};
use std::fmt::Write;
use std::path::{Path, PathBuf};

const BEGIN: &str = "<!-- generated from the registry: begin; cargo xtask generate -->";
const END: &str = "<!-- generated from the registry: end -->";

/// Examples of values in descriptions of parameters, which a table omits.
const EXAMPLES: [&str; 3] = [" such as \"100 KB\"", " such as \"80 us\"", " such as \"10 Gb/s\""];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/policies")
}

/// Joins the lines of a text, because a table cell cannot contain a line break.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

fn parameter_row(param: &ParamInfo) -> String {
    let artifact = match &param.artifact_default {
        Some(value) if *value != param.default => format!(", artifact: `{value}`"),
        _ => String::new(),
    };
    let (name, expected, doc) = (param.name, cell(&param.expected()), cell(&param.documentation()));
    // The table omits examples of values, because the column of defaults shows a value, and the
    // page of scenarios has the units.
    let expected = EXAMPLES.iter().fold(expected, |text, example| text.replace(example, ""));
    format!("| `{name}` | {expected} | `{}`{artifact} | {doc} |", param.default)
}

/// Generates the block of a policy's page between the markers.
fn generated(info: &PolicyInfo) -> String {
    let mut text = String::new();
    let aliases: Vec<_> = info.aliases.iter().map(|alias| format!("`{alias}`")).collect();
    let also = if aliases.is_empty() { String::new() } else { format!(" (also {})", aliases.join(", ")) };
    let _ = writeln!(text, "Name `{}`{also}. {}", info.name, cell(info.summary));
    let _ = writeln!(text, "Source: {} Work per decision: {}.\n", cell(info.source), cell(info.cost));
    if info.params.is_empty() {
        text.push_str("No parameters.\n");
        return text;
    }
    text.push_str("| parameter | value | default | meaning |\n|---|---|---|---|\n");
    for param in info.params {
        let _ = writeln!(text, "{}", parameter_row(param));
    }
    text
}

#[test]
fn every_policy_has_a_page_and_its_parameters_are_the_registrys() {
    assert_all(POLICIES.iter().map(|info| {
        let page = format!("docs/reference/policies/{}.md", info.name);
        check_block(&page, BEGIN, END, &format!("\n{}", generated(info)))
    }));
    for info in POLICIES {
        let name = format!("docs/reference/policies/{}.md", info.name);
        let path = folder().join(format!("{}.md", info.name));
        let page = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        for heading in ["## Model", "## Parameters", "## Validation", "## Deviations"] {
            assert!(page.lines().any(|line| line == heading), "{name} has no section \"{heading}\"");
        }
        assert!(page.starts_with(&format!("# {}\n", info.title)), "{name} is not titled \"{}\"", info.title);
    }
}

#[test]
fn every_page_belongs_to_a_registered_policy() {
    for entry in std::fs::read_dir(folder()).expect("docs/reference/policies exists") {
        let path = entry.expect("readable").path();
        if path.ends_with("README.md") {
            continue; // The index, which `cargo xtask generate` makes.
        }
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        assert!(find_policy(&name).is_some_and(|info| info.name == name), "{} has no policy", path.display());
    }
}

/// Returns the items of a page's lists, each on one line.
fn items(page: &str) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    let mut open = false;
    for line in page.lines() {
        match (line.strip_prefix("- "), line.strip_prefix("  "), items.last_mut()) {
            (Some(begin), _, _) => items.push(begin.to_owned()),
            (None, Some(rest), Some(item)) if open => *item = format!("{item} {}", rest.trim()),
            _ => {
                open = false;
                continue;
            }
        }
        open = true;
    }
    items
}

/// Pages cite tests and vectors by name. The test finds references to tests and vectors that no
/// longer exist.
#[test]
fn tests_and_vectors_that_a_page_cites_exist() {
    let root = folder().join("../../..");
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap_or_default();
    let mut cited = 0;
    for info in POLICIES {
        let page = read(&format!("docs/reference/policies/{}.md", info.name));
        let vectors = read(&format!("testdata/policy/{}.toml", info.name));
        let items = items(&page);
        for name in items.iter().filter_map(|item| item.strip_prefix("vector: ")) {
            let name = name.split(" (").next().expect("a first part");
            assert!(vectors.contains(&format!("name = \"{name}\"")), "{}: no vector \"{name}\"", info.name);
            cited += 1;
        }
        for test in items.iter().filter_map(|item| item.strip_prefix("test: `")) {
            let (path, rest) = test.split_once("`, `").expect("`file`, `test`");
            let test = rest.split('`').next().expect("a name");
            assert!(read(path).contains(&format!("fn {test}()")), "{}: no test {test} in {path}", info.name);
            cited += 1;
        }
    }
    assert!(cited > 20, "{cited}");
}
