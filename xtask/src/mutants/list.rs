//! Lists mutants and known equivalent mutants, and draws samples of mutants.

use bufferlab_units::mix;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// File that lists mutants without observable effect, with reasons.
pub(super) const EQUIVALENTS: &str = "testdata/mutants.toml";

/// A mutant: one small change of the source code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mutant {
    /// Name of the mutant as cargo-mutants prints it: file, line, column, replacement.
    pub(super) name: String,
    /// Name of the package whose code the mutant changes.
    pub(super) package: String,
    /// Name of the mutant without line and column, with the text of the changed line.
    /// Changes of other source lines do not affect the key. Equal keys are numbered.
    pub(super) key: String,
    /// Changed line of the source code, without blanks at its ends.
    pub(super) line: String,
}

/// A mutant that no test can detect.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Equivalent {
    /// Key of the equivalent mutant, as in [`Mutant::key`].
    mutant: String,
    /// Reason why the mutant has no observable effect.
    reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EquivalentsText {
    #[serde(default)]
    equivalent: Vec<Equivalent>,
}

impl Equivalent {
    pub(super) fn is(&self, mutant: &Mutant) -> bool {
        self.mutant == mutant.key
    }
}

/// Parses the JSON list of mutants that cargo-mutants prints.
pub(super) fn listed(json: &[u8]) -> Result<Vec<Mutant>, String> {
    let list: Vec<Value> = serde_json::from_slice(json).map_err(|error| format!("cargo-mutants: {error}"))?;
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut count: BTreeMap<String, u32> = BTreeMap::new();
    let mut mutants = Vec::new();
    for value in list {
        let text = |name: &str| value[name].as_str().map(str::to_owned);
        let (name, file, package) = (text("name"), text("file"), text("package"));
        let line = value["span"]["start"]["line"].as_u64();
        let (Some(name), Some(file), Some(package), Some(line)) = (name, file, package, line) else {
            return Err(format!("cargo-mutants lists a mutant in a form that is not known here: {value}"));
        };
        if !texts.contains_key(&file) {
            texts.insert(
                file.clone(),
                crate::read(&file)?.lines().map(|line| line.trim().to_owned()).collect(),
            );
        }
        let line = texts[&file].get(line as usize - 1).cloned().unwrap_or_default();
        let mut key = key(&name, &file, &line);
        let number = count.entry(key.clone()).or_default();
        *number += 1;
        if *number > 1 {
            key = format!("{key} ({number})");
        }
        mutants.push(Mutant { name, package, key, line });
    }
    Ok(mutants)
}

/// Converts a mutant's name `file:line:column: what` to a key without line and column numbers. The
/// key contains the text of the changed source line.
fn key(name: &str, file: &str, line: &str) -> String {
    let rest = name.strip_prefix(file).unwrap_or(name);
    let what = rest.splitn(4, ':').nth(3).unwrap_or(rest).trim();
    format!("{file}: {what} | {line}")
}

/// Parses the list of mutants without observable effect.
pub(super) fn equivalents(text: &str) -> Result<Vec<Equivalent>, String> {
    let file: EquivalentsText = toml::from_str(text).map_err(|error| format!("{EQUIVALENTS}: {error}"))?;
    match file.equivalent.iter().find(|entry| entry.reason.trim().is_empty()) {
        Some(entry) => Err(format!("{EQUIVALENTS}: no reason is given for {}", entry.mutant)),
        None => Ok(file.equivalent),
    }
}

/// Returns the listed equivalent mutants in files of `packages` that match no existing mutant.
pub(super) fn stale(equivalents: &[Equivalent], mutants: &[Mutant], packages: &[&str]) -> Vec<String> {
    let folders: Vec<_> =
        packages.iter().map(|name| format!("crates/{}/", name.trim_start_matches("bufferlab-"))).collect();
    let known = |equivalent: &&Equivalent| {
        let is_listed_here = folders.iter().any(|folder| equivalent.mutant.starts_with(folder));
        is_listed_here && !mutants.iter().any(|mutant| equivalent.is(mutant))
    };
    equivalents.iter().filter(known).map(|equivalent| equivalent.mutant.clone()).collect()
}

/// Selects `count` mutants, or all mutants. The selection depends only on the seed and the keys, so
/// changes of other source lines do not affect the selection.
pub(super) fn sample(mutants: &[Mutant], count: Option<usize>, seed: u64) -> Vec<&Mutant> {
    let rank = |mutant: &Mutant| mutant.key.bytes().fold(mix(seed), |hash, byte| mix(hash ^ u64::from(byte)));
    let mut chosen: Vec<_> = mutants.iter().collect();
    if let Some(count) = count {
        chosen.sort_by_cached_key(|mutant| (rank(mutant), mutant.key.clone()));
        chosen.truncate(count);
    }
    chosen.sort_by(|a, b| a.name.cmp(&b.name));
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(key: &str) -> Mutant {
        let name = key.to_owned();
        Mutant { name: name.clone(), package: "p".to_owned(), key: name, line: String::new() }
    }

    #[test]
    fn a_mutant_keeps_its_key_when_it_moves_and_equal_ones_are_numbered() {
        let line = 1 + crate::read("xtask/src/lib.rs").expect("readable").lines().count() / 2;
        let entry = |line: usize| {
            serde_json::json!({
                "name": format!("xtask/src/lib.rs:{line}:5: replace < with <= in root"),
                "file": "xtask/src/lib.rs", "package": "xtask", "span": { "start": { "line": line } },
            })
        };
        let json = serde_json::to_vec(&[entry(line), entry(line)]).expect("JSON");
        let [first, second] = &listed(&json).expect("known form")[..] else { panic!("two mutants") };
        assert!(first.key.starts_with("xtask/src/lib.rs: replace < with <= in root | "), "{}", first.key);
        assert_eq!(second.key, format!("{} (2)", first.key));
        assert!(listed(b"[{}]").is_err_and(|error| error.contains("not known here")));
    }

    #[test]
    fn a_sample_is_repeatable_and_leaves_out_none_but_by_its_size() {
        let all: Vec<_> = (0..200).map(|n| mutant(&format!("m{n}"))).collect();
        let names = |seed, list: &[Mutant]| -> Vec<String> {
            sample(list, Some(20), seed).iter().map(|mutant| mutant.key.clone()).collect()
        };
        assert_eq!(names(1, &all), names(1, &all));
        assert_ne!(names(1, &all), names(2, &all));
        // The sample does not change if ten mutants outside the sample disappear.
        let chosen = names(1, &all);
        let rest: Vec<_> = all.iter().filter(|m| !chosen.contains(&m.key)).take(10).cloned().collect();
        let fewer: Vec<_> = all.iter().filter(|m| !rest.contains(m)).cloned().collect();
        assert_eq!(names(1, &fewer), chosen);
        assert_eq!(sample(&all, None, 1).len(), 200);
    }

    #[test]
    fn equivalents_have_a_reason_and_exist() {
        let text = "[[equivalent]]\nmutant = 'crates/core/src/mark.rs: x | y'\nreason = \"r\"\n";
        let known = equivalents(text).expect("well formed");
        let there = mutant("crates/core/src/mark.rs: x | y");
        assert!(known[0].is(&there));
        let packages = ["bufferlab-core"];
        assert_eq!(stale(&known, std::slice::from_ref(&there), &packages), [""; 0]);
        assert_eq!(stale(&known, &[], &packages).len(), 1);
        assert_eq!(stale(&known, &[], &["bufferlab-units"]), [""; 0], "of another crate nothing is known");
        assert!(equivalents("[[equivalent]]\nmutant = 'a'\n").is_err());
        let empty = equivalents("[[equivalent]]\nmutant = 'a'\nreason = ' '\n");
        assert!(empty.is_err_and(|error| error.contains("no reason is given for a")));
        assert!(equivalents(&crate::read(EQUIVALENTS).expect("readable")).is_ok());
    }
}
