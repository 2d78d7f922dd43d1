//! Finds the finished runs of a folder: one run, seeds of one policy, or labels with seeds.

use crate::error::ResultsError;
use crate::read::RunResult;
use std::fs;
use std::path::{Path, PathBuf};

/// The finished runs of `dir`, each with the label that reports compare it as: the variant's label,
/// else the name of its folder in a comparison, else the policy's name. `dir` is the folder of a
/// run, or holds `seed-<n>/` or `<label>/seed-<n>/`.
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

/// How deep below a folder its groups are looked for: an experiment, its points.
const DEPTH_MAX: usize = 2;

/// The folders below `dir` that [`find_runs`] finds something in, by path: the points of a sweep,
/// or several experiments. Not the folders within them.
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

/// Finished runs in the `seed-<n>` folders of `dir`.
fn seed_runs(dir: &Path) -> Result<Vec<RunResult>, ResultsError> {
    let is_seed = |name: &str| name.strip_prefix("seed-").is_some_and(|seed| seed.parse::<u64>().is_ok());
    let folders = visible_folders(dir)?.into_iter();
    let runs = folders.filter(|(name, path)| is_seed(name) && RunResult::is_complete(path));
    runs.map(|(_, path)| RunResult::open(&path)).collect()
}

/// The folders in `dir` by name. Hidden ones are runs in the making, and links could lead in
/// circles.
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
