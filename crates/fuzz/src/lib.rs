//! Scenarios that nobody would write, run with every check on.
//!
//! A case ([`Case`]) is a small scenario that works, and changes of it that follow the declaration of the format: any key, any kind of value, at and
//! beyond its bounds. Changes that the loader refuses are taken out again, so that what is left runs ([`judge()`]). It runs with all identities verified,
//! with overflow checks, within a budget of events; some cases run twice, and from their resolved text. A case that goes wrong is made smaller
//! ([`minimise()`]) and written down; `testdata/fuzz` holds those that were mended.
//!
//! The program ([`search`]) does this in processes of their own, so that a case that hangs or dies takes only itself along.

mod bases;
mod case;
mod generate;
mod judge;
mod minimise;
pub mod search;
mod values;

pub use case::{Case, CaseError, Splice};
pub use generate::generate;
pub use judge::{Budget, Fault, Outcome, judge};
pub use minimise::minimise;
