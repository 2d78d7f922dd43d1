//! Is the repository in order, and are its derived files fresh? What `cargo xtask tidy` and the whole files of
//! `cargo xtask generate --check` say; the generated blocks inside pages are checked beside what they describe.

use xtask::{generate, tidy};

#[test]
fn the_repository_is_tidy() {
    tidy::check().unwrap_or_else(|problems| panic!("{problems}"));
}

#[test]
fn derived_files_are_fresh() {
    let stale: Vec<_> = generate::stale(generate::files()).into_iter().map(|(path, _)| path).collect();
    assert!(stale.is_empty(), "stale: {stale:?}; hint: run `cargo xtask generate`");
}
