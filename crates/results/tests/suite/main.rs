//! The integration tests of this crate, one binary: a file per theme.

mod damage;
mod folder;
mod rows;
mod tables;
