//! Checks the existing runs of a folder, so that one table never mixes two experiments.
//!
//! A comparison stores its runs in `<variant>/seed-<n>/`, a run with several seeds in `seed-<n>/`.
//! A sweep has one comparison per point. Earlier runs stay in the folder and are shown together
//! with new runs. So all runs of a folder must be of one scenario and one version of the program.
//! The check compares contents: an earlier run must equal the run that this command line would have
//! stored.

use crate::execute::has_stored;
use crate::resume::{has_old_code, is_of_this_version};
use crate::{Job, PlanError};
use bufferlab_core::find_policy;
use bufferlab_report::{COMPARISON_CSV, COMPARISON_JSON, COMPARISON_PARQUET, REPORT_FILE};
use bufferlab_results::{
    Content, GROUP_FILE, Group, ResultsError, RunResult, SUMS_FILE, describe_differences, remove_run,
    remove_sealed,
};
use bufferlab_scenario::{LoadError, Loaded, Variant};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Advice for a folder that has results of a different scenario or version.
const WAYS_OUT: &str = "choose another folder with --out, or give --replace to remove the old results first; nothing was deleted";

/// Arrangement of the folders of several runs in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// The folders of runs are `seed-<n>/`.
    Seeds,
    /// The folders of runs are `<variant>/seed-<n>/`.
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

/// An existing run of a folder of several runs.
#[derive(Debug)]
pub(crate) struct Present {
    /// Name of the run's parent folder; empty for [`Layout::Seeds`].
    pub(crate) folder: String,
    /// Variant from the run's manifest.
    /// `None` means the unchanged scenario, or the policy after which the folder is named.
    pub(crate) variant: Option<Variant>,
    pub(crate) seed: u64,
    dir: PathBuf,
}

/// Result of comparing a finished run with the planned run of the same folder name.
enum Standing {
    /// The finished run has the scenario, the inputs and the version that this command would run.
    Same,
    /// Another version of the program or of a custom class ran the requested scenario.
    Outdated(String),
    /// The finished run executed a different scenario.
    Other(String),
    /// The manifest, the scenario or an input file is unreadable or was changed after the run.
    Damaged(String),
}

/// A checked folder that may receive runs. The check has not changed the folder.
#[derive(Debug)]
pub(crate) struct Checked {
    out: PathBuf,
    /// Earlier runs that are reused and shown with the new runs.
    reused: Vec<PathBuf>,
    /// Folders of earlier runs that are to be removed.
    doomed: Vec<PathBuf>,
    /// Folders of all planned runs, including earlier runs.
    runs: Vec<String>,
}

impl Checked {
    /// Removes outdated runs, records the planned runs of the folder, and returns the reused runs.
    /// Runs of a different scenario or version are removed before the first new run starts. So a
    /// killed command leaves no mixture of runs.
    ///
    /// # Errors
    /// If a run's folder cannot be removed, or the list of runs cannot be written.
    pub(crate) fn prepare(self) -> Result<Vec<PathBuf>, PlanError> {
        if !self.doomed.is_empty() {
            // Remove pages and tables that show the outdated runs before the runs themselves.
            remove_sealed(&self.out, &[REPORT_FILE, COMPARISON_JSON, COMPARISON_CSV, COMPARISON_PARQUET])?;
        }
        for dir in &self.doomed {
            remove_run(dir)?;
        }
        Group::new(self.runs).write(&self.out)?;
        Ok(self.reused)
    }
}

/// Checks that runs may be added to the folder `out`.
///
/// `new` are the planned runs, which replace runs of the same scenario. With `replace`, the planned
/// runs also replace all other runs. `load` loads the scenario that an existing run should have,
/// given its folder name and seed. `load` returns `None` for names that this program does not know.
///
/// # Errors
/// If `out` contains files other than runs of this layout and their report. Without `replace`, also
/// if `out` has runs of other content.
pub(crate) fn check(
    out: &Path,
    layout: Layout,
    new: &[Job],
    replace: bool,
    load: impl Fn(&Present) -> Option<Result<Loaded, LoadError>>,
) -> Result<Checked, PlanError> {
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
    let (mut reused, mut doomed) = (Vec::new(), Vec::new());
    for run in present(out, layout, new)? {
        if !RunResult::is_complete(&run.dir) {
            continue;
        }
        let job = new.iter().find(|job| job.dir == run.dir);
        let found = match job {
            Some(job) => standing(&run.dir, &job.loaded),
            None => match load(&run) {
                Some(Ok(loaded)) => standing(&run.dir, &loaded),
                // This command line would not run a scenario that fails to load.
                Some(Err(why)) => Standing::Other(why.to_string()),
                None if replace => Standing::Other("its policy is not known".to_owned()),
                None => return Err(unknown(out, &run.folder)),
            },
        };
        match (found, job) {
            (Standing::Same, None) => reused.push(run.dir),
            (Standing::Same, Some(_)) => {}
            // The program repeats an outdated run. The manifest does not show an outdated custom
            // class, so a run with such a class is removed immediately.
            (Standing::Outdated(_), Some(_)) => {
                if has_old_code(&run.dir) {
                    doomed.push(run.dir);
                }
            }
            (Standing::Damaged(_), Some(_)) => {}
            (_, _) if replace => doomed.push(run.dir),
            (Standing::Outdated(why), None) => {
                return Err(other(out, "the same scenario by another program", &run.dir, &why));
            }
            (Standing::Other(why), _) => return Err(other(out, "runs of another scenario", &run.dir, &why)),
            (Standing::Damaged(why), None) => return Err(other(out, "a damaged run", &run.dir, &why)),
        }
    }
    let all = reused.iter().map(PathBuf::as_path).chain(new.iter().map(|job| job.dir.as_path()));
    let name = |dir: &Path| {
        let parts = dir.strip_prefix(out).unwrap_or(dir).iter();
        parts.map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
    };
    let runs = all.map(name).collect();
    Ok(Checked { out: out.to_path_buf(), reused, doomed, runs })
}

fn other(out: &Path, what: &str, dir: &Path, why: &str) -> PlanError {
    let message = format!("{} holds {what}: in {}, {why}", out.display(), dir.display());
    PlanError::refused(message, format!("runs of one folder share their means: {WAYS_OUT}"))
}

/// Rejects an output folder with a single run of another scenario.
/// Without the check, a second command with this `--out` would fail after hours of simulation.
///
/// # Errors
/// If `out` contains a run of another scenario.
pub(crate) fn check_single(out: &Path, new: &Loaded) -> Result<(), PlanError> {
    if !RunResult::is_complete(out) {
        return Ok(());
    }
    match standing(out, new) {
        Standing::Other(why) => Err(PlanError::refused(
            format!("{} holds the results of another scenario: {why}", out.display()),
            "choose another folder with --out, or give --replace to have these results instead; nothing was deleted",
        )),
        Standing::Same | Standing::Outdated(_) | Standing::Damaged(_) => Ok(()),
    }
}

/// Compares the finished run in `dir` with the run that `loaded` would store.
fn standing(dir: &Path, loaded: &Loaded) -> Standing {
    let there = RunResult::open(dir).and_then(|run| Ok((Content::of_run(&run)?, run)));
    let (content, run) = match there {
        Ok(there) => there,
        Err(why) => return Standing::Damaged(why.to_string()),
    };
    let inputs: Vec<_> = loaded.inputs.iter().map(|input| (input.name.clone(), &input.content)).collect();
    let wanted = Content::new(&loaded.resolved, &inputs, env!("CARGO_PKG_VERSION"), crate::commit());
    let differences = describe_differences(&content.differences(&wanted, |_| false));
    if !has_stored(dir, loaded) {
        return Standing::Other(if differences.is_empty() {
            "its text differs".to_owned()
        } else {
            differences
        });
    }
    if !is_of_this_version(run.manifest()) {
        Standing::Outdated(differences)
    } else if has_old_code(dir) {
        Standing::Outdated("a custom class has changed since".to_owned())
    } else {
        Standing::Same
    }
}

/// Lists the runs of a folder. Rejects a folder with files other than runs and their report.
fn present(out: &Path, layout: Layout, new: &[Job]) -> Result<Vec<Present>, PlanError> {
    let mut runs = Vec::new();
    for (name, path) in visible(out)? {
        let own_file =
            [GROUP_FILE, REPORT_FILE, COMPARISON_JSON, COMPARISON_CSV, COMPARISON_PARQUET, SUMS_FILE]
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
                runs.push(Present { folder: String::new(), variant: None, seed, dir: path });
            }
            (Layout::Policies, _) if path.is_dir() => {
                let ours = find_policy(&name).is_some() || new.iter().any(|job| job.dir.starts_with(&path));
                // A command that was killed before the first run of a variant leaves
                // an empty folder for the variant.
                for (inner, dir) in visible(&path)? {
                    let seed = seed_of(&inner).filter(|_| dir.is_dir()).ok_or_else(foreign)?;
                    let variant = stored_variant(&dir);
                    if variant.is_none() && !ours && !RunResult::is_complete(&dir) {
                        return Err(foreign());
                    }
                    runs.push(Present { folder: name.clone(), variant, seed, dir });
                }
            }
            _ => return Err(foreign()),
        }
    }
    Ok(runs)
}

/// Creates the error for runs of a policy that another program defines.
fn unknown(out: &Path, name: &str) -> PlanError {
    PlanError::refused(
        format!("{} holds runs of {name}, which this program does not know", out.display()),
        "policies of your own are compared by what brings them along, such as `python -m bufferlab compare`; or choose \
         another folder with --out, or give --replace to remove them; nothing was deleted",
    )
}

/// Reads the variant from the manifest of a finished run.
fn stored_variant(dir: &Path) -> Option<Variant> {
    let run = RunResult::is_complete(dir).then(|| RunResult::open(dir).ok())??;
    let named = run.manifest().variant.as_ref()?;
    Variant::parse(&named.text).ok()
}

fn seed_of(name: &str) -> Option<u64> {
    name.strip_prefix("seed-")?.parse().ok()
}

/// Lists entries of a folder by name; empty if the folder does not exist.
/// Skips hidden entries, which are unfinished runs.
pub(crate) fn visible(folder: &Path) -> Result<Vec<(String, PathBuf)>, ResultsError> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::of_seed;
    use bufferlab_core::POLICIES;
    use bufferlab_scenario::{Changes, load_changed};

    /// For every scenario, runs that differ only in seed and policy must not count as a mixture.
    #[test]
    fn seeds_and_policies_of_every_scenario_share_means() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let mut seen = 0;
        for entry in fs::read_dir(folder).expect("the scenarios are there").flatten() {
            let path = entry.path();
            let load = |variant: &Variant, seed: u64| {
                let then = [of_seed(seed)];
                let changes = Changes { variant: Some(variant), then: &then, ..Changes::default() };
                let loaded = load_changed(&path, None, &changes).ok()?;
                let inputs: Vec<_> =
                    loaded.inputs.iter().map(|input| (input.name.clone(), &input.content)).collect();
                Some(Content::new(&loaded.resolved, &inputs, "", None))
            };
            let mut first: Option<Content> = None;
            for variant in POLICIES.iter().map(|info| Variant::from_policy(info)) {
                let (Some(one), Some(other)) = (load(&variant, 1), load(&variant, 2)) else { continue };
                seen += 1;
                let label = format!("{}: {}", path.display(), variant.label());
                let of_seeds = one.differences_between_seeds(&other);
                assert!(of_seeds.is_empty(), "{label}: {}", describe_differences(&of_seeds));
                let first = first.get_or_insert(one);
                let of_policies = first.differences_between_policies(&other);
                assert!(of_policies.is_empty(), "{label}: {}", describe_differences(&of_policies));
            }
        }
        assert!(seen > 100, "{seen}");
    }
}
