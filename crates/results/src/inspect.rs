//! Are the results below a folder what was written?

use crate::COMPARISON_JSON;
use crate::content::find_mixture;
use crate::error::ResultsError;
use crate::group::{GROUP_FILE, Group};
use crate::read::RunResult;
use crate::runs::find_runs;
use std::fs;
use std::path::{Path, PathBuf};

/// What [`inspect`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inspection {
    /// Runs that were looked at.
    pub runs: usize,
    /// Files with a checksum.
    pub files: usize,
    /// Their length together.
    pub bytes: u64,
    /// Folders of runs whose manifest has no checksums: only whether files are there could be said.
    pub without_checksums: Vec<PathBuf>,
    /// What is wrong, and in which folder.
    pub problems: Vec<(PathBuf, String)>,
}

/// Compares every file of every run below `folder` with its manifest, and every group of runs with what it shall hold.
///
/// # Errors
/// If a folder or file cannot be read; what can be read and is wrong is among the problems.
pub fn inspect(folder: &Path) -> Result<Inspection, ResultsError> {
    let mut inspection = Inspection::default();
    let mut waiting = vec![folder.to_path_buf()];
    let mut mixed: Option<PathBuf> = None;
    while let Some(dir) = waiting.pop() {
        if RunResult::is_complete(&dir) {
            run(&dir, &mut inspection)?;
            continue;
        }
        match Group::read(&dir) {
            Ok(Some(group)) => {
                let missing = group.runs.iter().filter(|run| !RunResult::is_complete(&dir.join(run)));
                let problem = |run: &String| (dir.clone(), format!("{run} has no result"));
                inspection.problems.extend(missing.map(problem));
            }
            Ok(None) => {}
            Err(error) => inspection.problems.push((dir.clone(), error.to_string())),
        }
        // The seeds of one label are not looked at again where the whole comparison is mixed.
        if mixed.as_ref().is_none_or(|mixed| !dir.starts_with(mixed))
            && let Some(problem) = mixture(&dir)
        {
            inspection.problems.push((dir.clone(), problem));
            mixed = Some(dir.clone());
        }
        let mut inner = folders(&dir)?;
        // The last one is taken first: in the order of their names.
        inner.reverse();
        waiting.extend(inner);
    }
    Ok(inspection)
}

/// Why the runs of a comparison, or the seeds of a label, have no common mean. Runs that cannot be read are reported by
/// themselves.
fn mixture(dir: &Path) -> Option<String> {
    let is_comparison = [GROUP_FILE, COMPARISON_JSON].iter().any(|name| dir.join(name).is_file());
    let runs = find_runs(dir).ok()?;
    let beside: Vec<_> =
        runs.into_iter().filter(|(_, run)| is_comparison || run.dir().parent() == Some(dir)).collect();
    find_mixture(&beside).ok()?.map(|mixture| mixture.to_string())
}

fn run(dir: &Path, inspection: &mut Inspection) -> Result<(), ResultsError> {
    inspection.runs += 1;
    let result = match RunResult::open(dir) {
        Ok(result) => result,
        Err(error @ (ResultsError::Json { .. } | ResultsError::FormatVersion { .. })) => {
            inspection.problems.push((dir.to_path_buf(), error.to_string()));
            return Ok(());
        }
        // Somebody else's `manifest.json`.
        Err(ResultsError::Incomplete { .. }) => {
            inspection.runs -= 1;
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let files = &result.manifest().files;
    if files.is_empty() {
        inspection.without_checksums.push(dir.to_path_buf());
    }
    inspection.files += files.len();
    inspection.bytes += files.iter().map(|file| file.bytes).sum::<u64>();
    let damage = result.damage()?;
    inspection.problems.extend(damage.iter().map(|fault| (dir.to_path_buf(), fault.to_string())));
    Ok(())
}

/// Visible folders in `dir`, by name.
fn folders(dir: &Path) -> Result<Vec<PathBuf>, ResultsError> {
    let mut list = Vec::new();
    for entry in fs::read_dir(dir).map_err(ResultsError::io("read", dir))? {
        let entry = entry.map_err(ResultsError::io("read", dir))?;
        let kind = entry.file_type().map_err(ResultsError::io("read", dir))?;
        // Hidden ones are runs in the making; links would lead in circles.
        if kind.is_dir() && !entry.file_name().to_string_lossy().starts_with('.') {
            list.push(entry.path());
        }
    }
    list.sort();
    Ok(list)
}
