//! Checks the language of comments and pages by rules. The number of violations may only decrease.
//!
//! `xtask/prose.csv` lists the number of violations of each rule in each part of the repository.
//! A part may have fewer violations than recorded, but never more.
//! `cargo xtask prose --record` writes lower numbers of violations, and refuses higher numbers.

mod rules;
mod sample;
mod text;

use crate::{output, read, root};
use rules::{RULES, broken};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::Command;
use text::Passage;

pub use sample::{sample, show};

/// File with the recorded numbers of violations of language rules.
const FILE: &str = "xtask/prose.csv";
/// Header line of the table with numbers of violations.
const HEADER: &str = "rule,part,broken\n";

/// Number of violations of each rule in each part of the repository.
type Counts = BTreeMap<(String, String), usize>;

/// Violations of each language rule in each part of the repository, as file and line.
type Places = BTreeMap<(String, String), Vec<String>>;

/// Compares the repository's violations of language rules with the recorded numbers.
///
/// # Errors
/// If the files cannot be listed or read.
pub fn check() -> Result<Vec<String>, String> {
    let (places, recorded) = (places()?, recorded()?);
    Ok([worse(&places, &recorded), better(&places, &recorded)].concat())
}

/// Records numbers of violations that are lower than before.
///
/// # Errors
/// If a rule has more violations than recorded; the error lists the violations. Also if a file
/// cannot be read or written.
pub fn record() -> Result<(), String> {
    let (places, before) = (places()?, recorded()?);
    let is_first = before.is_empty();
    let worse = if is_first { Vec::new() } else { worse(&places, &before) };
    if !worse.is_empty() {
        return Err(worse.join("\n  "));
    }
    let mut text = HEADER.to_owned();
    for ((rule, part), places) in &places {
        // Writing into a string cannot fail.
        let _ = writeln!(text, "{rule},{part},{}", places.len());
    }
    std::fs::write(root().join(FILE), text).map_err(|error| format!("{FILE}: {error}"))
}

/// Prints all violations of language rules in parts of the repository whose names begin with
/// `part`.
///
/// # Errors
/// If the files cannot be listed or read.
pub fn list(part: &str) -> Result<(), String> {
    let mut sum = 0;
    for ((rule, of), places) in places()?.iter().filter(|((_, of), _)| of.starts_with(part)) {
        println!("{rule} in {of}: {}", places.len());
        places.iter().for_each(|place| println!("  {place}"));
        sum += places.len();
    }
    println!("{sum} places; the rules:");
    RULES.iter().for_each(|rule| println!("  {}: {}", rule.name, rule.advice));
    Ok(())
}

/// Describes the language rules with more violations than recorded, with the first violations.
fn worse(places: &Places, recorded: &Counts) -> Vec<String> {
    let mut problems = Vec::new();
    for (key, found) in places {
        let (rule, part) = key;
        let known = recorded.get(key).copied().unwrap_or(0);
        if found.len() > known {
            let shown = found.iter().take(SHOWN_MAX).map(|place| format!("\n    {place}"));
            let shown: String = shown.collect();
            let advice = RULES.iter().find(|r| r.name == rule).map_or("", |rule| rule.advice);
            problems.push(format!(
                "{part}: {} places break the rule {rule}, {known} did before: {advice}; \
                 `cargo xtask prose {part}` lists all{shown}",
                found.len()
            ));
        }
    }
    problems
}

/// Describes the language rules with fewer violations than recorded, with recorded and current
/// numbers.
fn better(places: &Places, recorded: &Counts) -> Vec<String> {
    let mut problems = Vec::new();
    for ((rule, part), &known) in recorded {
        let found = places.get(&(rule.clone(), part.clone())).map_or(0, Vec::len);
        if found < known {
            problems.push(format!(
                "{part}: {found} places break {rule}, fewer than {known}: \
                 run `cargo xtask prose --record`"
            ));
        }
    }
    problems
}

/// Maximum number of violations that one error message lists.
const SHOWN_MAX: usize = 12;

fn recorded() -> Result<Counts, String> {
    let Ok(text) = read(FILE) else { return Ok(Counts::new()) };
    let line = |(index, line): (usize, &str)| {
        let fields: Vec<_> = line.split(',').collect();
        let [rule, part, count] = fields[..] else {
            return Err(format!("{FILE}:{}: \"{line}\", expected rule,part,broken", index + 1));
        };
        let count = count.parse().map_err(|error| format!("{FILE}:{}: {error}", index + 1))?;
        Ok(((rule.to_owned(), part.to_owned()), count))
    };
    text.lines().enumerate().skip(1).map(line).collect()
}

fn places() -> Result<Places, String> {
    let mut places = Places::new();
    for passage in passages()? {
        for (rule, line) in broken(&passage) {
            let key = (rule.to_owned(), part_of(&passage.file));
            let place = format!("{}:{}: {}", passage.file, line.number, line.text);
            places.entry(key).or_default().push(place);
        }
    }
    Ok(places)
}

/// Returns all hand-written texts of the repository: comments, docstrings, pages and lists.
///
/// # Errors
/// If the files cannot be listed.
fn passages() -> Result<Vec<Passage>, String> {
    let listed = output(Command::new("git").args(["ls-files", "-z"]).current_dir(root()))?;
    let listed = String::from_utf8(listed).map_err(|_| "a file name is not UTF-8".to_owned())?;
    let files = listed.split_terminator('\0');
    Ok(files.flat_map(|file| text::passages(file, &read(file).unwrap_or_default())).collect())
}

/// Returns the part of the repository that has a file: its crate, its first folder, or the file
/// itself.
fn part_of(file: &str) -> String {
    let mut parts = file.split('/');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(top @ ("crates" | "dev")), Some(name), Some(_)) => format!("{top}/{name}"),
        (Some(top), Some(_), _) => top.to_owned(),
        _ => file.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(count: usize) -> Places {
        let places = (0..count).map(|line| format!("a.rs:{line}: x")).collect();
        [(("filler".to_owned(), "crates/core".to_owned()), places)].into()
    }

    fn counts(count: usize) -> Counts {
        [(("filler".to_owned(), "crates/core".to_owned()), count)].into()
    }

    #[test]
    fn more_places_and_fewer_places_than_recorded_are_problems() {
        assert_eq!(worse(&places(2), &counts(2)), Vec::<String>::new());
        assert_eq!(better(&places(2), &counts(2)), Vec::<String>::new());
        let more = worse(&places(3), &counts(2)).join("");
        assert!(more.contains("3 places break the rule filler, 2 did before") && more.contains("a.rs:2"));
        let fewer = better(&places(1), &counts(2)).join("");
        assert!(fewer.contains("1 places break filler, fewer than 2: run `cargo xtask"), "{fewer}");
        assert!(worse(&places(1), &Counts::new()).join("").contains("0 did before"));
    }

    #[test]
    fn parts_are_crates_folders_and_files() {
        assert_eq!(part_of("crates/core/src/lib.rs"), "crates/core");
        assert_eq!(part_of("docs/reference/policies/dt.md"), "docs");
        assert_eq!(part_of("README.md"), "README.md");
    }
}
