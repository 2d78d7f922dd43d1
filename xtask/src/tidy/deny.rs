//! Checks dependencies against `deny.toml`: licences, sources and banned crates.
//!
//! The program `cargo deny` checks more, but is often not installed.
//! This check covers the dependencies of a build on the current machine.

use crate::{cargo, output, read};
use serde::Deserialize;
use serde_json::Value;
use std::process::Command;

/// The keys of the file `deny.toml` that this module checks.
#[derive(Deserialize)]
struct Rules {
    licenses: Licences,
    bans: Bans,
    sources: Sources,
}

#[derive(Deserialize)]
struct Licences {
    allow: Vec<String>,
}

#[derive(Deserialize)]
struct Bans {
    deny: Vec<Banned>,
}

#[derive(Deserialize)]
struct Banned {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Sources {
    allow_registry: Vec<String>,
}

/// Returns the dependencies that violate `deny.toml`, in a build for this machine.
///
/// # Errors
/// If cargo fails or `deny.toml` is invalid.
pub(super) fn check() -> Result<Vec<String>, String> {
    let rules = toml::from_str(&read("deny.toml")?).map_err(|error| format!("deny.toml: {error}"))?;
    let about = String::from_utf8_lossy(&output(Command::new("rustc").arg("-vV"))?).into_owned();
    let host = about.lines().find_map(|line| line.strip_prefix("host: ")).ok_or("rustc names no host")?;
    // Crates for other operating systems are ignored, because cargo may not have downloaded them.
    let all = ["metadata", "--format-version", "1", "--locked", "--filter-platform", host];
    let metadata: Value = serde_json::from_slice(&output(&mut cargo(&all))?)
        .map_err(|error| format!("cargo metadata: {error}"))?;
    let resolved = metadata["resolve"]["nodes"].as_array().map_or(&[][..], Vec::as_slice);
    let packages = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
    let is_used = |package: &&Value| resolved.iter().any(|node| node["id"] == package["id"]);
    Ok(packages.iter().filter(is_used).flat_map(|package| violations(package, &rules)).collect())
}

fn violations(package: &Value, rules: &Rules) -> Vec<String> {
    let name = package["name"].as_str().unwrap_or_default();
    let place = format!("{name} {}", package["version"].as_str().unwrap_or_default());
    let mut problems = Vec::new();
    let licence = package["license"].as_str().unwrap_or_default();
    if !is_allowed(licence, &rules.licenses.allow) {
        problems.push(format!("{place}: the licence \"{licence}\" is not in deny.toml"));
    }
    if rules.bans.deny.iter().any(|banned| banned.name == name) {
        problems.push(format!("{place}: deny.toml bans this crate"));
    }
    // Crates of this workspace have no `source` in cargo's metadata.
    let is_known = |source: &str| {
        rules.sources.allow_registry.iter().any(|url| source.strip_prefix("registry+") == Some(url.as_str()))
    };
    if let Some(source) = package["source"].as_str().filter(|source| !is_known(source)) {
        problems.push(format!("{place}: its source {source} is not in deny.toml"));
    }
    problems
}

/// Whether an SPDX expression can be satisfied with the licences in `allow`.
fn is_allowed(expression: &str, allow: &[String]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    any(&mut rest, allow).unwrap_or(false) && rest.is_empty()
}

/// Whether at least one of the licences joined by OR is allowed; `None` if the expression is
/// malformed.
fn any(words: &mut &[&str], allow: &[String]) -> Option<bool> {
    let mut found = all(words, allow)?;
    while words.first() == Some(&"OR") {
        *words = &words[1..];
        found |= all(words, allow)?;
    }
    Some(found)
}

/// Whether all licences joined by AND are allowed; `None` if the expression is malformed.
fn all(words: &mut &[&str], allow: &[String]) -> Option<bool> {
    let mut found = term(words, allow)?;
    while words.first() == Some(&"AND") {
        *words = &words[1..];
        found &= term(words, allow)?;
    }
    Some(found)
}

/// Parses a licence expression in brackets, or a licence with its exception.
fn term(words: &mut &[&str], allow: &[String]) -> Option<bool> {
    let (first, mut rest) = words.split_first()?;
    let found = if *first == "(" {
        let inner = any(&mut rest, allow)?;
        rest = rest.split_first().filter(|(end, _)| **end == ")")?.1;
        inner
    } else {
        let mut licence = first.trim_end_matches('+').to_owned();
        if let ["WITH", exception, after @ ..] = rest {
            licence = format!("{licence} WITH {exception}");
            rest = after;
        }
        allow.contains(&licence)
    };
    *words = rest;
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Rules {
        let text = "[licenses]\nallow = [\"MIT\", \"Zlib\", \"Apache-2.0 WITH LLVM-exception\"]\n\
                    [bans]\ndeny = [{ name = \"ring\" }]\n[sources]\nallow-registry = [\"https://index\"]\n";
        toml::from_str(text).expect("valid rules")
    }

    #[test]
    fn expressions_need_an_allowed_choice() {
        let allow = rules().licenses.allow;
        for fine in
            ["MIT", "Apache-2.0/MIT", "GPL-3.0 OR (MIT AND Zlib)", "Apache-2.0 WITH LLVM-exception", "Zlib+"]
        {
            assert!(is_allowed(fine, &allow), "{fine}");
        }
        for wrong in
            ["", "GPL-3.0", "MIT AND GPL-3.0", "Apache-2.0", "MIT WITH x", "MIT MIT", "(MIT", "MIT OR"]
        {
            assert!(!is_allowed(wrong, &allow), "{wrong}");
        }
    }

    #[test]
    fn a_wrong_licence_a_git_source_and_a_banned_crate_are_found() {
        let package = |name: &str, license: &str, source: &str| serde_json::json!({ "name": name, "version": "1.0.0", "license": license, "source": source });
        let found = |package| violations(&package, &rules());
        assert_eq!(found(package("fine", "MIT OR GPL-3.0", "registry+https://index")), Vec::<String>::new());
        let wrong = found(package("copyleft", "GPL-3.0", "registry+https://index"));
        assert_eq!(wrong, ["copyleft 1.0.0: the licence \"GPL-3.0\" is not in deny.toml"]);
        let wrong = found(package("ring", "MIT", "git+https://index#1"));
        assert_eq!(wrong.len(), 2, "{wrong:?}");
        let unlicensed = serde_json::json!({ "name": "ours", "version": "1.0.0" });
        assert_eq!(found(unlicensed).len(), 1, "a crate without a licence");
    }
}
