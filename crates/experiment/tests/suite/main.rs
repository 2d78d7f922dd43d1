//! The declaration of the format against the experiments of the papers.

mod schema;
