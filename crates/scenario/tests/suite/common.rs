//! Functions that several test files of this crate use.
#![allow(dead_code, reason = "every test file uses a part of it")]

use bufferlab_scenario::{Loaded, load};
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};
use std::path::{Path, PathBuf};

/// Folder of the repository with the shipped scenarios.
pub(crate) const SCENARIOS: &str = "../../scenarios";

/// Returns the paths of all shipped scenarios.
pub(crate) fn shipped() -> Vec<PathBuf> {
    toml_files(Path::new(SCENARIOS))
}

/// Returns all TOML files of a folder, ordered by name.
pub(crate) fn toml_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder exists");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    paths
}

/// Renders an error for a terminal of 100 columns, without colour.
pub(crate) fn render(diagnostic: &dyn Diagnostic) -> String {
    let mut text = String::new();
    GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor())
        .with_width(100)
        .render_report(&mut text, diagnostic)
        .expect("a string takes everything");
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Converts overrides to the type that the loader expects.
pub(crate) fn owned(overrides: &[(&str, &str)]) -> Vec<(String, String)> {
    overrides.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// Loads a shipped scenario with overrides.
pub(crate) fn shipped_with(name: &str, overrides: &[(&str, &str)]) -> Loaded {
    let path = Path::new(SCENARIOS).join(name);
    load(&path, &owned(overrides)).unwrap_or_else(|error| panic!("{name}: {}", render(&error)))
}

/// Writes the resolved scenario and its input files to a temporary folder, and loads the scenario
/// from this folder.
pub(crate) fn reload(loaded: &Loaded) -> Loaded {
    let folder = tempfile::tempdir().expect("a folder");
    for input in &loaded.inputs {
        std::fs::write(folder.path().join(&input.name), &input.content).expect("writable");
    }
    let path = folder.path().join("resolved.toml");
    std::fs::write(&path, &loaded.resolved).expect("writable");
    load(&path, &[]).unwrap_or_else(|error| panic!("{}\n{}", render(&error), loaded.resolved))
}

/// Asserts that the resolved text loads to an equal scenario, and resolves to itself.
pub(crate) fn assert_round_trip(loaded: &Loaded) {
    let again = reload(loaded);
    assert_eq!(again.scenario, loaded.scenario, "{}", loaded.resolved);
    assert_eq!(again.resolved, loaded.resolved);
}
