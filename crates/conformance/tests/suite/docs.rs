//! Does every policy have a page, and does the page say what the registry says?
//!
//! `UPDATE_DOCS=1 cargo test -p bufferlab-conformance --test suite docs::` rewrites the generated blocks.

use bufferlab_core::{POLICIES, ParamInfo, PolicyInfo, find_policy};
use std::fmt::Write;
use std::path::{Path, PathBuf};

const BEGIN: &str = "<!-- generated from the registry: begin; UPDATE_DOCS=1 cargo test -p bufferlab-conformance --test suite docs:: -->";
const END: &str = "<!-- generated from the registry: end -->";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/policies")
}

/// One line: a table's cell cannot be broken.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

fn parameter_row(param: &ParamInfo) -> String {
    let artifact = match &param.artifact_default {
        Some(value) if *value != param.default => format!("`{value}`"),
        _ => "same".to_owned(),
    };
    let (name, expected, doc) = (param.name, cell(&param.expected()), cell(&param.documentation()));
    format!("| `{name}` | {expected} | `{}` | {artifact} | {doc} |", param.default)
}

/// The block between the markers.
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
    text.push_str(
        "| parameter | value | default | in profile `artifact` | meaning |\n|---|---|---|---|---|\n",
    );
    for param in info.params {
        let _ = writeln!(text, "{}", parameter_row(param));
    }
    text
}

/// `page` with `block` between the markers, or what is wrong with the page.
fn with_block(page: &str, block: &str) -> Result<String, String> {
    let (before, rest) = page.split_once(BEGIN).ok_or("the begin marker is missing")?;
    let (_, after) = rest.split_once(END).ok_or("the end marker is missing")?;
    Ok(format!("{before}{BEGIN}\n{block}{END}{after}"))
}

#[test]
fn every_policy_has_a_page_and_its_parameters_are_the_registrys() {
    let update = std::env::var_os("UPDATE_DOCS").is_some();
    for info in POLICIES {
        let path = folder().join(format!("{}.md", info.name));
        let name = format!("docs/policies/{}.md", info.name);
        let page = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let wanted = with_block(&page, &generated(info)).unwrap_or_else(|what| panic!("{name}: {what}"));
        if update && page != wanted {
            std::fs::write(&path, &wanted).unwrap_or_else(|error| panic!("{name}: {error}"));
        } else {
            assert!(page == wanted, "{name} is stale; hint: set UPDATE_DOCS=1 and run this test again");
        }
        for heading in ["## Model", "## Parameters", "## Validation", "## Deviations"] {
            assert!(page.lines().any(|line| line == heading), "{name} has no section \"{heading}\"");
        }
        assert!(page.starts_with(&format!("# {}\n", info.title)), "{name} is not titled \"{}\"", info.title);
    }
}

#[test]
fn every_page_belongs_to_a_registered_policy() {
    for entry in std::fs::read_dir(folder()).expect("docs/policies exists") {
        let path = entry.expect("readable").path();
        if path.ends_with("README.md") {
            continue; // The index, which `cargo xtask generate` makes.
        }
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        assert!(find_policy(&name).is_some_and(|info| info.name == name), "{} has no policy", path.display());
    }
}

/// Pages cite tests and vectors by name; a renamed one must not leave a dead reference behind.
#[test]
fn tests_and_vectors_that_a_page_cites_exist() {
    let root = folder().join("../..");
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap_or_default();
    let mut cited = 0;
    for info in POLICIES {
        let page = read(&format!("docs/policies/{}.md", info.name));
        let vectors = read(&format!("testdata/policy/{}.toml", info.name));
        for line in page.lines().filter(|line| line.starts_with("- vector: ")) {
            let name = line.trim_start_matches("- vector: ").split(" (").next().expect("a first part");
            assert!(vectors.contains(&format!("name = \"{name}\"")), "{}: no vector \"{name}\"", info.name);
            cited += 1;
        }
        for line in page.lines().filter_map(|line| line.strip_prefix("- test: `")) {
            let (path, rest) = line.split_once("`, `").expect("`file`, `test`");
            let test = rest.split('`').next().expect("a name");
            assert!(read(path).contains(&format!("fn {test}()")), "{}: no test {test} in {path}", info.name);
            cited += 1;
        }
    }
    assert!(cited > 20, "{cited}");
}

#[test]
fn a_stale_or_broken_page_is_noticed() {
    let page = format!("# Title\n{BEGIN}\nold\n{END}\nrest\n");
    assert_eq!(with_block(&page, "old\n").as_deref(), Ok(page.as_str()));
    assert_ne!(with_block(&page, "new\n").as_deref(), Ok(page.as_str()));
    assert!(with_block("# Title\n", "new\n").is_err());
    assert!(with_block(&page.replace(END, ""), "new\n").is_err());
}
