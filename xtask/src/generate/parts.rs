//! Documents whose text only the tests of other crates can compute: results of measurements, or
//! texts that need code of these crates.
//!
//! A test compares its document, and stores the new text if the document is stale
//! (`bufferlab-pages`). This module runs such tests and writes the stored texts.

use crate::{cargo, root, run};
use std::collections::BTreeSet;

/// A group of generated documents: the tests of one crate that compare the documents.
struct Part {
    /// Name of the tested crate, without `bufferlab-`.
    name: &'static str,
    /// Whether a plain `cargo xtask generate` runs the tests of this group, because they take only
    /// seconds.
    is_quick: bool,
    /// Test binary of the group, and the filter that selects the group's tests.
    target: &'static str,
    tests: &'static [&'static str],
    /// Documents that the tests of this group write.
    writes: &'static str,
}

/// All groups of generated documents. A group that reads documents is after the groups that write
/// these documents.
const PARTS: &[Part] = &[
    Part {
        name: "conformance",
        is_quick: true,
        target: "suite",
        tests: &["docs::"],
        writes: "parameters of docs/reference/policies",
    },
    Part {
        name: "report",
        is_quick: true,
        target: "report",
        tests: &["the_page_of_metrics"],
        writes: "docs/reference/metrics.md",
    },
    Part {
        name: "rtl",
        is_quick: true,
        target: "pages",
        tests: &[],
        writes: "docs/internals/circuits.md and circuits of docs/reference/policies",
    },
    Part {
        name: "conformance",
        is_quick: false,
        target: "suite",
        tests: &["the_recorded_findings", "pisa_staleness::"],
        writes: "claims/findings, docs/reference/policies/plasticine-pisa.md",
    },
    Part {
        name: "cli",
        is_quick: false,
        target: "suite",
        tests: &["limits::the_page"],
        writes: "docs/reference/limits.md",
    },
    Part {
        name: "theory",
        is_quick: false,
        target: "suite",
        tests: &["packets_against_fluid::the_page"],
        writes: "docs/evidence/validation-fluid.md and validation/fluid.csv",
    },
    Part {
        name: "validation",
        is_quick: false,
        target: "artifact",
        tests: &["the_page"],
        writes: "docs/evidence/validation.md and validation/*.csv",
    },
    Part {
        name: "operator",
        is_quick: false,
        target: "suite",
        tests: &["thresholds::"],
        writes: "docs/evidence/silicon.md, from the configurations in $BUFFERLAB_SONIC_CORPUS",
    },
    Part {
        name: "sim",
        is_quick: false,
        target: "suite",
        tests: &["the_recorded_findings", "rtl::each_"],
        writes: "claims/findings, docs/concepts/chips.md",
    },
    Part {
        name: "reproduce",
        is_quick: false,
        target: "suite",
        tests: &["ledger::"],
        writes: "claims/tests.csv, docs/evidence/reproduction.md and reproduction/*.md, docs/evidence/readings.md, docs/evidence/real-packets.md, docs/evidence/paper-scale.md",
    },
];

/// Selection of the groups of documents to generate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parts<'a> {
    /// All groups of documents that take only seconds.
    Quick,
    /// All groups of documents, which together take half an hour.
    All,
    /// All groups of documents that belong to the crates with these names.
    Of(&'a [&'a str]),
}

impl Parts<'_> {
    /// Checks the names of the groups, before any document is written.
    ///
    /// # Errors
    /// If there is no group with one of the names.
    pub(super) fn check_names(self) -> Result<(), String> {
        self.chosen().map(drop)
    }

    fn chosen(self) -> Result<Vec<&'static Part>, String> {
        if let Self::Of(names) = self
            && let Some(unknown) = names.iter().find(|name| PARTS.iter().all(|part| part.name != **name))
        {
            let known: BTreeSet<_> = PARTS.iter().map(|part| part.name).collect();
            let known = known.into_iter().collect::<Vec<_>>().join(", ");
            return Err(format!("there is no part {unknown}; expected one of: {known}"));
        }
        let is_chosen = |part: &&Part| match self {
            Self::Quick => part.is_quick,
            Self::All => true,
            Self::Of(names) => names.contains(&part.name),
        };
        Ok(PARTS.iter().filter(is_chosen).collect())
    }
}

/// Writes the documents of the groups `parts`; prints the names of the groups that ran or were
/// skipped.
///
/// # Errors
/// If a group is unknown, a test fails for a reason other than a stale document, or a document
/// cannot be written.
pub(super) fn write(parts: Parts<'_>) -> Result<(), String> {
    let chosen = parts.chosen()?;
    for part in &chosen {
        eprintln!("part {}: {}", part.name, part.writes);
        write_part(part)?;
    }
    let left: Vec<_> =
        PARTS.iter().filter(|part| !chosen.iter().any(|ran| std::ptr::eq(*ran, *part))).collect();
    for part in left {
        eprintln!("not run: {} ({}); `cargo xtask generate {}`", part.name, part.writes, part.name);
    }
    Ok(())
}

/// Repeats the tests of a group until no document is stale. Several rounds are needed if a document
/// depends on another document.
fn write_part(part: &Part) -> Result<(), String> {
    let take = || bufferlab_pages::take(&root()).map_err(|error| format!("target/pages: {error}"));
    take()?;
    for _ in 0..ROUNDS_MAX {
        let result = run(&mut part.command());
        let stale = take()?;
        if stale.is_empty() {
            return result;
        }
        for document in stale {
            document.apply(&root())?;
            eprintln!("wrote {}", document.path);
        }
    }
    Err(format!("{}: documents are still stale after {ROUNDS_MAX} rounds: they never settle", part.name))
}

/// Maximum number of test rounds: a document may be stale until other documents are written.
const ROUNDS_MAX: usize = 5;

/// Checks that the documents of the groups `parts` are up to date.
///
/// # Errors
/// If a document is stale, or a group is unknown.
pub(super) fn check(parts: Parts<'_>) -> Result<(), String> {
    let failed: Vec<_> =
        parts.chosen()?.into_iter().filter(|part| run(&mut part.command()).is_err()).collect();
    if failed.is_empty() {
        return Ok(());
    }
    let failed: BTreeSet<_> = failed.iter().map(|part| part.name).collect();
    let failed = failed.into_iter().collect::<Vec<_>>().join(" ");
    Err(format!("stale: see above\nhint: run `cargo xtask generate {failed}`"))
}

impl Part {
    fn command(&self) -> std::process::Command {
        let package = format!("bufferlab-{}", self.name);
        let mut command = cargo(&["test", "--quiet", "-p", &package, "--test", self.target, "--"]);
        command.args(self.tests);
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_chosen_by_crate_and_an_unknown_one_is_refused() {
        let names = |parts: Parts<'_>| -> Vec<_> {
            parts.chosen().expect("they exist").into_iter().map(|part| part.name).collect()
        };
        assert_eq!(names(Parts::Quick), ["conformance", "report", "rtl"]);
        assert_eq!(names(Parts::Of(&["conformance"])), ["conformance", "conformance"]);
        assert_eq!(names(Parts::All).len(), PARTS.len());
        let refused = Parts::Of(&["cli", "core"]).chosen().err().expect("core has none");
        assert!(
            refused.starts_with("there is no part core; expected one of: cli, conformance, "),
            "{refused}"
        );
    }

    /// Every test that compares a generated document belongs to a group, and no test writes a
    /// document.
    #[test]
    fn every_crate_that_compares_documents_is_a_part() {
        let mut comparing = BTreeSet::new();
        for path in crate::tidy::files().expect("git lists them") {
            let Some((name, _)) = crate::tidy::in_crate(&path) else {
                continue;
            };
            if !path.ends_with(".rs") || name == "pages" {
                continue;
            }
            let text = crate::read(&path).unwrap_or_default();
            assert!(
                !text.contains(&["UPDATE", "DOCS"].join("_")),
                "{path}: only `cargo xtask generate` writes"
            );
            if ["check_block(", "check_file(", "assert_findings("].iter().any(|call| text.contains(call)) {
                comparing.insert(name.to_owned());
            }
        }
        let known: BTreeSet<_> = PARTS.iter().map(|part| part.name.to_owned()).collect();
        assert_eq!(comparing, known);
    }
}
