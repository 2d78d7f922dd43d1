//! Finds the finished runs of a folder: one run, seeds of one policy, or labels with seeds.

use crate::error::ResultsError;
use crate::read::RunResult;
use std::fs;
use std::path::{Path, PathBuf};

/// Finds the finished runs of `dir`, each with its label for reports. The label is the variant's
/// label, or else the folder's name in a comparison, or else the policy's name. `dir` is the folder
/// of a run, or has runs in `seed-<n>/` or `<label>/seed-<n>/`.
///
/// # Errors
/// If a folder or a manifest cannot be read.
pub fn find_runs(dir: &Path) -> Result<Vec<(String, RunResult)>, ResultsError> {
    let labelled = |run: RunResult| (run.manifest().label().to_owned(), run);
    if RunResult::is_complete(dir) {
        return Ok(vec![labelled(RunResult::open(dir)?)]);
    }
    let mut found: Vec<_> = seed_runs(dir)?.into_iter().map(labelled).collect();
    for (name, path) in visible_folders(dir)? {
        for run in seed_runs(&path)? {
            let label = run.manifest().variant.as_ref().map_or(&name, |variant| &variant.label);
            found.push((label.clone(), run));
        }
    }
    Ok(found)
}

/// Depth at which groups are searched below a folder: an experiment, then its points.
const DEPTH_MAX: usize = 2;

/// Finds the outermost folders below `dir` in which [`find_runs`] finds runs, sorted by path.
/// Folders of several runs are points of a sweep, or several experiments.
///
/// # Errors
/// If a folder or a manifest cannot be read.
pub fn find_groups(dir: &Path) -> Result<Vec<PathBuf>, ResultsError> {
    let mut found = Vec::new();
    collect_groups(dir, DEPTH_MAX, &mut found)?;
    Ok(found)
}

fn collect_groups(dir: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), ResultsError> {
    for (_, path) in visible_folders(dir)? {
        if !find_runs(&path)?.is_empty() {
            found.push(path);
        } else if depth > 1 {
            collect_groups(&path, depth - 1, found)?;
        }
    }
    Ok(())
}

/// Finds the finished runs in the `seed-<n>` folders of `dir`.
fn seed_runs(dir: &Path) -> Result<Vec<RunResult>, ResultsError> {
    let is_seed = |name: &str| name.strip_prefix("seed-").is_some_and(|seed| seed.parse::<u64>().is_ok());
    let folders = visible_folders(dir)?.into_iter();
    let runs = folders.filter(|(name, path)| is_seed(name) && RunResult::is_complete(path));
    runs.map(|(_, path)| RunResult::open(&path)).collect()
}

/// Lists the folders in `dir` by name.
/// Skips hidden folders, which are unfinished runs, and links, which could form a cycle.
pub(crate) fn visible_folders(dir: &Path) -> Result<Vec<(String, PathBuf)>, ResultsError> {
    let mut list = Vec::new();
    for entry in fs::read_dir(dir).map_err(ResultsError::io("read", dir))? {
        let entry = entry.map_err(ResultsError::io("read", dir))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') && entry.path().is_dir() {
            list.push((name, entry.path()));
        }
    }
    list.sort();
    Ok(list)
}
