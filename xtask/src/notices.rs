//! Licences of the external libraries that the program, the C interface and the Python package
//! contain.
//!
//! The file lists every library with version, licence and source, followed by the licence texts
//! from the sources of the libraries. The list covers all operating systems. A mark shows the
//! libraries that only the Python package contains.

use crate::{cargo, output};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

/// File with the notices, which wheels, source distributions, Debian packages and images contain.
pub const FILE: &str = "python/THIRD-PARTY.txt";

/// Package with all libraries.
const PYTHON: &str = "bufferlab-python";

/// Packages whose libraries are listed. Debian packages and images have only the first two.
const PACKAGES: [&str; 3] = ["bufferlab-cli", "bufferlab-capi", PYTHON];

/// Beginnings of the names of licence files.
const NAMES: [&str; 4] = ["licen", "copying", "notice", "unlicense"];

/// An external library.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Library {
    name: String,
    version: String,
    licence: String,
    /// Address of the source code, or the library's page in the registry.
    source: String,
    authors: Vec<String>,
    manifest: String,
    is_python_only: bool,
}

/// Returns the content of the notices for the locked dependencies.
///
/// # Errors
/// If cargo fails, or a library's folder cannot be read.
pub fn text() -> Result<String, String> {
    let text = output(&mut cargo(&["metadata", "--format-version", "1", "--locked", "--quiet"]))?;
    let metadata: Value =
        serde_json::from_slice(&text).map_err(|error| format!("cargo metadata: {error}"))?;
    let libraries = libraries(&metadata)?;
    let texts = libraries.iter().map(licences).collect::<Result<Vec<_>, _>>()?;
    Ok(notices(&libraries, &texts))
}

/// Returns all external libraries of [`PACKAGES`], without those that only the build executes.
fn libraries(metadata: &Value) -> Result<Vec<Library>, String> {
    let mut found = BTreeSet::new();
    for package in PACKAGES {
        for library in libraries_of(package, metadata)? {
            // A library of several packages has equal details.
            let is_new = !found.iter().any(|known: &Library| known.manifest == library.manifest);
            if is_new {
                found.insert(Library { is_python_only: package == PYTHON, ..library });
            }
        }
    }
    Ok(found.into_iter().collect())
}

/// Returns the external libraries of one package.
fn libraries_of(name: &str, metadata: &Value) -> Result<Vec<Library>, String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages: BTreeMap<String, Value> =
        list(&metadata["packages"]).into_iter().map(|package| (word(&package["id"]), package)).collect();
    let nodes: BTreeMap<String, Value> =
        list(&metadata["resolve"]["nodes"]).into_iter().map(|node| (word(&node["id"]), node)).collect();
    let root = packages.iter().find(|(_, package)| package["name"] == name).map(|(id, _)| id.clone());
    let mut open = vec![root.ok_or_else(|| format!("cargo metadata has no package {name}"))?];
    let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
    while let Some(id) = open.pop() {
        let Some(package) = packages.get(&id) else { continue };
        let is_macro = list(&package["targets"])
            .iter()
            .any(|target| list(&target["kind"]).contains(&"proc-macro".into()));
        if is_macro || !seen.insert(id.clone()) {
            continue;
        }
        for dependency in nodes.get(&id).map(|node| list(&node["deps"])).unwrap_or_default() {
            // The kind of a normal dependency is null.
            if list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"].is_null()) {
                open.push(word(&dependency["pkg"]));
            }
        }
        // The workspace's crates have no source.
        if package["source"].is_string() {
            let (name, version) = (word(&package["name"]), word(&package["version"]));
            let source = match &package["repository"] {
                Value::String(address) => address.clone(),
                _ => format!("https://crates.io/crates/{name}/{version}"),
            };
            let authors = list(&package["authors"]).iter().map(word).collect();
            let (licence, manifest) = (word(&package["license"]), word(&package["manifest_path"]));
            found.push(Library { name, version, licence, source, authors, manifest, is_python_only: false });
        }
    }
    Ok(found)
}

/// Returns the licence texts in the library's source: the MIT licence if the user may choose it,
/// otherwise all texts.
fn licences(library: &Library) -> Result<Vec<String>, String> {
    let folder = Path::new(&library.manifest).parent().unwrap_or(Path::new(""));
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)?.flatten() {
        let name = entry.file_name().to_string_lossy().to_lowercase();
        if entry.path().is_file() && NAMES.iter().any(|begin| name.starts_with(begin)) {
            files.push((name, entry.path()));
        }
    }
    files.sort();
    let may_choose = library.licence.contains("MIT") && !library.licence.contains("AND");
    if may_choose && files.iter().any(|(name, _)| name.contains("mit")) {
        files.retain(|(name, _)| name.contains("mit") || name.starts_with("notice"));
    }
    files.into_iter().map(|(_, path)| std::fs::read(path).map(plain).map_err(failed)).collect()
}

/// Returns a text without trailing spaces and without empty lines at its ends.
fn plain(bytes: Vec<u8>) -> String {
    let text = String::from_utf8_lossy(&bytes).replace(['\u{feff}', '\u{c}'], "");
    let lines: Vec<_> = text.lines().map(str::trim_end).collect();
    lines.join("\n").trim_matches('\n').to_owned()
}

/// Formats the list of libraries, and then each different text with the libraries that have it.
fn notices(libraries: &[Library], texts: &[Vec<String>]) -> String {
    let mut text =
        "Libraries in the program, C interface and Python package of bufferlab, and their licences.\n\
         Only the Python package has libraries with an asterisk. Written by: cargo xtask generate\n\n"
            .to_owned();
    let mut users: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    // Writing into a string cannot fail.
    for (library, texts) in libraries.iter().zip(texts) {
        let Library { name, version, licence, source, authors, .. } = library;
        let mark = if library.is_python_only { " *" } else { "" };
        let _ = writeln!(text, "{name} {version}, {licence}, {source}{mark}");
        if texts.is_empty() {
            let authors = if authors.is_empty() { "its authors".to_owned() } else { authors.join(", ") };
            let _ = writeln!(text, "    (no licence file in its source; copyright {authors})");
        }
        for text in texts {
            users.entry(text).or_default().push(name);
        }
    }
    let mut users: Vec<_> = users.into_iter().collect();
    users.sort_by_key(|(text, names)| (names[0], *text));
    for (licence, mut names) in users {
        names.dedup();
        let _ = write!(text, "\n{}\n{}\n\n{licence}\n", "=".repeat(80), names.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn package(name: &str, external: bool, kind: &str) -> Value {
        json!({
            "id": name, "name": name, "version": "1.2.3", "license": "MIT", "repository": null, "authors": ["A"],
            "source": external.then_some("registry"), "manifest_path": name, "targets": [{ "kind": [kind] }],
        })
    }

    fn node(name: &str, dependencies: &[(&str, Option<&str>)]) -> Value {
        let dependency =
            |(name, kind): &(&str, Option<&str>)| json!({ "pkg": name, "dep_kinds": [{ "kind": kind }] });
        json!({ "id": name, "deps": dependencies.iter().map(dependency).collect::<Vec<_>>() })
    }

    #[test]
    fn indirect_libraries_are_listed_and_tools_of_the_build_are_not() {
        let names = ["linked", "deep", "macros", "tested"];
        let kind = |name: &str| if name == "macros" { "proc-macro" } else { "lib" };
        let mut packages: Vec<_> = names.iter().map(|name| package(name, true, kind(name))).collect();
        packages.extend(PACKAGES.map(|name| package(name, false, "bin")));
        packages.extend([package("bufferlab-core", false, "lib"), package("bindings", true, "lib")]);
        let nodes = [
            node("bufferlab-cli", &[("bufferlab-core", None), ("macros", None), ("tested", Some("dev"))]),
            node(PYTHON, &[("bufferlab-cli", None), ("bindings", None)]),
            node("bufferlab-core", &[("linked", None)]),
            node("linked", &[("deep", None), ("tested", Some("build"))]),
        ];
        let all = json!({ "packages": packages, "resolve": { "nodes": nodes } });
        let found = libraries(&all).expect("the package is there");
        assert_eq!(
            found.iter().map(|library| &library.name).collect::<Vec<_>>(),
            ["bindings", "deep", "linked"]
        );
        let texts = [Vec::new(), vec!["Permission".to_owned()], Vec::new()];
        let text = notices(&found, &texts);
        assert!(text.contains("\ndeep 1.2.3, MIT, https://crates.io/crates/deep/1.2.3\n"), "{text}");
        assert!(
            text.contains("\nbindings 1.2.3, MIT, https://crates.io/crates/bindings/1.2.3 *\n"),
            "{text}"
        );
        assert!(text.contains("(no licence file in its source; copyright A)"), "{text}");
        assert!(text.ends_with("\ndeep\n\nPermission\n"), "{text}");
    }
}
