//! Folders that hold several runs: what may already lie there, so that one table never mixes two experiments.
//!
//! A comparison keeps its runs in `<variant>/seed-<n>/`, a run with several seeds in `seed-<n>/`. Runs that are there
//! already and are not made again stay, and are shown together with the new ones; so they must be runs of the same
//! scenario, which is checked by what they have stored: it must be what this command line would have stored.

use crate::execute::has_stored;
use crate::{Job, PlanError};
use bufferlab_core::find_policy;
use bufferlab_report::{COMPARISON_CSV, COMPARISON_JSON, COMPARISON_PARQUET, REPORT_FILE};
use bufferlab_results::{GROUP_FILE, ResultsError, RunResult};
use bufferlab_scenario::{LoadError, Loaded, Variant};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// How the runs of a folder are arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// `seed-<n>/`
    Seeds,
    /// `<variant>/seed-<n>/`
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
    /// `None`: the scenario as it is, or one that this program does not know.
    variant: Option<Variant>,
    seed: u64,
    dir: PathBuf,
}

/// Checks that runs may be added to `out`; answers the finished runs there that stay.
///
/// `new` are the runs to come, which take the place of runs of the same scenario, and with `replace` of any; `load` loads the scenario as a
/// variant (unchanged if `None`) with a seed.
///
/// # Errors
/// If `out` holds anything else than such runs and their report, or runs of another scenario.
pub(crate) fn check(
    out: &Path,
    layout: Layout,
    new: &[Job],
    replace: bool,
    load: impl Fn(Option<&Variant>, u64) -> Result<Loaded, LoadError>,
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
    for run in present(out, layout, new)? {
        let job = new.iter().find(|job| job.dir == run.dir);
        if (job.is_some() && replace) || !RunResult::is_complete(&run.dir) {
            continue;
        }
        // What cannot be loaded is not what this command line would run.
        let same = match job {
            Some(job) => has_stored(&run.dir, &job.loaded),
            None => load(run.variant.as_ref(), run.seed).is_ok_and(|loaded| has_stored(&run.dir, &loaded)),
        };
        if !same {
            return Err(PlanError::refused(
                format!("{} holds runs of another scenario, such as {}", out.display(), run.dir.display()),
                "runs of one folder are compared with each other: choose another folder with --out, or remove \
                 the old runs; nothing was deleted",
            ));
        }
        if job.is_none() {
            kept.push(run.dir);
        }
    }
    Ok(kept)
}

/// The runs of a folder, which holds nothing else but their report.
fn present(out: &Path, layout: Layout, new: &[Job]) -> Result<Vec<Present>, PlanError> {
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
                runs.push(Present { variant: None, seed, dir: path });
            }
            (Layout::Policies, _) if path.is_dir() => {
                let ours = find_policy(&name).is_some() || new.iter().any(|job| job.dir.starts_with(&path));
                let inner = visible(&path)?;
                if inner.is_empty() && !ours {
                    return Err(foreign());
                }
                for (inner, dir) in inner {
                    let seed = seed_of(&inner).filter(|_| dir.is_dir()).ok_or_else(foreign)?;
                    let variant = stored_variant(&dir).or_else(|| find_policy(&name).map(Variant::plain));
                    if variant.is_none() && !ours {
                        return Err(if RunResult::is_complete(&dir) {
                            unknown(out, &name)
                        } else {
                            foreign()
                        });
                    }
                    runs.push(Present { variant, seed, dir });
                }
            }
            _ => return Err(foreign()),
        }
    }
    Ok(runs)
}

/// There are runs of a policy that another program has brought along.
fn unknown(out: &Path, name: &str) -> PlanError {
    PlanError::refused(
        format!("{} holds runs of {name}, which this program does not know", out.display()),
        "policies of your own are compared by what brings them along, such as `python -m bufferlab compare`; or choose \
         another folder with --out; nothing was deleted",
    )
}

/// The variant that a finished run says it is.
fn stored_variant(dir: &Path) -> Option<Variant> {
    let run = RunResult::is_complete(dir).then(|| RunResult::open(dir).ok())??;
    let named = run.manifest().variant.as_ref()?;
    Variant::parse(&named.text).ok()
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
