//! Folders that hold several runs: what may already lie there, so that one table never mixes two experiments.
//!
//! A comparison keeps its runs in `<policy>/seed-<n>/`, a run with several seeds in `seed-<n>/`. Runs that are there
//! already and are not made again stay, and are shown together with the new ones; so they must be runs of the same
//! scenario, which is checked by what they have stored: it must be what this command line would have stored.

use crate::PlanError;
use crate::execute::has_stored;
use bufferlab_core::find_policy;
use bufferlab_report::{COMPARISON_CSV, COMPARISON_JSON, COMPARISON_PARQUET, REPORT_FILE};
use bufferlab_results::{GROUP_FILE, ResultsError, RunResult};
use bufferlab_scenario::{LoadError, Loaded};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// How the runs of a folder are arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// `seed-<n>/`
    Seeds,
    /// `<policy>/seed-<n>/`
    Policies,
}

impl Layout {
    fn in_words(self) -> &'static str {
        match self {
            Self::Seeds => "the runs of several seeds",
            Self::Policies => "a comparison",
        }
    }
}

/// A run that is there already.
#[derive(Debug)]
struct Present {
    policy: Option<String>,
    seed: u64,
    dir: PathBuf,
}

/// Checks that runs may be added to `out`; answers the finished runs there that stay.
///
/// `new` are the folders of the runs to come, which take the place of runs of the same scenario, and with `replace` of any; `load` loads the scenario for a policy (the scenario's own if `None`)
/// and a seed.
///
/// # Errors
/// If `out` holds anything else than such runs and their report, or runs of another scenario.
pub(crate) fn check(
    out: &Path,
    layout: Layout,
    new: &[&Path],
    replace: bool,
    load: impl Fn(Option<&str>, u64) -> Result<Loaded, LoadError>,
) -> Result<Vec<PathBuf>, PlanError> {
    if RunResult::is_complete(out) {
        return Err(PlanError::refused(
            format!(
                "{} is the result of a single run; {} must go elsewhere",
                out.display(),
                layout.in_words()
            ),
            "choose another folder with --out",
        ));
    }
    let mut kept = Vec::new();
    for run in present(out, layout)? {
        let is_new = new.contains(&run.dir.as_path());
        if (is_new && replace) || !RunResult::is_complete(&run.dir) {
            continue;
        }
        // What cannot be loaded is not what this command line would run.
        if !load(run.policy.as_deref(), run.seed).is_ok_and(|loaded| has_stored(&run.dir, &loaded)) {
            return Err(PlanError::refused(
                format!("{} holds runs of another scenario, such as {}", out.display(), run.dir.display()),
                "runs of one folder are compared with each other: choose another folder with --out, or remove \
                 the old runs; nothing was deleted",
            ));
        }
        if !is_new {
            kept.push(run.dir);
        }
    }
    Ok(kept)
}

/// The runs of a folder, which holds nothing else but their report.
fn present(out: &Path, layout: Layout) -> Result<Vec<Present>, PlanError> {
    let mut runs = Vec::new();
    for (name, path) in visible(out)? {
        let own_file = [GROUP_FILE, REPORT_FILE, COMPARISON_JSON, COMPARISON_CSV, COMPARISON_PARQUET]
            .contains(&name.as_str());
        let foreign = || {
            let words = layout.in_words();
            PlanError::refused(
                format!("{} is not empty and does not hold {words} (found `{name}`)", out.display()),
                "choose another folder with --out, or move the other files away; nothing was deleted",
            )
        };
        if path.is_file() && own_file {
            continue;
        }
        match (layout, seed_of(&name)) {
            (Layout::Seeds, Some(seed)) if path.is_dir() => {
                runs.push(Present { policy: None, seed, dir: path });
            }
            (Layout::Policies, _) if path.is_dir() && find_policy(&name).is_some() => {
                for (inner, dir) in visible(&path)? {
                    let seed = seed_of(&inner).filter(|_| dir.is_dir()).ok_or_else(foreign)?;
                    runs.push(Present { policy: Some(name.clone()), seed, dir });
                }
            }
            _ => return Err(foreign()),
        }
    }
    Ok(runs)
}

fn seed_of(name: &str) -> Option<u64> {
    name.strip_prefix("seed-")?.parse().ok()
}

/// Entries by name, without hidden ones, which are runs in the making; none if the folder does not exist.
fn visible(folder: &Path) -> Result<Vec<(String, PathBuf)>, ResultsError> {
    let failed = |source| ResultsError::Io { action: "read", path: folder.to_path_buf(), source };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            let file = folder.ancestors().find(|path| path.is_file()).unwrap_or(folder);
            return Err(ResultsError::NotAFolder { path: file.to_path_buf() });
        }
        Err(error) => return Err(failed(error)),
    };
    let mut list = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') {
            list.push((name, entry.path()));
        }
    }
    list.sort();
    Ok(list)
}
