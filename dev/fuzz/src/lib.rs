//! Searches for defects with unusual scenarios, damaged files and a failing system.
//!
//! * A scenario ([`Case`]) is a small valid scenario with changes that follow the declaration of
//!   the format. The changes set one key at a time at and beyond its bounds, or pairs and triples
//!   of options on any number of ports ([`generate()`]). Changes that the loader refuses are
//!   removed, so that the case runs ([`judge()`]). The case runs with all identities verified,
//!   with overflow checks, within a budget of events, again from its resolved text,
//!   and on several threads. [`Coverage`] counts the pairs of options that have run together.
//! * [`parsers`] passes damaged files, requests and answers to their readers.
//! * [`faults`] makes single system calls of the real program fail, and kills the program.
//! * [`soak`] runs all searches in turn for a given time.
//!
//! Searches ([`search`]) run in separate processes, so that a case that hangs or dies affects
//! only its process. A failing case is minimised ([`minimise()`]) and written to a file.
//! `testdata/fuzz` contains cases whose defects are fixed.

mod bases;
mod case;
mod compose;
pub mod faults;
pub mod findings;
mod generate;
mod guard;
mod judge;
mod minimise;
mod options;
mod pairs;
pub mod parsers;
pub mod search;
pub mod soak;
mod values;

pub use case::{Case, CaseError, Splice};
pub use generate::generate;
pub use judge::{Budget, Fault, Judged, Outcome, judge};
pub use minimise::minimise;
pub use pairs::{Coverage, Reached};
