//! The integration tests of this crate in one binary, with a file per theme.

mod damage;
mod folder;
mod rows;
mod tables;
