//! Statements of the papers that closed forms and the fluid model decide, as functions.
//!
//! Every function is a test of this crate. A program runs a check by its name, so that a reader can
//! check a statement without the source tree. The comment above a function names its statements.

mod abm;
mod bounds;
mod figures;
mod losspass_tdt;
mod plasticine;
mod reverie;
pub mod support;

use crate::forms::DomainError;

/// Result of a check: an error if a closed form refuses its arguments. If a statement is false, the
/// check panics.
pub type Tested = Result<(), DomainError>;

/// A check of one or more statements of the papers.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// File of the check in the repository.
    pub file: &'static str,
    /// Name of the function: the statement, in words with underscores.
    pub name: &'static str,
    /// Function that checks the statement of the paper.
    pub run: fn() -> Tested,
}

/// Lists the checks of statements that a file has.
macro_rules! checks {
    ($($name:ident),* $(,)?) => {
        pub(super) const CHECKS: &[super::Check] =
            &[$(super::Check { file: file!(), name: stringify!($name), run: $name }),*];
    };
}
use checks;

/// Finds a check by its file and name, as in `claims/tests.csv`: `crates/…/abm.rs::name`.
#[must_use]
pub fn find(test: &str) -> Option<&'static Check> {
    let (file, name) = test.split_once("::")?;
    // The compiler's path of the file may begin in another folder than the repository's root.
    all().find(|check| check.name == name && check.file.replace('\\', "/").ends_with(file_name(file)))
}

/// All checks of the papers' statements.
pub fn all() -> impl Iterator<Item = &'static Check> {
    [abm::CHECKS, bounds::CHECKS, figures::CHECKS, losspass_tdt::CHECKS, plasticine::CHECKS, reverie::CHECKS]
        .into_iter()
        .flatten()
}

/// The part of a path after the last slash.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_is_found_by_the_name_of_its_test_and_nothing_else_is() {
        assert!(all().count() >= 70, "{}", all().count());
        for check in all() {
            let found =
                find(&format!("crates/theory/src/statements/{}::{}", file_name(check.file), check.name));
            assert_eq!(found.map(|one| one.name), Some(check.name));
        }
        assert!(find(concat!("crates/theory/src/statements/abm.rs", "::nothing")).is_none());
        assert!(
            find(concat!("dev/conformance/tests", "/suite/x.rs::the_steady_state_of_abm_is_a_fixed_point"))
                .is_none()
        );
    }
}
