//! Checks that references exist: files, numbered sections, errata, claims, tests, cases of vectors.
//!
//! A reference is recognised by its form, in every tracked text file, including code and CSV:
//!
//! * a path whose first folder is one of the repository's (`docs/reference/theory.md`,
//!   `crates/sim/src/*.rs`), or a bare `NAME.md`;
//! * `docs/x.md section 3.2`: a heading of that page begins with the number;
//! * `E-ABM-1`: an erratum with a heading in `docs/evidence/errata.md`; `ABM-F6a-1`:
//!   a row of `claims/claims.csv`;
//! * `crates/NAME` and `dev/NAME`: the folder of a crate;
//! * `crates/….rs::name`: a function of that file, or a test that `claims!` declares;
//!   `testdata/….toml::name`: a case of that file.

use std::collections::BTreeSet;

/// Endings of file names that may be references to files.
const ENDINGS: &[&str] = &[
    "md", "rs", "toml", "csv", "gz", "py", "pyi", "ipynb", "json", "svg", "png", "html", "css", "js", "yml",
];

/// References to files that do not exist: files that the walk-throughs in `docs/extend` create,
/// and a misspelling in a test.
const MADE_UP: &[&str] = &[
    "crates/core/src/policy/schemes/toy_quota.rs",
    "docs/reference/policies/toy-quota.md",
    "testdata/policy/toy-quota.toml",
    "crates/transport/src/congestion/toy_aimd.rs",
    "testdata/congestion/toy-aimd.toml",
    "crates/core/src/mark/toy_occupancy.rs",
    "testdata/marking/toy_occupancy.toml",
    "crates/theory/src/calculators/toy_split.rs",
    "crates/theory-check/src/toy_split.rs",
    "crates/workload/src/kinds/toy_pulses.rs",
    "scenarios/toy-pulses.toml",
    "crates/topology/src/kinds/toy_ring.rs",
    "scenarios/toy-ring.toml",
    "scenarios/star-incas.toml",
];

/// A function that reads a file by its path from the root of the repository.
pub(super) type Read<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Files, folders and numbers of claims that references may name.
pub(super) struct Known<'a> {
    files: BTreeSet<&'a str>,
    /// Names of folders and files at the root of the repository.
    top: BTreeSet<&'a str>,
    errata: BTreeSet<String>,
    claims: BTreeSet<String>,
    /// Prefixes of the numbers of claims, such as `ABM` and `LP`.
    papers: BTreeSet<String>,
    read: Read<'a>,
}

impl<'a> Known<'a> {
    /// Collects the files, folders and claims to which references may refer from the tracked
    /// `files`.
    pub(super) fn new(files: &'a [String], read: Read<'a>) -> Self {
        let lines =
            |path: &str| read(path).unwrap_or_default().lines().map(str::to_owned).collect::<Vec<_>>();
        let errata = lines("docs/evidence/errata.md")
            .iter()
            .filter_map(|line| line.strip_prefix("### ")?.split(':').next().map(str::to_owned))
            .collect();
        let claims: BTreeSet<String> = lines("claims/claims.csv")
            .iter()
            .skip(1)
            .filter_map(|line| line.split(',').next().map(str::to_owned))
            .collect();
        let papers = claims.iter().filter_map(|id| id.split('-').next().map(str::to_owned)).collect();
        let files: BTreeSet<_> = files.iter().map(String::as_str).collect();
        let top = files.iter().filter_map(|path| path.split('/').next()).collect();
        Self { files, top, errata, claims, papers, read }
    }

    /// Returns the broken references in `text`, the content of the file `path`.
    pub(super) fn dangling(&self, path: &str, text: &str) -> Vec<String> {
        let mut problems = Vec::new();
        for (index, line) in text.lines().enumerate() {
            for (word, rest) in words(line) {
                if let Some(problem) = self.problem(path, word, rest) {
                    problems.push(format!("{path}:{}: {problem}", index + 1));
                }
            }
        }
        problems
    }

    /// Returns the problem of the reference `word`. `rest` is the text of its line after the
    /// reference.
    fn problem(&self, path: &str, word: &str, rest: &str) -> Option<String> {
        if is_number_of(word, |paper| paper == "E") && !self.errata.contains(word) {
            return Some(format!("the erratum {word} is not in docs/evidence/errata.md"));
        }
        if is_number_of(word, |paper| self.papers.contains(paper)) && !self.claims.contains(word) {
            return Some(format!("the claim {word} is not in claims/claims.csv"));
        }
        if is_crate(word) {
            let there = self
                .files
                .iter()
                .any(|file| file.strip_prefix(word).is_some_and(|rest| rest.starts_with('/')));
            return (!there).then(|| format!("there is no crate {word}"));
        }
        if !self.is_path(path, word) || MADE_UP.contains(&word) {
            return None;
        }
        let Some(file) = self.found(path, word) else { return Some(format!("there is no {word}")) };
        if let Some(name) = rest.strip_prefix("::").and_then(|rest| named(file, rest)) {
            let there = (self.read)(file).is_some_and(|text| declares(file, &text, name));
            return (!there).then(|| format!("{file} has no `{name}`"));
        }
        let number = section(rest)?;
        let there = (self.read)(file).is_some_and(|page| sections(&page).any(|heading| heading == number));
        (!there).then(|| format!("{file} has no section {number}"))
    }

    /// Whether `word`, in the file `path`, has the form of a path of a file in the repository.
    fn is_path(&self, path: &str, word: &str) -> bool {
        let Some((stem, ending)) = word.rsplit_once('.') else { return false };
        if stem.is_empty() || !ENDINGS.contains(&ending) {
            return false;
        }
        match word.split_once('/') {
            Some((first, _)) => self.top.contains(first),
            // A name without a folder may be a file that the program writes, so the name is no
            // reference. But the name of a page, or a capitalised name, must be an existing file.
            None => {
                ending == "md" && (path.ends_with(".md") || !stem.contains(|c: char| c.is_ascii_lowercase()))
            }
        }
    }

    /// Returns the file to which the reference `word` in the file `path` refers. The reference may
    /// be a path from the root, from the folder of `path`, or from its crate. Pages may be named
    /// without folder. A pattern with `*` matches any file.
    fn found(&self, path: &str, word: &str) -> Option<&'a str> {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let package = path.match_indices('/').nth(1).map_or("", |(end, _)| &path[..end]);
        let pages = [
            "start",
            "how-to",
            "concepts",
            "reference",
            "reference/policies",
            "evidence",
            "extend",
            "internals",
        ];
        let pages = pages.map(|folder| format!("docs/{folder}"));
        let folders = ["", folder, package].into_iter().chain(pages.iter().map(String::as_str));
        folders.into_iter().find_map(|folder| {
            let wanted = if folder.is_empty() { word.to_owned() } else { format!("{folder}/{word}") };
            match wanted.split_once('*') {
                Some((start, end)) => {
                    self.files.iter().find(|file| file.starts_with(start) && file.ends_with(end)).copied()
                }
                None => self.files.get(wanted.as_str()).copied(),
            }
        })
    }
}

/// Returns the words of a line that can be references, each with the text after the word.
fn words(line: &str) -> impl Iterator<Item = (&str, &str)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | '-' | '*');
    let mut rest = line;
    std::iter::from_fn(move || {
        let start = rest.find(is_part)?;
        let end = rest[start..].find(|c| !is_part(c)).map_or(rest.len(), |length| start + length);
        let word = rest[start..end].trim_end_matches(['.', '-', '/']);
        let after = &rest[start + word.len()..];
        rest = &rest[end..];
        Some((word, after))
    })
}

/// Whether `word` is the folder of a crate: `crates/NAME` or `dev/NAME`.
fn is_crate(word: &str) -> bool {
    let name = ["crates/", "dev/"].iter().find_map(|folder| word.strip_prefix(folder));
    name.is_some_and(|name| !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'))
}

/// Whether `word` has the form of an erratum's or a claim's number, `PAPER-PLACE-NUMBER`.
fn is_number_of(word: &str, is_paper: impl Fn(&str) -> bool) -> bool {
    let parts: Vec<_> = word.split('-').collect();
    let [paper, place, number] = parts[..] else { return false };
    is_paper(paper)
        && place.starts_with(|c: char| c.is_ascii_uppercase())
        && !number.is_empty()
        && number.bytes().all(|b| b.is_ascii_digit())
}

/// Returns the name after `file::` in a reference: an identifier in a Rust file. In files of test
/// vectors, the name ends at the closing backtick.
fn named<'t>(file: &str, rest: &'t str) -> Option<&'t str> {
    if file.ends_with(".toml") {
        return rest.split_once('`').map(|(name, _)| name);
    }
    let path = rest.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | ':'))).next()?;
    path.rsplit("::").next().filter(|name| !name.is_empty())
}

/// Whether the text of `file` declares `name`. A declaration is a function, an entry of `claims!`
/// (`Holds "ID" name (`), or a case of test vectors.
fn declares(file: &str, text: &str, name: &str) -> bool {
    if file.ends_with(".toml") {
        return text.lines().any(|line| line.trim() == format!("name = \"{name}\""));
    }
    [format!("fn {name}("), format!("\" {name} (")].iter().any(|declaration| text.contains(declaration))
}

/// Returns the number in a reference such as ` section 3.2`, which is after a path and the closing
/// mark of this path.
fn section(rest: &str) -> Option<&str> {
    let rest = rest.trim_start_matches(['`', ']', ')', ',']).strip_prefix(" section ")?;
    let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
    Some(rest[..end].trim_end_matches('.')).filter(|number| !number.is_empty())
}

/// Returns the section numbers at the start of a page's headings.
fn sections(page: &str) -> impl Iterator<Item = &str> {
    let titles =
        page.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    titles
        .filter_map(|title| title.split(' ').next())
        .filter(|word| word.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str) -> Option<String> {
        let text = match path {
            "docs/evidence/errata.md" => "# Errata\n### E-ABM-1: a title\n",
            "docs/a.md" => "# A\n## 3 Three\n### 3.2 Four\n",
            "claims/claims.csv" => "id,paper\nABM-F6a-1,ABM\n",
            "crates/x/tests/suite/y.rs" => {
                "fn it_holds() {}\n    Holds \"ABM-F6a-1\" abm_f6a_1_it_does (\"\") {\n"
            }
            "testdata/v.toml" => "[[case]]\nname = \"a case: one\"\n",
            "README.md" | "crates/x/src/lib.rs" => "",
            _ => return None,
        };
        Some(text.to_owned())
    }

    fn check(path: &str, text: &str) -> Vec<String> {
        let files = [
            "README.md",
            "claims/claims.csv",
            "crates/x/src/lib.rs",
            "crates/x/tests/suite/y.rs",
            "docs/a.md",
            "docs/evidence/errata.md",
            "testdata/v.toml",
        ];
        let files = files.map(str::to_owned);
        Known::new(&files, &read).dangling(path, text)
    }

    #[test]
    fn references_that_lead_somewhere_pass() {
        for right in [
            "see `docs/a.md` section 3.2, and docs/a.md section 3.",
            "[a.md section 3.2](a.md#32-four), [README](../README.md)",
            "erratum E-ABM-1; claim ABM-F6a-1",
            "`crates/x/tests/suite/y.rs::it_holds`, crates/x/tests/suite/y.rs::abm_f6a_1_it_does",
            "`testdata/v.toml::a case: one` and crates/x/tests/suite/*.rs",
            "`crates/x`, all of `crates/*`",
            "src/lib.rs of this crate, results/run/flows.parquet, https://example.org/docs/b.md",
            "DCTCP-like, TCP-2, RFC-9438-1, E-mail-1, 802.1Qbb",
        ] {
            assert_eq!(check("docs/a.md", right), [""; 0], "{right}");
        }
        assert_eq!(check("crates/x/src/lib.rs", "\"page.md\" is a file that the program writes"), [""; 0]);
    }

    #[test]
    fn every_kind_of_reference_that_leads_nowhere_is_found() {
        for (wrong, said) in [
            ("docs/b.md", "there is no docs/b.md"),
            ("`crates/y`", "there is no crate crates/y"),
            ("x\n// `DESIGN.md` section 4", "there is no DESIGN.md"),
            ("crates/x/tests/y.rs", "there is no crates/x/tests/y.rs"),
            ("crates/x/tests/*.csv", "there is no crates/x/tests/*.csv"),
            ("`docs/a.md` section 3.1", "docs/a.md has no section 3.1"),
            ("erratum E-ABM-2", "the erratum E-ABM-2 is not in docs/evidence/errata.md"),
            ("Claim: ABM-F6a-2", "the claim ABM-F6a-2 is not in claims/claims.csv"),
            ("crates/x/tests/suite/y.rs::it_hold", "has no `it_hold`"),
            ("crates/x/tests/suite/y.rs::tests::it_fails", "has no `it_fails`"),
            ("`testdata/v.toml::a case`", "has no `a case`"),
        ] {
            let found = check("crates/x/src/lib.rs", wrong);
            assert!(found.len() == 1 && found[0].ends_with(said), "{wrong}: {found:?}");
        }
        assert!(check("docs/a.md", "x\n[b](b.md)")[0].starts_with("docs/a.md:2: "));
    }
}
