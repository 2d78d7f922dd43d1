//! Shared helpers of the tests, which execute runs and write the runs' folders.

use bufferlab_lab::{Job, execute_one};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Runs a shipped scenario with changed keys; returns the folder of the results.
pub(crate) fn run(folder: &TempDir, file: &str, overrides: &[(&str, &str)]) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(file);
    let overrides: Vec<_> =
        overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let loaded = bufferlab_scenario::load(&path, &overrides).expect("it loads");
    let dir = folder.path().join("run");
    let job = Job { loaded, dir: dir.clone(), caveats: Vec::new() };
    execute_one(&job, false, &mut |_| true).expect("it runs");
    dir
}

pub(crate) fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}
