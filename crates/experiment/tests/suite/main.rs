//! Tests the declaration of the experiment format with the files of the papers' experiments.

mod schema;
