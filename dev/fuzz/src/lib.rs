//! Scenarios that nobody would write, files that nobody would send, systems that fail: does
//! anything go wrong?
//!
//! * A scenario ([`Case`]) is a small one that works, and changes of it that follow the declaration
//!   of the format: one key at a time at and beyond its bounds, or pairs and triples of options on
//!   any number of ports ([`generate()`]). Changes that the loader refuses are taken out again, so
//!   that what is left runs ([`judge()`]): with all identities verified, with overflow checks,
//!   within a budget of events, again from its resolved text, and on several threads. [`Coverage`]
//!   counts the pairs of options that have run together.
//! * [`parsers`] get damaged files, requests and answers.
//! * [`faults`] lets single calls of the real program fail, and kills it.
//! * [`soak`] does all of it in turn for a given time.
//!
//! Searches ([`search`]) work in processes of their own, so that a case that hangs or dies takes
//! only itself along. A case that goes wrong is made smaller ([`minimise()`]) and written down;
//! `testdata/fuzz` holds those that were mended.

mod bases;
mod case;
mod compose;
pub mod faults;
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
