//! Checks that the results below a folder are unchanged and complete.

use crate::content::find_mixture;
use crate::error::ResultsError;
use crate::group::{GROUP_FILE, Group};
use crate::read::RunResult;
use crate::runs::find_runs;
use crate::sums::{self, Sums};
use crate::{COMPARISON_JSON, MANIFEST_FILE, REPORT_FILE, SWEEP_FILE};
use std::fs;
use std::path::{Path, PathBuf};

/// Names of files with a checksum in folders of several runs.
const PAGES: [&str; 9] = [
    GROUP_FILE,
    REPORT_FILE,
    COMPARISON_JSON,
    "comparison.csv",
    "comparison.parquet",
    SWEEP_FILE,
    "sweep.csv",
    "sweep.json",
    "sweep.html",
];

/// Result of [`inspect`]: numbers of files and a list of problems.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inspection {
    /// Number of runs that were inspected.
    pub runs: usize,
    /// Number of files whose checksums were compared.
    pub files: usize,
    /// Total size of the files with a checksum (bytes).
    pub bytes: u64,
    /// Folders of runs whose manifest has no checksums.
    /// In folders without checksums, only missing files can be detected.
    pub without_checksums: Vec<PathBuf>,
    /// Files without a checksum, whose changes would go unnoticed.
    /// Earlier versions stored no checksums of manifests, comparisons and pages.
    /// A killed command may also leave pages without a checksum.
    pub unchecked: Vec<PathBuf>,
    /// Problems of the results, each with the folder that has the problem.
    pub problems: Vec<(PathBuf, String)>,
}

/// Compares every run below `folder` with its manifest, and every group with its planned runs.
///
/// # Errors
/// If a folder or file cannot be read. Readable files with wrong content are listed as problems.
pub fn inspect(folder: &Path) -> Result<Inspection, ResultsError> {
    let mut inspection = Inspection::default();
    let mut waiting = vec![folder.to_path_buf()];
    let mut mixed: Option<PathBuf> = None;
    while let Some(dir) = waiting.pop() {
        if RunResult::is_complete(&dir) {
            run(&dir, &mut inspection)?;
            continue;
        }
        pages(&dir, &mut inspection)?;
        match Group::read(&dir) {
            Ok(Some(group)) => {
                let missing = group.runs.iter().filter(|run| !RunResult::is_complete(&dir.join(run)));
                let problem = |run: &String| (dir.clone(), format!("{run} has no result"));
                inspection.problems.extend(missing.map(problem));
            }
            // The function `pages` has already reported a damaged group file.
            Ok(None) | Err(ResultsError::Damaged { .. }) => {}
            Err(error) => inspection.problems.push((dir.clone(), error.to_string())),
        }
        // If the whole comparison has mixed runs, skip the check of its single labels.
        if mixed.as_ref().is_none_or(|mixed| !dir.starts_with(mixed))
            && let Some(problem) = mixture(&dir)
        {
            inspection.problems.push((dir.clone(), problem));
            mixed = Some(dir.clone());
        }
        let mut inner = folders(&dir)?;
        // The stack returns the last folder first; reverse the list, so
        // that folders are visited by name.
        inner.reverse();
        waiting.extend(inner);
    }
    Ok(inspection)
}

/// Compares the pages and tables of a folder of several runs with their checksums.
fn pages(dir: &Path, inspection: &mut Inspection) -> Result<(), ResultsError> {
    let sums = match Sums::read(dir) {
        Ok(sums) => sums.unwrap_or_default(),
        Err(ResultsError::Damaged { fault, .. }) => {
            inspection.problems.push((dir.to_path_buf(), fault.to_string()));
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let planned = Group::read(dir).ok().flatten().map(|group| group.runs).unwrap_or_default();
    for (name, sum) in sums.iter() {
        let run = name.rsplit_once('/').map(|(run, _)| run);
        // The function `inspect` reports missing planned runs and damaged runs.
        let is_reported = |run: &str| match RunResult::open(&dir.join(run)) {
            Ok(_) => false,
            Err(ResultsError::Incomplete { .. }) => planned.iter().any(|known| known == run),
            Err(_) => RunResult::is_complete(&dir.join(run)),
        };
        if run.is_some_and(is_reported) {
            continue;
        }
        let fault = sums::check(dir, name, sum).map_err(ResultsError::io("read", &dir.join(name)))?;
        let problem = fault.map(|fault| match run {
            Some(run) => format!("the pages were made of another {run}: make them again with `bufferlab report`, or repeat the command"),
            None => fault.to_string(),
        });
        inspection.problems.extend(problem.map(|problem| (dir.to_path_buf(), problem)));
        if run.is_none() {
            inspection.files += 1;
            inspection.bytes += fs::metadata(dir.join(name)).map_or(0, |file| file.len());
        }
    }
    let is_ours = [GROUP_FILE, COMPARISON_JSON, SWEEP_FILE].iter().any(|name| dir.join(name).is_file());
    let without = PAGES.iter().filter(|name| is_ours && sums.get(name).is_none());
    inspection.unchecked.extend(without.map(|name| dir.join(name)).filter(|path| path.is_file()));
    Ok(())
}

/// Describes why the runs of a comparison, or the seeds of a label, must not share a mean.
/// Skips unreadable runs, which have their own messages in `inspect`.
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
        Err(
            error @ (ResultsError::Json { .. }
            | ResultsError::FormatVersion { .. }
            | ResultsError::Damaged { .. }),
        ) => {
            inspection.problems.push((dir.to_path_buf(), error.to_string()));
            return Ok(());
        }
        // Another program wrote this `manifest.json`, so the folder is not a run.
        Err(ResultsError::Incomplete { .. }) => {
            inspection.runs -= 1;
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let files = &result.manifest().files;
    if files.is_empty() {
        inspection.without_checksums.push(dir.to_path_buf());
    } else if !result.has_sums() {
        inspection.unchecked.push(dir.join(MANIFEST_FILE));
    }
    let sums = Sums::read(dir)?.unwrap_or_default();
    if dir.join(REPORT_FILE).is_file() && sums.get(REPORT_FILE).is_none() {
        inspection.unchecked.push(dir.join(REPORT_FILE));
    }
    inspection.files += files.len();
    inspection.bytes += files.iter().map(|file| file.bytes).sum::<u64>();
    let damage = result.damage()?;
    inspection.problems.extend(damage.iter().map(|fault| (dir.to_path_buf(), fault.to_string())));
    Ok(())
}

/// Lists the subfolders of `dir` by name, without hidden folders and links.
fn folders(dir: &Path) -> Result<Vec<PathBuf>, ResultsError> {
    let mut list = Vec::new();
    for entry in fs::read_dir(dir).map_err(ResultsError::io("read", dir))? {
        let entry = entry.map_err(ResultsError::io("read", dir))?;
        let kind = entry.file_type().map_err(ResultsError::io("read", dir))?;
        // Hidden folders are unfinished runs; links could form a cycle.
        if kind.is_dir() && !entry.file_name().to_string_lossy().starts_with('.') {
            list.push(entry.path());
        }
    }
    list.sort();
    Ok(list)
}
