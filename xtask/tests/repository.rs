//! Is the repository in order, and are its derived files fresh? What `cargo xtask tidy` and `cargo xtask generate --check`
//! say; the parameters on the policies' pages are checked in `bufferlab-conformance`.

use xtask::{generate, tidy};

#[test]
fn the_repository_is_tidy() {
    tidy::check().unwrap_or_else(|problems| panic!("{problems}"));
}

#[test]
fn derived_files_are_fresh() {
    let derived = generate::derived().unwrap_or_else(|problem| panic!("{problem}"));
    let stale: Vec<_> = generate::stale(&derived).into_iter().map(|(path, _)| path).collect();
    assert!(stale.is_empty(), "stale: {stale:?}; hint: run `cargo xtask generate`");
}
