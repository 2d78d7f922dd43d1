//! Tests the declaration of the format with the experiments of the papers.

mod schema;
