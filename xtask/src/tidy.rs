//! Checks properties of the repository that no compiler checks.
//!
//! Every check returns sentences that name a file or line, so one call shows all problems.

mod circles;
mod deny;
mod functions;
mod meaning;
mod pages;
mod references;

use crate::{metadata, output, read, root};
use bufferlab_core::POLICIES;
use references::Known;
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;

/// Maximum size of a file in the repository (bytes).
pub const SIZE_MAX: u64 = 500_000;
/// Files that may exceed [`SIZE_MAX`].
pub const LARGE_FILES: &[&str] = &["docs/reference/scenario.schema.json"];

/// Words that the repository must not contain, with advice to the author. Paths of one machine are
/// useless on other machines.
pub const FORBIDDEN: &[(&str, &str)] = &[
    ("TODO", "do it, or write down what is missing where users read it"),
    ("FIXME", "fix it, or write down what is missing where users read it"),
    ("XXX", "say what is meant"),
    ("HACK", "say what it works around"),
    ("/home/", "a path of somebody's machine"),
    ("/root/", "a path of somebody's machine"),
    ("/Users/", "a path of somebody's machine"),
    ("/work/", "a path of somebody's machine"),
    ("/tmp/", "a path of somebody's machine; tests use `tempfile`"),
    ("<<<<<<< ", "a conflict that nobody resolved"),
];

/// Files that may contain forbidden words: this source file, a licence, and the lock file.
const MAY_CONTAIN: &[&str] = &["xtask/src/tidy.rs", "LICENSE-APACHE", "Cargo.lock"];

/// Files that may refer to invented files, because they test the checks of references.
const MAKES_UP: &[&str] = &[
    "xtask/src/prose/rules.rs",
    "xtask/src/prose/text.rs",
    "xtask/src/tidy.rs",
    "xtask/src/tidy/pages.rs",
    "xtask/src/tidy/references.rs",
];

/// Pure crates, each with the only crates on which it may depend.
/// The `clippy.toml` of a pure crate forbids access to files, clocks and the network.
pub const PURE: &[(&str, &[&str])] = &[
    ("bufferlab-units", &[]),
    ("bufferlab-params", &["bufferlab-units", "strsim"]),
    ("bufferlab-core", &["bufferlab-units", "bufferlab-params", "bufferlab-prefetch"]),
    ("bufferlab-transport", &["bufferlab-units", "bufferlab-params"]),
    // The crate `bufferlab-core` defines the names of a packet's events.
    ("bufferlab-metrics", &["bufferlab-core"]),
    ("bufferlab-topology", &["bufferlab-units", "bufferlab-params"]),
];
/// Crates that may use any library, each with the workspace's crates on which it may depend. The
/// reader of one file format does not depend on readers of other formats.
pub const GENERIC: &[(&str, &[&str])] = &[
    ("bufferlab-prefetch", &[]),
    ("bufferlab-document", &["bufferlab-units", "bufferlab-params"]),
    (
        "bufferlab-workload",
        &["bufferlab-units", "bufferlab-params", "bufferlab-topology", "bufferlab-schedule"],
    ),
    ("bufferlab-schedule", &["bufferlab-units", "bufferlab-params"]),
    (
        "bufferlab-import",
        &[
            "bufferlab-units",
            "bufferlab-params",
            "bufferlab-topology",
            "bufferlab-workload",
            "bufferlab-schedule",
        ],
    ),
    ("bufferlab-sonic", &["bufferlab-units", "bufferlab-params", "bufferlab-theory"]),
];
/// Crates that drive the core switch. The drivers must not depend on each other.
pub const DRIVERS: &[&str] = &["bufferlab-sim", "bufferlab-theory"];
/// Packages on which no other crate may depend.
pub const EDGES: &[&str] = &["bufferlab-capi", "bufferlab-cli", "bufferlab-python", "xtask"];
/// Crates with `unsafe` code, each with the only file that has this code, and the reason. The
/// manifests of these crates repeat the workspace's lints, because a crate cannot lower `forbid`.
pub const UNSAFE: &[(&str, &str, &str)] = &[
    ("bufferlab-capi", "crates/capi/src/exports.rs", "C passes pointers, and symbols are not mangled"),
    ("bufferlab-prefetch", "crates/prefetch/src/lib.rs", "Rust has no safe prefetch instruction"),
];
/// Packages that contain the command line: programs with custom schemes (`examples/`), and the
/// Python package, which installs the command `bufferlab`.
pub const PROGRAMS: &[&str] = &["bufferlab-python", "own-policy"];

/// Runs all checks of the repository.
///
/// # Errors
/// If a check finds problems; the error lists the problems of the repository.
pub fn check() -> Result<(), String> {
    let files = files()?;
    let read = |path: &str| read(path).ok();
    let known = Known::new(&files, &read);
    let problems = [
        sizes(&files, SIZE_MAX),
        files.iter().flat_map(|path| swallowed(path, &read(path).unwrap_or_default())).collect(),
        functions::check(&production(&files), functions::LONG),
        meaning::check(&production(&files), meaning::ALLOWED),
        files.iter().flat_map(|path| meaning::in_python(path, &read(path).unwrap_or_default())).collect(),
        unsafe_files(&production(&files)),
        circles::problems(&production(&files), circles::KNOWN),
        files.iter().flat_map(|path| in_file(path, &known)).collect(),
        crates_of_the_overview(&read("ARCHITECTURE.md").unwrap_or_default(), &files),
        scenarios(&files),
        policies(),
        pure_crates()?,
        rules_without_a_crate(&names()?),
        arrows(&dependencies()?),
        deny::check()?,
        crate::prose::check()?,
        crate::commits::check()?,
    ]
    .concat();
    if problems.is_empty() { Ok(()) } else { Err(format!("not tidy\n  {}", problems.join("\n  "))) }
}

/// Returns the existing files under version control, relative to the root of the repository.
pub(crate) fn files() -> Result<Vec<String>, String> {
    let listed = output(Command::new("git").args(["ls-files", "-z"]).current_dir(root()))?;
    let listed = String::from_utf8(listed).map_err(|_| "a file name is not UTF-8".to_owned())?;
    let mut files: Vec<_> = listed.split_terminator('\0').map(str::to_owned).collect();
    files.retain(|path| root().join(path).is_file());
    if files.is_empty() { Err("git lists no file".to_owned()) } else { Ok(files) }
}

/// Returns the Rust files with their texts, except tests, examples and benches.
fn production(files: &[String]) -> Vec<(&str, String)> {
    let is_production =
        |path: &&String| path.ends_with(".rs") && path.contains("/src/") && !path.contains("/tests/");
    let texts = files.iter().filter(is_production).filter_map(|path| Some((path.as_str(), read(path).ok()?)));
    texts.collect()
}

fn sizes(files: &[String], max: u64) -> Vec<String> {
    let size = |path: &str| std::fs::metadata(root().join(path)).map_or(0, |data| data.len());
    let large = files.iter().filter(|path| size(path) > max && !LARGE_FILES.contains(&path.as_str()));
    large.map(|path| format!("{path}: {} bytes, more than {max}", size(path))).collect()
}

/// Splits the path of a file into the name of its crate and the path within the crate.
/// Crates of the product are below `crates/`, crates for developers below `dev/`.
pub(crate) fn in_crate(path: &str) -> Option<(&str, &str)> {
    ["crates/", "dev/"].iter().find_map(|folder| path.strip_prefix(folder)?.split_once('/'))
}

/// Returns crates that the table in ARCHITECTURE.md lacks, and entries of the table that are no
/// crates.
fn crates_of_the_overview(page: &str, files: &[String]) -> Vec<String> {
    let table = page.split("\n## ").find(|section| section.starts_with("Crates\n")).unwrap_or_default();
    let cells = table.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
    let listed: BTreeSet<&str> =
        cells.flat_map(|cell| cell.split(['`', ',', ' '])).filter(|name| !name.is_empty()).collect();
    let crates: BTreeSet<&str> =
        files.iter().filter_map(|path| in_crate(path)).map(|(name, _)| name).chain(["xtask"]).collect();
    let lacking =
        crates.difference(&listed).map(|name| format!("ARCHITECTURE.md: the table of crates lacks {name}"));
    let unknown = listed.difference(&crates).map(|name| format!("ARCHITECTURE.md: there is no crate {name}"));
    lacking.chain(unknown).collect()
}

/// Finds tests that skip without a message, because the test runner discards output of passing
/// tests.
fn swallowed(path: &str, text: &str) -> Vec<String> {
    if in_crate(path).is_none() || !path.ends_with(".rs") {
        return Vec::new();
    }
    let lines: Vec<_> = text.lines().collect();
    let is_one = |pair: &[&str]| {
        pair[0].contains("println!(") && pair.iter().any(|line| line.to_lowercase().contains("skipped"))
    };
    let found = (0..lines.len()).filter(|&at| is_one(&lines[at..(at + 2).min(lines.len())]));
    let problem = |at: usize| {
        format!(
            "{path}:{}: nobody sees that this is skipped; write `SKIPPED what: why` with `writeln!(std::io::stderr(), ..)`, which CI lists",
            at + 1
        )
    };
    found.map(problem).collect()
}

/// Checks the words, references and links of one text file; skips binary files.
fn in_file(path: &str, known: &Known<'_>) -> Vec<String> {
    let Ok(text) = read(path) else { return Vec::new() };
    let mut problems = if MAY_CONTAIN.contains(&path) { Vec::new() } else { words(path, &text) };
    if !MAKES_UP.contains(&path) {
        problems.extend(known.dangling(path, &text));
    }
    if path.ends_with(".md") {
        problems.extend(pages::check(path, &text));
        problems
            .extend(links(path, &text, &|target| read(target).ok(), &|target| root().join(target).exists()));
    }
    problems
}

/// Finds forbidden words, and paths of this machine, in a text.
fn words(path: &str, text: &str) -> Vec<String> {
    // A path of one component ("/src") may be an ordinary word, so such a path is not searched.
    let here = root().display().to_string();
    let here = (here.matches('/').count() > 1).then_some((here.as_str(), "a path of this machine"));
    let forbidden = FORBIDDEN.iter().copied().chain(here);
    let mut problems = Vec::new();
    for (word, why) in forbidden {
        for (index, line) in text.lines().enumerate().filter(|(_, line)| line.contains(word)) {
            problems.push(format!("{path}:{}: \"{word}\": {why}: {}", index + 1, line.trim()));
        }
    }
    problems
}

/// Finds broken links of a Markdown page. `read` and `exists` take paths relative to the
/// repository's root.
fn links(
    path: &str,
    text: &str,
    read: &dyn Fn(&str) -> Option<String>,
    exists: &dyn Fn(&str) -> bool,
) -> Vec<String> {
    let mut problems = Vec::new();
    for (number, line) in prose(text) {
        for target in line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next()) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { path.to_owned() } else { joined(path, file) };
            let found = exists(&file)
                && (anchor.is_empty() || read(&file).is_some_and(|page| anchors(&page).any(|a| a == anchor)));
            if !found {
                problems.push(format!("{path}:{number}: the link {target} leads nowhere"));
            }
        }
    }
    problems
}

/// Returns the lines of a page outside code blocks, numbered from 1, without text in backticks.
fn prose(text: &str) -> impl Iterator<Item = (usize, String)> {
    let mut in_code = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
            return None;
        }
        (!in_code).then(|| (index + 1, line.split('`').step_by(2).collect()))
    })
}

/// Returns the anchors that GitHub and similar hosts give to a page's headings.
fn anchors(page: &str) -> impl Iterator<Item = String> {
    page.lines().filter(|line| line.starts_with('#')).map(|line| {
        let title = line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        title.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect()
    })
}

/// Returns the path to which the link `target` in the file `path` refers. `path` and the result are
/// relative to the repository's root.
fn joined(path: &str, target: &str) -> String {
    let mut parts: Vec<_> = path.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "." | "" => {}
            ".." => {
                if parts.pop().is_none() {
                    return "(outside the repository)".to_owned();
                }
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Lists the shipped scenarios that cannot be loaded.
fn scenarios(files: &[String]) -> Vec<String> {
    let shipped = files.iter().filter(|path| path.starts_with("scenarios/") && path.ends_with(".toml"));
    let failures = shipped.filter_map(|path| {
        let error = bufferlab_scenario::load(&root().join(path), &[]).err()?;
        Some(format!("{path}: does not load: {error}; hint: `bufferlab check {path}` shows the places"))
    });
    failures.collect()
}

/// Lists registered policies without a page or without test vectors. The tests of
/// `bufferlab-conformance` check the content of pages and vectors.
fn policies() -> Vec<String> {
    let wanted = POLICIES.iter().flat_map(|info| {
        [format!("docs/reference/policies/{}.md", info.name), format!("testdata/policy/{}.toml", info.name)]
    });
    wanted.filter(|path| !root().join(path).is_file()).map(|path| format!("{path}: missing")).collect()
}

/// Checks that the pure crates have equal `clippy.toml` files (clippy reads only one from
/// a crate's folder), and that every crate uses the workspace's lints.
fn pure_crates() -> Result<Vec<String>, String> {
    let folder = |name: &str| format!("crates/{}", name.trim_start_matches("bufferlab-"));
    let rules = read("crates/core/clippy.toml")?;
    let workspace = read("Cargo.toml")?;
    let mut problems = Vec::new();
    for (name, _) in PURE {
        let path = format!("{}/clippy.toml", folder(name));
        if read(&path)? != rules {
            problems.push(format!("{path}: differs from crates/core/clippy.toml"));
        }
    }
    for manifest in manifests()? {
        let text = std::fs::read_to_string(&manifest).map_err(|error| format!("{manifest}: {error}"))?;
        problems.extend(lints(&manifest, &text, &workspace));
    }
    Ok(problems)
}

/// Returns the lints that a manifest lacks. A crate with `unsafe` code has all lints of the
/// workspace but one.
fn lints(manifest: &str, text: &str, workspace: &str) -> Vec<String> {
    if text.contains("[lints]\nworkspace = true") {
        return Vec::new();
    }
    let is_named = |(name, ..): &&(&str, &str, &str)| text.contains(&format!("\nname = \"{name}\"\n"));
    if !UNSAFE.iter().any(|entry| is_named(&entry)) {
        return vec![format!("{manifest}: does not take the workspace's lints")];
    }
    let rules = workspace.split("[workspace.lints.").skip(1).flat_map(|table| {
        let end = table.find("\n[").unwrap_or(table.len());
        table[..end].lines().skip(1)
    });
    let rules = rules.filter(|line| line.contains(" = ") && !line.starts_with("unsafe_code"));
    let rules = rules.chain(["unsafe_code = \"deny\"", "undocumented_unsafe_blocks = \"deny\""]);
    let missing = rules.filter(|rule| !text.lines().any(|line| line == *rule));
    missing.map(|rule| format!("{manifest}: lacks the lint {rule}")).collect()
}

/// Returns the production files that allow `unsafe` code and are not listed in [`UNSAFE`].
fn unsafe_files(files: &[(&str, String)]) -> Vec<String> {
    let allowance = concat!("allow(", "unsafe_code");
    let is_listed = |path: &str| UNSAFE.iter().any(|(_, file, _)| *file == path);
    let allowing = files.iter().filter(|(path, text)| text.contains(allowance) && !is_listed(path));
    allowing.map(|(path, _)| format!("{path}: only the files of UNSAFE have unsafe code")).collect()
}

/// A dependency of one of the workspace's crates on another crate or a library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependency {
    from: String,
    to: String,
    /// Whether only tests, examples and benches of the crate use the dependency.
    dev: bool,
}

fn packages() -> Result<Vec<Value>, String> {
    let list = metadata()?["packages"].as_array().cloned();
    list.ok_or_else(|| "cargo metadata lists no packages".to_owned())
}

fn names() -> Result<BTreeSet<String>, String> {
    Ok(packages()?.iter().filter_map(|package| package["name"].as_str().map(str::to_owned)).collect())
}

/// Returns the crates that the rules name, but that the workspace lacks.
fn rules_without_a_crate(names: &BTreeSet<String>) -> Vec<String> {
    let ruled = PURE.iter().map(|(name, _)| name).chain(DRIVERS).chain(EDGES).chain(PROGRAMS);
    let missing = ruled.filter(|name| !names.contains(**name));
    missing.map(|name| format!("xtask/src/tidy.rs: a rule for {name}, which does not exist")).collect()
}

fn manifests() -> Result<Vec<String>, String> {
    Ok(packages()?
        .iter()
        .filter_map(|package| package["manifest_path"].as_str().map(str::to_owned))
        .collect())
}

fn dependencies() -> Result<Vec<Dependency>, String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let of = |package: &Value| -> Vec<Dependency> {
        let from = text(&package["name"]);
        let list = package["dependencies"].as_array().map_or(&[][..], Vec::as_slice);
        let one =
            |d: &Value| Dependency { from: from.clone(), to: text(&d["name"]), dev: d["kind"] == "dev" };
        list.iter().map(one).collect()
    };
    Ok(packages()?.iter().flat_map(of).collect())
}

/// Lists the dependencies between crates that the architecture forbids.
fn arrows(dependencies: &[Dependency]) -> Vec<String> {
    let mut problems = Vec::new();
    for Dependency { from, to, dev } in dependencies {
        let allowed = PURE.iter().find(|(name, _)| name == from).map(|(_, allowed)| *allowed);
        if let Some(allowed) = allowed.filter(|allowed| !dev && !allowed.contains(&to.as_str())) {
            problems.push(format!("{from} is pure and depends on {to}; allowed: {allowed:?}"));
        }
        let allowed = GENERIC.iter().find(|(name, _)| name == from).map(|(_, allowed)| *allowed);
        let ours = to.starts_with("bufferlab-");
        if let Some(allowed) = allowed.filter(|allowed| ours && !allowed.contains(&to.as_str())) {
            problems.push(format!("{from} is generic and depends on {to}; allowed: {allowed:?}"));
        }
        if DRIVERS.contains(&from.as_str()) && DRIVERS.contains(&to.as_str()) {
            problems.push(format!("the drivers {from} and {to} depend on each other"));
        }
        let is_program = PROGRAMS.contains(&from.as_str()) && to == "bufferlab-cli";
        if EDGES.contains(&to.as_str()) && !is_program {
            problems.push(format!("{from} depends on {to}, which is an edge"));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrow(from: &str, to: &str, dev: bool) -> Dependency {
        Dependency { from: from.to_owned(), to: to.to_owned(), dev }
    }

    #[test]
    fn the_table_of_crates_has_every_crate_and_no_other() {
        let files = ["crates/a/src/lib.rs", "dev/b/Cargo.toml"].map(str::to_owned);
        let page = |names: &str| {
            format!(
                "# Overview\n\n## Crates\n\n| crate | purpose |\n|---|---|\n| {names} | x `c` |\n| `xtask` | y |\n\n## Next\n"
            )
        };
        assert_eq!(crates_of_the_overview(&page("`a`, `b`"), &files), [""; 0]);
        assert_eq!(
            crates_of_the_overview(&page("`a`, `live`"), &files),
            ["ARCHITECTURE.md: the table of crates lacks b", "ARCHITECTURE.md: there is no crate live"]
        );
    }

    #[test]
    fn unsafe_code_needs_a_listed_file_and_all_other_lints() {
        let workspace = "[workspace.lints.rust]\nunsafe_code = \"forbid\"\nmissing_docs = \"warn\"\n\n\
                         [workspace.lints.clippy]\ntodo = \"warn\"\n\n[profile.dev]\nopt-level = 1\n";
        let plain = "[package]\nname = \"bufferlab-core\"\n";
        assert_eq!(lints("a", &format!("{plain}[lints]\nworkspace = true\n"), workspace), [""; 0]);
        assert_eq!(lints("a", plain, workspace), ["a: does not take the workspace's lints"]);
        let listed = "[package]\nname = \"bufferlab-capi\"\n[lints.rust]\nunsafe_code = \"deny\"\n\
                      undocumented_unsafe_blocks = \"deny\"\nmissing_docs = \"warn\"\n";
        assert_eq!(lints("a", listed, workspace), ["a: lacks the lint todo = \"warn\""]);
        assert_eq!(lints("a", &format!("{listed}todo = \"warn\"\n"), workspace), [""; 0]);
        let allowing = concat!("#![allow(", "unsafe_code)]\n").to_owned();
        let files = [(UNSAFE[0].1, allowing.clone()), ("crates/core/src/a.rs", allowing)];
        assert_eq!(unsafe_files(&files), ["crates/core/src/a.rs: only the files of UNSAFE have unsafe code"]);
    }

    #[test]
    fn a_skip_that_the_test_runner_swallows_is_found() {
        let told = "    let _ = writeln!(std::io::stderr(), \"SKIPPED it: why\");\n";
        assert_eq!(swallowed("crates/a/tests/suite/b.rs", told), [""; 0]);
        for text in
            ["\nprintln!(\"skipped: no b\");", "\n    eprintln!(\n    \"{test}: Skipped, because\"\n);"]
        {
            let found = swallowed("crates/a/tests/suite/b.rs", text);
            assert!(found.len() == 1 && found[0].starts_with("crates/a/tests/suite/b.rs:2: "), "{found:?}");
            assert_eq!(swallowed("xtask/src/b.rs", text), [""; 0]);
        }
    }

    #[test]
    fn forbidden_arrows_are_found_and_others_are_not() {
        for wrong in [
            arrow("bufferlab-core", "bufferlab-metrics", false),
            arrow("bufferlab-transport", "serde", false),
            arrow("bufferlab-units", "bufferlab-core", false),
            arrow("bufferlab-document", "bufferlab-core", true),
            arrow("bufferlab-sim", "bufferlab-theory", true),
            arrow("bufferlab-theory", "bufferlab-sim", false),
            arrow("bufferlab-report", "bufferlab-cli", true),
            arrow("own-policy", "bufferlab-python", false),
        ] {
            assert_eq!(arrows(std::slice::from_ref(&wrong)).len(), 1, "{wrong:?}");
        }
        for right in [
            arrow("bufferlab-core", "bufferlab-units", false),
            arrow("bufferlab-core", "proptest", true),
            arrow("bufferlab-document", "toml", false),
            arrow("bufferlab-sim", "bufferlab-core", false),
            arrow("own-policy", "bufferlab-cli", false),
            arrow("bufferlab-python", "bufferlab-cli", false),
        ] {
            assert!(arrows(std::slice::from_ref(&right)).is_empty(), "{right:?}");
        }
    }

    #[test]
    fn the_arrows_are_read_from_the_real_workspace() {
        let all = dependencies().expect("cargo knows them");
        assert!(all.contains(&arrow("bufferlab-core", "bufferlab-units", false)), "{all:?}");
        assert!(all.contains(&arrow("xtask", "bufferlab-core", false)), "{all:?}");
    }

    #[test]
    fn a_rule_for_a_crate_that_does_not_exist_is_found() {
        let mut names = names().expect("cargo knows them");
        assert_eq!(rules_without_a_crate(&names), [""; 0]);
        names.remove("bufferlab-sim");
        assert_eq!(rules_without_a_crate(&names).len(), 1);
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let exists = |path: &str| ["docs/a.md", "docs/b.md", "README.md"].contains(&path);
        let read = |path: &str| exists(path).then(|| "# Add a policy\n## What's new?\n".to_owned());
        let check = |text: &str| links("docs/a.md", text, &read, &exists);
        for right in [
            "[b](b.md) and [r](../README.md#add-a-policy)",
            "[here](#whats-new)",
            "[site](https://example.org/x)",
            "`[code](nowhere.md)`",
            "```\n[code](nowhere.md)\n```",
        ] {
            assert_eq!(check(right), [""; 0], "{right}");
        }
        for wrong in ["[c](c.md)", "x\n[b](b.md) [c](../c.md)", "[b](b.md#nowhere)", "[out](../../etc)"] {
            assert_eq!(check(wrong).len(), 1, "{wrong}");
        }
    }

    #[test]
    fn forbidden_words_are_found_with_their_line() {
        assert_eq!(words("a.rs", "fine\n"), [""; 0]);
        let found = words("a.rs", "fine\n// FIXME: later\n");
        assert!(found.len() == 1 && found[0].starts_with("a.rs:2: \"FIXME\""), "{found:?}");
        let path = format!("see {}/x", root().display());
        assert!(!words("a.rs", &path).is_empty());
    }

    #[test]
    fn a_scenario_that_does_not_load_and_a_large_file_are_found() {
        assert_eq!(scenarios(&["scenarios/missing.toml".to_owned()]).len(), 1);
        let file = ["Cargo.toml".to_owned()];
        assert!(sizes(&file, SIZE_MAX).is_empty());
        assert_eq!(sizes(&file, 100).len(), 1);
    }
}
