//! The integration tests of this crate, one binary: a file per theme.

mod faults;
mod values;
