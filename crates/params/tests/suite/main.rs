//! The integration tests of this crate in one binary, with a file per theme.

mod faults;
mod values;
