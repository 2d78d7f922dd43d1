//! Claims of papers, each with a test whose name has the number of the claim, and tables of the
//! findings.
//!
//! [`claims!`](crate::claims!) declares a list of claims. Each claim gets a test, and an entry with
//! the paper's statement, the published verdict and the check. A claim that *fails* is neither
//! hidden nor tuned: its test asserts that the criterion is missed, so that a change is detected.
//! For a *refuted* claim the check shows the counterexample and the corrected statement.

use bufferlab_pages::Pending;
use std::path::Path;

/// Verdict on a claim of a paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The measured values meet the criterion of the claim.
    Holds,
    /// The measured values miss the criterion, but nothing shows that the paper is wrong.
    Fails,
    /// The printed statement is wrong: the statement has a counterexample, and a corrected
    /// statement holds.
    Refuted,
    /// The criterion is met but could not be missed, because the compared values are always equal.
    Vacuous,
}

impl Verdict {
    /// Word for the verdict on a claim in the table of findings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "fails",
            Self::Refuted => "refuted",
            Self::Vacuous => "says nothing",
        }
    }
}

/// Result of the check of a paper's claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Whether the criterion is met. For a refuted claim: whether the corrected statement holds and
    /// the printed statement does not hold.
    pub met: bool,
    /// Measured values as text, for one line of a table.
    pub figure: String,
}

impl Finding {
    /// Creates a finding from the result of a check.
    #[must_use]
    pub fn new(met: bool, figure: impl Into<String>) -> Self {
        Self { met, figure: figure.into() }
    }
}

/// A statement of a paper that a test checks.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// Number of the claim in the table of claims: `TDT-E3-1`.
    pub id: &'static str,
    /// Name of the test that checks the claim.
    pub test: &'static str,
    /// Statement or value that the paper prints.
    pub paper: &'static str,
    /// Verdict on the claim that this repository publishes.
    pub verdict: Verdict,
    /// Function that checks the claim and returns the finding.
    pub check: fn() -> Finding,
}

impl Claim {
    /// Runs the check of the claim; the claim's test calls this function.
    ///
    /// # Panics
    /// If the verdict of the check differs from the published verdict.
    pub fn assert(&self) {
        let found = (self.check)();
        let expected = self.verdict != Verdict::Fails;
        assert!(
            found.met == expected,
            "{} is published as \"{}\"; paper: {}; found: {}",
            self.id,
            self.verdict.name(),
            self.paper,
            found.figure
        );
    }

    /// Returns the claim's row of the table, with the columns [`COLUMNS`].
    fn row(&self) -> [String; COLUMNS.len()] {
        [self.id.to_owned(), self.verdict.name().to_owned(), self.paper.to_owned(), (self.check)().figure]
    }
}

/// Names of the columns in a table of findings.
const COLUMNS: [&str; 4] = ["claim", "verdict", "paper", "here"];

/// Compares the table `name` in `claims/findings` with the results of the checks. The ledger of
/// claims takes measured values from these tables.
///
/// # Panics
/// If the table is missing or stale.
pub fn assert_findings(name: &str, claims: &[Claim]) {
    check_findings(&bufferlab_pages::root(), name, claims).unwrap_or_else(|stale| panic!("{stale}"));
}

fn check_findings(root: &Path, name: &str, claims: &[Claim]) -> Result<(), String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let header = COLUMNS.map(str::to_owned);
    for row in std::iter::once(header).chain(claims.iter().map(Claim::row)) {
        writer.write_record(row).map_err(|error| error.to_string())?;
    }
    let bytes = writer.into_inner().map_err(|error| error.to_string())?;
    let text = String::from_utf8(bytes).map_err(|error| error.to_string())?;
    Pending { path: format!("claims/findings/{name}.csv"), markers: None, text }.check(root)
}

/// Declares claims, and a test for each claim.
///
/// ```text
/// claims! {
///     Holds "TDT-V6A-6" tdt_v6a_6_the_buffer_is_667_packets ("667 packets") {
///         Finding::new(true, "666.7")
///     }
/// }
/// ```
///
/// The macro copies attributes before the verdict to the test: `#[ignore = "takes minutes"]`.
#[macro_export]
macro_rules! claims {
    ($($(#[$attribute:meta])* $verdict:ident $id:literal $test:ident ($paper:literal) $body:block)*) => {
        mod check {
            #[allow(unused_imports, reason = "a list of claims may need nothing")]
            use super::*;
            $(pub(super) fn $test() -> $crate::claims::Finding $body)*
        }

        static CLAIMS: &[$crate::claims::Claim] = &[$($crate::claims::Claim {
            id: $id,
            test: stringify!($test),
            paper: $paper,
            verdict: $crate::claims::Verdict::$verdict,
            check: check::$test,
        }),*];

        $(#[test]
        $(#[$attribute])*
        fn $test() {
            let claim = CLAIMS.iter().find(|claim| claim.test == stringify!($test));
            claim.expect("every test has its claim").assert();
        })*
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(verdict: Verdict, check: fn() -> Finding) -> Claim {
        Claim { id: "X-1", test: "x", paper: "1 | 2", verdict, check }
    }

    fn met() -> Finding {
        Finding::new(true, "1")
    }

    fn missed() -> Finding {
        Finding::new(false, "3")
    }

    #[test]
    #[should_panic(expected = "X-1 is published as \"holds\"; paper: 1 | 2; found: 3")]
    fn a_claim_that_ceases_to_hold_is_noticed() {
        claim(Verdict::Holds, missed).assert();
    }

    #[test]
    #[should_panic(expected = "published as \"fails\"")]
    fn a_claim_that_ceases_to_fail_is_noticed() {
        claim(Verdict::Fails, missed).assert();
        claim(Verdict::Fails, met).assert();
    }

    #[test]
    fn a_stale_table_is_noticed() {
        let folder = std::env::temp_dir().join(format!("bufferlab-claims-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("writable");
        let claims = [claim(Verdict::Holds, met)];
        let check = |claims: &[Claim]| check_findings(&folder, "x", claims);
        assert!(check(&claims).is_err_and(|stale| stale.contains("stale")));
        for pending in bufferlab_pages::take(&folder).expect("readable") {
            pending.apply(&folder).expect("writable");
        }
        assert_eq!(check(&claims), Ok(()));
        let changed = [Claim { paper: "3", ..claims[0] }];
        assert!(check(&changed).is_err_and(|stale| stale.contains("stale")));
        std::fs::remove_dir_all(&folder).expect("removable");
    }

    #[test]
    fn a_row_names_the_claim_its_verdict_the_paper_and_the_figure() {
        assert_eq!(claim(Verdict::Refuted, met).row(), ["X-1", "refuted", "1 | 2", "1"]);
    }
}
