//! Integration tests: one binary, with a file per theme.

mod corpus;
mod hostile;
mod lint;
mod meaning;
mod measured;
mod nvidia;
mod omissions;
mod pools;
mod reading;
mod silicon;
mod support;
mod trimming;
mod vendors;
mod yaml;
